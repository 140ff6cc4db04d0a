package text

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON escapes in a JSON document the characters that JSON allows inside strings and a
// terminal would interpret or hide, because the document may be printed to a terminal. The value of
// the JSON does not change.
func EscapeJSON(doc []byte) []byte { return EscapeRunes(doc, Hidden) }

// EscapeRunes escapes in a JSON document the characters of strings for which escaped holds. It never
// holds for printable ASCII and line feeds.
func EscapeRunes(doc []byte, escaped func(rune) bool) []byte {
	var out []byte
	copied := 0
	for at := Printable(doc); at < len(doc); at += Printable(doc[at:]) {
		r, size := utf8.DecodeRune(doc[at:])
		if escaped(r) {
			out = append(out, doc[copied:at]...)
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, "\\u%04x", unit)
			}
			copied = at + size
		}
		at += size
	}
	if copied == 0 {
		return doc
	}
	return append(out, doc[copied:]...)
}

// Printable returns the length of the beginning of s in printable ASCII. It looks at eight bytes at
// a time.
func Printable(s []byte) (n int) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(s)-n >= 8; n += 8 {
		if w := binary.LittleEndian.Uint64(s[n:]); (w|(w+ones)|(w-ones*' ')&^w)&tops != 0 {
			break
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] < 0x7f {
		n++
	}
	return n
}
