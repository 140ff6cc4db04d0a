package analyze

import (
	"math"

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
	// level Confidence. PassRate, Low and High are null if nothing was measured.
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
		lo, hi := r.Interval()
		f.PassRate, f.Low, f.High = &value, &lo, &hi
	}
	return f
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
