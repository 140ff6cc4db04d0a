package analyze

import (
	"cmp"
	"math"
	"slices"
)

// BonettPrice returns the difference of the pass rates of n cases with one repetition a side: b
// cases passed on the baseline only, c on the candidate only. Value is (c-b)/n, the candidate minus
// the baseline. The interval is that of Bonett and Price (2012): with p = (c+1)/(n+2) and q =
// (b+1)/(n+2),
//
//	p-q plus or minus z sqrt((p+q-(p-q)^2)/(n+2)), within -1 and 1
//
// so Value is not its middle. OK is false without cases.
func BonettPrice(b, c, n int, conf float64) Estimate {
	e := unknown("Bonett-Price")
	if b < 0 || c < 0 || b+c > n || n == 0 || !isConfidence(conf) {
		return e
	}
	p, q, trials := float64(c+1)/float64(n+2), float64(b+1)/float64(n+2), float64(n+2)
	e.Value = float64(c-b) / float64(n)
	e.SE = math.Sqrt((p + q - (p-q)*(p-q)) / trials)
	half := normalQuantile(conf) * e.SE
	e.Lo, e.Hi, e.OK = max(-1, p-q-half), min(1, p-q+half), true
	return e
}

// PairCounts is the repetitions of one case on both sides.
type PairCounts struct{ BaseMeasured, BasePassed, CandMeasured, CandPassed int }

// measured reports whether each side has a measured repetition.
func (p PairCounts) measured() bool { return p.BaseMeasured > 0 && p.CandMeasured > 0 }

// difference returns the pass rate of the candidate minus that of the baseline.
func (p PairCounts) difference() float64 {
	numerator := p.CandPassed*p.BaseMeasured - p.BasePassed*p.CandMeasured
	return float64(numerator) / float64(p.BaseMeasured*p.CandMeasured)
}

func (p PairCounts) valid() bool {
	return 0 <= p.BasePassed && p.BasePassed <= p.BaseMeasured && 0 <= p.CandPassed && p.CandPassed <= p.CandMeasured
}

// swapped exchanges the sides.
func (p PairCounts) swapped() PairCounts {
	return PairCounts{p.CandMeasured, p.CandPassed, p.BaseMeasured, p.BasePassed}
}

// measured returns the measured pairs. ok is false if counts make no sense.
func measured(pairs []PairCounts) (kept []PairCounts, ok bool) {
	for _, p := range pairs {
		if !p.valid() {
			return nil, false
		}
		if p.measured() {
			kept = append(kept, p)
		}
	}
	return kept, true
}

// StratifiedTest is the result of [Stratified].
type StratifiedTest struct {
	// Observed counts the passes of the candidate. Expected is their mean if no case changed.
	Observed int
	Expected float64
	// Worse is the p-value against a candidate that is not worse, Better against one that is not
	// better.
	Worse, Better float64
	// Exact is false if the p-values come from the normal approximation.
	Exact bool
}

// TwoSided returns the two-sided p-value, twice the smaller one-sided p-value.
func (t StratifiedTest) TwoSided() float64 { return min(1, 2*min(t.Worse, t.Better)) }

// stratifiedWork is the largest number of additions that [Stratified] spends on an exact result.
const stratifiedWork = 1e8

// Stratified tests whether the candidate passes less or more often than the baseline on the same
// cases, with any number of repetitions on each side. Under the null hypothesis no case changed its
// pass rate. Then, given its margins, the passes of the candidate in a case are hypergeometric, and
// independent over cases (Cochran 1954, Mantel and Haenszel 1959). The p-values P(sum <= observed)
// and P(sum >= observed) come from the convolution of these distributions. With one repetition a
// side the test is that of McNemar.
//
// If the convolution takes more than 1e8 additions, the sum is taken as normal with continuity
// correction 1/2. Pairs without a measured repetition on a side are left out. Without pairs, both
// p-values are 1.
func Stratified(pairs []PairCounts) StratifiedTest {
	kept, ok := measured(pairs)
	if !ok {
		nan := math.NaN()
		return StratifiedTest{Expected: nan, Worse: nan, Better: nan}
	}
	var test StratifiedTest
	expected, shifts := make([]float64, len(kept)), make([]float64, len(kept))
	for i, p := range kept {
		all := p.BaseMeasured + p.CandMeasured
		test.Observed += p.CandPassed
		expected[i] = float64(p.CandMeasured) * float64(p.BasePassed+p.CandPassed) / float64(all)
		// Observed minus expected of the case, exactly negated when the sides are swapped.
		shifts[i] = float64(p.CandPassed*p.BaseMeasured-p.BasePassed*p.CandMeasured) / float64(all)
	}
	test.Expected = total(expected)
	other := make([]PairCounts, len(kept))
	for i, p := range kept {
		other[i] = p.swapped()
	}
	// Both sides give the same result up to rounding. The side with fewer passes than expected is
	// computed, so that swapping the sides mirrors the result to the last digit.
	switch shift := total(shifts); {
	case shift < 0:
		test.Worse, test.Better, test.Exact = stratified(kept)
	case shift > 0:
		test.Better, test.Worse, test.Exact = stratified(other)
	default:
		worse, better, exact := stratified(kept)
		otherWorse, otherBetter, _ := stratified(other)
		test.Worse, test.Better, test.Exact = (worse+otherBetter)/2, (better+otherWorse)/2, exact
	}
	return test
}

