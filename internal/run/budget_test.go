package run_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// forecast returns a Forecast with an expected cost and a cap for sessions only.
func forecast(expected, most float64) func(*plumb.Case, plumb.RunnerInfo) run.Forecast {
	return func(*plumb.Case, plumb.RunnerInfo) run.Forecast {
		return run.Forecast{Session: run.Part{Expected: run.Use{CostUSD: expected}, Cap: run.Use{CostUSD: most}}}
	}
}

// purse counts the actual spending.
type purse struct {
	mu    sync.Mutex
	spent run.Use
}

func (p *purse) pay(u run.Use) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent.CostUSD += u.CostUSD
	p.spent.Tokens += u.Tokens
}

func (p *purse) usage(use run.Use) (plumb.Usage, *float64) {
	p.pay(use)
	n := int64(use.Tokens)
	return plumb.Usage{InputTokens: new(n / 3), OutputTokens: new(n - n/3)}, new(use.CostUSD)
}

// TestBudgetIsExceededByOneSessionAtMost spends a random budget with sessions and judges of random
// latency and cost, with random repetitions, retries, failures and concurrency. In half of the runs
// the process ends meanwhile, and another one continues.
func TestBudgetIsExceededByOneSessionAtMost(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := newDir(t)
			synctest.Test(t, func(t *testing.T) { budgetIsKept(t, d, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

func budgetIsKept(t *testing.T, d *runlog.Dir, random *rand.Rand) {
	t.Helper()
	var mu sync.Mutex
	uniform := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return random.Float64()
	}
	// The cap of a case is between 0 and 1. Most sessions use little of it, and some use all.
	n := 5 + random.IntN(40)
	caps := make([]run.Forecast, n)
	biggest := run.Use{}
	for i := range caps {
		c := math.Pow(uniform(), 3)
		caps[i].Session.Cap = run.Use{CostUSD: c, Tokens: math.Floor(1000*c) + 3}
		caps[i].Session.Expected = run.Use{CostUSD: c * uniform() / 10, Tokens: math.Floor(100*c*uniform()) + 1}
		if i%3 == 0 {
			caps[i].Judging.Cap = run.Use{CostUSD: c / 2, Tokens: math.Floor(500*c) + 3}
		}
		biggest.CostUSD = max(biggest.CostUSD, caps[i].Session.Cap.CostUSD+caps[i].Judging.Cap.CostUSD)
		biggest.Tokens = max(biggest.Tokens, caps[i].Session.Cap.Tokens+caps[i].Judging.Cap.Tokens)
	}
	dear := uniform()
	uses := func(most run.Use) run.Use {
		part := uniform()
		if uniform() < dear {
			part = 1
		}
		return run.Use{CostUSD: most.CostUSD * part, Tokens: math.Floor(most.Tokens * part)}
	}
	var p purse
	of := map[string]*run.Forecast{}
	s := suite(n, assertion(func(ev plumb.Evidence) ([]plumb.Verdict, error) {
		time.Sleep(time.Duration(uniform() * float64(time.Second)))
		v := plumb.Verdict{Pass: uniform() < 0.7, Reason: "chance"}
		if c := of[ev.Case.ID]; c.Judging.Cap.CostUSD > 0 {
			v.Asked = &plumb.Asked{Requests: 1}
			v.Asked.Usage, v.Asked.CostUSD = p.usage(uses(c.Judging.Cap))
		}
		return []plumb.Verdict{v}, nil
	}))
	for i := range s.Cases {
		of[s.Cases[i].ID] = &caps[i]
	}
	f := &fake{id: "f", run: func(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
		time.Sleep(time.Duration(uniform() * float64(time.Second)))
		if uniform() < 0.1 {
			return nil, plumb.Failuref(plumb.OriginRunner, "overloaded")
		}
		r := report("answer")
		r.Usage, r.CostUSD = p.usage(uses(of[req.CaseID].Session.Cap))
		return r, nil
	}}
	var budget run.Settings
	if uniform() < 0.7 {
		budget.MaxCostUSD = uniform() * 5
	}
	if budget.MaxCostUSD == 0 || uniform() < 0.5 {
		budget.MaxTokens = int64(uniform()*5000) + 1
	}
	budget.Parallel, budget.Repeat, budget.Retry = 1+random.IntN(64), 1+random.IntN(3), random.IntN(3)
	o := run.Input{
		Suite: s, Runners: []plumb.Runner{f}, Settings: budget,
		Forecast: func(c *plumb.Case, _ plumb.RunnerInfo) run.Forecast { return *of[c.ID] },
	}
	o.Dir = d
	if uniform() < 0.5 {
		drain := make(chan struct{})
		o.Drain = drain
		time.AfterFunc(time.Duration(uniform()*float64(5*time.Second)), func() { close(drain) })
	}
	r := do(t, o)
	o.Drain = nil
	if r.End.Remaining > 0 {
		r = do(t, o)
	}
	if budget.MaxCostUSD > 0 && p.spent.CostUSD > budget.MaxCostUSD+biggest.CostUSD+1e-6 {
		t.Errorf("spent %g of %g dollars; a session costs %g at most", p.spent.CostUSD, budget.MaxCostUSD, biggest.CostUSD)
	}
	if budget.MaxTokens > 0 && p.spent.Tokens > float64(budget.MaxTokens)+biggest.Tokens {
		t.Errorf("used %g of %d tokens; a session uses %g at most", p.spent.Tokens, budget.MaxTokens, biggest.Tokens)
	}
	if r.End.Remaining > 0 && r.End.Stop != plumb.StopCost && r.End.Stop != plumb.StopTokens {
		t.Errorf("%d remain, and the stop is %q", r.End.Remaining, r.End.Stop)
	}
}

// TestFirstAnswer checks that the first session of a model keeps the others waiting, unless the user
// chose how many sessions run at once.
func TestFirstAnswer(t *testing.T) {
	for given, want := range map[bool]int64{false: 1, true: 8} {
		d := newDir(t)
		synctest.Test(t, func(t *testing.T) {
			var now, atFirst atomic.Int64
			f := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
				now.Add(1)
				time.Sleep(time.Second)
				atFirst.CompareAndSwap(0, now.Load())
				now.Add(-1)
				return report("echo"), nil
			}}
			do(t, run.Input{
				Dir: d, Suite: suite(16), Runners: []plumb.Runner{f}, Settings: run.Settings{Parallel: 8}, AtOnce: given,
			})
			if got := atFirst.Load(); got != want {
				t.Errorf("chosen by the user: %t: %d sessions run when the first ends, want %d", given, got, want)
			}
		})
	}
}

// TestBudgetKeepsSessionsInFlight checks that a budget that is much larger than the cost of one
// session does not slow the run down.
func TestBudgetKeepsSessionsInFlight(t *testing.T) {
	d := newDir(t)
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		f := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return report("echo"), nil
		}}
		began := time.Now()
		do(t, run.Input{
			Dir: d, Suite: suite(640), Runners: []plumb.Runner{f},
			Settings: run.Settings{Parallel: 64, MaxCostUSD: 100}, Forecast: forecast(0.01, 1),
		})
		if took := time.Since(began); most.Load() != 64 || took > 12*time.Second { // the first session goes alone
			t.Errorf("%d in flight, %v; want 64 and 11 s", most.Load(), took)
		}
	})
}

