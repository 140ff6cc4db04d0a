package modelapi

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/plumb-eval/plumb"
)

// chatDialect is OpenAI's chat completions, which most other servers speak too.
type chatDialect struct {
	// compatible says that the server is not OpenAI's: it knows the older names only.
	compatible bool
}

func (chatDialect) path(string) string { return "/chat/completions" }
func (chatDialect) lacks() parameter   { return 0 }
func (chatDialect) needs() parameter   { return 0 }

func (d chatDialect) encode(a ask) ([]byte, error) { return encodePlain(d, a) }

// encodeWithSDK is the request as OpenAI's SDK writes it. The tests hold encode to it.
func (d chatDialect) encodeWithSDK(a ask) ([]byte, error) {
	p := openai.ChatCompletionNewParams{
		Model: a.model, Messages: make([]openai.ChatCompletionMessageParamUnion, len(a.messages)),
	}
	for i, m := range a.messages {
		switch {
		case m.Role == plumb.RoleDeveloper && !d.compatible:
			p.Messages[i] = openai.DeveloperMessage(m.Content)
		case m.Role == plumb.RoleSystem, m.Role == plumb.RoleDeveloper:
			p.Messages[i] = openai.SystemMessage(m.Content)
		case m.Role == plumb.RoleAssistant:
			p.Messages[i] = openai.AssistantMessage(m.Content)
		default:
			p.Messages[i] = openai.UserMessage(m.Content)
		}
	}
	if v := a.parameters.Temperature; v != nil {
		p.Temperature = openai.Float(*v)
	}
	if v := a.parameters.TopP; v != nil {
		p.TopP = openai.Float(*v)
	}
	if v := a.parameters.Seed; v != nil {
		p.Seed = openai.Int(*v)
	}
	if v := a.parameters.MaxOutputTokens; v != nil {
		if d.compatible != a.otherCap {
			p.MaxTokens = openai.Int(*v)
		} else {
			p.MaxCompletionTokens = openai.Int(*v)
		}
	}
	if v := a.parameters.ReasoningEffort; v != nil {
		p.ReasoningEffort = shared.ReasoningEffort(*v)
	}
	return p.MarshalJSON()
}

func (d chatDialect) decode(body []byte) (reply, error) {
	if r, ok := decodePlain(body); ok {
		return r, nil
	}
	return d.decodeWithSDK(body)
}

func (chatDialect) decodeWithSDK(body []byte) (reply, error) {
	var c openai.ChatCompletion
	if err := c.UnmarshalJSON(body); err != nil {
		return reply{}, err
	}
	if len(c.Choices) == 0 {
		return reply{}, errorWithin(body)
	}
	choice := &c.Choices[0]
	msg := &choice.Message
	r := reply{
		id: c.ID, model: c.Model, fingerprint: c.SystemFingerprint, //nolint:staticcheck // deprecated, and still the only sign of a changed backend
		text: msg.Content, word: choice.FinishReason,
	}
	for _, name := range [...]string{"reasoning_content", "reasoning"} {
		if s := text(json.RawMessage(msg.JSON.ExtraFields[name].Raw())); s != "" {
			r.thinking = []string{s}
			break
		}
	}
	for i := range msg.ToolCalls {
		call := &msg.ToolCalls[i]
		r.toolCalls = append(r.toolCalls, toolCall{
			name: firstOf(call.Function.Name, call.Custom.Name),
			args: argument(firstOf(call.Function.Arguments, call.Custom.Input)),
		})
	}
	switch choice.FinishReason {
	case "stop", "":
		r.finish = plumb.FinishStop
	case "length":
		r.finish = plumb.FinishTruncated
	case "content_filter":
		r.finish = plumb.FinishRefused
	case "tool_calls", "function_call":
		r.finish = plumb.FinishToolCalls
	default:
		if raw := choice.JSON.ExtraFields["error"].Raw(); choice.FinishReason == "error" && raw != "" && r.text == "" {
			e := parseAPIError([]byte(`{"error":` + raw + `}`))
			return reply{}, &e
		}
		r.finish = plumb.FinishOther
	}
	if msg.Refusal != "" {
		r.finish = plumb.FinishRefused
		if r.text == "" {
			r.text = msg.Refusal
		}
	}
	if c.JSON.Usage.Valid() {
		u := &c.Usage
		in, out := &u.PromptTokensDetails, &u.CompletionTokensDetails
		r.usage = plumb.Usage{
			InputTokens:      counted(u.JSON.PromptTokens, u.PromptTokens),
			OutputTokens:     counted(u.JSON.CompletionTokens, u.CompletionTokens),
			CacheTokens:      counted(in.JSON.CachedTokens, in.CachedTokens),
			CacheWriteTokens: counted(in.JSON.CacheWriteTokens, in.CacheWriteTokens),
			ReasoningTokens:  counted(out.JSON.ReasoningTokens, out.ReasoningTokens),
		}
	}
	return r, nil
}

// counted is n where the reply has it, and nil where it does not. No count is negative.
func counted(field interface{ Valid() bool }, n int64) *int64 {
	if !field.Valid() || n < 0 {
		return nil
	}
	return &n
}

// argument keeps the arguments of a tool call, which come as text that should be JSON.
func argument(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	quoted, _ := json.Marshal(s) //nolint:errchkjson // a string always has a form
	return quoted
}

// errorWithin finds the error in a reply that looks like a success but has no answer.
func errorWithin(body []byte) error {
	var top struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &top) == nil && len(top.Error) > 0 && string(top.Error) != "null" {
		e := parseAPIError(body)
		return &e
	}
	return errNoAnswer
}
