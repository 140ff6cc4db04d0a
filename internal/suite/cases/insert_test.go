package cases

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
)

// hostile are values that have a meaning in some language.
func hostile() *rapid.Generator[string] {
	return rapid.Custom(func(r *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			`right" || true || "`, ".*", "|", "(", "$", "^", `\`, "a", "B", "1", "*", "..", "/", "'", "`", "${1}", "{{ y }}", "{% raw %}", "}}",
			"\n", ", type: js", `": {`, "js", "true", "é😀", "[", "]", "?", "$.x", "; rm -rf /", "$(id)",
		}), 0, 4).Draw(r, "parts"), "")
	})
}

// withCheck reads a suite of one case in YAML, with the variable y.
func withCheck(spec, y string) (plumb.Case, error) {
	text := "cases:\n- {id: a, input: q, ideal: i, vars: {y: " + quoted(y) + "}, assertions: [" + spec + "]}\n"
	s := Read(context.Background(), File{Path: "a.yaml", Data: []byte(text)})
	if err := s.Problems.Err(); err != nil {
		return plumb.Case{}, err
	}
	return s.Cases[0], nil
}

// TestF4_DataNeverChangesChecks: with any value of a variable, a check has the type, the keys and the meaning that its
// author wrote, or the suite is refused. Every string of every kind of check is tried.
func TestF4_DataNeverChangesChecks(t *testing.T) {
	for _, kind := range check.Kinds() {
		for _, key := range kind.Keys {
			form := map[string]string{
				"string": `"{{ y }}"`, "strings": `["{{ y }}"]`, "ideal": `["{{ y }}"]`, "object": `{k: "{{ y }}"}`, "any": `"{{ y }}"`, "schema": `{const: "{{ y }}"}`,
			}[key.Type]
			if form == "" || key.Ignored {
				continue
			}
			inserts := check.Inserts(kind.Name, key.Name)
			_, err := withCheck("{type: "+kind.Name+", "+key.Name+": "+form+"}", "v")
			refused := err != nil && strings.Contains(err.Error(), "a template")
			if (inserts == check.InsertNothing) != refused {
				t.Errorf("%s.%s (%d): %v", kind.Name, key.Name, inserts, err)
			}
		}
	}
	if _, err := withCheck(`{type: "{{ y }}"}`, "is_json"); err == nil {
		t.Error("a template chooses the type")
	}
	for _, spec := range []string{
		`{type: js, expr: "output === \"{{ y }}\""}`, `{type: js, expr: "{% if y %}true{% endif %}"}`, `{type: js, file: "{{ y }}.js"}`,
		`{type: command, run: [sh, -c, "test {{ y }}"]}`, `{type: all_of, assertions: [{type: js, expr: "{{ y }}"}]}`,
		`{type: json_schema, schema: {pattern: "{{ y }}"}}`, `{type: contains, case_sensitive: "{{ y }}"}`,
		`{type: called_tool, tool: a, before: {type: js, expr: "{{ y }}"}}`,
	} {
		if _, err := withCheck(spec, "x"); err == nil || !strings.Contains(err.Error(), "a.yaml:2:") || !strings.Contains(err.Error(), "template") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if _, err := withCheck(`{type: js, expr: "{% raw %}output === '{{ y }}'{% endraw %}"}`, "x"); err != nil {
		t.Errorf("a constant template: %v", err)
	}
}

// TestF4_ValuesMatchThemselves: whatever a value is, a regex matches the text with it and no other.
func TestF4_ValuesMatchThemselves(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		y, output := hostile().Draw(r, "y"), hostile().Draw(r, "output")
		c, err := withCheck(`{type: regex, pattern: "^<{{ y }}>$"}`, y)
		if err != nil {
			r.Fatal(err)
		}
		for _, text := range []string{y, output} {
			verdicts, err := c.Assertions[0].Assert(context.Background(), plumb.Evidence{
				Case: &c, Report: &plumb.SessionReport{FinalOutput: "<" + text + ">"},
			})
			if err != nil || len(verdicts) != 1 || verdicts[0].Pass != (text == y) {
				r.Fatalf("%q for %q: %+v, %v", text, y, verdicts, err)
			}
		}
		if _, err := withCheck(`{type: json_path, path: "$.{{ y }}", exists: true}`, y); err == nil && strings.ContainsAny(y, "$*[]().?'") {
			r.Fatalf("path with %q", y)
		}
		if _, err := withCheck(`{type: file_exists, path: "out/{{ y }}"}`, y); err == nil && (strings.ContainsAny(y, "*?[]{}\\") || strings.Contains(y, "..")) {
			r.Fatalf("path with %q", y)
		}
	})
	if c, err := withCheck(`{type: regex, pattern: "{{ y | safe }}"}`, "a|b"); err != nil || !strings.Contains(string(c.Assertions[0].(*check.Check).Canonical()), `a|b`) {
		t.Errorf("safe: %v", err)
	}
}

