package analyze

import "math"

// The level and the power of plans.
const (
	// Level is the two-sided level of the planned test.
	Level = 0.05
	// Power is the probability with which it finds the difference.
	Power = 0.80
)

// WithinDeviation returns the standard deviation of one value within its group, pooled over groups:
// the root of the squares around the means of the groups, over the sum of n-1. ok is false if no
// group has two values.
func WithinDeviation(groups [][]float64) (sd float64, ok bool) {
	sum, df := 0.0, 0
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		m := average(g)
		sum += squares(g, m)
		df += len(g) - 1
	}
	if df == 0 {
		return 0, false
	}
	return math.Sqrt(sum / float64(df)), true
}

// RepeatedDesign is a comparison of a graded figure, such as the logarithm of the tokens, on cases
// with the same number of repetitions on both sides. It is about these cases, so the effect does not
// vary over cases. Within is the variance of one repetition within a case. [RateDesign] is for pass
// rates.
type RepeatedDesign struct {
	Cases, Repeats int
	Within         float64
}

// Detectable returns the smallest mean difference that the design finds with [Power] at [Level],
// with the quantiles of Student's t for what is known about the variance:
//
//	(t_(1-Level/2) + t_Power) sqrt(2 Within / (Repeats Cases))
func (d RepeatedDesign) Detectable() float64 {
	df := float64(d.Cases - 1)
	if d.Repeats > 1 {
		df = float64(2 * d.Cases * (d.Repeats - 1))
	}
	if d.Cases < 1 || d.Repeats < 1 || df < 1 {
		return math.NaN()
	}
	t := TQuantile(1-Level, df) + TQuantile(2*Power-1, df)
	return t * math.Sqrt(2*d.Within/float64(d.Repeats*d.Cases))
}

// CasesFor returns the number of cases with which the design finds a mean difference.
func (d RepeatedDesign) CasesFor(difference float64) int {
	return least(func(n int) bool { d.Cases = n; return d.finds(difference) })
}

// RepeatsFor returns the number of repetitions on each side with which the cases of the design find
// a mean difference.
func (d RepeatedDesign) RepeatsFor(difference float64) int {
	return least(func(n int) bool { d.Repeats = n; return d.finds(difference) })
}

func (d RepeatedDesign) finds(difference float64) bool {
	const noise = 1e-12
	return d.Detectable() <= difference*(1+noise)
}
