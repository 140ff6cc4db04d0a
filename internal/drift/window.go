package drift

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// windowTest is the test of one window: it compares the runs of the new days with those of the old
// days. Submitters without runs on one of the sides are left out, and the mean of each submitter over
// both sides is taken out of the data, so that a submitter has an influence only if its runs change.
type windowTest struct {
	span      *span
	window    window
	statistic string
	// runs are indexes of span.runs; the first old of them are old. submitter has the index in names
	// of each, day the number of its day, from 0 without gaps.
	runs           []int
	old            int
	submitter, day []int
	names          []string
	days, oldDays  int
	first          int // the index of the first run of the window in span.runs
	// submitters counts all submitters of the window, also those on one side only.
	submitters int
	// y has the centered values of a linear scan, gram the centered Gram matrix of the others.
	y, gram []float64
}

// testResult is a p-value, and the direction of the change for linear scans.
type testResult struct {
	p    float64
	sign int
}

// test returns the test of a window, or nil if there is too little data.
func (s *span) test(w window, statistic string) *windowTest {
	t := s.split(w.oldest(), w.onset(), w.day)
	t.window, t.statistic = w, statistic
	if w.runs && (t.old < 8 || len(t.runs) == t.old) || !w.runs && (t.oldDays < 10 || t.days-t.oldDays < 3) {
		return nil
	}
	switch statistic {
	case statisticMMD, statisticLogprobs, statisticFormat:
		t.centerGram(s.grams(t.first))
	default:
		t.y = make([]float64, len(t.runs))
		for i, at := range t.runs {
			t.y[i] = s.y[at]
		}
		t.centerValues(t.y)
	}
	return t
}

// split returns the runs of the days oldest to last, with those from onset on as the new ones. If the
// onset is after the last day, all runs are old ones.
func (s *span) split(oldest, onset, last int) *windowTest {
	t := &windowTest{span: s}
	from, _ := slices.BinarySearch(s.day, oldest)
	to, _ := slices.BinarySearch(s.day, last+1)
	t.first = from
	sides := make([]int, len(s.names)) // 1: has old runs, 2: has new runs
	for i, d := range s.day[from:to] {
		if d < onset {
			sides[s.submitter[from+i]] |= 1
		} else {
			sides[s.submitter[from+i]] |= 2
		}
	}
	both := make([]int, 0, len(s.names))
	for n, side := range sides {
		if side > 0 {
			t.submitters++
		}
		if side == 3 || side == 1 && onset > last {
			sides[n] = 3
			both = append(both, n)
		}
	}
	slices.SortFunc(both, func(a, b int) int { return cmp.Compare(s.names[a], s.names[b]) })
	number := make([]int, len(s.names))
	t.names = make([]string, 0, len(both))
	for i, n := range both {
		number[n] = i
		t.names = append(t.names, s.names[n])
	}
	n := to - from
	space := make([]int, 3*n)
	t.runs, t.day, t.submitter = space[:0:n], space[n:n:2*n], space[2*n:2*n:3*n]
	day := math.MinInt
	for i, d := range s.day[from:to] {
		n := s.submitter[from+i]
		if sides[n] != 3 {
			continue
		}
		if d != day {
			day = d
			t.days++
			if d < onset {
				t.oldDays++
			}
		}
		if d < onset {
			t.old++
		}
		t.runs, t.day = append(t.runs, from+i), append(t.day, t.days-1)
		t.submitter = append(t.submitter, number[n])
	}
	return t
}

// centerValues takes the mean of each submitter out of y.
func (t *windowTest) centerValues(y []float64) {
	sums, counts := make([]float64, len(t.names)), make([]float64, len(t.names))
	for i, s := range t.submitter {
		sums[s] += y[i]
		counts[s]++
	}
	for i, s := range t.submitter {
		y[i] -= sums[s] / counts[s]
	}
}

