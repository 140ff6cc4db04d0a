package text

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean makes untrusted text safe to show. Models, providers, agents and suite files can write
// anything, and a terminal or a page interprets some of it. Clean removes everything that moves the
// cursor, changes colors, rings the bell, sets a title or the clipboard, or reorders or hides text.
// It removes an escape sequence as a whole when the sequence is complete and short; otherwise it
// removes only the introducing character, so that a text cannot hide the rest of itself. Line ends
// become LF. All other text is unchanged.
//
// All text from outside that reports and commands show passes through Clean.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		case r == '\r':
			if !strings.HasPrefix(s[i+1:], "\n") {
				b.WriteByte('\n')
			}
		case r == '\u2028' || r == '\u2029':
			b.WriteByte('\n')
		case r == 0x1b:
			size += sequence(s[i+size:])
		case 0x80 <= r && r < 0xa0: // the same introducers as one character
			rest := s[i+size : min(len(s), i+size+longestSequence)]
			size += max(0, sequence(string(r-0x40)+rest)-1)
		case !Hidden(r):
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// isClean reports whether Clean would change nothing, as for most texts.
func isClean(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 {
			return !strings.ContainsFunc(s[i:], func(r rune) bool {
				return r == utf8.RuneError || Hidden(r) || r == '\u2028' || r == '\u2029'
			})
		}
	}
	return true
}

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

// longestSequence limits how many bytes are removed with an escape character. Real titles and links
// are shorter.
const longestSequence = 512

// sequence returns how many bytes after an ESC belong to its sequence, or 0 when the sequence is
// incomplete or too long.
func sequence(s string) int {
	if s == "" {
		return 0
	}
	limit := min(len(s), longestSequence)
	switch s[0] {
	case '[': // CSI: parameters, intermediates, one final byte
		i := 1
		for i < limit && 0x20 <= s[i] && s[i] < 0x40 {
			i++
		}
		if i < limit && 0x40 <= s[i] && s[i] < 0x7f {
			return i + 1
		}
	case ']', 'P', 'X', '^', '_': // OSC, DCS, SOS, PM, APC: a string on one line that ends with BEL or ST
		for i := 1; i < limit; i++ {
			switch {
			case s[i] == '\n':
				return 0
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\', s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
				return i + 2
			case s[i] == 0x1b, s[i] == 0xc2 && i+1 < len(s) && 0x80 <= s[i+1] &&
				s[i+1] < 0xa0: // another sequence begins
				return 0
			}
		}
	case '(', ')', '*', '+', '#', '%', ' ': // character sets and the like
		if len(s) > 1 && 0x30 <= s[1] && s[1] < 0x7f {
			return 2
		}
	case '7', '8', '=', '>', 'D', 'E', 'H', 'M', 'N', 'O', 'Z', 'c',
		'\\': // save, restore, reset, and other single characters
		return 1
	}
	return 0
}

// OneLine is [Clean] on one line: each run of white space becomes one space.
func OneLine(s string) string {
	return strings.Join(strings.Fields(Clean(s)), " ")
}

// Line returns untrusted text as one line of at most width cells.
func Line(s string, width int) string { return Fit(OneLine(s), width) }

// Indent returns untrusted text with all lines except the first indented by n spaces.
func Indent(s string, n int) string {
	return strings.ReplaceAll(strings.TrimRight(Clean(s), "\n"), "\n", "\n"+strings.Repeat(" ", n))
}

// Fit truncates s to the given display width. Styles in s stay intact.
func Fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, "…")
}

// Pad appends spaces to s up to the given display width.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// PadLeft prepends spaces to s up to the given display width.
func PadLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(s))) + s
}
