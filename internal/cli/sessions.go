package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/load"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
)

// sessionsSpec is what run.json keeps of sessions that took place elsewhere.
type sessionsSpec struct {
	Dir string `json:"dir"`
	// Agent is set for transcripts, which have to be normalised.
	Agent string `json:"agent,omitempty"`
}

// stored are sessions that took place elsewhere, played to the cases of a suite.
type stored struct {
	info  plumb.RunnerInfo
	agent string
	cases map[string][]string // the directories or files of each case's sessions, in order
}

// openSessions finds the sessions of the cases below dir. What belongs to a case is the directory with its name, or the file
// with its name and .json, at any depth; each directory in it with a report.json, or with a stdout of an agent, is one session.
func openSessions(s sessionsSpec, cases []plumb.Case) (*stored, error) {
	info, err := os.Stat(s.Dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read sessions: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("read sessions: %s is not a directory", s.Dir)
	}
	id := cmp.Or(s.Agent, "stored")
	st := &stored{agent: s.Agent, cases: map[string][]string{}, info: plumb.RunnerInfo{
		ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerReplay, Agent: plumb.AgentInfo{Type: s.Agent}, Config: "sessions:" + s.Dir,
	}}
	names := map[string]string{}
	for i := range cases {
		names[cases[i].ID] = cases[i].ID
	}
	err = filepath.WalkDir(s.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		of := ""
		rel, err := filepath.Rel(s.Dir, name)
		if err != nil {
			return err
		}
		for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
			of = cmp.Or(of, names[strings.TrimSuffix(part, ".json")], names[part])
		}
		switch {
		case of == "":
		case d.IsDir() && (exists(filepath.Join(name, "report.json")) || s.Agent != "" && transcriptIn(name) != ""):
			st.cases[of] = append(st.cases[of], name)
		case !d.IsDir() && d.Name() == of+".json":
			st.cases[of] = append(st.cases[of], name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	if len(st.cases) == 0 {
		hint := "a session is a directory with a report.json below one with the case's name, or a file CASE.json (see plumb normalise)"
		if s.Agent == "" {
			hint += "; for what agents wrote, name the agent with --agent"
		}
		return nil, plumb.WithHint(fmt.Errorf("%s has no session of a case of the suite", s.Dir), hint)
	}
	for _, dirs := range st.cases {
		slices.SortFunc(dirs, func(a, b string) int {
			switch {
			case later(a, b):
				return 1
			case later(b, a):
				return -1
			default:
				return strings.Compare(a, b)
			}
		})
	}
	return st, nil
}

// transcriptIn returns the file in dir that holds what an agent wrote to its standard output, or "".
func transcriptIn(dir string) string {
	for _, name := range []string{"stdout", "stdout.log", "stdout.jsonl", "session.stream.jsonl"} {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	return ""
}

// Info identifies the sessions as one runner.
func (s *stored) Info() plumb.RunnerInfo { return s.info }

// Run returns the session of a repetition.
func (s *stored) Run(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	dirs := s.cases[req.CaseID]
	if req.Repetition > len(dirs) {
		return nil, plumb.Failuref(plumb.OriginCollection, "there are %d sessions of case %s", len(dirs), req.CaseID)
	}
	at := dirs[req.Repetition-1]
	report, err := s.read(at, req)
	if report == nil {
		return nil, err
	}
	if report.Workspace == "" {
		report.Incomplete = append(report.Incomplete, string(plumb.SessionFileChange)) // nobody compared the directory it worked in
		if ws := filepath.Join(at, "workspace"); exists(ws) {
			report.Workspace = ws
		}
	}
	if doc, err := json.Marshal(report); err == nil { // what cannot be encoded is told where it is stored
		runner.NoteRemoved(report, doc)
	}
	report.Recorded = true
	return report, err
}

func (s *stored) read(at string, req plumb.Request) (*plumb.SessionReport, error) {
	file := at
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		file = filepath.Join(at, "report.json")
		if stdout := transcriptIn(at); s.agent != "" && stdout != "" {
			return s.normalise(at, stdout, req)
		}
	}
	var kept struct {
		plumb.SessionReport
		Outcome plumb.Outcome  `json:"outcome"`
		Error   *plumb.Failure `json:"error"`
	}
	if err := readJSON(file, &kept); err != nil {
		return nil, plumb.Failed(plumb.OriginCollection, err)
	}
	if kept.Error == nil && kept.Outcome == "" {
		kept.Error = errorBeside(file)
	}
	if kept.Error == nil || kept.Error.Origin == plumb.OriginAssertion || kept.Error.Origin == plumb.OriginAssertHook {
		return &kept.SessionReport, nil
	}
	return &kept.SessionReport, kept.Error
}

// errorBeside returns why a session that has its report in file is no measurement, or nil. What its checks threw, then, says
// nothing of the session: it is judged anew.
func errorBeside(file string) *plumb.Failure {
	var e struct{ Name, Message string }
	if readJSON(filepath.Join(filepath.Dir(file), "error.json"), &e) != nil {
		return nil //nolint:nilerr // there is none
	}
	for _, origin := range []plumb.Origin{plumb.OriginRunner, plumb.OriginTimeout, plumb.OriginMaxSteps} {
		if e.Name == origin.ErrorName() {
			return plumb.Failuref(origin, "%s: %s", e.Name, e.Message)
		}
	}
	return nil
}

// normalise makes the report of a transcript.
func (s *stored) normalise(dir, stdout string, req plumb.Request) (*plumb.SessionReport, error) {
	t := agent.Transcript{Stdout: stdout, Session: dir, Prompt: plumb.PromptText(req.Messages)}
	for _, name := range []string{"stderr", "stderr.log"} {
		if path := filepath.Join(dir, name); exists(path) {
			t.Stderr = path
		}
	}
	if sub := filepath.Join(dir, "session"); exists(sub) {
		t.Session = sub
	}
	var meta struct {
		Exit     *int `json:"exit"`
		ExitCode *int `json:"exitCode"`
	}
	if data, err := os.ReadFile(filepath.Join(dir, "meta.json")); err == nil {
		if err := json.Unmarshal(data, &meta); err != nil {
			return nil, plumb.Failuref(plumb.OriginCollection, "read %s: %w", filepath.Join(dir, "meta.json"), err)
		}
	}
	if t.ExitCode = meta.ExitCode; t.ExitCode == nil && meta.Exit != nil && *meta.Exit >= 0 {
		t.ExitCode = meta.Exit
	}
	report, err := agent.Normalize(s.agent, t)
	if report != nil {
		report.Runner = s.info
		report.RawArtifacts.StdoutPath, report.RawArtifacts.StderrPath = t.Stdout, t.Stderr
	}
	return report, err
}

// scoreSessions prepares the judging of sessions that took place elsewhere.
func (a *app) scoreSessions(ctx context.Context, p *project, f *runFlags, suiteRef string, s sessionsSpec) (*job, error) {
	if suiteRef == "" {
		return nil, plumb.WithHint(errors.New("no suite is named to judge the sessions with"), "plumb score suite.ts --sessions DIR")
	}
	if s.Agent != "" {
		if err := known("agent", s.Agent, agent.Types()); err != nil {
			return nil, err
		}
	}
	bundle, suite, err := a.readSuite(ctx, p, suiteRef, f.tier)
	if err != nil {
		return nil, err
	}
	made := spec{
		PlumbVersion: version(), CreatedAt: a.Now().UTC(), Dir: p.config.Dir, Suite: suite.Name, JudgeVotes: f.judgeVotes,
		Sessions: &s, Schedule: run.Parallel, Parallel: f.parallel, Repeat: 1,
		TimeoutMs: run.DefaultTimeout.Milliseconds(), Cache: f.cache, Output: a.path(f.output),
	}
	judge, votes, err := f.judgeConfig(p)
	if err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	if made.JudgeVotes = votes; judge != nil {
		made.Judge = new(specOf(*judge))
	}
	if e := f.embedderConfig(p, nil); e != nil {
		made.Embedder = new(specOf(*e))
	}
	return a.assembleSessions(p, made, bundle, suite) //nolint:contextcheck // a version is asked for with a time limit of its own
}

// assembleSessions makes what a spec of stored sessions describes. Cases without a session are left out, and said to be.
func (a *app) assembleSessions(p *project, s spec, bundle *load.Bundle, suite *plumb.Suite) (*job, error) {
	sessions, err := openSessions(*s.Sessions, suite.Cases)
	if err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	var kept []plumb.Case
	for _, c := range suite.Cases {
		if n := len(sessions.cases[c.ID]); n > 0 {
			c.Repeat = n
			kept = append(kept, c)
		}
	}
	if missing := len(suite.Cases) - len(kept); missing > 0 {
		fmt.Fprintf(a.Stderr, "plumb: without a session, and left out: %s\n", plural(missing, "case"))
	}
	suite.Cases = kept
	if judge, _ := needs(kept); judge && s.Judge == nil {
		return nil, errors.Join(plumb.WithHint(errors.New("the suite asks a judge, and stored sessions cannot judge themselves"), "name a judge with --judge"), bundle.Close())
	}
	j, err := a.assemble(p, s, bundle, suite)
	if err != nil {
		return nil, err
	}
	j.runners = []plumb.Runner{sessions}
	j.options.Runners = j.runners
	return j, nil
}
