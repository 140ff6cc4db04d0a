package results_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/runlog"
)

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
	l := reporttest.Mixed()
	var out bytes.Buffer
	if err := results.NewWriter(results.Material{Sessions: l.Sessions}).Write(&out, l.Run(t)); err != nil {
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
	if diff := gocmp.Diff(want, got); diff != "" {
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
	for name, l := range map[string]*reporttest.Log{"mixed": reporttest.Mixed(), "repeats": reporttest.Repeats()} {
		var out bytes.Buffer
		if err := results.NewWriter(results.Material{Sessions: l.Sessions}).Write(&out, l.Run(t)); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, ev := range l.Events {
			if ev.Report != nil {
				want++
			}
		}
		if got := strings.Count(out.String(), `"finalOutput":`); got != want {
			t.Errorf("%s: %d session reports, want %d", name, got, want)
		}
		var summary bytes.Buffer
		if err := results.NewWriter(results.Material{Sessions: l.Sessions, Detail: results.Brief}).Write(&summary, l.Run(t)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(summary.String(), "finalOutput") || !json.Valid(summary.Bytes()) {
			t.Errorf("%s: the summary has session reports, or is not JSON", name)
		}
	}
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
	l := reporttest.NewLog(reporttest.Info("gpt-5", "claude"), cases...)
	for _, i := range random.Perm(n)[2:] { // two cases do not run
		for _, runner := range []string{"gpt-5", "claude"} {
			j := reporttest.Passed()
			if i%3 == 0 {
				j = reporttest.Failed(plumb.Verdict{Name: "equals", Reason: "wrong", Expected: "<4>", Got: "5"})
			}
			report := reporttest.Answer(strings.Repeat("text & ", random.IntN(50)), int64(i))
			l.Session(cases[i].ID, runner, 1, 1, report, nil, j)
			l.Finish(cases[i].ID, runner, reporttest.ResultOf(1, report.CostUSD, j))
		}
	}
	l.End(plumb.StopInterrupted, 4)
	for _, d := range []results.Detail{results.Full, results.Brief} {
		var whole, out bytes.Buffer
		if err := results.NewWriter(results.Material{Sessions: l.Sessions, Detail: d}).Write(&whole, l.Run(t)); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		r, run := results.NewWriter(results.Material{Sessions: l.Sessions, Temp: dir, Detail: d}), &plumb.Run{}
		for _, ev := range l.Events {
			if err := cmp.Or(run.Apply(ev), r.Report(ev, run)); err != nil {
				t.Fatal(err)
			}
		}
		if rendered, err := os.ReadDir(dir); len(rendered) == 0 || err != nil {
			t.Errorf("details %d: nothing was rendered during the run, error %v", d, err)
		}
		if err := errors.Join(r.Write(&out, run), r.Close()); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(whole.String(), out.String()); diff != "" {
			t.Errorf("details %d: at the end (-), during the run (+):\n%s", d, diff)
		}
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("details %d: %v is left, error %v", d, left, err)
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
	l := reporttest.NewLog(reporttest.Info("gpt-5"), cases...)
	for _, ev := range l.Events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	res := reporttest.ResultOf(1, nil, reporttest.Passed())
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
		return yield(plumb.Event{Type: plumb.EventSessionFinished, Repetition: 1, Session: 1, Report: reporttest.Answer(text, 1)})
	}
	before := reporttest.Heap()
	w := &watching{}
	start := time.Now()
	if err := results.NewWriter(results.Material{Sessions: sessions}).Write(w, run); err != nil {
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
		w.peak = max(w.peak, reporttest.Heap())
	}
	return len(p), nil
}

// TestStored writes a run whose reports and verdicts are copied from its log. The document must be the
// one with decoded sessions.
func TestStored(t *testing.T) {
	l := reporttest.Mixed()
	large := reporttest.Answer(strings.Repeat("0123456789abcdef", 20<<10), 100) // for a file beside the log
	l.Events = l.Events[:len(l.Events)-1]
	last := map[[2]string]*plumb.SessionReport{}
	for i := range l.Events {
		ev := &l.Events[i]
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
	l.End("", 0)
	dir, err := runlog.Create(t.TempDir(), l.Now)
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
	for _, ev := range l.Events {
		if _, _, err := w.Append(ev, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []results.Detail{results.Full, results.Brief} {
		var decoded, copied bytes.Buffer
		if err := results.NewWriter(results.Material{Sessions: index.Sessions, Detail: d}).Write(&decoded, w.Run); err != nil {
			t.Fatal(err)
		}
		if err := results.NewWriter(results.Material{Stored: index.Stored, Detail: d}).Write(&copied, w.Run); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(decoded.String(), copied.String()); diff != "" {
			t.Errorf("decoded (-), copied (+):\n%s", diff)
		}
		if d == results.Full && copied.Len() < 2*len(large.FinalOutput) {
			t.Error("the large sessions are missing")
		}
	}
}
