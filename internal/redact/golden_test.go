package redact_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/redact"
)

// TestWhatIsHidden compares exactly what is hidden, and what a writer holds back after each part, with
// a file.
func TestWhatIsHidden(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	secrets := []redact.Secret{
		{Name: "API_KEY", Value: secretValue},
		{Name: "TOKEN", Value: "sk-Zq81Kd2LmNq7"},
		{Name: "PHRASE", Value: "correct horse+ battery staple"},
		{Name: "PART", Value: "q81Kd2LmNq"},
	}
	hidden := redact.New(secrets)
	all := encodings()
	names := slices.Sorted(maps.Keys(all))
	pieces := []string{
		"=", "==", "===", "\n", " ", "abcdef0123456789", "QUJDREVGR0hJSktMTU5P", "\\", "\\u00", "%", "%4", "&#",
		"&am", "\x1b[31m", "\x1b]0;t", "\x1b",
		"\u200b", "\u00ad", "\r\n", "  ", "+", "++", "words in between", "\xff", "\xc3", "é", "😀", "\\ud83d",
		"sk-Zq81", "correct  horse", "\x00", ",\"",
	}
	var b strings.Builder
	for range 260 {
		var text strings.Builder
		for range 1 + r.IntN(4) {
			if r.IntN(2) == 0 {
				text.WriteString(pieces[r.IntN(len(pieces))])
				continue
			}
			form := secrets[r.IntN(len(secrets))].Value
			for range r.IntN(3) {
				form = all[names[r.IntN(len(names))]](form)
			}
			switch r.IntN(5) {
			case 0: // wrapped
				width, end := 15+r.IntN(4), []string{"\n", "\r\n  ", " "}[r.IntN(3)]
				for len(form) > width {
					text.WriteString(form[:width] + end)
					form = form[width:]
				}
			case 1: // with something in it
				at := r.IntN(len(form))
				form = form[:at] + pieces[r.IntN(len(pieces))] + form[at:]
			case 2: // cut off
				form = form[r.IntN(3) : len(form)-r.IntN(3)]
			}
			text.WriteString(form)
		}
		fmt.Fprintf(&b, "%q\n\t%q\n\t", text.String(), hidden.String(text.String()))
		var out bytes.Buffer
		w := hidden.Writer(&out)
		for part := range slices.Chunk([]byte(text.String()), 1+r.IntN(12)) {
			_, _ = w.Write(part) // writing to memory cannot fail
			fmt.Fprintf(&b, "%d ", out.Len())
		}
		_ = w.Close()
		fmt.Fprintf(&b, "%d\n", out.Len())
		if out.String() != hidden.String(text.String()) {
			fmt.Fprintf(&b, "\t%q in parts\n", out.String())
		}
	}
	golden.Equal(t, "testdata/hidden.txt", b.String())
}
