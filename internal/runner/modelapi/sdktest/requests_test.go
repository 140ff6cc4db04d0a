package sdktest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// TestRequests draws requests and checks that Plumb sends what the types of the SDKs encode.
func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		cfg      modelapi.Config
		official func(conversation) any
	}{
		"chat":            {modelapi.Config{Provider: "openai", Model: "gpt-5"}, chatRequest(false)},
		"compatible chat": {modelapi.Config{Provider: "openrouter", Model: "a/b"}, chatRequest(true)},
		"responses":       {modelapi.Config{Provider: "openai", Model: "gpt-5", API: "responses"}, responsesRequest},
		"anthropic":       {modelapi.Config{Provider: "anthropic", Model: "claude-opus-5-5"}, anthropicRequest},
		"google":          {modelapi.Config{Provider: "google", Model: "gemini-3.5-flash"}, googleRequest},
		"google 2":        {modelapi.Config{Provider: "google", Model: "gemini-2.5-pro"}, googleRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				q := draw(t, c.cfg.Model)
				cfg := c.cfg
				cfg.Parameters = q.sent
				sent, _ := exchange(t, cfg, q.messages, []byte(`{}`))
				sameJSON(t, c.official(q), sent)
			})
		})
	}
}

// optional is an optional parameter of the SDKs of OpenAI and Anthropic.
func optional[T comparable](v *T) (o param.Opt[T]) {
	if v != nil {
		o = param.NewOpt(*v)
	}
	return o
}

func effort(p plumb.Parameters) string {
	if p.ReasoningEffort == nil {
		return ""
	}
	return *p.ReasoningEffort
}

func chatRequest(compatible bool) func(conversation) any {
	return func(q conversation) any {
		p := openai.ChatCompletionNewParams{
			Model: q.model, ReasoningEffort: shared.ReasoningEffort(effort(q.sent)),
			Temperature: optional(q.sent.Temperature), TopP: optional(q.sent.TopP), Seed: optional(q.sent.Seed),
		}
		for _, m := range q.messages {
			message := openai.UserMessage(m.Content)
			switch {
			case m.Role == plumb.RoleDeveloper && !compatible:
				message = openai.DeveloperMessage(m.Content)
			case m.Role == plumb.RoleSystem, m.Role == plumb.RoleDeveloper:
				message = openai.SystemMessage(m.Content)
			case m.Role == plumb.RoleAssistant:
				message = openai.AssistantMessage(m.Content)
			}
			p.Messages = append(p.Messages, message)
		}
		if compatible {
			p.MaxTokens = optional(q.sent.MaxOutputTokens)
		} else {
			p.MaxCompletionTokens = optional(q.sent.MaxOutputTokens)
		}
		return p
	}
}

func responsesRequest(q conversation) any {
	var items responses.ResponseInputParam
	for _, m := range q.messages {
		items = append(items, responses.ResponseInputItemParamOfMessage(m.Content, responses.EasyInputMessageRole(m.Role)))
	}
	return responses.ResponseNewParams{
		Model: q.model, Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items}, Store: param.NewOpt(false),
		Temperature: optional(q.sent.Temperature), TopP: optional(q.sent.TopP), MaxOutputTokens: optional(q.sent.MaxOutputTokens),
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffort(effort(q.sent))},
	}
}

func anthropicRequest(q conversation) any {
	p := anthropic.MessageNewParams{
		Model: q.model, MaxTokens: *q.sent.MaxOutputTokens, Messages: []anthropic.MessageParam{},
		OutputConfig: anthropic.OutputConfigParam{Effort: anthropic.OutputConfigEffort(effort(q.sent))},
	}
	if v := q.sent.Temperature; v != nil {
		p.Temperature = anthropic.Float(*v)
	}
	if v := q.sent.TopP; v != nil {
		p.TopP = anthropic.Float(*v)
	}
	for _, m := range q.messages {
		switch m.Role {
		case plumb.RoleSystem, plumb.RoleDeveloper:
			if m.Content != "" {
				p.System = append(p.System, anthropic.TextBlockParam{Text: m.Content})
			}
		case plumb.RoleAssistant:
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock(m.Content)))
		default:
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(m.Content)))
		}
	}
	return p
}

