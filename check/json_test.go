package check

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

func TestIsJSON(t *testing.T) {
	const pass, fail, broken = plumb.OutcomePass, plumb.OutcomeFail, plumb.OutcomeError
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		name, output string
		want         plumb.Outcome
		kind         string
	}{
		{"string", `"x"`, pass, "str"},
		{"float", `-1.5e3`, pass, "float"},
		{"big exponent", `1e999`, pass, "float"},
		{"list", " [1, 2]\n", pass, "list"},
		{"separators around", "\x1c{}\x1f", pass, "dict"},
		{"nan within", `{"a":NaN}`, fail, ""},
		{"leading zero", `01`, fail, ""},
		{"trailing comma", `[1,]`, fail, ""},
		{"comment", `{} // x`, fail, ""},
		{"single quotes", `{'a':1}`, fail, ""},
		{"prose after", `{"a":1} is it`, fail, ""},
		{"prose before", `It is {"a":1}`, fail, ""},
		{"two values", "{}\n{}", fail, ""},
		{"control character", "\"a\tb\"", fail, ""},
		{"blank", " \n", fail, ""},
		{"fence", "```json\n{\"a\":1}\n```", pass, "dict"},
		{"fence, crlf", "```json\r\n{\"a\":1}\r\n```\r\n", pass, "dict"},
		{"fence, cr", "```json\r{\"a\":1}\r```", pass, "dict"},
		{"one line, language", "```json {\"a\":1}```", pass, "dict"},
		{"one line, glued language", "```json{\"a\":1}```", pass, "dict"},
		{"one line", "```{}```", pass, "dict"},
		{"one line, scalar", "```42```", pass, "int"},
		{"one line, null", "``` null ```", pass, "NoneType"},
		{"one line, unclosed", "```{}", pass, "dict"},
		{"four backticks", "````json\n{\"a\":\"```\"}\n````", pass, "dict"},
		{"tildes", "~~~json\n[]\n~~~", pass, "list"},
		{"tildes, no language", "~~~\n[]\n~~~~", pass, "list"},
		{"upper case language", "```JSON\n{}\n```", pass, "dict"},
		{"other language", "```javascript\n{}\n```", pass, "dict"},
		{"info string", "```json title=\"a.json\"\n{}\n```", pass, "dict"},
		{"info string with JSON", "```{\"a\":1}\n[]\n```", pass, "list"},
		{"body on the fence line", "```json {\"a\":1}\n```", pass, "dict"},
		{"indented", "  ```json\n  {\"a\":1}\n  ```", pass, "dict"},
		{"never closed", "```json\n{\"a\":1}", pass, "dict"},
		{"only closed", "{\"a\":1}\n```", pass, "dict"},
		{"closed on the line of the body", "```json\n{\"a\":1}```", pass, "dict"},
		{"fence in a string", "```json\n\"```\"\n```", pass, "str"},
		{"fence lines in a string", "```json\n{\"md\": \"\\n```\\n~~~\\n\"}\n```", pass, "dict"},
		{"prose around", "Here it is:\n\n```json\n{\"a\":1}\n```\n\nHope this helps!", pass, "dict"},
		{"prose around a one-liner", "It is ```{\"a\":1}``` I think", pass, "dict"},
		{"prose, tilde in the text", "About ~~~ that:\n```\n{}\n```", pass, "dict"},
		{"prose, inline code", "Use `x` and ``y``:\n```\n{}\n```\nThe ``` ends it.", pass, "dict"},
		{"list item", "1. ```json\n   {}\n   ```", pass, "dict"},
		{"two blocks", "```json\n{}\n```\n```json\n{}\n```", fail, ""},
		{"two blocks, one JSON", "```sh\nls\n```\nand\n```json\n{}\n```", fail, ""},
		{"block of prose", "```\nhello\n```", fail, ""},
		{"block of broken JSON", "```json\n{\"a\":1,}\n```", fail, ""},
		{"two values in a block", "```json\n{}\n{}\n```", fail, ""},
		{"empty block", "```\n```", fail, ""},
		{"empty block, language", "```json\n```", fail, ""},
		{"backticks only", "``````", fail, ""},
		{"three backticks", "```", fail, ""},
		{"tildes only", "~~~", fail, ""},
		{"inline code is no block", "It is `{\"a\":1}`.", fail, ""},
		{"nan in a block", "```json\nNaN\n```", fail, ""},
		{"other fence closes nothing", "```json\n{}\n~~~", fail, ""},
		{"4300 digits", strings.Repeat("9", 4300), pass, "int"},
		{"-4300 digits", "-" + strings.Repeat("9", 4300), pass, "int"},
		{"4301 digits", strings.Repeat("9", 4301), broken, ""},
		{"4301 digits within", `{"a":[1,` + strings.Repeat("9", 4301) + `]}`, broken, ""},
		{"4301 digits in a block", "```json\n" + strings.Repeat("9", 4301) + "\n```", broken, ""},
		{"long float", "0." + strings.Repeat("9", 5000), pass, "float"},
		{"long string of digits", `"` + strings.Repeat("9", 5000) + `"`, pass, "str"},
		{"900 levels", nested(900), pass, "list"},
		{"9999 levels", nested(9999), pass, "list"},
		{"10001 levels", nested(10001), broken, ""},
		{"100000 levels", nested(100_000), broken, ""},
		{"100000 levels in a block", "```\n" + nested(100_000) + "\n```", broken, ""},
		{"brackets in prose", "x" + nested(100_000), fail, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := assertOn(t, IsJSON(), test.output)
			if got := outcome(v); got != test.want {
				t.Fatalf("%s, want %s: %s", got, test.want, v.Reason)
			}
			if test.want == pass && string(v.Details) != `{"parsed":true,"type":"`+test.kind+`"}` {
				t.Errorf("details %s", v.Details)
			}
			if test.want == fail && !strings.HasPrefix(string(v.Details), `{"error":"`) {
				t.Errorf("details %s", v.Details)
			}
			if n := assertOn(t, IsJSON().Not(), test.output); test.want == broken && outcome(n) != broken {
				t.Errorf("negated: %s", outcome(n))
			}
		})
	}
}

