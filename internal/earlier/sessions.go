package earlier

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/explain"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runner"
)

// storedSessions is a runner that replays stored sessions that no run made.
type storedSessions struct {
	info  plumb.RunnerInfo
	agent string
	cases map[string][]string // the ordered directories or files of the sessions of each case
}

// openSessions finds the sessions of cases below the directory of s. A case has a directory with
// its name, or a file with its name and .json, at any depth. Each directory in it with a
// report.json, or with the stdout of an agent, is one session.
func openSessions(s project.SessionsSpec, cases []plumb.Case) (*storedSessions, error) {
	info, err := os.Stat(s.Dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read sessions: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("read sessions: %s is not a directory", s.Dir)
	}
	id := cmp.Or(s.Agent, "stored")
	st := &storedSessions{agent: s.Agent, cases: map[string][]string{}, info: plumb.RunnerInfo{
		ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerReplay, Agent: plumb.AgentInfo{Type: s.Agent},
		Config: "sessions:" + s.Dir,
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
		case d.IsDir() && (files.Exists(filepath.Join(name, "report.json")) || s.Agent != "" && transcriptIn(name) != ""):
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
		hint := "a session is a directory with a report.json, inside a directory with the name of its case; " +
			"or a file CASE.json (see plumb normalize)"
		if s.Agent == "" {
			hint += "; for transcripts, name the agent with --agent"
		}
		return nil, plumb.WithHint(fmt.Errorf("%s contains no session for a case of the suite", s.Dir), hint)
	}
	for _, dirs := range st.cases {
		slices.SortFunc(dirs, func(a, b string) int { return cmp.Or(explain.CompareSessions(a, b), strings.Compare(a, b)) })
	}
	return st, nil
}

// transcriptIn returns the file in dir with the standard output of an agent, or "".
func transcriptIn(dir string) string {
	for _, name := range []string{"stdout", "stdout.log", "stdout.jsonl", "session.stream.jsonl"} {
		if path := filepath.Join(dir, name); files.Exists(path) {
			return path
		}
	}
	return ""
}

// Info describes the sessions as one runner.
func (s *storedSessions) Info() plumb.RunnerInfo { return s.info }

// Run returns the session of a repetition.
func (s *storedSessions) Run(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	dirs := s.cases[req.CaseID]
	if req.Repetition > len(dirs) {
		return nil, plumb.Failuref(plumb.OriginCollection, "case %s has only %d stored sessions", req.CaseID, len(dirs))
	}
	at := dirs[req.Repetition-1]
	report, err := s.read(at, req)
	if report == nil {
		return nil, err
	}
	if report.Workspace == "" {
		// No run compared the directory before and after the session.
		report.Incomplete = append(report.Incomplete, string(plumb.SessionFileChange))
		if ws := filepath.Join(at, "workspace"); files.Exists(ws) {
			report.Workspace = ws
		}
	}
	if doc, err := json.Marshal(report); err == nil { // the log reports what cannot be encoded
		runner.NoteRemoved(report, doc)
	}
	report.Recorded = true
	return report, err
}

func (s *storedSessions) read(at string, req plumb.Request) (*plumb.SessionReport, error) {
	file := at
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		file = filepath.Join(at, "report.json")
		if stdout := transcriptIn(at); s.agent != "" && stdout != "" {
			return s.normalize(at, stdout, req)
		}
	}
	var kept struct {
		plumb.SessionReport
		Outcome plumb.Outcome  `json:"outcome"`
		Error   *plumb.Failure `json:"error"`
	}
	if err := doc.DecodeFile(file, &kept, doc.Foreign()...); err != nil {
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

// errorBeside returns why the session with its report in file was not measured, or nil. It ignores
// errors of checks, because the session is judged again.
func errorBeside(file string) *plumb.Failure {
	var e struct{ Name, Message string }
	if doc.DecodeFile(filepath.Join(filepath.Dir(file), "error.json"), &e, doc.Foreign()...) != nil {
		return nil //nolint:nilerr // without the file there was no error
	}
	for _, origin := range []plumb.Origin{plumb.OriginRunner, plumb.OriginTimeout, plumb.OriginMaxSteps} {
		if e.Name == origin.ErrorName() {
			return plumb.Failuref(origin, "%s: %s", e.Name, e.Message)
		}
	}
	return nil
}

// normalize returns the report of a transcript.
func (s *storedSessions) normalize(dir, stdout string, req plumb.Request) (*plumb.SessionReport, error) {
	t := agent.Transcript{Stdout: stdout, Session: dir, Prompt: plumb.PromptText(req.Messages)}
	for _, name := range []string{"stderr", "stderr.log"} {
		if path := filepath.Join(dir, name); files.Exists(path) {
			t.Stderr = path
		}
	}
	if sub := filepath.Join(dir, "session"); files.Exists(sub) {
		t.Session = sub
	}
	var meta struct {
		Exit     *int `json:"exit"`
		ExitCode *int `json:"exitCode"`
	}
	name := filepath.Join(dir, "meta.json")
	if data, err := doc.Read(name, doc.StateBytes); err == nil {
		if err := doc.Decode(name, 1, data, &meta); err != nil {
			return nil, plumb.Failuref(plumb.OriginCollection, "read %s: %w", name, err)
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
