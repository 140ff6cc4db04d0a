package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
)

// openAgent makes the runner of a coding-agent CLI.
func openAgent(cfg plumb.RunnerConfig, env Env) (plumb.Runner, error) {
	if env.CacheMode == CacheOnly {
		return nil, plumb.WithHint(errors.New("an agent cannot be answered from the cache, which holds answers of models only"),
			"leave out --cache only, or replay an earlier run")
	}
	if name := cfg.Agent.APIKeyEnv; name != "" && env.getenv(name) == "" && !env.Planning {
		return nil, plumb.Failed(plumb.OriginRunner, plumb.WithHint(fmt.Errorf("the environment variable %s of apiKeyEnv is not set", name), "set it, or leave apiKeyEnv out"))
	}
	r, err := agent.New(cfg, agent.Env{
		Getenv: env.getenv, Environ: env.Environ, Note: env.note(), Dir: env.Dir, Planning: env.Planning,
		Secret: SecretName, Redact: env.Redact, Config: configHash(cfg), Shared: env.Agents,
	})
	if err != nil {
		return nil, err // a nil *agent.Runner would be no nil runner
	}
	return &pricedAgent{Runner: r, prices: env.prices()}, nil
}

// pricedAgent adds what a session cost by the price of its model, where the agent itself does not
// tell.
type pricedAgent struct {
	*agent.Runner
	prices *Prices
}

// Run starts a session of the agent.
func (a *pricedAgent) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	report, err := a.Runner.Run(ctx, req)
	if report != nil && report.CostUSD == nil {
		report.CostUSD = a.cost(report)
	}
	return report, err
}

// cost returns what the requests of a session cost, or all of it as one where the agent does not
// tell them apart.
func (a *pricedAgent) cost(r *plumb.SessionReport) *float64 {
	info := a.Info()
	if info.BaseURL != "" {
		return nil // who answers there, and at what price, is not known
	}
	price, ok := a.prices.agent(info.Agent)
	if !ok {
		return nil
	}
	requests := r.RequestUsage
	if len(requests) == 0 {
		u := r.Usage
		requests = []plumb.RequestUsage{{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ReasoningTokens: u.ReasoningTokens, CacheTokens: u.CacheTokens, CacheWriteTokens: u.CacheWriteTokens}}
	}
	total := 0.0
	for _, q := range requests {
		usd, known := price.Cost(plumb.Usage{
			InputTokens: q.InputTokens, OutputTokens: q.OutputTokens, ReasoningTokens: q.ReasoningTokens, CacheTokens: q.CacheTokens, CacheWriteTokens: q.CacheWriteTokens,
		})
		if !known {
			return nil
		}
		total += usd
	}
	return &total
}

// agent returns what the model of an agent costs at its provider.
func (p *Prices) agent(a plumb.AgentInfo) (Price, bool) {
	spec, err := agent.Find(a.Type)
	if err != nil {
		return Price{}, false
	}
	provider, model := spec.PriceOf(a.Model)
	if provider == "" {
		return Price{}, false
	}
	return p.Lookup(provider, model)
}

// checkAgent finds what has no effect on an agent.
func checkAgent(cfg plumb.RunnerConfig) error {
	for _, key := range []struct {
		name string
		set  bool
	}{
		{"temperature", cfg.Temperature != nil || cfg.NoTemperature},
		{"seed", cfg.Seed != nil || cfg.NoSeed},
		{"topP", cfg.TopP != nil},
		{"maxOutputTokens", cfg.MaxOutputTokens != nil},
		{"reasoningEffort", cfg.ReasoningEffort != nil},
	} {
		if key.set {
			return plumb.WithHint(errors.New(key.name+" has no effect on an agent"), "agents choose it themselves; args may have an option for it")
		}
	}
	return nil
}

// publicAgent returns an agent's configuration without what is secret by its name, and without what
// changes no answer.
func publicAgent(a *plumb.AgentConfig) *plumb.AgentConfig {
	if a == nil {
		return nil
	}
	shown := *a
	shown.Env, shown.BaseURL = public(a.Env), withoutPassword(a.BaseURL)
	shown.MCPServers = maps.Clone(a.MCPServers)
	for name, server := range shown.MCPServers {
		server.Env, server.Headers, server.URL = public(server.Env), public(server.Headers), withoutPassword(server.URL)
		shown.MCPServers[name] = server
	}
	return &shown
}
