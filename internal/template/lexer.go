package template

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

// The kinds are the groups of tokens, in their order.
const (
	end      kind = iota // the end of the template
	closing              // %} or }}, also with a minus before it
	digits               // a number
	quoted               // a text in quotes
	pattern              // a regular expression, r/.../g
	word                 // a name
	operator             // an operator or a bracket
)

// tokens matches a token at the start of a text, with a group for each kind.
var tokens = regexp.MustCompile(`^(?s:(-?[%}]\})|([0-9]+(?:\.[0-9]*)?)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|` +
	`(r/(?:[^/\\]|\\.)*/[a-z]*)|([\pL\pM\p{Nd}_$]+)|([=!]==|[=!<>]=|\*\*|//|[()\[\]{},:.|~+*/%<>=-]))`)

// token is a part of a tag. Of a text in quotes, text is the value.
type token struct {
	kind kind
	text string
	at   int
}

// lexer splits a template into text and the tokens of its tags.
type lexer struct {
	text string
	at   int
	// trim is set after a tag that ends with a minus: white space at the start of the next text goes.
	trim bool
}

func isSpace(r rune) bool { return unicode.IsSpace(r) && r != '\u0085' || r == '\uFEFF' }

var opening = regexp.MustCompile(`\{[{%#]`)

// upToTag returns the text before the next tag, and the two bytes that open it; "" at the end.
func (l *lexer) upToTag() (text, open string) {
	text = l.text[l.at:]
	if tag := opening.FindStringIndex(text); tag != nil {
		text, open = text[:tag[0]], text[tag[0]:tag[1]]
	}
	l.at += len(text) + len(open)
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
	comment, _, ended := strings.Cut(l.text[l.at:], "#}")
	if !ended {
		fail(at, "invalid template: expected end of comment, got end of file")
	}
	l.trim = strings.HasSuffix(comment, "-")
	l.at += len(comment) + len("#}")
}

// raw returns the text up to the end of a block raw or verbatim.
func (l *lexer) raw(name string, at int) string {
	rest := l.text[l.at:]
	tag := regexp.MustCompile(`\{%\s*end` + name + `\s*%\}`).FindStringIndex(rest)
	if tag == nil {
		fail(at, "invalid template: expected end%s, got end of file", name)
	}
	l.at += tag[1]
	return rest[:tag[0]]
}

// next returns the next token of a tag.
func (l *lexer) next() token {
	rest := strings.TrimLeftFunc(l.text[l.at:], isSpace)
	t := token{text: "end of file", at: len(l.text) - len(rest)}
	if l.at = t.at; rest == "" {
		return t
	}
	groups := tokens.FindStringSubmatch(rest)
	if groups == nil {
		r, _ := utf8.DecodeRuneInString(rest)
		if r == '"' || r == '\'' {
			fail(t.at, "invalid template: a text without its closing quote")
		}
		fail(t.at, "invalid template: unexpected %q", r)
	}
	t.text = groups[0]
	for t.kind = closing; groups[t.kind] == ""; {
		t.kind++
	}
	l.at += len(t.text)
	switch t.kind {
	case closing:
		l.trim = t.text[0] == '-'
	case digits:
		if following := tokens.FindStringSubmatch(l.text[l.at:]); following != nil && following[word] != "" {
			fail(t.at, "invalid template: a number is digits, with a point at most")
		}
	case quoted:
		t.text = unescaped(t.text[1 : len(t.text)-1])
	case end, pattern, word, operator:
	}
	return t
}

var escapes = regexp.MustCompile(`(?s)\\.`)

func unescaped(text string) string {
	return escapes.ReplaceAllStringFunc(text, func(escape string) string {
		switch escape[1:] {
		case "n":
			return "\n"
		case "t":
			return "\t"
		case "r":
			return "\r"
		}
		return escape[1:]
	})
}
