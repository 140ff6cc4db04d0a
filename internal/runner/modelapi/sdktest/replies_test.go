package sdktest

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// format is a wire format: how to ask for it, what the SDK reads in a reply, and a reply with the
// given content. read returns false where the SDK does not read the reply, or reads it in a way
// that Plumb does not follow.
type format struct {
	cfg   modelapi.Config
	read  func(body []byte) (answered, bool)
	write func(c content) any
	// section is the title of the table of replies in docs/providers.md.
	section string
}

// content is what a drawn reply holds.
type content struct {
	text, thought, call   string
	input, output, cached int64
}

func formats() map[string]format {
	return map[string]format{
		"chat": {
			modelapi.Config{Provider: "openai", Model: "m"},
			readChat, writeChat,
			"Chat completions: OpenAI, Azure, and compatible servers",
		},
		"responses": {modelapi.Config{Provider: "openai", Model: "m", API: "responses"}, readResponses, writeResponses, "Responses"},
		"anthropic": {modelapi.Config{Provider: "anthropic", Model: "m"}, readAnthropic, writeAnthropic, "Anthropic messages"},
		"google":    {modelapi.Config{Provider: "google", Model: "m"}, readGoogle, writeGoogle, "Google generateContent"},
	}
}

func readChat(body []byte) (answered, bool) {
	var c openai.ChatCompletion
	if json.Unmarshal(body, &c) != nil || len(c.Choices) == 0 {
		return answered{}, false
	}
	m := c.Choices[0].Message
	a := answered{
		text: m.Content, model: c.Model, input: c.Usage.PromptTokens, output: c.Usage.CompletionTokens,
		cached: c.Usage.PromptTokensDetails.CachedTokens,
	}
	if a.text == "" {
		a.text = m.Refusal
	}
	for _, call := range m.ToolCalls {
		a.calls = append(a.calls, call.Function.Name+call.Custom.Name)
	}
	if name := m.FunctionCall.Name; name != "" {
		a.calls = append(a.calls, name)
	}
	return a, !strings.HasPrefix(m.JSON.Content.Raw(), "[") // other servers send lists of parts
}

func writeChat(c content) any {
	message := map[string]any{"role": "assistant", "content": c.text, "refusal": nil}
	finish := "stop"
	if c.call != "" {
		function := map[string]any{"name": c.call, "arguments": `{"a":1}`}
		message["tool_calls"], finish = []any{map[string]any{"id": "1", "type": "function", "function": function}}, "tool_calls"
	}
	return map[string]any{
		"id": "x", "object": "chat.completion", "model": "m-1",
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}},
		"usage": map[string]any{
			"prompt_tokens": c.input, "completion_tokens": c.output, "prompt_tokens_details": map[string]any{"cached_tokens": c.cached},
		},
	}
}

func readResponses(body []byte) (answered, bool) {
	var r responses.Response
	if json.Unmarshal(body, &r) != nil {
		return answered{}, false
	}
	a := answered{
		text: r.OutputText(), model: r.Model, input: r.Usage.InputTokens, output: r.Usage.OutputTokens,
		cached: r.Usage.InputTokensDetails.CachedTokens,
	}
	refusal := ""
	for _, item := range r.Output {
		if item.Type == "function_call" || item.Type == "custom_tool_call" {
			a.calls = append(a.calls, item.Name)
		}
		for _, part := range item.Content {
			switch {
			case item.Type != "message":
			case part.Type == "text": // other servers send it
				return a, false
			case part.Type == "refusal":
				refusal += part.Refusal
			}
		}
	}
	if a.text == "" {
		a.text = refusal
	}
	return a, true
}

func writeResponses(c content) any {
	output := []any{map[string]any{"type": "reasoning", "summary": []any{map[string]any{"type": "summary_text", "text": c.thought}}}}
	if c.call != "" {
		output = append(output, map[string]any{"type": "function_call", "name": c.call, "arguments": "{}"})
	}
	part := map[string]any{"type": "output_text", "text": c.text, "annotations": []any{}}
	output = append(output, map[string]any{"type": "message", "status": "completed", "content": []any{part}})
	return map[string]any{
		"id": "x", "object": "response", "model": "m-1", "status": "completed", "output": output,
		"usage": map[string]any{
			"input_tokens": c.input, "output_tokens": c.output, "input_tokens_details": map[string]any{"cached_tokens": c.cached},
		},
	}
}

