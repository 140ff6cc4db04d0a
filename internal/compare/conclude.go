package compare

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Choices are what the user chooses about a comparison. Use [DefaultChoices] for the defaults.
type Choices struct {
	// Alpha is the two-sided level of the tests.
	Alpha float64
	// Margins are the largest effects that do not matter, by metric. A metric without an entry has
	// its default. For a ratio 0.1 means 10 %.
	Margins map[Metric]float64
	// MinCoverage is the share of measured pairs below which nothing is concluded.
	MinCoverage float64
	Gates       []Gate
	// UnprovenPass means that unproven gates do not change the exit code.
	UnprovenPass bool
	// Confirmed holds fresh repetitions of suspect cases.
	Confirmed map[CaseKey]Fresh
	// Flags are the flags that suggested commands need, such as "--output-dir out", and Compare is
	// the command of this comparison.
	Flags, Compare string
}

// DefaultChoices returns the documented defaults.
func DefaultChoices() Choices { return Choices{Alpha: 0.05, MinCoverage: 0.8} }

// margin returns the margin of a metric.
func (o *Choices) margin(m Metric) float64 {
	if margin, ok := o.Margins[m]; ok {
		return margin
	}
	switch {
	case m == Latency:
		return 0.2
	case m.Ratio():
		return 0.1
	default:
		return 0.02
	}
}

// rounding is a relative error of sums and products.
const rounding = 1e-9

// fewestClusters is the number of clusters from which on a conclusion is possible: with fewer, even
// the most extreme of all sign flips has a p above 0.025.
const fewestClusters = 6

// analysis is the work on one comparison.
type analysis struct {
	m *Matching
	o Choices
	// builders has one entry for each pair of runners, and so has passes: the pass rates.
	builders []*builder
	passes   []*series
	out      *Comparison
}

// Analyze compares two sides. It is a pure function: equal input gives equal output, in any order
// of cases, runners and repetitions.
func Analyze(m *Matching, o Choices) *Comparison {
	sorted := *m
	sorted.Runners = slices.Clone(m.Runners)
	slices.SortFunc(sorted.Runners, func(x, y RunnerPair) int {
		return cmp.Or(cmp.Compare(x.Cand, y.Cand), cmp.Compare(x.Base, y.Base))
	})
	m = &sorted
	a := &analysis{m: m, o: o, out: &Comparison{
		Schema: Schema, Baseline: subject(m.Base), Candidate: subject(m.Cand), Alpha: o.Alpha, MinCoverage: o.MinCoverage,
		Margin: o.margin(PassRate), Varied: doc.Array(m.Varied), VariedKinds: doc.Array(m.VariedKinds), Unknown: doc.Array(m.Unknown),
		VariedAny: slices.Contains(m.VariedKinds, VaryAny), Warnings: doc.Array(slices.Clone(m.Warnings)),
		UnprovenPass: o.UnprovenPass,
	}}
	for i := range m.Runners {
		b := newBuilder(m, &m.Runners[i])
		a.builders = append(a.builders, b)
		a.passes = append(a.passes, b.passRate(leaveOut))
	}
	a.out.Cases = a.cases()
	a.runners()
	a.whole()
	a.otherMetrics()
	a.groups()
	a.gates()
	a.warn()
	a.out.Settle = a.settle()
	for i := range a.out.Runners {
		a.out.Runners[i].Figure.series = nil
	}
	for i := range a.out.Metrics {
		a.out.Metrics[i].series = nil
	}
	a.out.ExitCode = a.out.exitCode()
	return a.out
}

func subject(s *Side) Subject {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return Subject{
		Name: s.Name, ID: s.ID, Kind: s.Kind, Path: s.Path, Suite: s.Suite, StartedAt: at(s.Started), EndedAt: at(s.Ended),
	}
}

// passRate returns the series of the pass rate.
func (b *builder) passRate(how impute) *series {
	return b.shares(PassRate, func(p *Pair) analyze.PairCounts {
		c, _ := passCounts(p, how)
		return c
	})
}

