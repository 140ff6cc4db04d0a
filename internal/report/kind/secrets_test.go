package kind

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/module"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/report/terminal"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// canaries are secrets of which no report may show a part, by name.
func canaries() map[string]string {
	return map[string]string{
		"PLAIN_KEY":   "sk-canary-0123456789abcdef",
		"SPACED_KEY":  "unrelated canary secret 77",
		"MARKUP_KEY":  `<b a="can&ary">'4711'</b>`,
		"JSON_KEY":    `{"canary":[1,"x"]}\n`,
		"UNICODE_KEY": "canäry-schlüssel-äöü-漢字",
	}
}

// plant writes text into all texts from outside of v, at their ends.
func plant(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.CanSet() {
			v.SetString(v.String() + text)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			plant(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("redact") != "-" {
				plant(v.Field(i), text)
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			if v.Len() > 0 {
				doc, err := json.Marshal(map[string]any{
					"search_term": text, "list": []string{text},
					"terms": []string{"a", text},
				})
				if err != nil {
					panic(err)
				}
				v.SetBytes(doc)
			}
			return
		}
		for i := range v.Len() {
			plant(v.Index(i), text)
		}
	default:
	}
}

// planted is a log with text in all its texts.
func planted(l *reporttest.Log, text string) *reporttest.Log {
	for i := range l.Events {
		if l.Events[i].Type != plumb.EventRunStarted &&
			l.Events[i].Type != plumb.EventPlanned { // names of what is there
			plant(reflect.ValueOf(&l.Events[i]), text)
		}
	}
	return l
}

// readAs decodes a report as its reader does.
func readAs(t *testing.T, name, s string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(s)
	texts := func(v any) {
		var walk func(any)
		walk = func(v any) {
			switch v := v.(type) {
			case string:
				b.WriteString("\n" + v)
			case []any:
				for _, x := range v {
					walk(x)
				}
			case map[string]any:
				for _, x := range v {
					walk(x)
				}
			}
		}
		walk(v)
	}
	switch name {
	case JSON, JSONSummary:
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Errorf("%s is no JSON any more: %v", name, err)
		}
		texts(v)
	case JUnit:
		d := xml.NewDecoder(strings.NewReader(s))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s is no XML any more: %v", name, err)
				break
			}
			switch token := token.(type) {
			case xml.CharData:
				b.Write(token)
			case xml.StartElement:
				for _, a := range token.Attr {
					b.WriteString("\n" + a.Value)
				}
			}
		}
	case HTML:
		for _, v := range reporttest.PageBlocks(t, s) {
			texts(v)
		}
		var v any
		if err := json.Unmarshal(reporttest.PageIndex(t, s), &v); err != nil {
			t.Fatal(err)
		}
		texts(v)
		b.WriteString(html.UnescapeString(s))
	case GitHubActions:
		b.WriteString(strings.NewReplacer("%0A", "\n", "%0D", "\r", "%3A", ":", "%2C", ",", "%25", "%").Replace(s))
	}
	return text.Clean(ansi.Strip(b.String()))
}

// shows reports whether a text contains a secret or a long prefix of it, also when it is wrapped
// over lines.
func shows(text, secret string) bool {
	const part = 9 // characters
	squeeze := func(s string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "⎮", " ").Replace(s)), "")
	}
	begin := []rune(squeeze(secret))
	return strings.Contains(squeeze(text), string(begin[:part]))
}

// hidden are ways in which programs write text that show it all the same.
func hidden(secret string) []string {
	at := len(secret) / 2
	for secret[at]&0xc0 == 0x80 {
		at++
	}
	before, after := secret[:at], secret[at:]
	return []string{
		before + "\x1b[01;31m\x1b[K" + after + "\x1b[m\x1b[K", // as grep colors it
		before + "\u200b" + after,
		before + "\u00ad\u2060" + after,
		before + "\x1b]0;title\x07" + after,
		before + "\x00\x08" + after,
		before + "\U000e0041" + after,
		before + "\u202e" + after,
		strings.ReplaceAll(secret, " ", " \n\t "),
	}
}

