package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/text"
)

// foreign is a text that takes over a terminal which shows it: a color, a title, a new line that
// looks like one of Plumb, and characters that hide or reorder.
const foreign = "x\x1b[35;5mred\x1b]0;title\x07\u009b2J\u202ertl\u2066i\u200bz\u200f\x00\x7f\b\rCR\nFAKE line\u2028FAKE"

// foreignRunner is a runner of a run from elsewhere.
type foreignRunner struct{ id string }

func (r foreignRunner) Info() plumb.RunnerInfo {
	return plumb.RunnerInfo{
		ID: r.id, PathKey: plumb.PathKey(r.id), Kind: plumb.RunnerModel, Config: "sha256:" + foreign, BaseURL: foreign,
		Agent: plumb.AgentInfo{Type: foreign, Model: foreign},
	}
}

func (r foreignRunner) Run(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	if strings.Contains(req.CaseID, "down") {
		return nil, errors.New(foreign)
	}
	s := &plumb.SessionReport{
		Runner: r.Info(), SessionID: foreign, Prompt: foreign, FinalOutput: foreign, Model: foreign, Fingerprint: foreign,
		RequestID: foreign, FinishReason: plumb.FinishReason(foreign), Refused: []string{foreign}, Notes: []string{foreign},
		TakenFrom: foreign,
	}
	return s, nil
}

type foreignCheck struct{}

func (foreignCheck) Assert(context.Context, plumb.Evidence) ([]plumb.Verdict, error) {
	return []plumb.Verdict{{Name: foreign, Reason: foreign, Expected: foreign, Got: foreign}}, nil
}

