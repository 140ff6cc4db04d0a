package analyze

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
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

// loweredRates shifts the logits of all rates so that their mean falls by drop.
func loweredRates(rates []float64, drop float64) []float64 {
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
func compared(base, cand []float64, n, m int, random *rand.Rand) []PairCounts {
	pairs := make([]PairCounts, len(base))
	for i := range pairs {
		pairs[i] = PairCounts{
			BaseMeasured: n, BasePassed: passes(n, base[i], random),
			CandMeasured: m, CandPassed: passes(m, cand[i], random),
		}
	}
	return pairs
}

// inParallel calls f for each replicate on all processors, with random numbers that depend on the
// replicate only.
func inParallel(replicates int, seed string, f func(i int, random *rand.Rand)) {
	source := NewSeed(seed)
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < replicates; i += workers {
				f(i, rand.New(source.block(i)))
			}
		})
	}
	wait.Wait()
}
