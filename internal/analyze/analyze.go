// Package analyze computes the figures that reports show: rates with their uncertainty, sums, quantiles and groups.
//
// Its functions are pure. A figure that more than one report shows is computed here, once, so that no two reports can
// disagree about it.
package analyze

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the level of the intervals that reports show.
const Confidence = 0.95

// Wilson returns the score interval of Wilson (1927) for a proportion of which k of n trials succeeded, at confidence
// level conf, such as 0.95. Without trials it is the whole range from 0 to 1. A k outside 0..n, or a conf that is not
// between 0 and 1, gives NaN.
func Wilson(k, n int, conf float64) (lo, hi float64) {
	if k < 0 || n < 0 || k > n || !(conf > 0 && conf < 1) {
		return math.NaN(), math.NaN()
	}
	if n == 0 {
		return 0, 1
	}
	z := distuv.UnitNormal.Quantile(0.5 + conf/2)
	// With p = k/n the bounds are the roots of (p - x)^2 = z^2 x (1 - x) / n. The lower one is taken for the successes
	// and the upper one for the failures, each in the form that does not cancel, so that 0 and 1 come out exactly.
	return lower(float64(k), float64(n), z), 1 - lower(float64(n-k), float64(n), z)
}

func lower(k, n, z float64) float64 {
	root := z * math.Sqrt(z*z+4*k*(n-k)/n)
	// The product of the roots is k^2 / (n (n + z^2)).
	return 2 * k * k / n / (2*k + z*z + root)
}
