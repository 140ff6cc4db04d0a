package fakemodel_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// FuzzServe sends anything to every path: there is always a whole reply, and one that claims to be
// JSON is.
func FuzzServe(f *testing.F) {
	paths := []string{
		"/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/messages", "/v1beta/models/m:generateContent",
		"/v1beta/models/m:batchEmbedContents", "/ollama/v1/chat/completions",
		"/openai/deployments/d/chat/completions?api-version=1", "/v1/models", "/nowhere",
	}
	for i, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"p"}],"temperature":0,"seed":42,"max_tokens":3}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"p"}]}],"stream":true}`,
		`{"model":"m","input":["a",1],"dimensions":3}`,
		`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"p"}]}`,
		`{"contents":[{"parts":[{"text":"p"}]}],"generationConfig":{"maxOutputTokens":1,"thinkingConfig":{"includeThoughts":true}}}`,
		`{"requests":[1,{"content":{"parts":[{"text":"p"}]}}]}`, `{"content":7}`, `[]`, `""`, `{`,
		`{"model":"m","messages":{}}`,
	} {
		for j := range paths {
			f.Add(uint8(j), uint64(i), body)
		}
	}
	f.Fuzz(func(t *testing.T, path uint8, seed uint64, body string) {
		s := fakemodel.New(fakemodel.Behavior{
			Seed: seed, Dimensions: 4, Models: map[string]fakemodel.Model{
				"m": {Reasoning: 2, CachedTokens: 1},
				"d": {Blocks: fakemodel.BlockFilter},
			},
			Faults: fakemodel.Faults{Rate: 0.2, Kinds: []fakemodel.Fault{
				fakemodel.FaultRefused,
				fakemodel.FaultServer,
			}},
		})
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, paths[int(path)%len(paths)], strings.NewReader(body))
		r.Header.Set("Anthropic-Version", "2023-06-01")
		if !strings.Contains(r.URL.Path, "messages") {
			r.Header.Del("Anthropic-Version")
		}
		s.ServeHTTP(w, r)
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: reply is not JSON: %s", r.URL, body, w.Body)
		}
	})
}
