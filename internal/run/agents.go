package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// worksInDirectory reports whether the sessions of a runner work in a directory and write files
// there.
func worksInDirectory(r *plumb.RunnerInfo) bool {
	return r.Kind == plumb.RunnerAgent || r.Kind == plumb.RunnerCommand
}

// prepareDirs creates the directories of a session: its workspace and its artifact directory. It
// removes the files that an earlier process left for the same session.
func (e *engine) prepareDirs(ctx context.Context, t task, req *plumb.Request) (*workspace, *plumb.Failure, error) {
	if t.info.Kind != plumb.RunnerAgent && (t.info.Kind != plumb.RunnerCommand || e.places.Config.Mode == "") {
		return nil, nil, nil
	}
	dir := e.artifacts(t, req.Session)
	if err := os.RemoveAll(dir); err != nil {
		return nil, nil, fmt.Errorf("clear the artifact directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("create the artifact directory: %w", err)
	}
	id, err := e.places.id()
	if err != nil {
		return nil, plumb.Failed(plumb.OriginWorkspace, err), nil
	}
	req.ArtifactDir, req.Marker = dir, id+"/"+strconv.FormatInt(e.started.Add(1), 10)
	ws, failure := e.places.prepare(ctx, t, req.Session, dir)
	if ws != nil && failure == nil {
		req.Workspace = ws.path
	}
	return ws, failure, nil
}

// artifacts returns the artifact directory of a session.
func (e *engine) artifacts(t task, number int) string {
	return plumb.SessionDir(plumb.ExecutionDir(e.Dir.Path, t.c.ID, &t.info), t.repetition, number)
}

// canary performs the executions of the first case on agents one after the other, so that a
// rejected model or a broken agent is found before everything starts.
func (e *engine) canary(ctx context.Context) error {
	tasks, err := e.queue.canary()
	if err != nil {
		return err
	}
	if e.samples != nil {
		tasks = e.samples.canary()
	}
	for _, t := range tasks {
		if e.stopped() {
			return nil
		}
		if err := e.perform(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// classify lets the case choose the class of a failure. If the classifier fails, the class stays,
// and the hint says so.
func (e *engine) classify(ctx context.Context, t task, ev plumb.Evidence, s *session, j *plumb.Judgement) {
	if t.c.Classify == nil || j.Failure == nil {
		return
	}
	dir := ""
	if worksInDirectory(&t.info) {
		dir = e.artifacts(t, s.number)
	}
	if ev.Report == nil {
		ev.Report = skeleton(t)
	}
	class, err := t.c.Classify(
		ctx, plumb.FailedSession{Evidence: ev, Judgement: j, ArtifactDir: dir, ExecutionArtifactDir: dir},
	)
	failure := *j.Failure // the judgement may share it with the session
	switch {
	case err != nil:
		failure.Hint = "classifyFailure of the case failed: " + err.Error()
	case class != nil:
		failure.Class = *class
	}
	j.Failure = &failure
}

// skeleton returns the documented report for a session without one.
func skeleton(t task) *plumb.SessionReport {
	report := &plumb.SessionReport{Runner: t.info, Prompt: plumb.PromptText(t.c.Messages)}
	fillDefaults(report, plumb.Request{Messages: t.c.Messages}, time.Now(), time.Now())
	report.Usage.InputChars = int64(len(utf16.Encode([]rune(report.Prompt))))
	report.Usage.Total()
	return report
}

// writeArtifacts writes the artifacts of a judged session, and cleans up its workspace.
func (e *engine) writeArtifacts(t task, s *session) error {
	report := s.stored
	s.stored = nil // free the memory
	if s.workspace == nil && t.info.Kind != plumb.RunnerAgent {
		return nil
	}
	dir := e.artifacts(t, s.number)
	if report == nil {
		report, _ = redact.Clean(e.Redact, skeleton(t))
	}
	if err := writeJSON(filepath.Join(dir, "report.json"), report); err != nil {
		return fmt.Errorf("write the report of case %s: %w", t.c.ID, err)
	}
	j := s.judgement
	if j.Failure != nil {
		name := j.Failure.Name
		if name == "" {
			name = j.Failure.Origin.ErrorName()
		}
		what, _ := redact.Clean(e.Redact, struct {
			Name    string `json:"name"`
			Message string `json:"message"`
			Stack   string `json:"stack,omitempty"`
		}{name, j.Failure.Message, j.Failure.Stack})
		if err := writeJSON(filepath.Join(dir, "error.json"), what); err != nil {
			return fmt.Errorf("write the error of case %s: %w", t.c.ID, err)
		}
	}
	if s.workspace == nil { // the agent did not run
		return nil
	}
	if questions := e.questionsOf(j); len(questions) > 0 {
		sessionID := ""
		if s.report != nil {
			sessionID = s.report.SessionID
		}
		what, _ := redact.Clean(e.Redact, Explanation{
			SuitePath: e.state.Info.SuitePath, CaseID: t.c.ID, RunnerID: t.info.ID, Cwd: s.workspace.path,
			SessionID: sessionID, Questions: questions,
		})
		if err := writeJSON(filepath.Join(dir, ExplainFile), what); err != nil {
			return fmt.Errorf("write the questions of case %s: %w", t.c.ID, err)
		}
	}
	if err := e.places.cleanUp(s.workspace, dir, j.Status.OK()); err != nil {
		return fmt.Errorf("record the workspace of case %s: %w", t.c.ID, err)
	}
	return nil
}

// ExplainFile is the artifact with the questions for the agent about failed checks.
const ExplainFile = "explain.json"

// Explanation is the content of [ExplainFile]. Its keys are documented.
type Explanation struct {
	SuitePath string     `json:"suitePath" redact:"-"`
	CaseID    string     `json:"caseId" redact:"-"`
	RunnerID  string     `json:"runnerId" redact:"-"`
	Cwd       string     `json:"cwd" redact:"-"`
	SessionID string     `json:"sessionId,omitempty"`
	Questions []Question `json:"questions"`
}

// Question is one question in an [Explanation].
type Question struct {
	Question string `json:"question"`
	Source   Source `json:"source"`
}

// Source is the place of the check that asks a question. Its numbers are strings, as documented.
type Source struct {
	FilePath string `json:"filePath" redact:"-"`
	Line     string `json:"line" redact:"-"`
	Column   string `json:"column" redact:"-"`
}

func (s Source) String() string {
	return strings.TrimRight(strings.TrimPrefix(s.FilePath, "file://")+":"+s.Line+":"+s.Column, ":")
}

// questionsOf returns the questions of a judgement, with absolute paths.
func (e *engine) questionsOf(j *plumb.Judgement) []Question {
	var questions []Question
	for i := range j.Verdicts {
		for _, q := range j.Verdicts[i].Questions {
			file := q.Source.File
			if file != "" && !filepath.IsAbs(file) {
				file = filepath.Join(e.Base, file)
			}
			questions = append(
				questions,
				Question{q.Question, Source{file, strconv.Itoa(q.Source.Line), strconv.Itoa(q.Source.Column)}},
			)
		}
	}
	return questions
}

// verify lets Input.Verify reject an execution that is green so far.
func (e *engine) verify(x *execution, res *plumb.ExecutionResult) {
	if e.Verify == nil || res.Status != plumb.StatusPassed {
		return
	}
	var reports []*plumb.SessionReport
	for _, sessions := range x.repetitions {
		if r := sessions[len(sessions)-1].report; r != nil {
			reports = append(reports, r)
		}
	}
	var f *plumb.Failure
	if res.Snapshot, f = e.Verify(x.c, x.info, reports); f == nil {
		return
	}
	class := f.Class
	res.Outcome = f.Origin.Outcome(true)
	res.Status = plumb.StatusOf(res.Outcome, f.Origin, false)
	res.Origin, res.Class, res.Reason = f.Origin, &class, f.Message
}
