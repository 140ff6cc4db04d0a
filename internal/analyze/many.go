package analyze

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns p-values adjusted for the family-wise error rate by Holm (1979): with p sorted
// ascending, the running maximum of min(1, (m-i+1) p_i). Results are in input order. A value that
// is not a probability makes all results NaN.
func Holm(p []float64) []float64 {
	return adjust(p, func(sorted []float64) {
		at := 0.0
		for i, v := range sorted {
			at = max(at, min(1, float64(len(sorted)-i)*v))
			sorted[i] = at
		}
	})
}

// BH returns p-values adjusted for the false-discovery rate by Benjamini and Hochberg (1995): with
// p sorted ascending, from the largest down, the running minimum of min(1, m p_i/i). Results are in
// input order. A value that is not a probability makes all results NaN.
func BH(p []float64) []float64 {
	return adjust(p, func(sorted []float64) {
		at, m := 1.0, float64(len(sorted))
		for i, v := range slices.Backward(sorted) {
			at = min(at, v*m/float64(i+1))
			sorted[i] = at
		}
	})
}

// adjust applies step to the sorted p-values and returns the results in input order.
func adjust(p []float64, step func(sorted []float64)) []float64 {
	q := make([]float64, len(p))
	if !probabilities(p) {
		for i := range q {
			q[i] = math.NaN()
		}
		return q
	}
	order := ascending(p)
	sorted := make([]float64, len(p))
	for i, at := range order {
		sorted[i] = p[at]
	}
	step(sorted)
	for i, at := range order {
		q[at] = sorted[i]
	}
	return q
}

// ascending returns the indices of values in ascending order of the values.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}

func probabilities(p []float64) bool {
	return !slices.ContainsFunc(p, func(v float64) bool { return !(v >= 0 && v <= 1) })
}
