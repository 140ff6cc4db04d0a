package sdktest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

const (
	question = "Which is the largest planet?"
	answer   = "Jupiter, by far: \"the giant\" — 317.8 times the mass of the Earth.\nNo other planet comes near.\t🪐"
	key      = "sk-right-key-0123456789"
)

// start serves o until the test ends.
func start(tb testing.TB, o fakemodel.Behavior) (*fakemodel.Server, string) {
	tb.Helper()
	s := fakemodel.New(o)
	hs := httptest.NewServer(s)
	tb.Cleanup(func() { s.Release(); hs.Close() })
	return s, hs.URL
}

// world answers the question, and has a model for each peculiarity.
func world() fakemodel.Behavior {
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
	return fakemodel.Behavior{
		Key: key, Models: models,
		Answers: []fakemodel.Answer{{Prompt: question, Answer: answer}},
	}
}

func openAIClient(url, key string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func ask(model string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: model,
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("Be brief."), openai.UserMessage(question),
		},
	}
}

func TestOpenAIChat(t *testing.T) {
	_, url := start(t, world())
	client := openAIClient(url, key)
	var raw *http.Response
	p := ask("gpt-4o")
	p.Temperature, p.Seed, p.MaxCompletionTokens = openai.Float(0), openai.Int(42), openai.Int(1000)
	got, err := client.Chat.Completions.New(t.Context(), p, option.WithResponseInto(&raw))
	if err != nil {
		t.Fatal(err)
	}
	c := got.Choices[0]
	if c.Message.Content != answer || c.FinishReason != "stop" || c.Message.JSON.Refusal.Raw() != "null" {
		t.Errorf("choice = %s", c.RawJSON())
	}
	if got.Model != "gpt-4o-2024-08-06" || !strings.Contains(got.RawJSON(), `"system_fingerprint": "fp_`) ||
		!strings.HasPrefix(got.ID, "chatcmpl-") {
		t.Errorf("model %q, id %q in %s", got.Model, got.ID, got.RawJSON())
	}
	u := got.Usage
	if u.PromptTokens == 0 || u.CompletionTokens == 0 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
		t.Errorf("usage = %s", u.RawJSON())
	}
	for name, valid := range map[string]bool{
		"id": got.JSON.ID.Valid(), "choices": got.JSON.Choices.Valid(), "created": got.JSON.Created.Valid(),
		"object":    got.JSON.Object.Valid(),
		"cached":    u.PromptTokensDetails.JSON.CachedTokens.Valid(),
		"reasoning": u.CompletionTokensDetails.JSON.ReasoningTokens.Valid(),
	} {
		if !valid {
			t.Errorf("%s is missing in %s", name, got.RawJSON())
		}
	}
	for _, h := range []string{
		"X-Request-Id", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Tokens",
		"Openai-Processing-Ms",
	} {
		if raw.Header.Get(h) == "" {
			t.Errorf("no header %s", h)
		}
	}
}

func TestOpenAIWithheld(t *testing.T) {
	_, url := start(t, world())
	client := openAIClient(url, key)
	chat := func(model string, limit int64) openai.ChatCompletionChoice {
		t.Helper()
		p := ask(model)
		p.MaxCompletionTokens = openai.Int(limit)
		got, err := client.Chat.Completions.New(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return got.Choices[0]
	}
	if c := chat("gpt-thinker", 100); c.Message.Content != "" || c.FinishReason != "length" {
		t.Errorf("a cap below the thinking gave %q, %s", c.Message.Content, c.FinishReason)
	}
	if c := chat("gpt-thinker", 505); c.Message.Content != answer[:20] || c.FinishReason != "length" {
		t.Errorf("a cap 5 tokens above the thinking gave %q, %s", c.Message.Content, c.FinishReason)
	}
	if c := chat("gpt-thinker", 5000); c.Message.Content != answer || c.FinishReason != "stop" {
		t.Errorf("a high cap gave %q, %s", c.Message.Content, c.FinishReason)
	}
	if c := chat("gpt-refusal", 100); c.Message.Refusal == "" || c.Message.Content != "" {
		t.Errorf("a refusal is %s", c.RawJSON())
	}
	if c := chat("gpt-filter", 100); c.FinishReason != "content_filter" || c.Message.Content == answer {
		t.Errorf("a filtered answer is %s", c.RawJSON())
	}
}

func TestOpenAIErrors(t *testing.T) {
	_, url := start(t, world())
	hot := ask("o3")
	hot.Temperature = openai.Float(0)
	fixed := ask("gpt-5")
	fixed.Temperature = openai.Float(0)
	old := ask("gpt-5")
	old.MaxTokens = openai.Int(10)
	odd := ask("gpt-4o")
	odd.SetExtraFields(map[string]any{"temp": 1})
	for _, c := range []struct {
		name, key string
		params    openai.ChatCompletionNewParams
		status    int
		code      string
		param     string
		message   string
	}{
		{"wrong key", "sk-wrong", ask("gpt-4o"), 401, "invalid_api_key", "", "Incorrect API key provided"},
		{"unknown model", key, ask("gpt-9"), 404, "model_not_found", "", "`gpt-9`"},
		{"no quota", key, ask("gpt-poor"), 429, "insufficient_quota", "", "exceeded your current quota"},
		{
			"parameter", key, hot, 400, "unsupported_parameter", "temperature",
			"Unsupported parameter: 'temperature' is not supported with this model.",
		},
		{
			"value", key, fixed, 400, "unsupported_value", "temperature",
			"'temperature' does not support 0 with this model. Only the default (1) value is supported.",
		},
		{"old name", key, old, 400, "unsupported_parameter", "max_tokens", "Use 'max_completion_tokens' instead."},
		{"unrecognized", key, odd, 400, "", "", "Unrecognized request argument supplied: temp"},
		{"prompt", key, ask("gpt-prompt"), 400, "invalid_prompt", "", "flagged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := openAIClient(url, c.key)
			_, err := client.Chat.Completions.New(t.Context(), c.params)
			var e *openai.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an API error", err)
			}
			if e.StatusCode != c.status || e.Code != c.code || e.Param != c.param ||
				!strings.Contains(e.Message, c.message) || e.Type == "" {
				t.Errorf("got %d %s", e.StatusCode, e.RawJSON())
			}
			if e.Response.Header.Get("X-Request-Id") == "" {
				t.Error("no request id")
			}
		})
	}
}

