package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// htmlFront is what the page shows before any script runs.
type htmlFront struct {
	htmlFrame
	Word     string `redact:"-"` // see word
	Mark     string `redact:"-"`
	Verdict  string
	Stop     string
	Decision []string
	Recorded string
	Cards    []htmlCard
	Rates    []htmlRate
	Agents   *agentTable
	// RateNotes are beside the rates, and Figures are what the cases used.
	RateNotes []string
	Head      []string
	Figures   []htmlFigures
	// Flaky are the surest of the FlakyCount flaky cases.
	Flaky      []htmlFlaky
	FlakyCount int
	Failures   []htmlFailed
	// Folded is set when there are many failures. The script then shows only the first of them
	// until the reader asks for more.
	Folded bool
	// More counts failures that only the matrix shows.
	More    int
	Runners []string
	// The matrix has Items rows, of which LeftOut are not on the page, and Columns.
	Columns []htmlColumn
	Items   int
	Rows    []htmlRow
	LeftOut int
	Legend  []htmlLegend
	Tags    []string
	Groups  []string
	Facts   [][2]string
	Notes   []plumb.Note
	// Sessions is set when the page has sessions that cells can open.
	Sessions bool
}

type htmlCard struct{ Name, Value, More string }

// htmlRate is a row of the table of pass rates. The bounds are in percent, for the bar.
type htmlRate struct {
	Name                             string
	Kind                             string `redact:"-"`
	Passed, Rate, Interval, Coverage string
	Low, Width, Value                float64
	Known                            bool
}

// htmlFigures is what the cases of a group used.
type htmlFigures struct {
	Kind string `redact:"-"`
	Name string
	Rows [][]string
}

// htmlFlaky is a flaky case. Shown is set when the page has its sessions.
type htmlFlaky struct {
	At          int
	Shown       bool
	Name, Words string
}

type htmlLegend struct {
	Word, Mark, Label string `redact:"-"`
	Count             int
}

// htmlFailed is one failure in full.
type htmlFailed struct {
	Execution         int
	Case, Runner      string
	Word, Mark, Label string `redact:"-"`
	Class             string
	Asked             htmlFold
	Why               excerpt
	Answer, Directory string
}

// htmlFold is a text that is folded when it is long.
type htmlFold struct {
	Text string
	Long bool
}

func fold(text string) htmlFold {
	text, _ = clip(text, excerptText)
	return htmlFold{text, len(text) > 400 || strings.Count(text, "\n") > 7}
}

// word is how an execution ended, with the symbols and the label that accompany its color. ASCII is
// the symbol without Unicode, and emoji the symbol in Markdown.
type word struct{ name, mark, label, ascii, emoji string }

// words lists how executions can end, most urgent first.
func words() []word {
	return []word{
		{"fail", "✗", "fail", "X ", "❌"},
		{"xpass", "◆", "unexpected pass", "X!", "❌"},
		{"error", "!", "not measured", "! ", "⚠️"},
		{"pass", "✓", "pass", "OK", "✅"},
		{"xfail", "◇", "failed as expected", "x ", "✅"},
		{"skipped", "·", "not run", "- ", "–"},
	}
}

func wordNamed(name string) word {
	all := words()
	return all[slices.IndexFunc(all, func(w word) bool { return w.name == name })]
}

func wordOf(e *plumb.Execution) word {
	switch {
	case e.State != plumb.ExecutionDone, e.Outcome == plumb.OutcomeSkipped:
		return wordNamed("skipped")
	case e.Status == plumb.StatusExpectedFailed:
		return wordNamed("xfail")
	case e.Status == plumb.StatusUnexpectedPassed:
		return wordNamed("xpass")
	case e.Outcome == plumb.OutcomePass, e.Outcome == plumb.OutcomeFail:
		return wordNamed(string(e.Outcome))
	}
	return wordNamed("error")
}

