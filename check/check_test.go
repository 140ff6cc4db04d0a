package check

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func mustParse(tb testing.TB, spec string, ideal ...string) *Check {
	tb.Helper()
	c, problems := Parse(json.RawMessage(spec), Ideal{Values: ideal, List: len(ideal) != 1, Set: len(ideal) > 0})
	if c == nil {
		tb.Fatalf("%s: %v", spec, problems)
	}
	return c
}

func assertOn(tb testing.TB, c *Check, output string) plumb.Verdict {
	tb.Helper()
	return assertEvidence(tb, c, plumb.Evidence{Report: &plumb.SessionReport{FinalOutput: output}})
}

// assertEvidence also checks what every verdict owes.
func assertEvidence(tb testing.TB, c *Check, ev plumb.Evidence) plumb.Verdict {
	tb.Helper()
	verdicts, err := c.Assert(context.Background(), ev)
	if err != nil || len(verdicts) != 1 {
		tb.Fatalf("%d verdicts, error %v", len(verdicts), err)
	}
	v := verdicts[0]
	if v.Name == "" || v.Reason == "" || !(v.Score >= 0 && v.Score <= 1) {
		tb.Errorf("incomplete verdict: %+v", v)
	}
	if v.Error != nil && (v.Pass || v.Score != 0 || v.Error.Origin.Outcome(true) != plumb.OutcomeError) {
		tb.Errorf("an error that counts: %+v", v)
	}
	if v.Details != nil && (!json.Valid(v.Details) || v.Details[0] != '{') {
		tb.Errorf("details are no JSON object: %s", v.Details)
	}
	return v
}

// outcome names a verdict for tables.
func outcome(v plumb.Verdict) plumb.Outcome {
	switch {
	case v.Error != nil:
		return plumb.OutcomeError
	case v.Pass:
		return plumb.OutcomePass
	}
	return plumb.OutcomeFail
}

func TestVectors(t *testing.T) {
	// Where we differ from the documented tool, and why.
	differ := map[string]plumb.Outcome{
		"json/NaN":                           plumb.OutcomeFail, // strict JSON
		"json/Infinity":                      plumb.OutcomeFail,
		"json/fence one line json lang":      plumb.OutcomePass, // fences of all kinds
		"json/fence content on opening line": plumb.OutcomePass,
		"json/fence text before":             plumb.OutcomePass,
		"json/fence text after":              plumb.OutcomePass,
	}
	data, err := os.ReadFile("testdata/assertion-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name      string
		Assertion json.RawMessage
		Output    string
		Ideal     Ideal
		Passed    bool
		Details   map[string]any
		Error     string
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 40 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, vec := range vectors {
		t.Run(vec.Name, func(t *testing.T) {
			c, problems := Parse(vec.Assertion, vec.Ideal)
			if vec.Error != "" {
				if c != nil {
					t.Fatalf("wanted a problem, as there was %s", vec.Error)
				}
				return
			}
			if c == nil {
				t.Fatal(problems)
			}
			want := plumb.OutcomeFail
			if vec.Passed {
				want = plumb.OutcomePass
			}
			other, differs := differ[vec.Name]
			if differs {
				want = other
			}
			v := assertOn(t, c, vec.Output)
			if got := outcome(v); got != want {
				t.Fatalf("%s, want %s: %s", got, want, v.Reason)
			}
			var details map[string]any
			if err := json.Unmarshal(v.Details, &details); err != nil {
				t.Fatal(err)
			}
			if _, isError := vec.Details["error"]; differs || isError { // those messages are those of a parser
				return
			}
			if diff := cmp.Diff(vec.Details, details); diff != "" {
				t.Errorf("details (-documented +ours):\n%s", diff)
			}
		})
	}
}

func TestLower(t *testing.T) {
	data, err := os.ReadFile("testdata/lower-vectors.json") // made with Python 3.11
	if err != nil {
		t.Fatal(err)
	}
	var vectors [][2]string
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if got := lower(v[0]); got != v[1] {
			t.Errorf("lower(%+q) = %+q, want %+q", v[0], got, v[1])
		}
	}
}

func TestStrip(t *testing.T) {
	cut := "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
	if got := strip(cut + "x" + cut); got != "x" {
		t.Errorf("%+q", got)
	}
	for _, kept := range []string{"\ufeff", "\u200b", "\u180e", "\x00", "\x1b"} {
		if got := strip(kept); got != kept {
			t.Errorf("%+q was cut", kept)
		}
	}
}

