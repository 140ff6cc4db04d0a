package kind

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/report/terminal"
	"github.com/plumb-eval/plumb/internal/text"
)

// TestF24HostileTexts puts hostile texts into all texts of runs and of comparisons, and renders every report.
// None of them is more than text anywhere.
func TestF24HostileTexts(t *testing.T) {
	t.Parallel()
	styles := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, s := range reporttest.HostileTexts() {
		check := func(name, what, got string) {
			plain := got
			if what == "color" {
				if strings.Contains(got, "\x1b[35;5m") {
					t.Errorf("%s with %q: a foreign color", name, s)
				}
				plain = styles.ReplaceAllString(got, "")
			}
			if at := strings.IndexFunc(plain, text.Hidden); at >= 0 {
				t.Errorf("%s, %s, with %q: control character in %q", name, what, s, plain[max(0, at-60):min(len(plain), at+20)])
			}
			switch what {
			case Markdown:
				for _, live := range reporttest.LiveMarkdown(got) {
					t.Errorf("%s with %q: live: %q in\n%s", name, s, live, got)
				}
			case JUnit:
				d := xml.NewDecoder(strings.NewReader(got))
				for {
					if _, err := d.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatalf("%s with %q: %v", name, s, err)
					}
				}
			case GitHubActions:
				command := regexp.MustCompile(`^::(error|warning|notice) title=[^:\n]*::`)
				for line := range strings.Lines(got) {
					if !command.MatchString(line) {
						t.Errorf("%s with %q: the line %q", name, s, line)
					}
				}
			}
		}
		dir := t.TempDir()
		getenv := func(name string) string {
			return map[string]string{"GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary.md")}[name]
		}
		for name, make := range map[string]func() *reporttest.Log{
			"agents": reporttest.AgentLog, "mixed": reporttest.Mixed, "prompts": reporttest.Prompts,
			"repeats": reporttest.Repeats, "samples": reporttest.Samples, "stopped": reporttest.Stopped,
		} {
			for _, priced := range []bool{true, false} {
				l := make()
				l = reporttest.Poisoned(l, s)
				for i := range l.Events {
					if r := l.Events[i].Result; r != nil && !priced {
						r.CostUSD = nil
					}
				}
				for _, kind := range []string{Markdown, JUnit, GitHubActions, Terminal, JSONSummary} {
					check(name, kind, render(t, l, kind, Setup{Source: report.Source{Flags: "--config " + report.ShellWord(s)}, Screen: terminal.Screen{Unicode: true, Getenv: getenv}}))
				}
				check(name, "color", render(t, l, Terminal, Setup{Screen: terminal.Screen{Unicode: true, Color: true}}))
			}
		}
		for _, gates := range [][]string{nil, {"pass_rate >= -5pp", "broken <= 0"}} {
			c := reporttest.LostRun(t, gates...)
			data := *c
			poisonNames(reflect.ValueOf(c.Comparison), s)
			for _, kind := range []string{Markdown, JUnit, GitHubActions, Terminal, JSON} {
				check("comparison", kind, renderComparison(t, kind, Setup{Screen: terminal.Screen{Unicode: true, Getenv: getenv}}, &data))
			}
			check("comparison", "color", renderComparison(t, Terminal, Setup{Screen: terminal.Screen{Unicode: true, Color: true}}, &data))
		}
		summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
		if err != nil {
			t.Fatal(err)
		}
		check("step summary", Markdown, string(summary))
	}
}

// poisonNames replaces the texts of a comparison, but for the words that Plumb has types for.
func poisonNames(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(text)
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Type().Elem().Kind() == reflect.Struct && v.Type().String() != "*time.Time" {
			poisonNames(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			poisonNames(v.Index(i), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type.PkgPath() != "time" {
				poisonNames(v.Field(i), text)
			}
		}
	default:
	}
}
