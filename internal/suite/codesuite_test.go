package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// suiteIn writes files to a directory and reads the suite a.ts there.
func suiteIn(t *testing.T, files map[string]string) *Bundle {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	b, err := Read(t.Context(), "a.ts", ReadOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// loaded is a suite in code that has no problems, with its cases by id.
func loaded(t *testing.T, b *Bundle, h lib.Host) (*plumb.Suite, map[string]*plumb.Case) {
	t.Helper()
	suite, warnings, err := b.Suite(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	cases := map[string]*plumb.Case{}
	for i := range suite.Cases {
		cases[suite.Cases[i].ID] = &suite.Cases[i]
	}
	return suite, cases
}

// assertOn judges a session with the given output.
func assertOn(ctx context.Context, c *plumb.Case, output string) ([]plumb.Verdict, error) {
	return c.Assertions[0].Assert(ctx, plumb.Evidence{Case: c, Report: &plumb.SessionReport{FinalOutput: output}})
}

// codeCases is the text of a suite with the given cases: id and body of assert, in turn.
func codeCases(pairs ...string) string {
	var b strings.Builder
	b.WriteString(`import { assert, type SessionReport } from "plumb"; let calls = 0; const all = Promise.withResolvers<void>(); const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms)); export default [` + "\n")
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "{ id: %q, prompt: \"p\", async assert(report: SessionReport) { %s } },\n", pairs[i], pairs[i+1])
	}
	b.WriteString("];\n")
	return b.String()
}

func TestCodeSuite(t *testing.T) {
	b, err := Read(t.Context(), "testdata/suites-ts/basic/basic.suite.ts", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	suite, byID := loaded(t, b, lib.Host{})
	if !b.Code() || suite.Name != "basic.suite" || len(suite.Cases) != 2 || suite.Cases[0].ID != "says-red" {
		t.Fatalf("got %+v", suite)
	}
	c := byID["says-red"]
	if c.Timeout != time.Minute || c.Prompt() != "Name a colour." || !cmp.Equal(c.Tags, []string{"smoke"}) {
		t.Errorf("got %+v", c)
	}
	if suite.Workspace == nil || suite.Workspace.Mode != plumb.WorkspaceIsolated {
		t.Errorf("workspace is %+v", suite.Workspace)
	}
	verdicts, err := assertOn(t.Context(), c, "red")
	if err != nil || len(verdicts) != 1 || !verdicts[0].Pass {
		t.Errorf("got %+v, %v", verdicts, err)
	}
	verdicts, err = assertOn(t.Context(), c, "blue")
	if err != nil || len(verdicts) != 1 || verdicts[0].Pass || verdicts[0].Error != nil {
		t.Fatalf("got %+v, %v", verdicts, err)
	}
	v := verdicts[0]
	if !strings.Contains(v.Reason, `"red"`) || !strings.Contains(v.Stack, "helper.ts:4:") || !strings.Contains(v.Stack, "basic.suite.ts:13:") {
		t.Errorf("got %+v", v)
	}
	if v.Source == nil || v.Source.File != "testdata/suites-ts/basic/helper.ts" || v.Source.Line != 4 {
		t.Errorf("source is %v", v.Source)
	}
	other, _ := loaded(t, b, lib.Host{})
	if other.Hash != suite.Hash || other.Cases[0].Hash != suite.Cases[0].Hash || suite.Cases[0].Hash == suite.Cases[1].Hash {
		t.Error("the hashes are not those of the contents")
	}
}

// TestCodeHash: the hash covers the files of the suite and the packages it imports, wherever they are.
func TestCodeHash(t *testing.T) {
	files := func() map[string]string {
		return map[string]string{
			"a.ts":                          `import x from "pkg"; import { y } from "./lib/y"; export default [{id: x + y, prompt: "p", assert() {}}];` + "\n",
			"lib/y.ts":                      "export const y = 'y';\n",
			"node_modules/pkg/package.json": `{"name": "pkg", "main": "i.js"}`,
			"node_modules/pkg/i.js":         "module.exports = 'x';\n",
		}
	}
	hash := func(change func(map[string]string)) string {
		f := files()
		change(f)
		suite, _ := loaded(t, suiteIn(t, f), lib.Host{})
		return suite.Hash
	}
	base := hash(func(map[string]string) {})
	if again := hash(func(map[string]string) {}); again != base {
		t.Errorf("the same suite elsewhere has hash %s, not %s", again, base)
	}
	if crlf := hash(func(f map[string]string) { f["lib/y.ts"] = "export const y = 'y';\r\n" }); crlf != base {
		t.Error("line ends change the hash")
	}
	if nested := hash(func(f map[string]string) {
		f["lib/node_modules/other/index.js"] = "nothing imports it"
	}); nested != base {
		t.Error("a file that nothing imports changes the hash")
	}
	for _, name := range []string{"a.ts", "lib/y.ts", "node_modules/pkg/i.js"} {
		if changed := hash(func(f map[string]string) { f[name] += "// changed\n" }); changed == base {
			t.Errorf("%s does not change the hash", name)
		}
	}
}

func TestCodeRoundTrip(t *testing.T) {
	b := suiteIn(t, map[string]string{
		"a.ts": `import { assert } from "plumb"; import { want } from "./want";
export const workspace = { mode: "shared", templateDir: "./fixture", bootstrap: { command: "./setup.sh", args: ["./x", "y"] } };
export default { one: { id: "one", prompt: "p", assert(report) { assert.equal(report.finalOutput, want); } } };`,
		"want.ts":       "export const want = 'this';",
		"fixture/f.txt": "content",
	})
	suite, _ := loaded(t, b, lib.Host{})
	dir := filepath.Dir(b.origin)
	want := &plumb.WorkspaceConfig{
		Mode: plumb.WorkspaceShared, TemplateDir: filepath.Join(dir, "fixture"),
		Bootstrap: &plumb.Bootstrap{Command: filepath.Join(dir, "setup.sh"), Args: []string{filepath.Join(dir, "x"), "y"}},
	}
	if diff := cmp.Diff(want, suite.Workspace); diff != "" {
		t.Errorf("workspace -want +got:\n%s", diff)
	}
	to := filepath.Join(t.TempDir(), "bundle")
	if err := b.Write(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	open := func() *Bundle {
		again, err := Open(to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = again.Close() })
		return again
	}
	again := open()
	loadedAgain, byID := loaded(t, again, lib.Host{})
	if !again.Code() || loadedAgain.Hash != suite.Hash || loadedAgain.Cases[0].Hash != suite.Cases[0].Hash {
		t.Errorf("got %s, %s", loadedAgain.Hash, loadedAgain.Cases[0].Hash)
	}
	if diff := cmp.Diff(suite.Workspace, loadedAgain.Workspace); diff != "" {
		t.Errorf("workspace:\n%s", diff)
	}
	// A bundle can be stored anew.
	if err := again.Write(t.Context(), filepath.Join(t.TempDir(), "second")); err != nil {
		t.Error(err)
	}
	if verdicts, err := assertOn(t.Context(), byID["one"], "this"); err != nil || !verdicts[0].Pass {
		t.Errorf("got %+v, %v", verdicts, err)
	}

	write(t, filepath.Join(dir, "fixture", "f.txt"), "changed")
	_, warnings, err := open().Suite(t.Context(), lib.Host{})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Message, "has changed") {
		t.Errorf("a changed template: %v, %v", warnings, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	last := open()
	gone, warnings, err := last.Suite(t.Context(), lib.Host{})
	if err != nil || len(warnings) != 1 {
		t.Fatalf("without its directory: %v, %v", warnings, err)
	}
	verdicts, err := assertOn(t.Context(), &gone.Cases[0], "that")
	if err != nil || verdicts[0].Pass || verdicts[0].Source == nil || verdicts[0].Source.Line != 3 {
		t.Errorf("got %+v, %v", verdicts, err)
	}

	edit(t, filepath.Join(to, programFile), "a.ts", "b.ts")
	if _, err := Open(to); err == nil || !strings.Contains(err.Error(), "program.json has changed") {
		t.Errorf("a changed program opens: %v", err)
	}
}

// TestCodeRunaway: an assert that does not come to its end is an error, and the run goes on.
func TestCodeRunaway(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": codeCases(
		"fine", `assert.equal(report.finalOutput, "x")`,
		"loop", `while (true) {}`,
		"microtasks", `while (true) await null;`,
		"never", `await new Promise(() => {})`,
		"regexp", `/^(?=x)?(a+)+$/.test("a".repeat(60) + "b")`,
		"memory", `const all: string[][] = []; for (;;) all.push(new Array(100000).fill("x"));`,
		"recursion", `const f = (n: number): number => f(n + 1) + 1; f(0);`,
		"crash", `(undefined as any).x;`,
		"unawaited", `void Promise.reject(new Error("lost"));`,
		"unawaited-check", `void (async () => { await null; assert.equal(1, 2); })();`,
	)})
	quick, patient := lib.Host{AssertTimeout: time.Second}, lib.Host{AssertTimeout: time.Minute, MemoryLimit: 64 << 20}
	for _, test := range []struct {
		id, name, message string
		host              lib.Host
	}{
		{"loop", "TimeoutError", "did not end within 1s", quick},
		{"microtasks", "TimeoutError", "did not end within 1s", quick},
		{"regexp", "TimeoutError", "did not end within 1s", quick},
		{"never", "TimeoutError", "promise that nothing will settle", patient},
		{"memory", "MemoryError", "out of memory", patient},
		{"recursion", "RangeError", "stack", patient},
		{"crash", "TypeError", "undefined", patient},
		{"unawaited", "Error", "lost", patient},
	} {
		_, byID := loaded(t, b, test.host)
		verdicts, err := assertOn(t.Context(), byID[test.id], "x")
		var f *plumb.Failure
		switch {
		case err != nil:
			if !errors.As(err, &f) {
				t.Errorf("%s: the error is no failure: %v", test.id, err)
				continue
			}
		case len(verdicts) > 0:
			f = verdicts[0].Error
		}
		if f == nil || f.Origin != plumb.OriginAssertHook || f.Name != test.name || !strings.Contains(f.Message, test.message) {
			t.Errorf("%s: got %+v, %+v, %v", test.id, f, verdicts, err)
		}
		if f != nil && f.Source == nil {
			t.Errorf("%s has no source", test.id)
		}
		b.code.host.AssertTimeout = 0
		verdicts, err = assertOn(t.Context(), byID["fine"], "x")
		if err != nil || len(verdicts) != 1 || !verdicts[0].Pass {
			t.Errorf("after %s: got %+v, %v", test.id, verdicts, err)
		}
	}
	_, byID := loaded(t, b, patient)
	verdicts, err := assertOn(t.Context(), byID["unawaited-check"], "x")
	if err != nil || len(verdicts) != 1 || verdicts[0].Pass || verdicts[0].Error != nil || !strings.Contains(verdicts[0].Reason, "await") {
		t.Errorf("a check in a promise that nothing waits for: %+v, %v", verdicts, err)
	}
}

