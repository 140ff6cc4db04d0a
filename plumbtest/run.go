package plumbtest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Run runs a suite made in Go as a part of go test: each case on each runner becomes a subtest
// case/runner. A subtest passes if the execution leaves the suite green, including expected
// failures. It fails if a check fails, if a case that should fail passes, or if the execution could
// not be measured; the message gives the reason. Skipped executions become skipped subtests.
//
// The sessions run first, several at a time. If a judge is needed, each runner judges itself. The
// subtests then report the results. suite.Workspace decides where agents work; without it, each
// session has an empty directory. [Open] creates runners. Sessions end with t.Context.
//
// The record of the run is kept in the test's temporary directory. If the environment variable
// PLUMB_TEST_RUNS names a directory of runs, such as .plumb/runs, the record is kept there, and
// plumb show, plumb report and plumb explain find it. PLUMB_TEST_REPORT names reports to write, as
// for plumb run --report: "junit:results.xml,html:report.html".
//
// go test runs such a test each time; it does not print "(cached)", because a model may answer
// differently. If the user's cache directory cannot be written, use go test -count=1.
func Run(t *testing.T, suite *plumb.Suite, runners ...plumb.Runner) {
	t.Helper()
	Options{}.Run(t, suite, runners...)
}

// Run is [Run] with options.
func (o Options) Run(t *testing.T, suite *plumb.Suite, runners ...plumb.Runner) {
	t.Helper()
	if err := checkSuite(suite, runners); err != nil {
		t.Fatalf("run suite: %v", err)
	}
	neverCached()
	root := os.Getenv("PLUMB_TEST_RUNS")
	if root == "" {
		root = t.TempDir()
	}
	dir, err := runlog.Create(root, time.Now())
	if err != nil {
		t.Fatalf("run suite %s: %v", suite.Name, err)
	}
	defer func() {
		if err := dir.Close(); err != nil {
			t.Errorf("close the run directory: %v", err)
		}
	}()
	if err := dir.WriteSpec(map[string]any{"suite": suite.Name, "test": t.Name()}); err != nil {
		t.Fatalf("run suite %s: %v", suite.Name, err)
	}
	index := &runlog.Index{}
	defer func() {
		if err := index.Close(); err != nil {
			t.Errorf("close the run log: %v", err)
		}
	}()
	reports, err := openReports(os.Getenv("PLUMB_TEST_REPORT"), kind.Setup{
		Source: report.Source{Sessions: index.Sessions, Dir: dir.Path, Closed: true}, RunDir: dir.Path,
	})
	if err != nil {
		t.Fatalf("run suite %s: %v", suite.Name, err)
	}
	logs := details{}
	ro := run.Input{
		Redact: redactor(),
		Dir:    dir, Suite: suite, Runners: runners, Index: index,
		Settings: run.Settings{Parallel: cmp.Or(o.Parallel, 8), Repeat: o.Repeat},
		Judge:    o.Judge, Embedder: o.Embedder,
		Info: plumb.RunInfo{
			SuiteName: suite.Name, SuitePath: suite.Path, SuiteVersion: suite.Version, Tier: suite.Tier,
			SuiteHash: suite.Hash,
		},
		Emit: func(ev plumb.Event, r *plumb.Run) error {
			logs.add(ev)
			return reports.add(ev, r)
		},
	}
	if err := workspaces(t, &ro); err != nil {
		t.Fatalf("run suite %s: %v", suite.Name, err)
	}
	// The runners are Go values, so their part stays unknown, as does the content of a template.
	ro.Info.Setup = &plumb.Setup{Scoring: plumb.ScoringVersion, TimeoutMs: run.DefaultTimeout.Milliseconds()}
	if ro.Workspaces.Config.TemplateDir != "" {
		ro.Info.Setup.Template = "unknown"
	}
	state, err := run.Suite(t.Context(), ro)
	if err := errors.Join(err, reports.close()); err != nil {
		t.Fatalf("run suite %s: %v", suite.Name, err)
	}
	for i := range state.Executions {
		caseID, runnerID := state.At(i)
		t.Run(caseID+"/"+runnerID, func(t *testing.T) {
			t.Helper() // go test then names the line of the caller of Run
			conclude(t, &state.Executions[i], logs[key{caseID, runnerID}])
		})
	}
}

// neverCached makes go test run this test again the next time. go test does not keep the result of a
// test that opened a file below its module which changed within the last two seconds. So it opens a
// file whose time of change is in the future. The path leads there from the working directory,
// because go test compares the beginning of the path with the module. Without such a file, the
// result may be kept.
func neverCached() {
	cache := os.Getenv("GOCACHE") // the go command can write there if it keeps results
	if !filepath.IsAbs(cache) {
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			return
		}
	}
	work, err := os.Getwd()
	if err != nil {
		return
	}
	file := filepath.Join(cache, "plumb", "go-test-runs-each-time")
	future := time.Now().AddDate(100, 0, 0)
	if os.Chtimes(file, future, future) != nil {
		if os.MkdirAll(filepath.Dir(file), 0o700) != nil || os.WriteFile(file, nil, 0o600) != nil ||
			os.Chtimes(file, future, future) != nil {
			return
		}
	}
	up := strings.Repeat(string(filepath.Separator)+"..", strings.Count(filepath.ToSlash(work), "/"))
	if f, err := os.Open(work + up + strings.TrimPrefix(file, filepath.VolumeName(file))); err == nil {
		_ = f.Close()
	}
}

