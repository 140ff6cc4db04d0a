package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// cell is one execution of a run, with its case and its runner.
type cell struct {
	*plumb.Execution
	run    *plumb.Run
	at     int // the index in the run
	info   *plumb.CaseInfo
	runner *plumb.RunnerInfo
}

func cellAt(run *plumb.Run, at int) cell {
	n := len(run.Info.Runners)
	return cell{&run.Executions[at], run, at, &run.Cases[at/n], &run.Info.Runners[at%n]}
}

// name returns the shortest name: the case, with the runner when there are several.
func (c *cell) name() string {
	if len(c.run.Info.Runners) == 1 {
		return text.OneLine(c.info.ID)
	}
	return text.OneLine(c.info.ID) + " > " + text.OneLine(c.runner.ID)
}

// repeats returns the number of planned repetitions.
func (c *cell) repeats() int { return cmp.Or(c.info.Repeat, max(1, c.run.Info.Repeat)) }

// plain reports whether the fold has all figures: the execution passed in its only session.
func (c *cell) plain() bool {
	return c.Status == plumb.StatusPassed && c.Sessions == 1 && c.repeats() == 1
}

// keepsArtifacts reports whether the sessions of a runner create files. Sessions of models do not.
func keepsArtifacts(r *plumb.RunnerInfo) bool { return r.Kind != plumb.RunnerModel && r.Kind != "" }

// dir returns the directory with the files of the execution below the run directory root, or "".
func (c *cell) dir(root string) string {
	if root == "" || !keepsArtifacts(c.runner) {
		return ""
	}
	return plumb.ExecutionDir(root, c.info.ID, c.runner)
}

// sessionDir returns the directory with the files of a session below the run directory root, or "".
func (c *cell) sessionDir(root string, repetition, number int) string {
	dir := c.dir(root)
	if dir == "" {
		return ""
	}
	return plumb.SessionDir(dir, repetition, number)
}

// explain returns the command that asks the agent about a session, or "" when that is not possible:
// the session must be of an agent and have taken place in this run.
func (c *cell) explain(src *Source, repetition, number int) string {
	dir := c.sessionDir(src.dir(c.run), repetition, number)
	if dir == "" || c.runner.Kind != plumb.RunnerAgent || c.run.Info.ScoredFrom != "" || src.recorded(c.run) {
		return ""
	}
	if c.repeats() > 1 || c.Sessions > 1 { // the command asks about this session, and not about the last one
		return "plumb explain " + ShellWord(dir) + src.flags()
	}
	return c.command("explain", src)
}

// command returns the command of plumb with a name that is about this execution alone.
func (c *cell) command(name string, src *Source) string {
	text := "plumb " + name + " " + ShellWord(c.run.Info.ID) + " " + ShellWord(c.info.ID)
	if len(c.run.Info.Runners) > 1 {
		text += " --runner " + ShellWord(c.runner.ID)
	}
	return text + src.flags()
}

// askAbout is explain for a session with checks that have questions.
func (c *cell) askAbout(src *Source, s *session) string {
	if s == nil || s.judgement == nil || !excerptOf(s.judgement).asks {
		return ""
	}
	return c.explain(src, s.repetition, s.number)
}

// tried returns the number of repetitions that ended.
func (c *cell) tried() int { return int(c.Passed + c.Failed + c.Errored) }

// counts returns the number of repetitions and sessions when there is more than one. It counts
// planned repetitions, not attempted ones.
func (c *cell) counts() []string {
	var words []string
	if target := c.repeats(); target > 1 {
		passed := fmt.Sprintf("%d of %d repetitions passed", c.Passed, target)
		if tried := c.tried(); tried < target {
			passed += fmt.Sprintf(", %d not tried", target-tried)
		}
		words = append(words, passed)
	}
	if c.Sessions > 1 {
		words = append(words, text.Plural(int(c.Sessions), "session"))
	}
	if s, ok := analyze.SamplesOf(c.run, c.at); ok && s.Label == analyze.Flaky {
		words = append(words, "flaky ("+sureWords(s.Sure)+")")
	}
	return words
}

// decided reads the sessions of the execution, and returns the one that best explains the result,
// or nil.
func (c *cell) decided(s Sessions) (*recording, *session, error) {
	rec, err := c.record(s)
	if err != nil {
		return nil, nil, err
	}
	return rec, rec.deciding(c.Outcome), nil
}

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

