package analyze

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// TwoProportionTest compares two independent rates. A figure that cannot be computed is NaN.
type TwoProportionTest struct {
	// Diff is the first rate minus the second, and Lo to Hi its interval.
	Diff, Lo, Hi float64
	// Z is the pooled statistic and TwoSided its p-value.
	Z, TwoSided float64
}

// TwoProportions compares x1 of n1 with x2 of n2 successes of independent samples. The test is the
// pooled z without continuity correction, p = 2 Phi(-|z|). The interval is method 10 of Newcombe
// (1998), made of Wilson's intervals (l1, u1) and (l2, u2) of the rates p1 and p2:
//
//	Lo = p1-p2 - sqrt((p1-l1)^2 + (u2-p2)^2)
//	Hi = p1-p2 + sqrt((u1-p1)^2 + (p2-l2)^2)
//
// Do not use it for two runs of the same cases: it ignores the pairing. Z and TwoSided are NaN if
// all or none of both samples succeeded.
func TwoProportions(x1, n1, x2, n2 int, conf float64) TwoProportionTest {
	nan := math.NaN()
	if x1 < 0 || x1 > n1 || x2 < 0 || x2 > n2 || n1 == 0 || n2 == 0 || !isConfidence(conf) {
		return TwoProportionTest{nan, nan, nan, nan, nan}
	}
	p1, p2 := float64(x1)/float64(n1), float64(x2)/float64(n2)
	l1, u1 := Wilson(x1, n1, conf)
	l2, u2 := Wilson(x2, n2, conf)
	t := TwoProportionTest{Diff: p1 - p2, Z: nan, TwoSided: nan}
	t.Lo, t.Hi = t.Diff-math.Hypot(p1-l1, u2-p2), t.Diff+math.Hypot(u1-p1, p2-l2)
	if passed, n := x1+x2, n1+n2; passed > 0 && passed < n {
		pooled := float64(passed) / float64(n)
		t.Z = t.Diff / math.Sqrt(pooled*(1-pooled)*(1/float64(n1)+1/float64(n2)))
		t.TwoSided = 2 * normalBelow(-math.Abs(t.Z))
	}
	return t
}

// Fisher returns the p-values of Fisher's exact test of the table
//
//	a b
//	c d
//
// Given its margins, a has a hypergeometric distribution: less is P(X <= a), greater is P(X >= a),
// and twoSided adds the tables that are at most as probable as the observed one.
func Fisher(a, b, c, d int) (less, greater, twoSided float64) {
	if a < 0 || b < 0 || c < 0 || d < 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	row, column, all := a+b, a+c, a+b+c+d
	observed := hypergeometric(a, column, row, all)
	var below, above, unlikely []float64
	for x := max(0, row+column-all); x <= min(row, column); x++ {
		p := hypergeometric(x, column, row, all)
		if x < a {
			below = append(below, p)
		}
		if x > a {
			above = append(above, p)
		}
		if p <= observed*(1+1e-7) {
			unlikely = append(unlikely, p)
		}
	}
	return min(1, total(append(below, observed))), min(1, total(append(above, observed))), min(1, total(unlikely))
}

// RankTest is the result of [MannWhitney].
type RankTest struct {
	// U counts the pairs in which the candidate is greater; a tie counts one half.
	U float64
	// Greater is the p-value against a candidate that is not greater.
	Greater, TwoSided float64
	// HodgesLehmann is the median of all differences candidate minus baseline.
	HodgesLehmann float64
	// Exact is false if the p-values come from the normal approximation.
	Exact bool
}

// relabelings is the largest number of relabelings that [MannWhitney] enumerates.
const relabelings = 200_000

// MannWhitney compares two independent samples by ranks (Mann and Whitney 1947). Up to 200,000
// relabelings the p-values are exact: Greater = P(U >= u), TwoSided = min(1, 2 min(P(U >= u), P(U
// <= u))). Above that, U is taken as normal with mean nm/2, variance nm/12 (N+1 - sum of
// (t^3-t)/(N(N-1))) over groups of t ties, and continuity correction 1/2. ok is false if a side is
// empty.
func MannWhitney(base, cand []float64) (test RankTest, ok bool) {
	nan := math.NaN()
	if !finite(base) || !finite(cand) {
		return RankTest{U: nan, Greater: nan, TwoSided: nan, HodgesLehmann: nan}, false
	}
	if len(base) == 0 || len(cand) == 0 {
		return RankTest{}, false
	}
	ranks, ties := doubleRanks(base, cand)
	n, m := len(base), len(cand)
	rankSum := 0
	for _, r := range ranks[n:] {
		rankSum += r
	}
	u2 := rankSum - m*(m+1) // twice U
	test.U = float64(u2) / 2
	test.HodgesLehmann = medianDifference(base, cand)
	var less float64
	if count := combinations(n+m, min(n, m), relabelings); count <= relabelings {
		less, test.Greater = rankShares(ranks, n, m, u2)
		test.Exact = true
	} else {
		less, test.Greater = rankNormal(test.U, float64(n), float64(m), ties)
	}
	test.TwoSided = min(1, 2*min(less, test.Greater))
	return test, true
}

