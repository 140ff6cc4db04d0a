package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// fake is a runner that calls a function for each session.
type fake struct {
	id  string
	run func(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error)

	mu    sync.Mutex
	calls []string
}

func (f *fake) Info() plumb.RunnerInfo {
	return plumb.RunnerInfo{ID: f.id, PathKey: plumb.PathKey(f.id), Kind: plumb.RunnerModel, Config: "sha256:" + f.id}
}

func (f *fake) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	f.mu.Lock()
	f.calls = append(f.calls, fmt.Sprintf("%s/%d/%d", req.CaseID, req.Repetition, req.Session))
	f.mu.Unlock()
	r, err := f.run(ctx, req)
	if r != nil {
		r.Runner = f.Info()
	}
	return r, err
}

func echo(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	return report("echo " + req.CaseID), nil
}

func report(text string) *plumb.SessionReport {
	r := &plumb.SessionReport{FinalOutput: text, CostUSD: new(0.01), FinishReason: plumb.FinishStop}
	r.Usage.InputTokens, r.Usage.OutputTokens = new(int64(10)), new(int64(5))
	r.Usage.Total()
	return r
}

type assertion func(ev plumb.Evidence) ([]plumb.Verdict, error)

func (a assertion) Assert(_ context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	return a(ev)
}

func contains(s string) assertion {
	return func(ev plumb.Evidence) ([]plumb.Verdict, error) {
		ok := strings.Contains(ev.Report.FinalOutput, s)
		v := plumb.Verdict{Name: "contains", Pass: ok, Reason: "looked for " + s}
		if ok {
			v.Score = 1
		}
		return []plumb.Verdict{v}, nil
	}
}

func suite(n int, assertions ...plumb.Assertion) *plumb.Suite {
	if assertions == nil {
		assertions = []plumb.Assertion{contains("echo")}
	}
	s := &plumb.Suite{Name: "test", Hash: "sha256:0"}
	for i := range n {
		s.Cases = append(s.Cases, plumb.Case{
			ID: fmt.Sprintf("case-%03d", i), Hash: fmt.Sprint("sha256:", i), Category: "reasoning",
			Messages:   []plumb.Message{{Role: plumb.RoleUser, Content: fmt.Sprint("prompt ", i)}},
			Assertions: assertions,
		})
	}
	return s
}

