package template

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// frame has the variables that a template defines in a block.
type frame struct {
	parent *frame
	values map[string]any
	// closed is set for macros, which do not change the variables around them.
	closed bool
}

func newFrame(parent *frame, closed bool) *frame { return &frame{parent, map[string]any{}, closed} }

// find returns the frame that has a variable, or nil.
func (f *frame) find(name string) *frame {
	for ; f != nil; f = f.parent {
		if _, ok := f.values[name]; ok {
			return f
		}
	}
	return nil
}

// assign sets a variable where it was defined, or here.
func (f *frame) assign(name string, value any) {
	for at := f; at != nil; at = at.parent {
		if _, ok := at.values[name]; ok {
			at.values[name] = value
			return
		}
		if at.closed {
			break
		}
	}
	f.values[name] = value
}

// evaluator renders one template.
type evaluator struct {
	*Scope
	out *strings.Builder
	// quote is nil within blocks whose text is a value.
	quote Quote
	// frame has the variables of this place, root those of the template as a whole.
	frame, root *frame
	// lenient is set where a variable may be undefined.
	lenient bool
	calls   int
}

func (e *evaluator) write(at int, s string) {
	if e.out.WriteString(s); e.bytes+e.out.Len() > doc.CaseBytes {
		fail(at, "the rendered case has more than %s", text.Size(doc.CaseBytes))
	}
	e.grow(at, len(s))
}

func (e *evaluator) run(nodes []*node) {
	for _, n := range nodes {
		e.step(n.at, 1)
		e.statement(n)
	}
}

// captured returns the text of nodes as a value.
func (e *evaluator) captured(at int, nodes []*node) string {
	out, quote, lenient := e.out, e.quote, e.lenient
	e.out, e.quote, e.lenient = &strings.Builder{}, nil, false
	e.run(nodes)
	text := e.out.String()
	e.out, e.quote, e.lenient = out, quote, lenient
	return e.made(at, text)
}

func (e *evaluator) statement(n *node) {
	switch n.op {
	case opText:
		e.write(n.at, n.text)
	case opOutput:
		of := n.args[0]
		text := e.printed(n.at, e.eval(of))
		if e.quote != nil && (of.op != opFilter || of.text != "safe") {
			var err error
			if text, err = e.quote(text); err != nil {
				fail(n.at, "%s", err)
			}
		}
		e.write(n.at, text)
	case opIf:
		branch := slices.IndexFunc(n.args, func(test *node) bool { return truthy(e.maybe(test)) })
		if branch < 0 {
			branch = len(n.args)
		}
		e.run(n.blocks[branch])
	case opFor:
		e.loop(n)
	case opSet:
		value := e.eval(n.args[0])
		for _, name := range n.names {
			e.frame.assign(name, value)
		}
	case opMacro:
		e.frame.assign(n.text, macro{n})
	case opSwitch:
		e.choose(n)
	}
}

// rounds returns the values of the variables of a loop in each of its rounds.
func (e *evaluator) rounds(n *node) (rounds [][]any) {
	switch v := e.eval(n.args[0]).(type) {
	case nil, undefined, bool, number: // no rounds, as in Nunjucks
	case *dict:
		if len(n.names) > 2 {
			fail(n.at, "a loop over an object has a key and a value")
		}
		for i := 0; i < len(v.keys) && len(n.names) == 2; i++ {
			rounds = append(rounds, []any{v.keys[i], v.values[v.keys[i]]})
		}
	case *list, string:
		for _, item := range e.sequence(n.at, v) {
			inner, nested := item.(*list)
			switch {
			case len(n.names) == 1:
				rounds = append(rounds, []any{item})
			case nested:
				rounds = append(rounds, inner.items)
			default:
				fail(n.at, "a loop with several variables needs a list of lists, not of %s", describe(item))
			}
		}
	default:
		fail(n.at, "%s cannot be looped over", describe(v))
	}
	return rounds
}

