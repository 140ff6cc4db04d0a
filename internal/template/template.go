// Package template renders the templates of suites: the language of Nunjucks 3.2.4, which promptfoo and Jinja users
// know, without its engine. A template is text, and what it inserts is data: it reaches the variables that it is given and
// nothing else, no file, no environment, no clock, and no function but the filters and methods that are listed here.
//
// A template gives the text that Nunjucks gives, or an error with its place. docs/suites.md describes the language.
package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/internal/doc"
)

// Problem is a mistake in a template, or a value that it cannot insert.
type Problem struct {
	Message, Hint string
	// Word is a name that is not known, and Known are those that are; nil means the variables.
	Word  string
	Known []string
	// Line and Column count from 1, in characters.
	Line, Column int
}

func (p *Problem) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
}

// Is reports whether a text has the syntax of a template. Other texts render as themselves.
func Is(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")
}

// Literal returns a template that renders as the given text.
func Literal(text string) string {
	if !Is(text) {
		return text
	}
	for _, block := range [...]string{"raw", "verbatim"} {
		if !strings.Contains(text, block) { // or it may end the block
			return "{% " + block + " %}" + text + "{% end" + block + " %}"
		}
	}
	return strings.ReplaceAll(text, "{", "{{ '{' }}")
}

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	text string
	body []*node
	uses []Use
}

// Parse parses a template. An error is a *[Problem].
func Parse(text string) (t *Template, err error) {
	p := &parser{lexer: lexer{text: text}, bound: map[string]int{}}
	defer recovered(text, &err)
	t = &Template{text: text}
	t.body = p.nodes()
	t.uses = p.uses
	return t, nil
}

// Constant returns the text that a template always renders to. It is false if the template has an expression or a
// statement, so that a value could change the text.
func (t *Template) Constant() (string, bool) {
	var b strings.Builder
	for _, n := range t.body {
		if n.op != opText {
			return "", false
		}
		b.WriteString(n.text)
	}
	return b.String(), true
}

// Use is a name that a template uses.
type Use struct {
	// Kind is "variable", "filter" or "tag".
	Kind string
	// Path is the name, and for a variable the keys after it that are written as names.
	Path []string
	// Inserted is set if a tag does nothing but insert the variable.
	Inserted bool
	// Bound is set for a variable that the template itself defines.
	Bound bool
}

// Uses returns the names that a template uses, in order.
func (t *Template) Uses() []Use { return t.uses }

// The limits of the templates of one case. They count work, not time, so that a suite is the same on each machine.
const (
	maxSteps = 4 << 20   // values that are computed
	maxMade  = 128 << 20 // bytes of the texts that are made
	maxCalls = 200       // macros within macros
	maxDepth = 150       // expressions and blocks within one another
)

// Scope has the variables of a case, and counts the work of all its templates. It is not safe for concurrent use.
type Scope struct {
	vars *doc.Value
	// values are the variables that were used.
	values                  map[string]any
	steps, bytesMade, bytes int
}

// NewScope returns the scope of a case. vars is a mapping, or nil.
func NewScope(vars *doc.Value) *Scope { return &Scope{vars: vars, values: map[string]any{}} }

// Quote returns a text that stands for a value in another language, or why there is none.
type Quote func(value string) (string, error)

// Render renders a template. A value that it inserts passes quote, if that is not nil, except after the filter safe. An
// error is a *[Problem].
func (s *Scope) Render(t *Template, quote Quote) (text string, err error) {
	defer recovered(t.text, &err)
	e := &evaluator{Scope: s, out: &strings.Builder{}, quote: quote, frame: newFrame(nil, false)}
	e.root = e.frame
	e.run(t.body)
	s.bytes += e.out.Len()
	return e.out.String(), nil
}

// fault is a problem at a byte of a template. The parser and the evaluator panic with it, and [recovered] ends that.
type fault struct {
	at int
	Problem
}

func fail(at int, format string, args ...any) {
	panic(&fault{at, Problem{Message: fmt.Sprintf(format, args...)}})
}

func failHint(at int, hint, format string, args ...any) {
	panic(&fault{at, Problem{Message: fmt.Sprintf(format, args...), Hint: hint}})
}

// unknown fails for a name that is none of all.
func unknown[T any](at int, what, name string, all map[string]T) {
	message := fmt.Sprintf("unknown %s %q", what, clip(name))
	panic(&fault{at, Problem{Message: message, Word: name, Known: slices.Sorted(maps.Keys(all))}})
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 40
	if r := []rune(text[:min(len(text), 4*most)]); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// recovered turns a panic with a fault into an error, with its line and column.
func recovered(text string, err *error) {
	switch f := recover().(type) {
	case nil:
	case *fault:
		before := text[:min(f.at, len(text))]
		line := strings.LastIndexByte(before, '\n') + 1
		f.Line, f.Column = strings.Count(before, "\n")+1, utf8.RuneCountInString(before[line:])+1
		*err = &f.Problem
	default:
		panic(f)
	}
}