// stratified returns the probabilities of at most and at least the observed passes of the
// candidate. It sorts pairs.
func stratified(pairs []PairCounts) (atMost, atLeast float64, exact bool) {
	pairs = slices.DeleteFunc(pairs, func(p PairCounts) bool { // these cannot matter
		passed := p.BasePassed + p.CandPassed
		return passed == 0 || passed == p.BaseMeasured+p.CandMeasured
	})
	slices.SortFunc(pairs, func(a, b PairCounts) int {
		return cmp.Or(
			cmp.Compare(a.BaseMeasured, b.BaseMeasured), cmp.Compare(a.CandMeasured, b.CandMeasured),
			cmp.Compare(a.BasePassed, b.BasePassed), cmp.Compare(a.CandPassed, b.CandPassed),
		)
	})
	single, candOnly := true, 0
	for _, p := range pairs {
		single = single && p.BaseMeasured == 1 && p.CandMeasured == 1
		candOnly += p.CandPassed
	}
	if single { // the passes of the candidate are binomial at any size
		n := len(pairs)
		return binomialAtLeast(n-candOnly, n, 0.5), binomialAtLeast(candOnly, n, 0.5), true
	}
	if !convolvable(pairs) {
		return stratifiedNormal(pairs)
	}
	sum, offset := []float64{1}, 0 // the distribution of the sum minus offset
	observed := 0
	for _, p := range pairs {
		all, marked := p.BaseMeasured+p.CandMeasured, p.BasePassed+p.CandPassed
		from, to := max(0, marked-p.BaseMeasured), min(p.CandMeasured, marked)
		next := make([]float64, len(sum)+to-from)
		for x := from; x <= to; x++ {
			h := hypergeometric(x, marked, p.CandMeasured, all)
			for i, s := range sum {
				next[i+x-from] += s * h
			}
		}
		sum, offset, observed = next, offset+from, observed+p.CandPassed
	}
	at := observed - offset
	return min(1, total(sum[:at+1])), min(1, total(sum[at:])), true
}

// convolvable reports whether the exact distribution of pairs takes at most stratifiedWork
// additions.
func convolvable(pairs []PairCounts) bool {
	work, size := 0.0, 1.0
	for _, p := range pairs {
		terms := float64(min(p.BaseMeasured, p.CandMeasured) + 1)
		work += terms * size
		size += terms - 1
	}
	return work <= stratifiedWork
}

// stratifiedNormal is [stratified] by the normal approximation.
func stratifiedNormal(pairs []PairCounts) (atMost, atLeast float64, exact bool) {
	shifts, variances := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		n, m := float64(p.BaseMeasured), float64(p.CandMeasured)
		all, marked := n+m, float64(p.BasePassed+p.CandPassed)
		shifts[i] = float64(p.CandPassed) - m*marked/all
		variances[i] = m * marked * (all - marked) * n / (all * all * (all - 1))
	}
	d, sd := total(shifts), math.Sqrt(total(variances))
	return normalBelow((d + 0.5) / sd), normalBelow((0.5 - d) / sd), false
}

