package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// screenLevel is the one-sided p of a case from which on it is suspect.
const screenLevel = 0.05

// historyEnough is the number of repetitions of the baseline that a fresh sample of the candidate is
// compared with. With fewer, the baseline is repeated, too: a case was selected because its history
// was good, so a short history would make it look broken too often.
const historyEnough = 20

// FreshRepetitions is the number of repetitions with which a suspect case is confirmed.
const FreshRepetitions = 5

// CaseKey names one case on one runner of the candidate.
type CaseKey struct{ Case, Runner string }

// Fresh holds the fresh repetitions of a suspect case. Baseline is empty if the baseline was not
// repeated.
type Fresh struct {
	Baseline, Candidate Count
	// Confirmations is the number of confirmations that made them.
	Confirmations int
}

// NeedsBaseline reports whether a suspect case must be repeated on the baseline, too.
func NeedsBaseline(c *CaseResult) bool { return c.Baseline.Measured < historyEnough }

// Count counts the repetitions of one case on one runner, by their ids.
func (s *Side) Count(caseID, runnerID string) (n Count) {
	c, r := s.index(caseID), s.runner(runnerID)
	if c < 0 || r < 0 {
		return n
	}
	n.Passed, n.Measured = countPassed(s.At(c, r))
	n.Unmeasured = unmeasuredOf(s.At(c, r))
	return n
}

// caseTest is one pair with its p-values.
type caseTest struct {
	runners *RunnerPair
	pair    *Pair
	// worse and better are Fisher's one-sided p-values.
	worse, better float64
	change        float64 // of the pass rate, candidate minus baseline
}

// testCases tests each measured pair, and returns those of all runners. Unmeasured pairs are
// returned apart.
func testCases(m *Matching, builders []*builder) (tested []caseTest, unmeasured []CaseResult) {
	type table struct{ base, baseOf, cand, candOf int }
	known := map[table][2]float64{} // most pairs have one of few tables
	for i := range m.Runners {
		for _, p := range builders[i].pairs {
			c, _ := passCounts(p, leaveOut)
			if c.BaseMeasured == 0 || c.CandMeasured == 0 {
				unmeasured = append(unmeasured, caseResult(&m.Runners[i], p))
				continue
			}
			key := table{c.BasePassed, c.BaseMeasured, c.CandPassed, c.CandMeasured}
			ps, ok := known[key]
			if !ok {
				less, greater, _ := analyze.Fisher(c.BasePassed, c.BaseMeasured-c.BasePassed,
					c.CandPassed, c.CandMeasured-c.CandPassed)
				ps = [2]float64{greater, less}
				known[key] = ps
			}
			tested = append(tested, caseTest{
				runners: &m.Runners[i], pair: p, worse: ps[0], better: ps[1],
				change: rate(c.CandPassed, c.CandMeasured) - rate(c.BasePassed, c.BaseMeasured),
			})
		}
	}
	return tested, unmeasured
}

// result describes a pair that changed. adjusted is its p-value against a worse candidate, adjusted
// for all pairs.
func (t *caseTest) result(adjusted float64) CaseResult {
	r := caseResult(t.runners, t.pair)
	if t.change < 0 {
		r.P, r.AdjustedP, r.Class = Number(t.worse), Number(adjusted), frequentClass(t.pair.Cand)
	} else {
		r.P, r.Class = Number(t.better), frequentClass(t.pair.Base)
	}
	if !t.pair.EarlyStop && r.Baseline.Measured > 1 {
		label, _ := analyze.LabelOf(analyze.Count{Passed: r.Baseline.Passed, Measured: r.Baseline.Measured})
		r.Label = string(label)
	}
	return r
}

// caseResult returns the counts of a pair.
func caseResult(r *RunnerPair, p *Pair) CaseResult {
	counts, whole := passCounts(p, leaveOut)
	c := CaseResult{
		Baseline:  Count{counts.BasePassed, counts.BaseMeasured, unmeasuredOf(p.Base)},
		Candidate: Count{counts.CandPassed, counts.CandMeasured, unmeasuredOf(p.Cand)},
		Whole:     whole,
		Case:      p.CandCase, Runner: r.Cand, Category: p.Case.Category, Difficulty: p.Case.Difficulty, Tags: p.Case.Tags,
		P: missing(), AdjustedP: missing(),
	}
	if p.BaseCase != p.CandCase {
		c.BaselineCase = p.BaseCase
	}
	if r.Base != r.Cand {
		c.BaselineRunner = r.Base
	}
	return c
}

func unmeasuredOf(samples []analyze.Sample) (n int) {
	for i := range samples {
		if !samples[i].Measured() {
			n++
		}
	}
	return n
}

func countErrors(samples []analyze.Sample) (errors, attempted int) {
	for i := range samples {
		switch samples[i].Outcome {
		case plumb.OutcomeError:
			errors++
			attempted++
		case plumb.OutcomePass, plumb.OutcomeFail:
			attempted++
		case plumb.OutcomeSkipped: // it was not attempted
		}
	}
	return errors, attempted
}

