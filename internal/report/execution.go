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

// Cell is one execution of a run, with its case and its runner.
type Cell struct {
	*plumb.Execution
	Run    *plumb.Run
	At     int // the index in the run
	Info   *plumb.CaseInfo
	Runner *plumb.RunnerInfo
}

func CellAt(run *plumb.Run, at int) Cell {
	n := len(run.Info.Runners)
	return Cell{&run.Executions[at], run, at, &run.Cases[at/n], &run.Info.Runners[at%n]}
}

// Name returns the shortest name: the case, with the runner when there are several.
func (c *Cell) Name() string {
	if len(c.Run.Info.Runners) == 1 {
		return text.OneLine(c.Info.ID)
	}
	return text.OneLine(c.Info.ID) + " > " + text.OneLine(c.Runner.ID)
}

// Repeats returns the number of planned repetitions.
func (c *Cell) Repeats() int { return cmp.Or(c.Info.Repeat, max(1, c.Run.Info.Repeat)) }

// plain reports whether the fold has all figures: the execution passed in its only session.
func (c *Cell) plain() bool {
	return c.Status == plumb.StatusPassed && c.Sessions == 1 && c.Repeats() == 1
}

// keepsArtifacts reports whether the sessions of a runner create files. Sessions of models do not.
func keepsArtifacts(r *plumb.RunnerInfo) bool { return r.Kind != plumb.RunnerModel && r.Kind != "" }

// Dir returns the directory with the files of the execution below the run directory root, or "".
func (c *Cell) Dir(root string) string {
	if root == "" || !keepsArtifacts(c.Runner) {
		return ""
	}
	return plumb.ExecutionDir(root, c.Info.ID, c.Runner)
}

// SessionDir returns the directory with the files of a session below the run directory root, or "".
func (c *Cell) SessionDir(root string, repetition, number int) string {
	dir := c.Dir(root)
	if dir == "" {
		return ""
	}
	return plumb.SessionDir(dir, repetition, number)
}

// Explain returns the command that asks the agent about a session, or "" when that is not possible:
// the session must be of an agent and have taken place in this run.
func (c *Cell) Explain(src *Source, repetition, number int) string {
	dir := c.SessionDir(src.Directory(c.Run), repetition, number)
	if dir == "" || c.Runner.Kind != plumb.RunnerAgent || c.Run.Info.ScoredFrom != "" || src.IsRecording(c.Run) {
		return ""
	}
	if c.Repeats() > 1 || c.Sessions > 1 { // the command asks about this session, and not about the last one
		return "plumb explain " + ShellWord(dir) + src.flags()
	}
	return c.Command("explain", src)
}

// Command returns the command of plumb with a name that is about this execution alone.
func (c *Cell) Command(name string, src *Source) string {
	text := "plumb " + name + " " + ShellWord(c.Run.Info.ID) + " " + ShellWord(c.Info.ID)
	if len(c.Run.Info.Runners) > 1 {
		text += " --runner " + ShellWord(c.Runner.ID)
	}
	return text + src.flags()
}

// AskAbout is explain for a session with checks that have questions.
func (c *Cell) AskAbout(src *Source, s *Session) string {
	if s == nil || s.Judgement == nil || !ExcerptOf(s.Judgement).Asks {
		return ""
	}
	return c.Explain(src, s.Repetition, s.Number)
}

// tried returns the number of repetitions that ended.
func (c *Cell) tried() int { return int(c.Passed + c.Failed + c.Errored) }

// Counts returns the number of repetitions and sessions when there is more than one. It counts
// planned repetitions, not attempted ones.
func (c *Cell) Counts() []string {
	var words []string
	if target := c.Repeats(); target > 1 {
		passed := fmt.Sprintf("%d of %d repetitions passed", c.Passed, target)
		if tried := c.tried(); tried < target {
			passed += fmt.Sprintf(", %d not tried", target-tried)
		}
		words = append(words, passed)
	}
	if c.Sessions > 1 {
		words = append(words, text.Plural(int(c.Sessions), "session"))
	}
	if s, ok := analyze.SamplesOf(c.Run, c.At); ok && s.Label == analyze.Flaky {
		words = append(words, "flaky ("+SureWords(s.Sure)+")")
	}
	return words
}

// Decided reads the sessions of the execution, and returns the one that best explains the result,
// or nil.
func (c *Cell) Decided(s Sessions) (*Recording, *Session, error) {
	rec, err := c.Record(s)
	if err != nil {
		return nil, nil, err
	}
	return rec, rec.deciding(c.Outcome), nil
}

