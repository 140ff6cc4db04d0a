package analyze_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// replicates returns how often a simulation repeats: full times if PLUMB_SIMULATE is "full", as in
// "make bench", and short times otherwise. It skips the test with -short.
func replicates(t *testing.T, short, full int) int {
	t.Helper()
	if testing.Short() {
		t.Skip("simulations are off")
	}
	if os.Getenv("PLUMB_SIMULATE") == "full" {
		return full
	}
	return short
}

// bank draws the pass rates of a simulated suite: 45 % of the cases pass nearly always, 15 % nearly
// never, and the others in between.
func bank(cases int, random *rand.Rand) []float64 {
	rates := make([]float64, cases)
	for i := range rates {
		switch kind := random.Float64(); {
		case kind < 0.45:
			rates[i] = 0.97
		case kind < 0.60:
			rates[i] = 0.03
		default:
			d := 0.46 * math.Pow(math.Abs(2*random.Float64()-1), 1.2)
			if random.IntN(2) == 0 {
				d = -d
			}
			rates[i] = 0.5 + d
		}
	}
	return rates
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// lowered shifts the logits of all rates so that their mean falls by drop.
func lowered(rates []float64, drop float64) []float64 {
	shifted := func(by float64) []float64 {
		out := make([]float64, len(rates))
		for i, p := range rates {
			out[i] = 1 / (1 + math.Exp(by-math.Log(p/(1-p))))
		}
		return out
	}
	want, lo, hi := max(1e-3, meanOf(rates)-drop), 0.0, 30.0
	for range 40 {
		if middle := (lo + hi) / 2; meanOf(shifted(middle)) > want {
			lo = middle
		} else {
			hi = middle
		}
	}
	return shifted(lo)
}

// broken lowers the rates of n cases that nearly always pass to 0.02.
func broken(rates []float64, n int) []float64 {
	out := slices.Clone(rates)
	for i, p := range out {
		if p > 0.9 && n > 0 {
			out[i], n = 0.02, n-1
		}
	}
	return out
}

func passes(n int, rate float64, random *rand.Rand) int {
	passed := 0
	for range n {
		if random.Float64() < rate {
			passed++
		}
	}
	return passed
}

// compared draws both sides of a comparison.
func compared(base, cand []float64, n, m int, random *rand.Rand) []analyze.PairCounts {
	pairs := make([]analyze.PairCounts, len(base))
	for i := range pairs {
		pairs[i] = analyze.PairCounts{
			BaseMeasured: n, BasePassed: passes(n, base[i], random),
			CandMeasured: m, CandPassed: passes(m, cand[i], random),
		}
	}
	return pairs
}

// inParallel calls f for each replicate on all processors, with random numbers that depend on the
// replicate only.
func inParallel(replicates int, seed string, f func(i int, random *rand.Rand)) {
	source := analyze.NewSeed(seed)
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < replicates; i += workers {
				f(i, rand.New(source.Block(i)))
			}
		})
	}
	wait.Wait()
}

// within reports whether a share of n replicates is at most three standard errors away from one of
// wantN replicates.
func within(got float64, n int, want float64, wantN int) bool {
	pooled := (got*float64(n) + want*float64(wantN)) / float64(n+wantN)
	pooled = min(1-1.0/float64(wantN), max(pooled, 1.0/float64(wantN)))
	se := math.Sqrt(pooled * (1 - pooled) * (1/float64(n) + 1/float64(wantN)))
	return math.Abs(got-want) <= 3*se+5e-4 // want has three digits
}

// comparisonRow is a row of the table of comparisons: what share of them has which result.
type comparisonRow struct {
	cases, base, cand int
	// covered is the share of 95 % intervals that hold 0 when nothing changed.
	covered float64
	// worse is the share that concludes "worse" for each of the truths.
	worse [5]float64
	// equivalent is the share that concludes "equivalent" at 5 points when nothing changed, and
	// when the mean fell by 5 points.
	equivalent [2]float64
}

