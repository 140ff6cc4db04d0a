package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestOneReadingDuplicateKeys gives an object of each kind of document a key twice, at a random depth.
// Each command that reads the document ends with exit code 2, and names the file and the line.
func TestOneReadingDuplicateKeys(t *testing.T) {
	t.Parallel()
	const (
		suite   = `{"id":"a","input":"hi","assertion":{"type":"json_schema","schema":{"type":"object","required":["a"]}},"metadata":{"tags":["x"],"own":{"k":1}}}` + "\n"
		results = `{"suitePath":"s","runId":"r","schema":1,"cases":[{"caseId":"a","runnerResults":[{"runner":{"id":"r","agent":{"type":"x"}},` +
			`"status":"passed","outcome":"pass","report":{"usage":{"totalTokens":1},"finalOutput":"x"}}]}]}`
		blocks = `[{"suite_version":"v","run_metadata":{"model_id":"m","own":{"k":1}},"results":[{"test_id":"a","score":1,"assertion_result":{"passed":true}}]}]`
		record = `{"ts":"2026-03-02T14:07:31Z","stream":"s","run_id":"r","submitter":"s","prompt_id":"p","output":"x","score":1,"own":{"k":{"l":1}}}` + "\n"
	)
	w := newWorld(t)
	w.write("s.jsonl", suite)
	if code, _, stderr := w.plumb("run", "s.jsonl", "--command", "echo hi"); code != 1 {
		t.Fatal(code, stderr)
	}
	runs, err := filepath.Glob(filepath.Join(w.dir, ".plumb", "runs", "*"))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	dir, _ := filepath.Rel(w.dir, runs[0])
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test that can be repeated
	for _, d := range []struct {
		file, text string
		beside     map[string]string
		commands   []string
	}{
		{"s.jsonl", suite, nil, []string{"validate s.jsonl", "run s.jsonl --command true", "list s.jsonl"}},
		{
			"s.yaml", `{"prompts":[{"text":"{{x}}","label":"l"}],"defaults":{"assertion":{"type":"contains","ideal":"a"},"vars":{"o":{"k":1}}},` +
				`"cases":[{"id":"a","vars":{"x":"1","deep":{"er":[{"k":1}]}}}]}`, nil,
			[]string{"validate s.yaml", "run s.yaml --command true", "list s.yaml", "plan s.yaml"},
		},
		{
			"plumb.yaml", `{"suites":["s.jsonl"],"runners":{"r":{"model":"openai:gpt-5","headers":{"a":"b"}}},"run":{"retry":1}}`, nil,
			[]string{"validate", "run", "list", "compare last last", "report last"},
		},
		{"plumb.json", `{"suites":["s.jsonl"],"runners":{"r":{"command":["true"],"env":{"A":"b"}}}}`, nil, []string{"validate --config plumb.json s.jsonl", "run --config plumb.json s.jsonl"}},
		{"d.json", `[{"x":"1","o":{"k":[{"l":1}]}}]`, map[string]string{"t.yaml": "prompts: ['{{x}}']\ndefaults: {assertion: {type: contains, ideal: a}}\ndata: d.json\n"}, []string{"validate t.yaml", "run t.yaml --command true"}},
		{"d.yaml", `[{"x":"1","o":{"k":[{"l":1}]}}]`, map[string]string{"t.yaml": "prompts: ['{{x}}']\ndefaults: {assertion: {type: contains, ideal: a}}\ndata: d.yaml\n"}, []string{"validate t.yaml", "run t.yaml --command true"}},
		{"d.jsonl", `{"x":"1","o":{"k":[{"l":1}]}}` + "\n", map[string]string{"t.yaml": "prompts: ['{{x}}']\ndefaults: {assertion: {type: contains, ideal: a}}\ndata: d.jsonl\n"}, []string{"validate t.yaml", "run t.yaml --command true"}},
		{"p.json", `[{"role":"user","content":"x"}]`, map[string]string{"t.yaml": "prompts: [p.json]\ndefaults: {assertion: {type: contains, ideal: a}}\ncases: [{id: a}]\n"}, []string{"validate t.yaml", "run t.yaml --command true"}},
		{"promptfooconfig.yaml", `{"prompts":["{{x}}"],"providers":[{"id":"echo","config":{"a":1}}],"tests":[{"vars":{"x":{"y":1}},"assert":[{"type":"equals","value":"a"}]}]}`, nil, []string{"convert promptfooconfig.yaml -o out"}},
		{"promptfooconfig.json", `{"prompts":["{{x}}"],"providers":["echo"],"tests":[{"vars":{"x":"y"},"assert":[{"type":"equals","value":"a"}]}]}`, nil, []string{"convert promptfooconfig.json -o out"}},
		{"tests.json", `[{"vars":{"x":"y"},"assert":[{"type":"equals","value":"a"}]}]`, map[string]string{"promptfooconfig.yaml": "prompts: ['{{x}}']\nproviders: [echo]\ntests: file://tests.json\n"}, []string{"convert promptfooconfig.yaml -o out"}},
		{"tests.jsonl", `{"vars":{"x":"y"},"assert":[{"type":"equals","value":"a"}]}` + "\n", map[string]string{"promptfooconfig.yaml": "prompts: ['{{x}}']\nproviders: [echo]\ntests: file://tests.jsonl\n"}, []string{"convert promptfooconfig.yaml -o out"}},
		{"evals.jsonl", `{"input":[{"role":"user","content":"x"}],"ideal":"a"}` + "\n", nil, []string{"convert evals.jsonl -o out"}},
		{"records.jsonl", record, nil, []string{"drift --from records.jsonl"}},
		{"a.json", results, map[string]string{"b.json": results}, []string{"compare a.json b.json", "compare b.json a.json", "baseline set main a.json"}},
		{"a.json", blocks, map[string]string{"b.json": results}, []string{"compare a.json b.json", "run s.jsonl --command true --output a.json"}},
		{
			"a.json", `{"evalId":"e","results":{"results":[{"testIdx":0,"success":true,"provider":{"id":"p"},"prompt":{"raw":"x","label":"l"},"vars":{"x":"y"},"testCase":{"vars":{"x":"y"}}}]}}`,
			map[string]string{"b.json": results},
			[]string{"compare a.json b.json"},
		},
		{
			"plumb.snapshots.json", `{"version":1,"entries":{"a::command":{"caseId":"a","runnerId":"command","metric":"totalTokens","value":7,"agentType":"","model":""}}}`,
			map[string]string{"plumb.yaml": "suites: [s.jsonl]\nrunners: {command: {command: [echo, hi]}}\nsnapshots: {tolerance: {percent: 5}}\n"},
			[]string{"run"},
		},
		{"gold.jsonl", `{"input":"i","output":"x","judge_prompt":"good?","label":"pass"}` + "\n", nil, []string{"judge calibrate gold.jsonl --judge openai:gpt-5"}},
		{filepath.Join(dir, "run.json"), "", nil, []string{"report last", "resume last", "score last"}},
		{filepath.Join(dir, "events.jsonl"), "", nil, []string{"report last", "compare last last", "show last"}},
		{filepath.Join(dir, "bundle", "bundle.json"), "", nil, []string{"score last", "resume last"}},
	} {
		text := d.text
		if text == "" {
			text = w.read(d.file)
		}
		for name, beside := range d.beside {
			w.write(name, beside)
		}
		for range 5 {
			twice := duplicate(t, text, random)
			w.write(d.file, twice)
			for _, command := range d.commands {
				code, stdout, stderr := w.plumb(strings.Fields(command)...)
				place := regexp.MustCompile(regexp.QuoteMeta(filepath.Base(d.file)) + `:\d+:\d+|line \d+`)
				if code != 2 || !place.MatchString(stderr) || !strings.Contains(stderr, "duplicate key") && !strings.Contains(stderr, "the checksum does not match") || strings.Contains(stdout, "wrote") {
					t.Errorf("plumb %s: exit code %d\n%.300s\n%.300s\nfile %s: %.400s", command, code, stderr, stdout, d.file, twice)
				}
			}
		}
		if d.text == "" || d.file == "s.jsonl" {
			w.write(d.file, text)
		} else if err := os.Remove(filepath.Join(w.dir, d.file)); err != nil {
			t.Fatal(err)
		}
		for name := range d.beside {
			_ = os.Remove(filepath.Join(w.dir, name))
		}
	}
}

