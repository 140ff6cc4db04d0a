package lib

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/script"
)

// suites is where the modules lie that these tests run.
const suites = "../testdata/code"

// vm loads a module.
func vm(tb testing.TB, name string, o script.Environment) *script.VM {
	tb.Helper()
	entry, err := filepath.Abs(name)
	if err != nil {
		tb.Fatal(err)
	}
	program, err := script.Build(script.BuildOptions{Entry: entry, Modules: names(Modules()), Preload: []string{entryName}})
	if err != nil {
		tb.Fatal(err)
	}
	o.Modules = Modules()
	v, err := script.Start(tb.Context(), program, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = v.Close() })
	return v
}

func names(modules map[string]string) map[string]bool {
	names := map[string]bool{}
	for name := range modules {
		names[name] = true
	}
	return names
}

// call calls an entry and decodes what it gives.
func call[T any](tb testing.TB, v *script.VM, entry string, args ...any) T {
	tb.Helper()
	raw, err := v.Call(tb.Context(), entry, args...)
	if err != nil {
		tb.Fatalf("%s: %v", entry, err)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		tb.Fatalf("%s gave no text: %s", entry, raw)
	}
	var result T
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		tb.Fatalf("%s gave %s: %v", entry, text, err)
	}
	return result
}

type description struct {
	Cases []struct {
		ID string `json:"id"`
	} `json:"cases"`
}

type judged struct {
	Failures []failure `json:"failures"`
	Error    *failure  `json:"error"`
	Checks   int       `json:"checks"`
}

type failure struct {
	Origin    string           `json:"origin,omitempty"`
	Name      string           `json:"name"`
	Message   string           `json:"message"`
	Code      string           `json:"code,omitempty"`
	Operator  string           `json:"operator,omitempty"`
	Check     string           `json:"check,omitempty"`
	Soft      bool             `json:"soft,omitempty"`
	Actual    string           `json:"actual,omitempty"`
	Expected  string           `json:"expected,omitempty"`
	Source    *script.Position `json:"source,omitempty"`
	Class     *failureClass    `json:"class,omitempty"`
	Questions []question       `json:"questions,omitempty"`
	Hint      string           `json:"hint,omitempty"`
	Stack     string           `json:"stack,omitempty"`
}

type failureClass struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
}

type question struct {
	Question string          `json:"question"`
	Source   script.Position `json:"source"`
}

// report is the session that the suites look at, in a workspace.
func report(tb testing.TB, workspace string) json.RawMessage {
	tb.Helper()
	data, err := os.ReadFile("testdata/report.json")
	if err != nil {
		tb.Fatal(err)
	}
	return json.RawMessage(strings.ReplaceAll(string(data), "WORKSPACE", filepath.ToSlash(workspace)))
}

// evidence names a workspace.
func evidence(workspace string) json.RawMessage {
	data, _ := json.Marshal(map[string]string{"workspace": workspace})
	return data
}

// judge runs all cases of a suite, one after the other, and returns what became of each by its id.
func judge(t *testing.T, v *script.VM, workspace string) map[string]judged {
	t.Helper()
	all := map[string]judged{}
	for _, c := range call[description](t, v, "describe").Cases {
		all[c.ID] = call[judged](t, v, "assert", c.ID, report(t, workspace), evidence(workspace))
	}
	return all
}

// sameJSON compares a value as JSON with a file, with the machine's paths replaced. Stacks are left out of it.
func sameJSON(t *testing.T, name string, value any, replaced ...string) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(suites)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.NewReplacer(append(replaced, filepath.ToSlash(root), "SUITES")...).Replace(b.String())
	golden.Equal(t, filepath.Join("testdata", name+".golden.json"), got)
}

// withoutStacks drops the stacks, which golden files have no use for.
func withoutStacks(all map[string]judged) map[string]judged {
	for id, j := range all {
		for i := range j.Failures {
			j.Failures[i].Stack = ""
		}
		if j.Error != nil {
			j.Error.Stack = ""
		}
		all[id] = j
	}
	return all
}

func TestChecksThatFail(t *testing.T) {
	workspace := t.TempDir()
	all := judge(t, vm(t, suites+"/groups.suite.ts", script.Environment{}), workspace)
	for id, j := range all {
		if len(j.Failures) != 1 {
			t.Errorf("%s: %d failures, want 1", id, len(j.Failures))
		}
	}
	sameJSON(t, "groups", withoutStacks(all), filepath.ToSlash(workspace), "WORKSPACE")
}

func TestChecksThatHold(t *testing.T) {
	all := judge(t, vm(t, suites+"/holds.suite.ts", script.Environment{}), t.TempDir())
	for id, j := range all {
		if len(j.Failures) != 0 || j.Checks < 10 {
			t.Errorf("%s: %d checks, %+v", id, j.Checks, j.Failures)
		}
	}
}

