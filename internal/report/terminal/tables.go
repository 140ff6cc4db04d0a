package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// The widths of the table on a terminal.
const (
	gridName  = 32  // the longest name of a row
	gridHead  = 28  // the longest heading of a column
	gridWidth = 120 // of a log without a terminal
)

// rates writes the table of pass rates: per runner in total, by prompt, category, difficulty and
// tag. With brief, it only counts the groups in which everything passed.
func (s *summary) rates(brief bool) {
	table := [][]string{{"", "pass", "rate", "95 % interval", "coverage"}}
	if s.tight() {
		table[0][3] = "95 %"
	}
	styles := []func(string) string{s.t.dim}
	add := func(style func(string) string, name string, cells ...string) {
		table, styles = append(table, append([]string{name}, cells...)), append(styles, style)
	}
	plain := func(s string) string { return s }
	repeats := func(indent string, r analyze.Rate, whole bool) {
		for _, x := range report.RepeatRows(s.run, r, whole, s.t.dash) {
			add(s.t.dim, indent+x.Name, x.Cells...)
		}
	}
	for i := range min(len(s.run.Info.Runners), report.MaxRows) {
		name := "all"
		if len(s.run.Info.Runners) > 1 {
			name = text.OneLine(s.run.Info.Runners[i].ID)
		}
		b := analyze.RunnerRates(s.run, i)
		add(s.t.bold, name, report.RateCells(b.Overall, s.t.dash)...)
		repeats("  ", b.Overall, true)
		for _, list := range report.RateLists(&b) {
			shown := list.Rates
			if brief {
				shown = slices.DeleteFunc(slices.Clone(shown), func(r analyze.Rate) bool { return r.Passed == r.Planned })
				if len(list.Rates) == 1 { // the line above says the same
					continue
				}
			}
			green := len(list.Rates) - len(shown)
			if len(shown) == 0 {
				continue
			}
			add(s.t.dim, "  "+list.Kind)
			for i, r := range shown {
				if i == report.MaxRows {
					add(s.t.dim, fmt.Sprintf("    (%d more)", len(shown)-i))
					break
				}
				add(plain, "    "+cmp.Or(text.OneLine(r.Name), "(none)"), report.RateCells(r, s.t.dash)...)
				repeats("      ", r, false)
			}
			if green > 0 {
				add(s.t.dim, fmt.Sprintf("    (%d more, all pass)", green))
			}
		}
	}
	widths, gap := s.narrow(table, 0)
	s.table(table, styles, widths, gap)
	s.repeatNotes()
}

// RepeatNotes writes the notes about repetitions.
func (s *summary) repeatNotes() {
	for i, first := 0, true; i < min(len(s.run.Info.Runners), report.MaxRows); i++ {
		for _, note := range report.RepeatNotes(s.run, analyze.RunnerRates(s.run, i).Overall) {
			if first {
				s.line("")
			}
			first = false
			s.wrapped(report.NotePrefix(s.run, i)+note, unstyled)
		}
	}
}

// grid writes the table, in several parts if it is wider than the terminal.
func (s *summary) grid(g *report.Grid) {
	items := g.NotGreen(s.run)
	if results.HasAgents(s.run) { // the table of what agents used has the cases
		items = nil
	}
	more := len(items) - report.MaxRows
	items = items[:min(len(items), report.MaxRows)]
	rates := g.Rates[:min(len(g.Rates), report.MaxRows)]
	room := s.width
	if room == 0 {
		room = gridWidth
	}
	name := 0
	for _, r := range rates {
		name = max(name, ansi.StringWidth(r.Name))
	}
	for _, item := range items {
		name = max(name, ansi.StringWidth(item.ID))
	}
	name = min(name, gridName, max(8, room*2/5))
	head := min(gridHead, max(8, room-name-2))
	for from := 0; from < len(g.Columns); {
		var widths []int
		left := room - name
		to := from
		for ; to < len(g.Columns); to++ {
			w := min(ansi.StringWidth(g.Names[to]), head)
			for _, r := range rates {
				w = max(w, ansi.StringWidth(r.Cells[to]))
			}
			if left -= w + 2; left < 0 && to > from {
				break
			}
			widths = append(widths, w)
		}
		line := func(style func(string) string, first string, cell func(i int) string) {
			cells := []string{style(text.Pad(s.t.fit(first, name), name))}
			for i, w := range widths {
				cells = append(cells, text.PadLeft(s.t.fit(cell(from+i), w), w))
			}
			s.line("%s", strings.Join(cells, "  "))
		}
		s.line("")
		line(s.t.dim, "", func(i int) string { return s.t.bold(s.t.fit(g.Names[i], head)) })
		for _, r := range rates {
			line(s.t.dim, r.Name, func(i int) string { return r.Cells[i] })
		}
		if len(items) > 0 {
			s.line("")
		}
		for _, item := range items {
			line(func(s string) string { return s }, item.ID, func(i int) string {
				if item.At[i] < 0 {
					return ""
				}
				return strings.TrimSpace(s.mark(&s.run.Executions[item.At[i]]))
			})
		}
		from = to
	}
	if more > 0 {
		s.line("%s", s.t.dim("("+text.Plural(more, "more case")+" not green)"))
	}
	if green := len(g.Items) - len(items) - max(0, more); green > 0 && len(items) > 0 {
		s.line("%s", s.t.dim(text.Plural(green, "more case")+": pass everywhere"))
	}
}

