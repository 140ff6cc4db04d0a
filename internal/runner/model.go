package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// openModel returns the runner of a model, with its price and with the cache if it is on.
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
	m := &model{Runner: inner, prices: env.Prices}
	if env.Cache == nil {
		return m, nil
	}
	info := inner.Info()
	return &cached{
		Runner: m, cache: env.Cache, only: env.CacheMode == CacheOnly, note: env.Note,
		target: cacheTarget{
			Provider: info.Agent.Type, Model: info.Agent.Model, BaseURL: info.BaseURL, API: cfg.API,
			Headers: PublicEnv(cfg.Headers), Parameters: info.Parameters,
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

// modelConfig returns the address and the credentials of a model or an embedder.
func modelConfig(cfg plumb.RunnerConfig, env Env, target modelapi.Target) (modelapi.Config, error) {
	config := modelapi.Config{
		Provider: target.Provider, Model: target.Model, BaseURL: cfg.BaseURL, API: cfg.API,
		RequestTimeout: time.Duration(cfg.TimeoutMs) * time.Millisecond, Transport: env.Transport, Note: env.Note,
	}
	if env.Cache == nil && env.CacheMode != "" && env.CacheMode != CacheOff {
		return config, errors.New("the cache has no directory")
	}
	if config.Transport == nil {
		config.Transport = modelapi.NewTransport(modelapi.TransportOptions{Getenv: env.Getenv})
	}
	provider, _ := modelapi.ProviderNamed(target.Provider) // a target has a known provider
	if config.BaseURL == "" && provider.BaseURLEnv != "" {
		config.BaseURL = strings.TrimSpace(env.Getenv(provider.BaseURLEnv))
	}
	if env.Planning {
		config.APIKey = unusedKey
		return config, nil
	}
	var err error
	if config.Headers, err = expandHeaders(cfg.Headers, env.Getenv); err != nil {
		return config, err
	}
	if cfg.APIKeyEnv == "" {
		config.APIKey, _ = provider.Key(env.Getenv)
	} else {
		config.APIKey = strings.TrimSpace(env.Getenv(cfg.APIKeyEnv))
	}
	switch {
	case config.APIKey != "":
	case env.CacheMode == CacheOnly:
		config.APIKey = unusedKey
	case !variableName.MatchString(cfg.APIKeyEnv) && cfg.APIKeyEnv != "":
		return config, plumb.WithHint(
			errors.New("apiKeyEnv (--api-key-env) is not the name of an environment variable; "+
				"its value is not shown, because it may be a key"),
			"put the key into a variable, such as OPENAI_API_KEY, and give the name of the variable")
	case cfg.APIKeyEnv != "":
		return config, notSet(cfg.APIKeyEnv, ", named by apiKeyEnv,")
	}
	return config, nil
}

// variableName matches the names of environment variables that shells can set.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// unusedKey is the key of models that send no request.
const unusedKey = "unused"

// notSet is the failure of a runner that needs an environment variable.
func notSet(name, which string) error {
	err := fmt.Errorf("the environment variable %s%s is not set", name, which)
	return plumb.Failed(plumb.OriginRunner, plumb.WithHint(err, "export "+name+"=..., or put it in a .env file"))
}

// expandHeaders replaces the references to environment variables in the values of headers.
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

// reference matches a reference to an environment variable.
var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// references lists the environment variables that text refers to.
func references(text string) []string {
	var names []string
	for _, match := range reference.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// expand replaces each ${NAME} by that environment variable. A dollar sign alone is a dollar sign.
func expand(text string, getenv func(string) string) (string, error) {
	names := references(text)
	if len(names) != strings.Count(text, "${") {
		err := errors.New("${ must be followed by the name of an environment variable and }")
		return "", plumb.WithHint(err, "write ${NAME}")
	}
	for _, name := range names {
		if getenv(name) == "" {
			return "", notSet(name, "")
		}
	}
	return reference.ReplaceAllStringFunc(text, func(ref string) string { return getenv(ref[2 : len(ref)-1]) }), nil
}
