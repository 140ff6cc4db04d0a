package accept

import (
	"context"
	"math"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/judging"
)

// judge makes the checks of a known suite again. A nil judge knows no suite.
type judge struct {
	cases map[string]*plumb.Case
	// reports are the sessions that are not judged yet.
	reports map[place]*plumb.SessionReport
}

func newJudge(cases []plumb.Case) *judge {
	if cases == nil {
		return nil
	}
	j := &judge{cases: map[string]*plumb.Case{}, reports: map[place]*plumb.SessionReport{}}
	for i := range cases {
		j.cases[cases[i].ID] = &cases[i]
	}
	return j
}

// sameCases checks that the cases of the run are those of the suite.
func (f *fold) sameCases() {
	if f.judge == nil {
		return
	}
	for i := range f.run.Cases {
		c := &f.run.Cases[i]
		switch known := f.judge.cases[c.ID]; {
		case known == nil:
			f.hold("the suite has no case %q", c.ID)
		case known.Hash != c.Hash:
			f.hold("case %q is not that of the suite: its hash is another", c.ID)
		}
	}
}

// again judges a session again if its answer is shared, and holds the run if the score is another.
// Only checks that need nothing but the answer are made; of the others the verdicts of the log count.
func (f *fold) again(ctx context.Context, ev *plumb.Event) {
	if f.judge == nil || f.share == plumb.ShareScores {
		return
	}
	at := place{ev.Runner, ev.Case, ev.Repetition}
	switch ev.Type {
	case plumb.EventSessionFinished:
		delete(f.judge.reports, at)
		if ev.Failure == nil && ev.Report != nil && len(ev.Report.Redacted) == 0 {
			f.judge.reports[at] = ev.Report
		}
	case plumb.EventSessionJudged:
		report := f.judge.reports[at]
		delete(f.judge.reports, at)
		c := f.judge.cases[ev.Case]
		if report == nil || c == nil || c.Transform != nil || ev.Judgement == nil || !ev.Judgement.Outcome.Measured() {
			return
		}
		own, ok := checks(c, ev.Judgement.Verdicts)
		if !ok {
			return
		}
		now := judging.Session(ctx, plumb.Evidence{Case: own, Report: report}, nil)
		if now.Outcome != ev.Judgement.Outcome || math.Abs(now.Score-ev.Judgement.Score) > 1.0/Million {
			f.hold("line %d says that case %q has the outcome %s with %.3f, but its answer has %s with %.3f",
				f.line, ev.Case, ev.Judgement.Outcome, ev.Judgement.Score, now.Outcome, now.Score)
		}
	default: // nothing is judged
	}
}

// checks returns the case with checks that need only the answer. ok is false if none of them is left.
func checks(c *plumb.Case, verdicts []plumb.Verdict) (own *plumb.Case, ok bool) {
	if len(verdicts) == len(c.Assertions)+1 && c.MinScore != nil && verdicts[0].Name == "min_score" {
		verdicts = verdicts[1:]
	}
	again := *c
	again.Assertions = make([]plumb.Assertion, len(c.Assertions))
	for i, a := range c.Assertions {
		if k, declared := a.(*check.Check); declared && k.ReadsOutput() {
			again.Assertions[i], ok = a, true
			continue
		}
		if len(verdicts) != len(c.Assertions) {
			return nil, false
		}
		again.Assertions[i] = recorded(verdicts[i])
	}
	return &again, ok
}

// recorded is a verdict that is taken from the log.
type recorded plumb.Verdict

func (r recorded) Assert(context.Context, plumb.Evidence) ([]plumb.Verdict, error) {
	return []plumb.Verdict{plumb.Verdict(r)}, nil
}
