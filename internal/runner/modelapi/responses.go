package modelapi

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// responses is the wire format of OpenAI's newer interface. It has no seed, and its replies report
// the parameters that were used. Everything except requests for answers is as in chat completions.
type responses struct{ chat }

func (responses) parameters() support { return support{missing: seed} }

func (responses) path(string) string { return "/responses" }

// responsesRequest is a request with the members that Plumb sends.
type responsesRequest struct {
	Input           []plumb.Message    `json:"input"`
	Model           string             `json:"model"`
	MaxOutputTokens *int64             `json:"max_output_tokens,omitzero"`
	Temperature     *float64           `json:"temperature,omitzero"`
	TopP            *float64           `json:"top_p,omitzero"`
	Reasoning       responsesReasoning `json:"reasoning,omitzero"`
	// Store is always false, so that the provider does not store the conversation.
	Store bool `json:"store"`
}

type responsesReasoning struct {
	Effort string `json:"effort"`
}

func (responses) encode(r request) ([]byte, error) {
	return marshal(responsesRequest{
		Input: r.messages, Model: r.model, MaxOutputTokens: r.parameters.MaxOutputTokens,
		Temperature: r.parameters.Temperature, TopP: r.parameters.TopP,
		Reasoning: responsesReasoning{effort(r.parameters)},
	})
}

// responsesReply is a response with the members that Plumb reads.
type responsesReply struct {
	failing
	ID         member[string] `json:"id"`
	Model      member[string] `json:"model"`
	Status     member[string] `json:"status"`
	Incomplete member[struct {
		Reason member[string] `json:"reason"`
	}] `json:"incomplete_details"`
	Output          member[[]member[responsesItem]] `json:"output"`
	MaxOutputTokens jsontext.Value                  `json:"max_output_tokens"`
	Temperature     jsontext.Value                  `json:"temperature"`
	TopP            jsontext.Value                  `json:"top_p"`
	Reasoning       member[struct {
		Effort member[string] `json:"effort"`
	}] `json:"reasoning"`
	Usage member[struct {
		Input   jsontext.Value `json:"input_tokens"`
		Output  jsontext.Value `json:"output_tokens"`
		Details member[struct {
			Cached  jsontext.Value `json:"cached_tokens"`
			Written jsontext.Value `json:"cache_write_tokens"`
		}] `json:"input_tokens_details"`
		OutputDetails member[struct {
			Reasoning jsontext.Value `json:"reasoning_tokens"`
		}] `json:"output_tokens_details"`
	}] `json:"usage"`
}

type responsesItem struct {
	Type    member[string]                     `json:"type"`
	Status  member[string]                     `json:"status"`
	Content member[[]member[chatPart]]         `json:"content"`
	Summary member[[]member[responsesThought]] `json:"summary"`
	chatFunction
}

type responsesThought struct {
	Text member[string] `json:"text"`
}

func (responses) decode(body []byte) (reply, error) {
	res, err := parse[responsesReply](body)
	if err != nil {
		return reply{}, err
	}
	r := reply{id: res.ID.value, model: res.Model.value}
	if err := r.responsesStatus(&res); err != nil {
		return reply{}, err
	}
	if !res.Output.ok {
		return reply{}, unanswered(body, "output", res.Output.kind)
	}
	var answer, refusal strings.Builder
	given := false
	for i := range res.Output.value {
		place, item := fmt.Sprintf("output[%d]", i), &res.Output.value[i]
		switch kind := item.value.Type.value; {
		case kind == "message":
			if !item.value.Content.ok {
				return reply{}, missing(place+".content", item.value.Content.kind)
			}
			if s := item.value.Status.value; s != "" && s != "completed" && res.Status.value != "incomplete" {
				return reply{}, noAnswer(fmt.Sprintf("%s.status is %q", place, oneLine(s)))
			}
			said, declined, came, err := r.chatParts(place+".content", item.value.Content.value)
			if err != nil {
				return reply{}, err
			}
			answer.WriteString(said)
			refusal.WriteString(declined)
			given = given || came
		case kind == "reasoning":
			for _, s := range item.value.Summary.value {
				if s.value.Text.value != "" {
					r.thinking = append(r.thinking, s.value.Text.value)
				}
			}
		case kind == "function_call", kind == "custom_tool_call":
			if err := r.chatCall(place, &member[chatFunction]{value: item.value.chatFunction}); err != nil {
				return reply{}, err
			}
		case strings.HasSuffix(kind, "_call"), strings.HasSuffix(kind, "_call_output"), strings.HasPrefix(kind, "mcp_"),
			kind == "compaction": // what the provider's own tools did
		default:
			return reply{}, unknownPart(place, item.kind, &item.value.Type)
		}
	}
	r.text = cmp.Or(answer.String(), refusal.String())
	if refusal.Len() > 0 && r.finish == plumb.FinishStop {
		r.finish, r.word = plumb.FinishRefused, "refusal"
	}
	r.responsesUsage(&res)
	return r, r.complete("the text in output", given, 0)
}

// responsesStatus reads how a response ended.
func (r *reply) responsesStatus(res *responsesReply) error {
	status, err := endedBy("status", &res.Status)
	if err != nil {
		return err
	}
	reason := &res.Incomplete.value.Reason
	switch {
	case res.Incomplete.wrong():
		return missing("incomplete_details", res.Incomplete.kind)
	case reason.wrong():
		return missing("incomplete_details.reason", reason.kind)
	}
	r.word = cmp.Or(reason.value, status)
	switch {
	case status != "" && status != "completed" && status != "incomplete":
		return noAnswer(fmt.Sprintf("status is %q", oneLine(status)))
	case reason.value == "max_output_tokens":
		r.finish = plumb.FinishTruncated
	case reason.value == "content_filter":
		r.finish = plumb.FinishRefused
	case reason.value != "" || status == "incomplete":
		return noAnswer(fmt.Sprintf("it is incomplete, and incomplete_details.reason is %q", oneLine(reason.value)))
	default:
		r.finish = plumb.FinishStop
	}
	return nil
}

// responsesUsage reads the usage of a response, and the parameters that it reports.
func (r *reply) responsesUsage(res *responsesReply) {
	r.checkUsage("usage", res.Usage.kind)
	u := &res.Usage.value
	in, out := &u.Details.value, &u.OutputDetails.value
	r.usage = plumb.Usage{
		InputTokens:      r.count("input_tokens", u.Input),
		OutputTokens:     r.count("output_tokens", u.Output),
		CacheTokens:      r.count("cached_tokens", in.Cached),
		CacheWriteTokens: r.count("cache_write_tokens", in.Written),
		ReasoningTokens:  r.count("reasoning_tokens", out.Reasoning),
	}
	r.effective = plumb.Parameters{
		Temperature: number(res.Temperature), TopP: number(res.TopP),
		MaxOutputTokens: r.count("max_output_tokens", res.MaxOutputTokens),
	}
	if effort := res.Reasoning.value.Effort.value; effort != "" {
		r.effective.ReasoningEffort = &effort
	}
}
