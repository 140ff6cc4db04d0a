package ci

import (
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
)

// whyText explains in full why an execution did not pass, and says what was asked.
func whyText(e *plumb.Execution, s *report.Session) string {
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
