package kind

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/report/terminal"
)

// render replays the log into the named reporter.
func render(tb testing.TB, l *reporttest.Log, name string, o Setup) string {
	tb.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Sessions == nil {
		o.Sessions = l.Sessions
	}
	if o.Now == nil {
		o.Now = func() time.Time { return l.Now }
	}
	r, err := New(name, o)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := report.Replay(r, l.All()); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func renderComparison(tb testing.TB, name string, o Setup, c *report.Compared) string {
	tb.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if err := Compare(name, o, c); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// The reports for CI systems and browsers have the decision, too.
func TestDecisionInReports(t *testing.T) {
	t.Parallel()
	l := reporttest.ComparedLog("gpt-5", 2, func(int) bool { return false })
	value := -0.2
	end := &l.Events[len(l.Events)-1]
	end.End.Stop = plumb.StopDecided
	end.Decision = &plumb.Decision{Against: "main", Conclusion: string(compare.Worse), Drawn: 20, Limit: 100, Measured: 20, Lost: 9, Won: 1, Value: &value}
	for name, want := range map[string]string{
		GitHubActions: "::error title=v1.0-cheap", JUnit: `name="decision" value="worse: `, HTML: `class="banner">worse: `,
	} {
		text := render(t, l, name, Setup{Screen: terminal.Screen{Getenv: func(string) string { return "" }}})
		if !strings.Contains(text, want) || !strings.Contains(text, "decided after 20 pairs") {
			t.Errorf("%s has no %q:\n%.2000s", name, want, text)
		}
	}
}

func TestNewUnknown(t *testing.T) {
	_, err := New("juint", Setup{})
	if err == nil || !strings.Contains(err.Error(), `did you mean "junit"?`) ||
		!strings.Contains(plumb.Hint(err), Markdown) {
		t.Errorf("got %v with hint %q", err, plumb.Hint(err))
	}
	for _, name := range Names() {
		if _, err := New(name, Setup{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResultsWithoutSessions(t *testing.T) {
	for _, name := range Names() {
		r, err := New(name, Setup{Screen: terminal.Screen{Out: io.Discard}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := report.Replay(r, reporttest.Mixed().All()); err != nil {
			t.Errorf("%s without sessions: %v", name, err)
		}
	}
}

// TestErrorsSurface: a log that cannot be read and a disk that is full end a report with an error.
func TestErrorsSurface(t *testing.T) {
	torn := errors.New("torn log")
	for _, name := range Names() {
		if name != Terminal {
			r, err := New(name, Setup{Source: report.Source{Sessions: func(string, string,
				func(plumb.Event) error,
			) error {
				return torn
			}}, Screen: terminal.Screen{Out: io.Discard}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := report.Replay(r, reporttest.Mixed().All()); !errors.Is(err, torn) {
				t.Errorf("%s: got %v, want the error of the log", name, err)
			}
		}
		r, err := New(name, Setup{Source: report.Source{Sessions: reporttest.Mixed().Sessions}, Screen: terminal.Screen{Out: full0{}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := report.Replay(r, reporttest.Mixed().All()); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: got %v, want the error of the disk", name, err)
		}
	}
}

type full0 struct{}

func (full0) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestReplayShowsOneEnd(t *testing.T) {
	l := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "a-1"}, plumb.CaseInfo{ID: "a-2"})
	l.Execute("a-1", "gpt-5", reporttest.Answer("x", 1), reporttest.Passed())
	l.End(plumb.StopInterrupted, 1)
	l.Add(plumb.Event{Type: plumb.EventRunResumed})
	l.Execute("a-2", "gpt-5", reporttest.Answer("x", 1), reporttest.Passed())
	l.End("", 0)
	out := render(t, l, JSON, Setup{})
	if !json.Valid([]byte(out)) || !strings.Contains(out, `"complete": true`) {
		t.Errorf("a resumed run is not one complete document:\n%s", out)
	}
	bad := func() iter.Seq2[plumb.Event, error] {
		return func(yield func(plumb.Event, error) bool) {
			if yield(l.Events[0], nil) {
				yield(plumb.Event{}, io.ErrUnexpectedEOF)
			}
		}
	}
	r, _ := New(Terminal, Setup{})
	if _, err := report.Replay(r, bad()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the error of the log", err)
	}
}

// No secret of a run reaches a report of a comparison.
func TestComparisonSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-secret-4f3a9c1d77e0"
	base := reporttest.ComparedLog("gpt-5", 4, func(int) bool { return false })
	cand := reporttest.ComparedLog("gpt-5-mini", 4, func(int) bool { return true })
	for i := range cand.Events {
		if r := cand.Events[i].Report; r != nil {
			r.FinalOutput += secret
		}
	}
	c := reporttest.CompareLogs(t, base, cand)
	c.Warnings = append(c.Warnings, "the key "+secret+" was used")
	o := Setup{Source: report.Source{Redact: redact.New([]redact.Secret{{Name: "A_KEY", Value: secret}})}}
	for _, name := range ComparisonNames() {
		if text := renderComparison(t, name, o, c); strings.Contains(text, secret) {
			t.Errorf("%s shows the secret", name)
		}
	}
}

func TestComparisonJSON(t *testing.T) {
	t.Parallel()
	var c compare.Comparison
	if err := json.Unmarshal([]byte(renderComparison(t, JSON, Setup{}, reporttest.LostRun(t))), &c); err != nil {
		t.Fatal(err)
	}
	if c.Conclusion != compare.Worse || c.ExitCode != 1 || len(c.Cases.Regressed) != 8 {
		t.Errorf("got %s, %d, %d regressions", c.Conclusion, c.ExitCode, len(c.Cases.Regressed))
	}
}

// TestU1MarkdownNamesRunners: a case that was lost on one of several runners is listed with it.
func TestU1MarkdownNamesRunners(t *testing.T) {
	t.Parallel()
	logOf := func(lost string) *reporttest.Log {
		l := reporttest.NewLog(reporttest.Info("v1", "v2"), plumb.CaseInfo{ID: "a", Hash: "sha256:a"},
			plumb.CaseInfo{ID: "b", Hash: "sha256:b"})
		for _, id := range []string{"a", "b"} {
			for _, runner := range []string{"v1", "v2"} {
				r := reporttest.Answer(lost+id+runner, 10)
				r.SessionID = r.FinalOutput
				j := reporttest.Passed(reporttest.Verdict("x", true, "", "", ""))
				if lost == id+runner {
					j = reporttest.Failed(reporttest.Verdict("x", false, "no", "", ""))
				}
				l.Execute(id, runner, r, j)
			}
		}
		return l.End("", 0)
	}
	c := reporttest.CompareLogs(t, logOf(""), logOf("bv2"))
	for kind, want := range map[string]string{Markdown: "- `b on v2` 1/1 → 0/1", Terminal: "b on v2  1/1 → 0/1"} {
		if text := renderComparison(t, kind, Setup{Screen: terminal.Screen{Unicode: true}}, c); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", kind, want, text)
		}
	}
}
