package agent

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// TestSteps counts as the vectors say: null where the limit is not exceeded yet.
func TestSteps(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		MaxSteps []struct {
			AgentType                string
			MaxSteps                 int
			Lines                    []json.RawMessage
			ObservedStepsWhenTripped []*int
		}
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors.MaxSteps) == 0 {
		t.Fatal(len(vectors.MaxSteps), err)
	}
	for _, v := range vectors.MaxSteps {
		s := transcript.NewSteps(&specOf(t, v.AgentType).Format)
		for i, line := range v.Lines {
			var rec transcript.Fields
			rec.Of(gjson.ParseBytes(line))
			s.Count(&rec)
			want := v.ObservedStepsWhenTripped[i]
			if want == nil && s.N > v.MaxSteps || want != nil && s.N != *want {
				t.Errorf("%s: %d steps after %s", v.AgentType, s.N, line)
			}
		}
	}
}

func TestStepsOfOthers(t *testing.T) {
	for agent, lines := range map[string]string{
		"codex": `{"type":"item.completed","item":{"type":"agent_message"}}
			{"type":"item.completed","item":{"type":"agent_message","id":"a"}}
			{"type":"item.completed","item":{"type":"agent_message","id":"a"}}
			{"type":"item.completed","item":{"type":"reasoning","id":"b"}}
			{"type":"item.completed","item":{"type":"agent_message","id":"c"}}`,
		"opencode": `{"type":"step_start"}
			{"type":"step_finish"}
			{"type":"step_finish"}
			{"type":"text"}
			{"type":"step_finish"}`,
		"gemini": `{"type":"message","role":"user"}
			{"type":"message","role":"assistant","delta":true}
			{"type":"message","role":"assistant","delta":true}
			{"type":"tool_use"}
			{"type":"tool_result"}
			{"type":"message","role":"assistant","delta":true}
			{"type":"result"}`,
		"qwen": `{"type":"assistant","message":{"id":"a"}}
			{"type":"assistant","message":{"id":"b"}}
			{"type":"assistant","message":{}}
			{"type":"assistant","message":{"id":"c"}}`,
	} {
		s := transcript.NewSteps(&specOf(t, agent).Format)
		for line := range strings.Lines(lines) {
			var rec transcript.Fields
			rec.Of(gjson.Parse(strings.TrimSpace(line)))
			s.Count(&rec)
		}
		if s.N != 3 {
			t.Errorf("%s: %d steps, want 3", agent, s.N)
		}
	}
}
