package template

import (
	"slices"
	"strings"
)

// The nodes, and what their fields are. The op of a node is one of these words, or the operator of an expression.
const (
	opLiteral = "literal" // value
	opName    = "name"    // text
	opMember  = "member"  // args: the value and the key; text is the path in messages
	opCall    = "call"    // text is the name of the function
	opMethod  = "method"  // text is the name; args: the value, and the arguments
	opFilter  = "filter"  // as opMethod
	opIs      = "is"      // as opMethod
	opList    = "list"    // args
	opObject  = "object"  // names and args: the keys and the values
	opGroup   = "group"   // an expression in parentheses
	opEither  = "either"  // args: the value, the condition, and the other value if there is one
	opBlock   = "block"   // blocks: the text of a block as a value

	// Statements. The blocks of if, for and switch end with that of else or default.
	opText   = "text"   // text
	opOutput = "output" // args: the value
	opIf     = "if"     // args: the conditions
	opFor    = "for"    // names; args: the list
	opSet    = "set"    // names; args: the value
	opMacro  = "macro"  // text is the name; names and args: the parameters and their defaults, or nil
	opSwitch = "switch" // args: the value, and those of the cases
)

// node is a part of a template. An expression has a value; a statement writes text.
type node struct {
	op string
	// at is the byte of the template at which the node begins.
	at     int
	text   string
	value  any
	names  []string
	args   []*node
	blocks [][]*node
}

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

// enter counts a level of nesting. The function that it returns ends the level.
func (p *parser) enter() func() {
	p.depth++
	p.bounded(p.depth)
	return func() { p.depth-- }
}

func (p *parser) bounded(depth int) {
	if depth > maxDepth {
		fail(p.token.at, "the template is nested too deeply")
	}
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
	found := p.is(text)
	if found {
		p.advance()
	}
	return found
}

func (p *parser) want(text string) {
	if !p.skip(text) {
		fail(p.token.at, "invalid template: expected %q, got %s", text, p.token.text)
	}
}

func (p *parser) unexpected() {
	fail(p.token.at, "invalid template: unexpected token: %s", p.token.text)
}

func (p *parser) name() token {
	if p.token.kind != word {
		fail(p.token.at, "invalid template: expected a name, got %s", p.token.text)
	}
	return p.advance()
}

// close reads the end of a tag. The next token is not read, because text follows.
func (p *parser) close() {
	if p.token.kind != closing || p.token.text[len(p.token.text)-2] != '%' {
		fail(p.token.at, "invalid template: expected block end")
	}
}

// nodes parses up to a tag whose word is one of until, which becomes p.tag, or to the end of the template.
func (p *parser) nodes(until ...string) (all []*node) {
	defer p.enter()()
	for {
		from := p.at
		text, open := p.upToTag()
		if text != "" {
			all = append(all, &node{op: opText, at: from, text: text})
		}
		switch open {
		case "":
			if len(until) > 0 {
				fail(len(p.text), "invalid template: expected %s, got end of file", strings.Join(until, ", "))
			}
			return all
		case "{#":
			p.comment(p.at - len(open))
			continue
		}
		p.advance() // reads the first token of the tag
		if open == "{{" {
			all = append(all, p.output())
			continue
		}
		p.tag = p.name()
		if slices.Contains(until, p.tag.text) {
			return all
		}
		all = append(all, p.statement(p.tag))
	}
}

// block parses the end of a tag, and what follows it up to a tag that ends it.
func (p *parser) block(until ...string) []*node {
	p.close()
	return p.nodes(until...)
}

func (p *parser) output() *node {
	before, at := len(p.uses), p.token.at
	of := p.expression()
	if p.token.kind != closing || p.token.text[len(p.token.text)-2] != '}' {
		fail(p.token.at, "invalid template: expected variable end")
	}
	if of.isPath() {
		p.uses[before].Inserted = true
	}
	return &node{op: opOutput, at: at, args: []*node{of}}
}

