// Package promptfoo knows promptfoo 0.123.1: its configs and their tests, the types of its
// assertions and what each becomes, also in a column __expected of a data file, and its result
// files. So a file has the same verdicts whichever command reads it.
package promptfoo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/convert/draft"
	"github.com/plumb-eval/plumb/internal/doc"
)

// IsConfig reports whether a file is a config of promptfoo, by its name or by keys that only
// promptfoo has.
func IsConfig(name string, keys []string) bool {
	has := func(key string) bool { return slices.Contains(keys, key) }
	switch {
	case has("cases") || has("runners") || has("suites"):
		return false
	case strings.HasPrefix(name, "promptfooconfig."):
		return true
	}
	return has("providers") && (has("prompts") || has("tests")) || has("targets") && has("prompts") ||
		has("prompts") && has("tests") || has("defaultTest") || has("scenarios") && has("prompts")
}

// conversion is the conversion of one config.
type conversion struct {
	*draft.Draft
	root     draft.Node
	defaults draft.Node
	prompts  []prompt
	tests    []*test
	// whole are the reasons why no test can be carried over.
	whole []string
	// invalid returns why a pattern is no regular expression of JavaScript, or "".
	invalid func(pattern string) string
	// twice are the duplicate keys of files with tests. promptfoo reads none of them.
	twice doc.Problems
}

// Convert converts a config. invalid returns why a pattern is no regular expression of JavaScript,
// or "".
func Convert(to *draft.Draft, root draft.Node, invalid func(pattern string) string) error {
	if !root.Is(doc.Map) {
		return doc.Problems{{Pos: root.At(), Message: "a promptfoo config must be a mapping, not " + root.Kind.String()}}
	}
	p := &conversion{Draft: to, root: root, invalid: invalid}
	p.HasConfig = true
	if about := root.Get("description"); about.Is(doc.String) {
		p.Comment = append(p.Comment, strings.Split(about.Text(), "\n")...)
	}
	p.topLevel()
	p.readPrompts()
	p.readProviders()
	p.readTests()
	p.affixes()
	for i := range p.prompts {
		if prompt := &p.prompts[i]; !prompt.lost {
			p.Prompts.List = append(p.Prompts.List, prompt.value())
		}
	}
	if len(p.prompts) > 0 {
		p.Prompts.Kind = doc.List
	}
	if len(p.twice) > 0 {
		return p.twice
	}
	return nil
}

// topLevel reads the keys of the file that are neither prompts, providers nor tests.
func (p *conversion) topLevel() {
	for i := range p.root.Members {
		m := &p.root.Members[i]
		at := m.In(p.root.File)
		switch m.Key {
		case "description", "prompts", "providers", "targets", "tests", "scenarios", "defaultTest", "$schema", "tags",
			"sharing", "writeLatestResults", "metadata":
		case "evaluateOptions":
			p.evaluateOptions(draft.Node{File: p.root.File, Value: &m.Value})
		case "outputPath":
			p.Tell(at, "outputPath is not carried over", "plumb run --report json:results.json, html, junit or markdown")
		case "env":
			p.Lose(at, "env is not carried over", "set the variables in the environment or in .env")
		case "commandLineOptions":
			p.Lose(at, "commandLineOptions is not carried over", "plumb run has flags and the section run of plumb.yaml")
		case "derivedMetrics":
			p.Lose(at, "derivedMetrics cannot be carried over", "compute them from plumb show --json")
		default:
			if strings.HasPrefix(m.Key, "x-") {
				continue // anchors are often defined there
			}
			p.whole = append(p.whole, m.Key)
			p.Lose(at, m.Key+" of the config cannot be carried over", "remove it, and convert again")
		}
	}
	p.defaults = p.root.Get("defaultTest")
	if p.defaults.Is(doc.String) {
		p.defaults = p.include(p.defaults)
	}
}

// include reads the file that a text names.
func (p *conversion) include(n draft.Node) draft.Node {
	name, data, err := p.open(n.Text())
	if err == nil {
		var read draft.Node
		if read, err = Parse(name, data); err == nil {
			return read
		}
	}
	p.whole = append(p.whole, n.Text())
	p.Lose(n.At(), fmt.Sprintf("%s: %v", n.Text(), err), "")
	return draft.Node{}
}

var positive = pattern(`^[1-9][0-9]*$`)

func (p *conversion) evaluateOptions(n draft.Node) {
	for _, m := range n.Keys() {
		at, isNumber := m.In(n.File), m.Value.Kind == doc.Number
		switch m.Key {
		case "repeat", "maxConcurrency":
			if isNumber && positive().MatchString(m.Value.Text()) {
				p.setRun(map[string]string{"repeat": "repeat", "maxConcurrency": "parallel"}[m.Key], m.Value)
				break
			}
			p.Lose(at, "evaluateOptions."+m.Key+" must be a positive number", "")
		case "timeoutMs":
			if isNumber && m.Value.Text() != "0" {
				p.setRun(m.Key, m.Value)
			}
		case "showProgressBar", "cache", "generateSuggestions":
		default:
			p.Lose(at, "evaluateOptions."+m.Key+" is not carried over", "plumb run --help lists the settings of a run")
		}
	}
}

func (p *conversion) setRun(key string, v doc.Value) {
	p.Run.Kind = doc.Map
	p.Run.Set(key, v)
}

// open reads a file that the config names. ref may begin with file://.
func (p *conversion) open(ref string) (name string, data []byte, err error) {
	name = p.named(ref)
	data, err = p.Read(name)
	return name, data, doc.Cause(err)
}

// named returns the path of a file that the config names.
func (p *conversion) named(ref string) string {
	ref = strings.TrimPrefix(ref, "file://")
	if filepath.IsAbs(ref) {
		return ref
	}
	return filepath.Join(p.Dir, filepath.FromSlash(ref))
}

// glob returns the files that a path or a pattern names, in the order of promptfoo: the last name
// first.
func (p *conversion) glob(ref string) ([]string, error) {
	name := p.named(ref)
	if !strings.ContainsAny(name, "*?[{") {
		if _, err := os.Stat(name); err != nil {
			return nil, errors.New("there is no such file")
		}
		return []string{name}, nil
	}
	if strings.ContainsAny(name, "{") || strings.Contains(name, "**") {
		return nil, plumb.WithHint(errors.New("this pattern is not supported"), "name the files")
	}
	found, err := filepath.Glob(name)
	if err != nil || len(found) == 0 {
		return nil, errors.New("no file matches")
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found, nil
}