// Recording is what the log holds of one execution: its sessions by repetition, in order.
type Recording struct {
	Repetitions [][]*Session
}

// Session is what the log holds of one session.
type Session struct {
	Repetition, Number int
	Report             *plumb.SessionReport
	Failure            *plumb.Failure
	Judgement          *plumb.Judgement
}

// Record collects the sessions of the execution. Repetitions may run concurrently, so their events
// interleave. For a session that was measured or judged again, the last event counts.
func (c *Cell) Record(s Sessions) (*Recording, error) {
	rec := &Recording{}
	if s == nil {
		return rec, nil
	}
	err := s(c.Info.ID, c.Runner.ID, func(ev plumb.Event) error {
		rec.Add(ev)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sessions of case %s on runner %s: %w", c.Info.ID, c.Runner.ID, err)
	}
	return rec, nil
}

// Add applies one event of a session.
func (r *Recording) Add(ev plumb.Event) {
	switch ev.Type {
	case plumb.EventSessionFinished:
		*r.session(ev.Repetition, ev.Session) = Session{
			Repetition: ev.Repetition, Number: ev.Session, Report: ev.Report, Failure: ev.Failure,
		}
	case plumb.EventSessionJudged:
		r.session(ev.Repetition, ev.Session).Judgement = ev.Judgement
	default:
	}
}

// summarized returns the recording of a plain execution, figures only, without reading the log.
func (c *Cell) summarized() *Recording {
	return &Recording{Repetitions: [][]*Session{{{
		Repetition: 1, Number: 1,
		Report:    &plumb.SessionReport{Usage: c.Usage(), DurationMs: c.DurationMs, LatencyMs: c.LatencyMs},
		Judgement: &plumb.Judgement{Outcome: c.Outcome, Status: c.Status, Score: c.Score},
	}}}}
}

// session returns the session with the given numbers and creates it if it is new.
func (r *Recording) session(repetition, number int) *Session {
	at, known := slices.BinarySearchFunc(r.Repetitions, repetition, func(sessions []*Session, n int) int {
		return cmp.Compare(sessions[0].Repetition, n)
	})
	if !known {
		r.Repetitions = slices.Insert(r.Repetitions, at, nil)
	}
	sessions := r.Repetitions[at]
	i, known := slices.BinarySearchFunc(sessions, number, func(s *Session, n int) int {
		return cmp.Compare(s.Number, n)
	})
	if !known {
		sessions = slices.Insert(sessions, i, &Session{Repetition: repetition, Number: number})
		r.Repetitions[at] = sessions
	}
	return sessions[i]
}

// Final returns the last session of a repetition, which decides it.
func Final(sessions []*Session) *Session { return sessions[len(sessions)-1] }

// last returns the last session of the execution, or nil.
func (r *Recording) last() *Session {
	if len(r.Repetitions) == 0 {
		return nil
	}
	return Final(r.Repetitions[len(r.Repetitions)-1])
}

// deciding returns the session that best explains the result: the last session with the same
// outcome, or else the last session.
func (r *Recording) deciding(outcome plumb.Outcome) *Session {
	for _, sessions := range slices.Backward(r.Repetitions) {
		if s := Final(sessions); s.Outcome() == outcome {
			return s
		}
	}
	return r.last()
}

// Retries counts the sessions after the first of each repetition.
func (r *Recording) Retries() int {
	n := 0
	for _, sessions := range r.Repetitions {
		n += len(sessions) - 1
	}
	return n
}

// usage returns the mean over the final sessions of all repetitions.
func (r *Recording) usage() plumb.Usage {
	var usages []plumb.Usage
	for _, sessions := range r.Repetitions {
		if s := Final(sessions); s.Report != nil {
			usages = append(usages, s.Report.Usage)
		}
	}
	return analyze.MeanUsage(usages)
}

// Trouble returns why a session did not pass, or nil.
func (s *Session) Trouble() *plumb.Failure {
	if s.Judgement != nil {
		return s.Judgement.Failure
	}
	return s.Failure
}

// Outcome returns how a session ended. A session that was never judged has only its failure.
func (s *Session) Outcome() plumb.Outcome {
	switch {
	case s.Judgement != nil:
		return s.Judgement.Outcome
	case s.Failure != nil:
		return s.Failure.Origin.Outcome(s.Report.Began())
	default:
		return plumb.OutcomeError
	}
}

func (s *Session) Status(expectedFail bool) plumb.Status {
	if s.Judgement != nil {
		return s.Judgement.Status
	}
	origin := plumb.OriginRunner
	if s.Failure != nil {
		origin = s.Failure.Origin
	}
	return plumb.StatusOf(s.Outcome(), origin, expectedFail)
}

// Output returns the answer, or "".
func (s *Session) Output() string {
	if s == nil || s.Report == nil {
		return ""
	}
	return s.Report.FinalOutput
}

// The documented shapes. Keys are never renamed. docs/results.md lists the keys that Plumb adds.

type ResultError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// trouble is why a session or an execution did not pass, as documented.
type trouble struct {
	Error   *ResultError        `json:"error,omitempty"`
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

// Detail selects how much of the sessions a document shows.
type Detail int

const (
	Full  Detail = iota // each session report and each verdict once
	Brief               // figures only
)

// Result builds the documented result of the execution.
func (c *Cell) Result(rec *Recording, d Detail) runnerResult {
	root := c.Run.Info.ArtifactDir
	res := runnerResult{
		Runner: *c.Runner, Passed: c.Status.OK(), Status: c.Status, Outcome: c.Outcome,
		RepeatTarget: c.Repeats(), CompletedRepetitions: len(rec.Repetitions), RetryCount: rec.Retries(),
		Cached: int(c.Cached), DurationMs: c.DurationMs, LatencyMs: c.LatencyMs, JudgeCostUSD: c.JudgeCostUSD,
		Steps: c.Steps, Snapshot: c.Snapshot, ExecutionArtifactDir: c.Dir(root),
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
	if s, ok := analyze.SamplesOf(c.Run, c.At); ok {
		figures := s.Figures()
		res.Samples, res.Label, res.Sure = &figures, s.Label, figures.Sure
	}
	// A failed execution shows the failed session, not an average over failed and passed sessions.
	last, shown := rec.last(), rec.last()
	if !res.Passed {
		shown = rec.deciding(c.Outcome)
	}
	res.trouble = executionTrouble(c.Execution, shown).in(d)
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
		res.Report = shown.Report
		if shown.Judgement != nil {
			res.Verdicts = shown.Judgement.Verdicts
		}
	}
	return res
}

// usageOf returns what an execution used: the mean over its repetitions, or the usage of the failed
// session.
func usageOf(e *plumb.Execution, rec *Recording) plumb.Usage {
	if !e.Status.OK() {
		if s := rec.deciding(e.Outcome); s != nil && s.Report != nil {
			return s.Report.Usage
		}
	}
	return rec.usage()
}

// in removes what a document without sessions does not show.
func (t trouble) in(d Detail) trouble {
	if d == Brief && t.Error != nil {
		short := *t.Error
		short.Stack = ""
		t.Error, t.LogPath = &short, ""
	}
	return t
}

// executionTrouble returns why an execution did not pass. As documented, an expected failure has
// none.
func executionTrouble(e *plumb.Execution, decided *Session) trouble {
	switch {
	case e.State != plumb.ExecutionDone || e.Status.OK():
		return trouble{}
	case e.Status == plumb.StatusUnexpectedPassed:
		class := plumb.ClassUnexpectedPass()
		return trouble{Error: &ResultError{Name: "Error", Message: UnexpectedPass}, Class: &class}
	case decided != nil && decided.Trouble() != nil:
		t := troubleOf(decided.Trouble())
		if e.Class != nil {
			t.Class = e.Class
		}
		return t
	case e.Outcome == plumb.OutcomeSkipped && e.Reason == "":
		return trouble{}
	}
	return trouble{Error: &ResultError{Name: e.Origin.ErrorName(), Message: e.Reason}, Origin: e.Origin, Class: e.Class}
}

// UnexpectedPass is the message for an unexpected pass.
const UnexpectedPass = "passed, but marked expected_fail: remove the mark if this is fixed"

func troubleOf(f *plumb.Failure) trouble {
	if f == nil {
		return trouble{}
	}
	return trouble{
		Error: &ResultError{
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
	if len(sessions) > 1 || keepsArtifacts(c.Runner) {
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

func (c *Cell) session(s *Session, d Detail) sessionResult {
	status := s.Status(c.Info.ExpectedFail)
	r := sessionResult{
		Passed: status.OK(), Status: status, Outcome: s.Outcome(), Session: s.Number,
		trouble: troubleOf(s.Trouble()).in(d),
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
			r.Runner = c.Runner
		}
	}
	if s.Report != nil {
		r.DurationMs = s.Report.DurationMs
		if d == Brief {
			r.Usage = &s.Report.Usage
		}
	}
	if d == Full {
		r.Report = s.Report
		if s.Judgement != nil {
			r.Verdicts = s.Judgement.Verdicts
		}
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