// key returns the key of a member that is written as a text.
func (n *node) key() (key string, ok bool) {
	key, ok = n.args[1].value.(string)
	return key, ok
}

// isPath reports whether an expression is a variable, or a key of one that is written as a text.
func (n *node) isPath() bool {
	for n.op == opMember {
		if _, ok := n.key(); !ok {
			return false
		}
		n = n.args[0]
	}
	return n.op == opName
}

// bind defines names, or with -1 ends that.
func (p *parser) bind(by int, names ...string) {
	for _, n := range names {
		p.bound[n] += by
	}
}

// words parses names with commas between them.
func (p *parser) words() (names []string) {
	for {
		names = append(names, p.name().text)
		if !p.skip(",") {
			return names
		}
	}
}

func (p *parser) statement(tag token) *node {
	p.uses = append(p.uses, Use{Kind: "tag", Path: []string{tag.text}})
	n := &node{op: tag.text, at: tag.at}
	switch tag.text {
	case "if":
		p.conditional(n)
	case "for":
		p.loop(n)
	case "set":
		n.names = p.words()
		if p.skip("=") {
			n.args = []*node{p.expression()}
		} else {
			p.close()
			p.trim = false // Nunjucks keeps the white space here
			n.args = []*node{{op: opBlock, at: n.at, blocks: [][]*node{p.nodes("endset")}}}
		}
		p.bind(1, n.names...)
	case "macro":
		p.macro(n)
	case "filter":
		block := &node{op: opBlock, at: n.at}
		n.op, n.args = opOutput, []*node{p.filter(block)}
		block.blocks = [][]*node{p.block("endfilter")}
	case "switch":
		p.choice(n)
	case "raw", "verbatim":
		p.close()
		n.op, n.text = opText, p.raw(tag.text, tag.at)
		return n
	case "include", "import", "from", "extends":
		failHint(tag.at, "use a prompt file, or a variable", "a template cannot read other files")
	default:
		fail(tag.at, "invalid template: unknown block tag: %s", tag.text)
	}
	p.close()
	return n
}

func (p *parser) conditional(n *node) {
	for more := true; more; more = p.tag.text == "elif" || p.tag.text == "elseif" {
		n.args = append(n.args, p.expression())
		n.blocks = append(n.blocks, p.block("elif", "elseif", "else", "endif"))
	}
	p.otherwise(n, "else", "endif")
}

// otherwise parses the last block of a statement, which is empty if there is none.
func (p *parser) otherwise(n *node, tag, until string) {
	var other []*node
	if p.tag.text == tag {
		other = p.block(until)
	}
	n.blocks = append(n.blocks, other)
}

func (p *parser) loop(n *node) {
	n.names = p.words()
	p.want("in")
	n.args = []*node{p.expression()}
	p.bind(1, "loop")
	p.bind(1, n.names...)
	n.blocks = [][]*node{p.block("endfor", "else")}
	p.bind(-1, "loop")
	p.bind(-1, n.names...)
	p.otherwise(n, "else", "endfor")
}

func (p *parser) macro(n *node) {
	n.text = p.name().text
	p.bind(1, n.text)
	p.want("(")
	for !p.skip(")") {
		if len(n.names) > 0 {
			p.want(",")
		}
		n.names = append(n.names, p.name().text)
		var value *node
		if p.skip("=") {
			value = p.expression()
		}
		n.args = append(n.args, value)
	}
	p.bind(1, n.names...)
	n.blocks = [][]*node{p.block("endmacro")}
	p.bind(-1, n.names...)
}

func (p *parser) choice(n *node) {
	n.args = []*node{p.expression()}
	p.block("case", "default", "endswitch") // what is before the first case is not written
	if p.tag.text != "case" {
		fail(n.at, "invalid template: a switch needs a case")
	}
	for p.tag.text == "case" {
		n.args = append(n.args, p.expression())
		n.blocks = append(n.blocks, p.block("case", "default", "endswitch"))
	}
	p.otherwise(n, "default", "endswitch")
}

