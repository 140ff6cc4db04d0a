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

// PairedMDE returns the smallest mean effect that n cases can detect: [PairedSampleSize] solved for
// delta.
func PairedMDE(n int, d PairedDesign, alpha, power float64) float64 {
	if n < 1 {
		return math.NaN()
	}
	return detection(alpha, power) * math.Sqrt(d.variance()/float64(n))
}

// McNemarPower returns the probability that the one-sided exact test [McNemar] of n cases rejects
// at level alpha. pBaseOnly is the probability that a case passes on the baseline only, pCandOnly
// that it passes on the candidate only:
//
//	sum over d of P(Bin(n, q) = d) P(Bin(d, pBaseOnly/q) >= b_d)
//
// where q = pBaseOnly+pCandOnly, and b_d is the smallest count that the test rejects among d cases
// that differ.
func McNemarPower(n int, pBaseOnly, pCandOnly, alpha float64) float64 {
	differ := pBaseOnly + pCandOnly
	if n < 0 || !(pBaseOnly >= 0 && pCandOnly >= 0 && differ <= 1+tieTolerance) || math.IsNaN(alpha) {
		return math.NaN()
	}
	differ = min(1, differ)
	power := 0.0
	critical := 0
	for d := range n + 1 {
		// The critical count never falls, and grows by at most one.
		for critical <= d && binomialAtLeast(critical, d, 0.5) > alpha*(1+tieTolerance) {
			critical++
		}
		if p := binomial(d, n, differ); p > 0 && critical <= d {
			power += p * rejects(critical, d, pBaseOnly, pCandOnly)
		}
	}
	return min(1, power)
}

// rejects returns P(Bin(d, baseOnly/(baseOnly+candOnly)) >= critical).
func rejects(critical, d int, baseOnly, candOnly float64) float64 {
	switch {
	case critical == 0 || candOnly == 0:
		return 1
	case baseOnly == 0:
		return 0
	}
	return binomialAtLeast(critical, d, baseOnly/(baseOnly+candOnly))
}

// TwoProportionN returns the number of independent trials on each side, not rounded, with which a
// two-sided test of level alpha finds the difference between the rates p1 and p2 with probability
// power: (z_(1-alpha/2) + z_power)^2 (p1(1-p1) + p2(1-p2)) / (p1-p2)^2. It returns NaN for equal
// rates.
func TwoProportionN(p1, p2, alpha, power float64) float64 {
	if p1 == p2 || !probabilities([]float64{p1, p2}) {
		return math.NaN()
	}
	z := detection(alpha, power)
	return z * z * (p1*(1-p1) + p2*(1-p2)) / ((p1 - p2) * (p1 - p2))
}