func TestTextChecks(t *testing.T) {
	tests := []struct {
		name, spec string
		ideal      []string
		output     string
		want       bool
	}{
		{"contains any first", `{"type":"contains_any"}`, []string{"a", "b"}, "xbx", true},
		{"contains any none", `{"type":"contains_any"}`, []string{"a", "b"}, "xyz", false},
		{"crlf is not lf", `{"type":"contains"}`, []string{"1\n2"}, "1\r\n2", false},
		{"whitespace makes them one", `{"type":"contains","normalize":["whitespace"]}`, []string{"1\n2"}, "x 1 \r\n 2", true},
		{"curly apostrophe", `{"type":"contains"}`, []string{"can't"}, "I can’t", false},
		{"typography", `{"type":"contains","normalize":"typography"}`, []string{"can't"}, "I can’t", true},
		{
			"typography in the ideal",
			`{"type":"contains","normalize":["typography"]}`,
			[]string{"can’t — ever…"},
			"I can't - ever...",
			true,
		},
		{"no-break space", `{"type":"exact_match","normalize":["typography"]}`, []string{"5 km"}, "5\u00a0km\u200b", true},
		{"composed", `{"type":"exact_match","normalize":["unicode"]}`, []string{"é"}, "e\u0301", true},
		{"decomposed differs", `{"type":"exact_match"}`, []string{"é"}, "e\u0301", false},
		{"own ideal", `{"type":"contains","ideal":"b"}`, []string{"a"}, "b", true},
		{"own ideal null", `{"type":"contains","ideal":null}`, []string{"a"}, "a", true},
		{"not", `{"type":"contains","not":true}`, []string{"a"}, "a", false},
		{"not missing", `{"type":"contains","not":true}`, []string{"a"}, "b", true},
		{"starts with", `{"type":"starts_with"}`, []string{"Yes", "No"}, "  \nNo, thanks", true},
		{"starts with other", `{"type":"starts_with"}`, []string{"Yes"}, "Oh Yes", false},
		{"starts with ci", `{"type":"starts_with","case_sensitive":"off"}`, []string{"YES"}, "yes", true},
		{"regex", `{"type":"regex","pattern":"^\\d{4}$"}`, nil, "2024", true},
		{"regex anchors", `{"type":"regex","pattern":"^\\d{4}$"}`, nil, "in 2024", false},
		{"regex ci", `{"type":"regex","pattern":"a|b","case_sensitive":false}`, nil, "B", true},
		{"regex cs", `{"type":"regex","pattern":"a|b"}`, nil, "B", false},
		{"regex typography", `{"type":"regex","pattern":"don't","normalize":"typography"}`, nil, "don’t", true},
		{"never", `{"type":"contains_any","ideal":[]}`, []string{"x"}, "x", false},
		{"blank exact", `{"type":"exact_match"}`, []string{""}, " \n", true},
		{"invalid utf-8", `{"type":"contains"}`, []string{"b"}, "a\xffb", true},
		{"invalid utf-8 ci", `{"type":"contains","case_sensitive":false}`, []string{"B"}, "a\xff\u0130b", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := assertOn(t, mustParse(t, test.spec, test.ideal...), test.output)
			if v.Pass != test.want || v.Error != nil {
				t.Errorf("pass %v, want %v: %s", v.Pass, test.want, v.Reason)
			}
			if v.Score != map[bool]float64{true: 1, false: 0}[test.want] {
				t.Errorf("score %v", v.Score)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	tests := []struct {
		c            *Check
		output, want string
	}{
		{Contains("42", nil), "The answer is 41.", `the output does not contain "42": "The answer is 41."`},
		{Contains("42", nil).Not(), "It is 42.", `want the opposite: the output contains "42"`},
		{Contains("42", nil).Not(), "no", `the output does not contain "42": "no"`},
		{
			ContainsAny([]string{"a", "b", "c", "d", "e", "f"}, nil),
			"x",
			`the output does not contain any of "a", "b", "c", "d" and 2 more: "x"`,
		},
		{ExactMatch("a", nil), "b\x1b[31m", `the output is "b\x1b[31m", want "a"`},
		{IsJSON(), "{", "the output is not JSON: unexpected end of JSON input, line 1 column 1"},
		{MaxTokens(5), "x", "could not be checked: the number of output tokens is unknown"},
	}
	for _, test := range tests {
		if v := assertOn(t, test.c, test.output); v.Reason != test.want {
			t.Errorf("%s\nwant %s", v.Reason, test.want)
		}
	}
}

func TestVerdictIsBounded(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	for _, c := range []*Check{ExactMatch("x", nil), Contains("x", nil), IsJSON(), StartsWith([]string{"x"}, nil)} {
		v := assertOn(t, c, long)
		if len(v.Reason) > 1000 || len(v.Got) > 5000 || len(v.Details) > 80_000 {
			t.Errorf("%s: reason %d, got %d, details %d bytes", c.Type(), len(v.Reason), len(v.Got), len(v.Details))
		}
	}
}

func TestOptionsOfChecks(t *testing.T) {
	c := Contains("a", nil).Named("has an a").Weighted(2)
	v := assertOn(t, c, "b")
	if v.Name != "has an a" || v.Weight != 2 || c.Not().Not().Name() != "has an a" {
		t.Errorf("%+v", v)
	}
	if v := assertOn(t, Contains("a", nil), "b"); v.Name != "contains" || v.Expected != "a" || v.Got != "b" {
		t.Errorf("%+v", v)
	}
	if v := assertEvidence(t, c.Not(), plumb.Evidence{}); outcome(v) != plumb.OutcomeError {
		t.Errorf("no report: %+v", v)
	}
}

func TestUsageChecks(t *testing.T) {
	start := time.Now()
	end := start.Add(20 * time.Millisecond)
	tests := []struct {
		name   string
		c      *Check
		report plumb.SessionReport
		want   plumb.Outcome
	}{
		{
			"tokens within",
			MaxTokens(10),
			plumb.SessionReport{Usage: plumb.Usage{OutputTokens: new(int64(10))}},
			plumb.OutcomePass,
		},
		{
			"tokens above",
			MaxTokens(10),
			plumb.SessionReport{Usage: plumb.Usage{OutputTokens: new(int64(11))}},
			plumb.OutcomeFail,
		},
		{"tokens unknown", MaxTokens(10), plumb.SessionReport{}, plumb.OutcomeError},
		{"tokens unknown, negated", MaxTokens(10).Not(), plumb.SessionReport{}, plumb.OutcomeError},
		{
			"latency within",
			MaxLatency(time.Second),
			plumb.SessionReport{LatencyMs: 1000, DurationMs: 5000},
			plumb.OutcomePass,
		},
		{"latency above", MaxLatency(time.Second), plumb.SessionReport{LatencyMs: 1001}, plumb.OutcomeFail},
		{"duration only", MaxLatency(time.Second), plumb.SessionReport{DurationMs: 1001}, plumb.OutcomeFail},
		{"times only", MaxLatency(time.Second), plumb.SessionReport{StartedAt: &start, EndedAt: &end}, plumb.OutcomePass},
		{"latency unknown", MaxLatency(time.Second), plumb.SessionReport{}, plumb.OutcomeError},
	}
	for _, test := range tests {
		if v := assertEvidence(t, test.c, plumb.Evidence{Report: &test.report}); outcome(v) != test.want {
			t.Errorf("%s: %s, want %s", test.name, outcome(v), test.want)
		}
	}
}

func TestCanonical(t *testing.T) {
	same := [][2]string{
		{`{"type":"contains"}`, `{ "case_sensitive" : 1, "threshold":null, "type":"contains", "weight":1.0, "not":false }`},
		{`{"type":"contains"}`, `{"type":"contains","ideal":["a","zzz"],"name":"other"}`},
		{`{"type":"contains","case_sensitive":false,"ideal":"A"}`, `{"type":"contains","case_sensitive":"No","ideal":"a"}`},
		{`{"type":"semantic_similarity"}`, `{"type":"semantic_similarity","threshold":"0.80"}`},
		{`{"type":"numeric","value":10}`, `{"type":"numeric","value":1.0e1,"tolerance":0.0}`},
		{
			`{"type":"json_schema","schema":{"type":"object","minProperties":1}}`,
			`{"type":"json_schema","schema":{"minProperties":1.0,"type":"object"}}`,
		},
		{`{"type":"max_tokens","max":5}`, `{"type":"max_tokens","value":5}`},
		{`{"type":"regex","pattern":"a"}`, `{"type":"regex","pattern":"\u0061","normalize":[]}`},
	}
	for _, pair := range same {
		a, b := mustParse(t, pair[0], "a").Canonical(), mustParse(t, pair[1], "a").Canonical()
		if string(a) != string(b) {
			t.Errorf("differ:\n%s\n%s", a, b)
		}
	}
	differ := []string{
		`{"type":"contains"}`,
		`{"type":"contains","not":true}`,
		`{"type":"contains","weight":2}`,
		`{"type":"contains_any"}`,
		`{"type":"contains","ideal":"b"}`,
		`{"type":"contains","case_sensitive":false}`,
		`{"type":"contains","normalize":"unicode"}`,
		`{"type":"regex","pattern":"a"}`,
		`{"type":"regex","pattern":"b"}`,
		`{"type":"json_path","path":"$.a"}`,
		`{"type":"json_path","path":"$.a","exists":true}`,
		`{"type":"json_path","path":"$.a","exists":false}`,
		`{"type":"json_path","path":"$.a","equals":1}`,
		`{"type":"json_path","path":"$.a","contains":"x"}`,
		`{"type":"all_of","assertions":[{"type":"is_json"}]}`,
		`{"type":"any_of","assertions":[{"type":"is_json"}]}`,
		`{"type":"any_of","assertions":[{"type":"is_json","not":true}]}`,
		`{"type":"llm_judge","judge_prompt":"a"}`,
		`{"type":"llm_judge","judge_prompt":"a","votes":3}`,
		`{"type":"json_schema","schema":{"const":9007199254740993}}`,
		`{"type":"json_schema","schema":{"const":9007199254740992}}`,
		`{"type":"numeric","value":1,"tolerance":1}`,
		`{"type":"numeric","value":1,"tolerance_percent":1}`,
	}
	seen := map[string]string{}
	for _, spec := range differ {
		text := string(mustParse(t, spec, "a").Canonical())
		if !json.Valid([]byte(text)) {
			t.Errorf("not JSON: %s", text)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s are both %s", spec, other, text)
		}
		seen[text] = spec
	}
	const want = `{"case_sensitive":true,"ideal":["a"],"normalize":[],"not":false,"type":"contains","weight":1}`
	if got := string(Contains("a", nil).Canonical()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestSize keeps suites of 100,000 cases small.
func TestSize(t *testing.T) {
	const n = 20_000
	size := func(spec string) uint64 {
		checks := make([]*Check, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range checks {
			checks[i] = mustParse(t, spec)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(checks)
		return (after.HeapAlloc - before.HeapAlloc) / n
	}
	for spec, limit := range map[string]uint64{
		`{"type":"contains_any","case_sensitive":false,"ideal":["5 minutes","5 mins"]}`: 300,
		`{"type":"regex","pattern":"\\b[A-Z]{3}\\d+\\b"}`:                               300,
		`{"type":"numeric","value":42}`:                                                 300,
	} {
		if got := size(spec); got > limit {
			t.Errorf("%s takes %d bytes", spec, got)
		} else {
			t.Logf("%s takes %d bytes", spec, got)
		}
	}
}

// TestConcurrentUse is for the race detector; compiled forms are shared, and come and go with the
// garbage collector.
func TestConcurrentUse(t *testing.T) {
	checks := []*Check{
		mustParse(t, `{"type":"regex","pattern":"a+"}`), mustParse(t, `{"type":"json_schema","schema":{"type":"object"}}`),
		mustParse(t, `{"type":"json_path","path":"$..a","equals":[1]}`),
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 50 {
				for _, c := range checks {
					if v := assertOn(t, c, `{"a":[1]}`); !v.Pass {
						t.Error(v.Reason)
					}
				}
				if i%20 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
}

// TestExample shows what the Go API looks like in use.
func TestExample(t *testing.T) {
	short, err := Regex(`^.{1,80}$`, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := AllOf(
		Contains("paris", &Text{IgnoreCase: true, Typography: true}),
		Contains("As an AI", nil).Not().Named("no preamble"),
		short.Weighted(0.5),
	)
	if v := assertOn(t, c, "It’s Paris."); !v.Pass || v.Reason != "passed 3 of 3 checks" {
		t.Errorf("%+v", v)
	}
}
