package compare

// Change says how the pass rate of a case changed.
type Change string

// The changes of a case. Unmeasured means that a side has no measured repetition.
const (
	Lost       Change = "lost"
	Won        Change = "won"
	Same       Change = "same"
	Unmeasured Change = "unmeasured"
)

// Change returns how the pass rate of the case changed.
func (c *CaseResult) Change() Change {
	switch b, d := c.Baseline, c.Candidate; {
	case b.Measured == 0 || d.Measured == 0:
		return Unmeasured
	case d.Passed*b.Measured < b.Passed*d.Measured:
		return Lost
	case d.Passed*b.Measured > b.Passed*d.Measured:
		return Won
	default:
		return Same
	}
}

// EachPair calls fn for each pair of a matching, with the counts of its case. The result has neither
// p-values nor a failure class.
func (m *Matching) EachPair(fn func(r *RunnerPair, p *Pair, c CaseResult)) {
	for i := range m.Runners {
		r := &m.Runners[i]
		for k := range r.Pairs {
			p := &r.Pairs[k]
			counts, whole := passCounts(p, leaveOut)
			c := caseResult(r, p)
			c.Whole = whole
			c.Baseline = Count{counts.BasePassed, counts.BaseMeasured, unmeasuredOf(p.Base)}
			c.Candidate = Count{counts.CandPassed, counts.CandMeasured, unmeasuredOf(p.Cand)}
			fn(r, p, c)
		}
	}
}