func TestNodeAssertions(t *testing.T) {
	all := judge(t, vm(t, suites+"/basics.suite.ts", script.Environment{}), "/w")
	if j := all["passes"]; len(j.Failures) > 0 {
		t.Errorf("passes: %+v", j.Failures)
	}
	sameJSON(t, "basics", withoutStacks(all))
}

func TestWhatIsThrown(t *testing.T) {
	sameJSON(t, "thrown", withoutStacks(judge(t, vm(t, suites+"/thrown.suite.ts", script.Environment{}), "/w")))
}

func TestSoft(t *testing.T) {
	v := vm(t, suites+"/soft.suite.ts", script.Environment{})
	all := judge(t, v, "/w")
	stack := all["soft"].Error.Stack
	for i, f := range all["soft"].Failures {
		if f.Source == nil || !strings.Contains(stack, f.Source.String()) {
			t.Errorf("the stack of the aggregate lacks failure %d, at %v:\n%s", i, f.Source, stack)
		}
	}
	sameJSON(t, "soft", withoutStacks(all))
}

// Asserts that wait let others run. The failures of each stay with it.
func TestSoftInterleaved(t *testing.T) {
	v := vm(t, suites+"/soft.suite.ts", script.Environment{})
	alone := judge(t, v, "/w")
	cases := call[description](t, v, "describe").Cases
	type answer struct {
		id  string
		got judged
		err error
	}
	answers := make(chan answer)
	const rounds = 4
	for range rounds {
		for _, c := range cases {
			go func() {
				a := answer{id: c.ID}
				var raw json.RawMessage
				var text string
				raw, a.err = v.Call(context.WithoutCancel(t.Context()), "assert", c.ID, report(t, "/w"), evidence("/w"))
				if a.err == nil {
					a.err = errors.Join(json.Unmarshal(raw, &text), json.Unmarshal([]byte(text), &a.got))
				}
				answers <- a
			}()
		}
	}
	for range rounds * len(cases) {
		a := <-answers
		if a.err != nil {
			t.Errorf("%s: %v", a.id, a.err)
			continue
		}
		if diff := cmp.Diff(alone[a.id], a.got); diff != "" {
			t.Errorf("%s is judged in another way beside others (-alone +beside):\n%s", a.id, diff)
		}
	}
}

func TestFiles(t *testing.T) {
	workspace := t.TempDir()
	for name, text := range map[string]string{"notes.md": "# Notes\n\nAll new.\n", "src/app.ts": "export const a = 1;\n"} {
		file := filepath.Join(workspace, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "hostname"), nil, 0o666), os.Symlink(outside, filepath.Join(workspace, "link"))); err != nil {
		t.Fatal(err)
	}
	v := vm(t, suites+"/files.suite.ts", script.Environment{})
	all := judge(t, v, workspace)
	if j := all["holds"]; len(j.Failures) > 0 {
		t.Errorf("holds: %+v", j.Failures)
	}
	sameJSON(t, "files", withoutStacks(all), filepath.ToSlash(workspace), "WORKSPACE", filepath.Base(workspace), "WORKSPACE")
	// Without a workspace nothing is known of its files.
	j := call[judged](t, v, "assert", "holds", report(t, "/w"), evidence(""))
	if len(j.Failures) != 1 || j.Failures[0].Origin != "assert-hook" || !strings.Contains(j.Failures[0].Message, "has no workspace") {
		t.Errorf("without a workspace: %+v", j.Failures)
	}
}

func TestAsk(t *testing.T) {
	var asked []string
	answer := func(op string) script.HostFunc {
		return func(_ context.Context, args []json.RawMessage) (any, error) {
			var text string
			if err := json.Unmarshal(args[0], &text); err != nil {
				return nil, err
			}
			asked = append(asked, op+" "+text)
			switch {
			case strings.Contains(text, "unavailable"):
				return nil, &script.Error{Name: "JudgeError", Code: "ERR_JUDGE", Message: "the judge is out"}
			case strings.Contains(text, `"rude?`), strings.Contains(text, "Something else"), strings.Contains(text, `rude?","expect":"yes"`):
				return `{"pass":false,"score":0.1,"reason":"It is not."}`, nil
			}
			return `{"pass":true,"score":1,"reason":"It is."}`, nil
		}
	}
	v := vm(t, suites+"/ask.suite.ts", script.Environment{Async: map[string]script.HostFunc{"judge": answer("judge"), "similar": answer("similar")}})
	all := judge(t, v, t.TempDir())
	sameJSON(t, "ask", map[string]any{"asked": asked, "judged": withoutStacks(all)})
}

