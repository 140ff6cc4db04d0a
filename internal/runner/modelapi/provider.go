package modelapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// Provider describes one provider, or one kind of server that users run themselves.
type Provider struct {
	// Name is the part before the colon of "provider:model".
	Name string
	// OtherNames are accepted instead of Name.
	OtherNames []string
	// KeyEnv are the environment variables for the key, in the order of preference.
	KeyEnv []string
	// BaseURLEnv is the environment variable that replaces BaseURL; "" if there is none.
	BaseURLEnv string
	// BaseURL is the address; "" if each user has a different one.
	BaseURL string
	// Local is set for servers that usually run on this machine and need no key.
	Local bool
	// KeyURL is the page for creating keys, BillingURL the page for buying credit.
	KeyURL, BillingURL string
	// Start is the command that starts a local server, pull the one that downloads a model for it.
	Start, pull string

	// apis are the wire formats by the value of the setting "api"; "" is the default.
	apis map[string]wire
	// models and embeddings are the names that need no provider. So are names that match pattern.
	models, embeddings []string
	pattern            string
	// embedding is the default embedding model; "" if not every account or server has one.
	embedding string
	// aliases are short names of models.
	aliases map[string]string
}

// Custom is the provider for other servers with OpenAI's wire format.
const Custom = "openai-compatible"

// Providers lists the known providers.
func Providers() []Provider {
	compatible := chatAPIs(chat{compatible: true})
	return []Provider{
		{
			Name: "openai", KeyEnv: []string{"OPENAI_API_KEY"}, BaseURLEnv: "OPENAI_BASE_URL",
			BaseURL:    "https://api.openai.com/v1",
			KeyURL:     "https://platform.openai.com/api-keys",
			BillingURL: "https://platform.openai.com/settings/organization/billing",
			apis:       chatAPIs(chat{}), embedding: "text-embedding-3-small",
			models: []string{
				"gpt-6.1-sol", "gpt-6-sol", "gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano", "gpt-5.2", "gpt-5.1",
				"gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-4o-mini", "o3",
			},
			embeddings: []string{"text-embedding-3-small", "text-embedding-3-large"},
			pattern:    `(ft:)?(gpt-\d|chatgpt-|o\d(-|$|:)|codex-|text-embedding-)`,
		},
		{
			Name: "anthropic", KeyEnv: []string{"ANTHROPIC_API_KEY"}, BaseURLEnv: "ANTHROPIC_BASE_URL",
			BaseURL: "https://api.anthropic.com", OtherNames: []string{"claude"},
			KeyURL:     "https://console.anthropic.com/settings/keys",
			BillingURL: "https://console.anthropic.com/settings/billing",
			apis:       map[string]wire{"": anthropic{}},
			models: []string{
				"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-opus-5",
				"claude-sonnet-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-sonnet-4-6",
				"claude-haiku-4-5", "claude-opus-4-5",
			},
			pattern: `claude-[a-z0-9]`,
			aliases: map[string]string{
				"opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5-5", "haiku": "claude-haiku-5-5",
			},
		},
		{
			Name: "google", KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseURLEnv: "GOOGLE_GEMINI_BASE_URL",
			BaseURL: "https://generativelanguage.googleapis.com", OtherNames: []string{"gemini"},
			KeyURL: "https://aistudio.google.com/apikey", BillingURL: "https://ai.google.dev/gemini-api/docs/billing",
			apis: map[string]wire{"": google{}}, embedding: "gemini-embedding-001",
			models: []string{
				"gemini-3.8-flash", "gemini-3.7-flash", "gemini-3.6-flash", "gemini-3.5-flash", "gemini-3.5-flash-lite",
				"gemini-3.1-pro-preview", "gemini-3.1-flash-lite", "gemini-2.5-pro", "gemini-2.5-flash",
				"gemini-2.5-flash-lite", "gemini-pro-latest", "gemini-flash-latest", "gemini-flash-lite-latest",
			},
			embeddings: []string{"gemini-embedding-001"},
			pattern:    `gemini-[a-z0-9]`,
		},
		{
			Name: "ollama", KeyEnv: []string{"OLLAMA_API_KEY"}, BaseURLEnv: "OLLAMA_HOST",
			BaseURL: "http://127.0.0.1:11434/v1", Local: true, Start: "ollama serve", pull: "ollama pull",
			apis: chatAPIs(chat{compatible: true, port: "11434"}), embedding: "nomic-embed-text",
		},
		{
			Name: "vllm", KeyEnv: []string{"VLLM_API_KEY"}, BaseURLEnv: "VLLM_BASE_URL",
			BaseURL: "http://127.0.0.1:8000/v1", Local: true, apis: compatible, Start: "vllm serve MODEL",
		},
		{
			Name: "lmstudio", KeyEnv: []string{"LMSTUDIO_API_KEY"}, BaseURLEnv: "LMSTUDIO_BASE_URL",
			BaseURL: "http://127.0.0.1:1234/v1", Local: true, Start: "lms server start",
			OtherNames: []string{"lm-studio"}, apis: compatible,
		},
		{
			Name: "llamacpp", KeyEnv: []string{"LLAMACPP_API_KEY", "LLAMA_API_KEY"}, BaseURLEnv: "LLAMACPP_BASE_URL",
			BaseURL: "http://127.0.0.1:8080/v1", Local: true, Start: "llama-server -m MODEL.gguf",
			OtherNames: []string{"llama.cpp", "llama-cpp"}, apis: compatible,
		},
		{
			Name: "openrouter", KeyEnv: []string{"OPENROUTER_API_KEY"}, BaseURLEnv: "OPENROUTER_BASE_URL",
			BaseURL: "https://openrouter.ai/api/v1", apis: compatible,
			KeyURL: "https://openrouter.ai/settings/keys", BillingURL: "https://openrouter.ai/settings/credits",
		},
		{
			Name: "groq", KeyEnv: []string{"GROQ_API_KEY"}, BaseURLEnv: "GROQ_BASE_URL",
			BaseURL: "https://api.groq.com/openai/v1", apis: compatible,
			KeyURL: "https://console.groq.com/keys", BillingURL: "https://console.groq.com/settings/billing",
		},
		{
			Name: "azure", KeyEnv: []string{"AZURE_OPENAI_API_KEY"}, BaseURLEnv: "AZURE_OPENAI_ENDPOINT",
			apis: chatAPIs(chat{root: "/openai/v1", keyHeader: "Api-Key"}), KeyURL: "https://portal.azure.com",
		},
		{
			Name: Custom, KeyEnv: []string{"OPENAI_COMPATIBLE_API_KEY"}, BaseURLEnv: "OPENAI_COMPATIBLE_BASE_URL",
			OtherNames: []string{"custom"}, apis: compatible,
		},
	}
}

