package modelapi

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/plumb-eval/plumb"
)

// family is the wire format that a provider speaks.
type family int

const (
	openaiFamily family = iota
	anthropicFamily
	googleFamily
)

// Provider describes one provider, or one kind of server that many people run themselves.
type Provider struct {
	// Name is the part before the colon of "provider:model".
	Name string
	// KeyEnv are the environment variables that hold the key, in the order of preference.
	KeyEnv []string
	// BaseURLEnv is the environment variable that replaces BaseURL; "" where there is none.
	BaseURLEnv string
	// BaseURL is the address; "" where each user has an own one.
	BaseURL string
	// Local says that the server usually runs on this machine, and needs no key.
	Local bool
	// OpenAICompatible says that the server speaks OpenAI's wire format without being OpenAI.
	OpenAICompatible bool
	// KeyURL is the page where a key can be made, BillingURL the one where credit is bought.
	KeyURL, BillingURL string
	// Start is what a person does to have the server running. Local servers only.
	Start string

	family family
}

// Custom is the provider of servers that speak OpenAI's wire format and have no preset.
const Custom = "openai-compatible"

// Providers lists the known providers.
func Providers() []Provider {
	return []Provider{
		{
			Name: "openai", KeyEnv: []string{"OPENAI_API_KEY"}, BaseURLEnv: "OPENAI_BASE_URL",
			BaseURL: "https://api.openai.com/v1",
			KeyURL:  "https://platform.openai.com/api-keys", BillingURL: "https://platform.openai.com/settings/organization/billing",
		},
		{
			Name: "anthropic", KeyEnv: []string{"ANTHROPIC_API_KEY"}, BaseURLEnv: "ANTHROPIC_BASE_URL",
			BaseURL: "https://api.anthropic.com", family: anthropicFamily,
			KeyURL: "https://console.anthropic.com/settings/keys", BillingURL: "https://console.anthropic.com/settings/billing",
		},
		{
			Name: "google", KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseURLEnv: "GOOGLE_GEMINI_BASE_URL",
			BaseURL: "https://generativelanguage.googleapis.com", family: googleFamily,
			KeyURL: "https://aistudio.google.com/apikey", BillingURL: "https://ai.google.dev/gemini-api/docs/billing",
		},
		{
			Name: "ollama", KeyEnv: []string{"OLLAMA_API_KEY"}, BaseURLEnv: "OLLAMA_HOST",
			BaseURL: "http://127.0.0.1:11434/v1", Local: true, OpenAICompatible: true, Start: "ollama serve",
		},
		{
			Name: "vllm", KeyEnv: []string{"VLLM_API_KEY"}, BaseURLEnv: "VLLM_BASE_URL",
			BaseURL: "http://127.0.0.1:8000/v1", Local: true, OpenAICompatible: true, Start: "vllm serve MODEL",
		},
		{
			Name: "lmstudio", KeyEnv: []string{"LMSTUDIO_API_KEY"}, BaseURLEnv: "LMSTUDIO_BASE_URL",
			BaseURL: "http://127.0.0.1:1234/v1", Local: true, OpenAICompatible: true, Start: "lms server start",
		},
		{
			Name: "llamacpp", KeyEnv: []string{"LLAMACPP_API_KEY", "LLAMA_API_KEY"}, BaseURLEnv: "LLAMACPP_BASE_URL",
			BaseURL: "http://127.0.0.1:8080/v1", Local: true, OpenAICompatible: true, Start: "llama-server -m MODEL.gguf",
		},
		{
			Name: "openrouter", KeyEnv: []string{"OPENROUTER_API_KEY"}, BaseURLEnv: "OPENROUTER_BASE_URL",
			BaseURL: "https://openrouter.ai/api/v1", OpenAICompatible: true,
			KeyURL: "https://openrouter.ai/settings/keys", BillingURL: "https://openrouter.ai/settings/credits",
		},
		{
			Name: "groq", KeyEnv: []string{"GROQ_API_KEY"}, BaseURLEnv: "GROQ_BASE_URL",
			BaseURL: "https://api.groq.com/openai/v1", OpenAICompatible: true,
			KeyURL: "https://console.groq.com/keys", BillingURL: "https://console.groq.com/settings/billing",
		},
		{
			Name: "azure", KeyEnv: []string{"AZURE_OPENAI_API_KEY"}, BaseURLEnv: "AZURE_OPENAI_ENDPOINT",
			OpenAICompatible: true, KeyURL: "https://portal.azure.com",
		},
		{
			Name: Custom, KeyEnv: []string{"OPENAI_COMPATIBLE_API_KEY"}, BaseURLEnv: "OPENAI_COMPATIBLE_BASE_URL",
			OpenAICompatible: true,
		},
	}
}

// ProviderNamed returns the provider with the given name, in any case of letters. "gemini" is google, "claude" is
// anthropic, and "custom" is [Custom].
func ProviderNamed(name string) (Provider, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "gemini":
		name = "google"
	case "claude":
		name = "anthropic"
	case "custom":
		name = Custom
	case "lm-studio":
		name = "lmstudio"
	case "llama.cpp", "llama-cpp":
		name = "llamacpp"
	}
	for _, p := range Providers() {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
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

// endpoint turns what a person wrote as the base URL into the address that paths are appended to.
func (p Provider) endpoint(baseURL string) (*url.URL, error) {
	raw := strings.TrimSpace(baseURL)
	if raw == "" {
		raw = p.BaseURL
	}
	if raw == "" {
		err := fmt.Errorf("%s needs a base URL", p.Name)
		return nil, plumb.WithHint(err, "set baseURL in the runner's configuration, or "+p.BaseURLEnv)
	}
	if !strings.Contains(raw, "://") { // OLLAMA_HOST is often a bare host, with or without a port
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("base URL %q is not an http address", withoutPassword(raw))
	}
	if p.Name == "ollama" {
		if host := u.Hostname(); host == "0.0.0.0" || host == "::" { // where it listens, not where it can be reached
			u.Host = strings.Replace(u.Host, host, "127.0.0.1", 1)
			u.Host = strings.NewReplacer("[", "", "]", "").Replace(u.Host)
		}
		if u.Port() == "" && u.Scheme == "http" {
			u.Host += ":11434"
		}
	}
	path := strings.TrimRight(u.Path, "/")
	switch {
	case p.family == anthropicFamily:
		path = strings.TrimSuffix(path, "/v1") + "/v1"
	case p.family == googleFamily:
		if !strings.HasSuffix(path, "/v1beta") && !strings.HasSuffix(path, "/v1") && !strings.HasSuffix(path, "/v1alpha") {
			path += "/v1beta"
		}
	case p.Name == "azure" && path == "":
		path = "/openai/v1"
	case p.Name == "azure" && path == "/openai":
		path = "/openai/v1"
	case path == "":
		path = "/v1"
	}
	u.Path, u.RawPath, u.Fragment = path, "", ""
	return u, nil
}

// withoutPassword hides what stands before an @ in an address.
func withoutPassword(raw string) string {
	if i := strings.LastIndex(raw, "@"); i >= 0 {
		if j := strings.Index(raw, "://"); j >= 0 && j < i {
			return raw[:j+3] + "…" + raw[i:]
		}
		return "…" + raw[i:]
	}
	return raw
}
