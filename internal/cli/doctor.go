package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/text"
)

const (
	// probeTime limits the request to a local server.
	probeTime = 2 * time.Second
	// listTime limits the request for the models of a provider.
	listTime = 20 * time.Second
	// versionTime limits a program that prints its version.
	versionTime = 10 * time.Second
)

// finding describes one thing that plumb doctor looked for. Its keys are documented.
type finding struct {
	// Kind is "provider", "server", "agent", "runner", "machine" or "project".
	Kind string `json:"kind"`
	Name string `json:"name"`
	// OK means that it works.
	OK      bool   `json:"ok"`
	Status  string `json:"status"`
	CanRun  string `json:"canRun,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
	// Models are the models of a local server.
	Models []string `json:"models,omitempty"`
}

// doctorCmd is plumb doctor.
type doctorCmd struct {
	*app
	config string
	agents bool
}

func (a *app) doctor() *doctorCmd { return &doctorCmd{app: a} }

func doctorCommand(a *app) *cobra.Command {
	c := a.doctor()
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check which API keys, local servers and agent CLIs are available",
		Long: `Look for API keys in the environment and in .env, for model servers on this machine, and for agent CLIs on the
PATH. Only servers on this machine get a request; keys are not tried. The exit code is 3 if nothing can run.

With --agents, each agent CLI runs two sessions with a scripted model on this machine: in one, the agent runs a command,
reads a file and uses a skill; in the other, it only talks about them. If Plumb misses an action of the first session,
or reports one in the second, it cannot measure this agent: the exit code is then 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&c.config, "config", "", "config `file`")
	cmd.Flags().BoolVar(&c.agents, "agents", false, "verify that Plumb sees the actions of each agent CLI")
	return cmd
}

func (c *doctorCmd) run(ctx context.Context) error {
	broken := error(nil)
	read, err := project.ReadConfig(ctx, c.env(), c.config)
	if err != nil {
		read, broken = &config.Config{Dir: c.Dir}, err
	}
	p, err := c.project(read, "")
	if err != nil {
		return err
	}
	if c.agents {
		if broken != nil {
			if c.config != "" {
				return broken
			}
			fmt.Fprintf(c.Stderr, "plumb: the config cannot be read, so its agents are not checked: %s\n  try: plumb validate\n",
				c.clean(firstLine(broken.Error())))
		}
		return c.runAgents(ctx, p)
	}
	runners, err := c.diagnoseRunners(ctx, p)
	if err != nil {
		return err
	}
	found := slices.Concat(c.diagnose(ctx, p), runners, []finding{diagnoseMachine(), c.diagnoseProject(p, broken)})
	if c.json {
		if err := c.print(found); err != nil {
			return err
		}
	} else {
		c.show(p, found)
	}
	for _, f := range found {
		if f.OK && f.CanRun != "" {
			return nil
		}
	}
	return exit(exitNotMeasured)
}

// diagnose checks all providers, servers and agents at once.
func (c *doctorCmd) diagnose(ctx context.Context, p *project.Project) []finding {
	transport := modelapi.NewTransport(modelapi.TransportOptions{Getenv: p.Getenv, MaxAttempts: 1})
	defer transport.Close()
	var checks []func() finding
	for _, provider := range modelapi.Providers() {
		checks = append(checks, func() finding { return diagnoseProvider(ctx, p, provider, transport) })
	}
	for _, spec := range agent.All() {
		checks = append(checks, func() finding { return c.diagnoseAgent(ctx, p, spec) })
	}
	found := make([]finding, len(checks))
	var all sync.WaitGroup
	for i, look := range checks {
		all.Go(func() { found[i] = look() })
	}
	all.Wait()
	return found
}

func diagnoseProvider(
	ctx context.Context, p *project.Project, provider modelapi.Provider, transport *modelapi.Transport,
) finding {
	f := finding{Kind: "provider", Name: provider.Name}
	key, variable := provider.Key(p.Getenv)
	address := provider.Address(p.Getenv)
	if !provider.Local {
		switch {
		case address == "":
			f.Status, f.Fix = "no address", "set "+provider.BaseURLEnv
		case key != "":
			f.OK, f.Status = true, variable+" is set"
			f.CanRun = "--model " + provider.Name + ":" + usualModel(provider.Name)
		case provider.NeedsKey(address):
			f.Status, f.Fix = "no key", "set "+strings.Join(provider.KeyEnv, " or ")+" (here or in .env)"
			if provider.KeyURL != "" {
				f.Fix += "; create a key at " + provider.KeyURL
			}
		default:
			f.OK, f.Status, f.CanRun = true, "address "+address, "--model "+provider.Name+":"+usualModel(provider.Name)
		}
		return f
	}
	f.Kind = "server"
	limited, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	models, err := listLive(limited, p, provider, transport)
	if err != nil {
		f.Status = "not running at " + address
		if provider.Start != "" {
			f.Fix = provider.Start
		}
		return f
	}
	for _, m := range models {
		if !m.Embedding {
			f.Models = append(f.Models, m.ID)
		}
	}
	if len(f.Models) == 0 {
		f.Status, f.Fix = "running at "+address+", without a model", "load a model into the server"
		return f
	}
	f.OK, f.Status = true, fmt.Sprintf("running at %s with %s", address, text.Plural(len(f.Models), "model"))
	f.CanRun = "--model " + provider.Name + ":" + f.Models[0]
	return f
}

