package report

import (
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// AgentHead lists the agent columns: time, all input and output tokens, the reasoning and cached
// tokens among them, the tokens that no cache served, steps, and cost.
func AgentHead() []string {
	return []string{"time", "in", "out", "reason", "cache", "billable", "steps", "cost"}
}

// reported is the sum of a figure over the sessions that report it.
type reported struct{ sum, sessions int64 }

func (r *reported) add(known bool, n int64, sessions int) {
	if known {
		r.sum += n
		r.sessions += int64(sessions)
	}
}

// agentFigures adds up executions for the agent columns. It counts tokens only of executions that
// report them.
type agentFigures struct {
	ms, executions                            int64
	input, output, reasoning, cache, billable reported // tokens
	steps                                     reported
	cost                                      float64
	priced                                    int64 // sessions with a cost
}

// AgentMeans are the agent columns of the runner at index r: means over its sessions.
func AgentMeans(run *plumb.Run, r int, dash string) []string {
	return agentFiguresOf(run, r).cells(dash)
}

// agentFiguresOf adds up the executions of the runner at index r.
func agentFiguresOf(run *plumb.Run, r int) *agentFigures {
	var sum agentFigures
	for c := range run.Cases {
		sum.add(&run.Executions[c*len(run.Info.Runners)+r])
	}
	return &sum
}

func (f *agentFigures) add(e *plumb.Execution) {
	if e.State != plumb.ExecutionDone || e.Sessions == 0 {
		return
	}
	if ms := analyze.Elapsed(e); ms > 0 || e.Reported != 0 { // or there was no session
		f.ms += ms
		f.executions++
	}
	n := int(e.Sessions)
	f.input.add(e.Reported&plumb.ReportedInput != 0, e.InputTokens, n)
	f.output.add(e.Reported&plumb.ReportedOutput != 0, e.OutputTokens, n)
	f.reasoning.add(e.Reported&plumb.ReportedReasoning != 0, e.ReasoningTokens, n)
	f.cache.add(e.Reported&plumb.ReportedCache != 0, e.CacheTokens, n)
	f.billable.add(e.Reported&plumb.ReportedTotal != 0, e.TotalTokens, n)
	f.steps.add(e.Steps > 0, int64(e.Steps), n)
	if e.Priced {
		f.cost += e.CostUSD
		f.priced += int64(n)
	}
}

// cells renders the means, with a dash for a figure that no session reported.
func (f *agentFigures) cells(dash string) []string {
	mean := func(r reported) string {
		if r.sessions == 0 {
			return dash
		}
		return text.Count((r.sum + r.sessions/2) / r.sessions)
	}
	ms, steps, cost := dash, mean(f.steps), dash
	if f.executions > 0 {
		ms = text.Millis(f.ms / f.executions)
	}
	if n := f.steps.sessions; n > 0 && f.steps.sum%n != 0 {
		steps = fmt.Sprintf("%.1f", float64(f.steps.sum)/float64(n))
	}
	if f.priced > 0 {
		cost = text.Money(f.cost / float64(f.priced))
	}
	return []string{ms, mean(f.input), mean(f.output), mean(f.reasoning), mean(f.cache), mean(f.billable), steps, cost}
}

// AgentCells are the agent columns of one execution.
func AgentCells(e *plumb.Execution, dash string) []string {
	var f agentFigures
	f.add(e)
	return f.cells(dash)
}
