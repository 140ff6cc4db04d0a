package analyze

import (
	"cmp"
	"slices"

	"github.com/plumb-eval/plumb"
)

// Spending is the usage of a run, summed over all sessions of all finished executions. An
// unreported token count is 0.
type Spending struct {
	InputTokens, OutputTokens, ReasoningTokens, CacheTokens, TotalTokens int64
	// CostUSD is the known part of the cost, including judging. JudgeCostUSD is the cost of
	// judging. Unpriced counts executions with an unknown cost.
	CostUSD, JudgeCostUSD float64
	Unpriced              int
	// Sessions counts all sessions, and Cached those that were answered from the local cache.
	Sessions, Cached int
}

// Spent returns the usage of the runner at index i of run.Info.Runners, or of all runners if i is
// negative.
func Spent(run *plumb.Run, i int) Spending {
	var s Spending
	n := len(run.Info.Runners)
	for x := range run.Executions {
		e := &run.Executions[x]
		if e.State != plumb.ExecutionDone || i >= 0 && x%n != i {
			continue
		}
		s.InputTokens += e.InputTokens
		s.OutputTokens += e.OutputTokens
		s.ReasoningTokens += e.ReasoningTokens
		s.CacheTokens += e.CacheTokens
		s.TotalTokens += e.TotalTokens
		s.CostUSD += e.CostUSD + e.JudgeCostUSD
		s.JudgeCostUSD += e.JudgeCostUSD
		s.Sessions += int(e.Sessions)
		s.Cached += int(e.Cached)
		if e.Sessions > 0 && !e.Priced {
			s.Unpriced++
		}
	}
	return s
}

// Priced reports whether any cost is known, so that a sum of money is meaningful.
func (s Spending) Priced(run *plumb.Run) bool {
	return s.CostUSD > 0 || slices.ContainsFunc(run.Executions, func(e plumb.Execution) bool { return e.Priced })
}

// Elapsed returns the time of an execution in milliseconds: the latency of the model if it is
// known, because waiting for rate limits is not a property of the model, and otherwise the whole
// duration.
func Elapsed(e *plumb.Execution) int64 {
	if e.LatencyMs > 0 {
		return e.LatencyMs
	}
	return e.DurationMs
}

// timed reports whether e has a meaningful time: it ended, and it had a session.
func timed(e *plumb.Execution) bool {
	return e.State == plumb.ExecutionDone && e.Sessions > 0 && Elapsed(e) > 0
}

// Distribution summarizes times in milliseconds.
type Distribution struct {
	N                  int
	P50, P90, P99, Max int64
	// Low and High bound P50; see [quantileInterval]. They are 0 if there are too few times.
	Low, High int64
}

// Times returns the distribution of the times of a run's executions; see [Elapsed]. Its quantiles
// are observed values, not interpolated ones.
func Times(run *plumb.Run) Distribution {
	times := make([]float64, 0, len(run.Executions))
	for i := range run.Executions {
		if e := &run.Executions[i]; timed(e) {
			times = append(times, float64(Elapsed(e)))
		}
	}
	if len(times) == 0 {
		return Distribution{}
	}
	slices.Sort(times)
	at := func(p float64) int64 { return int64(empirical(times, p)) }
	d := Distribution{N: len(times), P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: int64(times[len(times)-1])}
	if q := quantile(times, 0.5); q.Bounded() && Rates(run).Overall.questions == nil {
		d.Low, d.High = int64(q.Lo), int64(q.Hi)
	}
	return d
}

// Slowest returns the indices in run.Executions of the n slowest executions, the slowest first; see
// [Elapsed].
func Slowest(run *plumb.Run, n int) []int {
	var all []int
	for i := range run.Executions {
		if timed(&run.Executions[i]) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Compare(Elapsed(&run.Executions[b]), Elapsed(&run.Executions[a]))
	})
	return all[:min(n, len(all))]
}

// Group is a set of executions that ended in the same way.
type Group struct {
	Class plumb.FailureClass
	Count int
	// NotAsked counts the executions among them whose runner was not called, because it had already
	// failed for good.
	NotAsked int
	// Executions are the indices in run.Executions of the first of these executions. An execution
	// whose runner was not called is only among them if no other one of the runner is.
	Executions []int
}

// Findings are the executions of a run that need attention, by the way in which they ended. The
// groups of each list are sorted by size, the largest first.
type Findings struct {
	// Failed holds failed executions, Broken those that a broken check could not judge, Errored the
	// others that could not be measured.
	Failed, Broken, Errored []Group
	// ExpectedFailed leaves the suite green, UnexpectedPassed does not.
	ExpectedFailed, UnexpectedPassed Group
}

// Find groups the executions of a run by failure class, and lists at most limit of each group.
func Find(run *plumb.Run, limit int) Findings {
	f := Findings{UnexpectedPassed: Group{Class: plumb.ClassUnexpectedPass()}}
	var failed, broken, errored table[Group]
	group := func(t *table[Group], e *plumb.Execution) *Group {
		class := e.Origin.Class()
		if e.Class != nil {
			class = *e.Class
		}
		return t.row(class.ID, Group{Class: class})
	}
	for i := range run.Executions {
		e := &run.Executions[i]
		switch {
		case e.State != plumb.ExecutionDone:
		case e.Status == plumb.StatusExpectedFailed:
			f.ExpectedFailed.add(i, limit)
		case e.Status == plumb.StatusUnexpectedPassed:
			f.UnexpectedPassed.add(i, limit)
		case e.Outcome == plumb.OutcomeFail:
			group(&failed, e).add(i, limit)
		case e.Broken():
			group(&broken, e).add(i, limit)
		case e.Outcome == plumb.OutcomeError:
			group(&errored, e).addError(run, i, limit)
		}
	}
	f.Failed, f.Broken, f.Errored = failed.rows, broken.rows, errored.rows
	for _, groups := range [][]Group{f.Failed, f.Broken, f.Errored} {
		slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(b.Count, a.Count) })
	}
	return f
}

func (g *Group) add(i, limit int) {
	g.Count++
	if len(g.Executions) < limit {
		g.Executions = append(g.Executions, i)
	}
}

// addError adds an execution that could not be measured.
func (g *Group) addError(run *plumb.Run, i, limit int) {
	n := len(run.Info.Runners)
	same := slices.IndexFunc(g.Executions, func(x int) bool {
		return x%n == i%n && (run.Executions[i].NotAsked || run.Executions[x].NotAsked)
	})
	switch {
	case run.Executions[i].NotAsked:
		g.NotAsked++
		if same >= 0 {
			limit = 0
		}
	case same >= 0:
		g.Executions = slices.Delete(g.Executions, same, same+1)
	}
	g.add(i, limit)
}
