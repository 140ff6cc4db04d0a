package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// world is a kind of suite: the pass rates of its cases.
type world struct {
	name  string
	rates func(n int, random *rand.Rand) []float64
}

func worlds() []world {
	same := func(p float64) world {
		return world{fmt.Sprintf("all %v", p), func(n int, _ *rand.Rand) []float64 {
			rates := make([]float64, n)
			for i := range rates {
				rates[i] = p
			}
			return rates
		}}
	}
	return []world{
		same(0.5),
		same(0.7),
		same(0.85),
		same(0.95),
		same(0.98),
		{"bank", bank},
		{"one of four flaky", func(n int, _ *rand.Rand) []float64 {
			rates := make([]float64, n)
			for i := range rates {
				if rates[i] = 0.995; i%4 == 0 {
					rates[i] = 0.5
				}
			}
			return rates
		}},
	}
}

// found counts the comparisons that find a loss by test and interval.
func found(base, cand []float64, repeats, comparisons int, random *rand.Rand) (n int) {
	for range comparisons {
		pairs := make([]PairCounts, len(base))
		for i := range pairs {
			pairs[i] = PairCounts{
				BaseMeasured: repeats, BasePassed: passes(repeats, base[i], random),
				CandMeasured: repeats, CandPassed: passes(repeats, cand[i], random),
			}
		}
		if e := RateDifference(pairs)(0.95); e.OK && e.Hi < 0 &&
			Stratified(pairs).TwoSided() <= Level {
			n++
		}
	}
	return n
}

// TestSimulatedPower (U8) plants the difference that a plan calls detectable. The test finds it in 80
// % of comparisons, within 2 points and the error of the simulation; with 20 cases within 3 points.
func TestSimulatedPower(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a simulation")
	}
	full := os.Getenv("PLUMB_SIMULATE") == "full"
	comparisons := replicates(t, 200, 2000)
	for at, w := range worlds() {
		for _, cases := range []int{20, 50, 200, 1000, 2000} {
			for _, repeats := range []int{1, 2, 5, 10} {
				if cases*repeats > 1000 && !full || cases*repeats > 5000 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%dx%d", w.name, cases, repeats), func(t *testing.T) {
					t.Parallel()
					random := rand.New(rand.NewPCG(uint64(at), uint64(cases*100+repeats)))
					rates := w.rates(cases, random)
					history := make([]Count, cases)
					for i, p := range rates { // as many repetitions know it
						history[i] = Count{Passed: int(math.Round(200 * p)), Measured: 200}
					}
					start := time.Now()
					difference, ok := SameRepeats(MixOf(history), cases, repeats).Detectable()
					if !ok {
						t.Fatal("nothing is detectable")
					}
					if d := time.Since(start); d > 300*time.Millisecond {
						t.Logf("the plan took %v", d)
					}
					got := float64(found(rates, loweredRates(rates, difference), repeats, comparisons, random)) / float64(comparisons)
					bias := 0.02
					if cases <= 20 {
						bias = 0.03
					}
					se := math.Sqrt(Power * (1 - Power) / float64(comparisons))
					if math.Abs(got-Power) > bias+3*se {
						t.Errorf("%.3f of %d comparisons find %.4f", got, comparisons, difference)
					}
					t.Logf("%.3f find %.4f", got, difference)
				})
			}
		}
	}
}
