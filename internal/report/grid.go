package report

import (
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// Grid is the table of a run with several runners or prompts: a column for each prompt on each
// runner, and a row for each case without its prompt.
type Grid struct {
	Columns []analyze.Column
	// Names are the headings of the columns.
	Names []string
	Items []GridItem
	// Rates are the rows above the cases, with a cell for each column.
	Rates []GridRow
}

// GridItem is a case without its prompt, with the index of its execution in each column, or -1.
type GridItem struct {
	ID string
	At []int
}

// GridRow is a row of rates, with a cell for each column.
type GridRow struct {
	Name  string
	Cells []string
}

// GridOf returns the table of a run, or nil if it has a single column.
func GridOf(run *plumb.Run, dot, dash string) *Grid {
	if len(run.Info.Runners) < 2 && len(analyze.Prompts(run)) < 2 {
		return nil
	}
	g := &Grid{Columns: analyze.Columns(run)}
	place := map[string]int{} // by prompt
	for i, c := range g.Columns {
		g.Names = append(g.Names, columnName(run, c.Prompt, c.Runner, dot))
		if c.Runner == 0 {
			place[c.Prompt] = i
		}
	}
	rows := map[string]int{}
	for c := range run.Cases {
		info := &run.Cases[c]
		row, ok := rows[info.ItemID()]
		if !ok {
			row = len(g.Items)
			rows[info.ItemID()] = row
			g.Items = append(g.Items, GridItem{text.OneLine(info.ItemID()), slices.Repeat([]int{-1}, len(g.Columns))})
		}
		for r := range run.Info.Runners {
			g.Items[row].At[place[info.Prompt]+r] = c*len(run.Info.Runners) + r
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

// Title counts the prompts and the runners.
func (g *Grid) Title(run *plumb.Run) string {
	n := len(run.Info.Runners)
	var parts []string
	if prompts := len(g.Columns) / n; g.Columns[0].Prompt != "" || prompts > 1 {
		parts = append(parts, text.Plural(prompts, "prompt"))
	}
	if n > 1 {
		parts = append(parts, text.Plural(n, "runner"))
	}
	return strings.Join(parts, " × ")
}

// addRates adds the rates of the columns, and the counts of the groups in which not everything
// passed.
func (g *Grid) addRates(run *plumb.Run, dash string) {
	row := func(name string) []string {
		g.Rates = append(g.Rates, GridRow{name, make([]string, len(g.Columns))})
		return g.Rates[len(g.Rates)-1].Cells
	}
	cells := make([][]string, len(g.Columns))
	for i := range g.Columns {
		cells[i] = RateCells(g.Columns[i].Overall, dash)
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
	for i := range g.Columns {
		for _, x := range RepeatRows(run, g.Columns[i].Overall, true, dash) {
			cell := x.Cells[1]
			if x.Cells[2] != dash {
				cell += " (" + x.Cells[2] + ")"
			}
			add(x.Name, i, cell)
		}
	}
	failing := map[string]bool{}
	group := func(kind string, r *analyze.Rate) string {
		if r.Name == "" {
			return "no " + kind
		}
		return kind + " " + text.OneLine(r.Name)
	}
	for i := range g.Columns {
		for _, list := range RateLists(&g.Columns[i].Breakdown) {
			for _, r := range list.Rates {
				if r.Passed < r.Planned {
					failing[group(list.Kind, &r)] = true
				}
			}
		}
	}
	for i := range g.Columns {
		for _, list := range RateLists(&g.Columns[i].Breakdown) {
			for _, r := range list.Rates {
				if name := group(list.Kind, &r); failing[name] && len(list.Rates) > 1 {
					add(name, i, text.Count(r.Passed)+"/"+text.Count(r.Measured()))
				}
			}
		}
	}
}

// NotGreen returns the rows with an execution that is not green.
func (g *Grid) NotGreen(run *plumb.Run) []GridItem {
	var items []GridItem
	for _, item := range g.Items {
		if slices.ContainsFunc(item.At, func(x int) bool {
			return x >= 0 && WordOf(&run.Executions[x]).Name != "pass"
		}) {
			items = append(items, item)
		}
	}
	return items
}

// Headlines returns the result of each column in one line each, or of the whole run if it has one
// column. A sum over different models or prompts would be a number about nothing.
func Headlines(run *plumb.Run, g *Grid, dash string) []Headline {
	if g == nil {
		r := analyze.Rates(run).Overall
		return []Headline{{results.Headline(run, r, dash), r}}
	}
	var all []Headline
	for i := range g.Columns {
		if r := g.Columns[i].Overall; r.Planned > 0 {
			all = append(all, Headline{g.Names[i] + ": " + results.Headline(run, r, dash), r})
		}
	}
	return all
}

// Headline is the result of a column in words.
type Headline struct {
	Words string
	Rate  analyze.Rate
}
