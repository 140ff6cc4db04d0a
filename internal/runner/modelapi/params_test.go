package modelapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func openaiError(message, param, code string) string {
	b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": param, "code": code}})
	return string(b)
}

// TestRefusedParameter has the words in which providers refuse parameters, and others that only
// look alike.
func TestRefusedParameter(t *testing.T) {
	t.Parallel()
	all := temperature | topP | seed | maxOutputTokens | reasoningEffort
	for name, c := range map[string]struct {
		body string
		sent parameter
		want parameter
	}{
		"openai unsupported":     {openaiError("Unsupported parameter: 'temperature' is not supported with this model.", "temperature", "unsupported_parameter"), all, temperature},
		"openai value":           {openaiError("Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value"), all, temperature},
		"openai old cap":         {openaiError("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"), all, maxOutputTokens},
		"openai effort":          {openaiError("Unrecognized request argument supplied: reasoning_effort", "", ""), all, reasoningEffort},
		"responses effort":       {openaiError("Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort", "unsupported_parameter"), all, reasoningEffort},
		"not sent":               {openaiError("Unsupported parameter: 'top_p'", "top_p", "unsupported_parameter"), temperature, 0},
		"another parameter":      {openaiError("Invalid value for 'messages': the seed of doubt", "messages", "invalid_value"), all, 0},
		"anthropic deprecated":   {`{"type":"error","error":{"type":"invalid_request_error","message":"temperature is deprecated for this model."},"request_id":"req_1"}`, all, temperature},
		"anthropic thinking":     {"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"`temperature` may only be set to 1 when thinking is enabled.\"}}", all, temperature},
		"anthropic both":         {"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"`temperature` and `top_p` cannot both be specified for this model. Please use only one.\"}}", all, temperature},
		"anthropic effort":       {`{"type":"error","error":{"type":"invalid_request_error","message":"This model does not support the effort parameter."}}`, all, reasoningEffort},
		"google unknown name":    {`{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"seed\" at 'generation_config': Cannot find field.","status":"INVALID_ARGUMENT","details":[{"fieldViolations":[{"field":"generation_config"}]}]}}`, all, seed},
		"google thinking":        {`{"error":{"code":400,"message":"Thinking level is not supported for this model.","status":"INVALID_ARGUMENT"}}`, all, reasoningEffort},
		"google in details only": {`{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT","details":[{"fieldViolations":[{"field":"generation_config.top_p"}]}]}}`, all, topP},
		"mistral extra":          {`{"object":"error","message":{"detail":[]},"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted"}]}`, all, seed},
		"vllm cap":               {`{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 30 input tokens","type":"BadRequestError","param":null,"code":400}`, all, maxOutputTokens},
		"context is too long":    {openaiError("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", "messages", "context_length_exceeded"), all, 0},
		"nothing named":          {`{"error":"model is loading"}`, all, 0},
		"part of a word":         {`{"error":{"message":"The birdseed in your prompt, linseed oil and temperatures are odd; efforts, too."}}`, all, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := refusedParameter(parseAPIError([]byte(c.body)), c.sent); got != c.want {
				t.Errorf("got %v, want %v", got.names(), c.want.names())
			}
		})
	}
}

// picky is a model that takes none of the given fields, and says so as OpenAI does, one at a time.
func picky(good string, fields ...string) *carrier {
	return &carrier{answer: func(_ int, _ *http.Request, body []byte) (*http.Response, error) {
		var sent map[string]json.RawMessage
		if err := json.Unmarshal(body, &sent); err != nil {
			return nil, err
		}
		for _, f := range fields {
			if _, ok := sent[f]; ok {
				return respond(400, openaiError("Unsupported parameter: '"+f+"' is not supported with this model.", f, "unsupported_parameter")), nil
			}
		}
		return respond(200, good), nil
	}}
}

func TestRefusedParametersAreDroppedAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var notes []plumb.Note
	base := picky(string(recorded(t, "chat.json")), "temperature", "seed")
	m := model(t, base, Config{
		Provider: "openai", Model: "gpt-5", Note: func(n plumb.Note) { mu.Lock(); defer mu.Unlock(); notes = append(notes, n) },
		Parameters: plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42)), TopP: new(0.5)},
	})
	first, err := m.Run(t.Context(), say("one"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Run(t.Context(), say("two"))
	if err != nil {
		t.Fatal(err)
	}
	if first.Requests != 3 || second.Requests != 1 {
		t.Errorf("%d and %d requests, want 3 and 1", first.Requests, second.Requests)
	}
	for _, rep := range []*plumb.SessionReport{first, second} {
		if !slices.Equal(rep.Refused, []string{"temperature", "seed"}) {
			t.Errorf("refused %v", rep.Refused)
		}
		want := plumb.Parameters{TopP: new(0.5), MaxOutputTokens: new(int64(defaultMaxOutputTokens))}
		if diff := cmp.Diff(want, rep.Sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if rep.Requested.Temperature == nil || *rep.Requested.Seed != 42 || !rep.Effective.IsZero() {
			t.Errorf("requested %+v, effective %+v", rep.Requested, rep.Effective)
		}
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if rep, err := m.Run(t.Context(), say("more")); err != nil || len(rep.Refused) != 2 {
				t.Errorf("%v, %v", rep, err)
			}
		})
	}
	wg.Wait()
	if len(notes) != 2 || !strings.Contains(notes[0].Text, "openai:gpt-5 rejects temperature") {
		t.Errorf("notes %v", notes)
	}
}

func TestManyLearnTheSameAtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	notes := 0
	base := picky(string(recorded(t, "chat.json")), "temperature")
	m := model(t, base, Config{
		Provider: "openai", Model: "o3", Parameters: plumb.Parameters{Temperature: new(0.0)},
		Note: func(plumb.Note) { mu.Lock(); defer mu.Unlock(); notes++ },
	})
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if rep, err := m.Run(t.Context(), say("x")); err != nil || !slices.Equal(rep.Refused, []string{"temperature"}) {
				t.Errorf("%v, %v", rep, err)
			}
		})
	}
	wg.Wait()
	if notes != 1 {
		t.Errorf("%d notes", notes)
	}
}

func TestCapGoesByItsOtherName(t *testing.T) {
	t.Parallel()
	good := string(recorded(t, "chat.json"))
	for name, c := range map[string]struct {
		provider string
		fields   []string
		want     string
		requests []int
		refused  []string
	}{
		"old server behind openai's name": {"openai", []string{"max_completion_tokens"}, `"max_tokens":4096`, []int{2, 1}, nil},
		"new model behind a relay":        {"openrouter", []string{"max_tokens"}, `"max_completion_tokens":4096`, []int{2, 1}, nil},
		"neither":                         {"vllm", []string{"max_tokens", "max_completion_tokens"}, `"model"`, []int{3, 1}, []string{"maxOutputTokens"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := picky(good, c.fields...)
			m := model(t, base, Config{Provider: c.provider, Model: "m"})
			for _, want := range c.requests {
				rep, err := m.Run(t.Context(), say("x"))
				if err != nil {
					t.Fatal(err)
				}
				if rep.Requests != want || !slices.Equal(rep.Refused, c.refused) {
					t.Errorf("%d requests, want %d; refused %v, want %v", rep.Requests, want, rep.Refused, c.refused)
				}
			}
			if last := base.bodies[len(base.bodies)-1]; !bytes.Contains(last, []byte(c.want)) {
				t.Errorf("sent %s, want %s", last, c.want)
			}
		})
	}
}

