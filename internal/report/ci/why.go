package ci

import (
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/results"
)

// whyText explains in full why an execution did not pass, and says what was asked.
func whyText(e *plumb.Execution, s *results.Session) string {
	x := report.WhyOf(e, s)
	var lines []string
	for _, l := range x.Lines() {
		lines = append(lines, l.Text)
	}
	if s != nil && s.Report != nil && s.Report.Prompt != "" {
		lines = append(lines, "asked     "+report.AskedOf(s.Report.Prompt))
	}
	return strings.Join(lines, "\n")
}

func classID(e *plumb.Execution) string {
	if e.Class != nil {
		return e.Class.ID
	}
	return e.Origin.Class().ID
}

// checked is one line of a report for machines: a gate, or without gates the conclusion for a
// runner.
type checked struct {
	name, runner, text string
	// code is the exit code that the line alone would give.
	code int
}

// checkedLines returns the gates of a comparison, or without gates its conclusions.
func checkedLines(c *compare.Comparison) []checked {
	var lines []checked
	for i := range c.Gates {
		g := &c.Gates[i]
		line := checked{name: g.Text, runner: g.Runner, text: string(g.Result) + ": " + report.GateWords(c, g)}
		switch g.Result {
		case compare.Violated:
			line.code = 1
		case compare.Unproven:
			if !c.UnprovenPass {
				line.code = 3
			}
		case compare.Holds:
		}
		lines = append(lines, line)
	}
	if len(c.Gates) > 0 {
		return lines
	}
	for i := range c.Runners {
		r := &c.Runners[i]
		line := checked{name: "comparison", runner: r.Candidate}
		line.text = string(r.Conclusion) + ": " + r.Reason + "; " + report.FigureWords(&r.Figure, r.Conclusion)
		switch r.Conclusion {
		case compare.Worse:
			line.code = 1
		case compare.NotDecisive:
			line.code = 3
		case compare.Better, compare.Equivalent:
		}
		lines = append(lines, line)
	}
	return lines
}