// TestBudgetSettlesBeforeJudging checks that the reserved cost of a session is released while a
// slow, free judge works.
func TestBudgetSettlesBeforeJudging(t *testing.T) {
	d := newDir(t)
	synctest.Test(t, func(t *testing.T) {
		slow := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) {
			time.Sleep(time.Minute)
			return []plumb.Verdict{{Pass: true}}, nil
		})
		began := time.Now()
		r := do(t, run.Input{
			Dir: d, Suite: suite(20, slow), Runners: []plumb.Runner{&fake{id: "f", run: echo}},
			Settings: run.Settings{Parallel: 16, MaxCostUSD: 1}, Forecast: forecast(0.01, 0.6),
		})
		if took := time.Since(began); took > 90*time.Second || r.End.Remaining > 0 {
			t.Errorf("took %v, %d remain; all can be judged at the same time", took, r.End.Remaining)
		}
	})
}

// TestBudgetWithoutCapsLearns uses a runner without a forecast: the first session runs alone, and
// the others reserve its usage.
func TestBudgetWithoutCapsLearns(t *testing.T) {
	d := newDir(t)
	synctest.Test(t, func(t *testing.T) {
		var now, most, sessions atomic.Int64
		f := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			if now.Add(-1); sessions.Add(1) == 1 && most.Load() != 1 {
				t.Error("the first session was not alone")
			}
			return report("echo"), nil // 0.01 dollars
		}}
		r := do(t, run.Input{
			Dir: d, Suite: suite(40), Runners: []plumb.Runner{f}, Settings: run.Settings{Parallel: 8, MaxCostUSD: 0.2},
		})
		if r.Totals.Sessions != 20 || most.Load() != 8 || r.End.Stop != plumb.StopCost {
			t.Errorf("%d sessions, %d in flight, stop %q", r.Totals.Sessions, most.Load(), r.End.Stop)
		}
	})
}