// figure computes all of a figure except what depends on its family.
func (a *analysis) figure(s *series, runner string) Figure {
	f := Figure{
		Metric: s.metric, Among: s.among, Runner: runner, Margin: a.o.margin(s.metric), MDE: missing(),
		Pairs: s.len(), Missing: s.missing, AdjustedP: missing(),
	}
	f.Baseline, f.Candidate = s.levels()
	for _, d := range s.diffs() {
		if s.metric.lowerIsBetter() {
			d = -d
		}
		if d < 0 {
			f.Lost++
		} else if d > 0 {
			f.Won++
		}
	}
	b, c := s.repeats()
	f.BaselineRepeats, f.CandidateRepeats = Number(b), Number(c)
	conf := 1 - a.o.Alpha
	f.Effect = s.effect(s.interval(conf), conf)
	f.Equivalence = s.effect(s.interval(1-2*a.o.Alpha), 1-2*a.o.Alpha)
	p, method := s.test()
	f.P, f.Method, f.series, f.joint = Number(p), method, s, Number(s.pValue())
	return f
}

// power is the probability with which the detectable effect would be seen.
const power = 0.8

// upper returns the quantile of the normal distribution that is exceeded with probability p.
func upper(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }

// adjust sets the adjusted p-values of figures of one family. A figure whose p cannot be computed is
// not in the family.
func adjust(figures []*Figure, name string) {
	in := holm(figures, func(f *Figure) (from, to *Number) { return &f.P, &f.AdjustedP })
	holm(figures, func(f *Figure) (from, to *Number) { return &f.joint, &f.Test.P })
	for _, f := range figures {
		f.Family = Family{Name: name, Size: in, Method: "Holm"}
	}
}

// holm sets the adjusted p-values of the figures that have one, and counts them.
func holm(figures []*Figure, of func(*Figure) (from, to *Number)) (size int) {
	var ps []float64
	var to []*Number
	for _, f := range figures {
		from, adjusted := of(f)
		*adjusted = missing()
		if from.OK() {
			ps, to = append(ps, float64(*from)), append(to, adjusted)
		}
	}
	for i, q := range analyze.Holm(ps) {
		*to[i] = Number(q)
	}
	return len(ps)
}

// state is what a conclusion depends on besides the figure.
type state struct {
	// coverage is NaN if there is no pair.
	coverage, least float64
	// clusters is the number of declared clusters; 0 without them.
	clusters int
}

// conclude sets the conclusion of a figure, and the one test that it rests on.
func (f *Figure) conclude(alpha float64, s state) {
	if math.Abs(float64(f.Test.P)/alpha-1) < rounding {
		f.Test.P = Number(alpha) // a product of a p-value is not below alpha or above it by rounding
	}
	var of TestOf
	f.Conclusion, f.Reason, of = f.rule(alpha, s)
	p := f.Test.P
	f.Test = Test{Of: of, Low: missing(), High: missing(), P: missing()}
	level := alpha
	switch of {
	case TestEquivalence:
		_, _, margin := f.scaled(f.Equivalence)
		f.Test.set(f.Equivalence, Number(f.series.equivalence(alpha, margin)))
	case TestDifference:
		if f.Family.Size > 1 && f.joint > 0 {
			// The level at which the adjusted p-value is alpha.
			times := float64(f.Family.Size)
			if p < 1 {
				times = float64(p / f.joint)
			}
			level = alpha / times
		}
		f.Test.set(f.series.effect(f.series.interval(1-level), 1-level), p)
	default:
	}
	others, why := f.series.population(1 - level)
	f.Population, f.PopulationWhy = f.series.effect(others, 1-level), why
}

func (t *Test) set(e Effect, p Number) {
	t.Low, t.High, t.Confidence, t.P = e.Low, e.High, e.Confidence, p
}

