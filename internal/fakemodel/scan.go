package fakemodel

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions here read JSON that encoding/json has validated, without reflection or allocations,
// because the server shares two cores with the measured tool.

// fields calls f for each member of the JSON object in data. Other values have no members.
func fields(data []byte, f func(name, value []byte)) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return
	}
	for i = skipSpace(data, i+1); data[i] == '"'; {
		end := skipValue(data, i)
		name := data[i+1 : end-1]
		i = skipSpace(data, skipSpace(data, end)+1) // after the colon
		end = skipValue(data, i)
		f(name, data[i:end])
		i = skipSpace(data, end)
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
}

// elements calls f for each element of the JSON array in data. Other values have no elements.
func elements(data []byte, f func(i int, value []byte)) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '[' {
		return
	}
	n := 0
	for i = skipSpace(data, i+1); data[i] != ']'; n++ {
		end := skipValue(data, i)
		f(n, data[i:end])
		i = skipSpace(data, end)
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
}

// member returns the value of the named member of the object in data, or nil. The last duplicate
// wins.
func member(data []byte, name string) []byte {
	var found []byte
	fields(data, func(n, value []byte) {
		if string(n) == name {
			found = value
		}
	})
	return found
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the index after the value that starts at i.
func skipValue(data []byte, i int) int {
	depth := 0
	for {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\t', '\r':
			i++
			continue
		default:
			for i < len(data) && bytes.IndexByte([]byte(",]} \n\t\r"), data[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

func skipString(data []byte, i int) int {
	for i++; ; {
		end := bytes.IndexByte(data[i:], '"')
		slashes := 0
		for i+end-slashes > i && data[i+end-slashes-1] == '\\' {
			slashes++
		}
		i += end + 1
		if slashes%2 == 0 {
			return i
		}
	}
}

// text returns a JSON string, and whether value is one.
func text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	value = value[1 : len(value)-1]
	if bytes.IndexByte(value, '\\') < 0 {
		return valid(value), true
	}
	out := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			out = append(out, value[i])
			continue
		}
		i++
		switch value[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r := hexRune(value[i+1:])
			i += 4
			if utf16.IsSurrogate(r) && len(value) > i+6 && value[i+1] == '\\' && value[i+2] == 'u' {
				if pair := utf16.DecodeRune(r, hexRune(value[i+3:])); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, value[i])
		}
	}
	return valid(out), true
}

// valid returns b as a string with U+FFFD for each invalid byte.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

func hexRune(b []byte) rune {
	n, _ := strconv.ParseUint(string(b[:4]), 16, 32) // validated before
	return rune(n)
}

// isNull reports whether value is absent or null.
func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// float returns a JSON number, or nil.
func float(value []byte) *float64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return nil
	}
	return &f
}

// integer returns a whole JSON number, or nil.
func integer(value []byte) *int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// template appends t with the arguments in place of its verbs: %s a JSON string, %d a number, %v
// plain text, %% a percent sign. It is fmt.Appendf without reflection.
func template(b []byte, t string, args ...arg) []byte {
	for {
		i := indexPercent(t)
		if i < 0 {
			return append(b, t...)
		}
		b = append(b, t[:i]...)
		verb := t[i+1]
		t = t[i+2:]
		if verb == '%' {
			b = append(b, '%')
			continue
		}
		a := args[0]
		args = args[1:]
		switch verb {
		case 's':
			b = appendString(b, a.s)
		case 'd':
			b = strconv.AppendInt(b, a.n, 10)
		default:
			b = append(b, a.s...)
		}
	}
}

func indexPercent(t string) int {
	for i := range len(t) - 1 {
		if t[i] == '%' {
			return i
		}
	}
	return -1
}

// arg is an argument of template.
type arg struct {
	s string
	n int64
}

func str(s string) arg  { return arg{s: s} }
func num(n int) arg     { return arg{n: int64(n)} }
func num64(n int64) arg { return arg{n: n} }