// centerGram copies the part of the Gram matrix with the runs of the test and takes the mean of each
// submitter out of the rows and columns.
func (t *windowTest) centerGram(gram []float64) {
	m, n, g := len(t.runs), len(t.span.runs), len(t.names)
	t.gram = make([]float64, m*m)
	counts := make([]float64, g)
	for _, s := range t.submitter {
		counts[s]++
	}
	rows := make([]float64, m*g) // the mean of row i over the runs of submitter s
	for i, a := range t.runs {
		source, row, means := gram[a*n:][:n], t.gram[i*m:][:m], rows[i*g:][:g]
		for j, b := range t.runs {
			row[j] = source[b]
			means[t.submitter[j]] += source[b]
		}
		for s := range means {
			means[s] /= counts[s]
		}
	}
	blocks := make([]float64, g*g) // the mean over the runs of two submitters
	for i, s := range t.submitter {
		for u := range g {
			blocks[s*g+u] += rows[i*g+u] / counts[s]
		}
	}
	for i, s := range t.submitter {
		row, means := t.gram[i*m:][:m], rows[i*g:][:g]
		for j, u := range t.submitter {
			row[j] += blocks[s*g+u] - means[u] - rows[j*g+s]
		}
	}
}

// pooled tests the window with all submitters.
func (t *windowTest) pooled() testResult { return t.without(nil) }

// without tests the window without some submitters; skip has a value for each name.
func (t *windowTest) without(skip []bool) testResult {
	switch {
	case t.gram != nil && t.window.runs:
		return testResult{p: min(1, t.span.tests*t.mmdRuns(skip).p(t.seed(skip)))}
	case t.gram != nil:
		return testResult{p: min(1, t.span.tests*t.mmdDays(skip).p(t.seed(skip)))}
	case t.window.runs:
		return t.linearRuns(skip)
	default:
		r, _ := t.linearDays(skip)
		return r
	}
}

// seed identifies a test, for its random permutations.
func (t *windowTest) seed(skip []bool) func() analyze.Seed {
	return func() analyze.Seed {
		units := make([]string, 0, len(t.runs))
		for i, at := range t.runs {
			if skip == nil || !skip[t.submitter[i]] {
				r := t.span.runs[at]
				units = append(units, r.by.name+"\x00"+r.id)
			}
		}
		return seedOf(t.statistic, t.window, units)
	}
}

// linear is a fitted linear scan at the day level.
type linear struct{ effect, se, df float64 }

// linearDays compares the means of the days. With the values of the runs without the mean of their
// submitter, day d has the mean y_d of c_d runs. The new and the old days have the means m1 and m0,
// weighted with c, and s^2 = sum c_d r_d^2 / (D - 2) for the residuals r of D days. Then
// t = (m1 - m0) / sqrt(s^2 (1/C1 + 1/C0)) with the sums C of the weights, and D - 2 degrees of
// freedom.
func (t *windowTest) linearDays(skip []bool) (testResult, linear) {
	sums, counts := make([]float64, t.days), make([]float64, t.days)
	for i, d := range t.day {
		if skip == nil || !skip[t.submitter[i]] {
			sums[d] += t.y[i]
			counts[d]++
		}
	}
	var total, weight, days [2]float64
	side := func(d int) int {
		if d >= t.oldDays {
			return 1
		}
		return 0
	}
	for d, c := range counts {
		if c > 0 {
			total[side(d)] += sums[d]
			weight[side(d)] += c
			days[side(d)]++
		}
	}
	df := days[0] + days[1] - 2
	if days[0] == 0 || days[1] == 0 || df < 1 {
		return testResult{p: 1}, linear{math.NaN(), math.NaN(), df}
	}
	var squares float64
	for d, c := range counts {
		if c > 0 {
			r := sums[d]/c - total[side(d)]/weight[side(d)]
			squares += c * r * r
		}
	}
	fit := linear{
		total[1]/weight[1] - total[0]/weight[0], math.Sqrt(squares / df * (1/weight[0] + 1/weight[1])), df,
	}
	return studentTest(fit.effect, fit.se, df), fit
}

