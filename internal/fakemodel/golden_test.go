package fakemodel_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/golden"
)

// TestReplies keeps one reply of each shape as a file, so that a change of a wire format is seen.
// UPDATE=1 rewrites it.
func TestReplies(t *testing.T) {
	models := fakemodel.RealModels()
	models["gpt-thinker"] = fakemodel.Model{Reasoning: 500, CachedTokens: 4}
	models["claude-thinker"] = fakemodel.Model{Reasoning: 500, CachedTokens: 4, CacheWriteTokens: 2}
	models["gemini-thinker"] = fakemodel.Model{Reasoning: 500, CachedTokens: 4}
	models["gpt-refusal"] = fakemodel.Model{Blocks: fakemodel.BlockRefusal}
	models["gemini-refusal"] = fakemodel.Model{Blocks: fakemodel.BlockRefusal}
	_, url := start(t, fakemodel.Behavior{Key: key, Models: models, Dimensions: 4, Answers: []fakemodel.Answer{
		{Prompt: "q", Answer: "Yes: \"é\"."},
		{Prompt: "limited", Fault: fakemodel.FaultRateSeconds},
		{Prompt: "overloaded", Fault: fakemodel.FaultOverloaded},
		{Prompt: "broken", Fault: fakemodel.FaultServer},
		{Prompt: "gateway", Fault: fakemodel.FaultGateway},
		{Prompt: "late", Fault: fakemodel.FaultTimeout},
	}})

	chat := func(model, prompt, more string) string {
		return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]%s}`, model, prompt, more)
	}
	contents := func(prompt, more string) string {
		return fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%q}]}]%s}`, prompt, more)
	}
	var got strings.Builder
	for _, c := range []struct{ name, path, body string }{
		{"openai", "/v1/chat/completions", chat("gpt-4o", "q", "")},
		{"openai refusal", "/v1/chat/completions", chat("gpt-refusal", "q", "")},
		{"openai limited", "/v1/chat/completions", chat("gpt-4o", "limited", "")},
		{"openai overloaded", "/v1/chat/completions", chat("gpt-4o", "overloaded", "")},
		{"openai broken", "/v1/chat/completions", chat("gpt-4o", "broken", "")},
		{"openai gateway", "/v1/chat/completions", chat("gpt-4o", "gateway", "")},
		{"openai late", "/v1/chat/completions", chat("gpt-4o", "late", "")},
		{"openai bad json", "/v1/chat/completions", "{"},
		{"openai no messages", "/v1/chat/completions", `{"model":"gpt-4o"}`},
		{"openai bad role", "/v1/chat/completions", `{"model":"gpt-4o","messages":[{"role":"bot","content":"x"}]}`},
		{"openai bad path", "/v1/nothing", "{}"},
		{"openai embeddings", "/v1/embeddings", `{"model":"text-embedding-3-small","input":["a b","c"]}`},
		{"openai empty input", "/v1/embeddings", `{"model":"text-embedding-3-small","input":""}`},
		{"responses", "/v1/responses", `{"model":"gpt-thinker","input":"q","temperature":0}`},
		{"responses unsupported", "/v1/responses", `{"model":"o3","input":"q","temperature":0}`},
		{"azure", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", chat("gpt-4o", "q", "")},
		{
			"azure limited", "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
			chat("gpt-4o", "limited", ""),
		},
		{"azure unknown", "/openai/deployments/x/chat/completions?api-version=2024-10-21", chat("x", "q", "")},
		{"anthropic", "/v1/messages", chat("claude-thinker", "q",
			`,"max_tokens":900,"thinking":{"type":"enabled","budget_tokens":1024}`)},
		{"anthropic limited", "/v1/messages", chat("claude-opus-4-6", "limited", `,"max_tokens":9`)},
		{"anthropic overloaded", "/v1/messages", chat("claude-opus-4-6", "overloaded", `,"max_tokens":9`)},
		{"anthropic no cap", "/v1/messages", chat("claude-opus-4-6", "q", "")},
		{"google", "/v1beta/models/gemini-thinker:generateContent", contents("q", "")},
		{"google safety", "/v1beta/models/gemini-refusal:generateContent", contents("q", "")},
		{"google limited", "/v1beta/models/gemini-2.5-flash:generateContent", contents("limited", "")},
		{"google overloaded", "/v1beta/models/gemini-2.5-flash:generateContent", contents("overloaded", "")},
		{
			"google unknown field", "/v1beta/models/gemini-2.5-flash:generateContent",
			contents("q", `,"generationConfig":{"sead":1}`),
		},
		{"ollama v1", "/ollama/v1/chat/completions", chat("qwen3", "q", "")},
		{"ollama v1 unknown", "/ollama/v1/chat/completions", chat("qwen9", "q", "")},
	} {
		header := http.Header{"Authorization": {"Bearer " + key}, "X-Goog-Api-Key": {key}}
		if strings.HasPrefix(c.path, "/v1/messages") {
			header.Set("Anthropic-Version", "2023-06-01")
		}
		resp, data, err := try(t.Context(), url+c.path, c.body, header)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		fmt.Fprintf(&got, "-- %s --\nPOST %s\n%s\n\n%s\n", c.name, c.path, c.body, resp.Status)
		for _, h := range slices.Sorted(maps.Keys(resp.Header)) {
			if h != "Date" && h != "Content-Length" {
				fmt.Fprintf(&got, "%s: %s\n", h, resp.Header.Get(h))
			}
		}
		fmt.Fprintf(&got, "\n%s\n\n", strings.TrimRight(strings.ReplaceAll(data, "\r", ""), "\n"))
	}
	golden.Equal(t, "testdata/replies.txt", scrub(got.String()))
}

// TestLists keeps the lists of models likewise.
func TestLists(t *testing.T) {
	models := map[string]fakemodel.Model{
		"gpt-4o": {}, "claude-opus-4-6": {}, "gemini-2.5-flash": {},
		"gemini-embedding-001": {}, "qwen3:8b": {},
	}
	_, url := start(t, fakemodel.Behavior{Models: models})
	var got strings.Builder
	for _, c := range []struct{ path, header string }{
		{"/v1/models", "Authorization"},
		{"/v1/models", "Anthropic-Version"},
		{"/v1beta/models", "X-Goog-Api-Key"},
		{"/ollama/v1/models", "Accept"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(c.header, "x")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "-- %s with %s --\n%s\n%s\n\n", c.path, c.header, resp.Status,
			strings.TrimRight(string(data), "\n"))
	}
	golden.Equal(t, "testdata/lists.txt", scrub(got.String()))
}

// scrub takes out what the clock decides.
func scrub(s string) string {
	for _, p := range []struct{ re, with string }{
		{`"(created|created_at|completed_at)":( ?)\d+`, `"$1":${2}1700000000`},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`, "2026-01-01T00:00:00Z"},
		{`_duration":\d+`, `_duration":1`},
		{`(dur=|Openai-Processing-Ms: )\d+`, "${1}0"},
	} {
		s = regexp.MustCompile(p.re).ReplaceAllString(s, p.with)
	}
	return s
}
