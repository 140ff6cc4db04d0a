package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// RepeatRow is a row of a table of rates, below the row of a group of executions: what their
// repetitions say.
type RepeatRow struct {
	Key, Name string   // key is the name in documents for programs
	Cells     []string // in the columns of RateCells
	analyze.Estimate
}

// RepeatRows returns the rows below the rate r: the pass rate of the samples and, for a whole
// runner, pass@k, pass^k, the flip rate and the score. Without repetitions there is only the score,
// if it says more than the pass rate.
func RepeatRows(run *plumb.Run, r analyze.Rate, whole bool, dash string) []RepeatRow {
	var rows []RepeatRow
	add := func(key, name, pass string, e analyze.Estimate, of string) {
		cells := []string{pass, dash, dash, of}
		if !math.IsNaN(e.Value) {
			cells[1] = text.Percent(e.Value)
		}
		if e.OK {
			cells[2] = text.Shares(e.Lo, e.Hi, dash)
		}
		rows = append(rows, RepeatRow{key, name, cells, e})
	}
	cases := func(n int) string { return text.Count(n) + "/" + text.Count(r.Planned) }
	if x := r.Repetitions(run); x.Repeated {
		passed := text.Count(x.Passed) + "/" + text.Count(x.Measured)
		if x.Stopped > 0 { // its share of passed repetitions is no estimate
			passed = dash
		}
		add("samples", "samples", passed, x.Rate, text.Count(x.Measured)+"/"+text.Count(x.Planned))
		if all, ok := x.All(); ok && whole {
			k := strconv.Itoa(all.K)
			add("passAt"+k, "pass@"+k, "", all.At, cases(all.Cases))
			add("passHat"+k, "pass^"+k, "", all.Hat, cases(all.Cases))
		}
		if x.FlipCases > 0 && whole {
			add("flips", "flip rate", "", x.Flips, cases(x.FlipCases))
		}
	}
	if s := r.Score(run); s.Graded && whole {
		add("score", "score", "", s.Mean, cases(s.N))
		cells := rows[len(rows)-1].Cells
		if !math.IsNaN(s.Mean.Value) {
			cells[1] = fmt.Sprintf("%.2f", s.Mean.Value)
		}
		if s.Mean.OK {
			cells[2] = scoreRange(max(0, s.Mean.Lo), min(1, s.Mean.Hi), dash)
		}
	}
	return rows
}

// scoreRange renders bounds of scores, rounded outward.
func scoreRange(lo, hi float64, dash string) string {
	return fmt.Sprintf("%.2f%s%.2f", math.Floor(lo*100)/100, dash, math.Ceil(hi*100)/100)
}

// fewScores is the number of cases below which reports add the extreme scores to the mean.
const fewScores = 15

// RepeatNotes returns what a reader must know beside the rows of a runner: why a rate is missing,
// how the cases behave, and how independent they are.
func RepeatNotes(run *plumb.Run, r analyze.Rate) []string {
	var notes []string
	x, s := r.Repetitions(run), r.Score(run)
	switch {
	case x.Stopped > 0:
		notes = append(notes, fmt.Sprintf("%s stopped at the first repetition that was not green, so there is no pass "+
			"rate of the samples; with --all-repetitions there is one", text.Plural(x.Stopped, "case")))
	case x.Repeated && x.Cases == 0:
		notes = append(notes, "no repetition was measured, so there is no pass rate of the samples")
	}
	if x.Repeated && x.Stopped == 0 {
		if words := labelWords(&x); words != "" {
			notes = append(notes, words)
		}
	}
	if x.Rate.OK && x.Cases == 1 {
		notes = append(notes, "there is one case: the intervals of its repetitions say nothing about other cases")
	}
	if x.Alike() {
		notes = append(notes, fmt.Sprintf("cases of one category behave alike (design effect %.1f): %s say as much as "+
			"about %.0f independent ones", x.DesignEffect, text.Plural(x.Cases, "case"), float64(x.Cases)/x.DesignEffect))
	}
	if s.Graded && s.N < fewScores && !math.IsNaN(s.Min) {
		notes = append(notes, fmt.Sprintf("scores of %s: min %.2f, median %.2f, max %.2f", text.Plural(s.N, "case"), s.Min,
			s.Median, s.Max))
	}
	return notes
}