// frontOf returns what the page of a run shows before any script runs.
func frontOf(o *Options, run *plumb.Run) (*htmlFront, error) {
	rates := analyze.Rates(run)
	f := &htmlFront{
		Stop:     stopWords(run),
		Decision: statements(o, run, " · ", "–"), Agents: agentsOf(run, "–"),
		Sessions: o.Sessions != nil,
	}
	g := gridOf(run, " · ", "–")
	for i, h := range headlines(run, g, "–") {
		if i == htmlVerdicts {
			f.Verdict = g.title(run)
			break
		}
		if i > 0 {
			f.Verdict += " · "
		}
		f.Verdict += h.words
	}
	f.Word = string(results.Outcome(run))
	if len(run.Executions) == 0 {
		f.Word = "skipped"
	}
	f.Mark = wordNamed(f.Word).mark
	f.About = suiteTitle(&run.Info, " · ")
	f.Title = f.Mark + " " + f.Verdict + " · " + f.About
	if o.recorded(run) {
		f.Recorded = recordingNotice(&run.Info)
	}
	f.cards(run, rates.Overall, g)
	f.rates(run, rates)
	f.provenance(o, run)
	f.flaky(run)
	f.matrix(run)
	return f, f.failures(o, run)
}

// htmlVerdicts is the number of columns whose results the heading of a page has.
const htmlVerdicts = 3

// htmlCards is the number of columns that have a card.
const htmlCards = 12