// workspaces sets where agents work: as the suite defines, otherwise in an empty directory for each
// session.
func workspaces(t *testing.T, o *run.Input) error {
	t.Helper()
	// go test deletes all of it
	o.Workspaces.Root, o.Workspaces.Environ, o.Workspaces.Keep = t.TempDir(), os.Environ, true
	for _, r := range o.Runners {
		if r.Info().Kind == plumb.RunnerAgent {
			o.Workspaces.Config.Mode = plumb.WorkspaceIsolated
		}
	}
	if w := o.Suite.Workspace; w != nil {
		o.Workspaces.Config = *w
		for _, dir := range []*string{&o.Workspaces.Config.Cwd, &o.Workspaces.Config.TemplateDir} {
			if *dir == "" {
				continue
			}
			abs, err := filepath.Abs(*dir)
			if err != nil {
				return err
			}
			*dir = abs
		}
		if w.Mode != plumb.WorkspaceIsolated {
			o.Parallel = 1 // sessions would disturb each other
		}
	}
	var err error
	o.Workspaces.Cwd, err = filepath.Abs(".")
	o.Base = o.Workspaces.Cwd
	return err
}

func checkSuite(suite *plumb.Suite, runners []plumb.Runner) error {
	if len(runners) == 0 {
		return fmt.Errorf("suite %s has no runner", suite.Name)
	}
	if len(suite.Cases) == 0 {
		return fmt.Errorf("suite %s has no cases", suite.Name)
	}
	seen := map[string]bool{}
	for i := range suite.Cases {
		c := &suite.Cases[i]
		switch {
		case c.ID == "":
			return fmt.Errorf("case %d has no id", i+1)
		case seen[c.ID]:
			return fmt.Errorf("two cases have the id %q", c.ID)
		case len(c.Messages) == 0:
			return fmt.Errorf("case %s has no messages", c.ID)
		case len(c.Assertions) == 0:
			return fmt.Errorf("case %s has no assertions", c.ID)
		}
		seen[c.ID] = true
	}
	seen = map[string]bool{}
	for _, r := range runners {
		id := r.Info().ID
		if seen[id] {
			return fmt.Errorf("two runners have the id %q", id)
		}
		seen[id] = true
	}
	return nil
}

type key struct{ caseID, runnerID string }

// details holds the details of executions that did not simply pass.
type details map[key]string

func (d details) add(ev plumb.Event) {
	k := key{ev.Case, ev.Runner}
	write := func(format string, args ...any) {
		d[k] += fmt.Sprintf("\nrepetition %d, session %d: ", ev.Repetition, ev.Session) + fmt.Sprintf(format, args...)
	}
	switch {
	case ev.Type == plumb.EventSessionFinished && ev.Failure != nil:
		write("%s: %s", ev.Failure.Origin, ev.Failure.Message)
	case ev.Type == plumb.EventSessionJudged && ev.Judgement != nil:
		for _, v := range ev.Judgement.Verdicts {
			switch {
			case v.Error != nil:
				write("%s could not be checked: %s", v.Name, v.Error.Message)
			case !v.Pass:
				write("%s: %s", v.Name, v.Reason)
				if v.Expected != "" || v.Got != "" {
					d[k] += fmt.Sprintf("\n  want %q\n  got  %q", v.Expected, v.Got)
				}
			}
		}
	}
}

// conclude reports the result of an execution in its subtest.
func conclude(tb testing.TB, e *plumb.Execution, detail string) {
	tb.Helper()
	repetitions := fmt.Sprintf("%d/%d", e.Passed, e.Passed+e.Failed)
	switch {
	case e.State != plumb.ExecutionDone:
		tb.Skip("not run")
	case e.Status == plumb.StatusSkipped:
		tb.Skip(e.Reason)
	case e.Outcome == plumb.OutcomeError:
		tb.Errorf("could not be measured (%s): %s%s", e.Origin, e.Reason, detail)
	case e.Status == plumb.StatusUnexpectedPassed:
		tb.Errorf("passed (%s), but is expected to fail; remove ExpectedFail if this is fixed", repetitions)
	case e.Status == plumb.StatusExpectedFailed:
		tb.Logf("failed as expected (%s): %s", repetitions, e.Reason)
	case !e.Status.OK():
		tb.Errorf("failed (%s passed): %s%s", repetitions, e.Reason, detail)
	}
}
