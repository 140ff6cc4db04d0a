package compare

import (
	"math"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
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
	// Fresh is the id of a run with more repetitions of the baseline. Earlier versions made such runs,
	// and a run that has one cannot be resumed.
	Fresh string `json:"fresh,omitempty" redact:"-"`
}

// The results of a repetition in [BaselineResults].
const (
	baselinePassed = 'p'
	baselineFailed = 'f'
)

// BaselineResults are the measured repetitions of one case of the baseline, in their order: a "p"
// for each one that passed and an "f" for each one that failed.
type BaselineResults struct {
	Case string `json:"case" redact:"-"`
	// BaseCase is the id of the case in the baseline, if it is another one.
	BaseCase string `json:"baseCase,omitempty" redact:"-"`
	Results  string `json:"results" redact:"-"`
}

// Stock returns the number of pairs that the results of the baseline allow, and the number of
// results that the baseline lacks for Repeat pairs of each case.
func (q *Question) Stock() (pairs, missing int) {
	for _, b := range q.Baseline {
		pairs += len(b.Results)
		missing += max(0, q.Repeat-len(b.Results))
	}
	return pairs, missing
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
			results.WriteByte(baselinePassed)
		case samples[i].Measured():
			results.WriteByte(baselineFailed)
		}
	}
	return results.String()
}

// conclusion returns the word for a decision.
func (s *Deciding) conclusion(d analyze.Decision) string {
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

// Decision returns the state of the question; see [run.Sampler].
func (s *Deciding) Decision(ended bool) *plumb.Decision {
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
	if !ended {
		return d
	}
	s.estimate(d)
	if d.Suspects = s.tested(); slices.ContainsFunc(d.Suspects, func(c plumb.Suspect) bool { return c.Broken }) {
		d.Whole, d.Conclusion = d.Conclusion, string(Worse)
	}
	return d
}

// estimate sets the interval, and what the draws could have shown.
func (s *Deciding) estimate(d *plumb.Decision) {
	var pairs []analyze.PairCounts
	var rates []float64
	var both []analyze.Count
	for i := range s.cases {
		n, base, cand := s.d.Counts(i)
		if n > 0 {
			pairs = append(pairs, analyze.PairCounts{
				BaseMeasured: n, BasePassed: base, CandMeasured: n, CandPassed: cand,
			})
			rates = append(rates, float64(cand)/float64(n))
			both = append(both, analyze.Count{Passed: base + cand, Measured: 2 * n})
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
	e := analyze.RateDifference(pairs)(d.Confidence)
	if !e.OK {
		return
	}
	d.Low, d.High = orNil(max(e.Lo, -1)), orNil(min(e.Hi, 1))
	if s.q.Gate == "" { // the power of the e-process after so many pairs
		design := analyze.RateDesign{
			Mix: analyze.MixOf(both), Cases: []analyze.Repeats{{Base: 1, Cand: 1, Cases: d.Measured}}, Alpha: s.q.Alpha,
			Sequential: true,
		}
		if seen, ok := design.Detectable(); ok {
			d.Detectable = &seen
		}
		return
	}
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