func (e *evaluator) loop(n *node) {
	rounds := e.rounds(n)
	e.step(n.at, len(rounds))
	e.frame = newFrame(e.frame, false)
	for i, values := range rounds {
		for k, name := range n.names {
			e.frame.values[name] = undefined{}
			if k < len(values) {
				e.frame.values[name] = values[k]
			}
		}
		e.frame.values["loop"] = newDict(
			[]string{"index", "index0", "revindex", "revindex0", "first", "last", "length"},
			[]any{
				fromInt(i + 1), fromInt(i), fromInt(len(rounds) - i), fromInt(len(rounds) - i - 1),
				i == 0, i == len(rounds)-1, fromInt(len(rounds)),
			})
		e.run(n.blocks[0])
	}
	e.frame = e.frame.parent
	if len(rounds) == 0 {
		e.run(n.blocks[1])
	}
}

func (e *evaluator) choose(n *node) {
	of, other := e.eval(n.args[0]), len(n.blocks)-1
	for i, c := range n.args[1:] {
		v := e.eval(c)
		e.step(n.at, weight(of, v))
		if !same(n.at, of, v) {
			continue
		}
		for i < other && len(n.blocks[i]) == 0 { // an empty case is the same as the next one
			i++
		}
		e.run(n.blocks[i])
		return
	}
	e.run(n.blocks[other])
}

// expand returns the text of a macro. Its body sees the variables of the template as a whole.
func (e *evaluator) expand(at int, m macro, args []any) string {
	if e.calls++; e.calls > maxCalls {
		fail(at, "macros call one another more than %d times", maxCalls)
	}
	if len(args) > len(m.names) {
		fail(at, "the macro %s has at most %d arguments", m.text, len(m.names))
	}
	around, lenient := e.frame, e.lenient
	e.frame, e.lenient = newFrame(e.root, true), false
	for i, name := range m.names {
		switch {
		case i < len(args):
			e.frame.values[name] = args[i]
		case m.args[i] != nil:
			e.frame.values[name] = e.eval(m.args[i])
		default:
			e.frame.values[name] = undefined{}
		}
	}
	text := e.captured(at, m.blocks[0])
	e.frame, e.lenient = around, lenient
	e.calls--
	return text
}

// maybe evaluates an expression in which variables may be undefined.
func (e *evaluator) maybe(n *node) any {
	before := e.lenient
	e.lenient = true
	v := e.eval(n)
	e.lenient = before
	return v
}

func (e *evaluator) eval(n *node) any {
	e.step(n.at, 1)
	switch n.op {
	case opLiteral:
		return n.value
	case opGroup:
		return e.eval(n.args[0])
	case opName:
		v := e.lookup(n.at, n.text)
		if v == (undefined{}) && !e.lenient && e.frame.find(n.text) == nil {
			panic(&fault{n.at, Problem{Message: "undefined variable " + strconv.Quote(clip(n.text)), Word: n.text}})
		}
		return v
	case opMember:
		v := e.member(n.at, e.eval(n.args[0]), e.eval(n.args[1]))
		if v == (undefined{}) && !e.lenient {
			fail(n.at, "undefined variable %q", n.text)
		}
		return v
	case opCall:
		return e.call(n)
	case opMethod:
		return e.method(n)
	case opFilter:
		of := e.eval
		if n.text == "default" || n.text == "d" {
			of = e.maybe
		}
		return filters()[n.text].apply(&operation{e, n.at, n.text, false, of(n.args[0]), e.all(n.args[1:])})
	case opIs:
		return tests()[n.text].apply(&operation{e, n.at, n.text, false, e.maybe(n.args[0]), e.all(n.args[1:])})
	case opEither:
		switch {
		case truthy(e.maybe(n.args[1])):
			return e.eval(n.args[0])
		case len(n.args) > 2:
			return e.eval(n.args[2])
		}
		return undefined{}
	case opList:
		return &list{e.all(n.args)}
	case opObject:
		return newDict(n.names, e.all(n.args))
	case opBlock:
		return e.captured(n.at, n.blocks[0])
	case "or", "and":
		if v := e.maybe(n.args[0]); truthy(v) == (n.op == "or") {
			return v
		}
		return e.eval(n.args[1])
	case "not":
		return !truthy(e.eval(n.args[0]))
	}
	if len(n.args) == 1 { // a sign
		return compute(n.at, n.op, "0", e.number(n.at, e.eval(n.args[0])))
	}
	return e.operate(n.at, n.op, e.eval(n.args[0]), e.eval(n.args[1]))
}

func (e *evaluator) all(nodes []*node) []any {
	values := make([]any, len(nodes))
	for i, n := range nodes {
		values[i] = e.eval(n)
	}
	return values
}

