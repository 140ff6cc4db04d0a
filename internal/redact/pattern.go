package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// pattern is one spelling of a secret, before any escaping.
type pattern struct {
	text         []byte
	name, marker string
	// fold says that letters may have either case; text is lower-case then.
	fold bool
	// A secret within base64 begins and ends in the middle of a character, unless it happens to fill whole ones. text has
	// the whole characters; head and tail describe those that it shares with its neighbours, and padding is how many "="
	// follow if nothing else does.
	head, tail shared
	padding    int
}

// shared describes a base64 character of which a secret determines some bits. A zero mask means that there is none.
type shared struct{ mask, want byte }

func (s shared) fits(c byte) bool {
	v, ok := sextet(c)
	return s.mask != 0 && ok && v&s.mask == s.want
}

// sextet returns the six bits that c stands for in either alphabet of base64.
func sextet(c byte) (v byte, ok bool) {
	switch {
	case c >= 'A' && c <= 'Z':
		return c - 'A', true
	case c >= 'a' && c <= 'z':
		return c - 'a' + 26, true
	case c >= '0' && c <= '9':
		return c - '0' + 52, true
	case c == '+' || c == '-':
		return 62, true
	case c == '/' || c == '_':
		return 63, true
	default:
		return 0, false
	}
}

// patterns returns the spellings of one value.
func patterns(value, name, marker string) []pattern {
	all := []pattern{
		{text: []byte(value), name: name, marker: marker},
		{text: []byte(hex.EncodeToString([]byte(value))), name: name, marker: marker, fold: true},
	}
	if strings.Contains(value, " ") {
		all = append(all, pattern{text: []byte(strings.ReplaceAll(value, " ", "+")), name: name, marker: marker})
	}
	// What is encoded in base64 may have been escaped before.
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	if quoted, err := json.Marshal(value); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	slices.Sort(forms)
	for _, form := range slices.Compact(forms) {
		for offset := range 3 {
			p := embedded([]byte(form), offset)
			p.name, p.marker = name, marker
			all = append(all, p)
			if bytes.ContainsAny(p.text, "+/") {
				p.text = []byte(strings.NewReplacer("+", "-", "/", "_").Replace(string(p.text)))
				all = append(all, p)
			}
		}
	}
	return all
}

// embedded returns the pattern for value in standard base64, with offset bytes (modulo 3) before it.
func embedded(value []byte, offset int) pattern {
	plain := append(make([]byte, offset), value...)
	text := []byte(base64.RawStdEncoding.EncodeToString(plain))
	first, last := (offset*8+5)/6, len(plain)*8/6
	p := pattern{text: text[first:last], padding: (3 - len(plain)%3) % 3}
	if before := offset * 8 % 6; before != 0 {
		p.head.mask = 1<<(6-before) - 1
		v, _ := sextet(text[first-1])
		p.head.want = v & p.head.mask
	}
	if after := len(plain) * 8 % 6; after != 0 {
		p.tail.mask = 1<<6 - 1<<(6-after)
		v, _ := sextet(text[last])
		p.tail.want = v & p.tail.mask
	}
	return p
}

// extend makes a match cover the characters that the secret shares with its neighbours. It reports whether what follows
// the text could make it longer still.
func (p *pattern) extend(text []byte, m *match) (more bool) {
	if m.start > 0 && p.head.fits(text[m.start-1]) {
		m.start--
	}
	if p.tail.mask == 0 {
		return false
	}
	if m.end == len(text) {
		return true
	}
	if !p.tail.fits(text[m.end]) {
		return false
	}
	m.end++
	for range p.padding {
		if m.end == len(text) {
			return true
		}
		if text[m.end] != '=' {
			break
		}
		m.end++
	}
	return false
}

// equal reports whether the character c stands for byte i of the pattern.
func (p *pattern) equal(i int, c byte) bool {
	return p.text[i] == c || p.fold && c >= 'A' && c <= 'Z' && p.text[i] == c|0x20
}

// has reports whether text has p's bytes from, and up to but not including to, at its beginning.
func (p *pattern) has(from, to int, text []byte) bool {
	if len(text) < to-from {
		return false
	}
	if !p.fold {
		return string(p.text[from:to]) == string(text[:to-from])
	}
	for i := from; i < to; i++ {
		if !p.equal(i, text[i-from]) {
			return false
		}
	}
	return true
}
