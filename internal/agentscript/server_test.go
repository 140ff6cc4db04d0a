package agentscript_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/wire"
)

// agentPaths are where the agents of testdata/agents send their requests, below the address of a
// script.
var agentPaths = map[string]string{
	"codex": "/v1/responses", "codex6": "/v1/responses", "claude": "/v1/messages", "opencode": "/v1/chat/completions",
	"copilot": "/v1/chat/completions", "gemini": "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
}

// play serves the scripts until the test ends.
func play(t *testing.T, scripts ...agentscript.Script) (*agentscript.Server, string) {
	t.Helper()
	s := &agentscript.Server{}
	for _, script := range scripts {
		if _, err := s.Add(script); err != nil {
			t.Fatal(err)
		}
	}
	hs := httptest.NewServer(s)
	t.Cleanup(hs.Close)
	return s, hs.URL
}

// post sends a request and returns the status and the reply.
func post(t *testing.T, url, body string) (status int, reply string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// agentRequest is the first request of an agent, as it was recorded, without all that the server
// does not look at.
func agentRequest(t *testing.T, agent string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", agent+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAgentCalls asks every agent for everything, and compares with which of its tools that is
// done, and the whole reply.
func TestAgentCalls(t *testing.T) {
	all := agentscript.Turn{
		Thinking: "First this, then that.", Text: "I begin.",
		Calls: []agentscript.Call{
			{Run: `echo "one" && exit 3`},
			{Read: "notes.txt"},
			{Write: "new/out.txt", Content: "one\ntwo\n"},
			{Edit: "notes.txt", Old: "alpha", New: "omega"},
			{Skill: "demo"},
			{Subagent: "Do a part."},
			{Tool: "no_such_tool", Args: json.RawMessage(`{"x":1}`)},
		},
		Tokens: wire.Tokens{Input: 1000, CacheRead: 200, CacheWrite: 100, Output: 50, Reasoning: 10},
	}
	for agent, path := range agentPaths {
		t.Run(agent, func(t *testing.T) {
			a, url := play(t, agentscript.Script{
				Name: agent, Scenes: []agentscript.Scene{{
					Prompt: "do the demo",
					Turns:  []agentscript.Turn{all, {Text: "done"}},
				}},
			})
			status, body := post(t, url+"/s/"+agent+path, agentRequest(t, agent))
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, body)
			}
			requests := a.Requests(agent)
			if len(requests) != 1 || requests[0].Turn != 0 || requests[0].Side {
				t.Fatalf("the log has %d requests, the first %+v", len(requests), requests)
			}
			var got strings.Builder
			for _, p := range requests[0].Played {
				fmt.Fprintf(&got, "%s %s\n  command %q path %q\n", p.Tool, strings.TrimSpace(p.Args), p.Command, p.Path)
			}
			fmt.Fprintf(&got, "problems %q\n\n%s", a.Problems(agent), regexp.MustCompile(`"(created|created_at|completed_at)":\d+`).ReplaceAllString(body, `"$1":1700000000`))
			golden.Equal(t, filepath.Join("testdata", agent+".golden"), got.String())
		})
	}
}

// talk is a conversation in the format of chat completions: a leading ">" is a tool's result, "<"
// the model's call, and the rest is said by the user.
func talk(lines ...string) string {
	messages := []map[string]any{{"role": "system", "content": "Working directory: /runs/ws\nGo."}}
	for _, line := range lines {
		switch line[0] {
		case '>':
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": "c", "content": line[1:]})
		case '<':
			messages = append(messages, map[string]any{"role": "assistant", "tool_calls": []any{}})
		default:
			messages = append(messages, map[string]any{"role": "user", "content": line})
		}
	}
	body, err := json.Marshal(map[string]any{
		"model": "m", "messages": messages,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{
			"name": "bash", "parameters": map[string]any{
				"type":       "object",
				"properties": map[string]any{"command": map[string]any{"type": "string"}},
			},
		}}},
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

func TestAgentTurns(t *testing.T) {
	two := []agentscript.Call{{Run: "a"}, {Run: "b"}}
	script := agentscript.Script{Name: "s", Scenes: []agentscript.Scene{
		{Prompt: "the work", Turns: []agentscript.Turn{{Calls: two}, {Calls: two[:1]}, {Text: "worked"}}},
		{Prompt: "the work again", Turns: []agentscript.Turn{{Text: "no"}}},
		{Turns: []agentscript.Turn{{Calls: two[:1]}, {Text: "whatever"}}},
	}}
	tests := []struct {
		name        string
		lines       []string
		scene, turn int
	}{
		{"the prompt", []string{"Do the work."}, 0, 0},
		{"one of two results", []string{"Do the work.", "<", ">a"}, 0, 0},
		{"both results", []string{"Do the work.", "<", ">a", ">b"}, 0, 1},
		{
			"a reminder between",
			[]string{"<env>", "Do the work.", "<", ">a", ">b", "<reminder: be nice>", "<", ">c"},
			0,
			2,
		},
		{"more than foreseen", []string{"Do the work.", ">a", ">b", ">c", ">d"}, 0, 2},
		{"the next prompt", []string{"Do the work.", ">a", ">b", ">c", "Now the work again!"}, 1, 0},
		{"back to the first", []string{"Now the work again!", ">a", "Do the work."}, 0, 0},
		{"any other", []string{"Hello"}, 2, 0},
		{"any other, later", []string{"Hello", ">a"}, 2, 1},
	}
	a, url := play(t, script)
	for _, tt := range tests {
		status, body := post(t, url+"/s/s/v1/chat/completions", talk(tt.lines...))
		requests := a.Requests("s")
		last := requests[len(requests)-1]
		if status != http.StatusOK || last.Scene != tt.scene || last.Turn != tt.turn {
			t.Errorf("%s: %d, scene %d, turn %d: %s", tt.name, status, last.Scene, last.Turn, body)
		}
	}
	if p := a.Problems("s"); len(p) != 0 {
		t.Errorf("problems: %q", p)
	}
}

func TestReadScripts(t *testing.T) {
	good := `{"name":"a","dir":"/w","scenes":[{"prompt":"p","turns":[{"calls":[{"write":"f","content":"x"}],"tokens":{"input":3}},{"text":"t","fault":"server","times":2}]}]}`
	scripts, err := agentscript.ReadScripts(strings.NewReader(good + "\n" + strings.Replace(good, `"a"`, `"b"`, 1)))
	if err != nil || len(scripts) != 2 || scripts[1].Name != "b" ||
		scripts[0].Scenes[0].Turns[1].Fault != "server" {
		t.Errorf("read %+v, %v", scripts, err)
	}
	for _, tt := range []struct{ in, want string }{
		{`{`, "script 1"},
		{good + `{"name":"c"}`, "script 2: a script needs a name and scenes"},
		{`{"name":"a","scenes":[{"prompt":"p"}]}`, "scene 1 has no turns"},
		{`{"name":"a","scenes":[{"turns":[{"calls":[{"run":"x","read":"y"}]}]}]}`, "scene 1, turn 1: a call is one of"},
		{`{"name":"a","scenes":[{"turns":[{"calls":[{}]}]}]}`, "not 0 of them"},
		{`{"name":"a","scenes":[{"turns":[{"call":[]}]}]}`, `unknown field "call"`},
	} {
		if _, err := agentscript.ReadScripts(strings.NewReader(tt.in)); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.in, err, tt.want)
		}
	}
}
