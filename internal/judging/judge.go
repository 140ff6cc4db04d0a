package run

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

// judge returns the judgement of one session. A session that broke off is not checked: the origin
// of its failure decides. Otherwise one check that does not pass makes a fail, even if other checks
// could not be made. If no check failed, one that could not be made makes an error.
func judge(ctx context.Context, ev plumb.Evidence, failure *plumb.Failure) *plumb.Judgement {
	j := &plumb.Judgement{Outcome: plumb.OutcomePass, Verdicts: []plumb.Verdict{}}
	if failure != nil {
		j.Failure = failure
		j.Outcome = failure.Origin.Outcome(ev.Report.Began())
		j.Status = plumb.StatusOf(j.Outcome, failure.Origin, ev.Case.ExpectedFail)
		return j
	}
	ev, j.Failure = transform(ctx, ev)
	if j.Failure != nil {
		j.Outcome = plumb.OutcomeError
		j.Status = plumb.StatusOf(j.Outcome, j.Failure.Origin, ev.Case.ExpectedFail)
		return j
	}
	collected := "" // the message for several failed checks of the first failing assertion
	for i, a := range ev.Case.Assertions {
		verdicts, err := assert(ctx, a, ev)
		if collected == "" && green(j.Verdicts) {
			collected = collect(verdicts)
		}
		j.Verdicts = append(j.Verdicts, verdicts...)
		if err != nil {
			j.Verdicts = append(j.Verdicts, plumb.Verdict{
				Name: fmt.Sprintf("assertion %d", i+1), Reason: err.Error(),
				Error: plumb.Failed(plumb.OriginAssertHook, err),
			})
		}
	}
	var score, weight float64
	var failed, broken *plumb.Verdict
	for i := range j.Verdicts {
		v := &j.Verdicts[i]
		w := v.Weight
		if w == 0 {
			w = 1
		}
		switch {
		case v.Error != nil:
			if broken == nil || moreUrgent(v.Error, broken.Error) {
				broken = v
			}
			continue
		case !v.Pass && failed == nil:
			failed = v
		}
		score += w * v.Score
		weight += w
	}
	if weight > 0 {
		j.Score = score / weight
	}
	origin := plumb.OriginAssertion
	least := ev.Case.MinScore
	const slack = 1e-9 // a mean of scores may be a little less than it should be
	switch {
	case least != nil && broken != nil:
		failed = nil // a score of only some checks says nothing
	case least != nil && j.Score+slack >= *least:
		failed = nil
	case least != nil && failed == nil:
		failed = &plumb.Verdict{Name: "min_score"}
	}
	switch {
	case failed != nil:
		j.Outcome = plumb.OutcomeFail
		j.Failure = &plumb.Failure{
			Origin: plumb.OriginAssertion, Class: classOf(failed, ev.Report),
			Message: cmp.Or(collected, reason(failed)),
			Source:  failed.Source, Stack: failed.Stack,
		}
		if thrown(failed) {
			j.Failure.Name = plumb.OriginAssertion.ErrorName()
			if collected != "" {
				j.Failure.Stack = stacks(j.Verdicts)
			}
		}
		if least != nil {
			short := plumb.Verdict{
				Name: "min_score", Score: j.Score, Reason: fmt.Sprintf("the score is %.3f, want at least %g", j.Score, *least),
			}
			if failed.Name != short.Name {
				short.Reason += ": " + j.Failure.Message
			}
			j.Failure.Message = reason(&short)
			j.Verdicts = slices.Insert(j.Verdicts, 0, short)
		}
	case broken != nil:
		j.Outcome = plumb.OutcomeError
		j.Failure = broken.Error
		origin = broken.Error.Origin
	}
	j.Status = plumb.StatusOf(j.Outcome, origin, ev.Case.ExpectedFail)
	return j
}

// moreUrgent reports whether of two reasons why something could not be measured, a should be told
// before b: a broken check has to be repaired, and other reasons may pass.
func moreUrgent(a, b *plumb.Failure) bool {
	return a != nil && a.Origin == plumb.OriginAssertHook && (b == nil || b.Origin != plumb.OriginAssertHook)
}

// transform returns the evidence with the output that the transform of the case makes of the
// answer. The report of the session keeps the answer.
func transform(ctx context.Context, ev plumb.Evidence) (_ plumb.Evidence, failure *plumb.Failure) {
	if ev.Case.Transform == nil {
		return ev, nil
	}
	defer func() {
		if p := recover(); p != nil {
			failure = plumb.Failuref(plumb.OriginAssertHook, "the transform crashed: %v\n%s", p, debug.Stack())
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

// ask calls r and turns a panic into an error.
func ask(ctx context.Context, r plumb.Runner, req plumb.Request) (report *plumb.SessionReport, err error) {
	defer func() {
		if p := recover(); p != nil {
			report, err = nil, plumb.Failuref(plumb.OriginRunner, "the runner crashed: %v\n%s", p, debug.Stack())
		}
	}()
	report, err = r.Run(ctx, req)
	if report == nil && err == nil {
		err = errors.New("the runner returned neither a report nor an error")
	}
	return report, err
}

// worthRetrying reports whether a repetition that ended with j may be retried. A pass and an
// expected failure are not retried, nor is a failure that would repeat.
func worthRetrying(j *plumb.Judgement) bool {
	return j.Status == plumb.StatusFailed && (j.Failure == nil || !isPermanent(j.Failure))
}

// isPermanent reports whether every later session of the same runner would fail for the same
// reason, whatever earlier sessions of it did.
func isPermanent(f *plumb.Failure) bool {
	return f.Origin == plumb.OriginModelRejected ||
		f.Origin == plumb.OriginRunner && (f.HTTPStatus == 401 || f.HTTPStatus == 402)
}
