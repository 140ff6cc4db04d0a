package analyze

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// Seed makes the random draws of a test reproducible.
type Seed [sha256.Size]byte

// NewSeed returns the seed of a test with the names of its units, such as run ids and case hashes.
// The order of the units does not matter.
func NewSeed(test string, units ...string) Seed {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(test), test)
	for _, u := range slices.Sorted(slices.Values(units)) {
		fmt.Fprintf(h, "%d:%s", len(u), u)
	}
	return Seed(h.Sum(nil))
}

// block returns the random numbers of block j of the draws of a test. Blocks can be drawn in any
// order and at the same time.
func (s Seed) block(j int) *rand.ChaCha8 {
	return rand.NewChaCha8(sha256.Sum256(binary.BigEndian.AppendUint64(s[:], uint64(j))))
}

// Permutation is the result of a permutation test of differences baseline minus candidate.
type Permutation struct {
	// Mean is the mean difference over cases, baseline minus candidate: a positive one is a loss.
	Mean float64
	// Greater is the share of arrangements whose sum is at least the observed one, Less that with
	// at most the observed one, and TwoSided that with at least its absolute value. The observed
	// arrangement is among them, so no share is 0.
	Greater, Less, TwoSided float64
	// Exact is true if all arrangements were enumerated. Otherwise the shares come from 9,999
	// random draws as (1+hits)/10,000 (Phipson and Smyth 2010), or from the normal approximation.
	Exact bool
}

// mirrored returns the result with the sides swapped.
func (p Permutation) mirrored() Permutation {
	p.Mean, p.Greater, p.Less = -p.Mean, p.Less, p.Greater
	return p
}

// balanced returns the result of sides that are their own mirror: no direction may be favored, not
// even by chance.
func (p Permutation) balanced() Permutation {
	p.Greater = max(p.Greater, p.Less)
	p.Less = p.Greater
	return p
}

const (
	// draws is the number of random arrangements, so that a level of 0.05 is a whole number of
	// them.
	draws = 9_999
	// drawBlock is the number of draws with one seed.
	drawBlock = 1_000
	// arrangements is the largest number of arrangements that are enumerated.
	arrangements = 1 << 20
	// tableSize is the largest number of sums that one random number picks from.
	tableSize = 512
	// normalAbove is the number of repetitions above which a stratified permutation with
	// repetitions uses the normal approximation.
	normalAbove = 200_000
)

// signFlip is the permutation test of differences of cases, baseline minus candidate: each
// difference keeps or changes its sign with equal probability. Zeros do not matter. Differences of
// equal size are counted together, since a number n of them has only n+1 different sums; up to
// 1,048,576 combinations, which is 20 differences of different sizes, the result is exact.
// Without a difference that is not zero, all shares are 1. The result is NaN without differences.
func signFlip(diffs []float64, seed Seed) Permutation {
	if len(diffs) == 0 || !finite(diffs) {
		return senseless()
	}
	sum := total(diffs)
	sizes := make([]float64, 0, len(diffs))
	for _, d := range diffs {
		if d != 0 {
			sizes = append(sizes, math.Abs(d))
		}
	}
	slices.Sort(sizes)
	p := flipSigns(sizes, math.Abs(sum), seed)
	switch {
	case sum < 0:
		p = p.mirrored()
	case sum == 0:
		p = p.balanced()
	}
	p.Mean = sum / float64(len(diffs))
	return p
}

func senseless() Permutation {
	nan := math.NaN()
	return Permutation{Mean: nan, Greater: nan, Less: nan, TwoSided: nan}
}

