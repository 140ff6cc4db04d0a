package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
)

// minYouden is the smallest sensitivity + specificity - 1 of a judge whose rates can be corrected.
// A judge below cannot tell pass from fail.
const minYouden = 0.2

// CorrectedRate returns the pass rate behind the rate that a judge reported for n outputs, when the
// judge was compared with labels on other outputs: it passed a share of positives good outputs
// (sensitivity) and failed a share of negatives bad ones (specificity). With p the reported rate,
// q0 the specificity of m0 outputs, q1 the sensitivity of m1 and J = q0+q1-1 (Rogan and Gladen
// 1978),
//
//	theta = (p+q0-1)/J, within 0 and 1
//	SE    = sqrt(p(1-p)/n + (1-theta)^2 q0(1-q0)/m0 + theta^2 q1(1-q1)/m1) / J
//	theta plus or minus z SE, within 0 and 1
//
// The variance contains the noise of the calibration (Lee et al. 2025). OK is false if J < 0.2, and
// without outputs.
func CorrectedRate(
	rate float64, n int, specificity float64, negatives int, sensitivity float64, positives int, conf float64,
) Estimate {
	e := unknown("Rogan-Gladen")
	if !probabilities([]float64{rate, specificity, sensitivity}) || n < 1 || negatives < 1 || positives < 1 ||
		!isConfidence(conf) {
		return e
	}
	j := specificity + sensitivity - 1
	if j < minYouden-tieTolerance {
		return e
	}
	theta := min(1, max(0, (rate+specificity-1)/j))
	variance := rate*(1-rate)/float64(n) +
		(1-theta)*(1-theta)*specificity*(1-specificity)/float64(negatives) +
		theta*theta*sensitivity*(1-sensitivity)/float64(positives)
	e.Value, e.SE = theta, math.Sqrt(variance)/j
	half := normalQuantile(conf) * e.SE
	e.Lo, e.Hi, e.OK = max(0, theta-half), min(1, theta+half), half > 0
	return e
}

// PPIMean estimates the mean of labels over all outputs from a random sample of them that has
// labels, and a judge that answered for all (prediction-powered inference, Angelopoulos et al.
// 2023): the mean of the judge on the outputs without labels, plus the mean of label minus judge on
// those with labels. SE adds the variances of both means, and the interval is Value plus or minus z
// SE. OK is false for fewer than two outputs in either part, and if nothing varies.
func PPIMean(labels, judged, unlabelled []float64, conf float64) Estimate {
	e := unknown("prediction-powered mean")
	if len(labels) != len(judged) || len(labels) == 0 || len(unlabelled) == 0 || !isConfidence(conf) ||
		!finite(labels) || !finite(judged) || !finite(unlabelled) {
		return e
	}
	errors := make([]float64, len(labels))
	for i := range labels {
		errors[i] = labels[i] - judged[i]
	}
	shift, shiftVariance := meanVariance(errors)
	m, variance := meanVariance(unlabelled)
	e.Value = m + shift
	e.SE = math.Sqrt(variance/float64(len(unlabelled)) + shiftVariance/float64(len(errors)))
	half := normalQuantile(conf) * e.SE
	e.Lo, e.Hi, e.OK = e.Value-half, e.Value+half, half > 0
	return e
}

// Kappa returns the agreement beyond chance of two raters (Cohen 1960) with its 95 % interval.
// table[i][j] counts the items that the first rater put in category i and the second in j. With the
// shares p_ij, p_o their sum on the diagonal and p_e the sum of the products of the margins,
//
//	kappa = (p_o-p_e) / (1-p_e)
//
// The standard error is that of Fleiss, Cohen and Everitt (1969). Value is NaN if p_e = 1. OK is
// false also for full agreement, whose interval has no width.
func Kappa(table [][]int) Estimate {
	e := unknown("Cohen's kappa")
	n := 0
	for _, row := range table {
		if len(row) != len(table) {
			return e
		}
		for _, count := range row {
			if count < 0 {
				return e
			}
			n += count
		}
	}
	if n == 0 {
		return e
	}
	share := func(i, j int) float64 { return float64(table[i][j]) / float64(n) }
	rows, columns := make([]float64, len(table)), make([]float64, len(table))
	observed, chance := 0.0, 0.0
	for i := range table {
		observed += share(i, i)
		for j := range table {
			rows[i] += share(i, j)
			columns[j] += share(i, j)
		}
	}
	for i := range rows {
		chance += rows[i] * columns[i]
	}
	if 1-chance <= tieTolerance {
		return e
	}
	e.Value = (observed - chance) / (1 - chance)
	disagree := 1 - e.Value
	variance := 0.0
	for i := range table {
		for j := range table {
			if i == j {
				d := 1 - (rows[i]+columns[i])*disagree
				variance += share(i, i) * d * d
			} else {
				d := columns[i] + rows[j]
				variance += disagree * disagree * share(i, j) * d * d
			}
		}
	}
	d := e.Value - chance*disagree
	variance = max(0, variance-d*d) / (float64(n) * (1 - chance) * (1 - chance))
	e.SE = math.Sqrt(variance)
	if e.SE <= tieTolerance {
		return e
	}
	half := normalQuantile(confidence) * e.SE
	e.Lo, e.Hi, e.OK = max(-1, e.Value-half), min(1, e.Value+half), true
	return e
}

