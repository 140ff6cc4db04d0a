package check

import (
	"context"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// A session that was stored has marks where secrets were, and [plumb.SessionReport.Redacted] names them. What stood at a
// mark is not known, so a check that would have to know is an error. One that the rest of the text decides is made.

// JudgesRedacted reports true: a check is an error where it depends on what was removed.
func (c *Check) JudgesRedacted() bool { return true }

// redactedOutput reports whether a secret was removed from the text that a check of the output looks at.
func redactedOutput(m matcher, ev *plumb.Evidence) bool {
	if len(ev.Report.Redacted) == 0 || !readsOutput(m) {
		return false
	}
	switch m.(type) {
	case *logicMatcher: // its members say
		return false
	case *judgeMatcher:
		if ev.Case == nil && redact.HasMark(ev.Report.Prompt) {
			return true
		}
	}
	return redact.HasMark(ev.Report.FinalOutput)
}

// despiteRemoval judges an output from which a secret was removed: text that is wanted, and stands elsewhere, is there.
func despiteRemoval(ctx context.Context, m matcher, ev *plumb.Evidence) plumb.Verdict {
	t, ok := m.(*textMatcher)
	if !ok || t.kind == typeExactMatch {
		return unmeasured(ev.Report.RemovedFailure())
	}
	left := redact.BetweenMarks(ev.Report.FinalOutput)
	if t.kind == typeStartsWith {
		left = left[:1]
	}
	for _, part := range left {
		report := *ev.Report
		report.FinalOutput = part
		of := *ev
		of.Report = &report
		if v, err := t.match(ctx, &of); err == nil && v.Pass {
			v.Got = short(ev.Report.FinalOutput, shownLimit)
			return v
		}
	}
	return unmeasured(ev.Report.RemovedFailure())
}