// labelWords counts the labels of a group.
func labelWords(x *analyze.Repetitions) string {
	var parts []string
	for _, l := range []analyze.Label{
		analyze.Flaky, analyze.StableFail, analyze.StablePass, analyze.Undetermined,
	} {
		if n := x.Labels[l]; n > 0 {
			parts = append(parts, text.Count(n)+" "+string(l))
		}
	}
	if x.Labels[analyze.Undetermined] > 0 {
		parts[len(parts)-1] += " (too few repetitions to say)"
	}
	return strings.Join(parts, ", ")
}

// SureWords says how sure the label of a case is: "92 % sure".
func SureWords(sure float64) string {
	return strconv.Itoa(int(math.Floor(sure*100))) + " % sure"
}

// FlakyWords describes a flaky case.
func FlakyWords(s *analyze.CaseSamples) string {
	return fmt.Sprintf("%s/%s passed, %s", text.Count(s.Passed), text.Count(s.Measured), SureWords(s.Sure))
}

// MedianWords describes what a case of a group used by medians with their intervals. It is empty if
// there are too few cases for an interval. The time of a case is elsewhere; see TimesWords.
func MedianWords(run *plumb.Run, r analyze.Rate, dash string) string {
	var parts []string
	add := func(m analyze.Metric, render func(float64) string, unit string) {
		switch {
		case m.Median.Bounded():
			parts = append(parts, render(m.Median.Value)+unit+" ("+bounds(m.Median, render, dash)+")")
		case m.Shared:
			parts = append(parts, render(m.Median.Value)+unit)
		}
	}
	m := r.Metrics(run)
	add(m.Tokens, wholeNumber, " tokens")
	add(m.CostUSD, text.Money, "")
	add(m.Steps, oneDecimal, " steps")
	if len(parts) == 0 {
		return ""
	}
	return "median " + strings.Join(parts, ", ")
}

// bounds renders the bounds of a quantile, of which one or both can be open.
func bounds(q analyze.Quantile, render func(float64) string, dash string) string {
	switch lo, hi := math.IsNaN(q.Lo), math.IsNaN(q.Hi); {
	case lo && hi:
		return dash
	case lo:
		return "up to " + render(q.Hi)
	case hi:
		return "from " + render(q.Lo)
	}
	return render(q.Lo) + dash + render(q.Hi)
}

func wholeNumber(x float64) string { return text.Count(int64(math.Round(x))) }

func milliseconds(x float64) string { return text.Millis(int64(math.Round(x))) }