// expression parses an expression: a if b else c.
func (p *parser) expression() *node {
	n := p.binary(1)
	if !p.is("if") {
		return n
	}
	n = &node{op: opEither, at: p.advance().at, args: []*node{n, p.binary(1)}}
	if p.skip("else") {
		n.args = append(n.args, p.binary(1))
	}
	return n
}

// The ranks of operators, from the one that binds least. They are those of JavaScript, which runs the code of Nunjucks.
const (
	rankNot = iota + 3
	rankIn
	rankIs
	rankEqual
	rankOrder
	rankSum
	rankProduct
	rankPower
)

// rank returns the rank of an operator between two values, and 0 for anything else.
func rank(operator string) int {
	switch operator {
	case "or":
		return 1
	case "and":
		return 2
	case "in", "not":
		return rankIn
	case "is":
		return rankIs
	case "==", "!=", "===", "!==":
		return rankEqual
	case "<", ">", "<=", ">=":
		return rankOrder
	case "+", "-", "~":
		return rankSum
	case "*", "/", "%", "//":
		return rankProduct
	case "**":
		return rankPower
	}
	return 0
}

// binary parses operators of at least the given rank, and their values.
func (p *parser) binary(least int) *node {
	defer p.enter()()
	var left *node
	if least <= rankNot && p.is("not") {
		at := p.advance().at
		left = &node{op: "not", at: at, args: []*node{p.binary(rankNot)}}
		if of := left.args[0]; len(of.args) == 2 && rank(of.op) >= rankEqual {
			failHint(at, "use != or parentheses", "not before a comparison: it belongs to the first value alone")
		}
	} else {
		left = p.unary(true)
	}
	for depth := 0; p.token.kind == operator || p.token.kind == word; depth++ {
		p.bounded(depth)
		r := rank(p.token.text)
		if r == 0 || r < least {
			break
		}
		left = p.operation(left, r)
	}
	return left
}

// operation parses an operator and the value after it.
func (p *parser) operation(left *node, r int) *node {
	t := p.advance()
	negated := t.text == "not"
	if negated {
		t = p.token
		p.want("in")
	}
	n := &node{op: t.text, at: t.at, args: []*node{left}}
	if t.text == "is" {
		negated = p.skip("not")
		t := p.name()
		n.at, n.text = t.at, t.text
		test, ok := tests()[n.text]
		if !ok {
			unknown(n.at, "test", n.text, tests())
		}
		if p.skip("(") {
			n.args = append(n.args, p.expressions(")")...)
		}
		test.check(n.at, n.text, len(n.args)-1)
		if rank(p.token.text) >= rankIs && p.token.kind != quoted {
			failHint(p.token.at, "add parentheses", "an operator after a test: the order is not clear")
		}
	} else {
		n.args = append(n.args, p.binary(r+1))
	}
	// Nunjucks rounds a//b down, and gives it a rank of its own.
	if r == rankProduct && rank(left.op) == r && (t.text == "//") != (left.op == "//") {
		failHint(t.at, "add parentheses", "// beside *, / or %%: the order is not clear")
	}
	if negated {
		return &node{op: "not", at: t.at, args: []*node{n}}
	}
	return n
}

// unary parses a value with signs before it, and filters after it.
func (p *parser) unary(filters bool) *node {
	defer p.enter()()
	var n *node
	if p.is("-", "+") {
		t := p.advance()
		if p.is(t.text) {
			p.unexpected()
		}
		n = &node{op: t.text, at: t.at, args: []*node{p.unary(false)}}
	} else {
		n = p.postfix(p.primary())
	}
	for depth := 0; filters && p.is("|"); depth++ {
		p.bounded(depth)
		p.advance()
		n = p.filter(n)
	}
	return n
}

