package analyze

import "math"

// standardErrors holds the mean of scores and its standard error under several assumptions. A
// figure that cannot be computed is NaN.
type standardErrors struct {
	Mean float64
	// IID takes all scores as independent.
	IID float64
	// Miller adds to IID the covariance of the scores within a cluster. Its square can be negative;
	// then it is NaN.
	Miller float64
	// CR0 and CR1 are the cluster-robust sandwich estimates without and with the correction
	// G/(G-1) for a small number G of clusters. CR1 is NaN for one cluster.
	CR0, CR1 float64
}

// clusteredError returns the mean of scores with its standard errors. clusters names the cluster of
// each score; without clusters, each score is its own. With residuals e of n scores,
//
//	IID^2    = sum of e^2 / (n(n-1))
//	CR0^2    = sum over clusters of (sum of e in the cluster)^2 / n^2
//	CR1^2    = CR0^2 G/(G-1)
//	Miller^2 = IID^2 + CR0^2 - sum of e^2 / n^2
func clusteredError(scores []float64, clusters []int) standardErrors {
	nan := math.NaN()
	n := float64(len(scores))
	if n == 0 || !finite(scores) || clusters != nil && len(clusters) != len(scores) {
		return standardErrors{nan, nan, nan, nan, nan}
	}
	m := average(scores)
	g, all := n, squares(scores, m)
	within := all // of clusters of one score each
	if clusters != nil {
		residuals := make([]float64, len(scores))
		for i, s := range scores {
			residuals[i] = s - m
		}
		sums := clusterSums(residuals, clusters)
		g, within = float64(len(sums)), squares(sums, 0)
	}
	iid, cr0 := all/(n*(n-1)), within/(n*n) // 0/0 is NaN for one score
	miller := iid + cr0 - all/(n*n)
	if math.Abs(miller) < tieTolerance*iid {
		miller = 0 // what rounding leaves of an exact 0
	}
	cr1 := nan
	if g > 1 {
		cr1 = math.Sqrt(cr0 * g / (g - 1))
	}
	return standardErrors{m, math.Sqrt(iid), math.Sqrt(miller), math.Sqrt(cr0), cr1}
}

// clusterSums adds the values of each cluster. Without clusters, each value is its own.
func clusterSums(values []float64, clusters []int) []float64 {
	if clusters == nil {
		return values
	}
	members := map[int][]float64{}
	for i, v := range values {
		members[clusters[i]] = append(members[clusters[i]], v)
	}
	sums := make([]float64, 0, len(members))
	for _, m := range members {
		sums = append(sums, total(m))
	}
	return sums
}

// ICC returns the intraclass correlation of groups by one-way analysis of variance, the design
// effect 1 + (n0-1) icc, and the effective sample size N / designEffect. With the mean squares MSB
// between and MSW within G groups of sizes n_g,
//
//	n0  = (N - sum of n_g^2 / N) / (G-1)
//	icc = (MSB-MSW) / (MSB + (n0-1) MSW)
//
// A negative correlation is returned as it is. nEff is NaN if the design effect is 0. ok is false
// for fewer than two groups, groups of one value only, and values that are all equal.
func ICC(groups [][]float64) (icc, designEffect, nEff float64, ok bool) {
	var all, means, sizes, within []float64
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		if !finite(g) {
			return math.NaN(), math.NaN(), math.NaN(), false
		}
		m := average(g)
		all, means, sizes = append(all, g...), append(means, m), append(sizes, float64(len(g)))
		within = append(within, squares(g, m))
	}
	count, n := float64(len(means)), float64(len(all))
	if count < 2 || n == count {
		return 0, 0, 0, false
	}
	m := average(all)
	between := make([]float64, len(means))
	for i := range means {
		between[i] = sizes[i] * (means[i] - m) * (means[i] - m)
	}
	msb, msw := total(between)/(count-1), total(within)/(n-count)
	if msb+msw <= tieTolerance*tieTolerance*m*m { // only rounding is left
		return 0, 0, 0, false
	}
	n0 := (n - squares(sizes, 0)/n) / (count - 1)
	icc = (msb - msw) / (msb + (n0-1)*msw)
	designEffect = 1 + (n0-1)*icc
	if designEffect <= tieTolerance {
		return icc, designEffect, math.NaN(), true
	}
	return icc, designEffect, n / designEffect, true
}

// ClusteredWilson returns the mean of the pass rates of cases with an interval for suites whose
// cases have repetitions. rates holds the pass rate of each case, repetitions counts the measured
// repetitions of all cases, and clusters names the cluster of each case; without clusters, each
// case is its own. With the mean rate p and its standard error SE (CR1) over G clusters, the
// interval is that of Wilson for
//
//	n = min(repetitions, p(1-p)/SE^2) (z/t)^2, at least 1, and G if SE = 0
//
// trials, where z and t are the quantiles of the normal and of Student's distribution with G-1
// degrees of freedom (Korn and Graubard 1998, with a score interval). One case has Wilson's
// interval of its repetitions. OK is false without cases, and for several cases in one cluster.
func ClusteredWilson(rates []float64, repetitions int, clusters []int, conf float64) Estimate {
	e := unknown("clustered Wilson")
	for _, r := range rates {
		if !(r >= 0 && r <= 1) {
			return e
		}
	}
	if len(rates) == 0 || repetitions < len(rates) || !isConfidence(conf) ||
		clusters != nil && len(clusters) != len(rates) {
		return e
	}
	z, n := normalQuantile(conf), float64(repetitions)
	if len(rates) == 1 {
		p := rates[0]
		lo, hi := lower(p*n, n, z), 1-lower((1-p)*n, n, z)
		return Estimate{Value: p, Lo: lo, Hi: hi, SE: math.Sqrt(p * (1 - p) / n), Method: "Wilson", OK: true}
	}
	errors := clusteredError(rates, clusters)
	e.Value, e.SE = errors.Mean, errors.CR1
	if math.IsNaN(e.SE) {
		return e
	}
	p, g := e.Value, float64(clusterCount(len(rates), clusters))
	if e.SE < tieTolerance {
		n, e.SE = g, 0
	} else {
		ratio := z / TQuantile(conf, g-1)
		n = max(1, min(n, p*(1-p)/(e.SE*e.SE))*ratio*ratio)
	}
	e.Lo, e.Hi, e.OK = lower(p*n, n, z), 1-lower((1-p)*n, n, z), true
	return e
}

// clusterCount returns the number of clusters of n values.
func clusterCount(n int, clusters []int) int {
	if clusters == nil {
		return n
	}
	seen := map[int]bool{}
	for _, c := range clusters {
		seen[c] = true
	}
	return len(seen)
}
