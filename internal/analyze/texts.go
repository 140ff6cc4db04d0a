package analyze

import (
	"math"

	"gonum.org/v1/gonum/stat/combin"
)

// MMDHamming compares the distributions of two sets of texts, prompt by prompt, by the unbiased
// squared maximum mean discrepancy with the Hamming kernel (Gao, Liang and Guestrin 2024). promptX
// and promptY name the prompt of each text. For each prompt it is the mean kernel over ordered
// pairs of different texts of x, minus twice that over pairs of x and y, plus that over pairs of y;
// the result is the mean over prompts, and can be negative. The kernel of two texts is the share of
// equal code points at the first length positions, where shorter texts are padded and the padding
// is equal. ok is false without prompts, and if a prompt has fewer than two texts on a side.
func MMDHamming(x, y []string, promptX, promptY []int, length int) (mmd float64, ok bool) {
	if len(x) != len(promptX) || len(y) != len(promptY) || length < 1 {
		return math.NaN(), false
	}
	type texts struct{ x, y [][]rune }
	prompts := map[int]*texts{}
	at := func(prompt int) *texts {
		if prompts[prompt] == nil {
			prompts[prompt] = &texts{}
		}
		return prompts[prompt]
	}
	for i, s := range x {
		p := at(promptX[i])
		p.x = append(p.x, []rune(s))
	}
	for i, s := range y {
		p := at(promptY[i])
		p.y = append(p.y, []rune(s))
	}
	values := make([]float64, 0, len(prompts))
	for _, p := range prompts {
		v, ok := discrepancy(p.x, p.y, hamming(length))
		if !ok {
			return 0, false
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return 0, false
	}
	return average(values), true
}

// MMDSpectrum is the discrepancy of [MMDHamming] of one prompt with another kernel: the cosine of
// the counts of all sequences of 1 to longest code points. ok is false for fewer than two texts on
// a side.
func MMDSpectrum(x, y []string, longest int) (mmd float64, ok bool) {
	if longest < 1 {
		return math.NaN(), false
	}
	return discrepancy(spectra(x, longest), spectra(y, longest), cosine)
}

// MMDPermutation is the permutation test of the discrepancy of [MMDHamming] of one prompt over all
// splits of the pooled texts. p is the share of splits with at least the observed discrepancy. ok
// is false for fewer than two texts on a side.
func MMDPermutation(x, y []string, length int) (stat, p float64, splits int, ok bool) {
	if length < 1 {
		return math.NaN(), math.NaN(), 0, false
	}
	if len(x) < 2 || len(y) < 2 {
		return 0, 0, 0, false
	}
	pooled := make([][]rune, 0, len(x)+len(y))
	for _, texts := range [][]string{x, y} {
		for _, s := range texts {
			pooled = append(pooled, []rune(s))
		}
	}
	n := len(pooled)
	kernel := make([]float64, n*n)
	k := hamming(length)
	for i := range n {
		for j := range i {
			kernel[i*n+j] = k(pooled[i], pooled[j])
			kernel[j*n+i] = kernel[i*n+j]
		}
	}
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	look := func(i, j int) float64 { return kernel[i*n+j] }
	stat, _ = discrepancy(index[:len(x)], index[len(x):], look)
	slack := tieTolerance * max(1, math.Abs(stat))
	extreme := 0
	subset, rest := make([]int, len(x)), make([]int, 0, n)
	for g := combin.NewCombinationGenerator(n, len(x)); g.Next(); {
		g.Combination(subset)
		rest = rest[:0]
		for i, at := 0, 0; i < n; i++ {
			if at < len(subset) && subset[at] == i {
				at++
			} else {
				rest = append(rest, i)
			}
		}
		splits++
		if v, _ := discrepancy(subset, rest, look); v >= stat-slack {
			extreme++
		}
	}
	return stat, float64(extreme) / float64(splits), splits, true
}

// TotalVariation returns the distance of two distributions that counts estimate: half the sum of
// the absolute differences of the shares. Small samples raise it, so do not compare it with a fixed
// threshold. ok is false if a side has no counts.
func TotalVariation(p, q map[string]int) (v float64, ok bool) {
	sum := func(counts map[string]int) (n int) {
		for _, c := range counts {
			if c < 0 {
				return -1
			}
			n += c
		}
		return n
	}
	n, m := sum(p), sum(q)
	if n < 0 || m < 0 {
		return math.NaN(), false
	}
	if n == 0 || m == 0 {
		return 0, false
	}
	diffs := make([]float64, 0, len(p)+len(q))
	for k, c := range p {
		diffs = append(diffs, math.Abs(float64(c)/float64(n)-float64(q[k])/float64(m)))
	}
	for k, c := range q {
		if _, both := p[k]; !both {
			diffs = append(diffs, float64(c)/float64(m))
		}
	}
	return total(diffs) / 2, true
}

// discrepancy returns the unbiased squared maximum mean discrepancy of x and y. ok is false for
// fewer than two items on a side.
func discrepancy[T any](x, y []T, kernel func(a, b T) float64) (v float64, ok bool) {
	if len(x) < 2 || len(y) < 2 {
		return 0, false
	}
	within := func(s []T) float64 {
		sum := 0.0
		for i := range s {
			for j := range i {
				sum += kernel(s[i], s[j])
			}
		}
		return 2 * sum / float64(len(s)*(len(s)-1))
	}
	across := 0.0
	for _, a := range x {
		for _, b := range y {
			across += kernel(a, b)
		}
	}
	return within(x) - 2*across/float64(len(x)*len(y)) + within(y), true
}

// hamming returns the kernel of [MMDHamming].
func hamming(length int) func(a, b []rune) float64 {
	return func(a, b []rune) float64 {
		a, b = a[:min(len(a), length)], b[:min(len(b), length)]
		equal := length - max(len(a), len(b)) // the padding of both
		for i := range min(len(a), len(b)) {
			if a[i] == b[i] {
				equal++
			}
		}
		return float64(equal) / float64(length)
	}
}

// spectra counts the sequences of 1 to longest code points of each text.
func spectra(texts []string, longest int) []map[string]float64 {
	counts := make([]map[string]float64, len(texts))
	for i, s := range texts {
		runes := []rune(s)
		counts[i] = map[string]float64{}
		for from := range runes {
			for to := from + 1; to <= min(len(runes), from+longest); to++ {
				counts[i][string(runes[from:to])]++
			}
		}
	}
	return counts
}

// cosine returns the cosine of two vectors of counts. Two vectors without counts are equal; one
// without counts has nothing in common with another.
func cosine(a, b map[string]float64) float64 {
	// Counts are whole numbers, so the order of the map does not change the sums.
	var product, squaresA, squaresB float64
	for k, v := range a {
		product += v * b[k]
		squaresA += v * v
	}
	for _, v := range b {
		squaresB += v * v
	}
	switch {
	case len(a) == 0 && len(b) == 0:
		return 1
	case len(a) == 0 || len(b) == 0:
		return 0
	}
	return product / math.Sqrt(squaresA*squaresB)
}
