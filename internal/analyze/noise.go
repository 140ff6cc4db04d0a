package analyze

import "math"

// Noise says how much the repetitions of the same cases on the same runner differ, without a cause.
type Noise struct {
	// Cases counts the cases with at least two measured repetitions, and Repetitions their measured
	// repetitions.
	Cases, Repetitions int
	// Flip is the mean over cases of [FlipRate], with the interval of [ClusteredWilson].
	Flip Estimate
	// Within is the variance of a repetition within a case: half of the flip rate. If no case varied,
	// Steady is set and Within is [LeastVariance].
	Within float64
	Steady bool
	// Mix is the distribution of the pass rates of these cases.
	Mix RateMix
	// TokenCases counts the cases with at least two repetitions that report tokens. TokenDeviation
	// is the standard deviation of the logarithm of the tokens within a case; NaN without such cases.
	TokenCases     int
	TokenDeviation float64
	// Odd and Even compare the odd with the even repetitions.
	Halves Halves
}

// Halves compares the odd repetitions of a run with the even ones. Nothing but a change during the
// run makes them differ.
type Halves struct {
	Odd, Even Count
	// Difference is even minus odd, of the pass rates. P is the two-sided p-value of [Stratified].
	Difference Estimate
	P          float64
	// TokenP is the two-sided p-value of [StratifiedPermutation] for the logarithms of the tokens;
	// NaN without tokens on both sides.
	TokenP float64
}

// LeastVariance returns the variance of a repetition within a case that n repetitions would have if
// one of them differed from the others of its case. Plans use it where none differed.
func LeastVariance(n int) float64 { return 1 / float64(max(n, 1)) }

// NoiseOf returns the noise of the samples of each case. seed is that of the permutation test.
func NoiseOf(cases [][]Sample, seed Seed) Noise {
	n := Noise{TokenDeviation: math.NaN()}
	var flips []float64
	var counts []Count
	var tokens, odd, even [][]float64
	var pairs []PairCounts
	for _, samples := range cases {
		count := CountOf(samples)
		if f, ok := FlipRate(count); ok {
			flips, n.Repetitions = append(flips, f), n.Repetitions+count.Measured
			counts = append(counts, count)
		}
		if logs := LogTokens(samples); len(logs) > 1 {
			tokens = append(tokens, logs)
		}
		a, b := split(samples)
		x, y := CountOf(a), CountOf(b)
		pairs = append(pairs, PairCounts{x.Measured, x.Passed, y.Measured, y.Passed})
		odd, even = append(odd, LogTokens(a)), append(even, LogTokens(b))
		if x.Measured > 0 && y.Measured > 0 {
			n.Halves.Odd, n.Halves.Even = n.Halves.Odd.Plus(x), n.Halves.Even.Plus(y)
		}
	}
	n.Cases, n.TokenCases = len(flips), len(tokens)
	if n.Cases > 0 {
		n.Flip = ClusteredWilson(flips, n.Repetitions, nil, confidence)
		n.Within, n.Mix = average(flips)/2, MixOf(counts)
	} else {
		n.Flip, n.Within = unknown(""), math.NaN()
	}
	if n.Steady = n.Within == 0; n.Steady {
		n.Within = LeastVariance(n.Repetitions)
	}
	if sd, ok := WithinDeviation(tokens); ok {
		n.TokenDeviation = sd
	}
	n.Halves.Difference = RateDifference(pairs)(confidence)
	n.Halves.P = Stratified(pairs).TwoSided()
	n.Halves.TokenP = StratifiedPermutation(odd, even, seed).TwoSided
	return n
}

// Floor returns the noise floor of the pass rate: the means of two runs with so many cases and
// repetitions differ by at most this much in 95 % of comparisons, without any cause:
//
//	z_0.975 sqrt(2 Within / (repeats cases))
func (n Noise) Floor(cases, repeats int) float64 { return noiseFloor(n.Within, cases, repeats) }

// TokenFloor is [Noise.Floor] for the tokens, as a share of the baseline.
func (n Noise) TokenFloor(cases, repeats int) float64 {
	return math.Expm1(noiseFloor(n.TokenDeviation*n.TokenDeviation, cases, repeats))
}

func noiseFloor(within float64, cases, repeats int) float64 {
	return normalQuantile(confidence) * math.Sqrt(2*within/float64(cases*repeats))
}

// CountOf counts the measured samples, and those that passed.
func CountOf(samples []Sample) (c Count) {
	for i := range samples {
		if s := &samples[i]; s.Measured() {
			c.Measured++
			if s.Passed() {
				c.Passed++
			}
		}
	}
	return c
}

// Plus adds the counts of other repetitions.
func (c Count) Plus(o Count) Count { return Count{c.Passed + o.Passed, c.Measured + o.Measured} }

// split returns the odd and the even repetitions.
func split(samples []Sample) (odd, even []Sample) {
	for _, s := range samples {
		if s.Repetition%2 == 1 {
			odd = append(odd, s)
		} else {
			even = append(even, s)
		}
	}
	return odd, even
}

// LogTokens returns the logarithms of the tokens of the measured samples that report them.
func LogTokens(samples []Sample) []float64 {
	var logs []float64
	for i := range samples {
		if s := &samples[i]; s.Measured() && s.Tokens > 0 {
			logs = append(logs, math.Log(s.Tokens))
		}
	}
	return logs
}
