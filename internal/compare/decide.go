package compare

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/run"
)

// The defaults of a run until a decision.
const (
	DecideMargin   = 0.05
	DecideRepeat   = 20
	decideCoverage = 0.8
)

// Question is what a run decides, as run.json has it. It holds the results of the baseline, so that
// a resumed run does not depend on whether the baseline has changed.
type Question struct {
	// Against is the baseline as the user named it; "" for a gate without a baseline.
	Against string `json:"against,omitempty"`
	// Gate is "" if the question is which side is better.
	Gate   string  `json:"gate,omitempty" redact:"-"`
	Alpha  float64 `json:"alpha"`
	Margin float64 `json:"margin"`
	// Repeat is the largest mean number of pairs of a case.
	Repeat int `json:"repeat"`
	// Batch is the number of draws with the same probabilities.
	Batch int `json:"batch"`
	// BaselineRun is the id of the run of the baseline; "" if more repetitions cannot be added to it.
	BaselineRun string `json:"baselineRun,omitempty" redact:"-"`
	// Baseline has the measured results of each case, in suite order; empty without a baseline.
	Baseline []BaselineResults `json:"baseline,omitempty"`
}

// BaselineResults are the measured repetitions of one case of the baseline, in their order: a "p"
// for each one that passed and an "f" for each one that failed.
type BaselineResults struct {
	Case    string `json:"case" redact:"-"`
	Results string `json:"results" redact:"-"`
}

// Stock returns the largest number of pairs that the baseline allows.
func (q *Question) Stock() (pairs int) {
	for _, b := range q.Baseline {
		pairs += len(b.Results)
	}
	return pairs
}

// Extendable returns the id of the run of a side to which plumb resume can add repetitions, or "".
func Extendable(s *Side) string {
	if !s.Extendable() {
		return ""
	}
	return s.ID
}

// Results returns the measured results of samples in the form of [BaselineResults].
func Results(samples []analyze.Sample) string {
	var results strings.Builder
	for i := range samples {
		switch {
		case samples[i].Passed():
			results.WriteByte('p')
		case samples[i].Measured():
			results.WriteByte('f')
		}
	}
	return results.String()
}

// Sampler returns the sampler of the run with the given id, which has cases cases.
func (q *Question) Sampler(runID string, cases int) (run.Sampler, error) {
	s := &sampler{q: q, pairs: map[int]bool{}, used: make([]int, cases)}
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
		for _, b := range q.Baseline {
			a.Stock = append(a.Stock, len(b.Results))
		}
	}
	s.limit, s.d = a.Draws, analyze.NewDecider(a)
	return s, nil
}

// sampler is the [run.Sampler] of a question.
type sampler struct {
	q     *Question
	gate  Gate
	d     *analyze.Decider
	limit int
	used  []int        // repetitions of the baseline, by case
	pairs map[int]bool // by draw without a result: whether the baseline passed
}

func (s *sampler) Next() (draw, index int, ok bool) {
	draw, index, state := s.d.Next()
	if state != analyze.Drawn {
		return 0, 0, false
	}
	if len(s.q.Baseline) > 0 {
		s.pairs[draw] = s.q.Baseline[index].Results[s.used[index]] == 'p'
		s.used[index]++
	}
	return draw, index, true
}

func (s *sampler) Reveal(draw int, o plumb.Outcome) {
	s.d.Reveal(draw, analyze.Result{
		Measured: o.Measured(), Base: s.pairs[draw], Cand: o == plumb.OutcomePass,
	})
	delete(s.pairs, draw)
}

func (s *sampler) Decided() bool { return s.d.Standing().Decision != analyze.Undecided }

// conclusion returns the word for a decision.
func (s *sampler) conclusion(d analyze.Decision) string {
	switch {
	case d == analyze.DecidedBetter:
		return string(Better)
	case d == analyze.DecidedWorse:
		return string(Worse)
	case d == analyze.DecidedEquivalent:
		return string(Equivalent)
	case d == analyze.Undecided && s.q.Gate == "":
		return string(NotDecisive)
	case d == analyze.Undecided:
		return string(Unproven)
	case (d == analyze.DecidedAbove) == s.gate.AtLeast:
		return string(Holds)
	default:
		return string(Violated)
	}
}

func (s *sampler) Decision(ended bool) *plumb.Decision {
	is := s.d.Standing()
	d := &plumb.Decision{
		Against: s.q.Against, BaselineRun: s.q.BaselineRun, Gate: s.gate.Text, Drawn: is.Draws, Limit: s.limit,
		Measured: is.Measured, Lost: is.Lost, Won: is.Won, Exhausted: is.Exhausted, Value: orNil(is.Effect), Alpha: s.q.Alpha,
	}
	if s.q.Gate != "" {
		holds, violated := is.Above, is.Below
		if !s.gate.AtLeast {
			holds, violated = violated, holds
		}
		d.Evidence = []plumb.EvidenceFor{
			{Conclusion: string(Holds), Part: holds}, {Conclusion: string(Violated), Part: violated},
		}
	} else {
		d.Margin = s.q.Margin
		d.Evidence = []plumb.EvidenceFor{
			{Conclusion: string(Worse), Part: is.Worse},
			{Conclusion: string(Better), Part: is.Better},
			{Conclusion: string(Equivalent), Part: is.Settled},
		}
	}
	if ended || is.Decision != analyze.Undecided {
		d.Conclusion = s.conclusion(is.Decision)
	}
	if ended {
		s.estimate(d)
	}
	return d
}

// estimate sets the interval, and what the draws could have shown.
func (s *sampler) estimate(d *plumb.Decision) {
	var pairs []analyze.PairCounts
	var rates []float64
	for i := range s.used {
		n, base, cand := s.d.Counts(i)
		if n > 0 {
			pairs = append(pairs, analyze.PairCounts{
				BaseMeasured: n, BasePassed: base, CandMeasured: n, CandPassed: cand,
			})
			rates = append(rates, float64(cand)/float64(n))
		}
	}
	d.Cases, d.Confidence = len(pairs), 1-s.q.Alpha
	if d.Conclusion == string(Equivalent) {
		d.Confidence = 1 - 2*s.q.Alpha
	}
	if s.q.Against == "" {
		if e := analyze.ClusteredWilson(rates, d.Measured, nil, d.Confidence); e.OK {
			d.Low, d.High = orNil(e.Lo), orNil(e.Hi)
		}
		return
	}
	e := analyze.RateDifference(pairs, d.Confidence)
	if !e.OK {
		return
	}
	d.Low, d.High = orNil(max(e.Lo, -1)), orNil(min(e.Hi, 1))
	se := (e.Hi - e.Lo) / 2 / upper((1-d.Confidence)/2)
	d.Detectable = orNil((upper(s.q.Alpha/2) + upper(0.2)) * se)
}

// orNil returns x, or nil for NaN.
func orNil(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}
