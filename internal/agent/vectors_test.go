package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// vector is what the tool whose suites we run made of a transcript.
type vector struct {
	AgentType, Name string
	Input           struct {
		Prompt, Cwd string
		RawSession  json.RawMessage
	}
	Expected map[string]any
}

func vectors(t *testing.T) (all struct {
	Normalize []vector
	MaxSteps  []struct {
		AgentType                string
		Lines                    []json.RawMessage
		MaxSteps                 int
		ObservedStepsWhenTripped []*int
	}
	ReportedPath []struct {
		Path, Base string
		Result     *string
	}
},
) {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ours says where our reports differ from the vectors on purpose. Each change turns what the vector expects into what we do.
func ours(agent string, want map[string]any) {
	usage := want["usage"].(map[string]any)
	events := want["events"].([]any)
	switch agent {
	case "codex":
		// Times that are none are left out.
		for _, e := range events {
			delete(e.(map[string]any), "at")
		}
		// Output includes reasoning: the vector counts it twice.
		usage["totalTokens"] = 90.0
		// Summaries are the only thinking that current versions show.
		usage["reasoningChars"] = 14.0
		events = insert(events, 2, map[string]any{"type": "message", "role": "assistant", "phase": "thinking", "text": "sum"})
		// A result belongs to the tool that was called.
		events[10].(map[string]any)["tool"] = "shell"
		// Patches are tool calls too.
		events = append(events, map[string]any{"type": "toolCall", "tool": "apply_patch", "args": map[string]any{"input": "x"}})
	case "claude-code":
		// What was written to the cache is input too.
		usage["inputTokens"], usage["totalTokens"], usage["cacheWriteTokens"] = 66.0, 64.0, 50.0
	case "cursor-agent":
		usage["inputTokens"], usage["totalTokens"], usage["cacheWriteTokens"] = 14.0, 16.0, 1.0
		// Thinking counts.
		usage["reasoningChars"] = 1.0
		events = insert(events, 1, map[string]any{"type": "message", "role": "assistant", "phase": "thinking", "text": "x"})
		// A call that is only seen when it is completed was a call.
		events = insert(events, 7, map[string]any{"type": "toolCall", "tool": "read", "args": map[string]any{"path": "skills/foo/SKILL.md"}})
		// Evidence is never lost.
		want["detectedSkills"].([]any)[0].(map[string]any)["evidence"] = []any{"Read /cw/skills/foo/SKILL.md", "Loaded via skill tool"}
	}
	want["events"] = events
}

func insert(list []any, i int, v any) []any {
	return append(list[:i:i], append([]any{v}, list[i:]...)...)
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t).Normalize {
		if v.AgentType == "opencode" || v.AgentType == "copilot" {
			continue
		}
		t.Run(v.AgentType, func(t *testing.T) {
			var lines []json.RawMessage
			if err := json.Unmarshal(v.Input.RawSession, &lines); err != nil {
				t.Fatal(err)
			}
			var stdout bytes.Buffer
			for _, line := range lines {
				if err := json.Compact(&stdout, line); err != nil {
					t.Fatal(err)
				}
				stdout.WriteByte('\n')
			}
			tr := written(t, stdout.String(), "", nil)
			if v.AgentType == "codex" { // the records are those of a rollout
				tr = written(t, "", "", map[string]string{"sessions/rollout-2026-01-01T00-00-00-uuid-1.jsonl": stdout.String()})
				tr.Stdout = ""
			}
			tr.Cwd, tr.Prompt = v.Input.Cwd, v.Input.Prompt
			report, _ := Normalize(v.AgentType, tr) // the records have no end
			if report == nil {
				t.Fatal("no report")
			}
			want := v.Expected
			ours(v.AgentType, want)
			if diff := cmp.Diff(want, documented(t, report)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// documented returns those fields of a report that the vectors have.
func documented(t *testing.T, r *plumb.SessionReport) map[string]any {
	t.Helper()
	data, err := json.Marshal(r)
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, name := range []string{"usage", "files", "detectedSkills", "events", "finalOutput"} {
		got[name] = all[name]
	}
	for _, e := range got["events"].([]any) {
		e := e.(map[string]any)
		delete(e, "callId")
		if at, ok := e["at"].(string); ok && strings.HasSuffix(at, "Z") && !strings.Contains(at, ".") {
			e["at"] = strings.TrimSuffix(at, "Z") + ".000Z"
		}
	}
	return got
}

func TestReportedPaths(t *testing.T) {
	for _, v := range vectors(t).ReportedPath {
		want := ""
		if v.Result != nil {
			want = *v.Result
		}
		if got := transcript.Resolve(v.Base, v.Path); got != want {
			t.Errorf("resolve(%q, %q) = %q, want %q", v.Base, v.Path, got, want)
		}
	}
	for path, want := range map[string]string{
		"/a/./b/../c/": "/a/c/", "file:///x/y": "/x/y", "../z": "/base/z", `C:\w\f`: `C:\w\f`, "": "",
	} {
		if got := transcript.Resolve("/base/dir", path); got != want {
			t.Errorf("resolve(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestDocumentedSteps: the steps of a whole stream are those of the vectors. (A limit looks at them while they happen.)
func TestDocumentedSteps(t *testing.T) {
	for _, v := range vectors(t).MaxSteps {
		s := transcript.NewSteps(&specOf(t, v.AgentType).Format)
		for i, line := range v.Lines {
			var rec transcript.Fields
			rec.Of(gjson.ParseBytes(line))
			s.Count(&rec)
			if want := v.ObservedStepsWhenTripped[i]; want != nil && s.N != *want || want == nil && s.N > v.MaxSteps {
				t.Errorf("%s: %d steps after line %d, want %v", v.AgentType, s.N, i+1, want)
			}
		}
	}
}
