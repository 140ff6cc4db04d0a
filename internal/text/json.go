package text

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON escapes in a JSON document the characters that JSON allows inside strings and a
// terminal would interpret or hide, because the document may be printed to a terminal. The value of
// the JSON does not change.
func EscapeJSON(doc []byte) []byte {
	if !slices.ContainsFunc(doc, func(c byte) bool { return c >= 0x7f }) { // faster than decoding runes
		return doc
	}
	return EscapeRunes(doc, isControl)
}

// EscapeRunes escapes in a JSON document the characters of strings for which escaped holds.
func EscapeRunes(doc []byte, escaped func(rune) bool) []byte {
	at := bytes.IndexFunc(doc, escaped)
	if at < 0 {
		return doc
	}
	out := make([]byte, 0, len(doc)+len(doc)/8)
	for ; at >= 0; at = bytes.IndexFunc(doc, escaped) {
		out = append(out, doc[:at]...)
		r, size := utf8.DecodeRune(doc[at:])
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, "\\u%04x", unit)
		}
		doc = doc[at+size:]
	}
	return append(out, doc...)
}

// isControl reports whether [Hidden] holds for r and encoding/json writes r unescaped.
func isControl(r rune) bool { return r >= 0x7f && Hidden(r) }