func oneDecimal(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") }

// FigureHead is the heading of figureRows.
func FigureHead() []string {
	return []string{"a case", "cases", "median", "95 %", "p90", "95 %", "geometric mean", "95 %"}
}

// figureRows describes what the cases of a group used: tokens, cost, latency and steps, with
// medians, ninth deciles and geometric means. It omits a figure of too few cases for an interval.
func figureRows(run *plumb.Run, r analyze.Rate, dash string) (rows [][]string) {
	m := r.Metrics(run)
	for _, x := range []struct {
		name   string
		metric analyze.Metric
		render func(float64) string
	}{
		{"tokens", m.Tokens, wholeNumber},
		{"cost", m.CostUSD, text.Money},
		{"latency", m.LatencyMs, milliseconds},
		{"steps", m.Steps, oneDecimal},
	} {
		if !x.metric.Median.Bounded() {
			continue
		}
		row := []string{x.name, text.Count(x.metric.N)}
		for _, q := range []analyze.Quantile{x.metric.Median, x.metric.P90, x.metric.Mean.Quantile()} {
			value := dash
			if !math.IsNaN(q.Value) {
				value = x.render(q.Value)
			}
			row = append(row, value, bounds(q, x.render, dash))
		}
		rows = append(rows, row)
	}
	return rows
}

// FigureGroup is the figures of one group of executions.
type FigureGroup struct {
	Kind, Name string
	Rows       [][]string
}

// FigureGroups returns the figures of the runners and, if details is set, of the categories,
// difficulties and tags.
func FigureGroups(run *plumb.Run, details bool, dash string) (groups []FigureGroup) {
	add := func(kind, name string, r analyze.Rate) {
		if rows := figureRows(run, r, dash); len(rows) > 0 {
			groups = append(groups, FigureGroup{kind, text.OneLine(name), rows})
		}
	}
	for i := range run.Info.Runners {
		add("runner", RunnerTitle(&run.Info.Runners[i]), analyze.RunnerRates(run, i).Overall)
	}
	if details {
		all := analyze.Rates(run)
		for _, list := range RateLists(&all) {
			for _, r := range list.Rates[:min(len(list.Rates), MaxRows)] {
				add(list.Kind, cmp.Or(r.Name, "none"), r)
			}
		}
	}
	return groups
}

// FlakyLine is a flaky case with its words, for a list.
type FlakyLine struct {
	At          int // the index of the execution in the run
	Name, Words string
}

// FlakyLines lists the flaky cases, the surest first, and counts those above the limit.
func FlakyLines(run *plumb.Run, limit int) (lines []FlakyLine, more int) {
	flaky := analyze.FlakyCases(run)
	for i := range flaky[:min(len(flaky), limit)] {
		c := CellAt(run, flaky[i].Execution)
		lines = append(lines, FlakyLine{flaky[i].Execution, c.Name(), FlakyWords(&flaky[i].CaseSamples)})
	}
	return lines, len(flaky) - len(lines)
}

// SampleCells returns the cells of the execution at index i in a list of a run with repetitions: how
// many samples passed, or were tried if it stopped early, and the label of the case.
func SampleCells(run *plumb.Run, i int) (samples, label string) {
	c := CellAt(run, i)
	samples = c.SamplesWords()
	if s, ok := analyze.SamplesOf(run, i); ok {
		if label = string(s.Label); s.Label != analyze.Undetermined {
			label += ", " + SureWords(s.Sure)
		}
	}
	return samples, label
}

// CaseWords describes the samples of the execution at index i, if there are several: the pass rate
// with its interval, the flip rate and the label.
func CaseWords(run *plumb.Run, i int, dash string) string {
	c := CellAt(run, i)
	s, ok := analyze.SamplesOf(run, i)
	switch {
	case ok:
		words := fmt.Sprintf("%s/%s passed, %s (95 %% %s), flip rate %s, %s", text.Count(s.Passed), text.Count(s.Measured),
			text.Percent(s.Rate()), text.Shares(s.Lo, s.Hi, dash), text.Percent(s.Flips), s.Label)
		if s.Label != analyze.Undetermined {
			words += ", " + SureWords(s.Sure)
		}
		return words
	case analyze.StoppedEarly(run, i):
		return c.SamplesWords() + ", so there is no pass rate of the case"
	case c.Repeats() > 1:
		return fmt.Sprintf("%d of %d repetitions measured: too few for a pass rate of the case", c.Passed+c.Failed,
			c.Repeats())
	}
	return ""
}

// SamplesWords returns how many repetitions passed: of the planned ones, or if the execution stopped
// early how many were tried, because the share of passed ones is then no estimate.
func (c *Cell) SamplesWords() string {
	if analyze.StoppedEarly(c.Run, c.Index) {
		tried, planned := analyze.Tried(c.Run, c.Index)
		return fmt.Sprintf("%d of %d tried", tried, planned)
	}
	return fmt.Sprintf("%d/%d", c.Passed, c.Repeats())
}

// Repeated reports whether more than one repetition of any execution is planned.
func Repeated(run *plumb.Run) bool {
	return run.Info.Repeat > 1 || slices.ContainsFunc(run.Cases, func(c plumb.CaseInfo) bool { return c.Repeat > 1 })
}
