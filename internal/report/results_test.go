package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/runlog"
)

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

// TestResultsDocumented reads results.json as scripts for the documented shape do.
func TestResultsDocumented(t *testing.T) {
	type runnerResult struct {
		Runner struct {
			ID, PathKey string
			Agent       struct{ Type, Model string }
		}
		Passed        bool
		Status        string
		Outcome       string
		DurationMs    float64
		Report        *struct{ FinalOutput string }
		Error         *struct{ Name, Message string }
		FailureOrigin string
		FailureClass  *struct{ ID, Label string }
		RepeatTarget, CompletedRepetitions,
		SuccessfulRepetitions int
		Session  int
		Sessions []struct {
			Session int
			Passed  bool
		}
		Repetitions []struct {
			Repetition int
			Passed     bool
		}
	}
	var doc struct {
		SuitePath, StartedAt, EndedAt, SuiteRunArtifactDir string
		DurationMs                                         float64
		DeclaredTags, SelectedTags                         []string
		Cases                                              []struct {
			CaseID        string
			Tags          []string
			Passed        bool
			RunnerResults []runnerResult
		}
		Runners []struct {
			TotalCases, PassedCases                            int
			SuccessRate, AverageDurationMs, AverageInputTokens float64
		}
		Outcome  string
		Complete bool
	}
	l := mixed()
	var out bytes.Buffer
	if err := results.NewWriter(results.Options{Sessions: l.sessions}).Write(&out, l.run(t)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cases) != 6 || len(doc.Runners) != 2 || doc.DeclaredTags == nil || doc.SelectedTags == nil {
		t.Fatalf("%d cases, %d runners", len(doc.Cases), len(doc.Runners))
	}
	var got []string
	for _, c := range doc.Cases {
		for _, r := range c.RunnerResults {
			line := c.CaseID + " " + r.Status + " " + r.Outcome + " " + r.FailureOrigin
			if r.FailureClass != nil {
				line += " " + r.FailureClass.ID
			}
			if r.Error != nil {
				line += " " + r.Error.Name
			}
			if r.Passed != plumb.Status(r.Status).OK() {
				t.Errorf("%s: passed %v", line, r.Passed)
			}
			got = append(got, line)
		}
	}
	want := []string{
		"math-001 passed pass ", "math-001 failed fail assertion assertion AssertionError",
		"math-002 passed pass ", "math-002 failed error runner runner-crash Error",
		"text-001 failed fail assertion assertion AssertionError", "text-001 failed error judge judge Error",
		"text-002 failed fail assertion assertion AssertionError", "text-002 passed pass ",
		"gap-001 expected-failed fail ", "gap-001 unexpected-passed pass  unexpected-passed Error",
		"gap-002 skipped skipped ", "gap-002 skipped skipped ",
	}
	want[10] += " Error" // it says why it was skipped
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if r := doc.Cases[1].RunnerResults[0]; r.Session != 2 || len(r.Sessions) != 2 || r.Report.FinalOutput != "7" ||
		len(r.Repetitions) != 1 {
		t.Errorf("retried result: %+v", r)
	}
	if doc.Outcome != "fail" || doc.Complete {
		t.Errorf("outcome %s, complete %v", doc.Outcome, doc.Complete)
	}
	if r := doc.Runners[0]; r.TotalCases != 6 || r.PassedCases != 3 || r.SuccessRate != 0.5 {
		t.Errorf("summary of gpt-5: %+v", r)
	}
}

