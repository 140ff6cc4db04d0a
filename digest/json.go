package digest

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/internal/encode"
)

// maxDepth is the maximum nesting of values.
const maxDepth = 10000

// SyntaxError is the place of an error in the format. Line and Column count from 1; the column
// counts characters.
type SyntaxError struct {
	Line, Column int
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d:%d: %s", e.Line, e.Column, e.Message)
}

// parser converts JSON to canonical JSON in one pass. It only keeps the values of strings and
// numbers until it has written them. It stores the places of the members of open objects, to sort
// them at the end.
//
// encoding/json cannot do this: it replaces lone surrogates, rejects NaN, and escapes differently.
type parser struct {
	data []byte
	pos  int
	out  []byte
	// id and idEnd enclose, in out, the value of "id" of the outermost object that was parsed last;
	// id is -1 if it has none.
	id, idEnd int
	depth     int
	// lines means that LF and CR are white space, not the end of the text.
	lines   bool
	members []member
	scratch []byte
}

// member is one member of an object, "key":value, by its places in out: start is the key's opening
// quote, key is after its closing quote, end is after the value.
type member struct{ start, key, end int }

func (p *parser) value() error {
	if p.pos >= len(p.data) {
		return p.fail(p.pos, "expected a value, but the text ends here")
	}
	switch c := p.data[p.pos]; c {
	case '"':
		return p.string()
	case '{':
		return p.object()
	case '[':
		return p.array()
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case 'n':
		return p.literal("null")
	case 'N':
		return p.literal("NaN")
	case 'I':
		return p.literal("Infinity")
	default:
		if c == '-' || isDigit(c) {
			return p.number()
		}
		return p.fail(p.pos, "expected a value, not %s", p.found(p.pos))
	}
}

func (p *parser) literal(word string) error {
	if !bytes.HasPrefix(p.data[p.pos:], []byte(word)) {
		return p.fail(p.pos, "expected a value, not %s", p.found(p.pos))
	}
	p.out = append(p.out, word...)
	p.pos += len(word)
	return nil
}

func (p *parser) array() error {
	if err := p.items('[', ']', `"," or "]" after a list item`, p.value); err != nil {
		return err
	}
	return p.leave(']')
}

func (p *parser) object() error {
	start, base, sorted := len(p.out), len(p.members), true
	err := p.items('{', '}', `"," or "}" after a value`, func() error {
		if !p.at('"') {
			return p.fail(p.pos, "expected a key in double quotes, not %s", p.found(p.pos))
		}
		m := member{start: len(p.out)}
		if err := p.string(); err != nil {
			return err
		}
		m.key = len(p.out)
		if sorted && len(p.members) > base {
			sorted = p.compare(p.members[len(p.members)-1], m) < 0
		}
		p.space()
		if err := p.token(':', `":" after a key`); err != nil {
			return err
		}
		p.space()
		if err := p.value(); err != nil {
			return err
		}
		m.end = len(p.out)
		p.members = append(p.members, m)
		return nil
	})
	if err != nil {
		return err
	}
	p.pos++ // the brace
	return p.close(start, base, sorted)
}

// items reads the items of a list or an object up to the closing bracket, which it leaves.
func (p *parser) items(opening, closing byte, want string, item func() error) error {
	p.depth++
	if p.depth > maxDepth {
		return p.fail(p.pos, "values nest deeper than %d levels", maxDepth)
	}
	p.out = append(p.out, opening)
	p.pos++
	p.space()
	if p.at(closing) {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		p.space()
		if p.at(closing) {
			return nil
		}
		if err := p.token(',', want); err != nil {
			return err
		}
		p.space()
	}
}

// close ends the object that begins at start in out, whose members are those from base on.
func (p *parser) close(start, base int, sorted bool) error {
	members := p.members[base:]
	if !sorted {
		members = p.sort(start, members)
	}
	if p.depth == 1 {
		p.id = -1
		for _, m := range members {
			if string(p.out[m.start:m.key]) == `"id"` {
				p.id, p.idEnd = m.key+1, m.end
			}
		}
	}
	p.members = p.members[:base]
	p.depth--
	p.out = append(p.out, '}')
	return nil
}

// sort sorts the members of the object that begins at start, the last one in out, and keeps only
// the last of members with the same key. It returns the remaining members, in their new places.
func (p *parser) sort(start int, members []member) []member {
	slices.SortStableFunc(members, p.compare)
	start++ // after the brace
	text, kept := p.scratch[:0], members[:0]
	for i, m := range members {
		if i+1 < len(members) && p.compare(m, members[i+1]) == 0 {
			continue
		}
		if len(text) > 0 {
			text = append(text, ',')
		}
		shift := start + len(text) - m.start
		text = append(text, p.out[m.start:m.end]...)
		kept = append(kept, member{m.start + shift, m.key + shift, m.end + shift})
	}
	p.out = append(p.out[:start], text...)
	p.scratch = text
	return kept
}

func (p *parser) compare(a, b member) int {
	return compare(p.out[a.start+1:a.key-1], p.out[b.start+1:b.key-1])
}

func (p *parser) leave(c byte) error {
	p.depth--
	p.out = append(p.out, c)
	p.pos++
	return nil
}

