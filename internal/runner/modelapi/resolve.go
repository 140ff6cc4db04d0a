package modelapi

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/plumb-eval/plumb"
)

// Target is a model of a provider.
type Target struct{ Provider, Model string }

// String is "provider:model".
func (t Target) String() string { return t.Provider + ":" + t.Model }

// ModelInfo is what is known of one model.
type ModelInfo struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	// Name is the provider's title for it. Optional.
	Name string `json:"name,omitempty"`
	// Aliases are shorter names that [Resolve] takes for it.
	Aliases []string `json:"aliases,omitempty"`
	// Embedding says that it turns texts into vectors, and answers no prompts.
	Embedding bool `json:"embedding,omitempty"`
	// Created is the day it was made or published, as 2006-01-02, where the provider says.
	Created string `json:"created,omitempty"`
}

// KnownModels is the built-in table: the models that are known by their bare names. It is as old as the SDKs that this
// program was built with, and of no weight: any other model can be named as "provider:model".
func KnownModels() []ModelInfo {
	var out []ModelInfo
	add := func(provider string, embedding bool, ids ...string) {
		for _, id := range ids {
			out = append(out, ModelInfo{Provider: provider, ID: id, Embedding: embedding})
		}
	}
	add("openai", false,
		shared.ChatModelGPT6_1Sol, shared.ChatModelGPT6Sol, shared.ChatModelGPT5_5, shared.ChatModelGPT5_4,
		shared.ChatModelGPT5_4Mini, "gpt-5.4-nano", shared.ChatModelGPT5_2, "gpt-5.1", "gpt-5", "gpt-5-mini", "gpt-5-nano",
		"gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-4o-mini", "o3",
	)
	add("openai", true, openai.EmbeddingModelTextEmbedding3Small, openai.EmbeddingModelTextEmbedding3Large)
	add("anthropic", false,
		anthropic.ModelClaudeOpus5_5, anthropic.ModelClaudeSonnet5_5, anthropic.ModelClaudeHaiku5_5,
		anthropic.ModelClaudeFable5_1, anthropic.ModelClaudeOpus5, anthropic.ModelClaudeSonnet5,
		anthropic.ModelClaudeOpus4_8, anthropic.ModelClaudeOpus4_7, anthropic.ModelClaudeOpus4_6,
		anthropic.ModelClaudeSonnet4_6, anthropic.ModelClaudeHaiku4_5, anthropic.ModelClaudeOpus4_5,
	)
	add("google", false,
		"gemini-3.8-flash", "gemini-3.7-flash", "gemini-3.6-flash", "gemini-3.5-flash", "gemini-3.5-flash-lite",
		"gemini-3.1-pro-preview", "gemini-3.1-flash-lite", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite",
		"gemini-pro-latest", "gemini-flash-latest", "gemini-flash-lite-latest",
	)
	add("google", true, "gemini-embedding-001")
	for _, alias := range slices.Sorted(maps.Keys(aliases())) {
		for i := range out {
			if out[i].ID == aliases()[alias] {
				out[i].Aliases = append(out[i].Aliases, alias)
			}
		}
	}
	return out
}

// aliases are the names of families, for the newest model of each.
func aliases() map[string]string {
	return map[string]string{
		"opus":   anthropic.ModelClaudeOpus5_5,
		"sonnet": anthropic.ModelClaudeSonnet5_5,
		"haiku":  anthropic.ModelClaudeHaiku5_5,
	}
}

// Resolve finds out which provider and model a name means: "provider:model", an alias such as "opus", or the bare name
// of a model of OpenAI, Anthropic or Google. It asks nobody: what a name means depends on this program alone. Names are
// compared without regard to case.
func Resolve(name string) (Target, error) {
	name = strings.TrimSpace(name)
	lower := strings.ToLower(name)
	if name == "" {
		return Target{}, errors.New("no model named")
	}
	if before, model, ok := strings.Cut(name, ":"); ok && !strings.HasPrefix(lower, "ft:") {
		p, ok := ProviderNamed(before)
		switch model = strings.TrimSpace(model); {
		case !ok:
			return Target{}, unknownProvider(before)
		case model == "":
			return Target{}, fmt.Errorf("%q names no model after the colon", name)
		}
		if p.family == anthropicFamily {
			if id, ok := aliases()[strings.ToLower(model)]; ok {
				model = id
			}
		}
		return Target{p.Name, model}, nil
	}
	if id, ok := aliases()[lower]; ok {
		return Target{"anthropic", id}, nil
	}
	var known []string
	for _, m := range KnownModels() {
		if m.ID == lower {
			return Target{m.Provider, m.ID}, nil
		}
		known = append(known, m.ID)
	}
	switch {
	case regexp.MustCompile(`^(ft:)?(gpt-\d|chatgpt-|o\d(-|$|:)|codex-|text-embedding-)`).MatchString(lower):
		return Target{"openai", lowerUnlessTuned(name)}, nil
	case regexp.MustCompile(`^claude-[a-z0-9]`).MatchString(lower):
		return Target{"anthropic", lower}, nil
	case regexp.MustCompile(`^gemini-[a-z0-9]`).MatchString(lower):
		return Target{"google", lower}, nil
	}
	known = append(known, slices.Sorted(maps.Keys(aliases()))...)
	err := fmt.Errorf("unknown model %q", name)
	if near := plumb.Nearest(lower, known); near != "" {
		err = fmt.Errorf("unknown model %q (did you mean %q?)", name, near)
	}
	hint := "name it as provider:model, for example ollama:" + name
	if owner, model, ok := strings.Cut(name, "/"); ok {
		hint = "name it as provider:model, for example openrouter:" + name
		if p, ok := ProviderNamed(owner); ok {
			hint += " or " + p.Name + ":" + model
		}
	}
	return Target{}, plumb.WithHint(err, hint+"; `plumb models` lists the names that need no provider")
}

// lowerUnlessTuned leaves the names of tuned models as they are: parts of them are a user's own.
func lowerUnlessTuned(name string) string {
	if lower := strings.ToLower(name); !strings.HasPrefix(lower, "ft:") {
		return lower
	}
	return name
}

func unknownProvider(name string) error {
	var known []string
	for _, p := range Providers() {
		known = append(known, p.Name)
	}
	err := fmt.Errorf("unknown provider %q", name)
	if near := plumb.Nearest(strings.ToLower(name), known); near != "" {
		err = fmt.Errorf("unknown provider %q (did you mean %q?)", name, near)
	}
	return plumb.WithHint(err, "the providers are "+strings.Join(known, ", ")+
		"; a model whose own name has a colon needs its provider before it, as in ollama:qwen3:8b")
}
