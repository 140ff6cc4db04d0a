package suite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// tomlLines knows where the keys and tables of a TOML text stand, which the decoder does not tell,
// so that messages can point at them and values can be changed without touching anything else in
// the file.
//
// It takes the text for valid; on one that is not it finds less, and never fails.
type tomlLines struct {
	data    []byte
	entries []tomlEntry
	// over says which bound the text exceeds, and overAt where; nothing beyond that is known then.
	over   string
	overAt int
}

// tomlEntry is a table header or a key with its value. The fields are byte offsets; a header has no
// value.
type tomlEntry struct {
	key                      []string
	header                   bool
	start, value, valueEnd   int
	indent, lineEnd, tableAt int
}

func indexTOML(data []byte) tomlLines {
	s := &tomlScanner{data: data}
	if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
		s.i = 3
	}
	l := tomlLines{data: data}
	var table []string
	tableAt := -1
	for {
		s.blank()
		if len(l.entries)+s.inner > doc.ManifestKeys {
			s.exceeds(fmt.Sprintf("more than %d keys and list elements", doc.ManifestKeys))
		}
		if s.end() {
			l.over, l.overAt = s.over, s.overAt
			return l
		}
		e := tomlEntry{start: s.i, indent: bytes.LastIndexByte(data[:s.i], '\n') + 1}
		if s.data[s.i] == '[' {
			for !s.end() && s.data[s.i] == '[' {
				s.i++
			}
			table = s.key("]\n")
			tableAt = len(l.entries)
			e.header, e.key = true, table
			for !s.end() && s.data[s.i] == ']' {
				s.i++
			}
		} else {
			e.key = append(slices.Clone(table), s.key("=\n")...)
			if !s.end() && s.data[s.i] == '=' {
				s.i++
			}
			s.spaces()
			e.value = s.i
			s.skipValue()
			e.valueEnd = e.value + len(bytes.TrimRight(data[e.value:s.i], " \t\r"))
		}
		s.line()
		e.lineEnd, e.tableAt = s.i, tableAt
		l.entries = append(l.entries, e)
	}
}

// find returns line and column of the key, or of the nearest thing around or in it that has a
// place.
func (l tomlLines) find(key []string) (line, column int) {
	for n := len(key); n > 0; n-- {
		within := -1
		for i, e := range l.entries {
			if slices.Equal(e.key, key[:n]) {
				return l.place(e.start)
			}
			if within < 0 && len(e.key) > n && slices.Equal(e.key[:n], key[:n]) {
				within = i
			}
		}
		if within >= 0 {
			return l.place(l.entries[within].start)
		}
	}
	return 1, 1
}

func (l tomlLines) place(offset int) (line, column int) {
	begin := bytes.LastIndexByte(l.data[:offset], '\n') + 1
	return bytes.Count(l.data[:offset], []byte("\n")) + 1, utf8.RuneCount(l.data[begin:offset]) + 1
}

// clamp turns the decoder's position of a syntax error, which may lie just outside of the text,
// into one within it.
func (l tomlLines) clamp(file string, p toml.Position) plumb.Position {
	offset := min(max(p.Start, 0), len(l.data))
	line, column := l.place(offset)
	return plumb.Position{File: file, Line: line, Column: column}
}

// set returns the text with the key set to a value in TOML syntax. The table of the key must be
// written as [table].
func (l tomlLines) set(key []string, value string) ([]byte, error) {
	for _, e := range l.entries {
		if !e.header && slices.Equal(e.key, key) {
			return splice(l.data, e.value, e.valueEnd, value), nil
		}
	}
	table, name := key[:len(key)-1], key[len(key)-1]
	for i, e := range l.entries {
		if !e.header || !slices.Equal(e.key, table) {
			continue
		}
		last, indent := e, ""
		for _, in := range l.entries[i+1:] {
			if in.header || in.tableAt != i {
				break
			}
			last, indent = in, string(l.data[in.indent:in.start])
		}
		eol := "\n"
		if bytes.Contains(l.data, []byte("\r\n")) {
			eol = "\r\n"
		}
		line := indent + name + " = " + value + eol
		if last.lineEnd == len(l.data) && !bytes.HasSuffix(l.data, []byte("\n")) {
			line = eol + strings.TrimSuffix(line, eol)
		}
		return splice(l.data, last.lineEnd, last.lineEnd, line), nil
	}
	return nil, fmt.Errorf("cannot write %s: the manifest has no line [%s]", strings.Join(key, "."),
		strings.Join(table, "."))
}

