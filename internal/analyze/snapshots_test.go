package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

func TestSnapshotCase(t *testing.T) {
	t.Parallel()
	ten := []float64{100, 110, 90, 95, 105, 100, 110, 90, 95, 105}
	pool := [][]float64{ten, ten, ten}
	for _, tt := range []struct {
		name              string
		pool              [][]float64
		measured, samples []float64
		tested, failed    bool
		needs             int
	}{
		{"no samples", nil, []float64{100}, nil, false, false, 0},
		{"one sample, no pool", [][]float64{ten, ten}, []float64{1000}, []float64{100}, false, false, 4},
		{"one sample", pool, []float64{1000}, []float64{100}, true, true, 0},
		{"two samples", nil, []float64{100}, []float64{100, 101}, true, false, 0},
		{"equal", pool, []float64{100}, ten, true, false, 0},
		{"fewer", pool, []float64{1}, ten, true, false, 0},
		{"within the margin", pool, []float64{104, 104, 104}, ten, true, false, 0},
		{"far above", pool, []float64{300}, ten, true, true, 0},
		{"nothing measured", pool, nil, ten, false, false, 0},
		{"zeros have no logarithm", pool, []float64{0}, ten, false, false, 0},
		{"zero samples", pool, []float64{5}, []float64{0, -1}, false, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := NewSnapshotTest("totalTokens", tt.pool, 10).Case(tt.measured, tt.samples)
			if (c.P != nil) != tt.tested || c.Failed != tt.failed || c.Needs != tt.needs {
				t.Errorf("%+v", c)
			}
		})
	}
	// By hand: x = ln 100 twice, y = ln 200; variances 0, so d = 0.02; t = (ln 2 - ln
	// 1.05)/(0.02·sqrt(1.5)).
	c := NewSnapshotTest("totalTokens", nil, 1).Case([]float64{200}, []float64{100, 100})
	if c.Ratio < 1.9999 || c.Ratio > 2.0001 || c.Mean < 99.99 || c.P == nil || *c.P > 1e-4 {
		t.Errorf("%+v", c)
	}
	if got := SnapshotWords(&c); got != "x2.00 of 2 samples (100 [100 – 100]), p < 0.0001" {
		t.Error(got)
	}
	// The margin of a latency is wider.
	slower := []float64{119, 119, 119}
	if c := NewSnapshotTest(plumb.MetricLatencyMs, nil, 1).Case(slower, []float64{100, 100, 100}); c.Failed {
		t.Errorf("%+v", c)
	}
}

func TestPWords(t *testing.T) {
	t.Parallel()
	for p, want := range map[float64]string{
		0: "p < 0.0001", 0.00012: "p = 0.00012", 0.0312: "p = 0.031", 0.5: "p = 0.50", 0.999: "p > 0.99", 1: "p = 1",
	} {
		if got := PWords(p); got != want {
			t.Errorf("%g: %s, want %s", p, got, want)
		}
	}
}

// snapshotRun is a run of one runner with the given comparisons.
func snapshotRun(checks ...*plumb.SnapshotCheck) *plumb.Run {
	r := &plumb.Run{Info: plumb.RunInfo{Runners: []plumb.RunnerInfo{{ID: "r"}}}}
	for _, c := range checks {
		r.Executions = append(r.Executions, plumb.Execution{Snapshot: c})
	}
	return r
}

func TestSnapshotSuites(t *testing.T) {
	t.Parallel()
	check := func(ratio float64) *plumb.SnapshotCheck {
		return &plumb.SnapshotCheck{Metric: "totalTokens", Samples: 5, Ratio: ratio, P: new(0.5)}
	}
	if got := Snapshots(snapshotRun(nil, nil)); got != nil {
		t.Errorf("no comparison: %+v", got)
	}
	more := snapshotRun(check(1.3), check(1.32), check(1.28), check(1.31))
	if got := Snapshots(more)[0]; got.Ratio != nil || got.Failed || got.Tested != 4 {
		t.Errorf("four cases: %+v", got)
	}
	more.Executions = append(more.Executions, snapshotRun(check(1.29), nil,
		&plumb.SnapshotCheck{Metric: "totalTokens", Samples: 1, Needs: 4, Ratio: 9},
		&plumb.SnapshotCheck{Metric: "totalTokens"}).Executions...)
	got := Snapshots(more)[0]
	if !got.Failed || got.Cases != 7 || got.Tested != 5 || got.Recorded != 1 || got.Needs != 4 ||
		math.Abs(*got.Ratio-1.3) > .001 || *got.Low > 1.3 || *got.High < 1.3 {
		t.Errorf("%+v", got)
	}
	if !NotOK(more) {
		t.Error("the run is green")
	}
	same := snapshotRun(check(2), check(2), check(2), check(2), check(2))
	if got := Snapshots(same)[0]; got.Ratio != nil || got.Failed {
		t.Errorf("ratios without variance: %+v", got)
	}
}

