package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// fault is an error at a byte offset of a text.
type fault struct {
	at            int
	message, hint string
}

func (f *fault) Error() string { return f.message }

// trailing is the error of a text that continues after its value.
func trailing(text []byte, at int) *fault {
	switch text[at] {
	case '{':
		return &fault{at, "a second object on the line", "a suite has one case per line"}
	case '/', '#':
		return &fault{at, "invalid JSON: JSON has no comments", ""}
	}
	return &fault{at, fmt.Sprintf("invalid JSON: unexpected %s after the value", character(text, at)), ""}
}

// explain returns in plain words why text is not JSON.
func explain(text []byte, err error) *fault {
	s, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return &fault{len(text), "invalid JSON: the text ends too early", "is a quote or a bracket missing?"}
	}
	at := min(max(int(s.ByteOffset), 0), len(text))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &fault{len(text), "invalid JSON: " + unfinished(text), ""}
	case at == len(text):
		return &fault{at, "invalid JSON: " + s.Err.Error(), ""}
	}
	return word(text, at, s)
}

// word explains the error at a character of text.
func word(text []byte, at int, s *jsontext.SyntacticError) *fault {
	message := strings.ReplaceAll(s.Err.Error(), "expecting", "expected")
	f := &fault{at, "invalid JSON: " + message, ""}
	before := bytes.TrimRight(text[:at], " \t")
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return bytes.HasPrefix(text[at:], []byte(w)) })
	}
	switch {
	case strings.Contains(message, "surrogate"):
		f.message, f.hint = "invalid JSON: half of a surrogate pair", `a character above \uFFFF is written as two \u escapes`
	case has("}", "]") && bytes.HasSuffix(before, []byte(",")):
		f.message = fmt.Sprintf("invalid JSON: a comma before the closing %c", text[at])
	case has("'", "\u2018", "\u2019", "\u201C", "\u201D"):
		f.message = fmt.Sprintf("invalid JSON: unexpected %s", character(text, at))
		f.hint = `strings are written in straight double quotes`
	case has("//", "/*", "#"):
		f.message = "invalid JSON: JSON has no comments"
	case has("NaN", "Infinity", "-Infinity", "nan", "inf"):
		f.message, f.hint = "invalid JSON: NaN and Infinity are not JSON", "use null or a finite number"
	case has("True", "False", "None"):
		f.message, f.hint = "invalid JSON: "+string(text[at:at+4])+" is Python", "JSON has true, false and null"
		if has("False") {
			f.message = "invalid JSON: False is Python"
		}
	case text[at] < ' ' && strings.Contains(message, "string"):
		f.message = fmt.Sprintf("invalid JSON: %s within a string", character(text, at))
		f.hint = `write it as an escape such as \t or \n`
	}
	return f
}

// unfinished returns what is missing at the end of a text that ends too early.
func unfinished(text []byte) string {
	var open []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			start := i
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) {
				return fmt.Sprintf("the line ends within the string that begins %s", QuoteStart(text[start:]))
			}
		case '{', '[':
			open = append(open, c+2) // the closing bracket is two code points later
		case '}', ']':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	if len(open) == 0 {
		return "the line ends too early"
	}
	return fmt.Sprintf("the line ends too early, expected %q", open[len(open)-1])
}

// QuoteStart returns the first characters of a text that is quoted in a message.
func QuoteStart(text []byte) string {
	const shown = 24
	runes := []rune(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))))
	if len(runes) > shown {
		return string(runes[:shown]) + "…"
	}
	return string(runes)
}

// character returns the character at an offset, or its code point if it is not visible.
func character(text []byte, at int) string {
	r, _ := utf8.DecodeRune(text[at:])
	if r > ' ' && r < 0x7F {
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("%U", r)
}
