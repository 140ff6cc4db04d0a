package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/redact"
)

// The encodings that do not change the text around the secret. Each is tested alone and on top of
// each other.
func encodings() map[string]func(string) string {
	jsonString := func(escapeHTML bool) func(string) string {
		return func(s string) string {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(escapeHTML)
			e.Encode(s)
			return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
		}
	}
	each := func(format func(b byte) string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				b.WriteString(format(s[i]))
			}
			return b.String()
		}
	}
	return map[string]func(string) string{
		"raw":        func(s string) string { return s },
		"json":       jsonString(true),
		"json plain": jsonString(false),
		"json slash": func(s string) string { return strings.ReplaceAll(jsonString(false)(s), "/", `\/`) },
		"json \\u": func(s string) string {
			var b strings.Builder
			for _, u := range utf16.Encode([]rune(s)) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
			return b.String()
		},
		"json ascii": func(s string) string {
			var b strings.Builder
			for _, u := range utf16.Encode([]rune(jsonString(false)(s))) {
				if u < 0x80 {
					b.WriteByte(byte(u))
				} else {
					fmt.Fprintf(&b, `\u%04X`, u)
				}
			}
			return b.String()
		},
		"query": url.QueryEscape,
		"path":  url.PathEscape,
		"query lower": func(s string) string {
			return strings.ToLower(each(func(b byte) string { return fmt.Sprintf("%%%02X", b) })(s))
		},
		"percent": each(func(b byte) string { return fmt.Sprintf("%%%02X", b) }),
		"hex":     func(s string) string { return hex.EncodeToString([]byte(s)) },
		"HEX":     func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
		"html":    html.EscapeString,
		"html hex": func(s string) string {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, "&#x%X;", r)
			}
			return b.String()
		},
		"go":        func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] },
		"go ascii":  func(s string) string { q := strconv.QuoteToASCII(s); return q[1 : len(q)-1] },
		"base64":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64url": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	}
}

const secretValue = `s3cr/et"v+al\ue<é😀>&'~%2fz`

func TestEncodings(t *testing.T) {
	r := redact.New([]redact.Secret{{Name: "API_KEY", Value: secretValue}})
	all := encodings()
	for outer, encode := range all {
		for inner, before := range all {
			t.Run(inner+" in "+outer, func(t *testing.T) {
				if _, ok := strings.CutPrefix(outer, "base64"); (ok || strings.EqualFold(outer, "hex")) &&
					inner != "raw" {
					t.Skip("not promised")
				}
				form := encode(before(secretValue))
				for _, around := range [...][2]string{
					{"", ""}, {"key=", "&x=1"}, {`{"k":"`, `"}`}, {"a\\n", "\\n%41&lt;"}, {"中 ", " 中"},
				} {
					text := around[0] + form + around[1]
					if got, want := r.String(text), around[0]+"[redacted:API_KEY]"+around[1]; got != want {
						t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
					}
				}
			})
		}
	}
}

func TestBase64Embedded(t *testing.T) {
	r := redact.New([]redact.Secret{{Name: "KEY", Value: "hunter2hunter"}})
	for _, test := range []struct{ before, after string }{
		{"", ""},
		{"a", ""},
		{"ab", ""},
		{"abc", ""},
		{"user:", ""},
		{"u:", "\n"},
		{"user:", ":realm"},
		{"\xff\xfe", "\xff\xff\xff"},
	} {
		for _, enc := range []*base64.Encoding{
			base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding,
		} {
			text := "Basic " + enc.EncodeToString([]byte(test.before+"hunter2hunter"+test.after)) + " x"
			got := r.String(text)
			before, rest, ok := strings.Cut(got, "[redacted:KEY]")
			if !ok {
				t.Errorf("%s: not found", text)
				continue
			}
			// The rest is the whole characters around the secret.
			enc := enc.WithPadding(base64.NoPadding)
			if want := "Basic " + enc.EncodeToString([]byte(test.before))[:len(test.before)*8/6]; before != want {
				t.Errorf("%s: %s: before the secret %s, want %s", text, got, before, want)
			}
			if test.after == "" && rest != " x" {
				t.Errorf("%s: behind the secret %s", text, rest)
			}
			if want := test.after; len(want) >= 3 &&
				!strings.HasSuffix(rest, enc.EncodeToString([]byte(want[len(want)-1:]))[1:]+" x") &&
				!strings.HasSuffix(text, rest) {
				t.Errorf("%s: behind the secret %s", text, rest)
			}
		}
	}
}