// chatAPIs are the wire formats of servers that follow OpenAI.
func chatAPIs(c chat) map[string]wire {
	return map[string]wire{"": c, "chat": c, "responses": responses{c}}
}

// ProviderNamed returns the provider with the given name, or other name, in any case of letters.
func ProviderNamed(name string) (Provider, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, p := range Providers() {
		if p.Name == name || slices.Contains(p.OtherNames, name) {
			return p, true
		}
	}
	return Provider{}, false
}

// wire returns the wire format for a value of the setting "api".
func (p Provider) wire(api string) (wire, error) {
	w, ok := p.apis[api]
	switch {
	case ok:
		return w, nil
	case len(p.apis) == 1:
		return nil, fmt.Errorf("%s has only one API: remove api %q", p.Name, api)
	}
	return nil, fmt.Errorf("unknown api %q of %s: use chat or responses", api, p.Name)
}

// Key returns the API key that the environment holds for p, and the variable it was found in.
func (p Provider) Key(getenv func(string) string) (key, variable string) {
	for _, name := range p.KeyEnv {
		if v := strings.TrimSpace(getenv(name)); v != "" {
			return v, name
		}
	}
	return "", ""
}

// Address returns the base URL that the environment gives for p, or p's own.
func (p Provider) Address(getenv func(string) string) string {
	if p.BaseURLEnv != "" {
		if v := strings.TrimSpace(getenv(p.BaseURLEnv)); v != "" {
			return v
		}
	}
	return p.BaseURL
}

// NeedsKey reports whether a request to the given base URL is pointless without a key.
func (p Provider) NeedsKey(baseURL string) bool {
	return !p.Local && p.BaseURL != "" && (baseURL == "" || strings.TrimRight(baseURL, "/") == p.BaseURL)
}

// endpoint returns the address, before the paths, for the base URL that a user wrote.
func (p Provider) endpoint(baseURL string) (*url.URL, error) {
	raw := strings.TrimSpace(baseURL)
	if raw == "" {
		raw = p.BaseURL
	}
	if raw == "" {
		err := fmt.Errorf("%s needs a base URL", p.Name)
		return nil, plumb.WithHint(err, "set baseURL in the runner's configuration, or "+p.BaseURLEnv)
	}
	if !strings.Contains(raw, "://") { // OLLAMA_HOST is often a host without a scheme
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("base URL %q is not an http address", withoutPassword(raw))
	}
	u.Path, u.RawPath, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	p.apis[""].address(u)
	return u, nil
}

// withoutPassword hides the part before an @ in an address.
func withoutPassword(raw string) string {
	if i := strings.LastIndex(raw, "@"); i >= 0 {
		if j := strings.Index(raw, "://"); j >= 0 && j < i {
			return raw[:j+3] + "…" + raw[i:]
		}
		return "…" + raw[i:]
	}
	return raw
}
