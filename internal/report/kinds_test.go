package report

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
)

// render replays the log into the named reporter.
func (l *log) render(tb testing.TB, name string, o Options) string {
	tb.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Sessions == nil {
		o.Sessions = l.sessions
	}
	if o.Now == nil {
		o.Now = func() time.Time { return l.now }
	}
	r, err := New(name, o)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := Replay(r, l.all()); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func renderComparison(tb testing.TB, name string, o Options, c *Compared) string {
	tb.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if err := NewComparison(name, o, c); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// The reports for CI systems and browsers have the decision, too.
func TestDecisionInReports(t *testing.T) {
	t.Parallel()
	l := comparedLog("gpt-5", 2, func(int) bool { return false })
	value := -0.2
	end := &l.events[len(l.events)-1]
	end.End.Stop = plumb.StopDecided
	end.Decision = &plumb.Decision{Against: "main", Conclusion: string(compare.Worse), Drawn: 20, Limit: 100, Measured: 20, Lost: 9, Won: 1, Value: &value}
	for name, want := range map[string]string{
		GitHubActions: "::error title=v1.0-cheap", JUnit: `name="decision" value="worse: `, HTML: `class="banner">worse: `,
	} {
		text := l.render(t, name, Options{Screen: Screen{Getenv: func(string) string { return "" }}})
		if !strings.Contains(text, want) || !strings.Contains(text, "decided after 20 pairs") {
			t.Errorf("%s has no %q:\n%.2000s", name, want, text)
		}
	}
}

func TestNewUnknown(t *testing.T) {
	_, err := New("juint", Options{})
	if err == nil || !strings.Contains(err.Error(), `did you mean "junit"?`) ||
		!strings.Contains(plumb.Hint(err), Markdown) {
		t.Errorf("got %v with hint %q", err, plumb.Hint(err))
	}
	for _, name := range Names() {
		if _, err := New(name, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResultsWithoutSessions(t *testing.T) {
	for _, name := range Names() {
		r, err := New(name, Options{Screen: Screen{Out: io.Discard}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Replay(r, mixed().all()); err != nil {
			t.Errorf("%s without sessions: %v", name, err)
		}
	}
}

// TestErrorsSurface: a log that cannot be read and a disk that is full end a report with an error.
func TestErrorsSurface(t *testing.T) {
	torn := errors.New("torn log")
	for _, name := range Names() {
		if name != Terminal {
			r, err := New(name, Options{Source: Source{Sessions: func(string, string,
				func(plumb.Event) error,
			) error {
				return torn
			}}, Screen: Screen{Out: io.Discard}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Replay(r, mixed().all()); !errors.Is(err, torn) {
				t.Errorf("%s: got %v, want the error of the log", name, err)
			}
		}
		r, err := New(name, Options{Source: Source{Sessions: mixed().sessions}, Screen: Screen{Out: full0{}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Replay(r, mixed().all()); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: got %v, want the error of the disk", name, err)
		}
	}
}

type full0 struct{}

func (full0) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestReplayShowsOneEnd(t *testing.T) {
	l := newLog(info("gpt-5"), plumb.CaseInfo{ID: "a-1"}, plumb.CaseInfo{ID: "a-2"})
	l.execute("a-1", "gpt-5", answer("x", 1), passed())
	l.end(plumb.StopInterrupted, 1)
	l.add(plumb.Event{Type: plumb.EventRunResumed})
	l.execute("a-2", "gpt-5", answer("x", 1), passed())
	l.end("", 0)
	out := l.render(t, JSON, Options{})
	if !json.Valid([]byte(out)) || !strings.Contains(out, `"complete": true`) {
		t.Errorf("a resumed run is not one complete document:\n%s", out)
	}
	bad := func() iter.Seq2[plumb.Event, error] {
		return func(yield func(plumb.Event, error) bool) {
			if yield(l.events[0], nil) {
				yield(plumb.Event{}, io.ErrUnexpectedEOF)
			}
		}
	}
	r, _ := New(Terminal, Options{})
	if _, err := Replay(r, bad()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the error of the log", err)
	}
}

// No secret of a run reaches a report of a comparison.
func TestComparisonSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-secret-4f3a9c1d77e0"
	base, cand := comparedLog("gpt-5", 4, func(int) bool { return false }), comparedLog("gpt-5-mini", 4, func(int) bool { return true })
	for i := range cand.events {
		if r := cand.events[i].Report; r != nil {
			r.FinalOutput += secret
		}
	}
	c := compared(t, base, cand)
	c.Warnings = append(c.Warnings, "the key "+secret+" was used")
	o := Options{Source: Source{Redact: redact.New([]redact.Secret{{Name: "A_KEY", Value: secret}})}}
	for _, name := range ComparisonNames() {
		if text := renderComparison(t, name, o, c); strings.Contains(text, secret) {
			t.Errorf("%s shows the secret", name)
		}
	}
}

func TestComparisonJSON(t *testing.T) {
	t.Parallel()
	var c compare.Comparison
	if err := json.Unmarshal([]byte(renderComparison(t, JSON, Options{}, lostRun(t))), &c); err != nil {
		t.Fatal(err)
	}
	if c.Conclusion != compare.Worse || c.ExitCode != 1 || len(c.Cases.Regressed) != 8 {
		t.Errorf("got %s, %d, %d regressions", c.Conclusion, c.ExitCode, len(c.Cases.Regressed))
	}
}
