package modelapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// google is the wire format of the Gemini API. System and developer messages, wherever they are in
// the conversation, become the system instruction.
type google struct{}

func (google) parameters() support { return support{seed32: true} }

func (google) address(u *url.URL) {
	for _, version := range []string{"/v1beta", "/v1", "/v1alpha"} {
		if strings.HasSuffix(u.Path, version) {
			return
		}
	}
	u.Path += "/v1beta"
}

func (google) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("X-Goog-Api-Key", key)
	}
}

func (google) path(model string) string { return "/" + googleModel(model) + ":generateContent" }

// googleModel is the resource name of a model.
func googleModel(model string) string {
	if strings.Contains(model, "/") { // a name like tunedModels/x is a resource name
		return model
	}
	return "models/" + model
}

// googleRequest is a request with the members that Plumb sends.
type googleRequest struct {
	Contents          []googleContent `json:"contents"`
	SystemInstruction googleContent   `json:"systemInstruction,omitzero"`
	GenerationConfig  *googleConfig   `json:"generationConfig,omitzero"`
}

type googleContent struct {
	Parts []googleText `json:"parts"`
	Role  string       `json:"role,omitzero"`
}

type googleText struct {
	Text string `json:"text,omitzero"`
}

type googleConfig struct {
	MaxOutputTokens int32           `json:"maxOutputTokens,omitzero"`
	Seed            *int32          `json:"seed,omitzero"`
	Temperature     *float32        `json:"temperature,omitzero"`
	ThinkingConfig  *googleThinking `json:"thinkingConfig,omitzero"`
	TopP            *float32        `json:"topP,omitzero"`
}

type googleThinking struct {
	ThinkingBudget *int32 `json:"thinkingBudget,omitzero"`
	ThinkingLevel  string `json:"thinkingLevel,omitzero"`
}

func (google) encode(r request) ([]byte, error) {
	var req googleRequest
	for _, m := range r.messages {
		part := googleText{m.Content}
		switch m.Role {
		case plumb.RoleSystem, plumb.RoleDeveloper:
			req.SystemInstruction.Parts = append(req.SystemInstruction.Parts, part)
		case plumb.RoleAssistant:
			req.Contents = append(req.Contents, googleContent{Role: "model", Parts: []googleText{part}})
		default:
			req.Contents = append(req.Contents, googleContent{Role: "user", Parts: []googleText{part}})
		}
	}
	if p := r.parameters; !p.IsZero() {
		c := &googleConfig{}
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
			c.ThinkingConfig = thinking(r.model, *p.ReasoningEffort)
		}
		req.GenerationConfig = c
	}
	return marshal(req)
}

