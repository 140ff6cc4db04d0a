package terminal

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/text"
)

// WriteComparison renders a comparison for a terminal or a pipe. The first line is the conclusion.
// On a terminal, long lines are wrapped; in a pipe, each sentence is one line. Tables fit 80
// columns.
func WriteComparison(screen Screen, c *compare.Comparison) error {
	w := &comparison{screen: screen, c: c, width: 80, theme: newTheme(screen.Color, screen.Unicode)}
	if screen.Terminal && screen.Size != nil {
		if width, _ := screen.Size(); width > 0 {
			w.width = max(40, width)
		}
	}
	w.first()
	w.differences()
	w.warnings()
	w.metrics()
	w.gates()
	w.groups()
	w.cases("lost", w.c.Cases.Regressed)
	w.cases("won", w.c.Cases.Fixed)
	w.unpaired()
	w.method()
	_, err := screen.Out.Write(w.text.Bytes())
	return err
}

// comparison collects the text of a comparison.
type comparison struct {
	screen Screen
	c      *compare.Comparison
	theme  theme
	width  int
	text   bytes.Buffer
}

// clean removes control characters and line breaks from a text from outside.
func (w *comparison) clean(s string) string { return text.OneLine(s) }

// ascii replaces the characters that a terminal without Unicode cannot show.
func (w *comparison) ascii(s string) string {
	if w.screen.Unicode {
		return s
	}
	return strings.NewReplacer("→", "->", "±", "+/-", "–", "-", "…", "...", "≤", "<=").Replace(s)
}

// line writes one line, wrapped on a terminal. Further lines are indented by n.
func (w *comparison) line(n int, s string) {
	s = w.ascii(s)
	if w.screen.Terminal {
		s = wrapWords(s, w.width, n)
	}
	fmt.Fprintln(&w.text, strings.TrimRight(s, " "))
}

// wrapWords breaks a line between words so that it fits the width. Further lines are indented by n.
func wrapWords(s string, width, n int) string {
	start := len(s) - len(strings.TrimLeft(s, " "))
	var b strings.Builder
	b.WriteString(s[:start])
	used, first := start, true
	for word := range strings.SplitSeq(s[start:], " ") {
		cells := ansi.StringWidth(word)
		switch {
		case first:
		case used+1+cells > width:
			b.WriteString("\n" + strings.Repeat(" ", n))
			used = n
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used, first = used+cells, false
	}
	return b.String()
}

// paint gives a conclusion or a result its color. The word itself always says the same.
func (w *comparison) paint(word string) string {
	switch compare.Conclusion(word) {
	case compare.Worse, compare.Conclusion(compare.Violated):
		return w.theme.red(word)
	case compare.Better, compare.Equivalent, compare.Conclusion(compare.Holds):
		return w.theme.green(word)
	default:
		return w.theme.yellow(word)
	}
}

func (w *comparison) first() {
	word, rest := report.ConclusionWord(w.c)
	w.line(2, w.theme.bold(w.paint(word))+": "+w.clean(rest))
	for _, a := range report.SettleWords(w.c) {
		text := "  " + w.clean(a.Text)
		if a.Command != "" && strings.HasSuffix(a.Text, " would tell") {
			w.line(4, text+": "+w.clean(a.Command))
			continue
		}
		w.line(4, text)
		if a.Command != "" {
			fmt.Fprintln(&w.text, "    "+w.clean(a.Command)) // a command must not be broken into lines
		}
	}
}

// differences lists what varied, and what could not be checked.
func (w *comparison) differences() {
	const most = 8
	varied := variedWords(w.c)
	for _, text := range varied[:min(most, len(varied))] {
		w.line(11, "  varied   "+text)
	}
	if more := len(varied) - most; more > 0 {
		w.line(4, "  varied   and "+text.Plural(more, "more difference"))
	}
	if names := report.UnknownNames(w.c); len(names) > 0 {
		w.line(11, "  unknown  "+w.clean(report.SomeOf(names, most))+": not recorded on both sides, so not compared")
	}
}

func (w *comparison) warnings() {
	for _, text := range w.c.Warnings {
		w.line(11, "  "+w.theme.yellow("warning")+"  "+w.clean(text))
	}
	for i := range w.c.Runners {
		r := &w.c.Runners[i]
		if words := report.ErrorWords(&r.Errors); words != "" {
			if len(w.c.Runners) > 1 {
				words = r.Candidate + " " + words
			}
			w.line(11, "  errors   "+w.clean(words))
		}
	}
}

// table writes rows of cells in columns, with two spaces before each line. If they are wider than
// the terminal, it leaves out the column at index spare, unless that is negative, and then shortens
// the lines.
func (w *comparison) table(rows [][]string, spare int) {
	total := 0
	for i := range slices.MaxFunc(rows, func(x, y []string) int { return len(x) - len(y) }) {
		widest := 0
		for _, cells := range rows {
			if i < len(cells) {
				widest = max(widest, ansi.StringWidth(cells[i]))
			}
		}
		total += 2 + widest
	}
	if spare >= 0 && total > w.width {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], spare, spare+1)
		}
	}
	var aligned bytes.Buffer
	columns := text.NewColumns(&aligned)
	for _, cells := range rows {
		fmt.Fprintln(columns, w.ascii(strings.Join(cells, "\t")))
	}
	_ = columns.Flush() // a buffer has no errors
	for line := range strings.Lines(aligned.String()) {
		fmt.Fprintln(&w.text, "  "+w.theme.fit(strings.TrimSuffix(line, "\n"), w.width-2))
	}
}

