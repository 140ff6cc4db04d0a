package convert

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// prompt is a prompt of a suite: a text or messages.
type prompt struct {
	label    string
	text     string
	messages []any
	file     string
	place    doc.Place
	// lost is set if the prompt is not carried over.
	lost bool
	// names are the names by which tests select the prompt.
	names []string
}

func (p *prompt) object() object {
	o := object{}
	if p.label != "" {
		o.set("label", p.label)
	}
	if p.messages != nil {
		return o.with("messages", p.messages)
	}
	return o.with("text", p.text)
}

// texts returns the templates of a prompt.
func (p *prompt) texts() []string {
	if p.messages == nil {
		return []string{p.text}
	}
	var all []string
	for _, m := range p.messages {
		if content, ok := asObject(m).get("content"); ok {
			text, _ := content.(string)
			all = append(all, text)
		}
	}
	return all
}

// readPrompts reads the prompts of promptfoo.
func (p *foo) readPrompts() {
	n := p.root.get("prompts")
	switch n.kind() {
	case doc.Null:
		p.addPrompt(n, node{p.root.src, &doc.Value{}}, "{{prompt}}", "")
	case doc.List:
		for _, e := range n.list() {
			p.readPrompt(e)
		}
	case doc.Map:
		p.losePrompt(n, "prompts as a mapping cannot be carried over", "write a list")
	default:
		p.readPrompt(n)
	}
	p.nameUnlabelled()
}

// onlyPrompt returns the label of the prompt that is left of several, or "".
func (p *foo) onlyPrompt() string {
	label, kept := "", 0
	for _, prompt := range p.prompts {
		if !prompt.lost {
			label = prompt.label
			kept++
		}
	}
	if kept == 1 && len(p.prompts) > 1 {
		return label
	}
	return ""
}

// losePrompt notes a prompt that cannot be carried over. The others stay.
func (p *foo) losePrompt(n node, message, hint string) {
	p.lose(n.src.name, n.place(), message, hint)
	p.prompts = append(p.prompts, prompt{lost: true, file: n.src.name, place: n.place()})
}

func (p *foo) readPrompt(n node) {
	switch n.kind() {
	case doc.String:
		p.promptText(n, n.text(), "")
	case doc.Map:
		for i := range n.Members {
			if m := &n.Members[i]; !slices.Contains([]string{"id", "label", "raw", "display"}, m.Key) {
				p.losePrompt(n, "the key "+m.Key+" of a prompt cannot be carried over", "remove it")
				return
			}
		}
		label := n.get("label").text()
		if label == "" {
			label = n.get("display").text()
		}
		if raw := n.get("raw"); raw.ok() {
			p.addPrompt(n, n, raw.text(), label)
			return
		}
		p.promptText(n, n.get("id").text(), label)
	default:
		p.losePrompt(n, "a prompt must be a text, a file or a mapping, not "+n.kind().String(), "")
	}
}

