// Package explain asks an agent about its own session: the questions that failed checks left are
// put to it in the resumed session. It hides where questions and answers are stored, and how an
// interview that was interrupted goes on.
package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
)

// AnswersFile is the artifact with the answers of an agent about its session.
const AnswersFile = "explanations.json"

// partialFile holds the answers until all questions are answered, so that an interrupted interview
// continues with the next question.
const partialFile = "explanations.partial.json"

// Answers is the content of that artifact. Its keys are documented.
type Answers struct {
	run.Explanation
	CreatedAt string   `json:"createdAt"`
	Questions []Answer `json:"questions"`
}

// Answer is a question about a session with the agent's answer.
type Answer struct {
	run.Question
	Answer       string             `json:"answer"`
	SessionID    string             `json:"sessionId,omitempty"`
	StartedAt    *time.Time         `json:"startedAt,omitempty"`
	EndedAt      *time.Time         `json:"endedAt,omitempty"`
	DurationMs   int64              `json:"durationMs,omitempty"`
	RawArtifacts plumb.RawArtifacts `json:"rawArtifacts"`
}

// Read reads the stored answers about the session in dir.
func Read(dir string) (*Answers, error) {
	var e Answers
	return &e, doc.DecodeFile(filepath.Join(dir, AnswersFile), &e, doc.Foreign()...)
}

// ReadQuestions reads the questions about the session in dir.
func ReadQuestions(dir string) (*run.Explanation, error) {
	var e run.Explanation
	return &e, doc.DecodeFile(filepath.Join(dir, run.ExplainFile), &e, doc.Foreign()...)
}

// FindQuestions returns the artifact directories of the sessions with questions in dir and below
// it: the last session of each execution. There is at least one, or an error.
func FindQuestions(dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("read the artifact directory: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	last := map[string]string{} // the last session of each execution
	var executions []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "explain" || d.Name() == runlog.BundleDir || strings.HasPrefix(d.Name(), "agent-")) {
			return fs.SkipDir
		}
		if d.Name() != run.ExplainFile || d.IsDir() {
			return nil
		}
		session := filepath.Dir(name)
		execution := session
		part := regexp.MustCompile(`^(repeat|session)-`)
		for part.MatchString(filepath.Base(execution)) {
			execution = filepath.Dir(execution)
		}
		if len(execution) < len(dir) {
			execution = dir
		}
		was, known := last[execution]
		if !known {
			executions = append(executions, execution)
		}
		if !known || CompareSessions(session, was) > 0 {
			last[execution] = session
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for questions: %w", err)
	}
	if len(executions) == 0 {
		err := fmt.Errorf("no %s in %s or below it: no failed check there asks a question", run.ExplainFile, dir)
		return nil, plumb.WithHint(err,
			"the grouped checks of suites in code ask questions, such as assert.commands.includes")
	}
	sessions := make([]string, len(executions))
	for i, e := range executions {
		sessions[i] = last[e]
	}
	return sessions, nil
}

// CompareSessions compares two directories of sessions by the numbers of repetition and retry in
// their names.
func CompareSessions(a, b string) int {
	key := func(dir string) []int {
		var key []int
		for part := range strings.SplitSeq(filepath.ToSlash(dir), "/") {
			var n int
			if _, err := fmt.Sscanf(part, "repeat-%d", &n); err == nil {
				key = append(key[:0], n, 1)
			} else if _, err := fmt.Sscanf(part, "session-%d", &n); err == nil && len(key) == 2 {
				key[1] = n
			}
		}
		return key
	}
	return slices.Compare(key(a), key(b))
}

// An Interview asks an agent the questions that the failed checks of one session left.
type Interview struct {
	run.Explanation

	dir     string
	project *project.Project
	factory *project.RunnerFactory
	agent   plumb.Explainer
}

// Open prepares the questions about the session in dir. fromConfig takes the runner from
// the config; else it comes from the run of the session, which must be one of this project: an
// artifact directory from elsewhere must not decide what Plumb starts.
func Open(ctx context.Context, p *project.Project, dir string, fromConfig bool) (_ *Interview, err error) {
	defer func() { err = p.Redactor().Error(err) }()
	v := &Interview{dir: dir, project: p}
	file := filepath.Join(dir, run.ExplainFile)
	questions, err := ReadQuestions(dir)
	if err != nil {
		return nil, err
	}
	v.Explanation = *questions
	switch {
	case len(v.Questions) == 0:
		return nil, fmt.Errorf("%s has no questions", file)
	case v.SessionID == "":
		return nil, fmt.Errorf("%s has no sessionId: the agent did not report the id of its session", file)
	}
	if _, err := os.Stat(v.Cwd); err != nil {
		return nil, plumb.WithHint(fmt.Errorf("the workspace of the session is gone: %w", err),
			"an agent continues in the directory where it worked; keep it with --keep-workspaces")
	}
	config, err := explainer(p, dir, v.RunnerID, fromConfig)
	if err != nil {
		return nil, err
	}
	redact := p.RedactorWith(nil, config)
	if v.factory, err = p.RunnerFactory(project.Requests{Cache: string(runner.CacheOff), Parallel: 1}, redact); err != nil {
		return nil, err
	}
	made, err := v.factory.Make(ctx, []plumb.RunnerConfig{*config})
	if err != nil {
		v.Close()
		return nil, redact.Error(err)
	}
	var ok bool
	if v.agent, ok = made.Runners[0].(plumb.Explainer); !ok {
		v.Close()
		return nil, fmt.Errorf("runner %s cannot answer questions about a session", v.RunnerID)
	}
	return v, nil
}