// rule applies the rules of a conclusion, in order. The first rule of all, that a broken case makes
// the candidate worse, is not among them.
func (f *Figure) rule(alpha float64, s state) (Conclusion, string, TestOf) {
	switch {
	case f.Pairs == 0:
		return NotDecisive, "no pair was measured on both sides", TestNone
	case !(s.coverage >= s.least):
		return NotDecisive, fmt.Sprintf("only %.0f %% of the pairs are measured; %.0f %% are needed",
			math.Floor(100*s.coverage), math.Ceil(100*s.least)), TestNone
	case s.clusters > 0 && s.clusters < fewestClusters:
		return NotDecisive, fmt.Sprintf("there are %d clusters; fewer than %d cannot decide", s.clusters, fewestClusters),
			TestNone
	}
	low, high, margin := f.scaled(f.Equivalence)
	significant := float64(f.Test.P) <= alpha
	if analyze.Equivalent(low, high, margin) {
		if significant {
			return Equivalent, "a real but negligible difference", TestEquivalence
		}
		return Equivalent, "the effect is smaller than the margin", TestEquivalence
	}
	low, high, _ = f.scaled(f.Effect)
	if f.Metric.lowerIsBetter() {
		low, high = -high, -low
	}
	switch {
	case significant && high < 0:
		return Worse, "the difference is larger than chance explains", TestDifference
	case significant && low > 0:
		return Better, "the difference is larger than chance explains", TestDifference
	case !f.Effect.OK() || !f.joint.OK():
		return NotDecisive, "there are too few values for an interval", TestNone
	default:
		return NotDecisive, "the data agree with no effect, and with effects beyond the margin", TestDifference
	}
}

// scaled returns an interval and the margin on a scale on which no effect is 0.
func (f *Figure) scaled(e Effect) (low, high, margin float64) {
	low, high, margin = float64(e.Low), float64(e.High), f.Margin
	if f.Metric.Ratio() {
		low, high, margin = math.Log(low), math.Log(high), math.Log1p(margin)
	}
	return low, high, margin
}

func brokeWords(n int) string {
	if n == 1 {
		return "1 case broke"
	}
	return fmt.Sprintf("%d cases broke", n)
}

// runners concludes for each pair of runners.
func (a *analysis) runners() {
	figures, all := a.passFigures(a.passes)
	_, worst := a.imputed(asWorst)
	_, best := a.imputed(asBest)
	for i := range a.m.Runners {
		figures[i].MDE = Number(a.passes[i].mde(a.o.Alpha / float64(max(1, figures[i].Family.Size))))
		r := RunnerResult{
			Baseline: a.m.Runners[i].Base, Candidate: a.m.Runners[i].Cand, Figure: figures[i],
			Conclusion: all[i], Reason: figures[i].Reason, Pairs: a.pairs(i), Errors: a.errors(i),
		}
		if n := a.broken(r.Candidate); n > 0 {
			r.Reason = brokeWords(n)
		}
		r.Coverage = r.Pairs.Coverage()
		if n := a.incomplete(i); n > 0 {
			r.Sensitivity = &Sensitivity{Worst: worst[i], Best: best[i], Pairs: n}
		}
		a.out.Runners = append(a.out.Runners, r)
	}
	a.out.Sensitivity = a.sensitivity(worst, best)
	a.out.Runners = doc.Array(a.out.Runners)
}

// passFigures returns the figures of the pass rate of all runners, with their conclusions without
// regard to broken cases, and the conclusions about the runners.
func (a *analysis) passFigures(all []*series) (figures []Figure, conclusions []Conclusion) {
	figures, conclusions = make([]Figure, len(all)), make([]Conclusion, len(all))
	family := make([]*Figure, len(all))
	for i, s := range all {
		figures[i] = a.figure(s, a.m.Runners[i].Cand)
		family[i] = &figures[i]
	}
	adjust(family, "runners")
	for i := range figures {
		f := &figures[i]
		pairs := a.pairs(i)
		coverage := float64(pairs.Coverage())
		if all[i] != a.passes[i] {
			coverage = 1 // what could not be measured is imputed
		}
		f.conclude(a.o.Alpha, state{coverage: coverage, least: a.o.MinCoverage, clusters: all[i].clusterCount()})
		conclusions[i] = f.Conclusion
		if a.broken(f.Runner) > 0 { // the first of all rules
			conclusions[i] = Worse
		}
	}
	return figures, conclusions
}

// imputed returns the figures of the pass rate if what could not be measured had been the worst or
// the best for the candidate.
func (a *analysis) imputed(how impute) ([]Figure, []Conclusion) {
	all := make([]*series, len(a.builders))
	for i, b := range a.builders {
		all[i] = b.passRate(how)
	}
	return a.passFigures(all)
}

