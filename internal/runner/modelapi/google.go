package modelapi

import (
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/plumb-eval/plumb"
)

// googleDialect is the generateContent of the Gemini API. System and developer messages, wherever they stand, become
// the system instruction.
type googleDialect struct{}

func (googleDialect) path(model string) string {
	return "/" + googleModel(model) + ":generateContent"
}
func (googleDialect) lacks() parameter { return 0 }
func (googleDialect) needs() parameter { return 0 }

// generateRequest puts the SDK's types together as they go over the wire; the SDK itself does it through maps.
type generateRequest struct {
	Contents          []*genai.Content        `json:"contents"`
	SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
}

func (googleDialect) encode(a ask) ([]byte, error) {
	req := generateRequest{Contents: []*genai.Content{}}
	for _, m := range a.messages {
		part := &genai.Part{Text: m.Content}
		switch m.Role {
		case plumb.RoleSystem, plumb.RoleDeveloper:
			if req.SystemInstruction == nil {
				req.SystemInstruction = &genai.Content{}
			}
			req.SystemInstruction.Parts = append(req.SystemInstruction.Parts, part)
		case plumb.RoleAssistant:
			req.Contents = append(req.Contents, &genai.Content{Role: string(genai.RoleModel), Parts: []*genai.Part{part}})
		default:
			req.Contents = append(req.Contents, &genai.Content{Role: string(genai.RoleUser), Parts: []*genai.Part{part}})
		}
	}
	p := a.parameters
	if !p.IsZero() {
		c := &genai.GenerationConfig{}
		if p.Temperature != nil {
			c.Temperature = new(float32(*p.Temperature))
		}
		if p.TopP != nil {
			c.TopP = new(float32(*p.TopP))
		}
		if p.Seed != nil {
			c.Seed = new(int32(*p.Seed)) // New has checked the range
		}
		if p.MaxOutputTokens != nil {
			c.MaxOutputTokens = int32(min(*p.MaxOutputTokens, 1<<31-1))
		}
		if p.ReasoningEffort != nil {
			c.ThinkingConfig = thinking(a.model, *p.ReasoningEffort)
		}
		req.GenerationConfig = c
	}
	return json.Marshal(req)
}

// thinking translates a reasoning effort. Gemini 2 counts tokens, later models have levels of the same names.
func thinking(model, effort string) *genai.ThinkingConfig {
	if !strings.Contains(strings.ToLower(model), "gemini-2") {
		return &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(effort))}
	}
	budget := int32(8192)
	switch strings.ToLower(effort) {
	case "none":
		budget = 0
	case "minimal", "low":
		budget = 1024
	case "high", "xhigh", "max":
		budget = 24576
	}
	return &genai.ThinkingConfig{ThinkingBudget: &budget}
}

func (googleDialect) decode(body []byte) (reply, error) {
	var res genai.GenerateContentResponse
	if err := json.Unmarshal(body, &res); err != nil {
		return reply{}, err
	}
	r := reply{id: res.ResponseID, model: res.ModelVersion, usage: googleUsage(res.UsageMetadata)}
	if len(res.Candidates) == 0 || res.Candidates[0] == nil {
		if f := res.PromptFeedback; f != nil && f.BlockReason != "" {
			r.finish, r.word = plumb.FinishRefused, string(f.BlockReason)
			return r, nil
		}
		return reply{}, errorWithin(body)
	}
	c := res.Candidates[0]
	r.word = string(c.FinishReason)
	if c.Content != nil {
		var answer strings.Builder
		for _, part := range c.Content.Parts {
			switch {
			case part == nil:
			case part.FunctionCall != nil:
				args, _ := json.Marshal(part.FunctionCall.Args) //nolint:errchkjson // came from JSON
				r.toolCalls = append(r.toolCalls, toolCall{name: part.FunctionCall.Name, args: args})
			case part.Thought:
				r.thinking = append(r.thinking, part.Text)
			default:
				answer.WriteString(part.Text)
			}
		}
		r.text = answer.String()
	}
	if out := r.usage.OutputTokens; out != nil && *out == 0 && r.text != "" {
		r.usage.OutputTokens = nil // not reported: no text is made of no tokens
	}
	switch c.FinishReason {
	case genai.FinishReasonStop, genai.FinishReasonUnspecified, "":
		r.finish = plumb.FinishStop
		if len(r.toolCalls) > 0 && r.text == "" {
			r.finish = plumb.FinishToolCalls
		}
	case genai.FinishReasonMaxTokens:
		r.finish = plumb.FinishTruncated
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		r.finish = plumb.FinishRefused
	default:
		r.finish = plumb.FinishOther
	}
	return r, nil
}

// googleUsage adds the thoughts, which are counted apart there, to the output.
func googleUsage(u *genai.GenerateContentResponseUsageMetadata) plumb.Usage {
	if u == nil {
		return plumb.Usage{}
	}
	count := func(n ...int32) *int64 {
		var sum int64
		for _, v := range n {
			sum += max(0, int64(v))
		}
		return &sum
	}
	out := plumb.Usage{
		InputTokens:  count(u.PromptTokenCount, u.ToolUsePromptTokenCount),
		OutputTokens: count(u.CandidatesTokenCount, u.ThoughtsTokenCount),
	}
	if u.ThoughtsTokenCount > 0 {
		out.ReasoningTokens = count(u.ThoughtsTokenCount)
	}
	if u.CachedContentTokenCount > 0 {
		out.CacheTokens = count(u.CachedContentTokenCount)
	}
	return out
}
