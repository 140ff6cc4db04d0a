package plumbtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
)

// recorder is a testing.TB that records the failures of a test.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	messages []string
	skipped  bool
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.skipped = true
	r.Logf("%s", fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Logf(format string, args ...any) { r.TB.Logf(format, args...) }
func (r *recorder) Helper()                         {}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.messages) > 0
}

// complaints returns the failures of a test.
func complaints(t *testing.T, test func(tb testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.messages, "\n")
}

// expect checks the failures: if want is empty there must be none, otherwise one must contain want.
func expect(t *testing.T, got, want string) {
	t.Helper()
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("the contract test said:\n%s\nwant: %q", got, want)
	}
}

type fakeRunner struct {
	info  func() plumb.RunnerInfo
	run   func(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error)
	calls atomic.Int64
}

func (f *fakeRunner) Info() plumb.RunnerInfo {
	if f.info != nil {
		return f.info()
	}
	return plumb.RunnerInfo{ID: "fake", PathKey: plumb.PathKey("fake"), Kind: plumb.RunnerCommand}
}

func (f *fakeRunner) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	f.calls.Add(1)
	return f.run(ctx, req)
}

// work takes a little time, as a good runner does.
func work(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	start := time.Now()
	select {
	case <-ctx.Done():
		return nil, plumb.Failed(plumb.OriginRunner, context.Cause(ctx))
	case <-time.After(2 * time.Millisecond):
	}
	r := &plumb.SessionReport{
		Runner: (&fakeRunner{}).Info(), Prompt: plumb.PromptText(req.Messages), FinalOutput: "hello",
	}
	r.StartedAt, r.EndedAt = new(start), new(time.Now())
	return r, nil
}

// but returns work with its report changed.
func but(change func(*plumb.SessionReport)) *fakeRunner {
	return &fakeRunner{run: func(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
		r, err := work(ctx, req)
		if r != nil {
			change(r)
		}
		return r, err
	}}
}

