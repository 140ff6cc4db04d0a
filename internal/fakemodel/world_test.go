package fakemodel_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

const (
	question = "Which is the largest planet?"
	answer   = "Jupiter, by far: \"the giant\" — 317.8 times the mass of the Earth.\nNo other planet comes near.\t🪐"
	key      = "sk-right-key-0123456789"
)

// start serves o until the test ends.
func start(tb testing.TB, o fakemodel.Options) (*fakemodel.Server, string) {
	tb.Helper()
	s := fakemodel.New(o)
	hs := httptest.NewServer(s)
	tb.Cleanup(func() { s.Release(); hs.Close() })
	return s, hs.URL
}

// world answers the question, and has a model for each peculiarity.
func world() fakemodel.Options {
	models := fakemodel.RealModels()
	models["gpt-thinker"] = fakemodel.Model{Reasoning: 500, CachedTokens: 4}
	models["claude-thinker"] = fakemodel.Model{Reasoning: 500, CachedTokens: 4, CacheWriteTokens: 2}
	models["gemini-thinker"] = fakemodel.Model{Reasoning: 500, CachedTokens: 4}
	for _, p := range []string{"gpt", "claude", "gemini"} {
		models[p+"-poor"] = fakemodel.Model{NoQuota: true}
		models[p+"-refusal"] = fakemodel.Model{Blocks: fakemodel.BlockRefusal}
		models[p+"-filter"] = fakemodel.Model{Blocks: fakemodel.BlockFilter}
		models[p+"-prompt"] = fakemodel.Model{Blocks: fakemodel.BlockPrompt}
	}
	models["gemini-fixed"] = fakemodel.Model{Refuses: []string{"temperature", "seed"}}
	return fakemodel.Options{
		Key: key, Models: models,
		Answers: []fakemodel.Answer{{Prompt: question, Answer: answer}},
	}
}

// TestOllamaAPI asks Ollama's own interface. The tests with the clients of the official SDKs are in
// internal/runner/modelapi/sdktest.
func TestOllamaAPI(t *testing.T) {
	_, url := start(t, world())
	type reply struct {
		Model      string
		Message    struct{ Role, Content string }
		Done       bool
		DoneReason string `json:"done_reason"`
		Prompt     int    `json:"prompt_eval_count"`
		Eval       int    `json:"eval_count"`
		Embeddings [][]float32
		Models     []struct{ Name, Digest string }
		Error      string
	}
	call := func(path, body string) (int, []reply) {
		t.Helper()
		status, data := post(t, url+path, body, nil)
		var out []reply
		for d := json.NewDecoder(strings.NewReader(data)); d.More(); {
			var r reply
			if err := d.Decode(&r); err != nil {
				t.Fatalf("%s: %v in %s", path, err, data)
			}
			out = append(out, r)
		}
		return status, out
	}
	body := `{"model":"qwen3","messages":[{"role":"user","content":"` + question + `"}],"options":{"temperature":0,"seed":42,"num_predict":1000}`
	_, whole := call("/api/chat", body+`,"stream":false}`)
	if len(whole) != 1 || whole[0].Message.Content != answer || !whole[0].Done || whole[0].DoneReason != "stop" || whole[0].Eval == 0 || whole[0].Prompt == 0 {
		t.Errorf("chat gave %+v", whole)
	}
	_, lines := call("/api/chat", body+`}`)
	text := ""
	for _, l := range lines {
		text += l.Message.Content
	}
	if text != answer || len(lines) < 3 || !lines[len(lines)-1].Done || lines[0].Done {
		t.Errorf("the stream gave %q in %d lines", text, len(lines))
	}
	if status, r := call("/api/chat", `{"model":"qwen9","messages":[]}`); status != 404 || r[0].Error != "model 'qwen9' not found" {
		t.Errorf("an unknown model gave %d %+v", status, r)
	}
	if _, r := call("/api/embed", `{"model":"nomic-embed-text","input":["a","b"]}`); len(r[0].Embeddings) != 2 || len(r[0].Embeddings[0]) != 128 {
		t.Errorf("embeddings = %+v", r)
	}
	resp, err := http.Get(url + "/api/tags")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var tags reply
	if err := json.NewDecoder(resp.Body).Decode(&tags); err != nil || len(tags.Models) == 0 || len(tags.Models[0].Digest) != 64 {
		t.Errorf("tags = %+v, %v", tags, err)
	}
}