// thinking translates a reasoning effort. Gemini 2 takes a number of tokens, later models a level
// of the same name.
func thinking(model, effort string) *googleThinking {
	if !strings.Contains(strings.ToLower(model), "gemini-2") {
		return &googleThinking{ThinkingLevel: strings.ToUpper(effort)}
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
	return &googleThinking{ThinkingBudget: &budget}
}

// googleReply is the reply to generateContent with the members that Plumb reads.
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

func (google) decode(body []byte) (reply, error) {
	res, err := parse[googleReply](body)
	blocked := &res.Feedback.value.BlockReason
	switch {
	case err != nil:
		return reply{}, err
	case res.Feedback.wrong():
		return reply{}, missing("promptFeedback", res.Feedback.kind)
	case blocked.wrong():
		return reply{}, missing("promptFeedback.blockReason", blocked.kind)
	}
	r := reply{id: res.ID.value, model: res.Model.value}
	r.googleUsage(&res.Usage)
	if blocked.value != "" && blocked.value != "BLOCK_REASON_UNSPECIFIED" {
		if len(res.Candidates.value) > 0 || res.Candidates.wrong() {
			why := oneLine(blocked.value)
			return reply{}, noAnswer("the prompt is blocked (" + why + "), but the reply has candidates")
		}
		r.finish, r.word = plumb.FinishRefused, blocked.value
		return r, r.complete("candidates", false, res.Candidates.kind)
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
	r.finish = cmp.Or(googleFinish[r.word], plumb.FinishOther)
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
	return r, r.complete("the text in content.parts", given, 0)
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
		case part.InlineData.present(), part.FileData.present():
			return false, noAnswer(place + " is media, not text")
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

// googleFinish are the finish reasons.
var googleFinish = map[string]plumb.FinishReason{
	"STOP": plumb.FinishStop, "FINISH_REASON_UNSPECIFIED": plumb.FinishStop, "": plumb.FinishStop,
	"MAX_TOKENS": plumb.FinishTruncated, "SAFETY": plumb.FinishRefused, "RECITATION": plumb.FinishRefused,
	"BLOCKLIST": plumb.FinishRefused, "PROHIBITED_CONTENT": plumb.FinishRefused, "SPII": plumb.FinishRefused,
	"IMAGE_SAFETY": plumb.FinishRefused, "IMAGE_PROHIBITED_CONTENT": plumb.FinishRefused,
	"IMAGE_RECITATION": plumb.FinishRefused,
}

// googleUsage reads the usage. Google counts thoughts apart from the output, and omits counts of 0.
func (r *reply) googleUsage(u *member[googleUsage]) {
	r.checkUsage("usageMetadata", u.kind)
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
	prompt := count("promptTokenCount", u.value.Prompt)
	r.usage = plumb.Usage{
		InputTokens:     sum(prompt, count("toolUsePromptTokenCount", u.value.ToolPrompt)),
		OutputTokens:    sum(count("candidatesTokenCount", u.value.Candidates), thoughts),
		ReasoningTokens: some(thoughts),
		CacheTokens:     some(count("cachedContentTokenCount", u.value.Cached)),
	}
}

func (google) embedPath(model string) string { return "/" + googleModel(model) + ":batchEmbedContents" }

type googleEmbedRequests struct {
	Requests []googleEmbedRequest `json:"requests"`
}

type googleEmbedRequest struct {
	Model    string        `json:"model"`
	Content  googleContent `json:"content"`
	TaskType string        `json:"taskType"`
}

func (google) encodeEmbed(model string, texts []string) ([]byte, error) {
	var list googleEmbedRequests
	for _, text := range texts {
		list.Requests = append(list.Requests, googleEmbedRequest{
			Model: googleModel(model), Content: googleContent{Parts: []googleText{{text}}},
			TaskType: "SEMANTIC_SIMILARITY",
		})
	}
	return marshal(list)
}

// googleEmbedReply is the reply to batchEmbedContents.
type googleEmbedReply struct {
	failing
	Embeddings member[[]member[struct {
		Values vector `json:"values"`
	}]] `json:"embeddings"`
}

func (google) decodeEmbed(body []byte, texts int) (plumb.Embedding, error) {
	out := plumb.Embedding{Vectors: make([][]float32, texts)}
	res, err := parse[googleEmbedReply](body)
	switch {
	case err != nil:
		return out, err
	case len(res.Embeddings.value) == 0:
		return out, unanswered(body, "embeddings", res.Embeddings.kind)
	case len(res.Embeddings.value) != texts:
		return out, errVectors
	}
	for i := range res.Embeddings.value {
		out.Vectors[i] = res.Embeddings.value[i].value.Values
	}
	return out, usable(out.Vectors)
}

func (google) listQuery() url.Values { return url.Values{"pageSize": {"1000"}} }

// googleModels is one page of the list of models.
type googleModels struct {
	failing
	Models member[[]member[struct {
		Name        member[string]           `json:"name"`
		DisplayName member[string]           `json:"displayName"`
		Methods     member[[]member[string]] `json:"supportedGenerationMethods"`
	}]] `json:"models"`
	NextPageToken member[string] `json:"nextPageToken"`
}

// decodeModels leaves out the models that neither answer prompts nor make vectors.
func (google) decodeModels(body []byte) (modelPage, error) {
	var page modelPage
	list, err := parse[googleModels](body)
	switch {
	case err != nil:
		return page, err
	case !list.Models.ok:
		return page, unanswered(body, "models", list.Models.kind)
	}
	for i := range list.Models.value {
		item := &list.Models.value[i].value
		can := func(method string) bool {
			return slices.ContainsFunc(item.Methods.value, func(m member[string]) bool { return m.value == method })
		}
		if embeds := can("embedContent"); embeds || len(item.Methods.value) == 0 || can("generateContent") {
			page.models = append(page.models, ModelInfo{
				ID: strings.TrimPrefix(item.Name.value, "models/"), Name: item.DisplayName.value, Embedding: embeds,
			})
		}
	}
	if list.NextPageToken.value != "" {
		page.param, page.value = "pageToken", list.NextPageToken.value
	}
	return page, nil
}
