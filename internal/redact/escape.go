package redact

import (
	"unicode/utf16"
	"unicode/utf8"
)

// char is one character read from a text, and how many bytes of the text it took. Width is 0 if the text ends before that
// is known.
type char struct {
	r rune
	// byte says that r is one byte of the encoded text, not a code point.
	byte  bool
	width int
}

// first returns the first byte that c stands for.
func (c char) first() byte {
	if c.byte || c.r < utf8.RuneSelf {
		return byte(c.r)
	}
	var buf [utf8.UTFMax]byte
	utf8.EncodeRune(buf[:], c.r)
	return buf[0]
}

// read returns the character at a place of text, with escape sequences undone level times: on level 0 it is a byte, and on
// each further level the characters of the level below are read for escape sequences of all kinds.
func read(text []byte, at, level int) char {
	if at >= len(text) {
		return char{}
	}
	if level == 0 {
		return char{rune(text[at]), true, 1}
	}
	c := read(text, at, level-1)
	if c.width == 0 {
		return c
	}
	rest, escaped := at+c.width, char{r: -1}
	switch c.r {
	case '\\':
		escaped = readBackslash(text, rest, level-1)
	case '%':
		escaped = readHex(text, rest, level-1, 2)
		escaped.byte = true
	case '&':
		escaped = readEntity(text, rest, level-1)
	}
	if escaped.r < 0 {
		return c
	}
	if escaped.width > 0 {
		escaped.width += c.width
	}
	return escaped
}

// readBackslash reads what follows a backslash. A negative character means that it is no escape sequence.
func readBackslash(text []byte, at, level int) char {
	c := read(text, at, level)
	if c.width == 0 {
		return c
	}
	var v char
	switch c.r {
	case 'x':
		v = readHex(text, at+c.width, level, 2)
		v.byte = true
	case 'U':
		v = readHex(text, at+c.width, level, 8)
	case 'u':
		v = readHex(text, at+c.width, level, 4)
		if v.width > 0 && utf16.IsSurrogate(v.r) {
			v = readPair(text, at+c.width, level, v)
		}
	default:
		plain, ok := unescape(c.r)
		if !ok {
			return char{r: -1, width: 1}
		}
		return char{rune(plain), false, c.width}
	}
	if v.width > 0 {
		v.width += c.width
	}
	return v
}

// readPair reads the second half of a surrogate pair of which the digits of the first, high, are at a place.
func readPair(text []byte, at, level int, high char) char {
	rest := at + high.width
	for _, want := range `\u` {
		c := read(text, rest, level)
		if c.width == 0 {
			return c
		}
		if c.r != want {
			return char{r: -1, width: 1}
		}
		rest += c.width
	}
	low := readHex(text, rest, level, 4)
	if low.width == 0 || low.r < 0 {
		return low
	}
	return char{utf16.DecodeRune(high.r, low.r), false, rest + low.width - at}
}

// unescape returns what a backslash and c stand for, where that does not depend on what follows.
func unescape(c rune) (plain byte, ok bool) {
	switch c {
	case '"', '\\', '/', '\'', '`':
		return byte(c), true
	case 'a':
		return '\a', true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'v':
		return '\v', true
	default:
		return 0, false
	}
}

// readHex reads a number of hex digits.
func readHex(text []byte, at, level, digits int) char {
	v, start := rune(0), at
	for range digits {
		c := read(text, at, level)
		if c.width == 0 {
			return c
		}
		digit, ok := hexDigit(c.r)
		if !ok || v >= utf8.MaxRune {
			return char{r: -1, width: 1}
		}
		v = v<<4 | digit
		at += c.width
	}
	return char{r: v, width: at - start}
}

func hexDigit(c rune) (v rune, ok bool) {
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

// readEntity reads what follows the ampersand of an HTML entity: those that escaping writes.
func readEntity(text []byte, at, level int) char {
	var name [9]byte // the longest is #x0010ffff
	start, n := at, 0
	for {
		c := read(text, at, level)
		if c.width == 0 {
			return c
		}
		at += c.width
		if c.r == ';' {
			break
		}
		if n == len(name) || c.r != '#' && !isWord(c.r) {
			return char{r: -1, width: 1}
		}
		name[n] = byte(c.r)
		n++
	}
	return char{entity(string(name[:n])), false, at - start}
}

func isWord(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// entity returns the character that an entity stands for, or -1.
func entity(name string) rune {
	switch name {
	case "amp":
		return '&'
	case "lt":
		return '<'
	case "gt":
		return '>'
	case "quot":
		return '"'
	case "apos":
		return '\''
	}
	if len(name) < 2 || name[0] != '#' {
		return -1
	}
	base, digits := rune(10), name[1:]
	if digits[0]|0x20 == 'x' {
		base, digits = 16, digits[1:]
	}
	v := rune(0)
	for _, c := range digits {
		d, ok := hexDigit(c)
		if !ok || d >= base || v > utf8.MaxRune {
			return -1
		}
		v = v*base + d
	}
	if digits == "" || v > utf8.MaxRune {
		return -1
	}
	return v
}
