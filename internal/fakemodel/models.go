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

// snapshot returns the dated name that the provider uses for a model.
func snapshot(provider Provider, model string) string {
	if provider != OpenAI && provider != Azure && provider != Anthropic {
		return model
	}
	var date string
	switch model {
	case "gpt-4o":
		date = "2024-08-06"
	case "gpt-4o-mini":
		date = "2024-07-18"
	case "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano":
		date = "2025-04-14"
	case "gpt-5", "gpt-5-mini", "gpt-5-nano":
		date = "2025-08-07"
	case "gpt-5.1":
		date = "2025-11-13"
	case "gpt-5.2":
		date = "2025-12-11"
	case "o1":
		date = "2024-12-17"
	case "o3-mini":
		date = "2025-01-31"
	case "o3", "o4-mini":
		date = "2025-04-16"
	case "claude-opus-4-5":
		date = "20251101"
	case "claude-haiku-4-5":
		date = "20251001"
	case "claude-sonnet-4-5":
		date = "20250929"
	default:
		return model
	}
	return model + "-" + date
}

// list replies to the paths that list models.
func (x *exchange) list() {
	x.status, x.kind = 200, "application/json"
	if x.rt.op == opVersion {
		x.out = append(x.out, `{"version":"0.12.6"}`...)
		x.send()
		return
	}
	known := x.s.options.Models
	if known == nil {
		known = RealModels()
	}
	names := slices.Sorted(maps.Keys(known))
	own := slices.DeleteFunc(names, func(name string) bool { return !x.rt.provider.has(name) })
	if x.rt.op == opModel {
		if !slices.Contains(own, x.rt.model) {
			x.ask.Model = x.rt.model
			x.fail(problem{kind: noSuchModel})
			return
		}
		x.out = x.listed(x.out, x.rt.model)
		x.send()
		return
	}
	open, end := `{"object":"list","data":[`, `]}`
	switch x.rt.provider {
	case Anthropic:
		first, last := "", ""
		if len(own) > 0 {
			first, last = own[0], own[len(own)-1]
		}
		open, end = `{"data":[`, string(template(nil, `],"has_more":false,"first_id":%s,"last_id":%s}`, str(first),
			str(last)))
	case Google:
		x.kind = googleJSON
		open = `{"models":[`
	case Ollama:
		if x.rt.op == opTags {
			open = `{"models":[`
		}
	default: // OpenAI's list
	}
	x.out = append(x.out, open...)
	for i, name := range own {
		if i > 0 {
			x.out = append(x.out, ',')
		}
		x.out = x.listed(x.out, name)
	}
	x.out = append(x.out, end...)
	x.send()
}

// has reports whether the provider lists a model of that name. Every provider lists names without a
// known prefix.
func (p Provider) has(name string) bool {
	owner := Provider("")
	switch {
	case strings.HasPrefix(name, "gpt-"), strings.HasPrefix(name, "text-embedding-"), len(name) > 1 && name[0] == 'o' &&
		name[1] < 'a':
		owner = OpenAI
	case strings.HasPrefix(name, "claude-"):
		owner = Anthropic
	case strings.HasPrefix(name, "gemini-"):
		owner = Google
	case strings.HasPrefix(name, "qwen"), strings.HasPrefix(name, "llama"), strings.HasPrefix(name, "mistral"),
		strings.HasPrefix(name, "nomic"):
		owner = Ollama
	}
	return owner == "" || owner == p || owner == OpenAI && p == Azure
}

// listed appends one model of a list.
func (x *exchange) listed(b []byte, name string) []byte {
	created := x.s.started.UTC().Truncate(24 * time.Hour)
	switch {
	case x.rt.provider == Anthropic:
		return template(b, `{"type":"model","id":%s,"display_name":%s,"created_at":%s}`,
			str(name), str(name), str(created.Format(time.RFC3339)))
	case x.rt.provider == Google:
		methods := `["generateContent","countTokens","createCachedContent","batchGenerateContent"]`
		if strings.Contains(name, "embedding") {
			methods = `["embedContent","countTextTokens","countTokens","asyncBatchEmbedContent"]`
		}
		return template(b, `{"name":%s,"version":"001","displayName":%s,"description":"A fake.","inputTokenLimit":1048576,`+
			`"outputTokenLimit":65536,"supportedGenerationMethods":%v,"temperature":1,"topP":0.95,"topK":64,"maxTemperature":2}`,
			str("models/"+name), str(name), str(methods))
	case x.rt.op == opTags:
		return template(b, `{"name":%s,"model":%s,"modified_at":%s,"size":5225388164,"digest":"%v","details":{"parent_model":"",`+
			`"format":"gguf","family":"fake","families":["fake"],"parameter_size":"8.2B","quantization_level":"Q4_K_M"}}`,
			str(name), str(name), str(created.Format(time.RFC3339Nano)), str(strings.Repeat(hex(hashText(name)), 4)))
	default:
		owner := "system"
		if x.rt.provider == Ollama {
			owner = "library"
		}
		return template(b, `{"id":%s,"object":"model","created":%d,"owned_by":%s}`, str(name), num64(created.Unix()),
			str(owner))
	}
}
