package cases

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/schema"
)

// line returns a valid case with one member replaced or added.
func line(id, more string) string {
	return fmt.Sprintf(`{"id": %q, "category": "coding", "input": "hi", "ideal": "x", "assertion": {"type": "contains"}%s}`, id, more)
}

// problems returns the problems of a text.
func problems(tb testing.TB, path, text string) doc.Problems {
	tb.Helper()
	return Read(tb.Context(), File{Path: path, Data: []byte(text)}).Problems
}

// load reads JSON lines without any problem.
func load(t *testing.T, text string) Content {
	t.Helper()
	c := Read(t.Context(), File{Path: "a.jsonl", Data: []byte(text)})
	if len(c.Problems) > 0 {
		t.Fatal(c.Problems)
	}
	return c
}

func TestSuiteValues(t *testing.T) {
	text := line("a-1", `, "metadata": {"difficulty": "hard", "tokens_est": 40.0, "tags": ["x", "y"], "n": 1}, "timeout_ms": 1500, `+
		`"expected_fail": true, "repeat": 3, "max_output_tokens": 100, "system": "Be brief."`) + "\r\n\r\n  " +
		`{"id":"b","category":"safety","input":[{"role":"user","content":"é\n"},{"content":"ok","role":"assistant"},{"role":"user","content":"go"}],` +
		`"assertion":{"type":"is_json"},"assertions":[{"type":"max_tokens","max":5},{"type":"regex","pattern":"x","not":true}]}`
	suite := load(t, text)
	hash, err := digest.Suite([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Content{
		Hash: hash,
		Cases: []plumb.Case{
			{
				ID: "a-1", Category: "coding", Difficulty: "hard", Tags: []string{"x", "y"},
				Messages:        []plumb.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "hi"}},
				MaxOutputTokens: 100, Timeout: 1500 * time.Millisecond, ExpectedFail: true, Repeat: 3, TokensEstimate: 40,
				Metadata: map[string]string{"n": "1"},
				Source:   plumb.Position{File: "a.jsonl", Line: 1, Column: 1},
			},
			{
				ID: "b", Category: "safety",
				Messages: []plumb.Message{
					{Role: "user", Content: "é\n"}, {Role: "assistant", Content: "ok"}, {Role: "user", Content: "go"},
				},
				Source: plumb.Position{File: "a.jsonl", Line: 3, Column: 3},
			},
		},
	}
	hashes := cmpopts.IgnoreFields(plumb.Case{}, "Hash", "PromptHash", "ChecksHash", "Assertions")
	if diff := cmp.Diff(want, suite, hashes, cmpopts.IgnoreFields(Content{}, "Summary")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var types []string
	for _, a := range append(suite.Cases[0].Assertions, suite.Cases[1].Assertions...) {
		types = append(types, a.(*check.Check).Type())
	}
	if want := []string{"contains", "is_json", "max_tokens", "regex"}; !reflect.DeepEqual(types, want) {
		t.Errorf("assertions are %v, want %v", types, want)
	}
}

// TestCaseHash: the hash covers what is asked and how it is judged, and nothing else.
func TestCaseHash(t *testing.T) {
	base := load(t, line("a", "")).Cases[0].Hash
	for _, same := range []string{
		line("b", ""), line("a", `, "metadata": {"difficulty": "easy"}`), line("a", `, "timeout_ms": 5, "repeat": 2, "expected_fail": true`),
		strings.Replace(line("a", ""), "coding", "factual", 1),
		strings.Replace(line("a", ""), `"type": "contains"`, `"case_sensitive": true, "type": "contains"`, 1),
		strings.Replace(line("a", ""), `"hi"`, `[{"role": "user", "content": "hi"}]`, 1),
		strings.Replace(line("a", ""), `"assertion": {"type": "contains"}`, `"assertions": [{"type": "contains"}]`, 1),
	} {
		if got := load(t, same).Cases[0].Hash; got != base {
			t.Errorf("%s has another hash than the base", same)
		}
	}
	for _, other := range []string{
		strings.Replace(line("a", ""), `"hi"`, `"ho"`, 1), strings.Replace(line("a", ""), `"x"`, `"y"`, 1),
		strings.Replace(line("a", ""), `"contains"`, `"exact_match"`, 1), line("a", `, "system": "s"`), line("a", `, "max_output_tokens": 5`),
	} {
		if got := load(t, other).Cases[0].Hash; got == base {
			t.Errorf("%s has the hash of the base", other)
		}
	}
}

func TestTokenEstimates(t *testing.T) {
	for text, want := range map[string]int{
		"40": 40, "40.0": 40, `"40"`: 40, `" 7 "`: 7, `"4_0"`: 40, `"40.0"`: 40, "true": 1, "false": 0, "-3": -3, `"+5"`: 5, "4e1": 40, "0": 0, "-0": 0,
		strings.Repeat("9", 50): int(^uint(0) >> 1),
	} {
		suite := load(t, line("a", `, "metadata": {"tokens_est": `+text+`}`))
		if got := suite.Cases[0].TokensEstimate; got != want {
			t.Errorf("tokens_est %s reads as %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"40.5", `""`, "null", "1e30", `"_4"`, `"4__0"`, `"x"`, `"1e2"`, `"inf"`, "[]", "{}", `"0x10"`, `"- 4"`, `"-"`} {
		err := problems(t, "a.jsonl", line("a", `, "metadata": {"tokens_est": `+text+`}`)).Err()
		if err == nil || !strings.Contains(err.Error(), "tokens_est must be a whole number") {
			t.Errorf("tokens_est %s gives %v", text, err)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, id := range []string{"a", "A-1", "reasoning-001", "a.b_c", "9", "console", "com", "com10", "a..", "lpt"} {
		if why := UnsafeID(id); (why == "") != (id != "a..") {
			t.Errorf("%s: %s", id, why)
		}
	}
	for _, id := range []string{
		"", ".", "..", "-a", "_a", ".a", "a b", "a/b", `a\b`, "a:b", "a..b", "a.", "é", "a\x00", "CON", "nul.txt", "Com1", "lpt9.x", "aux", strings.Repeat("a", 129),
	} {
		if UnsafeID(id) == "" {
			t.Errorf("%q is taken for safe", id)
		}
	}
	for id, want := range map[string]string{"a b/c": "a-b-c", "../x": "x", "é": "", "a..b": "a.b"} {
		if got := safeID(id); got != want {
			t.Errorf("safeID(%q) is %q, want %q", id, got, want)
		}
	}
}

func TestProblemsError(t *testing.T) {
	var p doc.Problems
	for i := range 130 {
		p = append(p, doc.Problem{Pos: plumb.Position{File: "f", Line: i + 1, Column: 2}, Message: "m", Hint: "h"})
	}
	text := p.Error()
	if lines := strings.Split(text, "\n"); len(lines) != 101 || lines[0] != "f:1:2: m (h)" || lines[100] != "... and 30 more" {
		t.Errorf("%d lines, first %q, last %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

// many returns a suite of n cases of about 500 bytes each.
func many(n int) []byte {
	const size = 500
	var b bytes.Buffer
	filler := strings.Repeat("All work and no play makes Jack a dull boy. ", size/44+1)
	for i := range n {
		fmt.Fprintf(&b, `{"id": "reasoning-%07d", "category": "reasoning", "input": "Question %d: %s", "ideal": ["%d minutes", "%d mins"], `+
			`"assertion": {"type": "contains_any", "case_sensitive": false}, "metadata": {"difficulty": "medium", "tokens_est": 40, "tags": ["math", "logic"]}}`+"\n",
			i, i, filler[:max(size-250, 0)], i, i)
	}
	return b.Bytes()
}

// TestChunks: a file that is cut into pieces gives the same cases and lines as the same file line by line.
func TestChunks(t *testing.T) {
	data := many(9000) // several chunks
	data = bytes.ReplaceAll(data, []byte(`"id": "reasoning-0000777"`), []byte("\n\r\n \n"+`"id": "reasoning-0000777"`))
	data = bytes.Replace(data, []byte(`{`+"\n\r\n \n"), []byte("\n\r\n \n{"), 1) // blank lines before case 777
	data = bytes.Replace(data, []byte("}\n{\"id\": \"reasoning-0005000\""), []byte("}\r{\"id\": \"reasoning-0005000\""), 1)
	data = append(data, `{"id": "reasoning-0000003", "category": "coding"}`...)
	if len(data) < 3*chunkSize {
		t.Fatal("the file is too small for this test")
	}
	problems := problems(t, "f", string(data))
	want := "f:9004:1: assertion is missing (an object such as {\"type\": \"contains\"}, or a list of them as assertions)\n" +
		"f:9004:1: input is missing (the prompt as a string, or a list of messages)\n" +
		"f:9004:8: duplicate id \"reasoning-0000003\", first on line 4\n"
	lines := strings.Split(problems.Error(), "\n")
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), lines, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	suite := load(t, string(data[:bytes.LastIndexByte(data, '\n')]))
	if len(suite.Cases) != 9000 {
		t.Fatalf("%d cases", len(suite.Cases))
	}
	for i, c := range suite.Cases {
		line := i + 1
		if i >= 777 {
			line += 3
		}
		if c.ID != fmt.Sprintf("reasoning-%07d", i) || c.Source.Line != line {
			t.Fatalf("case %d is %s on line %d", i, c.ID, c.Source.Line)
		}
	}
}

// TestStream: JSON lines that come piece by piece give the same as those in memory.
func TestStream(t *testing.T) {
	data := many(9000)
	unsorted := append(bytes.Clone(data), line("a-1", "")...)
	for name, text := range map[string][]byte{
		"sorted": data, "no line end": bytes.TrimSpace(data), "unsorted": unsorted, "empty": nil, "one": []byte(line("a", "")),
		"mark": append([]byte(byteOrderMark), data...), "twice": append(bytes.Clone(data), data[:bytes.IndexByte(data, '\n')]...),
		"old line ends": bytes.ReplaceAll(data, []byte("\n"), []byte("\r")),
	} {
		got := Read(t.Context(), File{Path: "suite.jsonl", Stream: iotest.HalfReader(bytes.NewReader(text))})
		want := Read(t.Context(), File{Path: "suite.jsonl", Data: text, CountOnly: true})
		if name == "unsorted" { // the hash needs the whole text
			want.Hash = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if hash, err := digest.Suite(text); got.Hash != "" && (err != nil || hash != got.Hash) {
			t.Errorf("%s: hash %s, digest %s, %v", name, got.Hash, hash, err)
		}
	}
	if c := Read(t.Context(), File{Stream: iotest.ErrReader(errors.New("gone"))}); c.Problems.Err() == nil || c.Problems[0].Message != "gone" {
		t.Errorf("of a broken stream: %v", c.Problems)
	}
}

// compiled returns a published schema, ready to use.
func compiled(tb testing.TB, text string) *jsonschema.Schema {
	tb.Helper()
	v, problem := doc.ParseJSON("schema", []byte(text))
	if problem != nil || len(v.Duplicates()) > 0 {
		tb.Fatalf("schema: %v, %v", problem, v.Duplicates())
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", document); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestSuiteCaseSchema: the published schema and the loader agree on which cases are valid.
func TestSuiteCaseSchema(t *testing.T) {
	s := compiled(t, schema.SuiteCase())
	lines := []string{
		line("a", ""), line("a", `, "nope": 1`), line("../a", ""), line("a..b", ""), line("a.", ""), line(strings.Repeat("a", 129), ""),
		line("a", `, "timeout_ms": 0`), line("a", `, "timeout_ms": 1`), line("a", `, "repeat": 1.5`), line("a", `, "repeat": 2.0`),
		line("a", `, "max_output_tokens": 3000000000`), line("a", `, "max_steps": 0`), line("a", `, "max_steps": 12`), line("a", `, "expected_fail": 1`), line("a", `, "expected_fail": false`),
		line("a", `, "system": "x"`), line("a", `, "system": null`), line("a", `, "metadata": {"x": [1]}`), line("a", `, "metadata": []`),
		line("a", `, "metadata": {"difficulty": "x"}`), line("a", `, "metadata": {"tags": ["a"]}`), line("a", `, "metadata": {"tags": "a"}`),
		line("a", `, "metadata": {"tokens_est": 40.5}`), line("a", `, "metadata": {"tokens_est": null}`), line("a", `, "metadata": {"tokens_est": "40"}`),
		line("a", `, "assertions": []`), line("a", `, "assertions": [{"type": "is_json"}]`), line("a", `, "assertions": [{"type": "x"}]`), line("a", `, "assertions": [{}]`),
		`{"id": "a", "category": "coding", "input": "x"}`, `{"id": "a", "category": "coding", "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "cooking", "input": "x", "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": [], "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": 1, "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": [{"role": "user", "content": "x"}], "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": [{"role": "user"}], "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": [{"role": "tool", "content": "x"}], "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": [{"role": "user", "content": "x", "name": "n"}], "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": "x", "ideal": 5, "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": "x", "ideal": [1], "assertion": {"type": "is_json"}}`,
		`{"id": "a", "category": "coding", "input": "x", "ideal": null, "assertion": {"type": "is_json"}}`, `[]`, `1`,
	}
	for _, text := range lines {
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		schemaErr := s.Validate(instance)
		loadErr := problems(t, "a.jsonl", text).Err()
		if (schemaErr == nil) != (loadErr == nil) {
			t.Errorf("%s:\nschema: %v\nloader: %v", text, schemaErr, loadErr)
		}
	}
	for _, key := range caseKeys() {
		if !strings.Contains(schema.SuiteCase(), fmt.Sprintf("    %q: {", key)) {
			t.Errorf("the schema lacks key %s", key)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	data := many(20_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if c := Read(b.Context(), File{Path: "f", Data: data, CountOnly: true}); len(c.Problems) > 0 {
			b.Fatal(c.Problems[0])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/20_000, "ns/case")
}

// BenchmarkSuite reports what 100,000 loaded cases keep in memory, beside the bytes of the file.
func BenchmarkSuite(b *testing.B) {
	data := many(100_000)
	b.SetBytes(int64(len(data)))
	var kept uint64
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		suite := Read(b.Context(), File{Path: "f", Data: data})
		if err := suite.Problems.Err(); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept = after.HeapAlloc - before.HeapAlloc
		runtime.KeepAlive(suite)
	}
	b.ReportMetric(float64(kept)/1e6, "MB-kept")
	b.ReportMetric(0, "ns/op")
}

// TestManual: every key of a case is in the manual.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/suites.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range append(caseKeys(), "difficulty", "tokens_est", "tags") {
		if !bytes.Contains(manual, []byte("`"+key+"`")) && !bytes.Contains(manual, []byte("."+key+"`")) {
			t.Errorf("docs/suites.md does not mention %s", key)
		}
	}
}
