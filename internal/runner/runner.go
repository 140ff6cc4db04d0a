// Package runner turns a runner's configuration into a [plumb.Runner]: a model (through package
// modelapi), a coding agent (through package agent), a command, or the replay of an earlier run.
// It adds what all models share: prices and the response cache.
//
// [New] finds every mistake of a configuration that can be found without asking anybody, so that a
// run that starts can reach its runners as far as can be told.
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
	DefaultTemperature = 0.0
	DefaultSeed        = 42
)

// Env is what runners need of the world. The zero value works, without environment variables and
// without a cache.
type Env struct {
	// Getenv looks up an environment variable; nil means that there are none.
	Getenv func(string) string
	// Environ is the environment that commands inherit, as name=value; nil means none.
	Environ func() []string
	// Transport carries the requests of all models; nil lets each runner make its own.
	Transport *modelapi.Transport
	// Cache keeps the answers of models, as CacheMode says. Commands and replays are never cached:
	// what a program would answer now only the program knows.
	Cache     *Cache
	CacheMode CacheMode
	// Prices tells what models cost; nil means the built-in table.
	Prices *Prices
	// Planning says that runners are only described, and never asked, so that no key is needed.
	Planning bool
	// ReplayFinal makes replays play the session that decided each repetition, and no retries
	// before it.
	ReplayFinal bool
	// Note takes what the user should know, from any goroutine. Optional.
	Note func(plumb.Note)
	// Dir is where relative paths begin; "" is the current directory.
	Dir string
	// Agents is what the runners of agents know in common; nil means that there is one such runner.
	Agents *agent.Shared
	// Redact removes secrets from the artifacts of agents. Optional.
	Redact *redact.Redactor
}

