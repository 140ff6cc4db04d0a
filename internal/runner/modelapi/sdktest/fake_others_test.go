package sdktest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"google.golang.org/genai"
)

func messageParams(model string, limit int64) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: model, MaxTokens: limit,
		System:   []anthropic.TextBlockParam{{Text: "Be brief."}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))},
	}
}

func anthropicClient(url, key string) anthropic.Client {
	return anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey(key),
		anthropicoption.WithMaxRetries(0))
}

func TestAnthropic(t *testing.T) {
	_, url := start(t, world())
	client := anthropicClient(url, key)
	var raw *http.Response
	p := messageParams("claude-thinker", 2000)
	p.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	got, err := client.Messages.New(t.Context(), p, anthropicoption.WithResponseInto(&raw))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 2 || got.Content[0].Type != "thinking" || got.Content[1].Text != answer ||
		got.StopReason != "end_turn" {
		t.Errorf("message = %s", got.RawJSON())
	}
	u := got.Usage
	if u.CacheReadInputTokens != 4 || u.CacheCreationInputTokens != 2 || u.InputTokens == 0 ||
		u.OutputTokensDetails.ThinkingTokens != 500 {
		t.Errorf("usage = %s", u.RawJSON())
	}
	if raw.Header.Get("Request-Id") == "" || raw.Header.Get("Anthropic-Ratelimit-Requests-Remaining") == "" {
		t.Errorf("headers = %v", raw.Header)
	}

	if got, err = client.Messages.New(t.Context(), messageParams("claude-thinker", 100)); err != nil ||
		got.StopReason != "max_tokens" || len(got.Content) != 0 {
		t.Errorf("a cap below the thinking gave %v, %v", got, err)
	}
	if got, err = client.Messages.New(t.Context(), messageParams("claude-refusal", 100)); err != nil ||
		got.StopReason != "refusal" {
		t.Errorf("a refusal is %v, %v", got, err)
	}
	page, err := client.Models.List(t.Context(), anthropic.ModelListParams{})
	if err != nil || !slices.ContainsFunc(page.Data,
		func(m anthropic.ModelInfo) bool { return m.ID == "claude-opus-4-6" }) {
		t.Errorf("models = %v, %v", page, err)
	}
}

func TestAnthropicErrors(t *testing.T) {
	_, url := start(t, world())
	hot := messageParams("claude-opus-4-7", 100)
	hot.Temperature = anthropic.Float(0)
	seeded := messageParams("claude-opus-4-6", 100)
	seeded.SetExtraFields(map[string]any{"seed": 42})
	nobody := messageParams("claude-opus-4-6", 100)
	nobody.Messages = []anthropic.MessageParam{{
		Role:    "system",
		Content: []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock("x")},
	}}
	for _, c := range []struct {
		name, key string
		params    anthropic.MessageNewParams
		status    int
		kind      string
		message   string
	}{
		{"wrong key", "nope", messageParams("claude-opus-4-6", 100), 401, "authentication_error", "invalid x-api-key"},
		{"unknown model", key, messageParams("claude-9", 100), 404, "not_found_error", "model: claude-9"},
		{"no quota", key, messageParams("claude-poor", 100), 400, "invalid_request_error", "credit balance is too low"},
		{"temperature", key, hot, 400, "invalid_request_error", "`temperature` is deprecated for this model."},
		{"seed", key, seeded, 400, "invalid_request_error", "seed: Extra inputs are not permitted"},
		{"system role", key, nobody, 400, "invalid_request_error", "Unexpected role"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := anthropicClient(url, c.key)
			_, err := client.Messages.New(t.Context(), c.params)
			var e *anthropic.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an API error", err)
			}
			if e.StatusCode != c.status || string(e.Type()) != c.kind || !strings.Contains(e.RawJSON(), c.message) ||
				e.RequestID == "" {
				t.Errorf("got %d %s", e.StatusCode, e.RawJSON())
			}
		})
	}
}

