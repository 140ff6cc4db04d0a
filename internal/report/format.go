package report

import (
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// rateCells renders a rate for the tables of all reports: passed of measured, rate, interval,
// coverage.
func rateCells(r analyze.Rate, dash string) []string {
	rate, interval := "n/a", "n/a"
	if value, ok := r.Value(); ok {
		rate, interval = text.Percent(value), dash
		if lo, hi, ok := r.Interval(); ok {
			interval = text.Shares(lo, hi, dash)
		}
	}
	return []string{
		text.Count(r.Passed) + "/" + text.Count(r.Measured()), rate, interval, text.Count(r.Measured()) + "/" + text.Count(r.Planned),
	}
}

// timesWords describes how long the cases took, or returns "" when none was measured.
func timesWords(run *plumb.Run, dash string) string {
	t := analyze.Times(run)
	if t.N == 0 {
		return ""
	}
	median := text.Millis(t.P50) + " median"
	if t.High > 0 {
		median += " (" + text.Millis(t.Low) + dash + text.Millis(t.High) + ")"
	}
	return fmt.Sprintf("a case %s, %s p90, %s max", median, text.Millis(t.P90), text.Millis(t.Max))
}