func TestRunnerContract(t *testing.T) {
	t.Parallel()
	shared, _ := work(t.Context(), plumb.Request{Messages: []plumb.Message{{Content: "x"}}})
	shared.Recorded = true
	var count atomic.Int64
	for _, test := range []struct {
		name   string
		runner *fakeRunner
		want   string
	}{
		{"good", &fakeRunner{run: work}, ""},
		{"replay", but(func(r *plumb.SessionReport) {
			r.Recorded, r.StartedAt, r.EndedAt = true, new(time.Unix(1, 0)), new(time.Unix(2, 0))
		}), ""},
		{
			"no id", &fakeRunner{run: work, info: func() plumb.RunnerInfo { return plumb.RunnerInfo{} }},
			"Info has no ID",
		},
		{
			"path key",
			&fakeRunner{
				run: work, info: func() plumb.RunnerInfo { return plumb.RunnerInfo{ID: "fake", PathKey: "fake"} },
			},
			"want plumb.PathKey of the ID",
		},
		{
			"kind",
			&fakeRunner{
				run: work, info: func() plumb.RunnerInfo { return plumb.RunnerInfo{ID: "fake", Kind: "other"} },
			},
			`Info has Kind "other"`,
		},
		{"changing info", &fakeRunner{run: work, info: func() plumb.RunnerInfo {
			return plumb.RunnerInfo{
				ID: "fake", PathKey: plumb.PathKey("fake"), Kind: plumb.RunnerAgent, Config: fmt.Sprint(count.Add(1)),
			}
		}}, "Info changed"},
		{
			"nothing",
			&fakeRunner{run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) { return nil, nil }},
			"neither a report nor an error",
		},
		{"typed nil", &fakeRunner{run: func(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
			r, _ := work(ctx, req)
			return r, (*plumb.Failure)(nil)
		}}, "nil *plumb.Failure"},
		{
			"empty failure",
			&fakeRunner{
				run: func(
					context.Context, plumb.Request,
				) (*plumb.SessionReport, error) {
					return nil, &plumb.Failure{}
				},
			},
			"the failure has no origin",
		},
		{
			"no answer",
			&fakeRunner{
				run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
					return nil, errors.New("down")
				},
			},
			"Run returned no answer: down",
		},
		{"deaf", &fakeRunner{run: func(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
			r, err := work(context.WithoutCancel(ctx), req)
			time.Sleep(300 * time.Millisecond)
			return r, err
		}}, "has not returned 50ms after its context ended"},
		{"breaks after cancel", func() *fakeRunner {
			var broken atomic.Bool
			return &fakeRunner{run: func(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
				if broken.Load() || ctx.Err() != nil {
					broken.Store(true)
					return nil, errors.New("broken for good")
				}
				return work(ctx, req)
			}}
		}(), "a session after others were cancelled: Run returned no answer"},
		{"not for many", func() *fakeRunner {
			var busy atomic.Bool
			return &fakeRunner{run: func(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
				if !busy.CompareAndSwap(false, true) {
					return nil, errors.New("busy")
				}
				defer busy.Store(false)
				return work(ctx, req)
			}}
		}(), "one of many sessions at once: Run returned no answer: busy"},
		{
			"shared report",
			&fakeRunner{run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) { return shared, nil }},
			"two sessions share one report",
		},
		{"changes the request", &fakeRunner{run: func(
			ctx context.Context, req plumb.Request,
		) (*plumb.SessionReport, error) {
			req.Messages[0].Content = "?"
			return work(ctx, req)
		}}, "Run changed the messages"},
		{"other runner", but(func(r *plumb.SessionReport) { r.Runner.ID = "x" }), "the report names the runner"},
		{"no prompt", but(func(r *plumb.SessionReport) { r.Prompt = "" }), "no prompt"},
		{"no times", but(func(r *plumb.SessionReport) { r.EndedAt = nil }), "has no StartedAt or EndedAt"},
		{"times", but(func(r *plumb.SessionReport) { r.EndedAt = new(r.StartedAt.Add(-1)) }), "before it started"},
		{
			"old times", but(func(r *plumb.SessionReport) { r.StartedAt = new(r.StartedAt.Add(-time.Hour)) }),
			"but Run from",
		},
		{"duration", but(func(r *plumb.SessionReport) { r.LatencyMs = -1 }), "negative duration"},
		{"cost", but(func(r *plumb.SessionReport) { r.CostUSD = new(math.NaN()) }), "cost NaN USD"},
		{
			"tokens", but(func(r *plumb.SessionReport) { r.Usage.OutputTokens = new(int64(-1)) }),
			"negative counts of tokens: output",
		},
		{"net input", but(func(r *plumb.SessionReport) {
			r.Usage.InputTokens, r.Usage.CacheTokens = new(int64(1)), new(int64(2))
		}), "input is gross"},
		{"net output", but(func(r *plumb.SessionReport) {
			r.Usage.OutputTokens, r.Usage.ReasoningTokens = new(int64(1)), new(int64(2))
		}), "output is gross"},
		{
			"finish reason", but(func(r *plumb.SessionReport) { r.FinishReason = "length" }),
			`unknown finish reason "length"`,
		},
		{"text", but(func(r *plumb.SessionReport) { r.FinalOutput = "\xff" }), "not valid UTF-8"},
		{
			"args", but(func(r *plumb.SessionReport) { r.Events = []plumb.SessionEvent{{Args: json.RawMessage("{")}} }),
			"cannot be recorded",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := complaints(t, func(tb testing.TB) {
				tb.Helper()
				TestRunner(tb, test.runner, RunnerOptions{CancelAfter: time.Millisecond, Stop: 50 * time.Millisecond})
			})
			expect(t, got, test.want)
			if test.runner.calls.Load() < 12 {
				t.Errorf("the runner was called %d times only", test.runner.calls.Load())
			}
		})
	}
}

type fakeAssertion func(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error)

func (f fakeAssertion) Assert(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	return f(ctx, ev)
}

func hello(_ context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	if strings.Contains(ev.Report.FinalOutput, "hello") {
		return []plumb.Verdict{{Name: "hello", Pass: true, Score: 1, Reason: "it says hello"}}, nil
	}
	return []plumb.Verdict{{Name: "hello", Reason: "it does not say hello"}}, nil
}

