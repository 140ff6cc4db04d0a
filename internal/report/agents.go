package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// agentTable shows what agents used: one row per runner, with means over its sessions.
type agentTable struct {
	Head []string
	Rows [][]string
}

// hasAgents reports whether any runner is an agent. Without one the agent columns are empty.
func hasAgents(run *plumb.Run) bool {
	for i := range run.Info.Runners {
		if run.Info.Runners[i].Kind == plumb.RunnerAgent {
			return true
		}
	}
	return false
}

// agentHead lists the agent columns: time, all input and output tokens, the reasoning and cached
// tokens among them, the tokens that no cache served, steps, and cost.
func agentHead() []string {
	return []string{"time", "in", "out", "reason", "cache", "billable", "steps", "cost"}
}

// agentsOf returns the table of a run, or nil when no runner is an agent. Figures are means over
// sessions.
func agentsOf(run *plumb.Run, dash string) *agentTable {
	if !hasAgents(run) {
		return nil
	}
	t := &agentTable{Head: append([]string{""}, agentHead()...)}
	for r := range run.Info.Runners {
		t.Rows = append(t.Rows, append([]string{runnerTitle(&run.Info.Runners[r])}, agentMeans(run, r).cells(dash)...))
	}
	return t
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

// agentMeans adds up the executions of the runner at index r.
func agentMeans(run *plumb.Run, r int) *agentFigures {
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

// runnerSummary is the documented summary of a runner, extended with the figures of agents.
type runnerSummary struct {
	analyze.RunnerSummary
	// The averages are over sessions. An average is absent when no session reported the figure.
	AverageSteps   *float64 `json:"averageSteps,omitempty"`
	AverageCostUSD *float64 `json:"averageCostUsd,omitempty"`
}

func agentSummary(run *plumb.Run, r int, s analyze.RunnerSummary) runnerSummary {
	out := runnerSummary{RunnerSummary: s}
	if run.Info.Runners[r].Kind != plumb.RunnerAgent {
		return out
	}
	sum := agentMeans(run, r)
	if n := sum.steps.sessions; n > 0 {
		out.AverageSteps = new(float64(sum.steps.sum) / float64(n))
	}
	if sum.priced > 0 {
		out.AverageCostUSD = new(sum.cost / float64(sum.priced))
	}
	return out
}

// agentCells are the agent columns of one execution.
func agentCells(e *plumb.Execution, dash string) []string {
	var f agentFigures
	f.add(e)
	return f.cells(dash)
}

// agentRows limits the rows of cases in the summary, over all runners.
const agentRows = 2 * summaryRows

// agents writes what agents used: the means of each runner, and its cases below.
func (s *summary) agents() {
	if !hasAgents(s.run) {
		return
	}
	table := [][]string{append([]string{"mean of a session"}, agentHead()...)}
	styles := []func(string) string{s.t.dim}
	add := func(style func(string) string, name string, cells []string) {
		table, styles = append(table, append([]string{name}, cells...)), append(styles, style)
	}
	plain := func(s string) string { return s }
	n := len(s.run.Info.Runners)
	for r := range min(n, summaryRows) {
		add(s.t.bold, runnerTitle(&s.run.Info.Runners[r]), agentMeans(s.run, r).cells(s.t.dash))
		for c := range s.run.Cases {
			if c == max(1, agentRows/n) {
				add(plain, fmt.Sprintf("  (%s more)", text.Plural(len(s.run.Cases)-c, "case")), nil)
				break
			}
			e := &s.run.Executions[c*n+r]
			add(plain, "  "+s.mark(e)+" "+text.OneLine(s.run.Cases[c].ID), agentCells(e, s.t.dash))
		}
	}
	widths, gap := s.narrow(table, 4)
	s.table(table, styles, widths, gap)
}

// narrow makes a table fit the terminal. The last columns matter most, so narrow first shrinks the
// gaps, then drops two columns from the given index on, if it is not 0, then truncates names, and
// shrinks the gaps again.
func (s *summary) narrow(table [][]string, drop int) (widths []int, gap string) {
	widths, gap = s.widths(table), "   "
	over := func() int {
		if s.width == 0 {
			return 0
		}
		all := len(gap) * (len(widths) - 1)
		for _, w := range widths {
			all += w
		}
		return all - s.width
	}
	if over() > 0 {
		gap = "  "
	}
	if over() > 0 && drop > 0 {
		for i, cells := range table {
			if len(cells) == len(widths) {
				table[i] = slices.Delete(slices.Clone(cells), drop, drop+2)
			}
		}
		widths = s.widths(table)
	}
	if n := over(); n > 0 && widths[0]-n < 12 {
		gap = " "
	}
	if n := over(); n > 0 {
		widths[0] = max(8, widths[0]-n)
		for _, cells := range table {
			cells[0] = s.t.fit(cells[0], widths[0])
		}
	}
	return widths, gap
}

// mark returns one character for how an execution ended, or two characters without Unicode.
func (s *summary) mark(e *plumb.Execution) string {
	w := wordOf(e)
	mark := w.ascii
	if s.t.unicode {
		mark = w.mark
	}
	switch w.name {
	case "pass":
		return s.t.green(mark)
	case "error", "xfail":
		return s.t.yellow(mark)
	case "skipped":
		return s.t.dim(mark)
	}
	return s.t.red(mark)
}

// agents adds a table for each agent, with one row per case.
func (m *page) agents(run *plumb.Run) {
	if !hasAgents(run) {
		return
	}
	n := len(run.Info.Runners)
	for r := range run.Info.Runners {
		b := marked("#### %s\n\n", code(runnerTitle(&run.Info.Runners[r]))) + cells("case", agentHead()...) +
			markup("| --- |"+strings.Repeat(" ---: |", len(agentHead()))+"\n")
		for c := range min(len(run.Cases), markdownRows) {
			x := cellAt(run, c*n+r)
			name := markup(wordOf(x.Execution).emoji) + " " + cellText(x.info.ID)
			if counts := x.counts(); len(counts) > 0 {
				name += marked(" (%s)", setCell(strings.Join(counts, ", ")))
			}
			b += cells(name, agentCells(x.Execution, "–")...)
		}
		b += cells("**mean of a session**", agentMeans(run, r).cells("–")...)
		if more := len(run.Cases) - markdownRows; more > 0 {
			b += marked("\n(%s more)\n", text.Plural(more, "case"))
		}
		m.part(b + "\n")
	}
}
