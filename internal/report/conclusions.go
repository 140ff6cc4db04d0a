package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// A conclusion is a statement about a run as a whole, beside its rates. All reporters show it.
type conclusion struct {
	// label is one word, and key the name of the property in JUnit reports.
	label, key, text string
	// warning marks a statement that a reader of the rates must know.
	warning bool
}

// conclusionsOf returns the statements about a run.
func conclusionsOf(run *plumb.Run) []conclusion {
	var all []conclusion
	for _, s := range analyze.Snapshots(run) {
		all = append(all, conclusion{"snapshots", "snapshots", snapshotWords(&s), s.Failed})
	}
	return all
}

// level returns the level of c as that of a note.
func (c conclusion) level() string {
	if c.warning {
		return "warning"
	}
	return "info"
}

// snapshotWords says how a runner compares with the samples of its token baselines.
func snapshotWords(s *analyze.SnapshotSuite) string {
	parts := []string{}
	switch {
	case s.Ratio != nil:
		verdict := ""
		if s.Failed {
			verdict = "the suite as a whole uses more: "
		}
		parts = append(parts, fmt.Sprintf("%s%s x%.2f of the samples, 95 %% between x%.2f and x%.2f (%s, %s)", verdict,
			s.Metric, *s.Ratio, roundDown(*s.Low), roundUp(*s.High), plural(s.Tested, "case"), analyze.PWords(*s.P)))
	case s.Tested > 0:
		parts = append(parts, s.Metric+" of "+plural(s.Tested, "case")+" compared")
	}
	if n := s.Cases - s.Tested - s.Recorded; n > 0 {
		words := plural(n, "case") + " not tested"
		if s.Needs > 0 {
			words += fmt.Sprintf(": needs %s (--update-snapshots)", plural(s.Needs, "more sample"))
		}
		parts = append(parts, words)
	}
	if s.Recorded > 0 {
		parts = append(parts, plural(s.Recorded, "case")+" recorded")
	}
	return oneLine(s.Runner) + ": " + strings.Join(parts, "; ")
}

// roundDown and roundUp round to two decimals, so that a shown interval is never narrower than the
// computed one.
func roundDown(x float64) float64 { return math.Floor(x*100) / 100 }

func roundUp(x float64) float64 { return math.Ceil(x*100) / 100 }
