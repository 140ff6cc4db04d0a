package compare

// Change says how the pass rate of a case changed.
type Change string

// The changes of a case. Unmeasured means that a side has no measured repetition, and SameAnswer
// that both sides hold the same recorded answer.
const (
	Lost       Change = "lost"
	Won        Change = "won"
	Same       Change = "same"
	Unmeasured Change = "unmeasured"
	SameAnswer Change = "same-answer"
)

// changeOf returns how the pass rate of the case of a pair changed.
func changeOf(p *Pair, c *CaseResult) Change {
	switch b, d := c.Baseline, c.Candidate; {
	case p.SameAnswer:
		return SameAnswer
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

// EachPair calls fn for each pair of a matching, with the counts of its case and how it changed. The
// result has neither p-values nor a failure class.
func (m *Matching) EachPair(fn func(r *RunnerPair, p *Pair, c CaseResult, change Change)) {
	for i := range m.Runners {
		r := &m.Runners[i]
		for k := range r.Pairs {
			c := caseResult(r, &r.Pairs[k])
			fn(r, &r.Pairs[k], c, changeOf(&r.Pairs[k], &c))
		}
	}
}