func TestAssertionContract(t *testing.T) {
	changed := func(change func(*plumb.Verdict)) fakeAssertion {
		return func(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
			v, err := hello(ctx, ev)
			change(&v[0])
			return v, err
		}
	}
	var count atomic.Int64
	var once sync.Once
	for _, test := range []struct {
		name      string
		assertion fakeAssertion
		want      string
	}{
		{"good", hello, ""},
		{"always", changed(func(v *plumb.Verdict) { v.Pass = true }), "passes for the failing evidence"},
		{"never", changed(func(v *plumb.Verdict) { v.Pass = false }), "fails for the passing evidence"},
		{"name", changed(func(v *plumb.Verdict) { v.Name = "" }), "the name is missing"},
		{"reason", changed(func(v *plumb.Verdict) { v.Reason = "" }), "the reason is missing"},
		{"score", changed(func(v *plumb.Verdict) { v.Score = 1.5 }), "score 1.5 is not between 0 and 1"},
		{"score NaN", changed(func(v *plumb.Verdict) { v.Score = math.NaN() }), "score NaN"},
		{"weight", changed(func(v *plumb.Verdict) { v.Weight = -1 }), "weight -1 is invalid"},
		{"details", changed(func(v *plumb.Verdict) { v.Details = json.RawMessage("[1]") }), "not a JSON object"},
		{
			"unable", changed(func(v *plumb.Verdict) { v.Error = plumb.Failuref(plumb.OriginJudge, "no judge") }),
			"could not be made: no judge",
		},
		{
			"moody", changed(func(v *plumb.Verdict) { v.Reason = fmt.Sprint(count.Add(1)) }),
			"different verdicts another time",
		},
		{
			"silent", func(context.Context, plumb.Evidence) ([]plumb.Verdict, error) { return nil, nil },
			"returned no verdict",
		},
		{
			"error",
			func(context.Context, plumb.Evidence) ([]plumb.Verdict, error) { return nil, errors.New("broken") },
			"cannot be judged: broken",
		},
		{"writes", func(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
			v, err := hello(ctx, ev)
			once.Do(func() { ev.Report.FinalOutput += "!" })
			return v, err
		}, "changed the evidence"},
		{"silent when cancelled", func(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
			if context.Cause(ctx) == nil {
				return hello(ctx, ev)
			}
			return nil, nil
		}, "neither verdicts nor an error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &plumb.Case{ID: "c", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "hi"}}}
			passing := plumb.Evidence{Case: c, Report: &plumb.SessionReport{FinalOutput: "hello world"}}
			failing := plumb.Evidence{Case: c, Report: &plumb.SessionReport{FinalOutput: "goodbye"}}
			expect(t, complaints(t, func(tb testing.TB) {
				tb.Helper()
				TestAssertion(tb, test.assertion, passing, failing)
			}), test.want)
		})
	}
}

// fakeReporter writes a line for each event, with a configurable fault.
type fakeReporter struct {
	w      io.Writer
	report func(r *fakeReporter, ev plumb.Event, run *plumb.Run) error
	run    *plumb.Run
	end    func() error
}

func (r *fakeReporter) Report(ev plumb.Event, run *plumb.Run) error {
	fmt.Fprintln(r.w, ev.Type, ev.Case, run.Totals.Finished)
	if r.report != nil {
		return r.report(r, ev, run)
	}
	return nil
}

func (r *fakeReporter) Close() error {
	if r.run != nil {
		fmt.Fprintln(r.w, len(r.run.Cases))
	}
	if r.end != nil {
		return r.end()
	}
	return nil
}

