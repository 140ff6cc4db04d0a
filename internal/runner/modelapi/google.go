package modelapi

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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

// googleReply is the answer to generateContent, as far as it matters.
type googleReply struct {
	failing
	ID       member[string] `json:"responseId"`
	Model    member[string] `json:"modelVersion"`
	Feedback member[struct {
		BlockReason member[string] `json:"blockReason"`
	}] `json:"promptFeedback"`
	Candidates member[[]member[googleCandidate]] `json:"candidates"`
	Usage      member[googleUsage]               `json:"usageMetadata"`
}

type googleCandidate struct {
	Error        jsontext.Value `json:"error"`
	FinishReason member[string] `json:"finishReason"`
	Content      member[struct {
		Parts member[[]member[googlePart]] `json:"parts"`
	}] `json:"content"`
}

type googlePart struct {
	Text         member[string] `json:"text"`
	Thought      member[bool]   `json:"thought"`
	FunctionCall member[struct {
		Name member[string] `json:"name"`
		Args jsontext.Value `json:"args"`
	}] `json:"functionCall"`
	// InlineData and FileData are media that a model made.
	InlineData member[struct{}] `json:"inlineData"`
	FileData   member[struct{}] `json:"fileData"`
}

type googleUsage struct {
	Prompt     jsontext.Value `json:"promptTokenCount"`
	ToolPrompt jsontext.Value `json:"toolUsePromptTokenCount"`
	Candidates jsontext.Value `json:"candidatesTokenCount"`
	Thoughts   jsontext.Value `json:"thoughtsTokenCount"`
	Cached     jsontext.Value `json:"cachedContentTokenCount"`
}

func (googleDialect) decode(body []byte) (reply, error) {
	res, err := parse[googleReply](body)
	blocked := &res.Feedback.value.BlockReason
	switch {
	case err != nil:
		return reply{}, err
	case res.failed():
		return reply{}, providerError(body)
	case res.Feedback.wrong():
		return reply{}, missing("promptFeedback", res.Feedback.kind)
	case blocked.wrong():
		return reply{}, missing("promptFeedback.blockReason", blocked.kind)
	}
	r := reply{id: res.ID.value, model: res.Model.value}
	r.googleUsage(&res.Usage)
	if blocked.value != "" && blocked.value != "BLOCK_REASON_UNSPECIFIED" {
		if len(res.Candidates.value) > 0 || res.Candidates.wrong() {
			return reply{}, noAnswer(fmt.Sprintf("the prompt is blocked (%s), and there are candidates", oneLine(blocked.value)))
		}
		r.finish, r.word = plumb.FinishRefused, blocked.value
		return r, r.whole("candidates", false, res.Candidates.kind)
	}
	if len(res.Candidates.value) == 0 {
		return reply{}, unanswered(body, "candidates", res.Candidates.kind)
	}
	c := &res.Candidates.value[0]
	switch {
	case !c.ok:
		return reply{}, missing("candidates[0]", c.kind)
	case isError(c.value.Error):
		return reply{}, nestedError(c.value.Error)
	}
	if r.word, err = endedBy("finishReason", &c.value.FinishReason); err != nil {
		return reply{}, err
	}
	r.finish = googleFinish(r.word)
	content := &c.value.Content
	switch {
	case content.wrong():
		return reply{}, missing("content", content.kind)
	case content.value.Parts.wrong():
		return reply{}, missing("content.parts", content.value.Parts.kind)
	}
	given, err := r.googleParts(content.value.Parts.value)
	if err != nil {
		return reply{}, err
	}
	return r, r.whole("the text in content.parts", given, 0)
}

// googleParts reads the parts of a content. given reports whether there is a text among them.
func (r *reply) googleParts(parts []member[googlePart]) (given bool, err error) {
	var answer strings.Builder
	for i := range parts {
		place, part := fmt.Sprintf("content.parts[%d]", i), &parts[i].value
		call := &part.FunctionCall
		switch {
		case !parts[i].ok:
			return false, missing(place, parts[i].kind)
		case part.Text.wrong():
			return false, missing(place+".text", part.Text.kind)
		case part.Thought.wrong():
			return false, missing(place+".thought", part.Thought.kind)
		case call.wrong(), call.ok && !call.value.Name.ok:
			return false, missing("the name of the tool in "+place, call.value.Name.kind)
		case part.InlineData.came(), part.FileData.came():
			return false, noAnswer(place + " is no text: it holds media")
		case call.ok:
			r.toolCalls = append(r.toolCalls, toolCall{name: call.value.Name.value, args: arguments(call.value.Args)})
		case part.Thought.value:
			r.thinking = append(r.thinking, part.Text.value)
		case part.Text.ok:
			answer.WriteString(part.Text.value)
			given = true
		default: // what the provider's own tools did
		}
	}
	r.text = answer.String()
	return given, nil
}

func googleFinish(word string) plumb.FinishReason {
	switch genai.FinishReason(word) {
	case genai.FinishReasonStop, genai.FinishReasonUnspecified, "":
		return plumb.FinishStop
	case genai.FinishReasonMaxTokens:
		return plumb.FinishTruncated
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		return plumb.FinishRefused
	default:
		return plumb.FinishOther
	}
}

// googleUsage adds the thoughts, which are counted apart there, to the output. A count of 0 is not written there.
func (r *reply) googleUsage(u *member[googleUsage]) {
	r.doubtUsage("usageMetadata", u.kind)
	if !u.ok {
		return
	}
	count := func(name string, raw jsontext.Value) *int64 {
		if len(raw) == 0 || raw.Kind() == 'n' {
			return new(int64)
		}
		return r.count(name, raw)
	}
	sum := func(a, b *int64) *int64 {
		if a == nil || b == nil {
			return nil
		}
		return new(*a + *b)
	}
	some := func(n *int64) *int64 {
		if n == nil || *n == 0 {
			return nil
		}
		return n
	}
	thoughts := count("thoughtsTokenCount", u.value.Thoughts)
	r.usage = plumb.Usage{
		InputTokens:     sum(count("promptTokenCount", u.value.Prompt), count("toolUsePromptTokenCount", u.value.ToolPrompt)),
		OutputTokens:    sum(count("candidatesTokenCount", u.value.Candidates), thoughts),
		ReasoningTokens: some(thoughts),
		CacheTokens:     some(count("cachedContentTokenCount", u.value.Cached)),
	}
}
