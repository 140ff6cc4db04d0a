package report

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// grid is the table of a run with several runners or prompts: a column for each prompt on each
// runner, and a row for each case without its prompt.
type grid struct {
	columns []analyze.Column
	// names are the headings of the columns.
	names []string
	items []gridItem
	// rates are the rows above the cases, with a cell for each column.
	rates []gridRow
}

// gridItem is a case without its prompt, with the index of its execution in each column, or -1.
type gridItem struct {
	id string
	at []int
}

type gridRow struct {
	name  string
	cells []string
}

// gridOf returns the table of a run, or nil if it has a single column.
func gridOf(run *plumb.Run, dot, dash string) *grid {
	if len(run.Info.Runners) < 2 && len(analyze.Prompts(run)) < 2 {
		return nil
	}
	g := &grid{columns: analyze.Columns(run)}
	place := map[string]int{} // by prompt
	for i, c := range g.columns {
		g.names = append(g.names, columnName(run, c.Prompt, c.Runner, dot))
		if c.Runner == 0 {
			place[c.Prompt] = i
		}
	}
	rows := map[string]int{}
	for c := range run.Cases {
		info := &run.Cases[c]
		row, ok := rows[info.ItemID()]
		if !ok {
			row = len(g.items)
			rows[info.ItemID()] = row
			g.items = append(g.items, gridItem{text.OneLine(info.ItemID()), slices.Repeat([]int{-1}, len(g.columns))})
		}
		for r := range run.Info.Runners {
			g.items[row].at[place[info.Prompt]+r] = c*len(run.Info.Runners) + r
		}
	}
	g.addRates(run, dash)
	return g
}

// columnName names a prompt on a runner, without what the run has only one of.
func columnName(run *plumb.Run, prompt string, runner int, dot string) string {
	id := text.OneLine(run.Info.Runners[runner].ID)
	switch {
	case prompt == "":
		return id
	case len(run.Info.Runners) == 1:
		return text.OneLine(prompt)
	default:
		return text.OneLine(prompt) + dot + id
	}
}

// title counts the prompts and the runners.
func (g *grid) title(run *plumb.Run) string {
	n := len(run.Info.Runners)
	var parts []string
	if prompts := len(g.columns) / n; g.columns[0].Prompt != "" || prompts > 1 {
		parts = append(parts, text.Plural(prompts, "prompt"))
	}
	if n > 1 {
		parts = append(parts, text.Plural(n, "runner"))
	}
	return strings.Join(parts, " × ")
}

// addRates adds the rates of the columns, and the counts of the groups in which not everything
// passed.
func (g *grid) addRates(run *plumb.Run, dash string) {
	row := func(name string) []string {
		g.rates = append(g.rates, gridRow{name, make([]string, len(g.columns))})
		return g.rates[len(g.rates)-1].cells
	}
	cells := make([][]string, len(g.columns))
	for i := range g.columns {
		cells[i] = rateCells(g.columns[i].Overall, dash)
	}
	for at, name := range []string{"pass", "rate", "95 % interval", "coverage"} {
		to := row(name)
		for i := range cells {
			to[i] = cells[i][at]
		}
	}
	named := map[string][]string{} // of the rows of repetitions and of groups
	add := func(name string, column int, cell string) {
		to, ok := named[name]
		if !ok {
			to = row(name)
			named[name] = to
		}
		to[column] = cell
	}
	for i := range g.columns {
		for _, x := range repeatRows(run, g.columns[i].Overall, true, dash) {
			cell := x.cells[1]
			if x.cells[2] != dash {
				cell += " (" + x.cells[2] + ")"
			}
			add(x.name, i, cell)
		}
	}
	failing := map[string]bool{}
	group := func(kind string, r *analyze.Rate) string {
		if r.Name == "" {
			return "no " + kind
		}
		return kind + " " + text.OneLine(r.Name)
	}
	for i := range g.columns {
		for _, list := range rateLists(&g.columns[i].Breakdown) {
			for _, r := range list.rates {
				if r.Passed < r.Planned {
					failing[group(list.kind, &r)] = true
				}
			}
		}
	}
	for i := range g.columns {
		for _, list := range rateLists(&g.columns[i].Breakdown) {
			for _, r := range list.rates {
				if name := group(list.kind, &r); failing[name] && len(list.rates) > 1 {
					add(name, i, text.Count(r.Passed)+"/"+text.Count(r.Measured()))
				}
			}
		}
	}
}

// notGreen returns the rows with an execution that is not green.
func (g *grid) notGreen(run *plumb.Run) []gridItem {
	var items []gridItem
	for _, item := range g.items {
		if slices.ContainsFunc(item.at, func(x int) bool {
			return x >= 0 && wordOf(&run.Executions[x]).name != "pass"
		}) {
			items = append(items, item)
		}
	}
	return items
}

// The widths of the table on a terminal.
const (
	gridName  = 32  // the longest name of a row
	gridHead  = 28  // the longest heading of a column
	gridWidth = 120 // of a log without a terminal
)

// grid writes the table, in several parts if it is wider than the terminal.
func (s *summary) grid(g *grid) {
	items := g.notGreen(s.run)
	if results.HasAgents(s.run) { // the table of what agents used has the cases
		items = nil
	}
	more := len(items) - summaryRows
	items = items[:min(len(items), summaryRows)]
	rates := g.rates[:min(len(g.rates), summaryRows)]
	room := s.width
	if room == 0 {
		room = gridWidth
	}
	name := 0
	for _, r := range rates {
		name = max(name, ansi.StringWidth(r.name))
	}
	for _, item := range items {
		name = max(name, ansi.StringWidth(item.id))
	}
	name = min(name, gridName, max(8, room*2/5))
	head := min(gridHead, max(8, room-name-2))
	for from := 0; from < len(g.columns); {
		var widths []int
		left := room - name
		to := from
		for ; to < len(g.columns); to++ {
			w := min(ansi.StringWidth(g.names[to]), head)
			for _, r := range rates {
				w = max(w, ansi.StringWidth(r.cells[to]))
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
		line(s.t.dim, "", func(i int) string { return s.t.bold(s.t.fit(g.names[i], head)) })
		for _, r := range rates {
			line(s.t.dim, r.name, func(i int) string { return r.cells[i] })
		}
		if len(items) > 0 {
			s.line("")
		}
		for _, item := range items {
			line(func(s string) string { return s }, item.id, func(i int) string {
				if item.at[i] < 0 {
					return ""
				}
				return strings.TrimSpace(s.mark(&s.run.Executions[item.at[i]]))
			})
		}
		from = to
	}
	if more > 0 {
		s.line("%s", s.t.dim("("+text.Plural(more, "more case")+" not green)"))
	}
	if green := len(g.items) - len(items) - max(0, more); green > 0 && len(items) > 0 {
		s.line("%s", s.t.dim(text.Plural(green, "more case")+": pass everywhere"))
	}
}

// headlines returns the result of each column in one line each, or of the whole run if it has one
// column. A sum over different models or prompts would be a number about nothing.
func headlines(run *plumb.Run, g *grid, dash string) []headline {
	if g == nil {
		r := analyze.Rates(run).Overall
		return []headline{{results.Headline(run, r, dash), r}}
	}
	var all []headline
	for i := range g.columns {
		if r := g.columns[i].Overall; r.Planned > 0 {
			all = append(all, headline{g.names[i] + ": " + results.Headline(run, r, dash), r})
		}
	}
	return all
}

type headline struct {
	words string
	rate  analyze.Rate
}
