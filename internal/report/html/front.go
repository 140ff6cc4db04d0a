package html

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// runFront is what the page shows before any script runs.
type runFront struct {
	framed
	Word     string `redact:"-"` // see report.Word
	Mark     string `redact:"-"`
	Verdict  string
	Stop     string
	Decision []string
	Recorded string
	Cards    []card
	Rates    []rateRow
	Agents   *agentTable
	// RateNotes are beside the rates, and Figures are what the cases used.
	RateNotes []string
	Head      []string
	Figures   []figureTable
	// Flaky are the surest of the FlakyCount flaky cases.
	Flaky      []flakyCase
	FlakyCount int
	Failures   []failure
	// Folded is set when there are many failures. The script then shows only the first of them
	// until the reader asks for more.
	Folded bool
	// More counts failures that only the matrix shows.
	More    int
	Runners []string
	// The matrix has Items rows, of which LeftOut are not on the page, and Columns.
	Columns []column
	Items   int
	Rows    []matrixRow
	LeftOut int
	Legend  []legendWord
	Tags    []string
	Groups  []string
	Facts   [][2]string
	Notes   []plumb.Note
	// Sessions is set when the page has sessions that cells can open.
	Sessions bool
}

type card struct{ Name, Value, More string }

// rateRow is a row of the table of pass rates. The bounds are in percent, for the bar.
type rateRow struct {
	Name                             string
	Kind                             string `redact:"-"`
	Passed, Rate, Interval, Coverage string
	Low, Width, Value                float64
	Known                            bool
}

// figureTable is what the cases of a group used.
type figureTable struct {
	Kind string `redact:"-"`
	Name string
	Rows [][]string
}

// flakyCase is a flaky case. Shown is set when the page has its sessions.
type flakyCase struct {
	At          int
	Shown       bool
	Name, Words string
}

type legendWord struct {
	Word, Mark, Label string `redact:"-"`
	Count             int
}

// failure is one failure in full.
type failure struct {
	Execution         int
	Case, Runner      string
	Word, Mark, Label string `redact:"-"`
	Class             string
	Asked             folded
	Why               report.Excerpt
	Answer, Directory string
}

// folded is a text that is folded when it is long.
type folded struct {
	Text string
	Long bool
}

func fold(text string) folded {
	text, _ = clip(text, report.ExcerptText)
	return folded{text, len(text) > 400 || strings.Count(text, "\n") > 7}
}

// frontOf returns what the page of a run shows before any script runs.
func frontOf(src *report.Source, run *plumb.Run) (*runFront, error) {
	rates := analyze.Rates(run)
	f := &runFront{
		Stop:     report.StopWords(run),
		Decision: statements(src, run, " · ", "–"), Agents: agentsOf(run, "–"),
		Sessions: src.Sessions != nil,
	}
	g := report.GridOf(run, " · ", "–")
	for i, h := range report.Headlines(run, g, "–") {
		if i == verdictColumns {
			f.Verdict = g.Title(run)
			break
		}
		if i > 0 {
			f.Verdict += " · "
		}
		f.Verdict += h.Words
	}
	f.Word = string(results.Outcome(run))
	if len(run.Executions) == 0 {
		f.Word = "skipped"
	}
	f.Mark = report.WordNamed(f.Word).Mark
	f.About = report.SuiteTitle(&run.Info, " · ")
	f.Title = f.Mark + " " + f.Verdict + " · " + f.About
	if src.IsRecording(run) {
		f.Recorded = report.RecordingNotice(&run.Info)
	}
	f.cards(run, rates.Overall, g)
	f.rates(run, rates)
	f.provenance(src, run)
	f.flaky(run)
	f.matrix(run)
	return f, f.failures(src, run)
}

// agentTable shows what agents used: one row per runner, with means over its sessions.
type agentTable struct {
	Head []string
	Rows [][]string
}

// agentsOf returns the table of a run, or nil when no runner is an agent. Figures are means over
// sessions.
func agentsOf(run *plumb.Run, dash string) *agentTable {
	if !results.HasAgents(run) {
		return nil
	}
	t := &agentTable{Head: append([]string{""}, report.AgentHead()...)}
	for r := range run.Info.Runners {
		name := report.RunnerTitle(&run.Info.Runners[r])
		t.Rows = append(t.Rows, append([]string{name}, report.AgentMeans(run, r, dash)...))
	}
	return t
}

// verdictColumns is the number of columns whose results the heading of a page has.
const verdictColumns = 3

// cardColumns is the number of columns that have a card.
const cardColumns = 12

