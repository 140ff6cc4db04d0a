package compare

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// Deciding decides the question of a run. It chooses the repetitions of the run and, if the
// baseline lacks some, those of the baseline, which are made at the same time in a run of their
// own. Its state is a fold of the results in the logs of both runs.
//
// A pair needs a result of both sides. Repetition k of a case pairs with result k of the baseline:
// first with those that the baseline has, then with fresh ones. When the question is over, Deciding
// repeats the cases that look broken; see [plumb.Suspect].
type Deciding struct {
	q     *Question
	gate  Gate
	limit int

	mu       sync.Mutex
	d        *analyze.Decider
	cases    []deciding
	wanted   []int // cases with a fresh repetition of the baseline that is wanted and not begun
	missing  int   // fresh repetitions of the baseline that are wanted and have no result
	made     int   // fresh repetitions of the baseline that have a result
	running  bool
	changed  chan struct{} // closed and replaced when a result or a wish arrives
	suspects []suspect
	screened bool // suspects is set
}

// deciding is the state of one case. Outcomes are by repetition, "" until they are known.
type deciding struct {
	stored string          // the results that the baseline has
	draws  []int           // by repetition: the number of its draw; -1 for one that confirms a suspect
	cand   []plumb.Outcome // of the run
	fresh  []plumb.Outcome // of the baseline
}

// suspect is a suspect case. Its fresh repetitions are those that did not count for the decision:
// they begin at cand and base.
type suspect struct {
	index      int
	result     CaseResult
	cand, base int
}

// Deciding returns the state of the question of the run with the given id, which has cases cases,
// before its first repetition.
func (q *Question) Deciding(runID string, cases int) (*Deciding, error) {
	s := &Deciding{q: q, cases: make([]deciding, cases), changed: make(chan struct{})}
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
			s.cases[i].stored = b.Results
			if q.Fresh == "" {
				a.Stock = append(a.Stock, len(b.Results))
			}
		}
	}
	s.limit, s.d = a.Draws, analyze.NewDecider(a)
	return s, nil
}

// Candidate returns the sampler of the run.
func (s *Deciding) Candidate() *CandidateSampler { return &CandidateSampler{s} }

// Baseline returns the sampler of the run with the fresh repetitions of the baseline, whose cases
// have the given indexes in the run.
func (s *Deciding) Baseline(indexes []int) *BaselineSampler {
	b := &BaselineSampler{Deciding: s, indexes: indexes, own: map[int]int{}}
	for own, i := range indexes {
		b.own[i] = own
	}
	return b
}

// CandidateSampler draws the repetitions of the run that decides.
type CandidateSampler struct{ *Deciding }

// Known does nothing: the draws follow from the results.
func (s *CandidateSampler) Known(int, int) {}

// Next returns the case of the next repetition, if one is drawn.
func (s *CandidateSampler) Next() (index int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running && len(s.wanted) > 0 {
		return 0, false // the baseline first, so that both sides are measured at the same time
	}
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
		if s.q.Against != "" {
			s.want(i, len(s.cases[i].draws)-len(s.cases[i].stored))
		}
	}
	c := &s.cases[i]
	c.draws, c.cand = append(c.draws, draw), append(c.cand, "")
	return i, true
}

// Reveal takes the outcome of a repetition.
func (s *CandidateSampler) Reveal(index, repetition int, o plumb.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cases[index].cand[repetition] = o
	s.count(index, repetition)
	s.notify()
}

// Wait returns a channel that is closed when results of the other run are new.
func (s *CandidateSampler) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = true
	if s.missing == 0 {
		return nil
	}
	return s.changed
}

// Decision returns the state of the question.
func (s *CandidateSampler) Decision(ended bool) *plumb.Decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decision(ended)
}

// Ended reports whether the question is over, and each suspect is confirmed or cannot be.
func (s *Deciding) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.screen() {
		return false
	}
	for i := range s.suspects {
		x := &s.suspects[i]
		if s.confirmable(x) && !s.confirmed(x) {
			return false
		}
	}
	return true
}

// BaselineSampler is the sampler of the fresh repetitions of the baseline. Its indexes are those of
// its own run.
type BaselineSampler struct {
	*Deciding
	indexes []int       // of the cases in the run that decides
	own     map[int]int // the reverse
	known   []int       // cases whose repetitions are in the log
}

// Known takes the repetitions of a case that the log has.
func (s *BaselineSampler) Known(index, repetitions int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range repetitions {
		s.known = append(s.known, index)
	}
	s.cases[s.indexes[index]].fresh = make([]plumb.Outcome, repetitions)
	s.missing += repetitions
}

// Next returns the case of the next repetition, if one is drawn.
func (s *BaselineSampler) Next() (index int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.known) > 0:
		index, s.known = s.known[0], s.known[1:]
	case len(s.wanted) > 0:
		index, s.wanted = s.own[s.wanted[0]], s.wanted[1:]
		s.notify()
	default:
		return 0, false
	}
	return index, true
}

