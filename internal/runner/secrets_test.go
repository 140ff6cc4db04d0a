package runner

import (
	"bytes"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// noSecrets visits files, and complains of those that hold one of the values.
func noSecrets(t *testing.T, values ...string) fs.WalkDirFunc {
	t.Helper()
	return func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, v := range values {
			if bytes.Contains(data, []byte(v)) {
				t.Errorf("%s holds %q", path, v)
			}
		}
		return err
	}
}

// named makes secrets of names and values in turn.
func named(pairs ...string) (secrets []redact.Secret) {
	for i := 0; i < len(pairs); i += 2 {
		secrets = append(secrets, redact.Secret{Name: pairs[i], Value: pairs[i+1]})
	}
	return secrets
}

func TestSecrets(t *testing.T) {
	getenv := variables(map[string]string{
		"OPENAI_API_KEY": "sk-openai", "MY_KEY": " sk-mine\n", "TEAM": "blue", "OTHER": "not asked for",
		"GEMINI_API_KEY": "g-1", "GOOGLE_API_KEY": "g-2", "OLLAMA_HOST": "http://me:pw@there",
	})
	for name, tt := range map[string]struct {
		cfg  plumb.RunnerConfig
		want []redact.Secret
	}{
		"nothing":     {plumb.RunnerConfig{}, nil},
		"key":         {plumb.RunnerConfig{Model: "gpt-5"}, named("OPENAI_API_KEY", "sk-openai")},
		"all keys":    {plumb.RunnerConfig{Model: "google:x"}, named("GEMINI_API_KEY", "g-1", "GOOGLE_API_KEY", "g-2")},
		"named key":   {plumb.RunnerConfig{Model: "nonsense", APIKeyEnv: "MY_KEY"}, named("MY_KEY", "sk-mine")},
		"env address": {plumb.RunnerConfig{Model: "ollama:x"}, named("user of the base URL", "me", "password of the base URL", "pw")},
		"own address": {plumb.RunnerConfig{Model: "lmstudio:x", BaseURL: "http://a:b@c"}, named("user of the base URL", "a", "password of the base URL", "b")},
		"header":      {plumb.RunnerConfig{Model: "lmstudio:x", Headers: map[string]string{"X-Team": "t ${TEAM} ${TEAM}"}}, named("TEAM", "blue")},
		"literal":     {plumb.RunnerConfig{Headers: map[string]string{"Authorization": "Bearer abc", "X-Color": "red"}}, named("header Authorization", "Bearer abc", "header Authorization", "abc")},
		"env":         {plumb.RunnerConfig{Command: []string{"x"}, Env: map[string]string{"DB_PASSWORD": "p", "MODE": "m", "GITHUB_TOKEN": "t", "EMPTY_SECRET": ""}}, named("DB_PASSWORD", "p", "GITHUB_TOKEN", "t")},
		"unset":       {plumb.RunnerConfig{Headers: map[string]string{"X": "${NONE} ${"}}, nil},
	} {
		if diff := cmp.Diff(tt.want, Secrets(getenv, tt.cfg)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := Secrets(nil, plumb.RunnerConfig{Model: "gpt-5"}); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestSecretName(t *testing.T) {
	for _, name := range []string{"API_KEY", "apiKey", "X-Api-Key", "OPENAI_API_KEY", "GH_TOKEN", "ACCESSTOKEN", "db.password", "Authorization", "Cookie", "CLIENT_SECRET", "AWS_CREDENTIALS", "PRIVATE_KEY"} {
		if !SecretName(name) {
			t.Errorf("%s", name)
		}
	}
	for _, name := range []string{"PWD", "MODE", "MAX_TOKENS", "X-Team", "MONKEY", "KEYBOARD", "PATH", "AUTHOR", "", "TOKENIZER", "SECRETARY"} {
		if SecretName(name) {
			t.Errorf("%s", name)
		}
	}
}

func TestExpand(t *testing.T) {
	getenv := variables(map[string]string{"A": "1", "B_2": "${A}"})
	for text, want := range map[string]string{"": "", "x": "x", "${A}": "1", "a${A}b${A}": "a1b1", "${B_2}": "${A}", "$A $ 5$": "$A $ 5$", "}${A}}": "}1}"} {
		if got, err := expand(text, getenv); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"${}", "${A", "${1A}", "${A-B}", "${ A }", "${NONE}"} {
		if got, err := expand(text, getenv); err == nil || plumb.Hint(err) == "" {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// TestSecretsInEveryField plants a canary in each text of the settings by itself, wherever they may
// get one in the future.
func TestSecretsInEveryField(t *testing.T) {
	const canary = "sk-canary-0123456789abcdef"
	for _, settings := range []any{plumb.RunnerConfig{}, plumb.WorkspaceConfig{}} {
		planted := 0
		plant(t, reflect.TypeOf(settings), "", func(path string, v reflect.Value) {
			planted++
			found := Secrets(nil, v.Interface())
			if !slices.ContainsFunc(found, func(s redact.Secret) bool { return strings.Contains(s.Value, canary) }) {
				t.Errorf("%T%s: not found in %+v", settings, path, found)
			}
		}, canary)
		if planted < 5 {
			t.Errorf("%T: only %d fields were looked at", settings, planted)
		}
	}
}

// plant calls fn with a value of type t for each place where it can hold a text, with the canary
// there and nowhere else.
func plant(t *testing.T, typ reflect.Type, path string, fn func(path string, v reflect.Value), canary string) {
	t.Helper()
	place := func(path string, set func(v reflect.Value)) {
		v := reflect.New(typ).Elem()
		set(v)
		fn(path, v)
	}
	switch typ.Kind() {
	case reflect.String:
		place(path, func(v reflect.Value) { v.SetString(canary) })
	case reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			if !f.IsExported() {
				continue
			}
			plant(t, f.Type, path+"."+f.Name, func(path string, inner reflect.Value) {
				place(path, func(v reflect.Value) { v.Field(i).Set(inner) })
			}, canary)
		}
	case reflect.Pointer:
		plant(t, typ.Elem(), path, func(path string, inner reflect.Value) {
			place(path, func(v reflect.Value) {
				v.Set(reflect.New(typ.Elem()))
				v.Elem().Set(inner)
			})
		}, canary)
	case reflect.Slice:
		plant(t, typ.Elem(), path+"[]", func(path string, inner reflect.Value) {
			place(path, func(v reflect.Value) { v.Set(reflect.Append(v, inner)) })
		}, canary)
	case reflect.Map:
		plant(t, typ.Elem(), path+"{}", func(path string, inner reflect.Value) {
			place(path, func(v reflect.Value) {
				v.Set(reflect.MakeMap(typ))
				v.SetMapIndex(reflect.ValueOf("name"), inner)
			})
		}, canary)
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64: // no room for a text
	default:
		t.Fatalf("%s: settings of type %s are new to this test", path, typ)
	}
}

// TestSecretsByName: what has no form of its own is known by the name that it is given under.
func TestSecretsByName(t *testing.T) {
	const secret = "Zq81-hunter-of-words"
	for name, settings := range map[string]any{
		"bootstrap env":      plumb.WorkspaceConfig{Bootstrap: &plumb.Bootstrap{Env: map[string]string{"DB_PASSWORD": secret}}},
		"bootstrap argument": plumb.WorkspaceConfig{Bootstrap: &plumb.Bootstrap{Args: []string{"--token", secret}}},
		"argument with =":    plumb.RunnerConfig{Command: []string{"x", "--api-key=" + secret}},
		"variable argument":  plumb.RunnerConfig{Command: []string{"env", "API_TOKEN=" + secret, "x"}},
		"header argument":    plumb.RunnerConfig{Command: []string{"curl", "-H", "Authorization: Bearer " + secret}},
		"user":               plumb.RunnerConfig{BaseURL: "https://" + secret + ":x@host/v1"},
		"password":           plumb.RunnerConfig{BaseURL: "https://me:" + secret + "@host/v1"},
		"query":              plumb.RunnerConfig{BaseURL: "https://host/v1?api_key=" + secret},
		"agent env":          plumb.RunnerConfig{Agent: &plumb.AgentConfig{Env: map[string]string{"X_TOKEN": secret}}},
		"MCP header":         plumb.RunnerConfig{Agent: &plumb.AgentConfig{MCPServers: map[string]plumb.MCPServer{"m": {Headers: map[string]string{"X-Api-Key": secret}}}}},
		"MCP address":        &plumb.RunnerConfig{Agent: &plumb.AgentConfig{MCPServers: map[string]plumb.MCPServer{"m": {URL: "https://host/?token=" + secret}}}},
		"a list":             []plumb.RunnerConfig{{}, {Env: map[string]string{"MY_SECRET": secret}}},
		"a reference":        plumb.RunnerConfig{Headers: map[string]string{"X-Team": "${TEAM}"}},
		"a key's variable":   plumb.RunnerConfig{APIKeyEnv: "TEAM"},
	} {
		found := Secrets(variables(map[string]string{"TEAM": secret}), settings)
		r := redact.New(found)
		if got := r.String("it is " + secret); strings.Contains(got, secret) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
