// Package runner turns a runner's configuration into a [plumb.Runner]: a model (through package
// modelapi), a coding agent (through package agent), a command, or the replay of an earlier run.
// It adds what all models share: prices and the response cache.
//
// [New] reports every mistake in a configuration that it can find without sending a request.
package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// The documented defaults of sampling parameters.
const (
	defaultTemperature = 0.0
	defaultSeed        = 42
)

// Env is the environment of runners. The zero value works, without environment variables and
// without a cache.
type Env struct {
	// Getenv looks up an environment variable; nil means that there are none.
	Getenv func(string) string
	// Environ returns the environment that commands inherit, as name=value; nil means none.
	Environ func() []string
	// Transport carries the requests of all models; nil lets each runner create its own.
	Transport *modelapi.Transport
	// Cache stores the answers of models. CacheMode decides whether it is used. Answers of commands
	// and agents are never cached.
	Cache     *Cache
	CacheMode CacheMode
	// Prices has the prices of models; nil means the built-in table.
	Prices *Prices
	// Planning is set if the runners are only described, so that they need no keys and no programs.
	Planning bool
	// ReplayFinal makes replays play only the last session of each repetition, without the retries
	// before it.
	ReplayFinal bool
	// Note receives notes for the user, from any goroutine. Optional.
	Note func(plumb.Note)
	// Dir is the directory of relative paths; "" is the current directory.
	Dir string
	// Agents is the state that the runners of agents share; nil means that there is one such
	// runner.
	Agents *agent.Shared
	// Redact removes secrets from the artifacts of agents. Optional.
	Redact *redact.Redactor
}

// withDefaults sets the functions and prices that the caller left out, and drops a cache that is
// off.
func (e Env) withDefaults() Env {
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	if e.Note == nil {
		e.Note = func(plumb.Note) {}
	}
	if e.Prices == nil {
		e.Prices = &Prices{}
	}
	if e.CacheMode == "" || e.CacheMode == CacheOff {
		e.Cache = nil
	}
	return e
}

// New returns the runner that cfg describes. Its errors report mistakes in the configuration. An
// error that contains a *plumb.Failure means that the configuration is valid, but that this machine
// lacks a program or a key.
func New(ctx context.Context, cfg plumb.RunnerConfig, env Env) (plumb.Runner, error) {
	r, err := open(ctx, cfg, env.withDefaults())
	if err != nil && cfg.ID != "" {
		return nil, fmt.Errorf("runner %s: %w", cfg.ID, err)
	}
	return r, err
}

func open(ctx context.Context, cfg plumb.RunnerConfig, env Env) (plumb.Runner, error) {
	kind, err := check(cfg)
	if err != nil {
		return nil, err
	}
	if env.CacheMode == CacheOnly && (kind == plumb.RunnerCommand || kind == plumb.RunnerAgent) {
		err := fmt.Errorf("%s cannot use the cache, which has only answers of models", article(kind))
		return nil, plumb.WithHint(err, "leave out --cache only, or replay an earlier run")
	}
	switch kind {
	case plumb.RunnerCommand:
		return newCommand(cfg, env)
	case plumb.RunnerAgent:
		return openAgent(ctx, cfg, env)
	case plumb.RunnerReplay:
		return openReplay(cfg, env)
	default:
		return openModel(cfg, env)
	}
}