// remove returns the text without the lines of the key.
func (l tomlLines) remove(key []string) []byte {
	for _, e := range l.entries {
		if !e.header && slices.Equal(e.key, key) {
			return splice(l.data, e.indent, e.lineEnd, "")
		}
	}
	return l.data
}

func splice(data []byte, from, to int, text string) []byte {
	return slices.Concat(data[:from], []byte(text), data[to:])
}

// tomlScanner walks through a TOML text.
type tomlScanner struct {
	data []byte
	i    int

	inner  int    // keys and elements within values
	over   string // the first bound that the text exceeds, and where; the scanner is at its end then
	overAt int
}

// exceeds ends the scan, since the text exceeds a bound.
func (s *tomlScanner) exceeds(what string) {
	if s.over == "" {
		s.over, s.overAt = what, min(s.i, len(s.data))
	}
	s.i = len(s.data)
}

func (s *tomlScanner) end() bool { return s.i >= len(s.data) }

func (s *tomlScanner) spaces() {
	for !s.end() && (s.data[s.i] == ' ' || s.data[s.i] == '\t') {
		s.i++
	}
}

// line goes behind the end of the line.
func (s *tomlScanner) line() {
	if n := bytes.IndexByte(s.data[s.i:], '\n'); n >= 0 {
		s.i += n + 1
		return
	}
	s.i = len(s.data)
}

// blank skips white space and comments.
func (s *tomlScanner) blank() {
	for !s.end() {
		switch s.data[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		case '#':
			s.line()
		default:
			return
		}
	}
}

// key reads a dotted key up to one of the stop characters.
func (s *tomlScanner) key(stop string) []string {
	var key []string
	var word strings.Builder
	for !s.end() && strings.IndexByte(stop, s.data[s.i]) < 0 {
		switch c := s.data[s.i]; c {
		case '.':
			key = append(key, word.String())
			word.Reset()
			if s.i++; len(key) >= doc.ManifestParts {
				s.exceeds(fmt.Sprintf("a key of more than %d parts", doc.ManifestParts))
			}
		case '"', '\'':
			begin := s.i
			s.skipString()
			word.WriteString(unquoteTOML(s.data[begin:s.i]))
		case ' ', '\t', '\r':
			s.i++
		default:
			word.WriteByte(c)
			s.i++
		}
	}
	return append(key, word.String())
}

func unquoteTOML(quoted []byte) string {
	var v struct{ V string }
	if _, err := toml.Decode("V = "+string(quoted), &v); err != nil {
		return string(quoted)
	}
	return v.V
}

// skipValue goes to the end of the value at s.i: a comment or line end outside of strings and
// brackets.
func (s *tomlScanner) skipValue() {
	depth, dots := 0, 0
	for !s.end() {
		switch s.data[s.i] {
		case '"', '\'':
			s.skipString()
			continue
		case '[', '{':
			if depth, dots = depth+1, 0; depth > doc.ManifestParts {
				s.exceeds(fmt.Sprintf("lists and tables more than %d deep", doc.ManifestParts))
				return
			}
		case ']', '}':
			depth--
		case '=', ',':
			s.inner++
			dots = 0
		case '.':
			if dots++; dots >= doc.ManifestParts {
				s.exceeds(fmt.Sprintf("a key of more than %d parts", doc.ManifestParts))
				return
			}
		case '#':
			if depth <= 0 {
				return
			}
			s.line()
			continue
		case '\n':
			if depth <= 0 {
				return
			}
		}
		s.i++
	}
}

// skipString goes behind the string at s.i. A single-line string ends with its line at the latest.
func (s *tomlScanner) skipString() {
	quote := s.data[s.i]
	if long := bytes.Repeat([]byte{quote}, 3); bytes.HasPrefix(s.data[s.i:], long) {
		for s.i += 3; !s.end(); s.i++ {
			if quote == '"' && s.data[s.i] == '\\' {
				s.i++
			} else if bytes.HasPrefix(s.data[s.i:], long) {
				s.i += 3
				for !s.end() && s.data[s.i] == quote { // up to two quotes may stand before the closing ones
					s.i++
				}
				return
			}
		}
		s.i = len(s.data)
		return
	}
	for s.i++; !s.end() && s.data[s.i] != '\n'; s.i++ {
		switch {
		case quote == '"' && s.data[s.i] == '\\':
			s.i++
		case s.data[s.i] == quote:
			s.i++
			return
		}
	}
	s.i = min(s.i, len(s.data))
}
