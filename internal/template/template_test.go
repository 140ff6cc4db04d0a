package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/js"
)

func variables(tb testing.TB, text string) *doc.Value {
	tb.Helper()
	v, problem := doc.ParseJSON("vars", []byte(text))
	if problem != nil {
		tb.Fatal(problem.Message)
	}
	return &v
}

func render(template string, vars *doc.Value) (string, *Problem) {
	t, err := Parse(template)
	text := ""
	if err == nil {
		text, err = NewScope(vars).Render(t, nil)
	}
	problem, _ := errors.AsType[*Problem](err)
	return text, problem
}

// TestTemplatesAgree compares with outputs of the npm package nunjucks, in testdata/templates.json.
func TestTemplatesAgree(t *testing.T) {
	data, err := os.ReadFile("testdata/templates.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Vars json.RawMessage
		Rows []struct{ Template, Want string }
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	vars := variables(t, string(table.Vars))
	for _, row := range table.Rows {
		got, problem := render(row.Template, vars)
		if problem != nil {
			t.Errorf("%s: %v", row.Template, problem)
		} else if got != row.Want {
			t.Errorf("%s: got %q, want %q", row.Template, got, row.Want)
		}
	}
}

// TestAsNunjucks has rows that the recorded outputs lack. The wants are those of the npm package.
func TestAsNunjucks(t *testing.T) {
	vars := variables(t, `{"keys": ["_a", "B", "a_b", "ab"], "snake": {"a_b": 1, "ab": 2}, "n": 1.5e-7}`)
	for template, want := range map[string]string{
		"{{ keys | sort }}": "_a,a_b,ab,B", "{{ snake | dictsort }}": "ab,2,a_b,1", "{{ n | int }}": "1",
		"{{ 'ab c' | truncate(0) }}": "ab c", "{{ 'a' | center(0) | length }}": "80", "{{ 'a\nb' | indent(0) }}": "a\n    b",
		"{{ [1, 2, 3] | batch(2, 'z') | dump }}": `[[1,2],[3,"z"]]`, "{{ 7 | last }}": "", "{{ 'a' ~ none }}": "anull",
		"{{ 0.1 // 0.1 }} {{ 1 // 0.1 }} {{ -7 // 2 }} {{ -7 % 2 }}": "1 10 -4 -1",
	} {
		if got, problem := render(template, vars); problem != nil || got != want {
			t.Errorf("%s: got %q, want %q (%v)", template, got, want, problem)
		}
	}
}

// longNumber returns a template that evaluates an expression with a long number often.
func longNumber(expression string) string {
	return "{% set n = 10 ** 3000 %}{% for i in range(50000) %}{% if " + expression + " %}{% endif %}{% endfor %}"
}

// TestProblems lists what is an error here and not in Nunjucks, and the places of errors.
func TestProblems(t *testing.T) {
	vars := variables(t, `{"name": "x", "user": {"a": 1}, "l": [{"u": 1}, 2], "deep": [[[{}]]]}`)
	for _, test := range []struct {
		template, want string
		line, column   int
	}{
		{"a {{ nam }}", `undefined variable "nam"`, 1, 6},
		{"a\n{{ nam | upper }}", `undefined variable "nam"`, 2, 4},
		{"é\n {{ user.nam }}", `undefined variable "user.nam"`, 2, 9},
		{"{{ user }}", "an object is not a text", 1, 4},
		{"{{ l }}", "an object is not a text", 1, 4}, // F2
		{"{{ deep }}{{ l | join }}", "an object is not a text", 1, 4},
		{"{{ l | join }}", "an object is not a text", 1, 8},
		{"{{ 'a' ~ user }}", "an object is not a text", 1, 8},
		{"{% for x in lst %}{% endfor %}", `undefined variable "lst"`, 1, 13},
		{"{% if name %}{{ nam }}{% endif %}", `undefined variable "nam"`, 1, 17},
		{"{% if nam %}{{ nam }}{% endif %}{{ nam or 1 }}{{ nam | d(1) }}{{ 1 if nam }}", "", 0, 0},
		{"{{ env.KEY }}", `undefined variable "env"`, 1, 4},
		{"{% include 'x' %}", "a template cannot read other files", 1, 4},
		{"{% import 'x' as y %}", "a template cannot read other files", 1, 4},
		{"{{ name | random }}", `unknown filter "random"`, 1, 11},
		{"{{ name is strange }}", `unknown test "strange"`, 1, 12},
		{"{{ name | trim(1) }}", "trim has at most 0 arguments", 1, 19},
		{"{{ name.slice(1, 2, 3) }}", "slice has at most 2 arguments", 1, 8},
		{"{{ true.trim() }}", `true or false has no function "trim"`, 1, 8},
		{"{{ 1 if name else 2 if name else 3 }}", "invalid template: expected variable end", 1, 21},
		{"{% if %}", "invalid template: unexpected token: %}", 1, 7},
		{"{{ name", "invalid template: expected variable end", 1, 8},
		{"{% for x in l %}", "invalid template: expected endfor, else, got end of file", 1, 17},
		{"{{ name.repeat(300000000) }}", "the templates of the case need too much memory", 1, 8},
		{"{% for i in range(1000000000) %}x{% endfor %}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "macros call one another more than 200 times", 1, 19},
		{"{% set s = 'x' %}{% for i in range(99) %}{% set s = s ~ s %}{% endfor %}", "the templates of the case need too much memory", 1, 55},
		{"{% for i in range(2000) %}{% for j in range(2000) %}{{ i }}{% endfor %}{% endfor %}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{{ 9 ** 9 ** 99 ** 9 }}", "a template cannot compute with more than 4000 digits", 1, 17},
		{"{% for i in range(1000000) %}{{ 'a'.trim() }}{% endfor %}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% set x = [] %}{% for i in range(1000) %}{% set x = [x] %}{% endfor %}{{ x }}", "the lists are nested too deeply", 1, 75},
		{"{% set a = 'ab'.repeat(1000000) %}{% set b = 'ab'.repeat(1000000) %}{% for i in range(100000) %}{% if a == b %}{% endif %}{% endfor %}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% set a = 'a'.repeat(1000000) %}{{ a | replace(r/" + strings.Repeat("a?", 900) + "zz/, 'b') }}", "the templates of the case take more than 4194304 steps", 1, 0},
		{strings.Repeat("(", 100000), "", -1, 0},
		{strings.Repeat("{% if 1 %}", 100000), "", -1, 0},
		{"{{ 1" + strings.Repeat("|abs", 100000) + " }}", "the template is nested too deeply", 1, 609},
		{"{{ name" + strings.Repeat(".a", 100000) + " }}", "the template is nested too deeply", 1, 310},
		{"{{ " + strings.Repeat("not ", 100000) + "1 }}", "the template is nested too deeply", 1, 600},
		{"{{ " + strings.Repeat("[", 100000), "the template is nested too deeply", 1, 153},
		{longNumber("n | round"), "the templates of the case take more than 4194304 steps", 1, 0},
		{longNumber("n | int"), "the templates of the case take more than 4194304 steps", 1, 0},
		{longNumber("[n] | sum"), "the templates of the case take more than 4194304 steps", 1, 0},
		{longNumber("1 in [n]"), "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% set l = range(1000000) %}{% for i in range(99999) %}{% if l.slice(1) %}{% endif %}{% endfor %}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% set l = range(1000000) %}{% for i in range(99999) %}{% if 1 in l %}{% endif %}{% endfor %}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% set x = [] %}{% for i in range(40) %}{% set x = [x, x] %}{% endfor %}{{ x }}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% set x = [] %}{% for i in range(40) %}{% set x = [x, x] %}{% endfor %}{{ x | dump }}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% set x = [] %}{% for i in range(40) %}{% set x = [x, x] %}{% endfor %}{{ x | join }}", "the templates of the case take more than 4194304 steps", 1, 0},
		{"{% set x = [] %}{% for i in range(40) %}{% set x = [x, x] %}{% endfor %}{{ 'a' ~ x }}", "the templates of the case take more than 4194304 steps", 1, 0},
		{longNumber("n is odd"), "the templates of the case take more than 4194304 steps", 1, 0},
	} {
		_, problem := render(test.template, vars)
		got := Problem{}
		if problem != nil {
			got = *problem
		}
		if test.line < 0 {
			continue // only that it ends
		}
		if got.Message != test.want || got.Line != test.line || test.column > 0 && got.Column != test.column {
			t.Errorf("%.80s: got %+v, want %+v", test.template, got, test)
		}
	}
}

// TestF1_F5_F7_NothingBehindValues: what a value has beside its keys, indices and the listed functions is undefined, however
// it is asked for; and no template reaches an engine, a file or the environment.
func TestF1_F5_F7_NothingBehindValues(t *testing.T) {
	vars := variables(t, `{"text": "x", "n": 1, "yes": true, "none_": null, "l": ["a"], "o": {"k": "v"}}`)
	members := []string{
		"constructor", "__proto__", "prototype", "toString", "valueOf", "hasOwnProperty", "toLocaleString", "isPrototypeOf",
		"__defineGetter__", "__lookupGetter__", "propertyIsEnumerable", "call", "apply", "bind", "link", "anchor", "trim", "sort",
		"push", "map", "at", "name", "caller", "arguments", "toUpperCase", "split", "join", "reverse", "toFixed", "match", "eval",
	}
	values := []string{
		"text", "n", "yes", "none_", "l", "o", "'x'", "1", "[]", "{}", "range", "cycler", "joiner", "range(2)", "cycler(1)", "joiner()",
		"text.toUpperCase", "text.toUpperCase()", "l.join()", "m", "m()", "loop", "caller", "r/a/", "(text | upper)", "text.split('')",
	}
	var templates []string
	for _, m := range members {
		templates = append(templates, "{{ "+m+" }}", "{{ "+m+"() }}", "{{ "+m+".constructor }}")
		for _, v := range values {
			templates = append(templates, "{{ "+v+"."+m+" }}", "{{ "+v+"['"+m+"'] }}", "{{ "+v+"."+m+"."+m+" }}",
				"{{ "+v+"."+m+".constructor('return 7*191')() }}", "{{ ["+v+"."+m+"] }}", "{{ "+v+"."+m+" | string }}",
				"{{ [o] | join(',', '"+m+"') }}{{ [1] | groupby('"+m+"') | dump }}",
				"{% set f = "+v+"."+m+" %}{{ f('return 1') }}")
		}
	}
	for _, v := range values[10:13] {
		templates = append(templates, "{{ "+v+" }}", "{{ ["+v+"] }}", "{% set f = "+v+" %}{{ f }}", "{{ "+v+" | dump }}")
	}
	for _, template := range templates {
		text, problem := render("{% macro m() %}{% endmacro %}"+template, vars)
		if problem == nil && strings.Trim(text, ",[]{}") != "" {
			t.Errorf("%s: %q", template, text)
		}
		if problem != nil && (problem.Line != 1 || problem.Column < 1) {
			t.Errorf("%s: no place: %+v", template, problem)
		}
	}
}

// TestF3_NumbersAsWritten: a number of a variable is inserted as it was written, in each way that does not compute with it.
func TestF3_NumbersAsWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?`).Draw(r, "number")
		vars := variables(t, `{"n": `+n+`, "o": {"l": [`+n+`]}}`)
		text, problem := render("{{ n }}|{{ o.l }}|{{ n | string }}|{{ n ~ '' }}|{{ o.l | join }}|{{ n | dump }}|"+
			"{% set x = n %}{{ x }}|{% for x in o.l %}{{ x }}{% endfor %}|{{ n | default(1) }}|{{ n == o.l[0] }}|{{ n in o.l }}", vars)
		if want := strings.Repeat(n+"|", 9) + "true|true"; problem != nil || text != want {
			r.Fatalf("got %s, want %s (%v)", text, want, problem)
		}
	})
	rapid.Check(t, func(r *rapid.T) { // integers are exact
		a, b := rapid.StringMatching(`-?[1-9][0-9]{0,40}`).Draw(r, "a"), rapid.StringMatching(`-?[1-9][0-9]{0,40}`).Draw(r, "b")
		x, _ := new(big.Int).SetString(a, 10)
		y, _ := new(big.Int).SetString(b, 10)
		text, problem := render("{{ a + b }} {{ a - b }} {{ a * b }} {{ a % b }} {{ a // b * 1 == a // b }} {{ a < b }}",
			variables(t, `{"a": `+a+`, "b": `+b+`}`))
		want := fmt.Sprintf("%d %d %d %d", new(big.Int).Add(x, y), new(big.Int).Sub(x, y), new(big.Int).Mul(x, y), new(big.Int).Rem(x, y))
		if problem == nil && !strings.HasPrefix(text, want+" ") || problem != nil && !strings.Contains(problem.Message, "order") {
			r.Fatalf("got %s, want %s (%v)", text, want, problem)
		}
	})
	for _, template := range []string{"{{ 1 / 0 }}", "{{ n * 0.5 }}", "{{ 'a' * 2 }}", "{{ n | round(2) }}", "{{ n / 3 }}"} {
		if text, problem := render(template, variables(t, `{"n": 12345678901234567890.25}`)); problem == nil {
			t.Errorf("%s: %s", template, text)
		}
	}
	infinite, problem := doc.ParseYAML("a", []byte("{n: .inf, l: [.nan], t: '.inf'}"), 10)
	if problem != nil {
		t.Fatal(problem.Message)
	}
	for _, template := range []string{"{{ n }}", "{{ l }}", "{{ n + 1 }}", "{{ n | dump }}", "{{ n ~ 'a' }}", "{{ n | int }}", "{{ n > 1 }}"} {
		if text, problem := render(template, &infinite); problem == nil {
			t.Errorf("%s: %s", template, text)
		}
	}
	if text, problem := render("{{ t }}", &infinite); text != ".inf" || problem != nil {
		t.Errorf("got %s, %v", text, problem)
	}
}

// TestQuote: a value in a pattern matches itself, however it gets there, unless safe is the last filter.
func TestQuote(t *testing.T) {
	quote := func(s string) (string, error) { return regexp.QuoteMeta(s), nil }
	vars := variables(t, `{"y": "a.b|c"}`)
	for template, want := range map[string]string{
		"^{{ y }}$": `^a\.b\|c$`, "{{ y | safe }}.": "a.b|c.", "{{ y | safe | upper }}": `A\.B\|C`,
		"{% set z = y | safe %}{{ z }}": `a\.b\|c`, "{% set z %}({{ y }}){% endset %}{{ z }}": `\(a\.b\|c\)`,
		"{% for x in [y] %}({{ x }}){% endfor %}":       `(a\.b\|c)`,
		"{% macro m() %}{{ y }}{% endmacro %}{{ m() }}": `a\.b\|c`, "{% filter upper %}{{ y }}{% endfilter %}": `A\.B\|C`,
		"{% macro m(x) %}({{ x }}){% endmacro %}{{ m(y) }}": `\(a\.b\|c\)`, "{{ y.padEnd(7) }}": `a\.b\|c  `,
	} {
		parsed, err := Parse(template)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := NewScope(vars).Render(parsed, quote); got != want || err != nil {
			t.Errorf("%s: got %s, want %s (%v)", template, got, want, err)
		}
	}
}

// TestDocumented: docs/suites.md lists the filters, tests and functions, and no others.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/suites.md")
	if err != nil {
		t.Fatal(err)
	}
	for part, all := range map[string]map[string]function{
		"filters": filters, "tests": tests, "functions of a text": methods[js.Text], "functions of a list": methods[js.Array],
		"functions of a number": methods[js.Numeric],
	} {
		row := "\n| " + part + " | `" + strings.Join(slices.Sorted(maps.Keys(all)), "`, `") + "` |\n"
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/suites.md needs this row:%s", row)
		}
	}
}

func TestLiteral(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"{{", "}}", "{%", "%}", "{#", "#}", " endraw ", "raw", "a", "-", "{", "'"})).Draw(r, "text"), "")
		if got, problem := render(Literal(text), nil); problem != nil || got != text {
			r.Fatalf("%q became %q: %v", text, got, problem)
		}
	})
}

// FuzzTemplate: a template gives a text or an error with a place within it, the same each time, and soon.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{
		"{{ name }}", "{% for x in list %}{{ x }}{% endfor %}", "{{ a.b | default('x') }}", "{% set x = [1] %}{{ x[0] }}", "{{", "{%-", "{# #}",
		"{% macro m(a, b=1) %}{{ a }}{{ b }}{% endmacro %}{{ m(2) }}", "{{ [1, 2] | select('divisibleby', 2) }}", "{{ name.padStart(9, 'é😀') }}", "{{ 'a' | replace(r/a+/g, 'b') }}", "{{ {a: 1} | dump(2) }}",
		"{% switch n %}{% case 1 %}a{% default %}b{% endswitch %}", "{% raw %}{{{% endraw %}", "{{ 2 ** 3 // 4 - 1 if n in list else name.slice(1) }}",
	} {
		f.Add(s)
	}
	vars := variables(f, `{"name": "x", "list": [1, 2.50, "é😀"], "n": 12345678901234567890, "user": {"k": null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		once, problem := render(text, vars)
		again, same := render(text, vars)
		if once != again || (problem == nil) != (same == nil) {
			t.Errorf("%q became %q and %q", text, once, again)
		}
		if problem != nil && (problem.Line < 1 || problem.Line > strings.Count(text, "\n")+1 || problem.Column < 1) {
			t.Errorf("%q: %+v", text, problem)
		}
		if !Is(text) && once != text {
			t.Errorf("%q became %q", text, once)
		}
		if _, problem := render(Literal(text), nil); problem != nil {
			t.Errorf("Literal(%q): %v", text, problem)
		}
	})
}
