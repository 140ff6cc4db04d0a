package results

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/encode"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Cell is one execution of a run, with its case and its runner.
type Cell struct {
	*plumb.Execution
	Run    *plumb.Run
	Index  int // the index in the run
	Info   *plumb.CaseInfo
	Runner *plumb.RunnerInfo
	// encoded is Runner as JSON, for a document that has it many times; or nil.
	encoded encode.Raw
}

// CellAt returns the execution at an index of a run.
func CellAt(run *plumb.Run, at int) Cell {
	n := len(run.Info.Runners)
	return Cell{
		Execution: &run.Executions[at], Run: run, Index: at, Info: &run.Cases[at/n], Runner: &run.Info.Runners[at%n],
	}
}

// info returns what a document says of the runner.
func (c *Cell) info() any {
	if c.encoded != nil {
		return c.encoded
	}
	return c.Runner
}

// Repeats returns the number of planned repetitions.
func (c *Cell) Repeats() int { return cmp.Or(c.Info.Repeat, max(1, c.Run.Info.Repeat)) }

// KeepsArtifacts reports whether the sessions of a runner create files. Sessions of models do not.
func KeepsArtifacts(r *plumb.RunnerInfo) bool { return r.Kind != plumb.RunnerModel && r.Kind != "" }

// Dir returns the directory with the files of the execution below the run directory root, or "".
func (c *Cell) Dir(root string) string {
	if root == "" || !KeepsArtifacts(c.Runner) {
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
	// report and verdicts are those of a session whose bytes are copied from the log; then Report
	// and Judgement have only figures.
	report, verdicts encode.Raw
}

// Sessions calls yield for each session-finished and session-judged event of one execution, in the
// order of the log, and stops at the first error. When a session was measured or judged again, the
// later event counts. Sessions is safe for concurrent use.
type Sessions func(caseID, runnerID string, yield func(plumb.Event) error) error

// Without returns sessions without the secrets that r knows.
func (s Sessions) Without(r *redact.Redactor) Sessions {
	if s == nil || !r.Hides() {
		return s
	}
	return func(caseID, runnerID string, yield func(plumb.Event) error) error {
		return s(caseID, runnerID, func(ev plumb.Event) error {
			ev, _ = redact.Clean(r, ev)
			return yield(ev)
		})
	}
}

// Stored is [Sessions] for events that stay encoded; see [runlog.Index.Stored].
type Stored func(caseID, runnerID string, buffer []byte, yield func(*runlog.Stored) error) ([]byte, error)

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

// Decided reads the sessions of the execution, and returns the one that best explains the result,
// or nil.
func (c *Cell) Decided(s Sessions) (*Recording, *Session, error) {
	rec, err := c.Record(s)
	if err != nil {
		return nil, nil, err
	}
	return rec, rec.Deciding(c.Outcome), nil
}

// plain reports whether the fold has all figures: the checks decided the execution in its only
// session.
func (c *Cell) plain() bool {
	decided := c.Status == plumb.StatusPassed || c.Status == plumb.StatusFailed && c.Origin == plumb.OriginAssertion
	return decided && c.Sessions == 1 && c.Repeats() == 1
}

// summary is the recording of a plain execution, in one piece of memory.
type summary struct {
	rec       Recording
	list      [1][]*Session
	sessions  [1]*Session
	session   Session
	report    plumb.SessionReport
	judgement plumb.Judgement
}

// summarized returns the recording of a plain execution, figures only, without reading the log.
func (c *Cell) summarized(s *summary) *Recording {
	s.report.Usage, s.report.DurationMs, s.report.LatencyMs = c.Usage(), c.DurationMs, c.LatencyMs
	s.judgement = plumb.Judgement{Outcome: c.Outcome, Status: c.Status, Score: c.Score}
	s.session = Session{Repetition: 1, Number: 1, Report: &s.report, Judgement: &s.judgement}
	s.sessions[0], s.list[0], s.rec.Repetitions = &s.session, s.sessions[:], s.list[:]
	return &s.rec
}

// stored is Record without decoding what a document only copies. The bytes are in memory of m.
func (c *Cell) stored(s Stored, m *worker) (*Recording, error) {
	rec, plain := &Recording{}, c.plain()
	if plain {
		rec = c.summarized(m.summary())
	}
	lines, err := s(c.Info.ID, c.Runner.ID, m.lines, func(x *runlog.Stored) (err error) {
		one := rec.Last()
		if plain && x.Type == plumb.EventSessionJudged {
			one.Judgement.Failure, err = x.Failure()
		} else if !plain {
			var ev plumb.Event
			if ev, err = x.Event(); err == nil {
				rec.Add(ev)
				one = rec.session(ev.Repetition, ev.Session)
			}
		}
		if err != nil {
			return err
		}
		if x.Type == plumb.EventSessionFinished {
			one.report = encode.Raw(x.Report)
		} else {
			one.verdicts = encode.Raw(x.Verdicts)
		}
		return nil
	})
	m.lines = lines
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

// Last returns the last session of the execution, or nil.
func (r *Recording) Last() *Session {
	if len(r.Repetitions) == 0 {
		return nil
	}
	return Final(r.Repetitions[len(r.Repetitions)-1])
}

// Deciding returns the session that best explains the result: the last session with the same
// outcome, or else the last session.
func (r *Recording) Deciding(outcome plumb.Outcome) *Session {
	for _, sessions := range slices.Backward(r.Repetitions) {
		if s := Final(sessions); s.Outcome() == outcome {
			return s
		}
	}
	return r.Last()
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

// Status returns the status of a session.
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