func notes(r *plumb.Run) string {
	var texts []string
	for _, n := range r.Notes {
		texts = append(texts, n.Text)
	}
	return strings.Join(texts, "\n")
}

// TestBudgetWithoutUsage uses runners and judges that report no usage, or an impossible one.
func TestBudgetWithoutUsage(t *testing.T) {
	cost := func(usd *float64) func(*plumb.SessionReport) { return func(r *plumb.SessionReport) { r.CostUSD = usd } }
	count := func(in, out int64) func(*plumb.SessionReport) {
		return func(r *plumb.SessionReport) { r.Usage = plumb.Usage{InputTokens: &in, OutputTokens: &out} }
	}
	const cannot = "the budget cannot be enforced: f does not report its usage"
	const noCost = "the budget cannot be enforced: the cost of the sessions of f is unknown"
	for name, test := range map[string]struct {
		budget   run.Input
		say      func(*plumb.SessionReport)
		only     int // the first session that reports its usage
		sessions int
		stop     plumb.StopReason
		note     string
	}{
		"no cost": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1}, Forecast: forecast(0.01, 0.1)},
			cost(nil), 1, 1, plumb.StopUnmetered, noCost,
		},
		"negative cost": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1}, Forecast: forecast(0.01, 0.1)},
			cost(new(-5.0)), 1, 1, plumb.StopUnmetered, noCost,
		},
		"no number": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1}, Forecast: forecast(0.01, 0.1)},
			cost(new(math.NaN())), 1, 1, plumb.StopUnmetered,
			noCost,
		},
		"infinite cost": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1}, Forecast: forecast(0.01, 0.1)},
			cost(new(math.Inf(1))), 1, 1, plumb.StopUnmetered,
			noCost,
		},
		"no tokens": {
			run.Input{Settings: run.Settings{MaxTokens: 1000}},
			func(r *plumb.SessionReport) { r.Usage = plumb.Usage{} }, 1, 1,
			plumb.StopUnmetered, cannot,
		},
		"negative": {run.Input{Settings: run.Settings{MaxTokens: 1000}}, count(-5, 7), 1, 1, plumb.StopUnmetered, cannot},
		"absurd":   {run.Input{Settings: run.Settings{MaxTokens: 1000}}, count(1<<40+1, 1), 1, 1, plumb.StopUnmetered, cannot},
		"absurd for a cost": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1}, Forecast: forecast(0.01, 0.1)},
			count(math.MaxInt64, math.MaxInt64), 1, 1,
			plumb.StopUnmetered, cannot,
		},
		"allowed": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1, AllowUnmetered: true}, Forecast: forecast(0.01, 0.01)},
			cost(nil), 1, 20, "",
			noCost + "; the run continues",
		},
		"allowed, without caps": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1, AllowUnmetered: true}},
			cost(nil), 1, 20, "", noCost + "; the run continues",
		},
		"counts as the cap": {
			run.Input{Settings: run.Settings{MaxCostUSD: 0.42}, Forecast: forecast(0.01, 0.1)},
			cost(nil), 3, 6, plumb.StopCost,
			"the cost of a session of f is unknown; what was reserved",
		},
		"counts as the most seen": {
			run.Input{Settings: run.Settings{MaxCostUSD: 0.055}},
			cost(nil), 3, 5, plumb.StopCost, "the cost of a session of f is unknown; what was reserved",
		},
		"neither": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1, MaxTokens: 1000}},
			func(r *plumb.SessionReport) { r.Usage, r.CostUSD = plumb.Usage{}, nil }, 1, 1, plumb.StopUnmetered, cannot,
		},
		"one of two budgets": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1, MaxTokens: 1000, AllowUnmetered: true}},
			cost(nil), 1, 20, "", "the cost budget cannot be enforced: the cost of the sessions of f is unknown; the run continues",
		},
		"the other of two budgets": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1, MaxTokens: 1000, AllowUnmetered: true}},
			func(r *plumb.SessionReport) { r.Usage = plumb.Usage{} }, 1, 20, "",
			"the token budget cannot be enforced: f does not report its usage; the run continues",
		},
		"no price, as the caller said": {
			run.Input{
				Settings: run.Settings{MaxCostUSD: 1, AllowUnmetered: true},
				Forecast: func(*plumb.Case, plumb.RunnerInfo) run.Forecast {
					return run.Forecast{Session: run.Part{Cap: run.Unbounded(), Unpriced: true}}
				},
			},
			cost(nil), 1, 20, "", "",
		},
		"tokens do not matter": {
			run.Input{Settings: run.Settings{MaxCostUSD: 1}, Forecast: forecast(0.01, 0.1)},
			func(r *plumb.SessionReport) { r.Usage = plumb.Usage{} }, 1, 20, "", "",
		},
		"cached": {
			run.Input{Settings: run.Settings{MaxCostUSD: 0.001}, Forecast: forecast(0.0001, 0.01)},
			func(r *plumb.SessionReport) { r.Cached, r.CostUSD = true, nil }, 1, 20, "", "",
		},
		"more than the cap": {
			run.Input{Settings: run.Settings{MaxCostUSD: 0.1}, Forecast: forecast(0.001, 0.002)},
			func(*plumb.SessionReport) {}, 1, 10,
			plumb.StopCost, "a session of f used more than its cap",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			f := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
				r := report("echo")
				if n++; n >= test.only {
					test.say(r)
				}
				return r, nil
			}}
			o := test.budget
			o.Suite, o.Runners, o.Schedule = suite(20), []plumb.Runner{f}, run.Serial
			r := do(t, o)
			if r.Totals.Sessions != test.sessions || r.End.Stop != test.stop {
				t.Errorf("%d sessions, stop %q; want %d, %q", r.Totals.Sessions, r.End.Stop, test.sessions, test.stop)
			}
			if all := notes(r); !strings.Contains(all, test.note) || test.note != "" && len(r.Notes) != 1 ||
				test.note == "" && all != "" {
				t.Errorf("notes %q, want %q once", all, test.note)
			}
			if tokens := r.Totals.InputTokens + r.Totals.OutputTokens; tokens < 0 || tokens > 1000 ||
				!(r.Totals.CostUSD >= 0 && r.Totals.CostUSD < 1) {
				t.Errorf("the totals are %+v", r.Totals)
			}
		})
	}
}

