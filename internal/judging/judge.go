// Package judging turns the verdicts of checks into the judgement of a session: pass, fail, or a
// reason why it could not be measured. It asks no runner and starts no process.
package judging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// Session returns the judgement of one session. A session that broke off is not checked: the origin
// of its failure decides. Otherwise one check that does not pass makes a fail, even if other checks
// could not be made. If no check failed, one that could not be made makes an error. With a least
// score, the mean of the scores decides instead, and every check must have been made.
func Session(ctx context.Context, ev plumb.Evidence, failure *plumb.Failure) *plumb.Judgement {
	j := &plumb.Judgement{Outcome: plumb.OutcomePass, Verdicts: []plumb.Verdict{}, Failure: failure}
	switch {
	case failure != nil:
		j.Outcome = failure.Origin.Outcome(ev.Report.Began())
	default:
		if ev, j.Failure = transform(ctx, ev); j.Failure != nil {
			j.Outcome = plumb.OutcomeError
			break
		}
		var collected string
		j.Verdicts, collected = check(ctx, ev)
		decide(j, ev, collected)
	}
	origin := plumb.OriginAssertion
	if j.Failure != nil {
		origin = j.Failure.Origin
	}
	j.Status = plumb.StatusOf(j.Outcome, origin, ev.Case.ExpectedFail)
	return j
}

// check calls the assertions of the case. It also returns the message for several failed checks of
// the first assertion that failed, or "".
func check(ctx context.Context, ev plumb.Evidence) (all []plumb.Verdict, collected string) {
	all = []plumb.Verdict{}
	for i, a := range ev.Case.Assertions {
		verdicts, err := assert(ctx, a, ev)
		if collected == "" && green(all) {
			collected = collect(verdicts)
		}
		all = append(all, verdicts...)
		if err != nil {
			all = append(all, plumb.Verdict{
				Name: fmt.Sprintf("assertion %d", i+1), Reason: err.Error(),
				Error: plumb.Failed(plumb.OriginAssertHook, err),
			})
		}
	}
	return all, collected
}

// decide sets the score, the outcome and the failure of j from its verdicts.
func decide(j *plumb.Judgement, ev plumb.Evidence, collected string) {
	const slack = 1e-9 // a mean of scores may be a little less than it should be
	failed, broken, score := weigh(j.Verdicts)
	j.Score = score
	least := ev.Case.MinScore
	switch {
	case broken != nil && (failed == nil || least != nil): // a score of only some checks says nothing
		j.Outcome, j.Failure = plumb.OutcomeError, broken.Error
	case least != nil && score+slack < *least:
		j.Outcome = plumb.OutcomeFail
		short := plumb.Verdict{
			Name: "min_score", Score: score, Reason: fmt.Sprintf("the score is %.3f, want at least %g", score, *least),
		}
		if failed == nil {
			failed = &short
		}
		j.Failure = failureOf(failed, j.Verdicts, ev.Report, collected)
		if failed != &short {
			short.Reason += ": " + j.Failure.Message
		}
		j.Failure.Message = reason(&short)
		j.Verdicts = slices.Insert(j.Verdicts, 0, short)
	case least == nil && failed != nil:
		j.Outcome = plumb.OutcomeFail
		j.Failure = failureOf(failed, j.Verdicts, ev.Report, collected)
	}
}

// weigh returns the first verdict that failed, the most urgent of those that could not be had, and
// the weighted mean of the scores of the others.
func weigh(verdicts []plumb.Verdict) (failed, broken *plumb.Verdict, score float64) {
	var weight float64
	for i := range verdicts {
		v := &verdicts[i]
		if v.Error != nil {
			if broken == nil || MoreUrgent(v.Error, broken.Error) {
				broken = v
			}
			continue
		}
		if !v.Pass && failed == nil {
			failed = v
		}
		w := cmp.Or(v.Weight, 1)
		score += w * v.Score
		weight += w
	}
	if weight > 0 {
		score /= weight
	}
	return failed, broken, score
}