// TestOneBadCap: a cap that is wrong for one case is right for others.
func TestOneBadCap(t *testing.T) {
	t.Parallel()
	good := string(recorded(t, "responses.json"))
	base := &carrier{answer: func(_ int, _ *http.Request, body []byte) (*http.Response, error) {
		if bytes.Contains(body, []byte(`"max_output_tokens":8`)) {
			return respond(400, openaiError("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 8 instead.", "max_output_tokens", "integer_below_min_value")), nil
		}
		return respond(200, good), nil
	}}
	m := model(t, base, Config{Provider: "openai", Model: "gpt-5", API: "responses"})
	req := say("x")
	req.MaxOutputTokens = 8
	rep, err := m.Run(t.Context(), req)
	if err != nil || !slices.Equal(rep.Refused, []string{"maxOutputTokens"}) || rep.Sent.MaxOutputTokens != nil {
		t.Fatalf("%+v, %v", rep, err)
	}
	if rep, err = m.Run(t.Context(), say("x")); err != nil || rep.Refused != nil || rep.Sent.MaxOutputTokens == nil {
		t.Errorf("%+v, %v", rep, err)
	}
}

// TestRefusalsEnd: a server that never has enough is an error, and soon.
func TestRefusalsEnd(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "anthropic", "google", "ollama"} {
		base := always(400, openaiError("Unsupported: temperature, top_p, seed, max_tokens, max_completion_tokens, reasoning_effort.", "", ""))
		m := model(t, base, Config{
			Provider: provider, Model: "m",
			Parameters: plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42)), TopP: new(0.5), ReasoningEffort: new("low")},
		})
		_, err := m.Run(t.Context(), say("x"))
		var f *plumb.Failure
		if !errors.As(err, &f) || f.HTTPStatus != 400 || len(base.requests) > 8 {
			t.Errorf("%s: %d requests, %v", provider, len(base.requests), err)
		}
	}
}

// TestBlockedPrompt: a provider's 400 that means "I will not answer this" is a refused answer, not
// an outage.
func TestBlockedPrompt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ provider, body, word string }{
		"azure":     {"azure", `{"error":{"message":"The response was filtered due to the prompt triggering content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, "content_filter"},
		"openai":    {"openai", openaiError("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "", "invalid_prompt"), "invalid_prompt"},
		"anthropic": {"anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, "Output blocked by content filtering policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model(t, always(400, c.body, "x-request-id", "req_b"), Config{Provider: c.provider, Model: "m", BaseURL: "https://r.test"})
			rep, err := m.Run(t.Context(), say("x"))
			if err != nil || rep.FinishReason != plumb.FinishRefused || rep.ProviderFinishReason != c.word || rep.FinalOutput != "" || rep.RequestID != "req_b" {
				t.Errorf("%+v, %v", rep, err)
			}
		})
	}
}

// TestStopThatIsNone: a server that calls it a stop when thinking took the whole cap.
func TestStopThatIsNone(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","choices":[{"message":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":16,"total_tokens":17}}`
	req := say("x")
	for most, want := range map[int]plumb.FinishReason{16: plumb.FinishTruncated, 17: plumb.FinishStop} {
		req.MaxOutputTokens = most
		rep, err := model(t, always(200, body), Config{Provider: "vllm", Model: "m"}).Run(t.Context(), req)
		if err != nil || rep.FinishReason != want {
			t.Errorf("cap %d: %+v, %v", most, rep, err)
		}
	}
}

func TestUnaskable(t *testing.T) {
	t.Parallel()
	base := always(200, "{}")
	m := model(t, base, Config{Provider: "openai", Model: "m"})
	for want, messages := range map[string][]plumb.Message{
		"no messages":                    nil,
		`message 2: unknown role "tool"`: {{Role: "user", Content: "a"}, {Role: "tool", Content: "b"}},
	} {
		_, err := m.Run(t.Context(), plumb.Request{Messages: messages})
		var f *plumb.Failure
		if !errors.As(err, &f) || !strings.Contains(f.Message, want) || len(base.requests) != 0 {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
