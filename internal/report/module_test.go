package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/load/lib"
)

// moduleRun replays a log into a reporter module and returns what it printed and what went wrong in it.
func moduleRun(t *testing.T, l *log, name string, o ModuleOptions) (out, trouble string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.Modules, o.Stdout, o.Stderr, o.Sessions = lib.Modules(), &stdout, &stderr, l.sessions
	path, perr := filepath.Abs(filepath.Join("testdata", "reporters", name))
	if perr != nil {
		t.Fatal(perr)
	}
	o.WorkDir = filepath.Dir(path)
	r, err := NewModule(t.Context(), "./"+name, o)
	if err != nil {
		return "", "", err
	}
	_, err = Replay(r, l.all())
	return stdout.String(), stderr.String(), err
}

func TestModuleHooks(t *testing.T) {
	out, trouble, err := moduleRun(t, agentLog(), "all.ts", ModuleOptions{
		WorkspaceMode: "isolated", Cwd: "/runs/1", CaseFilter: []string{"release"}, Prompt: func(id string) string { return "prompt of " + id },
	})
	if err != nil || trouble != "" {
		t.Fatalf("%v\n%s", err, trouble)
	}
	golden(t, "agents.hooks.txt", out)
	// Every case and every execution begins once and ends once.
	for hook, want := range map[string]int{"onSuiteStart": 1, "onCaseStart": 4, "onRunnerStart": 8, "onRunnerFinish": 8, "onCaseFinish": 4, "onSuiteFinish": 1, "onError": 0} {
		if got := strings.Count(out, hook+" "); got != want {
			t.Errorf("%s: %d calls, want %d", hook, got, want)
		}
	}
}

func TestModuleNamedExport(t *testing.T) {
	out, trouble, err := moduleRun(t, agentLog(), "named.mjs", ModuleOptions{})
	if err != nil || out != "skills.suite.ts\n" || trouble != "" {
		t.Errorf("%q, %q, %v", out, trouble, err)
	}
}

// TestModuleImportsPlumb: an instance of a class is a reporter too, and its hooks are its methods.
func TestModuleImportsPlumb(t *testing.T) {
	out, trouble, err := moduleRun(t, agentLog(), "factory.ts", ModuleOptions{})
	if err != nil || out != "8 finished\n" || trouble != "" {
		t.Errorf("%q, %q, %v", out, trouble, err)
	}
}

// TestModuleLoadErrors has the documented texts.
func TestModuleLoadErrors(t *testing.T) {
	for name, want := range map[string]string{
		"none.ts":           "Reporter module must export a default reporter or named reporter object: ./none.ts",
		"class.ts":          "Reporter module must export an object: ./class.ts",
		"unknown.ts":        "Reporter module must define at least one reporter hook (onSuiteStart, onCaseStart, onRunnerStart, onRunnerFinish, onCaseFinish, onSuiteFinish, onError): ./unknown.ts",
		"import.ts":         "Failed to load reporter module: ./import.ts\n",
		"throws-at-load.ts": "Failed to load reporter module: ./throws-at-load.ts\nError: at load",
		"missing.ts":        "Failed to load reporter module: ./missing.ts\n",
	} {
		_, _, err := moduleRun(t, agentLog(), name, ModuleOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestModuleTrouble: the run goes on when a hook throws, and all that follow are called.
func TestModuleTrouble(t *testing.T) {
	out, trouble, err := moduleRun(t, agentLog(), "throws.ts", ModuleOptions{})
	if err != nil || out != "finished after 8\n" {
		t.Errorf("%q, %v", out, err)
	}
	if !strings.Contains(trouble, "reporter ./throws.ts: onRunnerStart: TypeError: no 1") || !strings.Contains(trouble, "onSuiteFinish: Error: late") ||
		!strings.Contains(trouble, "throws.ts:5:11") {
		t.Errorf("trouble:\n%s", trouble)
	}
	if _, _, err := moduleRun(t, agentLog(), "throws.ts", ModuleOptions{Strict: true}); err == nil {
		t.Error("strict: no error")
	}
}

// TestModuleLimit: a hook that never returns ends the reporter, not the run.
func TestModuleLimit(t *testing.T) {
	out, trouble, err := moduleRun(t, agentLog(), "loops.js", ModuleOptions{HookLimit: 200 * time.Millisecond})
	if err != nil || out != "" || !strings.Contains(trouble, "onCaseStart took longer than 200ms; the reporter is not called again") {
		t.Errorf("%q, %q, %v", out, trouble, err)
	}
}

// TestModuleBrokenOff: a reporter hears of a run that broke off.
func TestModuleBrokenOff(t *testing.T) {
	var stdout bytes.Buffer
	dir, err := filepath.Abs("testdata/reporters")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewModule(t.Context(), "all.ts", ModuleOptions{Modules: lib.Modules(), Stdout: &stdout, WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	run := &plumb.Run{}
	for _, ev := range agentLog().events[:6] {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		if err := r.Report(ev, run); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "\nonError ") || strings.Contains(stdout.String(), "onSuiteFinish") {
		t.Error(stdout.String())
	}
}

// TestModuleResultsAreDocumented: what hooks get of a result has the documented keys.
func TestModuleResultsAreDocumented(t *testing.T) {
	l := agentLog()
	run := l.run(t)
	rec, err := record(l.sessions, "release", "claude")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(result(run, 0, rec, run.Info.ArtifactDir, full))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"runner", "passed", "status", "durationMs", "executionArtifactDir", "artifactDir", "report", "session", "error",
		"failureOrigin", "failureClass", "repeatTarget", "completedRepetitions", "successfulRepetitions", "stoppedAtRepetition", "repetitions",
	} {
		if _, ok := got[key]; !ok {
			t.Errorf("no %s in %s", key, text)
		}
	}
	failure, _ := got["error"].(map[string]any)
	if failure["name"] != "AssertionError" || !strings.Contains(failure["stack"].(string), "skills.suite.ts:42:18") {
		t.Errorf("error %v", failure)
	}
	if report, _ := got["report"].(map[string]any); !strings.Contains(report["finalOutput"].(string), "Tagging did not work") {
		t.Errorf("the report is not that of the session that failed: %v", report["finalOutput"])
	}
}
