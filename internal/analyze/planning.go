package analyze

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// PairedDesign describes the variation that a comparison on the same cases has to see through.
type PairedDesign struct {
	// Between is the variance over cases of the true effect.
	Between float64
	// WithinBase and WithinCand are the mean variances of one repetition within a case.
	WithinBase, WithinCand float64
	// RepeatsBase and RepeatsCand count the repetitions of a case on each side.
	RepeatsBase, RepeatsCand int
}

// variance returns the variance that one case adds to the mean difference.
func (d PairedDesign) variance() float64 {
	if d.RepeatsBase < 1 || d.RepeatsCand < 1 || !(d.Between >= 0 && d.WithinBase >= 0 && d.WithinCand >= 0) {
		return math.NaN()
	}
	return d.Between + d.WithinBase/float64(d.RepeatsBase) + d.WithinCand/float64(d.RepeatsCand)
}

// detection returns z_(1-alpha/2) + z_power.
func detection(alpha, power float64) float64 {
	if !(alpha > 0 && alpha < 1 && power > 0 && power < 1) {
		return math.NaN()
	}
	return mathext.NormalQuantile(power) - mathext.NormalQuantile(alpha/2)
}

// PairedSampleSize returns the number of cases, not rounded, with which a two-sided test of level
// alpha finds a mean effect of delta with probability power:
//
//	variance = between + withinBase/repeatsBase + withinCand/repeatsCand
//	cases    = (z_(1-alpha/2) + z_power)^2 variance / delta^2
//
// Round it up to show it. It returns NaN for a delta of 0.
func PairedSampleSize(d PairedDesign, delta, alpha, power float64) float64 {
	if delta == 0 {
		return math.NaN()
	}
	z := detection(alpha, power)
	return z * z * d.variance() / (delta * delta)
}