func (e *evaluator) lookup(at int, name string) any {
	if f := e.frame.find(name); f != nil {
		return f.values[name]
	}
	v, ok := e.values[name]
	if !ok {
		v = undefined{}
		if e.vars != nil && e.vars.Get(name) != nil {
			v = e.value(at, e.vars.Get(name))
		}
		e.values[name] = v
	}
	return v
}

// member returns the value of a key, an index, or length; undefined if there is none.
func (e *evaluator) member(at int, of, key any) any {
	name, ok := key.(string)
	if n, isNumber := key.(number); isNumber {
		name, ok = string(n), true
	}
	index := -1
	if i, err := strconv.Atoi(name); err == nil && strconv.Itoa(i) == name {
		index = i
	}
	switch of := of.(type) {
	case *dict:
		if v, has := of.values[name]; has && ok {
			return v
		}
	case *list:
		switch {
		case name == "length":
			return fromInt(len(of.items))
		case index >= 0 && index < len(of.items):
			return of.items[index]
		}
	case string:
		if name == "length" {
			return fromInt(len(e.units(at, of)))
		}
		if index >= 0 && index < len(of) {
			if u := e.units(at, of); index < len(u) {
				return fromUnits(at, u[index:index+1])
			}
		}
	}
	return undefined{}
}

// call calls a macro or range.
func (e *evaluator) call(n *node) any {
	e.step(n.at, 10)
	switch v := e.lookup(n.at, n.text).(type) {
	case macro:
		return e.expand(n.at, v, e.all(n.args))
	case undefined:
		if n.text == "range" {
			return numbers(&operation{e, n.at, n.text, false, nil, e.all(n.args)})
		}
		failHint(n.at, doc.DidYouMean(n.text, []string{"range"}), "undefined function %q", clip(n.text))
	}
	fail(n.at, "%q is not a function", clip(n.text))
	return nil
}

func (e *evaluator) method(n *node) any {
	e.step(n.at, 10)
	of := e.eval(n.args[0])
	all := methods(of)
	m, ok := all[n.text]
	if !ok {
		names := slices.Sorted(maps.Keys(all))
		failHint(n.at, doc.DidYouMean(n.text, names), "%s has no function %q", describe(of), clip(n.text))
	}
	m.check(n.at, n.text, len(n.args)-1)
	return m.apply(&operation{e, n.at, n.text, true, of, e.all(n.args[1:])})
}

func (e *evaluator) operate(at int, op string, a, b any) any {
	e.step(at, weight(a, b))
	switch op {
	case "==", "!=":
		return e.equal(at, a, b) == (op == "==")
	case "===", "!==":
		return same(at, a, b) == (op == "===")
	case "<", ">", "<=", ">=":
		order, known := e.compare(at, a, b)
		return known && (order < 0 && op[0] == '<' || order > 0 && op[0] == '>' || order == 0 && len(op) == 2)
	case "in":
		return e.contains(at, a, b)
	case "~":
		return e.concatenate(at, a, b)
	case "+":
		if slices.ContainsFunc([]any{a, b}, isTextual) {
			return e.concatenate(at, a, b)
		}
	}
	return compute(at, op, e.number(at, a), e.number(at, b))
}

// isTextual reports whether + with a value makes a text.
func isTextual(v any) bool {
	switch v.(type) {
	case string, *list, *dict:
		return true
	}
	return false
}

func (e *evaluator) concatenate(at int, a, b any) string {
	return e.made(at, e.concatenated(at, a)+e.concatenated(at, b))
}

func (e *evaluator) contains(at int, v, in any) bool {
	switch in := in.(type) {
	case *list:
		return e.index(at, in.items, v) >= 0
	case *dict:
		_, ok := in.values[e.concatenated(at, v)]
		return ok
	case string:
		e.step(at, len(in)/32)
		return strings.Contains(in, e.concatenated(at, v))
	}
	fail(at, "in needs a list, a text or an object, not %s", describe(in))
	return false
}

// index returns the place of a value in a list, or -1.
func (e *evaluator) index(at int, in []any, v any) int {
	return slices.IndexFunc(in, func(item any) bool {
		e.step(at, weight(item, v))
		return same(at, item, v)
	})
}
