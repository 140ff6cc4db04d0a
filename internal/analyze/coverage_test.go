package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// coverage returns the exact probability that an interval of a binomial count holds the rate p.
func coverage(n int, p float64, interval func(k, n int) (lo, hi float64)) float64 {
	covered := 0.0
	for k := range n + 1 {
		if lo, hi := interval(k, n); lo <= p && p <= hi {
			covered += distuv.Binomial{N: float64(n), P: p}.Prob(float64(k))
		}
	}
	return covered
}

// TestCoverageOfProportions computes the coverage of the intervals of one rate exactly, over a grid
// of rates: that of Clopper and Pearson is never below its level, and those of Wilson and Jeffreys
// are near it on average.
func TestCoverageOfProportions(t *testing.T) {
	t.Parallel()
	wilson := func(k, n int) (lo, hi float64) { return Wilson(k, n, 0.95) }
	exact := func(k, n int) (lo, hi float64) { return ClopperPearson(k, n, 0.95) }
	jeffreys := func(k, n int) (lo, hi float64) {
		_, lo, hi = betaInterval(k, n, 0.95, 0.5, 0.5)
		return lo, hi
	}
	for _, n := range []int{1, 2, 5, 20, 50, 100, 200} {
		const grid = 200
		cached := func(interval func(k, n int) (lo, hi float64)) func(k, n int) (lo, hi float64) {
			bounds := make([][2]float64, n+1)
			for k := range bounds {
				bounds[k][0], bounds[k][1] = interval(k, n)
			}
			return func(k, _ int) (lo, hi float64) { return bounds[k][0], bounds[k][1] }
		}
		score, sure, posterior := cached(wilson), cached(exact), cached(jeffreys)
		var meanWilson, meanJeffreys float64
		for i := range grid {
			p := (float64(i) + 0.5) / grid
			meanWilson += coverage(n, p, score) / grid
			meanJeffreys += coverage(n, p, posterior) / grid
			if c := coverage(n, p, sure); c < 0.95 {
				t.Errorf("Clopper-Pearson covers %v of %d trials only with %.4f", p, n, c)
			}
		}
		if n >= 20 && (meanWilson < 0.94 || meanWilson > 0.96 || meanJeffreys < 0.94 || meanJeffreys > 0.96) {
			t.Errorf("mean coverage of %d trials: Wilson %.4f, Jeffreys %.4f", n, meanWilson, meanJeffreys)
		}
	}
}

// share returns the share of replicates for which hit is true.
func share(n int, seed string, hit func(random *rand.Rand) bool) float64 {
	hits := make([]bool, n)
	inParallel(n, seed, func(i int, random *rand.Rand) { hits[i] = hit(random) })
	count := 0
	for _, h := range hits {
		if h {
			count++
		}
	}
	return float64(count) / float64(n)
}

// inRange reports whether a share of n replicates can come from a probability between lo and hi.
func inRange(got float64, n int, lo, hi float64) bool {
	se := func(p float64) float64 { return math.Sqrt(p * (1 - p) / float64(n)) }
	return got >= lo-3*se(lo) && got <= hi+3*se(hi)
}

// TestSimulatedClusteredWilson measures how often the interval of a pass rate with repetitions
// holds the rate of the population that the cases come from.
func TestSimulatedClusteredWilson(t *testing.T) {
	t.Parallel()
	n := replicates(t, 200, 4000)
	mixed := func(random *rand.Rand) float64 { return bank(1, random)[0] }
	mostly := func(random *rand.Rand) float64 {
		if random.IntN(10) == 0 {
			return 0.6
		}
		return 0.99
	}
	random := rand.New(rand.NewPCG(1, 2))
	mixedMean := 0.0
	for range 1_000_000 {
		mixedMean += mixed(random) / 1e6
	}
	for _, suite := range []struct {
		name   string
		rate   func(random *rand.Rand) float64
		mean   float64
		lo, hi float64
	}{{"mixed", mixed, mixedMean, 0.946, 0.997}, {"mostly pass", mostly, 0.951, 0.85, 0.99}} {
		for _, size := range [][2]int{
			{5, 1}, {5, 3}, {5, 10}, {10, 3}, {10, 10}, {20, 3}, {20, 10}, {50, 5}, {100, 1}, {100, 5},
		} {
			cases, repeats := size[0], size[1]
			got := share(n, fmt.Sprint("wilson", suite.name, size), func(random *rand.Rand) bool {
				rates := make([]float64, cases)
				for i := range rates {
					rates[i] = float64(passes(repeats, suite.rate(random), random)) / float64(repeats)
				}
				e := ClusteredWilson(rates, cases*repeats, nil, 0.95)
				return e.Lo <= suite.mean && suite.mean <= e.Hi
			})
			t.Logf("| %s | %d × %d | %.3f |", suite.name, cases, repeats, got)
			if !inRange(got, n, suite.lo, suite.hi) {
				t.Errorf("%s, %v: coverage %.3f, want %v to %v", suite.name, size, got, suite.lo, suite.hi)
			}
		}
	}
}