func TestReporterContract(t *testing.T) {
	var count atomic.Int64
	for _, test := range []struct {
		name   string
		report func(r *fakeReporter, ev plumb.Event, run *plumb.Run) error
		end    func() error
		want   string
	}{
		{"good", nil, nil, ""},
		{"quoted", func(r *fakeReporter, ev plumb.Event, _ *plumb.Run) error {
			if ev.Report != nil {
				fmt.Fprintf(r.w, "%+q\n", ev.Report.FinalOutput)
			}
			return nil
		}, nil, ""},
		{"raw answer", func(r *fakeReporter, ev plumb.Event, _ *plumb.Run) error {
			if ev.Report != nil {
				fmt.Fprintln(r.w, ev.Report.FinalOutput)
			}
			return nil
		}, nil, `the output contains "\x1b[31337m"`},
		{"raw failure", func(r *fakeReporter, ev plumb.Event, _ *plumb.Run) error {
			if ev.Failure != nil {
				fmt.Fprintln(r.w, ev.Failure.Message)
			}
			return nil
		}, nil, `the output contains "\x1b]0;plumbtest\a"`},
		{"raw reason", func(r *fakeReporter, ev plumb.Event, _ *plumb.Run) error {
			if ev.Result != nil {
				fmt.Fprintln(r.w, ev.Result.Reason)
			}
			return nil
		}, nil, `the output contains "\rplumbtest"`},
		{"cut in the middle", func(r *fakeReporter, _ plumb.Event, _ *plumb.Run) error {
			_, err := r.w.Write([]byte("é")[:1])
			return err
		}, nil, "not valid UTF-8"},
		{"random", func(r *fakeReporter, _ plumb.Event, _ *plumb.Run) error {
			_, err := fmt.Fprintln(r.w, count.Add(1))
			return err
		}, nil, "the same events gave different output"},
		{"keeps", func(r *fakeReporter, _ plumb.Event, run *plumb.Run) error {
			r.run = run
			return nil
		}, nil, "keeps the state of the run"},
		{"changes the run", func(_ *fakeReporter, _ plumb.Event, run *plumb.Run) error {
			run.Totals.Finished++
			return nil
		}, nil, "Report changed the state of the run"},
		{"changes the event", func(_ *fakeReporter, ev plumb.Event, _ *plumb.Run) error {
			if ev.Result != nil {
				ev.Result.Reason = ""
			}
			return nil
		}, nil, "Report changed the event"},
		{"needs a beginning", func(_ *fakeReporter, ev plumb.Event, _ *plumb.Run) error {
			if ev.Type == plumb.EventRunResumed {
				return errors.New("did not see it begin")
			}
			return nil
		}, nil, "did not see it begin"},
		{
			"error", func(*fakeReporter, plumb.Event, *plumb.Run) error { return errors.New("disk full") }, nil,
			"run-started: Report returned an error: disk full",
		},
		{"close", nil, func() error { return errors.New("no end") }, "Close returned an error: no end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := complaints(t, func(tb testing.TB) {
				tb.Helper()
				TestReporter(tb, func(w io.Writer) (plumb.Reporter, error) {
					return &fakeReporter{w: w, report: test.report, end: test.end}, nil
				})
			})
			expect(t, got, test.want)
		})
	}
	got := complaints(t, func(tb testing.TB) {
		tb.Helper()
		TestReporter(tb, func(io.Writer) (plumb.Reporter, error) { return nil, errors.New("no such format") })
	})
	expect(t, got, "make the reporter: no such format")
}

// TestEvents checks that the synthetic run has the promised variety and is a valid log.
func TestEvents(t *testing.T) {
	events := Events()
	run, err := Fold(events)
	if err != nil {
		t.Fatal(err)
	}
	want := plumb.Totals{
		Planned: 24, Finished: 24, Passed: 14, Failed: 6, Errored: 3, ExpectedFailed: 1, UnexpectedPassed: 3, Cached: 1,
	}
	got := run.Totals
	got.Sessions, got.InputTokens, got.OutputTokens, got.CostUSD, got.JudgeCostUSD, got.Unpriced = 0, 0, 0, 0, 0, 0
	if got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
	if run.End == nil || run.End.Stop != "" || len(run.Notes) != 2 || run.Totals.Unpriced == 0 ||
		run.Totals.CostUSD == 0 {
		t.Errorf("end %+v, notes %v, totals %+v", run.End, run.Notes, run.Totals)
	}
	statuses, types := map[plumb.Status]bool{}, map[plumb.EventType]bool{}
	for _, e := range run.Executions {
		statuses[e.Status] = true
	}
	for i, ev := range events {
		types[ev.Type] = true
		if i > 0 && !ev.At.After(events[i-1].At) {
			t.Errorf("event %d is not after the one before", i+1)
		}
	}
	if len(statuses) != 5 || len(types) != 9 {
		t.Errorf("statuses %v, types %v", statuses, types)
	}
	text, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	var read []plumb.Event
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(read)
	if err != nil || string(again) != string(text) {
		t.Errorf("the events are not the same after they were recorded: %v", err)
	}
	if !reflect.DeepEqual(events, Events()) {
		t.Error("Events is not the same each time")
	}
	if _, err := Fold(events[3:]); err == nil || !strings.Contains(err.Error(), "apply event") {
		t.Errorf("a log without its beginning gave %v", err)
	}
}