// TestF7_DataReachesNothing: cells are texts, except for expectations, and no template reaches more than its variables.
func TestF7_DataReachesNothing(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hidden"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, template := range []string{
		`{{ range.constructor("return __plumb.require('node:fs').readFileSync('` + secret + `','utf8')")() }}`,
		`{{ x.constructor.constructor("return 7*191")() }}`, `{{ toString }}`, `{{ x.link }}`, `{{ cycler }}`, `{% include "` + secret + `" %}`,
		`{{ env.HOME }}`, `{{ process.env }}`, `{{ globalThis }}`, `{{ __plumb }}`, `{{ x.__proto__ }}`, `{{ [].map }}`, `{{ require("fs") }}`,
	} {
		files := map[string]string{}
		write := func(name, text string) { files[name] = text }
		load := func() (Content, error) {
			s := Read(t.Context(), File{
				Path: "s.yaml", Data: []byte(files["s.yaml"]),
				ReadFile: func(name string) ([]byte, error) { return []byte(files[name]), nil },
			})
			return s, s.Problems.Err()
		}
		write("s.yaml", "prompts: 'Q {{ x }}'\ndata: d.json\n")
		write("d.json", `[{"x": "hi", "__expected": `+quoted("contains:"+template)+`}]`)
		if s, err := load(); err == nil || !strings.Contains(err.Error(), "d.json:1:") {
			t.Errorf("%s as an expectation: %v, %v", template, s, err)
		}
		write("d.json", `[{"x": `+quoted(template)+`, "__prefix": `+quoted(template)+`, "__suffix": `+quoted(template)+
			`, "__expected": "contains:a", "__metric": `+quoted(template)+`}]`)
		if s, err := load(); err != nil || s.Cases[0].Messages[0].Content != template+"Q "+template+template {
			t.Errorf("%s in a cell: %v, %v", template, s, err)
		}
		write("s.yaml", "prompts: "+quoted(template)+"\ndata: d.json\n")
		if s, err := load(); err == nil || !strings.Contains(err.Error(), "s.yaml:1:") {
			t.Errorf("%s as a prompt: %v, %v", template, s, err)
		}
	}
}

// TestF3_NumbersInSuites: numbers of variables and of data arrive as they were written, in YAML, JSON and JSON lines.
func TestF3_NumbersInSuites(t *testing.T) {
	numbers := []string{"12345678901234567890", "9007199254740993", "0.1234567890123456789012", "1.10", "-9223372036854775809", "123456789012345678901234567890"}
	for _, n := range numbers {
		for name, text := range map[string]string{
			"a.yaml":  "cases:\n- {id: a, input: 'N={{ n }}', ideal: '{{ n }}', vars: {n: " + n + "}, assertion: {type: contains}}\n",
			"a.jsonl": `{"id": "a", "input": "N={{ n }}", "ideal": "{{ n }}", "vars": {"n": ` + n + `}, "assertion": {"type": "contains"}}`,
		} {
			s := Read(t.Context(), File{Path: name, Data: []byte(text)})
			if err := s.Problems.Err(); err != nil || s.Cases[0].Messages[0].Content != "N="+n {
				t.Errorf("%s with %s: %v, %v", name, n, s, err)
			}
		}
	}
	for _, n := range []string{"07030", "1_000", "+5", "-0", ".5", "5.", "+1.5", "1.e3"} {
		text := "cases:\n- {id: a, input: '{{ n }}', vars: {n: " + n + "}, assertion: {type: is_json}}\n"
		s := Read(t.Context(), File{Path: "a.yaml", Data: []byte(text)})
		if s.Problems.Err() == nil && s.Cases[0].Messages[0].Content != n {
			t.Errorf("%s is inserted as %s", n, s.Cases[0].Messages[0].Content)
		}
	}
	// JavaScript cannot hold all numbers.
	for n, ok := range map[string]bool{"12345678901234567890": false, "9007199254740993": false, "42": true, "1.10": true, "'12345678901234567890'": true} {
		text := "cases:\n- {id: a, input: q, vars: {n: " + n + "}, assertion: {type: js, expr: 'vars.n'}}\n"
		err := problems(t, "a.yaml", text).Err()
		if (err == nil) != ok {
			t.Errorf("%s: %v", n, err)
		}
	}
}
