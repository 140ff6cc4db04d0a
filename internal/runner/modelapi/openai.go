package modelapi

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// chat is the wire format of OpenAI's chat completions, which most other servers implement too.
type chat struct {
	// compatible is set for servers that have only the older names of roles and parameters.
	compatible bool
	// root is the path of an address that a user wrote without its version; "" means "/v1".
	root string
	// keyHeader is the header with the key; "" means Authorization, with a bearer token.
	keyHeader string
	// port is the port of an address that has none. It also marks servers that listen on 0.0.0.0.
	port string
}

func (chat) parameters() support { return support{renamed: maxOutputTokens} }

func (c chat) address(u *url.URL) {
	root := cmp.Or(c.root, "/v1")
	if strings.HasPrefix(root, u.Path+"/") {
		u.Path = root
	}
	if c.port == "" {
		return
	}
	if host := u.Hostname(); host == "0.0.0.0" || host == "::" { // clients cannot connect to it
		u.Host = strings.Replace(u.Host, host, "127.0.0.1", 1)
		u.Host = strings.NewReplacer("[", "", "]", "").Replace(u.Host)
	}
	if u.Port() == "" && u.Scheme == "http" {
		u.Host += ":" + c.port
	}
}

func (c chat) authorize(h http.Header, key string) {
	switch {
	case key == "":
	case c.keyHeader != "":
		h.Set(c.keyHeader, key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
}

func (chat) path(string) string { return "/chat/completions" }

// chatRequest is a chat request with the members that Plumb sends.
type chatRequest struct {
	Messages            []plumb.Message `json:"messages"`
	Model               string          `json:"model"`
	Temperature         *float64        `json:"temperature,omitzero"`
	TopP                *float64        `json:"top_p,omitzero"`
	Seed                *int64          `json:"seed,omitzero"`
	MaxTokens           *int64          `json:"max_tokens,omitzero"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens,omitzero"`
	ReasoningEffort     string          `json:"reasoning_effort,omitzero"`
}

func (c chat) encode(r request) ([]byte, error) {
	p := chatRequest{
		Messages: make([]plumb.Message, len(r.messages)), Model: r.model,
		Temperature: r.parameters.Temperature, TopP: r.parameters.TopP, Seed: r.parameters.Seed,
		ReasoningEffort: effort(r.parameters),
	}
	for i, m := range r.messages {
		if m.Role == plumb.RoleDeveloper && c.compatible {
			m.Role = plumb.RoleSystem
		}
		p.Messages[i] = m
	}
	if c.compatible != r.renamed {
		p.MaxTokens = r.parameters.MaxOutputTokens
	} else {
		p.MaxCompletionTokens = r.parameters.MaxOutputTokens
	}
	return marshal(p)
}

// chatReply is a chat completion with the members that Plumb reads.
type chatReply struct {
	failing
	ID          member[string]               `json:"id"`
	Model       member[string]               `json:"model"`
	Fingerprint member[string]               `json:"system_fingerprint"`
	Choices     member[[]member[chatChoice]] `json:"choices"`
	Usage       member[chatUsage]            `json:"usage"`
}

type chatChoice struct {
	Error        jsontext.Value      `json:"error"`
	FinishReason member[string]      `json:"finish_reason"`
	Message      member[chatMessage] `json:"message"`
}

type chatMessage struct {
	Content   chatContent                `json:"content"`
	Refusal   member[string]             `json:"refusal"`
	ToolCalls member[[]member[chatCall]] `json:"tool_calls"`
	// FunctionCall is the older form of a tool call.
	FunctionCall member[chatFunction] `json:"function_call"`
	// ReasoningContent and Reasoning are the names that servers use for thoughts.
	ReasoningContent member[string] `json:"reasoning_content"`
	Reasoning        member[string] `json:"reasoning"`
}

type chatCall struct {
	Function member[chatFunction] `json:"function"`
	Custom   member[chatFunction] `json:"custom"`
}

type chatFunction struct {
	Name      member[string] `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	// Input has the arguments of a custom tool.
	Input jsontext.Value `json:"input"`
}

// chatContent is a text, or a list of parts.
type chatContent struct {
	text  member[string]
	parts member[[]member[chatPart]]
}

// UnmarshalJSONFrom reads either form.
func (c *chatContent) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*c = chatContent{}
	if d.PeekKind() == '[' {
		c.text.kind = '['
		return c.parts.UnmarshalJSONFrom(d)
	}
	return c.text.UnmarshalJSONFrom(d)
}

type chatPart struct {
	Type     member[string] `json:"type"`
	Text     member[string] `json:"text"`
	Refusal  member[string] `json:"refusal"`
	Thinking jsontext.Value `json:"thinking"`
}

type chatUsage struct {
	Input   jsontext.Value `json:"prompt_tokens"`
	Output  jsontext.Value `json:"completion_tokens"`
	Details member[struct {
		Cached  jsontext.Value `json:"cached_tokens"`
		Written jsontext.Value `json:"cache_write_tokens"`
	}] `json:"prompt_tokens_details"`
	OutputDetails member[struct {
		Reasoning jsontext.Value `json:"reasoning_tokens"`
	}] `json:"completion_tokens_details"`
}

// chatFinish reads a finish reason. "model_length" is Mistral's, "sensitive" Zhipu's.
func chatFinish(word string) plumb.FinishReason {
	switch word {
	case "stop", "":
		return plumb.FinishStop
	case "length", "model_length":
		return plumb.FinishTruncated
	case "content_filter", "sensitive":
		return plumb.FinishRefused
	case "tool_calls", "function_call":
		return plumb.FinishToolCalls
	}
	return plumb.FinishOther
}

func (chat) decode(body []byte) (reply, error) {
	c, err := parse[chatReply](body)
	switch {
	case err != nil:
		return reply{}, err
	case len(c.Choices.value) == 0:
		return reply{}, unanswered(body, "choices", c.Choices.kind)
	}
	choice := &c.Choices.value[0]
	switch {
	case !choice.ok:
		return reply{}, missing("choices[0]", choice.kind)
	case isError(choice.value.Error):
		return reply{}, nestedError(choice.value.Error)
	}
	word, err := endedBy("finish_reason", &choice.value.FinishReason)
	if err != nil {
		return reply{}, err
	}
	msg := &choice.value.Message
	if !msg.ok {
		return reply{}, missing("message", msg.kind)
	}
	r := reply{id: c.ID.value, model: c.Model.value, fingerprint: c.Fingerprint.value, word: word}
	r.finish = chatFinish(word)
	given, err := r.chatMessage(&msg.value)
	if err != nil {
		return reply{}, err
	}
	r.chatUsage(&c.Usage)
	return r, r.complete("message.content", given, msg.value.Content.text.kind)
}

// chatMessage reads the text, the thoughts, and the tool calls of a message. given reports whether
// a text is present.
func (r *reply) chatMessage(msg *chatMessage) (given bool, err error) {
	content, refusal := &msg.Content, msg.Refusal.value
	switch {
	case content.text.ok:
		r.text, given = content.text.value, true
	case content.parts.ok:
		var declined string
		if r.text, declined, given, err = r.chatParts("message.content", content.parts.value); err != nil {
			return false, err
		}
		refusal += declined
	case content.text.wrong():
		return false, missing("message.content", content.text.kind)
	}
	switch {
	case msg.Refusal.wrong():
		return false, missing("message.refusal", msg.Refusal.kind)
	case refusal != "":
		r.finish = plumb.FinishRefused
		if r.text == "" {
			r.text = refusal
		}
	}
	if s := cmp.Or(msg.ReasoningContent.value, msg.Reasoning.value); s != "" {
		r.thinking = append(r.thinking, s)
	}
	if msg.ToolCalls.wrong() {
		return false, missing("message.tool_calls", msg.ToolCalls.kind)
	}
	for i := range msg.ToolCalls.value {
		call := &msg.ToolCalls.value[i].value
		f := &call.Function
		if !f.ok {
			f = &call.Custom
		}
		if err := r.chatCall(fmt.Sprintf("message.tool_calls[%d]", i), f); err != nil {
			return false, err
		}
	}
	if f := &msg.FunctionCall; f.ok || f.wrong() {
		return given, r.chatCall("message.function_call", f)
	}
	return given, nil
}

// chatParts joins the texts, and the refusals, of a content that comes in parts. given reports
// whether a text is present.
func (r *reply) chatParts(place string, parts []member[chatPart]) (answer, refusal string, given bool, err error) {
	var texts, refusals strings.Builder
	for i := range parts {
		part := &parts[i].value
		switch part.Type.value {
		case "text", "output_text":
			if !part.Text.ok {
				return "", "", false, missing(fmt.Sprintf("%s[%d].text", place, i), part.Text.kind)
			}
			texts.WriteString(part.Text.value)
			given = true
		case "refusal":
			if !part.Refusal.ok {
				return "", "", false, missing(fmt.Sprintf("%s[%d].refusal", place, i), part.Refusal.kind)
			}
			refusals.WriteString(part.Refusal.value)
		case "thinking", "reasoning": // Mistral's
			if s := thought(part.Thinking); s != "" {
				r.thinking = append(r.thinking, s)
			}
		case "reference": // Mistral's marks of what the text refers to
		default:
			return "", "", false, unknownPart(fmt.Sprintf("%s[%d]", place, i), parts[i].kind, &part.Type)
		}
	}
	return texts.String(), refusals.String(), given, nil
}

// thought reads a thought that is a text, or a list of parts with texts.
func thought(raw jsontext.Value) string {
	if s := textOf([]byte(raw)); s != "" {
		return s
	}
	var parts member[[]member[chatPart]]
	err := json.Unmarshal(raw, &parts, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return ""
	}
	var s strings.Builder
	for i := range parts.value {
		s.WriteString(parts.value[i].value.Text.value)
	}
	return s.String()
}

func (r *reply) chatCall(place string, f *member[chatFunction]) error {
	if !f.value.Name.ok {
		return missing("the name of the tool in "+place, f.value.Name.kind)
	}
	args := f.value.Arguments
	if len(args) == 0 {
		args = f.value.Input
	}
	r.toolCalls = append(r.toolCalls, toolCall{name: f.value.Name.value, args: arguments(args)})
	return nil
}

func (r *reply) chatUsage(u *member[chatUsage]) {
	r.checkUsage("usage", u.kind)
	in, out := &u.value.Details.value, &u.value.OutputDetails.value
	r.usage = plumb.Usage{
		InputTokens:      r.count("prompt_tokens", u.value.Input),
		OutputTokens:     r.count("completion_tokens", u.value.Output),
		CacheTokens:      r.count("cached_tokens", in.Cached),
		CacheWriteTokens: r.count("cache_write_tokens", in.Written),
		ReasoningTokens:  r.count("reasoning_tokens", out.Reasoning),
	}
}

func (chat) embedPath(string) string { return "/embeddings" }

type chatEmbedRequest struct {
	Input          []string `json:"input"`
	Model          string   `json:"model"`
	EncodingFormat string   `json:"encoding_format"`
}

func (chat) encodeEmbed(model string, texts []string) ([]byte, error) {
	return marshal(chatEmbedRequest{Input: texts, Model: model, EncodingFormat: "float"})
}

// chatEmbedReply is the reply to a request for embeddings.
type chatEmbedReply struct {
	failing
	Model member[string] `json:"model"`
	Data  member[[]member[struct {
		Index     jsontext.Value `json:"index"`
		Embedding vector         `json:"embedding"`
	}]] `json:"data"`
	Usage member[struct {
		Input jsontext.Value `json:"prompt_tokens"`
	}] `json:"usage"`
}

func (chat) decodeEmbed(body []byte, texts int) (plumb.Embedding, error) {
	out := plumb.Embedding{Vectors: make([][]float32, texts)}
	res, err := parse[chatEmbedReply](body)
	switch {
	case err != nil:
		return out, err
	case len(res.Data.value) == 0:
		return out, unanswered(body, "data", res.Data.kind)
	case len(res.Data.value) != texts:
		return out, errVectors
	}
	for i := range res.Data.value {
		d := &res.Data.value[i].value
		at := number(d.Index)
		if at == nil && texts == 1 && len(d.Index) == 0 {
			at = new(float64) // one text has one vector, with or without an index
		}
		if at == nil || *at < 0 || *at >= float64(texts) || *at != math.Trunc(*at) || out.Vectors[int(*at)] != nil {
			return out, errVectors
		}
		out.Vectors[int(*at)] = d.Embedding
	}
	out.Model = res.Model.value
	var r reply
	out.Usage.InputTokens = r.count("prompt_tokens", res.Usage.value.Input)
	return out, usable(out.Vectors)
}

func (chat) listQuery() url.Values { return url.Values{} }

// chatModels is a list of models.
type chatModels struct {
	failing
	Data member[[]member[struct {
		ID      member[string] `json:"id"`
		Created jsontext.Value `json:"created"`
	}]] `json:"data"`
}

func (chat) decodeModels(body []byte) (modelPage, error) {
	var page modelPage
	list, err := parse[chatModels](body)
	switch {
	case err != nil:
		return page, err
	case !list.Data.ok:
		return page, unanswered(body, "data", list.Data.kind)
	}
	for i := range list.Data.value {
		item := &list.Data.value[i].value
		m := ModelInfo{ID: item.ID.value, Embedding: strings.Contains(item.ID.value, "embed")}
		if at := number(item.Created); at != nil && *at > 0 && *at < 1<<40 {
			m.Created = time.Unix(int64(*at), 0).UTC().Format(time.DateOnly)
		}
		page.models = append(page.models, m)
	}
	return page, nil
}
