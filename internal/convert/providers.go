package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// echo is a command that answers with its prompt, as the provider echo does.
func echo() []any {
	return []any{"node", "-e", `const r = JSON.parse(require("fs").readFileSync(0, "utf8")); ` +
		`const output = r.messages.length > 1 ? JSON.stringify(r.messages.map(({ role, content }) => ({ role, content })), null, 2) : r.prompt; ` +
		`console.log(JSON.stringify({ output }))`}
}

// readProviders makes runners of the providers.
func (p *foo) readProviders() {
	n := p.root.get("providers")
	if !n.ok() {
		n = p.root.get("targets")
	}
	list := n.list()
	if n.ok() && n.kind() != doc.List {
		list = []node{n}
	}
	seen := map[string]bool{}
	for _, e := range list {
		runner, why := p.provider(e)
		if why != "" {
			p.lose(e.src.name, e.place(), why, "add a runner to plumb.yaml: docs/runners.md")
			continue
		}
		label := e.get("label").text()
		if e.kind() != doc.Map {
			label = ""
		}
		text := label + quoteJSON(runner)
		if seen[text] {
			continue // promptfoo asks an identical provider once
		}
		seen[text] = true
		name := providerID(e)
		if label != "" {
			name = label
		}
		id := safeLabel(name[strings.LastIndexByte(name, ':')+1:])
		for k, base := 2, id; ; k++ {
			if _, taken := p.runners.get(id); !taken && id != "" {
				break
			}
			id = fmt.Sprintf("%s-%d", base, k)
		}
		p.runners.set(id, runner)
	}
	if len(list) == 0 {
		p.lose(p.file, n.place(), "the config has no providers", "add a runner to plumb.yaml, or use plumb run --model")
	}
}

func providerID(n node) string {
	if n.kind() == doc.Map {
		if id := n.get("id"); id.ok() {
			return id.text()
		}
		if len(n.Members) == 1 {
			return n.Members[0].Key
		}
		return ""
	}
	return n.text()
}

// provider returns the runner of a provider, or why it cannot be carried over.
func (p *foo) provider(n node) (runner any, why string) {
	id := providerID(n)
	options := n
	if n.kind() == doc.Map && !n.get("id").ok() && len(n.Members) == 1 {
		options = node{n.src, &n.Members[0].Value}
	}
	model, family := providerModel(id)
	switch {
	case id == "":
		return nil, "a provider without an id"
	case id == "echo":
		if slices.ContainsFunc(p.prompts, func(p prompt) bool { return len(p.messages) == 1 }) {
			return nil, "the provider echo with a prompt of one chat message"
		}
		runner = object{{"command", echo()}}
	case model == "":
		return nil, "the provider " + id + " cannot be carried over"
	default:
		runner = model
	}
	if options.kind() != doc.Map {
		return runner, ""
	}
	o, ok := runner.(object)
	if !ok {
		o = object{{"model", model}}
		if family == "responses" {
			o.set("api", "responses")
		}
	}
	for i := range options.Members {
		m := &options.Members[i]
		v := node{n.src, &m.Value}
		switch m.Key {
		case "id", "label":
		case "transform":
			p.whole = append(p.whole, "a transform of a provider")
			return nil, "the transform of a provider cannot be carried over: set it in options of defaultTest"
		case "config":
			for j := range v.Members {
				c := &v.Members[j]
				if why := providerSetting(&o, c.Key, node{n.src, &c.Value}); why != "" {
					return nil, why
				}
			}
		default:
			return nil, "the key " + m.Key + " of a provider cannot be carried over"
		}
	}
	if len(o) == 1 && family != "responses" && o[0].key == "model" {
		return model, ""
	}
	return o, ""
}

// providerModel returns the model of Plumb for a provider, or "".
func providerModel(id string) (model, family string) {
	parts := strings.Split(id, ":")
	name := strings.Join(parts[1:], ":")
	if len(parts) < 2 {
		return "", ""
	}
	trim := func(kinds ...string) bool {
		for _, kind := range kinds {
			if rest, ok := strings.CutPrefix(name, kind+":"); ok {
				name = rest
				return true
			}
		}
		return !strings.Contains(name, ":")
	}
	switch parts[0] {
	case "openai":
		if rest, ok := strings.CutPrefix(name, "responses:"); ok {
			return "openai:" + rest, "responses"
		}
		if rest, ok := strings.CutPrefix(name, "embedding:"); ok {
			return "openai:" + rest, ""
		}
		if trim("chat") {
			return "openai:" + name, ""
		}
	case "anthropic":
		if trim("messages") {
			return "anthropic:" + name, ""
		}
	case "google":
		if trim() {
			return "google:" + name, ""
		}
	case "ollama":
		trim("chat", "embeddings", "completion")
		return "ollama:" + name, ""
	case "openrouter", "groq":
		return parts[0] + ":" + name, ""
	}
	return "", ""
}

// providerSetting carries a setting of a provider over, or returns why it cannot be.
func providerSetting(o *object, key string, v node) string {
	keys := map[string]string{
		"temperature": "temperature", "max_tokens": "maxOutputTokens", "maxOutputTokens": "maxOutputTokens", "max_completion_tokens": "maxOutputTokens",
		"max_output_tokens": "maxOutputTokens", "top_p": "topP", "seed": "seed", "reasoning_effort": "reasoningEffort",
		"apiBaseUrl": "baseURL", "apiKeyEnvar": "apiKeyEnv", "headers": "headers",
	}
	to, ok := keys[key]
	value := v.js()
	switch _, command := o.get("command"); {
	case key == "apiKey":
		if name := environment(v.text()); name != "" {
			o.set("apiKeyEnv", name)
			return ""
		}
		return "apiKey of a provider cannot be carried over: a key belongs in the environment"
	case !ok || command:
		return "the setting " + key + " of a provider cannot be carried over"
	case isTemplate(quoteJSON(value)):
		return "a template in the setting " + key + " of a provider"
	case to == "headers":
		if _, ok := value.(object); !ok {
			return "headers of a provider must be a mapping"
		}
	case to == "baseURL", to == "apiKeyEnv", to == "reasoningEffort":
		if _, ok := value.(string); !ok {
			return "the setting " + key + " of a provider is no text"
		}
	default:
		if _, ok := value.(json.Number); !ok {
			return "the setting " + key + " of a provider is no number"
		}
	}
	o.set(to, value)
	return ""
}
