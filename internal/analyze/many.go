package analyze

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Holm returns p-values adjusted for the family-wise error rate by Holm (1979): with p sorted
// ascending, the running maximum of min(1, (m-i+1) p_i). Results are in input order. A value that
// is not a probability makes all results NaN.
func Holm(p []float64) []float64 {
	return adjust(p, func(sorted []float64) {
		at := 0.0
		for i, v := range sorted {
			at = max(at, min(1, float64(len(sorted)-i)*v))
			sorted[i] = at
		}
	})
}

// BH returns p-values adjusted for the false-discovery rate by Benjamini and Hochberg (1995): with
// p sorted ascending, from the largest down, the running minimum of min(1, m p_i/i). Results are in
// input order. A value that is not a probability makes all results NaN.
func BH(p []float64) []float64 { return stepUp(p, 1) }

// BY is [BH] times the sum of 1/i for i up to the number of tests, which holds under any dependence
// (Benjamini and Yekutieli 2001).
func BY(p []float64) []float64 {
	harmonic := 0.0
	for i := range p {
		harmonic += 1 / float64(i+1)
	}
	return stepUp(p, harmonic)
}

func stepUp(p []float64, factor float64) []float64 {
	return adjust(p, func(sorted []float64) {
		at, m := 1.0, float64(len(sorted))
		for i, v := range slices.Backward(sorted) {
			at = min(at, factor*v*m/float64(i+1))
			sorted[i] = at
		}
	})
}

// adjust applies step to the sorted p-values and returns the results in input order.
func adjust(p []float64, step func(sorted []float64)) []float64 {
	q := make([]float64, len(p))
	if !probabilities(p) {
		for i := range q {
			q[i] = math.NaN()
		}
		return q
	}
	order := ascending(p)
	sorted := make([]float64, len(p))
	for i, at := range order {
		sorted[i] = p[at]
	}
	step(sorted)
	for i, at := range order {
		q[at] = sorted[i]
	}
	return q
}

// ascending returns the indices of values in ascending order of the values.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

func probabilities(p []float64) bool {
	return !slices.ContainsFunc(p, func(v float64) bool { return !(v >= 0 && v <= 1) })
}

// EBH returns the indices of the hypotheses that e-values reject at false-discovery rate alpha,
// under any dependence (Wang and Ramdas 2022): the k largest, for the largest k whose kth largest
// e-value is at least m/(k alpha). The indices are ascending.
func EBH(e []float64, alpha float64) []int {
	order := ascending(e)
	slices.Reverse(order)
	reject := 0
	for k := 1; k <= len(e); k++ {
		if e[order[k-1]]*float64(k)*alpha >= float64(len(e))*(1-tieTolerance) {
			reject = k
		}
	}
	return slices.Sorted(slices.Values(order[:reject]))
}

// Stouffer combines independent p-values: Phi(sum of Phi^-1(p) / sqrt(m)) (Stouffer 1949). It
// returns NaN without p-values.
func Stouffer(p []float64) float64 {
	if len(p) == 0 || !probabilities(p) {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range p {
		sum += mathext.NormalQuantile(v)
	}
	return normalBelow(sum / math.Sqrt(float64(len(p))))
}

// FisherCombination combines independent p-values: the upper tail of the chi-squared distribution
// with 2m degrees of freedom at -2 times the sum of ln p (Fisher 1932). It returns NaN without
// p-values.
func FisherCombination(p []float64) float64 {
	if len(p) == 0 || !probabilities(p) {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range p {
		sum -= math.Log(v)
	}
	if math.IsInf(sum, 1) {
		return 0
	}
	return mathext.GammaIncRegComp(float64(len(p)), sum)
}

// PartialConjunction combines p-values after it leaves out the drop smallest ones: a small result
// means that more than drop of the hypotheses are false (Benjamini and Heller 2008). stouffer and
// fisher combine the others, and bonferroni is min(1, (m-drop) p) for the smallest other one. ok is
// false if none is left.
func PartialConjunction(p []float64, drop int) (stouffer, fisher, bonferroni float64, ok bool) {
	if drop < 0 || !probabilities(p) {
		return math.NaN(), math.NaN(), math.NaN(), false
	}
	if drop >= len(p) {
		return 0, 0, 0, false
	}
	rest := slices.Sorted(slices.Values(p))[drop:]
	return Stouffer(rest), FisherCombination(rest), min(1, float64(len(rest))*rest[0]), true
}
