package check_test

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/plumbtest"
)

// kindTest has a spec of one kind, a session that passes and a session that fails. The ideal of the
// case is "ready".
type kindTest struct {
	spec       string
	pass, fail plumb.SessionReport
}

// kindTests has a test for each kind; TestContract fails for a kind without one.
func kindTests() map[string]kindTest {
	output := func(text string) plumb.SessionReport { return plumb.SessionReport{FinalOutput: text} }
	did := func(e plumb.SessionEvent) plumb.SessionReport {
		return plumb.SessionReport{
			Runner: plumb.RunnerInfo{Kind: plumb.RunnerAgent}, Events: []plumb.SessionEvent{e},
		}
	}
	changed := func(path string) plumb.SessionReport {
		return plumb.SessionReport{Files: plumb.Files{Changed: []plumb.FileChange{{Path: path, Kind: "add"}}}}
	}
	used := func(input, output, total, cost, steps, ms int64) plumb.SessionReport {
		usd := float64(cost)
		return plumb.SessionReport{
			Usage: plumb.Usage{InputTokens: &input, OutputTokens: &output, TotalTokens: &total}, CostUSD: &usd,
			Steps: int(steps), DurationMs: ms,
		}
	}
	low, high := used(1, 1, 1, 1, 1, 1), used(9, 9, 9, 9, 9, 9)
	finished := func(why plumb.FinishReason) plumb.SessionReport { return plumb.SessionReport{FinishReason: why} }
	denied := plumb.SessionReport{PermissionDenials: []plumb.PermissionDenial{{Tool: "Write"}}}
	skill := func(name string) plumb.SessionReport {
		return plumb.SessionReport{DetectedSkills: []plumb.SkillDetection{{Skill: name, Confidence: "strong"}}}
	}
	return map[string]kindTest{
		"exact_match":   {`{"type":"exact_match"}`, output("ready"), output("not yet")},
		"contains":      {`{"type":"contains","case_sensitive":false}`, output("I am READY."), output("not yet")},
		"contains_any":  {`{"type":"contains_any","ideal":["x1","ready"]}`, output("ready"), output("not yet")},
		"starts_with":   {`{"type":"starts_with"}`, output("ready now"), output("now ready")},
		"equals_any":    {`{"type":"equals_any","ideal":["x1","ready"]}`, output(" ready\n"), output("readyx")},
		"contains_all":  {`{"type":"contains_all","ideal":["re","dy"]}`, output("ready"), output("red")},
		"ends_with":     {`{"type":"ends_with"}`, output("now ready\n"), output("ready now")},
		"refusal":       {`{"type":"refusal"}`, output("I\u2019m sorry, I can\u2019t help."), output("ready")},
		"word_count":    {`{"type":"word_count","min":1,"max":2}`, output("is ready"), output("it is ready")},
		"equals_json":   {`{"type":"equals_json","equals":{"a":[1]}}`, output(`{"a":[1.0]}`), output(`{"a":[2]}`)},
		"is_xml":        {`{"type":"is_xml"}`, output("<a/>"), output("<a>")},
		"levenshtein":   {`{"type":"levenshtein","max":1}`, output("reedy"), output("not yet")},
		"rouge":         {`{"type":"rouge"}`, output("ready"), output("not yet")},
		"bleu":          {`{"type":"bleu"}`, output("ready"), output("not yet")},
		"gleu":          {`{"type":"gleu"}`, output("ready"), output("not yet")},
		"js":            {`{"type":"js","expr":"output === 'ready'"}`, output("ready"), output("not yet")},
		"command":       {`{"type":"command","run":["check.py"]}`, output("ready"), output("not yet")},
		"finish_reason": {`{"type":"finish_reason","reasons":["stop"]}`, finished("stop"), finished("refused")},
		"regex":         {`{"type":"regex","pattern":"^[a-z]+$"}`, output("ready"), output("READY")},
		"is_json":       {`{"type":"is_json"}`, output("```json\n{}\n```"), output("{")},
		"json_schema":   {`{"type":"json_schema","schema":{"type":"object"}}`, output("{}"), output("[]")},
		"json_path":     {`{"type":"json_path","path":"$.a"}`, output(`{"a":"ready"}`), output(`{"a":2}`)},
		"numeric":       {`{"type":"numeric","value":3}`, output("it is 3"), output("it is 4")},
		"llm_judge":     {`{"type":"llm_judge","judge_prompt":"Is it ready?"}`, output("ready"), output("not yet")},
		"semantic_similarity": {
			`{"type":"semantic_similarity"}`, output("ready"), output("not yet"),
		},
		"all_of": {
			`{"type":"all_of","assertions":[{"type":"starts_with"},{"type":"contains"}]}`,
			output("ready"), output("not ready"),
		},
		"any_of": {
			`{"type":"any_of","assertions":[{"type":"is_json"},{"type":"contains"}]}`, output("ready"), output("not yet"),
		},
		"ran_command": {
			`{"type":"ran_command","executable":"git"}`,
			did(plumb.SessionEvent{Type: plumb.SessionCommand, Command: "git push"}),
			did(plumb.SessionEvent{Type: plumb.SessionCommand, Command: "ls"}),
		},
		"read_file": {
			`{"type":"read_file","path":"a.md"}`,
			did(plumb.SessionEvent{Type: plumb.SessionFileRead, Path: "/w/a.md"}),
			did(plumb.SessionEvent{Type: plumb.SessionFileRead, Path: "/w/b.md"}),
		},
		"used_skill": {`{"type":"used_skill","skill":"demo"}`, skill("demo"), skill("other")},
		"called_tool": {
			`{"type":"called_tool","tool":"Edit"}`,
			did(plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: "Edit"}),
			did(plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: "Bash"}),
		},
		"tool_returned": {
			`{"type":"tool_returned","contains":"ok"}`,
			did(plumb.SessionEvent{Type: plumb.SessionToolResult, Tool: "Bash", Output: "ok"}),
			did(plumb.SessionEvent{Type: plumb.SessionToolResult, Tool: "Bash", Output: "no"}),
		},
		"changed_file":     {`{"type":"changed_file","path":"a.md"}`, changed("a.md"), changed("b.md")},
		"was_denied":       {`{"type":"was_denied","tool":"Write"}`, denied, plumb.SessionReport{}},
		"file_exists":      {`{"type":"file_exists","path":"ready.txt"}`, output("with the file"), output("without")},
		"file_contains":    {`{"type":"file_contains","path":"*.txt"}`, output("with the file"), output("without")},
		"leaks_no_secret":  {`{"type":"leaks_no_secret"}`, output("nothing"), output("s3cret")},
		"max_tokens":       {`{"type":"max_tokens","max":5}`, low, high},
		"max_latency_ms":   {`{"type":"max_latency_ms","max":5}`, low, high},
		"max_steps":        {`{"type":"max_steps","max":5}`, low, high},
		"max_input_tokens": {`{"type":"max_input_tokens","max":5}`, low, high},
		"max_total_tokens": {`{"type":"max_total_tokens","max":5}`, low, high},
		"max_cost_usd":     {`{"type":"max_cost_usd","max":5}`, low, high},
		"max_duration_ms":  {`{"type":"max_duration_ms","max":5}`, low, high},
	}
}

