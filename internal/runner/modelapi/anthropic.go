package modelapi

import (
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/plumb-eval/plumb"
)

// anthropicVersion is the version of the wire format, a header of each request.
const anthropicVersion = "2023-06-01"

// anthropicDialect is Anthropic's messages. It has no seed, and demands a cap on output tokens. System and developer
// messages, wherever they stand, become the system prompt.
type anthropicDialect struct{}

func (anthropicDialect) path(string) string { return "/messages" }
func (anthropicDialect) lacks() parameter   { return seed }
func (anthropicDialect) needs() parameter   { return maxOutputTokens }

func (anthropicDialect) encode(a ask) ([]byte, error) {
	p := anthropic.MessageNewParams{Model: a.model, MaxTokens: DefaultMaxOutputTokens}
	for _, m := range a.messages {
		switch m.Role {
		case plumb.RoleSystem, plumb.RoleDeveloper:
			if m.Content != "" { // an empty block is an error there
				p.System = append(p.System, anthropic.TextBlockParam{Text: m.Content})
			}
		case plumb.RoleAssistant:
			p.Messages = append(p.Messages, anthropic.NewAssistantMessage(anthropic.NewTextBlock(m.Content)))
		default:
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(m.Content)))
		}
	}
	if v := a.parameters.MaxOutputTokens; v != nil {
		p.MaxTokens = *v
	}
	if v := a.parameters.Temperature; v != nil {
		p.Temperature = anthropic.Float(*v)
	}
	if v := a.parameters.TopP; v != nil {
		p.TopP = anthropic.Float(*v)
	}
	if v := a.parameters.ReasoningEffort; v != nil {
		p.OutputConfig.Effort = anthropic.OutputConfigEffort(*v)
	}
	return p.MarshalJSON()
}

func (anthropicDialect) decode(body []byte) (reply, error) {
	var m anthropic.Message
	if err := m.UnmarshalJSON(body); err != nil {
		return reply{}, err
	}
	if !m.JSON.Content.Valid() {
		return reply{}, errorWithin(body)
	}
	r := reply{id: m.ID, model: m.Model, word: string(m.StopReason)}
	var answer strings.Builder
	for i := range m.Content {
		block := &m.Content[i]
		switch block.Type {
		case "text":
			answer.WriteString(block.Text)
		case "thinking":
			if block.Thinking != "" {
				r.thinking = append(r.thinking, block.Thinking)
			}
		case "tool_use", "server_tool_use":
			r.toolCalls = append(r.toolCalls, toolCall{name: block.Name, args: json.RawMessage(strings.Clone(string(block.Input)))})
		}
	}
	r.text = answer.String()
	switch m.StopReason {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, "":
		r.finish = plumb.FinishStop
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		r.finish = plumb.FinishTruncated
	case anthropic.StopReasonRefusal:
		r.finish = plumb.FinishRefused
	case anthropic.StopReasonToolUse:
		r.finish = plumb.FinishToolCalls
	default:
		r.finish = plumb.FinishOther
	}
	if m.JSON.Usage.Valid() {
		u := &m.Usage
		r.usage = plumb.Usage{
			OutputTokens:     counted(u.JSON.OutputTokens, u.OutputTokens),
			CacheTokens:      counted(u.JSON.CacheReadInputTokens, u.CacheReadInputTokens),
			CacheWriteTokens: counted(u.JSON.CacheCreationInputTokens, u.CacheCreationInputTokens),
			ReasoningTokens:  counted(u.OutputTokensDetails.JSON.ThinkingTokens, u.OutputTokensDetails.ThinkingTokens),
		}
		if in := counted(u.JSON.InputTokens, u.InputTokens); in != nil { // net there, gross here
			r.usage.InputTokens = new(*in + max(0, u.CacheReadInputTokens) + max(0, u.CacheCreationInputTokens))
		}
	}
	return r, nil
}