// Reveal takes the outcome of a repetition.
func (s *BaselineSampler) Reveal(index, repetition int, o plumb.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.indexes[index]
	c := &s.cases[i]
	c.fresh[repetition] = o
	s.missing--
	s.made++
	if pair := len(c.stored) + repetition; pair < len(c.draws) {
		s.count(i, pair)
	}
	s.notify()
}

// Wait returns a channel that is closed when results of the other run are new.
func (s *BaselineSampler) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Decision says how the run is read: its repetitions follow from another run.
func (s *BaselineSampler) Decision(bool) *plumb.Decision {
	return &plumb.Decision{Against: s.q.Against, Alpha: s.q.Alpha, Evidence: []plumb.EvidenceFor{}}
}

// want asks for the fresh repetition of a case of the baseline with the given number, unless it
// exists. A negative number is a result that the baseline has.
func (s *Deciding) want(index, repetition int) {
	if c := &s.cases[index]; repetition >= len(c.fresh) {
		c.fresh = append(c.fresh, "")
		s.wanted = append(s.wanted, index)
		s.missing++
		s.notify()
	}
}

func (s *Deciding) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// count passes a pair to the decider as soon as both sides are known.
func (s *Deciding) count(index, repetition int) {
	c := &s.cases[index]
	cand, base := c.cand[repetition], plumb.OutcomePass
	if s.q.Against != "" {
		base = c.baseline(repetition)
	}
	if draw := c.draws[repetition]; draw >= 0 && cand != "" && base != "" {
		s.d.Reveal(draw, analyze.Result{
			Measured: cand.Measured() && base.Measured(), Base: base == plumb.OutcomePass, Cand: cand == plumb.OutcomePass,
		})
	}
}

// baseline returns the result of the baseline that a repetition pairs with; "" if it is not known.
func (c *deciding) baseline(repetition int) plumb.Outcome {
	switch fresh := repetition - len(c.stored); {
	case fresh >= len(c.fresh):
		return ""
	case fresh >= 0:
		return c.fresh[fresh]
	case c.stored[repetition] == 'p':
		return plumb.OutcomePass
	default:
		return plumb.OutcomeFail
	}
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
		x := suspect{index: i, cand: s.d.Counted(i)}
		x.base = max(0, x.cand-len(c.stored))
		for k := range c.stored {
			x.result.Baseline.add(c.baseline(k))
		}
		for _, o := range c.fresh[:x.base] {
			x.result.Baseline.add(o)
		}
		for _, o := range c.cand[:x.cand] {
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

// confirmable reports whether the fresh repetitions that a suspect needs can be made.
func (s *Deciding) confirmable(x *suspect) bool { return s.q.Fresh != "" || !NeedsBaseline(&x.result) }

// nextSuspect returns a suspect that needs one more fresh repetition. With it, it asks for one of
// the baseline.
func (s *Deciding) nextSuspect() (index int, ok bool) {
	if !s.screen() {
		return 0, false
	}
	for i := range s.suspects {
		x := &s.suspects[i]
		c := &s.cases[x.index]
		if !s.confirmable(x) {
			continue
		}
		if NeedsBaseline(&x.result) {
			for k := range FreshRepetitions {
				s.want(x.index, x.base+k)
			}
		}
		if len(c.draws) < x.cand+FreshRepetitions {
			return x.index, true
		}
	}
	return 0, false
}

// confirmed reports whether a suspect has its fresh repetitions.
func (s *Deciding) confirmed(x *suspect) bool {
	c := &s.cases[x.index]
	has := func(outcomes []plumb.Outcome, from int) bool {
		if len(outcomes) < from+FreshRepetitions {
			return false
		}
		return !slices.Contains(outcomes[from:from+FreshRepetitions], "")
	}
	return has(c.cand, x.cand) && (!NeedsBaseline(&x.result) || has(c.fresh, x.base))
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
	fresh := func(outcomes []plumb.Outcome) (n Count) {
		for _, o := range outcomes[:min(len(outcomes), FreshRepetitions)] {
			n.add(o)
		}
		return n
	}
	at := 0
	confirm(results, func(c *CaseResult) (f Fresh) {
		x := &s.suspects[at]
		at++
		if !s.confirmable(x) || !s.confirmed(x) {
			return f
		}
		f.Candidate = fresh(s.cases[x.index].cand[x.cand:])
		if NeedsBaseline(c) {
			f.Baseline = fresh(s.cases[x.index].fresh[x.base:])
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
			x.FreshBaseline, x.FreshCandidate, x.P = f.Baseline.passed(), f.Candidate.passed(), orNil(float64(f.AdjustedP))
		}
		out = append(out, x)
	}
	return out
}

func (n Count) passed() plumb.PassCount {
	return plumb.PassCount{Passed: n.Passed, Measured: n.Measured}
}
