package text_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/internal/text"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain text\twith tab\nand line", "plain text\twith tab\nand line"},
		{"漢字 été 👩‍👩‍👧 ñ", "漢字 été 👩‍👩‍👧 ñ"},
		{"a\r\nb\rc", "a\nb\nc"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b[2J\x1b[1;1Hhome", "home"},
		{"\x1b]0;title\x07text", "text"},
		{"\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1b]52;c;aGVsbG8=\u009crest", "rest"},
		{"\x1bPq#0;2;0;0;0\x1b\\sixel", "sixel"},
		{"\x1b]0;never ends, and all of this must stay visible", "]0;never ends, and all of this must stay visible"},
		{"\x1b]0;line\nends\x07", "]0;line\nends"},
		{"\x1b[31", "[31"},
		{"\x1b", ""},
		{"\x1bcreset", "reset"},
		{"\x1b(0lines", "lines"},
		{"\u009b31mred", "red"},
		{"\u009d0;title\x07text", "text"},
		{"\u0085next", "next"},
		{"bell\x07 back\x08 del\x7f nul\x00", "bell back del nul"},
		{"\u202egnp.exe\u202c \u2066x\u2069 \u200e\u200f\u061c", "gnp.exe x "},
		{"zero\u200bwidth\ufeff \u00adsoft", "zerowidth soft"},
		{"tag\U000e0041\U000e007f!", "tag!"},
		{"para\u2029line\u2028end", "para\nline\nend"},
		{"bad\xffutf8\x9b", "bad\ufffdutf8\ufffd"},
	} {
		if got := text.Clean(c.in); got != c.want {
			t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07 \u202eltr \u009b2Jcsi <script>|`x`|", "\x1b\x1b[[31m", "\u009b\u009b", "\x1b]\x1b]\x07", "\r\x07\n", "a\x9b31m",
		"\xc2", "\u202e",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := text.Clean(s)
		if !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q is not UTF-8", s, got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Errorf("Clean(%q) = %q has %U", s, got, r)
			}
		}
		if again := text.Clean(got); again != got {
			t.Errorf("clean is not idempotent: %q, then %q", got, again)
		}
		if line := text.OneLine(s); strings.ContainsAny(line, "\n\t") {
			t.Errorf("OneLine(%q) = %q", s, line)
		}
		// Letters outside of sequences stay: nothing can hide the text after it.
		if tail := text.Clean(s + "\nvisible"); !strings.HasSuffix(tail, "visible") {
			t.Errorf("Clean(%q) hides what follows: %q", s, tail)
		}
	})
}

func TestCleanIsLinear(t *testing.T) {
	start := time.Now()
	text.Clean(strings.Repeat("\u009d", 200_000) + strings.Repeat("\x1b]", 200_000))
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("hostile text of 800 kB took %v", d)
	}
}

func TestFormat(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "0ms", 42: "42ms", 1000: "1s", 1500: "1.5s", 9999: "9.9s", 24800: "24s", 102_000: "1m 42s", 120_000: "2m",
		3_660_000: "1h 1m", -5: "0ms",
	} {
		if got := text.Millis(ms); got != want {
			t.Errorf("duration(%d) = %q, want %q", ms, got, want)
		}
	}
	for usd, want := range map[float64]string{
		0: "$0", 1234.5: "$1,234.50", 12.3: "$12.30", 0.5: "$0.50", 0.0123: "$0.012", 0.00042: "$0.00042",
		1e-12: "$0.000000000",
	} {
		if got := text.Money(usd); got != want {
			t.Errorf("money(%v) = %q, want %q", usd, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0 %", 1: "100 %", 0.999: ">99 %", 0.001: "<1 %", 0.78: "78 %"} {
		if got := text.Percent(share); got != want {
			t.Errorf("percent(%v) = %q, want %q", share, got, want)
		}
	}
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000",
		-100: "-100",
	} {
		if got := text.Count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"plain é 漢 👩"}`: `{"a":"plain é 漢 👩"}`,
		"\"\u0085\x7f\"":      `"\u0085\u007f"`,
		"\"a\u202eb\u200b\"":  `"a\u202eb\u200b"`,
		"\"\U000e0041 flag\"": `"\udb40\udc41 flag"`,
	} {
		if got := string(text.EscapeJSON([]byte(in))); got != want {
			t.Errorf("EscapeJSON(%q) = %s, want %s", in, got, want)
		}
	}
	// Several bytes are looked at together: a character counts wherever it stands.
	for before := range 20 {
		for after := range 20 {
			in := strings.Repeat("~", before) + "é\x7f" + strings.Repeat("~", after)
			want := strings.Repeat("~", before) + `é\u007f` + strings.Repeat("~", after)
			if got := string(text.EscapeJSON([]byte(in))); got != want {
				t.Fatalf("EscapeJSON(%q) = %s, want %s", in, got, want)
			}
		}
	}
}
