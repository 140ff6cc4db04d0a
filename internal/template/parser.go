package template

import (
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// node is a part of a template. An expression has a value; a statement writes text.
type node interface{ place() int }

// at is the byte of a template at which a node begins.
type at int

func (a at) place() int { return int(a) }

// The expressions.
type (
	literal struct {
		at
		value any
	}
	name struct {
		at
		name string
	}
	member struct {
		at
		of, key node
		path    string
	}
	call struct {
		at
		fn node
		arguments
	}
	filtered struct {
		at
		filter *filter
		of     node
		arguments
	}
	tested struct {
		at
		test test
		name string
		of   node
		not  bool
		arguments
	}
	unary struct {
		at
		op string
		of node
	}
	// chain is operands with operators of one rank between them, from left to right.
	chain struct {
		at
		first node
		rest  []operand
	}
	operand struct {
		at
		op string
		of node
	}
	// contained is in and not in.
	contained struct {
		at
		of, in node
		not    bool
	}
	conditional struct {
		at
		then, test, otherwise node
	}
	listOf struct {
		at
		items []node
	}
	dictOf struct {
		at
		keys, values []node
	}
	arguments struct {
		args  []node
		named []parameter
	}
	// parameter is a parameter of a macro with its default, or a named argument.
	parameter struct {
		name  string
		value node
	}
)

// The statements.
type (
	textNode struct {
		at
		text string
	}
	output struct {
		at
		of node
		// safe is set if the last filter is safe.
		safe bool
	}
	ifNode struct {
		at
		tests  []node
		bodies [][]node
		other  []node
	}
	forNode struct {
		at
		names       []string
		in          node
		body, other []node
	}
	setNode struct {
		at
		names []string
		value node
	}
	macroNode struct {
		at
		name   string
		params []parameter
		body   []node
	}
	// callNode is a call of a macro with a block of text.
	callNode struct {
		at
		call   *call
		caller *macroNode
	}
	filterNode struct {
		at
		filtered *filtered
		body     *textBlock
	}
	// textBlock is the text of a block as an expression.
	textBlock struct {
		at
		body []node
	}
	switchNode struct {
		at
		of     node
		cases  []node
		bodies [][]node
		other  []node
	}
	blockNode struct {
		at
		body []node
	}
)

// parser reads a template by recursive descent. It panics with a fault.
type parser struct {
	lexer
	// token is the token that comes next in a tag.
	token token
	depth int
	// tag is the word that ended the nodes of a block.
	tag  token
	uses []Use
	// bound are the names that the template defines, by the number of open blocks that define them.
	bound map[string]int
}

func (p *parser) enter(at int) func() {
	if p.depth++; p.depth > maxDepth {
		fail(at, "the template is nested too deeply")
	}
	return func() { p.depth-- }
}

func (p *parser) advance() token {
	t := p.token
	p.token = p.next()
	return t
}

// is reports whether the next token is one of the given operators or words.
func (p *parser) is(texts ...string) bool {
	return (p.token.kind == operator || p.token.kind == word) && slices.Contains(texts, p.token.text)
}

func (p *parser) skip(text string) bool {
	if p.is(text) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) want(text, where string) {
	if !p.skip(text) {
		fail(p.token.at, "invalid template: expected %q %s, got %s", text, where, p.token.text)
	}
}

func (p *parser) unexpected() {
	fail(p.token.at, "invalid template: unexpected token: %s", p.token.text)
}

// close reads the end of a tag. The next token is not read, because text follows.
func (p *parser) close(closing string) {
	if p.token.kind != end && strings.TrimPrefix(p.token.text, "-") == closing {
		return
	}
	what := "block end"
	if closing == "}}" {
		what = "variable end"
	}
	fail(p.token.at, "invalid template: expected %s", what)
}

// nodes parses up to a tag whose word is one of until, which becomes p.tag, or to the end of the template.
func (p *parser) nodes(until ...string) (all []node) {
	start := p.at
	defer p.enter(start)()
	for {
		from := p.at
		text, open := p.upToTag()
		if text != "" {
			all = append(all, &textNode{at(from), text})
		}
		tagAt := p.at
		switch open {
		case "":
			if len(until) > 0 {
				fail(len(p.text), "invalid template: expected %s, got end of file", strings.Join(until, ", "))
			}
			return all
		case "{#":
			p.comment(tagAt - len(open))
			continue
		}
		p.advance() // reads the first token of the tag
		if open == "{{" {
			all = append(all, p.output())
			continue
		}
		p.tag = p.token
		if p.tag.kind != word {
			p.unexpected()
		}
		if slices.Contains(until, p.tag.text) {
			p.advance()
			return all
		}
		if n := p.statement(); n != nil {
			all = append(all, n)
		}
	}
}

func (p *parser) output() node {
	before, begin := len(p.uses), at(p.token.at)
	n := &output{at: begin, of: p.expression()}
	p.close("}}")
	if f, ok := n.of.(*filtered); ok {
		n.safe = f.filter.name == "safe"
	}
	if isPath(n.of) {
		p.uses[before].Inserted = true
	}
	return n
}

// isPath reports whether an expression is a variable, or a key of one that is written as a text.
func isPath(n node) bool {
	for {
		switch v := n.(type) {
		case *name:
			return true
		case *member:
			l, ok := v.key.(*literal)
			if !ok {
				return false
			}
			if _, ok := l.value.(string); !ok {
				return false
			}
			n = v.of
		default:
			return false
		}
	}
}

func (p *parser) bind(names ...string) {
	if p.bound == nil {
		p.bound = map[string]int{}
	}
	for _, n := range names {
		p.bound[n]++
	}
}

func (p *parser) unbind(names ...string) {
	for _, n := range names {
		p.bound[n]--
	}
}

// words parses names with commas between them.
func (p *parser) words() (names []string) {
	for {
		if p.token.kind != word {
			fail(p.token.at, "invalid template: expected a name, got %s", p.token.text)
		}
		names = append(names, p.advance().text)
		if !p.skip(",") {
			return names
		}
	}
}

func (p *parser) statement() node {
	tag := p.advance()
	begin := at(tag.at)
	p.uses = append(p.uses, Use{Kind: "tag", Path: []string{tag.text}})
	switch tag.text {
	case "if":
		return p.conditional(begin)
	case "for":
		return p.loop(begin)
	case "set":
		return p.set(begin)
	case "macro":
		if p.token.kind != word {
			fail(p.token.at, "invalid template: expected the name of the macro")
		}
		m := &macroNode{at: begin, name: p.advance().text}
		p.bind(m.name)
		p.macro(m, "endmacro")
		return m
	case "call":
		return p.call(begin)
	case "filter":
		block := &textBlock{at: begin}
		f := p.filter(block)
		p.close("%}")
		block.body = p.nodes("endfilter")
		p.close("%}")
		return &filterNode{begin, f, block}
	case "switch":
		return p.switched(begin)
	case "block":
		p.words()
		p.close("%}")
		n := &blockNode{begin, p.nodes("endblock")}
		if p.token.kind == word {
			p.advance()
		}
		p.close("%}")
		return n
	case "raw", "verbatim":
		p.close("%}")
		return &textNode{begin, p.raw(tag.text, tag.at)}
	case "include", "import", "from", "extends":
		failHint(tag.at, "use a prompt file, or a variable", "a template cannot read other files")
	}
	fail(tag.at, "invalid template: unknown block tag: %s", tag.text)
	return nil
}

func (p *parser) conditional(begin at) node {
	n := &ifNode{at: begin}
	for more := true; more; {
		n.tests = append(n.tests, p.expression())
		p.close("%}")
		n.bodies = append(n.bodies, p.nodes("elif", "elseif", "else", "endif"))
		more = p.tag.text == "elif" || p.tag.text == "elseif"
	}
	if p.tag.text == "else" {
		p.close("%}")
		n.other = p.nodes("endif")
	}
	p.close("%}")
	return n
}

func (p *parser) loop(begin at) node {
	n := &forNode{at: begin, names: p.words()}
	if !p.skip("in") {
		fail(p.token.at, "invalid template: expected \"in\" in a for loop")
	}
	n.in = p.expression()
	p.close("%}")
	p.bind(append(n.names, "loop")...)
	n.body = p.nodes("endfor", "else")
	p.unbind(append(n.names, "loop")...)
	if p.tag.text == "else" {
		p.close("%}")
		n.other = p.nodes("endfor")
	}
	p.close("%}")
	return n
}

func (p *parser) set(begin at) node {
	n := &setNode{at: begin, names: p.words()}
	if p.skip("=") {
		n.value = p.expression()
		p.close("%}")
	} else {
		p.close("%}")
		p.trim = false // Nunjucks keeps the white space here
		n.value = &textBlock{begin, p.nodes("endset")}
		p.close("%}")
	}
	p.bind(n.names...)
	return n
}

// macro parses the parameters and the body of a macro, or of the block of a call.
func (p *parser) macro(m *macroNode, until string) {
	p.want("(", "before the parameters of the macro")
	for !p.skip(")") {
		if len(m.params) > 0 {
			p.want(",", "between parameters")
		}
		if p.token.kind != word {
			p.unexpected()
		}
		param := parameter{name: p.advance().text}
		if p.skip("=") {
			param.value = p.expression()
		}
		p.bind(param.name)
		m.params = append(m.params, param)
	}
	if until != "" {
		p.macroBody(m, until)
	}
}

func (p *parser) macroBody(m *macroNode, until string) {
	p.bind("caller")
	p.close("%}")
	m.body = p.nodes(until)
	p.close("%}")
	p.unbind("caller")
	for _, param := range m.params {
		p.unbind(param.name)
	}
}

func (p *parser) call(begin at) node {
	n := &callNode{at: begin, caller: &macroNode{at: begin, name: "caller"}}
	if p.is("(") {
		p.macro(n.caller, "")
	}
	called, ok := p.unary(false).(*call)
	if !ok {
		fail(int(begin), "invalid template: a call block calls a macro, such as call name()")
	}
	n.call = called
	p.macroBody(n.caller, "endcall")
	return n
}

func (p *parser) switched(begin at) node {
	n := &switchNode{at: begin, of: p.expression()}
	p.close("%}")
	p.nodes("case", "default", "endswitch") // what is before the first case is not written
	if p.tag.text != "case" {
		fail(int(begin), "invalid template: a switch needs a case")
	}
	for p.tag.text == "case" {
		n.cases = append(n.cases, p.expression())
		p.close("%}")
		n.bodies = append(n.bodies, p.nodes("case", "default", "endswitch"))
	}
	if p.tag.text == "default" {
		p.close("%}")
		n.other = p.nodes("endswitch", "case", "default")
		if p.tag.text != "endswitch" {
			fail(p.tag.at, "invalid template: default must be the last of a switch")
		}
	}
	p.close("%}")
	return n
}

// expression parses an expression: a if b else c.
func (p *parser) expression() node {
	defer p.enter(p.token.at)()
	n := p.or()
	if !p.is("if") {
		return n
	}
	c := &conditional{at: at(p.advance().at), then: n}
	c.test = p.or()
	if p.skip("else") {
		c.otherwise = p.or()
	}
	return c
}

// chained parses operands with the given operators between them.
func (p *parser) chained(operand func() node, operators ...string) node {
	first := operand()
	if !p.is(operators...) {
		return first
	}
	c := &chain{at: at(first.place()), first: first}
	for p.is(operators...) {
		op := p.advance()
		c.add(op, operand())
	}
	return c
}

func (c *chain) add(op token, n node) { c.rest = append(c.rest, operand{at(op.at), op.text, n}) }

func (p *parser) or() node  { return p.chained(p.and, "or") }
func (p *parser) and() node { return p.chained(p.not, "and") }

func (p *parser) not() node {
	if !p.is("not") {
		return p.in()
	}
	defer p.enter(p.token.at)()
	op := p.advance()
	of := p.not()
	if _, ambiguous := of.(*chain); ambiguous {
		failHint(op.at, "use != or parentheses", "not before a comparison: it belongs to the first value alone")
	}
	return &unary{at(op.at), "not", of}
}

func (p *parser) in() node {
	n := p.tests()
	for {
		not := false
		if p.is("not") {
			not = true
			p.advance()
			if !p.is("in") {
				p.unexpected()
			}
		}
		if !p.is("in") {
			return n
		}
		op := p.advance()
		n = &contained{at(op.at), n, p.tests(), not}
	}
}

func (p *parser) tests() node {
	n := p.equality()
	if !p.skip("is") {
		return n
	}
	t := &tested{of: n, not: p.skip("not")}
	t.at = at(p.token.at)
	if p.token.kind != word {
		p.unexpected()
	}
	t.name = p.advance().text
	t.test = testOf(int(t.at), t.name)
	if p.is("(") {
		t.arguments = p.arguments()
	}
	return t
}

func (p *parser) equality() node { return p.chained(p.relation, "==", "!=", "===", "!==") }
func (p *parser) relation() node { return p.chained(p.sum, "<", ">", "<=", ">=") }
func (p *parser) sum() node      { return p.chained(p.product, "+", "-", "~") }

func (p *parser) product() node {
	n := p.chained(p.power, "*", "/", "%", "//")
	c, ok := n.(*chain)
	if !ok {
		return n
	}
	// Nunjucks rounds a//b down, and gives it a rank of its own.
	for i, o := range c.rest {
		others := len(c.rest) > 1
		if o.op == "//" && others && slices.ContainsFunc(c.rest, func(o operand) bool { return o.op != "//" }) {
			failHint(int(c.rest[i].at), "add parentheses", "// beside *, / or %%: the order is not clear")
		}
	}
	return c
}

func (p *parser) power() node { return p.chained(func() node { return p.unary(true) }, "**") }

// unary parses a value with signs before it, and filters after it.
func (p *parser) unary(filters bool) node {
	defer p.enter(p.token.at)()
	var n node
	if p.is("-", "+") {
		op := p.advance()
		if p.is(op.text) {
			p.unexpected()
		}
		n = &unary{at(op.at), op.text, p.unary(false)}
	} else {
		n = p.postfix(p.primary())
	}
	for depth := 0; filters && p.is("|"); depth++ {
		if depth > maxDepth {
			fail(p.token.at, "the template is nested too deeply")
		}
		p.advance()
		n = p.filter(n)
	}
	return n
}

// filter parses the name and the arguments of a filter.
func (p *parser) filter(of node) *filtered {
	if p.token.kind != word {
		p.unexpected()
	}
	t := p.advance()
	p.uses = append(p.uses, Use{Kind: "filter", Path: []string{t.text}})
	f := filterOf(t.text)
	if f == nil {
		panic(&fault{t.at, Problem{Message: "unknown filter \"" + t.text + "\"", Word: t.text, Known: Filters()}})
	}
	n := &filtered{at: at(t.at), filter: f, of: of}
	if p.is("(") {
		n.arguments = p.arguments()
	}
	for _, a := range n.named {
		i := slices.Index(f.named, a.name)
		if i < 0 {
			failHint(t.at, doc.DidYouMean(a.name, f.named), "the filter %s has no argument %q", f.name, a.name)
		}
		for len(n.args) <= i {
			n.args = append(n.args, &literal{at: n.at, value: undefined{}})
		}
		n.args[i] = a.value
	}
	if len(n.args) > f.most {
		fail(t.at, "the filter %s has at most %d arguments", f.name, f.most)
	}
	return n
}

func (p *parser) arguments() (a arguments) {
	p.want("(", "before arguments")
	for first := true; !p.skip(")"); first = false {
		if !first {
			p.want(",", "between arguments")
		}
		// A name and = begin a named argument.
		if p.token.kind == word {
			before := p.lexer
			if following := p.next(); following.kind == operator && following.text == "=" {
				n := p.token.text
				p.advance()
				a.named = append(a.named, parameter{n, p.expression()})
				continue
			}
			p.lexer = before
		}
		a.args = append(a.args, p.expression())
	}
	return a
}

// postfix parses members and calls after a value.
func (p *parser) postfix(n node) node {
	for depth := 0; ; depth++ {
		if depth > maxDepth {
			fail(p.token.at, "the template is nested too deeply")
		}
		begin := at(p.token.at)
		switch {
		case p.is("("):
			n = &call{begin, n, p.arguments()}
		case p.skip("["):
			key := p.expression()
			p.want("]", "after the key")
			p.extend(n, key)
			n = newMember(begin, n, key)
		case p.skip("."):
			if p.token.kind != word {
				fail(p.token.at, "invalid template: expected name as lookup value, got %s", p.token.text)
			}
			t := p.advance()
			key := &literal{at(t.at), t.text}
			p.extend(n, key)
			n = newMember(begin, n, key)
		default:
			return n
		}
	}
}

// extend adds a key to the path of the last variable, if it is a key of that.
func (p *parser) extend(of, key node) {
	if l, ok := key.(*literal); ok && isPath(of) {
		if text, ok := l.value.(string); ok {
			last := &p.uses[len(p.uses)-1]
			last.Path = append(last.Path, text)
		}
	}
}

// newMember returns a member with its path, for messages.
func newMember(begin at, of, key node) node {
	path, last := "value", "value"
	switch v := of.(type) {
	case *name:
		path = v.name
	case *member:
		path = v.path
	}
	switch v := key.(type) {
	case *literal:
		if text, ok := v.value.(string); ok {
			last = text
		} else if n, ok := v.value.(number); ok {
			last = string(n)
		}
	case *name:
		last = v.name
	}
	return &member{begin, of, key, path + "." + clip(last)}
}

func (p *parser) primary() node {
	t := p.token
	begin := at(t.at)
	switch t.kind {
	case quoted:
		p.advance()
		return &literal{begin, t.text}
	case digits:
		p.advance()
		return &literal{begin, written(t.text)}
	case pattern:
		p.advance()
		return &literal{begin, newRegex(t)}
	case word:
		p.advance()
		switch t.text {
		case "true", "false":
			return &literal{begin, t.text == "true"}
		case "none", "null":
			return &literal{begin, nil}
		}
		p.uses = append(p.uses, Use{Kind: "variable", Path: []string{t.text}, Bound: p.bound[t.text] > 0})
		return &name{begin, t.text}
	case operator:
		switch t.text {
		case "(":
			p.advance()
			n := p.expression()
			p.want(")", "after the expression")
			return &group{begin, n}
		case "[":
			p.advance()
			l := &listOf{at: begin}
			for !p.skip("]") {
				if len(l.items) > 0 {
					p.want(",", "between the elements of a list")
				}
				l.items = append(l.items, p.expression())
			}
			return l
		case "{":
			return p.dict(begin)
		}
	case end, closing:
	}
	p.unexpected()
	return nil
}

// group is an expression in parentheses.
type group struct {
	at
	of node
}

func (p *parser) dict(begin at) node {
	p.advance()
	d := &dictOf{at: begin}
	for !p.skip("}") {
		if len(d.keys) > 0 {
			p.want(",", "between the members of an object")
		}
		key := p.advance()
		if key.kind != word && key.kind != quoted {
			fail(key.at, "invalid template: the keys of an object are names or texts in quotes")
		}
		p.want(":", "after a key")
		d.keys = append(d.keys, &literal{at(key.at), key.text})
		d.values = append(d.values, p.expression())
	}
	return d
}
