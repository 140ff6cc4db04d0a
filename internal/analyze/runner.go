package analyze

import (
	"math"
	"strconv"

	"github.com/plumb-eval/plumb"
)

// RunnerSummary is the result of one runner in a run. The documented keys come first.
type RunnerSummary struct {
	Runner plumb.RunnerInfo `json:"runner"`
	// TotalCases counts the runner's executions. PassedCases counts those that leave the suite
	// green, including expected failures. SuccessRate is their quotient, 0 if there are no
	// executions.
	TotalCases  int     `json:"totalCases"`
	PassedCases int     `json:"passedCases"`
	SuccessRate float64 `json:"successRate"`
	// The averages are over the executions that have the value.
	AverageDurationMs      float64  `json:"averageDurationMs"`
	AverageInputTokens     *float64 `json:"averageInputTokens,omitempty"`
	AverageOutputTokens    *float64 `json:"averageOutputTokens,omitempty"`
	AverageReasoningTokens *float64 `json:"averageReasoningTokens,omitempty"`
	AverageCacheTokens     *float64 `json:"averageCacheTokens,omitempty"`
	AverageTotalTokens     *float64 `json:"averageTotalTokens,omitempty"`

	Rate RateFigures `json:"rate"`
	GroupFigures
	// CostUSD is the known part of the cost; it is absent if no cost is known.
	CostUSD  *float64 `json:"costUsd,omitempty"`
	Unpriced int      `json:"unpriced"`
}

// RateFigures is a [Rate] with the values derived from it, for machines.
type RateFigures struct {
	Planned          int `json:"planned"`
	Measured         int `json:"measured"`
	Passed           int `json:"passed"`
	Failed           int `json:"failed"`
	Errored          int `json:"errored"`
	Skipped          int `json:"skipped"`
	ExpectedFailed   int `json:"expectedFailed"`
	UnexpectedPassed int `json:"unexpectedPassed"`
	// Coverage is Measured / Planned, PassRate is Passed / Measured, and Low and High bound it at
	// level Confidence, with the questions as clusters if one was asked more than once. PassRate is
	// null if nothing was measured, and Low and High also if all is about one question.
	Coverage   float64  `json:"coverage"`
	PassRate   *float64 `json:"passRate"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Confidence float64  `json:"confidence"`
}

// Figures returns the counts and derived values of r. Executions that did not end count as skipped,
// because the run is over.
func (r Rate) Figures() RateFigures {
	f := RateFigures{
		Planned: r.Planned, Measured: r.Measured(), Passed: r.Passed, Failed: r.Failed, Errored: r.Errored,
		Skipped: r.NotRun(), ExpectedFailed: r.ExpectedFailed, UnexpectedPassed: r.UnexpectedPassed,
		Coverage: r.Coverage(), Confidence: confidence,
	}
	if value, ok := r.Value(); ok {
		f.PassRate = &value
		if lo, hi, ok := r.Interval(); ok {
			f.Low, f.High = &lo, &hi
		}
	}
	return f
}

// GroupFigures are the figures of a group of executions beside its [RateFigures], for machines. The
// first four are absent without repetitions.
type GroupFigures struct {
	Samples *SampleFigures `json:"samples,omitempty"`
	PassAt  []AtKFigures   `json:"passAt,omitempty"`
	PassHat []AtKFigures   `json:"passHat,omitempty"`
	Flips   *MeanFigures   `json:"flips,omitempty"`
	// Score is absent if nothing was measured, and Metrics if no session reported a figure.
	Score   *ScoreFigures            `json:"score,omitempty"`
	Metrics map[string]MetricFigures `json:"metrics,omitempty"`
}

// MeanFigures is a mean over cases with its interval at level confidence. The figures that cannot be
// computed are null.
type MeanFigures struct {
	Mean *float64 `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Cases counts the executions in the mean.
	Cases int `json:"cases"`
}

// SampleFigures is the pass rate of repetitions; see [Repetitions].
type SampleFigures struct {
	MeanFigures
	Planned      int      `json:"planned"`
	Repetitions  int      `json:"repetitions"`
	Passed       int      `json:"passed"`
	StoppedEarly int      `json:"stoppedEarly"`
	DesignEffect *float64 `json:"designEffect"`
}