// readyJudge answers YES if the answer that it is asked about is "ready".
type readyJudge struct{}

func (readyJudge) Info() plumb.RunnerInfo { return plumb.RunnerInfo{ID: "judge"} }

func (readyJudge) Run(ctx context.Context, r plumb.Request) (*plumb.SessionReport, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply := "NO"
	if strings.Contains(r.Messages[len(r.Messages)-1].Content, ">\nready\n<") {
		reply = "YES"
	}
	return &plumb.SessionReport{FinalOutput: reply}, nil
}

// evidence is a session with everything that a kind may look at. A session whose output is "with
// the file" has the file ready.txt in its workspace.
func evidence(t *testing.T, report plumb.SessionReport) plumb.Evidence {
	t.Helper()
	workspace := t.TempDir()
	if report.FinalOutput == "with the file" {
		if err := os.WriteFile(filepath.Join(workspace, "ready.txt"), []byte("ready"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	embed := func(ctx context.Context, texts []string) (plumb.Embedding, error) {
		var e plumb.Embedding
		for _, text := range texts {
			v := []float32{0, 1}
			if text == "ready" {
				v = []float32{1, 0}
			}
			e.Vectors = append(e.Vectors, v)
		}
		return e, ctx.Err()
	}
	return plumb.Evidence{
		Case: &plumb.Case{ID: "a"}, Report: &report, Workspace: workspace,
		Judge: &plumb.Judge{Runner: readyJudge{}}, Embedder: &plumb.Embedder{Name: "e", Embed: embed},
		Secrets: func(text string) []string {
			if strings.Contains(text, "s3cret") {
				return []string{"A_SECRET"}
			}
			return nil
		},
	}
}

func parse(t *testing.T, spec string) *check.Check {
	t.Helper()
	v, problem := doc.ParseJSON("", []byte(spec))
	if problem != nil {
		t.Fatal(problem)
	}
	// The code of a check accepts the output "ready".
	env := check.Env{Compile: func(check.Code) (check.Compiled, error) {
		return check.Compiled{Run: func(ctx context.Context, ev plumb.Evidence, _ json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(strconv.FormatBool(ev.Report.FinalOutput == "ready")), ctx.Err()
		}}, nil
	}}
	c, problems := check.ParseIn(&v, check.Ideal{Values: []string{"ready"}, Set: true}, env)
	if c == nil {
		t.Fatalf("%s: %v", spec, problems)
	}
	return c
}

// TestContract checks that one check of each kind, and its negation, keep the contract of
// assertions.
func TestContract(t *testing.T) {
	tests := kindTests()
	for _, kind := range check.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			test, ok := tests[kind.Name]
			if !ok {
				t.Fatalf("check/contract_test.go: kindTests has no test for %s", kind.Name)
			}
			c, pass, fail := parse(t, test.spec), evidence(t, test.pass), evidence(t, test.fail)
			plumbtest.TestAssertion(t, c, pass, fail)
			plumbtest.TestAssertion(t, c.Not(), fail, pass)
		})
	}
}

