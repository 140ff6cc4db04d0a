package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/schema"
)

// TestFresh fails if a generated section is not what its list makes.
func TestFresh(t *testing.T) {
	for _, file := range files() {
		old, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := generate(file, string(old))
		switch {
		case err != nil:
			t.Error(err)
		case text != string(old):
			t.Errorf("%s is stale: run go generate ./... (./internal/gen is enough)", file)
		}
	}
}

func TestReplace(t *testing.T) {
	const text = "a\n<!-- BEGIN x: y -->\nold\n<!-- END x -->\nb\n"
	got, err := replace(text, "x", "new\n")
	if want := strings.Replace(text, "old", "new", 1); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "BEGIN x: y\n", "END x\nBEGIN x: y\n", "BEGIN xy: z\nEND xy\n"} {
		if got, err := replace(bad, "x", "new\n"); err == nil {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

// assertionSchema is the schema of one assertion.
func assertionSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema.SuiteCase()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json#/$defs/assertion")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaAgrees checks that the schema and the parser agree on the examples of the manual, and
// on what becomes of them with any key of any kind and with values of all sorts.
func TestSchemaAgrees(t *testing.T) {
	s := assertionSchema(t)
	manual, err := os.ReadFile("../../docs/assertions.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]check.Key{}
	for _, k := range check.Kinds() {
		for _, key := range append(check.CommonKeys(), k.Keys...) {
			keys[key.Name] = key
			if key.Alias != "" {
				keys[key.Alias] = key
			}
		}
	}
	values := []string{
		`null`, `true`, `0`, `-1`, `1`, `2.5`, `2.0`, `""`, `"x"`, `"add"`, `"weak"`, `"unicode"`, `[]`, `["x"]`,
		`["files"]`, `[1]`, `["typography"]`, `{}`, `{"x":1}`, `[{"type":"is_json"}]`, `[{}]`, `{"type":"read_file"}`, `{"type":"is_json"}`,
	}
	agree := func(spec map[string]json.RawMessage, strict bool) {
		t.Helper()
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		c, problems := check.Parse(text, check.Ideal{Values: []string{"1"}, Set: true})
		err = s.Validate(instance)
		if (c == nil) != (err != nil) && (strict || err != nil) {
			t.Errorf("%s:\nschema: %v\nparser: %v", text, err, problems)
		}
	}
	examples := regexp.MustCompile(`(?m)^\{"type".*\}$`).FindAll(manual, -1)
	seen := map[string]bool{}
	for _, example := range examples {
		var spec map[string]json.RawMessage
		if err := json.Unmarshal(example, &spec); err != nil {
			t.Fatal(err)
		}
		agree(spec, true)
		if seen[string(spec["type"])] {
			continue
		}
		seen[string(spec["type"])] = true
		for name, key := range keys {
			old, there := spec[name]
			some := values
			if kindOf := kind(strings.Trim(string(spec["type"]), `"`)); !hasKeys(kindOf, []check.Key{key}) {
				some = values[4:5] // a key that it does not take
			}
			for _, v := range some {
				spec[name] = json.RawMessage(v)
				// What a schema cannot say: other spellings, whether a text compiles, and what keys say
				// together.
				agree(spec, !there && key.Name != "ideal" && len(problemsBeyondSchema(t, spec, name)) == 0)
			}
			if delete(spec, name); there {
				agree(spec, false)
				spec[name] = old
			}
		}
		spec["nonsense"] = json.RawMessage("1")
		agree(spec, true)
	}
	if len(seen) != len(check.Kinds()) {
		t.Errorf("%d kinds have examples, there are %d", len(seen), len(check.Kinds()))
	}
}

// problemsBeyondSchema returns the problems with a spec that its schema does not know: those with
// other values than that of the key, and those of a value whose type is right.
func problemsBeyondSchema(t *testing.T, spec map[string]json.RawMessage, name string) []check.Problem {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	_, problems := check.Parse(text, check.Ideal{Values: []string{"1"}, Set: true})
	var beyond []check.Problem
	for _, p := range problems {
		byType := strings.Contains(p.Message, name+" must") || p.Key || strings.Contains(p.Message, "another name for")
		if !p.Warning && (!byType || lenient(name)) {
			beyond = append(beyond, p)
		}
	}
	return beyond
}

func lenient(name string) bool {
	return name == "case_sensitive" || name == "threshold" || name == "normalize"
}
