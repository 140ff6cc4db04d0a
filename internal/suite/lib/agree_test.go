package lib

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/script"
)

// chance makes sessions and checks of them by chance.
type chance struct {
	*rand.Rand
	workspace string
}

func pick[T any](s *chance, of ...T) T { return of[s.IntN(len(of))] }

func (s *chance) often(n int) bool { return s.IntN(n) > 0 }

func (s *chance) command() string {
	return pick(s, "pnpm test", "pnpm test --watch", `bash -lc "git push -f origin"`, "git commit -m fix -m more", "ls", "", "make -- --all", "x --k=v")
}

func (s *chance) path() string {
	return filepath.Join(s.workspace, pick(s, "out.txt", "docs/guide.md", "skills/demo/SKILL.md", "a.json"))
}

// report makes a session of which some things are not known.
func (s *chance) report() *plumb.SessionReport {
	r := &plumb.SessionReport{
		Runner: plumb.RunnerInfo{ID: "r", Kind: plumb.RunnerAgent}, FinalOutput: pick(s, "", "done", "the beginning", "all is ready"), Steps: s.IntN(4),
		DurationMs: int64(s.IntN(4)), Events: []plumb.SessionEvent{},
	}
	for range s.IntN(8) {
		cut := !s.often(8)
		switch s.IntN(5) {
		case 0, 1:
			e := plumb.SessionEvent{Type: plumb.SessionCommand, Command: s.command(), Truncated: cut && s.often(3)}
			if s.often(3) {
				e.ExitCode = new(s.IntN(2))
			}
			r.Events = append(r.Events, e)
		case 2:
			r.Events = append(r.Events, plumb.SessionEvent{Type: plumb.SessionFileRead, Path: s.path()})
		case 3:
			args := pick(s, "", `{"a":1}`, `{"a":2,"b":"x"}`, `"text"`, `null`)
			r.Events = append(r.Events, plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: pick(s, "Bash", "Read", "bash"), Args: json.RawMessage(args), Truncated: cut && args != ""})
		default:
			r.Events = append(r.Events, plumb.SessionEvent{Type: plumb.SessionToolResult, Tool: pick(s, "Bash", "Read"), Output: pick(s, "ok", "failed: 1", ""), Truncated: cut})
		}
	}
	for _, skill := range []string{"demo", "other"} {
		if s.often(2) {
			r.DetectedSkills = append(r.DetectedSkills, plumb.SkillDetection{Skill: skill, Confidence: pick(s, "strong", "explicit"), Evidence: []string{"e"}})
		}
	}
	for range s.IntN(3) {
		r.Files.Changed = append(r.Files.Changed, plumb.FileChange{Path: s.path(), Kind: pick(s, "add", "update", "delete")})
		r.Files.ObservedReads = append(r.Files.ObservedReads, s.path())
	}
	if !s.often(3) {
		r.PermissionDenials = []plumb.PermissionDenial{{Tool: "Bash", Message: "no"}}
	}
	for _, kind := range []string{"toolCall", "toolResult", "fileRead", "fileChange", "finalOutput"} {
		if !s.often(6) {
			r.Incomplete = append(r.Incomplete, kind)
		}
	}
	if s.often(3) {
		r.Usage.InputTokens, r.Usage.OutputTokens = new(int64(s.IntN(3))), new(int64(s.IntN(3)))
		r.Usage.Total()
	}
	if s.often(2) {
		r.CostUSD = new(float64(s.IntN(3)))
	}
	return r
}

// spec makes a check that both can say.
func (s *chance) spec() map[string]any {
	kind := pick(s, "ran_command", "ran_command", "read_file", "called_tool", "tool_returned", "used_skill", "changed_file", "was_denied", "contains",
		"file_exists", "file_contains", "max_total_tokens", "max_input_tokens", "max_cost_usd", "max_steps", "max_duration_ms",
		"leaks_no_secret")
	spec := s.wanted(kind)
	spec["type"] = kind
	switch kind {
	case "was_denied":
		spec["not"] = true
	case "contains", "file_exists":
		spec["not"] = s.often(2)
	case "file_contains":
		// A file that is not there has no such content, for not; notContains wants the file.
		spec["not"] = s.often(2) && (spec["path"] == "out.txt" || spec["path"] == "leak")
	case "changed_file":
		// Of a kind of change that is allowed others are none, for the assert library: the two differ, so it is not said.
		if s.often(3) || spec["change"] != nil {
			spec["not"] = s.often(2)
		} else {
			spec["only"] = true
		}
	case "used_skill":
		switch s.IntN(4) {
		case 0:
			spec["count"] = s.IntN(3)
		case 1:
			if spec["min_confidence"] == nil {
				spec["only"] = true
			}
		default:
			spec["not"] = s.often(2)
		}
	case "ran_command", "read_file", "called_tool", "tool_returned":
		if spec["exit_code"] != nil {
			break
		}
		switch s.IntN(7) {
		case 0:
			spec["count"] = s.IntN(3)
		case 1:
			spec["at_least"] = s.IntN(3)
		case 2:
			spec["at_most"] = s.IntN(3)
		case 3:
			spec["only"] = true
		case 4:
			spec["before"] = s.plain(kind)
		case 5:
			spec["not"] = true
		}
	}
	return spec
}

// plain is what is looked for, without how it ended.
func (s *chance) plain(kind string) map[string]any {
	spec := s.wanted(kind)
	delete(spec, "exit_code")
	return spec
}

