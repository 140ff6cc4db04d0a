package drift

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// mmdTest is a permutation test with the statistic T = sum of d_ij over all chosen i and j. In each
// stratum, k of the units are chosen: the new ones. The rows of d add up to 0 within each stratum.
type mmdTest struct {
	d      []float64 // n x n
	n      int
	chosen []bool
	strata [][]int
}

// mmdDays is the test at the day level. The unit of exchange is the day: with n_d runs on day d,
// entry (d, e) is the sum of the centered kernels of their runs over sqrt(n_d n_e). Rows and columns
// are centered.
func (t *windowTest) mmdDays(skip []bool) *mmdTest {
	m := len(t.runs)
	counts := make([]int, t.days)
	for i, d := range t.day {
		if skip == nil || !skip[t.submitter[i]] {
			counts[d]++
		}
	}
	number, n := make([]int, t.days), 0
	x := &mmdTest{}
	for d, c := range counts {
		if c > 0 {
			number[d] = n
			n++
			x.chosen = append(x.chosen, d >= t.oldDays)
		}
	}
	x.n, x.d, x.strata = n, make([]float64, n*n), [][]int{make([]int, n)}
	kept := make([]int, 0, m)
	for i, s := range t.submitter {
		if skip == nil || !skip[s] {
			kept = append(kept, i)
		}
	}
	for _, i := range kept {
		row, source := x.d[number[t.day[i]]*n:][:n], t.gram[i*m:][:m]
		for _, j := range kept {
			row[number[t.day[j]]] += source[j]
		}
	}
	for d, c := range counts {
		for e, b := range counts {
			if c > 0 && b > 0 {
				x.d[number[d]*n+number[e]] /= math.Sqrt(float64(c * b))
			}
		}
	}
	x.center()
	for i := range n {
		x.strata[0][i] = i
	}
	return x
}

// center takes the means out of the rows and columns.
func (x *mmdTest) center() {
	means, all := make([]float64, x.n), 0.0
	for i := range x.n {
		for j := range x.n {
			means[i] += x.d[i*x.n+j] / float64(x.n)
		}
		all += means[i] / float64(x.n)
	}
	for i := range x.n {
		for j := range x.n {
			x.d[i*x.n+j] += all - means[i] - means[j]
		}
	}
}

// mmdRuns is the test at the run level. The unit of exchange is the run within its submitter.
func (t *windowTest) mmdRuns(skip []bool) *mmdTest {
	m := len(t.runs)
	var kept []int
	for i, s := range t.submitter {
		if skip == nil || !skip[s] {
			kept = append(kept, i)
		}
	}
	x := &mmdTest{n: len(kept), d: make([]float64, len(kept)*len(kept)), strata: make([][]int, len(t.names))}
	for i, a := range kept {
		row, source := x.d[i*x.n:][:x.n], t.gram[a*m:][:m]
		for j, b := range kept {
			row[j] = source[b]
		}
		x.chosen = append(x.chosen, a >= t.old)
		x.strata[t.submitter[a]] = append(x.strata[t.submitter[a]], i)
	}
	return x
}

// observed returns the statistic of the new units.
func (x *mmdTest) observed() float64 {
	sum := 0.0
	for i, a := range x.chosen {
		if !a {
			continue
		}
		row := x.d[i*x.n:][:x.n]
		for j, b := range x.chosen {
			if b {
				sum += row[j]
			}
		}
	}
	return sum
}

// moments returns the mean and the variance of the statistic over all choices. For strata with k of
// N chosen and c = k(N-k)/(N(N-1)): mean = sum c_i d_ii, and variance = 2 sum over i != j of
// c_i c_j d_ij^2, plus for each stratum k(N-k)/(N(N-1)) (1-2k/N)^2 sum (d_ii - mean of d_ii)^2.
func (x *mmdTest) moments() (mean, variance float64) {
	c := make([]float64, x.n)
	for _, stratum := range x.strata {
		n, k, diagonal := float64(len(stratum)), 0.0, 0.0
		for _, i := range stratum {
			if x.chosen[i] {
				k++
			}
			diagonal += x.d[i*x.n+i]
		}
		if n < 2 {
			continue
		}
		share := k * (n - k) / (n * (n - 1))
		spread := 0.0
		for _, i := range stratum {
			c[i] = share
			mean += share * x.d[i*x.n+i]
			spread += (x.d[i*x.n+i] - diagonal/n) * (x.d[i*x.n+i] - diagonal/n)
		}
		variance += share * (1 - 2*k/n) * (1 - 2*k/n) * spread
	}
	for i, ci := range c {
		if ci == 0 {
			continue
		}
		row, sum := x.d[i*x.n:][:x.n], 0.0
		for j, v := range row {
			sum += c[j] * v * v
		}
		variance += 2 * ci * (sum - ci*row[i]*row[i])
	}
	return mean, variance
}

