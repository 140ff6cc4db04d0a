package analyze

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/plumb-eval/plumb"
)

// gatedRun is a run of four cases on two runners: a passes, b fails one case, and cannot be measured
// on another.
func gatedRun(t *testing.T, gates ...plumb.Gate) *plumb.Run {
	t.Helper()
	run := &plumb.Run{}
	apply := func(ev plumb.Event) {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	apply(plumb.Event{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{
		Runners: []plumb.RunnerInfo{{ID: "a"}, {ID: "b"}}, Gates: gates,
	}})
	cases := []plumb.CaseInfo{{ID: "1", Tags: []string{"x"}}, {ID: "2", Tags: []string{"x"}}, {ID: "3"}, {ID: "4"}}
	apply(plumb.Event{Type: plumb.EventPlanned, Cases: cases})
	for i, c := range cases {
		for _, r := range []string{"a", "b"} {
			res := plumb.ExecutionResult{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Passed: 1, Sessions: 1}
			switch {
			case r == "b" && i == 1:
				res.Outcome, res.Status = plumb.OutcomeFail, plumb.StatusFailed
			case r == "b" && i == 2:
				res.Outcome, res.Status = plumb.OutcomeError, plumb.StatusFailed
			}
			apply(plumb.Event{Type: plumb.EventExecutionFinished, Case: c.ID, Runner: r, Result: &res})
		}
	}
	return run
}

func TestGatesDecide(t *testing.T) {
	pass := func(least float64) plumb.Gate { return plumb.Gate{Metric: plumb.GatePassRate, Least: least} }
	covered := func(least float64) plumb.Gate { return plumb.Gate{Metric: plumb.GateCoverage, Least: least} }
	part := func(g plumb.Gate, kind plumb.GateKind, name string) plumb.Gate {
		g.Kind, g.Name = kind, name
		return g
	}
	low := pass(0.3)
	low.Low = true
	for name, x := range map[string]struct {
		gates              []plumb.Gate
		notOK, notMeasured bool
	}{
		"no gate":                      {nil, true, true},
		"a held rate allows failures":  {[]plumb.Gate{pass(0.6)}, false, true},
		"and a held coverage the rest": {[]plumb.Gate{pass(0.6), covered(0.75)}, false, false},
		"a violated rate":              {[]plumb.Gate{pass(0.7), covered(0.75)}, true, false},
		"a violated coverage":          {[]plumb.Gate{pass(0.6), covered(0.8)}, true, false},
		"coverage alone":               {[]plumb.Gate{covered(0.75)}, true, false},
		"the lower limit":              {[]plumb.Gate{low, covered(0)}, true, false},
		"a runner without the failure": {[]plumb.Gate{part(pass(0.9), plumb.GateRunner, "a")}, true, true},
		"a tag with the failure":       {[]plumb.Gate{part(pass(0.5), plumb.GateTag, "x"), covered(0)}, false, false},
		"nothing selected":             {[]plumb.Gate{part(pass(0.5), plumb.GateTag, "none"), pass(0.1), covered(0)}, false, false},
	} {
		run := gatedRun(t, x.gates...)
		if ok, measured := NotOK(run), NotMeasured(run); ok != x.notOK || measured != x.notMeasured {
			t.Errorf("%s: not OK %v, not measured %v; want %v, %v", name, ok, measured, x.notOK, x.notMeasured)
		}
	}
}

// What was not measured neither meets a pass rate nor violates it.
func TestGateWithoutResultIsUnproven(t *testing.T) {
	run := gatedRun(t, plumb.Gate{Metric: plumb.GatePassRate, Least: 0}, plumb.Gate{Metric: plumb.GateCoverage, Least: 0})
	for i := range run.Executions {
		run.Executions[i] = plumb.Execution{State: plumb.ExecutionDone, Outcome: plumb.OutcomeError}
	}
	for _, o := range Gates(run) {
		if o.Metric == plumb.GatePassRate && (o.Result != Unproven || o.Value != nil) {
			t.Errorf("the pass rate without a result is %s (%v)", o.Result, o.Value)
		}
	}
	if NotOK(run) || !NotMeasured(run) {
		t.Error("a gate without a result must not decide")
	}
}

// The gates and the verdict of a repeated run are about its samples (U3). A gate about nothing
// measured is unproven (F16).
func TestU3_GatesAreAboutSamples(t *testing.T) {
	t.Parallel()
	repeated := func(measured bool, gates ...plumb.Gate) *plumb.Run {
		run := &plumb.Run{}
		apply := func(ev plumb.Event) {
			if err := run.Apply(ev); err != nil {
				t.Fatal(err)
			}
		}
		apply(plumb.Event{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{
			Runners: []plumb.RunnerInfo{{ID: "a"}}, Gates: gates, Repeat: 10,
		}})
		var cases []plumb.CaseInfo
		for i := range 30 {
			cases = append(cases, plumb.CaseInfo{ID: fmt.Sprint("q", i)})
		}
		apply(plumb.Event{Type: plumb.EventPlanned, Cases: cases})
		for i := range cases { // 12 cases always pass, and the others 7 of 10 times
			res := plumb.ExecutionResult{
				Outcome: plumb.OutcomeFail, Status: plumb.StatusFailed, Passed: 7, Failed: 3, Sessions: 10,
			}
			switch {
			case !measured:
				res = plumb.ExecutionResult{Outcome: plumb.OutcomeError, Status: plumb.StatusFailed, Errored: 10, Sessions: 10}
			case i < 12:
				res.Outcome, res.Status, res.Passed, res.Failed = plumb.OutcomePass, plumb.StatusPassed, 10, 0
			}
			apply(plumb.Event{Type: plumb.EventExecutionFinished, Case: cases[i].ID, Runner: "a", Result: &res})
		}
		return run
	}
	gate := func(metric plumb.GateMetric, least float64, low bool) plumb.Gate {
		return plumb.Gate{Metric: metric, Least: least, Low: low}
	}
	for _, x := range []struct {
		gate plumb.Gate
		want GateResult
	}{
		{gate(plumb.GatePassRate, 0.82, false), Holds},
		{gate(plumb.GatePassRate, 0.83, false), Violated},
		{gate(plumb.GatePassRate, 0.7, true), Holds},
		{gate(plumb.GatePassRate, 0.81, true), Violated},
	} {
		got := Gates(repeated(true, x.gate))[0]
		if got.Result != x.want || got.Samples == nil || got.Repetitions.Always != 12 {
			t.Errorf("%+v: %s, %v of the samples, %d cases always pass", x.gate, got.Result, *got.Value, got.Repetitions.Always)
		}
	}
	for _, metric := range []plumb.GateMetric{plumb.GatePassRate, plumb.GateCoverage} {
		for _, low := range []bool{false, true} {
			if metric == plumb.GateCoverage && low {
				continue // no such gate
			}
			run := repeated(false, gate(metric, 0, low))
			if got := Gates(run)[0]; got.Result != Unproven || !NotMeasured(run) {
				t.Errorf("%s of nothing measured, low %v: %s", metric, low, got.Result)
			}
		}
	}
}

// A rate over several prompts or runners counts questions (U2): asking each question again, with the
// same results, makes no interval narrower, and a rate of one question has none.
func TestU2_PooledRatesCountQuestions(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	pooled := func(passed []bool, prompts, runners int) Breakdown {
		run := &plumb.Run{}
		info := &plumb.RunInfo{}
		for r := range runners {
			info.Runners = append(info.Runners, plumb.RunnerInfo{ID: fmt.Sprint("r", r)})
		}
		var cases []plumb.CaseInfo
		for i := range passed {
			for p := range prompts {
				c := plumb.CaseInfo{ID: fmt.Sprint("q", i, ".p", p), Category: "c", Tags: []string{"t"}}
				if prompts > 1 {
					c.Item, c.Prompt = fmt.Sprint("q", i), fmt.Sprint("p", p)
				}
				cases = append(cases, c)
			}
		}
		events := []plumb.Event{{Type: plumb.EventRunStarted, Info: info}, {Type: plumb.EventPlanned, Cases: cases}}
		for i, c := range cases {
			res := plumb.ExecutionResult{Outcome: plumb.OutcomeFail, Status: plumb.StatusFailed, Failed: 1, Sessions: 1}
			if passed[i/prompts] {
				res = plumb.ExecutionResult{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Passed: 1, Sessions: 1}
			}
			for r := range info.Runners {
				events = append(events, plumb.Event{
					Type: plumb.EventExecutionFinished, Case: c.ID, Runner: info.Runners[r].ID, Result: &res,
				})
			}
		}
		for _, ev := range events {
			if err := run.Apply(ev); err != nil {
				t.Fatal(err)
			}
		}
		return Rates(run)
	}
	for range 60 {
		passed := make([]bool, 1+random.IntN(40))
		for i := range passed {
			passed[i] = random.Float64() < 0.8
		}
		prompts, runners := 1+random.IntN(4), 1+random.IntN(3)
		lo, hi, ok := pooled(passed, 1, 1).Overall.Interval()
		b := pooled(passed, prompts, runners)
		for _, rates := range [][]Rate{{b.Overall}, b.Categories, b.Tags, b.Runners, b.Prompts} {
			for _, r := range rates {
				low, high, found := r.Interval()
				if many := r.Planned > len(passed); found != (ok && (!many || len(passed) > 1)) ||
					found && high-low < hi-lo-1e-9 {
					t.Errorf("%d questions, %d prompts, %d runners, %d executions: %v to %v (%v), once %v to %v", len(passed), prompts,
						runners, r.Planned, low, high, found, lo, hi)
				}
			}
		}
	}
}