// TestSimulatedDifferences measures how often the intervals of a difference hold the true one, with
// an effect. TestSimulatedConclusions of package compare does so without.
func TestSimulatedDifferences(t *testing.T) {
	t.Parallel()
	n := replicates(t, 150, 1500)
	for _, size := range [][3]int{
		{5, 3, 3}, {10, 10, 10}, {20, 1, 1}, {20, 3, 3}, {50, 20, 3}, {100, 1, 1}, {100, 5, 5},
	} {
		got := share(n, fmt.Sprint("differences", size), func(random *rand.Rand) bool {
			rates := bank(size[0], random)
			changed := loweredRates(rates, 0.1)
			want := meanOf(changed) - meanOf(rates)
			e := RateDifference(compared(rates, changed, size[1], size[2], random))(0.95)
			return e.Lo <= want && want <= e.Hi
		})
		t.Logf("| rates, -10 | %d × %d/%d | %.3f |", size[0], size[1], size[2], got)
		if !inRange(got, n, 0.945, 0.995) {
			t.Errorf("rates of %v: coverage %.3f", size, got)
		}
	}
	for _, size := range [][3]int{{8, 1, 1}, {10, 3, 3}, {30, 5, 2}, {50, 1, 3}} {
		got := share(n, fmt.Sprint("scores", size), func(random *rand.Rand) bool {
			base, cand := make([][]float64, size[0]), make([][]float64, size[0])
			for i := range base {
				level := random.NormFloat64()
				base[i], cand[i] = normals(size[1], level, random), normals(size[2], level+0.3, random)
			}
			e := GradedDifference(base, cand)(0.95)
			return e.Lo <= 0.3 && 0.3 <= e.Hi
		})
		t.Logf("| scores | %d × %d/%d | %.3f |", size[0], size[1], size[2], got)
		if !inRange(got, n, 0.94, 0.965) {
			t.Errorf("scores of %v: coverage %.3f", size, got)
		}
	}
}

