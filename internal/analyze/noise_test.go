package analyze

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/plumb-eval/plumb"
)

// drawnCases returns samples of cases with the given pass rates.
func drawnCases(rates []float64, repeats int, random *rand.Rand) [][]Sample {
	cases := make([][]Sample, len(rates))
	for i, rate := range rates {
		for r := range repeats {
			s := Sample{Repetition: int32(r + 1), Outcome: plumb.OutcomeFail, Tokens: math.Exp(random.NormFloat64())}
			if random.Float64() < rate {
				s.Outcome = plumb.OutcomePass
			}
			cases[i] = append(cases[i], s)
		}
	}
	return cases
}

func TestNoise(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	cases := drawnCases([]float64{1, 1, 0}, 4, random)
	for i := range cases[1] { // one case alternates
		cases[1][i].Outcome = []plumb.Outcome{plumb.OutcomePass, plumb.OutcomeFail}[i%2]
	}
	n := NoiseOf(cases, NewSeed("test"))
	if n.Cases != 3 || n.Repetitions != 12 || math.Abs(n.Flip.Value-2.0/9) > 1e-12 || math.Abs(n.Within-1.0/9) > 1e-12 {
		t.Errorf("%+v", n)
	}
	if want := 1.959964 * math.Sqrt(2.0/9/12); math.Abs(n.Floor(3, 4)-want) > 1e-6 {
		t.Errorf("floor %v, want %v", n.Floor(3, 4), want)
	}
	if h := n.Halves; h.Odd != (Count{Passed: 4, Measured: 6}) || h.Even.Passed != 2 || !(h.Difference.Value < 0) {
		t.Errorf("%+v", h)
	}
	steady := NoiseOf(drawnCases([]float64{1, 0}, 5, random), NewSeed("test"))
	if !steady.Steady || steady.Within != 0.1 || steady.Flip.Value != 0 || !(steady.Flip.Hi > 0) {
		t.Errorf("%+v", steady)
	}
	for _, none := range [][][]Sample{nil, {nil}, {{{Repetition: 1, Outcome: plumb.OutcomeError}}}} {
		n := NoiseOf(none, NewSeed("test"))
		if n.Cases != 0 || !math.IsNaN(n.Within) || n.Steady || n.Flip.OK || !math.IsNaN(n.TokenDeviation) {
			t.Errorf("%v: %+v", none, n)
		}
	}
}

// TestSimulatedNoise draws pairs of runs of the same cases. The noise floor of one of them holds in
// about 95 % of the pairs, for rates and for tokens, and the self-check warns at its level.
func TestSimulatedNoise(t *testing.T) {
	t.Parallel()
	pairs := replicates(t, 400, 4000)
	random := rand.New(rand.NewPCG(5, 5))
	const cases, repeats = 60, 4
	within, tokens, warned := 0, 0, 0
	for range pairs {
		rates := bank(cases, random)
		a, b := drawnCases(rates, repeats, random), drawnCases(rates, repeats, random)
		n := NoiseOf(a, NewSeed("test"))
		diff, logs := 0.0, 0.0
		for i := range a {
			diff += CountOf(b[i]).Rate() - CountOf(a[i]).Rate()
			logs += meanOf(LogTokens(b[i])) - meanOf(LogTokens(a[i]))
		}
		if math.Abs(diff/cases) <= n.Floor(cases, repeats) {
			within++
		}
		if math.Abs(logs/cases) <= math.Log1p(n.TokenFloor(cases, repeats)) {
			tokens++
		}
		if n.Halves.P <= 0.05 {
			warned++
		}
	}
	of := float64(pairs)
	error3 := 3 * math.Sqrt(0.05*0.95/of)
	// The estimated variance costs up to two points of coverage, and the self-check is conservative.
	if c := float64(within) / of; c < 0.93-error3 || c > 0.96+error3 {
		t.Errorf("the floor of the pass rate holds in %.3f of the pairs", c)
	}
	if c := float64(tokens) / of; c < 0.94-error3 || c > 0.96+error3 {
		t.Errorf("the floor of the tokens holds in %.3f of the pairs", c)
	}
	if w := float64(warned) / of; w > 0.05+error3 {
		t.Errorf("the self-check has a level of %.3f", w)
	}
	t.Logf("pass rate %.3f, tokens %.3f, self-check %.3f", float64(within)/of, float64(tokens)/of, float64(warned)/of)
}