// check returns the kind of runner that cfg describes, and reports the mistakes that do not depend
// on the environment.
func check(cfg plumb.RunnerConfig) (plumb.RunnerKind, error) {
	var kinds []plumb.RunnerKind
	for _, k := range []struct {
		kind plumb.RunnerKind
		set  bool
	}{
		{plumb.RunnerModel, cfg.Model != ""},
		{plumb.RunnerCommand, len(cfg.Command) > 0},
		{plumb.RunnerReplay, cfg.Replay != ""},
		{plumb.RunnerAgent, cfg.Agent != nil},
	} {
		if k.set {
			kinds = append(kinds, k.kind)
		}
	}
	const hint = "set one of model, agent, command and replay"
	switch len(kinds) {
	case 0:
		return "", plumb.WithHint(errors.New("it has no model, agent, command or replay"), hint)
	case 1:
	default:
		return "", plumb.WithHint(fmt.Errorf("it has both %s and %s", article(kinds[0]), article(kinds[1])), hint)
	}
	kind := kinds[0]
	// A setting without effect is a mistake: the user would believe in its effect.
	isModel, isCommand, isAgent := kind == plumb.RunnerModel, kind == plumb.RunnerCommand, kind == plumb.RunnerAgent
	for _, key := range []struct {
		name       string
		set, works bool
	}{
		{"baseURL", cfg.BaseURL != "", isModel},
		{"api", cfg.API != "", isModel},
		{"apiKeyEnv", cfg.APIKeyEnv != "", isModel},
		{"headers", len(cfg.Headers) > 0, isModel},
		{"env", len(cfg.Env) > 0, isCommand},
		{"temperature", cfg.Temperature != nil || cfg.NoTemperature, !isAgent},
		{"seed", cfg.Seed != nil || cfg.NoSeed, !isAgent},
		{"topP", cfg.TopP != nil, !isAgent},
		{"maxOutputTokens", cfg.MaxOutputTokens != nil, !isAgent},
		{"reasoningEffort", cfg.ReasoningEffort != nil, !isAgent},
	} {
		if !key.set || key.works {
			continue
		}
		err := fmt.Errorf("%s has no effect on %s", key.name, article(kind))
		if isAgent {
			err = plumb.WithHint(err, "agents choose it themselves; args may have an option for it")
		}
		return "", err
	}
	switch {
	case cfg.TimeoutMs < 0:
		return "", fmt.Errorf("timeoutMs must be positive, not %d", cfg.TimeoutMs)
	case cfg.MaxParallel < 0:
		return "", fmt.Errorf("maxParallel must be positive, not %d", cfg.MaxParallel)
	case cfg.MaxOutputTokens != nil && *cfg.MaxOutputTokens <= 0:
		return "", fmt.Errorf("maxOutputTokens must be positive, not %d", *cfg.MaxOutputTokens)
	case cfg.Temperature != nil && *cfg.Temperature < 0:
		return "", fmt.Errorf("temperature must be at least 0, not %g", *cfg.Temperature)
	case cfg.TopP != nil && (*cfg.TopP < 0 || *cfg.TopP > 1):
		return "", fmt.Errorf("topP must be between 0 and 1, not %g", *cfg.TopP)
	}
	return kind, nil
}

func article(kind plumb.RunnerKind) string {
	if kind == plumb.RunnerAgent {
		return "an agent"
	}
	return "a " + string(kind)
}

// parameters returns the parameters that a runner requests, with the defaults.
func parameters(cfg plumb.RunnerConfig) plumb.Parameters {
	p := plumb.Parameters{
		Temperature: cfg.Temperature, TopP: cfg.TopP, Seed: cfg.Seed,
		MaxOutputTokens: cfg.MaxOutputTokens, ReasoningEffort: cfg.ReasoningEffort,
	}
	switch {
	case cfg.NoTemperature:
		p.Temperature = nil
	case p.Temperature == nil:
		p.Temperature = new(defaultTemperature)
	}
	switch {
	case cfg.NoSeed:
		p.Seed = nil
	case p.Seed == nil:
		p.Seed = new(int64(defaultSeed))
	}
	return p
}

// ConfigHash is the SHA-256 of the configuration of a runner in JSON, with the defaults, without
// secrets and without settings that do not change answers.
func ConfigHash(cfg plumb.RunnerConfig) string {
	if cfg.Agent == nil { // agents choose their own parameters
		p := parameters(cfg)
		cfg.Temperature, cfg.Seed = p.Temperature, p.Seed
	}
	cfg.ID, cfg.NoTemperature, cfg.NoSeed = "", false, false // the parameters say it
	cfg.Env, cfg.MaxParallel, cfg.Agent = PublicEnv(cfg.Env), 0, publicAgent(cfg.Agent)
	data, err := marshal(cfg)
	if err != nil { // JSON has no form for a temperature of NaN
		data = fmt.Append(nil, cfg.Command, err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// PublicEnv returns variables without the values of those with a secret name. A reference to a variable is public.
func PublicEnv(values map[string]string) map[string]string {
	shown := maps.Clone(values)
	for name, value := range shown {
		if SecretName(name) && !strings.Contains(value, "${") {
			shown[name] = ""
		}
	}
	return shown
}

func withoutPassword(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.User == nil {
		return rawURL
	}
	u.User = nil
	return u.String()
}

// ended is the failure of a request that had no answer when ctx ended.
func ended(ctx context.Context) *plumb.Failure {
	cause := context.Cause(ctx)
	if modelapi.OutOfTime(ctx) {
		return plumb.Failuref(plumb.OriginTimeout, "no answer in time: %w", cause)
	}
	return plumb.Failuref(plumb.OriginRunner, "stopped before the answer: %w", cause)
}

// NewJudge returns the model that answers the questions of llm_judge.
func NewJudge(ctx context.Context, cfg plumb.RunnerConfig, env Env) (*plumb.Judge, error) {
	r, err := open(ctx, cfg, env.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	return &plumb.Judge{Runner: r}, nil
}
