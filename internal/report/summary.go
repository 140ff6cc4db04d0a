package report

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of the final summary. It counts what it omits, and the suggested commands show the
// rest.
const (
	summaryGroups = 12 // failure classes
	summaryItems  = 8  // executions of one class
	summaryRows   = 24 // categories, or difficulties, in a table
	summaryNotes  = 20
	summarySlow   = 3
)

// summary writes the end of a run, on a terminal or in a log.
type summary struct {
	t     theme
	w     *bufio.Writer
	width int // of the terminal; 0 means unlimited
	o     *Options
	run   *plumb.Run
	// bare is set when only the header is above the summary, noted when the notes are and are near.
	bare, noted bool
	// explain is a command that asks an agent why it failed, or "" when no check has a question.
	explain string
	// shown is set when the excerpts of all failures are above and near.
	shown bool
}

func (s *summary) line(format string, args ...any) {
	fmt.Fprintln(s.w, guard(s.o, s.t.fit(strings.TrimRight(fmt.Sprintf(format, args...), " "), s.width)))
}

// WriteRates writes the pass rates of a run to o.Out, the flaky cases, and what the cases used, by
// runner, category, difficulty and tag.
func WriteRates(o Options, run *plumb.Run) error {
	if len(run.Executions) == 0 {
		return nil
	}
	s := &summary{t: newTheme(false, o.Unicode), w: bufio.NewWriter(o.Out), o: &o, run: run}
	if o.Terminal && o.Size != nil {
		width, _ := o.Size()
		s.width = max(1, width-1)
	}
	s.rates(false)
	s.flaky()
	s.figuresOfCases()
	return s.w.Flush()
}

// write writes the whole summary: the most important part first, the next commands last.
func (s *summary) write() {
	g := gridOf(s.run, s.t.dot, s.t.dash)
	if !s.bare {
		s.line("")
	}
	for i, line := range decisionLines(s.o, s.run) {
		if i == 0 {
			line = s.t.bold(line)
		}
		s.line("%s", line)
	}
	for i, h := range headlines(s.run, g, s.t.dash) {
		if i == summaryItems {
			s.line("%s", s.t.dim(fmt.Sprintf("(%d more)", len(g.columns)-i)))
			break
		}
		s.wrapped(h.words, func(l string) string { return s.t.bold(s.tone(h.rate)(l)) })
	}
	s.gates()
	if words := stopWords(s.run); words != "" {
		s.line("%s", s.t.yellow(words))
	}
	if s.o.recorded(s.run) {
		s.line("%s", s.t.yellow(recordingNotice(&s.run.Info)))
	}
	if len(s.run.Executions) > 0 {
		if g != nil {
			s.grid(g)
			s.repeatNotes()
		} else {
			s.rates(true)
		}
		s.figures()
		s.agents()
		s.flaky()
	}
	look := s.findings()
	s.notes()
	s.where(look)
}

// tone returns the color of a rate: red if something failed, yellow if something is missing.
func (s *summary) tone(r analyze.Rate) func(string) string {
	switch {
	case r.Failed > r.ExpectedFailed || r.UnexpectedPassed > 0 || len(s.run.Info.Runners) == 1 && analyze.Red(s.run):
		return s.t.red
	case r.Unmeasured() > 0 || r.Planned == 0:
		return s.t.yellow
	default:
		return s.t.green
	}
}

// rateList is the pass rates of one kind: "prompt", "category", "difficulty" or "tag".
type rateList struct {
	kind  string
	rates []analyze.Rate
}

