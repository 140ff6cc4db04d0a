package modelapi

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
