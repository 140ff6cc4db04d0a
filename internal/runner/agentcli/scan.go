package agentcli

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// maxDepth is how deep the values of a record may be nested.
const maxDepth = 10_000

// readObject finds the members of a text that is one JSON object, in place of those that f has, and reports whether it is one.
// That it is valid is found out in the same pass.
func (f *fields) readObject(raw string) bool {
	f.names, f.values = f.names[:0], f.values[:0]
	i := skipBlank(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return false
	}
	end := f.validObject(raw, i+1, 0, true)
	return end > 0 && skipBlank(raw, end) == len(raw)
}

// validValue returns where the valid value ends that begins at i, 0 if there is none.
func (f *fields) validValue(s string, i, depth int) int {
	if i >= len(s) || depth > maxDepth {
		return 0
	}
	switch c := s[i]; c {
	case '"':
		return validString(s, i+1)
	case '{':
		return f.validObject(s, i+1, depth+1, false)
	case '[':
		i = skipBlank(s, i+1)
		if i < len(s) && s[i] == ']' {
			return i + 1
		}
		for {
			if i = f.validValue(s, skipBlank(s, i), depth+1); i == 0 {
				return 0
			}
			if i = skipBlank(s, i); i >= len(s) || s[i] != ',' && s[i] != ']' {
				return 0
			}
			if i++; s[i-1] == ']' {
				return i
			}
		}
	case 't':
		return literal(s, i, "true")
	case 'f':
		return literal(s, i, "false")
	case 'n':
		return literal(s, i, "null")
	default:
		return validNumber(s, i)
	}
}

// validObject is validValue for what follows the brace of an object. With keep it remembers the members.
func (f *fields) validObject(s string, i, depth int, keep bool) int {
	i = skipBlank(s, i)
	if i < len(s) && s[i] == '}' {
		return i + 1
	}
	for {
		name := skipBlank(s, i)
		if name >= len(s) || s[name] != '"' {
			return 0
		}
		after := validString(s, name+1)
		if after == 0 {
			return 0
		}
		if i = skipBlank(s, after); i >= len(s) || s[i] != ':' {
			return 0
		}
		value := skipBlank(s, i+1)
		if i = f.validValue(s, value, depth); i == 0 {
			return 0
		}
		if keep {
			f.names, f.values = append(f.names, s[name+1:after-1]), append(f.values, s[value:i])
		}
		if i = skipBlank(s, i); i >= len(s) || s[i] != ',' && s[i] != '}' {
			return 0
		}
		if i++; s[i-1] == '}' {
			return i
		}
	}
}

func literal(s string, i int, word string) int {
	if len(s)-i < len(word) || s[i:i+len(word)] != word {
		return 0
	}
	return i + len(word)
}

// validString returns where the valid string ends whose first byte is at i, 0 if there is none.
func validString(s string, i int) int {
	for {
		i = special(s, i)
		switch {
		case i >= len(s) || s[i] < ' ':
			return 0
		case s[i] == '"':
			return i + 1
		case i+1 >= len(s):
			return 0
		}
		switch s[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if i+6 > len(s) {
				return 0
			}
			for _, c := range []byte(s[i+2 : i+6]) {
				if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
					return 0
				}
			}
			i += 6
		default:
			return 0
		}
	}
}

// validNumber returns where the valid number ends that begins at i, 0 if there is none.
func validNumber(s string, i int) int {
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// special returns where the next byte from i on is that means something in a JSON string: a quote, a backslash, or a control
// character, which must not be there; len(s) if there is none. It looks at eight bytes at once.
func special(s string, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	b := unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // only read
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^('"'*ones), x^('\\'*ones)
		hit := (quote-ones)&^quote | (slash-ones)&^slash | (x-' '*ones)&^x
		if hit &= tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8 // the lowest is exact
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return i
}
