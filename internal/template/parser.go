package template

import (
	"maps"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/js"
)

// parser reads a template by recursive descent.
type parser struct {
	lexer
	depth int
	// tag is the word that ended a block.
	tag  token
	uses []Use
	// bound are the names that the template defines, by the number of open blocks that define them.
	bound map[string]int
}

// enter counts a level of nesting. The function that it returns ends the level.
func (p *parser) enter() func() {
	p.depth++
	bounded(p.depth)
	return func() { p.depth-- }
}

func bounded(depth int) { need(depth <= maxDepth, "the template is nested too deeply") }

// refuse fails at a token that was read before.
func (p *parser) refuse(at int, hint, format string, args ...any) {
	p.token.at = at
	failHint(hint, format, args...)
}

// is reports whether the next token is an operator or a word.
func (p *parser) is(text string) bool {
	return (p.token.kind == symbol || p.token.kind == word) && p.token.text == text
}

func (p *parser) skip(text string) bool {
	found := p.is(text)
	if found {
		p.advance()
	}
	return found
}

func (p *parser) want(text string) {
	need(p.skip(text), "invalid template: expected %q, got %s", text, p.token.text)
}

func (p *parser) word() token {
	need(p.token.kind == word, "invalid template: expected a name, got %s", p.token.text)
	return p.advance()
}

// each parses items with commas between them, up to a bracket.
func (p *parser) each(until string, item func()) {
	for first := true; !p.skip(until); first = false {
		if !first {
			p.want(",")
		}
		item()
	}
}

// words parses names with commas between them.
func (p *parser) words() (names []string) {
	for {
		names = append(names, p.word().text)
		if !p.skip(",") {
			return names
		}
	}
}

// bind defines names, or with -1 ends that.
func (p *parser) bind(by int, names ...string) {
	for _, n := range names {
		p.bound[n] += by
	}
}

// block parses up to a tag with a word of until, which becomes p.tag, or to the end of the text.
func (p *parser) block(until ...string) *expression {
	defer p.enter()()
	b := constant(p.at, nil)
	for {
		at := p.at
		text, open := p.upToTag()
		if text != "" {
			b.args = append(b.args, plain(at, text))
		}
		switch open {
		case "":
			expected := strings.Join(until, ", ")
			need(expected == "", "invalid template: expected %s, got end of file", expected)
			return b
		case "{#":
			p.trim = strings.HasSuffix(p.upTo(`#\}`, "end of comment"), "-")
		case "{{":
			p.advance() // reads the first token of the tag
			b.args = append(b.args, p.output())
		default:
			p.advance()
			if p.tag = p.word(); slices.Contains(until, p.tag.text) {
				return b
			}
			b.args = append(b.args, p.statement(p.tag))
		}
	}
}

// body parses the end of a tag, and what follows it up to a tag that ends it.
func (p *parser) body(until ...string) *expression {
	p.close("%}", "block")
	return p.block(until...)
}

// close reads the end of a tag. The next token is not read, because text follows.
func (p *parser) close(bracket, what string) {
	need(p.token.kind == closing && strings.HasSuffix(p.token.text, bracket), "invalid template: expected %s end", what)
}

// plain returns a statement that writes a text.
func plain(at int, text string) *expression {
	n := node(at, func(c call) any { return c.write(text) })
	n.op = opText
	return n
}

// insertion returns a statement that writes a value.
func insertion(at int, of *expression) *expression {
	return node(at, func(c call) any {
		text := c.printed(c.args[0])
		if c.quote != nil && of.op != opSafe {
			quoted, err := c.quote(text)
			need(err == nil, "%v", err)
			text = quoted
		}
		return c.write(text)
	}, of)
}

func (p *parser) output() *expression {
	before, at := len(p.uses), p.token.at
	of := p.expression()
	p.close("}}", "variable")
	if of.inserted {
		p.uses[before].Inserted = true
	}
	return insertion(at, of)
}