// TestSimulatedSnapshots compares the share of failing suites with the table of the specification.
func TestSimulatedSnapshots(t *testing.T) {
	t.Parallel()
	suites := replicates(t, 150, 3000)
	const reference = 3000 // suites behind each figure of the table
	var table strings.Builder
	for row, tt := range []struct {
		cases, samples, repetitions int
		same, all, one              float64
	}{
		{10, 5, 1, .028, .31, .68},
		{20, 10, 1, .032, .49, .64},
		{20, 10, 3, .017, .80, .91},
		{50, 10, 1, .035, .81, .50},
		{50, 20, 1, .030, .83, .56},
		{100, 10, 1, .046, .96, .37},
	} {
		var got [3]float64
		for kind, want := range []float64{tt.same, tt.all, tt.one} {
			rng := rand.New(rand.NewPCG(uint64(row), uint64(kind)))
			failed := 0
			for range suites {
				if failingSuite(rng, tt.cases, tt.samples, tt.repetitions, kind) {
					failed++
				}
			}
			share := float64(failed) / float64(suites)
			got[kind] = share
			se := math.Sqrt(want * (1 - want) * (1/float64(suites) + 1.0/reference))
			if math.Abs(share-want) > 3*se+.0005 { // the table is rounded
				t.Errorf("%d cases, %d samples, %d new, kind %d: %.3f of %d suites fail, want %.3f ± %.3f",
					tt.cases, tt.samples, tt.repetitions, kind, share, suites, want, 3*se)
			}
		}
		fmt.Fprintf(&table, "%d / %d / %d: %.3f %.3f %.3f\n", tt.cases, tt.samples, tt.repetitions, got[0], got[1], got[2])
	}
	t.Logf("failing suites of %d: no change, +20 %% everywhere, x4 on one case\n%s", suites, table.String())
}

// failingSuite draws a suite with heavy-tailed usage and reports whether a case or the suite fails.
// kind 1 adds 20 % to all cases, and kind 2 multiplies the usage of one case by 4.
func failingSuite(rng *rand.Rand, cases, samples, repetitions, kind int) bool {
	old, measured := make([][]float64, cases), make([][]float64, cases)
	for i := range cases {
		mu, sd := math.Log(1000)+rng.NormFloat64(), .25*math.Exp(.5*rng.NormFloat64())
		draw := func(n int, factor float64) []float64 {
			values := make([]float64, n)
			for j := range values {
				values[j] = math.Exp(mu+sd*heavy(rng)) * factor
			}
			return values
		}
		factor := 1.0
		switch {
		case kind == 1:
			factor = 1.2
		case kind == 2 && i == 0:
			factor = 4
		}
		old[i], measured[i] = draw(samples, 1), draw(repetitions, factor)
	}
	test := NewSnapshotTest("totalTokens", old, cases)
	run := &plumb.Run{Info: plumb.RunInfo{Runners: []plumb.RunnerInfo{{ID: "r"}}}}
	for i := range cases {
		c := test.Case(measured[i], old[i])
		if c.Failed {
			return true
		}
		run.Executions = append(run.Executions, plumb.Execution{Snapshot: &c})
	}
	return NotOK(run)
}

// heavy draws from Student's t distribution with 5 degrees of freedom, scaled to variance 1.
func heavy(rng *rand.Rand) float64 {
	chi := 0.0
	for range 5 {
		z := rng.NormFloat64()
		chi += z * z
	}
	return rng.NormFloat64() / math.Sqrt(chi/5) * math.Sqrt(3.0/5)
}
