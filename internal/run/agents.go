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

// worksInDirectory reports whether the sessions of a runner work in a directory and leave files behind.
func worksInDirectory(r *plumb.RunnerInfo) bool {
	return r.Kind == plumb.RunnerAgent || r.Kind == plumb.RunnerCommand
}

// place gives a session its directories: where it works, and where its artifacts go. What is left of an earlier process's
// attempt at the same session is removed.
func (e *engine) place(ctx context.Context, u unit, req *plumb.Request) (*workspace, *plumb.Failure, error) {
	if u.info.Kind != plumb.RunnerAgent && (u.info.Kind != plumb.RunnerCommand || e.places.Config.Mode == "") {
		return nil, nil, nil
	}
	dir := e.artifacts(u, req.Session)
	if err := os.RemoveAll(dir); err != nil {
		return nil, nil, fmt.Errorf("clear the artifact directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the artifact directory: %w", err)
	}
	id, err := e.places.id()
	if err != nil {
		return nil, plumb.Failed(plumb.OriginWorkspace, err), nil
	}
	req.ArtifactDir, req.Marker = dir, id+"/"+strconv.FormatInt(e.started.Add(1), 10)
	ws, failure := e.places.prepare(ctx, u, req.Session, dir)
	if ws != nil && failure == nil {
		req.Workspace = ws.path
	}
	return ws, failure, nil
}

// artifacts returns the artifact directory of a session.
func (e *engine) artifacts(u unit, session int) string {
	return plumb.SessionDir(plumb.ExecutionDir(e.Dir.Path, u.c.ID, &u.info), u.repetition, session)
}

// canary does the executions of the first case on agents one after the other, so that a model that is rejected, or an agent
// that does not work, is known before everything is started.
func (e *engine) canary(ctx context.Context) error {
	for _, u := range e.todo.canary() {
		if e.stopped() {
			return nil
		}
		if err := e.perform(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// classify lets the case name the class of a failure. A classifier that cannot leaves it as it is, and says so.
func (e *engine) classify(ctx context.Context, u unit, ev plumb.Evidence, a *attempt, j *plumb.Judgement) {
	if u.c.Classify == nil || j.Failure == nil {
		return
	}
	dir := ""
	if worksInDirectory(&u.info) {
		dir = e.artifacts(u, a.session)
	}
	if ev.Report == nil {
		ev.Report = skeleton(u)
	}
	class, err := u.c.Classify(ctx, plumb.FailedSession{Evidence: ev, Judgement: j, ArtifactDir: dir, ExecutionArtifactDir: dir})
	failure := *j.Failure // the judgement may share it with the session
	switch {
	case err != nil:
		failure.Hint = "classifyFailure of the case broke: " + err.Error()
	case class != nil:
		failure.Class = *class
	}
	j.Failure = &failure
}

// skeleton is the documented report where there is none.
func skeleton(u unit) *plumb.SessionReport {
	report := &plumb.SessionReport{Runner: u.info, Prompt: plumb.PromptText(u.c.Messages)}
	complete(report, plumb.Request{Messages: u.c.Messages}, time.Now(), time.Now())
	report.Usage.InputChars = int64(len(utf16.Encode([]rune(report.Prompt))))
	report.Usage.Total()
	return report
}

// keep writes the artifacts of a session that was judged, and tidies its workspace up.
func (e *engine) keep(u unit, a *attempt) error {
	report := a.stored
	a.stored = nil // it is not needed again
	if a.workspace == nil && u.info.Kind != plumb.RunnerAgent {
		return nil
	}
	dir := e.artifacts(u, a.session)
	if report == nil {
		report, _ = redact.Clean(e.Redact, skeleton(u))
	}
	if err := writeJSON(filepath.Join(dir, "report.json"), report); err != nil {
		return fmt.Errorf("write the report of case %s: %w", u.c.ID, err)
	}
	j := a.judgement
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
			return fmt.Errorf("write the error of case %s: %w", u.c.ID, err)
		}
	}
	if a.workspace == nil { // it was not asked
		return nil
	}
	if questions := e.questionsOf(j); len(questions) > 0 {
		sessionID := ""
		if a.report != nil {
			sessionID = a.report.SessionID
		}
		what, _ := redact.Clean(e.Redact, Explanation{
			SuitePath: e.state.Info.SuitePath, CaseID: u.c.ID, RunnerID: u.info.ID, Cwd: a.workspace.path,
			SessionID: sessionID, Questions: questions,
		})
		if err := writeJSON(filepath.Join(dir, ExplainFile), what); err != nil {
			return fmt.Errorf("write the questions of case %s: %w", u.c.ID, err)
		}
	}
	if err := e.places.leave(a.workspace, dir, j.Status.OK()); err != nil {
		return fmt.Errorf("record the workspace of case %s: %w", u.c.ID, err)
	}
	return nil
}

// ExplainFile is the artifact that holds the questions that failed checks leave for the agent.
const ExplainFile = "explain.json"

// Explanation is that artifact. Its keys are documented.
type Explanation struct {
	SuitePath string     `json:"suitePath" redact:"-"`
	CaseID    string     `json:"caseId" redact:"-"`
	RunnerID  string     `json:"runnerId" redact:"-"`
	Cwd       string     `json:"cwd" redact:"-"`
	SessionID string     `json:"sessionId,omitempty"`
	Questions []Question `json:"questions"`
}

// Question is one question of that artifact.
type Question struct {
	Question string `json:"question"`
	Source   Source `json:"source"`
}

// Source is where the check stands that left a question. That its numbers are texts is documented.
type Source struct {
	FilePath string `json:"filePath" redact:"-"`
	Line     string `json:"line" redact:"-"`
	Column   string `json:"column" redact:"-"`
}

func (s Source) String() string {
	return strings.TrimRight(strings.TrimPrefix(s.FilePath, "file://")+":"+s.Line+":"+s.Column, ":")
}

// questionsOf lists the questions of a judgement, with paths that mean the same wherever somebody reads them.
func (e *engine) questionsOf(j *plumb.Judgement) []Question {
	var questions []Question
	for i := range j.Verdicts {
		for _, q := range j.Verdicts[i].Questions {
			file := q.Source.File
			if file != "" && !filepath.IsAbs(file) {
				file = filepath.Join(e.Base, file)
			}
			questions = append(questions, Question{q.Question, Source{file, strconv.Itoa(q.Source.Line), strconv.Itoa(q.Source.Column)}})
		}
	}
	return questions
}

// verify lets Options.Verify find fault with an execution that is green so far.
func (e *engine) verify(g *gather, res *plumb.ExecutionResult) {
	if e.Verify == nil || res.Status != plumb.StatusPassed {
		return
	}
	var sessions []*plumb.SessionReport
	for _, attempts := range g.repetitions {
		if r := attempts[len(attempts)-1].report; r != nil {
			sessions = append(sessions, r)
		}
	}
	f := e.Verify(g.c, g.info, sessions)
	if f == nil {
		return
	}
	class := f.Class
	res.Outcome = f.Origin.Outcome(true)
	res.Status = plumb.StatusOf(res.Outcome, f.Origin, false)
	res.Origin, res.Class, res.Reason = f.Origin, &class, f.Message
}