func (s *chance) wanted(kind string) map[string]any {
	switch kind {
	case "ran_command":
		return pick(s,
			map[string]any{"contains": pick(s, "pnpm", "git", "--watch", "rm")}, map[string]any{"pattern": pick(s, "^pnpm", "test$", "g.t")},
			map[string]any{"equals": "pnpm test"}, map[string]any{"executable": pick(s, "pnpm", "git", "make")},
			map[string]any{"executable": "git", "positionals": []string{pick(s, "push", "origin")}, "strict": s.often(2)},
			map[string]any{"options": map[string]any{pick(s, "-m", "-f", "--k"): pick[any](s, true, "fix", []string{"more", "fix"}, "v")}},
			map[string]any{"end_of_options": s.often(2)},
			map[string]any{"contains": pick(s, "pnpm", "git"), "exit_code": 0})
	case "read_file":
		return pick(s, map[string]any{"contains": pick(s, "SKILL.md", "out", "gone")}, map[string]any{"pattern": `\.md$`}, map[string]any{"equals": s.path()})
	case "called_tool":
		return pick(s, map[string]any{"tool": pick(s, "Bash", "Gone")}, map[string]any{"contains": "ash"},
			map[string]any{"tool": "Bash", "args": map[string]any{"a": s.IntN(3)}})
	case "tool_returned":
		return pick(s, map[string]any{"contains": pick(s, "ok", "fail", "gone")}, map[string]any{"tool": "Bash", "pattern": "^ok$"}, map[string]any{"tool": "Read"})
	case "used_skill":
		return pick(s, map[string]any{"skill": pick(s, "demo", "none")}, map[string]any{"skill": "demo", "min_confidence": pick(s, "weak", "explicit")})
	case "changed_file":
		return pick(s, map[string]any{"contains": "out"}, map[string]any{"pattern": `\.md$`, "change": pick(s, "add", "delete")})
	case "contains":
		return map[string]any{"ideal": pick(s, "done", "ready", "gone")}
	case "file_exists":
		return map[string]any{"path": pick(s, "out.txt", "sub", "gone.txt", "leak", "sub/../out.txt")}
	case "file_contains":
		return map[string]any{"path": pick(s, "out.txt", "out.txt", "gone.txt", "leak", "sub"), "contains": pick(s, "built", "gone")}
	case "was_denied":
		return map[string]any{}
	case "leaks_no_secret":
		return pick(s, map[string]any{}, map[string]any{"in": pick(s, []string{"output"}, []string{"commands", "files"})})
	default:
		return map[string]any{"max": s.IntN(4) + 1}
	}
}

// TestChecksAreThoseOfPackageCheck: what a suite without code says of a session, the same suite in code says too.
func TestChecksAreThoseOfPackageCheck(t *testing.T) {
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "out.txt"), []byte("built 3 files\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(ws, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(ws, "leak")); err != nil {
		t.Fatal(err)
	}
	var now plumb.Evidence // what package load would know the run by
	leaks := func(ctx context.Context, args []json.RawMessage) (any, error) {
		var text string
		var places []string
		if err := errors.Join(json.Unmarshal(args[0], &text), json.Unmarshal([]byte(text), &places)); err != nil {
			return nil, err
		}
		c, err := check.LeaksNoSecret(places...)
		if err != nil {
			return nil, err
		}
		verdicts, err := c.Assert(ctx, now)
		switch {
		case err != nil:
			return nil, err
		case verdicts[0].Error != nil:
			return nil, verdicts[0].Error
		}
		return map[string]any{"pass": verdicts[0].Pass, "reason": verdicts[0].Reason}, nil
	}
	v := vm(t, "testdata/agree.ts", script.Environment{Host: map[string]script.HostFunc{"leaks": leaks}})
	s := &chance{rand.New(rand.NewPCG(3, 4)), ws}
	counts := map[string]int{}
	wrong := 0
	rounds := 2000
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		r, spec := s.report(), s.spec()
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		workspace := ws
		if !s.often(10) {
			workspace = pick(s, "", filepath.Join(ws, "nowhere"))
		}
		c, problems := check.Parse(text, check.Ideal{})
		if c == nil {
			t.Fatalf("%s: %v", text, problems)
		}
		now = plumb.Evidence{Case: &plumb.Case{}, Report: r, Workspace: workspace}
		if s.often(8) {
			now.Secrets = func(text string) []string {
				if strings.Contains(text, "ready") || strings.Contains(text, "git push") || strings.Contains(text, "built") {
					return []string{"A_SECRET"}
				}
				return nil
			}
		}
		verdicts, err := c.Assert(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		want := "fail"
		switch {
		case verdicts[0].Error != nil:
			want = "error"
		case verdicts[0].Pass:
			want = "pass"
		}
		whole, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(whole, &members); err != nil {
			t.Fatal(err)
		}
		members["spec"] = spec
		if whole, err = json.Marshal(members); err != nil {
			t.Fatal(err)
		}
		got, said := "pass", ""
		if f := call[judged](t, v, "assert", "agree", json.RawMessage(whole), evidence(workspace)).Failures; len(f) > 0 {
			got, said = map[string]string{"assertion": "fail", "assert-hook": "error"}[f[0].Origin], f[0].Message
		}
		counts[spec["type"].(string)+" "+want]++
		if got != want {
			if wrong++; wrong > 5 {
				t.Fatal("and so on")
			}
			t.Errorf("%s\nwithout code %s: %s\nin code %s: %s\n%s", text, want, verdicts[0].Reason, got, said, whole)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Log(name, counts[name])
	}
}