// linearRuns compares the runs within each submitter: z is the sum of the new values, divided by its
// standard deviation over the choices of k of the N runs of each submitter; its p-value is that of
// Student's t with max(3, runs - submitters - 1) degrees of freedom.
func (t *windowTest) linearRuns(skip []bool) testResult {
	g := len(t.names)
	chosen, all, squares := make([]float64, g), make([]float64, g), make([]float64, g)
	sum, runs, submitters := 0.0, 0, 0
	for i, s := range t.submitter {
		if skip != nil && skip[s] {
			continue
		}
		if all[s] == 0 {
			submitters++
		}
		all[s]++
		runs++
		squares[s] += t.y[i] * t.y[i]
		if i >= t.old {
			chosen[s]++
			sum += t.y[i]
		}
	}
	variance := 0.0
	for s, n := range all {
		if n > 1 {
			variance += chosen[s] * (n - chosen[s]) / (n * (n - 1)) * squares[s]
		}
	}
	return studentTest(sum, math.Sqrt(variance), float64(max(3, runs-submitters-1)))
}

// studentTest is the two-sided test that an effect with a standard error is 0.
func studentTest(effect, se, df float64) testResult {
	if !(se > 0) {
		return testResult{p: 1}
	}
	r := testResult{sign: 1, p: min(1, 2*analyze.TAbove(math.Abs(effect)/se, df))}
	if effect < 0 {
		r.sign = -1
	}
	return r
}

// influences returns how much the new runs of each submitter contribute to the result.
func (t *windowTest) influences(sign int) []float64 {
	influence := make([]float64, len(t.names))
	m := len(t.runs)
	for i := t.old; i < m; i++ {
		if t.gram == nil {
			influence[t.submitter[i]] += float64(sign) * t.y[i]
			continue
		}
		for j := t.old; j < m; j++ {
			influence[t.submitter[i]] += t.gram[i*m+j]
		}
	}
	return influence
}

// agreeing counts the submitters whose own new runs differ from their old ones in the same way as
// those of the others.
func (t *windowTest) agreeing() int {
	influence := t.influences(t.pooled().sign)
	if m := len(t.runs); t.gram != nil {
		for i := t.old; i < m; i++ {
			for j := t.old; j < m; j++ {
				if t.submitter[i] == t.submitter[j] && len(t.names) > 1 {
					influence[t.submitter[i]] -= t.gram[i*m+j]
				}
			}
		}
	}
	n := 0
	for _, v := range influence {
		if v > 0 {
			n++
		}
	}
	return n
}

// quorum returns the number of submitters that may lie, and whether at least two others are left.
func (t *windowTest) quorum() (liars int, ok bool) {
	liars = (t.submitters + 3) / 4
	return liars, len(t.names)-liars >= 2
}

// deleted repeats the test without each group of as many submitters as may lie. It returns the
// largest p-value, and the submitters without whom it is above the level. At most that many of the
// submitters lie, so one of the groups holds all liars, and the largest p-value is valid. Without a
// quorum the p-value is 1 and no submitter is named.
func (t *windowTest) deleted(level float64, pooled testResult) (largest float64, blamed []string) {
	const most = 80
	f, ok := t.quorum()
	if !ok {
		return 1, nil
	}
	g := len(t.names)
	influence := t.influences(pooled.sign)
	order := make([]int, g)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(influence[b], influence[a]) })
	test := func(skip []bool) float64 {
		r := t.without(skip)
		if r.sign != pooled.sign {
			return 1
		}
		return r.p
	}
	var groups [][]int
	if combin.LogGeneralizedBinomial(float64(g), float64(f)) <= math.Log(most+0.5) {
		groups = combin.Combinations(g, f)
		sum := func(group []int) (s float64) {
			for _, i := range group {
				s += influence[order[i]]
			}
			return s
		}
		slices.SortStableFunc(groups, func(a, b []int) int { return cmp.Compare(sum(b), sum(a)) })
		for _, group := range groups {
			for k, i := range group {
				group[k] = order[i]
			}
		}
	} else {
		groups = [][]int{t.greedy(order, f, test)}
	}
	for _, group := range groups {
		skip := make([]bool, g)
		for _, i := range group {
			skip[i] = true
		}
		if p := test(skip); p > largest || blamed == nil {
			largest, blamed = max(p, largest), nil
			for _, i := range group {
				blamed = append(blamed, t.names[i])
			}
		}
		if largest > level {
			slices.Sort(blamed)
			return largest, blamed
		}
	}
	return largest, nil
}

