package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	described := info(cfg, plumb.RunnerModel, plumb.AgentInfo{Type: target.Provider, Model: target.Model})
	config.ID, config.Parameters = described.ID, described.Parameters
	m, err := modelapi.New(config)
	if err != nil {
		return nil, err
	}
	described.BaseURL = withoutPassword(m.Info().BaseURL)
	var r plumb.Runner = &model{inner: m, info: described, prices: env.prices()}
	if env.CacheMode == CacheOff || env.CacheMode == "" {
		return r, nil
	}
	if env.Cache == nil {
		return nil, errors.New("no directory for the cache is known")
	}
	return &cached{
		Runner: r, cache: env.Cache, only: env.CacheMode == CacheOnly, note: env.Note,
		target: cacheTarget{
			Provider: target.Provider, Model: target.Model, BaseURL: described.BaseURL, API: config.API,
			Headers: public(cfg.Headers), Parameters: described.Parameters,
		},
	}, nil
}

// model is a model API with its price.
type model struct {
	inner  plumb.Runner
	info   plumb.RunnerInfo
	prices *Prices
}

// Info identifies the runner.
func (m *model) Info() plumb.RunnerInfo { return m.info }

// Run asks the model, and says what that cost.
func (m *model) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	report, err := m.inner.Run(ctx, req)
	if report != nil {
		report.Runner = m.info
		m.prices.price(m.info, report)
	}
	return report, err
}

// modelConfig is what a model and an embedder have in common: where the provider is, and how to be let in.
func modelConfig(cfg plumb.RunnerConfig, env Env, target modelapi.Target) (modelapi.Config, error) {
	provider, ok := findProvider(target.Provider)
	if !ok {
		return modelapi.Config{}, fmt.Errorf("unknown provider %q", target.Provider)
	}
	config := modelapi.Config{
		Provider: target.Provider, Model: target.Model, BaseURL: cfg.BaseURL, API: cfg.API,
		RequestTimeout: milliseconds(cfg.TimeoutMs), Transport: env.Transport, Note: env.Note,
	}
	if config.BaseURL == "" && provider.BaseURLEnv != "" {
		config.BaseURL = strings.TrimSpace(env.getenv(provider.BaseURLEnv))
	}
	var err error
	if config.Headers, err = expandHeaders(cfg.Headers, env.getenv); err != nil {
		return modelapi.Config{}, err
	}
	if config.APIKey, err = apiKey(cfg, env, provider, config.BaseURL); err != nil {
		return modelapi.Config{}, err
	}
	return config, nil
}

func findProvider(name string) (modelapi.Provider, bool) {
	known := modelapi.Providers()
	i := slices.IndexFunc(known, func(p modelapi.Provider) bool { return p.Name == name })
	if i < 0 {
		return modelapi.Provider{}, false
	}
	return known[i], true
}

// keyNames are the environment variables that may hold a runner's key, the first that is set counts.
func keyNames(cfg plumb.RunnerConfig, provider modelapi.Provider) []string {
	if cfg.APIKeyEnv != "" {
		return []string{cfg.APIKeyEnv}
	}
	return provider.KeyEnv
}

// apiKey returns the key for a provider. Only a server of the user's own may do without: it says so itself if it wants
// one.
func apiKey(cfg plumb.RunnerConfig, env Env, provider modelapi.Provider, baseURL string) (string, error) {
	names := keyNames(cfg, provider)
	for _, name := range names {
		if key := strings.TrimSpace(env.getenv(name)); key != "" {
			return key, nil
		}
	}
	switch {
	case cfg.APIKeyEnv != "":
		return "", plumb.WithHint(fmt.Errorf("the environment variable %s, named by apiKeyEnv, is not set", cfg.APIKeyEnv),
			"export "+cfg.APIKeyEnv+"=..., or put it in a .env file")
	case provider.Local, baseURL != "", len(names) == 0, hasAuth(cfg.Headers), env.CacheMode == CacheOnly:
		return "", nil
	}
	hint := "export " + names[0] + "=..., or put it in a .env file"
	if where := keyPage(provider.Name); where != "" {
		hint += "; keys are made at " + where
	}
	return "", plumb.WithHint(fmt.Errorf("no key for %s: %s is not set", provider.Name, strings.Join(names, " or ")), hint)
}

// hasAuth reports whether the user's own headers let them in.
func hasAuth(headers map[string]string) bool {
	for name := range headers {
		switch strings.ToLower(name) {
		case "authorization", "x-api-key", "api-key", "x-goog-api-key":
			return true
		}
	}
	return false
}

// keyPage is where a provider's keys are made.
func keyPage(provider string) string {
	switch provider {
	case "openai":
		return "https://platform.openai.com/api-keys"
	case "anthropic":
		return "https://console.anthropic.com/settings/keys"
	case "google":
		return "https://aistudio.google.com/apikey"
	case "openrouter":
		return "https://openrouter.ai/settings/keys"
	case "groq":
		return "https://console.groq.com/keys"
	case "azure":
		return "https://portal.azure.com (Keys and Endpoint of the resource)"
	default:
		return ""
	}
}

// expandHeaders fills in the environment variables that header values refer to.
func expandHeaders(headers map[string]string, getenv func(string) string) (map[string]string, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	expanded := make(map[string]string, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if name == "" || strings.ContainsFunc(name, notToken) {
			return nil, fmt.Errorf("headers: %q cannot be the name of a header", name)
		}
		value, err := expand(headers[name], getenv)
		if err != nil {
			return nil, fmt.Errorf("headers: %s: %w", name, err)
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("headers: %s: the value has a line break", name)
		}
		expanded[name] = value
	}
	return expanded, nil
}

// notToken reports whether r cannot be part of a header's name.
func notToken(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	default:
		return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
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
			return "", plumb.WithHint(fmt.Errorf("the environment variable %s is not set", name), "export "+name+"=..., or put it in a .env file")
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
