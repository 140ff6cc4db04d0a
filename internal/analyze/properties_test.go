package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// pairCounts draws up to 30 cases with 0 to most repetitions on a side.
func pairCounts(t *rapid.T, least, most int) []PairCounts {
	pairs := make([]PairCounts, rapid.IntRange(0, 30).Draw(t, "cases"))
	for i := range pairs {
		p := &pairs[i]
		p.BaseMeasured = rapid.IntRange(least, most).Draw(t, "base")
		p.CandMeasured = rapid.IntRange(least, most).Draw(t, "cand")
		p.BasePassed = rapid.IntRange(0, p.BaseMeasured).Draw(t, "basePassed")
		p.CandPassed = rapid.IntRange(0, p.CandMeasured).Draw(t, "candPassed")
	}
	return pairs
}

// scores draws up to 30 cases with up to 4 values on a side. A small range gives many ties.
func scores(t *rapid.T) (base, cand [][]float64) {
	most := rapid.SampledFrom([]int{1, 3, 30}).Draw(t, "range")
	value := rapid.Map(rapid.IntRange(-most, most), func(v int) float64 { return float64(v) / 7 })
	values := rapid.SliceOfN(value, 0, 4)
	for range rapid.IntRange(0, 30).Draw(t, "cases") {
		base, cand = append(base, values.Draw(t, "base")), append(cand, values.Draw(t, "cand"))
	}
	return base, cand
}

func swapCounts(pairs []PairCounts) []PairCounts {
	out := make([]PairCounts, len(pairs))
	for i, p := range pairs {
		out[i] = PairCounts{
			BaseMeasured: p.CandMeasured, BasePassed: p.CandPassed,
			CandMeasured: p.BaseMeasured, CandPassed: p.BasePassed,
		}
	}
	return out
}

