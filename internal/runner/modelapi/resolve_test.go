package modelapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"opus": "anthropic:claude-opus-5-5", "SONNET": "anthropic:claude-sonnet-5-5", "haiku": "anthropic:claude-haiku-5-5",
		"anthropic:opus": "anthropic:claude-opus-5-5", "claude:haiku": "anthropic:claude-haiku-5-5",
		"gpt-4o": "openai:gpt-4o", "GPT-4o": "openai:gpt-4o", "o1-mini": "openai:o1-mini", "o3": "openai:o3", "gpt-9.1-nova": "openai:gpt-9.1-nova",
		"chatgpt-4o-latest": "openai:chatgpt-4o-latest", "ft:gpt-4o:Org::AbC": "openai:ft:gpt-4o:Org::AbC",
		"openai:gpt-5": "openai:gpt-5", "OpenAI:ft:gpt-4o:Org::AbC": "openai:ft:gpt-4o:Org::AbC",
		"ollama:qwen3": "ollama:qwen3", "ollama:qwen3:8b": "ollama:qwen3:8b", "vllm:Qwen/Qwen3-8B": "vllm:Qwen/Qwen3-8B",
		"openrouter:anthropic/claude-opus-4": "openrouter:anthropic/claude-opus-4", "custom:x": "openai-compatible:x",
		"claude-opus-4-5-20251101": "anthropic:claude-opus-4-5-20251101", "Claude-Sonnet-4-6": "anthropic:claude-sonnet-4-6",
		"gemini-2.5-flash": "google:gemini-2.5-flash", "gemini:gemini-2.5-pro": "google:gemini-2.5-pro",
		"azure:my-Deployment": "azure:my-Deployment", "text-embedding-3-small": "openai:text-embedding-3-small",
	} {
		for _, name := range []string{name, " " + name + " "} {
			if got, err := Resolve(name); err != nil || got.String() != want {
				t.Errorf("%q: %s, %v; want %s", name, got, err, want)
			}
		}
	}
	for name, want := range map[string]struct{ text, hint string }{
		"":                 {"no model name", ""},
		"gptq-x":           {`unknown model "gptq-x"`, "ollama:gptq-x"},
		"gpt-oss-20b":      {`unknown model "gpt-oss-20b"`, "provider:model"},
		"opsu":             {`did you mean "opus"?`, "plumb models"},
		"qwen3":            {`unknown model "qwen3"`, "ollama:qwen3"},
		"openai/gpt-4o":    {`unknown model "openai/gpt-4o"`, "openrouter:openai/gpt-4o or openai:gpt-4o"},
		"opanai:gpt-4o":    {`unknown provider "opanai" (did you mean "openai"?)`, "the providers are openai,"},
		"qwen3:8b":         {`unknown provider "qwen3"`, "ollama:qwen3:8b"},
		"openai:":          {"has no model", ""},
		"claud-sonnet-4-5": {"did you mean", ""},
	} {
		_, err := Resolve(name)
		if err == nil || !strings.Contains(err.Error(), want.text) || !strings.Contains(plumb.Hint(err), want.hint) {
			t.Errorf("%q: %v, hint %q; want %q, %q", name, err, plumb.Hint(err), want.text, want.hint)
		}
	}
}

