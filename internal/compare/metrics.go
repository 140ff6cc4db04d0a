package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// series holds the values of one metric on the pairs of one pair of runners.
type series struct {
	metric Metric
	among  string
	// counts is set for shares, and base and cand for all other metrics: the values of each pair. The
	// values of a ratio are logarithms.
	counts     []analyze.PairCounts
	base, cand [][]float64
	// clusters are the clusters of the pairs; nil means that each pair is its own.
	clusters []int
	// missing counts pairs without values on a side. found is set if a side has a value at all.
	missing int
	found   bool
	// units identify the pairs and the runs, for seeds.
	units []string
	// p and method are the result of the test, once it was made.
	p      float64
	method string
	tested bool
	// level is the effect with the interval that belongs to the kind of data, once it was made.
	level analyze.Interval
	mix   *analyze.RateMix // of the cases of both sides; nil until it is needed
}

func (s *series) len() int { return max(len(s.counts), len(s.base)) }

// diffs returns for each pair the difference candidate minus baseline of the means.
func (s *series) diffs() []float64 {
	d := make([]float64, 0, s.len())
	for _, c := range s.counts {
		d = append(d, rate(c.CandPassed, c.CandMeasured)-rate(c.BasePassed, c.BaseMeasured))
	}
	for i := range s.base {
		d = append(d, mean(s.cand[i])-mean(s.base[i]))
	}
	return d
}

// sizes returns the number of values of the pair at index i on each side.
func (s *series) sizes(i int) (base, cand int) {
	if s.counts != nil {
		return s.counts[i].BaseMeasured, s.counts[i].CandMeasured
	}
	return len(s.base[i]), len(s.cand[i])
}

// repeats returns the mean number of values of a pair on each side.
func (s *series) repeats() (base, cand float64) {
	for i := range s.len() {
		b, c := s.sizes(i)
		base, cand = base+float64(b), cand+float64(c)
	}
	return base / float64(s.len()), cand / float64(s.len())
}

// shape reports whether all pairs have as many values on one side as on the other, and whether all
// have exactly one on each side.
func (s *series) shape() (equal, single bool) {
	equal, single = true, true
	for i := range s.len() {
		b, c := s.sizes(i)
		equal, single = equal && b == c, single && b == 1 && c == 1
	}
	return equal, single
}

// clusterCount returns the number of declared clusters, or 0 if each pair is its own.
func (s *series) clusterCount() int {
	if s.clusters == nil {
		return 0
	}
	distinct := slices.Clone(s.clusters)
	slices.Sort(distinct)
	return len(slices.Compact(distinct))
}

// test returns the two-sided p-value of the hypothesis that no case changed, and the name of the
// test; NaN if it cannot be computed.
func (s *series) test() (p float64, method string) {
	if !s.tested {
		s.p, s.method = s.compute()
		s.tested = true
	}
	return s.p, s.method
}

func (s *series) compute() (p float64, method string) {
	if s.len() == 0 {
		return math.NaN(), ""
	}
	equal, single := s.shape()
	seed := func(name string) analyze.Seed { return analyze.NewSeed(name, s.units...) }
	exact := func(r analyze.Permutation, name string) (float64, string) {
		if r.Exact {
			return r.TwoSided, "exact " + name
		}
		return r.TwoSided, name
	}
	switch {
	case s.clusters != nil && equal:
		if r, ok := analyze.ClusterPermutation(s.diffs(), s.clusters, seed("cluster-permutation")); ok {
			return exact(r, "permutation of clusters")
		}
		return math.NaN(), ""
	case s.clusters != nil:
		if p, ok := analyze.CaseTest(s.diffs(), s.clusters); ok {
			return p, "t-test over clusters"
		}
		return math.NaN(), ""
	case s.counts != nil && single:
		return analyze.Stratified(s.counts).TwoSided(), "exact McNemar"
	case s.counts != nil:
		return analyze.Stratified(s.counts).TwoSided(), "exact stratified test"
	case single:
		return exact(analyze.StratifiedPermutation(s.base, s.cand, seed("stratified-permutation")), "sign flip")
	default:
		return exact(analyze.StratifiedPermutation(s.base, s.cand, seed("stratified-permutation")),
			"stratified permutation")
	}
}

