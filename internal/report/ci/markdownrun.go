package ci

import (
	"fmt"
	"io"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// WriteMarkdown writes a report that fits into a comment on a pull request.
func WriteMarkdown(out io.Writer, src *report.Source, run *plumb.Run) error {
	text, err := markdown(src, run)
	if err == nil {
		_, err = io.WriteString(out, text)
	}
	return err
}

// markdown renders a run for pages that render Markdown as GitHub does.
func markdown(src *report.Source, run *plumb.Run) (string, error) {
	m := &page{limit: markdownSize}
	rates := analyze.Rates(run)
	mark := markup("✅")
	switch results.Outcome(run) {
	case plumb.OutcomeFail:
		mark = "❌"
	case plumb.OutcomeError, plumb.OutcomeSkipped:
		mark = "⚠️"
	default:
	}
	g := report.GridOf(run, " · ", "–")
	if g == nil {
		m.add("## %s Plumb: %s\n\n", mark, results.Headline(run, rates.Overall, "–"))
	} else {
		m.add("## %s Plumb: %s\n\n", mark, g.Title(run))
		for i, h := range report.Headlines(run, g, "–") {
			if i == markdownItems {
				m.add("- and %s more\n", text.Count(len(g.Columns)-i))
				break
			}
			m.add("- %s\n", code(h.Words))
		}
		m.add("\n")
	}
	for i, line := range report.DecisionLines(src, run) {
		if i == 0 {
			m.add("**%s**\n\n", strings.TrimSpace(line))
			continue
		}
		m.add("%s\n\n", strings.TrimSpace(line))
	}
	for _, l := range report.GateLines(run, " · ", "–") {
		gateMark := map[analyze.GateResult]markup{analyze.Holds: "✅", analyze.Violated: "❌", analyze.Unproven: "⚠️"}
		m.add("%s %s\n\n", gateMark[l.Result], code(l.Words))
	}
	if words := report.StopWords(run); words != "" {
		m.add("**%s**\n\n", words)
	}
	if src.IsRecording(run) {
		m.add("> **%s**\n\n", report.RecordingNotice(&run.Info))
	}
	info := &run.Info
	m.add("Suite %s · %s", code(report.SuiteTitle(info, " ")), report.CasesWords(run))
	if judge := report.JudgeTitle(info); judge != "" {
		m.add(" · judge %s", code(judge))
	}
	m.add(" · run %s\n\n", code(info.ID))
	if rates.Overall.Planned > 0 {
		m.rates(run)
		m.grid(run, g)
		m.figures(run)
		m.conclusions(src, run)
		m.flaky(run)
	}
	if err := m.findings(src, run); err != nil {
		return "", err
	}
	m.agents(run)
	m.notes(run)
	return src.Redact.String(m.String()), nil
}

func (m *page) rates(run *plumb.Run) {
	var rows, notes []markup
	row := func(name markup, r analyze.Rate) {
		rows = append(rows, cells(name, report.RateCells(r, "–")...))
	}
	repeats := func(r analyze.Rate, whole bool) {
		for _, x := range report.RepeatRows(run, r, whole, "–") {
			rows = append(rows, cells("· "+set(x.Name), x.Cells...))
		}
	}
	for i := range run.Info.Runners {
		b := analyze.RunnerRates(run, i)
		row("**"+cellText(report.RunnerTitle(&run.Info.Runners[i]))+"**", b.Overall)
		repeats(b.Overall, true)
		for _, note := range report.RepeatNotes(run, b.Overall) {
			if len(run.Info.Runners) > 1 {
				notes = append(notes, marked("%s: %s", code(run.Info.Runners[i].ID), note))
				continue
			}
			notes = append(notes, set(note))
		}
		for _, list := range report.RateLists(&b) {
			for _, r := range list.Rates {
				if r.Name == "" {
					row("no "+set(list.Kind), r)
				} else {
					row(set(list.Kind)+" "+cellText(r.Name), r)
				}
				repeats(r, false)
			}
		}
	}
	s := "| | pass | rate | 95 % interval | coverage |\n| --- | ---: | ---: | ---: | ---: |\n" +
		join(rows[:min(len(rows), markdownRows)], "")
	if more := len(rows) - markdownRows; more > 0 {
		s += marked("\n(%s more)\n", text.Plural(more, "row"))
	}
	if notes = notes[:min(len(notes), report.MaxRows)]; len(notes) > 0 {
		s += "\n" + join(notes, "\n\n") + "\n"
	}
	m.part(s + "\n")
}

// grid writes a table of the cases that are not green everywhere.
func (m *page) grid(run *plumb.Run, g *report.Grid) {
	if g == nil || len(g.Columns) > markdownRows/2 {
		return
	}
	items := g.NotGreen(run)
	if len(items) == 0 {
		return
	}
	b := markup("| case |")
	for _, name := range g.Names {
		b += " " + cellText(name) + " |"
	}
	b += markup("\n| --- |" + strings.Repeat(" :---: |", len(g.Names)) + "\n")
	for _, item := range items[:min(len(items), markdownRows)] {
		b += "| " + cellText(item.ID) + " |"
		for _, x := range item.At {
			mark := ""
			if x >= 0 {
				mark = report.WordOf(&run.Executions[x]).Emoji
			}
			b += markup(" " + mark + " |")
		}
		b += "\n"
	}
	if more := len(items) - markdownRows; more > 0 {
		b += marked("\n(%s more)\n", text.Plural(more, "case"))
	}
	if green := len(g.Items) - len(items); green > 0 {
		b += marked("\n%s: pass everywhere.\n", text.Plural(green, "more case"))
	}
	m.part(b + "\n")
}

// flaky lists the flaky cases.
func (m *page) flaky(run *plumb.Run) {
	lines, more := report.FlakyLines(run, markdownItems)
	if len(lines) == 0 {
		return
	}
	m.add("### Flaky\n\n")
	for _, l := range lines {
		m.add("- %s %s\n", code(l.Name), l.Words)
	}
	if more > 0 {
		m.add("- and %s more\n", text.Count(more))
	}
	m.add("\n")
}

func (m *page) figures(run *plumb.Run) {
	spent := analyze.Spent(run, -1)
	parts := []markup{marked("time %s", text.Millis(results.DurationMs(run)))}
	if words := report.TimesWords(run, "–"); words != "" {
		parts = append(parts, set(words))
	}
	if spent.InputTokens+spent.OutputTokens > 0 {
		parts = append(parts, marked("tokens %s in, %s out", text.Count(spent.InputTokens), text.Count(spent.OutputTokens)))
	}
	if spent.Sessions > 0 {
		parts = append(parts, marked("cost %s", report.CostWords(spent, run)))
	}
	if spent.Cached > 0 {
		parts = append(parts, set(report.CacheWords(spent)))
	}
	for i := range run.Info.Runners {
		words := report.MedianWords(run, analyze.RunnerRates(run, i).Overall, "–")
		switch {
		case words == "":
		case len(run.Info.Runners) > 1:
			parts = append(parts, marked("%s: a case %s", code(run.Info.Runners[i].ID), words))
		default:
			parts = append(parts, marked("a case %s", words))
		}
	}
	m.part(join(parts, " · ") + "\n\n")
	groups := report.FigureGroups(run, false, "–")
	if len(groups) == 0 {
		return
	}
	text := "<details><summary>figures of a case</summary>\n\n" + cells("", report.FigureHead()...) +
		markup("| --- | --- |"+strings.Repeat(" ---: |", len(report.FigureHead())-1)+"\n")
	for _, g := range groups[:min(len(groups), markdownRows/4)] {
		for _, row := range g.Rows {
			text += cells(cellText(g.Name), row...)
		}
	}
	m.part(text + "\n</details>\n\n")
}

// conclusions writes the statements about the run as a whole.
func (m *page) conclusions(src *report.Source, run *plumb.Run) {
	for _, c := range report.ConclusionsOf(src, run) {
		mark := markup("")
		if c.Warning {
			mark = "⚠️ "
		}
		m.add("%s%s: %s\n\n", mark, c.Label, code(c.Text))
	}
}

func (m *page) findings(src *report.Source, run *plumb.Run) error {
	f := analyze.Find(run, markdownListed)
	details := markdownItems
	for _, section := range report.SectionsOf(&f) {
		m.add("### %s\n\n", strings.ToUpper(section.Title[:1])+section.Title[1:])
		for i, g := range section.Groups {
			if i == report.MaxClasses {
				m.add("(%s more)\n\n", text.Plural(len(section.Groups)-i, "class"))
				break
			}
			if g.Class.ID != "" {
				m.add("**%s** · %s\n\n", code(report.ClassLabel(&g.Class, "")), text.Count(g.Count))
			}
			for _, x := range g.Executions {
				if m.full {
					return nil
				}
				if err := m.item(src, run, x, &details); err != nil {
					return err
				}
			}
			if more := report.MoreWords(&g); more != "" {
				m.add("- and %s\n", more)
			}
			m.add("\n")
		}
	}
	if n := f.ExpectedFailed.Count; n > 0 {
		m.add("%s failed as expected.\n\n", text.Plural(n, "case"))
	}
	return nil
}

// item lists one execution. The first items include what was expected and what was received.
func (m *page) item(src *report.Source, run *plumb.Run, x int, details *int) error {
	c := report.CellAt(run, x)
	line := "- " + code(c.Name())
	if reason := text.OneLine(c.Reason); reason != "" {
		line += " " + code(reason)
	}
	m.part(line + "\n")
	if *details == 0 || src.Sessions == nil {
		return nil
	}
	*details--
	_, decided, err := c.Decided(src.Sessions)
	if err != nil || decided == nil || c.Status == plumb.StatusUnexpectedPassed {
		return err
	}
	whole := whyText(c.Execution, decided)
	why := text.Clip(whole, markdownText)
	if strings.TrimSpace(why) == "" || text.OneLine(why) == text.OneLine(c.Reason) {
		return nil
	}
	if missing := len(whole) - len(why); missing > 0 {
		why += fmt.Sprintf("\n(%s more bytes)", text.Count(missing))
	}
	language := ""
	if strings.Contains(why, "\n+++ got\n") {
		language = "diff"
	}
	ask := markup("")
	if explain := c.AskAbout(src, decided); explain != "" {
		ask = "\n\n  Ask the agent why: " + code(explain) + "\n"
	}
	m.part("  <details><summary>details</summary>\n\n" + indentBlock(fence(why, language)) + ask + "\n  </details>\n")
	return nil
}

// agents adds a table for each agent, with one row per case.
func (m *page) agents(run *plumb.Run) {
	if !results.HasAgents(run) {
		return
	}
	n := len(run.Info.Runners)
	for r := range run.Info.Runners {
		b := marked("#### %s\n\n", code(report.RunnerTitle(&run.Info.Runners[r]))) + cells("case", report.AgentHead()...) +
			markup("| --- |"+strings.Repeat(" ---: |", len(report.AgentHead()))+"\n")
		for c := range min(len(run.Cases), markdownRows) {
			x := report.CellAt(run, c*n+r)
			name := markup(report.WordOf(x.Execution).Emoji) + " " + cellText(x.Info.ID)
			if counts := x.Counts(); len(counts) > 0 {
				name += marked(" (%s)", setCell(strings.Join(counts, ", ")))
			}
			b += cells(name, report.AgentCells(x.Execution, "–")...)
		}
		b += cells("**mean of a session**", report.AgentMeans(run, r, "–")...)
		if more := len(run.Cases) - markdownRows; more > 0 {
			b += marked("\n(%s more)\n", text.Plural(more, "case"))
		}
		m.part(b + "\n")
	}
}

func (m *page) notes(run *plumb.Run) {
	if len(run.Notes) == 0 {
		return
	}
	m.add("### Notes\n\n")
	for i, n := range run.Notes {
		if i == report.MaxNotes {
			m.add("- and %s more\n", text.Count(len(run.Notes)-i))
			break
		}
		line := marked("- %s: %s", n.Level, code(n.Text))
		if n.Hint != "" {
			line += " " + code(n.Hint)
		}
		m.part(line + "\n")
	}
}
