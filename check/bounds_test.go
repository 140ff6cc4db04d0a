package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
)

// TestF26_EachCheckEnds: a check of each kind ends soon, with a verdict or an error, whatever a model wrote. What is not
// bounded is linear, so that 512 KiB show what 10 MB take.
func TestF26_EachCheckEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	const size, limit = 512 << 10, 15 * time.Second
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	var unique strings.Builder
	for i := 0; unique.Len() < size; i++ {
		fmt.Fprintf(&unique, "w%d ", i)
	}
	outputs := map[string]string{
		"letters": fill("a"), "a JSON text": `"` + fill("a") + `"`, "words": fill("a b c d "), "distinct words": unique.String(), "spaces": fill(" "),
		"numbers": fill("1,2 -3.5e7 "), "digits": fill("1"), "quotes": fill("' \"`"), "full stops": fill("a.b. ... "),
		"brackets": fill("["), "objects": fill(`{"a":`), "list": "[" + fill("1,") + "1]", "escapes": `"` + fill(`\`),
		"fences": fill("```json\n{}\n"), "pairs": fill("{}"), "open tags": fill("<a>"), "entities": fill("&lt;"),
		"attributes": "<a " + fill(`b="c" `) + "/>", "not UTF-8": fill("\xff"), "marks": fill("e\u0301\u0323"),
	}
	tests := kindTests()
	specs := map[string]string{
		"regex of F26":      `{"type":"regex","pattern":"(a?){1000}zz$"}`,
		"regex, normalized": `{"type":"regex","pattern":"(\\w+\\s*)+$","normalize":["unicode","typography","whitespace"]}`,
		"tool of F26":       `{"type":"tool_returned","pattern":"(a?){1000}zz$"}`,
		"json_path, all":    `{"type":"json_path","path":"$..a"}`,
		"json_schema, refs": `{"type":"json_schema","schema":{"$defs":{"n":{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#/$defs/n"}}]}},` +
			`"$ref":"#/$defs/n"}}`,
		"json_schema, unique": `{"type":"json_schema","schema":{"uniqueItems":true}}`,
		"json_schema, regex":  `{"type":"json_schema","schema":{"pattern":"(a?){1000}zz$"}}`,
		"levenshtein, folded": `{"type":"levenshtein","threshold":0.5,"case_sensitive":false}`,
	}
	for _, kind := range check.Kinds() {
		specs[kind.Name] = tests[kind.Name].spec
	}
	for name, spec := range specs {
		c := parse(t, spec)
		for what, output := range outputs {
			report := plumb.SessionReport{FinalOutput: output, Events: []plumb.SessionEvent{
				{Type: plumb.SessionToolResult, Tool: "Bash", Output: output},
				{Type: plumb.SessionCommand, Command: output[:min(len(output), 1<<20)]},
			}}
			began := time.Now()
			verdicts, err := c.Assert(t.Context(), evidence(t, report))
			if took := time.Since(began); took > limit {
				t.Errorf("%s on %s: %v", name, what, took)
			}
			if err != nil || len(verdicts) != 1 {
				t.Errorf("%s on %s: %v, %v", name, what, verdicts, err)
			}
		}
	}
}
