package html

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"time"

	"github.com/plumb-eval/plumb/internal/chart"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// ReportComparison writes the page of a comparison to comparison.html in dir, and prints its path to
// out; or the page to out if dir is "".
func ReportComparison(out io.Writer, dir string, src *report.Source, c *report.Compared) error {
	path, err := toFile(out, dir, "comparison.html", func(w io.Writer) error {
		return WriteComparison(w, Frame{}, src, c)
	})
	return cmp.Or(err, printPath(out, path))
}

// WriteComparison writes the page of a comparison in a frame: the conclusion, the metrics and the
// gates in plain HTML, and a table of all pairs, with the sessions of both sides, that the script of
// the page shows. It is the page of a run with other first parts.
func WriteComparison(out io.Writer, f Frame, src *report.Source, c *report.Compared) error {
	front, rows := comparisonFrontOf(c.Comparison), pairsOf(c)
	front.Pairs = text.Plural(len(rows), "pair") // each runner has its own
	return f.write(out, src.Redact, "comparison.html", front, func(b *blockWriter) (any, error) {
		index := &comparisonIndex{Pairs: rows}
		index.RunID, index.List = text.OneLine(c.Comparison.Candidate.ID), []executionEntry{}
		return index, b.pairs(index, src, c)
	})
}

// comparisonFront is what the page shows before any script runs.
type comparisonFront struct {
	framed
	Word, Mark string `redact:"-"`
	Headline   string
	Conclusion string
	Effects    []effect
	Advice     []report.Advice
	Varied     []string
	Unknown    string
	Warnings   []string
	Runners    []comparisonRunner
	Head       []string
	Gates      []gate
	GateNote   string
	Hints      []string
	Unpaired   [][2]string
	Pairs      string
	Facts      [][2]string
	Method     []string
}

// comparisonRunner is the table of metrics of one pair of runners. Quiet are the rows without an
// interval.
type comparisonRunner struct {
	Name, Conclusion string
	Rows, Quiet      [][]string
}

// effect is the pictures of the pass rate of one pair of runners: the effect on an axis, for wide and
// for narrow windows, and what became of the pairs.
type effect struct {
	Name         string        // "" if there is one pair
	Wide, Narrow template.HTML `redact:"-"`
	Pairs        template.HTML `redact:"-"`
	Parts        []chart.Part
}

// gate is a row of the table of gates.
type gate struct {
	Word, Mark string `redact:"-"`
	Cells      []string
}

// conclusionPageWord maps a conclusion to a word of the page, for its color and mark: a candidate that
// is worse is never shown as a pass, whatever the gates let through.
func conclusionPageWord(c *compare.Comparison) report.Word {
	switch {
	case c.ExitCode == 1, c.Conclusion == compare.Worse:
		return report.WordNamed("fail")
	case c.ExitCode != 0, c.Conclusion == compare.NotDecisive:
		return report.WordNamed("error")
	default:
		return report.WordNamed("pass")
	}
}

// gateWord maps the result of a gate to a word of the page.
func gateWord(r compare.GateResult) report.Word {
	switch r {
	case compare.Holds:
		return report.WordNamed("pass")
	case compare.Unproven:
		return report.WordNamed("error")
	default:
		return report.WordNamed("fail")
	}
}

// effectOf draws the pass rate of one pair of runners.
func effectOf(c *compare.Comparison, r *compare.RunnerResult) effect {
	f := &r.Figure
	var e effect
	if len(c.Runners) > 1 {
		e.Name = runnerNames(r)
	}
	same := f.Pairs - f.Lost - f.Won
	e.Parts = []chart.Part{
		{Name: "lost", Class: "fail", Count: f.Lost},
		{Name: "same", Class: "same", Count: same},
		{Name: "won", Class: "pass", Count: f.Won},
		{Name: "same answer", Class: "same", Count: r.Pairs.SameAnswer},
		{Name: "not measured", Class: "error", Count: r.Pairs.Unmeasured},
	}
	e.Parts = slices.DeleteFunc(e.Parts, func(p chart.Part) bool { return p.Count <= 0 })
	e.Pairs = chart.Shares("what became of the pairs", e.Parts).SVG
	shown, points := report.EffectShown(f)
	if !shown.OK() {
		return e
	}
	value, low, high := float64(shown.Value), float64(shown.Low), float64(shown.High)
	reach := 1.3 * max(math.Abs(low), math.Abs(high), 1.5*f.Margin, .01)
	i := chart.Interval{
		Title: report.FigureWords(f, f.Conclusion), Value: value, Low: low, High: high, Margin: f.Margin,
		From: -reach, To: reach, Class: map[compare.Conclusion]string{
			compare.Better: "pass", compare.Worse: "fail", compare.NotDecisive: "error",
		}[r.Conclusion],
		Label: points,
	}
	e.Wide, e.Narrow = i.Ruler(720).SVG, i.Ruler(340).SVG
	return e
}

