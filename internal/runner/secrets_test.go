package runner

import (
	"bytes"
	"io/fs"
	"os"
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
