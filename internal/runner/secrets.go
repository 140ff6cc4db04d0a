package runner

import (
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// Secrets lists the secret values in settings, with the names that tell where they are from. It
// looks at every text of every setting, found by reflection, so that a new field cannot be
// forgotten:
//
//   - what ${NAME} stands for, and the variable that a field APIKeyEnv names;
//   - the value of a header, a variable or an argument whose name says that it is secret (see [SecretName]);
//   - user, password and secret parameters of a URL;
//   - words that have the form of a well-known kind of key;
//   - the keys of the provider of a runner, and what an agent logs in with.
//
// The settings need not be valid. getenv looks up an environment variable; nil knows none.
func Secrets(getenv func(string) string, settings ...any) []redact.Secret {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	c := collector{getenv: getenv}
	for _, s := range settings {
		c.look(reflect.ValueOf(s), "")
	}
	return c.found
}

type collector struct {
	getenv func(string) string
	found  []redact.Secret
}

// add takes in a secret. Of equal values the first name stays.
func (c *collector) add(name, value string) {
	value = strings.TrimSpace(value)
	if value != "" && !slices.ContainsFunc(c.found, func(s redact.Secret) bool { return s.Value == value }) {
		c.found = append(c.found, redact.Secret{Name: name, Value: value})
	}
}

// look takes in the secrets of v, which a field of the given name holds.
func (c *collector) look(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.String:
		c.text(v.String())
		if strings.HasSuffix(field, "KeyEnv") {
			c.add(v.String(), c.getenv(v.String()))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			c.look(v.Elem(), field)
		}
	case reflect.Struct:
		c.known(v)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				c.look(v.Field(i), f.Name)
			}
		}
	case reflect.Slice:
		if args, ok := reflect.TypeAssert[[]string](v); ok {
			c.arguments(args)
		}
		for i := range v.Len() {
			c.look(v.Index(i), field)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			value := v.MapIndex(key)
			if value.Kind() == reflect.String {
				name := key.String()
				if field == "Headers" {
					name = "header " + name
				}
				c.named(name, key.String(), value.String())
			}
			c.look(value, key.String())
		}
	default: // holds no text
	}
}

// known takes in what a runner or an agent is given beside its settings.
func (c *collector) known(v reflect.Value) {
	switch s := v.Interface().(type) {
	case plumb.RunnerConfig:
		if provider, ok := providerOf(s.Model); ok {
			for _, name := range provider.KeyEnv {
				c.add(name, c.getenv(name))
			}
			c.text(provider.Address(c.getenv))
		}
	case plumb.AgentConfig:
		for name, value := range agent.Secrets(&s, c.getenv) {
			c.add(name, value)
		}
	}
}

// named takes in a value with a name, such as that of a header. A value that refers to variables is
// no secret itself.
func (c *collector) named(label, name, value string) {
	if !SecretName(name) || len(references(value)) > 0 {
		return
	}
	c.add(label, value)
	if scheme, credentials, ok := strings.Cut(value, " "); ok && scheme != "" { // "Bearer ..."
		c.add(label, credentials)
	}
}

// wellKnown finds words that have the form of a kind of key that many services use.
var wellKnown = regexp.MustCompile(`\b(?:sk-|sk_live_|rk_live_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abps]-|AKIA|AIza|hf_|npm_|pypi-|eyJ)[A-Za-z0-9_.-]{16,}`)

// text takes in the secrets within a text of the settings.
func (c *collector) text(s string) {
	for _, variable := range references(s) {
		c.add(variable, c.getenv(variable))
	}
	for _, word := range wellKnown.FindAllString(s, -1) {
		c.add("key in the config", word)
	}
	if !strings.Contains(s, "://") {
		return
	}
	u, err := url.Parse(s)
	if err != nil {
		return
	}
	if u.User != nil {
		c.add("user of the base URL", u.User.Username())
		password, _ := u.User.Password()
		c.add("password of the base URL", password)
	}
	query := u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			c.named(name+" in the base URL", name, value)
		}
	}
}

// arguments takes in the secrets among the arguments of a program: --token VALUE, --token=VALUE,
// TOKEN=VALUE and "Authorization: VALUE".
func (c *collector) arguments(args []string) {
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			name, value, ok = strings.Cut(arg, ": ")
		}
		if !ok && strings.HasPrefix(arg, "-") && i+1 < len(args) {
			name, value = arg, args[i+1]
		}
		if !strings.ContainsAny(name, " /") {
			c.named("argument "+strings.TrimLeft(name, "-"), strings.TrimLeft(name, "-"), value)
		}
	}
}

// providerOf returns the provider that a model's name means: what stands before the colon, or what
// the table knows.
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

// SecretName reports whether a variable or a header of this name holds a secret, as far as a name
// can tell.
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
