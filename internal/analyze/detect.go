package analyze

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// The level and the power of plans.
const (
	// Level is the two-sided level of the planned test.
	Level = 0.05
	// Power is the probability with which it finds the difference.
	Power = 0.80
)

// WithinVariance returns the mean over cases of the variance of one repetition, estimated without
// bias from each case with at least two repetitions: p(1-p)n/(n-1). of counts these cases. ok is
// false if there is none.
func WithinVariance(cases []Count) (v float64, of int, ok bool) {
	for _, c := range cases {
		if f, ok := FlipRate(c); ok {
			v, of = v+f/2, of+1
		}
	}
	if of == 0 {
		return 0, 0, false
	}
	return v / float64(of), of, true
}

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

// RepeatedDesign is a comparison of cases with the same number of repetitions on both sides. It is
// about these cases, so the effect does not vary over cases. Within is the variance of one
// repetition within a case.
type RepeatedDesign struct {
	Cases, Repeats int
	Within         float64
}

func (d RepeatedDesign) paired() PairedDesign {
	return PairedDesign{
		WithinBase: d.Within, WithinCand: d.Within, RepeatsBase: d.Repeats, RepeatsCand: d.Repeats,
	}
}

// Detectable returns the smallest mean difference that the design finds with [Power] at [Level]:
//
//	(z_(1-Level/2) + z_Power) sqrt(2 Within / (Repeats Cases))
func (d RepeatedDesign) Detectable() float64 { return PairedMDE(d.Cases, d.paired(), Level, Power) }

// CasesFor returns the number of cases with which the design finds a mean difference.
func (d RepeatedDesign) CasesFor(difference float64) int {
	return roundUp(PairedSampleSize(d.paired(), difference, Level, Power))
}

// RepeatsFor returns the number of repetitions on each side with which the cases of the design find
// a mean difference.
func (d RepeatedDesign) RepeatsFor(difference float64) int {
	one := d
	one.Repeats = 1
	return roundUp(PairedSampleSize(one.paired(), difference, Level, Power) / float64(d.Cases))
}

func roundUp(n float64) int {
	if math.IsNaN(n) || n > math.MaxInt32 {
		return math.MaxInt32
	}
	return max(1, int(math.Ceil(n-1e-9)))
}

// DetectableRate is [RepeatedDesign.Detectable] for pass rates. With one repetition, the test is
// that of McNemar, whose power is exact; see [McNemarPower]. ok is false if no difference is
// detectable.
func (d RepeatedDesign) DetectableRate() (difference float64, ok bool) {
	if d.Repeats > 1 {
		difference = d.Detectable()
		return difference, difference <= 1
	}
	if !d.seesOnce(d.Cases, 1) {
		return 0, false
	}
	low, high := 0.0, 1.0
	for high-low > 1e-4 {
		if middle := (low + high) / 2; d.seesOnce(d.Cases, middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, true
}

// RateCasesFor is [RepeatedDesign.CasesFor] for pass rates. With one repetition it is the smallest
// number of cases n for which McNemar's test has the power with n to n+5 cases, because the power
// of an exact test does not grow with each case.
func (d RepeatedDesign) RateCasesFor(difference float64) int {
	if d.Repeats > 1 {
		return d.CasesFor(difference)
	}
	enough := func(n int) bool {
		for i := range 6 {
			if !d.seesOnce(n+i, difference) {
				return false
			}
		}
		return true
	}
	high := 8
	for !enough(high) {
		if high > mostExact {
			return d.CasesFor(difference) // the normal approximation is precise here
		}
		high *= 2
	}
	low := 0
	for low+1 < high {
		if middle := (low + high) / 2; enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	// The power goes up and down, so a smaller number may be enough, too.
	for n := high - 1; n > 0 && n > high-12; n-- {
		if enough(n) {
			high = n
		}
	}
	return high
}

// mostExact is the number of cases above which the power of a plan is not computed exactly.
const mostExact = 1 << 12

// seesOnce reports whether n cases with one repetition a side find a difference of pass rates. The
// share of cases that differ between the sides is at least twice the variance, because repetitions
// of the same case differ as often.
func (d RepeatedDesign) seesOnce(n int, difference float64) bool {
	differ := min(1, max(2*d.Within, difference))
	lost, won := (differ+difference)/2, max(0, (differ-difference)/2)
	if n > 2*mostExact {
		z := mathext.NormalQuantile(1-Level/2) + mathext.NormalQuantile(Power)
		return difference*math.Sqrt(float64(n)) >= z*math.Sqrt(differ)
	}
	return McNemarPower(n, lost, won, Level/2) >= Power
}
