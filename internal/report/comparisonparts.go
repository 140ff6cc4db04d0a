package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/text"
)

// The functions of this file make the parts that several reports of a comparison have.

// DifferenceWords renders one difference with both values.
func DifferenceWords(d *compare.Difference) string {
	name := string(d.Kind)
	if d.Name != "" && d.Name != name {
		name += " (" + d.Name + ")"
	}
	if d.Case != "" {
		name += " of " + d.Case
	}
	return fmt.Sprintf("%s  %s → %s", text.OneLine(name), text.Line(d.Base, 60), text.Line(d.Cand, 60))
}

// UnknownNames lists the properties that a side did not record.
func UnknownNames(c *compare.Comparison) []string {
	var names []string
	for _, d := range c.Unknown {
		if !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// testEffect returns the effect of a figure with the interval of its test.
func testEffect(f *compare.Figure) compare.Effect {
	e := f.Effect
	e.Low, e.High, e.Confidence = f.Test.Low, f.Test.High, f.Test.Confidence
	return e
}

// TestNotes says what the intervals and the p-values of the table of metrics are.
func TestNotes(c *compare.Comparison) (notes []string) {
	size, equivalent := 0, false
	for i := range c.Metrics {
		f := &c.Metrics[i]
		if f.Metric != compare.PassRate {
			size = f.Family.Size
		}
		equivalent = equivalent || f.Test.Of == compare.TestEquivalence
	}
	if size > 1 {
		notes = append(notes, fmt.Sprintf("intervals and p of all but the pass rate: Holm over %d tests", size))
	}
	if equivalent {
		notes = append(notes, "equivalent: the interval and p of the test that the effect is within the margin")
	}
	return notes
}

// MetricCells renders one row of the table of metrics: the effect with the interval and the p-value
// of the one test that is made. The last cell is the conclusion.
func MetricCells(f *compare.Figure) []string {
	name := strings.ReplaceAll(string(f.Metric), "_", " ")
	if f.Among != "" {
		name = "passed " + name
	}
	relation, p := PNumber(f.Test.P)
	if relation == "=" {
		relation = ""
	}
	word := string(f.Conclusion)
	switch {
	case f.Pairs == 0:
		word = "no values"
	case !f.Effect.OK():
		word = "no interval"
	}
	effect := testEffect(f)
	return []string{
		name, levelOf(f, &f.Baseline), levelOf(f, &f.Candidate), IntervalWords(&effect, repetitions(f)),
		relation + p, word,
	}
}

// UnprovenPasses reports whether unproven gates exist that do not fail.
func UnprovenPasses(c *compare.Comparison) bool {
	return c.UnprovenPass && slices.ContainsFunc(c.Gates, func(g compare.GateOutcome) bool {
		return g.Result == compare.Unproven
	})
}

// CaseName names a case, with the id on each side if they differ.
func CaseName(c *compare.CaseResult) string {
	if c.BaselineCase != "" {
		return c.BaselineCase + " → " + c.Case
	}
	return c.Case
}

// PairWords is CaseName with the runner if there are several.
func PairWords(all *compare.Comparison, c *compare.CaseResult) string {
	if len(all.Runners) > 1 {
		return CaseName(c) + " on " + c.Runner
	}
	return CaseName(c)
}

// CaseFacts describes how a case changed.
func CaseFacts(c *compare.CaseResult) []string {
	parts := []string{countsWords(c)}
	if c.Whole {
		parts[0] += " executions"
	}
	if c.Baseline.Measured > 1 || c.Candidate.Measured > 1 {
		parts = append(parts, pWords(c.P))
	}
	if c.Label != "" {
		parts = append(parts, text.OneLine(c.Label)+" before")
	}
	if f := c.Confirmation; f != nil {
		parts = append(parts, fmt.Sprintf("again %d/%d", f.Candidate.Passed, f.Candidate.Measured))
	}
	return parts
}

// NameList is a list of names with its label.
type NameList struct {
	Label string
	Names []string
}

// UnpairedLists lists the cases that are not paired or not measured. Empty lists are left out.
func UnpairedLists(c *compare.Comparison) []NameList {
	var unmeasured []string
	for i := range c.Cases.Unmeasured {
		name := c.Cases.Unmeasured[i].Case
		if len(c.Runners) > 1 {
			name += " on " + c.Cases.Unmeasured[i].Runner
		}
		unmeasured = append(unmeasured, name)
	}
	lists := []NameList{
		{"only in the baseline", c.Cases.OnlyBaseline},
		{"only in the candidate", c.Cases.OnlyCandidate},
		{"not measured on both sides", unmeasured},
	}
	return slices.DeleteFunc(lists, func(l NameList) bool { return len(l.Names) == 0 })
}

// levelOf renders the value of a metric on one side.
func levelOf(f *compare.Figure, l *compare.Level) string {
	v := float64(l.Value)
	switch {
	case !l.Value.OK():
		return "–"
	case f.Metric == compare.PassRate:
		return text.Count(l.Passed) + "/" + text.Count(l.Measured)
	case f.Metric == compare.Cost:
		return text.Money(v)
	case f.Metric == compare.Latency:
		return text.Millis(int64(math.Round(v)))
	case f.Metric == compare.Score:
		return fmt.Sprintf("%.3f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return text.Count(int64(math.Round(v)))
	}
}

// SomeOf lists the first names.
func SomeOf(names []string, most int) string {
	s := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		s += fmt.Sprintf(" and %s more", text.Count(more))
	}
	return s
}

// ClassesOf returns a case of each failure class, the most frequent class first.
func ClassesOf(list []compare.CaseResult) []*compare.CaseResult {
	var first []*compare.CaseResult
	counts := map[string]int{}
	for i := range list {
		if counts[list[i].Class.ID] == 0 {
			first = append(first, &list[i])
		}
		counts[list[i].Class.ID]++
	}
	slices.SortStableFunc(first, func(a, b *compare.CaseResult) int { return counts[b.Class.ID] - counts[a.Class.ID] })
	return first
}

// SessionEnd renders an event of a session; "" is the end of the session.
func SessionEnd(event string) string {
	if event == "" {
		return "the session had ended"
	}
	return event
}
