package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// openModel makes the runner of a model: priced, and cached where the environment says so.
func openModel(cfg plumb.RunnerConfig, env Env) (plumb.Runner, error) {
	target, err := modelapi.Resolve(cfg.Model)
	if err != nil {
		return nil, err
	}
	config, err := modelConfig(cfg, env, target)
	if err != nil {
		return nil, err
	}
	config.ID, config.Parameters, config.MaxParallel = cfg.ID, parameters(cfg), cfg.MaxParallel
	inner, err := modelapi.New(config)
	if err != nil {
		return nil, err
	}
	m := &model{Runner: inner, prices: env.prices()}
	cache, err := env.cache()
	switch {
	case err != nil:
		return nil, err
	case cache == nil:
		return m, nil
	}
	info := inner.Info()
	return &cached{
		Runner: m, cache: cache, only: env.CacheMode == CacheOnly, note: env.Note,
		target: cacheTarget{
			Provider: info.Agent.Type, Model: info.Agent.Model, BaseURL: info.BaseURL, API: cfg.API,
			Headers: public(cfg.Headers), Parameters: info.Parameters,
		},
	}, nil
}

// model is a model with its price.
type model struct {
	plumb.Runner
	prices *Prices
}

// Run asks the model, and adds the cost to the report.
func (m *model) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	report, err := m.Runner.Run(ctx, req)
	m.prices.price(m.Info(), report)
	return report, err
}

// modelConfig is what a model and an embedder have in common: where the provider is, and how to be
// let in.
func modelConfig(cfg plumb.RunnerConfig, env Env, target modelapi.Target) (modelapi.Config, error) {
	config := modelapi.Config{
		Provider: target.Provider, Model: target.Model, BaseURL: cfg.BaseURL, API: cfg.API,
		RequestTimeout: time.Duration(cfg.TimeoutMs) * time.Millisecond, Transport: env.Transport, Note: env.Note,
	}
	if config.Transport == nil {
		config.Transport = modelapi.NewTransport(modelapi.TransportOptions{Getenv: env.getenv})
	}
	provider, ok := modelapi.ProviderNamed(target.Provider)
	if !ok {
		return config, fmt.Errorf("unknown provider %q", target.Provider)
	}
	if config.BaseURL == "" && provider.BaseURLEnv != "" {
		config.BaseURL = strings.TrimSpace(env.getenv(provider.BaseURLEnv))
	}
	var err error
	if env.Planning {
		config.APIKey = "nobody-is-asked"
		return config, nil
	}
	if config.Headers, err = expandHeaders(cfg.Headers, env.getenv); err != nil {
		return config, err
	}
	if cfg.APIKeyEnv == "" {
		config.APIKey, _ = provider.Key(env.getenv)
	} else {
		config.APIKey = strings.TrimSpace(env.getenv(cfg.APIKeyEnv))
	}
	switch {
	case config.APIKey != "":
	case env.CacheMode == CacheOnly:
		config.APIKey = "nobody-is-asked" // a model needs a key, even if no request is sent
	case cfg.APIKeyEnv != "":
		return config, plumb.Failed(plumb.OriginRunner, plumb.WithHint(
			fmt.Errorf("the environment variable %s, named by apiKeyEnv, is not set", cfg.APIKeyEnv), setVariable(cfg.APIKeyEnv)))
	}
	return config, nil
}

func setVariable(name string) string { return "export " + name + "=..., or put it in a .env file" }

// expandHeaders fills in the environment variables that header values refer to.
func expandHeaders(headers map[string]string, getenv func(string) string) (map[string]string, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	expanded := make(map[string]string, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value, err := expand(headers[name], getenv)
		if _, missing := errors.AsType[*plumb.Failure](err); missing {
			return nil, plumb.Failuref(plumb.OriginRunner, "headers: %s: %w", name, err)
		}
		if err != nil {
			return nil, fmt.Errorf("headers: %s: %w", name, err)
		}
		expanded[name] = value
	}
	return expanded, nil
}

// expand replaces each ${NAME} by that environment variable. A dollar sign alone is a dollar sign.
func expand(text string, getenv func(string) string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !variableName(name) {
			return "", plumb.WithHint(errors.New("what follows ${ is not the name of an environment variable and a }"), "write ${NAME}")
		}
		value := getenv(name)
		if value == "" {
			return "", plumb.Failed(plumb.OriginRunner, plumb.WithHint(fmt.Errorf("the environment variable %s is not set", name), setVariable(name)))
		}
		b.WriteString(value)
		text = after
	}
}

// references lists the environment variables that text refers to.
func references(text string) []string {
	var names []string
	for {
		_, rest, found := strings.Cut(text, "${")
		if !found {
			return names
		}
		name, after, closed := strings.Cut(rest, "}")
		if closed && variableName(name) {
			names = append(names, name)
			rest = after
		}
		text = rest
	}
}

func variableName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