func newDir(t *testing.T) *runlog.Dir {
	t.Helper()
	d, err := runlog.Create(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteSpec(struct{}{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// do runs o in a new directory if it has none.
func do(t *testing.T, o run.Input) *plumb.Run {
	t.Helper()
	if o.Dir == nil {
		o.Dir = newDir(t)
	}
	r, err := run.Suite(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOutcomes(t *testing.T) {
	broken := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) { return nil, errors.New("cannot tell") })
	crash := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) { panic("boom") })
	judgeDown := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) {
		return []plumb.Verdict{{Name: "llm_judge", Error: plumb.Failuref(plumb.OriginJudge, "no answer")}}, nil
	})
	for _, test := range []struct {
		name       string
		runner     func(context.Context, plumb.Request) (*plumb.SessionReport, error)
		assertions []plumb.Assertion
		expected   bool
		outcome    plumb.Outcome
		status     plumb.Status
		class      string
	}{
		{"pass", echo, []plumb.Assertion{contains("echo")}, false, plumb.OutcomePass, plumb.StatusPassed, ""},
		{"fail", echo, []plumb.Assertion{contains("no")}, false, plumb.OutcomeFail, plumb.StatusFailed, "assertion"},
		{
			"expected fail", echo,
			[]plumb.Assertion{contains("no")},
			true, plumb.OutcomeFail,
			plumb.StatusExpectedFailed, "assertion",
		},
		{
			"unexpected pass", echo,
			[]plumb.Assertion{contains("echo")},
			true, plumb.OutcomePass,
			plumb.StatusUnexpectedPassed, "unexpected-passed",
		},
		{"check broken", echo, []plumb.Assertion{broken}, false, plumb.OutcomeError, plumb.StatusFailed, "assert-hook"},
		{"check crashed", echo, []plumb.Assertion{crash}, true, plumb.OutcomeError, plumb.StatusFailed, "assert-hook"},
		{"judge down", echo, []plumb.Assertion{judgeDown}, false, plumb.OutcomeError, plumb.StatusFailed, "judge"},
		{
			"judge down, but another check fails", echo,
			[]plumb.Assertion{judgeDown, contains("no")},
			false,
			plumb.OutcomeFail, plumb.StatusFailed, "assertion",
		},
		{"runner error", func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
			return nil, errors.New("down")
		}, nil, true, plumb.OutcomeError, plumb.StatusFailed, "runner-crash"},
		{
			"runner panic", func(context.Context, plumb.Request) (*plumb.SessionReport, error) { panic("boom") }, nil,
			false, plumb.OutcomeError, plumb.StatusFailed, "runner-crash",
		},
		{
			"runner returns nothing",
			func(context.Context, plumb.Request) (*plumb.SessionReport, error) { return nil, nil }, nil, false,
			plumb.OutcomeError, plumb.StatusFailed, "runner-crash",
		},
		{"rejected", func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
			return nil, plumb.Failuref(plumb.OriginModelRejected, "no such model")
		}, nil, false, plumb.OutcomeError, plumb.StatusFailed, "model-rejected"},
		{"truncated and wrong", func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
			r := report("")
			r.FinishReason = plumb.FinishTruncated
			return r, nil
		}, nil, false, plumb.OutcomeFail, plumb.StatusFailed, "truncated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := suite(1, test.assertions...)
			s.Cases[0].ExpectedFail = test.expected
			r := do(t, run.Input{Suite: s, Runners: []plumb.Runner{&fake{id: "f", run: test.runner}}})
			e := r.Executions[0]
			class := ""
			if e.Class != nil {
				class = e.Class.ID
			}
			if e.Outcome != test.outcome || e.Status != test.status || class != test.class {
				t.Errorf(
					"got %s, %s, %q; want %s, %s, %q", e.Outcome, e.Status, class, test.outcome, test.status,
					test.class,
				)
			}
			if r.End == nil || r.End.Remaining != 0 || r.Totals.Finished != 1 {
				t.Errorf("end %+v, totals %+v", r.End, r.Totals)
			}
		})
	}
}

func TestTimeLimit(t *testing.T) {
	for _, test := range []struct {
		name    string
		partial *plumb.SessionReport
		want    plumb.Outcome
	}{
		{"nothing came back", nil, plumb.OutcomeError},
		{"had begun", report("half an ans"), plumb.OutcomeFail},
		{"a report, but no answer in it", &plumb.SessionReport{}, plumb.OutcomeError},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDir(t)
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				r := do(t, run.Input{
					Dir: d, Suite: suite(1),
					Settings: run.Settings{TimeoutMs: 3_600_000}, Runners: []plumb.Runner{
						&fake{id: "f", run: func(ctx context.Context, _ plumb.Request) (*plumb.SessionReport, error) {
							<-ctx.Done()
							return test.partial, ctx.Err()
						}},
					},
				})
				if got := r.Executions[0]; got.Outcome != test.want || got.Class.ID != "timeout" {
					t.Errorf("got %s, %s; want %s, timeout", got.Outcome, got.Class.ID, test.want)
				}
				if took := time.Since(start); took < time.Hour || took > time.Hour+time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestRepeatAndRetry(t *testing.T) {
	// Repetition 2 fails twice before it passes; repetition 3 cannot be measured at first.
	flaky := &fake{id: "f", run: func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
		switch {
		case req.Repetition == 2 && req.Session < 3:
			return report("wrong"), nil
		case req.Repetition == 3 && req.Session < 2:
			return nil, errors.New("down")
		}
		return report("echo"), nil
	}}
	r := do(t, run.Input{
		Suite: suite(1), Runners: []plumb.Runner{flaky},
		Settings: run.Settings{Repeat: 3, Retry: 2, Schedule: run.Serial},
	})
	want := []string{"case-000/1/1", "case-000/2/1", "case-000/2/2", "case-000/2/3", "case-000/3/1", "case-000/3/2"}
	if diff := cmp.Diff(want, flaky.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if e := r.Executions[0]; e.Outcome != plumb.OutcomePass || e.Passed != 3 || e.Sessions != 6 {
		t.Errorf("got %+v", e)
	}

	// Unexpected passes and rejected models are not retried.
	s := suite(1)
	s.Cases[0].ExpectedFail = true
	passes := &fake{id: "f", run: echo}
	do(t, run.Input{Suite: s, Runners: []plumb.Runner{passes}, Settings: run.Settings{Retry: 3}})
	rejected := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
		return nil, plumb.Failuref(plumb.OriginModelRejected, "no such model")
	}}
	r = do(t, run.Input{
		Suite: suite(5), Runners: []plumb.Runner{rejected},
		Settings: run.Settings{Retry: 3, Schedule: run.Serial},
	})
	if len(passes.calls) != 1 || len(rejected.calls) != 1 {
		t.Errorf("asked %d and %d times, want once each", len(passes.calls), len(rejected.calls))
	}
	if r.Totals.Errored != 5 {
		t.Errorf("%d errors, want all 5 cases: %+v", r.Totals.Errored, r.Totals)
	}
}

