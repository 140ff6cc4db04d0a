package analyze

import (
	"math"
	"slices"
	"sort"
)

// ClopperPearson returns the exact interval of Clopper and Pearson (1934) for k successes in n
// trials at confidence level conf. With alpha = 1 - conf and I^-1 the quantile of the beta
// distribution,
//
//	lo = I^-1(alpha/2; k, n-k+1), 0 at k = 0
//	hi = I^-1(1-alpha/2; k+1, n-k), 1 at k = n
//
// Its coverage is at least conf for any true rate, so it serves limits that promise something. A
// one-sided 95 % bound is its bound at conf 0.90. Without trials it is the range from 0 to 1. It
// returns NaN if k is not in 0..n, or conf is not between 0 and 1.
func ClopperPearson(k, n int, conf float64) (lo, hi float64) {
	if k < 0 || k > n || !isConfidence(conf) {
		return math.NaN(), math.NaN()
	}
	if n == 0 {
		return 0, 1
	}
	tail := (1 - conf) / 2
	bound := func(k int) float64 { // the lower bound of k successes
		switch k {
		case 0:
			return 0
		case n:
			return math.Exp(math.Log(tail) / float64(n))
		}
		return betaQuantile(float64(k), float64(n-k+1), tail)
	}
	if k == 0 {
		return 0, -math.Expm1(math.Log(tail) / float64(n)) // without cancellation for large n
	}
	return bound(k), 1 - bound(n-k)
}

// betaInterval returns the mean and the equal-tailed interval at level conf of the posterior
// distribution Beta(k+priorA, n-k+priorB) of a rate, after k successes in n trials. priorA = priorB
// = 1/2 is the prior of Jeffreys. It returns NaN if k is not in 0..n, conf is not between 0 and 1,
// or a prior is not positive.
func betaInterval(k, n int, conf, priorA, priorB float64) (mean, lo, hi float64) {
	if k < 0 || k > n || !isConfidence(conf) || !(priorA > 0 && priorB > 0) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	a, b := float64(k)+priorA, float64(n-k)+priorB
	tail := (1 - conf) / 2
	return a / (a + b), betaQuantile(a, b, tail), 1 - betaQuantile(b, a, tail)
}

// quantileInterval returns an interval for quantile q of the distribution that sorted values come
// from, at a level of at least 95 % and without an assumption on that distribution. Its bounds are
// observed values x_l and x_u (order statistics): with X binomial of n trials of probability q, l
// is the largest index with P(X < l) <= 0.025, and u the smallest with P(X >= u) <= 0.025. A bound is
// NaN if there is no such index: the side is open. For the median both bounds exist from 6 values on.
func quantileInterval(sorted []float64, q float64) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	n := len(sorted)
	if !(q > 0 && q < 1) || slices.ContainsFunc(sorted, math.IsNaN) {
		return lo, hi
	}
	const tail = (1 - confidence) / 2
	// Both tails are sums of P(X >= k), which falls with k.
	if below := sort.Search(n, func(i int) bool { return binomialAtLeast(n-i, n, 1-q) > tail }); below > 0 {
		lo = sorted[below-1]
	}
	if u := sort.Search(n, func(i int) bool { return binomialAtLeast(i+1, n, q) <= tail }); u < n {
		hi = sorted[u]
	}
	return lo, hi
}
