package analyze

import "math"

// logMcNemarE returns the natural logarithm of the e-value against "the candidate is not worse" for
// cases that differ: b passed on the baseline only, c on the candidate only. It can be looked at
// after each case: a test that stops and rejects as soon as the e-value is at least 1/alpha has
// level alpha. Swap b and c to test "not better". With d = b+c, the e-value is
//
//	2^(d+1) b! c! / (d+1)! P(Bin(d+1, 1/2) <= b)
//
// This is the mean of (2t)^b (2(1-t))^c over t uniform on (1/2, 1).
func logMcNemarE(b, c int) float64 {
	if b < 0 || c < 0 {
		return math.NaN()
	}
	// With n = d+1 and X = Bin(n, 1/2), C(n, b) = n!/(b! (c+1)!) and P(X = b) = P(X = c+1), so that
	// E is P(X >= c+1) / P(X = c+1) / (c+1).
	n := b + c + 1
	if c >= b { // the ratio starts at the largest term, and no probability can underflow
		ratio, term := 1.0, 1.0
		for i := c + 1; i < n && term > ratio*1e-18; i++ {
			term *= float64(n-i) / float64(i+1)
			ratio += term
		}
		return math.Log(ratio / float64(c+1))
	}
	return math.Log(binomialAtLeast(c+1, n, 0.5)/float64(c+1)) - logBinomialHalf(c+1, n)
}

// logBinomialHalf returns ln P(Bin(n, 1/2) = k).
func logBinomialHalf(k, n int) float64 {
	if k == 0 || k == n {
		return -float64(n) * math.Ln2
	}
	x, m := float64(k), float64(n)
	return stirlingError(n) - stirlingError(k) - stirlingError(n-k) - deviance(x, m/2) - deviance(m-x, m/2) +
		0.5*math.Log(m/(2*math.Pi*x*(m-x)))
}

// betting is an e-process for the mean of bounded draws, by betting on a fixed grid of stakes with
// equal weights (Waudby-Smith and Ramdas 2024):
//
//	E = mean over stakes s of the product over draws z of 1 + s (z - bound)
//
// It tests the null hypothesis that the conditional mean of each draw is at most bound, or at least
// bound for a negated bet, whose factors are 1 + s (bound - z). Under the null hypothesis the
// probability that E ever reaches 1/alpha is at most alpha.
type betting struct {
	bound   float64
	negated bool
	stakes  []float64
	logs    []float64
}

// betAbove returns a bet against a mean of at most bound, of draws of at least low. Its 16 stakes
// are 0.99/(bound-low) 2^(-j/2), so that no draw can make E negative.
func betAbove(bound, low float64) *betting { return newBetting(bound, bound-low, false) }

// betBelow returns a bet against a mean of at least bound, of draws of at most high.
func betBelow(bound, high float64) *betting { return newBetting(bound, high-bound, true) }

func newBetting(bound, worst float64, negated bool) *betting {
	const stakes = 16
	b := &betting{bound: bound, negated: negated, stakes: make([]float64, stakes), logs: make([]float64, stakes)}
	for j := range b.stakes {
		b.stakes[j] = 0.99 / max(worst, 1e-9) * math.Exp2(-float64(j)/2)
	}
	return b
}

// add takes the next draw.
func (b *betting) add(z float64) {
	gain := z - b.bound
	if b.negated {
		gain = -gain
	}
	for j, s := range b.stakes {
		b.logs[j] += math.Log1p(s * gain)
	}
}

// logE returns the natural logarithm of the value of the process, which has no limit of size.
func (b *betting) logE() float64 {
	largest := math.Inf(-1)
	for _, l := range b.logs {
		largest = max(largest, l)
	}
	if math.IsInf(largest, 0) {
		return largest
	}
	sum := 0.0
	for _, l := range b.logs {
		sum += math.Exp(l - largest)
	}
	return largest + math.Log(sum/float64(len(b.logs)))
}
