package promptfoo

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
)

// prompt is a prompt of a config: a text or messages.
type prompt struct {
	label, text string
	messages    []doc.Value
	at          plumb.Position
	// lost is set if the prompt is not carried over.
	lost bool
	// names are the names by which tests select the prompt.
	names []string
}

// value returns the prompt of a suite.
func (p *prompt) value() doc.Value {
	v := doc.Value{Kind: doc.Map}
	if p.label != "" {
		v.Set("label", doc.NewString(p.label, doc.Place{}))
	}
	if p.messages != nil {
		v.Set("messages", doc.Value{Kind: doc.List, List: p.messages})
	} else {
		v.Set("text", doc.NewString(p.text, doc.Place{}))
	}
	return v
}

// texts returns the templates of a prompt.
func (p *prompt) texts() []string {
	if p.messages == nil {
		return []string{p.text}
	}
	var all []string
	for i := range p.messages {
		all = append(all, p.messages[i].Get("content").Text())
	}
	return all
}

// readPrompts reads the prompts.
func (p *conversion) readPrompts() {
	n := p.root.Get("prompts")
	switch {
	case !n.OK():
		p.addPrompt(p.root.In(p.File), "{{prompt}}", "")
	case n.Is(doc.List):
		for _, e := range n.All() {
			p.readPrompt(e)
		}
	case n.Is(doc.Map):
		p.losePrompt(n.At(), "prompts as a mapping cannot be carried over", "write a list")
	default:
		p.readPrompt(n)
	}
	p.nameUnlabelled()
}

// onlyPrompt returns the label of the prompt that is left of several, or "".
func (p *conversion) onlyPrompt() string {
	var kept []string
	for _, prompt := range p.prompts {
		if !prompt.lost {
			kept = append(kept, prompt.label)
		}
	}
	if len(kept) == 1 && len(p.prompts) > 1 {
		return kept[0]
	}
	return ""
}

// losePrompt notes a prompt that cannot be carried over. The others stay.
func (p *conversion) losePrompt(at plumb.Position, message, hint string) {
	p.Lose(at, message, hint)
	p.prompts = append(p.prompts, prompt{lost: true, at: at})
}

func (p *conversion) readPrompt(n draft.Node) {
	switch {
	case n.Is(doc.String):
		p.promptText(n.At(), n.Text(), "")
	case n.Is(doc.Map):
		for _, m := range n.Members {
			if !slices.Contains([]string{"id", "label", "raw", "display"}, m.Key) {
				p.losePrompt(n.At(), "the key "+m.Key+" of a prompt cannot be carried over", "remove it")
				return
			}
		}
		label := cmp.Or(n.Get("label").Text(), n.Get("display").Text())
		if raw := n.Get("raw"); raw.OK() {
			p.addPrompt(n.At(), raw.Text(), label)
			return
		}
		p.promptText(n.At(), n.Get("id").Text(), label)
	default:
		p.losePrompt(n.At(), "a prompt must be a text, a file or a mapping, not "+n.Kind.String(), "")
	}
}

var promptFile = pattern(`\.(jsonl?|ya?ml|csv|txt|md|j2|[cm]?[jt]s|py)$`)