// runnerNames names a pair of runners.
func runnerNames(r *compare.RunnerResult) string {
	if r.Baseline != r.Candidate {
		return r.Baseline + " → " + r.Candidate
	}
	return r.Candidate
}

// comparisonFrontOf returns the first part of the page.
func comparisonFrontOf(c *compare.Comparison) *comparisonFront {
	w := conclusionPageWord(c)
	_, rest := report.ConclusionWord(c)
	f := &comparisonFront{
		Word: w.Name, Mark: w.Mark, Headline: report.ComparisonHeadline(c), Conclusion: rest, Advice: report.SettleWords(c), Head: metricHead(),
		Warnings: c.Warnings,
	}
	f.About = text.OneLine(c.Baseline.Name) + " → " + text.OneLine(c.Candidate.Name)
	f.Title = f.Mark + " " + string(c.Conclusion) + " · " + f.About
	for i := range c.Varied[:min(len(c.Varied), listLength)] {
		f.Varied = append(f.Varied, report.DifferenceWords(&c.Varied[i]))
	}
	f.Unknown = report.SomeOf(report.UnknownNames(c), listLength)
	for i := range c.Runners {
		r := &c.Runners[i]
		table := comparisonRunner{Name: runnerNames(r), Conclusion: string(r.Conclusion)}
		for k := range c.Metrics {
			switch m := &c.Metrics[k]; {
			case m.Runner != r.Candidate:
			case m.Effect.OK() || m.Metric == compare.PassRate:
				table.Rows = append(table.Rows, report.MetricCells(m))
			default:
				table.Quiet = append(table.Quiet, report.MetricCells(m))
			}
		}
		f.Effects = append(f.Effects, effectOf(c, r))
		f.Runners = append(f.Runners, table)
		if words := report.ErrorWords(&r.Errors); words != "" {
			f.Warnings = append(slices.Clip(f.Warnings), "errors on "+r.Candidate+": "+words)
		}
		f.Method = append(f.Method, r.Candidate+": "+report.MethodWords(r)+"; "+report.PopulationWords(&r.Figure))
	}
	f.Method = append(f.Method, report.TestNotes(c)...)
	for i := range c.Gates {
		g := &c.Gates[i]
		w := gateWord(g.Result)
		f.Gates = append(f.Gates, gate{w.Name, w.Mark, []string{g.Text, g.Runner, string(g.Result), report.GateWords(c, g)}})
	}
	if report.UnprovenPasses(c) {
		f.GateNote = "Unproven gates do not fail, because of --unproven pass."
	}
	for i := range c.Groups {
		if g := &c.Groups[i]; g.Hint {
			relation, q := report.PNumber(g.AdjustedP)
			f.Hints = append(f.Hints, fmt.Sprintf("%s %s on %s: %s, %s, q %s %s", g.By, g.Name, g.Runner,
				report.EffectWords(&g.Effect, 0), report.ChangedWords(g.Lost, g.Won, g.Pairs, ""), relation, q))
		}
	}
	for _, l := range report.UnpairedLists(c) {
		f.Unpaired = append(f.Unpaired, [2]string{l.Label, report.SomeOf(l.Names, listLength)})
	}
	for _, side := range []struct {
		name string
		s    *compare.Subject
	}{{"baseline", &c.Baseline}, {"candidate", &c.Candidate}} {
		f.Facts = append(f.Facts, [2]string{side.name, subjectWords(side.s)})
	}
	return f
}

// subjectWords describes one side.
func subjectWords(s *compare.Subject) string {
	words := text.OneLine(s.Name)
	for _, more := range []string{string(s.Kind), s.ID, s.Suite, s.Path} {
		if more = text.OneLine(more); more != "" && more != words {
			words += " · " + more
		}
	}
	if s.StartedAt != nil {
		words += " · " + s.StartedAt.UTC().Format(time.RFC3339)
	}
	return words
}

// comparisonIndex describes to the script what the page holds: the pairs, and the executions of
// both sides as if they were one run.
type comparisonIndex struct {
	pageIndex
	Pairs []pair `json:"pairs"`
}

// pair is one row of the table of pairs.
type pair struct {
	Case      string         `json:"case"`
	Runner    string         `json:"runner"`
	Category  string         `json:"category,omitempty"`
	Tags      []string       `json:"tags,omitempty"`
	Change    compare.Change `json:"change" redact:"-"`
	Baseline  string         `json:"baseline" redact:"-"`
	Candidate string         `json:"candidate" redact:"-"`
	// Broken is "broken" or "suspect" if the case is one.
	Broken string `json:"broken,omitempty" redact:"-"`
	// At are the indexes of the executions of both sides in the page; -1 means that the page has no
	// session of the side.
	At [2]int `json:"at"`

	sides [2]executionKey // which execution each side shows
	order int
}

