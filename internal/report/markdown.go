package report

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of a Markdown report. GitHub accepts comments of fewer than 65,536 characters; the
// rest is room for text around the report.
const (
	markdownSize   = 60_000
	markdownItems  = 20      // failures shown with what was expected and what came
	markdownListed = 50      // executions listed in all
	markdownRows   = 40      // rows of one table
	markdownText   = 2 << 10 // bytes of one text
)

// writeComment writes a report that fits into a comment on a pull request.
func writeComment(o Options, run *plumb.Run) error {
	text, err := markdown(&o, run)
	if err == nil {
		_, err = io.WriteString(o.Out, text)
	}
	if err != nil {
		return fmt.Errorf("write markdown report: %w", err)
	}
	return nil
}

// markup is text in Markdown. Only [set], [code], [cellText] and [fence] make it of the text of
// others, so that such text cannot format, link or notify.
type markup string

// set returns a text as it is if Markdown shows it so, and otherwise as code.
func set(s string) markup {
	if s = text.OneLine(s); literal(s) {
		return markup(s)
	}
	return code(s)
}

// interval matches an interval of numbers in brackets that begins no link.
var interval = regexp.MustCompile(`\[[-+0-9.,– ]+\]($|[ ,;)])`)

// literal reports whether nothing in a text has a meaning in Markdown or on GitHub, on whichever
// place of a line it is.
func literal(s string) bool {
	s = interval.ReplaceAllString(s, " ")
	if strings.Contains(strings.ToLower(s), "www.") || strings.TrimLeft(s, "-+>=") != s && len(s) > 1 && s[1] == ' ' {
		return false
	}
	for i, r := range s {
		last, next := i == 0 || s[i-1] == ' ', strings.TrimLeft(s[i+utf8.RuneLen(r):], "= ")
		number := next != "" && '0' <= next[0] && next[0] <= '9'
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(" .,;%()+-–·×±→≥≤'\"$/…=", r):
		case r == ':' && (i+1 == len(s) || s[i+1] == ' '):
		case (r == '<' || r == '>') && i > 0 && last && number: // p < 0.05
		default:
			return false
		}
	}
	return true
}

// join joins markup.
func join(parts []markup, separator string) markup {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = string(p)
	}
	return markup(strings.Join(texts, separator))
}

// cells returns a row of a table; the texts of the first cell are set already.
func cells(first markup, texts ...string) markup {
	row := "| " + first
	for _, text := range texts {
		row += " | " + setCell(text)
	}
	return row + " |\n"
}

// markdown renders a run for pages that render Markdown as GitHub does.
func markdown(o *Options, run *plumb.Run) (string, error) {
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
	g := gridOf(run, " · ", "–")
	if g == nil {
		m.add("## %s Plumb: %s\n\n", mark, results.Headline(run, rates.Overall, "–"))
	} else {
		m.add("## %s Plumb: %s\n\n", mark, g.title(run))
		for i, h := range headlines(run, g, "–") {
			if i == markdownItems {
				m.add("- and %s more\n", text.Count(len(g.columns)-i))
				break
			}
			m.add("- %s\n", code(h.words))
		}
		m.add("\n")
	}
	for i, line := range decisionLines(o, run) {
		if i == 0 {
			m.add("**%s**\n\n", strings.TrimSpace(line))
			continue
		}
		m.add("%s\n\n", strings.TrimSpace(line))
	}
	for _, l := range gateLines(run, " · ", "–") {
		gateMark := map[analyze.GateResult]markup{analyze.Holds: "✅", analyze.Violated: "❌", analyze.Unproven: "⚠️"}
		m.add("%s %s\n\n", gateMark[l.result], code(l.words))
	}
	if words := stopWords(run); words != "" {
		m.add("**%s**\n\n", words)
	}
	if o.recorded(run) {
		m.add("> **%s**\n\n", recordingNotice(&run.Info))
	}
	info := &run.Info
	m.add("Suite %s · %s", code(suiteTitle(info, " ")), casesWords(run))
	if judge := judgeTitle(info); judge != "" {
		m.add(" · judge %s", code(judge))
	}
	m.add(" · run %s\n\n", code(info.ID))
	if rates.Overall.Planned > 0 {
		m.rates(run)
		m.grid(run, g)
		m.figures(run)
		m.conclusions(o, run)
		m.flaky(run)
	}
	if err := m.findings(o, run); err != nil {
		return "", err
	}
	m.agents(run)
	m.notes(run)
	return o.Redact.String(m.String()), nil
}

