package check_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/redact"
)

const key = "sk-canary-4711-Zq81"

// chance makes sessions that hold a secret in some places, and checks that look for it or for what
// is beside it.
type chance struct{ *rand.Rand }

func one[T any](c chance, of ...T) T { return of[c.IntN(len(of))] }

func (c chance) text() string {
	var b strings.Builder
	for range c.IntN(5) {
		b.WriteString(
			one(c, key, "sk-", "curl ", "git push ", "done ", "42 ", `{"a":1}`, "Zq81", "yes", "-H x ", "out.txt", "\n"),
		)
	}
	return b.String()
}

func (c chance) report(dir string) *plumb.SessionReport {
	r := &plumb.SessionReport{
		Runner:      plumb.RunnerInfo{ID: "r", Kind: plumb.RunnerAgent},
		FinalOutput: c.text(),
		Prompt:      c.text(),
	}
	for range c.IntN(5) {
		cut := c.IntN(8) == 0
		args, _ := json.Marshal(map[string]any{"a": c.text(), "b": 1})
		r.Events = append(r.Events, one(
			c,
			plumb.SessionEvent{Type: plumb.SessionMessage, Role: one(c, plumb.RoleAssistant, plumb.RoleUser), Text: c.text()},
			plumb.SessionEvent{
				Type:      plumb.SessionCommand,
				Command:   c.text(),
				ExitCode:  one(c, nil, new(0), new(1)),
				Truncated: cut,
			},
			plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: one(c, "Bash", "Read", key), Args: args, Truncated: cut},
			plumb.SessionEvent{Type: plumb.SessionToolResult, Tool: "Bash", Output: c.text(), Truncated: cut},
			plumb.SessionEvent{Type: plumb.SessionFileRead, Path: filepath.Join(dir, c.text())},
		))
	}
	for range c.IntN(3) {
		name := one(c, "out.txt", "sub/"+key+".txt", "gone.txt")
		r.Files.Changed = append(r.Files.Changed, plumb.FileChange{
			Path: filepath.Join(dir, name),
			Kind: one(c, "add", "update", "delete"),
			Diff: one(
				c,
				"",
				"--- a/out.txt\n+++ b/out.txt\n@@ -1 +1 @@\n-"+key+"\n+new\n",
				"--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+"+key+"\n",
			),
		})
	}
	if c.IntN(2) == 0 {
		r.DetectedSkills = []plumb.SkillDetection{{Skill: one(c, "demo", key), Confidence: one(c, "weak", "explicit")}}
		r.PermissionDenials = []plumb.PermissionDenial{{Tool: "Bash", Message: c.text()}}
	}
	for _, kind := range []string{"toolCall", "toolResult", "fileRead", "fileChange", "finalOutput"} {
		if c.IntN(12) == 0 {
			r.Incomplete = append(r.Incomplete, kind)
		}
	}
	return r
}

// seen is what to look for in what an agent did.
func (c chance) seen() map[string]any {
	word := one(c, "sk-", "curl", "canary", "Zq81", "git push", "done", key, "x", "out.txt")
	s := map[string]any{
		"type": one(
			c,
			"ran_command",
			"read_file",
			"called_tool",
			"tool_returned",
			"changed_file",
			"was_denied",
			"used_skill",
		),
	}
	how := c.IntN(9)
	switch kind := s["type"]; {
	case how < 3:
		s["pattern"] = one(c, "^curl", "sk-.*1$", "[0-9]+", "canary|done")
	case how < 5:
		s["equals"] = word
	case kind == "ran_command" && c.IntN(2) == 0:
		s["executable"] = one(c, "curl", "git")
	case kind == "called_tool" && c.IntN(2) == 0:
		s["tool"] = one(c, "Bash", key)
		s["args"] = map[string]any{"b": c.IntN(2)}
	case (kind == "read_file" || kind == "changed_file") && c.IntN(2) == 0:
		s["path"] = one(c, "*.txt", "out.txt")
	case kind == "used_skill" && c.IntN(2) == 0:
		s["skill"] = one(c, "demo", key)
	default:
		s["contains"] = word
	}
	return s
}

func (c chance) spec() map[string]any {
	word := one(c, "sk-", "canary", "Zq81", "42", "done", "yes", key, "git push")
	var s map[string]any
	switch c.IntN(12) {
	case 0:
		s = map[string]any{
			"type":           one(c, "exact_match", "contains", "starts_with"),
			"ideal":          word,
			"case_sensitive": c.IntN(2) == 0,
		}
	case 1:
		s = map[string]any{
			"type":      "contains_any",
			"ideal":     []string{word, "nowhere"},
			"normalize": one(c, "whitespace", "typography", "unicode"),
		}
	case 2:
		s = map[string]any{"type": "regex", "pattern": one(c, "^$", "sk-", "[0-9]+$", "^done")}
	case 3:
		s = one(c, map[string]any{"type": "is_json"}, map[string]any{"type": "json_path", "path": "$.a", "equals": 1},
			map[string]any{"type": "json_schema", "schema": map[string]any{"type": "object"}})
	case 4:
		s = map[string]any{"type": "numeric", "value": one(c, 42, 81, 1)}
	case 5:
		s = map[string]any{"type": one(c, "all_of", "any_of"), "assertions": []any{c.spec(), c.spec()}}
	case 6, 7:
		s = map[string]any{
			"type": "leaks_no_secret",
			"in":   one(c, []string{"output"}, []string{"commands"}, []string{"files"}, []string{"output", "commands", "files"}),
		}
	default:
		s = c.seen()
		switch c.IntN(5) {
		case 0:
			s["count"] = c.IntN(3)
		case 1:
			s["at_most"] = c.IntN(3)
		case 2:
			s["only"] = true
		case 3:
			s["before"] = c.seen()
		}
	}
	s["not"] = c.IntN(3) == 0
	return s
}

