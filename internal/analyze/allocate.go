package analyze

import "container/heap"

// Allocate spends a number of repetitions on each side of a comparison where the cases vary: each
// case gets at least one. It returns the repetitions of each case. variances are those of one
// repetition within each case.
//
// Each further repetition goes where it reduces the variance of the mean difference most, which is
// M^-2 sum 2 v_i/r_i. The result has r_i proportional to sqrt(v_i), as far as whole numbers allow
// (Neyman 1934).
func Allocate(variances []float64, sessions int) (repeats []int) {
	q := &allocation{variances: variances, repeats: make([]int, len(variances))}
	for i := range variances {
		q.repeats[i] = 1
		q.order = append(q.order, i)
	}
	heap.Init(q)
	for left := sessions - len(variances); left > 0 && len(variances) > 0; left-- {
		q.repeats[q.order[0]]++
		heap.Fix(q, 0)
	}
	return q.repeats
}

// allocation is a heap of cases, the one whose next repetition tells most first.
type allocation struct {
	variances []float64
	repeats   []int
	order     []int
}

func (a *allocation) gain(i int) float64 {
	n := float64(a.repeats[i])
	return a.variances[i] / (n * (n + 1))
}

func (a *allocation) Len() int { return len(a.order) }

func (a *allocation) Less(i, j int) bool {
	x, y := a.order[i], a.order[j]
	if gx, gy := a.gain(x), a.gain(y); gx != gy {
		return gx > gy
	}
	return x < y
}

func (a *allocation) Swap(i, j int) { a.order[i], a.order[j] = a.order[j], a.order[i] }

func (a *allocation) Push(any) {} // all cases are there from the start

func (a *allocation) Pop() any { return nil } // and stay