// flipSigns tests a sum that is not negative.
func flipSigns(sizes []float64, sum float64, seed Seed) Permutation {
	if choices, ok := flips(sizes); ok {
		return enumerate(choices, sum)
	}
	return sample(seed, sum, func(random *rand.ChaCha8, sums []float64) {
		var tables [signTables]signTable
		picks := make([]byte, signTables*len(sums))
		for sizes := range slices.Chunk(sizes, signTables*signs) {
			for i := range tables {
				from, to := min(i*signs, len(sizes)), min((i+1)*signs, len(sizes))
				tables[i].fill(sizes[from:to])
			}
			for i := 0; i < len(picks); i += 8 {
				binary.LittleEndian.PutUint64(picks[i:], random.Uint64())
			}
			addSigned(sums, &tables, picks)
		}
	})
}

const (
	// signs is the number of differences whose signs are the bits of one random byte. A loop over
	// the bits takes almost five times as long, and the statistics of 100,000 pairs then take more
	// than the 2 s of docs/performance.md.
	signs = 8
	// signTables is the number of tables that are added at once, so that each sum is read and
	// written less often. It makes the random bytes of a block a multiple of eight.
	signTables = 8
)

// signTable has the signed sums of up to eight differences, by the byte with their signs.
type signTable [1 << signs]float64

func (t *signTable) fill(sizes []float64) {
	t[0] = 0
	for _, d := range sizes {
		t[0] -= d
	}
	filled := 1
	for _, d := range sizes {
		for i := range filled {
			t[filled+i] = t[i] + 2*d
		}
		filled *= 2
	}
	for ; filled < len(t); filled *= 2 { // the last differences can be fewer than eight
		copy(t[filled:], t[:filled])
	}
}

// addSigned adds to each sum one entry of each table. picks has the random bytes of all sums for
// the first table, then for the second, and so on.
func addSigned(sums []float64, tables *[signTables]signTable, picks []byte) {
	n := len(sums)
	for t := 0; t < signTables; t += 4 { // four at once: a loop over the tables would take longer than the sums
		t0, t1, t2, t3 := &tables[t], &tables[t+1], &tables[t+2], &tables[t+3]
		p0, p1, p2, p3 := picks[t*n:][:n], picks[(t+1)*n:][:n], picks[(t+2)*n:][:n], picks[(t+3)*n:][:n]
		for i, s := range sums {
			sums[i] = s + t0[p0[i]] + t1[p1[i]] + t2[p2[i]] + t3[p3[i]]
		}
	}
}

// choice is the distribution of what one case, or several equal ones, adds to a sum.
type choice struct{ values, weights []float64 }

// flips groups sizes into choices. ok is false if they have more than arrangements combinations.
func flips(sizes []float64) (choices []choice, ok bool) {
	combinations := 1
	for from := 0; from < len(sizes); {
		to := from + 1
		for to < len(sizes) && sizes[to]-sizes[from] <= 1e-14*sizes[from] {
			to++
		}
		n := to - from
		if combinations *= n + 1; combinations > arrangements {
			return nil, false
		}
		c := choice{make([]float64, n+1), make([]float64, n+1)}
		for j := range c.values {
			c.values[j], c.weights[j] = sizes[from]*float64(2*j-n), binomial(min(j, n-j), n, 0.5)
		}
		choices = append(choices, c)
		from = to
	}
	return choices, true
}

// enumerate computes the shares over all combinations of choices.
func enumerate(choices []choice, sum float64) Permutation {
	p := Permutation{Exact: true}
	slack := tieTolerance * max(1, math.Abs(sum))
	var walk func(i int, at, weight float64)
	walk = func(i int, at, weight float64) {
		if i < len(choices) {
			c := choices[i]
			for j, v := range c.values {
				walk(i+1, at+v, weight*c.weights[j])
			}
			return
		}
		if at >= sum-slack {
			p.Greater += weight
		}
		if at <= sum+slack {
			p.Less += weight
		}
		if math.Abs(at) >= math.Abs(sum)-slack {
			p.TwoSided += weight
		}
	}
	walk(0, 0, 1)
	p.Greater, p.Less, p.TwoSided = min(1, p.Greater), min(1, p.Less), min(1, p.TwoSided)
	if math.Abs(sum) <= slack {
		p.TwoSided = 1
	}
	return p
}

