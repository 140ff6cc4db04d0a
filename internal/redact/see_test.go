package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/redact"
)

// unseen are invisible texts that can occur between the characters of a word.
func unseen() []string {
	return []string{
		"\x1b[31m", "\x1b[0m", "\x1b[K", "\x1b[01;31m\x1b[K", "\x1b[38;5;1m", "\x1b]0;a title\x07",
		"\x1b]8;;http://x.example/\x1b\\", "\x1b]0;x\u009c",
		"\x1bPq#0;2\x1b\\", "\x1b_apc\x1b\\", "\x1b(B", "\x1b7", "\x1bM", "\u009b1m", "\u009d0;x\x07", "\u0085",
		"\u0080", "\x00", "\b", "\x07", "\x7f", "\v", "\f",
		"\u00ad", "\u034f", "\u061c", "\u115f", "\u1160", "\u17b4", "\u180b", "\u180e", "\u200b", "\u200c", "\u200d",
		"\u200e", "\u200f", "\u202a", "\u202e",
		"\u2060", "\u2064", "\u2066", "\u2069", "\u206f", "\u3164", "\ufe00", "\ufe0f", "\ufeff", "\uffa0", "\ufff9",
		"\ufffb", "\ufffd",
		"\U0001bca0", "\U0001d173", "\U000e0001", "\U000e0041", "\U000e007f", "\U000e0100", "\U000e01ef",
		"\xff", "\xc3", "\xe2\x80", "\x9b", "\r", "\u2028", "\u2029", strings.Repeat("\u200b", 1000),
		"\x1b[31m\u200b\x00\x1b[0m",
	}
}

func TestSeesThrough(t *testing.T) {
	const value = `sk-"é/中-0123456789`
	all := encodings()
	r := redact.New([]redact.Secret{{"KEY", value}})
	around := [...][2]string{{"", ""}, {"the key <", "> stands here\n"}}
	for _, junk := range unseen() {
		for at := range value {
			if at == 0 {
				continue
			}
			for _, name := range []string{
				"raw", "json", "json \\u", "percent", "html hex", "json in json", "percent in json",
			} {
				outer, inner, twice := strings.Cut(name, " in ")
				encode := func(s string) string {
					if twice {
						return all[inner](all[outer](s))
					}
					return all[name](s)
				}
				if len(junk) > 100 && name != "raw" {
					continue
				}
				for _, around := range around {
					text := around[0] + encode(value[:at]+junk+value[at:]) + around[1]
					if got, want := r.String(text), around[0]+"[redacted:KEY]"+around[1]; got != want {
						t.Errorf("%q %s:\n%q\ngot  %q\nwant %q", junk, name, text, got, want)
					}
				}
			}
		}
	}
	// Everywhere at once, which no tool does. With the byte before it, \x9b can be a character.
	pieces := slices.DeleteFunc(unseen(), func(s string) bool { return s == "\x9b" })
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for i, c := range value {
			for i > 0 && rapid.IntRange(0, 2).Draw(t, "junk") == 0 {
				b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
			}
			b.WriteRune(c)
		}
		text := "<" + b.String() + ">"
		if got := r.String(text); got != "<[redacted:KEY]>" {
			t.Fatalf("%q: %q", text, got)
		}
		if got := chunked(t, r, text); got != "<[redacted:KEY]>" {
			t.Fatalf("chunked %q: %q", text, got)
		}
	})
}

