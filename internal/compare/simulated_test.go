package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
)

// bank draws the pass rates of the cases of a suite: 45 % at .97, 15 % at .03, and 40 % at .5 ± .46
// |2u-1|^1.2.
func bank(r *rand.Rand, n int) []float64 {
	rates := make([]float64, n)
	for i := range rates {
		switch u := r.Float64(); {
		case u < 0.45:
			rates[i] = 0.97
		case u < 0.60:
			rates[i] = 0.03
		default:
			away := 0.46 * math.Pow(math.Abs(2*r.Float64()-1), 1.2)
			if r.Float64() < 0.5 {
				away = -away
			}
			rates[i] = 0.5 + away
		}
	}
	return rates
}

// lowered returns rates with one common shift in logits, such that their mean falls by drop.
func lowered(rates []float64, drop float64) []float64 {
	shifted := func(by float64) (out []float64, mean float64) {
		for _, p := range rates {
			q := 1 / (1 + math.Exp(by)*(1-p)/p)
			out, mean = append(out, q), mean+q/float64(len(rates))
		}
		return out, mean
	}
	_, was := shifted(0)
	low, high := 0.0, 20.0
	for range 60 {
		if _, is := shifted((low + high) / 2); was-is < drop {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	out, _ := shifted(low)
	return out
}

// broke returns rates of which k that were above .9 are .02.
func broke(rates []float64, k int) []float64 {
	out := slices.Clone(rates)
	for i := range out {
		if k > 0 && out[i] > 0.9 {
			out[i], k = 0.02, k-1
		}
	}
	return out
}

func passes(r *rand.Rand, rate float64, n int) (k int) {
	for range n {
		if r.Float64() < rate {
			k++
		}
	}
	return k
}

// simulation is a row of the table: a suite, and how often it leads to each conclusion.
type simulation struct {
	cases, base, cand int
	// The shares of conclusions: covered by the interval and worse without a change, worse after a
	// drop by 5 and by 10 points, and after one and four broken cases, and equivalent at a margin of
	// 5 pp without a change and after a drop by 5 points.
	covered, same, five, ten, one, four, equal, margin float64
}

// TestSimulatedConclusions reproduces the table of conclusions: how often a comparison concludes
// worse or equivalent, by the rules about the suite as a whole.
func TestSimulatedConclusions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a simulation")
	}
	replicates, rows := 60, []simulation{
		{5, 3, 3, .989, .002, .010, .031, .099, .638, .000, .000},
		{5, 10, 10, .968, .018, .072, .236, .661, .884, .003, .000},
		{20, 3, 3, .971, .013, .083, .314, .075, .767, .000, .000},
		{50, 1, 1, .951, .012, .072, .223, .017, .098, .000, .000},
		{50, 3, 3, .963, .011, .228, .761, .047, .421, .001, .000},
		{50, 20, 3, .967, .014, .360, .929, .069, .749, .111, .017},
		{100, 1, 1, .957, .015, .151, .501, .025, .073, .000, .000},
		{100, 3, 3, .963, .020, .461, .965, .047, .262, .282, .033},
		{100, 5, 5, .949, .019, .676, .997, .065, .418, .665, .045},
		{100, 20, 3, .962, .015, .710, 1.000, .049, .472, .645, .048},
	}
	if os.Getenv("PLUMB_SIMULATE") == "full" {
		replicates = 1500
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%dx%d-%d", row.cases, row.base, row.cand), func(t *testing.T) {
			t.Parallel()
			row.check(t, replicates)
		})
	}
}

func (s simulation) check(t *testing.T, replicates int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(s.cases), uint64(s.base*100+s.cand)))
	var covered, same, five, ten, one, four, equal, margin int
	o := withMargin(5)
	run := func(base, cand []float64) compare.Figure {
		var cases []counts
		for i := range base {
			cases = append(cases, counts{passes(r, base[i], s.base), s.base, passes(r, cand[i], s.cand), s.cand})
		}
		m := matching(cases...)
		for i := range m.Runners[0].Pairs { // only the pass rate of the whole suite
			p := &m.Runners[0].Pairs[i]
			p.Case.Category = ""
			for _, samples := range [][]analyze.Sample{p.Base, p.Cand} {
				for x := range samples {
					samples[x].Score = math.NaN()
				}
			}
		}
		return compare.Analyze(m, o).Runners[0].Figure
	}
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	for range replicates {
		rates := bank(r, s.cases)
		f := run(rates, rates)
		count(&covered, f.Effect.Low <= 0 && f.Effect.High >= 0)
		count(&same, f.Conclusion == compare.Worse)
		count(&equal, f.Conclusion == compare.Equivalent)
		f = run(rates, lowered(rates, 0.05))
		count(&five, f.Conclusion == compare.Worse)
		count(&margin, f.Conclusion == compare.Equivalent)
		f = run(rates, lowered(rates, 0.10))
		count(&ten, f.Conclusion == compare.Worse)
		f = run(rates, broke(rates, 1))
		count(&one, f.Conclusion == compare.Worse)
		f = run(rates, broke(rates, 4))
		count(&four, f.Conclusion == compare.Worse)
	}
	const tableReplicates = 1500
	for _, c := range []struct {
		name  string
		got   int
		table float64
	}{
		{"covered", covered, s.covered},
		{"worse without a change", same, s.same},
		{"worse at -5", five, s.five},
		{"worse at -10", ten, s.ten},
		{"worse with 1 broken", one, s.one},
		{"worse with 4 broken", four, s.four},
		{"equivalent without a change", equal, s.equal},
		{"equivalent at -5", margin, s.margin},
	} {
		got := float64(c.got) / float64(replicates)
		// Both shares have an error. A share of 0 in the table can be up to 3 / 1,500.
		p := min(max(c.table, 1.0/tableReplicates), 1-1.0/tableReplicates)
		se := math.Sqrt(p * (1 - p) * (1/float64(replicates) + 1.0/tableReplicates))
		if math.Abs(got-c.table) > 3*se+1/float64(replicates) {
			t.Errorf("%s: %.3f, want %.3f ± %.3f", c.name, got, c.table, 3*se)
		}
		t.Logf("%-28s %.3f  table %.3f", c.name, got, c.table)
	}
}
