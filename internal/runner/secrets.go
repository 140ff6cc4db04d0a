package runner

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// Secret is a value that must not reach any file, and where it is from.
type Secret struct {
	// Name says where the value is from, such as "OPENAI_API_KEY" or "header X-Team".
	Name  string
	Value string
}

// Secrets lists the secret values that a runner of cfg is given: its key, what its headers take from the environment or
// hold under a secret name, a password in its address, the variables of a command that are secret by their name, and what
// an agent logs in with.
// It needs no valid configuration.
func Secrets(cfg plumb.RunnerConfig, getenv func(string) string) []Secret {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	var found []Secret
	add := func(name, value string) {
		value = strings.TrimSpace(value)
		known := slices.ContainsFunc(found, func(s Secret) bool { return s.Value == value })
		if value != "" && !known {
			found = append(found, Secret{name, value})
		}
	}
	addresses := []string{cfg.BaseURL}
	if provider, ok := providerOf(cfg.Model); ok {
		for _, name := range provider.KeyEnv {
			add(name, getenv(name))
		}
		addresses = append(addresses, provider.Address(getenv))
	}
	if cfg.APIKeyEnv != "" {
		add(cfg.APIKeyEnv, getenv(cfg.APIKeyEnv))
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Headers)) {
		value := cfg.Headers[name]
		for _, variable := range references(value) {
			add(variable, getenv(variable))
		}
		if SecretName(name) && !strings.Contains(value, "${") {
			add("header "+name, value)
			if scheme, credentials, ok := strings.Cut(value, " "); ok && scheme != "" { // "Bearer ..."
				add("header "+name, credentials)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Env)) {
		if SecretName(name) {
			add(name, cfg.Env[name])
		}
	}
	if cfg.Agent != nil {
		agentSecrets(cfg.Agent, getenv, add)
		addresses = append(addresses, cfg.Agent.BaseURL)
	}
	for _, address := range addresses {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok {
				add("password of the base URL", password)
			}
		}
	}
	return found
}

// providerOf returns the provider that a model's name means: what stands before the colon, or what the table knows.
func providerOf(model string) (modelapi.Provider, bool) {
	if model == "" {
		return modelapi.Provider{}, false
	}
	if target, err := modelapi.Resolve(model); err == nil {
		return modelapi.ProviderNamed(target.Provider)
	}
	name, _, _ := strings.Cut(model, ":")
	return modelapi.ProviderNamed(name)
}

// SecretName reports whether a variable or a header of this name holds a secret, as far as a name can tell.
func SecretName(name string) bool {
	if strings.EqualFold(name, "PWD") {
		return false // the shell's working directory, of which there are traces in every path
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	for _, word := range words {
		switch word {
		case "key", "keys", "apikey", "token", "secret", "secrets", "password", "passwd", "passphrase", "pwd", "auth",
			"authorization", "credential", "credentials", "cookie", "bearer", "private", "pat", "dsn", "signature":
			return true
		}
		for _, end := range []string{"apikey", "token", "secret", "password", "credentials"} {
			if strings.HasSuffix(word, end) {
				return true
			}
		}
	}
	return false
}
