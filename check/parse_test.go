package check

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseProblems(t *testing.T) {
	text := Ideal{Values: []string{"a"}, Set: true}
	list := Ideal{Values: []string{"a", "b"}, List: true, Set: true}
	none, empty := Ideal{}, Ideal{List: true, Set: true}
	tests := []struct {
		spec  string
		ideal Ideal
		want  string // one line a problem: pointer[ key][ warning]: message
	}{
		{`{"type":"contain"}`, text, `/type: unknown assertion type "contain" (did you mean "contains"?)`},
		{`{"type":"CONTAINS"}`, text, `/type: unknown assertion type "CONTAINS" (did you mean "contains"?)`},
		{`{"type":7}`, text, `/type: type must be a string, not 7`},
		{`{}`, text, `: an assertion needs "type"`},
		{`[]`, text, `: an assertion must be an object`},
		{`null`, text, `: an assertion must be an object`},
		{`{"type":`, text, `: invalid JSON`},
		{`{"type":"is_json"} x`, text, `: invalid JSON`},
		{``, text, `: invalid JSON`},
		{
			`{"type":"contains","case_sensitiv":true}`,
			text,
			`/case_sensitiv key: unknown key "case_sensitiv" (did you mean "case_sensitive"?)`,
		},
		{`{"typ":"contains"}`, text, ": an assertion needs \"type\"\n/typ key: unknown key \"typ\" (did you mean \"type\"?)"},
		{`{"type":"contains","a/b~":1}`, text, `/a~1b~0 key: unknown key "a/b~"`},
		{`{"type":"contains","pattern":"x"}`, text, `/pattern key: contains does not take "pattern"`},
		{`{"type":"contains","case_sensitive":null}`, text, `/case_sensitive: case_sensitive must be true or false, not `},
		{`{"type":"contains","case_sensitive":2}`, text, `/case_sensitive: case_sensitive must be true or false, not `},
		{`{"type":"contains","case_sensitive":"maybe"}`, text, `/case_sensitive: case_sensitive must be true or false, not `},
		{`{"type":"is_json","case_sensitive":"maybe"}`, text, `/case_sensitive: case_sensitive must be true or false, not `},
		{`{"type":"contains","not":1}`, text, `/not: not must be true or false, not 1`},
		{`{"type":"contains","weight":0}`, text, `/weight: weight must be a number greater than 0, not 0`},
		{`{"type":"contains","weight":1e999}`, text, `/weight: weight must be a number greater than 0, not 1e999`},
		{`{"type":"contains","name":" "}`, text, `/name: name must not be empty`},
		{`{"type":"contains","name":1}`, text, `/name: name must be a string, not 1`},
		{
			`{"type":"contains","normalize":["typo"]}`,
			text,
			`/normalize: normalize must be a list of typography, whitespace, unicode, not ["typo"]`,
		},
		{
			`{"type":"contains","normalize":["whitspace"]}`,
			text,
			`/normalize: normalize must be a list of typography, whitespace, unicode, not ["whitspace"] (did you mean "whitespace"?)`,
		},
		{
			`{"type":"contains","normalize":1}`,
			text,
			`/normalize: normalize must be a list of typography, whitespace, unicode, not 1`,
		},
		{`{"type":"contains","threshold":0.5}`, text, `/threshold key warning: contains ignores "threshold"`},
		{`{"type":"contains","judge_prompt":"?"}`, text, `/judge_prompt key warning: contains ignores "judge_prompt"`},
		{`{"type":"contains","threshold":null,"judge_prompt":null}`, text, ``},
		{`{"type":"contains"}`, none, `: contains needs an "ideal"`},
		{`{"type":"exact_match"}`, none, `: exact_match needs an "ideal"`},
		{`{"type":"contains_any"}`, none, `: contains_any needs an "ideal"`},
		{`{"type":"starts_with"}`, none, `: starts_with needs an "ideal"`},
		{`{"type":"semantic_similarity"}`, none, `: semantic_similarity needs an "ideal"`},
		{`{"type":"numeric"}`, none, `: numeric needs a "value" or an "ideal"`},
		{`{"type":"exact_match"}`, empty, `: the ideal is an empty list`},
		{`{"type":"contains"}`, empty, `: the ideal is an empty list`},
		{`{"type":"starts_with"}`, empty, `: the ideal is an empty list`},
		{`{"type":"numeric"}`, empty, `: the ideal is an empty list`},
		{`{"type":"semantic_similarity"}`, empty, `: the ideal is an empty list`},
		{`{"type":"contains_any"}`, empty, ` warning: the ideal is an empty list, so this check always fails`},
		{`{"type":"contains","ideal":[1]}`, text, `/ideal: ideal must be a string or a list of strings, not [1]`},
		{`{"type":"contains","ideal":1}`, text, `/ideal: ideal must be a string or a list of strings, not 1`},
		{
			`{"type":"exact_match"}`,
			list,
			` warning: exact_match uses only the first of the 2 ideals; contains_any looks for each of them`,
		},
		{
			`{"type":"contains","ideal":["x","y","z"]}`,
			text,
			`/ideal warning: contains uses only the first of the 3 ideals; contains_any looks for each of them`,
		},
		{`{"type":"contains_any"}`, list, ``},
		{
			`{"type":"contains","ideal":""}`,
			text,
			`/ideal warning: an ideal is empty: every output contains the empty text, so this check never fails`,
		},
		{
			`{"type":"contains_any","ideal":["a",""]}`,
			text,
			`/ideal warning: an ideal is empty: every output contains the empty text, so this check never fails`,
		},
		{
			`{"type":"contains","ideal":"\u200b","normalize":"typography"}`,
			text,
			`/ideal warning: an ideal is empty: every output contains the empty text, so this check never fails`,
		},
		{`{"type":"starts_with","ideal":""}`, text, `/ideal: an ideal is empty: every output starts with the empty text`},
		{
			`{"type":"semantic_similarity","ideal":" "}`,
			text,
			`/ideal: an ideal is empty, so there is nothing to compare with`,
		},
		{`{"type":"llm_judge"}`, text, `: llm_judge needs "judge_prompt"`},
		{`{"type":"llm_judge","judge_prompt":null}`, text, `/judge_prompt: judge_prompt must be a string, not null`},
		{`{"type":"llm_judge","judge_prompt":" "}`, text, `/judge_prompt: judge_prompt must not be empty`},
		{`{"type":"llm_judge","judge_prompt":1}`, text, `/judge_prompt: judge_prompt must be a string, not 1`},
		{
			`{"type":"llm_judge","judge_prompt":"?","votes":2}`,
			text,
			`/votes: votes must be an odd number, so that there is a majority`,
		},
		{
			`{"type":"llm_judge","judge_prompt":"?","votes":1.5}`,
			text,
			`/votes: votes must be a whole number from 1 to 99, not 1.5`,
		},
		{`{"type":"llm_judge","judge_prompt":"?","votes":3}`, none, ``},
		{`{"type":"semantic_similarity","threshold":1.5}`, text, `/threshold: threshold must be a number from 0 to 1, not `},
		{`{"type":"semantic_similarity","threshold":-0.1}`, text, `/threshold: threshold must be a number from 0 to 1, not `},
		{
			`{"type":"semantic_similarity","threshold":"NaN"}`,
			text,
			`/threshold: threshold must be a number from 0 to 1, not `,
		},
		{
			`{"type":"semantic_similarity","threshold":"inf"}`,
			text,
			`/threshold: threshold must be a number from 0 to 1, not `,
		},
		{
			`{"type":"semantic_similarity","threshold":1e999}`,
			text,
			`/threshold: threshold must be a number from 0 to 1, not `,
		},
		{`{"type":"semantic_similarity","threshold":[]}`, text, `/threshold: threshold must be a number from 0 to 1, not `},
		{`{"type":"semantic_similarity","threshold":" 0_0.8_5 "}`, text, ``},
		{`{"type":"semantic_similarity","threshold":true}`, text, ``},
		{`{"type":"semantic_similarity","threshold":null}`, text, ``},
		{`{"type":"regex"}`, text, `: regex needs "pattern"`},
		{`{"type":"regex","pattern":"("}`, text, "/pattern: pattern \"(\": error parsing regexp: missing closing ): `(`"},
		{
			`{"type":"regex","pattern":"a)(b","case_sensitive":false}`,
			text,
			"/pattern: pattern \"a)(b\": error parsing regexp: unexpected )",
		},
		{
			`{"type":"regex","pattern":"(?=a)"}`,
			text,
			"/pattern: pattern \"(?=a)\": error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		},
		{`{"type":"json_schema"}`, text, `: json_schema needs "schema"`},
		{`{"type":"json_schema","schema":"x"}`, text, `/schema: schema must be a JSON Schema, which is an object, not "x"`},
		{`{"type":"json_schema","schema":{"type":"objekt"}}`, text, `/schema: schema: /type: `},
		{`{"type":"json_schema","schema":{"$ref":"other.json"}}`, text, `/schema: schema: `},
		{`{"type":"json_schema","schema":{"$ref":"file:///etc/passwd"}}`, text, `/schema: schema: `},
		{`{"type":"json_schema","schema":{"pattern":"("}}`, text, `/schema: schema: `},
		{`{"type":"json_path"}`, text, `: json_path needs "path"`},
		{`{"type":"json_path","path":""}`, text, `/path: path must not be empty`},
		{`{"type":"json_path","path":"$["}`, text, `/path: path "$[": `},
		{`{"type":"json_path","path":"$.a","exists":false,"equals":1}`, none, `/exists: "exists": false contradicts`},
		{
			`{"type":"json_path","path":"$.a","contains":"x","equals":1}`,
			none,
			`/contains: give only one of "equals" and "contains"`,
		},
		{`{"type":"json_path","path":"$.a","contains":""}`, none, `/contains: contains must not be empty`},
		{`{"type":"json_path","path":"$.a"}`, none, ``},
		{`{"type":"numeric","value":"1"}`, text, `/value: value must be a number, not "1"`},
		{`{"type":"numeric"}`, text, `: the ideal "a" has no number`},
		{`{"type":"numeric","value":1,"tolerance":-1}`, text, `/tolerance: tolerance must be a number of at least 0, not -1`},
		{`{"type":"numeric","value":1e300,"tolerance":1e-300}`, text, ``},
		{`{"type":"max_tokens"}`, text, `: max_tokens needs "max"`},
		{`{"type":"max_tokens","max":0}`, text, `/max: max must be a whole number greater than 0, not 0`},
		{`{"type":"max_tokens","max":1.5}`, text, `/max: max must be a whole number greater than 0, not 1.5`},
		{`{"type":"max_latency_ms","max":"5"}`, text, `/max: max must be a whole number greater than 0, not "5"`},
		{
			`{"type":"max_latency_ms","max":5,"value":5}`,
			text,
			`/value: "value" is another name for "max": give only one of them`,
		},
		{`{"type":"all_of"}`, text, `: all_of needs "assertions"`},
		{`{"type":"all_of","assertions":[]}`, text, `/assertions: assertions must not be empty`},
		{`{"type":"all_of","assertions":{}}`, text, `/assertions: assertions must be a list of assertions, not an object`},
		{
			`{"type":"any_of","assertions":[{"type":"is_json"},{"type":"regex","pattern":"("},{"type":"all_of","assertions":[{"type":"x"}]}]}`,
			text,
			"/assertions/1/pattern: pattern \"(\": \n/assertions/2/assertions/0/type: unknown assertion type \"x\" (plumb help checks lists all types)",
		},
		{
			`{"type":"exact_match","foo":1,"weight":"x","ideal":[]}`,
			none,
			"/foo key: unknown key \"foo\"\n/weight: weight must be a number greater than 0, not \"x\"\n/ideal: the ideal is an empty list",
		},
	}
	for _, test := range tests {
		t.Run(test.spec, func(t *testing.T) {
			c, problems := Parse(json.RawMessage(test.spec), test.ideal)
			fatal := false
			var lines []string
			for _, p := range problems {
				line := p.Pointer
				if p.Key {
					line += " key"
				}
				if p.Warning {
					line += " warning"
				}
				fatal = fatal || !p.Warning
				line += ": " + p.Message
				if p.Hint != "" {
					line += " (" + p.Hint + ")"
				}
				lines = append(lines, line)
			}
			if (c == nil) != fatal {
				t.Errorf("check %v, problems %v", c, lines)
			}
			var want []string
			if test.want != "" {
				want = strings.Split(test.want, "\n")
			}
			same := len(want) == len(lines)
			for i := range want {
				same = same && strings.HasPrefix(lines[i], want[i])
			}
			if !same {
				t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(lines, "\n"), test.want)
			}
		})
	}
}

