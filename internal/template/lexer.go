package template

import (
	"regexp"
	"strings"

	"github.com/plumb-eval/plumb/internal/js"
)

// kind is the kind of a token.
type kind uint8

// The kinds are the groups of tokens, in their order.
const (
	end     kind = iota // the end of the template
	closing             // %} or }}, also with a minus before it
	digits              // a number
	quoted              // a text in quotes
	pattern             // a regular expression, r/.../g
	word                // a name
	symbol              // an operator or a bracket
)

//nolint:gochecknoglobals // never changed
var (
	// tokens matches a token at the start of a text, with a group for each kind.
	tokens = regexp.MustCompile(`^(?s:(-?[%}]\})|([0-9][\pL\pM\p{Nd}_$]*(?:\.[0-9]*)?)|` +
		`("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(r/(?:[^/\\]|\\.)*/[a-z]*)|([\pL\pM\p{Nd}_$]+)|` +
		`([=!]==|[=!<>]=|\*\*|//|[()\[\]{},:.|~+*/%<>=-]))`)
	opening = regexp.MustCompile(`\{[{%#]`)
	escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\`, "")
)

// token is a part of a tag. A text in quotes, which text has without them, a number and a regular
// expression have a value.
type token struct {
	kind  kind
	text  string
	value any
	at    int
}

// lexer splits a template into text and the tokens of its tags.
type lexer struct {
	text string
	at   int
	// token is the token that comes next in a tag.
	token token
	// trim is set after a tag that ends with a minus: the next text loses white space before it.
	trim bool
}

// upToTag returns the text before the next tag, and the two bytes that open it; "" at the end.
func (l *lexer) upToTag() (text, open string) {
	text = l.text[l.at:]
	if tag := opening.FindStringIndex(text); tag != nil {
		text, open = text[:tag[0]], text[tag[0]:tag[1]]
	}
	l.at += len(text) + len(open)
	l.token = token{text: "end of file", at: l.at - len(open)}
	if l.trim && text != "" {
		text, l.trim = strings.TrimLeftFunc(text, js.IsSpace), false
	}
	if open != "" && strings.HasPrefix(l.text[l.at:], "-") {
		l.at++
		text = strings.TrimRightFunc(text, js.IsSpace)
	}
	return text, open
}

// upTo returns the text up to a match of a pattern, and skips both.
func (l *lexer) upTo(pattern, name string) string {
	rest := l.text[l.at:]
	found := regexp.MustCompile(pattern).FindStringIndex(rest)
	need(found != nil, "invalid template: expected %s, got end of file", name)
	l.at += found[1]
	return rest[:found[0]]
}

// advance returns the next token of a tag, and reads the one after it.
func (l *lexer) advance() token {
	before, rest := l.token, strings.TrimLeftFunc(l.text[l.at:], js.IsSpace)
	l.at = len(l.text) - len(rest)
	l.token = token{text: "end of file", at: l.at}
	if rest == "" {
		return before
	}
	groups := tokens.FindStringSubmatch(rest)
	need(groups != nil, "invalid template: unexpected %.1q", rest)
	t := &l.token
	t.text = groups[0]
	for t.kind = closing; groups[t.kind] == ""; {
		t.kind++
	}
	l.at += len(t.text)
	switch t.kind {
	case closing:
		l.trim = t.text[0] == '-'
	case quoted:
		t.text = escapes.Replace(t.text[1 : len(t.text)-1])
		t.value = t.text
	case digits:
		need(strings.Trim(t.text, "0123456789.") == "", "invalid template: a number is digits, with a point at most")
		t.value = js.Parse(t.text)
	case pattern:
		t.value = must(js.ParseRegex(t.text[1:]))
	case end, word, symbol:
	}
	return before
}
