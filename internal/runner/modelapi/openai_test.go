package modelapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
)

// encodeWithSDK is a chat request as OpenAI's SDK writes it.
func encodeWithSDK(d chatDialect, a ask) ([]byte, error) {
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

func TestChatRequestIsTheSDKs(t *testing.T) {
	maybe := func(t *rapid.T, name string) bool { return rapid.Bool().Draw(t, name) }
	rapid.Check(t, func(t *rapid.T) {
		d := chatDialect{compatible: maybe(t, "compatible")}
		a := ask{model: rapid.StringN(1, 20, -1).Draw(t, "model"), otherCap: maybe(t, "otherCap")}
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			a.messages = append(a.messages, plumb.Message{
				Role: rapid.SampledFrom([]string{"system", "developer", "user", "assistant"}).Draw(t, "role"), Content: rapid.String().Draw(t, "content"),
			})
		}
		if maybe(t, "temperature") {
			a.parameters.Temperature = new(rapid.Float64Range(0, 2).Draw(t, "t"))
		}
		if maybe(t, "topP") {
			a.parameters.TopP = new(rapid.Float64Range(0, 1).Draw(t, "p"))
		}
		if maybe(t, "seed") {
			a.parameters.Seed = new(rapid.Int64().Draw(t, "s"))
		}
		if maybe(t, "cap") {
			a.parameters.MaxOutputTokens = new(rapid.Int64Range(1, 1<<40).Draw(t, "n"))
		}
		if maybe(t, "effort") {
			a.parameters.ReasoningEffort = new(rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "e"))
		}
		got, err := d.encode(a)
		if err != nil {
			t.Fatal(err)
		}
		want, err := encodeWithSDK(d, a)
		if err != nil {
			t.Fatal(err)
		}
		var g, w any
		if err := json.Unmarshal(got, &g); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &w); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, g); diff != "" {
			t.Fatalf("(-SDK +plumb):\n%s", diff)
		}
	})
}
