package modelapi

import (
	"bytes"
	"strings"
	"testing"
)

// TestBegun breaks a reply of each wire format off after every byte: it has begun to answer from
// the first letter of the answer on, and never before.
func TestBegun(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"chat":          `{"id":"x","choices":[{"index":0,"logprobs":null,"message":{"role":"assistant","reasoning":"so","content":"ANSWER \u00e9\"\ud83d\ude00"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"cost":-1.5e-7}}`,
		"chat in parts": `{"id":"x","choices":[{"message":{"content":[{"type":"text","text":"ANSWER"}]}}]}`,
		"refusal":       `{"choices":[{"message":{"content":null,"refusal":"ANSWER"}}]}`,
		"responses":     `{"id":"x","error":null,"output":[{"type":"reasoning","content":[],"text":"hm"},{"type":"message","content":[{"annotations":[],"type":"output_text","text":"ANSWER"}]}]}`,
		"anthropic":     `{"id":"x","type":"message","content":[{"type":"thinking","thinking":"so","text":"hm"},{"type":"text","text":"ANSWER"}],"stop_reason":"end_turn"}`,
		"google":        `{"candidates":[{"content":{"parts":[{"thought":true,"text":"hm"},{"text":"ANSWER"}],"role":"model"}}]}`,
	} {
		first := strings.Index(reply, "ANSWER")
		for n := range len(reply) + 1 {
			if got := begun([]byte("\n  " + reply[:n])); (got != nil) != (n > first) || got != nil && string(got) != strings.TrimSpace(reply[:n]) {
				t.Errorf("%s: %s: begun is %q", name, reply[:n], got)
			}
		}
	}
	for _, none := range []string{
		"", " \n ", "null", "[]", `"ANSWER"`, "ANSWER", `{"error":{"message":"content","text":"ANSWER"}}`, `{"choices":[{"message":{"content":" \n"}}]}`,
		`{"choices":{"message":{"content":"ANSWER"}}}`, `}}}]]`, `<html>ANSWER`, `{"model":"content","text":"ANSWER"`,
	} {
		if got := begun([]byte(none)); got != nil {
			t.Errorf("%q is no beginning of an answer", none)
		}
	}
	long := []byte(`{"choices":[{"message":{"content":"` + strings.Repeat("a", 4<<20))
	if got := begun(long); !bytes.Equal(got, long[:partialLimit]) {
		t.Errorf("%d bytes are kept", len(got))
	}
}