// looksLikeAPath reports whether promptfoo takes a prompt of one line for a path.
func looksLikeAPath(s string) bool {
	n := len(s)
	return !strings.Contains(s, "\n") && (strings.HasPrefix(s, "file://") || strings.ContainsAny(s, `/*\`) ||
		n >= 3 && s[n-3] == '.' || n >= 4 && s[n-4] == '.' || regexp.MustCompile(`\.(jsonl?|ya?ml|csv|txt|md|j2|[cm]?[jt]s|py)$`).MatchString(s))
}

// separator is a line of a .txt file that ends a prompt. promptfoo 0.123.1 allows white space around
// the dashes.
var separator = regexp.MustCompile(`(?m)^[\s\v\p{Z}\x{FEFF}]*---[\s\v\p{Z}\x{FEFF}]*$`)

// promptText reads a prompt that may be the path of a file.
func (p *foo) promptText(n node, text, label string) {
	if !looksLikeAPath(text) {
		p.addPrompt(n, n, text, label)
		return
	}
	files, err := p.glob(text)
	if err != nil {
		p.losePrompt(n, fmt.Sprintf("promptfoo takes the prompt %q for a path, and %v", text, err),
			"start the prompt with a line end, or correct the path")
		return
	}
	for _, name := range files {
		data, err := p.read(name)
		if err != nil {
			p.losePrompt(n, fmt.Sprintf("%s: %v", name, doc.Cause(err)), "")
			continue
		}
		content := strings.ReplaceAll(string(data), "\r\n", "\n")
		at := node{&source{name: name}, &doc.Value{Place: doc.Place{Line: 1, Column: 1}}}
		switch ext := strings.ToLower(filepath.Ext(name)); ext {
		case ".txt":
			for i, part := range separator.Split(content, -1) {
				if part = strings.TrimSpace(part); part != "" || i == 0 {
					p.addPrompt(at, at, part, label)
				}
			}
		case ".md", ".j2":
			p.addPrompt(at, at, content, label)
		case ".json":
			p.addPrompt(at, at, content, label)
		case ".jsonl":
			for line := range strings.SplitSeq(content, "\n") {
				if strings.TrimSpace(line) != "" {
					p.addPrompt(at, at, line, label)
				}
			}
		case ".yaml", ".yml":
			root, err := parse(name, data)
			if err != nil {
				p.losePrompt(n, err.Error(), "")
				continue
			}
			p.addPrompt(at, at, quoteJSON(root.js()), label)
		default:
			p.losePrompt(at, "a prompt in a "+ext+" file cannot be carried over", "write the prompt as text")
		}
	}
}

// addPrompt adds a prompt with a known text.
func (p *foo) addPrompt(n, at node, text, label string) {
	new := prompt{label: label, text: text, file: p.file, place: at.place(), names: []string{label, text}}
	if n.Value != nil {
		new.file = n.src.name
	}
	for _, other := range p.prompts {
		if other.text == text && other.messages == nil && slices.Contains(other.names, label) {
			return // promptfoo asks an identical prompt once
		}
	}
	lose := func(message, hint string) {
		new.lost = true
		p.lose(new.file, new.place, message, hint)
	}
	trimmed := strings.TrimSpace(text)
	v, _, isJSON := (&doc.JSON{}).Parse([]byte(trimmed), 1)
	switch {
	case trimmed == "":
		lose("an empty prompt", "")
	case isJSON && v.Kind == doc.List:
		var ok bool
		if new.messages, ok = chat(node{&source{}, &v}); !ok {
			lose("a prompt that is JSON, but no list of messages with role and content", "write it as text or as messages")
		}
	case isJSON && (v.Kind == doc.Map || v.Kind == doc.String):
		lose("a prompt that is JSON, but no list of messages: promptfoo formats it anew", "write it as text or as messages")
	case !isJSON && (strings.HasPrefix(trimmed, "[") && strings.Contains(trimmed, `"role"`) || strings.HasPrefix(trimmed, "- role:")):
		lose("messages that are JSON or YAML only after rendering", "write a list of messages")
	}
	p.prompts = append(p.prompts, new)
}

// chat returns messages with a role and a text.
func chat(n node) (messages []any, ok bool) {
	if len(n.List) == 0 {
		return nil, false
	}
	for _, e := range n.list() {
		role, content := e.get("role"), e.get("content")
		known := []string{plumb.RoleSystem, plumb.RoleDeveloper, plumb.RoleUser, plumb.RoleAssistant}
		if e.kind() != doc.Map || len(e.Members) != 2 || content.kind() != doc.String || !slices.Contains(known, role.text()) {
			return nil, false
		}
		messages = append(messages, object{{"role", role.Text()}, {"content", content.Text()}})
	}
	return messages, true
}

// nameUnlabelled gives each prompt a label of its own that can be a part of an id.
func (p *foo) nameUnlabelled() {
	if len(p.prompts) == 1 {
		p.prompts[0].label = safeLabel(p.prompts[0].label)
		return
	}
	taken := map[string]bool{}
	for i := range p.prompts {
		label := safeLabel(p.prompts[i].label)
		if label == "" || taken[label] {
			label = fmt.Sprintf("prompt-%d", i+1)
		}
		taken[label] = true
		p.prompts[i].label = label
	}
}

func safeLabel(s string) string {
	s = regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(s, "-")
	s = strings.Trim(s, "-")
	return s[:min(len(s), 40)]
}

// choosePrompts reads which prompts a test is for.
func (p *foo) choosePrompts(c *fooTest) {
	if len(c.prompts) == 0 {
		return
	}
	var labels []any
	var names []string
	for _, want := range c.prompts {
		found := false
		for i := range p.prompts {
			if prompt := &p.prompts[i]; slices.Contains(prompt.names, want) {
				found = true
				if !prompt.lost {
					labels, names = append(labels, prompt.label), append(names, prompt.label)
				}
			}
		}
		if !found {
			p.refuse(c.item, c.file, c.place, fmt.Sprintf("there is no prompt %q", want), "")
		}
	}
	c.prompts = names
	if len(p.prompts) > 1 {
		c.keys.set("prompts", labels)
	}
}

var _ = json.Number("")