// TestFencesAreLinear feeds what made early versions scan the whole text again and again.
func TestFencesAreLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures time")
	}
	const n = 200_000
	start := time.Now()
	for _, s := range []string{
		strings.Repeat("```a ", n), strings.Repeat("```1 ", n), strings.Repeat("x```[", n), strings.Repeat("~~~`", n),
		strings.Repeat("x``` ", n) + "\n[" + strings.Repeat("1,", n), strings.Repeat("```\n", n), strings.Repeat(" ", n) + "```",
		strings.Repeat("x```\"\\\"", n), strings.Repeat("\n```[\n", n),
	} {
		findJSON(s)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestJSONSchema(t *testing.T) {
	schema := `{"type":"object","required":["name","age"],"properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0},"mail":{"format":"email"}},"additionalProperties":false}`
	c := mustParse(t, `{"type":"json_schema","schema":`+schema+`}`)
	for output, want := range map[string]plumb.Outcome{
		`{"name":"A","age":1}`:                              plumb.OutcomePass,
		"Sure:\n```json\n{\"name\":\"A\",\"age\":1.0}\n```": plumb.OutcomePass,
		`{"name":"A","age":-1}`:                             plumb.OutcomeFail,
		`{"name":"A"}`:                                      plumb.OutcomeFail,
		`{"name":"A","age":1,"x":1}`:                        plumb.OutcomeFail,
		`{"name":"A","age":1,"mail":"x"}`:                   plumb.OutcomeFail,
		`[]`:                                                plumb.OutcomeFail,
		`hello`:                                             plumb.OutcomeFail,
		strings.Repeat("[", 20_000):                         plumb.OutcomeError,
	} {
		if v := assertOn(t, c, output); outcome(v) != want {
			t.Errorf("%s: %s, want %s: %s", text.Shorten(output, 50), outcome(v), want, v.Reason)
		}
	}
	v := assertOn(t, c, `{"name":1,"age":-1}`)
	const want = "the output is not valid against the schema: /age: minimum: got -1, want 0; /name: got number, want string"
	if v.Reason != want {
		t.Errorf("%s\nwant %s", v.Reason, want)
	}
	if _, err := JSONSchema(json.RawMessage(`{"type":1}`)); err == nil {
		t.Error("a broken schema was taken")
	}
}

func TestJSONPath(t *testing.T) {
	const doc = `{"city":"Paris","n":42,"f":1.5,"big":9007199254740993,"null":null,"tags":["a","b"],"users":[{"name":"Ann","age":30},{"name":"Bob","age":41}],"s p":{"x":{"b":2,"a":1}}}`
	tests := []struct {
		spec  string
		ideal []string
		want  bool
	}{
		{`"path":"$.city"`, nil, true},
		{`"path":"city"`, nil, true},
		{`"path":"$.town"`, nil, false},
		{`"path":"$.null"`, nil, true},
		{`"path":"$.null","equals":null`, nil, true},
		{`"path":"$.town","equals":null`, nil, false},
		{`"path":"$.town","exists":false`, nil, true},
		{`"path":"$.city","exists":false`, nil, false},
		{`"path":"$.city","exists":true`, []string{"Rome"}, true},
		{`"path":"$.city"`, []string{"Paris"}, true},
		{`"path":"$.city"`, []string{"Rome", "Paris"}, true},
		{`"path":"$.city"`, []string{"Rome"}, false},
		{`"path":"$.n"`, []string{"42"}, true},
		{`"path":"$.n"`, []string{"42.0"}, true},
		{`"path":"$.n"`, []string{"forty"}, false},
		{`"path":"$.city","equals":"paris"`, nil, false},
		{`"path":"$.city","equals":"paris","case_sensitive":false`, nil, true},
		{`"path":"$.n","equals":42.0`, nil, true},
		{`"path":"$.n","equals":"42"`, nil, false},
		{`"path":"$.n","equals":43`, nil, false},
		{`"path":"$.f","equals":15e-1`, nil, true},
		{`"path":"$.big","equals":9007199254740993`, nil, true},
		{`"path":"$.big","equals":9007199254740992`, nil, false},
		{`"path":"$['s p'].x","equals":{"a":1,"b":2}`, nil, true},
		{`"path":"$['s p'].x","equals":{"a":1}`, nil, false},
		{`"path":"$.tags","equals":["a","b"]`, nil, true},
		{`"path":"$.tags","equals":["b","a"]`, nil, false},
		{`"path":"$.tags","contains":"b"`, nil, true},
		{`"path":"$.tags","contains":"c"`, nil, false},
		{`"path":"$.city","contains":"ari"`, nil, true},
		{`"path":"$.n","contains":"4"`, nil, false},
		{`"path":"$.users[-1].name","equals":"Bob"`, nil, true},
		{`"path":"$.users[*].name","equals":"Bob"`, nil, true},
		{`"path":"$.users[*].name","equals":"Cat"`, nil, false},
		{`"path":"$.users[?(@.age > 40)].name","equals":"Bob"`, nil, true},
		{`"path":"$..age","equals":30`, nil, true},
		{`"path":"$.users[?(@.age > 50)]","exists":false`, nil, true},
	}
	for _, test := range tests {
		c := mustParse(t, `{"type":"json_path",`+test.spec+`}`, test.ideal...)
		for _, output := range []string{doc, "```json\n" + doc + "\n```"} {
			if v := assertOn(t, c, output); v.Pass != test.want || v.Error != nil {
				t.Errorf("%s: %v, want %v: %s", test.spec, v.Pass, test.want, v.Reason)
			}
		}
		if v := assertOn(t, c, "no JSON"); outcome(v) != plumb.OutcomeFail {
			t.Errorf("%s: %s on prose", test.spec, outcome(v))
		}
	}
	c := mustParse(t, `{"type":"json_path","path":"$.city","equals":"Rome"}`)
	if v := assertOn(
		t,
		c,
		doc,
	); v.Reason != `the value at $.city is "Paris", want "Rome"` || v.Got != `"Paris"` ||
		v.Expected != `"Rome"` {
		t.Errorf("%+v", v)
	}
}

func FuzzJSONFence(f *testing.F) {
	for _, s := range []string{
		"```json\n{\"a\":1}\n```", "~~~\n[]\n~~~", "````\n\"```\"\n````", "x ```{}``` y", "```\r\n1\r\n```", "{}\n```", "```json", "> ```\n> {}\n> ```",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, bad := findJSON(s)
		if bad == nil && !json.Valid([]byte(text)) {
			t.Fatalf("found %q in %q", text, s)
		}
		if bad != nil && bad.why == "" {
			t.Fatal("no reason")
		}
		// What is JSON stays JSON in a fence of its own.
		if json.Valid([]byte(s)) && bad == nil {
			if _, bad := findJSON("Here:\n```json\n" + s + "\n```\nDone."); bad != nil && !bad.beyond {
				t.Fatalf("fenced %q: %s", s, bad.why)
			}
		}
	})
}
