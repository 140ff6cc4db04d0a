package analyze

import "math"

// Fisher returns the p-values of Fisher's exact test of the table
//
//	a b
//	c d
//
// Given its margins, a has a hypergeometric distribution: less is P(X <= a), greater is P(X >= a),
// and twoSided adds the tables that are at most as probable as the observed one.
func Fisher(a, b, c, d int) (less, greater, twoSided float64) {
	if a < 0 || b < 0 || c < 0 || d < 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	row, column, all := a+b, a+c, a+b+c+d
	observed := hypergeometric(a, column, row, all)
	var below, above, unlikely []float64
	for x := max(0, row+column-all); x <= min(row, column); x++ {
		p := hypergeometric(x, column, row, all)
		if x < a {
			below = append(below, p)
		}
		if x > a {
			above = append(above, p)
		}
		if p <= observed*(1+1e-7) {
			unlikely = append(unlikely, p)
		}
	}
	return min(1, total(append(below, observed))), min(1, total(append(above, observed))), min(1, total(unlikely))
}

// combinations returns C(n, k), or a number above limit if it is larger than limit.
func combinations(n, k, limit int) int {
	c := 1
	for i := 1; i <= k; i++ {
		if c = c * (n - k + i) / i; c > limit {
			return limit + 1
		}
	}
	return c
}

// ordinal maps floating-point numbers to integers of the same order, so that neighbors differ by 1.
func ordinal(x float64) int64 {
	bits := int64(math.Float64bits(x + 0)) // x + 0 turns -0 into 0
	if bits < 0 {
		return math.MinInt64 - bits
	}
	return bits
}

func fromOrdinal(i int64) float64 {
	if i < 0 {
		i = math.MinInt64 - i
	}
	return math.Float64frombits(uint64(i))
}