func (p *parser) statement(tag token) (n *expression) {
	p.uses = append(p.uses, Use{Kind: "tag", Path: []string{tag.text}})
	switch tag.text {
	case "if":
		n = p.conditional(tag.at)
	case "for":
		n = p.loop(tag.at)
	case "set":
		n = p.assignment(tag.at)
	case "macro":
		n = p.macro(tag.at)
	case "filter":
		var block *expression
		n = insertion(tag.at, p.filter(node(tag.at, func(c call) any { return c.captured(block) })))
		block = p.body("endfilter")
	case "switch":
		n = p.cases(tag.at)
	case "raw", "verbatim":
		p.close("%}", "block")
		p.token = tag
		return plain(tag.at, p.upTo(`\{%\s*end`+tag.text+`\s*%\}`, "end"+tag.text))
	case "include", "import", "from", "extends":
		p.refuse(tag.at, "use a prompt file, or a variable", "a template cannot read other files")
	default:
		p.refuse(tag.at, "", "invalid template: unknown block tag: %s", tag.text)
	}
	p.close("%}", "block")
	return n
}

func (p *parser) conditional(at int) *expression {
	defer p.enter()()
	test, body, other := p.expression(), p.body("elif", "elseif", "else", "endif"), constant(at, nil)
	switch p.tag.text {
	case "elif", "elseif":
		other = p.conditional(p.tag.at)
	case "else":
		other = p.body("endif")
	}
	return choice(at, test, body, other)
}

func (p *parser) loop(at int) *expression {
	names := p.words()
	p.want("in")
	in := p.expression()
	p.bind(1, append(names, "loop")...)
	body, other := p.body("endfor", "else"), constant(at, nil)
	p.bind(-1, append(names, "loop")...)
	if p.tag.text == "else" {
		other = p.body("endfor")
	}
	return node(at, func(c call) any {
		rounds := c.rounds(len(names), c.args[0])
		n, around, number := len(rounds), c.frame, js.FromInt
		if n == 0 {
			return c.eval(other)
		}
		c.frame = maps.Clone(around)
		for i, values := range rounds {
			c.step(1)
			for k, name := range names {
				c.frame[name] = new(any(js.Undefined{}))
				if k < len(values) {
					c.frame[name] = new(values[k])
				}
			}
			c.frame["loop"] = new(any(js.NewDict(
				[]string{"index", "index0", "revindex", "revindex0", "first", "last", "length"},
				[]any{number(i + 1), number(i), number(n - i), number(n - i - 1), i == 0, i == n-1, number(n)})))
			c.eval(body)
		}
		c.frame = around
		return nil
	}, in)
}

func (p *parser) assignment(at int) *expression {
	names := p.words()
	var value *expression
	if p.skip("=") {
		value = p.expression()
	} else {
		p.close("%}", "block")
		p.trim = false // Nunjucks keeps the white space here
		block := p.block("endset")
		value = node(at, func(c call) any { return c.captured(block) })
	}
	p.bind(1, names...)
	return node(at, func(c call) any {
		for _, name := range names {
			c.frame.set(name, c.args[0])
		}
		return nil
	}, value)
}

// macro is a block with parameters, and their values where a call has no argument.
type macro struct {
	name     string
	names    []string
	defaults []*expression
	body     *expression
}

func (p *parser) macro(at int) *expression {
	m := &macro{name: p.word().text}
	p.bind(1, m.name)
	p.want("(")
	p.each(")", func() {
		m.names = append(m.names, p.word().text)
		value := constant(p.token.at, js.Undefined{})
		if p.skip("=") {
			value = p.expression()
		}
		m.defaults = append(m.defaults, value)
	})
	p.bind(1, m.names...)
	m.body = p.body("endmacro")
	p.bind(-1, m.names...)
	return node(at, func(c call) any {
		c.frame.set(m.name, m)
		return nil
	})
}

func (p *parser) cases(at int) *expression {
	of := p.expression()
	p.body("case", "default", "endswitch") // what is before the first case is not written
	if p.tag.text != "case" {
		p.refuse(at, "", "invalid template: a switch needs a case")
	}
	var tests, bodies []*expression
	for p.tag.text == "case" {
		tests, bodies = append(tests, p.expression()), append(bodies, p.body("case", "default", "endswitch"))
	}
	if p.tag.text == "default" {
		bodies = append(bodies, p.body("endswitch"))
	}
	return node(at, func(c call) any {
		found := slices.IndexFunc(tests, func(test *expression) bool { return must(js.Same(c.args[0], c.eval(test))) })
		if found < 0 {
			found = len(tests)
		}
		for _, body := range bodies[found:] {
			if len(body.args) > 0 { // an empty case is the same as the next one
				return c.eval(body)
			}
		}
		return nil
	}, of)
}
