package redact

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// levels is the number of nested escapings that are undone.
const levels = 3

// partial is the width of an incomplete sequence that more text could complete.
const partial = -1

// An escaping is a way to write characters with others.
type escaping uint8

const (
	backslashes escaping = iota // as in JSON, JavaScript and Go
	percents                    // as in URLs
	entities                    // as in HTML
	escapings
)

// next returns the first place from at where an escape sequence can begin, or the length of text.
func (e escaping) next(text []byte, at int) int {
	var n int
	switch e {
	case backslashes:
		n = bytes.IndexByte(text[at:], '\\')
	case percents:
		n = bytes.IndexByte(text[at:], '%')
	default:
		n = bytes.IndexByte(text[at:], '&')
	}
	if n < 0 {
		return len(text)
	}
	return at + n
}

// read appends to plain the character of the escape sequence at the beginning of text, and returns
// the width of the sequence: 0 if there is none.
func (e escaping) read(plain, text []byte, final bool) (_ []byte, width int) {
	var c rune
	switch {
	case e == backslashes && len(text) > 1 && text[1] == 'x', e == percents:
		digits := 1
		if e == backslashes {
			digits = 2
		}
		if c, width = number(text[digits:], 2, final); width > 0 {
			return append(plain, byte(c)), digits + width
		}
		return plain, width
	case e == backslashes:
		c, width = backslash(text, final)
	default:
		c, width = entity(text, final)
	}
	if width > 0 {
		plain = utf8.AppendRune(plain, c)
	}
	return plain, width
}

// unescape returns v with one kind of escaping undone, or nil if that changes nothing. An apparent
// escape sequence can be a stray character before a secret: unclear means that there are such
// places, and with stray these are left unchanged.
func (s *search) unescape(v *view, e escaping, stray bool) (u *view, unclear bool) {
	var buffer [utf8.UTFMax]byte
	last, end := 0, len(v.text)
	for at := e.next(v.text, 0); at < end; {
		plain, width := e.read(buffer[:0], v.text[at:], v.final)
		if width > 1 {
			switch s.r.strays(e, v.text[at:], v.final) {
			case partial:
				unclear = true
				if stray {
					width = partial
				}
			case yes:
				unclear = true
				if stray {
					width = 0
				}
			}
		}
		if width != 0 && u == nil {
			u = s.view(v)
			u.escaped = true
		}
		switch width {
		case 0:
			width = 1
		case partial:
			s.tear(v, at)
			end = at
			continue
		default:
			u.copied(last, at)
			u.unit(at, width, plain)
			last = at + width
		}
		at = e.next(v.text, at+width)
	}
	if u != nil {
		u.copied(last, end)
	}
	return u, unclear
}

// yes is the result of [Redactor.strays] if a secret can begin there.
const yes = 1

// strays reports whether text, which begins like an escape sequence, can be one character before a
// secret instead. It returns 0 if not, and partial if the text is too short to decide.
func (r *Redactor) strays(e escaping, text []byte, final bool) int {
	for _, id := range r.starts[text[1]] {
		if p := &r.patterns[id]; !p.fold { // hex dumps are not escaped
			if result := p.spelled(e, text[1:], final); result != 0 {
				return result
			}
		}
	}
	return 0
}

// spelled reports whether text can begin with p, partly escaped. It also returns yes if a closer
// check is needed.
func (p *pattern) spelled(e escaping, text []byte, final bool) int {
	var buffer [utf8.UTFMax]byte
	for i := 0; i < len(p.text); {
		if len(text) == 0 {
			return orPartial(0, final)
		}
		if p.text[i] == ' ' {
			if n := blanks(text); n > 0 {
				i, text = i+1, text[n:]
				continue
			}
		}
		if c := text[0]; p.equal(i, c) {
			if e.next(text[:1], 0) == 0 {
				return yes // a backslash or percent sign can be part of the secret
			}
			i, text = i+1, text[1:]
			continue
		} else if c >= ' ' && c < 0x7f && c != '\\' && c != '%' && c != '&' {
			return 0
		}
		if e.next(text[:1], 0) > 0 {
			return yes
		}
		plain, width := e.read(buffer[:0], text, final)
		if width <= 0 {
			return width
		}
		if !bytes.HasPrefix(p.text[i:], plain) {
			if c := plain[0]; c > ' ' && c < 0x7f && c != '\\' && c != '%' && c != '&' {
				return 0
			}
			return yes
		}
		i, text = i+len(plain), text[width:]
	}
	return yes
}

// backslash reads an escape sequence that begins with a backslash.
func backslash(text []byte, final bool) (c rune, width int) {
	if len(text) < 2 {
		return 0, orPartial(0, final)
	}
	switch text[1] {
	case 'U':
		if c, width = number(text[2:], 8, final); width > 0 {
			width += 2
		}
		return c, width
	case 'u':
		if c, width = number(text[2:], 4, final); width <= 0 {
			return 0, width
		}
		if !utf16.IsSurrogate(c) {
			return c, 6
		}
		rest := text[6:]
		if !final && (len(rest) == 0 || string(rest) == `\`) {
			return 0, partial
		}
		if bytes.HasPrefix(rest, []byte(`\u`)) {
			low, n := number(rest[2:], 4, final)
			if n == partial {
				return 0, partial
			}
			if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	case '"', '\\', '/', '\'', '`':
		return rune(text[1]), 2
	}
	if i := strings.IndexByte("abfnrtv", text[1]); i >= 0 {
		return rune("\a\b\f\n\r\t\v"[i]), 2
	}
	return 0, 0
}

// number reads the given number of hex digits.
func number(text []byte, digits int, final bool) (v rune, width int) {
	for i := range digits {
		if i == len(text) {
			return 0, orPartial(0, final)
		}
		digit, ok := hexDigit(text[i])
		if !ok || v > utf8.MaxRune>>4 {
			return 0, 0
		}
		v = v<<4 | rune(digit)
	}
	return v, digits
}

func hexDigit(c byte) (v byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	default:
		return 0, false
	}
}

// longestEntity is the maximum length of an entity name, including zeros before a number.
const longestEntity = 16

// entity reads an HTML entity.
func entity(text []byte, final bool) (c rune, width int) {
	end := 1
	for ; ; end++ {
		if end == len(text) {
			return 0, orPartial(0, final)
		}
		if text[end] == ';' {
			break
		}
		if c := text[end]; end > longestEntity || c != '#' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return 0, 0
		}
	}
	if digits, ok := strings.CutPrefix(strings.ToLower(string(text[1:end])), "#"); ok {
		base := 10
		if hex, ok := strings.CutPrefix(digits, "x"); ok {
			digits, base = hex, 16
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil || n > utf8.MaxRune {
			return 0, 0
		}
		return rune(n), end + 1
	}
	// A name that HTML does not know stays, and some names mean two characters.
	plain := html.UnescapeString(string(text[:end+1]))
	c, size := utf8.DecodeRuneInString(plain)
	if size < len(plain) {
		return 0, 0
	}
	return c, end + 1
}
