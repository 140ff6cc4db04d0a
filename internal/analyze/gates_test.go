package analyze_test

import (
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
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
		if ok, measured := analyze.NotOK(run), analyze.NotMeasured(run); ok != x.notOK || measured != x.notMeasured {
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
	for _, o := range analyze.Gates(run) {
		if o.Metric == plumb.GatePassRate && (o.Result != analyze.Unproven || o.Value != nil) {
			t.Errorf("the pass rate without a result is %s (%v)", o.Result, o.Value)
		}
	}
	if analyze.NotOK(run) || !analyze.NotMeasured(run) {
		t.Error("a gate without a result must not decide")
	}
}
