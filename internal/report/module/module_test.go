package module

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// moduleRun replays a log into a reporter module and returns what it printed and what went wrong in
// it.
func moduleRun(t *testing.T, l *reporttest.Log, name string, o Environment) (out, trouble string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.Modules, o.Stdout, o.Stderr, o.Sessions = lib.Modules(), &stdout, &stderr, l.Sessions
	path, perr := filepath.Abs(filepath.Join("testdata", "reporters", name))
	if perr != nil {
		t.Fatal(perr)
	}
	o.WorkDir = filepath.Dir(path)
	r, err := New(t.Context(), "./"+name, o)
	if err != nil {
		return "", "", err
	}
	_, err = report.Replay(r, l.All())
	return stdout.String(), stderr.String(), err
}

func TestModuleHooks(t *testing.T) {
	out, trouble, err := moduleRun(t, reporttest.AgentLog(), "all.ts", Environment{
		WorkspaceMode: "isolated", CaseFilter: []string{"release", "known-gap"}, RunnerFilter: []string{"claude"},
		Case: reportedCase,
	})
	if err != nil || trouble != "" {
		t.Fatalf("%v\n%s", err, trouble)
	}
	golden.Equal(t, "testdata/agents.hooks.txt", out)
	// Every case and every execution begins once and ends once.
	for hook, want := range map[string]int{
		"onSuiteStart": 1, "onCaseStart": 4, "onRunnerStart": 8, "onRunnerFinish": 8,
		"onCaseFinish": 4, "onSuiteFinish": 1, "onError": 0,
	} {
		if got := strings.Count(out, hook+" "); got != want {
			t.Errorf("%s: %d calls, want %d", hook, got, want)
		}
	}
}

// reportedCase is a case as in its suite, with all possible keys and the author's own.
func reportedCase(id string) *plumb.Case {
	if id != "release" {
		return &plumb.Case{ID: id, Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "prompt of " + id}}}
	}
	return &plumb.Case{
		ID: id, Timeout: 1500 * time.Millisecond, MaxSteps: 9, MaxOutputTokens: 100,
		Own: json.RawMessage(`{"owner":"ana","links":[{"to":"#1"}]}`),
		Messages: []plumb.Message{
			{Role: plumb.RoleSystem, Content: "be brief"},
			{Role: plumb.RoleUser, Content: "hi"},
			{Role: plumb.RoleAssistant, Content: "yes?"},
			{Role: plumb.RoleUser, Content: "release it"},
		},
	}
}

// TestModuleEventsAreDocumented holds the members of each hook's event, and of the context and the
// case in it, to what is documented, and all calls to their documented order.
func TestModuleEventsAreDocumented(t *testing.T) {
	out, trouble, err := moduleRun(t, reporttest.AgentLog(), "record.ts", Environment{Case: reportedCase})
	if err != nil || trouble != "" {
		t.Fatalf("%v\n%s", err, trouble)
	}
	members := map[string][]string{
		"onSuiteStart":   {"cases", "context", "runners", "startedAt"},
		"onCaseStart":    {"case", "caseIndex", "context", "totalCases"},
		"onRunnerStart":  {"case", "caseIndex", "context", "runner", "totalCases"},
		"onRunnerFinish": {"case", "caseIndex", "context", "result", "runner", "totalCases"},
		"onCaseFinish":   {"case", "caseIndex", "context", "result", "totalCases"},
		"onSuiteFinish":  {"context", "result"},
	}
	context := []string{
		"cwd", "declaredTags", "isInteractive", "maxParallel", "repeat", "scheduleMode", "selectedCaseCount",
		"selectedExecutionCount",
		"selectedRunnerCount", "suitePath", "suiteRunArtifactDir", "workspaceMode",
	}
	begun := map[string]int{} // of a case, and of an execution: 1 begun, 2 ended
	step := func(key string, from int) {
		if begun[key] != from {
			t.Errorf("%s: %d, want %d", key, begun[key], from)
		}
		begun[key] = from + 1
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, line := range lines {
		var call struct {
			Hook  string
			Event map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &call); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(call.Event)); !slices.Equal(got, members[call.Hook]) {
			t.Errorf("%s has %v, want %v", call.Hook, got, members[call.Hook])
		}
		var about struct {
			Context map[string]any
			Case    struct{ ID string }
			Runner  plumb.RunnerInfo
			Result  map[string]any
		}
		if err := json.Unmarshal([]byte(line[strings.Index(line, `"event":`)+len(`"event":`):len(line)-1]),
			&about); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(about.Context)); !slices.Equal(got, context) {
			t.Errorf("%s: the context has %v, want %v", call.Hook, got, context)
		}
		if (call.Hook == "onSuiteStart") != (i == 0) || (call.Hook == "onSuiteFinish") != (i == len(lines)-1) {
			t.Errorf("%s is call %d of %d", call.Hook, i+1, len(lines))
		}
		execution := about.Case.ID + " on " + about.Runner.ID
		switch call.Hook {
		case "onCaseStart":
			step(about.Case.ID, 0)
		case "onRunnerStart":
			step(execution, 0)
		case "onRunnerFinish":
			step(execution, 1)
			if about.Result["status"] == nil || about.Result["report"] == nil {
				t.Errorf("%s: %v", execution, about.Result)
			}
		case "onCaseFinish":
			step(about.Case.ID, 1)
			if got := slices.Sorted(maps.Keys(about.Result)); !slices.Equal(got,
				[]string{"caseId", "passed", "runnerResults", "tags"}) {
				t.Errorf("%s: the result has %v", about.Case.ID, got)
			}
		}
	}
	if len(lines) != 2+2*4+2*8 || len(begun) != 4+8 {
		t.Errorf("%d calls about %d cases and executions", len(lines), len(begun))
	}
}

