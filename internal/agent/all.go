package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/claude"
	"github.com/plumb-eval/plumb/internal/agent/codex"
	"github.com/plumb-eval/plumb/internal/agent/copilot"
	"github.com/plumb-eval/plumb/internal/agent/cursor"
	"github.com/plumb-eval/plumb/internal/agent/gemini"
	"github.com/plumb-eval/plumb/internal/agent/opencode"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// Spec describes one agent.
type Spec = spec.Spec

// Transcript is the record that a session of an agent left behind.
type Transcript = transcript.Transcript

// All returns the agents. It is the only list of them in the program.
func All() []spec.Spec {
	return []spec.Spec{
		codex.Spec(), claude.Spec(), opencode.Spec(), cursor.Spec(), copilot.Spec(), gemini.Spec(), claude.Qwen(),
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
func Find(agent string) (spec.Spec, error) {
	all := All()
	if i := slices.IndexFunc(all, func(s spec.Spec) bool { return s.Name == agent }); i >= 0 {
		return all[i], nil
	}
	if agent == "" {
		return spec.Spec{}, plumb.WithHint(fmt.Errorf("the agent has no type"), "it is one of "+strings.Join(Types(), ", "))
	}
	err := fmt.Errorf("unknown agent %q", agent)
	if near := plumb.Nearest(agent, Types()); near != "" {
		err = fmt.Errorf("%w (did you mean %q?)", err, near)
	}
	return spec.Spec{}, plumb.WithHint(err, "the agents are "+strings.Join(Types(), ", "))
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

// Normalize makes the session report of a transcript. A report comes back whenever anything of the session was
// understood. The error, a *[plumb.Failure], says why the session is no measurement: the agent's terminal record says that
// it failed, or there is no such record, or nothing could be understood.
func Normalize(agent string, t transcript.Transcript) (*plumb.SessionReport, error) {
	spec, err := Find(agent)
	if err != nil {
		return nil, plumb.Failed(plumb.OriginNormalization, fmt.Errorf("normalise a transcript: %w", err))
	}
	return transcript.NewRecorder(&spec.Format, &t).Normalize()
}