func shuffled[T any](t *rapid.T, values []T) []T {
	out := slices.Clone(values)
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func mirroredEstimate(e Estimate) Estimate {
	e.Value, e.Lo, e.Hi = 0-e.Value, 0-e.Hi, 0-e.Lo
	return e
}

func mirroredPermutation(p Permutation) Permutation {
	p.Mean, p.Greater, p.Less = 0-p.Mean, p.Less, p.Greater
	return p
}

// same compares to the last digit; NaN is equal to NaN, and -0 to 0.
func same(t *rapid.T, what string, want, got any) {
	t.Helper()
	equal := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// TestComparisonsMirror swaps the sides and shuffles the cases. Both must leave the last digit of
// each result as it is.
func TestComparisonsMirror(t *testing.T) {
	t.Parallel()
	seed := NewSeed("test")
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.IntRange(0, 2).Draw(t, "least")
		pairs := pairCounts(t, least, max(1, least)+rapid.IntRange(0, 12).Draw(t, "more"))
		swapped := swapCounts(pairs)
		test, other := Stratified(pairs), Stratified(swapped)
		if test.Worse != other.Better || test.Better != other.Worse || test.TwoSided() != other.TwoSided() {
			t.Fatalf("stratified: %+v is not the mirror of %+v", other, test)
		}
		same(t, "stratified in another order", test, Stratified(shuffled(t, pairs)))
		e := RateDifference(pairs)(0.95)
		same(t, "rate difference of swapped sides", mirroredEstimate(e), RateDifference(swapped)(0.95))
		same(t, "rate difference in another order", e, RateDifference(shuffled(t, pairs))(0.95))
	})
	rapid.Check(t, func(t *rapid.T) {
		base, cand := scores(t)
		p, e := StratifiedPermutation(base, cand, seed), GradedDifference(base, cand)(0.95)
		same(t, "permutation of swapped sides", mirroredPermutation(p), StratifiedPermutation(cand, base, seed))
		same(t, "difference of swapped sides", mirroredEstimate(e), GradedDifference(cand, base)(0.95))
		diffs, clusters := []float64{}, []int{}
		order := rapid.Permutation(indices(len(base))).Draw(t, "order")
		var otherBase, otherCand [][]float64
		for _, i := range order {
			otherBase, otherCand = append(otherBase, shuffled(t, base[i])), append(otherCand, shuffled(t, cand[i]))
			if len(base[i]) > 0 && len(cand[i]) > 0 {
				diffs, clusters = append(diffs, base[i][0]-cand[i][0]), append(clusters, i%8)
			}
		}
		same(t, "permutation in another order", p, StratifiedPermutation(otherBase, otherCand, seed))
		same(t, "difference in another order", e, GradedDifference(otherBase, otherCand)(0.95))

		negated := slices.Clone(diffs)
		for i := range negated {
			negated[i] = -negated[i]
		}
		flips := mirroredPermutation(signFlip(diffs, seed))
		same(t, "sign flips of swapped sides", flips, signFlip(negated, seed))
		a, _ := ClusterPermutation(diffs, clusters, seed)
		b, _ := ClusterPermutation(negated, clusters, seed)
		same(t, "clusters of swapped sides", mirroredPermutation(a), b)
		same(t, "t of swapped sides",
			mirroredEstimate(CaseT(diffs, clusters)(0.9)), CaseT(negated, clusters)(0.9))
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestIdentities holds relations between tests: with one repetition a side the stratified test,
// that of McNemar and the sign flip are one test, and a case on which both sides agree changes no
// p-value.
func TestIdentities(t *testing.T) {
	t.Parallel()
	seed := NewSeed("test")
	near := func(t *rapid.T, what string, a, b float64) {
		t.Helper()
		if math.Abs(a-b) > 1e-12*max(a, b) {
			t.Fatalf("%s: %v and %v", what, a, b)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pairs := pairCounts(t, 1, 1)
		var diffs []float64
		var base, cand [][]float64
		b, c := 0, 0
		for _, p := range pairs {
			d := p.BasePassed - p.CandPassed
			diffs = append(diffs, float64(d))
			base, cand = append(base, []float64{float64(p.BasePassed)}), append(cand, []float64{float64(p.CandPassed)})
			b, c = b+max(0, d), c+max(0, -d)
		}
		worse, twoSided, _ := mcNemar(b, c)
		test := Stratified(pairs)
		near(t, "stratified", worse, test.Worse)
		near(t, "stratified, two-sided", twoSided, test.TwoSided())
		if len(pairs) > 0 {
			flips := signFlip(diffs, seed)
			near(t, "sign flip", worse, flips.Greater)
			near(t, "sign flip, two-sided", twoSided, flips.TwoSided)
			same(t, "stratified permutation", flips, StratifiedPermutation(base, cand, seed))
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		pairs := pairCounts(t, 1, 6)
		more := slices.Clone(pairs)
		for _, passed := range []int{0, 1} {
			n, m := rapid.IntRange(1, 9).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "m")
			more = append(more, PairCounts{
				BaseMeasured: n, BasePassed: passed * n, CandMeasured: m, CandPassed: passed * m,
			})
		}
		a, b := Stratified(pairs), Stratified(more)
		if a.Worse != b.Worse || a.Better != b.Better {
			t.Fatalf("cases that agree change %+v to %+v", a, b)
		}
		base, cand := scores(t)
		p := StratifiedPermutation(append(base, []float64{2, 2}), append(cand, []float64{2}), seed)
		q := StratifiedPermutation(
			append(base, []float64{2, 2}, []float64{0}), append(cand, []float64{2}, []float64{0, 0}), seed,
		)
		p.Mean, q.Mean = 0, 0
		same(t, "permutation with a case that agrees", p, q)
	})
}

// TestTails compares small probabilities with exact ones, relative to their size.
func TestTails(t *testing.T) {
	t.Parallel()
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("%s: got %.17g, want %.17g", what, got, want)
		}
	}
	worse, twoSided, midP := mcNemar(1000, 0)
	near("McNemar", worse, math.Ldexp(1, -1000))
	near("McNemar, two-sided", twoSided, math.Ldexp(1, -999))
	near("McNemar, mid-p", midP, math.Ldexp(1, -1000))
	_, greater, both := Fisher(30, 0, 0, 30)
	near("Fisher", greater, 1.0/118264581564861424)
	near("Fisher, two-sided", both, 2.0/118264581564861424)
	lost := PairCounts{BaseMeasured: 30, BasePassed: 30, CandMeasured: 30}
	near("stratified", Stratified([]PairCounts{lost, lost}).Worse, math.Pow(118264581564861424, -2))
	near("e-value", logMcNemarE(5000, 0), 5001*math.Ln2-math.Log(5001))
	near("e-value of a win", -logMcNemarE(0, 5000), math.Log(5001))
	// gonum's quantile of this beta distribution is 0.937 instead of 0.999.
	_, lo, _ := betaInterval(16093, 16093, 0.999999, 0.5, 0.5)
	if _, below, _ := flakyPosterior(16093, 16093, lo, 1); math.Abs(below-5e-7) > 1e-15 {
		t.Errorf("a posterior has %v below its quantile %v of 5e-7", below, lo)
	}
	// Many equal differences keep their ties: only one arrangement is as extreme as all of them.
	thirds := slices.Repeat([]float64{1.0 / 3}, 100_000)
	if p := signFlip(thirds[:1000], NewSeed("")); p.Greater != math.Ldexp(1, -1000) {
		t.Errorf("1,000 losses of 1/3: %v", p.Greater)
	}
	half := slices.Clone(thirds)
	for i := range half[:50_100] {
		half[i] = -half[i]
	}
	worse, _, _ = mcNemar(49_900, 50_100)
	near("sign flips of many thirds", signFlip(half, NewSeed("")).Greater, worse)
	flips := slices.Repeat([]float64{1}, 400)
	near("sign flip", signFlip(flips, NewSeed("")).Greater, math.Ldexp(1, -400))
}

// TestExamples holds the examples of the method that have no vectors.
func TestExamples(t *testing.T) {
	t.Parallel()
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(i + 1)
	}
	for _, c := range []struct {
		n        int
		q        float64
		lo, high float64
	}{{10, 0.5, 2, 9}, {25, 0.5, 8, 18}, {100, 0.9, 84, 96}, {6, 0.5, 1, 6}} {
		lo, hi := quantileInterval(values[:c.n], c.q)
		near("lower bound of a quantile", lo, c.lo, 0)
		near("upper bound of a quantile", hi, c.high, 0)
	}
	for n, open := range map[int]bool{5: true, 6: false} {
		if _, hi := quantileInterval(values[:n], 0.5); math.IsNaN(hi) != open {
			t.Errorf("median of %d values: upper bound %v", n, hi)
		}
	}
	for n, open := range map[int]bool{35: true, 36: false} {
		if _, hi := quantileInterval(values[:n], 0.9); math.IsNaN(hi) != open {
			t.Errorf("p90 of %d values: upper bound %v", n, hi)
		}
	}
	kappa := Kappa([][]int{{20, 5}, {10, 15}})
	near("kappa", kappa.Value, 0.4, 1e-12)
	near("standard error of kappa", kappa.SE, 0.1270, 5e-5)
	if perfect := Kappa([][]int{{5, 0}, {0, 5}}); perfect.Value != 1 || perfect.OK {
		t.Errorf("kappa of full agreement: %+v, want 1 without an interval", perfect)
	}
	no := math.NaN()
	raters := [][]float64{
		{1, 2, 3, 3, 2, 1, 4, 1, 2, no, no, no},
		{1, 2, 3, 3, 2, 2, 4, 1, 2, 5, no, 3},
		{no, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, no},
		{1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, no},
	}
	units := make([][]float64, 12)
	for _, ratings := range raters {
		for i, r := range ratings {
			units[i] = append(units[i], r)
		}
	}
	nominal := AlphaInterval(units, false, 0.95, NewSeed(""))
	near("alpha of categories", nominal.Value, 0.7434, 5e-5)
	near("alpha of values", AlphaInterval(units, true, 0.95, NewSeed("")).Value, 0.8491, 5e-5)
	if nominal.OK {
		t.Errorf("interval of 12 items: %+v", nominal)
	}
	many := slices.Repeat(units, 5)
	e := AlphaInterval(many, false, 0.95, NewSeed(""))
	slices.Reverse(many)
	if other := AlphaInterval(many, false, 0.95, NewSeed("")); !e.OK || e != other {
		t.Errorf("intervals %+v and %+v of the same items in another order", e, other)
	}
	if !(e.Lo > 0.6 && e.Lo < e.Value && e.Value < e.Hi && e.Hi < 0.9) {
		t.Errorf("interval of 60 items: %+v", e)
	}
	_, _, above := flakyPosterior(16, 16, 0.05, 0.95)
	near("16 passes in a row", above, 0.803, 5e-4)
	_, bound := ClopperPearson(0, 24, 0.90)
	near("0 of 24", bound, 0.12, 0.005)
	flips, _ := FlipRate(Count{Passed: 2, Measured: 4})
	near("flip rate", flips, 2.0/3, 1e-12)
	if !Equivalent(-0.04, 0.03, 0.05) || Equivalent(-0.05, 0.03, 0.05) ||
		Equivalent(no, no, 0.05) {
		t.Error("an interval is equivalent if it lies strictly within the margin")
	}
}

