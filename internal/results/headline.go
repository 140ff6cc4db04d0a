package results

import (
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// SampleWords describes the pass rate of repetitions: "rate 78 % (234/300 samples, 95 % 72–83 %)".
func SampleWords(x *analyze.Repetitions, dash string) string {
	rate, interval := text.Percent(float64(x.Passed)/float64(x.Measured)), ""
	if x.Rate.OK {
		rate, interval = text.Percent(x.Rate.Value), ", 95 % "+text.Shares(x.Rate.Lo, x.Rate.Hi, dash)
	}
	return fmt.Sprintf("rate %s (%s/%s samples%s)", rate, text.Count(x.Passed), text.Count(x.Measured), interval)
}

// Headline summarizes a run in one line. With repetitions, the rate is that of the samples.
func Headline(run *plumb.Run, r analyze.Rate, dash string) string {
	if r.Planned == 0 {
		return "nothing to run: no case was selected"
	}
	parts := []string{fmt.Sprintf("%s/%s pass", text.Count(r.Passed), text.Count(r.Planned))}
	if x := r.Repetitions(run); x.Repeated && x.Stopped == 0 && x.Measured > 0 {
		parts[0] = SampleWords(&x, dash) + fmt.Sprintf(", %s/%s cases always pass", text.Count(r.Passed), text.Count(r.Planned))
	}
	if r.UnexpectedPassed > 0 {
		parts[0] += fmt.Sprintf(" (%s unexpectedly)", text.Count(r.UnexpectedPassed))
	}
	if r.Failed > 0 {
		fail := text.Count(r.Failed) + " fail"
		switch r.ExpectedFailed {
		case 0:
		case r.Failed:
			fail += " as expected"
		default:
			fail += fmt.Sprintf(" (%s as expected)", text.Count(r.ExpectedFailed))
		}
		parts = append(parts, fail)
	}
	if r.Errored > 0 {
		parts = append(parts, text.Count(r.Errored)+" could not be measured")
	}
	if n := r.NotRun(); n > 0 {
		parts = append(parts, text.Count(n)+" not run")
	}
	return strings.Join(parts, ", ")
}
