package terminal

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// renderTerminal replays a log into the reporter.
func renderTerminal(tb testing.TB, l *reporttest.Log, screen Screen) string {
	tb.Helper()
	var out bytes.Buffer
	screen.Out = &out
	if screen.Now == nil {
		screen.Now = func() time.Time { return l.Now }
	}
	if screen.Getenv == nil {
		screen.Getenv = func(string) string { return "" }
	}
	if _, err := report.Replay(New(screen, &report.Source{Sessions: l.Sessions}), l.All()); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// The summary fits terminals of any width, and keeps the interval and the coverage of each column.
func TestSummaryFitsTheWidth(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		for name, l := range map[string]*reporttest.Log{"mixed": reporttest.Mixed(), "prompts": reporttest.Prompts(), "samples": reporttest.Samples()} {
			out := renderTerminal(t, l, Screen{
				Terminal: true, Unicode: true, Size: func() (int, int) { return width, 24 },
				Getenv: func(key string) string { return map[string]string{"NO_COLOR": "1"}[key] },
			})
			tables, _, _ := strings.Cut(out, "\nrun  ") // the commands below are for copying
			for line := range strings.Lines(tables) {
				if strings.HasPrefix(line, "warning: ") || strings.HasPrefix(line, "  hint: ") {
					continue // whole, because people copy them
				}
				if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n >= width {
					t.Errorf("%s on %d columns: %d cells: %s", name, width, n, line)
				}
			}
			for _, want := range map[string][]string{
				"mixed": {"11–77 %", "20–94 %", "5/6", "3/6"}, "prompts": {"69–98 %", "76–100 %", "19/20"}, "samples": {"11–77 %", "5/7"},
			}[name] {
				if !strings.Contains(tables, want) {
					t.Errorf("%s on %d columns lacks %s:\n%s", name, width, want, tables)
				}
			}
		}
	}
}

// Twenty cases on two runners with a few failures fit on one screen.
func TestSummaryIsOneScreen(t *testing.T) {
	about := reporttest.Info("gpt-5", "gpt-5-mini")
	about.Judge = ""
	var cases []plumb.CaseInfo
	for i := range 20 {
		cases = append(cases, plumb.CaseInfo{
			ID: "refund-" + string(rune('a'+i)), Category: "support", Tags: []string{[]string{"billing", "tone"}[i%2]},
		})
	}
	l := reporttest.NewLog(about, cases...)
	for i, c := range cases {
		for _, r := range about.Runners {
			j := reporttest.Passed(reporttest.Verdict("contains", true, "ok", "14 days", ""))
			if i%8 == 3 && r.ID == "gpt-5-mini" {
				j = reporttest.Failed(reporttest.Verdict("contains", false, `"No." does not contain "14 days"`, "14 days", "No."))
			}
			l.Execute(c.ID, r.ID, reporttest.Answer("No.", 300), j)
		}
	}
	out := renderTerminal(t, l.End("", 0), Screen{Unicode: true})
	if n := strings.Count(out, "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, out)
	}
	if strings.Count(out, "does not contain") != 3 {
		t.Errorf("a reason is told twice:\n%s", out)
	}
}

// While a session takes much longer than the others, an estimate of the time left would climb.
func TestNoEstimateWhileASessionHangs(t *testing.T) {
	r := New(Screen{Getenv: func(string) string { return "" }}, &report.Source{})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r.totals = plumb.Totals{Planned: 10, Finished: 4}
	r.pace.begin(now, 0)
	r.took = []time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second, 60 * time.Second}
	r.running[executionKey{"slow", "gpt-5"}] = now
	if p := r.progress(now.Add(15 * time.Second)); !strings.Contains(p, "ETA") {
		t.Errorf("after 15 s: %s", p)
	}
	if p := r.progress(now.Add(19 * time.Second)); strings.Contains(p, "ETA") {
		t.Errorf("after 19 s, with a median of 6 s: %s", p)
	}
}

func TestLogsCannotCommandCI(t *testing.T) {
	l := reporttest.NewLog(reporttest.Info("gpt-5"), plumb.CaseInfo{ID: "a-1"})
	evil := "x\n::add-mask::y\n##[error]z\n##vso[task.setvariable]w"
	l.Execute("a-1", "gpt-5", reporttest.Answer(evil, 1), reporttest.Failed(reporttest.Verdict("exact", false, evil, evil, evil+"\nmore")))
	l.End("", 0)
	getenv := func(n string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[n] }
	out := renderTerminal(t, l, Screen{Getenv: getenv})
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") ||
			strings.Contains(line, "##vso[") {
			t.Errorf("a workflow command: %q", line)
		}
	}
}