// TestCodeManyAtOnce: asserts of many sessions are in flight at once, also while they wait, and each sees its own session.
func TestCodeManyAtOnce(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": codeCases(
		"a", `const mine = report.finalOutput; assert.equal(++calls, 1); await sleep(300); assert.equal(report.finalOutput, mine); assert.equal(mine, "x", mine);`,
	)})
	_, byID := loaded(t, b, lib.Host{})
	began, sessions := time.Now(), 100
	if testing.Short() { // with the race detector
		sessions = 20
	}
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			output := "x"
			if i%2 == 1 {
				output = fmt.Sprint("y", i)
			}
			verdicts, err := assertOn(t.Context(), byID["a"], output)
			if err != nil || len(verdicts) != 1 || verdicts[0].Pass != (i%2 == 0) {
				t.Errorf("%d: got %+v, %v", i, verdicts, err)
			} else if i%2 == 1 && !strings.Contains(verdicts[0].Reason, output) {
				t.Errorf("%d: got %+v", i, verdicts[0])
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took > 15*time.Second && !testing.Short() { // one after the other take 30 s
		t.Errorf("they took %v", took)
	}
}

// TestCodeSameValues: an assert sees the values that the module had when its cases were read, also random ones, and the module
// does nothing twice.
func TestCodeSameValues(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": `import { assert } from "plumb"; import { randomUUID } from "node:crypto"; import { appendFileSync } from "node:fs";
const id = [Math.random(), Date.now(), new Date().toISOString(), randomUUID(), performance.now()].join(); appendFileSync("loads", "x");
export default [{ id: "a", prompt: id, assert(report: any) { assert.equal(report.prompt, id); assert.ok(Date.now() > 0) } }];`})
	_, byID := loaded(t, b, lib.Host{})
	c := byID["a"]
	for range 3 {
		v, err := c.Assertions[0].Assert(t.Context(), plumb.Evidence{Case: c, Report: &plumb.SessionReport{Prompt: c.Prompt()}})
		if err != nil || !v[0].Pass {
			t.Errorf("got %+v, %v", v, err)
		}
	}
	if loads, err := os.ReadFile(filepath.Join(b.dir, "loads")); err != nil || string(loads) != "x" {
		t.Errorf("loads %q, %v", loads, err)
	}
}

// TestCodeChecks: a case in code can have checks in JavaScript.
func TestCodeChecks(t *testing.T) {
	b := suiteIn(t, map[string]string{
		"a.ts":  `export default [{ id: "a", prompt: "p", assertions: [{ type: "js", expr: "output === 'x'" }, { type: "js", file: "is.ts" }] }];`,
		"is.ts": `let calls = 0; export default (output: string) => ++calls === 1 && output === "x";`,
	})
	_, byID := loaded(t, b, lib.Host{})
	for range 2 {
		for i, k := range byID["a"].Assertions {
			v, err := k.Assert(t.Context(), plumb.Evidence{Case: byID["a"], Report: &plumb.SessionReport{FinalOutput: "x"}})
			if err != nil || !v[0].Pass {
				t.Errorf("check %d: %+v, %v", i, v, err)
			}
		}
	}
}

// TestCodeRunawayAmongOthers: only the assert that loops is an error, although the others wait for it until their time is
// over too.
func TestCodeRunawayAmongOthers(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": codeCases(
		"fine", `await sleep(1); assert.equal(report.finalOutput, "x")`,
		"loop", `await sleep(1); for (;;);`,
	)})
	_, byID := loaded(t, b, lib.Host{AssertTimeout: 2 * time.Second})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if i == 3 {
				if verdicts, err := assertOn(t.Context(), byID["loop"], "x"); err == nil {
					t.Errorf("the loop ended: %+v", verdicts)
				}
				return
			}
			if verdicts, err := assertOn(t.Context(), byID["fine"], "x"); err != nil || !verdicts[0].Pass {
				t.Errorf("%d: got %+v, %v", i, verdicts, err)
			}
		})
	}
	wg.Wait()
}

// TestCodeDead: an engine that does not even stop is given up, and the suite is loaded again for what comes next.
func TestCodeDead(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": codeCases(
		"fine", `calls++; assert.equal(calls, 1)`,
		"stuck", `calls++; Array.prototype.indexOf.call({ length: 3e7 }, 1)`,
	)})
	_, byID := loaded(t, b, lib.Host{AssertTimeout: 20 * time.Millisecond, Grace: 50 * time.Millisecond})
	verdicts, err := assertOn(t.Context(), byID["stuck"], "x")
	if f, ok := errors.AsType[*plumb.Failure](err); !ok || !strings.Contains(f.Message, "did not end") {
		t.Errorf("stuck: got %+v, %v", verdicts, err)
	}
	b.code.host.AssertTimeout = 0
	if verdicts, err = assertOn(t.Context(), byID["fine"], "x"); err != nil || !verdicts[0].Pass {
		t.Errorf("afterwards: got %+v, %v", verdicts, err)
	}
}

// TestCodeInterrupted: when the run ends, its asserts do.
func TestCodeInterrupted(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": codeCases("wait", `await sleep(1e9)`, "loop", `for (;;);`)})
	_, byID := loaded(t, b, lib.Host{})
	for _, id := range []string{"wait", "loop"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
		if verdicts, err := assertOn(ctx, byID[id], "x"); !errors.Is(err, stop) {
			t.Errorf("%s: got %+v, %v", id, verdicts, err)
		}
	}
}

// TestCodeLargeReports: reports that together take more memory than the engine has are judged all the same.
func TestCodeLargeReports(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	b := suiteIn(t, map[string]string{"a.ts": codeCases("a", `await sleep(1); assert.equal(report.events.length, 2600); assert.equal(report.events[2599].text.length, 2000);`)})
	_, byID := loaded(t, b, lib.Host{MemoryLimit: 96 << 20})
	report := &plumb.SessionReport{}
	for range 2600 {
		report.Events = append(report.Events, plumb.SessionEvent{Type: plumb.SessionMessage, Role: "assistant", Text: strings.Repeat("€", 2000)})
	}
	c := byID["a"]
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			verdicts, err := c.Assertions[0].Assert(t.Context(), plumb.Evidence{Case: c, Report: report})
			if err != nil || !verdicts[0].Pass {
				t.Errorf("got %+v, %v", verdicts, err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Assertions[0].Assert(ctx, plumb.Evidence{Case: c, Report: report}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// stubJudge answers questions.
type stubJudge struct{ answer string }

func (stubJudge) Info() plumb.RunnerInfo {
	return plumb.RunnerInfo{ID: "judge", Agent: plumb.AgentInfo{Model: "judge-1"}}
}

func (s stubJudge) Run(context.Context, plumb.Request) (*plumb.SessionReport, error) {
	if s.answer == "" {
		return nil, errors.New("no credit")
	}
	return &plumb.SessionReport{FinalOutput: s.answer, Requests: 1, CostUSD: new(0.01)}, nil
}

func TestCodeJudge(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": codeCases("a", `await assert.judge(report, "Is it polite?")`)})
	_, byID := loaded(t, b, lib.Host{})
	c := byID["a"]
	if judge, embedder := c.Assertions[0].(interface{ Needs() (bool, bool) }).Needs(); !judge || embedder {
		t.Errorf("needs a judge %v, an embedder %v", judge, embedder)
	}
	for _, test := range []struct {
		answer string
		pass   bool
		broken bool
	}{{"YES", true, false}, {"NO", false, false}, {"", false, true}} {
		verdicts, err := c.Assertions[0].Assert(t.Context(), plumb.Evidence{
			Case: c, Report: &plumb.SessionReport{FinalOutput: "x"}, Judge: &plumb.Judge{Runner: stubJudge{test.answer}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var asked *plumb.Asked
		pass := true
		var broken *plumb.Failure
		for _, v := range verdicts {
			if v.Asked != nil {
				asked = v.Asked
			}
			pass = pass && v.Pass
			if v.Error != nil {
				broken = v.Error
			}
		}
		if asked == nil || asked.Model != "judge-1" || pass != test.pass || (broken != nil) != test.broken {
			t.Errorf("%q: asked %+v, got %+v", test.answer, asked, verdicts)
		}
		if broken != nil && broken.Origin != plumb.OriginJudge {
			t.Errorf("%q: origin is %s", test.answer, broken.Origin)
		}
	}
	verdicts, err := assertOn(t.Context(), c, "x")
	if err != nil || verdicts[0].Error == nil || verdicts[0].Error.Origin != plumb.OriginJudge {
		t.Errorf("without a judge: %+v, %v", verdicts, err)
	}
}

// TestCodeLeaks: code is told the name of a secret that leaked, and its place, and never the value.
func TestCodeLeaks(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": codeCases(
		"all", `assert.leaksNoSecret(report)`,
		"files", `assert.leaksNoSecret(report, { in: ["files"] })`,
		"soft", `assert.soft.leaksNoSecret(report); assert.soft.output.includes(report, "nowhere")`,
		"wrong", `assert.leaksNoSecret(report, { in: ["outputs" as any] })`,
	)})
	_, byID := loaded(t, b, lib.Host{})
	const value = "sk-canary-4711-Zq81"
	secrets := redact.New([]redact.Secret{{Name: "CANARY_KEY", Value: value}})
	for _, test := range []struct{ id, output, want string }{
		{"all", "fine", "pass"},
		{"all", "it is c2stY2FuYXJ5LTQ3MTEtWnE4MQ==", "fail: Expected no secret in output, commands, files. Observed: the secret CANARY_KEY is in the final output."},
		{"files", value, "pass"},
		{"soft", value, "fail: Expected no secret in output, commands, files. Observed: the secret CANARY_KEY is in the final output."},
		{"wrong", "fine", `error: could not be checked: assert.leaksNoSecret: in must be a list of "output", "commands", "files"`},
	} {
		verdicts, err := byID[test.id].Assertions[0].Assert(t.Context(), plumb.Evidence{
			Case: byID[test.id], Report: &plumb.SessionReport{FinalOutput: test.output}, Secrets: secrets.Names,
		})
		if err != nil {
			t.Fatal(err)
		}
		v, got := verdicts[0], "pass"
		switch {
		case v.Error != nil:
			got = "error: " + v.Reason
		case !v.Pass:
			got = "fail: " + v.Reason
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.id, got, test.want)
		}
		if test.id == "all" && strings.Contains(fmt.Sprintf("%+v", v), value) {
			t.Errorf("%s: the verdict holds the secret: %+v", test.id, v)
		}
	}
	verdicts, err := assertOn(t.Context(), byID["all"], "fine")
	if err != nil || verdicts[0].Error == nil || !strings.Contains(verdicts[0].Reason, "knows no secret") {
		t.Errorf("without secrets: %+v, %v", verdicts, err)
	}
}

func TestCodeClassify(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": `export default [{
  id: "a", prompt: "p", assert() {},
  classifyFailure(result) {
    if (result.error.message === "odd") return null;
    if (result.failureOrigin !== "assertion" || result.passed || result.status !== "failed" || result.artifactDir !== "/artifacts") throw new Error("not the documented shape");
    return result.report.finalOutput === "slow" ? { id: "slow", label: "Too slow" } : undefined;
  },
}];`})
	_, byID := loaded(t, b, lib.Host{})
	classify := func(output, message string) (*plumb.FailureClass, error) {
		return byID["a"].Classify(t.Context(), plumb.FailedSession{
			Evidence:    plumb.Evidence{Report: &plumb.SessionReport{FinalOutput: output}},
			Judgement:   &plumb.Judgement{Failure: plumb.Failuref(plumb.OriginAssertion, "%s", message)},
			ArtifactDir: "/artifacts",
		})
	}
	if class, err := classify("slow", "x"); err != nil || class == nil || *class != (plumb.FailureClass{ID: "slow", Label: "Too slow"}) {
		t.Errorf("got %v, %v", class, err)
	}
	if class, err := classify("fast", "x"); err != nil || class != nil {
		t.Errorf("got %v, %v", class, err)
	}
	if class, err := classify("fast", "odd"); err == nil || class != nil {
		t.Errorf("null is a class: %v", class)
	}
}

func TestCodeProblemsOfLoading(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
	}{
		{"syntax", "export default [\n  { id: 'a' prompt: 'p' },\n];", `a.ts:2:13: Expected "}" but found "prompt"`},
		{"import", "import x from './missing';\nexport default [x];", `a.ts:1:15: Could not resolve "./missing"`},
		{"module", "import x from 'node:http';\nexport default [x];", `a.ts:1:15: the module "node:http" is not available to suites (suites have`},
		{"throw", "const x: any = undefined;\n\nx.y();\nexport default [];", "a.ts:3:3: TypeError: "},
		{"throw in a helper", "import './lib';\nexport default [];", ": Error: no token"},
		{"never", "await new Promise(() => {});\nexport default [];", "it waits at the top level for a promise that nothing will settle"},
		{"loop", "for (;;);\nexport default [];", "it did not finish loading within 300ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := suiteIn(t, map[string]string{"a.ts": test.text, "lib.ts": "export {};\nthrow new Error('no token');"})
			var limit time.Duration
			if test.name == "loop" {
				limit = 300 * time.Millisecond
			}
			_, _, err := b.Suite(t.Context(), lib.Host{LoadTimeout: limit})
			var problems doc.Problems
			if !errors.As(err, &problems) || len(problems) == 0 || !strings.Contains(problems[0].String(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if test.name == "throw in a helper" && problems[0].Pos.Line != 2 {
				t.Errorf("got %v", problems[0])
			}
		})
	}
}

// TestCodeWorkingDir: a suite works in the directory that its user was in, also when its run is resumed elsewhere.
func TestCodeWorkingDir(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub", "a.ts"), codeCases("a", `assert.equal((await import("node:fs")).readFileSync("here.txt", "utf8"), "here")`))
	write(t, filepath.Join(dir, "here.txt"), "here")
	b, err := Read(t.Context(), "sub/a.ts", ReadOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	to := filepath.Join(t.TempDir(), "bundle")
	if err := b.Write(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	again, err := Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	for _, b := range []*Bundle{b, again} {
		_, byID := loaded(t, b, lib.Host{})
		if verdicts, err := assertOn(t.Context(), byID["a"], ""); err != nil || !verdicts[0].Pass {
			t.Errorf("got %+v, %v", verdicts, err)
		}
	}
}

// TestCodeOutput: what a suite prints goes where the host says, and it sees the environment that the host gives.
func TestCodeOutput(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": `console.log("loaded by", process.env.WHO);` + codeCases("a", `console.error("judged")`)})
	var out, errs strings.Builder
	_, byID := loaded(t, b, lib.Host{Stdout: &out, Stderr: &errs, Environ: func() []string { return []string{"WHO=me"} }})
	if _, err := assertOn(t.Context(), byID["a"], ""); err != nil {
		t.Fatal(err)
	}
	if out.String() != "loaded by me\n" || errs.String() != "judged\n" {
		t.Errorf("got %q and %q", out.String(), errs.String())
	}
}

func TestExec(t *testing.T) {
	for _, test := range []struct {
		name, text  string
		code        int
		out, errors string
	}{
		{
			"works", `import { parseCommand } from "skillgym/testing"; import { assert } from "plumb";
const { executable } = await Promise.resolve(parseCommand("pnpm test"));
assert.equal(executable, "pnpm");
console.log(executable, process.argv.slice(2), process.env.WHO);`,
			0, "pnpm [ '--a', 'b' ] me\n", "",
		},
		{"throws", "const f = (): never => {\n  throw new TypeError('no');\n};\nf();", 1, "", "a.ts:2:"},
		{"exits", "process.exit(7);", 7, "", ""},
		{"asserts", `import { assert } from "plumb"; assert.equal(1, 2);`, 1, "", "1 !== 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := write(t, filepath.Join(t.TempDir(), "a.ts"), test.text)
			var out, errs strings.Builder
			code, err := Exec(t.Context(), file, []string{"--a", "b"}, lib.Host{
				Stdout: &out, Stderr: &errs, Environ: func() []string { return []string{"WHO=me"} }, Dir: t.TempDir(),
			})
			if err != nil || code != test.code || out.String() != test.out || !strings.Contains(errs.String(), test.errors) {
				t.Errorf("code %d, %v\n%s\n%s", code, err, out.String(), errs.String())
			}
		})
	}
	_, err := Exec(t.Context(), write(t, filepath.Join(t.TempDir(), "a.ts"), "import './gone';"), nil, lib.Host{})
	if problems, ok := errors.AsType[doc.Problems](err); !ok || problems[0].Pos.Line != 1 {
		t.Errorf("got %v", err)
	}
}

// TestLintCode: code is tried with wrong answers where it cannot do harm.
func TestLintCode(t *testing.T) {
	b := suiteIn(t, map[string]string{"a.ts": codeCases(
		"sound", `assert.commands.includes(report, "pnpm"); assert.output.includes(report, "released version 1.2")`,
		"nothing", `assert.skills.notHas(report, "x")`,
		"refusal", `assert.output.includes(report, "sorry")`,
	)})
	found := func(h lib.Host) (lines []string) {
		suite, _ := loaded(t, b, h)
		for _, f := range Lint(t.Context(), suite) {
			lines = append(lines, fmt.Sprintf("%s %s %v", f.CaseID, f.Control, f.Info))
		}
		return lines
	}
	want := []string{
		"nothing empty false", "nothing yes false", "nothing no false", "nothing 42 false", "nothing refusal false",
		"nothing lorem-ipsum false", "nothing echo false", "nothing duplicate-prompt true", "refusal refusal false",
		"refusal duplicate-prompt true",
	}
	if diff := cmp.Diff(want, found(lib.Host{ReadOnly: true})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = []string{"sound judge true", "nothing judge true", "nothing duplicate-prompt true", "refusal judge true", "refusal duplicate-prompt true"}
	if diff := cmp.Diff(want, found(lib.Host{})); diff != "" {
		t.Errorf("with effects: -want +got:\n%s", diff)
	}
}