func TestValues(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n"
	r := redact.New([]redact.Secret{
		{"EMPTY", ""},
		{"SHORT", "12345"},
		{"BLANK", "       "},
		{"FIRST", "the same value"},
		{"SECOND", "the same value"},
		{"PART", "same val"},
		{"FILE", "read-from-a-file\n"},
		{"AUTH", "Bearer tok-en-0123"},
		{`W"EIRD <name>`, "weird-value"},
		{"PEM", pem},
		{"LINES", "a line of 20 letters\nand one of nineteen\nits-last"},
		{"PLUS", "one+ two-longest-word+ a"},
		{"DIGITS", "6a 6b 6c 6d 6e 6f 7a 7b"},
		{"DUMPED", "jklmnoz{"},
		{"ACCENTS", "éàüöäß-x"},
	})
	for _, test := range []struct{ in, want string }{
		{"12345        x", "12345        x"},
		{"<the same value>", "<[redacted:FIRST]>"},
		{"the+same+value&the%20same%20value", "[redacted:FIRST]&[redacted:FIRST]"},
		{"not the same valt", "not the [redacted:PART]t"},
		{"read-from-a-file", "[redacted:FILE]"},
		{"Authorization: Bearer tok-en-0123", "Authorization: [redacted:AUTH]"},
		{"token tok-en-0123", "token [redacted:AUTH]"},
		{"weird-value", "[redacted:W_EIRD__name_]"},
		{pem, "[redacted:PEM]\n"},
		{strings.ReplaceAll(pem, "\n", "\\n"), "[redacted:PEM]\\n"},
		{"2024 MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "2024 [redacted:PEM]"},
		{"-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----"},
		{"a line of 20 letters", "[redacted:LINES]"},
		{"and one of nineteen", "and one of nineteen"},
		{"one++two-longest-word++a", "[redacted:PLUS]"},
		{"one+ two-longest-word+%20a", "[redacted:PLUS]"},
		{"one two-longest-word a", "one two-longest-word a"},
		{"6a 6b 6c 6d 6e 6f 7a 7b", "[redacted:DUMPED]"},
		{"6A 6B 6C 6D 6E 6F 7A 7B", "[redacted:DUMPED]"},
		{"d2VpcmQtdmFsdWU===x", "[redacted:W_EIRD__name_]=x"},
		{"C3 A9 C3 A0 C3 BC C3 B6 C3 A4 C3 9F 2D 78", "[redacted:ACCENTS]"},
		{"c3:a9:c3:a0:c3:bc:c3:b6:c3:a4:c3:9f:2d:78", "[redacted:ACCENTS]"},
		{"6A:6b:6C:6D:6E:6F:7A:7B", "[redacted:DUMPED]"},
		{"weird-valueweird-value", "[redacted:W_EIRD__name_][redacted:W_EIRD__name_]"},
		{
			"hex 77656972642D76616C7565 and 77656972642d76616c7565",
			"hex [redacted:W_EIRD__name_] and [redacted:W_EIRD__name_]",
		},
	} {
		if got := r.String(test.in); got != test.want {
			t.Errorf("%q\ngot  %q\nwant %q", test.in, got, test.want)
		}
	}
}

func TestOverlap(t *testing.T) {
	r := redact.New([]redact.Secret{{"A", "abcdefgh"}, {"B", "efghijklmnop"}, {"R", "yzyzyzyzyzyzyzyzyzyzyzyz"}})
	for _, test := range []struct{ in, want string }{
		{"1abcdefghijklmnop2", "1[redacted:B]2"},
		{"1abcdefghi2", "1[redacted:A]i2"},
		{"x" + strings.Repeat("yz", 15) + "z", "x[redacted:R]z"},
	} {
		if got := r.String(test.in); got != test.want {
			t.Errorf("%s: got %s, want %s", test.in, got, test.want)
		}
	}
}

func TestNilAndIdle(t *testing.T) {
	for _, r := range []*redact.Redactor{nil, redact.New(nil), redact.New([]redact.Secret{{"A", "x"}})} {
		if got := r.String("text with x"); got != "text with x" {
			t.Errorf("String gave %q", got)
		}
		var b bytes.Buffer
		w := r.Writer(&b)
		io.WriteString(w, "te")
		io.WriteString(w, "xt")
		if err := w.Close(); err != nil || b.String() != "text" {
			t.Errorf("Writer gave %q, %v", b.String(), err)
		}
	}
}

// TestProperty hides random secrets in random places, in random encodings.
func TestProperty(t *testing.T) {
	all := encodings()
	names := []string{}
	for name := range all {
		names = append(names, name)
	}
	secret := rapid.StringOfN(
		rapid.RuneFrom([]rune(`abcxyzABC0123456789-_./+=:"\'<>&%? é中😀`)), 8, 40, -1,
	).Filter(func(s string) bool {
		return len(strings.TrimSpace(s)) == len(s) && redact.New([]redact.Secret{{"S", s}}).Exposed() == nil
	})
	around := rapid.StringMatching(`([ -}\n]{0,20}~)?`)
	rapid.Check(t, func(t *rapid.T) {
		value := secret.Draw(t, "secret")
		r := redact.New([]redact.Secret{{"OTHER", "other-" + value + "-other"}, {"S", value}})
		encode := all[rapid.SampledFrom(names).Draw(t, "encoding")]
		form := encode(value)
		before, after := around.Draw(t, "before"), reverse(around.Draw(t, "after"))
		text := before + form + after
		if strings.Contains(before+"|"+after, value) {
			t.Skip()
		}
		got := r.String(text)
		if want := before + "[redacted:S]" + after; got != want {
			t.Fatalf("%q in %q\ngot  %q\nwant %q", form, text, got, want)
		}
		if got := chunked(t, r, text); got != r.String(text) {
			t.Fatalf("chunked\ngot  %q\nwant %q", got, r.String(text))
		}
		// Within longer base64.
		inner := before + value + after
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString([]byte(inner))
			got := r.String(text)
			if head, _, ok := strings.Cut(got, "[redacted:S]"); !ok || !strings.HasPrefix(text, head) ||
				len(head) > (len(before)*8)/6 {
				t.Fatalf("base64 of %q: %q", inner, got)
			}
			if again := chunked(t, r, text); got != again {
				t.Fatalf("base64 of %q: %q, and %q chunked", inner, got, again)
			}
		}
	})
}