// TestClusteredWilson holds the edges of the interval of a pass rate with repetitions.
func TestClusteredWilson(t *testing.T) {
	t.Parallel()
	one := ClusteredWilson([]float64{0.8}, 5, nil, 0.95)
	lo, hi := Wilson(4, 5, 0.95)
	if math.Abs(one.Lo-lo) > 1e-15 || math.Abs(one.Hi-hi) > 1e-15 || one.Method != "Wilson" {
		t.Errorf("one case: %+v, want Wilson's %v to %v", one, lo, hi)
	}
	lo, hi = Wilson(7, 7, 0.95)
	if all := ClusteredWilson(slices.Repeat([]float64{1}, 7), 70, nil, 0.95); all.Lo != lo || all.Hi != hi {
		t.Errorf("all pass: %+v, want %v to %v: as many trials as cases", all, lo, hi)
	}
	third := ClusteredWilson(slices.Repeat([]float64{1.0 / 3}, 9), 27, nil, 0.95)
	lo, hi = Wilson(3, 9, 0.95)
	if math.Abs(third.Lo-lo) > 1e-12 || math.Abs(third.Hi-hi) > 1e-12 {
		t.Errorf("equal rates: %+v, want %v to %v", third, lo, hi)
	}
	if e := ClusteredWilson([]float64{1, 0}, 2, []int{1, 1}, 0.95); e.OK {
		t.Errorf("two cases in one cluster: %+v", e)
	}
	if e := ClusteredWilson([]float64{1, 0}, 200, []int{1, 2}, 0.95); !e.OK || e.Lo < 0 || e.Hi > 1 {
		t.Errorf("two cases: %+v", e)
	}
}

