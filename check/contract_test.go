package check_test

import (
	"encoding/json"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/plumbtest"
)

// TestContract holds one check of each kind that asks no model to what assertions owe.
func TestContract(t *testing.T) {
	for _, test := range []struct{ name, spec, pass, fail string }{
		{"exact_match", `{"type":"exact_match"}`, "ready", "not yet"},
		{"contains", `{"type":"contains","case_sensitive":false}`, "I am READY.", "not yet"},
		{"contains_any", `{"type":"contains_any","ideal":["x1","ready"]}`, "ready", "not yet"},
		{"not", `{"type":"contains","not":true}`, "not yet", "ready"},
		{"is_json", `{"type":"is_json"}`, "```json\n{}\n```", "{"},
		{"regex", `{"type":"regex","pattern":"^[a-z]+$"}`, "ready", "READY"},
		{"starts_with", `{"type":"starts_with"}`, "ready now", "now ready"},
		{"json_schema", `{"type":"json_schema","schema":{"type":"object"}}`, "{}", "[]"},
		{"json_path", `{"type":"json_path","path":"$.a","equals":1}`, `{"a":1}`, `{"a":2}`},
		{"numeric", `{"type":"numeric","value":3}`, "it is 3", "it is 4"},
		{"any_of", `{"type":"any_of","assertions":[{"type":"is_json"},{"type":"contains"}]}`, "ready", "not yet"},
		{"all_of", `{"type":"all_of","assertions":[{"type":"starts_with"},{"type":"contains"}]}`, "ready", "not ready"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, problems := check.Parse(json.RawMessage(test.spec), check.Ideal{Values: []string{"ready"}, Set: true})
			if c == nil {
				t.Fatal(problems)
			}
			evidence := func(output string) plumb.Evidence {
				return plumb.Evidence{Case: &plumb.Case{ID: "a"}, Report: &plumb.SessionReport{FinalOutput: output}}
			}
			plumbtest.TestAssertion(t, c, evidence(test.pass), evidence(test.fail))
		})
	}
}