// metrics writes the table of metrics, for each pair of runners.
func (w *comparison) metrics() {
	fmt.Fprintln(&w.text)
	w.line(4, "  A  "+w.subject(&w.c.Baseline))
	w.line(4, "  B  "+w.subject(&w.c.Candidate))
	for i := range w.c.Runners {
		r := &w.c.Runners[i]
		fmt.Fprintln(&w.text)
		if len(w.c.Runners) > 1 {
			name := r.Candidate
			if r.Baseline != r.Candidate {
				name = r.Baseline + " → " + r.Candidate
			}
			w.line(4, "  "+w.theme.bold(w.clean(name))+": "+w.paint(string(r.Conclusion)))
		}
		rows := [][]string{{"", "A", "B", "effect", "p", ""}}
		for x := range w.c.Metrics {
			if f := &w.c.Metrics[x]; f.Runner == r.Candidate {
				rows = append(rows, w.metric(f))
			}
		}
		const pColumn = 4
		w.table(rows, pColumn)
	}
	for _, note := range report.TestNotes(w.c) {
		w.line(4, "  "+note)
	}
}

// subject names one side.
func (w *comparison) subject(s *compare.Subject) string {
	text := s.Name
	if s.ID != "" && s.ID != s.Name {
		text += " (" + s.ID + ")"
	}
	if s.Suite != "" {
		text += ", " + s.Suite
	}
	if s.StartedAt != nil {
		text += ", " + s.StartedAt.Format("2006-01-02 15:04")
	}
	return w.clean(text)
}

// metric renders one row of the table of metrics.
func (w *comparison) metric(f *compare.Figure) []string {
	cells := report.MetricCells(f)
	if last := len(cells) - 1; f.Pairs > 0 {
		cells[last] = w.paint(cells[last])
	}
	return cells
}

func (w *comparison) gates() {
	if len(w.c.Gates) == 0 {
		return
	}
	fmt.Fprintln(&w.text)
	var rows [][]string
	for i := range w.c.Gates {
		g := &w.c.Gates[i]
		cells := []string{"gate", w.paint(string(g.Result)), w.clean(g.Text)}
		words := report.GateWords(w.c, g)
		if len(w.c.Runners) > 1 {
			cells = append(cells, w.clean(g.Runner))
			if e, n := report.GateEffect(w.c, g); g.Relative && g.Why == "" {
				words = report.IntervalWords(&e, n)
			}
		}
		rows = append(rows, append(cells, words))
	}
	w.table(rows, -1)
	if report.UnprovenPasses(w.c) {
		w.line(4, "  note: unproven gates do not fail, because of --unproven pass")
	}
}

