package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/plumb-eval/plumb"
)

// Label says how a case behaves when it is repeated.
type Label string

// The labels. A case has one only if its probability is at least labelMass.
const (
	StablePass   Label = "stable pass"
	StableFail   Label = "stable fail"
	Flaky        Label = "flaky"
	Undetermined Label = "undetermined"
)

const (
	// A case whose pass rate is above stableAbove is a stable pass, one whose pass rate is below
	// stableBelow is a stable fail, and one between them is flaky.
	stableBelow, stableAbove = 0.05, 0.95
	// labelMass is the smallest posterior probability that earns a label.
	labelMass = 0.8
	// noticeable is the smallest design effect that reports show.
	noticeable = 1.5
)

// CaseSamples is what the repetitions of one execution say about its pass rate.
type CaseSamples struct {
	Count
	// Lo and Hi bound the pass rate: the central 95 % of the posterior with Jeffreys' prior.
	Lo, Hi float64
	// Flips is the unbiased estimate of the chance that two repetitions differ; see [FlipRate].
	Flips float64
	Label Label
	// Sure is the posterior probability of Label. It is NaN if Label is Undetermined.
	Sure float64
}

// Tried returns how many repetitions of the execution at index i were tried, and how many are
// planned. A recorded session of an agent that does not exist counts as not tried; playing it is an
// error.
func Tried(run *plumb.Run, i int) (tried, planned int) {
	e, info := &run.Executions[i], &run.Info.Runners[i%len(run.Info.Runners)]
	planned = max(1, cmp.Or(run.Cases[i/len(run.Info.Runners)].Repeat, run.Info.Repeat))
	tried = int(e.Passed) + int(e.Failed)
	if info.RecordedKind != plumb.RunnerAgent {
		tried += int(e.Errored)
	}
	return tried, planned
}

// StoppedEarly reports whether the execution at index i ended before its planned repetitions: agents
// stop at the first repetition that is not green. The share of passed repetitions is then no
// estimate of a pass rate, because it depends on the results when the repetitions end.
func StoppedEarly(run *plumb.Run, i int) bool {
	tried, planned := Tried(run, i)
	info := &run.Info.Runners[i%len(run.Info.Runners)]
	return run.Executions[i].State == plumb.ExecutionDone && tried > 0 && tried < planned &&
		(info.Kind == plumb.RunnerAgent || info.RecordedKind == plumb.RunnerAgent)
}

// SamplesOf returns what the repetitions of the execution at index i say. ok is false if fewer than
// two of them were measured, or if it stopped early.
func SamplesOf(run *plumb.Run, i int) (s CaseSamples, ok bool) {
	e := &run.Executions[i]
	s.Count = Count{Passed: int(e.Passed), Measured: int(e.Passed) + int(e.Failed)}
	if s.Measured < 2 || StoppedEarly(run, i) {
		return CaseSamples{}, false
	}
	_, s.Lo, s.Hi = betaInterval(s.Passed, s.Measured, confidence, 0.5, 0.5)
	s.Flips, _ = FlipRate(s.Count)
	s.Label, s.Sure = LabelOf(s.Count)
	return s, true
}

// LabelOf returns the label of a case, and its posterior probability: NaN for Undetermined.
func LabelOf(n Count) (l Label, sure float64) {
	flaky, below, above := flakyPosterior(n.Passed, n.Measured, stableBelow, stableAbove)
	switch {
	case above >= labelMass:
		return StablePass, above
	case below >= labelMass:
		return StableFail, below
	case flaky >= labelMass:
		return Flaky, flaky
	}
	return Undetermined, math.NaN()
}

// FlakyCase is an execution whose case is flaky.
type FlakyCase struct {
	Execution int // the index in run.Executions
	CaseSamples
}

// FlakyCases returns the flaky executions of a run, the surest first.
func FlakyCases(run *plumb.Run) []FlakyCase {
	var flaky []FlakyCase
	for i := range run.Executions {
		if e := &run.Executions[i]; e.Passed == 0 || e.Failed == 0 {
			continue // the posterior of repetitions that agree is below labelMass
		}
		if s, ok := SamplesOf(run, i); ok && s.Label == Flaky {
			flaky = append(flaky, FlakyCase{i, s})
		}
	}
	slices.SortStableFunc(flaky, func(a, b FlakyCase) int { return cmp.Compare(b.Sure, a.Sure) })
	return flaky
}

// AtK is pass@k and pass^k of a group: the mean chance of its cases that at least one of K
// repetitions passes, and that all of them pass.
type AtK struct {
	K int
	// Cases counts the executions with at least K measured repetitions. Only they are in the means.
	Cases   int
	At, Hat Estimate
}

// Repetitions is what the repetitions of a group of executions say. The executions are the cases
// of its means: one for each case and runner.
type Repetitions struct {
	// Repeated is set when more than one repetition of an execution is planned. Otherwise the other
	// figures are not computed: they would say no more than the [Rate] of the executions.
	Repeated bool
	// Planned, Measured and Passed count repetitions.
	Planned, Measured, Passed int
	// Cases counts executions with a measured repetition, and Stopped those that stopped early; see
	// [StoppedEarly]. If any did, none of the rates can be computed: the others are not a fair
	// sample of the group.
	Cases, Stopped int
	// Always counts the executions of which all repetitions passed.
	Always int
	// Rate is the pass rate of a repetition: the mean of the pass rates of the cases; see
	// [ClusteredWilson].
	Rate Estimate
	// DesignEffect is the factor by which the variance of Rate grows if cases of one category are
	// alike; see [ICC]. It is NaN if it cannot be computed, as for a group of one category.
	DesignEffect float64
	// AtK has pass@k and pass^k for several k from 2 to the largest number of measured repetitions.
	AtK []AtK
	// Flips is the mean flip rate of the FlipCases executions with at least two measured repetitions.
	Flips     Estimate
	FlipCases int
	// Labels counts the executions with each label.
	Labels map[Label]int
}

