package fakemodel

import (
	"maps"
	"slices"
	"strings"
	"time"
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
var dates = map[string]string{
	"gpt-4o": "2024-08-06", "gpt-4o-mini": "2024-07-18", "gpt-4.1": "2025-04-14", "gpt-4.1-mini": "2025-04-14",
	"gpt-4.1-nano": "2025-04-14", "gpt-5": "2025-08-07", "gpt-5-mini": "2025-08-07", "gpt-5-nano": "2025-08-07",
	"gpt-5.1": "2025-11-13", "gpt-5.2": "2025-12-11", "o1": "2024-12-17", "o3-mini": "2025-01-31", "o3": "2025-04-16",
	"o4-mini": "2025-04-16", "claude-opus-4-5": "20251101", "claude-haiku-4-5": "20251001",
	"claude-sonnet-4-5": "20250929",
}

// snapshot returns the dated name that the provider uses for a model.
func snapshot(provider Provider, model string) string {
	if date := dates[model]; date != "" && provider != Google && provider != Ollama {
		return model + "-" + date
	}
	return model
}

// list replies with the list of models.
func (x *exchange) list() {
	x.status, x.kind = 200, "application/json"
	known := x.s.options.Models
	if known == nil {
		known = RealModels()
	}
	own := slices.Sorted(maps.Keys(known))
	own = slices.DeleteFunc(own, func(name string) bool { return !x.rt.provider.has(name) })
	var items []byte
	for _, name := range own {
		items = append(x.listed(items, name), ',')
	}
	all := strings.TrimSuffix(string(items), ",")
	switch x.rt.provider {
	case Anthropic:
		first, last := "", ""
		if len(own) > 0 {
			first, last = own[0], own[len(own)-1]
		}
		x.out = template(x.out, `{"data":[%v],"has_more":false,"first_id":%s,"last_id":%s}`, all, first, last)
	case Google:
		x.kind = googleJSON
		x.out = template(x.out, `{"models":[%v]}`, all)
	default:
		x.out = template(x.out, `{"object":"list","data":[%v]}`, all)
	}
	x.send()
}

// has reports whether the provider lists a model of that name. Every provider lists names without a
// known prefix.
func (p Provider) has(name string) bool {
	owner := Provider("")
	for prefix, p := range map[string]Provider{
		"gpt-": OpenAI, "text-embedding-": OpenAI, "o1": OpenAI, "o3": OpenAI, "o4": OpenAI, "claude-": Anthropic,
		"gemini-": Google, "qwen": Ollama, "llama": Ollama, "mistral": Ollama, "nomic": Ollama,
	} {
		if strings.HasPrefix(name, prefix) {
			owner = p
		}
	}
	return owner == "" || owner == p || owner == OpenAI && p == Azure
}

// listed appends one model of a list.
func (x *exchange) listed(b []byte, name string) []byte {
	created, owner := x.s.started.UTC().Truncate(24*time.Hour), "system"
	switch x.rt.provider {
	case Anthropic:
		return template(b, `{"type":"model","id":%s,"display_name":%s,"created_at":%s}`,
			name, name, created.Format(time.RFC3339))
	case Google:
		methods := `["generateContent","countTokens","createCachedContent","batchGenerateContent"]`
		if strings.Contains(name, "embedding") {
			methods = `["embedContent","countTextTokens","countTokens","asyncBatchEmbedContent"]`
		}
		return template(b, `{"name":%s,"version":"001","displayName":%s,"description":"A `+
			`fake.","inputTokenLimit":1048576,`+
			`"outputTokenLimit":65536,"supportedGenerationMethods":%v,"temperature":1,"topP":0.95,"topK":64,`+
			`"maxTemperature":2}`,
			"models/"+name, name, methods)
	case Ollama:
		owner = "library"
	default:
	}
	return template(b, `{"id":%s,"object":"model","created":%d,"owned_by":%s}`, name, created.Unix(), owner)
}
