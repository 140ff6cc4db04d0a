package redact

import (
	"html"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestCharacters compares the kinds of characters with their definitions.
func TestCharacters(t *testing.T) {
	const inKeys = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-"
	for c := range 256 {
		want, err := strconv.ParseUint(string([]byte{byte(c)}), 16, 8)
		if got, ok := hexDigit(byte(c)); ok != (err == nil) || ok && uint64(got) != want {
			t.Errorf("%#x as a digit: %d, %t", c, got, ok)
		}
		if got := inKey(byte(c)); got != (strings.IndexByte(inKeys, byte(c)) >= 0) {
			t.Errorf("%#x in a key: %t", c, got)
		}
	}
	if got := plainName(inKeys + "é\u0130\U00010041 "); got != inKeys+"____" {
		t.Errorf("a plain name is %q", got)
	}
	for c := range rune(unicode.MaxRune + 1) {
		want := unicode.IsControl(c) && !strings.ContainsRune("\t\n\r", c) || c == utf8.RuneError ||
			c >= 0xe0000 && c <= 0xe0fff ||
			unicode.In(c, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
		if got := ignorable(c); got != want {
			t.Errorf("%U is ignorable: %t", c, got)
		}
	}
}

// TestNamesAreNoKeys checks the lengths at which a word of a name is one of a key.
func TestNamesAreNoKeys(t *testing.T) {
	for word, want := range map[string]bool{
		strings.Repeat("a", 15): true, strings.Repeat("z", 16): false,
		"a-" + strings.Repeat("z", 15) + "_" + strings.Repeat("a", 15) + "." + strings.Repeat("a", 15): true,
		"aZ": false, "a{": false, "a`": false, "a1": false,
	} {
		if got := isName([]byte(word)); got != want {
			t.Errorf("%q is a name: %t", word, got)
		}
	}
}

// TestSequences reads escape sequences of terminals, whole and where the text ends.
func TestSequences(t *testing.T) {
	long := strings.Repeat("x", longestSequence)
	for _, test := range []struct {
		text         string
		final, going int
	}{
		{"\x1b", 1, partial},
		{"\x1b[", 1, partial},
		{"\x1b[3", 1, partial},
		{"\x1b[31mx", 5, 5},
		{"\x1b[ ?@x", 5, 5},
		{"\x1b[~x", 3, 3},
		{"\x1b[\x7fx", 1, 1},
		{"\x1b[\x1fx", 1, 1},
		{"\x1b[\x1f", 1, 1},
		{"\u009b31mx", 5, 5},
		{"\u009b", 2, partial},
		{"\u009b\x7f", 2, 2},
		{"\x1b[" + long[:10] + "m", 3, 3},
		{"\x1b[" + strings.Repeat("0", longestSequence), 1, 1},
		{"\x1b[" + strings.Repeat("0", longestSequence-2) + "m", longestSequence + 1, longestSequence + 1},
		{"\x1b[" + strings.Repeat("0", longestSequence-1) + "m", 1, 1},
		{"\x1b]0;t\ax", 6, 6},
		{"\x1b]0;t\x1b\\x", 7, 7},
		{"\x1b]0;t\u009cx", 7, 7},
		{"\x1b]0;t", 1, partial},
		{"\x1b]0;t\n\a", 1, 1},
		{"\x1b]t\x1b", 1, partial},
		{"\x1b]t\xc2", 1, partial},
		{"\x1b]t\x1b[m", 1, 1},
		{"\x1b]t\u0080\a", 1, 1},
		{"\x1b]t\u009f\a", 1, 1},
		{"\x1b]t\u00a0\ax", 6, 6},
		{"\x1b]t\xc2\x7f\ax", 6, 6},
		{"\x1b]" + long, 1, 1},
		{"\x1bPq\ax", 4, 4},
		{"\x1bXq\ax", 4, 4},
		{"\x1b^q\ax", 4, 4},
		{"\x1b_q\ax", 4, 4},
		{"\x1b(", 1, partial},
		{"\x1b(Bx", 3, 3},
		{"\x1b(0x", 3, 3},
		{"\x1b(~x", 3, 3},
		{"\x1b(/x", 1, 1},
		{"\x1b(\x7fx", 1, 1},
		{"\x1b7x", 2, 2},
		{"\x1bcx", 2, 2},
		{"\x1b\\x", 2, 2},
		{"\x1b1x", 1, 1},
		{"\u008dx", 2, 2},
	} {
		if got := sequence([]byte(test.text), true); got != test.final {
			t.Errorf("%.20q: %d, want %d", test.text, got, test.final)
		}
		if got := sequence([]byte(test.text), false); got != test.going {
			t.Errorf("%.20q, and more: %d, want %d", test.text, got, test.going)
		}
	}
}

// TestEscapes reads escapes, whole and where the text ends.
func TestEscapes(t *testing.T) {
	for _, test := range []struct {
		text         string
		c            rune
		final, going int
	}{
		{`\`, 0, 0, partial},
		{`\nx`, '\n', 2, 2},
		{`\ax`, '\a', 2, 2},
		{`\qx`, 0, 0, 0},
		{"\\`", '`', 2, 2},
		{`\"`, '"', 2, 2},
		{`\u0041x`, 'A', 6, 6},
		{`\u004`, 0, 0, partial},
		{`\u004x`, 0, 0, 0},
		{`\U00000041x`, 'A', 10, 10},
		{`\U0000004`, 0, 0, partial},
		{`\U0000004x`, 0, 0, 0},
		{`\Users`, 0, 0, 0},
		{`\U0010ffff`, unicode.MaxRune, 10, 10},
		{`\U00110000`, 0, 0, 0},
		{`\Uffffffff`, 0, 0, 0},
		{`\ud83d\ude00x`, '😀', 12, 12},
	} {
		for final, want := range map[bool]int{true: test.final, false: test.going} {
			if c, width := backslash([]byte(test.text), final); width != want || width > 0 && c != test.c {
				t.Errorf("%q, the end: %t: %q of width %d, want %q of %d", test.text, final, c, width, test.c, want)
			}
		}
	}
	for _, text := range []string{
		"&amp;x", "&lt;", "&AMP;", "&#65;", "&#x41;", "&#X4f;", "&#000000000000065;", "&frac12;", "&there4;",
		"&Zscr;", "&zscr;", "&#9;", "&#90;",
		"&#x10ffff;",
	} {
		c, width := entity([]byte(text), true)
		end := strings.Index(text, ";") + 1
		if want := html.UnescapeString(text[:end]); string(c) != want || width != end {
			t.Errorf("%s is %q of width %d, want %q", text, c, width, want)
		}
	}
	for text, want := range map[string]int{
		"&": partial, "&am": partial, "&am p;": 0, "&@;": 0, "&a[;": 0, "&a`;": 0, "&a{;": 0, "&a/;": 0, "&a:;": 0,
		"&#x110000;": 0,
		"&#x;":       0, "&NotEqualTilde;": 0, "&#000000000000065": partial, "&#0000000000000065;": 0,
	} {
		if _, width := entity([]byte(text), false); width != want {
			t.Errorf("%s has width %d, want %d", text, width, want)
		}
	}
}