// All returns pass@k and pass^k for the largest k from 2 for which all cases have k measured
// repetitions.
func (r *Repetitions) All() (all AtK, ok bool) {
	for _, x := range r.AtK {
		if x.Cases == r.Cases {
			all, ok = x, true
		}
	}
	return all, ok
}

// Alike reports whether cases of one category are so alike that reports say it.
func (r *Repetitions) Alike() bool { return r.Rate.OK && r.DesignEffect > noticeable }

// caseCounts is the measured repetitions of several executions.
type caseCounts struct {
	counts     []Count
	rates      []float64
	clusters   []int // the question of each execution; nil if each is asked once
	categories []string
	measured   int
}

// Repetitions returns what the repetitions of the executions of r say.
func (r Rate) Repetitions(run *plumb.Run) Repetitions {
	out := Repetitions{
		Rate: unknown(""), DesignEffect: math.NaN(), Flips: unknown(""), Labels: map[Label]int{},
	}
	for _, at := range r.Executions {
		i := int(at)
		_, planned := Tried(run, i)
		out.Planned += planned
		out.Repeated = out.Repeated || planned > 1
	}
	if !out.Repeated {
		return out
	}
	var s caseCounts
	counts := map[Count]int{}
	for x, at := range r.Executions {
		i := int(at)
		e := &run.Executions[i]
		n := Count{Passed: int(e.Passed), Measured: int(e.Passed) + int(e.Failed)}
		if StoppedEarly(run, i) {
			out.Stopped++
		}
		if e.State != plumb.ExecutionDone || n.Measured == 0 {
			continue
		}
		out.Cases++
		out.Measured += n.Measured
		out.Passed += n.Passed
		if n.Measured > 1 && !StoppedEarly(run, i) {
			counts[n]++
		}
		if n.Passed == n.Measured && e.Outcome == plumb.OutcomePass {
			out.Always++
		}
		if r.questions != nil {
			s.clusters = append(s.clusters, r.questions[x])
		}
		s.add(n, run.Cases[i/len(run.Info.Runners)].Category)
	}
	for n, executions := range counts {
		l, _ := LabelOf(n)
		out.Labels[l] += executions
	}
	if out.Cases > 0 && out.Stopped == 0 {
		s.fill(&out, r.questions == nil)
	}
	return out
}

func (s *caseCounts) add(n Count, category string) {
	s.counts = append(s.counts, n)
	s.rates = append(s.rates, float64(n.Passed)/float64(n.Measured))
	s.categories = append(s.categories, category)
	s.measured += n.Measured
}

// fill computes the rates of out. grouped is set when categories group the executions: they do not
// when a case has several executions.
func (s *caseCounts) fill(out *Repetitions, grouped bool) {
	out.Rate = bounded(ClusteredWilson(s.rates, s.measured, s.clusters, confidence))
	if grouped {
		var groups table[[]float64]
		for i, rate := range s.rates {
			g := groups.row(s.categories[i], nil)
			*g = append(*g, rate)
		}
		if _, effect, _, ok := ICC(groups.rows); ok {
			out.DesignEffect = effect
		}
	}
	out.FlipCases, out.Flips = s.mean(FlipRate)
	for _, k := range s.ks() {
		x := AtK{K: k}
		x.Cases, x.At = s.mean(func(n Count) (float64, bool) { return passAtK(n.Measured, n.Passed, k) })
		_, x.Hat = s.mean(func(n Count) (float64, bool) { return passHatK(n.Measured, n.Passed, k) })
		out.AtK = append(out.AtK, x)
	}
}

// mean returns the mean of a value of the cases that have it, with the clustered interval.
func (s *caseCounts) mean(of func(Count) (float64, bool)) (cases int, e Estimate) {
	var values []float64
	repetitions := 0
	var clusters []int
	for i, n := range s.counts {
		if v, ok := of(n); ok {
			values = append(values, v)
			repetitions += n.Measured
			if s.clusters != nil {
				clusters = append(clusters, s.clusters[i])
			}
		}
	}
	if len(values) == 0 {
		return 0, unknown("")
	}
	return len(values), bounded(ClusteredWilson(values, repetitions, clusters, confidence))
}

// bounded returns e, or nothing if e has no interval: a rate is not shown without one. The rate of
// one case on several runners has none.
func bounded(e Estimate) Estimate {
	if !e.OK {
		return unknown(e.Method)
	}
	return e
}

// ks returns the k of pass@k and pass^k: some small ones, the smallest number of measured
// repetitions of a case, and the largest.
func (s *caseCounts) ks() []int {
	least, most := s.counts[0].Measured, s.counts[0].Measured
	for _, n := range s.counts {
		least, most = min(least, n.Measured), max(most, n.Measured)
	}
	ks := []int{2, 3, 5, 10, 20, 50, 100, least, most}
	slices.Sort(ks)
	return slices.DeleteFunc(slices.Compact(ks), func(k int) bool { return k < 2 || k > most })
}
