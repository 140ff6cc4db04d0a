package analyze

import (
	"slices"

	"github.com/plumb-eval/plumb"
)

// GateResult is the result of a gate.
type GateResult string

// The results. Unproven means that there is not enough data to decide.
const (
	Holds    GateResult = "holds"
	Violated GateResult = "violated"
	Unproven GateResult = "unproven"
)

// GateOutcome is the result of a gate on one runner with one prompt.
type GateOutcome struct {
	plumb.Gate
	Runner string     `json:"runner"`
	Prompt string     `json:"prompt,omitempty"`
	Result GateResult `json:"result"`
	// Value is the share that is compared with the least one; nil if nothing was measured.
	Value *float64    `json:"value"`
	Rate  RateFigures `json:"rate"`
	// Samples is set if the gate is about the pass rate of repetitions.
	Samples *SampleFigures `json:"samples,omitempty"`
	// Counts is the rate for reports, and Repetitions what the repetitions say.
	Counts      Rate        `json:"-"`
	Repetitions Repetitions `json:"-"`
}

// Gates judges the gates of a run, each on each runner and prompt that it covers.
func Gates(run *plumb.Run) []GateOutcome {
	var all []GateOutcome
	for i := range run.Info.Gates {
		g := &run.Info.Gates[i]
		var rows table[GateOutcome]
		for c := range run.Cases {
			info := &run.Cases[c]
			for r := range run.Info.Runners {
				id := run.Info.Runners[r].ID
				if !g.Covers(info, id) {
					continue
				}
				out := rows.row(id+"\n"+info.Prompt, GateOutcome{Gate: *g, Runner: id, Prompt: info.Prompt})
				i := c*len(run.Info.Runners) + r
				out.Counts.add(&run.Executions[i])
				out.Counts.Executions = append(out.Counts.Executions, int32(i)) //nolint:gosec // memory holds fewer
			}
		}
		for i := range rows.rows {
			rows.rows[i].judge(run)
		}
		all = append(all, rows.rows...)
	}
	return all
}

// judge compares the share with the least one. With repetitions, a pass rate is that of a
// repetition, and not the share of the executions of which all passed; unless agents stopped at a
// failure, because then it is not known.
func (o *GateOutcome) judge(run *plumb.Run) {
	value, ok := o.Counts.Value()
	o.Repetitions = o.Counts.Repetitions(run)
	samples := o.Repetitions.Repeated && o.Repetitions.Stopped == 0 && o.Metric == plumb.GatePassRate
	if samples {
		o.Samples = o.Repetitions.figures()
	}
	switch {
	case o.Metric == plumb.GateCoverage:
		value, ok = o.Counts.Coverage(), true
	case samples && o.Low:
		value, ok = o.Repetitions.Rate.Lo, o.Repetitions.Rate.OK
	case samples:
		value, ok = o.Repetitions.Rate.Value, o.Repetitions.Rate.OK
	case o.Low:
		value, _, ok = o.Counts.Interval()
	}
	o.Rate, o.Result = o.Counts.Figures(), Unproven
	if !ok {
		return
	}
	const noise = 1e-12 // of the last digits of a quotient
	o.Value, o.Result = &value, Violated
	if value >= o.Least-noise {
		o.Result = Holds
		if o.Counts.Measured() == 0 { // nothing measured proves nothing, also a coverage of at least 0
			o.Result = Unproven
		}
	}
}

// gated reports whether a gate on a metric covers the execution at index i. It then decides about
// the execution.
func gated(run *plumb.Run, i int, metric plumb.GateMetric) bool {
	n := len(run.Info.Runners)
	return slices.ContainsFunc(run.Info.Gates, func(g plumb.Gate) bool {
		return g.Metric == metric && g.Covers(&run.Cases[i/n], run.Info.Runners[i%n].ID)
	})
}

// NotOK reports whether a run is red: a gate is violated, an execution failed that no gate covers or
// passed unexpectedly, or a runner used more than its samples.
func NotOK(run *plumb.Run) bool {
	if slices.ContainsFunc(Gates(run), func(o GateOutcome) bool { return o.Result == Violated }) ||
		slices.ContainsFunc(Snapshots(run), func(s SnapshotSuite) bool { return s.Failed }) {
		return true
	}
	if len(run.Info.Gates) == 0 {
		return run.Totals.NotOK() > 0
	}
	for i := range run.Executions {
		e := &run.Executions[i]
		if e.Status == plumb.StatusUnexpectedPassed ||
			e.Outcome == plumb.OutcomeFail && !e.Status.OK() && !gated(run, i, plumb.GatePassRate) {
			return true
		}
	}
	return false
}

// Red reports whether the exit code of a run is 1: it is not OK, or a check of the suite is broken.
func Red(run *plumb.Run) bool { return NotOK(run) || run.Totals.Broken > 0 }

// NotMeasured reports whether a run lacks results: a gate could not be judged, or an execution that
// no gate covers was not measured.
func NotMeasured(run *plumb.Run) bool {
	if len(run.Info.Gates) == 0 {
		return run.Totals.Measured() < run.Totals.Planned
	}
	for i := range run.Executions {
		e := &run.Executions[i]
		if (e.State != plumb.ExecutionDone || !e.Outcome.Measured()) && !gated(run, i, plumb.GateCoverage) {
			return true
		}
	}
	return slices.ContainsFunc(Gates(run), func(o GateOutcome) bool { return o.Result == Unproven })
}
