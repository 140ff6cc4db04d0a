package runner

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
)

func TestParseAnswer(t *testing.T) {
	for _, tt := range []struct {
		stdout string
		object bool
		output string // or the error
		bad    string
	}{
		{"", false, "", ""},
		{"hello\r\n\n", false, "hello", ""},
		{"  indented\n", false, "  indented", ""},
		{`{"answer": 5}`, false, `{"answer": 5}`, ""},
		{`{"Output": "x"}`, false, `{"Output": "x"}`, ""},
		{`[{"output": "x"}]`, false, `[{"output": "x"}]`, ""},
		{`"output"`, false, `"output"`, ""},
		{`{"output": "x"} and more`, false, `{"output": "x"} and more`, ""},
		{`{"output": "x"}{"output": "y"}`, false, `{"output": "x"}{"output": "y"}`, ""},
		{`{"output": "x"`, false, `{"output": "x"`, ""},
		{"bad \xff byte", false, "bad \uFFFD byte", ""},
		{`{"output": "x\n"}`, true, "x\n", ""},
		{"\n {\"output\": \"\"} \r\n", true, "", ""},
		{`{"output": "x", "error": null}`, true, "x", ""},
		{`{"output": "x", "error": false}`, true, "x", ""},
		{`{"error": "no"}`, true, "no", ""},
		{`{"error": ""}`, true, "an error without a message", ""},
		{`{"error": {"message": "no"}}`, true, "no", ""},
		{`{"error": {"code": 5}}`, true, `an error without a message: {"code": 5}`, ""},
		{`{"output": "so far", "error": "no"}`, true, "no", ""},
		{`{"output": null}`, true, "", `neither an "output" nor an "error"`},
		{`{"error": null}`, true, "", `neither an "output" nor an "error"`},
		{`{"error": 5}`, true, "", `"error" of the answer`},
		{`{"output": {"a": 1}}`, true, "", `"output" of the answer is not a string`},
		{`{"output": "x", "model": 1}`, true, "", `"model" of the answer`},
		{`{"output": "x", "costUsd": "1"}`, true, "", `"costUsd" of the answer is not a number`},
		{`{"output": "x", "costUsd": -1}`, true, "", `not a valid cost`},
		{`{"output": "x", "usage": 5}`, true, "", `"usage" of the answer is not an object`},
		{`{"output": "x", "usage": {"inputTokens": 1.5}}`, true, "", `"usage.inputTokens" of the answer is not a whole number`},
		{`{"output": "x", "usage": {"inputTokens": -1}}`, true, "", `"usage.inputTokens" of the answer is -1, which is not a valid token count`},
		{`{"output": "x", "usage": {"outputTokens": 1099511627777}}`, true, "", `"usage.outputTokens" of the answer is 1099511627777, which is not a valid token count`},
		{`{"output": "x", "usage": {"inputTokens": 5, "cacheTokens": 6}}`, true, "", `6 cacheTokens among 5 inputTokens`},
		{`{"output": "x", "costUsd": 1e300}`, true, "", `not a valid cost`},
		{`{"output": "half of", "finishReason": "error"}`, true, "", `its "finishReason" is "error"`},
		{`{"output": "half of", "finishReason": "abort"}`, true, "", `its "finishReason" is "abort"`},
		{`{"output": "half of", "finishReason": "timeout"}`, true, "half of", ""},
		{`{"output": "x", "finishReason": 1}`, true, "", `"finishReason" of the answer is not a string`},
		{`{"output": ["x"]}`, true, "", `"output" of the answer is not a string`},
		{`{"output": 5}`, true, "", `"output" of the answer is not a string`},
		{`{"output": "x", "error": {}}`, true, "an error without a message: {}", ""},
		{`{"output": "x", "error": true}`, true, "", `"error" of the answer`},
		{`{"output": "x", "error": []}`, true, "", `"error" of the answer`},
		{`{"output": "x", "output": "y"}`, true, "y", ""},
		{`{"output": "x", "output": null}`, true, "", `neither an "output" nor an "error"`},
		{`{"output": "x", "usage": {"inputTokens": null, "totalTokens": 5}, "model": null, "costUsd": null, "finishReason": null}`, true, "x", ""},
	} {
		answer, object, err := parseAnswer([]byte(tt.stdout))
		if object != tt.object {
			t.Errorf("%q: object %t, want %t", tt.stdout, object, tt.object)
			continue
		}
		if tt.bad != "" {
			if err == nil || !strings.Contains(err.Error(), tt.bad) {
				t.Errorf("%q: error %v, want %s", tt.stdout, err, tt.bad)
			}
			continue
		}
		got := textAnswer([]byte(tt.stdout))
		if object {
			if got = answer.Output; answer.Error != "" {
				got = answer.Error
			}
		}
		if err != nil || got != tt.output {
			t.Errorf("%q: %q, %v; want %q", tt.stdout, got, err, tt.output)
		}
	}
}

// TestAnswerInDocs reads the example of docs/runners.md: it has every key but error, and none that
// means nothing.
func TestAnswerInDocs(t *testing.T) {
	doc, err := os.ReadFile("../../docs/runners.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "<!-- answer -->\n```json\n")
	example, _, _ := strings.Cut(rest, "```")
	answer, object, err := parseAnswer([]byte(example))
	if err != nil || !object || len(answer.unknown) > 0 || answer.Output != "Yes." || answer.CostUSD == nil || answer.Usage.CacheWriteTokens == nil {
		t.Errorf("%+v, %t, %v", answer, object, err)
	}
	for _, key := range answerKeys() {
		if name := key[strings.LastIndex(key, ".")+1:]; !strings.Contains(string(doc), "`"+name+"`") && !strings.Contains(example, `"`+name+`"`) && name != "totalTokens" {
			t.Errorf("%s is not documented", key)
		}
	}
}

func TestFinishReason(t *testing.T) {
	for word, want := range map[string]plumb.FinishReason{
		"": plumb.FinishStop, "stop": plumb.FinishStop, "refused": plumb.FinishRefused, "max_tokens": plumb.FinishTruncated,
		"content_filter": plumb.FinishRefused, "tool_use": plumb.FinishToolCalls, "bored": plumb.FinishOther,
	} {
		got, provider := finishReason(word)
		if got != want || provider != "" && provider != word || string(got) != word && provider != word {
			t.Errorf("%q: %q, %q", word, got, provider)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{
		"", "text\n", `{"output":"x"}`, `{"error":{"message":"m"}}`, `{"output":"x","usage":{"inputTokens":1,"x":2},"costUsd":1e308}`,
		`{"output":"\ud800"}`, "{\"output\":\"\xff\"}", `{"output":"a","output":"b"}`, ` {"error":` + strings.Repeat("[", 100),
		"{\"error\":{\"\xae\":\"\"}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		answer, object, err := parseAnswer(stdout)
		if err != nil && !object {
			t.Fatalf("an error about text: %v", err)
		}
		if object && !json.Valid(stdout) {
			t.Fatal("an object that is not JSON")
		}
		if object && err == nil && answer.Error == "" && !strings.Contains(string(stdout), "output") {
			t.Fatal("an answer out of nothing")
		}
		for _, text := range []string{answer.Output, answer.Error, textAnswer(stdout)} {
			if !utf8.ValidString(text) {
				t.Fatalf("%q is not UTF-8", text)
			}
		}
		if c := answer.CostUSD; err == nil && c != nil && *c < 0 {
			t.Fatalf("cost %g", *c)
		}
	})
}