func readAnthropic(body []byte) (answered, bool) {
	var m anthropic.Message
	if json.Unmarshal(body, &m) != nil {
		return answered{}, false
	}
	u := m.Usage
	a := answered{
		model: m.Model, input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, output: u.OutputTokens,
		cached: u.CacheReadInputTokens,
	}
	for _, block := range m.Content {
		switch {
		case block.Type == "text":
			a.text += block.Text
		case strings.HasSuffix(block.Type, "tool_use"):
			a.calls = append(a.calls, block.Name)
		}
	}
	return a, true
}

func writeAnthropic(c content) any {
	blocks, stop := []any{map[string]any{"type": "thinking", "thinking": c.thought, "signature": "s"}}, "end_turn"
	blocks = append(blocks, map[string]any{"type": "text", "text": c.text})
	if c.call != "" {
		blocks, stop = append(blocks, map[string]any{"type": "tool_use", "id": "1", "name": c.call, "input": map[string]any{}}), "tool_use"
	}
	return map[string]any{
		"id": "x", "type": "message", "role": "assistant", "model": "m-1", "content": blocks, "stop_reason": stop,
		"usage": map[string]any{"input_tokens": c.input, "output_tokens": c.output, "cache_read_input_tokens": c.cached},
	}
}

func readGoogle(body []byte) (answered, bool) {
	var r genai.GenerateContentResponse
	if json.Unmarshal(body, &r) != nil {
		return answered{}, false
	}
	a := answered{model: r.ModelVersion}
	if u := r.UsageMetadata; u != nil {
		a.input = int64(u.PromptTokenCount) + int64(u.ToolUsePromptTokenCount)
		a.output, a.cached = int64(u.CandidatesTokenCount)+int64(u.ThoughtsTokenCount), int64(u.CachedContentTokenCount)
	}
	if len(r.Candidates) > 0 && r.Candidates[0] != nil && r.Candidates[0].Content != nil {
		for _, part := range r.Candidates[0].Content.Parts {
			switch {
			case part == nil:
				return a, false
			case part.FunctionCall != nil:
				a.calls = append(a.calls, part.FunctionCall.Name)
			case !part.Thought:
				a.text += part.Text
			}
		}
	}
	return a, true
}

func writeGoogle(c content) any {
	parts := []any{map[string]any{"text": c.thought, "thought": true}, map[string]any{"text": c.text}}
	if c.call != "" {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"name": c.call, "args": map[string]any{}}})
	}
	return map[string]any{
		"responseId": "x", "modelVersion": "m-1",
		"candidates": []any{map[string]any{"finishReason": "STOP", "content": map[string]any{"role": "model", "parts": parts}}},
		"usageMetadata": map[string]any{
			"promptTokenCount": c.input, "candidatesTokenCount": c.output, "cachedContentTokenCount": c.cached,
		},
	}
}

// TestReplies draws replies and checks that Plumb reads in them what the SDK reads.
func TestReplies(t *testing.T) {
	for name, f := range formats() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				text := rapid.StringOf(rapid.Rune())
				c := content{
					text: text.Draw(t, "text"), thought: text.Draw(t, "thought"),
					call:  rapid.SampledFrom([]string{"", "weather", "läs"}).Draw(t, "call"),
					input: rapid.Int64Range(0, 1<<30).Draw(t, "input"), output: rapid.Int64Range(0, 1<<30).Draw(t, "output"),
				}
				c.cached = rapid.Int64Range(0, c.input).Draw(t, "cached")
				body, err := json.Marshal(f.write(c))
				if err != nil {
					t.Fatal(err)
				}
				want, ok := f.read(body)
				_, report := exchange(t, f.cfg, say, body)
				if !ok || report == nil {
					t.Fatalf("read by the SDK: %v; report of plumb: %v, for %s", ok, report, body)
				}
				agree(t, report, want, body)
				if want.text != c.text {
					t.Fatalf("the SDK reads %q in %s", want.text, body)
				}
				if n := report.Usage.InputTokens; c.input > 0 && n == nil {
					t.Fatalf("no input tokens in %s", body)
				}
			})
		})
	}
}

var say = []plumb.Message{{Role: plumb.RoleUser, Content: "What is the capital of France?"}}

