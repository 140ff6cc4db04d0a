package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// agentTable shows what agents used: one row per runner, with means over its sessions.
type agentTable struct {
	Head []string
	Rows [][]string
}

// agentHead lists the agent columns: time, all input and output tokens, the reasoning and cached
// tokens among them, the tokens that no cache served, steps, and cost.
func agentHead() []string {
	return []string{"time", "in", "out", "reason", "cache", "billable", "steps", "cost"}
}

// agentsOf returns the table of a run, or nil when no runner is an agent. Figures are means over
// sessions.
func agentsOf(run *plumb.Run, dash string) *agentTable {
	if !results.HasAgents(run) {
		return nil
	}
	t := &agentTable{Head: append([]string{""}, agentHead()...)}
	for r := range run.Info.Runners {
		t.Rows = append(t.Rows, append([]string{runnerTitle(&run.Info.Runners[r])}, agentMeans(run, r).cells(dash)...))
	}
	return t
}

// agentFigures adds up executions for the agent columns. It counts tokens only of executions that
// report them.
type agentFigures struct {
	ms, executions           int64
	tokens                   [5]int64 // as in agentHead
	of                       [5]int64 // sessions that report them
	steps, stepsOf, sessions int64
	cost                     float64
	priced                   int64
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
	n := int64(e.Sessions)
	if ms := analyze.Elapsed(e); ms > 0 || e.Reported != 0 { // or there was no session
		f.ms += ms
		f.executions++
	}
	f.sessions += n
	for i, x := range [5]struct {
		bit   uint8
		count int64
	}{
		{plumb.ReportedInput, e.InputTokens},
		{plumb.ReportedOutput, e.OutputTokens},
		{plumb.ReportedReasoning, e.ReasoningTokens},
		{plumb.ReportedCache, e.CacheTokens},
		{plumb.ReportedTotal, e.TotalTokens},
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

// cells renders the means, with a dash for a figure that no session reported.
func (f *agentFigures) cells(dash string) []string {
	cells := make([]string, 0, 8)
	mean := func(sum, n int64) {
		if n == 0 {
			cells = append(cells, dash)
			return
		}
		cells = append(cells, text.Count((sum+n/2)/n))
	}
	if f.executions == 0 {
		cells = append(cells, dash)
	} else {
		cells = append(cells, text.Millis(f.ms/f.executions))
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
	return append(cells, text.Money(f.cost/float64(f.priced)))
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
	if !results.HasAgents(s.run) {
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
	mark := w.mark
	if s.t.times == "x" { // no Unicode
		mark = w.ascii
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
	if !results.HasAgents(run) {
		return
	}
	n := len(run.Info.Runners)
	for r := range run.Info.Runners {
		b := marked("#### %s\n\n", code(runnerTitle(&run.Info.Runners[r]))) + cells("case", agentHead()...) +
			markup("| --- |"+strings.Repeat(" ---: |", len(agentHead()))+"\n")
		for c := range min(len(run.Cases), markdownRows) {
			x := cellAt(run, c*n+r)
			name := markup(wordOf(x.Execution).emoji) + " " + cellText(x.Info.ID)
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