// truths are the true rates of the candidate: no change, -5 and -10 points, and one and four broken
// cases.
func truths(rates []float64) [5][]float64 {
	return [...][]float64{
		rates, lowered(rates, 0.05), lowered(rates, 0.10), broken(rates, 1), broken(rates, 4),
	}
}

// TestSimulatedComparisons measures how often a comparison concludes what, and compares with the
// figures that 1,500 comparisons of another program gave.
func TestSimulatedComparisons(t *testing.T) {
	t.Parallel()
	n := replicates(t, 60, 1500)
	for _, want := range []comparisonRow{
		{5, 3, 3, .989, [5]float64{.002, .010, .031, .099, .638}, [2]float64{0, 0}},
		{5, 10, 10, .968, [5]float64{.018, .072, .236, .661, .884}, [2]float64{.003, 0}},
		{20, 3, 3, .971, [5]float64{.013, .083, .314, .075, .767}, [2]float64{0, 0}},
		{50, 1, 1, .951, [5]float64{.012, .072, .223, .017, .098}, [2]float64{0, 0}},
		{50, 3, 3, .963, [5]float64{.011, .228, .761, .047, .421}, [2]float64{.001, 0}},
		{50, 20, 3, .967, [5]float64{.014, .360, .929, .069, .749}, [2]float64{.111, .017}},
		{100, 1, 1, .957, [5]float64{.015, .151, .501, .025, .073}, [2]float64{0, 0}},
		{100, 3, 3, .963, [5]float64{.020, .461, .965, .047, .262}, [2]float64{.282, .033}},
		{100, 5, 5, .949, [5]float64{.019, .676, .997, .065, .418}, [2]float64{.665, .045}},
		{100, 20, 3, .962, [5]float64{.015, .710, 1, .049, .472}, [2]float64{.645, .048}},
	} {
		got := simulateComparisons(want.cases, want.base, want.cand, n)
		name := fmt.Sprintf("%d × %d/%d", want.cases, want.base, want.cand)
		t.Logf("| %s | %.3f | %.3f | %.3f |", name, got.covered, got.worse, got.equivalent)
		check := func(what string, got, want float64) {
			t.Helper()
			if !within(got, n, want, 1500) {
				t.Errorf("%s: %s: %.3f, want about %.3f", name, what, got, want)
			}
		}
		check("coverage", got.covered, want.covered)
		for i, truth := range []string{"no change", "-5", "-10", "1 breaks", "4 break"} {
			check("worse at "+truth, got.worse[i], want.worse[i])
		}
		check("equivalent at no change", got.equivalent[0], want.equivalent[0])
		check("equivalent at -5", got.equivalent[1], want.equivalent[1])
	}
}

func simulateComparisons(cases, base, cand, n int) comparisonRow {
	const alpha, margin = 0.05, 0.05
	results := make([]comparisonRow, n)
	inParallel(n, fmt.Sprint("comparisons", cases, base, cand), func(i int, random *rand.Rand) {
		rates := bank(cases, random)
		for truth, changed := range truths(rates) {
			pairs := compared(rates, changed, base, cand, random)
			e, narrow := analyze.RateDifference(pairs, 1-alpha), analyze.RateDifference(pairs, 1-2*alpha)
			r := &results[i]
			if truth == 0 && e.Lo <= 0 && e.Hi >= 0 {
				r.covered = 1
			}
			switch {
			case analyze.Equivalent(narrow.Lo, narrow.Hi, margin):
				if truth < 2 {
					r.equivalent[truth] = 1
				}
			case analyze.Stratified(pairs).TwoSided() <= alpha && e.Hi < 0:
				r.worse[truth] = 1
			}
		}
	})
	var sum comparisonRow
	for _, r := range results {
		sum.covered += r.covered / float64(n)
		for i := range sum.worse {
			sum.worse[i] += r.worse[i] / float64(n)
		}
		for i := range sum.equivalent {
			sum.equivalent[i] += r.equivalent[i] / float64(n)
		}
	}
	return sum
}