// TestNothing calls each function with empty input: no figure may look measured, and none may
// panic.
func TestNothing(t *testing.T) {
	t.Parallel()
	seed := NewSeed("")
	for name, e := range map[string]Estimate{
		"ClusteredWilson": ClusteredWilson(nil, 0, nil, 0.95),
		"BonettPrice":     BonettPrice(0, 0, 0, 0.95),
		"RateDifference":  RateDifference(nil)(0.95), "CaseT": CaseT(nil, nil)(0.95),
		"GradedDifference": GradedDifference(nil, nil)(0.95), "Kappa": Kappa(nil),
		"AlphaInterval": AlphaInterval(nil, true, 0.95, seed), "PPIMean": PPIMean(nil, nil, nil, 0.95),
		"CorrectedRate": CorrectedRate(0.5, 0, 0.9, 0, 0.9, 0, 0.95),
	} {
		if e.OK || !math.IsNaN(e.Value) || !math.IsNaN(e.Lo) || !math.IsNaN(e.Hi) {
			t.Errorf("%s of nothing: %+v", name, e)
		}
	}
	unmeasured := []PairCounts{{BaseMeasured: 3, BasePassed: 3}, {CandMeasured: 2}}
	for _, pairs := range [][]PairCounts{nil, unmeasured} {
		test := Stratified(pairs)
		if test.Worse != 1 || test.Better != 1 || RateDifference(pairs)(0.95).OK {
			t.Errorf("no measured pair: %+v", test)
		}
	}
	if p := signFlip(nil, seed); !math.IsNaN(p.Greater) {
		t.Errorf("sign flips of nothing: %+v", p)
	}
	if p := StratifiedPermutation([][]float64{{1}}, [][]float64{{}}, seed); !math.IsNaN(p.Greater) {
		t.Errorf("permutation of nothing: %+v", p)
	}
	if p, ok := ClusterPermutation(nil, nil, seed); ok || !math.IsNaN(p.Greater) {
		t.Errorf("clusters of nothing: %+v", p)
	}
	five := []int{1, 2, 3, 4, 5, 5}
	if p, ok := ClusterPermutation([]float64{1, 1, 1, 1, 1, 1}, five, seed); ok || p.Greater != 1.0/32 {
		t.Errorf("five clusters: %+v, %v", p, ok)
	}
	notComputed := map[string]bool{}
	_, notComputed["PassAtK"] = passAtK(0, 0, 1)
	_, notComputed["PassHatK"] = passHatK(2, 1, 3)
	_, notComputed["FlipRate"] = FlipRate(Count{Passed: 1, Measured: 1})
	_, _, _, notComputed["ICC"] = ICC(nil)
	for name, ok := range notComputed {
		if ok {
			t.Errorf("%s of nothing has a result", name)
		}
	}
	if e := clusteredError(nil, nil); !math.IsNaN(e.Mean) || !math.IsNaN(e.CR1) {
		t.Errorf("standard errors of nothing: %+v", e)
	}
	for _, q := range [][]float64{Holm(nil), BH(nil)} {
		if len(q) != 0 {
			t.Errorf("adjusted p-values of nothing: %v", q)
		}
	}
	if e := betAbove(0.5, 0).logE(); e != 0 {
		t.Errorf("a bet without draws is worth exp(%v)", e)
	}
}