// record collects the sessions of the execution. Repetitions may run concurrently, so their events
// interleave. For a session that was measured or judged again, the last event counts.
func (c *cell) record(s Sessions) (*recording, error) {
	rec := &recording{}
	if s == nil {
		return rec, nil
	}
	err := s(c.info.ID, c.runner.ID, func(ev plumb.Event) error {
		rec.add(ev)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sessions of case %s on runner %s: %w", c.info.ID, c.runner.ID, err)
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

// summarized returns the recording of a plain execution, figures only, without reading the log.
func (c *cell) summarized() *recording {
	return &recording{repetitions: [][]*session{{{
		repetition: 1, number: 1,
		report:    &plumb.SessionReport{Usage: c.Usage(), DurationMs: c.DurationMs, LatencyMs: c.LatencyMs},
		judgement: &plumb.Judgement{Outcome: c.Outcome, Status: c.Status, Score: c.Score},
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
	i, known := slices.BinarySearchFunc(sessions, number, func(s *session, n int) int {
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
	// Samples and Label are absent if fewer than two repetitions were measured, or if the execution
	// stopped early. Sure is absent if the label is undetermined.
	Samples      *analyze.CaseSampleFigures `json:"samples,omitempty"`
	Label        analyze.Label              `json:"label,omitempty"`
	Sure         *float64                   `json:"sure,omitempty"`
	Cached       int                        `json:"cached,omitempty"`
	DurationMs   int64                      `json:"durationMs"`
	LatencyMs    int64                      `json:"latencyMs,omitempty"`
	Steps        int32                      `json:"steps,omitempty"`
	CostUSD      *float64                   `json:"costUsd,omitempty"`
	JudgeCostUSD float64                    `json:"judgeCostUsd,omitempty"`
	// Snapshot is the comparison with the samples of the token baseline.
	Snapshot             *plumb.SnapshotCheck `json:"snapshot,omitempty"`
	ExecutionArtifactDir string               `json:"executionArtifactDir,omitempty"`
	ArtifactDir          string               `json:"artifactDir,omitempty"`
	trouble
	Verdicts    []plumb.Verdict      `json:"verdicts,omitempty"`
	Usage       *plumb.Usage         `json:"usage,omitempty"`
	Report      *plumb.SessionReport `json:"report,omitempty"`
	Sessions    []sessionResult      `json:"sessions,omitempty"`
	Repetitions []repetitionResult   `json:"repetitions,omitempty"`
}

type caseResult struct {
	CaseID       string   `json:"caseId"`
	Tags         []string `json:"tags"`
	Passed       bool     `json:"passed"`
	CaseHash     string   `json:"caseHash,omitempty"`
	Category     string   `json:"category,omitempty"`
	Difficulty   string   `json:"difficulty,omitempty"`
	ExpectedFail bool     `json:"expectedFail,omitempty"`
	// Prompt is the label of the prompt, and Item the id without the prompt; "" without prompts.
	Prompt string `json:"prompt,omitempty"`
	Item   string `json:"item,omitempty"`
	// Source is the place where the case is written.
	Source        plumb.Position `json:"source,omitzero"`
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

// result builds the documented result of the execution.
func (c *cell) result(rec *recording, d detail) runnerResult {
	root := c.run.Info.ArtifactDir
	res := runnerResult{
		Runner: *c.runner, Passed: c.Status.OK(), Status: c.Status, Outcome: c.Outcome,
		RepeatTarget: c.repeats(), CompletedRepetitions: len(rec.repetitions), RetryCount: rec.retries(),
		Cached: int(c.Cached), DurationMs: c.DurationMs, LatencyMs: c.LatencyMs, JudgeCostUSD: c.JudgeCostUSD,
		Steps: c.Steps, Snapshot: c.Snapshot, ExecutionArtifactDir: c.dir(root),
	}
	if c.State != plumb.ExecutionDone { // the run is over, but this execution is not done
		res.Status, res.Outcome = plumb.StatusSkipped, plumb.OutcomeSkipped
	}
	if c.Priced {
		res.CostUSD = &c.CostUSD
	}
	if c.Outcome.Measured() {
		res.Score = &c.Score
	}
	if s, ok := analyze.SamplesOf(c.run, c.at); ok {
		figures := s.Figures()
		res.Samples, res.Label, res.Sure = &figures, s.Label, figures.Sure
	}
	// A failed execution shows the failed session, not an average over failed and passed sessions.
	last, shown := rec.last(), rec.last()
	if !res.Passed {
		shown = rec.deciding(c.Outcome)
	}
	res.trouble = executionTrouble(c.Execution, shown).in(d)
	for _, sessions := range rec.repetitions {
		r := c.repetition(sessions, d)
		if shown != nil && final(sessions) == shown {
			r.Report, r.Verdicts = nil, nil // the execution has them
		}
		if r.Passed {
			res.SuccessfulRepetitions++
		}
		if res.RepeatTarget == 1 { // documented: the sessions of a single repetition appear at the execution, too
			res.Sessions, r.Sessions = r.Sessions, outlines(r.Sessions, c.runner)
		}
		res.Repetitions = append(res.Repetitions, r)
	}
	if last == nil {
		return res
	}
	res.Session, res.ArtifactDir = shown.number, c.sessionDir(root, shown.repetition, shown.number)
	if !res.Passed {
		res.StoppedAtRepetition = last.repetition
		if shown.report != nil {
			res.DurationMs, res.LatencyMs = shown.report.DurationMs, shown.report.LatencyMs
		}
	}
	if usage := usageOf(c.Execution, rec); usage != (plumb.Usage{}) && (d == brief || len(rec.repetitions) > 1) {
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

func (c *cell) repetition(sessions []*session, d detail) repetitionResult {
	last := final(sessions)
	r := repetitionResult{
		Repetition:    last.repetition,
		sessionResult: c.session(last, d),
		RetryCount:    len(sessions) - 1,
	}
	// As documented, all sessions are listed when each has an artifact directory.
	if len(sessions) > 1 || keepsArtifacts(c.runner) {
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
	if !keepsArtifacts(runner) {
		return nil
	}
	out := slices.Clone(sessions)
	for i := range out {
		out[i].Report, out[i].Verdicts = nil, nil
	}
	return out
}

func (c *cell) session(s *session, d detail) sessionResult {
	status := s.status(c.info.ExpectedFail)
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
	if dir := c.sessionDir(c.run.Info.ArtifactDir, s.repetition, s.number); dir != "" {
		r.ArtifactDir, r.ExecutionArtifactDir = dir, dir // documented: both name the session's own directory
		if d == full {
			r.Runner = c.runner
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

// stamp renders a time as documented: ISO 8601 in UTC with milliseconds; "" for no time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
