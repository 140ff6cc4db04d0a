package terminal

import (
	"bufio"
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

// The limits of the final summary. It counts what it omits, and the suggested commands show the
// rest.
const (
	summaryItems = 8 // executions of one class
	summarySlow  = 3
)

// summary writes the end of a run, on a terminal or in a log.
type summary struct {
	t      theme
	w      *bufio.Writer
	width  int // of the terminal; 0 means unlimited
	screen *Screen
	src    *report.Source
	run    *plumb.Run
	// bare is set when only the header is above the summary, noted when the notes are and are near.
	bare, noted bool
	// explain is a command that asks an agent why it failed, or "" when no check has a question.
	explain string
	// shown is set when the excerpts of all failures are above and near.
	shown bool
}

func (s *summary) line(format string, args ...any) {
	fmt.Fprintln(s.w, guard(s.screen, s.src, s.t.fit(strings.TrimRight(fmt.Sprintf(format, args...), " "), s.width)))
}

// WriteRates writes the pass rates of a run to the screen, the flaky cases, and what the cases used, by
// runner, category, difficulty and tag.
func WriteRates(screen Screen, src *report.Source, run *plumb.Run) error {
	if len(run.Executions) == 0 {
		return nil
	}
	screen = screen.Complete()
	s := &summary{t: newTheme(false, screen.Unicode), w: bufio.NewWriter(screen.Out), screen: &screen, src: src, run: run}
	if screen.Terminal && screen.Size != nil {
		width, _ := screen.Size()
		s.width = max(1, width-1)
	}
	s.rates(false)
	s.flaky()
	s.figuresOfCases()
	return s.w.Flush()
}

// write writes the whole summary: the most important part first, the next commands last.
func (s *summary) write() {
	g := report.GridOf(s.run, s.t.dot, s.t.dash)
	if !s.bare {
		s.line("")
	}
	for i, line := range report.DecisionLines(s.src, s.run) {
		if i == 0 {
			line = s.t.bold(line)
		}
		s.line("%s", line)
	}
	for i, h := range report.Headlines(s.run, g, s.t.dash) {
		if i == summaryItems {
			s.line("%s", s.t.dim(fmt.Sprintf("(%d more)", len(g.Columns)-i)))
			break
		}
		s.wrapped(h.Words, func(l string) string { return s.t.bold(s.tone(h.Rate)(l)) })
	}
	s.gates()
	if words := report.StopWords(s.run); words != "" {
		s.line("%s", s.t.yellow(words))
	}
	if s.src.IsRecording(s.run) {
		s.line("%s", s.t.yellow(report.RecordingNotice(&s.run.Info)))
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

// flaky lists the flaky cases.
func (s *summary) flaky() {
	lines, more := report.FlakyLines(s.run, summaryItems)
	if len(lines) == 0 {
		return
	}
	s.line("")
	s.line("%s", s.t.yellow("flaky"))
	width := 0
	for _, l := range lines {
		width = max(width, min(ansi.StringWidth(l.Name), 40))
	}
	for _, l := range lines {
		s.line("  %s  %s", text.Pad(l.Name, width), s.t.dim(l.Words))
	}
	if more > 0 {
		s.line("  %s", s.t.dim(fmt.Sprintf("(%s more)", text.Count(more))))
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
		fact("cost", report.CostWords(spent, s.run))
	}
	fact("time", strings.TrimSuffix(text.Millis(results.DurationMs(s.run))+"; "+report.TimesWords(s.run, s.t.dash), "; "))
	for i := range min(len(s.run.Info.Runners), report.MaxRows) {
		if words := report.MedianWords(s.run, analyze.RunnerRates(s.run, i).Overall, s.t.dash); words != "" {
			fact("a case", report.NotePrefix(s.run, i)+words)
		}
	}
	if spent.Cached > 0 {
		fact("cache", report.CacheWords(spent))
	}
	for _, c := range report.ConclusionsOf(s.src, s.run) {
		words := c.Text
		if c.Warning {
			words = s.t.yellow("warning: ") + words
		}
		fact(c.Label, words)
	}
	if slow := analyze.Slowest(s.run, summarySlow); len(slow) > 0 && analyze.Times(s.run).N > 1 {
		parts := make([]string, len(slow))
		for i, x := range slow {
			parts[i] = s.name(x) + " " + text.Millis(analyze.Elapsed(&s.run.Executions[x]))
		}
		fact("slowest", strings.Join(parts, ", "))
	}
}

func (s *summary) name(i int) string {
	c := report.CellAt(s.run, i)
	return c.Name()
}

// findings writes what failed and what could not be measured, by class, and returns the command that
// shows what to look at first.
func (s *summary) findings() (look string) {
	f := analyze.Find(s.run, summaryItems)
	for _, section := range report.SectionsOf(&f) {
		title := s.t.yellow(section.Title)
		if section.Failed {
			title = s.t.red(section.Title)
		}
		s.line("")
		if s.shown && len(section.Groups) == 1 && !s.tight() {
			title += "  "
		} else {
			s.line("%s", title)
			title = "  "
		}
		for i, g := range section.Groups {
			if i == report.MaxClasses {
				s.line("  (%s more)", text.Plural(len(section.Groups)-i, "class"))
				break
			}
			s.class(title, &g)
			if look == "" && len(g.Executions) > 0 {
				first := report.CellAt(s.run, g.Executions[0])
				look = first.Command("show", s.src)
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
	title := before + fmt.Sprintf("%s %s  %s", s.t.bold(report.ClassLabel(&g.Class, "")),
		s.t.dim("["+text.OneLine(g.Class.ID)+"]"), text.Count(g.Count))
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
	if more := report.MoreWords(g); more != "" {
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
	if more := report.MoreWords(g); more != "" {
		s.line("    %s", s.t.dim("("+more+")"))
	}
}

func (s *summary) notes() {
	if len(s.run.Notes) == 0 || s.noted {
		return
	}
	s.line("")
	for i, n := range s.run.Notes {
		if i == report.MaxNotes {
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
	if dir := s.src.Directory(s.run); dir != "" {
		s.line("%s%s", s.t.dim(text.Pad("run", 10)), text.OneLine(dir))
	}
	steps := report.NextSteps(s.src, s.run, look)
	if s.explain != "" {
		steps = slices.Insert(steps, min(1, len(steps)), report.Command{Line: s.explain, Why: "ask the agent why"})
	}
	const alignable = 60 // a longer command does not move the explanations of the others to the right
	longest := 0
	for _, step := range steps {
		if w := ansi.StringWidth(step.Line); w <= alignable {
			longest = max(longest, w)
		}
	}
	for i, step := range steps {
		label := ""
		if i == 0 {
			label = "next"
		}
		if line := text.Pad(step.Line, longest); room == 0 ||
			10+ansi.StringWidth(line)+3+ansi.StringWidth(step.Why) <= room {
			s.line("%s%s   %s", s.t.dim(text.Pad(label, 10)), s.t.cyan(line), s.t.dim(step.Why))
			continue
		}
		s.line("%s%s", s.t.dim(text.Pad(label, 10)), s.t.cyan(step.Line))
		s.line("%s%s", text.Pad("", 12), s.t.dim(step.Why))
	}
}

// gates writes the results of the gates.
func (s *summary) gates() {
	for _, l := range report.GateLines(s.run, s.t.dot, s.t.dash) {
		paint := s.t.green
		switch l.Result {
		case analyze.Violated:
			paint = s.t.red
		case analyze.Unproven:
			paint = s.t.yellow
		default:
		}
		s.wrapped(l.Words, paint)
	}
}
