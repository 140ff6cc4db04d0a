// Package template renders the templates of suites: the language of Nunjucks 3.2.4, which promptfoo
// and Jinja users know, without its engine. A template is text, and what it inserts is data: it
// reaches the variables that it is given and nothing else: no file, no environment, no clock, and
// no function but the filters, tests and methods that are listed here. It gives the text that
// Nunjucks gives, or an error with its place. docs/suites.md describes the language.
//
// The parser makes expressions of a template, and the evaluator calls their functions. Both panic
// with a [Problem], which [Parse] and [Scope.Render] return.
package template

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
func Is(text string) bool { return opening.MatchString(text) }

// Literal returns a template that renders as the given text.
func Literal(text string) string {
	switch {
	case !Is(text):
		return text
	case strings.Contains(text, "raw"): // it may end the block
		return strings.ReplaceAll(text, "{", "{{ '{' }}")
	}
	return "{% raw %}" + text + "{% endraw %}"
}

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	text string
	body *expression
	uses []Use
}

// Parse parses a template. An error is a *[Problem].
func Parse(text string) (_ *Template, err error) {
	p := &parser{lexer: lexer{text: text}, bound: map[string]int{}}
	defer recovered(text, &p.token.at, &err)
	return &Template{text, p.block(), p.uses}, nil
}

// Constant reports whether a template has no expression and no statement, so no value changes it.
func (t *Template) Constant() bool {
	return !slices.ContainsFunc(t.body.args, func(n *expression) bool { return n.op != opText })
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

// Quote returns a text that stands for a value in another language, or why there is none.
type Quote func(value string) (string, error)

// Scope has the variables of a case, and counts the work of all its templates. It is not safe for
// concurrent use.
type Scope struct {
	vars *doc.Value
	// values are the variables that were used.
	values map[string]any
	// steps counts computed values; made counts bytes of texts, written those of the case.
	steps, made, written int
	// at is the byte of the template where the evaluator is.
	at int
}

// NewScope returns the scope of a case. vars is a mapping, or nil.
func NewScope(vars *doc.Value) *Scope {
	return &Scope{vars: cmp.Or(vars, &doc.Value{}), values: map[string]any{}}
}

// Render renders a template. A value that it inserts passes quote, unless that is nil or the filter
// safe is its last one. An error is a *[Problem].
func (s *Scope) Render(t *Template, quote Quote) (text string, err error) {
	defer recovered(t.text, &s.at, &err)
	global := frame{}
	e := &evaluator{Scope: s, out: &strings.Builder{}, quote: quote, frame: global, global: global}
	e.eval(t.body)
	s.written += e.out.Len()
	return e.out.String(), nil
}

// fail ends the parser or the evaluator with a problem, at the place where they are.
func fail(format string, args ...any) { failHint("", format, args...) }

func failHint(hint, format string, args ...any) {
	panic(&Problem{Message: fmt.Sprintf(format, args...), Hint: hint})
}

// need fails if something is not so.
func need(ok bool, format string, args ...any) {
	if !ok {
		fail(format, args...)
	}
}

// known returns the value of a name. It fails for a name that has none.
func known[T any](all map[string]T, what, name string) T {
	v, ok := all[name]
	if !ok {
		message := fmt.Sprintf("unknown %s %.40q", what, name)
		panic(&Problem{Message: message, Word: name, Known: slices.Sorted(maps.Keys(all))})
	}
	return v
}

// recovered turns a problem at a byte of a template into an error.
func recovered(text string, at *int, err *error) {
	switch p := recover().(type) {
	case nil:
	case *Problem:
		place := doc.Position("", []byte(text), *at)
		p.Line, p.Column = place.Line, place.Column
		*err = p
	default:
		panic(p)
	}
}
