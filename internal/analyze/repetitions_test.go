package analyze

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
)

// trial is one execution of a run: how its repetitions ended.
type trial struct{ passed, failed, errored int }

// repeatedRun is a run of cases with the given repetitions, one runner after the other. Cases with
// an even index have the category "even", the others "odd".
func repeatedRun(tb testing.TB, repeat int, kind plumb.RunnerKind, cases [][]trial) *plumb.Run {
	tb.Helper()
	run := &plumb.Run{}
	apply := func(ev plumb.Event) {
		if err := run.Apply(ev); err != nil {
			tb.Fatal(err)
		}
	}
	info := plumb.RunInfo{Repeat: repeat}
	if len(cases) > 0 {
		for r := range cases[0] {
			info.Runners = append(info.Runners, plumb.RunnerInfo{ID: fmt.Sprint(r), Kind: kind})
		}
	}
	apply(plumb.Event{Type: plumb.EventRunStarted, Info: &info})
	var planned []plumb.CaseInfo
	for c := range cases {
		planned = append(planned, plumb.CaseInfo{ID: fmt.Sprint(c), Category: []string{"even", "odd"}[c%2]})
	}
	apply(plumb.Event{Type: plumb.EventPlanned, Cases: planned})
	for c := range cases {
		for r, x := range cases[c] {
			n := x.passed + x.failed + x.errored
			if n == 0 {
				continue // never ran
			}
			res := plumb.ExecutionResult{
				Outcome: plumb.OutcomePass, Passed: x.passed, Failed: x.failed, Errored: x.errored, Sessions: n,
				LatencyMs: int64(10 * (c + 1)), CostUSD: new(0.001 * float64(c+1)), Steps: n,
				Usage: plumb.Usage{TotalTokens: new(int64(100 * (c + 1) * n))},
			}
			switch {
			case x.failed > 0:
				res.Outcome = plumb.OutcomeFail
			case x.errored > 0:
				res.Outcome = plumb.OutcomeError
			}
			if x.passed+x.failed > 0 {
				res.Score = float64(x.passed) / float64(x.passed+x.failed)
			}
			apply(plumb.Event{
				Type: plumb.EventExecutionFinished, Case: fmt.Sprint(c), Runner: fmt.Sprint(r), Result: &res,
			})
		}
	}
	return run
}

func column(trials ...trial) (cases [][]trial) {
	for _, x := range trials {
		cases = append(cases, []trial{x})
	}
	return cases
}

// TestLabels checks the posteriors that the specification names.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		trial
		label Label
		sure  float64
	}{
		{trial{16, 0, 0}, StablePass, 0.803},
		{trial{15, 0, 0}, Undetermined, math.NaN()},
		{trial{0, 16, 0}, StableFail, 0.803},
		{trial{4, 1, 0}, Flaky, 0.92},
		{trial{9, 1, 0}, Flaky, 0.80},
		{trial{3, 0, 13}, Undetermined, math.NaN()},
	} {
		run := repeatedRun(t, c.passed+c.failed+c.errored, plumb.RunnerModel, column(c.trial))
		s, ok := SamplesOf(run, 0)
		if !ok || s.Label != c.label || math.Abs(s.Sure-c.sure) > 0.005 || math.IsNaN(s.Sure) != math.IsNaN(c.sure) {
			t.Errorf("%+v: %+v, %v", c.trial, s, ok)
		}
	}
	for _, x := range []trial{{1, 0, 4}, {0, 0, 5}, {}} {
		if s, ok := SamplesOf(repeatedRun(t, 5, plumb.RunnerModel, column(x)), 0); ok {
			t.Errorf("%+v has a label: %+v", x, s)
		}
	}
}

func TestFlakyCases(t *testing.T) {
	run := repeatedRun(t, 5, plumb.RunnerModel, column(trial{4, 1, 0}, trial{5, 0, 0}, trial{2, 3, 0}, trial{0, 5, 0}))
	got := FlakyCases(run)
	if len(got) != 2 || got[0].Execution != 2 || got[1].Execution != 0 || got[0].Sure < got[1].Sure {
		t.Errorf("flaky cases, the surest first: %+v", got)
	}
}

func TestRepetitions(t *testing.T) {
	run := repeatedRun(t, 4, plumb.RunnerModel, column(
		trial{4, 0, 0}, trial{2, 2, 0}, trial{0, 4, 0}, trial{1, 1, 2}, trial{0, 0, 4}, trial{},
	))
	x := Rates(run).Overall.Repetitions(run)
	if !x.Repeated || x.Planned != 24 || x.Measured != 14 || x.Passed != 7 || x.Cases != 4 || x.Stopped != 0 {
		t.Errorf("counts: %+v", x)
	}
	if !x.Rate.OK || math.Abs(x.Rate.Value-0.5) > 1e-12 {
		t.Errorf("the rate is the mean of the cases' rates: %+v", x.Rate)
	}
	// pass@2 of 4/4, 2/4, 0/4 and 1/2 is 1, 5/6, 0 and 1; pass^2 is 1, 1/6, 0, 0.
	all, ok := x.All()
	if !ok || all.K != 2 || all.Cases != 4 || math.Abs(all.At.Value-(1+5./6+0+1)/4) > 1e-12 ||
		math.Abs(all.Hat.Value-(1+1./6)/4) > 1e-12 {
		t.Errorf("for all cases: %+v, %v", all, ok)
	}
	if last := x.AtK[len(x.AtK)-1]; last.K != 4 || last.Cases != 3 {
		t.Errorf("the largest k: %+v", last)
	}
	// Flip rates: 0, 2/3, 0, 1.
	if x.FlipCases != 4 || math.Abs(x.Flips.Value-(2./3+1)/4) > 1e-12 {
		t.Errorf("flips: %+v", x.Flips)
	}
}