func TestOpenAIResponses(t *testing.T) {
	_, url := start(t, world())
	client := openAIClient(url, key)
	p := responses.ResponseNewParams{
		Model: "gpt-thinker", Instructions: openai.String("Be brief."), MaxOutputTokens: openai.Int(2000),
		Temperature: openai.Float(0),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("Hello", responses.EasyInputMessageRoleDeveloper),
			responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser),
		}},
	}
	got, err := client.Responses.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got.OutputText() != answer || got.Status != "completed" || got.MaxOutputTokens != 2000 {
		t.Errorf("response = %s", got.RawJSON())
	}
	if u := got.Usage; u.OutputTokensDetails.ReasoningTokens != 500 || u.InputTokensDetails.CachedTokens != 4 ||
		u.OutputTokens <= 500 {
		t.Errorf("usage = %s", u.RawJSON())
	}

	p.MaxOutputTokens = openai.Int(16)
	if got, err = client.Responses.New(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got.OutputText() != "" || got.Status != "incomplete" || got.IncompleteDetails.Reason != "max_output_tokens" {
		t.Errorf("a cap below the thinking gave %s", got.RawJSON())
	}

	p.Model = "gpt-refusal"
	if got, err = client.Responses.New(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if c := got.Output[0].Content[0]; c.Type != "refusal" || c.Refusal == "" {
		t.Errorf("a refusal is %s", got.RawJSON())
	}

	p.SetExtraFields(map[string]any{"seed": 42})
	_, err = client.Responses.New(t.Context(), p)
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusBadRequest || e.Code != "unknown_parameter" ||
		e.Param != "seed" {
		t.Errorf("a seed gave %v, want an unknown parameter", err)
	}
}

func TestOpenAIEmbeddingsAndModels(t *testing.T) {
	_, url := start(t, world())
	client := openAIClient(url, key)
	got, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "text-embedding-3-small", Dimensions: openai.Int(64),
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{
			"a red apple", "an APPLE, red!",
			"quantum physics",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Data) != 3 || len(got.Data[2].Embedding) != 64 || got.Data[1].Index != 1 || got.Usage.TotalTokens == 0 {
		t.Errorf("embeddings = %.300s", got.RawJSON())
	}
	page, err := client.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	if !slices.Contains(names, "gpt-4o") || slices.Contains(names, "claude-opus-4-6") {
		t.Errorf("models = %q", names)
	}
}

func TestAzure(t *testing.T) {
	_, url := start(t, world())
	deployment := func(name string) openai.Client { // the SDK's own package for Azure would need one more module
		return openai.NewClient(option.WithBaseURL(url+"/openai/deployments/"+name),
			option.WithQuery("api-version", "2024-10-21"),
			option.WithAPIKey(""), option.WithHeader("api-key", key), option.WithMaxRetries(0))
	}
	client := deployment("gpt-4o")
	got, err := client.Chat.Completions.New(t.Context(), ask("gpt-4o"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Choices[0].Message.Content != answer || got.Model != "gpt-4o-2024-08-06" || got.Usage.TotalTokens == 0 ||
		!strings.Contains(got.RawJSON(), "content_filter_results") {
		t.Errorf("answer = %s", got.RawJSON())
	}
	for model, want := range map[string]string{"gpt-9": "DeploymentNotFound", "gpt-prompt": "content_filter"} {
		client := deployment(model)
		_, err := client.Chat.Completions.New(t.Context(), ask(model))
		var e *openai.Error
		if !errors.As(err, &e) || e.Code != want {
			t.Errorf("%s gave %v, want code %s", model, err, want)
		}
	}
	v1 := openai.NewClient(option.WithBaseURL(url+"/openai/v1/"), option.WithAPIKey(""),
		option.WithHeader("api-key", key), option.WithMaxRetries(0))
	if got, err := v1.Chat.Completions.New(t.Context(), ask("gpt-4o")); err != nil ||
		got.Choices[0].Message.Content != answer {
		t.Errorf("the v1 form gave %v, %v", got, err)
	}
}

func TestOllama(t *testing.T) {
	_, url := start(t, world())
	client := openai.NewClient(option.WithBaseURL(url+"/ollama/v1"), option.WithAPIKey("any"), option.WithMaxRetries(0))
	got, err := client.Chat.Completions.New(t.Context(), ask("qwen3:8b"))
	if err != nil || got.Choices[0].Message.Content != answer ||
		!strings.Contains(got.RawJSON(), `"system_fingerprint":"fp_ollama"`) {
		t.Errorf("the compatible API gave %v, %v", got, err)
	}
	_, err = client.Chat.Completions.New(t.Context(), ask("qwen9"))
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusNotFound || !strings.Contains(e.Message, "'qwen9' not found") {
		t.Errorf("an unknown model gave %v", err)
	}
}
