package check_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/encode"
	"github.com/plumb-eval/plumb/internal/golden"
)

// outputs has checks of outputs, each with the outputs that it judges.
var outputs = []struct {
	specs, outputs []string
}{
	{
		[]string{
			`{"type":"exact_match"}`, `{"type":"exact_match","ideal":["a","b","c","d"],"not":true}`,
			`{"type":"contains_all","ideal":["a1","b1","c1","d1","e1"]}`,
			`{"type":"contains_all","ideal":["a1","b1","c1","d1","e1","f1"]}`,
			`{"type":"contains_any","ideal":["a1","b1"],"case_sensitive":false,"not":true}`,
			`{"type":"equals_any","ideal":["a1","ready"]}`,
			`{"type":"starts_with","not":true}`, `{"type":"ends_with","ideal":"dy"}`,
			`{"type":"contains","normalize":"typography","ideal":"it's"}`,
			`{"type":"regex","pattern":"(a)1|re"}`, `{"type":"regex","pattern":"^x","not":true}`, `{"type":"refusal"}`,
			`{"type":"levenshtein","max":1}`, `{"type":"levenshtein","max":0,"ideal":["read","ready!"]}`,
			`{"type":"levenshtein","threshold":0.8,"ideal":["read","reads"]}`, `{"type":"levenshtein","threshold":1}`,
		},
		[]string{
			"", "ready", "reads", "A1 it\u2019s x a1b1", "a1 b1 c1 d1 e1 f1", "I'm sorry, I can't help with that.",
			"r\x00\x1b\"" + strings.Repeat("y", 300),
		},
	},
	{
		[]string{
			`{"type":"word_count","min":2}`, `{"type":"word_count","max":1}`, `{"type":"word_count","min":1,"max":2}`,
			`{"type":"word_count","min":2,"max":2}`,
			`{"type":"word_count","min":1,"not":true}`, `{"type":"word_count","max":1,"not":true}`,
		},
		[]string{"", "one", "one two", "one two three"},
	},
	{
		[]string{
			`{"type":"numeric","value":3}`, `{"type":"numeric","value":1e6,"tolerance":1}`,
			`{"type":"numeric","value":100,"tolerance_percent":5}`,
			`{"type":"numeric","value":-2.5,"not":true}`,
		},
		[]string{
			"", "no", "it is 3.", "3,0", "1,000,000", "1.000.001", "999999", "999998.99", "95", "94.99", "105",
			"105.01", "-2.5", "\u22122.5", "2,5", "1e9999",
			"3 of 4 = 75%", "$3", "1/2", "0x3", "a3b", "3rd", "٣", "1e1001", "1e1000", "e5", "1 000 000", "12,34",
		},
	},
	{
		[]string{
			`{"type":"is_json"}`, `{"type":"is_json","not":true}`,
			`{"type":"json_path","path":"$.a","ideal":["2","x"]}`,
			`{"type":"json_path","path":"$.a","exists":true}`, `{"type":"json_path","path":"$.a","exists":false}`,
			`{"type":"json_path","path":"$..b[0]","equals":1}`,
			`{"type":"json_path","path":"$.a[1:]","equals":[1],"not":true}`,
			`{"type":"json_schema","schema":{"type":"object","required":["a"],"properties":{"a":{"minimum":2}}}}`,
			`{"type":"equals_json","equals":{"a":2}}`, `{"type":"equals_json","equals":[1e15,1e-6,0,0.1]}`,
		},
		[]string{
			"", "x", "{", `{"a":2}`, `{"a":"x"}`, `{"a":[1,2],"b":[1]}`, `{"b":[2],"a":{"b":[1]}}`,
			"```json\n{\"a\": 1}\n```", "text\n~~~\n[1]\n~~~\nmore", "````\n{}\n```\n````",
			`{"a":2} x`, `[1000000000000000,0.000001,0,0.1]`, `{"a":null}`, "```\n{\"a\":2}", "`{\"a\":2}`",
			`{"a":2,"a":3}`,
		},
	},
	{
		[]string{`{"type":"is_xml"}`, `{"type":"is_xml","not":true}`},
		[]string{
			"", "x", "<a/>", "<a>", "<a><b>t</b></a>", "text <a/> text", "```xml\n<a/>\n```", "<a></b>", "<a/><b/>",
			"<?xml version=\"1.0\"?><a/>",
		},
	},
	{
		[]string{
			`{"type":"rouge"}`, `{"type":"rouge","threshold":0.5}`, `{"type":"bleu","threshold":0.5}`,
			`{"type":"gleu","threshold":0.5}`,
			`{"type":"rouge","threshold":0.4,"not":true}`,
			`{"type":"bleu","ideal":["the cat sat on the mat","a cat"]}`,
			`{"type":"gleu","ideal":["the cat sat on the mat","a cat"]}`,
			`{"type":"rouge","ideal":["the cat sat on the mat","a cat"]}`,
			`{"type":"semantic_similarity","threshold":0.9}`,
			`{"type":"semantic_similarity","threshold":0.5,"not":true}`,
		},
		[]string{
			"", "ready", "ready ready", "the cat sat on a mat", "the the the the", "a cat",
			"the cat, sat; on the mat!",
		},
	},
	{
		[]string{
			`{"type":"all_of","assertions":[{"type":"contains","ideal":"a"},{"type":"contains","ideal":"b"},{"type":"is_json","name":"json"}]}`,
			`{"type":"any_of","assertions":[{"type":"contains","ideal":"a"},{"type":"contains","ideal":"b"},{"type":"is_json","name":"json"}]}`,
			`{"type":"any_of","not":true,"assertions":[{"type":"contains","ideal":"a"},{"type":"all_of","assertions":[{"type":"contains","ideal":"b"}]}]}`,
			`{"type":"all_of","assertions":[{"type":"contains","ideal":"a"},{"type":"llm_judge","judge_prompt":"Is it ready?"}]}`,
			`{"type":"llm_judge","judge_prompt":"Is it ready?","not":true}`, `{"type":"command","run":["check.py"]}`,
			`{"type":"js","expr":"output"}`,
		},
		[]string{"", "a", "b", "ab", `"ab"`, "ready", "1"},
	},
}