func (e Env) getenv(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

func (e Env) note() func(plumb.Note) {
	if e.Note == nil {
		return func(plumb.Note) {}
	}
	return e.Note
}

// cache returns the cache that is to be used, or nil.
func (e Env) cache() (*Cache, error) {
	switch e.CacheMode {
	case "", CacheOff:
		return nil, nil
	case CacheOn, CacheOnly:
		if e.Cache == nil {
			return nil, errors.New("no directory for the cache is known") // a mistake of the program, not of its user
		}
		return e.Cache, nil
	default:
		return nil, fmt.Errorf("unknown cache mode %q", e.CacheMode)
	}
}

func (e Env) prices() *Prices {
	if e.Prices == nil {
		return &Prices{}
	}
	return e.Prices
}

// New makes the runner that cfg describes. Its errors say what to change in the configuration. One
// with a *plumb.Failure in it says that the configuration is in order, and the runner not to be had
// here: a program is missing, or a key.
func New(cfg plumb.RunnerConfig, env Env) (plumb.Runner, error) {
	r, err := open(cfg, env)
	if err != nil && cfg.ID != "" {
		return nil, fmt.Errorf("runner %s: %w", cfg.ID, err)
	}
	return r, err
}

func open(cfg plumb.RunnerConfig, env Env) (plumb.Runner, error) {
	kind, err := check(cfg)
	if err != nil {
		return nil, err
	}
	switch kind {
	case plumb.RunnerCommand:
		if env.CacheMode == CacheOnly {
			return nil, plumb.WithHint(errors.New("a command cannot be answered from the cache, which holds answers of models only"),
				"leave out --cache only, or replay an earlier run")
		}
		return newCommand(cfg, env)
	case plumb.RunnerAgent:
		return openAgent(cfg, env)
	case plumb.RunnerReplay:
		return openReplay(cfg, env)
	default:
		return openModel(cfg, env)
	}
}

// check finds what is wrong with a configuration whatever the environment.
func check(cfg plumb.RunnerConfig) (plumb.RunnerKind, error) {
	var kinds []plumb.RunnerKind
	if cfg.Model != "" {
		kinds = append(kinds, plumb.RunnerModel)
	}
	if len(cfg.Command) > 0 {
		kinds = append(kinds, plumb.RunnerCommand)
	}
	if cfg.Replay != "" {
		kinds = append(kinds, plumb.RunnerReplay)
	}
	if cfg.Agent != nil {
		kinds = append(kinds, plumb.RunnerAgent)
	}
	const hint = "set one of model, agent, command and replay"
	switch len(kinds) {
	case 0:
		return "", plumb.WithHint(errors.New("it is neither a model nor an agent nor a command nor a replay"), hint)
	case 1:
	default:
		return "", plumb.WithHint(fmt.Errorf("it is %s and %s at once", article(kinds[0]), article(kinds[1])), hint)
	}
	kind := kinds[0]
	// What has no effect on a runner of this kind is a mistake, and would be believed in.
	for _, key := range []struct {
		name string
		set  bool
		of   plumb.RunnerKind
	}{
		{"baseURL", cfg.BaseURL != "", plumb.RunnerModel},
		{"api", cfg.API != "", plumb.RunnerModel},
		{"apiKeyEnv", cfg.APIKeyEnv != "", plumb.RunnerModel},
		{"headers", len(cfg.Headers) > 0, plumb.RunnerModel},
		{"env", len(cfg.Env) > 0, plumb.RunnerCommand},
	} {
		if key.set && key.of != kind {
			return "", fmt.Errorf("%s has no effect on %s", key.name, article(kind))
		}
	}
	if kind == plumb.RunnerAgent {
		if err := checkAgent(cfg); err != nil {
			return "", err
		}
	}
	switch {
	case cfg.TimeoutMs < 0:
		return "", fmt.Errorf("timeoutMs is %d, which is no time", cfg.TimeoutMs)
	case cfg.MaxParallel < 0:
		return "", fmt.Errorf("maxParallel is %d, which is no number of requests", cfg.MaxParallel)
	case cfg.MaxOutputTokens != nil && *cfg.MaxOutputTokens <= 0:
		return "", fmt.Errorf("maxOutputTokens is %d, which leaves no answer", *cfg.MaxOutputTokens)
	case cfg.Temperature != nil && *cfg.Temperature < 0:
		return "", fmt.Errorf("temperature is %g, which is below 0", *cfg.Temperature)
	case cfg.TopP != nil && (*cfg.TopP < 0 || *cfg.TopP > 1):
		return "", fmt.Errorf("topP is %g, which is not between 0 and 1", *cfg.TopP)
	}
	return kind, nil
}

func article(kind plumb.RunnerKind) string {
	if kind == plumb.RunnerAgent {
		return "an agent"
	}
	return "a " + string(kind)
}

// parameters returns what a runner asks for, defaults included.
func parameters(cfg plumb.RunnerConfig) plumb.Parameters {
	p := plumb.Parameters{
		Temperature: cfg.Temperature, TopP: cfg.TopP, Seed: cfg.Seed,
		MaxOutputTokens: cfg.MaxOutputTokens, ReasoningEffort: cfg.ReasoningEffort,
	}
	switch {
	case cfg.NoTemperature:
		p.Temperature = nil
	case p.Temperature == nil:
		p.Temperature = new(DefaultTemperature)
	}
	switch {
	case cfg.NoSeed:
		p.Seed = nil
	case p.Seed == nil:
		p.Seed = new(int64(DefaultSeed))
	}
	return p
}

// configHash is the SHA-256 of what a runner is configured to do: of its configuration in JSON,
// defaults filled in, secrets and what does not change answers left out.
func configHash(cfg plumb.RunnerConfig) string {
	if cfg.Agent == nil { // who chooses its own
		p := parameters(cfg)
		cfg.Temperature, cfg.Seed = p.Temperature, p.Seed
	}
	cfg.Env, cfg.MaxParallel, cfg.Agent = public(cfg.Env), 0, publicAgent(cfg.Agent)
	data, err := marshal(cfg)
	if err != nil { // a number that is none, such as a temperature of NaN
		data = fmt.Append(nil, cfg.Command, err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// public returns values by name, those left out that are secret by their name and not only refer to
// one.
func public(values map[string]string) map[string]string {
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

// ended is the failure of a request that was still to be answered when ctx ended.
func ended(ctx context.Context) *plumb.Failure {
	cause := context.Cause(ctx)
	if timeUp(ctx) {
		return plumb.Failuref(plumb.OriginTimeout, "no answer in time: %w", cause)
	}
	return plumb.Failuref(plumb.OriginRunner, "stopped before there was an answer: %w", cause)
}

// timeUp reports whether ctx ended since there was no more time, and not since somebody stopped the
// work.
func timeUp(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, plumb.ErrTimeLimit) || errors.Is(cause, context.DeadlineExceeded)
}

// NewJudge makes the model that answers the questions of llm_judge, apart from the runners under
// test.
func NewJudge(cfg plumb.RunnerConfig, env Env) (*plumb.Judge, error) {
	r, err := open(cfg, env)
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	return &plumb.Judge{Runner: r}, nil
}
