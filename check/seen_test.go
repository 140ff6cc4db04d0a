package check_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
)

// agentSession is a session with actions of every kind.
func agentSession(t *testing.T) plumb.Evidence {
	t.Helper()
	ws := t.TempDir()
	for name, content := range map[string]string{"out.txt": "built 3 files\n", "sub/deep/a.json": `{"ok":true}`, ".git/config": "x"} {
		path := filepath.Join(ws, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(ws, "leak")); err != nil {
		t.Fatal(err)
	}
	r := &plumb.SessionReport{
		Runner:      plumb.RunnerInfo{Kind: plumb.RunnerAgent},
		FinalOutput: "done",
		Steps:       3,
		DurationMs:  1500,
		Events: []plumb.SessionEvent{
			{Type: plumb.SessionSkill, Skill: "demo", Signal: "tool:skill"},
			{Type: plumb.SessionFileRead, Path: filepath.Join(ws, "docs/guide.md")},
			{
				Type: plumb.SessionToolCall,
				Tool: "Bash",
				Args: json.RawMessage(`{"command":"pnpm test","opts":{"cwd":"/x","n":1}}`),
			},
			{Type: plumb.SessionCommand, Command: "pnpm test --watch", ExitCode: new(1)},
			{Type: plumb.SessionToolResult, Tool: "Bash", Output: "1 test failed"},
			{Type: plumb.SessionCommand, Command: "pnpm test", ExitCode: new(0)},
			{Type: plumb.SessionCommand, Command: "git push origin main"},
			{Type: plumb.SessionFileChange, Path: filepath.Join(ws, "out.txt"), Change: "add"},
			{Type: plumb.SessionFileChange, Path: filepath.Join(ws, "sub/deep/a.json"), Change: "update"},
		},
		DetectedSkills:    []plumb.SkillDetection{{Skill: "demo", Confidence: "strong"}},
		PermissionDenials: []plumb.PermissionDenial{{Tool: "Write", Message: "not allowed"}},
		Files: plumb.Files{
			Changed: []plumb.FileChange{
				{Path: filepath.Join(ws, "out.txt"), Kind: "add"},
				{Path: "sub/deep/a.json", Kind: "update"},
			},
		},
	}
	r.Usage.InputTokens, r.Usage.OutputTokens = new(int64(3600)), new(int64(110))
	r.Usage.Total()
	return plumb.Evidence{Case: &plumb.Case{}, Report: r, Workspace: ws}
}

func TestSeen(t *testing.T) {
	ev := agentSession(t)
	for _, test := range [][2]string{
		{`{"type":"ran_command","contains":"pnpm test"}`, "pass"},
		{`{"type":"ran_command","contains":"pnpm test","count":2}`, "pass"},
		{`{"type":"ran_command","contains":"pnpm test","count":1}`, "matched 2 commands, want exactly 1; observed commands: pnpm test --watch (exit 1) | pnpm test | git push origin main"},
		{`{"type":"ran_command","contains":"pnpm test","at_least":1,"at_most":2}`, "pass"},
		{`{"type":"ran_command","equals":"pnpm test","exit_code":0}`, "pass"},
		{`{"type":"ran_command","equals":"pnpm test","exit_code":1}`, "matched 0 commands, want at least 1"},
		{`{"type":"ran_command","contains":"git push","exit_code":0}`, "error"},
		{`{"type":"ran_command","pattern":"^git (push|pull)"}`, "pass"},
		{`{"type":"ran_command","contains":"rm -rf"}`, "matched 0 commands, want at least 1"},
		{`{"type":"ran_command","contains":"rm -rf","not":true}`, "pass"},
		{`{"type":"ran_command","contains":"pnpm test","not":true}`, "want the opposite"},
		{`{"type":"ran_command","executable":"pnpm","positionals":["test"],"options":{"--watch":true}}`, "pass"},
		{`{"type":"ran_command","executable":"pnpm","positionals":["test"],"strict":true,"count":1}`, "pass"},
		{`{"type":"ran_command","executable":"git","positionals":["main","push"]}`, "matched 0 commands, want at least 1"},
		{`{"type":"ran_command","executable":"pnpm","only":true}`, "found 1 command that did not match, want no others"},
		{`{"type":"ran_command","pattern":"^(pnpm|git) ","only":true}`, "pass"},
		{`{"type":"ran_command","contains":"pnpm test","before":{"contains":"git push"}}`, "pass"},
		{`{"type":"ran_command","contains":"git push","before":{"contains":"pnpm test"}}`, "want it before event"},
		{`{"type":"read_file","path":"guide.md","before":{"type":"ran_command","contains":"pnpm"}}`, "pass"},
		{`{"type":"used_skill","skill":"demo","before":{"type":"read_file"}}`, "pass"},
		{`{"type":"ran_command","contains":"pnpm","before":{"contains":"make"}}`, "no command matched that must come later"},
		{`{"type":"read_file","path":"docs/guide.md"}`, "pass"},
		{`{"type":"read_file","path":"ocs/guide.md"}`, "matched 0 file reads, want at least 1"},
		{`{"type":"read_file","path":"docs/*.md"}`, "pass"},
		{`{"type":"read_file","path":"**/*.ts"}`, "matched 0 file reads, want at least 1"},
		{`{"type":"used_skill","skill":"demo"}`, "pass"},
		{`{"type":"used_skill","skill":"demo","min_confidence":"explicit"}`, "matched 0 skills, want at least 1"},
		{`{"type":"used_skill","skill":"dem"}`, "matched 0 skills, want at least 1"},
		{`{"type":"called_tool","tool":"Bash","args":{"opts":{"n":1}}}`, "pass"},
		{`{"type":"called_tool","tool":"Bash","args":{"opts":{"n":2}}}`, "matched 0 tool calls, want at least 1"},
		{`{"type":"called_tool","tool":"bash"}`, "matched 0 tool calls, want at least 1"},
		{`{"type":"tool_returned","tool":"Bash","contains":"failed"}`, "pass"},
		{`{"type":"changed_file","path":"out.txt","change":"add","only":true}`, "found 1 changed file that did not match"},
		{`{"type":"changed_file","equals":"out.txt"}`, "pass"},
		{`{"type":"changed_file","pattern":"^sub/.*json$"}`, "pass"},
		{`{"type":"changed_file","path":"sub","contains":"deep","only":true}`, "found 2 changed files that did not match"},
		{`{"type":"ran_command","contains":"git push","before":{"type":"changed_file","equals":"sub/deep/a.json"}}`, "pass"},
		{`{"type":"changed_file","contains":"deep","before":{"type":"changed_file","contains":"out"}}`, "the first match is event 8"},
		{`{"type":"changed_file","change":"delete"}`, "matched 0 changed files, want at least 1"},
		{`{"type":"was_denied"}`, "pass"},
		{`{"type":"was_denied","tool":"Write","not":true}`, "want the opposite"},
		{`{"type":"file_exists","path":"out.txt"}`, "pass"},
		{`{"type":"file_exists","path":"**/*.json"}`, "pass"},
		{`{"type":"file_exists","path":"gone.txt"}`, "the workspace has no gone.txt"},
		{`{"type":"file_exists","path":".git/**"}`, "the workspace has no"},
		{`{"type":"file_contains","path":"out.txt","contains":"3 files"}`, "pass"},
		{`{"type":"file_contains","path":"out.txt","contains":"BUILT","case_sensitive":false}`, "pass"},
		{`{"type":"file_contains","path":"out.txt","pattern":"built \\d+"}`, "pass"},
		{`{"type":"file_contains","path":"out.txt","contains":"nothing"}`, "out.txt: "},
		{`{"type":"file_contains","path":"sub/**/*.json","ideal":"true"}`, "pass"},
		{`{"type":"file_contains","path":"sub/*","contains":"true"}`, "the workspace has no file sub/*"},
		{`{"type":"file_contains","path":"*","contains":"built","not":true}`, "error"},
		{`{"type":"file_contains","path":"sub","contains":"true"}`, "the workspace has no file sub"},
		{`{"type":"file_contains","path":"leak","contains":"root"}`, "error"},
		{`{"type":"max_steps","max":3}`, "pass"},
		{`{"type":"max_steps","max":2}`, "the session took 3 steps, want at most 2"},
		{`{"type":"max_input_tokens","max":3600}`, "pass"},
		{`{"type":"max_total_tokens","max":3709}`, "the session took 3710 tokens"},
		{`{"type":"max_cost_usd","max":0.5}`, "error"},
		{`{"type":"max_duration_ms","max":1499}`, "the session took 1500 ms"},
		{`{"type":"all_of","assertions":[{"type":"ran_command"},{"type":"file_exists","path":"out.txt"}]}`, "pass"},
	} {
		spec, want := test[0], test[1]
		c, problems := check.Parse(json.RawMessage(spec), check.Ideal{})
		if c == nil {
			t.Errorf("%s: %v", spec, problems)
			continue
		}
		verdicts, err := c.Assert(t.Context(), ev)
		if err != nil || len(verdicts) != 1 {
			t.Errorf("%s: %v, %v", spec, verdicts, err)
			continue
		}
		v := verdicts[0]
		got := v.Reason
		switch {
		case v.Error != nil:
			got = "error"
		case v.Pass:
			got = "pass"
		}
		if got != want && (v.Error != nil || v.Pass || !strings.Contains(got, want)) {
			t.Errorf("%s: %s (%s), want %s", spec, got, v.Reason, want)
		}
		again, problems := check.Parse(c.Canonical(), check.Ideal{})
		if again == nil && c.Type() != "file_contains" {
			t.Errorf("%s: canonical %s cannot be read: %v", spec, c.Canonical(), problems)
		}
	}
}

func TestSeenProblems(t *testing.T) {
	for _, test := range [][2]string{
		{`{"type":"ran_comand","contains":"x"}`, `unknown assertion type "ran_comand" did you mean "ran_command"?`},
		{`{"type":"ran_command","path":"x"}`, `ran_command does not take "path"`},
		{`{"type":"ran_command","pattern":"("}`, "missing closing"},
		{`{"type":"ran_command","count":1,"at_least":1}`, `either "count"`},
		{`{"type":"ran_command","count":-1}`, "count must be a whole number of at least 0, not -1"},
		{`{"type":"ran_command","at_least":3,"at_most":1}`, `at_most is less than at_least`},
		{`{"type":"ran_command","options":["-m"]}`, `options must be an object, not ["-m"]`},
		{`{"type":"ran_command","before":"git push"}`, "before must be an assertion, not"},
		{`{"type":"ran_command","before":{"type":"contains"}}`, `needs an "ideal"`},
		{`{"type":"ran_command","before":{"type":"is_json"}}`, "before must be something that an agent does"},
		{`{"type":"used_skill","skill":"x","min_confidence":"sure"}`, "min_confidence must be weak, medium, strong or explicit, not"},
		{`{"type":"called_tool","args":[1]}`, "args must be an object, not [1]"},
		{`{"type":"changed_file","change":"removed"}`, "change must be add, update or delete, not"},
		{`{"type":"file_exists"}`, `file_exists needs "path"`},
		{`{"type":"file_exists","path":"../x"}`, "is not in the workspace"},
		{`{"type":"file_exists","path":"/etc/passwd"}`, "is not in the workspace"},
		{`{"type":"file_contains","path":"x"}`, "file_contains needs"},
		{`{"type":"max_steps","max":0}`, "greater than 0"},
		{`{"type":"max_cost_usd"}`, `needs "max"`},
	} {
		spec, want := test[0], test[1]
		c, problems := check.Parse(json.RawMessage(spec), check.Ideal{})
		var all []string
		for _, p := range problems {
			all = append(all, strings.TrimSpace(p.Message+" "+p.Hint))
		}
		if c != nil || !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("%s: %q, want %q", spec, all, want)
		}
	}
}

