package modelapi

import (
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/plumb-eval/plumb"
)

// responsesDialect is OpenAI's newer interface. It has no seed, and says which parameters it used.
type responsesDialect struct{}

func (responsesDialect) path(string) string { return "/responses" }
func (responsesDialect) lacks() parameter   { return seed }
func (responsesDialect) needs() parameter   { return 0 }

func (responsesDialect) encode(a ask) ([]byte, error) {
	items := make(responses.ResponseInputParam, len(a.messages))
	for i, m := range a.messages {
		items[i] = responses.ResponseInputItemParamOfMessage(m.Content, responses.EasyInputMessageRole(m.Role))
	}
	p := responses.ResponseNewParams{
		Model: a.model,
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items},
		Store: param.NewOpt(false), // a measurement leaves nothing behind
	}
	if v := a.parameters.Temperature; v != nil {
		p.Temperature = openai.Float(*v)
	}
	if v := a.parameters.TopP; v != nil {
		p.TopP = openai.Float(*v)
	}
	if v := a.parameters.MaxOutputTokens; v != nil {
		p.MaxOutputTokens = openai.Int(*v)
	}
	if v := a.parameters.ReasoningEffort; v != nil {
		p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffort(*v)}
	}
	return p.MarshalJSON()
}

func (responsesDialect) decode(body []byte) (reply, error) {
	var res responses.Response
	if err := res.UnmarshalJSON(body); err != nil {
		return reply{}, err
	}
	if res.Error.Message != "" || res.Status == responses.ResponseStatusFailed {
		return reply{}, &apiError{
			message: oneLine(res.Error.Message), code: string(res.Error.Code), param: res.Error.Param, kind: "failed",
		}
	}
	if !res.JSON.Output.Valid() && res.Status == "" {
		return reply{}, errorWithin(body)
	}
	r := reply{id: res.ID, model: res.Model, word: string(res.Status)}
	var answer, refusal strings.Builder
	for i := range res.Output {
		item := &res.Output[i]
		switch item.Type {
		case "message":
			for j := range item.Content {
				answer.WriteString(item.Content[j].Text)
				refusal.WriteString(item.Content[j].Refusal)
			}
		case "reasoning":
			for _, s := range item.Summary {
				r.thinking = append(r.thinking, s.Text)
			}
		case "function_call", "custom_tool_call":
			r.toolCalls = append(r.toolCalls, toolCall{name: item.Name, args: argument(item.Arguments.OfString)})
		}
	}
	r.text = firstOf(answer.String(), refusal.String())
	why := res.IncompleteDetails.Reason
	switch {
	case why == "max_output_tokens":
		r.finish, r.word = plumb.FinishTruncated, why
	case why == "content_filter":
		r.finish, r.word = plumb.FinishRefused, why
	case refusal.Len() > 0:
		r.finish, r.word = plumb.FinishRefused, "refusal"
	case len(r.toolCalls) > 0 && r.text == "":
		r.finish = plumb.FinishToolCalls
	case res.Status == responses.ResponseStatusCompleted || res.Status == "":
		r.finish = plumb.FinishStop
	case res.Status == responses.ResponseStatusIncomplete:
		r.finish, r.word = plumb.FinishOther, firstOf(why, r.word)
	default: // queued, in progress, cancelled: there is no answer to wait for
		return reply{}, errNoAnswer
	}
	if res.JSON.Usage.Valid() {
		u := &res.Usage
		in, out := &u.InputTokensDetails, &u.OutputTokensDetails
		r.usage = plumb.Usage{
			InputTokens:      counted(u.JSON.InputTokens, u.InputTokens),
			OutputTokens:     counted(u.JSON.OutputTokens, u.OutputTokens),
			CacheTokens:      counted(in.JSON.CachedTokens, in.CachedTokens),
			CacheWriteTokens: counted(in.JSON.CacheWriteTokens, in.CacheWriteTokens),
			ReasoningTokens:  counted(out.JSON.ReasoningTokens, out.ReasoningTokens),
		}
	}
	r.effective = plumb.Parameters{MaxOutputTokens: counted(res.JSON.MaxOutputTokens, res.MaxOutputTokens)}
	if res.JSON.Temperature.Valid() {
		r.effective.Temperature = &res.Temperature
	}
	if res.JSON.TopP.Valid() {
		r.effective.TopP = &res.TopP
	}
	if effort := string(res.Reasoning.Effort); effort != "" {
		r.effective.ReasoningEffort = &effort
	}
	return r, nil
}