func TestSchedules(t *testing.T) {
	for _, test := range []struct {
		schedule run.Schedule
		parallel int
		want     time.Duration // for 6 cases of an hour on 2 runners
	}{
		{run.Serial, 4, 12 * time.Hour},
		{run.Parallel, 4, 3 * time.Hour},
		{run.IsolatedByRunner, 4, 6 * time.Hour},
		{run.IsolatedByRunner, 1, 12 * time.Hour},
	} {
		t.Run(fmt.Sprint(test.schedule, test.parallel), func(t *testing.T) {
			d := newDir(t)
			synctest.Test(t, func(t *testing.T) {
				slow := func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
					time.Sleep(time.Hour)
					return report("echo"), nil
				}
				start := time.Now()
				do(t, run.Input{
					Dir: d, Suite: suite(6),
					Settings: run.Settings{Schedule: test.schedule, Parallel: test.parallel, TimeoutMs: 7_200_000},
					Runners:  []plumb.Runner{&fake{id: "a", run: slow}, &fake{id: "b", run: slow}},
				})
				if took := time.Since(start).Round(time.Minute); took != test.want {
					t.Errorf("took %v, want %v", took, test.want)
				}
			})
		})
	}
}

func TestStops(t *testing.T) {
	f := func() []plumb.Runner { return []plumb.Runner{&fake{id: "f", run: echo}} }
	wrong := []plumb.Runner{&fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
		return report("wrong"), nil
	}}}
	for _, test := range []struct {
		name     string
		o        run.Input
		stop     plumb.StopReason
		finished int
	}{
		{"cost", run.Input{Runners: f(), Settings: run.Settings{MaxCostUSD: 0.035}}, plumb.StopCost, 3},
		{"tokens", run.Input{Runners: f(), Settings: run.Settings{MaxTokens: 61}}, plumb.StopTokens, 4},
		{
			"estimated cost",
			run.Input{Runners: f(), Settings: run.Settings{MaxCostUSD: 0.005}, Forecast: forecast(0.006, 1)},
			plumb.StopCost,
			0,
		},
		{"failures", run.Input{Runners: wrong, Settings: run.Settings{MaxFailures: 2}}, plumb.StopFailFast, 2},
		{"enough", run.Input{Runners: f(), Settings: run.Settings{MaxCostUSD: 0.1001}}, "", 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.o.Suite, test.o.Schedule = suite(10), run.Serial
			r := do(t, test.o)
			if r.End.Stop != test.stop || r.Totals.Finished != test.finished || r.End.Remaining != 10-test.finished {
				t.Errorf("stop %q with %d finished and %d remaining, want %q with %d",
					r.End.Stop, r.Totals.Finished, r.End.Remaining, test.stop, test.finished)
			}
		})
	}
}