// cards adds the pass rate of each column, and the figures of a run as a whole.
func (f *runFront) cards(run *plumb.Run, all analyze.Rate, g *report.Grid) {
	unbroken := strings.NewReplacer(" %", "\u00a0%", "–", "\u2060–\u2060")
	add := func(name, value, more string) {
		f.Cards = append(f.Cards, card{name, value, unbroken.Replace(more)})
	}
	cells := report.RateCells(all, "–")
	passed := func(name string, r analyze.Rate) {
		cells := report.RateCells(r, "–")
		x := r.Repetitions(run)
		switch {
		case r.Measured() == 0:
			add(name, cells[0], "nothing was measured")
		case x.Repeated && x.Rate.OK:
			add(name, text.Count(x.Passed)+"/"+text.Count(x.Measured),
				text.Percent(x.Rate.Value)+" of the samples · 95 % interval "+text.Shares(x.Rate.Lo, x.Rate.Hi, "–")+" · "+cells[0]+" cases always pass")
		default:
			add(name, cells[0], cells[1]+" · 95 % interval "+cells[2])
		}
	}
	if g == nil {
		passed("Passed", all)
	} else {
		for i := range g.Columns[:min(len(g.Columns), cardColumns)] {
			passed(g.Names[i], g.Columns[i].Overall)
		}
	}
	missing := text.Plural(all.Errored, "error")
	if all.NotRun() > 0 {
		missing += ", " + text.Count(all.NotRun()) + " not run"
	}
	add("Coverage", cells[3], missing)
	spent := analyze.Spent(run, -1)
	if spent.Sessions > 0 {
		cost, more := "unknown", strings.Trim(report.NoPrice(run), " ()")
		if spent.Priced(run) {
			cost, more, _ = strings.Cut(report.CostWords(spent, run), ", ")
		}
		add("Cost", cost, more)
	}
	if spent.InputTokens+spent.OutputTokens > 0 {
		more := brief1000(spent.InputTokens) + " in, " + brief1000(spent.OutputTokens) + " out"
		if spent.CacheTokens > 0 {
			more += "; " + brief1000(spent.CacheTokens) + " in from the cache"
		}
		add("Tokens", brief1000(spent.InputTokens+spent.OutputTokens), more)
	}
	add("Time", text.Millis(results.DurationMs(run)), report.TimesWords(run, "–"))
	cached := ""
	if spent.Cached > 0 {
		cached = text.Count(spent.Cached) + " from the cache"
	}
	add("Sessions", text.Count(spent.Sessions), cached)
}

// brief1000 renders a large number with three digits: 12.3k, 4.56M.
func brief1000(n int64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x := float64(n) / unit.size; x >= 1 {
			digits := max(0, 2-int(math.Log10(x)))
			return fmt.Sprintf("%.*f%s", digits, x, unit.name)
		}
	}
	return text.Count(n)
}

func (f *runFront) rates(run *plumb.Run, all analyze.Breakdown) {
	add := func(kind, name string, cells []string, known bool, value, lo, hi float64) {
		x := rateRow{
			Name: text.OneLine(name), Kind: kind, Passed: cells[0], Rate: cells[1], Interval: cells[2], Coverage: cells[3],
		}
		if known {
			x.Low, x.Width, x.Value, x.Known = math.Round(lo*1000)/10, math.Round((hi-lo)*1000)/10,
				math.Round(value*1000)/10, true
		}
		f.Rates = append(f.Rates, x)
	}
	row := func(kind, name string, r analyze.Rate) {
		value, _ := r.Value()
		lo, hi, ok := r.Interval()
		add(kind, name, report.RateCells(r, "–"), ok, value, lo, hi)
	}
	repeats := func(r analyze.Rate, whole bool) {
		for _, x := range report.RepeatRows(run, r, whole, "–") {
			add("samples", x.Name, x.Cells, x.OK, x.Value, max(0, x.Lo), min(1, x.Hi))
		}
	}
	for i := range run.Info.Runners {
		rate := analyze.RunnerRates(run, i).Overall
		row("runner", report.RunnerTitle(&run.Info.Runners[i]), rate)
		repeats(rate, true)
		for _, note := range report.RepeatNotes(run, rate) {
			f.RateNotes = append(f.RateNotes, report.NotePrefix(run, i)+note)
		}
	}
	if len(run.Info.Runners) > 1 {
		row("all", "all runners", all.Overall)
		repeats(all.Overall, false)
	}
	for _, list := range report.RateLists(&all) {
		for _, r := range list.Rates[:min(len(list.Rates), listLength)] {
			row(list.Kind, cmp.Or(r.Name, "none"), r)
			repeats(r, false)
		}
	}
	f.Head = report.FigureHead()
	for _, g := range report.FigureGroups(run, true, "–") {
		f.Figures = append(f.Figures, figureTable{g.Kind, g.Name, g.Rows})
	}
}

