package fakemodel_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// agentPaths are where the agents of testdata/agents send their requests, below the address of a
// script.
var agentPaths = map[string]string{
	"codex": "/v1/responses", "codex6": "/v1/responses", "claude": "/v1/messages", "opencode": "/v1/chat/completions",
	"copilot": "/v1/chat/completions", "gemini": "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
}

// play serves the scripts until the test ends.
func play(t *testing.T, o fakemodel.Behavior, scripts ...agentscript.Script) (*fakemodel.Agents, string) {
	t.Helper()
	a := fakemodel.NewAgents(o)
	for _, s := range scripts {
		if _, err := a.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	hs := httptest.NewServer(a)
	t.Cleanup(func() { a.Release(); hs.Close() })
	return a, hs.URL
}

// agentHeader is what the server tells the APIs apart by.
func agentHeader(agent string) http.Header {
	switch agent {
	case "claude":
		return http.Header{"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {key}}
	case "gemini":
		return http.Header{"X-Goog-Api-Key": {key}}
	default:
		return http.Header{"Authorization": {"Bearer " + key}}
	}
}

// agentRequest is the first request of an agent, as it was recorded, without all that the server
// does not look at.
func agentRequest(t *testing.T, agent string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "agentscript", "testdata", agent+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
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

func TestAgentFaults(t *testing.T) {
	tests := []struct {
		fault    fakemodel.Fault
		statuses map[string]int
		contains map[string]string
	}{
		{fakemodel.FaultNoModel, map[string]int{"": 404}, map[string]string{
			"codex":  "does not exist",
			"claude": "not_found_error", "gemini": "NOT_FOUND",
		}},
		{
			fakemodel.FaultUnauthorized,
			map[string]int{"": 401},
			map[string]string{
				"codex": "Incorrect API key", "claude": "authentication_error",
				"gemini": "UNAUTHENTICATED",
			},
		},
		{
			fakemodel.FaultWrongKey,
			map[string]int{"": 401, "gemini": 400},
			map[string]string{"gemini": "API_KEY_INVALID"},
		},
		{fakemodel.FaultRateSeconds, map[string]int{"": 429}, map[string]string{"gemini": "RetryInfo"}},
		{
			fakemodel.FaultNoQuota,
			map[string]int{"": 429, "claude": 400},
			map[string]string{"codex": "insufficient_quota"},
		},
		{fakemodel.FaultServer, map[string]int{"": 500}, nil},
	}
	for _, tt := range tests {
		for agent, path := range agentPaths {
			want, ok := tt.statuses[agent]
			if !ok {
				want = tt.statuses[""]
			}
			turn := agentscript.Turn{Text: "at last", Fault: string(tt.fault), Times: 1}
			a, url := play(t, fakemodel.Behavior{}, agentscript.Script{
				Name:   "s",
				Scenes: []agentscript.Scene{{Turns: []agentscript.Turn{turn}}},
			})
			header := agentHeader(agent)
			status, body := post(t, url+"/s/s"+path, agentRequest(t, agent), header)
			if status != want || !strings.Contains(body, tt.contains[agent]) {
				t.Errorf("%s of %s gave %d %s", tt.fault, agent, status, body)
			}
			if status, body = post(t, url+"/s/s"+path, agentRequest(t, agent), header); status != http.StatusOK ||
				!strings.Contains(body, "at last") {
				t.Errorf("after %s, %s got %d %s", tt.fault, agent, status, body)
			}
			if log := a.Requests("s"); log[0].Fault != string(tt.fault) || log[1].Fault != "" {
				t.Errorf("the log of %s has the faults %q and %q", agent, log[0].Fault, log[1].Fault)
			}
		}
	}
}

func TestAgentAside(t *testing.T) {
	a, url := play(t, fakemodel.Behavior{Key: key}, agentscript.Script{
		Name: "s", MaxRequests: 6, Scenes: []agentscript.Scene{{
			Prompt: "the work",
			Turns:  []agentscript.Turn{{Calls: []agentscript.Call{{Skill: "x"}}}, {Text: "worked"}},
		}},
	})
	header := http.Header{"Authorization": {"Bearer " + key}}
	chat := url + "/s/s/v1/chat/completions"
	ask := func(body string, header http.Header, wantStatus int, want string) {
		t.Helper()
		if status, got := post(t, chat, body, header); status != wantStatus || !strings.Contains(got, want) {
			t.Errorf("got %d %s, want %d with %q", status, got, wantStatus, want)
		}
	}
	ask(talk("the work"), nil, http.StatusUnauthorized, "You didn't provide an API key")
	ask(`{"model":"m","messages":[{"role":"user","content":"A title for: the work"}]}`, header, http.StatusOK,
		"A session")
	ask(`{"model":"m","messages":[{"role":"user","content":"next?"}],"response_format":{"type":"json_schema","json_schema":{"schema":`+
		`{"type":"object","properties":{"who":{"enum":["user","model"]},"sure":{"type":"boolean"}},"required":["who","sure"]}}}}`,
		header, http.StatusOK, `{\"sure\":false,\"who\":\"user\"}`)
	ask(talk("something else"), header, http.StatusOK, "nothing prepared")
	ask(talk("the work"), header, http.StatusOK, "neither a tool for skills")
	if status, body := post(t, url+"/s/s/v1/elsewhere", "{}", header); status != http.StatusNotFound {
		t.Errorf("an unknown path gave %d %s", status, body)
	}
	ask(talk("the work"), header, http.StatusBadRequest, "no more than 6 requests")
	want := []string{
		"a conversation that no scene begins", `the agent has neither a tool for skills nor a skill "x"`,
		"more than 6 requests",
	}
	if got := a.Problems("s"); !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
	sides := 0
	for _, r := range a.Requests("s") {
		if r.Side {
			sides++
		}
	}
	if n := len(a.Requests("s")); n != 7 || sides != 3 {
		t.Errorf("the log has %d requests, %d on the side", n, sides)
	}
	if status, _ := post(t, url+"/s/other/v1/chat/completions", talk("x"), header); status != http.StatusNotFound {
		t.Errorf("an unknown script gave %d", status)
	}
}
