package html

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/chart"
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
	Heading  string
	Stop     string
	Decision []string
	Recorded string
	// Tiles are the results of the columns. A run with several prompts on several runners has them in
	// a Grid instead: a row for each prompt, below the Across, the runners.
	Tiles  []tile
	Across []string
	Grid   []gridRow
	// TileNote says how far the tiles can be told apart.
	TileNote string
	Totals   [][2]string
	Rates    []rateRow
	Agents   *agentTable
	// Bars is set when a row of the rates has an interval.
	Bars bool
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

	rowWords []string // the most urgent word of each row of the matrix
}

// tile is the result of a column.
type tile struct {
	Name, Passed, Rate, Interval, More string
	Bar                                template.HTML `redact:"-"`
	// Best is set when no column has a higher rate, and some have a lower one.
	Best bool

	value, low, high float64
}

// gridRow is the results of a prompt on each runner.
type gridRow struct {
	Name  string
	Tiles []tile
}

// rateRow is a row of the table of pass rates.
type rateRow struct {
	Name                             string
	Kind                             string `redact:"-"`
	Passed, Rate, Interval, Coverage string
	Bar                              template.HTML `redact:"-"`
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
	// Class is the failure class, unless it is that of a check that does not hold.
	Class string
	Asked folded
	Why   report.Excerpt
	// Line is the reason in one line.
	Line              string
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
	f.tiles(run, rates.Overall, g)
	f.totals(run, rates.Overall)
	f.rates(run, rates, g)
	f.provenance(src, run)
	f.flaky(run)
	f.matrix(run)
	f.Heading = f.heading(run, g)
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

// verdictColumns is the number of columns whose results the title of a page has.
const verdictColumns = 3

// mostTiles is the number of columns that have a tile. The matrix has all of them.
const mostTiles = 24

// heading says in how many cases something failed, whatever the number of columns: a sum of passes
// over different models or prompts would be a number about nothing.
func (f *runFront) heading(run *plumb.Run, g *report.Grid) string {
	counts := map[string]int{} // cases by their most urgent word
	for i := range f.rowWords {
		counts[f.rowWords[i]]++
	}
	n := len(f.rowWords)
	bad := counts["fail"] + counts["xpass"]
	if n == 0 || g == nil && run.Info.Repeat > 1 {
		return f.Verdict
	}
	where := ""
	if g != nil {
		where = " in at least one of " + text.Count(len(g.Columns)) + " columns"
		switch len(g.Columns) {
		case len(run.Info.Runners):
			where = " on at least one of " + text.Count(len(g.Columns)) + " runners"
		case len(g.Columns) / len(run.Info.Runners):
			where = " with at least one of " + text.Count(len(g.Columns)) + " prompts"
		}
	}
	of := text.Count(bad) + " of " + text.Plural(n, "case")
	words := of + " failed" + where
	switch {
	case bad == 0 && counts["pass"]+counts["xfail"] == 0:
		words = "No case was measured"
	case bad == 0 && counts["error"]+counts["skipped"] > 0:
		words = "No case failed"
	case bad == 0 && n == 1:
		words = "The case passed"
	case bad == 0:
		words = "All " + text.Count(n) + " cases passed"
	}
	if counts["error"] > 0 && words != "No case was measured" {
		words += ", " + text.Count(counts["error"]) + " not measured"
	}
	if counts["skipped"] > 0 {
		words += ", " + text.Count(counts["skipped"]) + " not run"
	}
	return words
}

// tileOf returns the result of a column.
func tileOf(run *plumb.Run, name string, r analyze.Rate) tile {
	cells := report.RateCells(r, "–")
	t := tile{Name: name, Passed: cells[0], Rate: cells[1], Interval: cells[2], value: -1}
	value, known := r.Value()
	lo, hi, bounded := r.Interval()
	x := r.Repetitions(run)
	switch {
	case r.Measured() == 0:
		t.Rate, t.Interval, t.More = "", "", "nothing was measured"
	case x.Repeated && x.Rate.OK:
		t.Passed, t.Rate, t.Interval = text.Count(x.Passed)+"/"+text.Count(x.Measured), text.Percent(x.Rate.Value),
			text.Shares(x.Rate.Lo, x.Rate.Hi, "–")
		t.More = "of the samples; " + cells[0] + " cases always pass"
		value, lo, hi = x.Rate.Value, max(0, x.Rate.Lo), min(1, x.Rate.Hi)
	}
	if r.Measured() > 0 && r.Measured() < r.Planned {
		t.More = strings.Trim(t.More+"; "+cells[3]+" measured", "; ")
	}
	if known {
		t.value, t.low, t.high = value, lo, hi
		t.Bar = barOf(value, lo, hi, bounded)
	}
	return t
}

// barOf draws a rate with its interval.
func barOf(value, lo, hi float64, bounded bool) template.HTML {
	i := chart.Interval{Value: value, Low: lo, High: hi, To: 1, Label: text.Percent}
	if !bounded {
		i.Low, i.High = math.NaN(), math.NaN()
	}
	return i.Bar().SVG
}

// tiles adds the result of each column, and marks the best.
func (f *runFront) tiles(run *plumb.Run, all analyze.Rate, g *report.Grid) {
	if g == nil {
		f.Tiles = []tile{tileOf(run, report.RunnerTitle(&run.Info.Runners[0]), all)}
		return
	}
	tiles := make([]tile, len(g.Columns))
	best, worst := -1.0, 2.0
	for i := range g.Columns {
		tiles[i] = tileOf(run, g.Names[i], g.Columns[i].Overall)
		if tiles[i].value >= 0 {
			best, worst = max(best, tiles[i].value), min(worst, tiles[i].value)
		}
	}
	low, high := 0.0, 1.0
	for i := range tiles {
		tiles[i].Best = best > worst && tiles[i].value == best
		if tiles[i].value >= 0 {
			low, high = max(low, tiles[i].low), min(high, tiles[i].high)
		}
	}

	if low <= high && best > worst {
		f.TileNote = "All intervals overlap."
	}
	runners := len(run.Info.Runners)
	if prompts := len(tiles) / runners; prompts == 1 || runners == 1 {
		f.Tiles = tiles[:min(len(tiles), mostTiles)]
		return
	}
	for r := range run.Info.Runners {
		f.Across = append(f.Across, text.OneLine(run.Info.Runners[r].ID))
	}
	for row := range slices.Chunk(tiles, runners) {
		f.Grid = append(f.Grid, gridRow{text.OneLine(g.Columns[len(f.Grid)*runners].Prompt), row})
	}
}

// totals adds the figures of a run as a whole.
func (f *runFront) totals(run *plumb.Run, all analyze.Rate) {
	add := func(name, value, more string) {
		if more != "" {
			value += " (" + more + ")"
		}
		f.Totals = append(f.Totals, [2]string{name, value})
	}
	missing := ""
	if all.Errored > 0 {
		missing = text.Plural(all.Errored, "error")
	}
	if all.NotRun() > 0 {
		missing = strings.TrimPrefix(missing+", "+text.Count(all.NotRun())+" not run", ", ")
	}
	add("coverage", report.RateCells(all, "–")[3], missing)
	spent := analyze.Spent(run, -1)
	if spent.Sessions > 0 {
		add("cost", report.CostWords(spent, run), "")
	}
	if spent.InputTokens+spent.OutputTokens > 0 {
		more := brief1000(spent.InputTokens) + " in, " + brief1000(spent.OutputTokens) + " out"
		if spent.CacheTokens > 0 {
			more += "; " + brief1000(spent.CacheTokens) + " in from the cache"
		}
		add("tokens", brief1000(spent.InputTokens+spent.OutputTokens), more)
	}
	add("time", text.Millis(results.DurationMs(run)), report.TimesWords(run, "–"))
	if spent.Sessions != all.Planned || spent.Cached > 0 {
		cached := ""
		if spent.Cached > 0 {
			cached = text.Count(spent.Cached) + " from the cache"
		}
		add("sessions", text.Count(spent.Sessions), cached)
	}
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

// rates adds the rates of the parts of a run. What pools several columns has no interval: the same
// cases asked several times are not more cases. The rate of a single column is on its tile.
func (f *runFront) rates(run *plumb.Run, all analyze.Breakdown, g *report.Grid) {
	add := func(kind, name string, cells []string, bar template.HTML) {
		f.Bars = f.Bars || bar != ""
		f.Rates = append(f.Rates, rateRow{text.OneLine(name), kind, cells[0], cells[1], cells[2], cells[3], bar})
	}
	noted := false
	row := func(kind, name string, r analyze.Rate, pooled bool) {
		cells := report.RateCells(r, "–")
		value, known := r.Value()
		lo, hi, ok := r.Interval()
		var bar template.HTML
		if pooled {
			cells[2], noted = "–", true
		} else if known && ok {
			bar = barOf(value, lo, hi, true)
		}
		add(kind, name, cells, bar)
	}
	repeats := func(rows []report.RepeatRow) {
		for _, x := range rows {
			var bar template.HTML
			if x.OK {
				bar = barOf(x.Value, max(0, x.Lo), min(1, x.Hi), true)
			}
			add("samples", x.Name, x.Cells, bar)
		}
	}
	prompts := g != nil && len(g.Columns) > len(run.Info.Runners)
	for i := range run.Info.Runners {
		rate := analyze.RunnerRates(run, i).Overall
		rows := report.RepeatRows(run, rate, true, "–")
		if prompts || len(rows) > 0 {
			row("runner", report.RunnerTitle(&run.Info.Runners[i]), rate, prompts)
		}
		repeats(rows)
		for _, note := range report.RepeatNotes(run, rate) {
			f.RateNotes = append(f.RateNotes, report.NotePrefix(run, i)+note)
		}
	}
	for _, list := range report.RateLists(&all) {
		for _, r := range list.Rates[:min(len(list.Rates), listLength)] {
			pooled := g != nil && (list.Kind != "prompt" || len(run.Info.Runners) > 1)
			row(list.Kind, cmp.Or(r.Name, "none"), r, pooled)
			if !pooled {
				repeats(report.RepeatRows(run, r, false, "–"))
			}
		}
	}
	if noted {
		f.RateNotes = append(f.RateNotes,
			"A row over several columns has no interval: cases that are asked several times are not more cases.")
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
		x.Class = w.Label
		x.Why.Message = results.UnexpectedPass
	} else {
		if x.Class = report.ClassLabel(c.Class, c.Origin); c.Class != nil && *c.Class == plumb.OriginAssertion.Class() {
			x.Class = ""
		}
		x.Why = report.WhyOf(c.Execution, s)
		x.Answer, _ = clip(s.Output(), report.ExcerptText)
		if s != nil {
			x.Directory = text.OneLine(c.SessionDir(run.Info.ArtifactDir, s.Repetition, s.Number))
		}
		x.Why.Explain = c.AskAbout(src, s)
	}
	x.Why.Counts = c.Counts()
	x.Line = x.Why.Message
	if len(x.Why.Checks) > 0 {
		x.Line = cmp.Or(x.Why.Checks[0].Reason, x.Why.Checks[0].Name)
		if x.Why.Checks[0].Got == x.Answer {
			x.Answer = "" // it is there already
		}
	}
	x.Line = text.Line(x.Line, 200)
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