// TestSimulatedIntervals measures the coverage of the other intervals.
func TestSimulatedIntervals(t *testing.T) {
	t.Parallel()
	n := replicates(t, 300, 4000)
	quantile := func(values []float64, q, truth float64) bool {
		slices.Sort(values)
		lo, hi := quantileInterval(values, q)
		return !(lo > truth) && !(hi < truth)
	}
	for _, c := range []struct {
		name   string
		lo, hi float64
		covers func(random *rand.Rand) bool
	}{
		{"median of 25", 0.95, 1, func(random *rand.Rand) bool { return quantile(normals(25, 0, random), 0.5, 0) }},
		{"p90 of 100", 0.95, 1, func(random *rand.Rand) bool {
			return quantile(normals(100, 0, random), 0.9, 1.2815515655446004)
		}},
		{"t over 10 cases", 0.95, 0.95, func(random *rand.Rand) bool {
			e := CaseT(normals(10, 0.5, random), nil)(0.95)
			return e.Lo <= 0.5 && 0.5 <= e.Hi
		}},
		{"t over 12 clusters", 0.94, 0.96, func(random *rand.Rand) bool {
			var values []float64
			var clusters []int
			for c := range 12 {
				values = append(values, normals(4, 0.5+random.NormFloat64(), random)...)
				clusters = append(clusters, c, c, c, c)
			}
			e := CaseT(values, clusters)(0.95)
			return e.Lo <= 0.5 && 0.5 <= e.Hi
		}},
		{"Rogan-Gladen", 0.93, 0.97, func(random *rand.Rand) bool {
			q0, q1 := passes(80, 0.9, random), passes(80, 0.85, random)
			rate := 0.7*0.85 + 0.3*0.1
			e := CorrectedRate(
				float64(passes(300, rate, random))/300, 300, float64(q0)/80, 80, float64(q1)/80, 80, 0.95,
			)
			return e.Lo <= 0.7 && 0.7 <= e.Hi
		}},
		{"prediction-powered mean", 0.93, 0.965, func(random *rand.Rand) bool {
			answer := func() (label, judged float64) {
				label = float64(passes(1, 0.7, random))
				if judged = label; random.Float64() < 0.15 {
					judged = 1 - label
				}
				return label, judged
			}
			var labels, judged, others []float64
			for range 60 {
				l, j := answer()
				labels, judged = append(labels, l), append(judged, j)
			}
			for range 300 {
				_, j := answer()
				others = append(others, j)
			}
			e := PPIMean(labels, judged, others, 0.95)
			return e.Lo <= 0.7 && 0.7 <= e.Hi
		}},
		{"kappa", 0.93, 0.965, func(random *rand.Rand) bool {
			table := [][]int{{0, 0}, {0, 0}}
			for range 150 { // both raters name the true label with probability 0.9
				label := random.IntN(2)
				table[label^passes(1, 0.1, random)][label^passes(1, 0.1, random)]++
			}
			e := Kappa(table)
			return e.Lo <= 0.64 && 0.64 <= e.Hi
		}},
	} {
		got := share(n, c.name, c.covers)
		t.Logf("| %s | %.3f |", c.name, got)
		if !inRange(got, n, c.lo, c.hi) {
			t.Errorf("%s: coverage %.3f, want %v to %v", c.name, got, c.lo, c.hi)
		}
	}
}

// TestSimulatedAlpha measures the coverage of the bootstrap interval of Krippendorff's alpha.
func TestSimulatedAlpha(t *testing.T) {
	t.Parallel()
	n := replicates(t, 20, 1000)
	got := share(n, "alpha", func(random *rand.Rand) bool {
		units := make([][]float64, 80)
		for i := range units { // both raters name the true label with probability 0.9
			label := random.IntN(2)
			for range 2 {
				units[i] = append(units[i], float64(label^passes(1, 0.1, random)))
			}
		}
		e := AlphaInterval(units, false, 0.95, NewSeed(fmt.Sprint(random.Uint64())))
		return e.Lo <= 0.64 && 0.64 <= e.Hi
	})
	t.Logf("| alpha | %.3f |", got)
	if !inRange(got, n, 0.92, 0.965) {
		t.Errorf("coverage %.3f", got)
	}
}

