package modelapi

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// Target is a model of a provider.
type Target struct{ Provider, Model string }

// String is "provider:model".
func (t Target) String() string { return t.Provider + ":" + t.Model }

// ModelInfo describes one model.
type ModelInfo struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	// Name is the provider's title for it. Optional.
	Name string `json:"name,omitempty"`
	// Aliases are shorter names that [Resolve] accepts.
	Aliases []string `json:"aliases,omitempty"`
	// Embedding is set for models that make vectors of texts and do not answer prompts.
	Embedding bool `json:"embedding,omitempty"`
	// Created is the day it was made or published, as 2006-01-02, if the provider reports it.
	Created string `json:"created,omitempty"`
}

// KnownModels lists the models that [Resolve] knows without a provider. The list is part of this
// program, so it can be old. Any other model can be named as "provider:model".
func KnownModels() []ModelInfo {
	var out []ModelInfo
	for _, p := range Providers() {
		short := map[string][]string{}
		for _, alias := range slices.Sorted(maps.Keys(p.aliases)) {
			short[p.aliases[alias]] = append(short[p.aliases[alias]], alias)
		}
		for _, id := range p.models {
			out = append(out, ModelInfo{Provider: p.Name, ID: id, Aliases: short[id]})
		}
		for _, id := range p.embeddings {
			out = append(out, ModelInfo{Provider: p.Name, ID: id, Embedding: true})
		}
	}
	return out
}

// Resolve returns the provider and model that a name means: "provider:model", an alias such as
// "opus", or the bare name of a model of OpenAI, Anthropic or Google. It uses no network: the
// meaning depends on this program alone. The case of letters does not matter.
func Resolve(name string) (Target, error) {
	name = strings.TrimSpace(name)
	lower := strings.ToLower(name)
	if name == "" {
		return Target{}, errors.New("no model name")
	}
	if before, model, ok := strings.Cut(name, ":"); ok && !strings.HasPrefix(lower, "ft:") {
		p, ok := ProviderNamed(before)
		switch model = strings.TrimSpace(model); {
		case !ok:
			return Target{}, unknownProvider(before)
		case model == "":
			return Target{}, fmt.Errorf("%q has no model after the colon", name)
		}
		if id, ok := p.aliases[strings.ToLower(model)]; ok {
			model = id
		}
		return Target{p.Name, model}, nil
	}
	var known, short []string
	for _, m := range KnownModels() {
		if m.ID == lower || slices.Contains(m.Aliases, lower) {
			return Target{m.Provider, m.ID}, nil
		}
		known, short = append(known, m.ID), append(short, m.Aliases...)
	}
	for _, p := range Providers() {
		if p.pattern != "" && regexp.MustCompile("^"+p.pattern).MatchString(lower) {
			return Target{p.Name, lowerUnlessTuned(name)}, nil
		}
	}
	known = append(known, short...)
	hint := "name it as provider:model, for example ollama:" + name
	if owner, model, ok := strings.Cut(name, "/"); ok {
		hint = "name it as provider:model, for example openrouter:" + name
		if p, ok := ProviderNamed(owner); ok {
			hint += " or " + p.Name + ":" + model
		}
	}
	hint += "; `plumb models` lists the names that need no provider"
	return Target{}, plumb.WithHint(unknown("model", name, known), hint)
}

// lowerUnlessTuned keeps the names of tuned models, which have parts that a user chose.
func lowerUnlessTuned(name string) string {
	if lower := strings.ToLower(name); !strings.HasPrefix(lower, "ft:") {
		return lower
	}
	return name
}

// unknown is the error of an unknown name, with the nearest known one.
func unknown(what, name string, known []string) error {
	if near := plumb.Nearest(strings.ToLower(name), known); near != "" {
		return fmt.Errorf("unknown %s %q (did you mean %q?)", what, name, near)
	}
	return fmt.Errorf("unknown %s %q", what, name)
}

func unknownProvider(name string) error {
	var known []string
	for _, p := range Providers() {
		known = append(known, p.Name)
	}
	return plumb.WithHint(unknown("provider", name, known), "the providers are "+strings.Join(known, ", ")+
		"; a model whose own name has a colon needs its provider before it, as in ollama:qwen3:8b")
}