// interval returns the effect on these cases with its interval. For a ratio it is on the scale of
// logarithms. It excludes 0 only if the test rejects at its level, too, so that the figure has one
// test, whose p-value is [series.pValue].
func (s *series) interval(conf float64) analyze.Estimate {
	e := s.estimate(conf)
	if p, _ := s.test(); e.OK && p > (1-conf)*(1+rounding) {
		e.Lo, e.Hi = min(e.Lo, 0), max(e.Hi, 0)
	}
	return e
}

// pValue returns the smallest level at which [series.interval] excludes 0, or the p-value of the test
// if there is no interval.
func (s *series) pValue() float64 {
	p, _ := s.test()
	excludes := func(alpha float64) bool {
		e := s.estimate(1 - alpha)
		return e.OK && (e.Lo > 0 || e.Hi < 0)
	}
	const usual = 0.05
	if e := s.estimate(1 - usual); !e.OK || math.IsNaN(p) || excludes(p) {
		return p
	}
	return leastLevel(p, 1, excludes)
}

// equivalence returns the smallest level, at most alpha, at which the figure is equivalent: the
// interval at level 1 - 2 alpha lies within the margin.
func (s *series) equivalence(alpha, margin float64) float64 {
	return leastLevel(0, alpha, func(alpha float64) bool {
		e := s.interval(1 - 2*alpha)
		return e.OK && analyze.Equivalent(e.Lo, e.Hi, margin)
	})
}

