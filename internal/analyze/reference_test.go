package analyze

// McNemar is the reference for tests of cases with one repetition a side: the p-values of the exact
// test of McNemar (1947). b cases passed on the baseline only, c on the candidate only. With X binomial
// of b+c trials of probability 1/2,
//
//	worse    = P(X >= b)
//	twoSided = min(1, 2 min(P(X >= b), P(X >= c)))
//	midP     = min(1, 2 min(...) - P(X = b))
//
// All are 1 if no case differs.
func mcNemar(b, c int) (worse, twoSided, midP float64) {
	if b+c == 0 {
		return 1, 1, 1
	}
	worse = binomialAtLeast(b, b+c, 0.5)
	twice := 2 * min(worse, binomialAtLeast(c, b+c, 0.5))
	return worse, min(1, twice), min(1, twice-binomial(b, b+c, 0.5))
}