// diagnoseAgent finds an agent CLI and its version. Only a run can find out if it is logged in.
func (c *doctorCmd) diagnoseAgent(ctx context.Context, p *project.Project, spec agent.Spec) finding {
	f := finding{Kind: "agent", Name: spec.Name}
	path, ok := p.AgentPath(spec.Name, "")
	if !ok {
		f.Status, f.Fix = "not on the PATH", spec.Install
		return f
	}
	f.Path, f.Status = path, "found"
	limited, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(limited, path, "--version")
	cmd.Env, cmd.WaitDelay = p.Environ(), time.Second
	out, err := cmd.CombinedOutput()
	f.Version = versionIn(string(out))
	switch {
	case err != nil:
		f.Status, f.Fix = "found, but --version failed: "+firstLine(err.Error()), spec.Install
	case f.Version != "":
		f.OK, f.Status, f.CanRun = true, "version "+f.Version, "--agent "+spec.Name+":MODEL"
	}
	return f
}

func versionIn(out string) string {
	version := regexp.MustCompile(`\d+\.\d+\.\d+[-+.\w]*`).FindString(out)
	return strings.TrimRight(version, ".-+") // the period may end a sentence
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// usualModel returns a model of a provider to start with.
func usualModel(provider string) string {
	switch provider {
	case "openai":
		return "gpt-5.4-mini"
	case "anthropic":
		return "haiku"
	case "google":
		return "gemini-flash-latest"
	default:
		return "MODEL"
	}
}

// diagnoseRunners checks which runners of the config can run now.
func (c *doctorCmd) diagnoseRunners(ctx context.Context, p *project.Project) ([]finding, error) {
	problems, err := p.CheckRunners(ctx)
	if err != nil {
		return nil, err
	}
	var found []finding
	for i, r := range p.Config.Runners {
		f := finding{Kind: "runner", Name: r.ID, OK: true, CanRun: "plumb run --runner " + report.ShellWord(r.ID)}
		switch {
		case r.Model != "":
			f.Status = r.Model
		case r.Agent != nil:
			f.Status = r.Agent.Type + ":" + r.Agent.Model
		case r.Replay != "":
			f.Status = "a recording of run " + r.Replay
		default:
			f.Status = strings.Join(r.Command, " ")
		}
		if err := problems[i]; err != nil {
			f.OK, f.CanRun, f.Status, f.Fix = false, "", f.Status+": "+err.Error(), plumb.Hint(err)
		}
		f.Status = c.line(f.Status, 100)
		found = append(found, f)
	}
	return found, nil
}

// diagnoseProject checks the folder. broken is the error of its config, or nil.
func (c *doctorCmd) diagnoseProject(p *project.Project, broken error) finding {
	f := finding{Kind: "project", Name: "folder", OK: true}
	switch {
	case broken != nil:
		f.OK, f.Status, f.Fix = false, "the config cannot be read: "+firstLine(broken.Error()), "plumb validate"
	case p.Config.Path == "":
		f.Status, f.Fix = "no config here or above", "plumb init"
	default:
		f.Status = fmt.Sprintf("config %s with %s and %s", c.shown(p.Config.Path),
			text.Plural(len(p.Config.Runners), "runner"),
			text.Plural(len(p.Config.Suites), "suite"))
		f.Path = p.Config.Path
	}
	if err := writable(p.Root); err != nil {
		f.OK, f.Status = false, "cannot write "+c.shown(p.Root)+": "+err.Error()
		f.Fix = "choose another directory with --output-dir"
	}
	return f
}

// writable returns why runs cannot be stored in dir, or nil. It leaves no file.
func writable(dir string) error {
	for !files.Exists(dir) {
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".plumb-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// diagnoseMachine reports how Plumb finds the processes that an agent starts, to end them.
func diagnoseMachine() finding {
	return finding{Kind: "machine", Name: "processes", OK: true, Status: "held together by " + proc.Means()}
}

func (c *doctorCmd) show(p *project.Project, found []finding) {
	titles := map[string]string{
		"provider": "Providers", "server": "Servers on this machine", "agent": "Agent CLIs",
		"runner": "Runners of the config", "machine": "This machine", "project": "This folder",
	}
	const narrow, label = 80, 18
	under := strings.Repeat(" ", label+1) // so that lines are below the status
	if _, width := c.columns(); width > 0 && width < narrow {
		under = ""
	}
	kind := ""
	runnable, able := "", 0
	for _, k := range []string{"provider", "server", "agent", "runner", "machine", "project"} {
		for _, f := range found {
			if f.Kind != k {
				continue
			}
			if k != kind {
				kind = k
				fmt.Fprintf(c.Stdout, "%s\n", titles[k])
			}
			mark := "-"
			if f.OK || f.Kind == "agent" && f.Version != "" {
				mark = "+"
			}
			fmt.Fprintf(c.Stdout, "  %s %-*s %s\n", mark, label, f.Name, f.Status)
			if f.CanRun != "" {
				fmt.Fprintf(c.Stdout, "    %sruns: %s\n", under, f.CanRun)
			}
			switch {
			case !f.OK || f.CanRun == "":
			case f.Kind == "runner":
				if able++; able == 1 {
					runnable = f.CanRun
				}
			case runnable == "":
				runnable = "plumb run " + f.CanRun
			}
			if f.Fix != "" && !f.OK {
				fmt.Fprintf(c.Stdout, "    %sfix:  %s\n", under, f.Fix)
			}
		}
	}
	fmt.Fprintln(c.Stdout)
	if runnable == "" {
		fmt.Fprintln(c.Stdout, "Nothing to run on yet. Set an API key or start a local server, or try: plumb demo")
		return
	}
	if able > 0 && able == len(p.Config.Runners) {
		runnable = "plumb run"
	}
	if len(p.Config.Suites) == 0 {
		runnable += " --tier cheap"
	}
	fmt.Fprintln(c.Stdout, "Ready. Try:", runnable)
}
