package template

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	end      kind = iota // the end of the template
	word                 // a name
	digits               // a number
	quoted               // a text in quotes
	pattern              // a regular expression, r/.../flags
	operator             // an operator or a bracket
	closing              // %} or }}, also with a minus before it
)

// token is a part of a tag. For quoted, text is the value without quotes; for pattern, the expression, and flags follow.
type token struct {
	kind        kind
	text, flags string
	at          int
}

// lexer splits a template into text and the tokens of its tags.
type lexer struct {
	text string
	at   int
	// trim is set after a tag that ends with a minus: white space at the start of the next text goes.
	trim bool
}

func isSpace(r rune) bool { return unicode.IsSpace(r) && r != '\u0085' || r == '\uFEFF' }

// upToTag returns the text before the next tag, and the two bytes that open it; "" at the end.
func (l *lexer) upToTag() (text, open string) {
	rest := l.text[l.at:]
	i := 0
	for ; i < len(rest); i++ {
		if rest[i] == '{' && i+1 < len(rest) && strings.IndexByte("{%#", rest[i+1]) >= 0 {
			open = rest[i : i+2]
			break
		}
	}
	text = rest[:i]
	l.at += i + len(open)
	if l.trim && text != "" {
		text, l.trim = strings.TrimLeftFunc(text, isSpace), false
	}
	if open != "" && strings.HasPrefix(l.text[l.at:], "-") {
		l.at++
		text = strings.TrimRightFunc(text, isSpace)
	}
	return text, open
}

// comment skips a comment whose opening was read.
func (l *lexer) comment(at int) {
	i := strings.Index(l.text[l.at:], "#}")
	if i < 0 {
		fail(at, "invalid template: expected end of comment, got end of file")
	}
	l.trim = i > 0 && l.text[l.at+i-1] == '-'
	l.at += i + len("#}")
}

// raw returns the text up to the end of a block raw or verbatim, in which blocks of this name can be nested.
func (l *lexer) raw(name string, at int) string {
	start, depth := l.at, 1
	for i := l.at; ; {
		next := strings.Index(l.text[i:], "{%")
		if next < 0 {
			fail(at, "invalid template: expected end%s, got end of file", name)
		}
		open := i + next
		inside := strings.TrimLeftFunc(l.text[open+2:], isSpace)
		tag := inside[:isName(inside)]
		after := strings.TrimLeftFunc(inside[len(tag):], isSpace)
		i = open + 2
		if !strings.HasPrefix(after, "%}") {
			continue
		}
		switch tag {
		case name:
			depth++
		case "end" + name:
			depth--
		}
		if depth == 0 {
			l.at = len(l.text) - len(after) + len("%}")
			return l.text[start:open]
		}
	}
}

// operators are the operators and brackets, the longer ones first.
const operators = "=== !== == != <= >= ** // ( ) [ ] { } , : . | ~ + - * / % < > ="

// next returns the next token of a tag.
func (l *lexer) next() token {
	rest := strings.TrimLeftFunc(l.text[l.at:], isSpace)
	l.at = len(l.text) - len(rest)
	at := l.at
	if rest == "" {
		return token{kind: end, text: "end of file", at: at}
	}
	for _, c := range [...]string{"%}", "}}", "-%}", "-}}"} {
		if strings.HasPrefix(rest, c) {
			l.at += len(c)
			l.trim = c[0] == '-'
			return token{kind: closing, text: c, at: at}
		}
	}
	switch c := rest[0]; {
	case c == '"' || c == '\'':
		return l.quote(c)
	case strings.HasPrefix(rest, "r/"):
		return l.pattern()
	case c >= '0' && c <= '9':
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if strings.HasPrefix(rest[n:], ".") {
			n++
			n = len(rest) - len(strings.TrimLeft(rest[n:], "0123456789"))
		}
		if isName(rest[n:]) != 0 {
			fail(at, "invalid template: a number is digits, with a point at most")
		}
		l.at += n
		return token{kind: digits, text: rest[:n], at: at}
	}
	if n := isName(rest); n > 0 {
		l.at += n
		return token{kind: word, text: rest[:n], at: at}
	}
	for op := range strings.FieldsSeq(operators) {
		if strings.HasPrefix(rest, op) {
			l.at += len(op)
			return token{kind: operator, text: op, at: at}
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	fail(at, "invalid template: unexpected %q", r)
	return token{}
}

// isName returns the length of the name that a text begins with, in bytes.
func isName(text string) int {
	i := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	if i < 0 {
		return len(text)
	}
	return i
}

// quote reads a text in quotes.
func (l *lexer) quote(q byte) token {
	at := l.at
	var b strings.Builder
	for l.at++; l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		if c == q {
			l.at++
			return token{kind: quoted, text: b.String(), at: at}
		}
		if c == '\\' && l.at+1 < len(l.text) {
			l.at++
			c = l.text[l.at]
			if i := strings.IndexByte("ntr", c); i >= 0 {
				c = "\n\t\r"[i]
			}
		}
		b.WriteByte(c)
	}
	fail(at, "invalid template: a text without its closing quote")
	return token{}
}

// pattern reads a regular expression.
func (l *lexer) pattern() token {
	at := l.at
	for l.at += len("r/"); l.at < len(l.text) && l.text[l.at] != '/'; l.at++ {
		if l.text[l.at] == '\\' {
			l.at++
		}
	}
	if l.at >= len(l.text) {
		fail(at, "invalid template: a regular expression without its closing /")
	}
	t := token{kind: pattern, text: l.text[at+len("r/") : l.at], at: at}
	l.at++
	rest := l.text[l.at:]
	t.flags = rest[:len(rest)-len(strings.TrimLeft(rest, "gimy"))]
	l.at += len(t.flags)
	return t
}