// CaseSampleFigures is a [CaseSamples] without its label.
type CaseSampleFigures struct {
	Passed   int      `json:"passed"`
	Measured int      `json:"measured"`
	Mean     *float64 `json:"mean"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	Flips    *float64 `json:"flips"`
	// Sure is nil if the label is undetermined.
	Sure *float64 `json:"-"`
}

// Figures returns the figures of s.
func (s *CaseSamples) Figures() CaseSampleFigures {
	return CaseSampleFigures{
		s.Passed, s.Measured, number(s.Rate()), number(s.Lo), number(s.Hi), number(s.Flips), number(s.Sure),
	}
}

// AtKFigures is pass@k or pass^k; see [AtK].
type AtKFigures struct {
	K int `json:"k"`
	MeanFigures
}

// ScoreFigures is a [Score].
type ScoreFigures struct {
	MeanFigures
	Min    *float64 `json:"min"`
	Median *float64 `json:"median"`
	Max    *float64 `json:"max"`
}

// MetricFigures is a [Metric].
type MetricFigures struct {
	Cases         int             `json:"cases"`
	Median        QuantileFigures `json:"median"`
	P90           QuantileFigures `json:"p90"`
	GeometricMean QuantileFigures `json:"geometricMean"`
}

// QuantileFigures is a figure with its interval. A bound that cannot be computed is null.
type QuantileFigures struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

func (r *Repetitions) figures() *SampleFigures {
	return &SampleFigures{
		MeanFigures: r.Rate.figures(r.Cases), Planned: r.Planned, Repetitions: r.Measured, Passed: r.Passed,
		StoppedEarly: r.Stopped, DesignEffect: number(r.DesignEffect),
	}
}

// Group returns the figures of the executions of r beside its rate.
func (r Rate) Group(run *plumb.Run) GroupFigures {
	var g GroupFigures
	if x := r.Repetitions(run); x.Repeated {
		g.Samples = x.figures()
		g.Flips = new(x.Flips.figures(x.FlipCases))
		for _, at := range x.AtK {
			g.PassAt = append(g.PassAt, AtKFigures{at.K, at.At.figures(at.Cases)})
			g.PassHat = append(g.PassHat, AtKFigures{at.K, at.Hat.figures(at.Cases)})
		}
	}
	if s := r.Score(run); s.N > 0 {
		g.Score = &ScoreFigures{s.Mean.figures(s.N), number(s.Min), number(s.Median), number(s.Max)}
	}
	metrics := r.Metrics(run)
	for name, m := range metrics.named() {
		if m.N == 0 {
			continue
		}
		if g.Metrics == nil {
			g.Metrics = map[string]MetricFigures{}
		}
		g.Metrics[name] = MetricFigures{m.N, m.Median.figures(), m.P90.figures(), m.Mean.Quantile().figures()}
	}
	return g
}

// number returns a figure for JSON, which has no NaN. It has 12 digits, so that all processors give
// the same: some of them fuse a product with a sum.
func number(x float64) *float64 {
	x, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func (e Estimate) figures(cases int) MeanFigures {
	q := e.Quantile().figures()
	return MeanFigures{q.Value, q.Low, q.High, cases}
}

// Quantile returns the value of e and its bounds, which are NaN if e is not OK.
func (e Estimate) Quantile() Quantile {
	if !e.OK {
		return Quantile{e.Value, math.NaN(), math.NaN()}
	}
	return Quantile{e.Value, e.Lo, e.Hi}
}

func (q Quantile) figures() QuantileFigures {
	return QuantileFigures{number(q.Value), number(q.Lo), number(q.Hi)}
}

// Averages collects the means of a [RunnerSummary], one execution after the other.
type Averages struct {
	duration mean
	tokens   [6]mean // in the order of counts
}

// Add adds an execution that took place. usage is the usage that the result of the execution shows;
// see [MeanUsage].
func (a *Averages) Add(durationMs int64, usage plumb.Usage) {
	a.duration.add(&durationMs)
	for i, count := range counts(&usage) {
		a.tokens[i].add(*count)
	}
}

// counts returns the counts of tokens that providers report.
func counts(u *plumb.Usage) [6]**int64 {
	return [...]**int64{
		&u.InputTokens, &u.OutputTokens, &u.ReasoningTokens, &u.CacheTokens, &u.TotalTokens, &u.CacheWriteTokens,
	}
}

// Summary returns the summary of the runner at index i of run.Info.Runners.
func (a *Averages) Summary(run *plumb.Run, i int) RunnerSummary {
	rate := RunnerRates(run, i).Overall
	s := RunnerSummary{
		Runner: run.Info.Runners[i], TotalCases: rate.Planned,
		PassedCases:        rate.Passed - rate.UnexpectedPassed + rate.ExpectedFailed,
		AverageInputTokens: a.tokens[0].value(), AverageOutputTokens: a.tokens[1].value(),
		AverageReasoningTokens: a.tokens[2].value(), AverageCacheTokens: a.tokens[3].value(),
		AverageTotalTokens: a.tokens[4].value(),
		Rate:               rate.Figures(),
		GroupFigures:       rate.Group(run),
	}
	if s.TotalCases > 0 {
		s.SuccessRate = float64(s.PassedCases) / float64(s.TotalCases)
	}
	if d := a.duration.value(); d != nil {
		s.AverageDurationMs = *d
	}
	spent := Spent(run, i)
	s.Unpriced = spent.Unpriced
	if spent.CostUSD > 0 || spent.Sessions > 0 && spent.Unpriced == 0 {
		s.CostUSD = &spent.CostUSD
	}
	return s
}

// MeanUsage returns the mean of the usage of several sessions. The mean of each count is over the
// sessions that have it, rounded to whole tokens.
func MeanUsage(usages []plumb.Usage) plumb.Usage {
	if len(usages) == 1 {
		return usages[0]
	}
	var tokens [6]mean
	var chars [3]mean
	for i := range usages {
		u := &usages[i]
		for k, count := range counts(u) {
			tokens[k].add(*count)
		}
		for k, count := range []*int64{&u.InputChars, &u.OutputChars, &u.ReasoningChars} {
			chars[k].add(count)
		}
	}
	var m plumb.Usage
	for k, count := range counts(&m) {
		*count = tokens[k].rounded()
	}
	total := m.TotalTokens
	m.Total() // sets the sources; the total itself is a mean, too
	m.TotalTokens = total
	if len(usages) > 0 {
		m.InputChars, m.OutputChars, m.ReasoningChars = *chars[0].rounded(), *chars[1].rounded(), *chars[2].rounded()
	}
	return m
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v *int64) {
	if v != nil {
		m.sum += float64(*v)
		m.n++
	}
}

func (m *mean) value() *float64 {
	if m.n == 0 {
		return nil
	}
	return new(m.sum / float64(m.n))
}

func (m *mean) rounded() *int64 {
	if m.n == 0 {
		return nil
	}
	return new(int64(math.Round(m.sum / float64(m.n))))
}
