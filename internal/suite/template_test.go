package suite

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/doc"
)

// TestTemplatesAgree compares with outputs of the npm package, in testdata/templates.json.
func TestTemplatesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs no concurrent code of its own: too slow with the race detector")
	}
	var table struct {
		Vars json.RawMessage
		Rows []struct{ Template, Want string }
	}
	if err := json.Unmarshal(read(t, "testdata/templates.json"), &table); err != nil {
		t.Fatal(err)
	}
	e := &templates{}
	defer e.close()
	for _, row := range table.Rows {
		got, problem, err := e.render([]string{row.Template}, table.Vars)
		if problem != nil || err != nil {
			t.Errorf("%s: %+v, %v", row.Template, problem, err)
		} else if got[0] != row.Want {
			t.Errorf("%s: got %q, want %q", row.Template, got[0], row.Want)
		}
	}
}

// TestTemplateProblems lists what is an error here and not in nunjucks, and the places of errors.
func TestTemplateProblems(t *testing.T) {
	e := &templates{}
	defer e.close()
	for _, test := range []struct {
		template, want string
		line, column   int
	}{
		{"a {{ nam }}", `undefined variable "nam"`, 1, 6},
		{"a\n{{ nam | upper }}", `undefined variable "nam"`, 2, 4},
		{"{{ user.nam }}", `undefined variable "user.nam"`, 1, 8},
		{"{{ user }}", "an object is not a text", 0, 0},
		{"{% for x in lst %}{% endfor %}", `undefined variable "lst"`, 1, 13},
		{"{% if name %}{{ nam }}{% endif %}", `undefined variable "nam"`, 1, 17},
		{"{% if nam %}{{ nam }}{% endif %}{{ nam or 1 }}{{ nam | d(1) }}{{ 1 if nam }}", "", 0, 0},
		{"{{ env.KEY }}", `undefined variable "env"`, 1, 4},
		{"{% include 'x' %}", "a template cannot read other files", 1, 4},
		{"{{ name | random }}", `unknown filter "random"`, 1, 11},
		{"{% if %}", "invalid template: unexpected token: %}", 1, 7},
		{"{{ name", "invalid template: expected variable end", 0, 0},
		{"{{ name.repeat(300000000) }}", "the templates of the case need too much memory", 0, 0},
	} {
		_, problem, err := e.render([]string{test.template}, []byte(`{"name": "x", "user": {"a": 1}}`))
		if err != nil {
			t.Fatal(err)
		}
		got := templateProblem{}
		if problem != nil {
			got = *problem
		}
		if got.Message != test.want || test.line > 0 && (got.Line != test.line || got.Column != test.column) {
			t.Errorf("%s: got %+v, want %+v", test.template, got, test)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{ name }}", "{% for x in list %}{{ x }}{% endfor %}", "{{ a.b | default('x') }}", "{% set x = [1] %}{{ x[0] }}", "{{", "{%-", "{# #}"} {
		f.Add(s)
	}
	e := &templates{}
	f.Cleanup(e.close)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		once, problem, err := e.render([]string{text}, []byte(`{"name": "x", "list": [1, 2]}`))
		if err != nil {
			t.Fatal(err)
		}
		if problem == nil && !isTemplate(text) && once[0] != text {
			t.Errorf("%q became %q", text, once[0])
		}
	})
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a\n\"x\ny\"\n", "a;b\n1;2\n", "a\n", "", "a,a\n1,2", "id,__expected\nx,contains:y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, problems := rows("a.csv", text)
		if len(found) == 0 && problems.Err() == nil {
			t.Error("neither rows nor problems")
		}
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		for _, p := range problems {
			if p.Pos.Line < 1 || p.Pos.Line > lines+1 {
				t.Errorf("problem outside of the file: %v", p)
			}
		}
		for _, r := range found {
			if len(r.Members) == 0 || r.Duplicates() != nil && problems.Err() == nil {
				t.Errorf("row %s", r.JSON())
			}
		}
	})
}

// TestExpansionProperties: the expansion of a suite is the same each time, its ids are unique and safe, and the hash of a
// rendered case is that of the same question written by hand.
func TestExpansionProperties(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs no concurrent code of its own: too slow with the race detector")
	}
	drawn := rapid.Custom(func(r *rapid.T) string {
		word := rapid.StringMatching(`[a-zA-Z0-9 é.,/-]{1,12}`)
		prompts := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z ./]{0,6}[a-z]`), 1, 4, safeID).Draw(r, "labels")
		var text strings.Builder
		text.WriteString("prompts:\n")
		for _, p := range prompts {
			text.WriteString("- {label: " + quoted(p) + ", text: " + quoted(p+": {{ x }} {{ y }}") + "}\n")
		}
		text.WriteString("cases:\n")
		cases := rapid.IntRange(1, 4).Draw(r, "cases")
		for range cases {
			x, y := rapid.SliceOfN(word, 1, 3).Draw(r, "x"), word.Draw(r, "y")
			list, _ := json.Marshal(x)
			text.WriteString("- {vars: {x: " + string(list) + ", y: " + quoted(y) + "}, ideal: z, assertion: {type: contains}}\n")
		}
		return text.String()
	})
	for seed := range 15 {
		text := drawn.Example(seed)
		load := func() ([]string, []string) {
			suite, _, err := NewBundle("", "a.yaml", []byte(text)).Suite()
			if err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			var ids, hashes []string
			for _, c := range suite.Cases {
				ids, hashes = append(ids, c.ID), append(hashes, c.Hash)
				line := `{"id": "a", "input": ` + quoted(c.Messages[0].Content) + `, "ideal": "z", "assertion": {"type": "contains"}}`
				byHand, _, err := NewBundle("", "a.jsonl", []byte(line)).Suite()
				if err != nil || byHand.Cases[0].Hash != c.Hash {
					t.Fatalf("%s has another hash: %v", line, err)
				}
				if unsafeID(c.ID) != "" {
					t.Fatalf("id %q", c.ID)
				}
			}
			return ids, append(hashes, suite.Hash)
		}
		ids, hashes := load()
		again, same := load()
		if diff := cmp.Diff(ids, again) + cmp.Diff(hashes, same); diff != "" {
			t.Fatal(diff)
		}
	}
}

func quoted(s string) string {
	v := doc.NewString(s, doc.Place{})
	return string(v.JSON())
}
