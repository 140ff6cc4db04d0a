package cases

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/template"
)

// prompt is one of the prompts of a suite.
type prompt struct {
	label string
	at    doc.Place
	// input is the template: a text, or a list of messages.
	input doc.Value
	// file is set if input is the content of a file.
	file bool
}

// readPrompts reads the prompts of a suite: a text, a path, a mapping, or a list of them.
func (x *expander) readPrompts(v *doc.Value) {
	list := []doc.Value{*v}
	if v.Kind == doc.List {
		list = v.List
	}
	if len(list) == 0 {
		x.add(v.Place, "prompts is an empty list", "")
	}
	for i := range list {
		p := &list[i]
		switch {
		case p.Kind == doc.Map:
			x.promptMapping(p)
		case p.Kind != doc.String:
			x.add(p.Place, "a prompt must be a text, a path or a mapping, not "+p.Kind.String(), "")
		case isPath(p.Text()):
			x.promptFiles(p, p.Text(), "")
		default:
			x.addPrompt(prompt{at: p.Place, input: *p})
		}
	}
	labels := map[string]string{}
	for i := range x.prompts {
		p := &x.prompts[i]
		if p.label == "" {
			p.label = "prompt-" + strconv.Itoa(i+1)
		}
		lower := strings.ToLower(safeID(p.label))
		other, twice := labels[lower]
		switch why := doc.Unprintable(p.label); {
		case why != "":
			x.add(p.at, fmt.Sprintf("the label %q %s", p.label, why), "use letters, digits and punctuation")
		case lower == "":
			x.add(p.at, fmt.Sprintf("the label %q has no letter or digit", p.label), "it becomes a part of ids")
		case twice && other == p.label:
			x.add(p.at, fmt.Sprintf("two prompts have the label %q", p.label), `give each a "label"`)
		case twice:
			x.add(p.at, fmt.Sprintf("the labels %q and %q are the same in ids", other, p.label), "")
		}
		if twice {
			p.label += "-" + strconv.Itoa(i+1) // so that the ids are not reported, too
		}
		labels[lower] = p.label
	}
}

func (x *expander) addPrompt(p prompt) { x.prompts = append(x.prompts, p) }

// isPath reports whether a prompt is the path of a file, or a pattern of paths: it begins with
// file://, or it is one word with an extension of text.
func isPath(text string) bool {
	if strings.HasPrefix(text, "file://") {
		return true
	}
	return strings.IndexFunc(text, unicode.IsSpace) < 0 && !template.Is(text) &&
		slices.Contains([]string{".txt", ".md", ".json", ".j2", ".njk"}, strings.ToLower(path.Ext(text)))
}

func (x *expander) promptMapping(v *doc.Value) {
	known := []string{"label", "text", "file", "messages"}
	p := prompt{at: v.Place}
	var forms []*doc.Member
	unknown := false
	for i := range v.Members {
		m := &v.Members[i]
		switch m.Key {
		case "label":
			if m.Value.Kind != doc.String || m.Value.Empty() {
				x.add(m.Value.Place, "label must be a text, not "+m.Value.Kind.String(), "")
				continue
			}
			p.label, p.at = m.Value.Text(), m.Value.Place
		case "text", "file", "messages":
			forms = append(forms, m)
		default:
			hint := doc.DidYouMean(m.Key, known)
			switch m.Key {
			case "raw", "prompt", "content":
				hint = `did you mean "text"?`
			case "id", "path":
				hint = `did you mean "file"?`
			case "name":
				hint = `did you mean "label"?`
			}
			x.add(m.Place, fmt.Sprintf("unknown key %q in a prompt", m.Key), hint)
			unknown = true
		}
	}
	if len(forms) != 1 {
		if len(forms) == 0 && unknown {
			return
		}
		x.add(v.Place, "a prompt must have one of text, file and messages", "")
		return
	}
	switch m := forms[0]; m.Key {
	case "messages":
		p.input = m.Value
		if m.Value.Kind != doc.List {
			x.add(m.Value.Place, "messages must be a list, not "+m.Value.Kind.String(), "each has a role and content")
			return
		}
		x.addPrompt(p)
	case "text":
		p.input = m.Value
		if m.Value.Kind != doc.String {
			x.add(m.Value.Place, "text must be a text, not "+m.Value.Kind.String(), "")
			return
		}
		x.addPrompt(p)
	case "file":
		if m.Value.Kind != doc.String {
			x.add(m.Value.Place, "file must be a path, not "+m.Value.Kind.String(), "")
			return
		}
		x.promptFiles(&m.Value, m.Value.Text(), p.label)
	}
}

// promptFiles adds the prompt of each file that a path or a pattern names. Without a label a prompt
// has the name of its file.
func (x *expander) promptFiles(v *doc.Value, pattern, label string) {
	names, ok := x.names(v.Place, pattern)
	if !ok {
		return
	}
	if len(names) > 1 && label != "" {
		x.add(v.Place, fmt.Sprintf("%d files have the label %q", len(names), label),
			"leave it out: prompts are named after files")
		return
	}
	for _, name := range names {
		text, ok := x.readFile(v.Place, name)
		if !ok {
			continue
		}
		p := prompt{label: label, at: v.Place, file: true}
		if label == "" {
			p.label = strings.TrimSuffix(path.Base(filepath.ToSlash(name)), path.Ext(name))
		}
		p.input = doc.NewString(strings.TrimRight(text, "\r\n"), doc.Place{Line: 1, Column: 1})
		if strings.EqualFold(path.Ext(name), ".json") {
			parsed, problem := doc.ParseJSON(x.file.Shown(name), []byte(text))
			switch {
			case problem != nil:
				x.problems = append(x.problems, *problem)
				continue
			case parsed.Kind != doc.List:
				x.problems = append(x.problems, doc.Problem{
					Pos:     parsed.In(x.file.Shown(name)),
					Message: "a prompt in JSON must be a list of messages, not " + parsed.Kind.JSON(),
				})
				continue
			}
			p.input = parsed
		}
		p.input.Shift(x.sources.add(x.file.Shown(name), x.lines))
		x.lines = lineEnds([]byte(text)) + 1
		x.addPrompt(p)
	}
}

// names returns the names of the files that a name or a pattern means. at is where the suite has
// it.
func (x *expander) names(at doc.Place, name string) (names []string, ok bool) {
	name = strings.TrimPrefix(name, "file://")
	if !strings.ContainsAny(name, "*?[") {
		return []string{name}, true
	}
	err := errNoFiles
	if x.file.Match != nil {
		names, err = x.file.Match(name)
	}
	if err != nil {
		x.add(at, err.Error(), plumb.Hint(err))
	}
	return names, err == nil
}

var errNoFiles = errors.New("the suite has no directory, so it cannot name a file")

// readFile reads an included file. at is where the suite names it.
func (x *expander) readFile(at doc.Place, name string) (text string, ok bool) {
	data, err := []byte(nil), errNoFiles
	if x.file.ReadFile != nil {
		data, err = x.file.ReadFile(name)
	}
	if err != nil {
		x.add(at, err.Error(), plumb.Hint(err))
		return "", false
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if problem := doc.InvalidUTF8(x.file.Shown(name), data); problem != nil {
		x.problems = append(x.problems, *problem)
		return "", false
	}
	return string(data), true
}
