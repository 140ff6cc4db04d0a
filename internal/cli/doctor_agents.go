package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/agent/proof"
	"github.com/plumb-eval/plumb/internal/project"
)

// runAgents runs two scripted sessions with each agent CLI that is installed or configured, and
// reports whether its adapter sees the actions that happened, and no others. The exit code is 1 if
// an adapter does not, and 3 if there is no adapter to try.
func (c *doctorCmd) runAgents(ctx context.Context, p *project.Project) error {
	var configs []plumb.RunnerConfig
	configured := map[string]bool{}
	for _, r := range p.Config.Runners {
		if r.Agent != nil {
			configs = append(configs, r)
			configured[r.Agent.Type] = true
		}
	}
	for _, spec := range agent.All() {
		if _, ok := p.AgentPath(spec.Name, ""); ok && !configured[spec.Name] {
			configs = append(configs, plumb.RunnerConfig{
				ID: spec.Name, Agent: &plumb.AgentConfig{Type: spec.Name, Model: spec.Proof.Model},
			})
		}
	}
	interrupted := interrupts{app: c.app}
	limited, _, ended := interrupted.watch(ctx)
	proofs := proof.All(limited, configs, agent.Env{Getenv: p.Getenv, Environ: p.Environ, Dir: c.Dir})
	for i, r := range configs {
		proofs[i].Path, _ = p.AgentPath(r.Agent.Type, r.Agent.Command)
	}
	ended()
	if code := interrupted.code(); code != exitOK || ctx.Err() != nil {
		return cmp.Or(exit(code), ctx.Err())
	}
	if err := p.KeepDistrust(ctx, proofs); err != nil {
		return err
	}
	if c.json {
		if err := c.print(proofs); err != nil {
			return err
		}
	} else {
		c.showProofs(proofs)
	}
	switch {
	case slices.ContainsFunc(proofs, func(p proof.Result) bool { return !p.OK && p.Unproven == "" }):
		return exit(exitFailed)
	case !slices.ContainsFunc(proofs, func(p proof.Result) bool { return p.OK }):
		return exit(exitNotMeasured)
	}
	return nil
}

func (c *doctorCmd) showProofs(proofs []proof.Result) {
	if len(proofs) == 0 {
		fmt.Fprintln(c.Stdout, "No agent CLI is on the PATH, and the config has no agents.")
		for _, spec := range agent.All() {
			fmt.Fprintf(c.Stdout, "  %-14s %s\n", spec.Name, spec.Install)
		}
		return
	}
	fmt.Fprintln(c.Stdout, "Agents, each in a session with these actions and in a session that only talks about them, "+
		"with a scripted model:")
	fmt.Fprintf(c.Stdout, "  %-16s %-12s %-14s %-14s %s\n", "", "version", "command", "file read", "skill")
	for _, p := range proofs {
		fmt.Fprintf(c.Stdout, "  %-16s %-12s", c.line(p.Name, 16), cmp.Or(p.Version, "?"))
		for _, d := range p.Detects {
			word := "ok"
			switch {
			case !d.Yes && !d.No:
				word = "WRONG"
			case !d.Yes:
				word = "missed"
			case !d.No:
				word = "false positive"
			}
			fmt.Fprintf(c.Stdout, " %-14s", word)
		}
		switch {
		case p.Unproven != "":
			fmt.Fprintf(c.Stdout, " %-44s", "not tried")
		case len(p.Detects) == 0:
			fmt.Fprintf(c.Stdout, " %-44s", "not measured")
		}
		fmt.Fprintf(c.Stdout, " %s\n", c.clean(p.Path))
		for _, line := range []string{p.Unproven, p.Error, p.Hint} {
			if line != "" {
				fmt.Fprintf(c.Stdout, "    %s\n", c.indent(line, 4))
			}
		}
	}
	fmt.Fprintln(c.Stdout)
	if slices.ContainsFunc(proofs, func(p proof.Result) bool { return p.Misreports }) {
		fmt.Fprintln(c.Stdout, "Plumb cannot measure an agent whose actions it misses or invents: "+
			"runs report its sessions as errors until this check passes.")
		return
	}
	fmt.Fprintln(c.Stdout, "\"ok\" means that Plumb reported the action when it happened, and not when it did not.")
}