// RateDifference returns the mean over cases of the pass rate of the candidate minus that of the
// baseline, with the interval that belongs to [Stratified]. Pairs without a measured repetition on
// a side are left out. The interval depends on the repetitions:
//   - one on each side of each case: [BonettPrice]
//   - at least two on each side of each case: the stratified difference
//   - otherwise: [CaseT] of the differences of the cases
//
// The stratified difference takes the cases as fixed. With rates p of n baseline repetitions and q
// of m candidate repetitions in each of M cases,
//
//	v  = p(1-p)/(n-1)/M^2, w = q(1-q)/(m-1)/M^2, V = sum of v + w
//	df = V^2 / sum of (v^2/(n-1) + w^2/(m-1)), at least 1 (Satterthwaite 1946)
//	half-width = sqrt(t^2 V + 2 z^2/(N+2)^2), N = sum of min(n, m)
//
// The second term is what Bonett-Price leaves when nothing differs. It keeps cases that always or
// never pass from giving an interval without width.
func RateDifference(pairs []PairCounts) Interval {
	none := func(float64) Estimate { return unknown("stratified difference") }
	kept, ok := measured(pairs)
	if !ok || len(kept) == 0 {
		return none
	}
	single, repeated := true, true
	baseOnly, candOnly := 0, 0
	diffs := make([]float64, len(kept))
	for i, p := range kept {
		single = single && p.BaseMeasured == 1 && p.CandMeasured == 1
		repeated = repeated && p.BaseMeasured > 1 && p.CandMeasured > 1
		baseOnly += p.BasePassed * (p.CandMeasured - p.CandPassed)
		candOnly += p.CandPassed * (p.BaseMeasured - p.BasePassed)
		diffs[i] = p.difference()
	}
	switch {
	case single:
		return func(conf float64) Estimate { return BonettPrice(baseOnly, candOnly, len(kept), conf) }
	case !repeated:
		return CaseT(diffs, nil)
	}
	sides := make([]side, 0, 2*len(kept))
	common := 0
	for _, p := range kept {
		for _, c := range []Count{{p.BasePassed, p.BaseMeasured}, {p.CandPassed, p.CandMeasured}} {
			rate := c.Rate()
			sides = append(sides, side{rate * (1 - rate) / float64(c.Measured-1), float64(c.Measured - 1)})
		}
		common += min(p.BaseMeasured, p.CandMeasured)
	}
	mean := average(diffs)
	variance, df := satterthwaite(sides, len(kept))
	return func(conf float64) Estimate {
		if !isConfidence(conf) {
			return none(conf)
		}
		z := normalQuantile(conf)
		half := 2 * z * z / (float64(common+2) * float64(common+2))
		if variance > 0 {
			t := TQuantile(conf, df)
			half += t * t * variance
		}
		half = math.Sqrt(half)
		e := Estimate{Value: mean, SE: half / z, Method: "stratified difference", OK: true}
		e.Lo, e.Hi = max(-1, mean-half), min(1, mean+half)
		return e
	}
}

// side is the variance of the mean of one side of a case, with its degrees of freedom.
type side struct{ variance, df float64 }

// satterthwaite returns the variance of a mean difference over cases and its approximate degrees of
// freedom, at least 1.
func satterthwaite(sides []side, cases int) (variance, df float64) {
	m := float64(cases)
	v, weighted := make([]float64, len(sides)), make([]float64, len(sides))
	for i, s := range sides {
		v[i] = s.variance / (m * m)
		weighted[i] = v[i] * v[i] / s.df
	}
	variance = total(v)
	return variance, max(1, variance*variance/total(weighted))
}

// CaseT returns the mean of one value a case, such as a difference candidate minus baseline, with
// the interval mean plus or minus t SE, where SE is CR1 of [clusteredError] and t has G-1 degrees
// of freedom for G clusters. It speaks about other cases like these. OK is false for fewer than two
// clusters, and for values that do not vary.
func CaseT(values []float64, clusters []int) Interval {
	e := unknown("t over cases")
	errors := clusteredError(values, clusters)
	e.Value, e.SE = errors.Mean, errors.CR1
	return e.within(float64(clusterCount(len(values), clusters) - 1))
}

// Interval is an estimate at a confidence level. What does not depend on the level was computed
// before.
type Interval func(conf float64) Estimate

// within returns e with the interval of t with df degrees of freedom, as long as its values vary.
func (e Estimate) within(df float64) Interval {
	return func(conf float64) Estimate {
		if !isConfidence(conf) || math.IsNaN(e.SE) || e.SE <= tieTolerance*math.Abs(e.Value) {
			return e
		}
		e := e
		half := TQuantile(conf, df) * e.SE
		e.Lo, e.Hi, e.OK = e.Value-half, e.Value+half, true
		return e
	}
}
