package modelapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/go-json-experiment/json/jsontext"

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

// anthropicReply is a message, as far as it matters.
type anthropicReply struct {
	failing
	ID         member[string]                   `json:"id"`
	Model      member[string]                   `json:"model"`
	Content    member[[]member[anthropicBlock]] `json:"content"`
	StopReason member[string]                   `json:"stop_reason"`
	Usage      member[struct {
		Input   jsontext.Value `json:"input_tokens"`
		Output  jsontext.Value `json:"output_tokens"`
		Read    jsontext.Value `json:"cache_read_input_tokens"`
		Written jsontext.Value `json:"cache_creation_input_tokens"`
		Details member[struct {
			Thinking jsontext.Value `json:"thinking_tokens"`
		}] `json:"output_tokens_details"`
	}] `json:"usage"`
}

type anthropicBlock struct {
	Type     member[string] `json:"type"`
	Text     member[string] `json:"text"`
	Thinking member[string] `json:"thinking"`
	Name     member[string] `json:"name"`
	Input    jsontext.Value `json:"input"`
}

func (anthropicDialect) decode(body []byte) (reply, error) {
	m, err := parse[anthropicReply](body)
	switch {
	case err != nil:
		return reply{}, err
	case m.failed():
		return reply{}, providerError(body)
	case m.Type.wrong():
		return reply{}, missing("type", m.Type.kind)
	case m.Type.ok && m.Type.value != "message":
		return reply{}, noAnswer(fmt.Sprintf("type is %q", oneLine(m.Type.value)))
	case !m.Content.ok:
		return reply{}, unanswered(body, "content", m.Content.kind)
	}
	word, err := endedBy("stop_reason", &m.StopReason)
	if err != nil {
		return reply{}, err
	}
	r := reply{id: m.ID.value, model: m.Model.value, word: word}
	switch anthropic.StopReason(word) {
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
	var answer strings.Builder
	given := false
	for i := range m.Content.value {
		place, block := fmt.Sprintf("content[%d]", i), &m.Content.value[i].value
		switch kind := block.Type.value; {
		case kind == "text":
			if !block.Text.ok {
				return reply{}, missing(place+".text", block.Text.kind)
			}
			answer.WriteString(block.Text.value)
			given = true
		case kind == "thinking":
			if block.Thinking.value != "" {
				r.thinking = append(r.thinking, block.Thinking.value)
			}
		case strings.HasSuffix(kind, "tool_use"):
			if !block.Name.ok {
				return reply{}, missing(place+".name", block.Name.kind)
			}
			r.toolCalls = append(r.toolCalls, toolCall{name: block.Name.value, args: json.RawMessage(block.Input)})
		case kind == "redacted_thinking", kind == "compaction", kind == "container_upload",
			strings.HasSuffix(kind, "_tool_result"): // what the provider's own tools did
		default:
			return reply{}, unknownPart(place, m.Content.value[i].kind, &block.Type)
		}
	}
	r.text = answer.String()
	r.doubtUsage("usage", m.Usage.kind)
	u := &m.Usage.value
	r.usage = plumb.Usage{
		OutputTokens:     r.count("output_tokens", u.Output),
		CacheTokens:      r.count("cache_read_input_tokens", u.Read),
		CacheWriteTokens: r.count("cache_creation_input_tokens", u.Written),
		ReasoningTokens:  r.count("thinking_tokens", u.Details.value.Thinking),
	}
	if in := r.count("input_tokens", u.Input); in != nil { // net there, gross here
		for _, n := range []*int64{r.usage.CacheTokens, r.usage.CacheWriteTokens} {
			if n != nil {
				*in += *n
			}
		}
		r.usage.InputTokens = in
	}
	return r, r.whole("the text in content", given, 0)
}