func TestDrainLetsSessionsFinishAndCancelDoesNot(t *testing.T) {
	for _, hard := range []bool{false, true} {
		d := newDir(t)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			drain := make(chan struct{})
			f := &fake{id: "f", run: func(ctx context.Context, _ plumb.Request) (*plumb.SessionReport, error) {
				select {
				case <-time.After(time.Minute):
					return report("echo"), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}}
			time.AfterFunc(90*time.Second, func() {
				if hard {
					cancel()
				} else {
					close(drain)
				}
			})
			r, err := run.Suite(
				ctx, run.Input{
					Dir: d, Suite: suite(20), Runners: []plumb.Runner{f},
					Settings: run.Settings{Parallel: 4}, Drain: drain,
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			want := 8
			if hard {
				want = 4
			}
			if r.Totals.Finished != want || r.End.Stop != plumb.StopInterrupted || r.Totals.Errored != 0 {
				t.Errorf("hard %v: %+v, end %+v; want %d finished", hard, r.Totals, r.End, want)
			}
		})
	}
}

// TestResumeAnywhere cuts the log of a finished run at many places, as a crash would, and resumes
// it. Every execution must exist exactly once, no session in the log may be repeated, and the
// result must equal that of the undisturbed run.
func TestResumeAnywhere(t *testing.T) {
	flaky := func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
		switch {
		case req.CaseID == "case-001" && req.Session == 1:
			return nil, errors.New("down")
		case req.CaseID == "case-002":
			return report("wrong"), nil
		case req.CaseID == "case-003":
			return report("echo " + strings.Repeat("long ", 60_000)), nil // goes to a blob
		}
		return report("echo"), nil
	}
	options := func(d *runlog.Dir, f plumb.Runner) run.Input {
		return run.Input{
			Dir: d, Suite: suite(5), Runners: []plumb.Runner{f},
			Settings: run.Settings{Repeat: 2, Retry: 1, Parallel: 3},
		}
	}
	whole := newDir(t)
	want := do(t, options(whole, &fake{id: "f", run: flaky}))
	log, err := os.ReadFile(whole.Join(runlog.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	if blobs, _ := os.ReadDir(whole.Join(runlog.BlobsDir)); len(blobs) == 0 {
		t.Fatal("no blob was written")
	}
	step := len(log)/150 + 1
	if testing.Short() {
		step *= 5
	}
	for cut := 0; cut <= len(log); cut += step {
		d := newDir(t)
		if err := os.WriteFile(d.Join(runlog.EventsFile), log[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(d.Join(runlog.BlobsDir), os.DirFS(whole.Join(runlog.BlobsDir))); err != nil {
			t.Fatal(err)
		}
		recorded := sessions(t, log[:cut])
		f := &fake{id: "f", run: flaky}
		got := do(t, options(d, f))
		for _, call := range f.calls {
			if recorded[call] {
				t.Fatalf("cut at %d: %s was asked again although it was recorded", cut, call)
			}
		}
		if diff := cmp.Diff(comparable(want), comparable(got)); diff != "" {
			t.Fatalf("cut at %d (-undisturbed +resumed):\n%s", cut, diff)
		}
		exactlyOnce(t, d.Path, 5*1)
		folded, err := runlog.At(d.Path).Fold(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(comparable(got), comparable(folded)); diff != "" {
			t.Fatalf("cut at %d: the log does not fold to the same run (-live +folded):\n%s", cut, diff)
		}
	}
}

// sessions lists the sessions in the complete lines of a log.
func sessions(t *testing.T, log []byte) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for line := range bytes.Lines(log) {
		var ev plumb.Event
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Type == plumb.EventSessionFinished {
			found[fmt.Sprintf("%s/%d/%d", ev.Case, ev.Repetition, ev.Session)] = true
		}
	}
	return found
}

// comparable returns the parts of a run that must not depend on interruptions.
func comparable(r *plumb.Run) any {
	type execution struct {
		ID, Reason              string
		Outcome                 plumb.Outcome
		Status                  plumb.Status
		Passed, Failed, Errored int32
		Sessions                int32
		Cost                    float64
		Tokens                  int64
	}
	var all []execution
	for i, e := range r.Executions {
		id, _ := r.At(i)
		all = append(all, execution{
			id, e.Reason, e.Outcome, e.Status, e.Passed, e.Failed, e.Errored, e.Sessions, e.CostUSD, e.InputTokens,
		})
	}
	totals := r.Totals
	totals.CostUSD = float64(int(totals.CostUSD*1e6+0.5)) / 1e6 // sums depend on the order in their last digit
	return []any{all, totals}
}

// exactlyOnce checks that the log has each execution and each session once.
func exactlyOnce(t *testing.T, path string, executions int) {
	t.Helper()
	seen := map[string]int{}
	finished := 0
	if err := runlog.At(path).Read(func(ev plumb.Event) error {
		switch ev.Type {
		case plumb.EventSessionFinished, plumb.EventSessionJudged, plumb.EventExecutionFinished:
			key := fmt.Sprint(ev.Type, ev.Case, ev.Runner, ev.Repetition, ev.Session)
			if seen[key]++; seen[key] > 1 {
				t.Errorf("%s is in the log %d times", key, seen[key])
			}
		default: // may be repeated, as by a resumed run
		}
		if ev.Type == plumb.EventExecutionFinished {
			finished++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if finished != executions {
		t.Errorf("%d executions are in the log, want %d", finished, executions)
	}
}

func TestRetryErrors(t *testing.T) {
	d := newDir(t)
	down := true
	f := &fake{id: "f", run: func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
		if down && req.CaseID == "case-001" && req.Repetition == 2 {
			return nil, errors.New("down")
		}
		return report("echo"), nil
	}}
	o := run.Input{Dir: d, Suite: suite(3), Runners: []plumb.Runner{f}, Settings: run.Settings{Repeat: 2}}
	if r := do(t, o); r.Totals.Errored != 1 || r.Totals.Passed != 2 {
		t.Fatalf("first: %+v", r.Totals)
	}
	down, f.calls = false, nil
	if do(t, o); len(f.calls) != 0 {
		t.Errorf("a plain resume of a finished run asked again: %v", f.calls)
	}
	o.RetryErrors = true
	r := do(t, o)
	if diff := cmp.Diff([]string{"case-001/2/2"}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if e := r.Executions[1]; r.Totals.Errored != 0 || r.Totals.Passed != 3 || e.Sessions != 3 || e.CostUSD != 0.02 {
		t.Errorf("after: %+v, %+v", r.Totals, e)
	}
}

func TestDamagedLogIsAnErrorThatNamesTheLine(t *testing.T) {
	d := newDir(t)
	o := run.Input{Dir: d, Suite: suite(3), Runners: []plumb.Runner{&fake{id: "f", run: echo}}}
	do(t, o)
	log, err := os.ReadFile(d.Join(runlog.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	lines[3] = append([]byte("x"), lines[3]...)
	if err := os.WriteFile(d.Join(runlog.EventsFile), bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Suite(t.Context(), o); err == nil || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("got %v, want an error that names line 4", err)
	}
}

func TestResumeRefusesAnotherSuite(t *testing.T) {
	d := newDir(t)
	f := []plumb.Runner{&fake{id: "f", run: echo}}
	do(t, run.Input{Dir: d, Suite: suite(3), Runners: f})
	changed := suite(3)
	changed.Cases[1].Hash = "sha256:other"
	if _, err := run.Suite(t.Context(), run.Input{Dir: d, Suite: changed, Runners: f}); err == nil ||
		!strings.Contains(err.Error(), "case-001") {
		t.Errorf("got %v, want an error that names the case", err)
	}
}

func TestReporterErrorEndsTheRun(t *testing.T) {
	boom := errors.New("disk full")
	_, err := run.Suite(t.Context(), run.Input{
		Dir: newDir(t), Suite: suite(50), Runners: []plumb.Runner{&fake{id: "f", run: echo}},
		Settings: run.Settings{Parallel: 4},
		Emit: func(ev plumb.Event, _ *plumb.Run) error {
			if ev.Type == plumb.EventExecutionFinished {
				return boom
			}
			return nil
		},
	})
	if !errors.Is(err, boom) {
		t.Errorf("got %v, want %v", err, boom)
	}
}

// TestBudgetWaitsForWhatIsInFlight uses estimates that are far too high: they must delay sessions,
// not end the run.
func TestBudgetWaitsForWhatIsInFlight(t *testing.T) {
	d := newDir(t)
	synctest.Test(t, func(t *testing.T) {
		slow := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
			time.Sleep(time.Second)
			return report("echo"), nil // 0.01 dollars
		}}
		r := do(t, run.Input{
			Dir: d, Suite: suite(10), Runners: []plumb.Runner{slow},
			Settings: run.Settings{Parallel: 8, MaxCostUSD: 0.2}, Forecast: forecast(0.09, 0.09),
		})
		if r.Totals.Finished != 10 || r.End.Stop != "" {
			t.Errorf("%d finished, stop %q; want all 10, since they cost 0.1", r.Totals.Finished, r.End.Stop)
		}
	})
}

// TestInterruptedAnswerIsAskedAgain interrupts a session: the partial answer is not a measurement.
func TestInterruptedAnswerIsAskedAgain(t *testing.T) {
	d := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{id: "f", run: func(ctx context.Context, _ plumb.Request) (*plumb.SessionReport, error) {
		cancel()
		<-ctx.Done()
		return report("echo, but only ha"), ctx.Err()
	}}
	o := run.Input{Dir: d, Suite: suite(1), Runners: []plumb.Runner{f}}
	r, err := run.Suite(ctx, o)
	if err != nil || r.Totals.Finished != 0 || r.End.Remaining != 1 {
		t.Fatalf("interrupted: %+v, end %+v, %v", r.Totals, r.End, err)
	}
	f.run = echo
	if r := do(t, o); r.Totals.Passed != 1 || len(f.calls) != 2 {
		t.Errorf("resumed: %+v after %v", r.Totals, f.calls)
	}
}

// TestProbe checks how many sessions begin when a runner cannot be used.
func TestProbe(t *testing.T) {
	t.Parallel()
	refused := plumb.Failuref(plumb.OriginRunner, "nobody listens: %w", plumb.ErrUnavailable)
	rejected := plumb.Failuref(plumb.OriginRunner, "401")
	rejected.HTTPStatus = 401
	for name, c := range map[string]struct {
		run          func(call int64) error
		calls, asked int
	}{
		"rejected key":                   {func(int64) error { return rejected }, 1, 1},
		"nobody listens":                 {func(int64) error { return refused }, 1, 1},
		"nobody listens after an answer": {func(n int64) error { return []error{nil, refused}[min(n-1, 1)] }, 40, 40},
		"rejected after an answer":       {func(n int64) error { return []error{nil, rejected}[min(n-1, 1)] }, 9, 9},
		"another error":                  {func(int64) error { return errors.New("odd") }, 40, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDir(t)
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				f := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
					n := calls.Add(1)
					time.Sleep(time.Second)
					if err := c.run(n); err != nil {
						return nil, err
					}
					return report("echo"), nil
				}}
				r := do(t, run.Input{
					Dir: d, Suite: suite(40), Runners: []plumb.Runner{f}, Settings: run.Settings{Parallel: 8},
				})
				asked := 0
				for i := range r.Executions {
					if !r.Executions[i].NotAsked {
						asked++
					}
				}
				if int(calls.Load()) != c.calls || asked != c.asked || r.Totals.Finished != 40 {
					t.Errorf("%d calls, %d asked, want %d and %d; %+v", calls.Load(), asked, c.calls, c.asked, r.Totals)
				}
			})
		})
	}
}
