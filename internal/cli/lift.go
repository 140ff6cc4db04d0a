package cli

import (
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/text"
)

// showLifts prints what was found with --ablate.
func (a *app) showLifts(j *job.Job, result *job.Result, flags string) error {
	if a.json {
		return nil // the document of the run has them
	}
	lifts, err := j.Lifts(result.Dir)
	if err != nil {
		return err
	}
	for i := range lifts {
		a.showLift(&lifts[i], strings.TrimSpace(fmt.Sprintf("plumb compare %s#%s %s#%s --vary %s %s", result.ID,
			lifts[i].Without, result.ID, lifts[i].Runner, lifts[i].Kind, flags)))
	}
	return nil
}

func (a *app) showLift(l *job.Lift, command string) {
	c := l.Comparison
	effect := "– (nothing was measured on both sides)"
	if c.Effect.Value.OK() {
		effect = fmt.Sprintf("%+.1f pp pass rate", 100*float64(c.Effect.Value))
	}
	if test := c.Test; test.Of != compare.TestNone {
		effect += fmt.Sprintf(", %.4g %% between %+.1f and %+.1f; %s", 100*test.Confidence, 100*float64(test.Low),
			100*float64(test.High), analyze.PWords(float64(test.P)))
	}
	fmt.Fprintf(a.Stdout, "\nlift of %s for %s: %s\n", a.name(l.What), a.name(l.Runner), effect)
	out := func(label, text string) { fmt.Fprintf(a.Stdout, "  %-18s  %s\n", label, text) }
	out("with minus without", map[compare.Conclusion]string{
		compare.Better: "better with it", compare.Worse: "worse with it",
		compare.Equivalent:  "it makes no difference that matters",
		compare.NotDecisive: "not decisive",
	}[c.Conclusion])
	if figure := passRate(c); figure != nil {
		out("passed", fmt.Sprintf("%d/%d with it, %d/%d without", figure.Candidate.Passed, figure.Candidate.Measured,
			figure.Baseline.Passed, figure.Baseline.Measured))
	}
	if l.Countable {
		out("used in", fmt.Sprintf("%d/%d sessions that had it; all of them count", l.Used, l.Sessions))
	}
	cases := func(label string, found []compare.CaseResult) {
		var words []string
		for i, f := range found {
			if i == mostCases {
				words = append(words, fmt.Sprintf("and %d more", len(found)-mostCases))
				break
			}
			words = append(words, fmt.Sprintf("%s (%d/%d with it, %d/%d without)", a.name(f.Case), f.Candidate.Passed,
				f.Candidate.Measured, f.Baseline.Passed, f.Baseline.Measured))
		}
		if len(words) > 0 {
			out(label, strings.Join(words, ", "))
		}
	}
	cases("needs it", l.Needs)
	cases("hurts", l.Hurts)
	out("no difference seen", text.Plural(l.Same, "case")+"; a case needs at least 3 repetitions to show one")
	out("more", a.clean(command))
}

// passRate returns the comparison of the pass rates, or nil.
func passRate(c *compare.Comparison) *compare.Figure {
	if c.Deciding < 0 || c.Deciding >= len(c.Runners) {
		return nil
	}
	return &c.Runners[c.Deciding].Figure
}