// sample computes the shares from random draws. add adds a random arrangement to each of sums. The
// blocks of draws run at the same time.
func sample(seed Seed, sum float64, add func(random *rand.ChaCha8, sums []float64)) Permutation {
	slack := tieTolerance * max(1, math.Abs(sum))
	const blocks = (draws + drawBlock - 1) / drawBlock
	var hits [blocks][3]int
	var wait sync.WaitGroup
	for j := range blocks {
		wait.Go(func() {
			sums := make([]float64, min(drawBlock, draws-j*drawBlock))
			add(seed.block(j), sums)
			for _, s := range sums {
				if s >= sum-slack {
					hits[j][0]++
				}
				if s <= sum+slack {
					hits[j][1]++
				}
				if math.Abs(s) >= math.Abs(sum)-slack {
					hits[j][2]++
				}
			}
		})
	}
	wait.Wait()
	greater, less, extreme := 0, 0, 0
	for _, h := range hits {
		greater, less, extreme = greater+h[0], less+h[1], extreme+h[2]
	}
	share := func(n int) float64 { return float64(1+n) / (draws + 1) }
	return Permutation{Greater: share(greater), Less: share(less), TwoSided: share(extreme)}
}

// stratum is one case: the sorted values of both sides, how many are the baseline's, and the
// difference of the means, baseline minus candidate.
type stratum struct {
	pooled     []float64
	base, cand int
	diff       float64
}

// StratifiedPermutation is the permutation test of graded values of the same cases, such as scores
// or logarithms of tokens, with any number of repetitions on each side. base and cand hold the
// values of each case. The statistic is the mean over cases of the difference of the means;
// arrangements exchange values within a case. A case without a value on a side is left out. With
// one repetition a side it is [signFlip] of the differences. Up to 1,048,576 combinations the
// result is exact. With repetitions and more than 200,000 values, the statistic is taken as normal
// with variance S^2 (1/n+1/m) a case, where S^2 is the sample variance of all n+m values of the
// case. The result is NaN without cases.
func StratifiedPermutation(base, cand [][]float64, seed Seed) Permutation {
	strata, ok := newStrata(base, cand)
	if !ok {
		return senseless()
	}
	cases := float64(len(strata))
	// Cases whose values are all equal cannot matter.
	strata = slices.DeleteFunc(strata, func(s stratum) bool { return s.pooled[0] == s.pooled[len(s.pooled)-1] })
	if len(strata) == 0 {
		return Permutation{Greater: 1, Less: 1, TwoSided: 1, Exact: true}
	}
	diffs := make([]float64, len(strata))
	values, repeated := 0, false
	for i, s := range strata {
		diffs[i] = s.diff
		values += len(s.pooled)
		repeated = repeated || len(s.pooled) > 2
	}
	if !repeated {
		p := signFlip(diffs, seed)
		p.Mean = total(diffs) / cases
		return p
	}
	// The same case must be first for swapped sides. So the side with the larger mean is taken as
	// the baseline, or without one, that with fewer repetitions in the first case that differs.
	sum := total(diffs)
	slices.SortFunc(strata, compareStrata)
	mirror := slices.Clone(strata)
	for i, s := range strata {
		mirror[i].base, mirror[i].cand = s.cand, s.base
	}
	slices.SortFunc(mirror, compareStrata)
	order := cmp.Or(cmp.Compare(0, sum), slices.CompareFunc(strata, mirror, compareStrata))
	if order > 0 {
		strata = mirror
	}
	p := stratifiedPermutation(strata, math.Abs(sum), values, seed)
	switch {
	case order > 0:
		p = p.mirrored()
	case order == 0:
		p = p.balanced()
	}
	p.Mean = sum / cases
	return p
}

func compareStrata(a, b stratum) int {
	return cmp.Or(slices.Compare(a.pooled, b.pooled), cmp.Compare(a.base, b.base))
}

