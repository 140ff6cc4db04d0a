package modelapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// anthropic is the wire format of Anthropic's messages. It has no seed, and requires a cap on
// output tokens. System and developer messages, wherever they are in the conversation, become the
// system prompt.
type anthropic struct{}

func (anthropic) parameters() support { return support{missing: seed, required: maxOutputTokens} }

func (anthropic) address(u *url.URL) { u.Path = strings.TrimSuffix(u.Path, "/v1") + "/v1" }

func (anthropic) authorize(h http.Header, key string) {
	h.Set("Anthropic-Version", "2023-06-01")
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

func (anthropic) path(string) string { return "/messages" }

// anthropicRequest is a request with the members that Plumb sends.
type anthropicRequest struct {
	MaxTokens    int64              `json:"max_tokens"`
	Messages     []anthropicMessage `json:"messages"`
	Model        string             `json:"model"`
	Temperature  *float64           `json:"temperature,omitzero"`
	TopP         *float64           `json:"top_p,omitzero"`
	OutputConfig anthropicOutput    `json:"output_config,omitzero"`
	System       []anthropicText    `json:"system,omitzero"`
}

type anthropicMessage struct {
	Content []anthropicText `json:"content"`
	Role    string          `json:"role"`
}

type anthropicText struct {
	Text string `json:"text"`
	Type string `json:"type"`
}

type anthropicOutput struct {
	Effort string `json:"effort"`
}

func (anthropic) encode(r request) ([]byte, error) {
	p := anthropicRequest{
		MaxTokens: defaultMaxOutputTokens, Model: r.model, Temperature: r.parameters.Temperature,
		TopP: r.parameters.TopP, OutputConfig: anthropicOutput{effort(r.parameters)},
	}
	if v := r.parameters.MaxOutputTokens; v != nil {
		p.MaxTokens = *v
	}
	for _, m := range r.messages {
		text := anthropicText{Text: m.Content, Type: "text"}
		switch m.Role {
		case plumb.RoleSystem, plumb.RoleDeveloper:
			if m.Content != "" { // the API rejects an empty block
				p.System = append(p.System, text)
			}
		default:
			p.Messages = append(p.Messages, anthropicMessage{Role: m.Role, Content: []anthropicText{text}})
		}
	}
	return marshal(p)
}

// anthropicReply is a message with the members that Plumb reads.
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

func anthropicFinish(word string) plumb.FinishReason {
	switch word {
	case "end_turn", "stop_sequence", "":
		return plumb.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return plumb.FinishTruncated
	case "refusal":
		return plumb.FinishRefused
	case "tool_use":
		return plumb.FinishToolCalls
	}
	return plumb.FinishOther
}

func (anthropic) decode(body []byte) (reply, error) {
	m, err := parse[anthropicReply](body)
	switch {
	case err != nil:
		return reply{}, err
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
	r := reply{id: m.ID.value, model: m.Model.value, word: word, finish: anthropicFinish(word)}
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
	r.checkUsage("usage", m.Usage.kind)
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
	return r, r.complete("the text in content", given, 0)
}

func (anthropic) listQuery() url.Values { return url.Values{"limit": {"1000"}} }

// anthropicModels is one page of the list of models.
type anthropicModels struct {
	failing
	Data member[[]member[struct {
		ID      member[string] `json:"id"`
		Name    member[string] `json:"display_name"`
		Created member[string] `json:"created_at"`
	}]] `json:"data"`
	HasMore member[bool]   `json:"has_more"`
	LastID  member[string] `json:"last_id"`
}

func (anthropic) decodeModels(body []byte) (modelPage, error) {
	var page modelPage
	list, err := parse[anthropicModels](body)
	switch {
	case err != nil:
		return page, err
	case !list.Data.ok:
		return page, unanswered(body, "data", list.Data.kind)
	}
	for i := range list.Data.value {
		item := &list.Data.value[i].value
		m := ModelInfo{ID: item.ID.value, Name: item.Name.value}
		if at, err := time.Parse(time.RFC3339, item.Created.value); err == nil && at.Year() > 1970 {
			m.Created = at.Format(time.DateOnly)
		}
		page.models = append(page.models, m)
	}
	if list.HasMore.value && list.LastID.value != "" {
		page.param, page.value = "after_id", list.LastID.value
	}
	return page, nil
}
