package modelapi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
)

const ordinaryReply = `{"id":"chatcmpl-1","object":"chat.completion","created":1795132800,"model":"gpt-4o-2024-08-06","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"ready \u00e9 \n","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":80,"completion_tokens":12,"total_tokens":92,"prompt_tokens_details":{"cached_tokens":7,"audio_tokens":0},` +
	`"completion_tokens_details":{"reasoning_tokens":3}},"service_tier":"default","system_fingerprint":"fp_1"}`

// sameAsSDK checks that whatever the short cut reads, it reads as the SDK does.
func sameAsSDK(t *testing.T, body []byte) (plain bool) {
	t.Helper()
	got, ok := decodePlain(body)
	if !ok {
		return false
	}
	want, err := chatDialect{}.decodeWithSDK(body)
	if err != nil {
		t.Fatalf("the short cut accepts what the SDK does not (%v): %s", err, body)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{}, toolCall{})); diff != "" {
		t.Fatalf("%s\n(-SDK +short cut):\n%s", body, diff)
	}
	return true
}

func TestPlainChatReadsWhatTheSDKReads(t *testing.T) {
	if !sameAsSDK(t, []byte(ordinaryReply)) {
		t.Error("an ordinary reply does not take the short cut")
	}
	files, err := filepath.Glob("testdata/*/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded replies: %v", err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil {
			sameAsSDK(t, data)
		}
	}
}

func FuzzPlainChat(f *testing.F) {
	f.Add([]byte(ordinaryReply))
	f.Add([]byte(`{"choices":[{"finish_reason":"length","message":{"content":"","reasoning":"x"}}],"usage":{}}`))
	f.Add([]byte(`{"id":null,"choices":[{"finish_reason":"stop","message":{"content":"a","content":"b"}}],"usage":{"prompt_tokens":1.0}}`))
	f.Add([]byte(`{"choices":[{"finish_reason":"stop","message":{"content":"a"}}],"usage":{"prompt_tokens":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) { sameAsSDK(t, body) })
}

func TestPlainChatWritesWhatTheSDKWrites(t *testing.T) {
	maybe := func(t *rapid.T, name string) bool { return rapid.Bool().Draw(t, name) }
	rapid.Check(t, func(t *rapid.T) {
		d := chatDialect{compatible: maybe(t, "compatible")}
		a := ask{model: rapid.StringN(1, 20, -1).Draw(t, "model"), otherCap: maybe(t, "otherCap")}
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			a.messages = append(a.messages, plumb.Message{
				Role: rapid.SampledFrom([]string{"system", "developer", "user", "assistant"}).Draw(t, "role"), Content: rapid.String().Draw(t, "content"),
			})
		}
		if maybe(t, "temperature") {
			a.parameters.Temperature = new(rapid.Float64Range(0, 2).Draw(t, "t"))
		}
		if maybe(t, "topP") {
			a.parameters.TopP = new(rapid.Float64Range(0, 1).Draw(t, "p"))
		}
		if maybe(t, "seed") {
			a.parameters.Seed = new(rapid.Int64().Draw(t, "s"))
		}
		if maybe(t, "cap") {
			a.parameters.MaxOutputTokens = new(rapid.Int64Range(1, 1<<40).Draw(t, "n"))
		}
		if maybe(t, "effort") {
			a.parameters.ReasoningEffort = new(rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "e"))
		}
		got, err := d.encode(a)
		if err != nil {
			t.Fatal(err)
		}
		want, err := d.encodeWithSDK(a)
		if err != nil {
			t.Fatal(err)
		}
		var g, w any
		if err := json.Unmarshal(got, &g); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, g); diff != "" {
			t.Fatalf("(-SDK +plain):\n%s", diff)
		}
	})
}
