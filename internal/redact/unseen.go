package redact

import (
	"unicode"
	"unicode/utf8"
)

// ignorable reports whether a character is invisible within a word: the reports remove it from
// text, or Unicode says that it need not be shown. This includes bytes that are not UTF-8.
func ignorable(c rune) bool {
	switch {
	case c < ' ':
		return c != '\t' && c != '\n' && c != '\r'
	case c < 0x7f:
		return false
	case c < 0x300:
		return c < 0xa0 || c == 0xad
	case c == utf8.RuneError:
		return true
	case c < 0x34f, c > 0x34f && c < 0x600, c > 0x2070 && c < 0x3164, c > 0x3164 && c < 0xfe00,
		c > 0x1f000 && c < 0xe0000:
		return false // most text
	}
	return unicode.In(c, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// longestSequence is the maximum length of an escape sequence, in bytes, as in the reports.
const longestSequence = 512

// sequence returns the length of the escape sequence at the beginning of text, which begins with
// ESC or with the one character that stands for ESC and another one. If the sequence is incomplete
// or too long, it returns the length of that character. It returns partial if more text could
// complete it.
func sequence(text []byte, final bool) int {
	intro, size := utf8.DecodeRune(text)
	rest, first := text[size:], byte(intro-0x40)
	used := size
	if intro == 0x1b {
		if len(rest) == 0 {
			return orPartial(size, final)
		}
		first, rest = rest[0], rest[1:]
		used++
	}
	limit := min(len(rest), longestSequence-1)
	open := !final && limit == len(rest)
	switch first {
	case '[': // CSI: parameters, intermediates, one final byte
		i := 0
		for i < limit && 0x20 <= rest[i] && rest[i] < 0x40 {
			i++
		}
		if i == limit {
			return orPartial(size, !open)
		}
		if 0x40 <= rest[i] && rest[i] < 0x7f {
			return used + i + 1
		}
	case ']', 'P', 'X', '^', '_': // OSC, DCS, SOS, PM, APC: a string that BEL or ST ends, on one line
		for i := range limit {
			c, last := rest[i], i+1 == len(rest)
			switch {
			case c == '\n':
				return size
			case c == 0x07:
				return used + i + 1
			case (c == 0x1b || c == 0xc2) && last:
				return orPartial(size, !open)
			case c == 0x1b && rest[i+1] == '\\', c == 0xc2 && rest[i+1] == 0x9c:
				return used + i + 2
			case c == 0x1b, c == 0xc2 && 0x80 <= rest[i+1] && rest[i+1] < 0xa0: // another one begins
				return size
			}
		}
		return orPartial(size, !open)
	case '(', ')', '*', '+', '#', '%', ' ': // character sets and the like
		if len(rest) == 0 {
			return orPartial(size, !open)
		}
		if 0x30 <= rest[0] && rest[0] < 0x7f {
			return used + 1
		}
	// save, restore, reset, and other single ones
	case '7', '8', '=', '>', 'D', 'E', 'H', 'M', 'N', 'O', 'Z', 'c', '\\':
		return used
	}
	return size
}

func orPartial(size int, final bool) int {
	if final {
		return size
	}
	return partial
}
