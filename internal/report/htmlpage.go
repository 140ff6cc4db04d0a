package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

//go:embed html
var htmlFiles embed.FS

// htmlFile returns an embedded file of the page.
func htmlFile(name string) string {
	b, err := htmlFiles.ReadFile("html/" + name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// pageScript returns the script of the page: its parts in one scope.
func pageScript() string {
	var b strings.Builder
	b.WriteString("(function(){\n\"use strict\";\n")
	for _, name := range []string{
		"dom.js", "blocks.js", "overview.js", "pairs.js", "steps.js", "session.js", "compare.js",
		"main.js",
	} {
		b.WriteString(htmlFile(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

// contentPolicy allows the page only its own script and style. The page cannot load, send or open
// anything, and the browser does not parse text as markup.
func contentPolicy(script, style string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// htmlFront is what the page shows before any script runs.
type htmlFront struct {
	Policy   string `redact:"-"`
	Style    template.CSS
	Title    string
	Suite    string
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
	Cases   int
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

type htmlRow struct {
	Case, Category string
	Tags           []string
	Cells          []htmlCell
}

type htmlCell struct {
	// At is the execution's index in the run. Shown is set when the page has its sessions.
	At          int
	Shown       bool
	Flaky       bool
	Sure        string `redact:"-"` // the label of the case
	Word, Mark  string `redact:"-"`
	Label, More string
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
	Why               excerpt
	Answer, Directory string
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

// writeFront writes the page up to its sessions.
func writeFront(w *bufio.Writer, o *Options, run *plumb.Run) error {
	page, err := template.New("page").Funcs(template.FuncMap{"diffKind": diffKind, "shown": shown}).
		Parse(htmlFile("page.html"))
	if err != nil {
		return err
	}
	style := htmlFile("page.css")
	rates := analyze.Rates(run)
	f := &htmlFront{
		Policy: contentPolicy(pageScript(), style), Style: template.CSS(style), //nolint:gosec // an embedded file
		Suite: suiteTitle(&run.Info, " · "), Verdict: verdictWords(rates.Overall), Stop: stopWords(run),
		Decision: statements(run, " · ", "–"),
		Agents:   agentsOf(run, "–"), Cases: len(run.Cases), Sessions: o.Sessions != nil,
	}
	f.Word = string(runOutcome(run))
	if len(run.Executions) == 0 {
		f.Word = "skipped"
	}
	f.Mark = wordNamed(f.Word).mark
	f.Title = f.Mark + " " + f.Verdict + " · " + f.Suite
	if o.recorded(run) {
		f.Recorded = recordingNotice(&run.Info)
	}
	f.cards(run, rates.Overall)
	f.rates(run, rates)
	f.provenance(o, run)
	f.flaky(run)
	f.matrix(run)
	if err := f.failures(o, run); err != nil {
		return err
	}
	return page.Execute(w, without(o.Redact, f))
}

// cards adds the figures of a run as a whole.
func (f *htmlFront) cards(run *plumb.Run, all analyze.Rate) {
	unbroken := strings.NewReplacer(" %", "\u00a0%", "–", "\u2060–\u2060")
	add := func(name, value, more string) {
		f.Cards = append(f.Cards, htmlCard{name, value, unbroken.Replace(more)})
	}
	cells := rateCells(all, "–")
	rate := cells[1] + " · 95 % interval " + cells[2]
	if all.Measured() == 0 {
		rate = "nothing was measured"
	}
	add("Passed", cells[0], rate)
	missing := plural(all.Errored, "error")
	if all.NotRun() > 0 {
		missing += ", " + count(all.NotRun()) + " not run"
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
	add("Time", duration(durationMs(run)), timesWords(run, "–"))
	cached := ""
	if spent.Cached > 0 {
		cached = count(spent.Cached) + " from the cache"
	}
	add("Sessions", count(spent.Sessions), cached)
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
	return count(n)
}

func (f *htmlFront) rates(run *plumb.Run, all analyze.Breakdown) {
	add := func(kind, name string, cells []string, known bool, value, lo, hi float64) {
		x := htmlRate{
			Name: oneLine(name), Kind: kind, Passed: cells[0], Rate: cells[1], Interval: cells[2], Coverage: cells[3],
		}
		if known {
			x.Low, x.Width, x.Value, x.Known = math.Round(lo*1000)/10, math.Round((hi-lo)*1000)/10,
				math.Round(value*1000)/10, true
		}
		f.Rates = append(f.Rates, x)
	}
	row := func(kind, name string, r analyze.Rate) {
		value, ok := r.Value()
		lo, hi := r.Interval()
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
		if value = oneLine(value); value != "" {
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
		f.Notes = append(f.Notes, plumb.Note{Level: c.level(), Text: Clean(c.label + ": " + c.text)})
	}
	for i, n := range run.Notes {
		if i == htmlList {
			break
		}
		f.Notes = append(f.Notes, plumb.Note{Level: oneLine(n.Level), Text: Clean(n.Text), Hint: Clean(n.Hint)})
	}
}

func (f *htmlFront) matrix(run *plumb.Run) {
	n := len(run.Info.Runners)
	for i := range run.Info.Runners {
		f.Runners = append(f.Runners, runnerTitle(&run.Info.Runners[i]))
	}
	shown := make(map[int]bool, min(len(run.Executions), htmlExecutions))
	for _, i := range htmlOrder(run) {
		shown[i] = true
	}
	counts := map[string]int{}
	tags, groups := map[string]bool{}, map[string]bool{}
	for c := range run.Cases {
		info := &run.Cases[c]
		row := htmlRow{Case: oneLine(info.ID), Category: oneLine(info.Category)}
		for _, t := range info.Tags {
			t = oneLine(t)
			row.Tags = append(row.Tags, t)
			if !tags[t] && len(tags) < htmlList {
				tags[t] = true
				f.Tags = append(f.Tags, t)
			}
		}
		if g := row.Category; g != "" && !groups[g] && len(groups) < htmlList {
			groups[g] = true
			f.Groups = append(f.Groups, g)
		}
		any := false
		for r := range n {
			i := c*n + r
			x := cellAt(run, i)
			w := wordOf(x.Execution)
			counts[w.name]++
			any = any || shown[i]
			_, sure := SampleCells(run, i)
			row.Cells = append(row.Cells, htmlCell{
				At: i, Word: w.name, Mark: w.mark, Label: w.label, More: x.words(),
				Shown: f.Sessions && shown[i] && x.Sessions > 0, Flaky: strings.HasPrefix(sure, string(analyze.Flaky)), Sure: sure,
			})
		}
		if !any {
			f.LeftOut++
			continue
		}
		f.Rows = append(f.Rows, row)
	}
	for _, w := range words() {
		if n := counts[w.name]; n > 0 {
			f.Legend = append(f.Legend, htmlLegend{w.name, w.mark, w.label, n})
		}
	}
}

// words returns the text beside the symbol of an execution: its repetitions, if there are several,
// whether it is flaky, and its duration.
func (c *cell) words() string {
	if c.State != plumb.ExecutionDone || c.Sessions == 0 {
		return ""
	}
	words := ""
	if c.repeats() > 1 {
		words = c.samplesWords() + " "
	}
	if s, ok := analyze.SamplesOf(c.run, c.at); ok && s.Label == analyze.Flaky {
		words += "flaky "
	}
	return words + duration(analyze.Elapsed(c.Execution))
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
	x := htmlFailed{Execution: i, Case: oneLine(c.info.ID), Word: w.name, Mark: w.mark, Label: w.label}
	if len(run.Info.Runners) > 1 {
		x.Runner = runnerTitle(c.runner)
	}
	_, s, err := c.decided(o.Sessions)
	if err != nil {
		return x, err
	}
	if c.Status == plumb.StatusUnexpectedPassed {
		x.Why.Message = unexpectedPass
	} else {
		x.Class = classLabel(c.Class, c.Origin)
		x.Why = whyOf(c.Execution, s)
		x.Answer, _ = clip(s.output(), excerptText)
		if s != nil {
			x.Directory = oneLine(c.sessionDir(run.Info.ArtifactDir, s.repetition, s.number))
		}
		x.Why.Explain = c.askAbout(o, s)
	}
	x.Why.Counts = c.counts()
	return x, nil
}
