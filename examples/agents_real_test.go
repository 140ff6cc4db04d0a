package examples_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/fakemodel"
)

const (
	agentKeyName = "PLUMB_EXAMPLE_KEY"
	agentKey     = "sk-plumb-example-0c9d27e1"
)

// programs finds the real CLIs, which .ci/agents.sh installs.
func programs(t *testing.T, names ...string) map[string]string {
	t.Helper()
	if os.Getenv("PLUMB_CI") != "1" {
		t.Skip("the real agents run with PLUMB_CI=1, when .ci/agents.sh has installed them")
	}
	dirs := []string{"/opt/plumb-agents/bin"}
	if dir := os.Getenv("PLUMB_AGENTS_DIR"); dir != "" {
		dirs = []string{filepath.Join(dir, "bin")}
	} else if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".cache", "plumb", "ci-agents", "bin"))
	}
	found := map[string]string{}
	for _, name := range names {
		for _, dir := range dirs {
			if path := filepath.Join(dir, name); found[name] == "" && exists(path) {
				found[name] = path
			}
		}
		if found[name] == "" {
			t.Fatalf("%s is not in %s: run .ci/agents.sh", name, strings.Join(dirs, ", "))
		}
	}
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// notes is what the scripted model does for the cases of the suites.
func notes() agentscript.Script {
	does := func(calls ...agentscript.Call) agentscript.Turn { return agentscript.Turn{Calls: calls} }
	says := func(text string) agentscript.Turn { return agentscript.Turn{Text: text} }
	return agentscript.Script{Name: "notes", MaxRequests: 200, Scenes: []agentscript.Scene{
		{Prompt: "Write the release notes", Turns: []agentscript.Turn{
			does(agentscript.Call{Skill: "release-notes"}), does(agentscript.Call{Run: "sh changes.sh"}),
			does(agentscript.Call{Read: "CHANGELOG.md"}),
			does(agentscript.Call{
				Edit: "CHANGELOG.md", Old: "## 1.2.0",
				New: "## 1.3.0\n\n- `till refund` takes a receipt number.\n- Totals above a million are no longer cut off.\n\n## 1.2.0",
			}),
			says("CHANGELOG.md has a section for 1.3.0."),
		}},
		{Prompt: "Which version was released last", Turns: []agentscript.Turn{
			does(agentscript.Call{Read: "CHANGELOG.md"}), says("1.2.0 was released last."),
		}},
		{Prompt: "Set the version", Turns: []agentscript.Turn{
			does(agentscript.Call{Run: "echo 1.3.0 > VERSION"}),
			says("The version is 1.3.0."),
		}},
	}}
}

// TestRealAgents runs the agent suites on the real CLIs with scripted models: each agent passes
// every case, the report has the commands it ran, and no process is left.
func TestRealAgents(t *testing.T) {
	cli := programs(t, "codex", "claude", "opencode", "copilot", "gemini")
	server := fakemodel.NewAgents(fakemodel.Behavior{Key: agentKey})
	path, err := server.Add(notes())
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(server)
	t.Cleanup(func() { server.Release(); hs.Close() })
	t.Setenv(agentKeyName, agentKey)

	dir, runs := t.TempDir(), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("agents")); err != nil {
		t.Fatal(err)
	}
	runners := map[string]any{}
	for _, a := range []plumb.AgentConfig{
		{Type: "codex", Model: "gpt-5.5", Command: cli["codex"], BaseURL: "/v1"},
		{Type: "claude-code", Model: "claude-sonnet-4-6", Command: cli["claude"]},
		{Type: "opencode", Model: "fake/fake-model", Command: cli["opencode"], BaseURL: "/v1"},
		{Type: "copilot", Model: "gpt-4.1", Command: cli["copilot"], BaseURL: "/v1"},
		{Type: "gemini", Model: "gemini-2.5-flash", Command: cli["gemini"]},
	} {
		runners[a.Type] = map[string]any{"agent": map[string]any{
			"type": a.Type, "model": a.Model, "command": a.Command, "baseURL": hs.URL + path + a.BaseURL,
			"apiKeyEnv": agentKeyName,
			"skills":    []string{"./skills/release-notes"},
		}}
	}
	config, err := json.Marshal(map[string]any{"runners": runners})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "real.config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := plumbIn(t, dir, "run", "release.suite.ts", "version.suite.yaml", "--config",
		"real.config.json", "--output-dir", runs,
		"--schedule", "isolated-by-runner", "--parallel", "2", "--report", "terminal", "--report", "html")
	if code != 0 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}

	results, err := filepath.Glob(filepath.Join(runs, "runs", "*", "results.json"))
	if err != nil || len(results) != 2 {
		t.Fatalf("results %q, %v", results, err)
	}
	sessions := 0
	for _, file := range results {
		sessions += checkRealRun(t, file)
	}
	if want := len(runners) * 3; sessions != want {
		t.Errorf("%d sessions, want %d", sessions, want)
	}
	if problems := server.Problems("notes"); len(problems) > 0 {
		t.Errorf("the model met %q", problems)
	}
}

// checkRealRun checks the results of one run and returns its number of sessions.
func checkRealRun(t *testing.T, file string) (sessions int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), agentKey) {
		t.Errorf("%s holds the key", file)
	}
	var run struct {
		RunID string
		Cases []struct {
			CaseID        string
			RunnerResults []struct {
				Runner plumb.RunnerInfo
				Report plumb.SessionReport
			}
		}
	}
	if err := json.Unmarshal(data, &run); err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Cases {
		for _, r := range c.RunnerResults {
			sessions++
			at := fmt.Sprintf("%s on %s", c.CaseID, r.Runner.ID)
			var commands []string
			for _, e := range r.Report.Events {
				if e.Type == plumb.SessionCommand {
					commands = append(commands, e.Command)
				}
			}
			// An agent without tools for reading and editing uses commands instead.
			for prompt, command := range map[string]string{
				"writes-the-notes": "sh changes.sh",
				"sets-the-version": "echo 1.3.0 > VERSION",
			} {
				n := len(slices.DeleteFunc(slices.Clone(commands), func(s string) bool { return s != command }))
				if want := map[bool]int{true: 1}[prompt == c.CaseID]; n != want {
					t.Errorf("%s ran %q %d times, want %d: %q", at, command, n, want, commands)
				}
			}
			for _, o := range r.Report.Offered {
				if o.Undeclared {
					t.Errorf("%s was offered %+v", at, o)
				}
			}
			if r.Report.AgentVersion == "" || r.Report.Steps == 0 {
				t.Errorf("%s: version %q, %d steps", at, r.Report.AgentVersion, r.Report.Steps)
			}
		}
	}
	code, stdout, stderr := plumbIn(t, filepath.Dir(file), "gc", "--dry-run", "--json")
	if code != 0 || strings.Contains(stdout, `"run": "`+run.RunID+`"`) ||
		strings.Contains(stdout, `"run":"`+run.RunID+`"`) {
		t.Errorf("left of run %s: exit code %d, %s%s", run.RunID, code, stdout, stderr)
	}
	return sessions
}