// doubleRanks returns twice the rank of each value of the pooled sample, base first, so that the
// mean rank of ties is whole. ties is the sum of t^3-t over groups of t ties.
func doubleRanks(base, cand []float64) (ranks []int, ties float64) {
	pooled := slices.Concat(base, cand)
	order := make([]int, len(pooled))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case pooled[a] < pooled[b]:
			return -1
		case pooled[a] > pooled[b]:
			return 1
		}
		return 0
	})
	ranks = make([]int, len(pooled))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && pooled[order[to]] == pooled[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + 1 + to
		}
		t := float64(to - from)
		ties += t*t*t - t
		from = to
	}
	return ranks, ties
}

// rankShares returns the shares of relabelings with twice U at most and at least u2. It enumerates
// the members of the smaller side.
func rankShares(ranks []int, n, m, u2 int) (less, greater float64) {
	small := min(n, m)
	var all, atMost, atLeast float64
	subset := make([]int, small)
	for g := combin.NewCombinationGenerator(n+m, small); g.Next(); {
		g.Combination(subset)
		sum := 0
		for _, i := range subset {
			sum += ranks[i]
		}
		u := sum - small*(small+1)
		if small != m { // the subset is the baseline
			u = 2*n*m - u
		}
		all++
		if u <= u2 {
			atMost++
		}
		if u >= u2 {
			atLeast++
		}
	}
	return atMost / all, atLeast / all
}

func rankNormal(u, n, m, ties float64) (less, greater float64) {
	all := n + m
	sd := math.Sqrt(n * m / 12 * (all + 1 - ties/(all*(all-1))))
	if !(sd > 0) { // all values are equal
		return 1, 1
	}
	d := u - n*m/2
	return normalBelow((d + 0.5) / sd), normalBelow((0.5 - d) / sd)
}

// combinations returns C(n, k), or a number above limit if it is larger than limit.
func combinations(n, k, limit int) int {
	c := 1
	for i := 1; i <= k; i++ {
		if c = c * (n - k + i) / i; c > limit {
			return limit + 1
		}
	}
	return c
}

// medianDifference returns the median of all differences cand - base. It searches the value by
// bisection, because there can be too many differences to hold.
func medianDifference(base, cand []float64) float64 {
	base, cand = slices.Sorted(slices.Values(base)), slices.Sorted(slices.Values(cand))
	count := func(x float64) int { // differences of at most x
		n, j := 0, 0
		for _, b := range base {
			for j < len(cand) && cand[j]-b <= x {
				j++
			}
			n += j
		}
		return n
	}
	at := func(k int) float64 { // the kth smallest difference
		lo := ordinal(cand[0]-base[len(base)-1]) - 1
		hi := ordinal(cand[len(cand)-1] - base[0])
		for lo+1 < hi {
			if middle := lo>>1 + hi>>1 + lo&hi&1; count(fromOrdinal(middle)) >= k { // lo + hi can overflow
				hi = middle
			} else {
				lo = middle
			}
		}
		return fromOrdinal(hi)
	}
	n := len(base) * len(cand)
	if n%2 == 1 {
		return at(n/2 + 1)
	}
	return (at(n/2) + at(n/2+1)) / 2
}

// ordinal maps floating-point numbers to integers of the same order, so that neighbors differ by 1.
func ordinal(x float64) int64 {
	bits := int64(math.Float64bits(x + 0)) // x + 0 turns -0 into 0
	if bits < 0 {
		return math.MinInt64 - bits
	}
	return bits
}

func fromOrdinal(i int64) float64 {
	if i < 0 {
		i = math.MinInt64 - i
	}
	return math.Float64frombits(uint64(i))
}

// RatioTest is the result of [RatioWelch].
type RatioTest struct {
	// Ratio is the geometric mean of the candidate divided by that of the baseline, and Lo to Hi
	// its interval.
	Ratio, Lo, Hi float64
	// T is Welch's statistic with DF degrees of freedom. Greater is the p-value against a candidate
	// that is not greater.
	T, DF, Greater float64
}

// RatioWelch compares two independent samples of positive values, such as token counts, by Welch's
// t-test (1947) of their natural logarithms. ok is false for a value that is not positive, fewer
// than two values on a side, and sides that both do not vary.
func RatioWelch(base, cand []float64, conf float64) (test RatioTest, ok bool) {
	if !isConfidence(conf) || !finite(base) || !finite(cand) {
		nan := math.NaN()
		return RatioTest{nan, nan, nan, nan, nan, nan}, false
	}
	x, positiveBase := logs(base)
	y, positiveCand := logs(cand)
	if !positiveBase || !positiveCand || len(x) < 2 || len(y) < 2 {
		return RatioTest{}, false
	}
	n, m := float64(len(x)), float64(len(y))
	meanX, varX := meanVariance(x)
	meanY, varY := meanVariance(y)
	varX, varY = varX/n, varY/m
	if varX+varY <= tieTolerance*tieTolerance*(1+meanX*meanX) { // only rounding is left
		return RatioTest{}, false
	}
	se := math.Sqrt(varX + varY)
	d := meanY - meanX
	test.Ratio, test.T = math.Exp(d), d/se
	test.DF = (varX + varY) * (varX + varY) / (varX*varX/(n-1) + varY*varY/(m-1))
	test.Greater = tAbove(test.T, test.DF)
	half := tQuantile(conf, test.DF) * se
	test.Lo, test.Hi = math.Exp(d-half), math.Exp(d+half)
	return test, true
}

// logs returns the natural logarithms of values. ok is false if one is not positive.
func logs(values []float64) (logs []float64, ok bool) {
	logs = make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) {
			return nil, false
		}
		logs[i] = math.Log(v)
	}
	return logs, true
}