// filter parses the name and the arguments of a filter.
func (p *parser) filter(of *node) *node {
	t := p.name()
	p.uses = append(p.uses, Use{Kind: "filter", Path: []string{t.text}})
	f, ok := filters()[t.text]
	if !ok {
		unknown(t.at, "filter", t.text, filters())
	}
	n := &node{op: opFilter, at: t.at, text: t.text, args: []*node{of}}
	if p.skip("(") {
		n.args = append(n.args, p.expressions(")")...)
	}
	f.check(n.at, n.text, len(n.args)-1)
	return n
}

// expressions parses values with commas between them, up to a bracket.
func (p *parser) expressions(until string) (all []*node) {
	for !p.skip(until) {
		if len(all) > 0 {
			p.want(",")
		}
		all = append(all, p.expression())
		if p.is("=") {
			fail(p.token.at, "invalid template: arguments have no names here; their order counts")
		}
	}
	return all
}

// postfix parses members and calls after a value.
func (p *parser) postfix(n *node) *node {
	for depth := 0; ; depth++ {
		p.bounded(depth)
		at := p.token.at
		switch {
		case p.skip("("):
			n = called(n, p.expressions(")"))
		case p.skip("["):
			n = p.member(at, n, p.expression())
			p.want("]")
		case p.skip("."):
			t := p.name()
			n = p.member(at, n, &node{op: opLiteral, at: t.at, value: t.text})
		default:
			return n
		}
	}
}

// called returns the call of a function or of a method, which must be written as a name.
func called(n *node, args []*node) *node {
	switch n.op {
	case opName:
		return &node{op: opCall, at: n.at, text: n.text, args: args}
	case opMember:
		if key, ok := n.key(); ok {
			return &node{op: opMethod, at: n.at, text: key, args: append(n.args[:1:1], args...)}
		}
	}
	fail(n.at, "invalid template: a call needs the name of a function")
	return nil
}

// member returns a member, and adds its key to the path of the last variable, if it is a key of that.
func (p *parser) member(at int, of, key *node) *node {
	n := &node{op: opMember, at: at, args: []*node{of, key}}
	if text, ok := n.key(); ok && of.isPath() {
		last := &p.uses[len(p.uses)-1]
		last.Path = append(last.Path, text)
	}
	n.text = "value."
	if of.op == opName || of.op == opMember {
		n.text = of.text + "."
	}
	switch v := key.value.(type) {
	case string:
		n.text += clip(v)
	case number:
		n.text += clip(string(v))
	default:
		n.text += "value"
	}
	return n
}

func (p *parser) primary() *node {
	if p.token.kind == end || p.token.kind == closing {
		p.unexpected()
	}
	t := p.advance()
	n := &node{op: opLiteral, at: t.at, text: t.text}
	switch t.kind {
	case quoted:
		n.value = t.text
		return n
	case digits:
		n.value = written(t.text)
		return n
	case pattern:
		n.value = newRegex(t)
		return n
	case word:
		switch t.text {
		case "true", "false":
			n.value = t.text == "true"
		case "none", "null":
		default:
			n.op = opName
			p.uses = append(p.uses, Use{Kind: "variable", Path: []string{t.text}, Bound: p.bound[t.text] > 0})
		}
		return n
	case operator:
		switch t.text {
		case "(":
			n.op, n.args = opGroup, []*node{p.expression()}
			p.want(")")
			return n
		case "[":
			n.op, n.args = opList, p.expressions("]")
			return n
		case "{":
			p.object(n)
			return n
		}
	case end, closing:
	}
	fail(t.at, "invalid template: unexpected token: %s", t.text)
	return nil
}

func (p *parser) object(n *node) {
	n.op = opObject
	for !p.skip("}") {
		if len(n.names) > 0 {
			p.want(",")
		}
		if p.token.kind != word && p.token.kind != quoted {
			fail(p.token.at, "invalid template: the keys of an object are names or texts in quotes")
		}
		key := p.advance()
		p.want(":")
		n.names, n.args = append(n.names, key.text), append(n.args, p.expression())
	}
}