// groups writes the groups whose pass rate changed, as hints.
func (w *comparison) groups() {
	var rows [][]string
	size := 0
	for i := range w.c.Groups {
		g := &w.c.Groups[i]
		size = g.Family.Size
		if !g.Hint {
			continue
		}
		name := g.By + " " + g.Name
		if len(w.c.Runners) > 1 {
			name += " on " + g.Runner
		}
		relation, p := report.PNumber(g.AdjustedP)
		rows = append(rows, []string{
			"hint", w.clean(name), report.EffectWords(&g.Effect, 0), report.ChangedWords(g.Lost, g.Won, g.Pairs, ""),
			"q " + relation + " " + p,
		})
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(&w.text)
	const countsColumn = 3
	w.table(rows, countsColumn)
	w.line(4, fmt.Sprintf("  hints only: Benjamini-Hochberg over %d groups at 0.1", size))
}

// cases lists the cases that became worse or better, by failure class.
func (w *comparison) cases(word string, list []compare.CaseResult) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(&w.text)
	what := w.theme.red(word)
	if word == "won" {
		what = w.theme.green(word)
	}
	shown := list[:min(report.ShownCases, len(list))]
	w.line(4, fmt.Sprintf("  %s: %s", what, text.Plural(len(list), "case")))
	for _, class := range report.ClassesOf(list) {
		n := 0
		var rows []*compare.CaseResult
		for i := range list {
			if list[i].Class.ID == class.Class.ID {
				n++
			}
		}
		for i := range shown {
			if shown[i].Class.ID == class.Class.ID {
				rows = append(rows, &shown[i])
			}
		}
		w.line(6, fmt.Sprintf("    %s: %s", w.clean(report.ClassLabel(&class.Class, "")), text.Count(n)))
		for _, c := range rows {
			w.oneCase(c)
		}
	}
	if more := len(list) - len(shown); more > 0 {
		w.line(4, fmt.Sprintf("    … %s more; --json lists all", text.Count(more)))
	}
}

func (w *comparison) oneCase(c *compare.CaseResult) {
	name := report.PairWords(w.c, c)
	w.line(8, "      "+w.theme.bold(w.clean(name))+"  "+strings.Join(report.CaseFacts(c), ", "))
	if d := c.Difference; d != nil && d.Event > 0 {
		s := fmt.Sprintf("event %d: %s → %s", d.Event, report.SessionEnd(d.Baseline), report.SessionEnd(d.Candidate))
		w.line(10, "        "+text.Line(s, 3*w.width))
	}
}

func (w *comparison) unpaired() {
	for i, l := range report.UnpairedLists(w.c) {
		if i == 0 {
			fmt.Fprintln(&w.text)
		}
		w.line(4, fmt.Sprintf("  %s: %s", l.Label, w.clean(report.SomeOf(l.Names, 8))))
	}
}

// method writes how the comparison was made, as the last lines.
func (w *comparison) method() {
	fmt.Fprintln(&w.text)
	for i := range w.c.Runners {
		r := &w.c.Runners[i]
		text := report.MethodWords(r)
		if len(w.c.Runners) > 1 {
			text = r.Candidate + ": " + text
		}
		w.dim(text)
		w.notes(r)
	}
}

func (w *comparison) dim(text string) { w.line(2, w.theme.dim("  "+w.clean(text))) }

// notes writes the details of one pair of runners.
func (w *comparison) notes(r *compare.RunnerResult) {
	f := &r.Figure
	if words := chanceWords(f.Test.P); words != "" && f.Test.Of == compare.TestDifference {
		w.dim(words)
	}
	w.dim(report.PopulationWords(f))
	if n := r.Pairs.SameAnswer; n > 0 {
		w.dim(text.Plural(n, "pair") + ": the same answer on both sides, from the cache or a replay, so not in the test")
	}
	if p := r.Pairs; p.EarlyStop > 0 {
		w.dim(fmt.Sprintf("%s ended at the first failure: %d count as executions, %d with the first repetition",
			text.Plural(p.EarlyStop, "pair"), p.Whole, p.EarlyStop-p.Whole))
	}
}

// variedWords describes the declared differences, each once: runners often differ in the same way.
func variedWords(c *compare.Comparison) []string {
	var out []string
	for i := range c.Varied {
		if text := report.DifferenceWords(&c.Varied[i]); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// chanceWords renders a p-value as a frequency: "chance alone does this in 1 of 130 such
// comparisons".
func chanceWords(p compare.Number) string {
	v := float64(p)
	switch {
	case !p.OK() || v > 0.2:
		return ""
	case v < 0.0001:
		return "chance alone does this in fewer than 1 of 10,000 such comparisons"
	}
	n := 1 / v
	scale := math.Pow(10, math.Floor(math.Log10(n))-1)
	return fmt.Sprintf("chance alone does this in 1 of %s such comparisons", text.Count(int(math.Round(n/scale)*scale)))
}
