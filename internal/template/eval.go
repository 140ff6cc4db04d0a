package template

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// frame has the variables that a template defines in a block.
type frame struct {
	parent *frame
	values map[string]any
	// closed is set for blocks that do not change the variables of the blocks around them.
	closed bool
}

// find returns the frame that has a variable, or nil.
func (f *frame) find(name string) *frame {
	for ; f != nil; f = f.parent {
		if _, ok := f.values[name]; ok {
			return f
		}
	}
	return nil
}

func (f *frame) set(name string, value any) {
	if f.values == nil {
		f.values = map[string]any{}
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

func (e *evaluator) write(at int, text string) {
	if e.out.WriteString(text); e.bytes+e.out.Len() > doc.CaseBytes {
		fail(at, "the rendered case has more than %s", doc.Size(doc.CaseBytes))
	}
	e.grow(at, len(text))
}

func (e *evaluator) run(nodes []node) {
	for _, n := range nodes {
		e.step(n.place(), 1)
		e.statement(n)
	}
}

// within runs a function with a frame, and restores what was before it.
func (e *evaluator) within(f *frame, run func()) {
	before := e.frame
	e.frame = f
	run()
	e.frame = before
}

// captured returns the text of nodes as a value.
func (e *evaluator) captured(at int, nodes []node) string {
	out, quote, lenient := e.out, e.quote, e.lenient
	e.out, e.quote, e.lenient = &strings.Builder{}, nil, false
	e.run(nodes)
	text := e.out.String()
	e.out, e.quote, e.lenient = out, quote, lenient
	return e.text(at, text)
}

func (e *evaluator) statement(n node) {
	switch n := n.(type) {
	case *textNode:
		e.write(n.place(), n.text)
	case *output:
		text := e.printed(n.place(), e.eval(n.of))
		if e.quote != nil && !n.safe {
			var err error
			if text, err = e.quote(text); err != nil {
				fail(n.place(), "%s", err)
			}
		}
		e.write(n.place(), text)
	case *ifNode:
		for i, test := range n.tests {
			if truthy(e.maybe(test)) {
				e.run(n.bodies[i])
				return
			}
		}
		e.run(n.other)
	case *forNode:
		e.loop(n)
	case *setNode:
		value := e.eval(n.value)
		for _, name := range n.names {
			e.assign(name, value)
		}
	case *macroNode:
		e.assign(n.name, e.macro(n, nil))
	case *callNode:
		named := append(slices.Clone(n.call.named), parameter{"caller", &literal{n.at, e.macro(n.caller, e.frame)}})
		text := e.eval(&call{n.call.at, n.call.fn, arguments{n.call.args, named}})
		e.statement(&output{at: n.at, of: &literal{n.at, text}})
	case *filterNode:
		e.statement(&output{at: n.at, of: n.filtered, safe: n.filtered.filter.name == "safe"})
	case *switchNode:
		e.choose(n)
	case *blockNode:
		e.within(&frame{parent: e.frame, closed: true}, func() { e.run(n.body) })
	}
}

// assign sets a variable where it was defined, or here.
func (e *evaluator) assign(name string, value any) {
	for f := e.frame; f != nil; f = f.parent {
		if _, ok := f.values[name]; ok {
			f.set(name, value)
			return
		}
		if f.closed {
			break
		}
	}
	e.frame.set(name, value)
}

func (e *evaluator) loop(n *forNode) {
	place := n.place()
	var items [][]any
	switch v := e.eval(n.in).(type) {
	case *dict:
		if len(n.names) > 2 {
			fail(place, "a loop over an object has a key and a value")
		}
		for i := 0; i < len(v.keys) && len(n.names) == 2; i++ {
			items = append(items, []any{v.keys[i], v.values[v.keys[i]]})
		}
	case *list:
		for _, item := range v.items {
			if len(n.names) == 1 {
				items = append(items, []any{item})
				continue
			}
			inner, ok := item.(*list)
			if !ok {
				fail(place, "a loop with several variables needs a list of lists, not of %s", describe(item))
			}
			items = append(items, inner.items)
		}
	case string:
		if len(n.names) > 1 {
			fail(place, "a loop over a text has one variable")
		}
		for _, r := range e.characters(place, v) {
			items = append(items, []any{r})
		}
	case callable, *regex, unclear:
		fail(place, "%s cannot be looped over", describe(v))
	default: // as Nunjucks does
	}
	e.step(place, len(items))
	e.within(&frame{parent: e.frame}, func() {
		for i, values := range items {
			for k, name := range n.names {
				var value any = undefined{}
				if k < len(values) {
					value = values[k]
				}
				e.frame.set(name, value)
			}
			l := &dict{}
			l.set("index", fromInt(i+1))
			l.set("index0", fromInt(i))
			l.set("revindex", fromInt(len(items)-i))
			l.set("revindex0", fromInt(len(items)-i-1))
			l.set("first", i == 0)
			l.set("last", i == len(items)-1)
			l.set("length", fromInt(len(items)))
			e.frame.set("loop", l)
			e.run(n.body)
		}
	})
	if len(items) == 0 {
		e.run(n.other)
	}
}

// characters returns the characters of a text, if each is one unit of JavaScript.
func (e *evaluator) characters(at int, text string) (all []string) {
	e.step(at, 2*len(text))
	for _, r := range text {
		if r > 0xFFFF {
			fail(at, "the text would be cut within a character")
		}
		all = append(all, string(r))
	}
	return all
}

func (e *evaluator) choose(n *switchNode) {
	of := e.eval(n.of)
	for i, c := range n.cases {
		v := e.eval(c)
		e.step(n.place(), weight(of, v))
		if !same(of, v) {
			continue
		}
		for ; i < len(n.bodies); i++ {
			if len(n.bodies[i]) > 0 { // an empty case is the same as the next one
				e.run(n.bodies[i])
				return
			}
		}
		break
	}
	e.run(n.other)
}

// macro returns the value of a macro. Its body sees the variables of the template as a whole; that of a call block,
// those of around.
func (e *evaluator) macro(m *macroNode, around *frame) callable {
	return callable{call: func(at int, args []any, named map[string]any) any {
		if e.calls++; e.calls > maxCalls {
			fail(at, "macros call one another more than %d times", maxCalls)
		}
		inner := &frame{parent: e.root, closed: true}
		if around != nil {
			inner.parent = around
		}
		lenient := e.lenient
		e.lenient = false
		var text string
		e.within(inner, func() {
			for i, p := range m.params {
				value, has := named[p.name]
				switch {
				case i < len(args) && (p.value == nil || !has):
					value = args[i]
				case has:
				case p.value != nil:
					value = e.eval(p.value)
				default:
					value = undefined{}
				}
				inner.set(p.name, value)
			}
			if caller, ok := named["caller"]; ok {
				inner.set("caller", caller)
			}
			text = e.captured(at, m.body)
		})
		e.lenient = lenient
		e.calls--
		return text
	}}
}

// maybe evaluates an expression in which variables may be undefined.
func (e *evaluator) maybe(n node) any {
	before := e.lenient
	e.lenient = true
	v := e.eval(n)
	e.lenient = before
	return v
}

func (e *evaluator) eval(n node) any {
	at := n.place()
	e.step(at, 1)
	switch n := n.(type) {
	case *literal:
		return n.value
	case *group:
		return e.eval(n.of)
	case *name:
		v := e.lookup(at, n.name)
		if v == (undefined{}) && !e.lenient && e.frame.find(n.name) == nil {
			panic(&fault{at, Problem{Message: "undefined variable " + strconv.Quote(clip(n.name)), Word: n.name}})
		}
		return v
	case *member:
		v := e.member(at, e.eval(n.of), e.eval(n.key))
		if v == (undefined{}) && !e.lenient {
			fail(at, "undefined variable %q", n.path)
		}
		return v
	case *call:
		return e.call(n)
	case *filtered:
		return e.filter(n)
	case *tested:
		return n.test(e, at, e.maybe(n.of), e.all(n.args)) != n.not
	case *unary:
		v := e.eval(n.of)
		if n.op == "not" {
			return !truthy(v)
		}
		x := e.number(at, v)
		if n.op == "-" {
			if text, negative := strings.CutPrefix(string(x), "-"); negative || x.decimal().digits == "" {
				return number(text)
			}
			return "-" + x
		}
		return x
	case *chain:
		return e.chain(n)
	case *contained:
		return e.contains(at, e.eval(n.of), e.eval(n.in)) != n.not
	case *conditional:
		switch {
		case truthy(e.maybe(n.test)):
			return e.eval(n.then)
		case n.otherwise != nil:
			return e.eval(n.otherwise)
		}
		return undefined{}
	case *listOf:
		return &list{e.all(n.items)}
	case *dictOf:
		d := &dict{}
		for i, key := range n.keys {
			d.set(key.(*literal).value.(string), e.eval(n.values[i])) //nolint:forcetypeassert // the parser made it
		}
		return d.ordered()
	case *textBlock:
		return e.captured(at, n.body)
	}
	fail(at, "an expression of an unknown kind")
	return nil
}

func (e *evaluator) all(nodes []node) []any {
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
	if v, ok := e.values[name]; ok {
		return v
	}
	if e.vars != nil {
		if v := e.vars.Get(name); v != nil {
			value := e.value(at, v)
			e.values[name] = value
			return value
		}
	}
	e.values[name] = undefined{}
	return undefined{}
}

// member returns the value of a key, an index, or length; undefined if there is none.
func (e *evaluator) member(at int, of, key any) any {
	var name string
	switch k := key.(type) {
	case string:
		name = k
	case number:
		name = string(k)
	default:
		return undefined{}
	}
	index := -1
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && strconv.Itoa(i) == name {
		index = i
	}
	switch of := of.(type) {
	case *dict:
		if v, ok := of.values[name]; ok {
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
		switch {
		case name == "length":
			e.step(at, len(of)/32)
			return fromInt(unitLength(of))
		case index >= 0 && index < len(of):
			if u := e.units(at, of); index < len(u) {
				return fromUnits(at, u[index:index+1])
			}
		}
	case callable:
		if m, ok := of.members[name]; ok {
			return m
		}
		if name == "current" && of.current != nil {
			return of.current()
		}
	}
	return undefined{}
}

// units returns a text in UTF-16.
func (e *evaluator) units(at int, text string) []uint16 {
	e.grow(at, 2*len(text))
	return units(text)
}

func (e *evaluator) call(n *call) any {
	at := n.place()
	e.step(at, 10)
	// A method, or a global function, has no value of its own.
	switch fn := n.fn.(type) {
	case *member:
		of, key := e.eval(fn.of), e.eval(fn.key)
		if c, ok := e.member(fn.place(), of, key).(callable); ok {
			return c.call(at, e.all(n.args), e.named(n))
		}
		name, _ := key.(string)
		if m := methodOf(of, name); m != nil && len(n.named) == 0 {
			return m(&operation{evaluator: e, at: at, name: name, in: of, args: e.all(n.args)})
		}
		if _, ok := of.(undefined); ok {
			fail(at, "undefined variable %q", fn.path)
		}
		failHint(at, doc.DidYouMean(name, methods(of)), "%s has no function %q", describe(of), clip(name))
	case *name:
		if e.lookup(at, fn.name) == (undefined{}) {
			if g := globalOf(fn.name); g != nil && len(n.named) == 0 {
				return g(&operation{evaluator: e, at: at, name: fn.name, args: e.all(n.args)})
			}
			failHint(fn.place(), doc.DidYouMean(fn.name, []string{"range", "cycler", "joiner"}), "undefined function %q", clip(fn.name))
		}
	}
	c, ok := e.eval(n.fn).(callable)
	if !ok || c.call == nil {
		fail(at, "it is not a function")
	}
	return c.call(at, e.all(n.args), e.named(n))
}

func (e *evaluator) named(n *call) map[string]any {
	if len(n.named) == 0 {
		return nil
	}
	values := map[string]any{}
	for _, a := range n.named {
		values[a.name] = e.eval(a.value)
	}
	return values
}

func (e *evaluator) filter(n *filtered) any {
	o := &operation{evaluator: e, at: n.place(), name: n.filter.name}
	if name := n.filter.name; (name == "default" || name == "d") && n.of != nil {
		o.in = e.maybe(n.of)
	} else {
		o.in = e.eval(n.of)
	}
	o.args = e.all(n.args)
	return n.filter.apply(o)
}

func (e *evaluator) chain(n *chain) any {
	if op := n.rest[0].op; op == "or" || op == "and" {
		v := e.maybe(n.first)
		for i, o := range n.rest {
			if truthy(v) == (op == "or") {
				return v
			}
			if i < len(n.rest)-1 {
				v = e.maybe(o.of)
			} else {
				v = e.eval(o.of)
			}
		}
		return v
	}
	v := e.eval(n.first)
	for _, o := range n.rest {
		v = e.operate(o.place(), o.op, v, e.eval(o.of))
	}
	return v
}

func (e *evaluator) operate(at int, op string, a, b any) any {
	e.step(at, weight(a, b))
	switch op {
	case "==", "!=":
		return e.equal(at, a, b) == (op == "==")
	case "===", "!==":
		return same(a, b) == (op == "===")
	case "<", ">", "<=", ">=":
		order, known := e.compare(at, a, b)
		return known && (order < 0 && op[0] == '<' || order > 0 && op[0] == '>' || order == 0 && len(op) == 2)
	case "~":
		return e.join(at, a, b)
	case "+":
		return e.add(at, a, b)
	}
	return compute(at, op, e.number(at, a), e.number(at, b))
}

// add is +: a text if one of the values is no number.
func (e *evaluator) add(at int, a, b any) any {
	for _, v := range []any{a, b} {
		switch v.(type) {
		case string, *list, *dict:
			return e.join(at, a, b)
		}
	}
	return compute(at, "+", e.number(at, a), e.number(at, b))
}

func (e *evaluator) join(at int, a, b any) any {
	x, y := e.concatenated(at, a), e.concatenated(at, b)
	e.grow(at, len(x)+len(y))
	return x + y
}

func (e *evaluator) number(at int, v any) number {
	n, ok := e.toNumber(at, v)
	if !ok {
		fail(at, "%s is not a number", describe(v))
	}
	return n
}

func (e *evaluator) contains(at int, v, in any) bool {
	switch in := in.(type) {
	case *list:
		e.step(at, len(in.items)*weight(v, nil))
		return slices.ContainsFunc(in.items, func(item any) bool { return same(item, v) })
	case *dict:
		key := e.concatenated(at, v)
		_, ok := in.values[key]
		return ok
	case string:
		e.step(at, len(in)/32)
		return strings.Contains(in, e.concatenated(at, v))
	}
	fail(at, "in needs a list, a text or an object, not %s", describe(in))
	return false
}

// operation is the call of a filter, a method or a global function.
type operation struct {
	*evaluator
	at   int
	name string
	in   any
	args []any
}

func (o *operation) fail(format string, args ...any) { fail(o.at, o.name+" "+format, args...) }

func (o *operation) arg(i int) any {
	if i < len(o.args) {
		return o.args[i]
	}
	return undefined{}
}

func (o *operation) missing(i int) bool { return o.arg(i) == any(undefined{}) }

// textArg returns an argument that is a text.
func (o *operation) textArg(i int, otherwise string) string {
	switch v := o.arg(i).(type) {
	case undefined:
		return otherwise
	case string:
		return v
	case number:
		return string(v)
	default:
		o.fail("needs a text as its argument, not %s", describe(v))
	}
	return ""
}

// intArg returns an argument that is an integer.
func (o *operation) intArg(i, otherwise int) int {
	if o.missing(i) {
		return otherwise
	}
	n, ok := o.toNumber(o.at, o.arg(i))
	v, small := n.small()
	if !ok || !small {
		o.fail("needs an integer as its argument")
	}
	return v
}

// text returns the value that a filter was given, which must be a text. None is the empty text.
func (o *operation) text() string {
	switch v := o.in.(type) {
	case nil, undefined:
	case bool:
		if v {
			o.fail("needs a text, not true")
		}
	case string:
		o.step(o.at, len(v)/32)
		return v
	default:
		o.fail("needs a text, not %s", describe(v))
	}
	return ""
}

// list returns the value that a filter was given, which must be a list.
func (o *operation) list() []any {
	l, ok := o.in.(*list)
	if !ok {
		o.fail("needs a list, not %s", describe(o.in))
	}
	o.step(o.at, len(l.items))
	return l.items
}

func (o *operation) made(text string) string {
	o.grow(o.at, len(text))
	return text
}

func (o *operation) cut(text string, from, to int) string {
	return fromUnits(o.at, o.units(o.at, text)[from:to])
}