// leastLevel returns the smallest level from low to high for which holds is true. It is true for all
// larger ones.
func leastLevel(low, high float64, holds func(alpha float64) bool) float64 {
	const precise = 1e-8
	for high-low > precise*high && high > 1e-6 {
		if middle := (low + high) / 2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// estimate returns the effect with the interval that belongs to the kind of data.
func (s *series) estimate(conf float64) analyze.Estimate {
	switch {
	case s.len() == 0:
		return noEstimate()
	case s.level != nil:
	case s.clusters != nil:
		s.level = analyze.CaseT(s.diffs(), s.clusters)
	case s.counts != nil:
		s.level = analyze.RateDifference(s.counts)
	default:
		s.level = analyze.GradedDifference(s.base, s.cand)
	}
	return s.level(conf)
}

// caseLevel reports whether [series.interval] is already about other cases like these.
func (s *series) caseLevel() bool {
	_, single := s.shape()
	return s.clusters != nil || single
}

// population returns the effect on other cases like these, or why it has no interval. The interval
// is never narrower than that on these cases.
func (s *series) population(conf float64) (e analyze.Estimate, why string) {
	if s.len() == 0 {
		return noEstimate(), "no pair was measured on both sides"
	}
	e = s.interval(conf)
	if !s.caseLevel() {
		these := e
		if e = analyze.CaseT(s.diffs(), s.clusters)(conf); these.OK {
			e.Lo, e.Hi = min(e.Lo, these.Lo), max(e.Hi, these.Hi)
		}
	}
	switch {
	case e.OK:
		return e, ""
	case s.len() == 1:
		return e, "one case says nothing about others"
	default:
		return e, "all cases changed alike, so nothing says how much others differ"
	}
}

// designs returns the comparison as a plan, for the power of its test, and that of the swapped sides;
// ok is false for a figure other than a rate, and for clusters.
func (s *series) designs(alpha float64) (d, swapped analyze.RateDesign, ok bool) {
	if s.counts == nil || s.clusters != nil || s.len() == 0 {
		return d, swapped, false
	}
	if s.mix == nil {
		both := make([]analyze.Count, len(s.counts)) // as if nothing changed
		for i, c := range s.counts {
			both[i] = analyze.Count{Passed: c.BasePassed + c.CandPassed, Measured: c.BaseMeasured + c.CandMeasured}
		}
		s.mix = new(analyze.MixOf(both))
	}
	design := func(swap bool) analyze.RateDesign {
		sizes := map[[2]int]int{} // of cases, by their repetitions
		for _, c := range s.counts {
			n := [2]int{c.BaseMeasured, c.CandMeasured}
			if swap {
				n[0], n[1] = n[1], n[0]
			}
			sizes[n]++
		}
		d := analyze.RateDesign{Mix: *s.mix, Alpha: alpha}
		for _, n := range slices.SortedFunc(maps.Keys(sizes), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
			d.Cases = append(d.Cases, analyze.Repeats{Base: n[0], Cand: n[1], Cases: sizes[n]})
		}
		return d
	}
	return design(false), design(true), true
}

// mde returns the effect that a comparison like this one finds with probability [power] at level
// alpha; NaN if none is known. For rates it comes from the power of the test that is made, the mean
// for a loss of either side. Otherwise it comes from the quantiles of Student's t, of which the
// second one is approximated.
func (s *series) mde(alpha float64) float64 {
	if d, swapped, ok := s.designs(alpha); ok {
		seen, ok := d.Detectable()
		other, found := seen, ok
		if equal, _ := s.shape(); !equal {
			other, found = swapped.Detectable()
		}
		if ok && found {
			return (seen + other) / 2
		}
		return math.NaN()
	}
	e := s.estimate(1 - alpha)
	if !e.OK || !(e.SE > 0) {
		return math.NaN()
	}
	z, zPower := upper(alpha/2), upper(1-power)
	half := (e.Hi - e.Lo) / 2
	wider := (half/e.SE/z - 1) * (zPower*zPower + 1) / (z*z + 1) // of t over z
	seen := half + zPower*(1+wider)*e.SE
	if s.metric.Ratio() {
		return math.Expm1(seen)
	}
	return seen
}

func noEstimate() analyze.Estimate {
	return analyze.Estimate{Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), SE: math.NaN()}
}

// effect returns an estimate in the unit of its metric.
func (s *series) effect(e analyze.Estimate, conf float64) Effect {
	out := Effect{Value: missing(), Low: missing(), High: missing(), Confidence: conf, Unit: UnitRate, Method: e.Method}
	scale := func(x float64) Number { return Number(x) }
	switch {
	case s.metric.Ratio():
		out.Unit = UnitRatio
		scale = func(x float64) Number { return Number(math.Exp(x)) }
	case s.metric == Score:
		out.Unit = UnitScore
	}
	out.Value = scale(e.Value)
	if e.OK {
		out.Low, out.High = scale(e.Lo), scale(e.Hi)
	}
	if out.Unit != UnitRatio { // shares and scores lie between 0 and 1
		out.Low, out.High = max(out.Low, -1), min(out.High, 1)
	}
	return out
}

// levels returns the value of each side.
func (s *series) levels() (base, cand Level) {
	var b, c []float64
	for _, n := range s.counts {
		b, c = append(b, rate(n.BasePassed, n.BaseMeasured)), append(c, rate(n.CandPassed, n.CandMeasured))
		base.Passed, base.Measured = base.Passed+n.BasePassed, base.Measured+n.BaseMeasured
		cand.Passed, cand.Measured = cand.Passed+n.CandPassed, cand.Measured+n.CandMeasured
	}
	for i := range s.base {
		b, c = append(b, mean(s.base[i])), append(c, mean(s.cand[i]))
	}
	base.Value, cand.Value = Number(mean(b)), Number(mean(c))
	if s.metric.Ratio() {
		base.Value, cand.Value = Number(math.Exp(float64(base.Value))), Number(math.Exp(float64(cand.Value)))
	}
	return base, cand
}

func rate(k, n int) float64 { return float64(k) / float64(n) }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// builder makes the series of one pair of runners.
type builder struct {
	pairs []*Pair  // that are not the same answer on both sides, sorted
	names []string // of the pairs: equal if the sides are swapped
	// clusters are the clusters of pairs; nil without declared ones.
	clusters []int
	runs     []string // ids of the runs and of the runners
}

func newBuilder(m *Matching, r *RunnerPair) *builder {
	b := &builder{runs: []string{m.Base.ID, m.Cand.ID, r.Base, r.Cand}}
	type named struct {
		pair *Pair
		name string
	}
	pairs := make([]named, 0, len(r.Pairs))
	for i := range r.Pairs {
		if p := &r.Pairs[i]; !p.SameAnswer {
			pairs = append(pairs, named{p, pairName(m, p)})
		}
	}
	// The order of the input must not change a sum of floating-point numbers, and neither must the
	// order of the sides.
	slices.SortFunc(pairs, func(x, y named) int { return cmp.Compare(x.name, y.name) })
	for _, p := range pairs {
		b.pairs, b.names = append(b.pairs, p.pair), append(b.names, p.name)
	}
	if m.Clustered {
		b.clusters = clusterNumbers(len(b.pairs), func(i int) string { return b.pairs[i].Cluster })
	}
	return b
}

// pairName returns a name of a pair that does not depend on which side is the baseline.
func pairName(m *Matching, p *Pair) string {
	x := m.Base.Cases[p.BaseIndex].Hash + " " + p.BaseCase
	y := m.Cand.Cases[p.CandIndex].Hash + " " + p.CandCase
	if x == y {
		return x
	}
	return min(x, y) + " " + max(x, y)
}

// clusterNumbers numbers clusters by their names.
func clusterNumbers(n int, name func(int) string) []int {
	known, numbers := map[string]int{}, make([]int, n)
	for i := range numbers {
		number, ok := known[name(i)]
		if !ok {
			number = len(known)
			known[name(i)] = number
		}
		numbers[i] = number
	}
	return numbers
}

// add adds the pair at index i to a series, after its values.
func (b *builder) add(s *series, i int) {
	if b.clusters != nil {
		s.clusters = append(s.clusters, b.clusters[i])
	}
	s.units = append(s.units, b.names[i])
}

func (b *builder) series(m Metric) *series {
	s := &series{metric: m, units: slices.Grow(slices.Clone(b.runs), len(b.pairs))}
	if b.clusters != nil {
		s.clusters = []int{}
	}
	return s
}

// shares makes a series of counts. A pair whose count has nothing measured on a side is missing.
func (b *builder) shares(m Metric, count func(*Pair) analyze.PairCounts) *series {
	s := b.series(m)
	s.counts = make([]analyze.PairCounts, 0, len(b.pairs))
	for i, p := range b.pairs {
		c := count(p)
		s.found = s.found || c.BaseMeasured+c.CandMeasured > 0
		if c.BaseMeasured == 0 || c.CandMeasured == 0 {
			s.missing++
			continue
		}
		s.counts = append(s.counts, c)
		b.add(s, i)
	}
	return s
}

// graded makes the series of a metric with a value for each sample.
func (b *builder) graded(m Metric, include func(*analyze.Sample) bool) *series {
	s := b.series(m)
	s.base, s.cand = make([][]float64, 0, len(b.pairs)), make([][]float64, 0, len(b.pairs))
	n := 0
	for _, p := range b.pairs {
		n += len(p.Base) + len(p.Cand)
	}
	all := make([]float64, 0, n) // one array for the values of all pairs
	take := func(p *Pair, samples []analyze.Sample) []float64 {
		from := len(all)
		all = appendValues(all, p, samples, m, include)
		return all[from:len(all):len(all)]
	}
	for i, p := range b.pairs {
		base, cand := take(p, p.Base), take(p, p.Cand)
		s.found = s.found || len(base)+len(cand) > 0
		if len(base) == 0 || len(cand) == 0 {
			s.missing++
			continue
		}
		s.base, s.cand = append(s.base, base), append(s.cand, cand)
		b.add(s, i)
	}
	return s
}

// appendValues appends the values of one side of a pair, sorted, because the order of repetitions must
// not change a sum. If the repetitions ended early, only the first one counts, because whether there
// are more depends on the results.
func appendValues(
	to []float64, p *Pair, samples []analyze.Sample, m Metric, include func(*analyze.Sample) bool,
) []float64 {
	from := len(to)
	for i := range samples {
		s := &samples[i]
		if !s.Measured() || include != nil && !include(s) || p.EarlyStop && s.Repetition > 1 {
			continue
		}
		if v := m.value(s); !math.IsNaN(v) {
			to = append(to, v)
		}
	}
	slices.Sort(to[from:])
	return to
}

// value returns the value of a sample: the logarithm for a ratio, or NaN if there is none.
func (m Metric) value(s *analyze.Sample) float64 {
	var v float64
	switch m {
	case Score:
		return s.Score
	case Tokens:
		v = s.Tokens
	case InputTokens:
		v = s.InputTokens
	case OutputTokens:
		v = s.OutputTokens
	case Cost:
		v = s.CostUSD
	case Latency:
		v = s.LatencyMs
	case Steps:
		v = s.Steps
	default:
		return math.NaN()
	}
	if s.Cached && (m == Cost || m == Latency) || !(v > 0) || math.IsInf(v, 1) {
		return math.NaN()
	}
	return math.Log(v)
}

// impute says how a repetition that could not be measured counts.
type impute int

const (
	leaveOut impute = iota
	asWorst         // a fail of the candidate, or a pass of the baseline
	asBest          // the reverse
)

// passCounts counts the passed repetitions of a pair. If the repetitions ended early, the outcome of
// the execution counts, as one value on each side, or the first repetition alone if the sides
// planned different numbers; whole reports the former.
func passCounts(p *Pair, how impute) (c analyze.PairCounts, whole bool) {
	whole = p.EarlyStop && p.Planned() > 0
	side := func(samples []analyze.Sample, planned int, candidate bool) (passed, measured int) {
		var absent int
		switch {
		case whole:
			passed, measured = executionCount(samples, planned-p.Same)
			absent = 1 - measured
		case p.EarlyStop:
			passed, measured = countPassed(samples[:min(1, len(samples))])
			absent = 1 - measured
		default:
			passed, measured = countPassed(samples)
			absent = max(planned-p.Same, len(samples)) - measured
		}
		if how != leaveOut {
			measured += absent
			if (how == asBest) == candidate {
				passed += absent
			}
		}
		return passed, measured
	}
	c.BasePassed, c.BaseMeasured = side(p.Base, p.BasePlanned, false)
	c.CandPassed, c.CandMeasured = side(p.Cand, p.CandPlanned, true)
	return c, whole
}

// executionCount returns the outcome of an execution as a count of one: it passes if all planned
// repetitions pass, and fails if one fails.
func executionCount(samples []analyze.Sample, planned int) (passed, measured int) {
	passed, measured = countPassed(samples)
	switch {
	case passed < measured:
		return 0, 1
	case passed > 0 && passed >= planned:
		return 1, 1
	default:
		return 0, 0
	}
}

func countPassed(samples []analyze.Sample) (passed, measured int) {
	for i := range samples {
		if samples[i].Measured() {
			measured++
			if samples[i].Passed() {
				passed++
			}
		}
	}
	return passed, measured
}

// errorCounts counts the repetitions of a pair that could not be measured, among those that ended.
func errorCounts(p *Pair) (c analyze.PairCounts) {
	c.BasePassed, c.BaseMeasured = countErrors(p.Base)
	c.CandPassed, c.CandMeasured = countErrors(p.Cand)
	return c
}