// looksLikeAPath reports whether promptfoo takes a prompt of one line for a path.
func looksLikeAPath(s string) bool {
	n := len(s)
	return !strings.Contains(s, "\n") && (strings.HasPrefix(s, "file://") || strings.ContainsAny(s, `/*\`) ||
		n >= 3 && s[n-3] == '.' || n >= 4 && s[n-4] == '.' || promptFile().MatchString(s))
}

// separator is a line of a .txt file that ends a prompt. promptfoo 0.123.1 allows white space
// around the dashes.
var separator = pattern(`(?m)^[\s\v\p{Z}\x{FEFF}]*---[\s\v\p{Z}\x{FEFF}]*$`)

// promptText reads a prompt that may be the path of a file.
func (p *conversion) promptText(at plumb.Position, text, label string) {
	if !looksLikeAPath(text) {
		p.addPrompt(at, text, label)
		return
	}
	files, err := p.glob(text)
	if err != nil {
		p.losePrompt(at, fmt.Sprintf("promptfoo takes the prompt %q for a path, and %v", text, err),
			"start the prompt with a line end, or correct the path")
		return
	}
	for _, name := range files {
		data, err := p.Read(name)
		if err != nil {
			p.losePrompt(at, fmt.Sprintf("%s: %v", name, doc.Cause(err)), "")
			continue
		}
		content := strings.ReplaceAll(string(data), "\r\n", "\n")
		top := doc.Place{Line: 1, Column: 1}.In(name)
		switch ext := strings.ToLower(filepath.Ext(name)); ext {
		case ".txt":
			for i, part := range separator().Split(content, -1) {
				if part = strings.TrimSpace(part); part != "" || i == 0 {
					p.addPrompt(top, part, label)
				}
			}
		case ".md", ".j2", ".json":
			p.addPrompt(top, content, label)
		case ".jsonl":
			for line := range strings.SplitSeq(content, "\n") {
				if strings.TrimSpace(line) != "" {
					p.addPrompt(top, line, label)
				}
			}
		case ".yaml", ".yml":
			root, err := Parse(name, data)
			if err != nil {
				p.losePrompt(at, err.Error(), "")
				continue
			}
			p.addPrompt(top, string(root.JSON()), label)
		default:
			p.losePrompt(top, "a prompt in a "+ext+" file cannot be carried over", "write the prompt as text")
		}
	}
}

// addPrompt adds a prompt with a known text.
func (p *conversion) addPrompt(at plumb.Position, text, label string) {
	added := prompt{label: label, text: text, at: at, names: []string{label, text}}
	for _, other := range p.prompts {
		if other.text == text && other.messages == nil && slices.Contains(other.names, label) {
			return // promptfoo asks an identical prompt once
		}
	}
	lose := func(message, hint string) {
		added.lost = true
		p.Lose(at, message, hint)
	}
	trimmed := strings.TrimSpace(text)
	v, _, isJSON := (&doc.JSON{}).Parse([]byte(trimmed), 1)
	switch {
	case trimmed == "":
		lose("an empty prompt", "")
	case isJSON && v.Kind == doc.List:
		if added.messages = draft.Chat(&v); added.messages == nil {
			lose("a prompt that is JSON, but no list of messages with role and content", "write it as text or as messages")
		}
	case isJSON && (v.Kind == doc.Map || v.Kind == doc.String):
		lose("a prompt that is JSON, but no list of messages: promptfoo formats it anew", "write it as text or as messages")
	case !isJSON && (strings.HasPrefix(trimmed, "[") && strings.Contains(trimmed, `"role"`) || strings.HasPrefix(trimmed, "- role:")):
		lose("messages that are JSON or YAML only after rendering", "write a list of messages")
	}
	p.prompts = append(p.prompts, added)
}

// nameUnlabelled gives each prompt a label of its own that can be a part of an id.
func (p *conversion) nameUnlabelled() {
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

var unsafeLabel = pattern(`[^A-Za-z0-9_-]+`)

func safeLabel(s string) string {
	s = unsafeLabel().ReplaceAllString(s, "-")
	s = strings.Trim(s, "-")
	return s[:min(len(s), 40)]
}

// choosePrompts reads which prompts a test is for.
func (p *conversion) choosePrompts(c *test) {
	if len(c.prompts) == 0 {
		return
	}
	labels := doc.Value{Kind: doc.List}
	var names []string
	for _, want := range c.prompts {
		found := false
		for i := range p.prompts {
			if prompt := &p.prompts[i]; slices.Contains(prompt.names, want) {
				found = true
				if !prompt.lost {
					labels.List, names = append(labels.List, doc.NewString(prompt.label, doc.Place{})), append(names, prompt.label)
				}
			}
		}
		if !found {
			p.Refuse(c.Case, c.At, fmt.Sprintf("there is no prompt %q", want), "")
		}
	}
	c.prompts = names
	if len(p.prompts) > 1 {
		c.Keys.Set("prompts", labels)
	}
}
