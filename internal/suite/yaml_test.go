package suite

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/schema"
)

func TestYAMLSuite(t *testing.T) {
	b, err := Read("testdata/suite/good.yaml", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	suite, warnings, err := b.Suite()
	if err != nil || len(warnings) > 0 || b.Code() {
		t.Fatal(warnings, err)
	}
	dir, err := filepath.Abs("testdata/suite")
	if err != nil {
		t.Fatal(err)
	}
	lines := `{"id":"coding-001","category":"coding","input":"Say hello.\nTwice.\n","ideal":"hello","assertion":{"type":"contains","case_sensitive":false},"metadata":{"tags":["smoke"]}}
{"id":"coding-002","category":"coding","input":[{"role":"user","content":"Grüße?"}],"ideal":"hallo","assertions":[{"type":"contains","case_sensitive":false},{"type":"max_tokens","max":20}],"max_steps":4,"timeout_ms":1500}`
	hash, err := digest.Suite([]byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	same := load(t, lines)
	want := &plumb.Suite{
		Name: "good", Path: "testdata/suite/good.yaml", Hash: hash,
		Workspace: &plumb.WorkspaceConfig{
			Mode:      plumb.WorkspaceIsolated,
			Bootstrap: &plumb.Bootstrap{Command: filepath.Join(dir, "setup.sh"), Args: []string{filepath.Join(dir, "data"), "--fast"}},
		},
		Cases: []plumb.Case{
			{
				ID: "coding-001", Hash: same.Cases[0].Hash, Category: "coding", Tags: []string{"smoke"},
				Messages: []plumb.Message{{Role: "user", Content: "Say hello.\nTwice.\n"}},
				Source:   plumb.Position{File: "testdata/suite/good.yaml", Line: 6, Column: 5},
			},
			{
				ID: "coding-002", Hash: same.Cases[1].Hash, Category: "coding", Messages: []plumb.Message{{Role: "user", Content: "Grüße?"}},
				Timeout: 1500 * time.Millisecond, MaxSteps: 4, Source: plumb.Position{File: "testdata/suite/good.yaml", Line: 15, Column: 5},
			},
		},
	}
	ignored := cmpopts.IgnoreFields(plumb.Case{}, "Assertions", "PromptHash", "ChecksHash")
	if diff := cmp.Diff(want, suite, ignored); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(suite.Cases[0].Assertions) != 1 || len(suite.Cases[1].Assertions) != 2 {
		t.Error("checks are missing")
	}
	if found, err := b.Hash(); err != nil || found != hash {
		t.Errorf("hash %s, %v", found, err)
	}

	to := filepath.Join(t.TempDir(), "bundle")
	if err := b.Write(to); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(to)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := opened.Suite()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(suite, again, cmpopts.IgnoreFields(plumb.Case{}, "Assertions")); diff != "" {
		t.Errorf("-written +opened:\n%s", diff)
	}
}

// suiteSchema is the schema of suites in YAML, with those it refers to.
func suiteSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	for _, text := range []string{schema.Config(), schema.SuiteCase(), schema.Suite()} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(doc.(map[string]any)["$id"].(string), doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("https://raw.githubusercontent.com/plumb-eval/plumb/main/schema/suite.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestYAMLSuiteSchema: the published schema and the loader agree on which suites are valid.
func TestYAMLSuiteSchema(t *testing.T) {
	s := suiteSchema(t)
	const one = "{id: a, category: coding, input: x, ideal: y, assertion: {type: contains}}"
	for _, text := range []string{
		"[]", "[" + one + "]", "cases: [" + one + "]", "cases: " + one, "cases: []", "{}", "x", "workspace: {mode: none}",
		"workspace: {mode: isolated}\ncases: []", "workspace: {mode: isolated, cwd: x}\ncases: []", "workspace: x\ncases: []",
		"case: []", "cases: []\nname: x", "cases: [{}]", "cases: [{id: a}]", "[x]", "skills: ' '\ncases: []", "skills: {}\ncases: []",
	} {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		schemaErr := s.Validate(instance)
		_, _, loadErr := NewBundle("", "a.yaml", []byte(text)).Suite()
		if (schemaErr == nil) != (loadErr == nil) {
			t.Errorf("%s:\nschema: %v\nloader: %v", text, schemaErr, loadErr)
		}
	}
}

// FuzzSuiteYAML: no text breaks the reader, every problem has a place in the file, and what is read can be read again from
// the lines that it stands for.
func FuzzSuiteYAML(f *testing.F) {
	for _, file := range suiteFiles(f) {
		if isYAML(file) {
			f.Add(read(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := NewBundle("fuzz", "fuzz.yaml", data)
		sum, problems := b.Validate()
		checkPositions(t, data, problems)
		suite, _, err := NewBundle("fuzz", "fuzz.yaml", data).Suite()
		if (doc.Problems(problems).Err() == nil) != (err == nil) {
			t.Fatalf("Validate finds %v, Suite %v", problems, err)
		}
		if err == nil && (len(suite.Cases) != sum.Cases || suite.Hash == "" || suite.Hash != sum.Hash) {
			t.Errorf("%d cases, hash %q, want %d, %q", len(suite.Cases), suite.Hash, sum.Cases, sum.Hash)
		}
	})
}