// seeds are the recorded replies of a format, and the replies of docs/providers.md that are
// answers.
func seeds(tb testing.TB, name string, f format) (list []string) {
	tb.Helper()
	files, err := filepath.Glob("../testdata/replies/" + name + "*.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no recorded replies of %s: %v", name, err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, string(body))
	}
	doc, err := os.ReadFile("../../../../docs/providers.md")
	if err != nil {
		tb.Fatal(err)
	}
	_, table, found := strings.Cut(string(doc), "\n### "+f.section+"\n")
	table, _, _ = strings.Cut(table, "\n##")
	rows := regexp.MustCompile("(?m)^\\| .+? \\| .+? \\| `(.*)` \\| answer \\|").FindAllStringSubmatch(table, -1)
	if !found || len(rows) == 0 {
		tb.Fatalf("docs/providers.md has no answers under %q", f.section)
	}
	for _, row := range rows {
		list = append(list, row[1])
	}
	return list
}

// readAlike reports whether the SDKs and Plumb should read the same in a document. They differ in
// which of two members with one name counts, in the case of letters of names, and in what half a
// UTF-16 letter is.
func readAlike(body, names string) bool {
	if !utf8.ValidString(body) || strings.Contains(strings.ToLower(body), `\ud`) || !jsontext.Value(body).IsValid() {
		return false
	}
	for _, m := range regexp.MustCompile(`"((?:[^"\\]|\\.)*)"\s*:`).FindAllStringSubmatch(body, -1) {
		name := `"` + m[1] + `"`
		if strings.Contains(name, `\`) ||
			!strings.Contains(names, name) && strings.Contains(strings.ToLower(names), strings.ToLower(name)) {
			return false
		}
	}
	return true
}

// check holds Plumb to what the SDK reads, where Plumb finds an answer. The tests of the package
// modelapi cover the replies without one. names holds the names of members that are known.
func (f format) check(t tb, body, names string) (answer bool) {
	t.Helper()
	if !readAlike(body, names) {
		return false
	}
	_, report := exchange(t, f.cfg, say, []byte(body))
	if report == nil {
		return false
	}
	if want, ok := f.read([]byte(body)); ok {
		if report.Model == "" {
			want.model = "" // the SDKs make texts of numbers
		}
		want.noFigures = true // the SDKs make numbers of texts, of true, and of parts of numbers
		agree(t, report, want, []byte(body))
	}
	return true
}

// TestChangedReplies checks thousands of replies that differ from real ones in a few values.
func TestChangedReplies(t *testing.T) {
	const rounds = 2000
	for name, f := range formats() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := seeds(t, name, f)
			names, answers := strings.Join(all, ""), 0
			for round := range rounds {
				r := rand.New(rand.NewPCG(uint64(round), 11))
				doc := parse(t, []byte(all[round%len(all)]))
				for range 1 + r.IntN(3) {
					doc = change(r, doc)
				}
				body, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				if f.check(t, string(body), names) {
					answers++
				}
			}
			if answers < rounds/20 {
				t.Errorf("%d of %d replies are answers", answers, rounds)
			}
		})
	}
}

// change replaces or removes one value of a document.
func change(r *rand.Rand, v any) any {
	others := []any{
		nil, "", "Paris", 0, 7, -1, 1.5, true, false,
		[]any{},
		map[string]any{},
		[]any{nil},
		"stop", "length", "text", "output_text",
		"tool_use", "message", "refusal", "completed", "incomplete", "MAX_TOKENS", "end_turn",
	}
	switch v := v.(type) {
	case map[string]any:
		if names := slices.Sorted(maps.Keys(v)); len(names) > 0 && r.IntN(4) > 0 {
			name := names[r.IntN(len(names))]
			if r.IntN(8) == 0 {
				delete(v, name)
			} else {
				v[name] = change(r, v[name])
			}
			return v
		}
	case []any:
		if len(v) > 0 && r.IntN(4) > 0 {
			i := r.IntN(len(v))
			v[i] = change(r, v[i])
			return v
		}
	}
	return others[r.IntN(len(others))]
}

// fuzz makes a fuzz target. Continuous integration runs its seeds only: to fuzz it, the compiler
// instruments the SDKs, which takes minutes.
func fuzz(f *testing.F, name string) {
	f.Helper()
	format := formats()[name]
	all := seeds(f, name, format)
	for _, body := range all {
		f.Add(body)
	}
	names := strings.Join(all, "")
	f.Fuzz(func(t *testing.T, body string) { format.check(t, body, names) })
}

func FuzzChat(f *testing.F)      { fuzz(f, "chat") }
func FuzzResponses(f *testing.F) { fuzz(f, "responses") }
func FuzzAnthropic(f *testing.F) { fuzz(f, "anthropic") }
func FuzzGoogle(f *testing.F)    { fuzz(f, "google") }