// TestAllPass compares two sides on which everything passes: no difference, p = 1, and an interval
// with a width, or none.
func TestAllPass(t *testing.T) {
	t.Parallel()
	for _, repeats := range [][2]int{{1, 1}, {3, 3}, {20, 3}, {5, 1}} {
		pairs := slices.Repeat([]PairCounts{{repeats[0], repeats[0], repeats[1], repeats[1]}}, 20)
		if test := Stratified(pairs); test.TwoSided() != 1 {
			t.Errorf("%v: %+v", repeats, test)
		}
		e := RateDifference(pairs)(0.95)
		if e.Value != 0 || e.OK && !(e.Lo < 0 && e.Hi > 0 && math.Abs(e.Lo+e.Hi) < 1e-15) {
			t.Errorf("%v: %+v", repeats, e)
		}
	}
	ones := slices.Repeat([][]float64{{1, 1}}, 20)
	if p := StratifiedPermutation(ones, ones, NewSeed("")); p.TwoSided != 1 || !p.Exact {
		t.Errorf("equal scores: %+v", p)
	}
	if e := GradedDifference(ones, ones)(0.95); e.OK || e.Value != 0 {
		t.Errorf("equal scores: %+v, want no interval without width", e)
	}
}

// TestSenseless gives values that make no sense to functions of numbers. They must return NaN.
func TestSenseless(t *testing.T) {
	t.Parallel()
	isNaN := func(what string, values ...float64) {
		t.Helper()
		for _, v := range values {
			if !math.IsNaN(v) {
				t.Errorf("%s: got %v, want NaN", what, values)
			}
		}
	}
	no := math.NaN()
	lo, hi := ClopperPearson(3, 2, 0.95)
	isNaN("ClopperPearson", lo, hi)
	mean, lo, hi := betaInterval(1, 2, 1, 0.5, 0.5)
	isNaN("BetaInterval", mean, lo, hi)
	v, _ := passAtK(5, 6, 1)
	isNaN("PassAtK", v)
	flaky, below, above := flakyPosterior(-1, 2, 0.05, 0.95)
	isNaN("FlakyPosterior", flaky, below, above)
	less, greater, twoSided := Fisher(-1, 0, 0, 0)
	isNaN("Fisher", less, greater, twoSided)
	test := Stratified([]PairCounts{{1, 2, 1, 0}})
	isNaN("Stratified", test.Expected, test.Worse, test.Better, test.TwoSided())
	isNaN("Holm", Holm([]float64{0.1, 1.1})...)
	isNaN("BH", BH([]float64{no})...)
	isNaN("LogMcNemarE", logMcNemarE(-1, 3))
	isNaN("SignFlip", signFlip([]float64{1, no}, Seed{}).TwoSided)
	var design PairedDesign
	isNaN("planning", PairedSampleSize(design, 0, 0.05, 0.8))
	if e := CorrectedRate(0.5, 10, 0.5, 10, 0.5, 10, 0.95); e.OK || !math.IsNaN(e.Value) {
		t.Errorf("a judge that cannot tell pass from fail: %+v", e)
	}
}