// incomplete counts the pairs of a runner with a repetition that could not be measured.
func (a *analysis) incomplete(runner int) (n int) {
	for _, p := range a.builders[runner].pairs {
		was, _ := passCounts(p, leaveOut)
		if all, _ := passCounts(p, asWorst); all != was {
			n++
		}
	}
	return n
}

// sensitivity returns the conclusions of the whole for both extremes, or nil if nothing is missing.
func (a *analysis) sensitivity(worst, best []Conclusion) *Sensitivity {
	s := Sensitivity{}
	for i := range a.m.Runners {
		s.Pairs += a.incomplete(i)
	}
	if s.Pairs == 0 {
		return nil
	}
	s.Worst, s.Best = combine(worst), combine(best)
	return &s
}

// combine returns the conclusion of several runners.
func combine(runners []Conclusion) Conclusion {
	count := map[Conclusion]int{}
	for _, c := range runners {
		count[c]++
	}
	switch {
	case count[Worse] > 0:
		return Worse
	case len(runners) > 0 && count[Equivalent] == len(runners):
		return Equivalent
	case count[Better] > 0:
		return Better
	default:
		return NotDecisive
	}
}

// broken counts the broken cases of a runner of the candidate.
func (a *analysis) broken(runner string) (n int) {
	for i := range a.out.Cases.Broken {
		if a.out.Cases.Broken[i].Runner == runner {
			n++
		}
	}
	return n
}

// pairs counts the pairs of a runner.
func (a *analysis) pairs(runner int) Pairs {
	all := a.m.Runners[runner].Pairs
	p := Pairs{
		Planned: len(all), Measured: a.passes[runner].len(), OnlyBaseline: len(a.m.OnlyBase),
		OnlyCandidate: len(a.m.OnlyCand), Clusters: a.passes[runner].clusterCount(),
	}
	for i := range all {
		switch {
		case all[i].SameAnswer:
			p.SameAnswer++
		case all[i].EarlyStop:
			c, whole := passCounts(&all[i], leaveOut)
			if c.BaseMeasured > 0 && c.CandMeasured > 0 {
				p.EarlyStop++
				if whole {
					p.Whole++
				}
			}
		}
	}
	p.Unmeasured = p.Planned - p.Measured - p.SameAnswer
	return p
}

// errors compares the repetitions that could not be measured.
func (a *analysis) errors(runner int) ErrorCounts {
	var e ErrorCounts
	for _, p := range a.builders[runner].pairs {
		c := errorCounts(p)
		e.Baseline, e.BaseOf = e.Baseline+c.BasePassed, e.BaseOf+c.BaseMeasured
		e.Candidate, e.CandOf = e.Candidate+c.CandPassed, e.CandOf+c.CandMeasured
	}
	e.P = missing()
	if e.BaseOf > 0 && e.CandOf > 0 {
		_, _, p := analyze.Fisher(e.Baseline, e.BaseOf-e.Baseline, e.Candidate, e.CandOf-e.Candidate)
		e.P = Number(p)
	}
	return e
}

// whole concludes for all runners together, and sets the figures of the deciding one.
func (a *analysis) whole() {
	out := a.out
	conclusions := make([]Conclusion, 0, len(out.Runners))
	for i := range out.Runners {
		conclusions = append(conclusions, out.Runners[i].Conclusion)
	}
	out.Conclusion, out.Reason = combine(conclusions), "there is no runner on both sides"
	best := math.Inf(1)
	out.Deciding = -1
	out.Effect, out.P, out.AdjustedP, out.MDE = noEffect(a.o.Alpha), missing(), missing(), missing()
	out.Population, out.Equivalence = noEffect(a.o.Alpha), noEffect(2*a.o.Alpha)
	out.Test = Test{Low: missing(), High: missing(), P: missing()}
	out.Coverage = missing()
	for i := range out.Runners {
		f := &out.Runners[i].Figure
		if out.Runners[i].Conclusion != out.Conclusion {
			continue
		}
		p := float64(f.P)
		if math.IsNaN(p) {
			p = 2
		}
		if a.broken(f.Runner) > 0 {
			p = -1
		}
		if p < best {
			best, out.Deciding = p, i
		}
	}
	if out.Deciding < 0 {
		return
	}
	r := &out.Runners[out.Deciding]
	f := &r.Figure
	out.Reason, out.Effect, out.Population, out.Equivalence = r.Reason, f.Effect, f.Population, f.Equivalence
	out.PopulationWhy, out.Test = f.PopulationWhy, f.Test
	out.P, out.AdjustedP, out.Method, out.Family, out.MDE = f.P, f.AdjustedP, f.Method, f.Family, f.MDE
	out.Pairs, out.Coverage = r.Pairs, r.Coverage
	if n := len(out.Cases.Broken); n > 0 {
		out.Reason = brokeWords(n)
	}
}

