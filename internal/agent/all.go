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

// Transcript is the record of a session of an agent.
type Transcript = transcript.Transcript

// All returns the agents. It is the only list of them in the program.
func All() []Spec {
	return []Spec{
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
func Find(agent string) (Spec, error) {
	var err error
	for _, s := range All() {
		if s.Name == agent {
			return s, nil
		}
	}
	if err = fmt.Errorf("unknown agent %q", agent); agent == "" {
		err = fmt.Errorf("the agent has no type")
	} else if near := plumb.Nearest(agent, Types()); near != "" {
		err = fmt.Errorf("%w (did you mean %q?)", err, near)
	}
	return Spec{}, plumb.WithHint(err, "the agents are "+strings.Join(Types(), ", "))
}

// Reach lists the names that agents look for in the parent directories of a workspace:
// instructions, skills and settings. It returns only the first element of each path, because the
// rest of an agent's directory is for the agent, too.
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

// Normalize returns the session report of a transcript. It returns a report if it understood any
// part of the session. The error, a *[plumb.Failure], explains why the session is not a
// measurement: the agent's last record reports a failure, there is no such record, or no record was
// understood.
func Normalize(agent string, t Transcript) (*plumb.SessionReport, error) {
	s, err := Find(agent)
	if err != nil {
		return nil, plumb.Failed(plumb.OriginNormalization, fmt.Errorf("normalize a transcript: %w", err))
	}
	return normalize(&s, t)
}

func normalize(s *Spec, t Transcript) (*plumb.SessionReport, error) {
	return transcript.NewRecorder(&s.Format, &t).Normalize()
}