func caseOf(id string, a plumb.Assertion) plumb.Case {
	return plumb.Case{
		ID: id, Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "Say hello."}},
		Assertions: []plumb.Assertion{a},
	}
}

// TestRunSuite runs a suite for real; each subtest must pass or skip.
func TestRunSuite(t *testing.T) {
	gap := caseOf("gap", fakeAssertion(func(context.Context, plumb.Evidence) ([]plumb.Verdict, error) {
		return []plumb.Verdict{{Name: "never", Reason: "a known gap"}}, nil
	}))
	gap.ExpectedFail = true
	r := &fakeRunner{run: work}
	Run(t, &plumb.Suite{Name: "greetings", Cases: []plumb.Case{caseOf("hello", fakeAssertion(hello)), gap}}, r)
	if n := r.calls.Load(); n != 2 {
		t.Errorf("the runner was asked %d times, want 2", n)
	}
}

func TestConclude(t *testing.T) {
	done := func(o plumb.Outcome, s plumb.Status) *plumb.Execution {
		return &plumb.Execution{
			State: plumb.ExecutionDone, Outcome: o, Status: s, Origin: plumb.OriginRunner, Reason: "why", Passed: 1,
			Failed: 2,
		}
	}
	d := details{}
	d.add(plumb.Event{
		Type: plumb.EventSessionFinished, Repetition: 1, Session: 2,
		Failure: plumb.Failuref(plumb.OriginRunner, "down"),
	})
	verdicts := []plumb.Verdict{
		{Name: "a", Pass: true, Reason: "fine"},
		{Name: "b", Reason: "differs", Expected: "x\n", Got: "y"},
		{Name: "c", Error: plumb.Failuref(plumb.OriginJudge, "no judge")},
	}
	d.add(plumb.Event{
		Type: plumb.EventSessionJudged, Repetition: 2, Session: 1, Judgement: &plumb.Judgement{Verdicts: verdicts},
	})
	const detail = "why\nrepetition 1, session 2: runner: down\n" +
		"repetition 2, session 1: b: differs\n  want \"x\\n\"\n  got  \"y\"\n" +
		"repetition 2, session 1: c could not be checked: no judge"
	for _, test := range []struct {
		e       *plumb.Execution
		want    string
		skipped bool
	}{
		{done(plumb.OutcomePass, plumb.StatusPassed), "", false},
		{done(plumb.OutcomeFail, plumb.StatusFailed), "failed (1/3 passed): " + detail, false},
		{done(plumb.OutcomeError, plumb.StatusFailed), "could not be measured (runner): " + detail, false},
		{done(plumb.OutcomeSkipped, plumb.StatusSkipped), "", true},
		{done(plumb.OutcomeFail, plumb.StatusExpectedFailed), "", false},
		{
			done(plumb.OutcomePass, plumb.StatusUnexpectedPassed),
			"passed (1/3), but is expected to fail; remove ExpectedFail if this is fixed", false,
		},
		{&plumb.Execution{}, "", true},
	} {
		var skipped bool
		got := complaints(t, func(tb testing.TB) {
			tb.Helper()
			defer func() { skipped = tb.(*recorder).skipped }()
			conclude(tb, test.e, d[key{}])
		})
		if got != test.want || skipped != test.skipped {
			t.Errorf("%+v: said %q, skipped %t", test.e, got, skipped)
		}
	}
}

func TestCheckSuite(t *testing.T) {
	good, r := caseOf("a", fakeAssertion(hello)), &fakeRunner{run: work}
	for _, test := range []struct {
		cases   []plumb.Case
		runners []plumb.Runner
		want    string
	}{
		{[]plumb.Case{good}, nil, "no runner"},
		{nil, []plumb.Runner{r}, "no cases"},
		{[]plumb.Case{{}}, []plumb.Runner{r}, "case 1 has no id"},
		{[]plumb.Case{good, good}, []plumb.Runner{r}, `two cases have the id "a"`},
		{[]plumb.Case{{ID: "b", Assertions: good.Assertions}}, []plumb.Runner{r}, "has no messages"},
		{[]plumb.Case{{ID: "b", Messages: good.Messages}}, []plumb.Runner{r}, "has no assertions"},
		{[]plumb.Case{good}, []plumb.Runner{r, r}, `two runners have the id "fake"`},
	} {
		if err := checkSuite(&plumb.Suite{Name: "s", Cases: test.cases}, test.runners); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