// TestBetting checks that the wealth of a bet is a fair mean over its stakes, and grows when its
// null hypothesis is wrong.
func TestBetting(t *testing.T) {
	t.Parallel()
	above, below := betAbove(-0.05, -2), betBelow(0.05, 2)
	random := rand.New(rand.NewPCG(5, 6))
	for range 2_000 {
		z := random.Float64() - 0.5
		above.add(z)
		below.add(z)
	}
	if above.logE() < math.Log(20) || below.logE() < math.Log(20) {
		t.Errorf("a mean of 0 is within 5 points: log e %v and %v", above.logE(), below.logE())
	}
	worst := betAbove(-0.05, -2)
	for range 3_000 {
		worst.add(-2)
	}
	if e := worst.logE(); !(e < -10) || math.IsNaN(e) {
		t.Errorf("log e after 3,000 losses: %v", e)
	}
	twice := betBelow(0.5, 1)
	twice.add(0)
	want := 0.0
	for j := range 16 {
		want += (1 + 0.99/0.5*math.Exp2(-float64(j)/2)*0.5) / 16
	}
	if got := math.Exp(twice.logE()); math.Abs(got-want) > 1e-12 {
		t.Errorf("one draw: %v, want %v", got, want)
	}
}

// TestPosteriorsInvert checks that the quantiles of a posterior have the probability that they are
// asked for.
func TestPosteriorsInvert(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(0, 50), rapid.IntRange(0, 1_000_000)).Draw(t, "n")
		few, many := rapid.IntRange(0, min(n, 5)), rapid.IntRange(max(0, n-5), n)
		k := rapid.OneOf(few, many, rapid.IntRange(0, n)).Draw(t, "k")
		conf := rapid.SampledFrom([]float64{0.5, 0.9, 0.95, 0.99, 0.9999}).Draw(t, "conf")
		mean, lo, hi := betaInterval(k, n, conf, 0.5, 0.5)
		_, below, above := flakyPosterior(k, n, lo, hi)
		tail := (1 - conf) / 2
		// 1 - hi keeps only the digits that hi has, which matters where nearly all passed.
		if math.Abs(below-tail) > 1e-9*tail || k < n-5 && math.Abs(above-tail) > 1e-8*tail {
			t.Fatalf("%v below %v and %v above %v, want %v", below, lo, above, hi, tail)
		}
		if !(0 <= lo && lo <= mean && mean <= hi && hi <= 1) && k > 0 && k < n {
			t.Fatalf("mean %v is not in %v to %v", mean, lo, hi)
		}
	})
}