// sources parses the files of package check that are not tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return files
}

// results names the result types of a function, such as "*Check error".
func results(f *ast.FuncDecl) string {
	var names []string
	if f.Type.Results == nil || f.Recv != nil {
		return ""
	}
	for _, field := range f.Type.Results.List {
		switch x := field.Type.(type) {
		case *ast.Ident:
			names = append(names, x.Name)
		case *ast.StarExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				names = append(names, "*"+id.Name)
			}
		}
	}
	return strings.Join(names, " ")
}

// TestKindsAreComplete fails for a kind that lacks something, and names the file where it belongs.
func TestKindsAreComplete(t *testing.T) {
	manual, err := os.ReadFile("../docs/assertions.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{} // of the kinds
	for file, tree := range sources(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range check.Kinds() {
			if file != "kinds.go" && strings.Contains(string(text), `"`+kind.Name+`"`) &&
				strings.Contains(string(text), "Kind{") {
				files[kind.Name] = file
			}
		}
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && results(f) == "Kind" && f.Type.Params.NumFields() == 0 &&
				!strings.Contains(string(list), f.Name.Name+"()") {
				t.Errorf("check/kinds.go: Kinds lacks %s of check/%s", f.Name.Name, file)
			}
		}
	}
	types := []string{
		"string",
		"boolean",
		"number",
		"integer",
		"strings",
		"object",
		"schema",
		"ideal",
		"assertion",
		"assertions",
		"any",
	}
	for _, kind := range check.Kinds() {
		bad := func(format string, args ...any) {
			t.Helper()
			t.Errorf("check/%s: %s: "+format, append([]any{files[kind.Name], kind.Name}, args...)...)
		}
		if !regexp.MustCompile(`^[a-z][a-z_]*[a-z]$`).MatchString(kind.Name) {
			bad("the name is not in lower case")
		}
		if kind.Doc == "" || strings.HasSuffix(kind.Doc, ".") {
			bad("Doc must complete a sentence, without a full stop: %q", kind.Doc)
		}
		if kind.Reads == "" || kind.Details == "" {
			bad("Reads or Details is missing")
		}
		names := []string{"type", "name", "not", "weight"}
		for _, key := range kind.Keys {
			if key.Name == "" || key.Doc == "" || !slices.Contains(types, key.Type) || slices.Contains(names, key.Name) {
				bad("the key %q needs a name of its own, a Type of %v and a Doc: %+v", key.Name, types, key)
			}
			names = append(names, key.Name)
		}
		example := regexp.MustCompile(`(?m)^\{"type": "` + kind.Name + `"`)
		if !example.Match(manual) {
			t.Errorf("docs/assertions.md: has no example that begins with {\"type\": %q", kind.Name)
		}
	}
}

