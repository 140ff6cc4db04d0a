package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

const secret = "sk-job-test-0123456789abcdef"

// answering is a runner that answers each prompt with the prompt and the secret.
type answering struct{ err error }

func (a answering) Info() plumb.RunnerInfo {
	return plumb.RunnerInfo{ID: "own", PathKey: "own", Kind: plumb.RunnerCommand}
}

func (a answering) Run(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	return &plumb.SessionReport{FinalOutput: req.Messages[0].Content + secret}, a.err
}

// environment returns an Env with a suite in its directory and a secret in its environment.
func environment(t *testing.T) (env project.Env, stdout *strings.Builder) {
	t.Helper()
	stdout = &strings.Builder{}
	env = project.Env{
		Dir: t.TempDir(), Stdout: stdout, Stderr: io.Discard, Now: time.Now,
		Environ: func() []string { return []string{"OPENAI_API_KEY=" + secret} },
		Getenv:  func(name string) string { return map[string]string{"OPENAI_API_KEY": secret}[name] },
	}
	suite := `{"id":"a","category":"factual","input":"hello ","ideal":"hello","assertion":{"type":"contains"}}` + "\n" +
		`{"id":"b","category":"factual","input":"world ","ideal":"hello","assertion":{"type":"contains"}}` + "\n"
	if err := os.WriteFile(filepath.Join(env.Dir, "suite.jsonl"), []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	return env, stdout
}

// TestJobWithoutACommandLine performs a run as a server would, and resumes it.
func TestJobWithoutACommandLine(t *testing.T) {
	env, stdout := environment(t)
	p, err := project.OpenProject(t.Context(), env, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	source, err := p.Read(t.Context(), "suite.jsonl", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	request := job.Request{Settings: config.Defaults(), OwnRunners: []plumb.Runner{answering{}}}
	j, err := job.Open(t.Context(), p, source, request)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	result, err := j.Perform(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Run.Totals; got.Passed != 1 || got.Failed != 1 || got.Finished != 2 {
		t.Errorf("totals %+v", got)
	}
	for _, name := range []string{runlog.EventsFile, runlog.SpecFile, runlog.ResultsFile} {
		data, err := os.ReadFile(filepath.Join(result.Dir, name))
		if err != nil || strings.Contains(string(data), secret) {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
	if !strings.Contains(stdout.String(), "1/2 pass") || strings.Contains(stdout.String(), secret) {
		t.Errorf("the terminal report:\n%s", stdout)
	}
}

// TestErrorsHaveNoSecrets opens jobs that cannot run, for reasons that contain a secret.
func TestErrorsHaveNoSecrets(t *testing.T) {
	env, _ := environment(t)
	p, err := project.OpenProject(t.Context(), env, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, change := range map[string]func(*job.Request){
		"runner": func(r *job.Request) {
			r.Runners = []plumb.RunnerConfig{{ID: "x", Model: secret}}
		},
		"judge": func(r *job.Request) { r.Judge = "judge-" + secret },
		"template": func(r *job.Request) {
			r.Template, r.Runners = secret, []plumb.RunnerConfig{{Command: []string{"cat"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := p.Read(t.Context(), "suite.jsonl", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			request := job.Request{Settings: config.Defaults()}
			change(&request)
			j, err := job.Open(t.Context(), p, source, request)
			if err == nil {
				j.Close()
				t.Fatal("no error")
			}
			if text := err.Error() + plumb.Hint(err); strings.Contains(text, secret) || !strings.Contains(text, "redacted") {
				t.Errorf("got %s", text)
			}
		})
	}
}

// TestReportErrorKeepsItsIdentity performs a job whose report cannot be opened.
func TestReportErrorKeepsItsIdentity(t *testing.T) {
	env, _ := environment(t)
	p, err := project.OpenProject(t.Context(), env, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	source, err := p.Read(t.Context(), "suite.jsonl", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	j, err := job.Open(t.Context(), p, source, job.Request{Settings: config.Defaults(), OwnRunners: []plumb.Runner{answering{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	result, err := j.Perform(t.Context(), []string{"junit:suite.jsonl/" + secret + "/out.xml"}, nil)
	if result != nil || err == nil || strings.Contains(err.Error(), secret) || !errors.As(err, new(*os.PathError)) {
		t.Errorf("got %v, %v", result, err)
	}
	if ids, err := runlog.List(p.Runs()); err != nil || len(ids) != 0 {
		t.Errorf("the run was not discarded: %v %v", ids, err)
	}
}

// TestSpecReadsOldRuns reads a run.json of the previous version.
func TestSpecReadsOldRuns(t *testing.T) {
	old := `{"plumbVersion":"0.1.0","suite":"s","filter":{"limit":2},"runners":[{"id":"m","model":"openai:gpt-4o","noSeed":true}],
		"workspace":{"mode":"none"},"cwd":"/w","workspaceRoot":"/r","keepWorkspaces":true,"maxSteps":3,"allRepetitions":true,
		"schedule":"serial","parallel":4,"repeat":2,"retry":1,"timeoutMs":5,"maxFailures":6,"maxCostUsd":7.5,"maxTokens":8,
		"maxDurationMs":9,"allowUnmetered":true,"cache":"off","output":"o"}`
	var s project.Spec
	if err := json.Unmarshal([]byte(old), &s); err != nil {
		t.Fatal(err)
	}
	if s.Workspace == nil || s.Cwd != "/w" || s.WorkspaceRoot != "/r" || !s.KeepWorkspaces || s.MaxSteps != 3 ||
		!s.AllRepetitions || s.Schedule != run.Serial || s.Parallel != 4 || s.Repeat != 2 || s.Retry != 1 || s.TimeoutMs != 5 ||
		s.MaxFailures != 6 || s.MaxCostUSD != 7.5 || s.MaxTokens != 8 || s.MaxDurationMs != 9 || !s.AllowUnmetered ||
		!s.Runners[0].NoSeed || s.Filter.Limit != 2 {
		t.Errorf("got %+v", s)
	}
	again, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var was, is map[string]any
	if err := errors.Join(json.Unmarshal([]byte(old), &was), json.Unmarshal(again, &is)); err != nil {
		t.Fatal(err)
	}
	for key := range was {
		if _, ok := is[key]; !ok {
			t.Errorf("run.json lost the key %s", key)
		}
	}
}
