package analyze

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
)

func TestWilsonVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/wilson-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Cases []struct {
			ID    string
			Input struct {
				K, N int
				Conf float64
			}
			Expected struct{ Lo, Hi string }
			RelTol   string `json:"rel_tol"`
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Cases) == 0 {
		t.Fatal("no vectors")
	}
	number := func(s string) float64 {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range vectors.Cases {
		lo, hi := Wilson(c.Input.K, c.Input.N, c.Input.Conf)
		for _, bound := range []struct{ got, want float64 }{{lo, number(c.Expected.Lo)}, {hi, number(c.Expected.Hi)}} {
			if !(math.Abs(bound.got-bound.want) <= number(c.RelTol)*max(bound.want, 1e-3)) {
				t.Errorf("%s: got %.17g, want %.17g", c.ID, bound.got, bound.want)
			}
		}
	}
}

func TestWilsonProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1_000_000).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		conf := rapid.Float64Range(0.01, 0.9999).Draw(t, "conf")
		lo, hi := Wilson(k, n, conf)
		p := float64(k) / float64(n)
		if !(0 <= lo && lo <= p+1e-15 && p-1e-15 <= hi && hi <= 1) {
			t.Errorf("Wilson(%d, %d, %v) = %v, %v", k, n, conf, lo, hi)
		}
		if (k == 0) != (lo == 0) || (k == n) != (hi == 1) {
			t.Errorf("Wilson(%d, %d, %v) = %v, %v: 0 and 1 belong to no and all successes", k, n, conf, lo, hi)
		}
		mirrorLo, mirrorHi := Wilson(n-k, n, conf)
		if math.Abs(lo-(1-mirrorHi)) > 1e-12 || math.Abs(hi-(1-mirrorLo)) > 1e-12 {
			t.Errorf("Wilson(%d, %d, %v) is not the mirror of its complement", k, n, conf)
		}
	})
}

func TestWilsonOutside(t *testing.T) {
	if lo, hi := Wilson(0, 0, 0.95); lo != 0 || hi != 1 {
		t.Errorf("of nothing: got %v, %v, want 0, 1", lo, hi)
	}
	for _, c := range []struct {
		k, n int
		conf float64
	}{{-1, 5, 0.95}, {6, 5, 0.95}, {0, -1, 0.95}, {1, 2, 0}, {1, 2, 1}, {1, 2, math.NaN()}} {
		if lo, hi := Wilson(c.k, c.n, c.conf); !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("Wilson(%d, %d, %v) = %v, %v, want NaN", c.k, c.n, c.conf, lo, hi)
		}
	}
}

