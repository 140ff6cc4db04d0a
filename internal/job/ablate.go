package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/project"
)

// withTwins adds to each agent a runner that lacks what is ablated, directly after it, so that the
// executions of both interleave.
func withTwins(configs []plumb.RunnerConfig, ablate string) ([]plumb.RunnerConfig, error) {
	if ablate == "" {
		return configs, nil
	}
	without, err := agent.ParseWithheld(ablate)
	if err != nil {
		return nil, err
	}
	var all []plumb.RunnerConfig
	agents := 0
	for _, c := range configs {
		if all = append(all, c); c.Agent == nil {
			continue
		}
		if c.Agent.InheritConfig {
			return nil, plumb.WithHint(fmt.Errorf("--ablate cannot withhold what %s inherits from your own configuration",
				cmp.Or(c.ID, c.Agent.Type)), "leave inheritConfig out")
		}
		agents++
		twin, a := c, *c.Agent
		twin.ID, a.Without = project.TwinID(cmp.Or(c.ID, c.Agent.Type), without.Kind), ablate
		twin.Agent = &a
		all = append(all, twin)
	}
	if agents == 0 {
		return nil, plumb.WithHint(errors.New("--ablate needs an agent: nothing is offered to the other runners"),
			"--agent codex:gpt-5.5")
	}
	return all, nil
}

// checkTwins makes sure that each session has its own workspace, from which something can be
// withheld.
func (o *opening) checkTwins() error {
	s := &o.Spec
	if o.request.Ablate == "" || s.Workspace != nil && s.Workspace.Mode == plumb.WorkspaceIsolated {
		return nil
	}
	return plumb.WithHint(errors.New("--ablate needs a workspace for each session, because agents find their skills, "+
		"instructions and servers there"), "--workspace isolated")
}

// withhold lets the engine remove what runners lack from their workspaces. It returns an error if
// nothing of the kind is offered.
func (j *Job) withhold() error {
	without := map[string]agent.Withheld{}
	for i := range j.Spec.Runners {
		c := j.Spec.Runners[i]
		if c.Agent == nil || c.Agent.Without == "" {
			continue
		}
		w, err := agent.ParseWithheld(c.Agent.Without)
		if err != nil {
			return err
		}
		if err := j.checkOffered(c, w); err != nil {
			return err
		}
		without[j.runners[i].Info().ID] = w
	}
	if len(without) > 0 {
		j.options.Workspaces.Withhold = func(runnerID, workspace string) error {
			if w, ok := without[runnerID]; ok {
				return w.Remove(workspace)
			}
			return nil
		}
	}
	return nil
}

// checkOffered returns an error if what is withheld from a runner is not offered to it.
func (j *Job) checkOffered(c plumb.RunnerConfig, w agent.Withheld) error {
	plain, a := c, *c.Agent
	a.Without, plain.Agent = "", &a
	var o offered
	template := j.options.Workspaces.Config.TemplateDir
	if template != "" {
		o.readTemplate(template)
	}
	for _, dir := range j.Suite.Skills {
		o.skills = append(o.skills, plumb.Content{Name: agent.SkillName(dir)})
	}
	setup := j.runnerSetup(&plain, &o)
	var names []string
	switch w.Kind {
	case agent.WithholdSkill:
		names = contentNames(setup.Skills)
	case agent.WithholdInstructions:
		names = contentNames(setup.Instructions)
	case agent.WithholdMCP:
		names = slices.AppendSeq(agent.ServersIn(template), maps.Keys(a.MCPServers))
		slices.Sort(names)
	}
	id, _, _ := strings.Cut(c.ID, project.TwinID("", ""))
	switch {
	case len(names) == 0:
		return plumb.WithHint(fmt.Errorf("--ablate %s: nothing of this kind is offered to %s", c.Agent.Without, id),
			"the suite, the runner and the workspace template can offer skills, instructions and MCP servers")
	case w.Name != "" && !slices.Contains(names, w.Name):
		hint := "it has " + strings.Join(slices.Compact(names), ", ")
		if near := plumb.Nearest(w.Name, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		return plumb.WithHint(fmt.Errorf("--ablate %s: %s is offered no %s %q", c.Agent.Without, id, w.Kind, w.Name), hint)
	}
	return nil
}

func contentNames(all []plumb.Content) []string {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}
