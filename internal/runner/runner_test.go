package runner

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func variables(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestNewErrors(t *testing.T) {
	getenv := variables(map[string]string{"OPENAI_API_KEY": "sk-test"})
	for _, tt := range []struct {
		name string
		cfg  plumb.RunnerConfig
		text string
		hint string
	}{
		{"nothing", plumb.RunnerConfig{}, "it has no model, agent, command or replay", "set one of"},
		{"two", plumb.RunnerConfig{Model: "gpt-5", Replay: "x"}, "it has both a model and a replay", "set one of"},
		{"no key", plumb.RunnerConfig{Model: "opus"}, "no API key", "ANTHROPIC_API_KEY"},
		{"where to get a key", plumb.RunnerConfig{Model: "opus"}, "", "https://console.anthropic.com"},
		{"named key", plumb.RunnerConfig{Model: "gpt-5", APIKeyEnv: "MY_KEY"}, "MY_KEY", "export MY_KEY="},
		{"unknown model", plumb.RunnerConfig{Model: "opsu"}, `did you mean "opus"`, "provider:model"},
		{"unknown provider", plumb.RunnerConfig{Model: "opnai:gpt-5"}, `did you mean "openai"`, ""},
		{"unset variable", plumb.RunnerConfig{Model: "gpt-5", Headers: map[string]string{"X-Team": "a ${TEAM}"}}, "headers: X-Team: the environment variable TEAM is not set", "TEAM"},
		{"open reference", plumb.RunnerConfig{Model: "gpt-5", Headers: map[string]string{"X": "${TEAM"}}, "headers: X", "${NAME}"},
		{"bad header", plumb.RunnerConfig{Model: "gpt-5", Headers: map[string]string{"X Y": "1"}}, "X Y", ""},
		{"baseURL of a command", plumb.RunnerConfig{Command: []string{os.Args[0]}, BaseURL: "http://x"}, "baseURL has no effect on a command", ""},
		{"env of a model", plumb.RunnerConfig{Model: "gpt-5", Env: map[string]string{"A": "b"}}, "env has no effect on a model", ""},
		{"negative timeout", plumb.RunnerConfig{Model: "gpt-5", TimeoutMs: -5}, "timeoutMs must be positive, not -5", ""},
		{"no answer", plumb.RunnerConfig{Model: "gpt-5", MaxOutputTokens: new(int64(0))}, "maxOutputTokens must be positive, not 0", ""},
		{"cold", plumb.RunnerConfig{Model: "gpt-5", Temperature: new(-0.5)}, "temperature must be at least 0, not -0.5", ""},
		{"topP", plumb.RunnerConfig{Model: "gpt-5", TopP: new(1.5)}, "topP must be between 0 and 1, not 1.5", ""},
		{"parallel", plumb.RunnerConfig{Model: "gpt-5", MaxParallel: -1}, "maxParallel must be positive, not -1", ""},
		{"variable", plumb.RunnerConfig{Command: []string{os.Args[0]}, Env: map[string]string{"A=B": "c"}}, `"A=B"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.ID = "r"
			r, err := New(t.Context(), tt.cfg, Env{Getenv: getenv, Dir: t.TempDir()})
			if r != nil || err == nil || !strings.HasPrefix(err.Error(), "runner r: ") || !strings.Contains(err.Error(), tt.text) ||
				!strings.Contains(plumb.Hint(err), tt.hint) {
				t.Errorf("%v\nhint: %s", err, plumb.Hint(err))
			}
		})
	}
	_, err := New(t.Context(), plumb.RunnerConfig{Command: []string{os.Args[0]}}, Env{CacheMode: CacheOnly})
	if err == nil || !strings.Contains(err.Error(), "a command cannot use the cache") {
		t.Errorf("error %v", err)
	}
	if _, err := New(t.Context(), plumb.RunnerConfig{Model: "gpt-5"}, Env{Getenv: getenv, CacheMode: CacheOn}); err == nil {
		t.Error("a cache without a directory")
	}
}

func TestParametersDefaults(t *testing.T) {
	if got := parameters(plumb.RunnerConfig{}); *got.Temperature != 0 || *got.Seed != 42 || got.TopP != nil || got.MaxOutputTokens != nil {
		t.Errorf("%+v", got)
	}
	got := parameters(plumb.RunnerConfig{Temperature: new(0.7), Seed: new(int64(7))})
	if *got.Temperature != 0.7 || *got.Seed != 7 {
		t.Errorf("%+v", got)
	}
	if got := parameters(plumb.RunnerConfig{NoTemperature: true, NoSeed: true}); !got.IsZero() {
		t.Errorf("%+v", got)
	}
}

// openai is a server that answers as OpenAI does, and keeps what it was asked.
type openai struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	bodies  []map[string]any
}

func newOpenAI(t *testing.T) *openai {
	t.Helper()
	o := &openai{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		o.mu.Lock()
		o.headers, o.bodies = append(o.headers, r.Header.Clone()), append(o.bodies, body)
		o.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/embeddings") {
			var items []string
			texts, _ := body["input"].([]any)
			for i := range texts {
				items = append(items, `{"object":"embedding","index":`+string(rune('0'+i))+`,"embedding":[`+string(rune('1'+i))+`,0.5]}`)
			}
			io.WriteString(w, `{"object":"list","model":"text-embedding-3-small","data":[`+strings.Join(items, ",")+`],"usage":{"prompt_tokens":1000000,"total_tokens":1000000}}`)
			return
		}
		io.WriteString(w, `{"id":"c-1","object":"chat.completion","created":1,"model":"gpt-4o-2024-08-06","system_fingerprint":"fp_1",
			"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hello"}}],
			"usage":{"prompt_tokens":1000000,"completion_tokens":1000000,"total_tokens":2000000}}`)
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *openai) requests() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.bodies)
}

func TestModel(t *testing.T) {
	server := newOpenAI(t)
	env := Env{
		Getenv: variables(map[string]string{"OPENAI_API_KEY": "sk-test", "TEAM": "blue"}),
		Cache:  &Cache{Dir: filepath.Join(t.TempDir(), "cache")}, CacheMode: CacheOn, Prices: noon(t),
	}
	cfg := plumb.RunnerConfig{Model: "openai:gpt-4o", BaseURL: server.URL + "/v1", Headers: map[string]string{"X-Team": "team ${TEAM}, $5"}}
	r, err := New(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	info := r.Info()
	if info.ID != "openai:gpt-4o" || info.Kind != plumb.RunnerModel || !strings.HasPrefix(info.Config, "sha256:") || info.BaseURL == "" {
		t.Errorf("%+v", info)
	}
	report, err := r.Run(t.Context(), ask("x"))
	if err != nil {
		t.Fatal(err)
	}
	if report.FinalOutput != "hello" || report.CostUSD == nil || *report.CostUSD != 12.5 || report.Runner.ID != info.ID || report.Cached {
		t.Errorf("%+v", report)
	}
	if h := server.headers[0]; h.Get("X-Team") != "team blue, $5" || h.Get("Authorization") != "Bearer sk-test" {
		t.Errorf("headers %v", h)
	}
	if b := server.bodies[0]; b["temperature"] != 0.0 || b["seed"] != 42.0 {
		t.Errorf("body %v", b)
	}
	// The same from the cache, under another name, without a key, asking nobody.
	cfg.ID = "again"
	env.CacheMode, env.Getenv = CacheOnly, variables(map[string]string{"TEAM": "red"})
	if r, err = New(t.Context(), cfg, env); err != nil {
		t.Fatal(err)
	}
	again, err := r.Run(t.Context(), ask("x"))
	if err != nil {
		t.Fatal(err)
	}
	if !again.Cached || again.FinalOutput != "hello" || *again.CostUSD != 0 || again.Runner.ID != "again" || again.Fingerprint != "fp_1" {
		t.Errorf("%+v", again)
	}
	if _, err := r.Run(t.Context(), ask("y")); failure(t, err).Class.ID != "not-cached" {
		t.Errorf("error %v", err)
	}
	if server.requests() != 1 {
		t.Errorf("%d requests", server.requests())
	}
	if err := filepath.WalkDir(env.Cache.Dir, noSecrets(t, "sk-test", "blue")); err != nil {
		t.Error(err)
	}
}

func TestModelWithoutAPrice(t *testing.T) {
	server := newOpenAI(t)
	for model, want := range map[string]*float64{
		"openai-compatible:nobody-knows": nil, // never 0
		"ollama:qwen3":                   new(0.0),
		"azure:my-deployment":            new(12.5), // by the model that the provider reports
	} {
		r, err := New(t.Context(), plumb.RunnerConfig{Model: model, BaseURL: server.URL + "/v1"}, Env{Prices: noon(t)})
		if err != nil {
			t.Fatal(err)
		}
		report, err := r.Run(t.Context(), ask("x"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, report.CostUSD); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
}

func TestJudge(t *testing.T) {
	server := newOpenAI(t)
	judge, err := NewJudge(t.Context(), plumb.RunnerConfig{Model: "openai:gpt-4o", BaseURL: server.URL}, Env{})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := judge.Runner.Run(t.Context(), ask("x")); err != nil || report.FinalOutput != "hello" || judge.Self {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := NewJudge(t.Context(), plumb.RunnerConfig{Model: "opus"}, Env{}); err == nil || !strings.HasPrefix(err.Error(), "judge: ") {
		t.Errorf("error %v", err)
	}
}

func TestEmbedder(t *testing.T) {
	server := newOpenAI(t)
	env := Env{Cache: &Cache{Dir: filepath.Join(t.TempDir(), "cache")}, CacheMode: CacheOn, Prices: noon(t)}
	cfg := plumb.RunnerConfig{Model: "openai", BaseURL: server.URL + "/v1"}
	open := func() *plumb.Embedder {
		t.Helper()
		e, err := NewEmbedder(cfg, env)
		if err != nil {
			t.Fatal(err)
		}
		if e.Name != "openai:text-embedding-3-small" {
			t.Errorf("name %q", e.Name)
		}
		return e
	}
	first, err := open().Embed(t.Context(), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{{1, 0.5}, {2, 0.5}}, first.Vectors); diff != "" || first.Requests != 1 || first.CostUSD == nil || *first.CostUSD != 0.02 {
		t.Errorf("%+v %s", first, diff)
	}
	second, err := open().Embed(t.Context(), []string{"b", "c", "a"}) // c is asked for alone
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{{2, 0.5}, {1, 0.5}, {1, 0.5}}, second.Vectors); diff != "" {
		t.Error(diff)
	}
	if input := server.bodies[1]["input"]; !slices.Equal(input.([]any), []any{"c"}) {
		t.Errorf("asked for %v", input)
	}
	env.CacheMode = CacheOnly
	third, err := open().Embed(t.Context(), []string{"c"})
	if err != nil || third.Requests != 0 || *third.CostUSD != 0 || third.Model != "text-embedding-3-small" {
		t.Errorf("%+v, %v", third, err)
	}
	if _, err := open().Embed(t.Context(), []string{"c", "d"}); failure(t, err).Origin != plumb.OriginJudge {
		t.Errorf("error %v", err)
	}
	if server.requests() != 2 {
		t.Errorf("%d requests", server.requests())
	}

	for model, want := range map[string]string{
		"anthropic": "no default embedding model", "opsu": "opus", "openai:": "", "": "it has no model",
	} {
		_, err := NewEmbedder(plumb.RunnerConfig{Model: model}, Env{})
		if err == nil || !strings.HasPrefix(err.Error(), "embedder: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", model, err)
		}
	}
	if _, err := NewEmbedder(plumb.RunnerConfig{Command: []string{os.Args[0]}}, Env{}); err == nil || plumb.Hint(err) == "" {
		t.Errorf("error %v", err)
	}
}

func TestDefaultEmbedder(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-5": "openai:text-embedding-3-small", "gemini:gemini-2.5-pro": "google:gemini-embedding-001", "ollama:qwen3": "ollama:nomic-embed-text",
		"opus": "", "nobody:x": "", "": "",
	} {
		cfg, ok := DefaultEmbedder(plumb.RunnerConfig{Model: model, BaseURL: "http://x", Temperature: new(1.0)})
		if cfg.Model != want || ok != (want != "") || ok && cfg.BaseURL != "http://x" || cfg.Temperature != nil {
			t.Errorf("%s: %+v, %t", model, cfg, ok)
		}
	}
}

func TestConfigHash(t *testing.T) {
	hash := func(cfg plumb.RunnerConfig) string {
		t.Helper()
		cfg.Command = append([]string{os.Args[0]}, cfg.Command...)
		r, err := New(t.Context(), cfg, Env{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Info().Config
	}
	base := hash(plumb.RunnerConfig{})
	for name, tt := range map[string]struct {
		cfg  plumb.RunnerConfig
		same bool
	}{
		"id":           {plumb.RunnerConfig{ID: "x"}, true},
		"the default":  {plumb.RunnerConfig{Seed: new(int64(42))}, true},
		"parallel":     {plumb.RunnerConfig{MaxParallel: 3}, true},
		"another seed": {plumb.RunnerConfig{Seed: new(int64(43))}, false},
		"no seed":      {plumb.RunnerConfig{NoSeed: true}, false},
		"argument":     {plumb.RunnerConfig{Command: []string{"-l"}}, false},
		"environment":  {plumb.RunnerConfig{Env: map[string]string{"MODE": "a"}}, false},
	} {
		if got := hash(tt.cfg); (got == base) != tt.same {
			t.Errorf("%s: same %t, want %t", name, got == base, tt.same)
		}
	}
	one, two := map[string]string{"API_TOKEN": "one"}, map[string]string{"API_TOKEN": "two"}
	if hash(plumb.RunnerConfig{Env: one}) != hash(plumb.RunnerConfig{Env: two}) {
		t.Error("the hash depends on a secret")
	}
	if one["API_TOKEN"] != "one" {
		t.Error("the configuration was changed")
	}
}
