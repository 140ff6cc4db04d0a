package check

import (
	"context"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/text"
)

// A stored session has marks in place of secrets, and [plumb.SessionReport.Redacted] names them. A
// check that depends on the text at a mark is an error. A check that the rest of the text decides
// is made.

// JudgesRedacted reports true: a check that depends on a removed secret is an error.
func (c *Check) JudgesRedacted() bool { return true }

// outputRedacted reports whether a secret was removed from the final output.
func outputRedacted(r *plumb.SessionReport) bool {
	return len(r.Redacted) > 0 && redact.HasMark(r.FinalOutput)
}

// withOutput returns ev with another output, which is complete.
func withOutput(ev *plumb.Evidence, output string) *plumb.Evidence {
	e, report := *ev, *ev.Report
	report.FinalOutput, report.Incomplete, report.Redacted = output, nil, nil
	e.Report = &report
	return &e
}

// judgeRedacted judges an output from which a secret was removed. A check that looks for a text
// passes if the rest has it.
func judgeRedacted(ctx context.Context, m matcher, ev *plumb.Evidence) plumb.Verdict {
	t, ok := m.(*textMatcher)
	if !ok || slices.Contains([]string{exactMatch, equalsAny, containsAll, endsWith}, t.kind.Name) {
		return unmeasured(ev.Report.RemovedFailure())
	}
	parts := redact.BetweenMarks(ev.Report.FinalOutput)
	if t.kind.Name == startsWith {
		parts = parts[:1]
	}
	for _, part := range parts {
		if v := t.match(ctx, withOutput(ev, part)); v.Pass {
			v.Got = text.Shorten(shown(ev, ev.Report.FinalOutput), shownLimit)
			return v
		}
	}
	return unmeasured(ev.Report.RemovedFailure())
}