func noEffect(alpha float64) Effect {
	return Effect{Value: missing(), Low: missing(), High: missing(), Confidence: 1 - alpha, Unit: UnitRate}
}

// enoughOutcomes is the number of passed and of failed pairs from which on tokens are compared among
// passing pairs, too: failures often run into a limit.
const enoughOutcomes = 5

// graded returns the figures of a metric other than the pass rate, which are none if nobody reported it.
func (a *analysis) graded(m Metric, b *builder, runner string) []Figure {
	s := b.graded(m, nil)
	if !s.found {
		return nil
	}
	figures := []Figure{a.figure(s, runner)}
	if m == Tokens && b.bothOutcomes() {
		passing := b.graded(m, (*analyze.Sample).Passed)
		passing.among = "passing"
		figures = append(figures, a.figure(passing, runner))
	}
	return figures
}

// otherMetrics computes the figures of all metrics but the pass rate.
func (a *analysis) otherMetrics() {
	out := a.out
	out.Metrics = []Figure{}
	for i := range out.Runners {
		out.Metrics = append(out.Metrics, out.Runners[i].Figure)
	}
	first := len(out.Metrics)
	// The metrics do not depend on each other. As many run at once as there are processors, because
	// each needs memory for the values of all pairs.
	figures := make([][]Figure, 0, len(metrics())*len(a.builders))
	var wait sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, m := range metrics()[1:] {
		for i, b := range a.builders {
			figures = append(figures, nil)
			to := &figures[len(figures)-1]
			turns <- struct{}{}
			wait.Go(func() {
				*to = a.graded(m, b, a.m.Runners[i].Cand)
				<-turns
			})
		}
	}
	wait.Wait()
	for _, f := range figures {
		out.Metrics = append(out.Metrics, f...)
	}
	family := make([]*Figure, 0, len(out.Metrics))
	for i := first; i < len(out.Metrics); i++ {
		family = append(family, &out.Metrics[i])
	}
	adjust(family, "other metrics")
	for _, f := range family {
		s := state{coverage: float64(f.Pairs) / float64(f.Pairs+f.Missing), least: a.o.MinCoverage}
		i := slices.IndexFunc(a.m.Runners, func(r RunnerPair) bool { return r.Cand == f.Runner })
		s.clusters = a.passes[i].clusterCount()
		if f.Among != "" {
			s.coverage = 1
		}
		f.conclude(a.o.Alpha, s)
		f.MDE = Number(f.series.mde(a.o.Alpha / float64(max(1, f.Family.Size))))
	}
}

// bothOutcomes reports whether there are enough passed and failed repetitions to look at the passed
// ones alone.
func (b *builder) bothOutcomes() bool {
	passed, measured := 0, 0
	for _, p := range b.pairs {
		for _, samples := range [][]analyze.Sample{p.Base, p.Cand} {
			k, n := countPassed(samples)
			passed, measured = passed+k, measured+n
		}
	}
	return passed >= enoughOutcomes && measured-passed >= enoughOutcomes
}

// hintLevel is the false-discovery rate of hints.
const hintLevel = 0.1