func TestDescribe(t *testing.T) {
	for _, name := range []string{"fields.suite.ts", "broken.suite.js", "files.suite.ts", "basics.suite.ts"} {
		v := vm(t, filepath.Join(suites, name), script.Environment{})
		sameJSON(t, "describe-"+strings.SplitN(name, ".", 2)[0], call[any](t, v, "describe"))
	}
}

func TestDefaultExports(t *testing.T) {
	for text, want := range map[string]string{
		`export const x = 1`:      "does not have a default export",
		`export default null`:     "not null",
		`export default () => []`: "not a function",
		`export default "cases"`:  "not a string",
		`export default {}`:       "no cases",
		`export default [{id: "x", prompt: "x", assert(){}}, ,]`: "expected a case, not undefined",
		`export default []`:                                     "no cases",
		`export default Promise.resolve([])`:                    "is a promise",
		`export default {id: "x", prompt: "x", assert(){}}`:     "a single case",
		`module.exports = [{id: "x", prompt: "x", assert(){}}]`: "",
	} {
		file := filepath.Join(t.TempDir(), "a.js")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		got := call[struct{ Problems []struct{ Message string } }](t, vm(t, file, script.Environment{}), "describe").Problems
		switch {
		case want == "" && len(got) > 0:
			t.Errorf("%s: %v", text, got)
		case want != "" && (len(got) != 1 || !strings.Contains(got[0].Message, want)):
			t.Errorf("%s: %v, want %q", text, got, want)
		}
	}
}

// A suite in a directory that other tools take for their own has places and questions like all others.
func TestPlacesInOddDirectories(t *testing.T) {
	all := judge(t, vm(t, suites+"/src/runner/deep.suite.ts", script.Environment{}), t.TempDir())
	f := all["deep"].Failures[0]
	if len(f.Questions) != 1 || f.Source == nil || !strings.HasSuffix(f.Source.File, "deep.suite.ts") || f.Source.Line != 9 {
		t.Errorf("%+v", f)
	}
}

func TestClassify(t *testing.T) {
	type answer struct {
		Class   *failureClass `json:"class"`
		Problem *failure      `json:"problem"`
	}
	v := vm(t, suites+"/fields.suite.ts", script.Environment{})
	for _, c := range []struct {
		id, message, want string
	}{
		{"full", "wrong alias", "wrong-alias"},
		{"full", "something", ""},
		{"full", "throw", "!cannot tell"},
		{"full", "null", "!a failure class is"},
		{"late", "x", "later"},
	} {
		got := call[answer](t, v, "classify", c.id, `{"error":{"message":"`+c.message+`"}}`)
		want, problem := strings.CutPrefix(c.want, "!")
		switch {
		case problem && (got.Problem == nil || !strings.HasPrefix(got.Problem.Message, want)),
			!problem && (got.Problem != nil || (got.Class == nil) != (want == "") || got.Class != nil && got.Class.ID != want):
			t.Errorf("%s: %+v, want %q", c.message, got, c.want)
		}
	}
}

func TestReadConfig(t *testing.T) {
	for _, name := range []string{"skillgym.config.ts", "named.config.ts", "broken.config.js"} {
		v := vm(t, filepath.Join(suites, name), script.Environment{})
		sameJSON(t, "config-"+strings.SplitN(name, ".", 2)[0], call[any](t, v, "readConfig"))
	}
}

func TestReporter(t *testing.T) {
	var out bytes.Buffer
	v := vm(t, suites+"/reporter.ts", script.Environment{Stdout: &out})
	hooks := call[struct{ Hooks []string }](t, v, "reporter").Hooks
	if diff := cmp.Diff([]string{"onSuiteStart", "onRunnerFinish", "onSuiteFinish", "onError"}, hooks); diff != "" {
		t.Error(diff)
	}
	type answer struct{ Error *failure }
	for _, e := range [][2]string{
		{"onSuiteStart", `{"context":{"suitePath":"a.ts"},"cases":[{}]}`},
		{"onRunnerFinish", `{"case":{"id":"c"},"runner":{"id":"r"},"result":{"status":"passed"}}`},
		{"onSuiteFinish", `{}`},
	} {
		if got := call[answer](t, v, "report", e[0], e[1]); got.Error != nil {
			t.Errorf("%s: %v", e[0], got.Error)
		}
	}
	if got, want := out.String(), "1 cases of a.ts\nc on r: passed\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := call[answer](t, v, "report", "onError", `{"error":{"name":"Oops","message":"it broke"}}`); got.Error == nil || got.Error.Message != "seen: it broke" {
		t.Errorf("onError: %+v", got.Error)
	}
	none := call[struct{ Problem string }](t, vm(t, suites+"/named.config.ts", script.Environment{}), "reporter")
	if !strings.HasPrefix(none.Problem, "Reporter module must export ") {
		t.Errorf("no reporter: %+v", none)
	}
}