// foreignRun makes a run directory with foreign text wherever a run can have it.
func foreignRun(t *testing.T, root, kind string) string {
	t.Helper()
	dir, err := runlog.Create(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{"suite": foreign, "suitePath": foreign, "createdAt": time.Now()}
	s := &plumb.Suite{Name: foreign, Hash: foreign, Path: foreign}
	for _, id := range []string{"a" + foreign, "b", "down" + foreign} {
		s.Cases = append(s.Cases, plumb.Case{
			ID: id, Hash: "sha256:" + id, Item: foreign, PromptName: foreign + kind, Category: foreign, Difficulty: foreign, Tags: []string{foreign},
			Metadata: map[string]string{foreign: foreign}, Messages: []plumb.Message{{Role: plumb.RoleUser, Content: foreign}},
			Assertions: []plumb.Assertion{foreignCheck{}}, Source: plumb.Position{File: foreign, Line: 1},
		})
	}
	err = dir.WriteSpec(spec)
	if err == nil {
		_, err = run.Suite(t.Context(), run.Input{
			Dir: dir, Suite: s, Runners: []plumb.Runner{foreignRunner{"r" + foreign}, foreignRunner{"plain"}},
			Settings: run.Settings{Repeat: 2, AllRepetitions: true, Schedule: run.Parallel}, Info: plumb.RunInfo{
				SuiteName: foreign, SuitePath: foreign, SuiteVersion: foreign, Tier: foreign, SuiteHash: foreign, Judge: foreign,
				PlumbVersion: foreign, SelectedTags: []string{foreign},
			},
		})
	}
	if err := errors.Join(err, dir.Close()); err != nil {
		t.Fatal(err)
	}
	return dir.Path
}

// TestF30Hostile runs every command over a project and over run directories with control
// characters in all texts. None reaches standard output or standard error.
func TestF30Hostile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such file names")
	}
	const bad = "h\x1b[31m\u202e\u009b2J"
	dir := filepath.Join(t.TempDir(), bad)
	root := filepath.Join(dir, ".plumb", "runs")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(foreign)
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "FOREIGN", strings.Trim(string(quoted), `"`))), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	suite := write(bad+".jsonl", `{"id":"a","category":"FOREIGN","input":"FOREIGN","ideal":"FOREIGN","assertion":{"type":"contains"},"metadata":{"tags":["FOREIGN"],"difficulty":"FOREIGN","own":"FOREIGN"}}
{"id":"b","input":"FOREIGN {{ x }}","ideal":"x","assertion":{"type":"contains"}}`)
	other := write("other.jsonl", `{"id":"a","category":"FOREIGN","input":"FOREIGN","ideal":"other FOREIGN","assertion":{"type":"contains"}}`)
	broken := write(bad+"broken.jsonl", `{"id":"FOREIGN","category":"FOREIGN","FOREIGN":1,"input":"x","ideal":"y","assertion":{"type":"FOREIGN"}}`)
	code := write(bad+".suite.ts", "import {suite} from 'plumb';\nconsole.log(\"FOREIGN\");\nexport default [{id: \"FOREIGN\", prompt: \"FOREIGN\", assert() { throw new Error(\"FOREIGN\"); }}];")
	script := write("s.ts", `console.error("FOREIGN"); throw new Error("FOREIGN");`)
	prompts := write("prompts.yaml", `{"prompts": [{"label": "FOREIGN", "text": "hi"}], "tests": [{"id": "a", "assert": []}]}`)
	foo := write("promptfooconfig.yaml", `{"description": "FOREIGN", "FOREIGN": 1, "providers": ["FOREIGN"], "prompts": ["FOREIGN"], "tests": [{"description": "FOREIGN", "assert": [{"type": "FOREIGN"}]}]}`)
	ids := write("ids.yaml", `{"runners": {"r FOREIGN": {"command": ["cat"]}}}`)
	gold := write("gold.jsonl", `{"id": "FOREIGN", "label": "FOREIGN"}`)
	records := write("records.jsonl", `{"model": "FOREIGN", "FOREIGN": 1}`)
	write("plumb.yaml", `{"suites": ["`+bad+`.jsonl"], "runners": {"own": {"model": "openai-compatible:FOREIGN"}, "cmd": {"command": ["sh", "-c", "printf '\\\\033[31mred'; cat"]}, "gone": {"command": ["FOREIGN"]}}, "prices": {"openai:FOREIGN": {"input": 1}}, "run": {"runner": ["cmd"]}}`)
	one, two := foreignRun(t, root, "1"), foreignRun(t, root, "2")
	elsewhere := foreignRun(t, t.TempDir(), "3")
	caseID, runner := "a"+foreign, "r"+foreign

	// The command lines of each command; a command that is not here is not tested.
	lines := map[string][][]string{
		"run": {
			{suite},
			{suite, "--runner", "cmd", "--plan"},
			{suite, "--case", foreign},
			{suite, "--runner", foreign},
			{broken},
			{code, "--runner", "cmd"},
			{suite, "--replay", one},
			{suite, "--replay", elsewhere, "--json"},
			{prompts},
			{suite, "--config", ids},
			{suite, "--model", "openai:" + foreign},
			{suite, "--tag", foreign},
			{foreign},
			{suite, "--" + foreign},
			{suite, "--report", foreign},
			{suite, "--gate", foreign, "--until-decided"},
		},
		"plan":   {{}, {suite}, {broken}, {suite, "--runner", "own"}, {suite, "--config", ids}, {"--detect", foreign}},
		"aa":     {{one}, {elsewhere}, {elsewhere, "--json"}, {foreign}},
		"resume": {{}, {elsewhere}, {foreign}}, "score": {{}, {elsewhere}, {elsewhere, "--suite", suite}, {suite, "--sessions", foreign}},
		"compare": {
			{one, two},
			{one, elsewhere},
			{one, elsewhere, "--json"},
			{one + "#" + runner, one + "#plain", "--vary", "any"},
			{one + "#" + foreign, one},
			{one, "--prompts", foreign + "," + "x"},
			{one, two, "--map", caseID + "=" + foreign},
			{one, two, "--vary", foreign},
			{one, two, "--gate", foreign},
			{one, two, "--cluster", foreign},
			{one, two, "--report", "markdown"},
			{one, two, "--report", "junit"},
			{one, two, "--report", "github-actions"},
			{one, two, "--report", "html:" + filepath.Join(dir, "c"+bad+".html")},
		},
		"baseline": {}, "baseline set": {{"m", one}, {foreign, one}, {"m", foreign}}, "baseline list": {{}}, "baseline rm": {{foreign}},
		"report": {
			{one},
			{elsewhere},
			{elsewhere, "--json"},
			{one, "--report", "markdown"},
			{one, "--report", "junit"},
			{one, "--report", "github-actions"},
			{one, "--report", "json"},
			{one, "--report", "html"},
			{one, "--report", foreign},
		},
		"view": {{one}, {foreign}}, "runs": {{}, {"--json"}, {"--prune", "--older-than", "0s", "--keep", "0"}},
		"show": {
			{},
			{one},
			{elsewhere},
			{elsewhere, "--failed"},
			{elsewhere, "--json"},
			{elsewhere, caseID},
			{elsewhere, caseID, "--json"},
			{elsewhere, caseID, "--runner", runner},
			{elsewhere, "down" + foreign},
			{elsewhere, foreign},
			{elsewhere, "b", "--runner", foreign},
			{foreign},
		},
		"suite": {{foreign}}, "suite hash": {{suite}, {foreign}}, "suite lint": {{suite}, {broken}}, "suite verify": {{dir}, {foreign}}, "suite lock": {{foreign}},
		"suite new": {{foreign, suite}}, "suite new-version": {{foreign}}, "suite diff": {{suite, other}, {suite, broken}, {one, two}},
		"validate": {{}, {suite}, {broken}, {code}, {prompts}, {"--config", ids}, {foreign}}, "list": {{}, {suite}, {suite, "--json"}, {code}, {suite, "--tag", foreign}, {"--config", ids}},
		"models": {{}, {foreign}}, "drift": {{}, {"--from", records}, {"--model", foreign}, {"--since", foreign}}, "judge": {{}}, "judge calibrate": {{gold, "--judge", foreign}, {gold}},
		"normalize": {{"--agent", "codex", "--stdout", records}, {"--agent", foreign, "--stdout", records}}, "explain": {{elsewhere, caseID}, {one, "--all"}, {foreign}},
		"gc": {{"-n"}, {"--workspaces", foreign}}, "exec": {{script}, {foreign}}, "demo": {}, "doctor": {{}, {"--config", ids}, {"--json"}},
		"init": {{"--agent", foreign}, {"--ci", foreign}}, "convert": {{foo, "-o", filepath.Join(dir, "out"+bad)}, {foreign}}, "schema": {{}, {foreign}},
		"skills": {{}}, "skills get": {{foreign}}, "version": {{}}, "help": {{foreign}, {"checks", foreign}, {"config", foreign}},
		"submit": {
			{one, "--dry-run"},
			{one, "--dry-run", "--share", "sessions", "--json"},
			{elsewhere, "--server", foreign},
			{one, "--share", foreign},
			{one, "--label", foreign},
			{foreign},
		},
		"login": {{}, {foreign, "--token-stdin"}}, "logout": {{}, {foreign}}, "whoami": {{}, {foreign}},
		"completion": {{foreign}}, "__complete": {
			{"show", ""},
			{"show", elsewhere, ""},
			{"show", elsewhere, "--runner", ""},
			{"run", "--runner", ""},
			{"run", suite, "--tag", ""},
			{"run", suite, "--category", ""},
			{"run", prompts, "--prompt", ""},
			{"run", "--config", ids, "--runner", ""},
			{"compare", ""},
			{"explain", one, ""},
		},
		foreign: {{}},
	}
	leaves((&app{}).root(), nil, func(cmd *cobra.Command, path []string) {
		if name := strings.Join(path, " "); lines[name] == nil && path[0] != "completion" && cmd.Runnable() && path[0] != "help" {
			t.Errorf("no command line for plumb %s", name)
		}
	})
	tried := 0
	for name, all := range lines {
		for _, args := range all {
			words := append(strings.Fields(name), args...)
			if name == foreign {
				words = []string{foreign}
			}
			for _, terminal := range []bool{false, true} {
				exit, out, errs := runOn(t, dir, terminal, words...)
				tried++
				for what, s := range map[string]string{"stdout": out, "stderr": errs} {
					if terminal { // Plumb's own colors and movements, none of which is the foreign one
						if strings.Contains(s, "\x1b[35;5m") || strings.Contains(s, "\x1b]") {
							t.Errorf("plumb %q on a terminal: exit %d, %s has foreign sequences: %q", words, exit, what, s)
						}
						s = styled.ReplaceAllString(s, "")
					}
					at := strings.IndexFunc(s, text.Hidden)
					if at >= 0 || !utf8.ValidString(s) {
						t.Errorf("plumb %q: exit %d, %s has %q", words, exit, what, s[max(0, at-80):min(len(s), max(at, 0)+40)])
					}
					own := func(l string) bool { return strings.HasPrefix(l, "FAKE") }
					data := name == "exec" || slices.Contains(args, "junit")
					if exit != 2 && !data && name != "convert" && slices.ContainsFunc(strings.Split(s, "\n"), own) {
						t.Errorf("plumb %q: exit %d, %s has a line of others:\n%s", words, exit, what, s)
					}
				}
			}
		}
	}
	if tried < 250 {
		t.Error(fmt.Sprint("only ", tried))
	}
}

// styled are the sequences that Plumb writes to a terminal.
var styled = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\r`)
