package analyze

// CaseTest returns the two-sided p-value of the hypothesis that the mean of diffs is 0, by Student's
// t with G - 1 degrees of freedom for G clusters: t = mean / SE, with the standard error CR1 of
// [clusteredError] (Liang and Zeger 1986, with the correction G / (G - 1)). With clusters nil, each
// value is its own. ok is false for fewer than two clusters, or if the standard error is 0.
func CaseTest(diffs []float64, clusters []int) (p float64, ok bool) {
	if len(diffs) == 0 {
		return 0, false
	}
	groups := len(diffs)
	if clusters != nil {
		distinct := map[int]struct{}{}
		for _, c := range clusters {
			distinct[c] = struct{}{}
		}
		groups = len(distinct)
	} else {
		for i := range diffs {
			clusters = append(clusters, i)
		}
	}
	e := clusteredError(diffs, clusters)
	if groups < 2 || !(e.CR1 > 0) {
		return 0, false
	}
	return min(1, 2*TAbove(max(e.Mean, -e.Mean)/e.CR1, float64(groups-1))), true
}
