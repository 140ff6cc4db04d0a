package wire_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/wire"
)

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		target string
		header http.Header
		want   wire.Route
		key    string
	}{
		{
			"/v1/chat/completions",
			http.Header{"Authorization": {"Bearer k"}},
			wire.Route{Provider: wire.OpenAI, Endpoint: wire.Chat},
			"k",
		},
		{"/v1/responses/", nil, wire.Route{Provider: wire.OpenAI, Endpoint: wire.Responses}, ""},
		{
			"/openai/deployments/d/chat/completions?api-version=1",
			http.Header{"Api-Key": {"k"}},
			wire.Route{Provider: wire.Azure, Endpoint: wire.Chat, Model: "d"},
			"k",
		},
		{
			"/openai/v1/responses",
			http.Header{"Api-Key": {"k"}},
			wire.Route{Provider: wire.Azure, Endpoint: wire.Responses},
			"k",
		},
		{
			"/v1/messages",
			http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer other"}},
			wire.Route{Provider: wire.Anthropic, Endpoint: wire.Messages},
			"k",
		},
		{
			"/v1/messages/count_tokens",
			http.Header{"Authorization": {"Bearer k"}},
			wire.Route{Provider: wire.Anthropic, Endpoint: wire.Count},
			"k",
		},
		{
			"/v1/models",
			http.Header{"Anthropic-Version": {"2023-06-01"}},
			wire.Route{Provider: wire.Anthropic, Endpoint: wire.Models},
			"",
		},
		{"/v1/models/gpt-5", nil, wire.Route{Provider: wire.OpenAI, Endpoint: wire.Models}, ""},
		{"/ollama/v1/models", nil, wire.Route{Provider: wire.Ollama, Endpoint: wire.Models}, ""},
		{
			"/v1beta/models/m:generateContent",
			http.Header{"Authorization": {"Bearer k"}},
			wire.Route{Provider: wire.Google, Endpoint: wire.Generate, Model: "m"},
			"",
		},
		{
			"/v1beta/models/m:streamGenerateContent?alt=sse",
			http.Header{"X-Goog-Api-Key": {"k"}},
			wire.Route{Provider: wire.Google, Endpoint: wire.Generate, Model: "m", Stream: true, Events: true},
			"k",
		},
		{
			"/v1beta/models/m:batchEmbedContents", nil,
			wire.Route{Provider: wire.Google, Endpoint: wire.Embeddings, Model: "m"},
			"",
		},
		{"/v1beta/models/m:explain", nil, wire.Route{Provider: wire.Google, Model: "m"}, ""},
		{"/v1/elsewhere", nil, wire.Route{Provider: wire.OpenAI}, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, c.target, nil)
		r.Header = c.header
		if got := wire.RouteOf(r); got != c.want || got.Key(r) != c.key {
			t.Errorf("%s goes to %+v with the key %q, want %+v with %q", c.target, got, got.Key(r), c.want, c.key)
		}
	}
}

