package cases_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/schema"
)

// listing renders all of the problems, one a line.
func listing(problems []doc.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	return b.String()
}

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// sectioned is a file whose sections are read as those of a suite.
func sectioned(path, text string) cases.File {
	return cases.File{Path: path, Data: []byte(text), Sections: func(suite doc.Value, keys []setting.Field) doc.Problems {
		_, problems := config.ReadSections(path, ".", suite, keys)
		return problems
	}}
}

func suiteFiles(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "suite", "*.*l"))
	if err != nil || len(files) < 5 {
		tb.Fatalf("test data is missing: %v", err)
	}
	return files
}

func TestSuiteProblems(t *testing.T) {
	for _, file := range suiteFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f := sectioned(filepath.Base(file), string(read(t, file)))
			kept := cases.Read(t.Context(), f)
			golden.Equal(t, file+".problems", listing(kept.Problems))

			// Counting finds the same.
			f.CountOnly = true
			counted := cases.Read(t.Context(), f)
			if len(counted.Cases) > 0 || kept.Problems.Err() == nil && len(kept.Cases) != counted.Summary.Cases {
				t.Errorf("%d cases, %d while counting %d", len(kept.Cases), len(counted.Cases), counted.Summary.Cases)
			}
			counted.Cases, kept.Cases = nil, nil
			if diff := cmp.Diff(kept, counted, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-kept +counted:\n%s", diff)
			}
		})
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
		loadErr := cases.Read(t.Context(), sectioned("a.yaml", text)).Problems.Err()
		if (schemaErr == nil) != (loadErr == nil) {
			t.Errorf("%s:\nschema: %v\nloader: %v", text, schemaErr, loadErr)
		}
	}
}

// FuzzSuiteYAML: no text breaks the reader, every problem has a place in the file, and what is read can be read again from
// the lines that it stands for.
func FuzzSuiteYAML(f *testing.F) {
	for _, file := range suiteFiles(f) {
		if cases.IsYAML(file) {
			f.Add(read(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzed(t, "fuzz.yaml", data)
	})
}

// fuzzed reads any text: every problem has a place in the file, and counting finds what reading does.
func fuzzed(t *testing.T, path string, data []byte) cases.Content {
	t.Helper()
	f := sectioned(path, string(data))
	kept := cases.Read(t.Context(), f)
	f.CountOnly = true
	counted := cases.Read(t.Context(), f)
	checkPositions(t, data, kept.Problems)
	if (kept.Problems.Err() == nil) != (counted.Problems.Err() == nil) {
		t.Fatalf("reading finds %v, counting %v", kept.Problems, counted.Problems)
	}
	if kept.Problems.Err() == nil && (len(kept.Cases) != counted.Summary.Cases || kept.Hash == "" || kept.Hash != counted.Hash) {
		t.Errorf("%d cases, hash %q, want %d, %q", len(kept.Cases), kept.Hash, counted.Summary.Cases, counted.Hash)
	}
	return kept
}

func FuzzSuite(f *testing.F) {
	for _, file := range suiteFiles(f) {
		data := read(f, file)
		f.Add(data)
		for l := range bytes.Lines(data) {
			f.Add(l)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		suite := fuzzed(t, "fuzz.jsonl", data)
		if suite.Problems.Err() != nil {
			return
		}
		for _, c := range suite.Cases {
			if cases.UnsafeID(c.ID) != "" || len(c.Messages) == 0 || len(c.Assertions) == 0 || c.Hash == "" {
				t.Errorf("incomplete case %+v", c)
			}
		}
	})
}

// checkPositions fails unless every problem has a place within the file, or right behind it.
func checkPositions(t *testing.T, data []byte, problems []doc.Problem) {
	t.Helper()
	lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 1
	for _, p := range problems {
		if p.Pos.Line < 1 || p.Pos.Line > lines || p.Pos.Column < 1 || p.Message == "" {
			t.Errorf("%d lines, but a problem at %v", lines, p)
		}
	}
}
