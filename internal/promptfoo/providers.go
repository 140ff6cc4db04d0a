package promptfoo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/template"
)

// echo is a command that answers with its prompt, as the provider echo does.
const echo = `const r = JSON.parse(require("fs").readFileSync(0, "utf8")); ` +
	`const output = r.messages.length > 1 ? JSON.stringify(r.messages.map(({ role, content }) => ({ role, content })), null, 2) : r.prompt; ` +
	`console.log(JSON.stringify({ output }))`

// readProviders makes runners of the providers.
func (p *conversion) readProviders() {
	n := p.root.Get("providers")
	if !n.OK() {
		n = p.root.Get("targets")
	}
	list := n.All()
	if n.OK() && !n.Is(doc.List) {
		list = []draft.Node{n}
	}
	seen := map[string]bool{}
	for _, e := range list {
		runner, why := p.provider(e)
		if why != "" {
			p.Lose(e.At(), why, "add a runner to plumb.yaml: docs/runners.md")
			continue
		}
		label := e.Get("label").Text()
		text := label + string(runner.JSON())
		if seen[text] {
			continue // promptfoo asks an identical provider once
		}
		seen[text] = true
		name := cmp.Or(label, providerID(e))
		id := safeLabel(name[strings.LastIndexByte(name, ':')+1:])
		for k, base := 2, id; id == "" || p.Runners.Get(id) != nil; k++ {
			id = fmt.Sprintf("%s-%d", base, k)
		}
		p.Runners.Kind = doc.Map
		p.Runners.Set(id, runner)
	}
	if len(list) == 0 {
		at := n.At()
		at.File = p.File
		p.Lose(at, "the config has no providers", "add a runner to plumb.yaml, or use plumb run --model")
	}
}

func providerID(n draft.Node) string {
	if !n.Is(doc.Map) {
		return n.Text()
	}
	if id := n.Get("id"); id.OK() {
		return id.Text()
	}
	if len(n.Members) == 1 {
		return n.Members[0].Key
	}
	return ""
}

// provider returns the runner of a provider, or why it cannot be carried over.
func (p *conversion) provider(n draft.Node) (runner doc.Value, why string) {
	id := providerID(n)
	options := n
	if n.Is(doc.Map) && !n.Get("id").OK() && len(n.Members) == 1 {
		options.Value = &n.Members[0].Value
	}
	model, kind := providerModel(id)
	o := doc.Value{Kind: doc.Map}
	switch {
	case id == "":
		return o, "a provider without an id"
	case id == "echo":
		if slices.ContainsFunc(p.prompts, func(p prompt) bool { return len(p.messages) == 1 }) {
			return o, "the provider echo with a prompt of one chat message"
		}
		command := doc.Value{Kind: doc.List}
		for _, word := range []string{"node", "-e", echo} {
			command.List = append(command.List, doc.NewString(word, doc.Place{}))
		}
		o.Set("command", command)
	case model == "":
		return o, "the provider " + id + " cannot be carried over"
	default:
		o.Set("model", doc.NewString(model, doc.Place{}))
	}
	if kind == "responses" && options.Is(doc.Map) {
		o.Set("api", doc.NewString(kind, doc.Place{}))
	}
	for i := range options.Keys() {
		m := &options.Members[i]
		switch m.Key {
		case "id", "label":
		case "transform":
			p.whole = append(p.whole, "a transform of a provider")
			return o, "the transform of a provider cannot be carried over: set it in options of defaultTest"
		case "config":
			for j := range m.Value.Members {
				if why := providerSetting(&o, &m.Value.Members[j]); why != "" {
					return o, why
				}
			}
		default:
			return o, "the key " + m.Key + " of a provider cannot be carried over"
		}
	}
	if len(o.Members) == 1 && model != "" {
		return o.Members[0].Value, ""
	}
	return o, ""
}

// providerModel returns the model of Plumb for a provider such as openai:chat:gpt-5, and the kind of its
// API; "" for one that Plumb does not have.
func providerModel(id string) (model, kind string) {
	kinds := map[string][]string{
		"openai": {"chat", "embedding", "responses"}, "anthropic": {"messages"}, "google": nil,
		"ollama": {"chat", "embeddings", "completion"}, "openrouter": nil, "groq": nil,
	}
	provider, name, ok := strings.Cut(id, ":")
	known, there := kinds[provider]
	if !ok || !there {
		return "", ""
	}
	kind, rest, several := strings.Cut(name, ":")
	switch {
	case several && slices.Contains(known, kind):
		return provider + ":" + rest, kind
	case several && slices.Contains([]string{"openai", "anthropic", "google"}, provider): // another API
		return "", ""
	}
	return id, ""
}

// providerSetting carries a setting of a provider over, or returns why it cannot be.
func providerSetting(o *doc.Value, m *doc.Member) string {
	keys := map[string]string{
		"temperature": "temperature", "max_tokens": "maxOutputTokens", "maxOutputTokens": "maxOutputTokens", "max_completion_tokens": "maxOutputTokens",
		"max_output_tokens": "maxOutputTokens", "top_p": "topP", "seed": "seed", "reasoning_effort": "reasoningEffort",
		"apiBaseUrl": "baseURL", "apiKeyEnvar": "apiKeyEnv", "headers": "headers",
	}
	to, ok := keys[m.Key]
	switch kind := m.Value.Kind; {
	case m.Key == "apiKey":
		if name := environment(m.Value.Text()); name != "" {
			o.Set("apiKeyEnv", doc.NewString(name, doc.Place{}))
			return ""
		}
		return "apiKey of a provider cannot be carried over: a key belongs in the environment"
	case !ok || o.Get("command") != nil:
		return "the setting " + m.Key + " of a provider cannot be carried over"
	case template.Is(string(m.Value.JSON())):
		return "a template in the setting " + m.Key + " of a provider"
	case to == "headers":
		if kind != doc.Map {
			return "headers of a provider must be a mapping"
		}
	case to == "baseURL", to == "apiKeyEnv", to == "reasoningEffort":
		if kind != doc.String {
			return "the setting " + m.Key + " of a provider is no text"
		}
	case kind != doc.Number:
		return "the setting " + m.Key + " of a provider is no number"
	}
	o.Set(to, m.Value)
	return ""
}