func TestModuleNamedExport(t *testing.T) {
	out, trouble, err := moduleRun(t, reporttest.AgentLog(), "named.mjs", Environment{})
	if err != nil || out != "skills.suite.ts\n" || trouble != "" {
		t.Errorf("%q, %q, %v", out, trouble, err)
	}
}

// TestModuleImportsPlumb: an instance of a class is a reporter too, and its hooks are its methods.
func TestModuleImportsPlumb(t *testing.T) {
	out, trouble, err := moduleRun(t, reporttest.AgentLog(), "factory.ts", Environment{})
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
		_, _, err := moduleRun(t, reporttest.AgentLog(), name, Environment{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestModuleTrouble: the run goes on when a hook throws, and all that follow are called.
func TestModuleTrouble(t *testing.T) {
	out, trouble, err := moduleRun(t, reporttest.AgentLog(), "throws.ts", Environment{})
	if err != nil || out != "finished after 8\n" {
		t.Errorf("%q, %v", out, err)
	}
	if !strings.Contains(trouble, "reporter ./throws.ts: onRunnerStart: TypeError: no 1") ||
		!strings.Contains(trouble, "onSuiteFinish: Error: late") ||
		!strings.Contains(trouble, "throws.ts:5:11") {
		t.Errorf("trouble:\n%s", trouble)
	}
	if _, _, err := moduleRun(t, reporttest.AgentLog(), "throws.ts", Environment{Strict: true}); err == nil {
		t.Error("strict: no error")
	}
}

// TestModuleLimit: a hook that never returns ends the reporter, not the run.
func TestModuleLimit(t *testing.T) {
	out, trouble, err := moduleRun(t, reporttest.AgentLog(), "loops.js", Environment{HookLimit: 200 * time.Millisecond})
	if err != nil || out != "" || !strings.Contains(trouble,
		"onCaseStart took longer than 200ms; the reporter is not called again") {
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
	r, err := New(t.Context(), "all.ts", Environment{Modules: lib.Modules(), Stdout: &stdout, WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	run := &plumb.Run{}
	for _, ev := range reporttest.AgentLog().Events[:6] {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		if err := r.Report(ev, run); err != nil {
			t.Fatal(err)
		}
	}
	r.(*reporter).Broke(errors.New("no space left on device"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "\nonError [\"Error: no space left on device\"]") ||
		strings.Contains(stdout.String(), "onSuiteFinish") {
		t.Error(stdout.String())
	}
}

// TestModuleResultsAreDocumented: what hooks get of a result has the documented keys.
func TestModuleResultsAreDocumented(t *testing.T) {
	l := reporttest.AgentLog()
	x := report.CellAt(l.Run(t), 0)
	rec, err := x.Record(l.Sessions)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(x.Result(rec, results.Full))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"runner", "passed", "status", "durationMs", "executionArtifactDir", "artifactDir", "report", "session", "error",
		"failureOrigin", "failureClass", "repeatTarget", "completedRepetitions", "successfulRepetitions",
		"stoppedAtRepetition", "repetitions",
	} {
		if _, ok := got[key]; !ok {
			t.Errorf("no %s in %s", key, text)
		}
	}
	failure, _ := got["error"].(map[string]any)
	if failure["name"] != "AssertionError" || !strings.Contains(failure["stack"].(string), "skills.suite.ts:42:18") {
		t.Errorf("error %v", failure)
	}
	if report, _ := got["report"].(map[string]any); !strings.Contains(report["finalOutput"].(string),
		"Tagging did not work") {
		t.Errorf("the report is not that of the session that failed: %v", report["finalOutput"])
	}
}
