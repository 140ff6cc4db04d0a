// Package analyze computes the numbers that reports show: rates with their uncertainty, sums,
// quantiles and groups.
//
// Its functions are pure. A number that more than one report shows is computed here, once, so that
// reports cannot disagree about it.
package analyze

import "math"

// confidence is the level of the intervals that reports show.
const confidence = 0.95

// Estimate is a figure with its interval. A difference is always candidate minus baseline.
type Estimate struct {
	// Value is NaN if it cannot be computed.
	Value float64
	// Lo and Hi are the bounds of the interval, and SE is the standard error of Value. They are NaN
	// if they cannot be computed.
	Lo, Hi, SE float64
	// Method names the interval for a reader, such as "Bonett-Price".
	Method string
	// OK is false if the value or its interval cannot be computed, or if the interval would have no
	// width because the data do not vary. Then the interval must not be shown.
	OK bool
}

// unknown is the estimate of a figure that cannot be computed with method.
func unknown(method string) Estimate {
	nan := math.NaN()
	return Estimate{Value: nan, Lo: nan, Hi: nan, SE: nan, Method: method}
}

// isConfidence reports whether conf is a level of confidence.
func isConfidence(conf float64) bool { return conf > 0 && conf < 1 }

// Wilson returns the score interval of Wilson (1927) for k successes in n trials, at confidence
// level conf, such as 0.95. Without trials it is the whole range from 0 to 1. It returns NaN if k
// is not in 0..n, or conf is not between 0 and 1.
func Wilson(k, n int, conf float64) (lo, hi float64) {
	if k < 0 || n < 0 || k > n || !isConfidence(conf) {
		return math.NaN(), math.NaN()
	}
	if n == 0 {
		return 0, 1
	}
	z := normalQuantile(conf)
	// With p = k/n, the bounds are the roots of (p - x)^2 = z^2 x (1 - x) / n. The lower bound is
	// computed from the successes and the upper one from the failures, each in the form without
	// cancellation, so that 0 and 1 are exact.
	return lower(float64(k), float64(n), z), 1 - lower(float64(n-k), float64(n), z)
}

// lower returns the lower bound of Wilson's interval. k and n can be fractions.
func lower(k, n, z float64) float64 {
	root := z * math.Sqrt(z*z+4*k*(n-k)/n)
	// The product of the roots is k^2 / (n (n + z^2)).
	return 2 * k * k / n / (2*k + z*z + root)
}
