package runner

import (
	"math"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

func TestAgentsAreConfigured(t *testing.T) {
	for _, test := range []struct {
		name string
		cfg  plumb.RunnerConfig
		want string
	}{
		{"no model", plumb.RunnerConfig{Agent: &plumb.AgentConfig{Type: "codex"}}, "has no model"},
		{"a temperature", plumb.RunnerConfig{Temperature: new(0.5), Agent: &plumb.AgentConfig{Type: "codex", Model: "m"}}, "temperature has no effect"},
		{"no key", plumb.RunnerConfig{Agent: &plumb.AgentConfig{Type: "codex", Model: "m", APIKeyEnv: "NOT_SET"}}, "NOT_SET, named by apiKeyEnv, is not set"},
		{"two kinds", plumb.RunnerConfig{Model: "openai:gpt-5", Agent: &plumb.AgentConfig{Type: "codex", Model: "m"}}, "it has both a model and an agent"},
		{"not there", plumb.RunnerConfig{ID: "mine", Agent: &plumb.AgentConfig{Type: "codex", Model: "m", Command: "/nowhere/codex"}}, "runner mine: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := New(t.Context(), test.cfg, Env{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	r, err := New(t.Context(), plumb.RunnerConfig{Agent: &plumb.AgentConfig{Type: "codex", Model: "m", Command: "/nowhere/codex"}}, Env{Planning: true})
	if err != nil || r.Info().Kind != plumb.RunnerAgent || r.Info().Config == "" {
		t.Errorf("planned: %v, %v", r, err)
	}
}

func TestAgentCost(t *testing.T) {
	prices := &Prices{}
	if err := prices.Override(map[string]Price{"openai:m": {Input: &Rate{USD: 1}, CacheRead: &Rate{USD: 0.1}, Output: &Rate{USD: 10}}}); err != nil {
		t.Fatal(err)
	}
	open := func(cfg plumb.AgentConfig) *pricedAgent {
		r, err := New(t.Context(), plumb.RunnerConfig{Agent: &cfg}, Env{Planning: true, Prices: prices})
		if err != nil {
			t.Fatal(err)
		}
		return r.(*pricedAgent)
	}
	n := func(i int64) *int64 { return &i }
	report := &plumb.SessionReport{RequestUsage: []plumb.RequestUsage{
		{InputTokens: n(1_000_000), OutputTokens: n(100_000)}, {InputTokens: n(1_000_000), CacheTokens: n(1_000_000), OutputTokens: n(0)},
	}}
	if got := open(plumb.AgentConfig{Type: "codex", Model: "m"}).cost(report); got == nil || math.Abs(*got-2.1) > 1e-9 {
		t.Errorf("cost %v, want 2.1", got)
	}
	whole := &plumb.SessionReport{}
	whole.Usage.InputTokens, whole.Usage.OutputTokens = n(1_000_000), n(0)
	if got := open(plumb.AgentConfig{Type: "opencode", Model: "openai/m"}).cost(whole); got == nil || *got != 1 {
		t.Errorf("cost %v, want 1", got)
	}
	for _, cfg := range []plumb.AgentConfig{{Type: "codex", Model: "unheard-of"}, {Type: "copilot", Model: "m"}, {Type: "codex", Model: "m", BaseURL: "http://127.0.0.1:1"}} {
		if got := open(cfg).cost(whole); got != nil {
			t.Errorf("%+v costs %v, but nobody knows", cfg, *got)
		}
	}
	if got := open(plumb.AgentConfig{Type: "codex", Model: "m"}).cost(&plumb.SessionReport{}); got != nil {
		t.Errorf("a session without figures costs %v", *got)
	}
}