// duplicate repeats a random member of an object of a JSON text, or of lines of JSON, beside itself.
func duplicate(t *testing.T, text string, random *rand.Rand) string {
	t.Helper()
	type span struct{ from, to int64 }
	var members []span
	d := jsontext.NewDecoder(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true))
	var walk func(foreign bool)
	walk = func(foreign bool) {
		switch d.PeekKind() {
		case '{':
			_, _ = d.ReadToken()
			for d.PeekKind() != '}' {
				key, err := d.ReadToken()
				if err != nil {
					t.Fatal(err)
				}
				name := key.String()
				from := d.InputOffset() - int64(len(fmt.Sprintf("%q", name)))
				walk(foreign || name == "args" || name == "details")
				if !foreign && text[from] == '"' {
					members = append(members, span{from, d.InputOffset()})
				}
			}
			_, _ = d.ReadToken()
		case '[':
			_, _ = d.ReadToken()
			for d.PeekKind() != ']' {
				walk(foreign)
			}
			_, _ = d.ReadToken()
		default:
			if _, err := d.ReadToken(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for d.PeekKind() == '{' || d.PeekKind() == '[' {
		walk(false)
	}
	m := members[random.IntN(len(members))]
	return text[:m.from] + text[m.from:m.to] + "," + text[m.from:]
}