// flaky lists the flaky cases.
func (f *runFront) flaky(run *plumb.Run) {
	lines, more := report.FlakyLines(run, listLength)
	f.FlakyCount = len(lines) + more
	for _, l := range lines {
		f.Flaky = append(f.Flaky, flakyCase{l.At, f.Sessions && len(run.Executions) <= maxExecutions, l.Name, l.Words})
	}
}

func (f *runFront) provenance(src *report.Source, run *plumb.Run) {
	info := &run.Info
	add := func(name, value string) {
		if value = text.OneLine(value); value != "" {
			f.Facts = append(f.Facts, [2]string{name, value})
		}
	}
	add("run", info.ID)
	add("suite", info.SuiteName)
	add("file", info.SuitePath)
	add("version", strings.TrimSpace(info.SuiteVersion+" "+info.Tier))
	add("suite hash", info.SuiteHash)
	add("cases", report.CasesWords(run))
	add("selected tags", strings.Join(info.SelectedTags, ", "))
	for i := range info.Runners {
		r := &info.Runners[i]
		parts := []string{r.ID + ": " + string(r.Kind) + " " + strings.Trim(r.Agent.Type+":"+r.Agent.Model, ":")}
		for _, more := range []string{r.BaseURL, parameterWords(r.Parameters), r.Config} {
			if more != "" {
				parts = append(parts, more)
			}
		}
		add("runner", strings.Join(parts, ", "))
	}
	add("judge", report.JudgeTitle(info))
	add("embedder", info.Embedder)
	add("schedule", fmt.Sprintf("%s, %d at once, repeat %d, retry %d", info.Schedule, max(1, info.Parallel),
		max(1, info.Repeat), info.Retry))
	add("scored from", info.ScoredFrom)
	if !run.StartedAt.IsZero() {
		add("started", run.StartedAt.UTC().Format(time.RFC3339))
		add("ended", run.EndedAt.UTC().Format(time.RFC3339))
	}
	add("plumb", info.PlumbVersion)
	add("run directory", src.Directory(run))
	for _, c := range report.ConclusionsOf(src, run) {
		f.Notes = append(f.Notes, plumb.Note{Level: c.Level(), Text: text.Clean(c.Label + ": " + c.Text)})
	}
	for i, n := range run.Notes {
		if i == listLength {
			break
		}
		f.Notes = append(f.Notes, plumb.Note{
			Level: text.OneLine(n.Level), Text: text.Clean(n.Text), Hint: text.Clean(n.Hint),
		})
	}
}

// failures adds the failed and unmeasured executions.
func (f *runFront) failures(src *report.Source, run *plumb.Run) error {
	found := analyze.Find(run, maxFailures)
	for _, section := range report.SectionsOf(&found) {
		for _, g := range section.Groups {
			f.More += g.Count
			for _, i := range g.Executions[:min(len(g.Executions), maxFailures-len(f.Failures))] {
				x, err := failedOf(src, run, i)
				if err != nil {
					return err
				}
				f.Failures = append(f.Failures, x)
			}
		}
	}
	f.More -= len(f.Failures)
	f.Folded = len(f.Failures) > firstFailures+1
	return nil
}

func failedOf(src *report.Source, run *plumb.Run, i int) (failure, error) {
	c := report.CellAt(run, i)
	w := report.WordOf(c.Execution)
	x := failure{Execution: i, Case: text.OneLine(c.Info.ID), Word: w.Name, Mark: w.Mark, Label: w.Label}
	if len(run.Info.Runners) > 1 {
		x.Runner = report.RunnerTitle(c.Runner)
	}
	_, s, err := c.Decided(src.Sessions)
	if err != nil {
		return x, err
	}
	if s != nil && s.Report != nil {
		x.Asked = fold(s.Report.Prompt)
	}
	if c.Status == plumb.StatusUnexpectedPassed {
		x.Why.Message = results.UnexpectedPass
	} else {
		x.Class = report.ClassLabel(c.Class, c.Origin)
		x.Why = report.WhyOf(c.Execution, s)
		x.Answer, _ = clip(s.Output(), report.ExcerptText)
		if s != nil {
			x.Directory = text.OneLine(c.SessionDir(run.Info.ArtifactDir, s.Repetition, s.Number))
		}
		x.Why.Explain = c.AskAbout(src, s)
	}
	x.Why.Counts = c.Counts()
	return x, nil
}

// statements describes the answer to the question of a run, and the results of its gates.
func statements(src *report.Source, run *plumb.Run, dot, dash string) []string {
	lines := report.DecisionLines(src, run)
	for _, g := range report.GateLines(run, dot, dash) {
		lines = append(lines, g.Words)
	}
	return lines
}
