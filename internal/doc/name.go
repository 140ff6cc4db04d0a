package doc

import (
	"fmt"
	"strings"
)

// Hidden reports whether a terminal or a page would interpret r in place of showing it: controls
// except tab and line feed, and characters that reorder or hide text. The zero-width joiner is
// allowed because emoji and some scripts need it.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', 0x7f <= r && r < 0xa0:
		return true
	case r == 0x061c, 0x200e <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x206f: // direction
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff, r == 0x00ad, r == 0x180e: // invisible
		return true
	case 0xfff9 <= r && r <= 0xfffb, 0xe0000 <= r && r <= 0xe007f: // annotations and tags, also invisible
		return true
	}
	return false
}

// Unprintable returns why a text cannot be a name, or "": a name is one line of characters that
// people can see.
func Unprintable(name string) string {
	at := strings.IndexFunc(name, func(r rune) bool {
		return r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029' || Hidden(r)
	})
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("has the control character %U", []rune(name[at:])[0])
}