// stratifiedPermutation tests a sum of differences that is not negative.
func stratifiedPermutation(strata []stratum, sum float64, values int, seed Seed) Permutation {
	if choices, ok := relabel(strata); ok {
		return enumerate(choices, sum)
	}
	if values > normalAbove {
		variances := make([]float64, len(strata))
		for i, s := range strata {
			_, v := meanVariance(s.pooled)
			variances[i] = v * (1/float64(s.base) + 1/float64(s.cand))
		}
		z := sum / math.Sqrt(total(variances))
		return Permutation{Greater: normalBelow(-z), Less: normalBelow(z), TwoSided: min(1, 2*normalBelow(-z))}
	}
	return sample(seed, sum, func(random *rand.ChaCha8, sums []float64) {
		// The relabelings of neighboring cases are combined, so that one random number picks one of
		// each.
		table := []float64{0}
		for _, s := range strata {
			small := min(s.base, s.cand)
			switch n := combinations(len(s.pooled), small, tableSize); {
			case n > tableSize:
				s.shuffle(random, sums)
			case n*len(table) > tableSize:
				pick(random, table, sums)
				table = s.differences()
			default:
				table = outer(table, s.differences())
			}
		}
		pick(random, table, sums)
	})
}

// newStrata pairs the values of both sides. ok is false if no case has values on both sides, or a
// value is not finite.
func newStrata(base, cand [][]float64) (strata []stratum, ok bool) {
	if len(base) != len(cand) {
		return nil, false
	}
	for i := range base {
		if len(base[i]) == 0 || len(cand[i]) == 0 {
			continue
		}
		s := stratum{pooled: slices.Concat(base[i], cand[i]), base: len(base[i]), cand: len(cand[i])}
		if !finite(s.pooled) {
			return nil, false
		}
		slices.Sort(s.pooled)
		s.diff = average(base[i]) - average(cand[i])
		strata = append(strata, s)
	}
	return strata, len(strata) > 0
}

// difference returns the mean of the baseline minus that of the candidate when the values of the
// smaller side add up to sum.
func (s *stratum) difference(sum, all float64) float64 {
	small, large := float64(min(s.base, s.cand)), float64(max(s.base, s.cand))
	d := sum/small - (all-sum)/large
	if s.base > s.cand {
		return -d
	}
	return d
}

// differences returns the difference of each relabeling of the case.
func (s *stratum) differences() []float64 {
	all := total(s.pooled)
	d := subsetSums(s.pooled, min(s.base, s.cand), 0, nil)
	for i, sum := range d {
		d[i] = s.difference(sum, all)
	}
	return d
}

// subsetSums appends at plus the sum of each subset of k values to sums.
func subsetSums(values []float64, k int, at float64, sums []float64) []float64 {
	if k == 0 {
		return append(sums, at)
	}
	for i := 0; i+k <= len(values); i++ {
		sums = subsetSums(values[i+1:], k-1, at+values[i], sums)
	}
	return sums
}

// outer returns the sums of each of a with each of b.
func outer(a, b []float64) []float64 {
	sums := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			sums = append(sums, x+y)
		}
	}
	return sums
}

// pick adds a random entry of table to each of sums. An entry is more probable than another by at
// most len(table)/2^32.
func pick(random *rand.ChaCha8, table, sums []float64) {
	n := uint64(len(table))
	for i := 0; i < len(sums); i += 2 {
		u := random.Uint64()
		sums[i] += table[(u>>32)*n>>32]
		if i+1 < len(sums) {
			sums[i+1] += table[(u&math.MaxUint32)*n>>32]
		}
	}
}

// shuffle adds the difference of a random relabeling of the case to each of sums.
func (s *stratum) shuffle(source *rand.ChaCha8, sums []float64) {
	random := rand.New(source)
	values, all := slices.Clone(s.pooled), total(s.pooled)
	for i := range sums {
		sum := 0.0
		for k := range min(s.base, s.cand) { // a partial shuffle
			other := k + int(random.Uint32N(uint32(len(values)-k)))
			values[k], values[other] = values[other], values[k]
			sum += values[k]
		}
		sums[i] += s.difference(sum, all)
	}
}