// TestBudgetWithoutUsageBeginsOneSession checks, with many workers, that the run stops before a
// second session begins.
func TestBudgetWithoutUsageBeginsOneSession(t *testing.T) {
	f := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
		return &plumb.SessionReport{FinalOutput: "echo"}, nil
	}}
	o := run.Input{
		Dir: newDir(t), Suite: suite(50), Runners: []plumb.Runner{f},
		Settings: run.Settings{Parallel: 16, MaxCostUSD: 1},
	}
	for range 3 { // a resumed run reads it from the log
		if r := do(t, o); len(f.calls) != 1 || r.End.Stop != plumb.StopUnmetered {
			t.Fatalf("%d sessions, stop %q", len(f.calls), r.End.Stop)
		}
	}
}

// TestBudgetOfASilentJudge stops a run whose judge does not report its cost.
func TestBudgetOfASilentJudge(t *testing.T) {
	silent := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) {
		return []plumb.Verdict{{Pass: true, Asked: &plumb.Asked{Requests: 1}}}, nil
	})
	for _, allowed := range []bool{false, true} {
		r := do(t, run.Input{
			Suite: suite(5, silent), Runners: []plumb.Runner{&fake{id: "f", run: echo}},
			Settings: run.Settings{Schedule: run.Serial, MaxCostUSD: 1, AllowUnmetered: allowed}, Forecast: func(
				*plumb.Case, plumb.RunnerInfo,
			) run.Forecast {
				return run.Forecast{
					Session: run.Part{Cap: run.Use{CostUSD: 0.1}}, Judging: run.Part{Cap: run.Use{CostUSD: 0.1}},
				}
			},
		})
		want, stop := 1, plumb.StopUnmetered
		if allowed {
			want, stop = 5, ""
		}
		if r.Totals.Sessions != want || r.End.Stop != stop ||
			!strings.Contains(notes(r), "the judge or embedder of f does not report") {
			t.Errorf("allowed %v: %d sessions, stop %q, notes %q", allowed, r.Totals.Sessions, r.End.Stop, notes(r))
		}
	}
}