// p returns the p-value, in stages: the moments with skewness 0.6; if that is at most 0.1, the moments
// of 99 random choices; if that is below 0.02, the share of 499 or 4,999 random choices that are at
// least as extreme.
func (x *mmdTest) p(seed func() analyze.Seed) float64 {
	const skewness, first, second, enough = 0.6, 0.1, 0.02, 8
	observed := x.observed()
	mean, variance := x.moments()
	if !(variance > 0) {
		return 1
	}
	if p := pearsonTail((observed-mean)/math.Sqrt(variance), skewness); p > first {
		return p
	}
	random := newShuffles(x, seed())
	if p := random.fitted(observed, 99); p >= second {
		return p
	}
	n, hits := 499, random.hits(observed, 499)
	if hits < enough {
		n, hits = 4999, hits+random.hits(observed, 4500)
	}
	return float64(1+hits) / float64(n+1)
}

// precise returns the p-value of an alarm with up to 99,999 random choices.
func (t *windowTest) precise() float64 {
	x := t.mmdDays(nil)
	observed := x.observed()
	random := newShuffles(x, t.seed(nil)())
	const most, enough = 99999, 8
	hits := 0
	for n := range most {
		if random.atLeast(observed) {
			if hits++; hits == enough {
				return t.span.tests * float64(1+hits) / float64(n+2)
			}
		}
	}
	return t.span.tests * float64(1+hits) / (most + 1)
}

// pearsonTail is the upper tail at z of the Pearson type III distribution with mean 0, variance 1 and
// a skewness.
func pearsonTail(z, skewness float64) float64 {
	if skewness <= 0.001 {
		return 0.5 * math.Erfc(z/math.Sqrt2)
	}
	k := 4 / (skewness * skewness)
	if x := k + z*math.Sqrt(k); x > 0 {
		return mathext.GammaIncRegComp(k, x)
	}
	return 1
}

// shuffles makes random choices of the units of a test.
type shuffles struct {
	x      *mmdTest
	random *rand.Rand
	picked []int     // the chosen units, or those that are not chosen
	signs  []float64 // 1, or -1 for units that are not chosen
}

func newShuffles(x *mmdTest, seed analyze.Seed) *shuffles {
	return &shuffles{x: x, random: rand.New(rand.NewChaCha8(seed))}
}

// next returns the statistic of a random choice. The rows add up to 0 within a stratum, so a stratum
// can be represented by its units that are not chosen, with the sign changed. It uses the fewer.
func (d *shuffles) next() float64 {
	d.picked, d.signs = d.picked[:0], d.signs[:0]
	for _, stratum := range d.x.strata {
		k, sign := 0, 1.0
		for _, i := range stratum {
			if d.x.chosen[i] {
				k++
			}
		}
		if 2*k > len(stratum) {
			k, sign = len(stratum)-k, -1
		}
		for i := range k {
			j := i + d.random.IntN(len(stratum)-i)
			stratum[i], stratum[j] = stratum[j], stratum[i]
			d.picked, d.signs = append(d.picked, stratum[i]), append(d.signs, sign)
		}
	}
	sum := 0.0
	for a, i := range d.picked {
		row, part := d.x.d[i*d.x.n:][:d.x.n], 0.0
		for b, j := range d.picked[:a] {
			part += row[j] * d.signs[b]
		}
		sum += 2*part*d.signs[a] + row[i]
	}
	return sum
}

// atLeast reports whether a random choice is at least as extreme as the observed one.
func (d *shuffles) atLeast(observed float64) bool {
	return d.next() >= observed-1e-12*max(1, math.Abs(observed))
}

// hits counts the random choices that are at least as extreme, of n.
func (d *shuffles) hits(observed float64, n int) int {
	hits := 0
	for range n {
		if d.atLeast(observed) {
			hits++
		}
	}
	return hits
}

// fitted returns the tail of the Pearson type III distribution with the moments of n random choices.
func (d *shuffles) fitted(observed float64, n int) float64 {
	values := make([]float64, n)
	mean := 0.0
	for i := range values {
		values[i] = d.next()
		mean += values[i] / float64(n)
	}
	var second, third float64
	for _, v := range values {
		second += (v - mean) * (v - mean) / float64(n)
		third += (v - mean) * (v - mean) * (v - mean) / float64(n)
	}
	if !(second > 0) {
		return 1
	}
	return pearsonTail((observed-mean)/math.Sqrt(second), third/math.Pow(second, 1.5))
}

// seedOf is the seed of a test on one window with the given runs.
func seedOf(statistic string, w window, units []string) analyze.Seed {
	return analyze.NewSeed(fmt.Sprintf("drift %s %d %d %t", statistic, w.day, w.length, w.runs), units...)
}