// TestEachReportOnce: the documented shape contains session reports up to four times. Plumb's has
// each exactly once.
func TestEachReportOnce(t *testing.T) {
	for name, l := range map[string]*log{"mixed": mixed(), "repeats": repeats()} {
		var out bytes.Buffer
		if err := results.NewWriter(results.Options{Sessions: l.sessions}).Write(&out, l.run(t)); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, ev := range l.events {
			if ev.Report != nil {
				want++
			}
		}
		if got := strings.Count(out.String(), `"finalOutput":`); got != want {
			t.Errorf("%s: %d session reports, want %d", name, got, want)
		}
		var summary bytes.Buffer
		if err := newResults(&Options{Sessions: l.sessions}, results.Brief).Write(&summary, l.run(t)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(summary.String(), "finalOutput") || !json.Valid(summary.Bytes()) {
			t.Errorf("%s: the summary has session reports, or is not JSON", name)
		}
	}
}

func TestResultsWithoutSessions(t *testing.T) {
	for _, name := range Names() {
		r, err := New(name, Options{Out: io.Discard})
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
			r, err := New(name, Options{Out: io.Discard, Sessions: func(string, string,
				func(plumb.Event) error,
			) error {
				return torn
			}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Replay(r, mixed().all()); !errors.Is(err, torn) {
				t.Errorf("%s: got %v, want the error of the log", name, err)
			}
		}
		r, err := New(name, Options{Out: full0{}, Sessions: mixed().sessions})
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

// TestPlainProgress: a log gets a line now and then, however many cases end, and also when none
// does.
func TestPlainProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r, err := New(Terminal, Options{Out: &out})
		if err != nil {
			t.Fatal(err)
		}
		l := simple(100)
		run := &plumb.Run{}
		for _, ev := range l.events {
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
	l := newLog(info("gpt-5"), cases...)
	run := &plumb.Run{}
	r, err := New(Terminal, Options{Out: io.Discard, Terminal: true, Unicode: true, Color: true})
	if err != nil {
		t.Fatal(err)
	}
	feed := func(ev plumb.Event) {
		if err := r.Report(ev, run); err != nil {
			t.Fatal(err)
		}
	}
	for _, ev := range l.events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		feed(ev)
	}
	report := answer(strings.Repeat("long ", 500), 5)
	bad := failed(verdict("contains", false, strings.Repeat("why ", 100), strings.Repeat("x", 3000),
		strings.Repeat("y", 3000)))
	res := resultOf(1, nil, bad)
	before := heap()
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
	kept := int64(heap()) - int64(before)
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

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestResultsDuringRun: a document that is rendered during the run has the bytes of one that is
// rendered at its end, whatever the order in which the cases end.
func TestResultsDuringRun(t *testing.T) {
	const n = 200
	var cases []plumb.CaseInfo
	for i := range n {
		cases = append(cases, plumb.CaseInfo{ID: "case-" + strconv.Itoa(i)})
	}
	random := rand.New(rand.NewPCG(1, 2))
	l := newLog(info("gpt-5", "claude"), cases...)
	for _, i := range random.Perm(n)[2:] { // two cases do not run
		for _, runner := range []string{"gpt-5", "claude"} {
			j := passed()
			if i%3 == 0 {
				j = failed(plumb.Verdict{Name: "equals", Reason: "wrong", Expected: "<4>", Got: "5"})
			}
			report := answer(strings.Repeat("text & ", random.IntN(50)), int64(i))
			l.session(cases[i].ID, runner, 1, 1, report, nil, j)
			l.finish(cases[i].ID, runner, resultOf(1, report.CostUSD, j))
		}
	}
	l.end(plumb.StopInterrupted, 4)
	for _, name := range []string{JSON, JSONSummary} {
		dir := t.TempDir()
		var out bytes.Buffer
		r, err := New(name, Options{Out: &out, Sessions: l.sessions, Temp: dir})
		if err != nil {
			t.Fatal(err)
		}
		events := func(yield func(plumb.Event, error) bool) {
			for ev, err := range l.all() {
				if ev.Type == plumb.EventRunFinished {
					if spool, _ := os.ReadDir(dir); len(spool) != 1 {
						t.Errorf("%s: nothing was rendered during the run", name)
					}
				}
				if !yield(ev, err) {
					return
				}
			}
		}
		if _, err := Replay(r, events); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l.render(t, name, Options{}), out.String()); diff != "" {
			t.Errorf("%s at the end (-), during the run (+):\n%s", name, diff)
		}
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("%s: %v is left, error %v", name, left, err)
		}
	}
}

// TestResultsStream: writing the results of many cases holds one of them at a time.
func TestResultsStream(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	const n = 20_000
	cases := make([]plumb.CaseInfo, n)
	run := &plumb.Run{}
	for i := range cases {
		cases[i].ID = "case-" + strconv.Itoa(i)
	}
	l := newLog(info("gpt-5"), cases...)
	for _, ev := range l.events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	res := resultOf(1, nil, passed())
	for i := range cases {
		if err := run.Apply(plumb.Event{
			Type: plumb.EventExecutionFinished, Case: cases[i].ID, Runner: "gpt-5",
			Result: &res,
		}); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Repeat("x", 10_000)
	sessions := func(_, _ string, yield func(plumb.Event) error) error {
		return yield(plumb.Event{Type: plumb.EventSessionFinished, Repetition: 1, Session: 1, Report: answer(text, 1)})
	}
	before := heap()
	w := &watching{}
	start := time.Now()
	if err := results.NewWriter(results.Options{Sessions: sessions}).Write(w, run); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB in %v, heap grew by at most %d kB", w.n>>20, time.Since(start), (int64(w.peak)-int64(before))>>10)
	if w.n < n*10_000 || int64(w.peak)-int64(before) > 64<<20 {
		t.Errorf("%d bytes written, heap grew by %d", w.n, int64(w.peak)-int64(before))
	}
}

// watching counts what is written and looks at the heap now and then.
type watching struct {
	n     int
	calls int
	peak  uint64
}

func (w *watching) Write(p []byte) (int, error) {
	w.n += len(p)
	w.calls++
	if w.calls%500 == 0 {
		w.peak = max(w.peak, heap())
	}
	return len(p), nil
}

func BenchmarkTerminalEvent(b *testing.B) {
	r, _ := New(Terminal, Options{Out: io.Discard, Terminal: true})
	l := simple(1000)
	run := l.run(b)
	events := l.events[2 : len(l.events)-1]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := r.Report(events[i%len(events)], run); err != nil {
			b.Fatal(err)
		}
	}
	r.Close()
}

// TestStored writes a run whose reports and verdicts are copied from its log. The document must be the
// one with decoded sessions.
func TestStored(t *testing.T) {
	l := mixed()
	large := answer(strings.Repeat("0123456789abcdef", 20<<10), 100) // for a file beside the log
	l.events = l.events[:len(l.events)-1]
	last := map[[2]string]*plumb.SessionReport{}
	for i := range l.events {
		ev := &l.events[i]
		key := [2]string{ev.Case, ev.Runner}
		switch {
		case ev.Type == plumb.EventSessionFinished:
			if ev.Case == "math-001" {
				ev.Report = large
			}
			last[key] = ev.Report
		case ev.Type == plumb.EventExecutionFinished && last[key] != nil: // with the figures of its session
			r := last[key]
			ev.Result.DurationMs, ev.Result.LatencyMs, ev.Result.Usage = r.DurationMs, r.LatencyMs, r.Usage
		}
	}
	l.end("", 0)
	dir, err := runlog.Create(t.TempDir(), l.now)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	index := &runlog.Index{}
	defer index.Close()
	w, err := runlog.Continue(dir, index, nil, func(plumb.Event, *plumb.Run) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range l.events {
		if _, _, err := w.Append(ev, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []results.Detail{results.Full, results.Brief} {
		var decoded, copied bytes.Buffer
		if err := results.NewWriter(results.Options{Sessions: index.Sessions, Detail: d}).Write(&decoded, w.Run); err != nil {
			t.Fatal(err)
		}
		if err := results.NewWriter(results.Options{Stored: index.Stored, Detail: d}).Write(&copied, w.Run); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded.String(), copied.String()); diff != "" {
			t.Errorf("decoded (-), copied (+):\n%s", diff)
		}
		if d == results.Full && copied.Len() < 2*len(large.FinalOutput) {
			t.Error("the large sessions are missing")
		}
	}
}
