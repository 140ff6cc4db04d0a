package runner

import (
	"context"
	"maps"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
)

// openAgent returns the runner of a coding-agent CLI.
func openAgent(ctx context.Context, cfg plumb.RunnerConfig, env Env) (plumb.Runner, error) {
	if name := cfg.Agent.APIKeyEnv; name != "" && env.Getenv(name) == "" && !env.Planning {
		return nil, notSet(name, ", named by apiKeyEnv,")
	}
	r, err := agent.New(ctx, cfg, agent.Env{
		Getenv: env.Getenv, Environ: env.Environ, Note: env.Note, Dir: env.Dir, Planning: env.Planning,
		Secret: SecretName, Redact: env.Redact, Config: ConfigHash(cfg), Shared: env.Agents,
	})
	if err != nil {
		return nil, err
	}
	return &pricedAgent{Runner: r, prices: env.Prices}, nil
}

// pricedAgent adds the cost of a session by the price of its model if the agent does not report it.
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

// cost returns the cost of the requests of a session. A session whose agent does not report single
// requests counts as one.
func (a *pricedAgent) cost(r *plumb.SessionReport) *float64 {
	info := a.Info()
	if info.BaseURL != "" {
		return nil // the server at this address, and its price, are unknown
	}
	price, ok := a.prices.agent(info.Agent)
	if !ok {
		return nil
	}
	requests := []plumb.Usage{r.Usage}
	if len(r.RequestUsage) > 0 {
		requests = nil
	}
	for _, q := range r.RequestUsage {
		requests = append(requests, plumb.Usage{
			InputTokens: q.InputTokens, OutputTokens: q.OutputTokens, ReasoningTokens: q.ReasoningTokens,
			CacheTokens: q.CacheTokens, CacheWriteTokens: q.CacheWriteTokens,
		})
	}
	total := 0.0
	for _, usage := range requests {
		usd, known := price.Cost(usage)
		if !known {
			return nil
		}
		total += usd
	}
	return &total
}

// agent returns the price of an agent's model at its provider.
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

// publicAgent returns an agent's configuration without values with a secret name.
func publicAgent(a *plumb.AgentConfig) *plumb.AgentConfig {
	if a == nil {
		return nil
	}
	shown := *a
	shown.Env, shown.BaseURL = PublicEnv(a.Env), withoutPassword(a.BaseURL)
	shown.MCPServers = maps.Clone(a.MCPServers)
	for name, server := range shown.MCPServers {
		server.Env, server.Headers, server.URL = PublicEnv(server.Env), PublicEnv(server.Headers), withoutPassword(server.URL)
		shown.MCPServers[name] = server
	}
	return &shown
}
