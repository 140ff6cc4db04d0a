package runner

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// Secrets lists the secret values in settings, with names that show their source. It examines every
// text of every setting by reflection, so that a new field cannot be forgotten. Secrets are:
//
//   - the value of ${NAME}, and of the variable that a field APIKeyEnv names;
//   - the value of a header, a variable or an argument with a secret name (see [SecretName]);
//   - user, password and secret parameters of a URL;
//   - words with the form of a well-known kind of key;
//   - the keys of the provider of a runner, and the credentials of an agent.
//
// The settings can be invalid. getenv looks up an environment variable; nil means that there are
// none.
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

// add adds a secret. Of equal values it keeps the first name.
func (c *collector) add(name, value string) {
	value = strings.TrimSpace(value)
	if value != "" && !slices.ContainsFunc(c.found, func(s redact.Secret) bool { return s.Value == value }) {
		c.found = append(c.found, redact.Secret{Name: name, Value: value})
	}
}

// look adds the secrets of v, the value of a field of the given name.
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
	default: // has no text
	}
}

// known adds the secrets that a runner or an agent gets in addition to its settings.
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

// named adds a value with a secret name, such as that of a header. A value that refers to variables
// is not secret itself.
func (c *collector) named(label, name, value string) {
	if !SecretName(name) || len(references(value)) > 0 {
		return
	}
	c.add(label, value)
	if scheme, credentials, ok := strings.Cut(value, " "); ok && scheme != "" { // "Bearer ..."
		c.add(label, credentials)
	}
}

// text adds the secrets within a text of the settings.
func (c *collector) text(s string) {
	for _, variable := range references(s) {
		c.add(variable, c.getenv(variable))
	}
	for _, word := range redact.Keys(s) {
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

// arguments adds the secrets among the arguments of a program: --token VALUE, --token=VALUE,
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

// providerOf returns the provider of a model's name: the one before the colon, or the one in the
// table of known models.
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

// SecretName reports whether the name of a variable or a header suggests that its value is secret.
func SecretName(name string) bool {
	if strings.EqualFold(name, "PWD") {
		return false // the working directory of the shell, which is part of every path
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
