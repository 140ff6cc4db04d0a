package proof

import (
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
)

// The sessions themselves are tested with the command plumb doctor --agents, whose output shows them.

// TestSeen: in the session with the actions only these count, and in the other one any action.
func TestSeen(t *testing.T) {
	ran := func(command string) plumb.SessionEvent {
		return plumb.SessionEvent{Type: plumb.SessionCommand, Command: command}
	}
	read := func(path string) plumb.SessionEvent {
		return plumb.SessionEvent{Type: plumb.SessionFileRead, Path: path}
	}
	for _, c := range []struct {
		name, said string
		events     []plumb.SessionEvent
		skill      string
		want       []string
	}{
		{
			"the actions", done,
			[]plumb.SessionEvent{ran(command), read("/ws/" + fileName)},
			skillName,
			[]string{"command", "file read", "skill"},
		},
		{"other actions", done, []plumb.SessionEvent{ran("ls"), ran(probe), read("/ws/other")}, "other", nil},
		{"only the probe", talk, []plumb.SessionEvent{ran(probe)}, "", nil},
		{
			"what was only said", talk,
			[]plumb.SessionEvent{ran(probe), ran("ls"), read("/elsewhere")},
			"other",
			[]string{"command", "file read", "skill"},
		},
	} {
		rep := &plumb.SessionReport{FinalOutput: c.said, Events: c.events}
		if c.skill != "" {
			rep.DetectedSkills = []plumb.SkillDetection{{Skill: c.skill}}
		}
		if got := seen(rep, "/ws/"+fileName); !slices.Equal(got, c.want) {
			t.Errorf("%s: saw %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOnlyTheScriptedModel: neither the configuration nor the environment leads to another model.
func TestOnlyTheScriptedModel(t *testing.T) {
	config := plumb.RunnerConfig{MaxParallel: 3, Agent: &plumb.AgentConfig{
		Type: "codex", Model: "m", Command: "own", BaseURL: "https://elsewhere", APIKeyEnv: "KEY", InheritConfig: true,
		Env: map[string]string{"OPENAI_BASE_URL": "https://elsewhere", "LANG": "C"}, Skills: []string{"skill"},
	}}
	got := scripted(config, "http://here").Agent
	if got.BaseURL != "http://here" || got.APIKeyEnv != keyEnv || got.InheritConfig || got.Skills != nil ||
		len(got.Env) != 1 || got.Env["LANG"] != "C" || got.Model != "m" || got.Command != "own" {
		t.Errorf("the agent is %+v", got)
	}
	if len(config.Agent.Env) != 2 || config.Agent.BaseURL != "https://elsewhere" {
		t.Errorf("the user's configuration became %+v", config.Agent)
	}
	own := map[string]string{"ANTHROPIC_API_KEY": "x", "HOME": "/home/x"}
	env := scriptedEnv(agent.Env{
		Getenv:  func(name string) string { return own[name] },
		Environ: func() []string { return []string{"ANTHROPIC_API_KEY=x", "HOME=/home/x"} },
	})
	if env.Getenv("ANTHROPIC_API_KEY") != "" || env.Getenv("HOME") != "/home/x" || env.Getenv(keyEnv) == "" {
		t.Error("a variable is wrong")
	}
	if got, want := env.Environ(), []string{"HOME=/home/x", keyEnv + "=no-secret"}; !slices.Equal(got, want) {
		t.Errorf("the environment is %q, want %q", got, want)
	}
}

// TestRefused: the error of tools that failed says which, and what to install.
func TestRefused(t *testing.T) {
	err := refusedError([]plumb.SessionEvent{
		{Tool: "skill", Output: "spawn rg ENOENT:\n  ripgrep is not installed"}, {Tool: "read", Output: strings.Repeat("x", 999)},
	})
	if got := err.Error(); !strings.Contains(got, "skill: spawn rg ENOENT: ripgrep is not installed; read: xxx") ||
		len(got) > 500 || !strings.HasPrefix(plumb.Hint(err), "install ripgrep") {
		t.Errorf("%s (%s)", got, plumb.Hint(err))
	}
}