func TestKnownModelsResolveToThemselves(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range KnownModels() {
		if seen[m.ID] {
			t.Errorf("%s is there twice", m.ID)
		}
		seen[m.ID] = true
		for _, name := range append([]string{m.ID, m.Provider + ":" + m.ID, strings.ToUpper(m.ID)}, m.Aliases...) {
			if got, err := Resolve(name); err != nil || got != (Target{m.Provider, m.ID}) {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		}
	}
	for _, p := range Providers() {
		for alias, id := range p.aliases {
			if !seen[id] {
				t.Errorf("%s is %s, which the table does not have", alias, id)
			}
		}
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	env := map[string]string{"GOOGLE_API_KEY": "second", "OLLAMA_HOST": "0.0.0.0", "OPENAI_API_KEY": " padded\n"}
	getenv := func(k string) string { return env[k] }
	google, _ := ProviderNamed("Gemini")
	if key, name := google.Key(getenv); key != "second" || name != "GOOGLE_API_KEY" {
		t.Errorf("%s from %s", key, name)
	}
	env["GEMINI_API_KEY"] = "first"
	if key, name := google.Key(getenv); key != "first" || name != "GEMINI_API_KEY" {
		t.Errorf("%s from %s", key, name)
	}
	openai, _ := ProviderNamed("openai")
	if key, _ := openai.Key(getenv); key != "padded" {
		t.Errorf("key %q", key)
	}
	ollama, _ := ProviderNamed("ollama")
	if got := ollama.Address(getenv); got != "0.0.0.0" {
		t.Errorf("address %q", got)
	}
	if got := openai.Address(getenv); got != "https://api.openai.com/v1" {
		t.Errorf("address %q", got)
	}
	for _, p := range Providers() {
		if p.BaseURL != "" {
			if _, err := p.endpoint(""); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
		if p.Local != (p.Start != "") {
			t.Errorf("%s: a local server has a way to start, others have none", p.Name)
		}
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ provider, base, want string }{
		{"ollama", "", "http://127.0.0.1:11434/v1"},
		{"ollama", "0.0.0.0", "http://127.0.0.1:11434/v1"},
		{"ollama", "0.0.0.0:9999", "http://127.0.0.1:9999/v1"},
		{"ollama", "http://[::]:9999", "http://127.0.0.1:9999/v1"},
		{"ollama", "box", "http://box:11434/v1"},
		{"ollama", "https://ollama.test/v1/", "https://ollama.test/v1"},
		{"openai", "https://relay.test", "https://relay.test/v1"},
		{"openai", "https://relay.test/api/openai/", "https://relay.test/api/openai"},
		{"anthropic", "", "https://api.anthropic.com/v1"},
		{"anthropic", "https://relay.test/v1", "https://relay.test/v1"},
		{"google", "https://relay.test/x", "https://relay.test/x/v1beta"},
		{"azure", "https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1"},
		{"azure", "https://r.openai.azure.com/openai/v1/", "https://r.openai.azure.com/openai/v1"},
	} {
		p, _ := ProviderNamed(c.provider)
		got, err := p.endpoint(c.base)
		if err != nil || got.String() != c.want {
			t.Errorf("%s at %q: %v, %v; want %s", c.provider, c.base, got, err, c.want)
		}
	}
}

// TestMistakes has configurations that are wrong before any request.
func TestMistakes(t *testing.T) {
	t.Parallel()
	tr := NewTransport(TransportOptions{Base: always(http.StatusOK, "{}")})
	for _, c := range []struct {
		cfg        Config
		text, hint string
	}{
		{Config{Provider: "opnai", Model: "m", Transport: tr}, `did you mean "openai"?`, "the providers are"},
		{Config{Provider: "openai", Transport: tr}, "no model name", ""},
		{Config{Provider: "openai", Model: "m"}, "no transport", ""},
		{Config{Provider: "openai", Model: "m", Transport: tr}, "openai: no API key", "set OPENAI_API_KEY (create keys at https://"},
		{Config{Provider: "openai", Model: "m", Transport: tr, Headers: map[string]string{"X-Team": "x"}}, "openai: no API key", ""},
		{Config{Provider: "google", Model: "m", Transport: tr}, "google: no API key", "set GEMINI_API_KEY or GOOGLE_API_KEY"},
		{Config{Provider: "azure", Model: "m", Transport: tr, APIKey: "k"}, "azure needs a base URL", "AZURE_OPENAI_ENDPOINT"},
		{Config{Provider: "openai", Model: "m", Transport: tr, APIKey: "k", BaseURL: "ftp://user:secret@x"}, `base URL "ftp://…@x" is not an http address`, ""},
		{Config{Provider: "openai", Model: "m", Transport: tr, APIKey: "k\nX: y"}, "the API key has invalid characters", ""},
		{Config{Provider: "openai", Model: "m", Transport: tr, APIKey: "k", API: "completions"}, `unknown api "completions" of openai`, ""},
		{Config{Provider: "anthropic", Model: "m", Transport: tr, APIKey: "k", API: "responses"}, "has only one API", ""},
		{Config{Provider: "google", Model: "m", Transport: tr, APIKey: "k", Parameters: plumb.Parameters{Seed: new(int64(1 << 40))}}, "does not fit the 32 bits", ""},
		{Config{Provider: "openai", Model: "m", Transport: tr, APIKey: "k", Headers: map[string]string{"X-A": "a\r\nb"}}, `header "X-A" has invalid characters`, ""},
	} {
		_, err := New(c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(plumb.Hint(err), c.hint) {
			t.Errorf("%v, hint %q; want %q, %q", err, plumb.Hint(err), c.text, c.hint)
		}
	}
	for _, ok := range []Config{
		{Provider: "ollama", Model: "m", Transport: tr},
		{Provider: "openai", Model: "m", Transport: tr, BaseURL: "http://127.0.0.1:9"},
		{Provider: "openai", Model: "m", Transport: tr, Headers: map[string]string{"authorization": "Bearer x"}},
	} {
		if _, err := New(ok); err != nil {
			t.Errorf("%s: %v", ok.Provider, err)
		}
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	tr := NewTransport(TransportOptions{Base: always(http.StatusOK, "{}")})
	cfg := Config{ID: "mine", Provider: "claude", Model: "m", APIKey: "k1", Transport: tr, Headers: map[string]string{"X-A": "s1"}}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	info := m.Info()
	if info.ID != "mine" || info.Kind != plumb.RunnerModel || info.Agent != (plumb.AgentInfo{Type: "anthropic", Model: "m"}) || info.BaseURL != "" || info.PathKey != plumb.PathKey("mine") {
		t.Errorf("%+v", info)
	}
	hash := func(change func(*Config)) string {
		c := cfg
		change(&c)
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return m.Info().Config
	}
	for name, change := range map[string]func(*Config){
		"key": func(c *Config) { c.APIKey = "k2" }, "header's value": func(c *Config) { c.Headers = map[string]string{"X-A": "s2"} },
		"id": func(c *Config) { c.ID = "other" },
	} {
		if hash(change) != info.Config {
			t.Errorf("the %s is in the hash", name)
		}
	}
	for name, change := range map[string]func(*Config){
		"model": func(c *Config) { c.Model = "n" }, "address": func(c *Config) { c.BaseURL = "https://user:pw@relay.test" },
		"parameters": func(c *Config) { c.Parameters.Temperature = new(0.5) }, "header": func(c *Config) { c.Headers = nil },
	} {
		if hash(change) == info.Config {
			t.Errorf("the %s is not in the hash", name)
		}
	}
	cfg.BaseURL = "https://user:pw@relay.test"
	if m, err = New(cfg); err != nil || m.Info().BaseURL != "https://relay.test/v1" {
		t.Errorf("%q, %v", m.Info().BaseURL, err)
	}
}