// token copies the byte c, which must come next; want describes the expected token.
func (p *parser) token(c byte, want string) error {
	if !p.at(c) {
		return p.fail(p.pos, "expected %s, not %s", want, p.found(p.pos))
	}
	p.out = append(p.out, c)
	p.pos++
	return nil
}

func (p *parser) at(c byte) bool { return p.pos < len(p.data) && p.data[p.pos] == c }

func (p *parser) space() {
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		if c != ' ' && c != '\t' && (!p.lines || !isLineEnd(c)) {
			return
		}
		p.pos++
	}
}

func (p *parser) string() error {
	open := p.pos
	p.out = append(p.out, '"')
	p.pos++
	for {
		n := encode.Plain(p.data[p.pos:])
		p.out = append(p.out, p.data[p.pos:p.pos+n]...)
		p.pos += n
		if p.pos >= len(p.data) {
			return p.fail(open, "the string that begins here is not closed")
		}
		switch c := p.data[p.pos]; {
		case c == '"':
			p.out = append(p.out, '"')
			p.pos++
			return nil
		case c == '\\':
			if err := p.escape(); err != nil {
				return err
			}
		case isLineEnd(c) && !p.lines:
			return p.fail(open, "the string that begins here is not closed on its line; write a line break as \\n")
		case c < 0x20:
			return p.fail(p.pos, "control character U+%04X in a string; write it as \\u%04x", c, c)
		default:
			r, size := utf8.DecodeRune(p.data[p.pos:])
			if r == utf8.RuneError && size == 1 {
				return p.fail(p.pos, "%s", p.found(p.pos))
			}
			p.out = appendRune(p.out, r)
			p.pos += size
		}
	}
}

// escape reads one escape sequence. Surrogates need no pairing: a pair and its halves are written
// in the same way.
func (p *parser) escape() error {
	if p.pos+1 >= len(p.data) {
		return p.fail(p.pos, "the text ends within an escape sequence")
	}
	switch c := p.data[p.pos+1]; c {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		p.out = append(p.out, '\\', c)
	case '/':
		p.out = append(p.out, '/')
	case 'u':
		unit, ok := hex4(p.data[p.pos+2:])
		if !ok {
			return p.fail(p.pos, "\\u must be followed by four hex digits")
		}
		p.out = appendUnit(p.out, unit)
		p.pos += 6
		return nil
	default:
		return p.fail(p.pos, "unknown escape sequence: a backslash before %s", p.found(p.pos+1))
	}
	p.pos += 2
	return nil
}

// fail returns an error about the place at in the data.
func (p *parser) fail(at int, format string, args ...any) error {
	before := bytes.ReplaceAll(p.data[:at], []byte("\r\n"), []byte("\n"))
	before = bytes.ReplaceAll(before, []byte("\r"), []byte("\n"))
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &SyntaxError{bytes.Count(before, []byte("\n")) + 1, column, fmt.Sprintf(format, args...)}
}

// found describes the data at a place, for error messages.
func (p *parser) found(at int) string {
	if at >= len(p.data) {
		return "the end of the text"
	}
	r, size := utf8.DecodeRune(p.data[at:])
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("invalid UTF-8 (byte 0x%02x)", p.data[at])
	case r == '\n' || r == '\r':
		return "the end of the line"
	case r == '\ufeff':
		return "a byte order mark (U+FEFF); save the file as UTF-8 without it"
	case r < 0x20 || r >= 0x7f:
		return fmt.Sprintf("U+%04X", r)
	default:
		return fmt.Sprintf("%q", r)
	}
}

// appendRune appends a character in canonical form.
func appendRune(out []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return appendUnit(appendUnit(out, uint16(high)), uint16(low))
	}
	return appendUnit(out, uint16(r))
}

// appendUnit appends one UTF-16 code unit in canonical form.
func appendUnit(out []byte, u uint16) []byte {
	const digits = "0123456789abcdef"
	switch {
	case u == '"' || u == '\\':
		return append(out, '\\', byte(u))
	case u >= 0x20 && u < 0x7f:
		return append(out, byte(u))
	case u == '\b':
		return append(out, `\b`...)
	case u == '\f':
		return append(out, `\f`...)
	case u == '\n':
		return append(out, `\n`...)
	case u == '\r':
		return append(out, `\r`...)
	case u == '\t':
		return append(out, `\t`...)
	default:
		return append(out, '\\', 'u', digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15])
	}
}

// compare compares two canonical strings, without their quotes, by the code points that they
// represent.
func compare(a, b []byte) int {
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return bytes.Compare(a, b)
	}
	for len(a) > 0 && len(b) > 0 {
		r, n := decode(a)
		s, m := decode(b)
		if r != s {
			return int(r) - int(s)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

// decode returns the first code point of a canonical string and the length of its encoding. A lone
// surrogate is returned as it is.
func decode(s []byte) (r rune, n int) {
	if s[0] != '\\' {
		return rune(s[0]), 1
	}
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		unit, _ := hex4(s[2:])
		if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
			low, _ := hex4(s[8:])
			if r := utf16.DecodeRune(rune(unit), rune(low)); r != utf8.RuneError {
				return r, 12
			}
		}
		return rune(unit), 6
	default:
		return rune(s[1]), 2
	}
}

// hex4 reads the four hex digits at the beginning of s, in either case.
func hex4(s []byte) (u uint16, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		u = u<<4 | uint16(c)
	}
	return u, true
}