func googleClient(t *testing.T, url, key string) *genai.Client {
	t.Helper()
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestGoogle(t *testing.T) {
	_, url := start(t, world())
	client := googleClient(t, url, key)
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("Be brief.", genai.RoleUser), Temperature: new(float32(0)),
		Seed:            new(int32(42)),
		MaxOutputTokens: 2000, ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true},
	}
	got, err := client.Models.GenerateContent(t.Context(), "gemini-thinker", genai.Text(question), config)
	if err != nil {
		t.Fatal(err)
	}
	if got.Text() != answer || got.Candidates[0].FinishReason != genai.FinishReasonStop ||
		got.ModelVersion != "gemini-thinker" || got.ResponseID == "" {
		t.Errorf("answer = %q, %+v", got.Text(), got)
	}
	if len(got.Candidates[0].Content.Parts) != 2 || !got.Candidates[0].Content.Parts[0].Thought {
		t.Errorf("parts = %+v", got.Candidates[0].Content.Parts)
	}
	u := got.UsageMetadata
	if u.ThoughtsTokenCount != 500 || u.CachedContentTokenCount != 4 || u.PromptTokenCount == 0 ||
		u.TotalTokenCount != u.PromptTokenCount+u.CandidatesTokenCount+u.ThoughtsTokenCount {
		t.Errorf("usage = %+v", u)
	}

	for model, want := range map[string]genai.FinishReason{
		"gemini-refusal": genai.FinishReasonSafety,
		"gemini-filter":  genai.FinishReasonProhibitedContent,
	} {
		if got, err := client.Models.GenerateContent(t.Context(), model, genai.Text(question), nil); err != nil ||
			got.Candidates[0].FinishReason != want {
			t.Errorf("%s gave %+v, %v", model, got, err)
		}
	}
	if got, err := client.Models.GenerateContent(t.Context(), "gemini-prompt", genai.Text(question), nil); err != nil ||
		len(got.Candidates) != 0 || got.PromptFeedback.BlockReason != genai.BlockedReasonProhibitedContent {
		t.Errorf("a blocked prompt gave %+v, %v", got, err)
	}
	short, err := client.Models.GenerateContent(t.Context(), "gemini-thinker", genai.Text(question),
		&genai.GenerateContentConfig{MaxOutputTokens: 100})
	if err != nil || short.Text() != "" || short.Candidates[0].FinishReason != genai.FinishReasonMaxTokens ||
		short.UsageMetadata.CandidatesTokenCount != 0 {
		t.Errorf("a cap below the thinking gave %+v, %v", short, err)
	}

	vectors, err := client.Models.EmbedContent(t.Context(), "gemini-embedding-001",
		[]*genai.Content{
			genai.NewContentFromText("one", genai.RoleUser),
			genai.NewContentFromText("two", genai.RoleUser),
		},
		&genai.EmbedContentConfig{OutputDimensionality: new(int32(96))})
	if err != nil || len(vectors.Embeddings) != 2 || len(vectors.Embeddings[1].Values) != 96 {
		t.Errorf("embeddings = %+v, %v", vectors, err)
	}
	page, err := client.Models.List(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(page.Items, func(m *genai.Model) bool {
		return m.Name == "models/gemini-2.5-flash" && slices.Contains(m.SupportedActions, "generateContent")
	}) {
		t.Errorf("models = %+v, %v", page, err)
	}
}

func TestGoogleErrors(t *testing.T) {
	_, url := start(t, world())
	for _, c := range []struct {
		name, key, model string
		config           *genai.GenerateContentConfig
		code             int
		status, message  string
		details          int
	}{
		{"wrong key", "nope", "gemini-2.5-flash", nil, 400, "INVALID_ARGUMENT", "API key not valid", 2},
		{"unknown model", key, "gemini-9", nil, 404, "NOT_FOUND", "models/gemini-9 is not found", 0},
		{"no quota", key, "gemini-poor", nil, 429, "RESOURCE_EXHAUSTED", "exceeded your current quota", 2},
		{
			"temperature", key, "gemini-fixed", &genai.GenerateContentConfig{Temperature: new(float32(0))}, 400,
			"INVALID_ARGUMENT", "temperature is not supported", 0,
		},
		{
			"range", key, "gemini-2.5-flash", &genai.GenerateContentConfig{Temperature: new(float32(3))}, 400,
			"INVALID_ARGUMENT", "[0.0, 2.0]", 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := googleClient(t, url, c.key).Models.GenerateContent(t.Context(), c.model, genai.Text(question),
				c.config)
			var e genai.APIError
			if !errors.As(err, &e) || e.Code != c.code || e.Status != c.status ||
				!strings.Contains(e.Message, c.message) || len(e.Details) != c.details {
				t.Errorf("got %v", err)
			}
		})
	}
}