// executionKey names an execution of a run. A side of a comparison can hold a part of a run, so the
// index of a case in the side is not its index in the run.
type executionKey struct{ caseID, runner string }

// pairsOf returns the rows of the table, those that need attention first.
func pairsOf(c *report.Compared) []pair {
	type key struct{ id, runner string }
	attention := map[key]string{}
	for word, list := range map[string][]compare.CaseResult{"suspect": c.Cases.Suspect, "broken": c.Cases.Broken} {
		for i := range list {
			attention[key{list[i].Case, list[i].Runner}] = word
		}
	}
	rank := map[compare.Change]int{
		compare.Lost: 2, compare.Won: 3, compare.Unmeasured: 4, compare.SameAnswer: 5, compare.Same: 6,
	}
	pairs := []pair{}
	m := c.Matching
	m.EachPair(func(r *compare.RunnerPair, p *compare.Pair, result compare.CaseResult, change compare.Change) {
		row := pair{
			Case: text.OneLine(report.CaseName(&result)), Runner: text.OneLine(r.Cand),
			Category: text.OneLine(result.Category), Change: change,
			Baseline: pageCount(result.Baseline), Candidate: pageCount(result.Candidate),
			Broken: attention[key{result.Case, result.Runner}], At: [2]int{-1, -1},
			sides: [2]executionKey{{p.BaseCase, r.Base}, {p.CandCase, r.Cand}},
		}
		for _, t := range result.Tags {
			row.Tags = append(row.Tags, text.OneLine(t))
		}
		if r.Base != r.Cand {
			row.Runner = text.OneLine(r.Base + " → " + r.Cand)
		}
		if row.order = rank[row.Change]; row.Broken != "" {
			row.order = 1
		}
		pairs = append(pairs, row)
	})
	slices.SortStableFunc(pairs, func(a, b pair) int { return a.order - b.order })
	return pairs
}

// pageCount renders the counts of a case on one side.
func pageCount(c compare.Count) string {
	text := fmt.Sprintf("%d/%d", c.Passed, c.Measured)
	if c.Measured == 0 {
		text = "–"
	}
	if c.Unmeasured > 0 {
		text += fmt.Sprintf(", %d not measured", c.Unmeasured)
	}
	return text
}

// pairs writes the sessions of the pairs, in their order, until the page is full.
func (b *blockWriter) pairs(index *comparisonIndex, src *report.Source, c *report.Compared) error {
	sides := []struct {
		name     string
		side     *compare.Side
		sessions results.Sessions
	}{{"baseline", c.Matching.Base, c.Baseline}, {"candidate", c.Matching.Cand, c.Candidate}}
	beside := report.Source{Flags: src.Flags} // the sides are in other directories than the page
	columns := [2]map[string]int{{}, {}}      // by the id of the runner
	known := [2]map[executionKey]int{{}, {}}  // an execution can be in several pairs
	sheet := newAnswerSheet(b.left / answerPart)
	defer func() { index.Answers, index.AnswersLeft = sheet.blocks, sheet.leftOut }()
	for i := range index.Pairs {
		row := &index.Pairs[i]
		if len(index.List) >= maxExecutions {
			break
		}
		for k, s := range sides {
			if s.side.Run == nil || s.sessions == nil {
				continue
			}
			if at, ok := known[k][row.sides[k]]; ok {
				row.At[k] = at
				continue
			}
			execution, err := s.side.Run.Index(row.sides[k].caseID, row.sides[k].runner)
			if err != nil {
				return err
			}
			cell := report.CellAt(s.side.Run, execution)
			rec, err := cell.Record(s.sessions)
			if err != nil {
				return err
			}
			x, err := b.execution(&index.pageIndex, &beside, &cell, rec)
			if err != nil {
				return err
			}
			if len(x.Sessions) == 0 {
				continue
			}
			if _, ok := columns[k][cell.Runner.ID]; !ok {
				columns[k][cell.Runner.ID] = len(index.Runners)
				index.Runners = append(index.Runners, s.name+": "+report.RunnerTitle(cell.Runner))
			}
			// The page names both executions by the case of the candidate, so that they belong
			// together.
			row.At[k] = len(index.List)
			x.Case, x.Runner, x.At = row.Case, columns[k][cell.Runner.ID], row.At[k]
			known[k][row.sides[k]] = row.At[k]
			index.List = append(index.List, x)
			if err := sheet.add(b, row.At[k], s.name+row.sides[k].runner+cell.Info.ID, rec); err != nil {
				return err
			}
		}
	}
	return sheet.flush(b)
}

// metricHead is the head of the table of metrics.
func metricHead() []string { return []string{"", "baseline", "candidate", "effect", "p", ""} }