// pairable returns the items with at least two ratings, without missing ones and sorted, and the
// mean of all ratings.
func pairable(units [][]float64) (rated [][]float64, center float64) {
	var all []float64
	for _, u := range units {
		u = slices.DeleteFunc(slices.Clone(u), math.IsNaN)
		if len(u) < 2 {
			continue
		}
		slices.Sort(u)
		rated, all = append(rated, u), append(all, u...)
	}
	return rated, average(all)
}

// alpha returns the agreement of any number of raters (Krippendorff 2011), whose ratings [pairable]
// returned. With n ratings, observed the sum over items of squared differences of ordered pairs
// divided by one less than the ratings of the item, and expected that of all ordered pairs of
// ratings,
//
//	alpha = 1 - (n-1) observed/expected
//
// A difference is 0 or 1 for categories, and that of the values if interval is set. ok is false
// without two different values. The squared differences of a sample are 2 (n sum of x^2 - (sum of
// x)^2) for values, and n^2 - sum of the squared counts for categories. center is taken from the
// values, so that large ones do not cancel.
func alpha(rated [][]float64, center float64, interval bool) (a float64, ok bool) {
	counts := map[float64]float64{}
	n, sum, sumSquares, observed := 0.0, 0.0, 0.0, 0.0
	for _, u := range rated {
		m := float64(len(u))
		unitSum, unitSquares, same := 0.0, 0.0, 0.0
		for i, from := 0, 0; i < len(u); i++ {
			v := u[i] - center
			unitSum, unitSquares = unitSum+v, unitSquares+v*v
			if i+1 == len(u) || u[i+1] != u[i] {
				c := float64(i + 1 - from)
				counts[u[i]] += c
				same, from = same+c*c, i+1
			}
		}
		n, sum, sumSquares = n+m, sum+unitSum, sumSquares+unitSquares
		switch {
		case interval:
			observed += 2 * (m*unitSquares - unitSum*unitSum) / (m - 1)
		default:
			observed += (m*m - same) / (m - 1)
		}
	}
	if len(counts) < 2 {
		return 0, false
	}
	expected := 2 * (n*sumSquares - sum*sum)
	if !interval {
		expected = n * n
		for _, c := range counts {
			expected -= c * c
		}
	}
	return 1 - (n-1)*observed/expected, true
}

const (
	// alphaResamples is the number of resamples of the interval of Krippendorff's alpha.
	alphaResamples = 2_000
	// alphaUnits is the smallest number of items for which it is computed.
	alphaUnits = 30
)

// AlphaInterval returns Krippendorff's alpha with a percentile bootstrap interval over items, from
// 2,000 resamples. units holds the ratings of each item; NaN is a missing rating, and items with fewer
// than two ratings do not count. Ratings are values if interval is set, and categories otherwise. OK is
// false for fewer than 30 items with two ratings; then Value alone is set. The order of the items does
// not matter.
func AlphaInterval(units [][]float64, interval bool, conf float64, seed Seed) Estimate {
	e := unknown("bootstrap over items")
	rated, center := pairable(units)
	a, ok := alpha(rated, center, interval)
	if !ok || !isConfidence(conf) {
		return e
	}
	e.Value = a
	if len(rated) < alphaUnits {
		return e
	}
	slices.SortFunc(rated, slices.Compare)
	resampled := make([]float64, 0, alphaResamples)
	resample := make([][]float64, len(rated))
	for block := range alphaResamples / drawBlock {
		random := rand.New(seed.block(block))
		for range drawBlock {
			for i := range resample {
				resample[i] = rated[random.IntN(len(rated))]
			}
			if a, ok := alpha(resample, center, interval); ok {
				resampled = append(resampled, a)
			}
		}
	}
	_, variance := meanVariance(resampled)
	if !(variance > 0) {
		return e
	}
	slices.Sort(resampled)
	skip := int((1 - conf) / 2 * float64(len(resampled)))
	e.Lo, e.Hi, e.OK = resampled[skip], resampled[len(resampled)-1-skip], true
	e.SE = math.Sqrt(variance)
	return e
}
