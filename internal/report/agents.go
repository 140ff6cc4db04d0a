package report

import (
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// agentTable shows what agents used: a row for each runner, with means over its sessions.
type agentTable struct {
	Head []string
	Rows [][]string
}

// hasAgents reports whether a runner is an agent, so that agent columns say something.
func hasAgents(run *plumb.Run) bool {
	for i := range run.Info.Runners {
		if run.Info.Runners[i].Kind == plumb.RunnerAgent {
			return true
		}
	}
	return false
}

// agentHead names the agent columns: time, gross input and output tokens, the reasoning and cached tokens among them, the
// tokens that no cache served, steps, and money.
func agentHead() []string {
	return []string{"time", "in", "out", "reason", "cache", "billable", "steps", "cost"}
}

// agentsOf returns the table of a run, or nil when no runner is an agent. Figures are means over sessions.
func agentsOf(run *plumb.Run, dash string) *agentTable {
	if !hasAgents(run) {
		return nil
	}
	t := &agentTable{Head: append([]string{""}, agentHead()...)}
	n := len(run.Info.Runners)
	for r := range run.Info.Runners {
		var sum agentFigures
		for c := range run.Cases {
			sum.add(&run.Executions[c*n+r])
		}
		t.Rows = append(t.Rows, append([]string{runnerTitle(&run.Info.Runners[r])}, sum.cells(dash)...))
	}
	return t
}

// agentFigures sums up executions for the agent columns. Tokens are summed over those executions that report them.
type agentFigures struct {
	ms, executions           int64
	tokens                   [5]int64 // as in agentHead
	of                       [5]int64 // sessions that report them
	steps, stepsOf, sessions int64
	cost                     float64
	priced                   int64
}

func (f *agentFigures) add(e *plumb.Execution) {
	if e.State != plumb.ExecutionDone || e.Sessions == 0 {
		return
	}
	n := int64(e.Sessions)
	f.ms += analyze.Elapsed(e)
	f.executions++
	f.sessions += n
	for i, x := range [5]struct {
		bit   uint8
		count int64
	}{
		{plumb.ReportedInput, e.InputTokens}, {plumb.ReportedOutput, e.OutputTokens}, {plumb.ReportedReasoning, e.ReasoningTokens},
		{plumb.ReportedCache, e.CacheTokens}, {plumb.ReportedTotal, e.TotalTokens},
	} {
		if e.Reported&x.bit != 0 {
			f.tokens[i] += x.count
			f.of[i] += n
		}
	}
	if e.Steps > 0 {
		f.steps += int64(e.Steps)
		f.stepsOf += n
	}
	if e.Priced {
		f.cost += e.CostUSD
		f.priced += n
	}
}

// cells renders the means, a dash for what nobody reported.
func (f *agentFigures) cells(dash string) []string {
	cells := make([]string, 0, 8)
	mean := func(sum, n int64) {
		if n == 0 {
			cells = append(cells, dash)
			return
		}
		cells = append(cells, count((sum+n/2)/n))
	}
	if f.executions == 0 {
		cells = append(cells, dash)
	} else {
		cells = append(cells, duration(f.ms/f.executions))
	}
	for i := range f.tokens {
		mean(f.tokens[i], f.of[i])
	}
	if f.stepsOf == 0 || f.steps%f.stepsOf == 0 {
		mean(f.steps, f.stepsOf)
	} else {
		cells = append(cells, fmt.Sprintf("%.1f", float64(f.steps)/float64(f.stepsOf)))
	}
	if f.priced == 0 {
		return append(cells, dash)
	}
	return append(cells, money(f.cost/float64(f.priced)))
}

// agentCells are the agent columns of one execution.
func agentCells(e *plumb.Execution, dash string) []string {
	var f agentFigures
	f.add(e)
	return f.cells(dash)
}

// countWords says how many repetitions and sessions an execution took, where that is more than one: of what was planned, not
// of what was tried.
func countWords(run *plumb.Run, i int) []string {
	e := &run.Executions[i]
	var words []string
	if target := repeatTarget(run, &run.Cases[i/len(run.Info.Runners)]); target > 1 {
		words = append(words, repeatWords(int(e.Passed), int(e.Passed+e.Failed+e.Errored), target))
	}
	if e.Sessions > 1 {
		words = append(words, plural(int(e.Sessions), "session"))
	}
	return words
}

// repeatWords says how repetitions went.
func repeatWords(passed, tried, target int) string {
	words := fmt.Sprintf("%d of %d repetitions passed", passed, target)
	if tried < target {
		words += fmt.Sprintf(", %d not tried", target-tried)
	}
	return words
}
