package accept

import (
	"encoding/hex"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
)

var (
	runID     = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,99}$`)
	suiteHash = regexp.MustCompile(`^(sha256:[0-9a-f]{1,64})?$`)
)

// check finds the faults of one event.
func (f *fold) check(ev *plumb.Event) {
	f.times(ev)
	f.texts("case", ev.Case)
	f.texts("runner", ev.Runner)
	switch ev.Type {
	case plumb.EventRunStarted:
		if ev.Info != nil {
			f.info(ev.Info)
		}
	case plumb.EventPlanned:
		for i := range ev.Cases {
			c := &ev.Cases[i]
			f.texts("case id", c.ID, c.Hash, c.Category, c.Difficulty, c.Prompt, c.Item)
			f.refuse(c.ID == "", "a case has no id")
			f.refuse(c.Repeat < 0 || c.Repeat > mostResults, "case %q is planned %d times", c.ID, c.Repeat)
		}
	case plumb.EventSessionFinished:
		f.repetition(ev)
		if ev.Report != nil {
			f.report(ev.Report)
		}
	case plumb.EventSessionJudged:
		f.repetition(ev)
		f.judgement(ev.Judgement)
	case plumb.EventExecutionFinished:
		if r := ev.Result; r != nil && (r.Passed < 0 || r.Failed < 0 || r.Errored < 0 || !(r.Score >= 0 && r.Score <= 1)) {
			f.fault("the counts of an execution are not those of a run")
		}
	case plumb.EventRunResumed, plumb.EventSessionStarted, plumb.EventNote, plumb.EventRunFinished:
	default:
		f.fault("this server does not know the event %q", ev.Type)
	}
}

// times checks that the times of a log are ordered and have passed.
func (f *fold) times(ev *plumb.Event) {
	at := ev.At
	if at.Year() < 2000 || at.Year() > 9999 {
		f.fault("the event has no time")
		return
	}
	f.refuse(at.Add(clockSlack).Before(f.last), "the event is earlier than one before it")
	if at.After(f.last) {
		f.last = at
	}
	if f.rules.Now.IsZero() {
		return
	}
	if !f.rules.Sent.IsZero() {
		at = at.Add(f.rules.Now.Sub(f.rules.Sent))
	}
	f.refuse(at.After(f.rules.Now.Add(clockSlack)), "the event is in the future")
}

// refuse adds a fault if a condition holds.
func (f *fold) refuse(when bool, format string, args ...any) {
	if when {
		f.fault(format, args...)
	}
}

// texts checks names, which become ids and words of pages.
func (f *fold) texts(what string, all ...string) {
	for _, s := range all {
		switch {
		case strings.ContainsRune(s, 0):
			f.fault("a %s has a NUL", what)
		case len(s) > nameBytes:
			f.fault("a %s has more than %d bytes", what, nameBytes)
		case !utf8.ValidString(s):
			f.fault("a %s is not UTF-8", what)
		}
	}
}

func (f *fold) info(info *plumb.RunInfo) {
	f.refuse(!runID.MatchString(info.ID), "the id of the run is not one that Plumb gives")
	f.refuse(!suiteHash.MatchString(info.SuiteHash), "the suite hash is not one that Plumb gives")
	f.texts("name", info.SuiteName, info.SuiteVersion, info.Tier, info.Judge, info.PlumbVersion)
	f.refuse(info.SuiteName == "", "the suite has no name")
	if info.Repeat < 0 || info.Repeat > mostResults || info.Cases < 0 {
		f.fault("the numbers of the plan are not those of a run")
	}
	switch info.Share {
	case plumb.ShareScores, plumb.ShareAnswers, plumb.ShareSessions:
	default:
		f.fault("the log does not say what it shares: plumb submit writes that")
	}
	f.refuse(len(info.Runners) == 0, "the run has no runner")
	seen := map[string]bool{}
	for i := range info.Runners {
		r := &info.Runners[i]
		f.texts("runner", r.ID, r.Agent.Type, r.Agent.Model, r.BaseURL)
		switch {
		case r.ID == "" || seen[r.ID]:
			f.fault("the runner %q has no id of its own", r.ID)
		case r.Kind == plumb.RunnerReplay:
			f.fault("the runner %q replays an earlier run", r.ID)
		case r.Kind != plumb.RunnerModel && r.Kind != plumb.RunnerAgent && r.Kind != plumb.RunnerCommand:
			f.fault("the runner %q is of an unknown kind", r.ID)
		}
		seen[r.ID] = true
	}
}

func (f *fold) repetition(ev *plumb.Event) {
	f.refuse(ev.Repetition < 1 || ev.Repetition > mostResults, "a session is of repetition %d", ev.Repetition)
}

func (f *fold) report(r *plumb.SessionReport) {
	f.texts("model", r.Model, r.Fingerprint)
	if h := r.AnswerHash; h != "" {
		if sum, err := hex.DecodeString(h); err != nil || len(sum) != len(Hash{}) {
			f.fault("the hash of the answer is not a SHA-256")
		}
	}
	cost := r.CostUSD
	f.refuse(cost != nil && !(*cost >= 0 && *cost <= mostCostUSD), "the cost of a session is not from 0 to %d USD", mostCostUSD)
	f.refuse(r.LatencyMs < 0 || r.LatencyMs > mostLatencyMs, "the latency of a session is %d ms", r.LatencyMs)
	for _, n := range []*int64{r.Usage.InputTokens, r.Usage.OutputTokens} {
		f.refuse(n != nil && (*n < 0 || *n > mostTokens), "a session used a number of tokens that no session uses")
	}
}

func (f *fold) judgement(j *plumb.Judgement) {
	if j == nil {
		f.fault("a judged session has no judgement")
		return
	}
	switch j.Outcome {
	case plumb.OutcomePass, plumb.OutcomeFail, plumb.OutcomeError, plumb.OutcomeSkipped:
	default:
		f.fault("a session has the outcome %q", j.Outcome)
	}
	f.refuse(!(j.Score >= 0 && j.Score <= 1), "a score is not from 0 to 1")
	if j.Failure != nil {
		f.texts("failure class", j.Failure.Class.ID)
	}
}

// whole finds the faults of a log as a whole.
func (f *fold) whole() {
	if f.run.StartedAt.IsZero() {
		return
	}
	planned := 0
	for i := range f.run.Cases {
		planned += max(f.run.Cases[i].Repeat, f.run.Info.Repeat, 1) * len(f.run.Info.Runners)
		if planned > mostResults {
			f.fault("the run has more than %d planned results", mostResults)
			return
		}
	}
	measured := false
	for _, r := range f.results {
		measured = measured || r.Measured()
	}
	f.refuse(!measured, "nothing was measured")
}

// agree checks that the counts of the log agree, and that its cases are those of the suite.
func (f *fold) agree() {
	run, s := f.run, f.sub
	if run.End != nil {
		if run.Info.Cases != len(run.Cases) {
			f.hold("%d cases were planned, but the log has %d", run.Info.Cases, len(run.Cases))
		}
		if left := run.Totals.Planned - run.Totals.Finished; run.End.Remaining != left {
			f.hold("%d executions are said to remain, but %d do", run.End.Remaining, left)
		}
	}
	type sums struct{ passed, failed, errored, score int64 }
	found := make([]sums, len(run.Executions))
	for i := range s.Results {
		r := &s.Results[i]
		n := &found[r.Case*len(run.Info.Runners)+r.Runner]
		switch r.Outcome {
		case plumb.OutcomePass:
			n.passed++
		case plumb.OutcomeFail:
			n.failed++
		default:
			n.errored++
		}
		n.score += r.Score
	}
	for i := range run.Executions {
		e, n := &run.Executions[i], found[i]
		if e.State != plumb.ExecutionDone {
			continue
		}
		c, runner := run.At(i)
		if int64(e.Passed) != n.passed || int64(e.Failed) != n.failed || int64(e.Errored) != n.errored {
			f.hold("case %q on %q has %d passed, %d failed and %d errors, but its sessions have %d, %d and %d",
				c, runner, e.Passed, e.Failed, e.Errored, n.passed, n.failed, n.errored)
			continue
		}
		measured := n.passed + n.failed
		if measured == 0 {
			continue
		}
		if mean := float64(n.score) / float64(measured) / Million; math.Abs(mean-e.Score) > 1.0/Million {
			f.hold("case %q on %q has the score %.6f, but its sessions have %.6f", c, runner, e.Score, mean)
		}
	}
	f.sameCases()
}