// TestBudgetAfterResume counts the usage of an earlier process: sessions, judges, and unjudged
// sessions.
func TestBudgetAfterResume(t *testing.T) {
	judge := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) {
		asked := &plumb.Asked{
			Requests: 1, CostUSD: new(0.02),
			Usage: plumb.Usage{InputTokens: new(int64(80)), OutputTokens: new(int64(5))},
		}
		return []plumb.Verdict{{Pass: true, Asked: asked}}, nil
	})
	for _, limit := range []run.Settings{{MaxCostUSD: 0.1}, {MaxTokens: 330}} { // three of 0.03 dollars and 100 tokens
		d := newDir(t)
		f := &fake{id: "f", run: echo}
		drain := make(chan struct{})
		o := run.Input{
			Dir: d, Suite: suite(10, judge), Runners: []plumb.Runner{f}, Settings: limit, Drain: drain,
		}
		o.Schedule = run.Serial
		o.Emit = func(ev plumb.Event, _ *plumb.Run) error {
			if ev.Type == plumb.EventExecutionFinished && ev.Case == "case-001" {
				close(drain)
				time.Sleep(50 * time.Millisecond)
			}
			return nil
		}
		if r := do(t, o); r.Totals.Finished < 2 || r.Totals.Finished > 3 {
			t.Fatalf("%d finished", r.Totals.Finished)
		}
		o.Drain, o.Emit = nil, nil
		if r := do(t, o); r.Totals.Sessions != 3 || r.End.Stop == "" {
			t.Errorf("%+v: %d sessions, stop %q; want 3", limit, r.Totals.Sessions, r.End.Stop)
		}
		if r := do(t, o); len(f.calls) != 3 || r.End.Stop == "" {
			t.Errorf("%+v: resumed again: %d sessions, stop %q; want 3", limit, len(f.calls), r.End.Stop)
		}
	}
}

// TestBudgetOfJudgingAfterResume leaves sessions unjudged. Judging them later costs money, which
// must fit the budget.
func TestBudgetOfJudgingAfterResume(t *testing.T) {
	d := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	judge := assertion(func(plumb.Evidence) ([]plumb.Verdict, error) {
		if ctx.Err() == nil {
			cancel()
			return nil, plumb.Failuref(plumb.OriginJudge, "interrupted")
		}
		asked++
		return []plumb.Verdict{{Pass: true, Asked: &plumb.Asked{Requests: 1, CostUSD: new(0.05)}}}, nil
	})
	f := &fake{id: "f", run: echo}
	o := run.Input{
		Dir: d, Suite: suite(3, judge), Runners: []plumb.Runner{f},
		Settings: run.Settings{Schedule: run.Serial},
	}
	o.Forecast = func(*plumb.Case, plumb.RunnerInfo) run.Forecast {
		most := run.Use{CostUSD: 0.05}
		return run.Forecast{Session: run.Part{Cap: most}, Judging: run.Part{Expected: most, Cap: most}}
	}
	o.MaxCostUSD = 0.055
	if r, err := run.Suite(ctx, o); err != nil || r.Totals.Finished > 0 || len(f.calls) != 1 {
		t.Fatalf("%+v, %v", r.Totals, err)
	}
	if r := do(t, o); asked != 0 || r.End.Stop != plumb.StopCost {
		t.Errorf("judged %d times, stop %q; 0.01 is spent, and a judge costs 0.05", asked, r.End.Stop)
	}
	o.MaxCostUSD = 0.1
	if r := do(t, o); asked != 1 || len(f.calls) != 1 || r.End.Stop != plumb.StopCost {
		t.Errorf(
			"judged %d times after %d sessions, stop %q; 0.06 is spent then, and a session costs 0.06", asked,
			len(f.calls), r.End.Stop,
		)
	}
}

// TestDurationIsOver resumes a run whose time is over: nothing begins, not even the judging of
// existing sessions.
func TestDurationIsOver(t *testing.T) {
	for _, parallel := range []int{1, 64} {
		d := newDir(t)
		synctest.Test(t, func(t *testing.T) {
			f := &fake{id: "f", run: func(context.Context, plumb.Request) (*plumb.SessionReport, error) {
				time.Sleep(time.Second)
				return report("echo"), nil
			}}
			o := run.Input{
				Dir: d, Suite: suite(500), Runners: []plumb.Runner{f},
				Settings: run.Settings{Parallel: parallel, MaxDurationMs: 1500},
			}
			r := do(t, o)
			began := len(f.calls)
			if began != parallel+1 || r.Totals.Sessions != began || r.End.Stop != plumb.StopDuration {
				t.Errorf(
					"%d sessions began, %d ended, stop %q; want %d", began, r.Totals.Sessions, r.End.Stop, parallel+1,
				)
			}
			for range 20 {
				if r = do(t, o); len(f.calls) != began || r.End.Stop != plumb.StopDuration {
					t.Fatalf("%d sessions began after the time was over, stop %q", len(f.calls)-began, r.End.Stop)
				}
			}
		})
	}
}
