package analyze

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// normalQuantile returns z for which a normal variable lies in (-z, z) with probability conf. The
// lower tail is used because 1 - (1-conf)/2 would lose digits.
func normalQuantile(conf float64) float64 { return -mathext.NormalQuantile((1 - conf) / 2) }

// normalBelow returns the probability that a standard normal variable is at most x. For an upper
// tail, call it with -x.
func normalBelow(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// TQuantile returns t for which a variable of Student's distribution with df degrees of freedom
// lies in (-t, t) with probability conf.
func TQuantile(conf, df float64) float64 {
	// t^2/(df+t^2) has distribution Beta(1/2, df/2), and its complement Beta(df/2, 1/2). The
	// smaller one keeps more digits.
	if x := betaQuantile(0.5, df/2, conf); x < 0.5 {
		return math.Sqrt(df * x / (1 - x))
	}
	x := betaQuantile(df/2, 0.5, 1-conf)
	return math.Sqrt(df * (1 - x) / x)
}

// TAbove returns the probability that a variable of Student's distribution with df degrees of
// freedom is at least t.
func TAbove(t, df float64) float64 {
	p := 0.5 * betaBelow(df/2, 0.5, df/(df+t*t))
	if t < 0 {
		return 1 - p
	}
	return p
}

// betaQuantile returns x for which I_x(a, b) = p.
func betaQuantile(a, b, p float64) float64 {
	x := mathext.InvRegIncBeta(a, b, p)
	// gonum v0.17.0 returns another value for some small p with a large a, such as
	// InvRegIncBeta(16093.5, 0.5, 5e-7). A bisection over all floating-point numbers replaces it.
	if math.Abs(betaBelow(a, b, x)-p) <= 1e-10*p {
		return x
	}
	lo, hi := ordinal(0), ordinal(1)
	for lo+1 < hi {
		if middle := lo + (hi-lo)/2; betaBelow(a, b, fromOrdinal(middle)) < p {
			lo = middle
		} else {
			hi = middle
		}
	}
	return fromOrdinal(hi)
}

// binomial returns the probability of exactly k successes in n trials of probability p. It is the
// saddle-point form of Loader (2000), "Fast and Accurate Computation of Binomial Probabilities",
// whose relative error stays near the machine precision for any n.
func binomial(k, n int, p float64) float64 {
	q := 1 - p
	switch {
	case k < 0 || k > n:
		return 0
	case p == 0 || p == 1:
		if k == int(p)*n {
			return 1
		}
		return 0
	case k == 0 && p >= 0.5:
		return math.Pow(q, float64(n)) // q is exact
	case k == 0:
		return math.Exp(float64(n) * math.Log1p(-p))
	case k == n:
		return math.Pow(p, float64(n))
	}
	x, m := float64(k), float64(n)
	exponent := stirlingError(n) - stirlingError(k) - stirlingError(n-k) - deviance(x, m*p) - deviance(m-x, m*q)
	return math.Exp(exponent) * math.Sqrt(m/(2*math.Pi*x*(m-x)))
}

// hypergeometric returns the probability that a sample of n, drawn without replacement from
// total items of which marked are marked, holds exactly k marked ones. It is a ratio of binomial
// probabilities whose free parameter n/total keeps all three away from the tails.
func hypergeometric(k, marked, n, total int) float64 {
	if k < max(0, n-(total-marked)) || k > min(n, marked) {
		return 0
	}
	if n == 0 || n == total || marked == 0 || marked == total {
		return 1
	}
	p := float64(n) / float64(total)
	return binomial(k, marked, p) * binomial(n-k, total-marked, p) / binomial(n, total, p)
}

// stirlingError returns ln n! - ln(sqrt(2 pi n) (n/e)^n).
func stirlingError(n int) float64 {
	exact := [...]float64{
		0, 0.0810614667953272582, 0.0413406959554092941, 0.0276779256849983391, 0.0207906721037650931,
		0.0166446911898211922, 0.0138761288230707480, 0.0118967099458917701, 0.0104112652619720965,
		0.00925546218271273292, 0.00833056343336287126, 0.00757367548795184079, 0.00694284010720952987,
		0.00640899418800420707, 0.00595137011275884774, 0.00555473355196280137,
	}
	if n < len(exact) {
		return exact[n]
	}
	x := float64(n)
	s := x * x
	return (1.0/12 - (1.0/360-(1.0/1260-(1.0/1680-1.0/1188/s)/s)/s)/s) / x
}

// deviance returns x ln(x/m) + m - x without cancellation when x is near m.
func deviance(x, m float64) float64 {
	d := x - m
	if math.Abs(d) >= 0.1*(x+m) {
		return x*math.Log(x/m) + m - x
	}
	v := d / (x + m)
	sum := d * v
	for term, j := 2*x*v, 3.0; ; j += 2 {
		term *= v * v
		next := sum + term/j
		if next == sum {
			return sum
		}
		sum = next
	}
}

// binomialAtLeast returns the probability of at least k successes in n trials of probability p, 0 <
// p < 1. It adds the terms of the tail that does not hold the mean, so that a small probability
// keeps its digits.
func binomialAtLeast(k, n int, p float64) float64 {
	if k <= 0 {
		return 1
	}
	if k > n {
		return 0
	}
	if float64(k) < float64(n)*p {
		return 1 - binomialAtLeast(n-k+1, n, 1-p)
	}
	term := binomial(k, n, p)
	sum, odds := term, p/(1-p)
	for i := k; i < n && term > sum*1e-18; i++ {
		term *= float64(n-i) / float64(i+1) * odds
		sum += term
	}
	return min(1, sum)
}

// total adds numbers so that their order does not change the last digit, and that the sum of the
// negated numbers is exactly the negated sum. Comparisons need both: swapping the sides must give
// the mirrored result, and the order of the cases must not matter.
func total(values []float64) float64 {
	sizes := make([]float64, 0, len(values))
	sum := func(negative bool) float64 {
		sizes = sizes[:0]
		for _, v := range values {
			if v < 0 == negative {
				sizes = append(sizes, math.Abs(v))
			}
		}
		slices.Sort(sizes)
		sum, lost := 0.0, 0.0 // Kahan's summation: 100,000 equal numbers must not drift off a tie
		for _, v := range sizes {
			next := sum + (v - lost)
			lost = (next - sum) - (v - lost)
			sum = next
		}
		return sum
	}
	return sum(false) - sum(true)
}

// average returns the arithmetic mean of values.
func average(values []float64) float64 { return total(values) / float64(len(values)) }

// squares returns the sum of the squared deviations of values from m.
func squares(values []float64, m float64) float64 {
	s := make([]float64, len(values))
	for i, v := range values {
		s[i] = (v - m) * (v - m)
	}
	slices.Sort(s) // as total does, but without a copy
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	return sum
}

// meanVariance returns the mean and the sample variance with divisor n - 1, which is NaN for fewer
// than two values.
func meanVariance(values []float64) (m, variance float64) {
	m = average(values)
	if len(values) < 2 {
		return m, math.NaN()
	}
	return m, squares(values, m) / float64(len(values)-1)
}

// finite reports whether no value is NaN or infinite.
func finite(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// betaBelow returns I_x(a, b), the probability that a variable of distribution Beta(a, b) is at
// most x.
func betaBelow(a, b, x float64) float64 { return mathext.RegIncBeta(a, b, x) }

// tieTolerance is the relative difference below which two statistics are taken as equal: sums in
// another order must not break ties.
const tieTolerance = 1e-12