func TestGrep(t *testing.T) {
	r := redact.New([]redact.Secret{{"OPENAI_API_KEY", "sk-proj-4Qx7ZpT9vB2nLk"}})
	const in = "\x1b[35m\x1b[K.env\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[KOPENAI_API_KEY=\x1b[01;31m\x1b[Ksk-proj\x1b[m\x1b[K-4Qx7ZpT9vB2nLk\n"
	const want = "\x1b[35m\x1b[K.env\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[KOPENAI_API_KEY=\x1b[01;31m\x1b[K[redacted:OPENAI_API_KEY]\n"
	if got := r.String(in); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestSecretsThatAreHardToSee hides secrets that contain invisible characters, both unchanged and
// cleaned.
func TestSecretsThatAreHardToSee(t *testing.T) {
	for _, test := range []struct{ value, shown string }{
		{"abc\x1b[31mdef-0123", "abcdef-0123"},
		{"abc\x1bdef-0123", "abcdef-0123"},
		{"ab\u200bcd\u200def-0123", "abcdef-0123"},
		{"ключ-от-дома-🔑🔑", "ключ-от-дома-🔑🔑"},
		{"\u200b\u200c\u200d\u2060\u200b\u200d\u200c\ufeff", "\u200b\u200c\u200d\u2060\u200b\u200d\u200c\ufeff"},
		{"bi\xff\xfe\x80nary-0123", "bi\xff\xfe\x80nary-0123"},
		{`.*(a|b)+[^c]$`, `.*(a|b)+[^c]$`},
		{"a b c d e f g h i j", "a  b\nc\td e f\r\n g h i j"},
		{"correct horse battery staple", "correct\n\thorse battery\u2003staple"},
		{
			`-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----`,
			"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----",
		},
	} {
		r := redact.New([]redact.Secret{{"KEY", test.value}})
		if why := r.Exposed(); why != nil {
			t.Errorf("%q: %v", test.value, why)
		}
		for _, text := range []string{test.value, test.shown} {
			for _, around := range []string{"", "\n", "<>"} {
				if got := r.String(around + text + around); got != around+"[redacted:KEY]"+around {
					t.Errorf("%q: %q", around+text+around, got)
				}
			}
		}
	}
}

func TestWrapped(t *testing.T) {
	value := "sk-ant-api03-9fKd2LmNq7RsTv4WxYz1AbCeGh6JkPu8Ei3Oo5Qy_-Bn0VcXwZtS2MgHpAA9fKd2LmNq7RsTv4WxYz1AbCeGh6JkPu8Ei3Oo5Qy"
	r := redact.New([]redact.Secret{{"KEY", value}})
	wrap := func(s string, width int, end string) string {
		var b strings.Builder
		for len(s) > width {
			b.WriteString(s[:width] + end)
			s = s[width:]
		}
		return b.String() + s
	}
	for _, width := range []int{16, 60, 64, 76} {
		for _, end := range []string{"\n", "\r\n", "\n    ", `\n`, `\r\n`, `\\n`, "%0A"} {
			for before := range 4 {
				plain := []byte("user"[:before] + value)
				for name, digits := range map[string]string{
					"base64":  base64.StdEncoding.EncodeToString(plain),
					"raw url": base64.RawURLEncoding.EncodeToString(plain), "hex": hex.EncodeToString(plain),
				} {
					text := "<" + wrap(digits, width, end) + ">\n"
					got := r.String(text)
					if !strings.HasSuffix(got, "[redacted:KEY]>\n") || len(got) > 1+len("[redacted:KEY]>\n")+2*before ||
						before == 0 && got != "<[redacted:KEY]>\n" {
						t.Errorf("%s at %d by %q:\n%q\n%q", name, width, end, text, got)
					}
					for _, size := range []int{7, width, width + len(end)} {
						if parts := written(r, text, size); parts != got {
							t.Errorf("%s at %d by %q, in parts of %d:\n%q\n%q", name, width, end, size, parts, got)
						}
					}
				}
			}
		}
	}
	// Shorter lines are not digits of one text, and neither are those with text between them.
	const before = "sixteen characters, and more: "
	for _, text := range []string{
		before + wrap(base64.StdEncoding.EncodeToString([]byte(value)), 15, "\n"),
		before + wrap(hex.EncodeToString([]byte(value)), 16, ",\n"),
		before + wrap(hex.EncodeToString([]byte(value)), 16, " "),
	} {
		if got := r.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, separator := range []string{" ", ":"} {
		dump := "00000000: " + wrap(hex.EncodeToString([]byte(value)), 2, separator) + " end"
		if got := r.String(dump); got != "00000000: [redacted:KEY] end" {
			t.Errorf("%q: %q", dump, got)
		}
		if got := r.String(strings.ToUpper(dump)); got != "00000000: [redacted:KEY] END" {
			t.Errorf("%q: %q", dump, got)
		}
	}
}

// TestCodes checks the promises for base64 and hexadecimal digits of encoded text.
func TestCodes(t *testing.T) {
	all := encodings()
	r := redact.New([]redact.Secret{{"API_KEY", secretValue}})
	for outer, names := range map[string][]string{
		"base64": {
			"raw", "base64", "base64url", "hex", "HEX", "json", "json plain", "query", "path", "html", "json ascii",
			"go",
		},
		"base64url": {
			"raw", "base64", "base64url", "hex", "HEX", "json", "json plain", "query", "path", "html", "json ascii",
			"go",
		},
		"hex": {"raw", "base64", "base64url", "hex", "json"},
		"HEX": {"raw", "base64", "base64url", "HEX", "json plain"},
	} {
		for _, inner := range names {
			for _, around := range [...][2]string{{"", ""}, {"{", "}"}, {"ab", "c"}, {"abc", "de"}, {"user:", "\n"}} {
				text := "<" + all[outer](around[0]+all[inner](secretValue)+around[1]) + ">"
				got := r.String(text)
				if strings.Count(got, "[redacted:API_KEY]") != 1 ||
					len(got) > len("<[redacted:API_KEY]>")+4*len(around[0]+around[1]) {
					t.Errorf("%s in %s in %q:\n%s\n%s", inner, outer, around, text, got)
				}
				for _, escape := range []string{"json \\u", "percent", "html hex"} {
					if got := r.String(all[escape](text)); strings.Count(got, "[redacted:API_KEY]") != 1 {
						t.Errorf("%s in %s in %s: %s", inner, outer, escape, got)
					}
				}
			}
		}
	}
}

// TestLevels undoes as many encodings on top of each other as the package promises.
func TestLevels(t *testing.T) {
	all := encodings()
	r := redact.New([]redact.Secret{{"KEY", secretValue}})
	for name, most := range map[string]int{
		"json \\u": 3, "json ascii": 3, "percent": 3, "html hex": 3, "base64": 2, "base64url": 2, "hex": 2,
	} {
		text := secretValue
		for n := 1; n <= most+1; n++ {
			text = all[name](text)
			if got := r.String(text); (got == "[redacted:KEY]") != (n <= most) {
				t.Errorf("%d times %s: %s", n, name, got)
			}
		}
	}
}

// written returns what a writer makes of a text in parts of a size.
func written(r *redact.Redactor, text string, size int) string {
	var b strings.Builder
	w := r.Writer(&b)
	for part := range slices.Chunk([]byte(text), size) {
		_, _ = w.Write(part) // writing to memory cannot fail
	}
	_ = w.Close()
	return b.String()
}

// TestMarkers hides secrets that look like their replacement.
func TestMarkers(t *testing.T) {
	for _, secrets := range [][]redact.Secret{
		{{"A", "first-0123456"}, {"B", "xx[redacted:A]yy"}},
		{{"A", "first-0123456"}, {"B", "[redacted:A]"}},
		{{"A", "first-0123456"}, {"B", "second-0123["}},
		{{"A", "first-0123456"}, {"B", "A]second-0123"}},
		{{"first-0123456", "first-0123456"}},
		{{"A", "redacted:A"}},
		{{"A", "first-0123456"}, {"B", "[]()<>{}**||"}},
	} {
		r := redact.New(secrets)
		for _, text := range []string{
			"first-0123456", "xxfirst-0123456yy", "second-0123first-0123456", "first-0123456second-0123",
			"xx[redacted:A]yy",
		} {
			got := r.String(text)
			if again := r.String(got); again != got {
				t.Errorf("%v: %q gave %q, then %q", secrets, text, got, again)
			}
		}
	}
}

// TestLongUnseen splits a secret with more invisible text than the writer holds back.
func TestLongUnseen(t *testing.T) {
	const half, other = "sk-proj-4Qx7", "ZpT9vB2nLk"
	r := redact.New([]redact.Secret{{"KEY", half + other}, {"SPACED", "correct horse battery staple"}})
	for _, piece := range []string{"\u200b", "\x1b[31m", "\x00"} {
		began := time.Now()
		text := "<" + half + strings.Repeat(piece, 1<<20/len(piece)) + other + ">"
		if got := r.String(text); got != "<[redacted:KEY]>" {
			t.Errorf("%q: %d bytes are left", piece, len(got))
		}
		if got := written(r, text, 4096); got != "<[redacted:KEY]>" {
			t.Errorf("%q chunked: %d bytes are left", piece, len(got))
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q took %v", piece, took)
		}
		// Text that turns out not to be a secret keeps its words.
		text = "<" + half + strings.Repeat(piece, 1<<20/len(piece)) + "other>"
		if got := r.String(text); !strings.HasPrefix(got, "<"+half) || !strings.HasSuffix(got, "other>") {
			t.Errorf("%q: lost text", piece)
		}
	}
	text := "<correct horse" + strings.Repeat(" \n", 1<<20) + "battery staple>"
	if got := r.String(text); got != "<[redacted:SPACED]>" {
		t.Errorf("white space: %d bytes are left", len(got))
	}
}

// TestLines checks that a line is passed on immediately, unless a secret can continue after it.
func TestLines(t *testing.T) {
	r := redact.New([]redact.Secret{{"KEY", "sk-proj-4Qx7ZpT9vB2nLk"}, {"AUTH", "Bearer sk-proj-4Qx7ZpT9vB2nLk"}})
	for _, line := range []string{
		"a line of words\n", "The answer is face\n", "done 100%\n", "\x1b[32mok\x1b[0m\n", `{"a":"b"}` + "\n", "été\n",
	} {
		var b bytes.Buffer
		w := r.Writer(&b)
		w.Write([]byte(line))
		if got, want := b.String(), r.String(line); got != want {
			t.Errorf("%q: wrote %q", line, got)
		}
	}
}

// The reference decodes a text in all ways, slowly, and checks each result for the secret.

var (
	sequences = regexp.MustCompile(
		`(?:\x1b\[|\x{9b})[ -?]{0,510}[@-~]|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\n\x1b\x{80}-\x{9f}]{0,509}(?:\x07|\x1b\\|\x{9c})|\x1b[()*+#% ][0-~]|\x1b[78=>DEHMNOZc\\]`,
	)
	runs     = regexp.MustCompile(`(?:[A-Za-z0-9+/_-]{16,}[\r\n][ \t\r\n]*)*[A-Za-z0-9+/_-]+`)
	hexRuns  = regexp.MustCompile(`(?:[0-9A-Fa-f]+[ \t\r\n]*)+`)
	spaces   = regexp.MustCompile(`[\s\x{85}\p{Z}]+`)
	slashes  = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U00[01][0-9a-fA-F]{5}|\\x[0-9a-fA-F]{2}|\\["\\/'` + "`" + `abfnrtv]`)
	percents = regexp.MustCompile(`%[0-9a-fA-F]{2}`)
	entities = regexp.MustCompile(`&(?:amp|lt|gt|quot|apos|nbsp|shy|zwj|zwnj|#[0-9]{1,15}|#[xX][0-9a-fA-F]{1,14});`)
	escape   = regexp.MustCompile(slashes.String() + "|" + percents.String() + "|" + entities.String())
)

func readings(value, text string, escapes, codes int, all map[string]int) {
	key, rank := text, 10*escapes+codes
	if before, ok := all[key]; ok && before >= rank {
		return
	}
	all[key] = rank
	// The start of an escape sequence can also be a stray character before the secret.
	if !strings.Contains(text, "¦") && value != "" && text != "" {
		for i := range len(text) - 1 {
			if text[i+1] != value[0] || i > 0 && text[i-1] == 0x1b { // ESC % x is a sequence for terminals
				continue
			}
			if place := escape.FindStringIndex(text[i:]); place != nil && place[0] == 0 {
				readings(value, text[:i]+"¦"+text[i+1:], escapes, codes, all)
			}
		}
	}
	// Invisible characters.
	without := func(text string, lines bool) string {
		return strings.Map(func(c rune) rune {
			switch {
			case c == '\r' || c == 0x2028 || c == 0x2029:
				if lines {
					return -1
				}
				return c
			case c == '\n' || c == '\t':
				return c
			case c < ' ' || c >= 0x7f && c < 0xa0 || slices.Contains([]rune{0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xfeff, 0xffa0, 0xfffd}, c),
				c >= 0x180b && c <= 0x180f, c >= 0x200b && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x2060 && c <= 0x206f, c >= 0xfe00 && c <= 0xfe0f,
				c >= 0xfff0 && c <= 0xfffb, c >= 0x1bca0 && c <= 0x1bca3, c >= 0x1d173 && c <= 0x1d17a, c >= 0xe0000 && c <= 0xe0fff:
				return -1
			}
			return c
		}, text)
	}
	for _, lines := range []bool{false, true} {
		readings(value, without(text, lines), escapes, codes, all)
		readings(value, without(sequences.ReplaceAllString(strings.ToValidUTF8(text, "\ufffd"), ""), lines), escapes, codes, all)
	}
	if escapes > 0 {
		readings(value, slashes.ReplaceAllStringFunc(text, func(s string) string {
			if s[1] == 'x' {
				b, _ := hex.DecodeString(s[2:])
				return string(b)
			}
			if len(s) == 12 {
				a, _ := strconv.ParseUint(s[2:6], 16, 32)
				b, _ := strconv.ParseUint(s[8:], 16, 32)
				return string(utf16.DecodeRune(rune(a), rune(b)))
			}
			if s[1] == 'u' || s[1] == 'U' {
				c, _ := strconv.ParseUint(s[2:], 16, 32)
				return string(rune(c))
			}
			if i := strings.IndexByte("abfnrtv", s[1]); i >= 0 {
				return "\a\b\f\n\r\t\v"[i : i+1]
			}
			return s[1:]
		}), escapes-1, codes, all)
		percent := func(s string) string {
			b, _ := hex.DecodeString(s[1:])
			return string(b)
		}
		readings(value, percents.ReplaceAllStringFunc(text, percent), escapes-1, codes, all)
		readings(value, percents.ReplaceAllStringFunc(strings.ReplaceAll(text, "+", " "), percent), escapes-1, codes, all)
		readings(value, entities.ReplaceAllStringFunc(text, func(s string) string {
			if strings.HasPrefix(s, "&#") {
				base, digits := 10, s[2:len(s)-1]
				if digits[0]|0x20 == 'x' {
					base, digits = 16, digits[1:]
				}
				c, err := strconv.ParseUint(digits, base, 63)
				if err != nil || c > utf8.MaxRune {
					return s
				}
				return string(rune(c))
			}
			return html.UnescapeString(s)
		}), escapes-1, codes, all)
	}
	if codes > 0 {
		for _, run := range runs.FindAllString(text, -1) {
			run = spaces.ReplaceAllString(run, "")
			var bits strings.Builder
			for i := range len(run) {
				fmt.Fprintf(&bits, "%06b", strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", strings.NewReplacer("-", "+", "_", "/").Replace(run[i : i+1])[0]))
			}
			for skip := 0; skip < 8; skip += 2 {
				var plain []byte
				for i := skip; i+8 <= bits.Len(); i += 8 {
					v, _ := strconv.ParseUint(bits.String()[i:i+8], 2, 8)
					plain = append(plain, byte(v))
				}
				readings(value, strings.ToValidUTF8(string(plain), "\n¦\n"), escapes, codes-1, all)
			}
			for _, run := range hexRuns.FindAllString(run, -1) {
				for odd := range 2 {
					if len(run) > odd {
						digits := run[odd:]
						plain, _ := hex.DecodeString(digits[:len(digits)/2*2])
						readings(value, strings.ToValidUTF8(string(plain), "\n¦\n"), escapes, codes-1, all)
					}
				}
			}
		}
	}
}

// says reports whether any decoding of text contains the secret, or its visible part. With stray, a
// character that begins an escape sequence may also be a separate character.
func says(text, value string, stray bool) bool {
	value = strings.TrimSpace(value)
	all := map[string]int{}
	from := value
	if !stray {
		from = ""
	}
	readings(from, text, 3, 2, all)
	wanted := []string{strings.TrimSpace(spaces.ReplaceAllString(value, " "))}
	dump := fmt.Sprintf("% x", value)
	for reading := range all {
		reading = spaces.ReplaceAllString(reading, " ")
		if lower := strings.ToLower(reading); strings.Contains(lower, dump) || strings.Contains(lower, strings.ReplaceAll(dump, " ", ":")) {
			return true
		}
		for _, value := range wanted {
			if strings.Contains(reading, value) {
				return true
			}
		}
	}
	return false
}

func TestReference(t *testing.T) {
	for name, encode := range encodings() {
		if text := "<" + encode(secretValue) + ">"; !says(text, secretValue, true) {
			t.Errorf("the reference does not find %s: %s", name, text)
		}
	}
	if says("nothing here "+url.QueryEscape("ümlaut & more")+base64.StdEncoding.EncodeToString([]byte("neither here")), secretValue, true) {
		t.Error("the reference finds what is not there")
	}
}