// failureOf returns the failure of a session because of a verdict that failed, in the documented
// form.
func failureOf(v *plumb.Verdict, all []plumb.Verdict, r *plumb.SessionReport, collected string) *plumb.Failure {
	f := &plumb.Failure{
		Origin: plumb.OriginAssertion, Class: classOf(v, r), Message: cmp.Or(collected, reason(v)),
		Source: v.Source, Stack: v.Stack,
	}
	if thrown(v) {
		f.Name = plumb.OriginAssertion.ErrorName()
		if collected != "" {
			f.Stack = stacks(all)
		}
	}
	return f
}

// MoreUrgent reports whether of two reasons why something could not be measured, a should be told
// before b: a broken check has to be repaired, and other reasons may pass.
func MoreUrgent(a, b *plumb.Failure) bool {
	return a != nil && a.Origin == plumb.OriginAssertHook && (b == nil || b.Origin != plumb.OriginAssertHook)
}

// transform returns the evidence with the output that the transform of the case makes of the
// answer. The report of the session keeps the answer.
func transform(ctx context.Context, ev plumb.Evidence) (out plumb.Evidence, failure *plumb.Failure) {
	if ev.Case.Transform == nil {
		return ev, nil
	}
	defer func() {
		if p := recover(); p != nil {
			out, failure = ev, plumb.Failuref(plumb.OriginAssertHook, "the transform crashed: %v\n%s", p, debug.Stack())
		}
	}()
	if len(ev.Report.Redacted) > 0 {
		return ev, ev.Report.RemovedFailure()
	}
	output, err := ev.Case.Transform(ctx, ev)
	if err != nil {
		if f, ok := errors.AsType[*plumb.Failure](err); ok {
			f.Message = "transform: " + f.Message
			return ev, f
		}
		return ev, plumb.Failuref(plumb.OriginAssertHook, "transform: %w", err)
	}
	report := *ev.Report
	report.FinalOutput = output
	ev.Report = &report
	return ev, nil
}

// green reports whether no verdict failed.
func green(verdicts []plumb.Verdict) bool {
	return !slices.ContainsFunc(verdicts, func(v plumb.Verdict) bool { return !v.Pass && v.Error == nil })
}

// collect returns the documented message for several failed checks of one assertion, or "".
func collect(verdicts []plumb.Verdict) string {
	var b strings.Builder
	n := 0
	for i := range verdicts {
		if v := &verdicts[i]; !v.Pass && v.Error == nil {
			n++
			fmt.Fprintf(&b, "\n%d. %s", n, reason(v))
		}
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%d assertion failures collected during case execution:%s", n, b.String())
}

// stacks returns the stacks of all thrown errors, in the documented form.
func stacks(verdicts []plumb.Verdict) string {
	var all []string
	for i := range verdicts {
		if v := &verdicts[i]; !v.Pass && v.Error == nil && thrown(v) {
			all = append(all, fmt.Sprintf("%d. %s", len(all)+1, v.Stack))
		}
	}
	return strings.Join(all, "\n")
}

// thrown reports whether a suite in code threw the error v. Its message is then kept unchanged, as
// documented.
func thrown(v *plumb.Verdict) bool { return v.Stack != "" }

func reason(v *plumb.Verdict) string {
	if v.Name == "" || thrown(v) {
		return v.Reason
	}
	return v.Name + ": " + v.Reason
}

// classOf returns the class of a failed check: its own class, or the way in which the provider cut
// the answer off, or the default.
func classOf(v *plumb.Verdict, r *plumb.SessionReport) plumb.FailureClass {
	switch {
	case v.Class != nil:
		return *v.Class
	case r.FinishReason == plumb.FinishTruncated:
		return plumb.ClassTruncated()
	case r.FinishReason == plumb.FinishRefused:
		return plumb.ClassRefused()
	default:
		return plumb.OriginAssertion.Class()
	}
}

// assert calls a and turns a panic into an error: a broken check is not a result of the model. It
// does not call an assertion that cannot judge a redacted session with such a session.
func assert(ctx context.Context, a plumb.Assertion, ev plumb.Evidence) (verdicts []plumb.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			verdicts, err = nil, plumb.Failuref(plumb.OriginAssertHook, "the check crashed: %v\n%s", p, debug.Stack())
		}
	}()
	if ev.Report != nil && len(ev.Report.Redacted) > 0 {
		if r, ok := a.(plumb.RedactedAssertion); !ok || !r.JudgesRedacted() {
			return nil, ev.Report.RemovedFailure()
		}
	}
	return a.Assert(ctx, ev)
}