func TestParseNesting(t *testing.T) {
	for _, n := range []int{3, 20, 3000} {
		spec := strings.Repeat(`{"type":"all_of","assertions":[`, n) + `{"type":"is_json"}` + strings.Repeat(`]}`, n)
		c, problems := Parse(json.RawMessage(spec), Ideal{})
		if (c != nil) != (n < maxNesting) || c == nil && len(problems) != 1 {
			t.Errorf("%d levels: %v, %d problems", n, c, len(problems))
		}
	}
}

func TestParseKeepsNothingOfItsInput(t *testing.T) {
	raw := []byte(`{"type":"json_path","path":"$.a","equals":"good","name":"n"}`)
	c, _ := Parse(raw, Ideal{})
	before := string(c.Canonical())
	for i := range raw {
		raw[i] = 'x'
	}
	if after := string(c.Canonical()); before != after {
		t.Errorf("%s, then %s", before, after)
	}
}

func TestIdeal(t *testing.T) {
	tests := []struct {
		text string
		want Ideal
		bad  bool
	}{
		{`null`, Ideal{}, false},
		{`"a\u00e9\ud83d"`, Ideal{Values: []string{"aé\uFFFD"}, Set: true}, false},
		{`["a","b"]`, Ideal{Values: []string{"a", "b"}, List: true, Set: true}, false},
		{`[]`, Ideal{Values: []string{}, List: true, Set: true}, false},
		{`["a",null]`, Ideal{}, true},
		{`1`, Ideal{}, true},
		{`{}`, Ideal{}, true},
	}
	for _, test := range tests {
		var got Ideal
		err := json.Unmarshal([]byte(test.text), &got)
		if (err != nil) != test.bad {
			t.Errorf("%s: error %v", test.text, err)
		}
		if err != nil {
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.text, diff)
		}
		again, err := json.Marshal(got)
		var back Ideal
		if err != nil || json.Unmarshal(again, &back) != nil || !cmp.Equal(got, back) {
			t.Errorf("%s became %s (%v)", test.text, again, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, kind := range Kinds() {
		f.Add(
			fmt.Sprintf(`{"type":%q,"pattern":"a","schema":{"type":"object"},"path":"$.a[?(@.b>1)]","value":1}`, kind.Name),
			`["a","1"]`,
			"{\"a\":[{\"b\":2}]}",
		)
	}
	f.Add(
		`{"type":"any_of","assertions":[{"type":"is_json","not":true},{"type":"numeric","tolerance":"1"}]}`,
		`"1,234.5"`,
		"1.234,5",
	)
	f.Add(
		`{"type":"json_path","path":"$..*","equals":{"a":[1.0]},"normalize":["unicode","whitespace"]}`,
		`null`,
		"```json\n{}```",
	)
	f.Add(`{"type":"json_schema","schema":{"$ref":"#/$defs/x","$defs":{"x":{"$ref":"#/$defs/x"}}}}`, `null`, "1")
	f.Fuzz(func(t *testing.T, spec, idealText, output string) {
		var ideal Ideal
		if json.Unmarshal([]byte(idealText), &ideal) != nil {
			ideal = Ideal{}
		}
		c, problems := Parse(json.RawMessage(spec), ideal)
		if c == nil {
			if len(problems) == 0 {
				t.Fatal("neither a check nor a problem")
			}
			return
		}
		canonical := c.Canonical()
		if !json.Valid(canonical) {
			t.Fatalf("canonical is no JSON: %q", canonical)
		}
		if judge, embedder := c.Needs(); judge || embedder {
			return
		}
		v := assertOn(t, c, output)
		if w := assertOn(t, c.Not(), output); (v.Error != nil) != (w.Error != nil) || v.Error == nil && v.Pass == w.Pass {
			t.Fatalf("negation: %+v and %+v", v, w)
		}
	})
}

// TestManual reads every one-line example of the manual.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../docs/assertions.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?m)^\{"type".*\}$`).FindAll(manual, -1)
	if len(examples) < 10 {
		t.Fatalf("only %d examples", len(examples))
	}
	for _, example := range examples {
		if c, problems := Parse(example, Ideal{}); c == nil || len(problems) > 0 {
			t.Errorf("%s: %v", example, problems)
		}
	}
}