// example is a run of five cases on two runners. Runner a has a pass, a fail, an error, an expected
// failure, and an unfinished execution. Runner b passes all, including the expected failure.
func example(t *testing.T) *plumb.Run {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := &plumb.Run{}
	apply := func(ev plumb.Event) {
		ev.At = at
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	apply(
		plumb.Event{
			Type: plumb.EventRunStarted, Info: &plumb.RunInfo{Runners: []plumb.RunnerInfo{{ID: "a"}, {ID: "b"}}},
		},
	)
	apply(plumb.Event{Type: plumb.EventPlanned, Cases: []plumb.CaseInfo{
		{ID: "m-1", Category: "math", Difficulty: "easy", Tags: []string{"x", "y"}},
		{ID: "m-2", Category: "math", Difficulty: "hard", Tags: []string{"y"}},
		{ID: "f-1", Category: "facts", Difficulty: "easy"},
		{ID: "f-2", Category: "facts", ExpectedFail: true},
		{ID: "f-3", Category: "facts"},
	}})
	cost := 0.25
	finish := func(
		id, runner string, outcome plumb.Outcome, status plumb.Status, origin plumb.Origin, ms int64, cost *float64,
	) {
		res := &plumb.ExecutionResult{
			Outcome: outcome, Status: status, Origin: origin, Sessions: 1, DurationMs: 2 * ms, LatencyMs: ms,
			CostUSD: cost,
			Usage:   plumb.Usage{InputTokens: new(int64(10)), OutputTokens: new(int64(2))},
		}
		if origin != "" {
			res.Class = new(origin.Class())
		}
		apply(plumb.Event{Type: plumb.EventExecutionFinished, Case: id, Runner: runner, Result: res})
	}
	finish("m-1", "a", plumb.OutcomePass, plumb.StatusPassed, "", 100, &cost)
	finish("m-2", "a", plumb.OutcomeFail, plumb.StatusFailed, plumb.OriginAssertion, 300, &cost)
	finish("f-1", "a", plumb.OutcomeError, plumb.StatusFailed, plumb.OriginRunner, 0, nil)
	finish("f-2", "a", plumb.OutcomeFail, plumb.StatusExpectedFailed, plumb.OriginAssertion, 200, &cost)
	for i, id := range []string{"m-1", "m-2", "f-1", "f-2", "f-3"} {
		status := plumb.StatusPassed
		if id == "f-2" {
			status = plumb.StatusUnexpectedPassed
		}
		finish(id, "b", plumb.OutcomePass, status, "", int64(10+i), &cost)
	}
	return run
}

func TestRates(t *testing.T) {
	run := example(t)
	b := Rates(run)
	want := Rate{Planned: 10, Passed: 6, Failed: 2, Errored: 1, ExpectedFailed: 1, UnexpectedPassed: 1}
	counts := cmpopts.IgnoreFields(Rate{}, "Executions", "questions", "shared")
	if diff := cmp.Diff(want, b.Overall, counts); diff != "" {
		t.Errorf("overall (-want +got):\n%s", diff)
	}
	if got := b.Overall.Coverage(); got != 0.8 {
		t.Errorf("coverage %v, want 0.8: errors and what did not end are not measured", got)
	}
	if got := b.Overall.NotRun(); got != 1 {
		t.Errorf("not run %d, want 1", got)
	}
	wantCategories := []Rate{
		{Name: "math", Planned: 4, Passed: 3, Failed: 1},
		{Name: "facts", Planned: 6, Passed: 3, Failed: 1, Errored: 1, ExpectedFailed: 1, UnexpectedPassed: 1},
	}
	if diff := cmp.Diff(wantCategories, b.Categories, counts); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	wantTags := []Rate{{Name: "x", Planned: 2, Passed: 2}, {Name: "y", Planned: 4, Passed: 3, Failed: 1}}
	if diff := cmp.Diff(wantTags, b.Tags, counts); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if len(b.Difficulties) != 3 || len(b.Runners) != 2 || !b.HasCategories() || !b.HasDifficulties() || !b.HasTags() {
		t.Errorf("difficulties %v, runners %v", b.Difficulties, b.Runners)
	}
	if got := RunnerRates(run, 0).Overall; got.Planned != 5 || got.Passed != 1 || got.Failed != 2 {
		t.Errorf("runner a: %+v", got)
	}
}

func TestRateOfNothing(t *testing.T) {
	b := Rates(&plumb.Run{})
	if _, ok := b.Overall.Value(); ok {
		t.Error("a run without cases has a pass rate")
	}
	if f := b.Overall.Figures(); f.PassRate != nil || f.Low != nil || f.Coverage != 1 {
		t.Errorf("figures of nothing: %+v", f)
	}
	if d := Times(&plumb.Run{}); d != (Distribution{}) {
		t.Errorf("times of nothing: %+v", d)
	}
	errors := Rate{Planned: 10, Errored: 10}
	if _, ok := errors.Value(); ok || errors.Coverage() != 0 {
		t.Error("ten errors have a pass rate or coverage")
	}
}

func TestFigures(t *testing.T) {
	run := example(t)
	want := Spending{InputTokens: 90, OutputTokens: 18, CostUSD: 2, Unpriced: 1, Sessions: 9}
	if diff := cmp.Diff(want, Spent(run, -1)); diff != "" {
		t.Errorf("spending (-want +got):\n%s", diff)
	}
	if got := Spent(run, 0); got.CostUSD != 0.75 || got.Sessions != 4 {
		t.Errorf("spending of a: %+v", got)
	}
	if diff := cmp.Diff(
		Distribution{N: 8, P50: 13, P90: 300, P99: 300, Max: 300}, Times(run),
	); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	var slow []string
	for _, i := range Slowest(run, 3) {
		id, runner := run.At(i)
		slow = append(slow, id+" "+runner)
	}
	if diff := cmp.Diff([]string{"m-2 a", "f-2 a", "m-1 a"}, slow); diff != "" {
		t.Errorf("slowest (-want +got):\n%s", diff)
	}
	if got := Slowest(run, 0); len(got) != 0 {
		t.Errorf("the 0 slowest are %v", got)
	}
}

func TestFind(t *testing.T) {
	f := Find(example(t), 10)
	want := Findings{
		Failed:           []Group{{Class: plumb.OriginAssertion.Class(), Count: 1, Executions: []int{2}}},
		Errored:          []Group{{Class: plumb.OriginRunner.Class(), Count: 1, Executions: []int{4}}},
		ExpectedFailed:   Group{Count: 1, Executions: []int{6}},
		UnexpectedPassed: Group{Class: plumb.ClassUnexpectedPass(), Count: 1, Executions: []int{7}},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if got := Find(example(t), 0).Failed[0]; got.Count != 1 || len(got.Executions) != 0 {
		t.Errorf("with limit 0: %+v", got)
	}
}

func TestRunnerSummary(t *testing.T) {
	run := example(t)
	var a Averages
	a.Add(100, plumb.Usage{InputTokens: new(int64(10)), OutputTokens: new(int64(3))})
	a.Add(200, plumb.Usage{InputTokens: new(int64(11))})
	s := a.Summary(run, 0)
	if s.TotalCases != 5 || s.PassedCases != 2 || s.SuccessRate != 0.4 {
		t.Errorf(
			"cases %d, passed %d, rate %v: expected failures count as passed", s.TotalCases, s.PassedCases,
			s.SuccessRate,
		)
	}
	if s.AverageDurationMs != 150 || *s.AverageInputTokens != 10.5 || *s.AverageOutputTokens != 3 ||
		s.AverageCacheTokens != nil {
		t.Errorf("averages: %+v", s)
	}
	if s.Unpriced != 1 || *s.CostUSD != 0.75 || s.Rate.Planned != 5 || s.Rate.Skipped != 1 {
		t.Errorf("summary: %+v", s)
	}
}

func TestMeanUsage(t *testing.T) {
	usage := func(in, out int64, chars int64) plumb.Usage {
		u := plumb.Usage{InputTokens: &in, OutputTokens: &out, InputChars: chars}
		u.Total()
		return u
	}
	got := MeanUsage([]plumb.Usage{usage(10, 2, 5), usage(20, 3, 6), {}})
	if *got.InputTokens != 15 || *got.OutputTokens != 3 || *got.TotalTokens != 18 || got.InputChars != 4 {
		t.Errorf(
			"mean: in %d, out %d, total %d, chars %d", *got.InputTokens, *got.OutputTokens, *got.TotalTokens,
			got.InputChars,
		)
	}
	if got.Source.Input != "provider" || got.Source.Reasoning != "chars" {
		t.Errorf("sources: %+v", got.Source)
	}
}