// seen are checks of what the agent of agentSession did.
var seen = []string{
	`{"type":"ran_command","contains":"pnpm"}`, `{"type":"ran_command","contains":"pnpm","count":2}`,
	`{"type":"ran_command","contains":"pnpm","count":1}`,
	`{"type":"ran_command","contains":"pnpm","at_most":1}`, `{"type":"ran_command","contains":"pnpm","at_most":2}`,
	`{"type":"ran_command","contains":"pnpm","at_least":2}`,
	`{"type":"ran_command","contains":"pnpm","at_least":3}`,
	`{"type":"ran_command","executable":"pnpm","exit_code":0}`,
	`{"type":"ran_command","executable":"pnpm","exit_code":2}`,
	`{"type":"ran_command","contains":"pnpm","before":{"type":"ran_command","executable":"git"}}`,
	`{"type":"ran_command","executable":"git","before":{"type":"ran_command","executable":"pnpm"}}`,
	`{"type":"ran_command","contains":"pnpm","only":true}`,
	`{"type":"ran_command","pattern":"^(git|pnpm) ","only":true}`,
	`{"type":"ran_command","executable":"git","equals":"git push origin main"}`,
	`{"type":"ran_command","executable":"make","not":true}`, `{"type":"ran_command","executable":"pnpm","not":true}`,
	`{"type":"read_file","path":"docs/guide.md"}`, `{"type":"read_file","path":"docs/*"}`,
	`{"type":"read_file","path":"**/guide.md"}`, `{"type":"read_file","path":"*.md"}`,
	`{"type":"read_file","path":"docs/guide.md","before":{"type":"ran_command","executable":"pnpm"}}`,
	`{"type":"called_tool","tool":"Bash","args":{"opts":{"n":1}}}`,
	`{"type":"called_tool","tool":"Bash","args":{"opts":{"n":2}}}`, `{"type":"called_tool","tool":"Edit"}`,
	`{"type":"tool_returned","contains":"failed"}`, `{"type":"tool_returned","tool":"Bash","contains":"passed"}`,
	`{"type":"used_skill","skill":"demo"}`,
	`{"type":"used_skill","pattern":"^d"}`, `{"type":"used_skill","skill":"other","not":true}`,
	`{"type":"changed_file","path":"out.txt"}`, `{"type":"changed_file","path":"**/*.json","change":"update"}`,
	`{"type":"changed_file","path":"**/*.json","change":"add"}`,
	`{"type":"changed_file","path":"*.txt","only":true}`, `{"type":"changed_file","path":"**","only":true}`,
	`{"type":"changed_file","path":"sub/**","count":1}`,
	`{"type":"was_denied","tool":"Write"}`, `{"type":"was_denied","not":true}`, `{"type":"was_denied","tool":"Bash"}`,
	`{"type":"file_exists","path":"out.txt"}`, `{"type":"file_exists","path":"sub/**/*.json"}`,
	`{"type":"file_exists","path":"no.txt"}`, `{"type":"file_exists","path":"leak"}`,
	`{"type":"file_exists","path":"out.txt","not":true}`, `{"type":"file_exists","path":".git/config"}`,
	`{"type":"file_contains","path":"out.txt","ideal":"3 files"}`,
	`{"type":"file_contains","path":"*.txt","ideal":"4 files"}`,
	`{"type":"file_contains","path":"**","pattern":"ok.:true"}`,
	`{"type":"file_contains","path":"no.txt","ideal":"x"}`, `{"type":"file_contains","path":"leak","ideal":"root"}`,
	`{"type":"file_contains","path":"out.txt","ideal":"3 files","not":true}`,
	`{"type":"leaks_no_secret","in":["output","commands","files"]}`,
	`{"type":"leaks_no_secret","in":["commands"],"not":true}`,
	`{"type":"max_steps","max":3}`, `{"type":"max_steps","max":2}`, `{"type":"max_tokens","max":110}`,
	`{"type":"max_tokens","max":109}`, `{"type":"max_input_tokens","max":3600}`,
	`{"type":"max_input_tokens","max":3599}`, `{"type":"max_total_tokens","max":3710}`,
	`{"type":"max_total_tokens","max":3709}`, `{"type":"max_duration_ms","max":1500}`,
	`{"type":"max_duration_ms","max":1499}`, `{"type":"max_cost_usd","max":1}`, `{"type":"max_latency_ms","max":1}`,
	`{"type":"max_steps","max":3,"not":true}`,
	`{"type":"finish_reason","reasons":["stop","truncated"]}`, `{"type":"finish_reason","reasons":["stop"],"not":true}`,
}