// greedy returns one group of f submitters: f times the one, of the 2f+2 most influential that are
// left, without whom the p-value is largest.
func (t *windowTest) greedy(order []int, f int, test func([]bool) float64) []int {
	skip := make([]bool, len(t.names))
	left := slices.Clone(order)
	var group []int
	for range f {
		best, worst := 0, -1.0
		for k := range min(2*f+2, len(left)) {
			skip[left[k]] = true
			if p := test(skip); p > worst {
				best, worst = k, p
			}
			skip[left[k]] = false
		}
		skip[left[best]] = true
		group = append(group, left[best])
		left = slices.Delete(left, best, best+1)
	}
	return group
}

// mixedRatio is the ratio of the mean squares between and within days above which a fleet is mixed.
const mixedRatio = 1.5

// mixed reports whether the days differ more than the runs within a day, over the old days: then
// the runs are not exchangeable, and only the day level counts.
func (t *windowTest) mixed() bool {
	if t.gram != nil && t.kernelRatio() > mixedRatio {
		return true
	}
	if t.span.y == nil {
		return false
	}
	y := make([]float64, t.old)
	for i, at := range t.runs[:t.old] {
		y[i] = t.span.y[at]
	}
	return varianceRatio(y, t.submitter[:t.old], t.day[:t.old]) > mixedRatio
}

// kernelRatio is the mean square between the old days over that within them, in the space of the
// kernel. Without enough data it is 0.
func (t *windowTest) kernelRatio() float64 {
	m := len(t.runs)
	counts, sums := make([]float64, t.oldDays), make([]float64, t.oldDays)
	all, diagonal := 0.0, 0.0
	for i, d := range t.day[:t.old] {
		counts[d]++
		diagonal += t.gram[i*m+i]
		for j, e := range t.day[:t.old] {
			v := t.gram[i*m+j]
			all += v
			if d == e {
				sums[d] += v
			}
		}
	}
	days, n := 0.0, float64(t.old)
	squares := 0.0 // of the means of the days, weighted by their runs
	for d, c := range counts {
		if c > 0 {
			days++
			squares += sums[d] / c
		}
	}
	if days < 2 || n <= days || diagonal <= squares {
		return 0
	}
	return (squares - all/n) / (days - 1) / ((diagonal - squares) / (n - days))
}

// varianceRatio is the mean square between days over that within days, of values without the mean of
// their submitter. Without enough data it is 0.
func varianceRatio(y []float64, submitter, day []int) float64 {
	bySubmitter, byDay := map[int][]float64{}, map[int][]float64{}
	for i, v := range y {
		bySubmitter[submitter[i]] = append(bySubmitter[submitter[i]], v)
	}
	means := map[int]float64{}
	for s, values := range bySubmitter {
		for _, v := range values {
			means[s] += v / float64(len(values))
		}
	}
	var days []int
	for i, v := range y {
		if byDay[day[i]] == nil {
			days = append(days, day[i])
		}
		byDay[day[i]] = append(byDay[day[i]], v-means[submitter[i]])
	}
	between, within, n := 0.0, 0.0, 0
	for _, d := range days {
		mean := 0.0
		for _, v := range byDay[d] {
			mean += v / float64(len(byDay[d]))
		}
		between += float64(len(byDay[d])) * mean * mean
		for _, v := range byDay[d] {
			within += (v - mean) * (v - mean)
		}
		n += len(byDay[d])
	}
	if len(days) < 2 || n <= len(days) || within == 0 {
		return 0
	}
	return between / float64(len(days)-1) / (within / float64(n-len(days)))
}