// TestChunks writes texts of complete and broken encodings to a Writer, in random chunks.
func TestChunks(t *testing.T) {
	secrets := []redact.Secret{
		{"A", `\ab"c\\d`}, {"B", "zzzzzzz"}, {"C", "sk-ant/0123+456"}, {"D", "é中😀&%41x"}, {"E", "x+y z=?!"},
	}
	r := redact.New(secrets)
	var forms []string
	for _, s := range secrets {
		for _, encode := range encodings() {
			forms = append(forms, encode(s.Value), encode(encode(s.Value)))
			for i := range 3 {
				forms = append(forms, base64.StdEncoding.EncodeToString([]byte("abc"[:i]+s.Value+"x")))
			}
		}
	}
	filler := rapid.StringOfN(rapid.RuneFrom([]rune(`\\\\\\\%&;u"02z=A.`+"\n")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "pieces") {
			form := rapid.SampledFrom(forms).Draw(t, "form")
			b.WriteString(form[:min(len(form), rapid.IntRange(0, 200).Draw(t, "cut"))])
			b.WriteString(filler.Draw(t, "filler"))
		}
		text := b.String()
		if got, want := chunked(t, r, text), r.String(text); got != want {
			t.Fatalf("%q\ngot  %q\nwant %q", text, got, want)
		}
	})
}

