package results

import (
	"cmp"
	"slices"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// Detail selects how much of the sessions a document shows.
type Detail int

// The details.
const (
	Full  Detail = iota // each session report and each verdict once
	Brief               // figures only
)

// Result builds the documented result of the execution.
func (c *Cell) Result(rec *Recording, d Detail) RunnerResult {
	root := c.Run.Info.ArtifactDir
	res := RunnerResult{
		Runner: c.info(), Passed: c.Status.OK(), Status: c.Status, Outcome: c.Outcome,
		RepeatTarget: c.Repeats(), CompletedRepetitions: len(rec.Repetitions), RetryCount: rec.Retries(),
		Cached: int(c.Cached), DurationMs: c.DurationMs, LatencyMs: c.LatencyMs, JudgeCostUSD: c.JudgeCostUSD,
		Steps: c.Steps, Snapshot: c.Snapshot, ExecutionArtifactDir: c.Dir(root),
	}
	if c.State != plumb.ExecutionDone { // the run is over, but this execution is not done
		res.Status, res.Outcome = plumb.StatusSkipped, plumb.OutcomeSkipped
	}
	if c.Priced {
		res.CostUSD = new(c.CostUSD)
	}
	if c.Outcome.Measured() {
		res.Score = new(c.Score)
	}
	if s, ok := analyze.SamplesOf(c.Run, c.Index); ok {
		figures := s.Figures()
		res.Samples, res.Label, res.Sure = &figures, s.Label, figures.Sure
	}
	// A failed execution shows the failed session, not an average over failed and passed sessions.
	last, shown := rec.Last(), rec.Last()
	if !res.Passed {
		shown = rec.Deciding(c.Outcome)
	}
	res.Trouble = executionTrouble(c.Execution, shown).in(d)
	for _, sessions := range rec.Repetitions {
		r := c.repetition(sessions, d)
		if shown != nil && Final(sessions) == shown {
			r.Report, r.Verdicts = nil, nil // the execution has them
		}
		if r.Passed {
			res.SuccessfulRepetitions++
		}
		if res.RepeatTarget == 1 { // documented: the sessions of a single repetition appear at the execution, too
			res.Sessions, r.Sessions = r.Sessions, outlines(r.Sessions, c.Runner)
		}
		res.Repetitions = append(res.Repetitions, r)
	}
	if last == nil {
		return res
	}
	res.Session, res.ArtifactDir = shown.Number, c.SessionDir(root, shown.Repetition, shown.Number)
	if !res.Passed {
		res.StoppedAtRepetition = last.Repetition
		if shown.Report != nil {
			res.DurationMs, res.LatencyMs = shown.Report.DurationMs, shown.Report.LatencyMs
		}
	}
	if usage := usageOf(c.Execution, rec); usage != (plumb.Usage{}) && (d == Brief || len(rec.Repetitions) > 1) {
		res.Usage = &usage // the report of a single repetition has it
	}
	if d == Full {
		res.Report, res.Verdicts = shown.content()
	}
	return res
}

// content returns the report and the verdicts for a document, nil without any.
func (s *Session) content() (report, verdicts any) {
	switch {
	case s.report != nil:
		report = s.report
	case s.Report != nil:
		report = s.Report
	}
	switch {
	case len(s.verdicts) > len("[]"):
		verdicts = s.verdicts
	case s.Judgement != nil && len(s.Judgement.Verdicts) > 0:
		verdicts = s.Judgement.Verdicts
	}
	return report, verdicts
}

// usageOf returns what an execution used: the mean over its repetitions, or the usage of the failed
// session.
func usageOf(e *plumb.Execution, rec *Recording) plumb.Usage {
	if !e.Status.OK() {
		if s := rec.Deciding(e.Outcome); s != nil && s.Report != nil {
			return s.Report.Usage
		}
	}
	return rec.usage()
}

// in removes what a document without sessions does not show.
func (t Trouble) in(d Detail) Trouble {
	if d == Brief && t.Error != nil {
		short := *t.Error
		short.Stack = ""
		t.Error, t.LogPath = &short, ""
	}
	return t
}

// executionTrouble returns why an execution did not pass. As documented, an expected failure has
// none.
func executionTrouble(e *plumb.Execution, decided *Session) Trouble {
	switch {
	case e.State != plumb.ExecutionDone || e.Status.OK():
		return Trouble{}
	case e.Status == plumb.StatusUnexpectedPassed:
		class := plumb.ClassUnexpectedPass()
		return Trouble{Error: &Error{Name: "Error", Message: UnexpectedPass}, Class: &class}
	case decided != nil && decided.Trouble() != nil:
		t := troubleOf(decided.Trouble())
		if e.Class != nil {
			t.Class = e.Class
		}
		return t
	case e.Outcome == plumb.OutcomeSkipped && e.Reason == "":
		return Trouble{}
	}
	return Trouble{Error: &Error{Name: e.Origin.ErrorName(), Message: e.Reason}, Origin: e.Origin, Class: e.Class}
}

// UnexpectedPass is the message for an unexpected pass.
const UnexpectedPass = "passed, but marked expected_fail: remove the mark if this is fixed"

func troubleOf(f *plumb.Failure) Trouble {
	if f == nil {
		return Trouble{}
	}
	return Trouble{
		Error: &Error{
			Name: cmp.Or(f.Name, f.Origin.ErrorName()), Message: f.Message, Stack: f.Stack,
			Hint: f.Hint,
		},
		Origin: f.Origin, Class: &f.Class, LogPath: f.LogPath,
	}
}

func (c *Cell) repetition(sessions []*Session, d Detail) repetitionResult {
	last := Final(sessions)
	r := repetitionResult{
		Repetition:    last.Repetition,
		sessionResult: c.session(last, d),
		RetryCount:    len(sessions) - 1,
	}
	// As documented, all sessions are listed when each has an artifact directory.
	if len(sessions) > 1 || KeepsArtifacts(c.Runner) {
		for _, s := range sessions {
			x := c.session(s, d)
			if s == last {
				x.Report, x.Verdicts = nil, nil // the repetition or the execution has them
			}
			r.Sessions = append(r.Sessions, x)
		}
	}
	return r
}

// outlines returns sessions without the parts that appear elsewhere in the document.
func outlines(sessions []sessionResult, runner *plumb.RunnerInfo) []sessionResult {
	if !KeepsArtifacts(runner) {
		return nil
	}
	out := slices.Clone(sessions)
	for i := range out {
		out[i].Report, out[i].Verdicts = nil, nil
	}
	return out
}

func (c *Cell) session(s *Session, d Detail) sessionResult {
	status := s.Status(c.Info.ExpectedFail)
	r := sessionResult{
		Passed: status.OK(), Status: status, Outcome: s.Outcome(), Session: s.Number,
		Trouble: troubleOf(s.Trouble()).in(d),
	}
	if status == plumb.StatusUnexpectedPassed {
		r.Class = new(plumb.ClassUnexpectedPass())
	}
	if s.Judgement != nil && r.Outcome.Measured() {
		r.Score = &s.Judgement.Score
	}
	if dir := c.SessionDir(c.Run.Info.ArtifactDir, s.Repetition, s.Number); dir != "" {
		r.ArtifactDir, r.ExecutionArtifactDir = dir, dir // documented: both name the session's own directory
		if d == Full {
			r.Runner = c.info()
		}
	}
	if s.Report != nil {
		r.DurationMs = s.Report.DurationMs
		if d == Brief {
			r.Usage = &s.Report.Usage
		}
	}
	if d == Full {
		r.Report, r.Verdicts = s.content()
	}
	return r
}

// Stamp renders a time as documented: ISO 8601 in UTC with milliseconds; "" for no time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