// TestKeysDecide checks that each key of each kind changes what the check does, so that no key is
// described and not read.
func TestKeysDecide(t *testing.T) {
	samples := map[string]string{
		"string":     `"some"`,
		"boolean":    `true`,
		"number":     `0.25`,
		"integer":    `7`,
		"strings":    `["some"]`,
		"object":     `{"-a":"b"}`,
		"schema":     `{"type":"string"}`,
		"ideal":      `["other 7"]`,
		"assertion":  `{"contains":"x"}`,
		"assertions": `[{"type":"is_json"}]`,
		"any":        `5`,
	}
	tests := kindTests()
	for _, kind := range check.Kinds() {
		if tests[kind.Name].spec == "" {
			continue // TestContract reports it
		}
		for _, key := range kind.Keys {
			var spec map[string]json.RawMessage
			if err := json.Unmarshal([]byte(tests[kind.Name].spec), &spec); err != nil {
				t.Fatal(err)
			}
			sample := samples[key.Type]
			switch {
			case key.Name == "measure":
				sample = `"recall"`
			case key.Name == "reasons":
				sample = `["refused"]`
			case key.Name == "case_sensitive", key.Name == "exists":
				sample = `false`
			case key.Type == "strings" && len(key.Enum) > 0:
				sample = `["` + key.Enum[0] + `"]`
			case len(key.Enum) > 0:
				sample = `"` + key.Enum[0] + `"`
			case key.Name == "trim":
				sample = `false`
			case key.Name == "min":
				sample = `0`
			case key.Name == "ideal":
				delete(spec, "value")
				delete(spec, "equals")
				if kind.Name == "equals_json" {
					sample = `"7"`
				}
			}
			before := parse(t, tests[kind.Name].spec).Canonical()
			delete(spec, key.Alias)
			delete(spec, map[string]string{"file": "expr", "threshold": "max"}[key.Name])
			spec[key.Name] = json.RawMessage(sample)
			text, err := json.Marshal(spec)
			if err != nil {
				t.Fatal(err)
			}
			c, problems := check.Parse(text, check.Ideal{Values: []string{"ready"}, Set: true})
			compatible := strings.Contains(key.Doc, "without effect")
			switch {
			case c == nil:
				t.Errorf("%s: %v", text, problems)
			case (string(c.Canonical()) != string(before)) == compatible && string(spec["case_sensitive"]) != string(spec[key.Name]):
				t.Errorf("%s: the key %s decides %v: %s", text, key.Name, compatible, c.Canonical())
			}
		}
	}
}