// googleRequest puts the types of the SDK together as they go over the wire. The SDK itself does it
// in maps.
func googleRequest(q conversation) any {
	req := struct {
		Contents          []*genai.Content        `json:"contents"`
		SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
		GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
	}{Contents: []*genai.Content{}, GenerationConfig: &genai.GenerationConfig{MaxOutputTokens: int32(*q.sent.MaxOutputTokens)}}
	for _, m := range q.messages {
		part := []*genai.Part{{Text: m.Content}}
		switch m.Role {
		case plumb.RoleSystem, plumb.RoleDeveloper:
			if req.SystemInstruction == nil {
				req.SystemInstruction = &genai.Content{}
			}
			req.SystemInstruction.Parts = append(req.SystemInstruction.Parts, part...)
		case plumb.RoleAssistant:
			req.Contents = append(req.Contents, &genai.Content{Role: genai.RoleModel, Parts: part})
		default:
			req.Contents = append(req.Contents, &genai.Content{Role: genai.RoleUser, Parts: part})
		}
	}
	c := req.GenerationConfig
	if v := q.sent.Temperature; v != nil {
		c.Temperature = new(float32(*v))
	}
	if v := q.sent.TopP; v != nil {
		c.TopP = new(float32(*v))
	}
	if v := q.sent.Seed; v != nil {
		c.Seed = new(int32(*v))
	}
	if v := q.sent.ReasoningEffort; v != nil {
		c.ThinkingConfig = &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(*v))}
		if strings.HasPrefix(q.model, "gemini-2") {
			budget := map[string]int32{"none": 0, "low": 1024, "medium": 8192, "high": 24576}[*v]
			c.ThinkingConfig = &genai.ThinkingConfig{ThinkingBudget: &budget}
		}
	}
	return req
}

// TestEmbeddingRequests draws texts and checks the requests for their vectors.
func TestEmbeddingRequests(t *testing.T) {
	ask := func(t *rapid.T, provider string, texts []string) []byte {
		c := &carrier{reply: []byte(`{}`)}
		tr := modelapi.NewTransport(modelapi.TransportOptions{Base: c, MaxAttempts: 1, Backoff: 1})
		defer tr.Close()
		e, err := modelapi.NewEmbedder(modelapi.Config{Provider: provider, APIKey: "sk-test-0123456789", Transport: tr})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Embed(context.Background(), texts); err == nil {
			t.Fatal("vectors in an empty reply")
		}
		return c.sent
	}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfNDistinct(rapid.String(), 1, 5, rapid.ID).Draw(t, "texts")
		sameJSON(t, openai.EmbeddingNewParams{
			Model: openai.EmbeddingModelTextEmbedding3Small, EncodingFormat: openai.EmbeddingNewParamsEncodingFormatFloat,
			Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
		}, ask(t, "openai", texts))
		var list struct {
			Requests []json.RawMessage `json:"requests"`
		}
		for _, text := range texts {
			one, _ := json.Marshal(map[string]any{
				"model": "models/gemini-embedding-001", "taskType": "SEMANTIC_SIMILARITY",
				"content": genai.Content{Parts: []*genai.Part{{Text: text}}},
			})
			list.Requests = append(list.Requests, one)
		}
		sameJSON(t, list, ask(t, "google", texts))
	})
}

// TestNames checks the names that Plumb writes as text against the constants of the SDKs.
func TestNames(t *testing.T) {
	for alias, want := range map[string]string{
		"opus": anthropic.ModelClaudeOpus5_5, "sonnet": anthropic.ModelClaudeSonnet5_5, "haiku": anthropic.ModelClaudeHaiku5_5,
	} {
		if got, err := modelapi.Resolve(alias); err != nil || got.Model != want {
			t.Errorf("%s is %s, %v; want %s", alias, got.Model, err, want)
		}
	}
	known := map[string]bool{}
	for _, m := range modelapi.KnownModels() {
		known[m.ID] = true
	}
	for _, id := range []string{
		shared.ChatModelGPT6_1Sol, shared.ChatModelGPT6Sol, shared.ChatModelGPT5_5, shared.ChatModelGPT5_4, shared.ChatModelGPT5_4Mini,
		shared.ChatModelGPT5_2, openai.EmbeddingModelTextEmbedding3Small, openai.EmbeddingModelTextEmbedding3Large,
		anthropic.ModelClaudeOpus5_5, anthropic.ModelClaudeSonnet5_5, anthropic.ModelClaudeHaiku5_5, anthropic.ModelClaudeFable5_1,
		anthropic.ModelClaudeOpus5, anthropic.ModelClaudeSonnet5, anthropic.ModelClaudeOpus4_8, anthropic.ModelClaudeOpus4_7,
		anthropic.ModelClaudeOpus4_6, anthropic.ModelClaudeSonnet4_6, anthropic.ModelClaudeHaiku4_5, anthropic.ModelClaudeOpus4_5,
	} {
		if !known[id] {
			t.Errorf("the list of models lacks %s", id)
		}
	}
}
