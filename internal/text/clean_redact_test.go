package text_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/text"
)

// TestCleanAfterRedaction holds two packages together that do not know each other: what clean
// removes from a text, the redactor must see through, or cleaning puts a secret together again.
func TestCleanAfterRedaction(t *testing.T) {
	const value = "sk-proj-4Qx7ZpT9"
	spaced := "correct horse battery"
	r := redact.New([]redact.Secret{{Name: "KEY", Value: value}, {Name: "PHRASE", Value: spaced}})
	shows := func(s string) bool {
		shown := text.Clean(r.String(s))
		return strings.Contains(shown, value) || strings.Contains(text.OneLine(r.String(s)), spaced)
	}
	// Each character that clean removes, alone.
	for c := rune(0); c <= 0x10ffff; c++ {
		if text.Clean("a"+string(c)+"b") == "ab" && shows("<"+value[:5]+string(c)+value[5:]+">") {
			t.Errorf("the redactor does not see through %U", c)
		}
	}
	pieces := []string{
		"\x1b[31m", "\x1b[01;31m\x1b[K", "\x1b]0;title\x07", "\x1b]8;;http://x.example\x1b\\", "\x1b]0;x\u009c",
		"\x1bPq\x1b\\", "\x1b(B", "\x1b7", "\x1bc",
		"\u009b1m", "\u009d0;x\x07", "\u0085", "\u0090\x07", "\x1b", "\u009b", "\x1b]", "\x1b[", "\x1b[3",
		"\x1b[" + strings.Repeat("1", 600) + "m",
		"\x1b]" + strings.Repeat("x", 505) + "\x07", "\x1b]" + strings.Repeat("x", 509) + "\x07",
		"\x1b]" + strings.Repeat("x", 510) + "\x07",
		"\u009d" + strings.Repeat("x", 510) + "\x07", "\u009d" + strings.Repeat("x", 511) + "\x07",
		"\u009d" + strings.Repeat("x", 512) + "\x07",
		"\x00", "\b", "\x7f", "\u200b", "\u00ad", "\ufeff", "\u202e", "\u061c", "\u180e", "\U000e0041", "\ufffb",
		"\xff", "\xc2", "\r", "\u2028", "\n", "m", "\x07", "\\",
	}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		secret := rapid.SampledFrom([]string{value, spaced}).Draw(t, "secret")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(secret)), 0, 4).Draw(t, "cuts")
		slices.Sort(cuts)
		at := 0
		for _, cut := range cuts {
			b.WriteString(secret[at:cut])
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
			}
			at = cut
		}
		b.WriteString(secret[at:])
		s := "<" + b.String() + ">"
		if shows(s) {
			t.Fatalf("%q shows %q", s, text.Clean(r.String(s)))
		}
		if len(cuts) == 0 && r.String(s) == s {
			t.Fatalf("%q is not hidden", s)
		}
	})
}