func TestFileChecksNeedTheWorkspace(t *testing.T) {
	exists, err := check.FileExists("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "gone")} {
		for _, c := range []*check.Check{exists, exists.Not()} {
			v, err := c.Assert(t.Context(), plumb.Evidence{Report: &plumb.SessionReport{}, Workspace: dir})
			if err != nil || v[0].Error == nil {
				t.Errorf("workspace %q: %+v, %v", dir, v, err)
			}
		}
	}
}

// TestIncompleteReports checks that what a report lacks is neither a pass nor a fail.
func TestIncompleteReports(t *testing.T) {
	r := &plumb.SessionReport{
		Runner: plumb.RunnerInfo{Kind: plumb.RunnerAgent}, FinalOutput: "the beginning… [cut]",
		Events: []plumb.SessionEvent{
			{Type: plumb.SessionCommand, Command: "ls"},
			{Type: plumb.SessionToolResult, Tool: "a", Output: "first part… [cut]", Truncated: true},
			{Type: plumb.SessionToolCall, Tool: "Read"},
			{Type: plumb.SessionToolResult, Tool: "b", Output: "all of it"},
			{Type: plumb.SessionToolResult, Tool: "c", Output: "more"},
			{Type: plumb.SessionCommand, Command: "git push"},
		},
		Incomplete: []string{"toolCall", "finalOutput"},
	}
	wantOutcomes(t, r, map[string]string{
		`{"type":"tool_returned","contains":"first part"}`:                                                          "pass",
		`{"type":"tool_returned","contains":"password"}`:                                                            "error",
		`{"type":"tool_returned","contains":"password","not":true}`:                                                 "error",
		`{"type":"tool_returned","tool":"b","contains":"password"}`:                                                 "fail",
		`{"type":"tool_returned","contains":"all","count":0}`:                                                       "fail",
		`{"type":"tool_returned","contains":"all","count":1}`:                                                       "error",
		`{"type":"tool_returned","contains":"all","at_most":2}`:                                                     "pass",
		`{"type":"tool_returned","contains":"all","at_least":3}`:                                                    "fail",
		`{"type":"tool_returned","contains":"all","at_least":2}`:                                                    "error",
		`{"type":"tool_returned","contains":"all","only":true}`:                                                     "fail",
		`{"type":"tool_returned","pattern":"all|more","only":true}`:                                                 "error",
		`{"type":"ran_command","contains":"ls","before":{"type":"tool_returned","contains":"all"}}`:                 "pass",
		`{"type":"ran_command","contains":"push","before":{"type":"tool_returned","contains":"all"}}`:               "fail",
		`{"type":"ran_command","contains":"push","before":{"type":"tool_returned","contains":"secret"}}`:            "error",
		`{"type":"ran_command","contains":"push","before":{"type":"tool_returned","contains":"secret"},"not":true}`: "error",
		`{"type":"tool_returned","contains":"more","before":{"type":"tool_returned","contains":"all"}}`:             "error",
		`{"type":"tool_returned","tool":"c","before":{"type":"tool_returned","tool":"b"}}`:                          "fail",
		`{"type":"ran_command","contains":"push","before":{"type":"called_tool","tool":"Bash"}}`:                    "error",
		`{"type":"ran_command","contains":"rm","at_most":1,"before":{"contains":"push"}}`:                           "fail",
		`{"type":"called_tool","tool":"Read"}`:                                                                      "pass",
		`{"type":"called_tool","tool":"Read","not":true}`:                                                           "fail",
		`{"type":"called_tool","tool":"Read","count":1}`:                                                            "error",
		`{"type":"called_tool","tool":"Bash","only":true}`:                                                          "fail",
		`{"type":"called_tool","tool":"Bash"}`:                                                                      "error",
		`{"type":"called_tool","tool":"Bash","not":true}`:                                                           "error",
		`{"type":"ran_command","contains":"rm","not":true}`:                                                         "pass",
		`{"type":"ran_command","contains":"ls","count":1}`:                                                          "pass",
		`{"type":"contains","ideal":"beginning"}`:                                                                   "pass",
		`{"type":"contains","ideal":"end"}`:                                                                         "error",
		`{"type":"contains","ideal":"password","not":true}`:                                                         "error",
	})
}