// TestVerdicts compares whole verdicts, with their words and details, with a file.
func TestVerdicts(t *testing.T) {
	var b strings.Builder
	last := ""
	judge := func(spec string, about string, ev plumb.Evidence) {
		t.Helper()
		c := parse(t, spec)
		verdicts, err := c.Assert(t.Context(), ev)
		if err != nil || len(verdicts) != 1 {
			t.Fatalf("%s: %v, error %v", spec, verdicts, err)
		}
		v := verdicts[0]
		v.Name = ""
		line, err := new(encode.Encoder).Append(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("\t%s\n\t%s\n", about, line)
		if spec != last {
			text = spec + "\n" + text
		}
		last = spec
		b.WriteString(strings.NewReplacer(ev.Workspace, "WORKSPACE").Replace(text))
	}
	for _, group := range outputs {
		for _, spec := range group.specs {
			for _, output := range group.outputs {
				judge(spec, fmt.Sprintf("%.80q", output), evidence(t, plumb.SessionReport{FinalOutput: output}))
			}
		}
	}
	tests := kindTests()
	for _, kind := range slices.Sorted(maps.Keys(tests)) {
		judge(tests[kind].spec, "pass", evidence(t, tests[kind].pass))
		judge(tests[kind].spec, "fail", evidence(t, tests[kind].fail))
	}
	session := agentSession(t)
	session.Secrets = func(string) []string { return nil }
	for _, spec := range seen {
		judge(spec, "agent", session)
	}
	c := chance{rand.New(rand.NewPCG(1, 2))}
	for range 200 {
		spec, err := json.Marshal(c.spec())
		if err != nil {
			t.Fatal(err)
		}
		report := c.report("/w")
		ev := evidence(t, *report)
		ev.Workspace = "/w"
		judge(string(spec), fmt.Sprintf("%.80q %d events", report.FinalOutput, len(report.Events)), ev)
	}
	golden.Equal(t, "testdata/verdicts.txt", b.String())
}