// Close releases what the interview holds.
func (v *Interview) Close() { v.factory.Close() }

// Redactor returns the redactor with all secrets of the interview.
func (v *Interview) Redactor() *redact.Redactor { return v.factory.Redact }

// Ask asks all questions in the resumed session, one after the other, and stores the answers beside
// them. It calls asking before each question and answered after it. An answer may take at most
// limit. Answers that an interrupted interview got are not asked for again.
func (v *Interview) Ask(
	ctx context.Context, limit time.Duration, asking func(i int, q run.Question), answered func(Answer),
) (*Answers, error) {
	out := Answers{Explanation: v.Explanation, Questions: []Answer{}}
	ref := plumb.SessionRef{SessionID: v.SessionID, Workspace: v.Cwd, ArtifactDir: v.dir}
	earlier := v.earlier()
	for i, q := range v.Questions {
		asking(i, q)
		if i >= len(earlier) {
			limited, cancel := context.WithTimeout(ctx, limit)
			report, err := v.agent.Explain(limited, ref, q.Question)
			cancel()
			if err != nil {
				return nil, v.factory.Redact.Error(plumb.WithHint(fmt.Errorf("question %d: %w", i+1, err), plumb.Hint(err)))
			}
			a, _ := redact.Clean(v.factory.Redact, Answer{
				Question: q, Answer: report.FinalOutput, SessionID: report.SessionID, StartedAt: report.StartedAt,
				EndedAt: report.EndedAt, DurationMs: report.DurationMs, RawArtifacts: report.RawArtifacts,
			})
			earlier = append(earlier, a)
		}
		a := earlier[i]
		ref.SessionID = cmp.Or(a.SessionID, ref.SessionID)
		out.Questions = append(out.Questions, a)
		if err := v.write(partialFile, out); err != nil {
			return nil, err
		}
		answered(a)
	}
	out.CreatedAt = v.project.Env.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if err := v.write(AnswersFile, out); err != nil {
		return nil, err
	}
	out, _ = redact.Clean(v.factory.Redact, out)
	return &out, os.Remove(filepath.Join(v.dir, partialFile))
}

// write stores answers without secrets.
func (v *Interview) write(name string, out Answers) error {
	out, _ = redact.Clean(v.factory.Redact, out)
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return runlog.WriteFile(filepath.Join(v.dir, name), append(data, '\n'))
}

// earlier returns the answers of an interrupted interview.
func (v *Interview) earlier() []Answer {
	var e Answers
	if doc.DecodeFile(filepath.Join(v.dir, partialFile), &e, doc.Foreign()...) != nil || e.SessionID != v.SessionID ||
		len(e.Questions) > len(v.Questions) {
		return nil
	}
	for i := range e.Questions {
		if e.Questions[i].Question != v.Questions[i] {
			return nil
		}
	}
	return e.Questions
}

// explainer returns the configuration of the runner that had the session in dir.
func explainer(p *project.Project, dir, runnerID string, fromConfig bool) (*plumb.RunnerConfig, error) {
	config := p.Config.Runner(runnerID)
	if !fromConfig {
		rel, err := filepath.Rel(p.Runs(), dir)
		id, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		path := filepath.Join(p.Runs(), id)
		if err != nil || !filepath.IsLocal(rel) || !runlog.MadeHere(p.Runs(), path) {
			return nil, plumb.WithHint(fmt.Errorf("%s is not in the runs of this project", dir),
				"name the config with the runner of the session with --config, "+
					"or the directory of runs with --output-dir")
		}
		var s project.Spec
		if err := runlog.ReadSpec(path, &s); err != nil {
			return nil, err
		}
		for _, r := range s.Runners {
			if r.ID != runnerID {
				continue
			}
			if err := p.RestoreRunner(&r); err != nil {
				return nil, err
			}
			config = &r
		}
	}
	if config == nil {
		//nolint:staticcheck // the documented text
		return nil, plumb.WithHint(fmt.Errorf("No runner config matches explain runner id: %s", runnerID),
			"name the config with --config")
	}
	return config, nil
}
