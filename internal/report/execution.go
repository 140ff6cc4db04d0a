package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// recording is what the log holds of one execution: its sessions by repetition, in order.
type recording struct {
	repetitions [][]*session
}

// session is what the log holds of one session.
type session struct {
	repetition, number int
	report             *plumb.SessionReport
	failure            *plumb.Failure
	judgement          *plumb.Judgement
}

// record collects the sessions of one execution. Repetitions may run concurrently, so their events
// interleave. For a session that was measured or judged again, the last event counts.
func record(s Sessions, caseID, runnerID string) (*recording, error) {
	rec := &recording{}
	if s == nil {
		return rec, nil
	}
	err := s(caseID, runnerID, func(ev plumb.Event) error {
		rec.add(ev)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sessions of case %s on runner %s: %w", caseID, runnerID, err)
	}
	return rec, nil
}

// add applies one event of a session.
func (r *recording) add(ev plumb.Event) {
	switch ev.Type {
	case plumb.EventSessionFinished:
		*r.session(ev.Repetition, ev.Session) = session{
			repetition: ev.Repetition, number: ev.Session, report: ev.Report, failure: ev.Failure,
		}
	case plumb.EventSessionJudged:
		r.session(ev.Repetition, ev.Session).judgement = ev.Judgement
	default:
	}
}

// plain reports whether the fold has all figures of an execution: it passed in its only session.
func plain(run *plumb.Run, e *plumb.Execution, info *plumb.CaseInfo) bool {
	return e.Status == plumb.StatusPassed && e.Sessions == 1 && repeatTarget(run, info) == 1
}

// figuresOf returns the figures of the only session of a plain execution.
func figuresOf(e *plumb.Execution) *plumb.SessionReport {
	return &plumb.SessionReport{Usage: e.Usage(), DurationMs: e.DurationMs, LatencyMs: e.LatencyMs}
}

// summarized returns the recording of a plain execution, figures only, without reading the log.
func summarized(e *plumb.Execution) *recording {
	return &recording{repetitions: [][]*session{{{
		repetition: 1, number: 1, report: figuresOf(e),
		judgement: &plumb.Judgement{Outcome: e.Outcome, Status: e.Status, Score: e.Score},
	}}}}
}

// session returns the session with the given numbers and creates it if it is new.
func (r *recording) session(repetition, number int) *session {
	at, known := slices.BinarySearchFunc(r.repetitions, repetition, func(sessions []*session, n int) int {
		return cmp.Compare(sessions[0].repetition, n)
	})
	if !known {
		r.repetitions = slices.Insert(r.repetitions, at, nil)
	}
	sessions := r.repetitions[at]
	i, known := slices.BinarySearchFunc(sessions, number, func(s *session,
		n int,
	) int {
		return cmp.Compare(s.number, n)
	})
	if !known {
		sessions = slices.Insert(sessions, i, &session{repetition: repetition, number: number})
		r.repetitions[at] = sessions
	}
	return sessions[i]
}

// final returns the last session of a repetition, which decides it.
func final(sessions []*session) *session { return sessions[len(sessions)-1] }

// last returns the last session of the execution, or nil.
func (r *recording) last() *session {
	if len(r.repetitions) == 0 {
		return nil
	}
	return final(r.repetitions[len(r.repetitions)-1])
}

// deciding returns the session that best explains the result: the last session with the same
// outcome, or else the last session.
func (r *recording) deciding(outcome plumb.Outcome) *session {
	for _, sessions := range slices.Backward(r.repetitions) {
		if s := final(sessions); s.outcome() == outcome {
			return s
		}
	}
	return r.last()
}

// retries counts the sessions after the first of each repetition.
func (r *recording) retries() int {
	n := 0
	for _, sessions := range r.repetitions {
		n += len(sessions) - 1
	}
	return n
}

// usage returns the mean over the final sessions of all repetitions.
func (r *recording) usage() plumb.Usage {
	var usages []plumb.Usage
	for _, sessions := range r.repetitions {
		if s := final(sessions); s.report != nil {
			usages = append(usages, s.report.Usage)
		}
	}
	return analyze.MeanUsage(usages)
}

// trouble returns why a session did not pass, or nil.
func (s *session) trouble() *plumb.Failure {
	if s.judgement != nil {
		return s.judgement.Failure
	}
	return s.failure
}

// outcome returns how a session ended. A session that was never judged has only its failure.
func (s *session) outcome() plumb.Outcome {
	switch {
	case s.judgement != nil:
		return s.judgement.Outcome
	case s.failure != nil:
		return s.failure.Origin.Outcome(s.report.Began())
	default:
		return plumb.OutcomeError
	}
}

func (s *session) status(expectedFail bool) plumb.Status {
	if s.judgement != nil {
		return s.judgement.Status
	}
	origin := plumb.OriginRunner
	if s.failure != nil {
		origin = s.failure.Origin
	}
	return plumb.StatusOf(s.outcome(), origin, expectedFail)
}

// output returns the answer, or "".
func (s *session) output() string {
	if s == nil || s.report == nil {
		return ""
	}
	return s.report.FinalOutput
}

// The documented shapes. Keys are never renamed. docs/results.md lists the keys that Plumb adds.

type resultError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// trouble is why a session or an execution did not pass, as documented.
type trouble struct {
	Error   *resultError        `json:"error,omitempty"`
	Origin  plumb.Origin        `json:"failureOrigin,omitempty"`
	Class   *plumb.FailureClass `json:"failureClass,omitempty"`
	LogPath string              `json:"failureLogPath,omitempty"`
}

type sessionResult struct {
	// Runner is omitted when sessions have no artifacts.
	Runner               *plumb.RunnerInfo `json:"runner,omitempty"`
	Passed               bool              `json:"passed"`
	Status               plumb.Status      `json:"status"`
	Outcome              plumb.Outcome     `json:"outcome"`
	Score                *float64          `json:"score"`
	Session              int               `json:"session"`
	DurationMs           int64             `json:"durationMs"`
	ExecutionArtifactDir string            `json:"executionArtifactDir,omitempty"`
	ArtifactDir          string            `json:"artifactDir,omitempty"`
	trouble
	Verdicts []plumb.Verdict      `json:"verdicts,omitempty"`
	Usage    *plumb.Usage         `json:"usage,omitempty"`
	Report   *plumb.SessionReport `json:"report,omitempty"`
}

type repetitionResult struct {
	Repetition int `json:"repetition"`
	sessionResult
	RetryCount int             `json:"retryCount"`
	Sessions   []sessionResult `json:"sessions,omitempty"`
}

type runnerResult struct {
	Runner                plumb.RunnerInfo `json:"runner"`
	Passed                bool             `json:"passed"`
	Status                plumb.Status     `json:"status"`
	Outcome               plumb.Outcome    `json:"outcome"`
	Score                 *float64         `json:"score"`
	Session               int              `json:"session,omitempty"`
	RepeatTarget          int              `json:"repeatTarget"`
	CompletedRepetitions  int              `json:"completedRepetitions"`
	SuccessfulRepetitions int              `json:"successfulRepetitions"`
	StoppedAtRepetition   int              `json:"stoppedAtRepetition,omitempty"`
	RetryCount            int              `json:"retryCount"`
	Cached                int              `json:"cached,omitempty"`
	DurationMs            int64            `json:"durationMs"`
	LatencyMs             int64            `json:"latencyMs,omitempty"`
	Steps                 int32            `json:"steps,omitempty"`
	CostUSD               *float64         `json:"costUsd,omitempty"`
	JudgeCostUSD          float64          `json:"judgeCostUsd,omitempty"`
	ExecutionArtifactDir  string           `json:"executionArtifactDir,omitempty"`
	ArtifactDir           string           `json:"artifactDir,omitempty"`
	trouble
	Verdicts    []plumb.Verdict      `json:"verdicts,omitempty"`
	Usage       *plumb.Usage         `json:"usage,omitempty"`
	Report      *plumb.SessionReport `json:"report,omitempty"`
	Sessions    []sessionResult      `json:"sessions,omitempty"`
	Repetitions []repetitionResult   `json:"repetitions,omitempty"`
}

type caseResult struct {
	CaseID        string         `json:"caseId"`
	Tags          []string       `json:"tags"`
	Passed        bool           `json:"passed"`
	CaseHash      string         `json:"caseHash,omitempty"`
	Category      string         `json:"category,omitempty"`
	Difficulty    string         `json:"difficulty,omitempty"`
	ExpectedFail  bool           `json:"expectedFail,omitempty"`
	RunnerResults []runnerResult `json:"runnerResults"`
}

// size estimates the bytes of the reports of a case, so that a buffer for a large one is not copied
// repeatedly.
func (c *caseResult) size() int {
	n := 4 << 10
	for i := range c.RunnerResults {
		if r := c.RunnerResults[i].Report; r != nil {
			n += len(r.Prompt) + len(r.FinalOutput)
			for j := range r.Events {
				e := &r.Events[j]
				n += len(e.Text) + len(e.Args) + len(e.Output) + len(e.Command) + 256
			}
		}
	}
	return n + n/16
}

// detail selects how much of the sessions a document shows.
type detail int

const (
	full  detail = iota // each session report and each verdict once
	brief               // figures only
)

// result builds the documented result of the execution at index i.
func result(run *plumb.Run, i int, rec *recording, dir string, d detail) runnerResult {
	n := len(run.Info.Runners)
	e, info, runner := &run.Executions[i], &run.Cases[i/n], &run.Info.Runners[i%n]
	res := runnerResult{
		Runner: *runner, Passed: e.Status.OK(), Status: e.Status, Outcome: e.Outcome,
		RepeatTarget: repeatTarget(run, info), CompletedRepetitions: len(rec.repetitions), RetryCount: rec.retries(),
		Cached: int(e.Cached), DurationMs: e.DurationMs, LatencyMs: e.LatencyMs, JudgeCostUSD: e.JudgeCostUSD,
		Steps: e.Steps,
	}
	if e.State != plumb.ExecutionDone { // the run is over, but this execution is not done
		res.Status, res.Outcome = plumb.StatusSkipped, plumb.OutcomeSkipped
	}
	if e.Priced {
		res.CostUSD = &e.CostUSD
	}
	if e.Outcome.Measured() {
		res.Score = &e.Score
	}
	// A failed execution shows the failed session, not an average over failed and passed sessions.
	last, shown := rec.last(), rec.last()
	if !e.Status.OK() {
		shown = rec.deciding(e.Outcome)
	}
	res.trouble = executionTrouble(e, shown).in(d)
	for _, sessions := range rec.repetitions {
		r := repetition(sessions, info, runner, dir, d)
		if shown != nil && final(sessions) == shown {
			r.Report, r.Verdicts = nil, nil // the execution has them
		}
		if r.Passed {
			res.SuccessfulRepetitions++
		}
		if res.RepeatTarget == 1 { // documented: the sessions of a single repetition appear at the execution, too
			res.Sessions, r.Sessions = r.Sessions, outlines(r.Sessions, runner)
		}
		res.Repetitions = append(res.Repetitions, r)
	}
	if dir != "" && keepsArtifacts(runner) {
		res.ExecutionArtifactDir = plumb.ExecutionDir(dir, info.ID, runner)
	}
	if last == nil {
		return res
	}
	res.Session = shown.number
	if !res.Passed {
		res.StoppedAtRepetition = last.repetition
	}
	if res.ExecutionArtifactDir != "" {
		res.ArtifactDir = artifactDir(res.ExecutionArtifactDir, shown)
	}
	if !res.Passed && shown.report != nil {
		res.DurationMs, res.LatencyMs = shown.report.DurationMs, shown.report.LatencyMs
	}
	if usage := usageOf(e, rec); usage != (plumb.Usage{}) && (d == brief || len(rec.repetitions) > 1) {
		res.Usage = &usage // the report of a single repetition has it
	}
	if d == full {
		res.Report = shown.report
		if shown.judgement != nil {
			res.Verdicts = shown.judgement.Verdicts
		}
	}
	return res
}

// usageOf returns what an execution used: the mean over its repetitions, or the usage of the failed
// session.
func usageOf(e *plumb.Execution, rec *recording) plumb.Usage {
	if !e.Status.OK() {
		if s := rec.deciding(e.Outcome); s != nil && s.report != nil {
			return s.report.Usage
		}
	}
	return rec.usage()
}

// in removes what a document without sessions does not show.
func (t trouble) in(d detail) trouble {
	if d == brief && t.Error != nil {
		short := *t.Error
		short.Stack = ""
		t.Error, t.LogPath = &short, ""
	}
	return t
}

// executionTrouble returns why an execution did not pass. As documented, an expected failure has
// none.
func executionTrouble(e *plumb.Execution, decided *session) trouble {
	switch {
	case e.State != plumb.ExecutionDone || e.Status.OK():
		return trouble{}
	case e.Status == plumb.StatusUnexpectedPassed:
		class := plumb.ClassUnexpectedPass()
		return trouble{Error: &resultError{Name: "Error", Message: unexpectedPass}, Class: &class}
	case decided != nil && decided.trouble() != nil:
		t := troubleOf(decided.trouble())
		if e.Class != nil {
			t.Class = e.Class
		}
		return t
	case e.Outcome == plumb.OutcomeSkipped && e.Reason == "":
		return trouble{}
	}
	return trouble{Error: &resultError{Name: e.Origin.ErrorName(), Message: e.Reason}, Origin: e.Origin, Class: e.Class}
}

// unexpectedPass is the message for an unexpected pass.
const unexpectedPass = "passed, but marked expected_fail: remove the mark if this is fixed"

func troubleOf(f *plumb.Failure) trouble {
	if f == nil {
		return trouble{}
	}
	return trouble{
		Error: &resultError{
			Name: cmp.Or(f.Name, f.Origin.ErrorName()), Message: f.Message, Stack: f.Stack,
			Hint: f.Hint,
		},
		Origin: f.Origin, Class: &f.Class, LogPath: f.LogPath,
	}
}

func repetition(sessions []*session, info *plumb.CaseInfo, runner *plumb.RunnerInfo, dir string,
	d detail,
) repetitionResult {
	last := final(sessions)
	r := repetitionResult{
		Repetition:    last.repetition,
		sessionResult: sessionOf(last, info, runner, dir, d),
		RetryCount:    len(sessions) - 1,
	}
	// As documented, all sessions are listed when each has an artifact directory.
	if len(sessions) > 1 || keepsArtifacts(runner) {
		for _, s := range sessions {
			x := sessionOf(s, info, runner, dir, d)
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
	if !keepsArtifacts(runner) {
		return nil
	}
	out := slices.Clone(sessions)
	for i := range out {
		out[i].Report, out[i].Verdicts = nil, nil
	}
	return out
}

func sessionOf(s *session, info *plumb.CaseInfo, runner *plumb.RunnerInfo, dir string, d detail) sessionResult {
	status := s.status(info.ExpectedFail)
	r := sessionResult{
		Passed: status.OK(), Status: status, Outcome: s.outcome(), Session: s.number,
		trouble: troubleOf(s.trouble()).in(d),
	}
	if status == plumb.StatusUnexpectedPassed {
		r.Class = new(plumb.ClassUnexpectedPass())
	}
	if s.judgement != nil && r.Outcome.Measured() {
		r.Score = &s.judgement.Score
	}
	if dir != "" && keepsArtifacts(runner) {
		r.ArtifactDir = artifactDir(plumb.ExecutionDir(dir, info.ID, runner), s)
		r.ExecutionArtifactDir = r.ArtifactDir // documented: both name the session's own directory
		if d == full {
			r.Runner = runner
		}
	}
	if s.report != nil {
		r.DurationMs = s.report.DurationMs
		if d == brief {
			r.Usage = &s.report.Usage
		}
	}
	if d == full {
		r.Report = s.report
		if s.judgement != nil {
			r.Verdicts = s.judgement.Verdicts
		}
	}
	return r
}

func repeatTarget(run *plumb.Run, info *plumb.CaseInfo) int {
	if info.Repeat > 0 {
		return info.Repeat
	}
	return max(1, run.Info.Repeat)
}

// keepsArtifacts reports whether the sessions of a runner create files. Sessions of models do not.
func keepsArtifacts(r *plumb.RunnerInfo) bool { return r.Kind != plumb.RunnerModel && r.Kind != "" }

// artifactDir returns the directory with the files of a session.
func artifactDir(executionDir string, s *session) string {
	return plumb.SessionDir(executionDir, s.repetition, s.number)
}

// sessionDir returns the directory with the files of the session of ev, below the run directory
// dir.
func sessionDir(run *plumb.Run, dir string, ev plumb.Event) string {
	runner := run.Runner(ev.Runner)
	if runner == nil || !keepsArtifacts(runner) {
		return dir
	}
	return artifactDir(plumb.ExecutionDir(dir, ev.Case, runner),
		&session{repetition: ev.Repetition, number: ev.Session})
}

// stamp renders a time as documented: ISO 8601 in UTC with milliseconds; "" for no time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