// TestReportsShowNoSecret plants secrets in every text of a run, however written, and renders it in
// every way: no report has one, nor a part of one, after its reader has decoded it.
func TestReportsShowNoSecret(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	var known []redact.Secret
	all, spread := "", ""
	for name, value := range canaries() {
		known = append(known, redact.Secret{Name: name, Value: value})
		all += " " + value
	}
	for _, name := range []string{"PLAIN_KEY", "SPACED_KEY"} {
		spread += " " + strings.Join(hidden(canaries()[name]), " ")
	}
	r := redact.New(known)
	shown := func(what, text string) {
		t.Helper()
		for name, value := range canaries() {
			if shows(text, value) {
				t.Errorf("%s: shows %s", what, name)
			}
		}
	}
	for what, text := range map[string]string{
		"as they are": all + " ", "hidden": spread + " ",
		// What is cut is cut within a secret.
		"at the end of a line":     " " + strings.Repeat(". ", 20) + canaries()["PLAIN_KEY"] + " ",
		"at the end of an excerpt": " " + strings.Repeat(". ", 995) + canaries()["PLAIN_KEY"] + " ",
	} {
		if os.Getenv("PLUMB_CI") == "" && what != "as they are" {
			continue // CI runs all of them
		}
		summary := filepath.Join(t.TempDir(), "summary.md")
		for logName, of := range map[string]func() *reporttest.Log{"mixed": reporttest.Mixed, "agents": reporttest.AgentLog} {
			what := logName + ", " + what
			l := planted(of(), text)
			for _, name := range Names() {
				getenv := func(name string) string {
					if name == "GITHUB_STEP_SUMMARY" {
						return summary
					}
					return ""
				}
				out := render(t, l, name, Setup{Source: report.Source{Redact: r}, Screen: terminal.Screen{
					Unicode: true, Size: func() (int, int) { return 80, 24 }, Getenv: getenv,
				}})
				shown(name+" of "+what, readAs(t, name, out))
				if !strings.Contains(out, "redacted:") && name != HTML {
					t.Errorf("%s of %s: nothing was planted", name, what)
				}
			}
			for i, ev := range l.Events { // the fold cuts reasons
				l.Events[i] = report.Without(r, ev)
			}
			run, sessions := l.Run(t), results.Sessions(l.Sessions).Without(r)
			var doc bytes.Buffer
			if err := results.NewWriter(results.Material{Sessions: sessions}).Write(&doc, run); err != nil {
				t.Fatal(err)
			}
			shown("results.json of "+what, readAs(t, JSON, doc.String()))
			block := filepath.Join(t.TempDir(), "block.json")
			if err := results.AppendBlock(t.Context(), block, run, sessions); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(block)
			if err != nil {
				t.Fatal(err)
			}
			shown("a block of "+what, readAs(t, JSON, string(data)))
		}
		data, err := os.ReadFile(summary)
		if err != nil {
			t.Fatal(err)
		}
		shown("the step summary, "+what, readAs(t, Markdown, string(data)))
	}
	var out, trouble bytes.Buffer
	l := planted(reporttest.AgentLog(), all+" ")
	dir, err := filepath.Abs("../module/testdata/reporters")
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.New(t.Context(), "./record.ts", module.Environment{
		Source: report.Source{Redact: r, Sessions: l.Sessions}, Modules: lib.Modules(), WorkDir: dir, Stdout: &out, Stderr: &trouble,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := report.Replay(m, l.All()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		shown("what a module is told", readAs(t, JSON, line))
	}
	shown("the trouble of a module", trouble.String())
}

// TestReportsKeepStructure: a secret that is like what reports are made of leaves them readable,
// and their counts as they are.
func TestReportsKeepStructure(t *testing.T) {
	for _, value := range []string{
		"</testcase>", `","reason":"`, "::error title", "application/json", "sha256-",
		"testcase",
	} {
		known := redact.New([]redact.Secret{{Name: "A_KEY", Value: value}})
		for _, name := range Names() {
			plain, guarded := render(t, reporttest.Mixed(), name, Setup{Screen: terminal.Screen{Unicode: true}}),
				render(t, reporttest.Mixed(), name, Setup{Source: report.Source{Redact: known}, Screen: terminal.Screen{Unicode: true}})
			if name == HTML {
				continue
			}
			if plain != guarded {
				t.Errorf("a secret %q changes %s", value, name)
			}
		}
		page := render(t, reporttest.Mixed(), HTML, Setup{Source: report.Source{Redact: known}, Screen: terminal.Screen{Unicode: true}})
		executions := func(page string) int {
			var index struct{ Executions []any }
			if err := json.Unmarshal(reporttest.PageIndex(t, page), &index); err != nil {
				t.Fatal(err)
			}
			return len(index.Executions)
		}
		if got, want := executions(page), executions(render(t, reporttest.Mixed(), HTML, Setup{Screen: terminal.Screen{Unicode: true}})); got != want {
			t.Errorf("a secret %q: the page has %d executions, want %d", value, got, want)
		}
	}
}
