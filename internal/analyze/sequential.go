package analyze

import "math"

// McNemarE returns the e-value against "the candidate is not worse" for cases that differ: b passed
// on the baseline only, c on the candidate only. It can be looked at after each case: a test that
// stops and rejects as soon as it is at least 1/alpha has level alpha. Swap b and c to test "not
// better". With d = b+c,
//
//	2^(d+1) b! c! / (d+1)! P(Bin(d+1, 1/2) <= b)
//
// This is the mean of (2t)^b (2(1-t))^c over t uniform on (1/2, 1).
func McNemarE(b, c int) float64 { return math.Exp(LogMcNemarE(b, c)) }

// LogMcNemarE is the natural logarithm of [McNemarE], which has no limit of size.
func LogMcNemarE(b, c int) float64 {
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

// Betting is an e-process for the mean of bounded draws, by betting on a fixed grid of stakes with
// equal weights (Waudby-Smith and Ramdas 2024):
//
//	E = mean over stakes s of the product over draws z of 1 + s (z - bound)
//
// It tests the null hypothesis that the conditional mean of each draw is at most bound, or at least
// bound for a negated bet, whose factors are 1 + s (bound - z). Under the null hypothesis the
// probability that E ever reaches 1/alpha is at most alpha.
type Betting struct {
	bound   float64
	negated bool
	stakes  []float64
	logs    []float64
}

// BetAbove returns a bet against a mean of at most bound, of draws of at least low. Its 16 stakes
// are 0.99/(bound-low) 2^(-j/2), so that no draw can make E negative.
func BetAbove(bound, low float64) *Betting { return newBetting(bound, bound-low, false) }

// BetBelow returns a bet against a mean of at least bound, of draws of at most high.
func BetBelow(bound, high float64) *Betting { return newBetting(bound, high-bound, true) }

func newBetting(bound, worst float64, negated bool) *Betting {
	const stakes = 16
	b := &Betting{bound: bound, negated: negated, stakes: make([]float64, stakes), logs: make([]float64, stakes)}
	for j := range b.stakes {
		b.stakes[j] = 0.99 / max(worst, 1e-9) * math.Exp2(-float64(j)/2)
	}
	return b
}

// Add takes the next draw.
func (b *Betting) Add(z float64) {
	gain := z - b.bound
	if b.negated {
		gain = -gain
	}
	for j, s := range b.stakes {
		b.logs[j] += math.Log1p(s * gain)
	}
}

// E returns the value of the process.
func (b *Betting) E() float64 { return math.Exp(b.LogE()) }

// LogE returns the natural logarithm of the value of the process, which has no limit of size.
func (b *Betting) LogE() float64 {
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

// CalibratorMixture turns a p-value into an e-value without a parameter: (1-p+p ln p)/(p ln^2 p),
// the mean of [CalibratorPower] over kappa uniform on (0, 1) (Vovk and Wang 2021). It is 1/2 at p =
// 1 and infinite at p = 0.
func CalibratorMixture(p float64) float64 {
	if !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	if p == 0 {
		return math.Inf(1)
	}
	l := math.Log(p)
	// With x = -l, (1-p+p l)/(p l^2) = (e^x-1-x)/x^2, which cancels for small x: the series is
	// 1/2! + x/3! + x^2/4! + ...
	if x := -l; x < 1 {
		sum, term := 0.0, 0.5
		for j := 3.0; sum+term != sum; j++ {
			sum += term
			term *= x / j
		}
		return sum
	}
	return (1 - p + p*l) / (p * l * l)
}

// CalibratorPower turns a p-value into an e-value: kappa p^(kappa-1), for kappa between 0 and 1.
func CalibratorPower(p, kappa float64) float64 {
	if !(p >= 0 && p <= 1 && kappa > 0 && kappa <= 1) {
		return math.NaN()
	}
	return kappa * math.Pow(p, kappa-1)
}

// ConformalP returns the randomized p-value of a score among past ones: (#{past > score} + u
// (#{past = score} + 1)) / (n+1). It is uniform if the scores are exchangeable and u is uniform
// (Vovk 2019).
func ConformalP(score float64, past []float64, u float64) float64 {
	if math.IsNaN(score) || !(u >= 0 && u <= 1) {
		return math.NaN()
	}
	above, equal := 0, 0
	for _, p := range past {
		switch {
		case math.IsNaN(p):
			return p
		case p > score:
			above++
		case p == score:
			equal++
		}
	}
	return (float64(above) + u*float64(equal+1)) / float64(len(past)+1)
}

// ShiryaevRoberts returns the path of the detector R_t = (1+R_(t-1)) e_t, R_0 = 0, of e-values.
// Without a change, the first R >= c comes after at least c steps on average (Shin, Ramdas and
// Rinaldo 2022).
func ShiryaevRoberts(e []float64) []float64 {
	return path(e, func(at, e float64) float64 { return (1 + at) * e })
}

// CUSUME returns the path of the detector M_t = max(M_(t-1), 1) e_t, M_0 = 0, of e-values. It
// alarms like [ShiryaevRoberts].
func CUSUME(e []float64) []float64 {
	return path(e, func(at, e float64) float64 { return max(at, 1) * e })
}

func path(e []float64, step func(at, e float64) float64) []float64 {
	out := make([]float64, len(e))
	at := 0.0
	for i, e := range e {
		at = step(at, e)
		out[i] = at
	}
	return out
}

// TrimmedE returns the product of e-values without the drop largest ones. It is valid if at most
// drop of their sources lie. It returns NaN if drop is negative, and 1 if no value is left.
func TrimmedE(e []float64, drop int) float64 {
	if drop < 0 {
		return math.NaN()
	}
	product := 1.0
	order := ascending(e)
	for _, i := range order[:max(0, len(e)-drop)] {
		product *= e[i]
	}
	return product
}

// CUSUMTabular returns the paths of the tabular cumulative sums of standardized observations
// (Page 1954): up = max(0, up+z-k), down = max(0, down-z-k). It is a reference for teaching and
// raises no alarm in Plumb: with mean and deviation from data it alarms too often.
func CUSUMTabular(z []float64, k float64) (up, down []float64) {
	up, down = make([]float64, len(z)), make([]float64, len(z))
	var high, low float64
	for i, z := range z {
		high, low = max(0, high+z-k), max(0, low-z-k)
		up[i], down[i] = high, low
	}
	return up, down
}

// CUSUMARL returns the average number of observations until a false alarm of [CUSUMTabular] at
// height h, by the approximation of Siegmund (1985): with B = h+1.166, (e^(2kB)-2kB-1)/(2k^2) for
// one side, and half of it for both.
func CUSUMARL(k, h float64) (oneSided, twoSided float64) {
	if !(k >= 0 && h > 0) {
		return math.NaN(), math.NaN()
	}
	b := h + 1.166
	oneSided = b * b // the limit at k = 0
	if k > 0 {
		oneSided = (math.Expm1(2*k*b) - 2*k*b) / (2 * k * k)
	}
	return oneSided, oneSided / 2
}

// PageHinkleyDown returns the path of the statistic of Page and Hinkley for a falling mean. With
// the running mean, which includes x_t,
//
//	m_t    = m_(t-1) + x_t - mean_t + delta
//	stat_t = max(0, largest m so far) - m_t
//
// Like [CUSUMTabular] it is a reference for teaching.
func PageHinkleyDown(x []float64, delta float64) []float64 {
	out := make([]float64, len(x))
	sum, m, largest := 0.0, 0.0, 0.0
	for i, x := range x {
		sum += x
		m += x - sum/float64(i+1) + delta
		largest = max(largest, m)
		out[i] = largest - m
	}
	return out
}