// cards adds the pass rate of each column, and the figures of a run as a whole.
func (f *htmlFront) cards(run *plumb.Run, all analyze.Rate, g *grid) {
	unbroken := strings.NewReplacer(" %", "\u00a0%", "–", "\u2060–\u2060")
	add := func(name, value, more string) {
		f.Cards = append(f.Cards, htmlCard{name, value, unbroken.Replace(more)})
	}
	cells := rateCells(all, "–")
	passed := func(name string, r analyze.Rate) {
		cells := rateCells(r, "–")
		x := r.Repetitions(run)
		switch {
		case r.Measured() == 0:
			add(name, cells[0], "nothing was measured")
		case x.Repeated && x.Rate.OK:
			add(name, text.Count(x.Passed)+"/"+text.Count(x.Measured), text.Percent(x.Rate.Value)+" of the samples · 95 % interval "+
				text.Shares(x.Rate.Lo, x.Rate.Hi, "–")+" · "+cells[0]+" cases always pass")
		default:
			add(name, cells[0], cells[1]+" · 95 % interval "+cells[2])
		}
	}
	if g == nil {
		passed("Passed", all)
	} else {
		for i := range g.columns[:min(len(g.columns), htmlCards)] {
			passed(g.names[i], g.columns[i].Overall)
		}
	}
	missing := text.Plural(all.Errored, "error")
	if all.NotRun() > 0 {
		missing += ", " + text.Count(all.NotRun()) + " not run"
	}
	add("Coverage", cells[3], missing)
	spent := analyze.Spent(run, -1)
	if spent.Sessions > 0 {
		cost, more := "unknown", strings.Trim(noPrice(run), " ()")
		if spent.Priced(run) {
			cost, more, _ = strings.Cut(costWords(spent, run), ", ")
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
	add("Time", text.Millis(results.DurationMs(run)), timesWords(run, "–"))
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

func (f *htmlFront) rates(run *plumb.Run, all analyze.Breakdown) {
	add := func(kind, name string, cells []string, known bool, value, lo, hi float64) {
		x := htmlRate{
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
		add(kind, name, rateCells(r, "–"), ok, value, lo, hi)
	}
	repeats := func(r analyze.Rate, whole bool) {
		for _, x := range repeatRows(run, r, whole, "–") {
			add("samples", x.name, x.cells, x.OK, x.Value, max(0, x.Lo), min(1, x.Hi))
		}
	}
	for i := range run.Info.Runners {
		rate := analyze.RunnerRates(run, i).Overall
		row("runner", runnerTitle(&run.Info.Runners[i]), rate)
		repeats(rate, true)
		for _, note := range repeatNotes(run, rate) {
			f.RateNotes = append(f.RateNotes, notePrefix(run, i)+note)
		}
	}
	if len(run.Info.Runners) > 1 {
		row("all", "all runners", all.Overall)
		repeats(all.Overall, false)
	}
	for _, list := range rateLists(&all) {
		for _, r := range list.rates[:min(len(list.rates), htmlList)] {
			row(list.kind, cmp.Or(r.Name, "none"), r)
			repeats(r, false)
		}
	}
	f.Head = figureHead()
	for _, g := range figureGroups(run, true, "–") {
		f.Figures = append(f.Figures, htmlFigures{g.kind, g.name, g.rows})
	}
}

// flaky lists the flaky cases.
func (f *htmlFront) flaky(run *plumb.Run) {
	lines, more := flakyLines(run, htmlList)
	f.FlakyCount = len(lines) + more
	for _, l := range lines {
		f.Flaky = append(f.Flaky, htmlFlaky{l.at, f.Sessions && len(run.Executions) <= htmlExecutions, l.name, l.words})
	}
}

func (f *htmlFront) provenance(o *Options, run *plumb.Run) {
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
	add("cases", casesWords(run))
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
	add("judge", judgeTitle(info))
	add("embedder", info.Embedder)
	add("schedule", fmt.Sprintf("%s, %d at once, repeat %d, retry %d", info.Schedule, max(1, info.Parallel),
		max(1, info.Repeat), info.Retry))
	add("scored from", info.ScoredFrom)
	if !run.StartedAt.IsZero() {
		add("started", run.StartedAt.UTC().Format(time.RFC3339))
		add("ended", run.EndedAt.UTC().Format(time.RFC3339))
	}
	add("plumb", info.PlumbVersion)
	add("run directory", o.dir(run))
	for _, c := range conclusionsOf(o, run) {
		f.Notes = append(f.Notes, plumb.Note{Level: c.level(), Text: text.Clean(c.label + ": " + c.text)})
	}
	for i, n := range run.Notes {
		if i == htmlList {
			break
		}
		f.Notes = append(f.Notes, plumb.Note{Level: text.OneLine(n.Level), Text: text.Clean(n.Text), Hint: text.Clean(n.Hint)})
	}
}

// failures adds the failed and unmeasured executions.
func (f *htmlFront) failures(o *Options, run *plumb.Run) error {
	found := analyze.Find(run, htmlFailures)
	for _, section := range sectionsOf(&found) {
		for _, g := range section.groups {
			f.More += g.Count
			for _, i := range g.Executions[:min(len(g.Executions), htmlFailures-len(f.Failures))] {
				x, err := failedOf(o, run, i)
				if err != nil {
					return err
				}
				f.Failures = append(f.Failures, x)
			}
		}
	}
	f.More -= len(f.Failures)
	f.Folded = len(f.Failures) > htmlFirst+1
	return nil
}

func failedOf(o *Options, run *plumb.Run, i int) (htmlFailed, error) {
	c := cellAt(run, i)
	w := wordOf(c.Execution)
	x := htmlFailed{Execution: i, Case: text.OneLine(c.Info.ID), Word: w.name, Mark: w.mark, Label: w.label}
	if len(run.Info.Runners) > 1 {
		x.Runner = runnerTitle(c.Runner)
	}
	_, s, err := c.Decided(o.Sessions)
	if err != nil {
		return x, err
	}
	if s != nil && s.Report != nil {
		x.Asked = fold(s.Report.Prompt)
	}
	if c.Status == plumb.StatusUnexpectedPassed {
		x.Why.Message = results.UnexpectedPass
	} else {
		x.Class = classLabel(c.Class, c.Origin)
		x.Why = whyOf(c.Execution, s)
		x.Answer, _ = clip(s.Output(), excerptText)
		if s != nil {
			x.Directory = text.OneLine(c.SessionDir(run.Info.ArtifactDir, s.Repetition, s.Number))
		}
		x.Why.Explain = c.askAbout(o, s)
	}
	x.Why.Counts = c.counts()
	return x, nil
}