// TestRunnersShareCases: the executions of one case on two runners are one cluster.
func TestRunnersShareCases(t *testing.T) {
	var cases [][]trial
	for c := range 10 {
		x := trial{c % 4, 3 - c%4, 0}
		cases = append(cases, []trial{x, x})
	}
	run := repeatedRun(t, 3, plumb.RunnerModel, cases)
	both := Rates(run).Overall.Repetitions(run).Rate
	one := RunnerRates(run, 0).Overall.Repetitions(run).Rate
	if math.Abs(both.Lo-one.Lo) > 1e-9 || math.Abs(both.Hi-one.Hi) > 1e-9 {
		t.Errorf("two equal runners make the interval narrower: %+v, %+v", both, one)
	}
	run = repeatedRun(t, 3, plumb.RunnerModel, cases[1:2])
	if x := Rates(run).Overall.Repetitions(run).Rate; x.OK || !math.IsNaN(x.Value) {
		t.Errorf("one case on two runners has a rate without an interval: %+v", x)
	}
}

// TestStoppedEarly: the repetitions of an agent that stops at the first that is not green give no
// rate, no label and no score.
func TestStoppedEarly(t *testing.T) {
	cases := column(trial{3, 0, 0}, trial{0, 1, 0}, trial{2, 1, 0})
	run := repeatedRun(t, 3, plumb.RunnerAgent, cases)
	x, s := Rates(run).Overall.Repetitions(run), Rates(run).Overall.Score(run)
	if x.Stopped != 1 || x.Rate.OK || !math.IsNaN(x.Rate.Value) || x.AtK != nil || x.FlipCases != 0 {
		t.Errorf("rates of an early stop: %+v", x)
	}
	if s.Stopped != 1 || s.Mean.OK || !math.IsNaN(s.Min) {
		t.Errorf("score of an early stop: %+v", s)
	}
	if _, ok := SamplesOf(run, 1); ok {
		t.Error("an execution that stopped early has a label")
	}
	if _, ok := SamplesOf(run, 2); !ok {
		t.Error("an execution that did all its repetitions has no label")
	}
	// A model performs all repetitions: fewer are only missing.
	run = repeatedRun(t, 3, plumb.RunnerModel, cases)
	if x := Rates(run).Overall.Repetitions(run); x.Stopped != 0 || !x.Rate.OK {
		t.Errorf("rates of a model: %+v", x)
	}
}

func TestMetrics(t *testing.T) {
	var trials []trial
	for range 10 {
		trials = append(trials, trial{2, 0, 0})
	}
	run := repeatedRun(t, 2, plumb.RunnerModel, column(trials...))
	m := Rates(run).Overall.Metrics(run)
	// The values are 100, 200, ... 1000; the interval of the median goes from the second to the ninth.
	want := Quantile{Value: 500, Lo: 200, Hi: 900}
	if m.Tokens.N != 10 || m.Tokens.Median != want {
		t.Errorf("tokens: %+v", m.Tokens)
	}
	if p := m.Tokens.P90; p.Value != 900 || math.IsNaN(p.Lo) || !math.IsNaN(p.Hi) {
		t.Errorf("the upper bound of p90 needs 36 cases: %+v", p)
	}
	if g := m.Tokens.Mean; !g.OK || math.Abs(g.Value-452.87) > 0.01 || !(g.Lo < g.Value && g.Value < g.Hi) {
		t.Errorf("geometric mean: %+v", g)
	}
	if m.Steps.Median.Value != 1 || m.Steps.Mean.OK {
		t.Errorf("steps do not vary, so they have no t-interval: %+v", m.Steps)
	}
}

// TestGroupsAreFinite: whatever a run holds, its figures can be JSON, and intervals hold their value.
func TestGroupsAreFinite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		runners := rapid.IntRange(1, 2).Draw(rt, "runners")
		repeat := rapid.IntRange(1, 6).Draw(rt, "repeat")
		kind := rapid.SampledFrom([]plumb.RunnerKind{plumb.RunnerModel, plumb.RunnerAgent}).Draw(rt, "kind")
		cases := make([][]trial, rapid.IntRange(0, 8).Draw(rt, "cases"))
		for c := range cases {
			for range runners {
				left := repeat
				part := func(name string) int {
					n := rapid.IntRange(0, left).Draw(rt, name)
					left -= n
					return n
				}
				cases[c] = append(cases[c], trial{part("passed"), part("failed"), part("errored")})
			}
		}
		run := repeatedRun(t, repeat, kind, cases)
		b := Rates(run)
		for _, r := range append(b.Categories, b.Overall) {
			g := r.Group(run)
			if _, err := json.Marshal(g); err != nil {
				rt.Fatal(err)
			}
			x := r.Repetitions(run)
			estimates := []Estimate{x.Rate, x.Flips}
			for _, at := range x.AtK {
				estimates = append(estimates, at.At, at.Hat)
			}
			for _, e := range estimates {
				if e.OK && !(0 <= e.Lo && e.Lo <= e.Value+1e-9 && e.Value-1e-9 <= e.Hi && e.Hi <= 1 && e.Lo < e.Hi) {
					rt.Fatalf("estimate %+v", e)
				}
			}
		}
	})
}
