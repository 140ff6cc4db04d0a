package template

import (
	"maps"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/js"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of the templates of one case. They count work, not time: machines do not differ.
const (
	maxSteps = 4 << 20   // values that are computed
	maxMade  = 128 << 20 // bytes of the texts that are made
	maxCalls = 200       // macros within macros
	maxDepth = 150       // expressions and blocks within one another
)

// step counts work.
func (s *Scope) step(n int) {
	if s.steps += n; s.steps > maxSteps || n < 0 {
		failHint("a loop may be too long", "the templates of the case take more than %d steps", maxSteps)
	}
}

// weight is the number of steps of a value. Long texts and numbers take longer.
func weight(v any) int {
	switch v := v.(type) {
	case string:
		return 1 + len(v)/64
	case js.Number:
		return 1 + len(v)/8
	}
	return 1
}

// counted counts the bytes of a value that is a text.
func (s *Scope) counted(v any) any {
	if text, ok := v.(string); ok {
		fits(len(text))
		s.made += len(text)
		need(s.made <= maxMade, tooLarge)
	}
	return v
}

const tooLarge = "the templates of the case need too much memory"

// fits fails if a text would have too many bytes.
func fits(bytes int) { need(bytes >= 0 && bytes <= doc.CaseBytes, tooLarge) }

// must returns a value, or fails with the reason why there is none.
func must[T any](v T, err error) T {
	if err != nil {
		failHint(plumb.Hint(err), "%v", err)
	}
	return v
}

// printed returns the text of a value.
func (e *evaluator) printed(v any) string {
	e.step(js.Nodes(v))
	return must(js.Print(v))
}

// elements returns the elements of a list, or the characters of a text.
func (e *evaluator) elements(of any) []any {
	e.step(js.Nodes(of))
	items := must(js.Elements(of))
	for _, item := range items {
		e.step(weight(item))
	}
	return items
}

// frame has the variables that a template defines in a block, and those of the blocks around it.
type frame map[string]*any

// set sets a variable where it was defined, or here.
func (f frame) set(name string, value any) {
	if v := f[name]; v != nil {
		*v = value
	} else {
		f[name] = &value
	}
}

// evaluator renders one template.
type evaluator struct {
	*Scope
	out *strings.Builder
	// quote is nil within blocks whose text is a value.
	quote Quote
	// frame has the variables of this place, global those of the template as a whole.
	frame, global frame
	// lenient is set where a variable may be undefined.
	lenient bool
	// calls are the macros within one another.
	calls int
}

// call is the evaluation of an expression, with its name and its arguments.
type call struct {
	*evaluator
	name string
	args []any
}

// eval returns the value of an expression. A statement has none, and writes text.
func (e *evaluator) eval(n *expression) any {
	around, lenient, args := e.at, e.lenient, make([]any, len(n.args))
	for i, arg := range n.args {
		e.lenient = lenient || n.lenient && i == 0
		args[i] = e.eval(arg)
	}
	e.at, e.lenient = n.at, lenient
	v := n.apply(call{e, n.name, args})
	e.step(weight(v))
	e.at = around
	return v
}

// write writes a text. It returns nil, the value of a statement.
func (e *evaluator) write(s string) any {
	e.counted(s)
	e.out.WriteString(s)
	if e.written+e.out.Len() > doc.CaseBytes {
		fail("the rendered case has more than %s", text.Size(doc.CaseBytes))
	}
	return nil
}

// captured returns the text of a block as a value.
func (e *evaluator) captured(block *expression) any {
	inner := *e
	inner.out, inner.quote, inner.lenient = &strings.Builder{}, nil, false
	inner.eval(block)
	return e.counted(inner.out.String())
}

// expand returns the text of a macro. It sees the variables of the template as a whole, and
// changes none.
func (e *evaluator) expand(m *macro, args []any) any {
	inner := *e
	inner.calls, inner.frame, inner.lenient = e.calls+1, frame{}, false
	need(inner.calls <= maxCalls, "macros call one another more than %d times", maxCalls)
	need(len(args) <= len(m.names), "the macro %s has at most %d arguments", m.name, len(m.names))
	for name, v := range e.global {
		inner.frame.set(name, *v)
	}
	for i, name := range m.names {
		if i == len(args) {
			args = append(args, inner.eval(m.defaults[i]))
		}
		inner.frame[name] = new(args[i])
	}
	return inner.captured(m.body)
}

// lookup returns the value of a variable, and whether it is defined.
func (e *evaluator) lookup(name string) (v any, defined bool) {
	if v := e.frame[name]; v != nil {
		return *v, true
	}
	if given := e.vars.Get(name); given != nil {
		if _, used := e.values[name]; !used {
			e.values[name] = js.From(given)
		}
		return e.values[name], true
	}
	return js.Undefined{}, false
}

// rounds returns the values of n variables in each round of a loop.
func (e *evaluator) rounds(n int, of any) (rounds [][]any) {
	if js.Is(of, js.Nothing, js.NotDefined, js.Boolean, js.Numeric) {
		return nil // as in Nunjucks
	}
	items := opt{}
	if d, ok := of.(*js.Dict); !ok {
		items = e.elements(of)
	} else if need(n <= 2, "a loop over an object has a key and a value"); n == 2 {
		items = d.Pairs()
	}
	for _, item := range items {
		values := []any{item}
		if n > 1 {
			l, ok := item.(*js.List)
			need(ok, "a loop with several variables needs a list of lists, not of %s", js.KindOf(item))
			values = l.Items
		}
		rounds = append(rounds, values)
	}
	return rounds
}

// named calls a macro or range.
func named(c call) any {
	f, defined := c.lookup(c.name)
	m, isMacro := f.(*macro)
	switch {
	case isMacro:
		return c.expand(m, c.args)
	case !defined && c.name == "range":
		return function{0, opt{js.Undefined{}, js.Number("1")}, numbers}.checked(c)
	}
	need(!defined, "%.40q is not a function", c.name)
	failHint(doc.DidYouMean(c.name, []string{"range"}), "undefined function %.40q", c.name)
	return nil
}

// method calls a function of a value, which has no other members.
func method(c call) any {
	kind := js.KindOf(c.args[0])
	f, ok := methods[kind][c.name]
	if !ok {
		hint := doc.DidYouMean(c.name, slices.Sorted(maps.Keys(methods[kind])))
		failHint(hint, "%s has no function %.40q", kind, c.name)
	}
	return f.checked(c)
}
