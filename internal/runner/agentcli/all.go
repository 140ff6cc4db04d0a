package agentcli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// All returns the agents. It is the only list of them in the program.
func All() []Spec {
	return []Spec{
		codexSpec(), claudeSpec(), opencodeSpec(), cursorSpec(), copilotSpec(), geminiSpec(), qwenSpec(),
	}
}

// Types returns the names of the agents.
func Types() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the spec of an agent. Its error names the closest agent.
func Find(agent string) (Spec, error) {
	all := All()
	if i := slices.IndexFunc(all, func(s Spec) bool { return s.Name == agent }); i >= 0 {
		return all[i], nil
	}
	if agent == "" {
		return Spec{}, plumb.WithHint(fmt.Errorf("the agent has no type"), "it is one of "+strings.Join(Types(), ", "))
	}
	err := fmt.Errorf("unknown agent %q", agent)
	if near := plumb.Nearest(agent, Types()); near != "" {
		err = fmt.Errorf("%w (did you mean %q?)", err, near)
	}
	return Spec{}, plumb.WithHint(err, "the agents are "+strings.Join(Types(), ", "))
}

// Reach lists the names that agents look for in the directories above the one that they work in: instructions, skills, settings.
// Of a path only its beginning counts: what else is in a directory of an agent's is meant for it, too.
func Reach() []string {
	var names []string
	for _, s := range All() {
		for _, path := range slices.Concat(s.Instructions, s.SkillDirs, s.MCP) {
			name, _, _ := strings.Cut(path, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Normalise makes the session report of a transcript. A report comes back whenever anything of the session was
// understood. The error, a *[plumb.Failure], says why the session is no measurement: the agent's terminal record says that
// it failed, or there is no such record, or nothing could be understood.
func Normalise(agent string, t Transcript) (*plumb.SessionReport, error) {
	spec, err := Find(agent)
	if err != nil {
		return nil, plumb.Failed(plumb.OriginNormalization, fmt.Errorf("normalise a transcript: %w", err))
	}
	return newRecorder(&spec.Format, &t).normalise(&t)
}
