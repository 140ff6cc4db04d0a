package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb/internal/doc"
)

// node is a JSON value within a text that is known to be valid JSON, with its offset in that text.
type node struct {
	raw []byte
	at  int
}

// member is one name and value of an object. The name is as written, quotes included.
type member struct {
	name, value node
}

// kind returns the first byte of the value: one of { [ " t f n - 0..9.
func (n node) kind() byte { return n.raw[0] }

// kindName says what the value is, for messages.
func (n node) kindName() string {
	switch n.kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// text returns the string that a string value stands for.
func (n node) text() string {
	inner := n.raw[1 : len(n.raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	s, err := jsontext.AppendUnquote(nil, n.raw)
	if err != nil {
		return strings.ToValidUTF8(string(s), "\uFFFD")
	}
	return string(s)
}

// members yields the members of an object, duplicates included.
func (n node) members() iter.Seq[member] {
	return func(yield func(member) bool) {
		i := skipSpace(n.raw, 1)
		for n.raw[i] != '}' {
			end := skipValue(n.raw, i)
			name := node{n.raw[i:end], n.at + i}
			i = skipSpace(n.raw, end)
			i = skipSpace(n.raw, i+1) // the colon
			end = skipValue(n.raw, i)
			if !yield(member{name, node{n.raw[i:end], n.at + i}}) {
				return
			}
			i = skipSpace(n.raw, end)
			if n.raw[i] == ',' {
				i = skipSpace(n.raw, i+1)
			}
		}
	}
}

// elements yields the elements of a list.
func (n node) elements() iter.Seq[node] {
	return func(yield func(node) bool) {
		i := skipSpace(n.raw, 1)
		for n.raw[i] != ']' {
			end := skipValue(n.raw, i)
			if !yield(node{n.raw[i:end], n.at + i}) {
				return
			}
			i = skipSpace(n.raw, end)
			if n.raw[i] == ',' {
				i = skipSpace(n.raw, i+1)
			}
		}
	}
}

// find returns the offset of the value that a JSON pointer leads to, or of its key. Where the pointer leads nowhere it
// returns that of the last value on the way.
func (n node) find(pointer string, key bool) int {
	at := n.at
	for token := range jsontext.Pointer(pointer).Tokens() {
		next, name, ok := n.child(token)
		if !ok {
			return n.at
		}
		n, at = next, next.at
		if key {
			at = name
		}
	}
	return at
}

// child returns a member or element, and the offset of its key; an element is its own.
func (n node) child(token string) (child node, key int, ok bool) {
	switch n.kind() {
	case '{':
		for m := range n.members() {
			if m.name.text() == token {
				child, key, ok = m.value, m.name.at, true // of duplicates the last one counts
			}
		}
	case '[':
		i := 0
		for e := range n.elements() {
			if strconv.Itoa(i) == token {
				return e, e.at, true
			}
			i++
		}
	}
	return child, key, ok
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r' {
		i++
	}
	return i
}

// skipValue returns the offset after the valid JSON value at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++ // only within a list or object
			continue
		default:
			i = skipWord(b, i)
		}
		if depth == 0 {
			return i
		}
	}
}

// skipWord returns the offset after the number or literal at i.
func skipWord(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case ',', ':', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return i
}

func skipString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// syntax checks JSON texts. It keeps its buffers from text to text; it is not safe for concurrent use.
type syntax struct {
	dec *jsontext.Decoder
	buf *bytes.Buffer
}

// fault is a problem at a byte offset of a text.
type fault struct {
	at            int
	message, hint string
}

// value returns the one JSON value that text holds, or what is wrong with it. A fault that concerns duplicate names
// only, or bytes that are not UTF-8, leaves the value usable; otherwise ok is false.
func (s *syntax) value(text []byte) (n node, faults []fault, ok bool) {
	err := s.parse(text)
	if err == nil {
		return trimmed(text), nil, true
	}
	if !utf8.Valid(text) {
		at := invalidUTF8(text)
		faults = append(faults, fault{at, fmt.Sprintf("byte 0x%02X is not valid UTF-8", text[at]), "save the file as UTF-8"})
		err = s.parse(text, jsontext.AllowInvalidUTF8(true))
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		if err = s.parse(text, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err == nil {
			faults = append(faults, duplicates(trimmed(text))...)
		}
	}
	if err != nil {
		return node{}, append(faults, explain(text, err)), false
	}
	return trimmed(text), faults, true
}

// parse returns an error unless text is one JSON value.
func (s *syntax) parse(text []byte, o ...jsontext.Options) error {
	if s.dec == nil {
		s.buf, s.dec = &bytes.Buffer{}, jsontext.NewDecoder(strings.NewReader(""))
	}
	*s.buf = *bytes.NewBuffer(text)
	s.dec.Reset(s.buf, o...)
	if _, err := s.dec.ReadValue(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	end := int(s.dec.InputOffset())
	if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 {
		return &trailing{len(text) - len(rest)}
	}
	return nil
}

// tooDeep returns the offset at which lists and objects are nested too deep in a JSON text, valid or not, or -1.
func tooDeep(text []byte) int {
	if bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) <= doc.Depth {
		return -1
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			if depth++; depth > doc.Depth {
				return i
			}
		case ']', '}':
			depth--
		}
	}
	return -1
}