// TestStoredSessionsAreNeverJudgedOtherwise: what is left of a session after its secrets were
// removed never passes a check that the session failed, nor fails one that it passed. Where what
// was removed decides, the check is an error.
func TestStoredSessionsAreNeverJudgedOtherwise(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "out.txt"), []byte("holds "+key), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := redact.New([]redact.Secret{{Name: "CANARY_KEY", Value: key}})
	outcome := func(v plumb.Verdict) string {
		switch {
		case v.Error != nil:
			return "error"
		case v.Pass:
			return "pass"
		}
		return "fail"
	}
	c := chance{rand.New(rand.NewPCG(7, 5))}
	counts := map[string]int{}
	for range 6_000 {
		spec, err := json.Marshal(c.spec())
		if err != nil {
			t.Fatal(err)
		}
		k, problems := check.Parse(spec, check.Ideal{})
		if k == nil {
			t.Fatalf("%s: %v", spec, problems)
		}
		live := c.report(dir)
		stored, names := redact.Clean(secrets, live)
		if names == nil {
			continue
		}
		stored.Redacted = names
		judge := func(r *plumb.SessionReport, known func(string) []string) string {
			verdicts, err := k.Assert(
				t.Context(),
				plumb.Evidence{Case: &plumb.Case{ID: "a"}, Report: r, Workspace: dir, Secrets: known},
			)
			if err != nil {
				t.Fatal(err)
			}
			return outcome(verdicts[0])
		}
		came := judge(live, secrets.Names)
		gone := c.IntN(2) == 0
		if gone {
			move(dir, dir+"-away")
		}
		for _, known := range []func(string) []string{nil, secrets.Names} {
			left := judge(stored, known)
			counts[came+" then "+left]++
			if came != left && left != "error" && came != "error" {
				whole, _ := json.Marshal(live)
				t.Fatalf("%s\nas it came: %s, as it was stored: %s\n%s", spec, came, left, whole)
			}
		}
		if gone {
			move(dir+"-away", dir)
		}
	}
	t.Log(counts)
	for _, both := range []string{"pass then pass", "fail then fail", "pass then error", "fail then error"} {
		if counts[both] < 100 {
			t.Errorf("%s: only %d times", both, counts[both])
		}
	}
}

// TestForbiddenKeyIsAnErrorOnceItWasRemoved is what the law is about: a check that forbids a key
// never passes because the key was removed.
func TestForbiddenKeyIsAnErrorOnceItWasRemoved(t *testing.T) {
	stored := &plumb.SessionReport{
		FinalOutput: "the key is [redacted:CANARY_KEY], and all is well",
		Redacted:    []string{"CANARY_KEY"},
	}
	for _, test := range []struct {
		spec, want string
	}{
		{`{"type":"contains","ideal":"sk-canary","not":true}`, "error"},
		{`{"type":"contains","ideal":"all is well"}`, "pass"},
		{`{"type":"contains","ideal":"all is well","not":true}`, "fail"},
		{`{"type":"starts_with","ideal":"the key"}`, "pass"},
		{`{"type":"starts_with","ideal":"no key"}`, "error"},
		{`{"type":"regex","pattern":"sk-[a-z]+","not":true}`, "error"},
		{`{"type":"llm_judge","judge_prompt":"Is it polite?"}`, "error"},
		{`{"type":"semantic_similarity","ideal":"all is well"}`, "error"},
		{`{"type":"leaks_no_secret"}`, "fail"},
		{`{"type":"leaks_no_secret","in":["commands","files"]}`, "pass"},
		{`{"type":"any_of","assertions":[{"type":"regex","pattern":"x"},{"type":"contains","ideal":"well"}]}`, "pass"},
	} {
		k, problems := check.Parse(json.RawMessage(test.spec), check.Ideal{})
		if k == nil {
			t.Fatal(problems)
		}
		verdicts, err := k.Assert(t.Context(), plumb.Evidence{Case: &plumb.Case{ID: "a"}, Report: stored})
		if err != nil {
			t.Fatal(err)
		}
		v, got := verdicts[0], "fail"
		switch {
		case v.Error != nil:
			got = "error"
		case v.Pass:
			got = "pass"
		}
		if got != test.want {
			t.Errorf("%s: %s (%s), want %s", test.spec, got, v.Reason, test.want)
		}
		if got == "error" && !strings.Contains(v.Reason, "secrets were removed before the session was stored: CANARY_KEY") {
			t.Errorf("%s: the reason does not say what was removed: %s", test.spec, v.Reason)
		}
	}
}
