package ci

import (
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of a comparison in Markdown.
const (
	markdownCases   = 30 // cases listed of each kind of change
	markdownDetails = 10 // of them with the first difference between the sessions
)

// conclusionMark returns the mark of a conclusion, for pages that show emoji.
func conclusionMark(c *compare.Comparison) markup {
	switch c.ExitCode {
	case 0:
		return "✅"
	case 1:
		return "❌"
	default:
		return "⚠️"
	}
}

// MarkdownComparison renders a comparison for a comment on a pull request. All texts with untrusted
// parts are inside code.
func MarkdownComparison(c *compare.Comparison) string {
	m := &page{limit: markdownSize}
	word, rest := report.ConclusionWord(c)
	m.add("## %s Plumb: %s\n\n%s\n\n", conclusionMark(c), word, code(rest))
	m.add("Baseline %s · candidate %s\n\n", code(c.Baseline.Name), code(c.Candidate.Name))
	for _, a := range report.SettleWords(c) {
		m.add("- %s\n", code(a.Text))
		if a.Command != "" {
			m.part("\n" + indentBlock(fence(a.Command, "sh")) + "\n")
		}
	}
	m.comparisonFacts(c)
	for i := range c.Runners {
		m.comparisonMetrics(c, &c.Runners[i])
	}
	m.comparisonGates(c)
	m.comparisonCases(c, "Lost", c.Cases.Regressed)
	m.comparisonCases(c, "Won", c.Cases.Fixed)
	m.comparisonRest(c)
	return m.String()
}

// comparisonFacts lists what varied, what is unknown, and warnings.
func (m *page) comparisonFacts(c *compare.Comparison) {
	for i := range c.Varied[:min(len(c.Varied), report.MaxNotes)] {
		d := &c.Varied[i]
		m.add("- varied: %s\n", code(report.DifferenceWords(d)))
	}
	if names := report.UnknownNames(c); len(names) > 0 {
		m.add("- not recorded on both sides, so not compared: %s\n", code(report.SomeOf(names, report.MaxNotes)))
	}
	for _, text := range c.Warnings {
		m.add("- ⚠️ %s\n", code(text))
	}
	for i := range c.Runners {
		if words := report.ErrorWords(&c.Runners[i].Errors); words != "" {
			m.add("- errors on %s: %s\n", code(c.Runners[i].Candidate), code(words))
		}
	}
	m.part("\n")
}

func (m *page) comparisonMetrics(c *compare.Comparison, r *compare.RunnerResult) {
	text := markup("")
	if len(c.Runners) > 1 {
		text = marked("**%s**: %s\n\n", code(r.Candidate), r.Conclusion)
	}
	text += "| | baseline | candidate | effect | p | |\n| --- | ---: | ---: | ---: | ---: | --- |\n"
	for i := range c.Metrics {
		if f := &c.Metrics[i]; f.Runner == r.Candidate {
			row := report.MetricCells(f)
			text += cells(setCell(row[0]), row[1:]...)
		}
	}
	if notes := report.TestNotes(c); len(notes) > 0 {
		text += marked("\n%s\n", strings.Join(notes, "; "))
	}
	m.part(text + "\n")
}

func (m *page) comparisonGates(c *compare.Comparison) {
	if len(c.Gates) == 0 {
		return
	}
	marks := map[compare.GateResult]markup{compare.Violated: "❌", compare.Holds: "✅", compare.Unproven: "⚠️"}
	rows := make([]markup, len(c.Gates))
	for i := range c.Gates {
		g := &c.Gates[i]
		name := g.Text
		if len(c.Runners) > 1 {
			name += " on " + g.Runner
		}
		rows[i] = marked("| %s | %s %s | %s |\n", cellText(name), marks[g.Result], g.Result, setCell(report.GateWords(c, g)))
	}
	text := "| gate | result | |\n| --- | --- | --- |\n" + join(rows, "")
	if report.UnprovenPasses(c) {
		text += "\nUnproven gates do not fail, because of `--unproven pass`.\n"
	}
	m.part(text + "\n")
}

// comparisonCases lists cases by failure class, folded.
func (m *page) comparisonCases(c *compare.Comparison, title string, list []compare.CaseResult) {
	if len(list) == 0 {
		return
	}
	m.add("<details><summary>%s: %s</summary>\n\n", title, text.Plural(len(list), "case"))
	shown := list[:min(markdownCases, len(list))]
	for _, first := range report.ClassesOf(list) {
		m.add("**%s**\n\n", code(report.ClassLabel(&first.Class, "")))
		for i := range shown {
			if shown[i].Class.ID != first.Class.ID {
				continue
			}
			m.add("- %s %s\n", code(report.PairWords(c, &shown[i])), strings.Join(report.CaseFacts(&shown[i]), ", "))
			if d := shown[i].Difference; d != nil && d.Event > 0 && i < markdownDetails {
				m.part("\n" + indentBlock(fence(fmt.Sprintf("event %d\n- %s\n+ %s", d.Event,
					text.Line(report.SessionEnd(d.Baseline), 300), text.Line(report.SessionEnd(d.Candidate), 300)), "diff")) + "\n")
			}
		}
		m.part("\n")
	}
	if more := len(list) - len(shown); more > 0 {
		m.add("and %s more\n\n", text.Count(more))
	}
	m.part("</details>\n\n")
}

// comparisonRest lists what is not paired or not measured, and how the comparison was made.
func (m *page) comparisonRest(c *compare.Comparison) {
	for _, l := range report.UnpairedLists(c) {
		m.add("- %s: %s\n", l.Label, code(report.SomeOf(l.Names, report.MaxNotes)))
	}
	m.part("\n")
	for i := range c.Runners {
		m.add("<sub>%s</sub>\n", code(report.MethodWords(&c.Runners[i])+"; "+report.PopulationWords(&c.Runners[i].Figure)))
	}
}