// manyValues reports whether a JSON text holds more values than a case may: names count, too. Commas and colons in strings
// only count where those alone would be too many.
func manyValues(text []byte) bool {
	if len(text) <= doc.CaseValues || bytes.Count(text, []byte{','})+bytes.Count(text, []byte{':'}) <= doc.CaseValues {
		return false
	}
	n := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case ',', ':':
			n++
		}
	}
	return n > doc.CaseValues
}

// trailing is the error of a text that goes on after its value.
type trailing struct{ at int }

func (t *trailing) Error() string { return "text after the value" }

func trimmed(text []byte) node {
	at := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	return node{bytes.TrimRight(text[at:], " \t\r\n"), at}
}

func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// duplicates returns a fault for each name that an object within n has given before, at any depth.
func duplicates(n node) []fault {
	var faults []fault
	switch n.kind() {
	case '{':
		seen := map[string]bool{}
		for m := range n.members() {
			name := m.name.text()
			if seen[name] {
				faults = append(faults, fault{m.name.at, fmt.Sprintf("duplicate key %q", name), ""})
			}
			seen[name] = true
			faults = append(faults, duplicates(m.value)...)
		}
	case '[':
		for e := range n.elements() {
			faults = append(faults, duplicates(e)...)
		}
	}
	return faults
}

// explain says in plain words why text is not JSON.
func explain(text []byte, err error) fault {
	if t, ok := errors.AsType[*trailing](err); ok {
		if text[t.at] == '{' {
			return fault{t.at, "a second object on the line", "one case a line"}
		}
		if rest := text[t.at:]; rest[0] == '/' || rest[0] == '#' {
			return fault{t.at, "invalid JSON: JSON has no comments", ""}
		}
		return fault{t.at, fmt.Sprintf("invalid JSON: unexpected %s after the value", character(text, t.at)), ""}
	}
	s, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return fault{len(text), "invalid JSON: the text ends too early", "is a quote or a bracket missing?"}
	}
	at := min(max(int(s.ByteOffset), 0), len(text))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault{len(text), "invalid JSON: " + unfinished(text), ""}
	case at == len(text):
		return fault{at, "invalid JSON: " + s.Err.Error(), ""}
	}
	return word(text, at, s)
}

// word explains the error at a character of text.
func word(text []byte, at int, s *jsontext.SyntacticError) fault {
	message := strings.ReplaceAll(s.Err.Error(), "expecting", "expected")
	f := fault{at, "invalid JSON: " + message, ""}
	before := bytes.TrimRight(text[:at], " \t")
	has := func(words ...string) bool {
		for _, w := range words {
			if bytes.HasPrefix(text[at:], []byte(w)) {
				return true
			}
		}
		return false
	}
	switch {
	case strings.Contains(message, "surrogate") || strings.HasPrefix(message, "invalid surrogate"):
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
		f.message, f.hint = "invalid JSON: "+string(text[at:at+4])+" is Python", "JSON writes true, false and null"
		if has("False") {
			f.message = "invalid JSON: False is Python"
		}
	case text[at] < ' ' && strings.Contains(message, "string"):
		f.message = fmt.Sprintf("invalid JSON: %s within a string", character(text, at))
		f.hint = `write it as an escape such as \t or \n`
	}
	return f
}

// unfinished says what is missing at the end of a text that ends too early.
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
				return fmt.Sprintf("the line ends within the string that begins %s", quoteStart(text[start:]))
			}
		case '{', '[':
			open = append(open, c+2) // the closing one is two code points on
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

func quoteStart(text []byte) string {
	const shown = 24
	runes := []rune(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))))
	if len(runes) > shown {
		return string(runes[:shown]) + "…"
	}
	return string(runes)
}

// character names the character at an offset, so that invisible ones can be told.
func character(text []byte, at int) string {
	r, _ := utf8.DecodeRune(text[at:])
	if r > ' ' && r < 0x7F {
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf("%U", r)
}
