package analyze

import "math"

// Count is the repetitions of one case: Passed of Measured repetitions passed.
type Count struct{ Passed, Measured int }

// Rate returns the pass rate of the case. It is NaN if no repetition was measured.
func (c Count) Rate() float64 { return float64(c.Passed) / float64(c.Measured) }

// passAtK estimates the probability that at least one of k repetitions passes, from c passes of n
// repetitions: 1 - C(n-c, k)/C(n, k). The estimate has no bias (Chen et al. 2021); 1 - (1-c/n)^k
// has one. ok is false if k > n.
func passAtK(n, c, k int) (v float64, ok bool) {
	if n < 0 || c < 0 || c > n || k < 1 {
		return math.NaN(), false
	}
	if k > n {
		return 0, false
	}
	if n-c < k {
		return 1, true
	}
	// C(n-c, k)/C(n, k) has a form with c factors and one with k factors.
	steps, part := k, c
	if c < k {
		steps, part = c, k
	}
	log := 0.0
	for i := range steps {
		log += math.Log1p(-float64(part) / float64(n-i))
	}
	return -math.Expm1(log), true
}

// passHatK estimates the probability that all of k repetitions pass, from c passes of n
// repetitions: C(c, k)/C(n, k). The estimate has no bias (Yao et al. 2024). ok is false if k > n.
func passHatK(n, c, k int) (v float64, ok bool) {
	if n < 0 || c < 0 || c > n || k < 1 {
		return math.NaN(), false
	}
	if k > n {
		return 0, false
	}
	v = 1
	for i := range k {
		if i >= c {
			return 0, true
		}
		v *= float64(c-i) / float64(n-i)
	}
	return v, true
}

// flakyPosterior returns the probabilities that the pass rate of a case lies between lo and hi,
// below lo, and above hi, after k passes of n repetitions. The distribution is the posterior
// Beta(k+1/2, n-k+1/2) of the prior of Jeffreys. It returns NaN if k is not in 0..n, or not 0 <= lo
// <= hi <= 1.
func flakyPosterior(k, n int, lo, hi float64) (flaky, below, above float64) {
	if k < 0 || k > n || !(0 <= lo && lo <= hi && hi <= 1) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	a, b := float64(k)+0.5, float64(n-k)+0.5
	below, above = betaBelow(a, b, lo), betaBelow(b, a, 1-hi) // not 1 minus: small ones keep their digits
	return max(0, 1-below-above), below, above
}

// FlipRate estimates without bias the probability 2p(1-p) that two repetitions of a case differ:
// 2k(n-k)/(n(n-1)) for k passes of n repetitions. ok is false for fewer than two repetitions.
func FlipRate(c Count) (f float64, ok bool) {
	if c.Passed < 0 || c.Passed > c.Measured {
		return math.NaN(), false
	}
	if c.Measured < 2 {
		return 0, false
	}
	k, n := float64(c.Passed), float64(c.Measured)
	return 2 * k * (n - k) / (n * (n - 1)), true
}
