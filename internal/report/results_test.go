package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func TestNewUnknown(t *testing.T) {
	_, err := New("juint", Options{})
	if err == nil || !strings.Contains(err.Error(), `did you mean "junit"?`) || !strings.Contains(plumb.Hint(err), Markdown) {
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
	if err := WriteResults(&out, l.run(t), l.sessions); err != nil {
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
	if r := doc.Cases[1].RunnerResults[0]; r.Session != 2 || len(r.Sessions) != 2 || r.Report.FinalOutput != "7" || len(r.Repetitions) != 1 {
		t.Errorf("retried result: %+v", r)
	}
	if doc.Outcome != "fail" || doc.Complete {
		t.Errorf("outcome %s, complete %v", doc.Outcome, doc.Complete)
	}
	if r := doc.Runners[0]; r.TotalCases != 6 || r.PassedCases != 3 || r.SuccessRate != 0.5 {
		t.Errorf("summary of gpt-5: %+v", r)
	}
}

// TestEachReportOnce: the documented shape has session reports up to four times; ours once, and none is lost.
func TestEachReportOnce(t *testing.T) {
	for name, l := range map[string]*log{"mixed": mixed(), "repeats": repeats()} {
		var out bytes.Buffer
		if err := WriteResults(&out, l.run(t), l.sessions); err != nil {
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
		if err := writeDocument(&summary, l.run(t), l.sessions, brief, false); err != nil {
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
			r, err := New(name, Options{Out: io.Discard, Sessions: func(string, string, func(plumb.Event) error) error { return torn }})
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

// TestJUnitReads parses what was written and checks its counts against its elements.
func TestJUnitReads(t *testing.T) {
	type testcase struct {
		Name    string    `xml:"name,attr"`
		Failure *struct{} `xml:"failure"`
		Error   *struct{} `xml:"error"`
		Skipped *struct {
			Message string `xml:"message,attr"`
		} `xml:"skipped"`
		Out string `xml:"system-out"`
	}
	var doc struct {
		Tests  int `xml:"tests,attr"`
		Suites []struct {
			Name     string     `xml:"name,attr"`
			Tests    int        `xml:"tests,attr"`
			Failures int        `xml:"failures,attr"`
			Errors   int        `xml:"errors,attr"`
			Skipped  int        `xml:"skipped,attr"`
			Cases    []testcase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	l := mixed()
	l.execute("gap-002", "gpt-5-mini", answer("nul \x00 \ufffe ]]> \x1b[1m"+strings.Repeat("x", junitOutput), 1),
		failed(verdict("a\x01b", false, "c\x02]]>", "", "")))
	l.end("", 0)
	if err := xml.Unmarshal([]byte(l.render(t, JUnit, Options{})), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Tests != 12 || len(doc.Suites) != 2 {
		t.Fatalf("%d tests, %d suites", doc.Tests, len(doc.Suites))
	}
	for _, s := range doc.Suites {
		failures, errs, skipped := 0, 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				errs++
			}
			if c.Skipped != nil {
				skipped++
				if c.Skipped.Message == "" {
					t.Errorf("%s: skipped without a reason", c.Name)
				}
			}
			if len(c.Out) > junitOutput+200 {
				t.Errorf("%s: %d bytes of output", c.Name, len(c.Out))
			}
		}
		if len(s.Cases) != s.Tests || failures != s.Failures || errs != s.Errors || skipped != s.Skipped {
			t.Errorf("%s: counts %d %d %d %d, elements %d %d %d %d", s.Name, s.Tests, s.Failures, s.Errors, s.Skipped,
				len(s.Cases), failures, errs, skipped)
		}
	}
}

func TestMarkdownFits(t *testing.T) {
	l := storm(3000)
	for _, c := range l.run(t).Cases {
		l.note("warning", strings.Repeat(c.ID+" ", 50), "")
	}
	got := l.render(t, Markdown, Options{})
	if len(got) >= 65_536 || len(got) < 5_000 {
		t.Errorf("a comment of %d bytes", len(got))
	}
	if strings.Count(got, "<details>") != strings.Count(got, "</details>") || strings.Count(got, "```")%2 != 0 {
		t.Error("a part was cut in two")
	}
}

// TestMarkdownIsInert: nothing that a model wrote may format, link, notify or break out of its place.
func TestMarkdownIsInert(t *testing.T) {
	evil := "````\n</details> @octocat [x](https://evil.example) | `` ` `` <img src=x> ::error::x"
	l := newLog(info("gpt-5"), plumb.CaseInfo{ID: "a-1", Category: "c|d `e`"})
	l.execute("a-1", "gpt-5", answer(evil, 1), failed(verdict("exact", false, evil, evil+"\n1", evil+"\n2")))
	l.end("", 0)
	got := l.render(t, Markdown, Options{})
	fence := ""
	for _, line := range strings.Split(got, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:strings.LastIndexByte(strings.TrimRight(trimmed, "abcdefghijklmnopqrstuvwxyz"), '`')+1]
		case fence != "":
			if trimmed == fence {
				fence = ""
			}
		case strings.Contains(stripCode(line), "octocat"), strings.Contains(stripCode(line), "<img"):
			t.Errorf("not inert: %s", line)
		}
	}
	if fence != "" {
		t.Error("a block does not end")
	}
	if !strings.Contains(got, "| category ``c\\|d `e` `` |") && !strings.Contains(got, "| category `` c\\|d `e` `` |") {
		t.Errorf("category in the table:\n%s", got)
	}
}

// stripCode removes code spans, as CommonMark pairs runs of backticks.
func stripCode(s string) string {
	var out strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '`')
		if i < 0 {
			out.WriteString(s)
			break
		}
		out.WriteString(s[:i])
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		rest, end := s[i+n:], -1
		for at := 0; at < len(rest); {
			j := strings.IndexByte(rest[at:], '`')
			if j < 0 {
				break
			}
			run := len(rest[at+j:]) - len(strings.TrimLeft(rest[at+j:], "`"))
			if run == n {
				end = at + j + run
				break
			}
			at += j + run
		}
		if end < 0 {
			out.WriteString(s[i : i+n])
			s = rest
			continue
		}
		s = rest[end:]
	}
	return out.String()
}

func TestStepSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(path, []byte("# before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"GITHUB_STEP_SUMMARY": path}[name] }
	l := storm(100)
	out := l.render(t, GitHubActions, Options{Getenv: getenv})
	if got := strings.Count(out, "::error "); got != annotations {
		t.Errorf("%d annotations, want %d: GitHub shows no more", got, annotations)
	}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if !strings.HasPrefix(line, "::") {
			t.Errorf("a message broke into a line of its own: %q", line)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(data), "# before\n## ") {
		t.Errorf("step summary %q (%v)", data, err)
	}
}

func TestLogsCannotCommandCI(t *testing.T) {
	l := newLog(info("gpt-5"), plumb.CaseInfo{ID: "a-1"})
	evil := "x\n::add-mask::y\n##[error]z\n##vso[task.setvariable]w"
	l.execute("a-1", "gpt-5", answer(evil, 1), failed(verdict("exact", false, evil, evil, evil+"\nmore")))
	l.end("", 0)
	out := l.render(t, Terminal, Options{Getenv: func(n string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[n] }})
	for _, line := range strings.Split(out, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
			t.Errorf("a workflow command: %q", line)
		}
	}
}

// TestPlainProgress: a log gets a line now and then, however many cases end, and also when none does.
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
	bad := failed(verdict("contains", false, strings.Repeat("why ", 100), strings.Repeat("x", 3000), strings.Repeat("y", 3000)))
	res := resultOf(1, nil, bad)
	before := heap()
	start := time.Now()
	for i := range cases {
		at := plumb.Event{Case: cases[i].ID, Runner: "gpt-5", Repetition: 1, Session: 1, At: start}
		for _, ev := range []plumb.Event{
			{Type: plumb.EventSessionStarted}, {Type: plumb.EventSessionFinished, Report: report},
			{Type: plumb.EventSessionJudged, Judgement: bad}, {Type: plumb.EventExecutionFinished, Result: &res},
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

func itoa(i int) string {
	return string(rune('a'+i%26)) + strings.Repeat("0", i%3) + string([]byte(jsonInt(i)))
}

func jsonInt(i int) []byte { b, _ := json.Marshal(i); return b }

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestResultsStream: writing the results of many cases holds one of them at a time.
func TestResultsStream(t *testing.T) {
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
		if err := run.Apply(plumb.Event{Type: plumb.EventExecutionFinished, Case: cases[i].ID, Runner: "gpt-5", Result: &res}); err != nil {
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
	if err := WriteResults(w, run, sessions); err != nil {
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