// groups computes the pass rates of categories, difficulties and tags.
func (a *analysis) groups() {
	out := []Group{}
	for i, b := range a.builders {
		for _, by := range []string{"category", "difficulty", "tag"} {
			members := map[string][]int{}
			for x, p := range b.pairs {
				for _, name := range groupNames(p, by) {
					members[name] = append(members[name], x)
				}
			}
			var names []string
			for name := range members {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				if name != "" && len(members[name]) < len(b.pairs) {
					out = append(out, a.group(b.subset(members[name]), by, name, a.m.Runners[i].Cand))
				}
			}
		}
	}
	var ps []float64
	var in []int
	for i := range out {
		if out[i].P.OK() {
			in, ps = append(in, i), append(ps, float64(out[i].P))
		}
	}
	for i, q := range analyze.BH(ps) {
		g := &out[in[i]]
		g.AdjustedP, g.Hint = Number(q), q <= hintLevel
	}
	for i := range out {
		out[i].Family = Family{Name: "groups", Size: len(in), Method: "Benjamini-Hochberg"}
	}
	a.out.Groups = out
}

func groupNames(p *Pair, by string) []string {
	switch by {
	case "category":
		return []string{p.Case.Category}
	case "difficulty":
		return []string{p.Case.Difficulty}
	default:
		tags := slices.Clone(p.Case.Tags)
		slices.Sort(tags)
		return slices.Compact(tags)
	}
}

// subset returns a builder for some of the pairs.
func (b *builder) subset(indexes []int) *builder {
	s := &builder{runs: b.runs}
	for _, i := range indexes {
		s.pairs, s.names = append(s.pairs, b.pairs[i]), append(s.names, b.names[i])
		if b.clusters != nil {
			s.clusters = append(s.clusters, b.clusters[i])
		}
	}
	return s
}

func (a *analysis) group(b *builder, by, name, runner string) Group {
	f := a.figure(b.passRate(leaveOut), runner)
	return Group{
		By: by, Name: name, Runner: runner, Pairs: f.Pairs, Lost: f.Lost, Won: f.Won, Effect: f.Effect, P: f.P,
		AdjustedP: missing(),
	}
}

// warn adds the warnings that follow from the figures.
func (a *analysis) warn() {
	times := 1
	for _, f := range a.o.Confirmed {
		times = max(times, f.Confirmations)
	}
	if times > 1 {
		a.out.Warnings = append(a.out.Warnings, fmt.Sprintf("cases were confirmed %d times, and the repetitions of all "+
			"confirmations count: each time is another chance, so the suspects are called broken by chance with a "+
			"probability of up to %.2g in place of %.2g", times, float64(times)*a.o.Alpha/2, a.o.Alpha/2))
	}
	for i := range a.out.Runners {
		r := &a.out.Runners[i]
		of := ""
		if len(a.out.Runners) > 1 {
			of = " on " + r.Candidate
		}
		if e := r.Errors; float64(e.P) < a.o.Alpha {
			a.out.Warnings = append(a.out.Warnings, fmt.Sprintf(
				"errors%s %d of %d → %d of %d: what is missing may not be missing by chance", of, e.Baseline, e.BaseOf,
				e.Candidate, e.CandOf))
		}
		if a.m.Clustered {
			continue
		}
		if effect, ok := a.categoryEffect(i); ok && effect > 1.5 {
			a.out.Warnings = append(a.out.Warnings, fmt.Sprintf(
				"cases of the same category%s react alike (design effect %.1f): if they share a source, add --cluster category",
				of, effect))
		}
	}
}

// categoryEffect returns the design effect of the categories on the change of the pass rate.
func (a *analysis) categoryEffect(runner int) (float64, bool) {
	groups := map[string][]float64{}
	names := []string{}
	for _, p := range a.builders[runner].pairs {
		c, _ := passCounts(p, leaveOut)
		if p.Case.Category == "" || c.BaseMeasured == 0 || c.CandMeasured == 0 {
			continue
		}
		if groups[p.Case.Category] == nil {
			names = append(names, p.Case.Category)
		}
		groups[p.Case.Category] = append(groups[p.Case.Category],
			rate(c.CandPassed, c.CandMeasured)-rate(c.BasePassed, c.BaseMeasured))
	}
	if len(names) < fewestClusters { // as clusters they could not decide
		return 0, false
	}
	slices.Sort(names)
	all := make([][]float64, 0, len(names))
	for _, name := range names {
		all = append(all, groups[name])
	}
	_, effect, _, ok := analyze.ICC(all)
	return effect, ok
}