// TestSimulatedLevels measures p-values when nothing changed. Those of counts are discrete: they
// must not be small more often than they say. Those of continuous values must be uniform.
func TestSimulatedLevels(t *testing.T) {
	t.Parallel()
	n := replicates(t, 300, 2000)
	counted := func(base, cand int) func(random *rand.Rand) float64 {
		return func(random *rand.Rand) float64 {
			rates := bank(30, random)
			return Stratified(compared(rates, rates, base, cand, random)).Worse
		}
	}
	for name, p := range map[string]func(random *rand.Rand) float64{
		"McNemar": counted(1, 1), "stratified": counted(3, 3), "stratified with a history": counted(20, 3),
		"Fisher": func(random *rand.Rand) float64 {
			a, b := passes(20, 0.7, random), passes(15, 0.7, random)
			less, _, _ := Fisher(a, 20-a, b, 15-b)
			return less
		},
	} {
		values := draw(n, name, p)
		for _, x := range []float64{0.01, 0.05, 0.1, 0.5} {
			count := 0
			for _, v := range values {
				if v <= x {
					count++
				}
			}
			if got := float64(count) / float64(n); got > x+3*math.Sqrt(x*(1-x)/float64(n)) {
				t.Errorf("%s: p <= %v in %.4f of the comparisons", name, x, got)
			}
		}
	}
	grades := func(cases, n, m int) func(random *rand.Rand) float64 {
		return func(random *rand.Rand) float64 {
			base, cand := make([][]float64, cases), make([][]float64, cases)
			for i := range base {
				level, noise := random.NormFloat64(), math.Exp(random.NormFloat64())
				base[i], cand[i] = normals(n, 0, random), normals(m, 0, random)
				for _, values := range [][]float64{base[i], cand[i]} {
					for j := range values {
						values[j] = level + noise*values[j]
					}
				}
			}
			return StratifiedPermutation(base, cand, NewSeed(fmt.Sprint(random.Uint64()))).Greater
		}
	}
	for name, p := range map[string]func(random *rand.Rand) float64{
		"14 sign flips": grades(14, 1, 1), "40 sign flips": grades(40, 1, 1), "12 cases × 3/3": grades(12, 3, 3),
		"4 cases × 4/2": grades(4, 4, 2),
		"clusters": func(random *rand.Rand) float64 {
			var diffs []float64
			var clusters []int
			for c := range 14 {
				for _, v := range normals(3, random.NormFloat64(), random) {
					diffs, clusters = append(diffs, v), append(clusters, c)
				}
			}
			p, _ := ClusterPermutation(diffs, clusters, NewSeed(""))
			return p.Greater
		},
	} {
		values := draw(n, name, p)
		slices.Sort(values)
		if p := uniformity(values); p <= 0.001 {
			t.Errorf("%s: p-values are not uniform, Kolmogorov-Smirnov p = %v", name, p)
		}
	}
}

func draw(n int, seed string, value func(random *rand.Rand) float64) []float64 {
	values := make([]float64, n)
	inParallel(n, seed, func(i int, random *rand.Rand) { values[i] = value(random) })
	return values
}

// uniformity returns the p-value of the test of Kolmogorov and Smirnov that sorted values are
// uniform.
func uniformity(sorted []float64) float64 {
	const points = 100_000
	uniform := make([]float64, points)
	for i := range uniform {
		uniform[i] = (float64(i) + 0.5) / points
	}
	d := stat.KolmogorovSmirnov(sorted, nil, uniform, nil)
	root := math.Sqrt(float64(len(sorted)))
	lambda := (root + 0.12 + 0.11/root) * d
	p := 0.0
	for j := 1.0; j <= 100; j++ {
		p += 2 * math.Pow(-1, j-1) * math.Exp(-2*j*j*lambda*lambda)
	}
	if lambda < 0.2 {
		return 1
	}
	return p
}

// TestSimulatedStopping looks at an e-value after each draw of streams in which nothing happens. It
// must reach 20 in at most 5 % of them.
func TestSimulatedStopping(t *testing.T) {
	t.Parallel()
	n := replicates(t, 500, 10_000)
	for name, reaches := range map[string]func(random *rand.Rand) bool{
		"McNemar": func(random *rand.Rand) bool {
			b, c, ever := 0, 0, false
			for range 300 {
				if random.IntN(2) == 0 {
					b++
				} else {
					c++
				}
				ever = ever || logMcNemarE(b, c) >= math.Log(20)
			}
			return ever
		},
		"bet above": func(random *rand.Rand) bool {
			bet, ever := betAbove(0.3, 0), false
			for range 300 {
				bet.add(float64(passes(1, 0.3, random)))
				ever = ever || bet.logE() >= math.Log(20)
			}
			return ever
		},
		"bet below": func(random *rand.Rand) bool {
			bet, ever := betBelow(0.05, 2), false
			for range 300 {
				bet.add(0.05 + 1.95*(2*random.Float64()-1))
				ever = ever || bet.logE() >= math.Log(20)
			}
			return ever
		},
	} {
		got := share(n, name, reaches)
		t.Logf("| %s | %.4f |", name, got)
		if !inRange(got, n, 0, 0.05) {
			t.Errorf("%s: reaches 20 in %.4f of the streams", name, got)
		}
	}
}