// relabel returns the distributions of the differences of the cases. ok is false if they have more
// than arrangements combinations.
func relabel(strata []stratum) (choices []choice, ok bool) {
	total := 1
	for i := range strata {
		s := &strata[i]
		n := combinations(len(s.pooled), min(s.base, s.cand), arrangements)
		if n > 1<<12 || total > arrangements {
			return nil, false
		}
		var c choice
		d := s.differences()
		slices.Sort(d)
		for _, v := range d {
			if k := len(c.values) - 1; k >= 0 && v-c.values[k] <= 1e-14*math.Abs(v) {
				c.weights[k] += 1 / float64(n)
			} else {
				c.values, c.weights = append(c.values, v), append(c.weights, 1/float64(n))
			}
		}
		total *= len(c.values)
		choices = append(choices, c)
	}
	return choices, total <= arrangements
}

// GradedDifference returns the mean over cases of the mean of the candidate minus that of the
// baseline, with the interval that belongs to [StratifiedPermutation]. With at least two values on
// each side of each case it is the interval of [RateDifference] with sample variances and without
// the second term; otherwise it is [CaseT] of the differences of the cases, which for one value a
// side is the paired t-interval. OK is false if the values do not vary.
func GradedDifference(base, cand [][]float64) Interval {
	e := unknown("stratified difference")
	none := func(float64) Estimate { return e }
	if len(base) != len(cand) {
		return none
	}
	diffs, repeated := make([]float64, 0, len(base)), true
	for i := range base {
		n, m := len(base[i]), len(cand[i])
		switch {
		case n == 0 || m == 0:
			continue
		case !finite(base[i]) || !finite(cand[i]):
			return none
		}
		diffs = append(diffs, average(cand[i])-average(base[i]))
		repeated = repeated && n > 1 && m > 1
	}
	switch {
	case len(diffs) == 0:
		return none
	case !repeated:
		return CaseT(diffs, nil)
	}
	sides := make([]side, 0, 2*len(diffs))
	for i := range base {
		if len(base[i]) == 0 || len(cand[i]) == 0 {
			continue
		}
		for _, values := range [][]float64{base[i], cand[i]} {
			n := float64(len(values))
			_, v := meanVariance(values)
			sides = append(sides, side{v / n, n - 1})
		}
	}
	variance, df := satterthwaite(sides, len(diffs))
	e.Value, e.SE = average(diffs), math.Sqrt(variance)
	return e.within(df)
}

// minClusters is the smallest number of clusters that can give a conclusion: with five, the
// smallest one-sided p-value is 1/32, which is above 0.025.
const minClusters = 6

// ClusterPermutation is [signFlip] of the sums of the differences, baseline minus candidate, of
// each cluster: cases that share a source change their signs together. It needs the same number of
// repetitions on both sides of a case. Mean is the mean over cases. ok is false for fewer than six
// clusters: the p-value is computed, but cannot reach a level of 0.025 a side.
func ClusterPermutation(diffs []float64, clusters []int, seed Seed) (p Permutation, ok bool) {
	if len(diffs) == 0 || !finite(diffs) || clusters != nil && len(clusters) != len(diffs) {
		return senseless(), false
	}
	sums := clusterSums(diffs, clusters)
	p = signFlip(sums, seed)
	p.Mean = average(diffs)
	return p, len(sums) >= minClusters
}

// Equivalent reports whether an interval lies strictly within -margin and margin. With an interval
// at level 1 - 2 alpha this is the pair of one-sided tests of Schuirmann (1987) at level alpha
// (TOST). For a ratio, compare its logarithms with log(1+margin).
func Equivalent(lo, hi, margin float64) bool { return -margin < lo && lo <= hi && hi < margin }
