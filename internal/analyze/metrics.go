package analyze

import (
	"math"
	"slices"

	"github.com/plumb-eval/plumb"
)

// Quantile is an observed quantile with its order-statistic interval. A bound that the values cannot
// give is NaN.
type Quantile struct{ Value, Lo, Hi float64 }

// Bounded reports whether both bounds exist.
func (q Quantile) Bounded() bool { return !math.IsNaN(q.Lo) && !math.IsNaN(q.Hi) }

// Metric describes a positive quantity of the cases of a group, such as their cost. The value of a
// case is its mean over the sessions of one execution.
type Metric struct {
	// N counts the executions with a value.
	N int
	// Shared is set if a question was asked more than once. The quantiles then have no intervals.
	Shared      bool
	Median, P90 Quantile
	// Mean is the geometric mean, with the t-interval on the logarithms.
	Mean Estimate
}

// Metrics describes what the executions of a group used.
type Metrics struct{ Tokens, CostUSD, LatencyMs, Steps Metric }

// named lists the metrics by their keys in JSON.
func (m *Metrics) named() map[string]*Metric {
	return map[string]*Metric{
		"tokens": &m.Tokens, "costUsd": &m.CostUSD, "latencyMs": &m.LatencyMs, "steps": &m.Steps,
	}
}

// Metrics returns what the executions of r used. An answer from the local cache has no cost.
func (r Rate) Metrics(run *plumb.Run) Metrics {
	v := values{of: make([]float64, 0, len(r.Executions)), logs: make([]float64, 0, len(r.Executions))}
	return Metrics{
		Tokens: v.metric(run, r, func(e *plumb.Execution) float64 {
			switch {
			case e.Reported&plumb.ReportedTotal != 0:
				return float64(e.TotalTokens) / float64(e.Sessions)
			case e.Reported&plumb.ReportedInput != 0 && e.Reported&plumb.ReportedOutput != 0:
				return float64(e.InputTokens+e.OutputTokens) / float64(e.Sessions)
			}
			return 0
		}),
		CostUSD: v.metric(run, r, func(e *plumb.Execution) float64 {
			if !e.Priced {
				return 0
			}
			return e.CostUSD / float64(e.Sessions-e.Cached)
		}),
		LatencyMs: v.metric(run, r, func(e *plumb.Execution) float64 { return float64(Elapsed(e)) }),
		Steps: v.metric(run, r, func(e *plumb.Execution) float64 {
			return float64(e.Steps) / float64(e.Sessions)
		}),
	}
}

// values is a quantity of several executions. One is used for all metrics, because a run can have a
// million executions.
type values struct {
	of, logs []float64
}

// metric describes a quantity of the executions of r. Its value is not positive if it was not
// reported.
func (v *values) metric(run *plumb.Run, r Rate, value func(*plumb.Execution) float64) Metric {
	v.of, v.logs = v.of[:0], v.logs[:0]
	var clusters []int // nil if each value is of another case
	for x, at := range r.Executions {
		i := int(at)
		e := &run.Executions[i]
		if e.State != plumb.ExecutionDone || e.Sessions == 0 {
			continue
		}
		if value := value(e); value > 0 && !math.IsInf(value, 0) {
			v.of = append(v.of, value)
			if r.questions != nil {
				clusters = append(clusters, r.questions[x])
			}
		}
	}
	nan := math.NaN()
	m := Metric{N: len(v.of), Median: Quantile{nan, nan, nan}, P90: Quantile{nan, nan, nan}, Mean: unknown("")}
	if m.N == 0 {
		return m
	}
	if clusters == nil {
		slices.Sort(v.of) // sums are taken in order
	}
	for _, value := range v.of {
		v.logs = append(v.logs, math.Log(value))
	}
	e := CaseT(v.logs, clusters)(confidence)
	m.Mean = Estimate{math.Exp(e.Value), math.Exp(e.Lo), math.Exp(e.Hi), nan, e.Method, e.OK}
	slices.Sort(v.of)
	m.Median, m.P90 = quantile(v.of, 0.5), quantile(v.of, 0.9)
	if m.Shared = clusters != nil; m.Shared { // the intervals of quantiles are for independent values
		m.Median.Lo, m.Median.Hi, m.P90.Lo, m.P90.Hi = nan, nan, nan, nan
	}
	return m
}

// empirical returns the smallest value that at least the share q of the values do not exceed.
func empirical(sorted []float64, q float64) float64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted)))), 1)-1]
}

func quantile(sorted []float64, q float64) Quantile {
	lo, hi := quantileInterval(sorted, q)
	return Quantile{empirical(sorted, q), lo, hi}
}

// Score describes the scores of the measured executions of a group.
type Score struct {
	N int
	// Mean is the mean of the executions' scores, with the t-interval.
	Mean             Estimate
	Min, Median, Max float64
	// Graded is set when a score is not the share of passed repetitions. Otherwise the pass rates say
	// the same.
	Graded bool
	// Stopped counts the executions that stopped early; see [StoppedEarly]. If any did, there are no
	// figures.
	Stopped int
}

// Score returns the scores of the measured executions of r.
func (r Rate) Score(run *plumb.Run) Score {
	s := Score{Mean: unknown(""), Min: math.NaN(), Median: math.NaN(), Max: math.NaN()}
	scores := make([]float64, 0, len(r.Executions))
	var clusters []int // nil if each score is of another case
	for x, at := range r.Executions {
		i := int(at)
		e := &run.Executions[i]
		if StoppedEarly(run, i) {
			s.Stopped++
		}
		if n := e.Passed + e.Failed; e.State == plumb.ExecutionDone && n > 0 {
			scores = append(scores, e.Score)
			if r.questions != nil {
				clusters = append(clusters, r.questions[x])
			}
			s.Graded = s.Graded || math.Abs(e.Score-float64(e.Passed)/float64(n)) > 1e-9
		}
	}
	if s.N = len(scores); s.N == 0 || s.Stopped > 0 {
		return s
	}
	s.Mean = CaseT(scores, clusters)(confidence)
	slices.Sort(scores)
	s.Min, s.Max = scores[0], scores[s.N-1]
	s.Median = empirical(scores, 0.5)
	return s
}
