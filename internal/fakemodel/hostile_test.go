package fakemodel_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// TestHostileReplies checks that each hostile reply comes with status 200, differs from the right
// one, and is followed by that.
func TestHostileReplies(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"/v1/chat/completions":                chatBody("m", "p"),
		"/v1/responses":                       `{"model":"m","input":"p"}`,
		"/v1/messages":                        `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"p"}]}`,
		"/v1beta/models/m:generateContent":    `{"contents":[{"parts":[{"text":"p"}]}]}`,
		"/v1/embeddings":                      `{"model":"m","input":["p"]}`,
		"/v1beta/models/m:batchEmbedContents": `{"requests":[{"content":{"parts":[{"text":"p"}]}}]}`,
	}
	for _, kind := range fakemodel.HostileReplies() {
		for path, body := range bodies {
			t.Run(string(kind)+path, func(t *testing.T) {
				t.Parallel()
				_, url := start(t, fakemodel.Behavior{Faults: fakemodel.Faults{
					Rate: 1, MaxConsecutive: 1,
					Kinds: []fakemodel.Fault{kind},
				}})
				header := http.Header{"Anthropic-Version": {"2023-06-01"}}
				resp, hostile, err := try(t.Context(), url+path, body, header)
				if err != nil || resp.StatusCode != http.StatusOK ||
					json.Valid([]byte(hostile)) != (string(kind) != "streamed") {
					t.Errorf("%v, %v: %s", resp, err, hostile)
				}
				resp, right, err := try(t.Context(), url+path, body, header)
				if err != nil || resp.StatusCode != http.StatusOK || right == hostile {
					t.Errorf("then %v, %v: %s", resp, err, right)
				}
			})
		}
	}
}