// rateLists returns the kinds of rates with more than one entry.
func rateLists(b *analyze.Breakdown) (lists []rateList) {
	if len(b.Prompts) > 1 {
		lists = append(lists, rateList{"prompt", b.Prompts})
	}
	if b.HasCategories() {
		lists = append(lists, rateList{"category", b.Categories})
	}
	if b.HasDifficulties() {
		lists = append(lists, rateList{"difficulty", b.Difficulties})
	}
	if b.HasTags() {
		lists = append(lists, rateList{"tag", b.Tags})
	}
	return lists
}

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
		for _, x := range repeatRows(s.run, r, whole, s.t.dash) {
			add(s.t.dim, indent+x.name, x.cells...)
		}
	}
	for i := range min(len(s.run.Info.Runners), summaryRows) {
		name := "all"
		if len(s.run.Info.Runners) > 1 {
			name = text.OneLine(s.run.Info.Runners[i].ID)
		}
		b := analyze.RunnerRates(s.run, i)
		add(s.t.bold, name, rateCells(b.Overall, s.t.dash)...)
		repeats("  ", b.Overall, true)
		for _, list := range rateLists(&b) {
			shown := list.rates
			if brief {
				shown = slices.DeleteFunc(slices.Clone(shown), func(r analyze.Rate) bool { return r.Passed == r.Planned })
				if len(list.rates) == 1 { // the line above says the same
					continue
				}
			}
			green := len(list.rates) - len(shown)
			if len(shown) == 0 {
				continue
			}
			add(s.t.dim, "  "+list.kind)
			for i, r := range shown {
				if i == summaryRows {
					add(s.t.dim, fmt.Sprintf("    (%d more)", len(shown)-i))
					break
				}
				add(plain, "    "+cmp.Or(text.OneLine(r.Name), "(none)"), rateCells(r, s.t.dash)...)
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

// repeatNotes writes the notes about repetitions.
func (s *summary) repeatNotes() {
	for i, first := 0, true; i < min(len(s.run.Info.Runners), summaryRows); i++ {
		for _, note := range repeatNotes(s.run, analyze.RunnerRates(s.run, i).Overall) {
			if first {
				s.line("")
			}
			first = false
			s.wrapped(notePrefix(s.run, i)+note, unstyled)
		}
	}
}

// tight reports whether the terminal is too narrow for whole headings.
func (s *summary) tight() bool {
	const least = 60
	return s.width > 0 && s.width < least
}

// wrapped writes a sentence on as many lines as it needs.
func (s *summary) wrapped(text string, style func(string) string) {
	for line := range strings.Lines(ansi.Wordwrap(text, cmp.Or(s.width, 100), "")) {
		s.line("%s", style(strings.TrimSuffix(line, "\n")))
	}
}

func unstyled(s string) string { return s }

// notePrefix names the runner of a note if there are several.
func notePrefix(run *plumb.Run, i int) string {
	if len(run.Info.Runners) == 1 {
		return ""
	}
	return text.OneLine(run.Info.Runners[i].ID) + ": "
}

// figuresOfCases writes what the cases of each group used.
func (s *summary) figuresOfCases() {
	table, styles := [][]string{figureHead()}, []func(string) string{s.t.dim}
	for _, g := range figureGroups(s.run, true, s.t.dash) {
		name := g.name
		if g.kind != "runner" {
			name = g.kind + " " + name
		}
		table, styles = append(table, []string{name}), append(styles, s.t.bold)
		for _, row := range g.rows {
			row[0] = "  " + row[0]
			table, styles = append(table, row), append(styles, s.t.dim)
		}
	}
	if len(table) > 1 {
		s.table(table, styles, s.widths(table), "   ")
	}
}

// flaky lists the flaky cases.
func (s *summary) flaky() {
	lines, more := flakyLines(s.run, summaryItems)
	if len(lines) == 0 {
		return
	}
	s.line("")
	s.line("%s", s.t.yellow("flaky"))
	width := 0
	for _, l := range lines {
		width = max(width, min(ansi.StringWidth(l.name), 40))
	}
	for _, l := range lines {
		s.line("  %s  %s", text.Pad(l.name, width), s.t.dim(l.words))
	}
	if more > 0 {
		s.line("  %s", s.t.dim(fmt.Sprintf("(%s more)", text.Count(more))))
	}
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

// figures writes what the run used: tokens, cost, time.
func (s *summary) figures() {
	spent := analyze.Spent(s.run, -1)
	fact := func(label, text string) {
		if s.tight() {
			text = strings.ReplaceAll(ansi.Wordwrap(text, s.width-len("slowest   "), ""), "\n", "\n          ")
		}
		for i, line := range strings.Split(text, "\n") {
			if i == 0 {
				line = s.t.label(label) + line
			}
			s.line("%s", line)
		}
	}
	s.line("")
	if spent.InputTokens+spent.OutputTokens > 0 {
		tokens := text.Count(spent.InputTokens) + " in, " + text.Count(spent.OutputTokens) + " out"
		if spent.ReasoningTokens > 0 {
			tokens += ", " + text.Count(spent.ReasoningTokens) + " of it reasoning"
		}
		if spent.CacheTokens > 0 {
			tokens += "; " + text.Count(spent.CacheTokens) + " in read from the prompt cache"
		}
		fact("tokens", tokens)
	}
	if spent.Sessions > 0 {
		fact("cost", costWords(spent, s.run))
	}
	fact("time", strings.TrimSuffix(text.Millis(results.DurationMs(s.run))+"; "+timesWords(s.run, s.t.dash), "; "))
	for i := range min(len(s.run.Info.Runners), summaryRows) {
		if words := medianWords(s.run, analyze.RunnerRates(s.run, i).Overall, s.t.dash); words != "" {
			fact("a case", notePrefix(s.run, i)+words)
		}
	}
	if spent.Cached > 0 {
		fact("cache", cacheWords(spent))
	}
	for _, c := range conclusionsOf(s.o, s.run) {
		words := c.text
		if c.warning {
			words = s.t.yellow("warning: ") + words
		}
		fact(c.label, words)
	}
	if slow := analyze.Slowest(s.run, summarySlow); len(slow) > 0 && analyze.Times(s.run).N > 1 {
		parts := make([]string, len(slow))
		for i, x := range slow {
			parts[i] = s.name(x) + " " + text.Millis(analyze.Elapsed(&s.run.Executions[x]))
		}
		fact("slowest", strings.Join(parts, ", "))
	}
}

func cacheWords(spent analyze.Spending) string {
	return text.Count(spent.Cached) + " of " + text.Plural(spent.Sessions, "answer") + " from the cache"
}

// costWords returns the cost of a run, and for how many executions it is unknown.
func costWords(spent analyze.Spending, run *plumb.Run) string {
	if !spent.Priced(run) {
		return "unknown" + noPrice(run)
	}
	words := text.Money(spent.CostUSD)
	if spent.JudgeCostUSD > 0 {
		words += ", " + text.Money(spent.JudgeCostUSD) + " of it for judging"
	}
	if spent.Unpriced > 0 {
		words += ", unknown for " + text.Plural(spent.Unpriced, "execution")
	}
	return words
}

// noPrice names the models that used tokens without a known price, after a space.
func noPrice(run *plumb.Run) string {
	var models []string
	for i := range run.Info.Runners {
		model := text.OneLine(run.Info.Runners[i].Agent.Model)
		spent := analyze.Spent(run, i)
		if spent.Unpriced == 0 || spent.InputTokens+spent.OutputTokens == 0 || slices.Contains(models, model) {
			continue
		}
		models = append(models, model)
	}
	switch {
	case len(models) == 0 || slices.Contains(models, ""):
		return ""
	case len(models) > 3:
		return fmt.Sprintf(" (no price for %d models)", len(models))
	}
	return " (no price for " + strings.Join(models, ", ") + ")"
}

func (s *summary) name(i int) string {
	c := cellAt(s.run, i)
	return c.name()
}

// section is one kind of executions that did not pass, by class.
type section struct {
	title  string
	failed bool // and not unmeasured
	groups []analyze.Group
}

// sectionsOf returns the sections that are not empty, most urgent first.
func sectionsOf(f *analyze.Findings) []section {
	return slices.DeleteFunc([]section{
		{"failed", true, f.Failed},
		{"passed although expected to fail", true, []analyze.Group{f.UnexpectedPassed}},
		{"a check of the suite broke", true, f.Broken},
		{"could not be measured", false, f.Errored},
	}, func(s section) bool { return len(s.groups) == 0 || s.groups[0].Count == 0 })
}

// findings writes what failed and what could not be measured, by class, and returns the command that
// shows what to look at first.
func (s *summary) findings() (look string) {
	f := analyze.Find(s.run, summaryItems)
	for _, section := range sectionsOf(&f) {
		title := s.t.yellow(section.title)
		if section.failed {
			title = s.t.red(section.title)
		}
		s.line("")
		if s.shown && len(section.groups) == 1 && !s.tight() {
			title += "  "
		} else {
			s.line("%s", title)
			title = "  "
		}
		for i, g := range section.groups {
			if i == summaryGroups {
				s.line("  (%s more)", text.Plural(len(section.groups)-i, "class"))
				break
			}
			s.class(title, &g)
			if look == "" && len(g.Executions) > 0 {
				first := cellAt(s.run, g.Executions[0])
				look = first.command("show", s.o)
			}
		}
	}
	if e := f.ExpectedFailed; e.Count > 0 {
		names := make([]string, 0, len(e.Executions)+1)
		for _, x := range e.Executions {
			names = append(names, s.name(x))
		}
		if e.Count > len(names) {
			names = append(names, fmt.Sprintf("%d more", e.Count-len(names)))
		}
		s.line("")
		s.line("%s %s", s.t.dim(fmt.Sprintf("failed as expected (%d):", e.Count)), strings.Join(names, ", "))
	}
	return look
}

// class writes a failure class after a text: on one line if the excerpts of its executions are above.
func (s *summary) class(before string, g *analyze.Group) {
	title := before + fmt.Sprintf("%s %s  %s", s.t.bold(classLabel(&g.Class, "")), s.t.dim("["+text.OneLine(g.Class.ID)+"]"),
		text.Count(g.Count))
	if !s.shown {
		s.line("%s", title)
		s.items(g)
		return
	}
	var line strings.Builder
	line.WriteString(title + ":")
	used := ansi.StringWidth(line.String())
	add := func(word string) {
		if n := ansi.StringWidth(word); used+n+1 > cmp.Or(s.width, gridWidth) {
			line.WriteString("\n   ")
			used = 3
		}
		used += ansi.StringWidth(word) + 1
		line.WriteString(" " + word)
	}
	for i, x := range g.Executions {
		word := s.name(x)
		if i < g.Count-1 {
			word += ","
		}
		add(word)
	}
	if more := moreWords(g); more != "" {
		add("(" + more + ")")
	}
	for l := range strings.Lines(line.String()) {
		s.line("%s", strings.TrimSuffix(l, "\n"))
	}
}

// items lists the executions of a class with the reasons.
func (s *summary) items(g *analyze.Group) {
	for _, x := range g.Executions {
		line := "    " + s.name(x)
		if reason := text.OneLine(s.run.Executions[x].Reason); reason != "" {
			line += "  " + s.t.dim(reason)
		}
		s.line("%s", line)
	}
	if more := moreWords(g); more != "" {
		s.line("    %s", s.t.dim("("+more+")"))
	}
}

// moreWords returns how many executions of a group are not listed, or "".
func moreWords(g *analyze.Group) string {
	more := g.Count - len(g.Executions)
	notAsked := min(more, g.NotAsked)
	switch {
	case more == 0:
		return ""
	case notAsked == 0:
		return text.Count(more) + " more"
	case notAsked == more:
		return text.Plural(more, "more case") + " not run, because the runner had failed"
	default:
		return fmt.Sprintf("%s more, and %s not run, because the runner had failed", text.Count(more-notAsked),
			text.Plural(notAsked, "case"))
	}
}

func (s *summary) notes() {
	if len(s.run.Notes) == 0 || s.noted {
		return
	}
	s.line("")
	for i, n := range s.run.Notes {
		if i == summaryNotes {
			s.line("(%s more)", text.Plural(len(s.run.Notes)-i, "note"))
			break
		}
		for _, l := range noteLines(s.t, n) {
			s.line("%s", l)
		}
	}
}

// noteLines renders a note, with its hint on a second line.
func noteLines(t theme, n plumb.Note) []string {
	word := t.dim("note")
	if n.Level == "warning" {
		word = t.yellow("warning")
	}
	lines := []string{word + ": " + text.OneLine(n.Text)}
	if n.Hint != "" {
		lines = append(lines, "  "+t.cyan("hint: "+text.OneLine(n.Hint)))
	}
	return lines
}

// where writes the run directory and the next commands. Its lines are not truncated because people
// copy them.
func (s *summary) where(look string) {
	room := s.width
	s.width = 0
	s.line("")
	if dir := s.o.dir(s.run); dir != "" {
		s.line("%s%s", s.t.dim(text.Pad("run", 10)), text.OneLine(dir))
	}
	steps := nextSteps(s.o, s.run, look)
	if s.explain != "" {
		steps = slices.Insert(steps, min(1, len(steps)), command{s.explain, "ask the agent why"})
	}
	const alignable = 60 // a longer command does not move the explanations of the others to the right
	longest := 0
	for _, step := range steps {
		if w := ansi.StringWidth(step.line); w <= alignable {
			longest = max(longest, w)
		}
	}
	for i, step := range steps {
		label := ""
		if i == 0 {
			label = "next"
		}
		if line := text.Pad(step.line, longest); room == 0 ||
			10+ansi.StringWidth(line)+3+ansi.StringWidth(step.why) <= room {
			s.line("%s%s   %s", s.t.dim(text.Pad(label, 10)), s.t.cyan(line), s.t.dim(step.why))
			continue
		}
		s.line("%s%s", s.t.dim(text.Pad(label, 10)), s.t.cyan(step.line))
		s.line("%s%s", text.Pad("", 12), s.t.dim(step.why))
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
