package template

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plumb-eval/plumb/internal/js"
)

// expression is a part of a template: a function, and the expressions of its arguments. A statement
// is an expression that writes text, and has the value nil.
type expression struct {
	// at is the byte of the template that a problem with the value names.
	at    int
	apply func(call) any
	args  []*expression
	// lenient is set if the first argument may be undefined.
	lenient bool
	// op is an operator, if there are no parentheses, | with the name of a filter, or a word below.
	op string
	// name is that of a function or a member, or a text or number that is written here.
	name string
	// path is what messages call a variable or a member.
	path string
	// inserted is set for a variable, and for its members that have names.
	inserted bool
}

const (
	opText   = "text"   // a text of the template
	opQuoted = "quoted" // a text in quotes, or the name of a member
	opMember = "member" // a member with a name
	opSafe   = "|safe"  // a value that is not quoted
)

func node(at int, apply func(call) any, args ...*expression) *expression {
	return &expression{at: at, apply: apply, args: args}
}

func constant(at int, value any) *expression { return node(at, func(call) any { return value }) }

// quote returns a text in quotes.
func quote(t token) *expression {
	n := constant(t.at, t.text)
	n.op, n.name = opQuoted, t.text
	return n
}

// The ranks of operators, from the one that binds least. They are those of JavaScript, which runs
// what Nunjucks makes of a template.
const (
	rankOr = iota + 1
	rankAnd
	rankNot
	rankIn
	rankIs
	rankEqual
	rankOrder
	rankSum
	rankProduct
	rankPower
	rankFilter
	rankMember
)

// operator is what can stand after a value. It has a function, if it is one of two values.
type operator struct {
	rank  int
	apply func(call) any
}

//nolint:gochecknoglobals // never changed
var operators = map[string]operator{
	"or":  {rank: rankOr},
	"and": {rank: rankAnd},
	"not": {rank: rankIn}, // of not in
	"in":  {rankIn, isIn},
	"is":  {rank: rankIs},
	"==":  {rankEqual, binary(js.Equal)},
	"!=":  {rankEqual, func(c call) any { return !must(js.Equal(c.args[0], c.args[1])) }},
	"===": {rankEqual, binary(js.Same)},
	"!==": {rankEqual, func(c call) any { return !must(js.Same(c.args[0], c.args[1])) }},
	"<":   {rankOrder, ordered(-1)},
	">":   {rankOrder, ordered(1)},
	"<=":  {rankOrder, ordered(-1, 0)},
	">=":  {rankOrder, ordered(0, 1)},
	"+":   {rankSum, binary(js.Add)},
	"-":   {rankSum, arithmetic("-")},
	"~":   {rankSum, binary(js.Concat)},
	"*":   {rankProduct, arithmetic("*")},
	"/":   {rankProduct, arithmetic("/")},
	"//":  {rankProduct, arithmetic("//")},
	"%":   {rankProduct, arithmetic("%")},
	"**":  {rankPower, arithmetic("**")},
	"|":   {rank: rankFilter},
	".":   {rank: rankMember},
	"[":   {rank: rankMember},
	"(":   {rank: rankMember},
}

// ordered returns a comparison that is true for some orders.
func ordered(orders ...int) func(call) any {
	return func(c call) any {
		return slices.Contains(orders, must(js.Compare(c.args[0], c.args[1])))
	}
}

func arithmetic(op string) func(call) any {
	return binary(func(a, b any) (js.Number, error) { return js.Compute(op, a, b) })
}

// binary returns a function of two values.
func binary[T any](f func(a, b any) (T, error)) func(call) any {
	return func(c call) any {
		c.step(js.Nodes(c.args[0]) + js.Nodes(c.args[1]))
		return c.counted(must(f(c.args[0], c.args[1])))
	}
}

// expression parses an expression: a if b else c.
func (p *parser) expression() *expression {
	value := p.operation(rankOr)
	if !p.is("if") {
		return value
	}
	at, test, other := p.advance().at, p.operation(rankOr), constant(p.token.at, js.Undefined{})
	if p.skip("else") {
		other = p.operation(rankOr)
	}
	return choice(at, test, value, other)
}

// choice returns an expression with the value of one of two others. Without one, the test is it.
func choice(at int, test, yes, no *expression) *expression {
	n := node(at, func(c call) any {
		chosen := no
		if js.Truthy(c.args[0]) {
			chosen = yes
		}
		if chosen == nil {
			return c.args[0]
		}
		return c.eval(chosen)
	}, test)
	n.lenient = true
	return n
}

// operation parses a value, and operators after it that have at least the given rank.
func (p *parser) operation(least int) *expression {
	defer p.enter()()
	left := p.value(least)
	for depth := 0; ; depth++ {
		bounded(depth)
		if rank := p.rank(); rank == 0 || rank < least {
			return left
		}
		switch op := p.advance(); op.text {
		case "or":
			left = choice(op.at, left, nil, p.operation(rankOr+1))
		case "and":
			left = choice(op.at, left, p.operation(rankAnd+1), nil)
		case "not":
			in := p.token
			p.want("in")
			left = not(op.at, p.infix(in, left))
		case "is":
			left = p.test(left)
		case "|":
			left = p.filter(left)
		case ".":
			left = p.member(op.at, left, quote(p.word()))
		case "[":
			left = p.member(op.at, left, p.expression())
			p.want("]")
		case "(":
			left = p.call(left)
		default:
			left = p.infix(op, left)
		}
	}
}

// rank returns the rank of the next token, or 0.
func (p *parser) rank() int {
	if p.token.kind != symbol && p.token.kind != word {
		return 0
	}
	return operators[p.token.text].rank
}