// TestPlainProgress: a log gets a line now and then, however many cases end, and also when none
// does.
func TestPlainProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := New(Screen{Out: &out}, &report.Source{})
		l := reporttest.Simple(100)
		run := &plumb.Run{}
		for _, ev := range l.Events {
			if ev.Type == plumb.EventRunFinished {
				time.Sleep(time.Hour) // the last case hangs
			}
			if err := run.Apply(ev); err != nil {
				t.Fatal(err)
			}
			if err := r.Report(ev, run); err != nil {
				t.Fatal(err)
			}
			if ev.Type == plumb.EventExecutionFinished {
				time.Sleep(101 * time.Millisecond)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(out.String(), " done: ")
		if lines < 50 || lines > 110 {
			t.Errorf("%d progress lines in an hour and 10 s:\n%s", lines, out.String())
		}
		if !strings.Contains(out.String(), "50/100 done: 50 pass | 10/s | ETA 5s | $0.11") {
			t.Errorf("progress lines:\n%.2000s", out.String())
		}
	})
}

// TestManyCases measures what a reporter keeps of 100,000 finished cases, and what an event costs.
func TestManyCases(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a second")
	}
	const n = 100_000
	cases := make([]plumb.CaseInfo, n)
	for i := range cases {
		cases[i].ID = "case-" + strconv.Itoa(i)
	}
	l := reporttest.NewLog(reporttest.Info("gpt-5"), cases...)
	run := &plumb.Run{}
	r := New(Screen{Out: io.Discard, Terminal: true, Unicode: true, Color: true}, &report.Source{})
	feed := func(ev plumb.Event) {
		if err := r.Report(ev, run); err != nil {
			t.Fatal(err)
		}
	}
	for _, ev := range l.Events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		feed(ev)
	}
	report := reporttest.Answer(strings.Repeat("long ", 500), 5)
	bad := reporttest.Failed(reporttest.Verdict("contains", false, strings.Repeat("why ", 100), strings.Repeat("x", 3000),
		strings.Repeat("y", 3000)))
	res := reporttest.ResultOf(1, nil, bad)
	before := reporttest.Heap()
	start := time.Now()
	for i := range cases {
		at := plumb.Event{Case: cases[i].ID, Runner: "gpt-5", Repetition: 1, Session: 1, At: start}
		for _, ev := range []plumb.Event{
			{Type: plumb.EventSessionStarted},
			{Type: plumb.EventSessionFinished, Report: report},
			{Type: plumb.EventSessionJudged, Judgement: bad},
			{Type: plumb.EventExecutionFinished, Result: &res},
		} {
			ev.At, ev.Case, ev.Runner, ev.Repetition, ev.Session = at.At, at.Case, at.Runner, 1, 1
			feed(ev)
		}
	}
	each := time.Since(start) / (4 * n)
	kept := int64(reporttest.Heap()) - int64(before)
	runtime.KeepAlive(l)
	runtime.KeepAlive(cases)
	runtime.KeepAlive(run)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v an event, %d bytes kept of %d cases", each, kept, n)
	if kept > 4<<20 {
		t.Errorf("%d bytes are kept of %d finished cases", kept, n)
	}
	if each > 50*time.Microsecond { // 5 µs where nothing else runs
		t.Errorf("an event takes %v", each)
	}
}

func BenchmarkTerminalEvent(b *testing.B) {
	r := New(Screen{Out: io.Discard, Terminal: true}, &report.Source{})
	l := reporttest.Simple(1000)
	run := l.Run(b)
	events := l.Events[2 : len(l.Events)-1]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := r.Report(events[i%len(events)], run); err != nil {
			b.Fatal(err)
		}
	}
	r.Close()
}

// TestAgentsFit draws the table of agents on terminals of many widths: no line is too long, and the
// cost is there as long as there is room for it.
func TestAgentsFit(t *testing.T) {
	run := &plumb.Run{}
	for _, ev := range reporttest.AgentLog().Events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		width  int
		shows  []string
		hidden string
	}{
		{0, []string{"reason", "cache", "$0.029", "codex (codex:gpt-5-codex)"}, "…"},
		{200, []string{"reason", "cache", "$0.029", "codex (codex:gpt-5-codex)"}, "…"},
		{92, []string{"reason", "cache", "$0.029", "codex (codex:gpt-5-codex)"}, "…"},
		{79, []string{"billable", "steps", "$0.029", "codex (codex:gpt-5-codex)"}, "reason"},
		{60, []string{"billable", "steps", "$0.029", "✓ find-the"}, "reason"},
		{30, []string{"time"}, "reason"},
	} {
		var out bytes.Buffer
		s := &summary{
			t: newTheme(false, true), w: bufio.NewWriter(&out), width: test.width,
			screen: &Screen{Getenv: func(string) string { return "" }}, src: &report.Source{}, run: run,
		}
		s.agents()
		if err := s.w.Flush(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := ansi.StringWidth(strings.TrimRight(line, "\n")); test.width > 0 && n > test.width {
				t.Errorf("width %d: a line of %d: %q", test.width, n, line)
			}
		}
		for _, want := range test.shows {
			if !strings.Contains(out.String(), want) {
				t.Errorf("width %d lacks %q:\n%s", test.width, want, &out)
			}
		}
		if strings.Contains(out.String(), test.hidden) {
			t.Errorf("width %d shows %q:\n%s", test.width, test.hidden, &out)
		}
	}
}