func chunked(t *rapid.T, r *redact.Redactor, text string) string {
	var b bytes.Buffer
	w := r.Writer(&b)
	size := rapid.IntRange(1, 20).Draw(t, "chunk")
	for rest := text; rest != ""; {
		n := min(len(rest), rapid.IntRange(1, size).Draw(t, "n"))
		if _, err := io.WriteString(w, rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func reverse(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// FuzzRedact compares the redactor with the reference: its output does not contain the secret, and
// text without the secret does not change. Chunks and a second pass change nothing, and JSON stays
// JSON.
func FuzzRedact(f *testing.F) {
	for name, encode := range encodings() {
		f.Add(secretValue, "x"+encode(secretValue)+`\`+name, uint8(3))
	}
	f.Add("12345678", `{"a":12345678,"b":"\u005c12345678"}`, uint8(1))
	f.Add("sk-proj-4Qx7", "\x1b[35m\x1b[K.env\x1b[m\x1b[K:KEY=\x1b[01;31m\x1b[Ksk-proj\x1b[m\x1b[K-4Qx7\n", uint8(5))
	f.Add("sk-proj-4Qx7ZpT9vB2nLkRw8Y", "eHNrLXByb2otNFF4N1\r\npwVDl2QjJuTGtSdzhZeA==", uint8(7))
	f.Add(
		"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n-----END KEY-----",
		`{"a":"{\"b\":\"-----BEGIN KEY-----\\n  MIIEvQIBADANBgkqhkiG\\r\\n-----END KEY-----\"}"}`, uint8(9),
	)
	f.Fuzz(func(t *testing.T, value, text string, size uint8) {
		if len(value) > 60 || len(text) > 200 {
			t.Skip("the reference is slow")
		}
		compare(t, value, text, func() int { return int(size) + 1 })
	})
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// compare checks all properties of a text and a redactor of a value.
func compare(t failer, value, text string, chunk func() int) {
	t.Helper()
	for _, secrets := range [][]redact.Secret{
		{{"S", value}}, {{"S", value}, {"T", reverse(value)}, {"U", value[:len(value)/2] + "x"}},
	} {
		r := redact.New(secrets)
		got := r.String(text)
		var b bytes.Buffer
		w := r.Writer(&b)
		for rest := text; rest != ""; {
			n := min(len(rest), chunk())
			io.WriteString(w, rest[:n])
			rest = rest[n:]
		}
		w.Close()
		if b.String() != got {
			t.Fatalf("%q in %q, chunked\ngot  %q\nwant %q", value, text, b.String(), got)
		}
		if again := r.String(got); again != got {
			t.Fatalf("%q in %q gave %q, then %q", value, text, got, again)
		}
		doc, _ := redact.Clean(r, json.RawMessage(text))
		if json.Valid([]byte(text)) && !json.Valid(doc) {
			t.Fatalf("%q in %q: not JSON any more: %q", value, text, doc)
		}
		if len(secrets) > 1 || r.Exposed() != nil || value == "" {
			continue
		}
		if says(got, value, false) {
			t.Fatalf("%q in %q is left in %q", value, text, got)
		}
		whole := !strings.ContainsAny(value, " \\\n") && strings.TrimSpace(value) == value &&
			redact.New([]redact.Secret{{"V", value}}).String("<"+value+">") != ""
		if whole && got != text && !says(text, value, true) && utf8.ValidString(value) &&
			value == strings.Map(visible, value) {
			t.Fatalf("%q is not in %q, which became %q", value, text, got)
		}
	}
}

func visible(c rune) rune {
	if strings.ContainsRune(strings.Join(unseen(), ""), c) || !strconv.IsPrint(c) {
		return -1
	}
	return c
}

// TestAgainstReference generates texts from forms of a secret, complete and broken, with invisible
// characters in them.
func TestAgainstReference(t *testing.T) {
	if raceEnabled {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	all := encodings()
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	secret := rapid.StringOfN(rapid.RuneFrom([]rune(`abcxyzABC0123456789-_./+=:"\'<>&%? é中😀`)), 8, 16, -1)
	noise := rapid.StringOfN(rapid.RuneFrom([]rune("\\\\%&;u0024xz=+A[]m:\x1b\u200b\u009b\n\r ")), 0, 6, -1)
	property := rapid.MakeFuzz(func(t *rapid.T) {
		value := secret.Draw(t, "secret")
		var b strings.Builder
		b.WriteString(noise.Draw(t, "before"))
		for range rapid.IntRange(1, 2).Draw(t, "pieces") {
			form := value
			at := rapid.IntRange(0, len(form)).Draw(t, "at")
			for range rapid.IntRange(0, 2).Draw(t, "junk") {
				form = form[:at] + rapid.SampledFrom(unseen()[:60]).Draw(t, "unseen") + form[at:]
			}
			for range rapid.IntRange(0, 2).Draw(t, "encodings") {
				form = all[rapid.SampledFrom(names).Draw(t, "encoding")](form)
			}
			at = rapid.IntRange(0, len(form)).Draw(t, "at")
			form = form[:at] + noise.Draw(t, "noise") + form[at:]
			b.WriteString(form)
			b.WriteString(noise.Draw(t, "after"))
		}
		size := rapid.IntRange(1, 40).Draw(t, "size")
		compare(t, value, b.String(), func() int { return size })
	})
	// The same texts each time: FuzzRedact looks for new ones.
	random := rand.NewChaCha8([32]byte{24})
	for n := range 300 {
		choices := make([]byte, 4<<10)
		_, _ = random.Read(choices) // documented to never fail
		t.Run(strconv.Itoa(n), func(t *testing.T) { property(t, choices) })
	}
}