// agentRows limits the rows of cases in the summary, over all runners.
const agentRows = 2 * report.MaxRows

// agents writes what agents used: the means of each runner, and its cases below.
func (s *summary) agents() {
	if !results.HasAgents(s.run) {
		return
	}
	table := [][]string{append([]string{"mean of a session"}, report.AgentHead()...)}
	styles := []func(string) string{s.t.dim}
	add := func(style func(string) string, name string, cells []string) {
		table, styles = append(table, append([]string{name}, cells...)), append(styles, style)
	}
	plain := func(s string) string { return s }
	n := len(s.run.Info.Runners)
	for r := range min(n, report.MaxRows) {
		add(s.t.bold, report.RunnerTitle(&s.run.Info.Runners[r]), report.AgentMeans(s.run, r, s.t.dash))
		for c := range s.run.Cases {
			if c == max(1, agentRows/n) {
				add(plain, fmt.Sprintf("  (%s more)", text.Plural(len(s.run.Cases)-c, "case")), nil)
				break
			}
			e := &s.run.Executions[c*n+r]
			add(plain, "  "+s.mark(e)+" "+text.OneLine(s.run.Cases[c].ID), report.AgentCells(e, s.t.dash))
		}
	}
	widths, gap := s.narrow(table, 4)
	s.table(table, styles, widths, gap)
}

// mark returns one character for how an execution ended, or two characters without Unicode.
func (s *summary) mark(e *plumb.Execution) string {
	w := report.WordOf(e)
	mark := w.ASCII
	if s.t.unicode {
		mark = w.Mark
	}
	switch w.Name {
	case "pass":
		return s.t.green(mark)
	case "error", "xfail":
		return s.t.yellow(mark)
	case "skipped":
		return s.t.dim(mark)
	}
	return s.t.red(mark)
}

// figuresOfCases writes what the cases of each group used.
func (s *summary) figuresOfCases() {
	table, styles := [][]string{report.FigureHead()}, []func(string) string{s.t.dim}
	for _, g := range report.FigureGroups(s.run, true, s.t.dash) {
		name := g.Name
		if g.Kind != "runner" {
			name = g.Kind + " " + name
		}
		table, styles = append(table, []string{name}), append(styles, s.t.bold)
		for _, row := range g.Rows {
			row[0] = "  " + row[0]
			table, styles = append(table, row), append(styles, s.t.dim)
		}
	}
	if len(table) > 1 {
		s.table(table, styles, s.widths(table), "   ")
	}
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

// table writes aligned rows. In each row but the heading, only the first cell has the row's style.
func (s *summary) table(table [][]string, styles []func(string) string, widths []int, gap string) {
	s.line("")
	for i, cells := range table {
		name, rest := cells[0], ""
		if len(cells) > 1 {
			name = text.Pad(name, widths[0])
		}
		for c := 1; c < len(cells); c++ {
			rest += gap + text.PadLeft(cells[c], widths[c])
		}
		if i == 0 {
			name, rest = name+rest, ""
		}
		s.line("%s%s", styles[i](name), rest)
	}
}

// widths returns the widths of the columns of a table. It truncates long names in the first column.
func (s *summary) widths(table [][]string) []int {
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		cells[0] = s.t.fit(cells[0], 40)
		for i, c := range cells {
			if i == 0 && len(cells) == 1 {
				continue // a remark
			}
			widths[i] = max(widths[i], ansi.StringWidth(c))
		}
	}
	return widths
}
