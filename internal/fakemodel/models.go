package fakemodel

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb/internal/wire"
)

// RealModels returns models that behave like the real ones of these names: dated snapshots,
// rejected parameters, thinking.
func RealModels() map[string]Model {
	fixed := []string{"temperature", "top_p"}
	thinks := Model{RefusesValue: fixed, Refuses: []string{"max_tokens"}, Reasoning: 64}
	o := Model{Refuses: []string{"temperature", "top_p", "max_tokens"}, Reasoning: 128}
	return map[string]Model{
		"gpt-4o": {}, "gpt-4o-mini": {}, "gpt-4.1": {}, "gpt-4.1-mini": {}, "gpt-4.1-nano": {},
		"gpt-5": thinks, "gpt-5-mini": thinks, "gpt-5-nano": thinks, "gpt-5.1": thinks, "gpt-5.2": thinks,
		"o1": o, "o3": o, "o3-mini": o, "o4-mini": o,
		"claude-opus-4-7": {Refuses: []string{"temperature", "top_p", "top_k"}}, "claude-opus-4-6": {},
		"claude-opus-4-5": {}, "claude-sonnet-4-6": {}, "claude-sonnet-4-5": {}, "claude-haiku-4-5": {},
		"gemini-2.5-pro": {Reasoning: 96}, "gemini-2.5-flash": {Reasoning: 32}, "gemini-2.5-flash-lite": {},
		"gemini-3-pro-preview": {Reasoning: 96}, "gemini-3-flash-preview": {Reasoning: 32},
		"qwen3": {}, "qwen3:8b": {}, "llama3.2": {}, "llama3.2:latest": {}, "mistral": {},
		"text-embedding-3-small": {}, "text-embedding-3-large": {}, "gemini-embedding-001": {}, "nomic-embed-text": {},
	}
}

// dates are those in the full names of the models that have one.
func dates() map[string]string {
	return map[string]string{
		"gpt-4o": "2024-08-06", "gpt-4o-mini": "2024-07-18", "gpt-4.1": "2025-04-14", "gpt-4.1-mini": "2025-04-14",
		"gpt-4.1-nano": "2025-04-14", "gpt-5": "2025-08-07", "gpt-5-mini": "2025-08-07", "gpt-5-nano": "2025-08-07",
		"gpt-5.1": "2025-11-13", "gpt-5.2": "2025-12-11", "o1": "2024-12-17", "o3-mini": "2025-01-31",
		"o3": "2025-04-16", "o4-mini": "2025-04-16", "claude-opus-4-5": "20251101", "claude-haiku-4-5": "20251001",
		"claude-sonnet-4-5": "20250929",
	}
}

// snapshot returns the dated name that the provider uses for a model.
func (s *Server) snapshot(provider wire.Provider, model string) string {
	if date := s.dates[model]; date != "" && provider != wire.Google && provider != wire.Ollama {
		return model + "-" + date
	}
	return model
}

// list replies with the list of models.
func (x *exchange) list() {
	x.status = http.StatusOK
	known := x.s.options.Models
	if known == nil {
		known = RealModels()
	}
	list, first, last := []any{}, "", ""
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if has(x.ask.Provider, name) {
			list, first, last = append(list, x.listed(name)), cmp.Or(first, name), name
		}
	}
	switch x.ask.Provider {
	case wire.Anthropic:
		x.put(false, "data", list, "has_more", false, "first_id", first, "last_id", last)
	case wire.Google:
		x.put(false, "models", list)
	default:
		x.put(false, "object", "list", "data", list)
	}
	x.send()
}

// has reports whether the provider lists a model of that name. Every provider lists names without a
// known prefix.
func has(p wire.Provider, name string) bool {
	owner := wire.Provider("")
	for prefix, p := range map[string]wire.Provider{
		"gpt-": wire.OpenAI, "text-embedding-": wire.OpenAI, "o1": wire.OpenAI, "o3": wire.OpenAI, "o4": wire.OpenAI, "claude-": wire.Anthropic,
		"gemini-": wire.Google, "qwen": wire.Ollama, "llama": wire.Ollama, "mistral": wire.Ollama, "nomic": wire.Ollama,
	} {
		if strings.HasPrefix(name, prefix) {
			owner = p
		}
	}
	return owner == "" || owner == p || owner == wire.OpenAI && p == wire.Azure
}

// listed is one model of a list.
func (x *exchange) listed(name string) wire.Object {
	created, owner := x.s.started.UTC().Truncate(24*time.Hour), "system"
	switch x.ask.Provider {
	case wire.Anthropic:
		return wire.Object{
			"type", "model", "id", name, "display_name", name, "created_at", created.Format(time.RFC3339),
		}
	case wire.Google:
		methods := []any{"generateContent", "countTokens", "createCachedContent", "batchGenerateContent"}
		if strings.Contains(name, "embedding") {
			methods = []any{"embedContent", "countTextTokens", "countTokens", "asyncBatchEmbedContent"}
		}
		return wire.Object{
			"name", "models/" + name, "version", "001", "displayName", name, "description", "A fake.",
			"inputTokenLimit", 1048576, "outputTokenLimit", 65536, "supportedGenerationMethods", methods,
			"temperature", 1, "topP", wire.Raw("0.95"), "topK", 64, "maxTemperature", 2,
		}
	case wire.Ollama:
		owner = "library"
	default:
	}
	return wire.Object{"id", name, "object", "model", "created", created.Unix(), "owned_by", owner}
}
