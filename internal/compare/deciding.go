package compare

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// Deciding decides the question of a run: it is the [run.Sampler] of the run. Its state is a fold
// of the results in the log.
//
// Repetition k of a case pairs with result k of the baseline. When the question is over, Deciding
// repeats the cases that look broken, if the baseline has enough results of them; see
// [plumb.Suspect].
type Deciding struct {
	q        *Question
	gate     Gate
	limit    int
	d        *analyze.Decider
	cases    []deciding
	suspects []suspect
	screened bool // suspects is set
}

// deciding is the state of one case.
type deciding struct {
	baseline string          // the results of the baseline
	draws    []int           // by repetition: the number of its draw; -1 for one that confirms a suspect
	outcomes []plumb.Outcome // by repetition; "" until it is known
}

// suspect is a suspect case. Its fresh repetitions are those that did not count for the decision:
// they begin at fresh.
type suspect struct {
	index  int
	result CaseResult
	fresh  int
}

// Deciding returns the state of the question of the run with the given id, which has cases cases,
// before its first repetition.
func (q *Question) Deciding(runID string, cases int) (*Deciding, error) {
	s := &Deciding{q: q, cases: make([]deciding, cases)}
	a := analyze.Question{
		Cases: cases, Draws: q.Repeat * cases, Batch: q.Batch, Alpha: q.Alpha, Margin: q.Margin, Gate: math.NaN(),
		Coverage: decideCoverage, Seed: sha256.Sum256([]byte("until-decided\n" + runID)),
	}
	if q.Gate != "" {
		var err error
		if s.gate, err = ParseGate(q.Gate); err != nil {
			return nil, err
		}
		a.Gate, a.Absolute = s.gate.Bound, !s.gate.Relative
	}
	if q.Against != "" {
		if len(q.Baseline) != cases {
			return nil, fmt.Errorf("the baseline in run.json has %d cases, and the run has %d", len(q.Baseline), cases)
		}
		for i, b := range q.Baseline {
			s.cases[i].baseline = b.Results
			a.Stock = append(a.Stock, len(b.Results))
		}
	}
	s.limit, s.d = a.Draws, analyze.NewDecider(a)
	return s, nil
}

// Next draws the case of the next pair. When the question is over, it is a suspect.
func (s *Deciding) Next() (index int, ok bool) {
	draw, i, state := s.d.Next()
	switch state {
	case analyze.Waiting:
		return 0, false
	case analyze.Ended:
		if i, ok = s.nextSuspect(); !ok {
			return 0, false
		}
		draw = -1
	case analyze.Drawn:
	}
	c := &s.cases[i]
	c.draws, c.outcomes = append(c.draws, draw), append(c.outcomes, "")
	return i, true
}

// Reveal passes a pair to the decider.
func (s *Deciding) Reveal(index, repetition int, o plumb.Outcome) {
	c := &s.cases[index]
	c.outcomes[repetition] = o
	if draw := c.draws[repetition]; draw >= 0 {
		base := s.q.Against == "" || c.baseline[repetition] == baselinePassed
		s.d.Reveal(draw, analyze.Result{Measured: o.Measured(), Base: base, Cand: o == plumb.OutcomePass})
	}
}

// Ended reports whether the question is over, and each suspect is confirmed or cannot be.
func (s *Deciding) Ended() bool {
	if !s.screen() {
		return false
	}
	for i := range s.suspects {
		if x := &s.suspects[i]; x.confirmable() && !s.confirmed(x) {
			return false
		}
	}
	return true
}

// screen finds the suspects once the question is over. It reports whether it is over. A gate
// decides alone.
func (s *Deciding) screen() bool {
	if s.screened || !s.d.Over() {
		return s.screened
	}
	s.screened = true
	if s.q.Gate != "" {
		return true
	}
	for i := range s.cases {
		c := &s.cases[i]
		x := suspect{index: i, fresh: s.d.Counted(i)}
		x.result.Baseline = Count{Passed: strings.Count(c.baseline, string(baselinePassed)), Measured: len(c.baseline)}
		for _, o := range c.outcomes[:x.fresh] {
			x.result.Candidate.add(o)
		}
		b, n := x.result.Baseline, x.result.Candidate
		if b.Measured == 0 || n.Measured == 0 || rate(n.Passed, n.Measured) >= rate(b.Passed, b.Measured) {
			continue
		}
		if _, p, _ := analyze.Fisher(b.Passed, b.Measured-b.Passed, n.Passed, n.Measured-n.Passed); p <= screenLevel+1e-12 {
			x.result.P = Number(p)
			s.suspects = append(s.suspects, x)
		}
	}
	return true
}

func (n *Count) add(o plumb.Outcome) {
	switch {
	case o == plumb.OutcomePass:
		n.Passed++
		n.Measured++
	case o.Measured():
		n.Measured++
	default:
		n.Unmeasured++
	}
}

// confirmable reports whether fresh repetitions of the run alone decide whether the suspect is
// broken.
func (x *suspect) confirmable() bool { return !NeedsBaseline(&x.result) }

// nextSuspect returns a suspect that needs one more fresh repetition.
func (s *Deciding) nextSuspect() (index int, ok bool) {
	if !s.screen() {
		return 0, false
	}
	for i := range s.suspects {
		if x := &s.suspects[i]; x.confirmable() && len(s.cases[x.index].draws) < x.fresh+FreshRepetitions {
			return x.index, true
		}
	}
	return 0, false
}

// confirmed reports whether a suspect has its fresh repetitions.
func (s *Deciding) confirmed(x *suspect) bool {
	fresh := s.cases[x.index].outcomes[x.fresh:]
	return len(fresh) >= FreshRepetitions && !slices.Contains(fresh[:FreshRepetitions], "")
}

// tested returns the suspects with what their fresh repetitions showed.
func (s *Deciding) tested() (out []plumb.Suspect) {
	if !s.screen() {
		return nil
	}
	results := make([]CaseResult, len(s.suspects))
	for i := range s.suspects {
		results[i] = s.suspects[i].result
	}
	at := 0
	confirm(results, func(*CaseResult) (f Fresh) {
		x := &s.suspects[at]
		at++
		if x.confirmable() && s.confirmed(x) {
			for _, o := range s.cases[x.index].outcomes[x.fresh:][:FreshRepetitions] {
				f.Candidate.add(o)
			}
		}
		return f
	})
	for i := range results {
		c := &results[i]
		x := plumb.Suspect{
			Case: s.q.Baseline[s.suspects[i].index].Case, Baseline: c.Baseline.passed(), Candidate: c.Candidate.passed(),
			Broken: c.Confirmation.broken(s.q.Alpha),
		}
		if f := c.Confirmation; f != nil {
			x.FreshCandidate, x.P = f.Candidate.passed(), orNil(float64(f.AdjustedP))
		}
		out = append(out, x)
	}
	return out
}

func (n Count) passed() plumb.PassCount {
	return plumb.PassCount{Passed: n.Passed, Measured: n.Measured}
}