// TestConstructors checks that each constructor makes the check that a spec makes.
func TestConstructors(t *testing.T) {
	ok := func(c *check.Check, err error) *check.Check {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	how := &check.Text{IgnoreCase: true, Unicode: true, Typography: true, Whitespace: true}
	const compare = `"case_sensitive":false,"normalize":["typography","unicode","whitespace"]`
	tests := map[string]struct {
		c    *check.Check
		spec string
	}{
		"ExactMatch": {check.ExactMatch("A", how), `{"type":"exact_match","ideal":"A",` + compare + `}`},
		"Contains":   {check.Contains("A", nil), `{"type":"contains","ideal":"A"}`},
		"ContainsAny": {
			check.ContainsAny([]string{"A", "B"}, how),
			`{"type":"contains_any","ideal":["A","B"],` + compare + `}`,
		},
		"EqualsAny":   {check.EqualsAny([]string{"A"}, how), `{"type":"equals_any","ideal":["A"],` + compare + `}`},
		"ContainsAll": {check.ContainsAll([]string{"A"}, nil), `{"type":"contains_all","ideal":["A"]}`},
		"EndsWith":    {check.EndsWith([]string{"A"}, nil), `{"type":"ends_with","ideal":["A"]}`},
		"Refusal":     {check.Refusal(), `{"type":"refusal"}`},
		"WordCount":   {check.WordCount(2, 3), `{"type":"word_count","min":2,"max":3}`},
		"EqualsJSON":  {ok(check.EqualsJSON([]byte(`[1]`))), `{"type":"equals_json","equals":[1]}`},
		"IsXML":       {check.IsXML("a.b"), `{"type":"is_xml","elements":["a.b"]}`},
		"Levenshtein": {
			check.Levenshtein([]string{"A"}, check.Distance{Similarity: 0.5}, how),
			`{"type":"levenshtein","ideal":"A","threshold":0.5,` + compare + `}`,
		},
		"Rouge":        {check.Rouge([]string{"A"}, 2, 0.5), `{"type":"rouge","ideal":"A","n":2,"threshold":0.5}`},
		"Bleu":         {check.Bleu([]string{"A"}, 0.4), `{"type":"bleu","ideal":"A","threshold":0.4}`},
		"Gleu":         {check.Gleu([]string{"A"}, 0.4), `{"type":"gleu","ideal":"A","threshold":0.4}`},
		"FinishReason": {check.FinishReason(plumb.FinishStop), `{"type":"finish_reason","reasons":["stop"]}`},
		"AllOfScore": {
			check.AllOfScore(0.5, check.IsJSON()), `{"type":"all_of","min_score":0.5,"assertions":[{"type":"is_json"}]}`,
		},
		"StartsWith": {check.StartsWith([]string{"A"}, nil), `{"type":"starts_with","ideal":["A"]}`},
		"Regex":      {ok(check.Regex("a+", how)), `{"type":"regex","pattern":"a+",` + compare + `}`},
		"IsJSON":     {check.IsJSON(), `{"type":"is_json"}`},
		"JSONSchema": {ok(check.JSONSchema([]byte(`{"type":"null"}`))), `{"type":"json_schema","schema":{"type":"null"}}`},
		"JSONPath": {
			ok(check.JSONPath("$.a", check.Path{Equals: []byte(`[1]`), Text: how})),
			`{"type":"json_path","path":"$.a","equals":[1],` + compare + `}`,
		},
		"Numeric": {
			ok(check.Numeric(2, check.Tolerance{Absolute: 0.5, Percent: 1})),
			`{"type":"numeric","value":2,"tolerance":0.5,"tolerance_percent":1}`,
		},
		"LLMJudge": {check.LLMJudge("Is it?", 3), `{"type":"llm_judge","judge_prompt":"Is it?","votes":3}`},
		"SemanticSimilarity": {
			check.SemanticSimilarity([]string{"A"}, 0.5), `{"type":"semantic_similarity","ideal":"A","threshold":0.5}`,
		},
		"AllOf": {
			check.AllOf(check.IsJSON(), check.IsJSON().Not()),
			`{"type":"all_of","assertions":[{"type":"is_json"},{"type":"is_json","not":true}]}`,
		},
		"AnyOf": {check.AnyOf(check.IsJSON()), `{"type":"any_of","assertions":[{"type":"is_json"}]}`},
		"RanCommand": {
			ok(check.RanCommand(check.Seen{
				Contains: "a", ExitCode: new(0), Exactly: new(2),
				Command: check.CommandLine{
					Executable: "git", Positionals: []string{"push"}, Options: map[string][]string{"-f": {}, "-m": {"x"}},
					EndOfOptions: new(true), Strict: true,
				},
			})),
			`{"type":"ran_command","contains":"a","exit_code":0,"count":2,"executable":"git","positionals":["push"],` +
				`"options":{"-f":true,"-m":"x"},"end_of_options":true,"strict":true}`,
		},
		"ReadFile": {
			ok(check.ReadFile(check.Seen{Path: "a", Before: &check.Seen{Pattern: "b"}, Kind: "ran_command"})),
			`{"type":"read_file","path":"a","before":{"type":"ran_command","pattern":"b"}}`,
		},
		"UsedSkill": {
			ok(check.UsedSkill(check.Seen{Skill: "a", MinConfidence: "strong"})),
			`{"type":"used_skill","skill":"a","min_confidence":"strong"}`,
		},
		"CalledTool": {
			ok(check.CalledTool(check.Seen{Tool: "Edit", Args: []byte(`{"a":1}`), AtLeast: new(1), AtMost: new(2)})),
			`{"type":"called_tool","tool":"Edit","args":{"a":1},"at_least":1,"at_most":2}`,
		},
		"ToolReturned": {
			ok(check.ToolReturned(check.Seen{Is: "ok", Only: true})), `{"type":"tool_returned","equals":"ok","only":true}`,
		},
		"ChangedFile": {
			ok(check.ChangedFile(check.Seen{Path: "src/**", Change: "add"})),
			`{"type":"changed_file","path":"src/**","change":"add"}`,
		},
		"WasDenied":  {ok(check.WasDenied(check.Seen{})), `{"type":"was_denied"}`},
		"FileExists": {ok(check.FileExists("dist/*")), `{"type":"file_exists","path":"dist/*"}`},
		"FileContains": {
			ok(check.FileContains("a", check.Contains("A", how))),
			`{"type":"file_contains","path":"a","contains":"A",` + compare + `}`,
		},
		"LeaksNoSecret":  {ok(check.LeaksNoSecret("files")), `{"type":"leaks_no_secret","in":["files"]}`},
		"MaxTokens":      {check.MaxTokens(5), `{"type":"max_tokens","max":5}`},
		"MaxLatency":     {check.MaxLatency(time.Second), `{"type":"max_latency_ms","max":1000}`},
		"MaxSteps":       {check.MaxSteps(5), `{"type":"max_steps","max":5}`},
		"MaxInputTokens": {check.MaxInputTokens(5), `{"type":"max_input_tokens","max":5}`},
		"MaxTotalTokens": {check.MaxTotalTokens(5), `{"type":"max_total_tokens","max":5}`},
		"MaxCost":        {check.MaxCost(0.5), `{"type":"max_cost_usd","max":0.5}`},
		"MaxDuration":    {check.MaxDuration(time.Minute), `{"type":"max_duration_ms","max":60000}`},
	}
	for name, test := range tests {
		if got, want := test.c.Canonical(), parse(t, test.spec).Canonical(); string(got) != string(want) {
			t.Errorf("%s:\n%s\nthe spec makes\n%s", name, got, want)
		}
	}
	for file, tree := range sources(t) {
		for _, decl := range tree.Decls {
			f, isFunc := decl.(*ast.FuncDecl)
			if !isFunc || !f.Name.IsExported() || !strings.HasPrefix(results(f), "*Check") {
				continue
			}
			if _, ok := tests[f.Name.Name]; !ok && !strings.HasPrefix(f.Name.Name, "Parse") {
				t.Errorf("check/contract_test.go: TestConstructors has no test for %s of check/%s", f.Name.Name, file)
			}
		}
	}
}