// frequentClass returns the most frequent class of the failed samples.
func frequentClass(samples []analyze.Sample) plumb.FailureClass {
	counts := map[string]int{}
	var most string
	for i := range samples {
		s := &samples[i]
		if s.Outcome != plumb.OutcomeFail {
			continue
		}
		id := cmp.Or(s.Class, plumb.OriginAssertion.Class().ID)
		counts[id]++
		if n := counts[id]; n > counts[most] || n == counts[most] && id < most {
			most = id
		}
	}
	for _, c := range []plumb.FailureClass{
		plumb.Origin(most).Class(), plumb.ClassTruncated(), plumb.ClassRefused(), plumb.ClassUnexpectedPass(),
	} {
		if c.ID == most {
			return c
		}
	}
	return plumb.FailureClass{ID: most}
}

// cases returns the cases that need attention.
func (a *analysis) cases() Cases {
	tested, unmeasured := testCases(a.m, a.builders)
	worse := make([]float64, len(tested))
	for i := range tested {
		worse[i] = tested[i].worse
	}
	out := Cases{
		Unmeasured: unmeasured, OnlyBaseline: a.m.OnlyBase, OnlyCandidate: a.m.OnlyCand,
		Family: Family{Name: "cases", Size: len(tested), Method: "Holm"},
	}
	var suspects []CaseResult
	for i, adjusted := range analyze.Holm(worse) {
		t := &tested[i]
		if t.change == 0 {
			continue
		}
		r := t.result(adjusted)
		if t.change > 0 {
			out.Fixed = append(out.Fixed, r)
			continue
		}
		out.Regressed = append(out.Regressed, r)
		_, repeated := a.o.Confirmed[CaseKey{r.Case, r.Runner}]
		switch {
		case adjusted <= a.o.Alpha/2 && !repeated:
			out.Broken = append(out.Broken, r)
		case t.worse <= screenLevel+1e-12:
			suspects = append(suspects, r)
		}
	}
	broken, suspects := a.confirm(suspects)
	out.Broken, out.Suspect = append(out.Broken, broken...), suspects
	for _, list := range []*[]CaseResult{&out.Broken, &out.Suspect, &out.Regressed, &out.Fixed, &out.Unmeasured} {
		sortCases(*list)
		if *list == nil {
			*list = []CaseResult{}
		}
	}
	return out
}

// confirm decides the suspects that were repeated. The others stay suspects.
func (a *analysis) confirm(suspects []CaseResult) (broken, left []CaseResult) {
	confirm(suspects, func(c *CaseResult) Fresh { return a.o.Confirmed[CaseKey{c.Case, c.Runner}] })
	for _, c := range suspects {
		if c.Confirmation.broken(a.o.Alpha) {
			broken = append(broken, c)
		} else {
			left = append(left, c)
		}
	}
	return broken, left
}

// confirm sets the confirmation of the suspects that have enough fresh repetitions, with Holm over
// them.
func confirm(suspects []CaseResult, freshOf func(*CaseResult) Fresh) {
	var repeated []*CaseResult
	var ps []float64
	for i := range suspects {
		c := &suspects[i]
		fresh, history := freshOf(c), !NeedsBaseline(c)
		if fresh.Candidate.Measured == 0 || !history && fresh.Baseline.Measured == 0 {
			continue
		}
		against := fresh.Baseline
		if history {
			against = c.Baseline
		}
		_, p, _ := analyze.Fisher(against.Passed, against.Measured-against.Passed,
			fresh.Candidate.Passed, fresh.Candidate.Measured-fresh.Candidate.Passed)
		c.Confirmation = &Confirmation{
			Baseline: fresh.Baseline, Candidate: fresh.Candidate, History: history, P: Number(p),
			AdjustedP: missing(), Confirmations: fresh.Confirmations,
		}
		repeated, ps = append(repeated, c), append(ps, p)
	}
	for i, adjusted := range analyze.Holm(ps) {
		repeated[i].Confirmation.AdjustedP = Number(adjusted)
	}
}

// broken reports whether a suspect is broken, at half of alpha: its fresh repetitions are worse than
// those of the baseline.
func (c *Confirmation) broken(alpha float64) bool { return c != nil && float64(c.AdjustedP) <= alpha/2 }

// sortCases sorts cases by p, the smallest first, then by the size of the change, then by name.
func sortCases(list []CaseResult) {
	p := func(c *CaseResult) float64 {
		if !c.P.OK() {
			return math.Inf(1)
		}
		return float64(c.P)
	}
	change := func(c *CaseResult) float64 {
		if c.Baseline.Measured == 0 || c.Candidate.Measured == 0 {
			return 0
		}
		return math.Abs(rate(c.Candidate.Passed, c.Candidate.Measured) - rate(c.Baseline.Passed, c.Baseline.Measured))
	}
	slices.SortFunc(list, func(x, y CaseResult) int {
		return cmp.Or(cmp.Compare(p(&x), p(&y)), cmp.Compare(change(&y), change(&x)), cmp.Compare(x.Case, y.Case),
			cmp.Compare(x.Runner, y.Runner))
	})
}
