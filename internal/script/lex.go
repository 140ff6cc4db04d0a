package script

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a piece of JavaScript or TypeScript, as scan distinguishes them.
type token struct {
	at, end int
	kind    tokenKind
	text    string
}

type tokenKind int

const (
	tokenWord   tokenKind = iota // names, keywords, numbers
	tokenString                  // string and template without substitutions
	tokenPunct                   // one character
	tokenRegExp
	tokenTemplate // part of a template with substitutions
)

// scan splits source into tokens, well enough to distinguish code from comments, strings and
// regular expressions. It guesses from the previous token whether a slash starts a regular
// expression; rare expressions defeat the guess.
//
// The package needs tokens where esbuild offers no syntax tree and no definitions per file: for the
// text of a failed call in the message of assert.ok, and to find import.meta, import(expression),
// __dirname and __filename.
func scan(source string) []token {
	var out []token
	var templates []int // depth of braces at each open substitution
	depth := 0
	add := func(at, end int, kind tokenKind) {
		out = append(out, token{at, end, kind, source[at:end]})
	}
	i := 0
	template := func(at int) { // source[i] follows the opening quote or the closing brace
		for i < len(source) {
			switch {
			case source[i] == '\\':
				i += 2
				continue
			case source[i] == '`':
				i++
				kind := tokenString
				if source[at] == '}' {
					kind = tokenTemplate
				}
				add(at, i, kind)
				return
			case strings.HasPrefix(source[i:], "${"):
				i += 2
				add(at, i, tokenTemplate)
				templates = append(templates, depth)
				depth++
				return
			}
			i++
		}
		i = min(i, len(source))
		add(at, i, tokenTemplate)
	}
	if strings.HasPrefix(source, "#!") {
		i = lineEnd(source, 0)
	}
	for i < len(source) {
		c := source[i]
		at := i
		switch {
		case strings.HasPrefix(source[i:], "//"):
			i = lineEnd(source, i)
		case strings.HasPrefix(source[i:], "/*"):
			if j := strings.Index(source[i+2:], "*/"); j >= 0 {
				i += j + 4
			} else {
				i = len(source)
			}
		case c == '"' || c == '\'':
			i++
			for i < len(source) && source[i] != c && source[i] != '\n' {
				if source[i] == '\\' {
					i++
				}
				i++
			}
			i = min(i+1, len(source))
			add(at, i, tokenString)
		case c == '`':
			i++
			template(at)
		case c == '}' && len(templates) > 0 && templates[len(templates)-1] == depth-1:
			templates = templates[:len(templates)-1]
			depth--
			i++
			template(at)
		case c == '/' && regexpMayBegin(out):
			if end := regexpEnd(source, i); end > 0 {
				i = end
				add(at, i, tokenRegExp)
			} else {
				i++
				add(at, i, tokenPunct)
			}
		default:
			r, size := utf8.DecodeRuneInString(source[i:])
			i += size
			switch {
			case wordRune(r):
				for i < len(source) {
					r, size := utf8.DecodeRuneInString(source[i:])
					if !wordRune(r) {
						break
					}
					i += size
				}
				add(at, i, tokenWord)
			case !unicode.IsSpace(r) && r != '\uFEFF':
				switch c {
				case '{':
					depth++
				case '}':
					depth--
				}
				add(at, i, tokenPunct)
			}
		}
	}
	return out
}

func wordRune(r rune) bool {
	return r == '_' || r == '$' || r == '#' || r == '\\' || r == '\u200c' || r == '\u200d' || unicode.IsLetter(r) ||
		unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

func lineEnd(s string, from int) int {
	if j := strings.IndexByte(s[from:], '\n'); j >= 0 {
		return from + j
	}
	return len(s)
}

func regexpMayBegin(before []token) bool {
	if len(before) == 0 {
		return true
	}
	last := before[len(before)-1]
	switch last.kind {
	case tokenString, tokenRegExp:
		return false
	case tokenTemplate:
		return strings.HasSuffix(last.text, "${")
	case tokenWord:
		switch last.text {
		case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else", "instanceof",
			"yield", "await", "default":
			return true
		}
		return false
	case tokenPunct:
		return last.text != ")" && last.text != "]" && last.text != "}"
	}
	return false
}

func regexpEnd(s string, from int) int {
	class := false
	for i := from + 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n':
			return 0
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			i++
			for i < len(s) && s[i] >= 'a' && s[i] <= 'z' {
				i++
			}
			return i
		}
	}
	return 0
}

// callAt returns the text of the call expression at a position: from the start of its callee to its
// closing parenthesis. Line and column count from 1, in UTF-16 units.
func callAt(source string, line, column int) string {
	offset := offsetOf(source, line, column)
	if offset < 0 {
		return ""
	}
	tokens := scan(source)
	i := 0
	for i < len(tokens) && tokens[i].end <= offset {
		i++
	}
	if i == len(tokens) {
		return ""
	}
	// Go forward over names and dots to the opening parenthesis, then to its closing one.
	open := i
	for open < len(tokens) && tokens[open].text != "(" {
		if t := tokens[open]; t.kind != tokenWord && t.text != "." && t.text != "?" && t.text != "!" {
			return ""
		}
		open++
	}
	depth, end := 0, -1
	for j := open; j < len(tokens); j++ {
		switch t := tokens[j]; {
		case t.text == "(" || t.text == "[" || t.text == "{" ||
			t.kind == tokenTemplate && strings.HasSuffix(t.text, "${") && t.text[0] != '}':
			depth++
		case t.text == ")" || t.text == "]" || t.text == "}" ||
			t.kind == tokenTemplate && t.text[0] == '}' && !strings.HasSuffix(t.text, "${"):
			depth--
		}
		if depth == 0 {
			end = tokens[j].end
			break
		}
	}
	if end < 0 {
		return ""
	}
	// Go back over the names and dots before the position: assert.ok is one callee.
	start := i
	for start >= 2 && tokens[start].kind == tokenWord && tokens[start-1].text == "." &&
		tokens[start-2].kind == tokenWord {
		start -= 2
	}
	if tokens[start].text == "(" { // the position is at the parenthesis
		for start >= 1 && (tokens[start-1].kind == tokenWord || tokens[start-1].text == ".") {
			start--
		}
	}
	return source[tokens[start].at:end]
}

// offsetOf returns the byte offset of a line and column, or -1.
func offsetOf(source string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		j := strings.IndexByte(source[at:], '\n')
		if j < 0 {
			return -1
		}
		at += j + 1
	}
	for units := column - 1; units > 0 && at < len(source) && source[at] != '\n'; {
		r, size := utf8.DecodeRuneInString(source[at:])
		at += size
		units--
		if r > 0xFFFF {
			units--
		}
	}
	return at
}