func (p *parser) infix(op token, a *expression) *expression {
	o := operators[op.text]
	n := node(op.at, o.apply, a, p.operation(o.rank+1))
	// Nunjucks rounds a//b down, and gives it a rank of its own.
	if o.rank == rankProduct && operators[a.op].rank == rankProduct && (op.text == "//") != (a.op == "//") {
		p.refuse(op.at, "add parentheses", "// beside *, / or %%: the order is not clear")
	}
	n.op = op.text
	return n
}

func not(at int, of *expression) *expression {
	return node(at, func(c call) any { return !js.Truthy(c.args[0]) }, of)
}

// test parses the test after is.
func (p *parser) test(of *expression) *expression {
	negated := p.skip("not")
	n := p.function("test", tests, of)
	n.lenient = true
	if p.rank() >= rankIs {
		failHint("add parentheses", "an operator after a test: the order is not clear")
	}
	if negated {
		return not(n.at, n)
	}
	return n
}

// filter parses the filter of a value.
func (p *parser) filter(of *expression) *expression {
	n := p.function("filter", filters, of)
	n.op, n.lenient = "|"+n.name, n.name == "default" || n.name == "d"
	p.uses = append(p.uses, Use{Kind: "filter", Path: []string{n.name}})
	return n
}

// function parses the name of a function of a value, and its other arguments if there are any.
func (p *parser) function(what string, all map[string]function, of *expression) *expression {
	need(p.token.kind == word, "invalid template: expected the name of a %s, got %s", what, p.token.text)
	f := known(all, what, p.token.text)
	name := p.advance()
	n := node(name.at, f.call, of)
	n.name = name.text
	if p.skip("(") {
		n.args = append(n.args, p.expressions(")")...)
	}
	f.check(n.name, len(n.args)-1)
	return n
}

// expressions parses values with commas between them, up to a bracket.
func (p *parser) expressions(until string) (all []*expression) {
	p.each(until, func() {
		all = append(all, p.expression())
		need(!p.is("="), "invalid template: arguments have no names here; their order counts")
	})
	return all
}

// member returns a member of a value. Its name belongs to the use of a variable, if it is of that.
func (p *parser) member(at int, of, key *expression) *expression {
	path := cmp.Or(of.path, "value") + "." + cmp.Or(key.name, "value")
	n := node(at, func(c call) any {
		v := must(js.Member(c.args[0], c.args[1]))
		need(c.lenient || !js.Is(v, js.NotDefined), "undefined variable %.40q", path)
		return v
	}, of, key)
	n.path = path
	if key.op == opQuoted {
		n.op, n.name, n.inserted = opMember, key.name, of.inserted
	}
	if n.inserted {
		last := &p.uses[len(p.uses)-1]
		last.Path = append(last.Path, n.name)
	}
	return n
}

// call parses the arguments of a function or of a method, which must have a name.
func (p *parser) call(f *expression) *expression {
	n := node(f.at, named, p.expressions(")")...)
	n.name = f.path
	if f.op == opMember {
		n.name, n.apply, n.args = f.name, method, slices.Insert(n.args, 0, f.args[0])
	} else if !f.inserted {
		p.refuse(f.at, "", "invalid template: a call needs the name of a function")
	}
	return n
}

// value parses what stands before operators. not can stand before those of a higher rank.
func (p *parser) value(least int) *expression {
	need(p.token.kind != end && p.token.kind != closing, unexpected, p.token.text)
	t := p.advance()
	switch {
	case t.kind == quoted:
		return quote(t)
	case t.kind == digits, t.kind == pattern:
		n := constant(t.at, t.value)
		n.name = t.text
		return n
	case t.text == "not" && least <= rankNot:
		of := p.operation(rankNot)
		if operators[of.op].rank >= rankEqual {
			p.refuse(t.at, "use != or parentheses", "not before a comparison: it belongs to the first value alone")
		}
		return not(t.at, of)
	case t.kind == word:
		return p.variable(t)
	case t.text == "-", t.text == "+":
		need(!p.is(t.text), unexpected, t.text)
		n := node(t.at, operators["-"].apply, constant(t.at, js.Number("0")), p.operation(rankMember))
		if t.text == "+" {
			slices.Reverse(n.args)
		}
		return n
	case t.text == "(":
		n := node(t.at, func(c call) any { return c.args[0] }, p.expression())
		p.want(")")
		return n
	case t.text == "[":
		return node(t.at, func(c call) any { return js.NewList(c.args) }, p.expressions("]")...)
	case t.text == "{":
		return p.object(t.at)
	}
	p.refuse(t.at, "", unexpected, t.text)
	return nil
}

const unexpected = "invalid template: unexpected token: %s"

func (p *parser) variable(t token) *expression {
	switch t.text {
	case "true", "false":
		return constant(t.at, t.text == "true")
	case "none", "null":
		return constant(t.at, nil)
	}
	p.uses = append(p.uses, Use{Kind: "variable", Path: []string{t.text}, Bound: p.bound[t.text] > 0})
	n := node(t.at, func(c call) any {
		v, defined := c.lookup(t.text)
		if !defined && !c.lenient {
			panic(&Problem{Message: fmt.Sprintf("undefined variable %.40q", t.text), Word: t.text})
		}
		return v
	})
	n.path, n.inserted = t.text, true
	return n
}

func (p *parser) object(at int) *expression {
	var keys []string
	n := node(at, func(c call) any { return js.NewDict(keys, c.args) })
	p.each("}", func() {
		isKey := p.token.kind == word || p.token.kind == quoted
		need(isKey, "invalid template: the keys of an object are names or texts in quotes")
		keys = append(keys, p.advance().text)
		p.want(":")
		n.args = append(n.args, p.expression())
	})
	return n
}