// page is a Markdown text of limited size. It omits a part that does not fit, and all parts after
// it.
type page struct {
	strings.Builder
	limit int
	full  bool
}

// add adds formatted text. It sets all arguments that are not markup already.
func (m *page) add(format string, args ...any) { m.part(marked(format, args...)) }

// marked is [fmt.Sprintf] for markup: it sets all arguments that are text.
func marked(format string, args ...any) markup {
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String && v.Type() != reflect.TypeFor[markup]() {
			args[i] = set(v.String())
		}
	}
	return markup(fmt.Sprintf(format, args...))
}

func (m *page) part(s markup) {
	const ending = "\n_The report is truncated here._\n"
	if m.full || m.Len()+len(s)+len(ending) > m.limit {
		if !m.full {
			m.WriteString(ending)
		}
		m.full = true
		return
	}
	m.WriteString(string(s))
}

func (m *page) rates(run *plumb.Run) {
	var rows, notes []markup
	row := func(name markup, r analyze.Rate) {
		rows = append(rows, cells(name, rateCells(r, "–")...))
	}
	repeats := func(r analyze.Rate, whole bool) {
		for _, x := range repeatRows(run, r, whole, "–") {
			rows = append(rows, cells("· "+set(x.name), x.cells...))
		}
	}
	for i := range run.Info.Runners {
		b := analyze.RunnerRates(run, i)
		row("**"+cellText(runnerTitle(&run.Info.Runners[i]))+"**", b.Overall)
		repeats(b.Overall, true)
		for _, note := range repeatNotes(run, b.Overall) {
			if len(run.Info.Runners) > 1 {
				notes = append(notes, marked("%s: %s", code(run.Info.Runners[i].ID), note))
				continue
			}
			notes = append(notes, set(note))
		}
		for _, list := range rateLists(&b) {
			for _, r := range list.rates {
				if r.Name == "" {
					row("no "+set(list.kind), r)
				} else {
					row(set(list.kind)+" "+cellText(r.Name), r)
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
	if notes = notes[:min(len(notes), summaryRows)]; len(notes) > 0 {
		s += "\n" + join(notes, "\n\n") + "\n"
	}
	m.part(s + "\n")
}

// grid writes a table of the cases that are not green everywhere.
func (m *page) grid(run *plumb.Run, g *grid) {
	if g == nil || len(g.columns) > markdownRows/2 {
		return
	}
	items := g.notGreen(run)
	if len(items) == 0 {
		return
	}
	b := markup("| case |")
	for _, name := range g.names {
		b += " " + cellText(name) + " |"
	}
	b += markup("\n| --- |" + strings.Repeat(" :---: |", len(g.names)) + "\n")
	for _, item := range items[:min(len(items), markdownRows)] {
		b += "| " + cellText(item.id) + " |"
		for _, x := range item.at {
			mark := ""
			if x >= 0 {
				mark = wordOf(&run.Executions[x]).emoji
			}
			b += markup(" " + mark + " |")
		}
		b += "\n"
	}
	if more := len(items) - markdownRows; more > 0 {
		b += marked("\n(%s more)\n", text.Plural(more, "case"))
	}
	if green := len(g.items) - len(items); green > 0 {
		b += marked("\n%s: pass everywhere.\n", text.Plural(green, "more case"))
	}
	m.part(b + "\n")
}

// flaky lists the flaky cases.
func (m *page) flaky(run *plumb.Run) {
	lines, more := flakyLines(run, markdownItems)
	if len(lines) == 0 {
		return
	}
	m.add("### Flaky\n\n")
	for _, l := range lines {
		m.add("- %s %s\n", code(l.name), l.words)
	}
	if more > 0 {
		m.add("- and %s more\n", text.Count(more))
	}
	m.add("\n")
}

func (m *page) figures(run *plumb.Run) {
	spent := analyze.Spent(run, -1)
	parts := []markup{marked("time %s", text.Millis(results.DurationMs(run)))}
	if words := timesWords(run, "–"); words != "" {
		parts = append(parts, set(words))
	}
	if spent.InputTokens+spent.OutputTokens > 0 {
		parts = append(parts, marked("tokens %s in, %s out", text.Count(spent.InputTokens), text.Count(spent.OutputTokens)))
	}
	if spent.Sessions > 0 {
		parts = append(parts, marked("cost %s", costWords(spent, run)))
	}
	if spent.Cached > 0 {
		parts = append(parts, set(cacheWords(spent)))
	}
	for i := range run.Info.Runners {
		words := medianWords(run, analyze.RunnerRates(run, i).Overall, "–")
		switch {
		case words == "":
		case len(run.Info.Runners) > 1:
			parts = append(parts, marked("%s: a case %s", code(run.Info.Runners[i].ID), words))
		default:
			parts = append(parts, marked("a case %s", words))
		}
	}
	m.part(join(parts, " · ") + "\n\n")
	groups := figureGroups(run, false, "–")
	if len(groups) == 0 {
		return
	}
	text := "<details><summary>figures of a case</summary>\n\n" + cells("", figureHead()...) +
		markup("| --- | --- |"+strings.Repeat(" ---: |", len(figureHead())-1)+"\n")
	for _, g := range groups[:min(len(groups), markdownRows/4)] {
		for _, row := range g.rows {
			text += cells(cellText(g.name), row...)
		}
	}
	m.part(text + "\n</details>\n\n")
}

// conclusions writes the statements about the run as a whole.
func (m *page) conclusions(o *Options, run *plumb.Run) {
	for _, c := range conclusionsOf(o, run) {
		mark := markup("")
		if c.warning {
			mark = "⚠️ "
		}
		m.add("%s%s: %s\n\n", mark, c.label, code(c.text))
	}
}

func (m *page) findings(o *Options, run *plumb.Run) error {
	f := analyze.Find(run, markdownListed)
	details := markdownItems
	for _, section := range sectionsOf(&f) {
		m.add("### %s\n\n", strings.ToUpper(section.title[:1])+section.title[1:])
		for i, g := range section.groups {
			if i == summaryGroups {
				m.add("(%s more)\n\n", text.Plural(len(section.groups)-i, "class"))
				break
			}
			if g.Class.ID != "" {
				m.add("**%s** · %s\n\n", code(classLabel(&g.Class, "")), text.Count(g.Count))
			}
			for _, x := range g.Executions {
				if m.full {
					return nil
				}
				if err := m.item(o, run, x, &details); err != nil {
					return err
				}
			}
			if more := moreWords(&g); more != "" {
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
func (m *page) item(o *Options, run *plumb.Run, x int, details *int) error {
	c := cellAt(run, x)
	line := "- " + code(c.name())
	if reason := text.OneLine(c.Reason); reason != "" {
		line += " " + code(reason)
	}
	m.part(line + "\n")
	if *details == 0 || o.Sessions == nil {
		return nil
	}
	*details--
	_, decided, err := c.Decided(o.Sessions)
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
	if explain := c.askAbout(o, decided); explain != "" {
		ask = "\n\n  Ask the agent why: " + code(explain) + "\n"
	}
	m.part("  <details><summary>details</summary>\n\n" + indentBlock(fence(why, language)) + ask + "\n  </details>\n")
	return nil
}

func (m *page) notes(run *plumb.Run) {
	if len(run.Notes) == 0 {
		return
	}
	m.add("### Notes\n\n")
	for i, n := range run.Notes {
		if i == summaryNotes {
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

// code puts a text into a code span on one line, in which no character has a special meaning.
func code(s string) markup {
	s = text.OneLine(s)
	if s == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return markup(ticks + s + ticks)
}

// setCell is [set] for a table.
func setCell(s string) markup {
	if s = text.OneLine(s); literal(s) {
		return markup(s)
	}
	return cellText(s)
}

// cellText is [code] for a table, in which a bar ends the cell even inside code. Renderers disagree
// about bars after backslashes, so a text with a bar has no character that Markdown knows.
func cellText(s string) markup {
	if s = text.OneLine(s); !strings.Contains(s, "|") {
		return code(s)
	}
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && r != ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return markup("<code>" + b.String() + "</code>")
}

// fence puts a text into a fenced block that it cannot close.
func fence(s, language string) markup {
	ticks := strings.Repeat("`", max(3, longestRun(s)+1))
	return markup(ticks + language + "\n" + strings.TrimRight(text.Clean(s), "\n") + "\n" + ticks)
}

// longestRun returns the length of the longest run of backticks in s.
func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// indentBlock moves a block into a list item.
func indentBlock(s markup) markup {
	return "  " + markup(strings.ReplaceAll(string(s), "\n", "\n  "))
}