// TestOrderOfReads checks reads without events: their list has their order, but not their place
// among other events.
func TestOrderOfReads(t *testing.T) {
	r := &plumb.SessionReport{
		Files:  plumb.Files{ObservedReads: []string{"/w/a", "/w/b"}},
		Events: []plumb.SessionEvent{{Type: plumb.SessionMessage}, {Type: plumb.SessionCommand, Command: "ls"}},
	}
	wantOutcomes(t, r, map[string]string{
		`{"type":"read_file","path":"a","before":{"path":"b"}}`:                           "pass",
		`{"type":"read_file","path":"b","before":{"path":"a"}}`:                           "fail",
		`{"type":"read_file","path":"a","before":{"path":"c"}}`:                           "fail",
		`{"type":"read_file","path":"a","before":{"type":"ran_command"}}`:                 "error",
		`{"type":"ran_command","before":{"type":"read_file","path":"b"},"contains":"ls"}`: "error",
	})
}

// wantOutcomes checks the outcome of each spec on a report: pass, fail or error.
func wantOutcomes(t *testing.T, r *plumb.SessionReport, wants map[string]string) {
	t.Helper()
	for spec, want := range wants {
		c, problems := check.Parse(json.RawMessage(spec), check.Ideal{})
		if c == nil {
			t.Fatalf("%s: %v", spec, problems)
		}
		v, err := c.Assert(t.Context(), plumb.Evidence{Case: &plumb.Case{}, Report: r})
		if err != nil {
			t.Fatal(err)
		}
		got := map[bool]string{true: "pass", false: "fail"}[v[0].Pass]
		if v[0].Error != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s, want %s (%s)", spec, got, want, v[0].Reason)
		}
	}
}