// TestRead reads the same conversation in each format.
func TestRead(t *testing.T) {
	for endpoint, body := range map[wire.Endpoint]string{
		wire.Chat: `{"model":"m","temperature":0.5,"max_completion_tokens":7,"stream":true,"messages":[
			{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
			{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":"r"},{"role":"user","content":"c"}],
			"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],
			"response_format":{"json_schema":{"schema":{"type":"string"}}}}`,
		wire.Responses: `{"model":"m","temperature":0.5,"max_output_tokens":7,"stream":true,"instructions":"s","input":[
			{"role":"user","content":[{"text":"a"},{"text":"b"}]},{"type":"function_call","name":"f"},
			{"type":"function_call_output","output":"r"},{"type":"agent_message","content":[{"encrypted_content":"c"}]}],
			"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],
			"text":{"format":{"schema":{"type":"string"}}}}`,
		wire.Messages: `{"model":"m","temperature":0.5,"max_tokens":7,"stream":true,"system":[{"text":"s"}],"messages":[
			{"role":"user","content":[{"text":"a"},{"text":"b"}]},{"role":"assistant","content":[{"type":"tool_use"}]},
			{"role":"user","content":[{"type":"tool_result","content":"r"},{"type":"text","text":"c"}]}],
			"tools":[{"name":"f","input_schema":{"type":"object"}}],"output_format":{"schema":{"type":"string"}}}`,
		wire.Generate: `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"parts":[{"text":"a"},{"text":"b"}]},
			{"role":"model","parts":[{"functionCall":{}}]},
			{"role":"user","parts":[{"functionResponse":{"response":"r"}},{"text":"c"}]}],
			"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"object"}}]}],
			"generationConfig":{"temperature":0.5,"maxOutputTokens":7,"responseSchema":{"type":"string"}}}`,
	} {
		rt := wire.Route{Endpoint: endpoint}
		if endpoint == wire.Generate {
			rt.Model, rt.Stream = "m", true
		}
		q, err := wire.Read(rt, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, m := range q.Messages {
			if m.Role == plumb.RoleUser || m.Role == wire.RoleTool {
				said = append(said, m.Role+" "+strings.Trim(m.Content, `"`))
			}
		}
		if want := []string{"user ab", "tool r", "user c"}; !slices.Equal(said, want) {
			t.Errorf("%s: the messages are %q, want %q", endpoint, said, want)
		}
		if q.System != "s" || q.Model != "m" || !q.Stream || *q.Parameters.Temperature != 0.5 ||
			*q.Parameters.MaxOutputTokens != 7 || len(q.Sent) != 2 || len(q.Tools) != 1 || q.Tools[0].Name != "f" ||
			q.Tools[0].Schema.Get("type").Str != "object" || q.Schema.Get("type").Str != "string" {
			t.Errorf("%s: read %+v", endpoint, q)
		}
	}
	if _, err := wire.Read(wire.Route{Endpoint: wire.Chat}, []byte("{")); err == nil {
		t.Error("a request that is not JSON was read")
	}
}

// TestNoText: a parameter of another type, or null, is not given.
func TestNoText(t *testing.T) {
	q, err := wire.Read(wire.Route{Endpoint: wire.Chat},
		[]byte(`{"temperature":"hot","seed":0.5,"top_p":null,"reasoning_effort":3}`))
	if err != nil || q.Parameters != (plumb.Parameters{}) || len(q.Sent) != 3 {
		t.Errorf("read %+v and %+v, %v", q.Parameters, q.Sent, err)
	}
}

func TestAppend(t *testing.T) {
	v := wire.Object{
		"text", "a <b> \"c\"\n\x00\xff 🪐", "none", nil, "yes", true, "n", 1, "m", int64(-2), "raw", wire.Raw("0.5"),
		"empty",
		wire.Object{},
		"list",
		[]any{},
		"nested",
		wire.Object{"list", []any{1, wire.Object{"x", []any{"y"}}}},
	}
	const want = `{"text":"a <b> \"c\"\n\u0000� 🪐","none":null,"yes":true,"n":1,"m":-2,"raw":0.5,"empty":{},` +
		`"list":[],"nested":{"list":[1,{"x":["y"]}]}}`
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(want), "", "  "); err != nil {
		t.Fatal(err)
	}
	if got := string(wire.Append(nil, v, false)); got != want {
		t.Errorf("on one line: %s\nwant %s", got, want)
	}
	if got := string(wire.Append(nil, v, true)); got != indented.String() {
		t.Errorf("indented: %s\nwant %s", got, indented.String())
	}
}

// FuzzEncode writes any answer in every format: each reply is JSON, and each event of a stream is one
// line of JSON.
func FuzzEncode(f *testing.F) {
	f.Add("a <b> \"c\"\n\x00\xff 🪐", "thought", `{"command":"ls"}`, uint8(0), 7)
	f.Add("", "", "a patch\n", uint8(3), 0)
	f.Fuzz(func(t *testing.T, text, thought, args string, finish uint8, reasoning int) {
		a := wire.Answer{
			Text: text, Thought: thought, Finish: wire.Finish(finish % 5), Snapshot: "m", ID: "1", At: time.Unix(1, 0),
			Tokens: wire.Tokens{Input: 10, Output: 20, Reasoning: min(max(reasoning, 0), 20), CacheWrite: 1},
		}
		call := wire.Call{Name: "f", Args: args, ID: "c", Custom: true}
		if json.Valid([]byte(args)) && !strings.ContainsAny(args, "\r\n") {
			call.Custom = false
		}
		for _, q := range []wire.Request{
			{Route: wire.Route{Provider: wire.OpenAI, Endpoint: wire.Chat}, Usage: true},
			{Route: wire.Route{Provider: wire.Azure, Endpoint: wire.Chat}},
			{Route: wire.Route{Provider: wire.Ollama, Endpoint: wire.Chat}},
			{Route: wire.Route{Provider: wire.OpenAI, Endpoint: wire.Responses}},
			{Route: wire.Route{Provider: wire.Anthropic, Endpoint: wire.Messages}, Thoughts: true},
			{Route: wire.Route{Provider: wire.Google, Endpoint: wire.Generate}, Thoughts: true},
			{Route: wire.Route{Provider: wire.Google, Endpoint: wire.Generate, Events: true}},
			{Route: wire.Route{Provider: wire.Google, Endpoint: wire.Count}},
		} {
			a.Calls = []wire.Call{call}
			if call.Custom && q.Endpoint != wire.Responses && q.Endpoint != wire.Chat { // they have no such calls
				a.Calls = nil
			}
			whole := wire.Encode(&q, a)
			if whole.Border != "" || !json.Valid(whole.Body) {
				t.Errorf("%s %s: the reply is not JSON: %s", q.Provider, q.Endpoint, whole.Body)
			}
			q.Stream = true
			stream := wire.Encode(&q, a)
			if stream.Border == ",\r\n" && !json.Valid(stream.Body) {
				t.Errorf("the growing array is not JSON: %s", stream.Body)
			}
			for line := range strings.Lines(string(stream.Body)) {
				data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
				if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("%s %s: the event is not JSON: %s", q.Provider, q.Endpoint, line)
				}
			}
		}
	})
}
