package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/plumb-eval/plumb/internal/script"
)

// plumbModule is an additional module through which test programs register functions.
const plumbModule = `exports.define = (name, f) => { __entry[name] = f };
exports.host = __host; exports.hostAsync = __hostAsync;`

func build(t *testing.T, path string) *script.Program {
	t.Helper()
	p, err := script.Build(script.BuildOptions{Entry: path, Modules: map[string]bool{"plumb": true}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// source builds a program from text.
func source(t *testing.T, text string) *script.Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "suite.ts")
	if err := os.WriteFile(path, []byte(`import { define, host, hostAsync } from "plumb";`+"\n"+text+"\nvoid [define, host, hostAsync];"), 0o644); err != nil {
		t.Fatal(err)
	}
	return build(t, path)
}

func start(t *testing.T, p *script.Program, o script.Environment) *script.VM {
	t.Helper()
	if o.Modules == nil {
		o.Modules = map[string]string{"plumb": plumbModule}
	}
	vm, err := script.Start(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vm.Close() })
	return vm
}

func call(t *testing.T, vm *script.VM, name string, args ...any) string {
	t.Helper()
	result, err := vm.Call(t.Context(), name, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(result)
}

// TestErrorLocations checks line and column of errors against marks in the programs.
func TestErrorLocations(t *testing.T) {
	marks := map[string]script.Position{}
	define := regexp.MustCompile(`define\("([^"]+)"`)
	mark := regexp.MustCompile(`/\*([a-z-]*)>\*/`)
	for _, file := range []string{"locations.ts", "locations-helper.ts"} {
		path, err := filepath.Abs(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for i, line := range strings.Split(string(data), "\n") {
			if m := define.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			for _, m := range mark.FindAllStringSubmatchIndex(line, -1) {
				if of := line[m[2]:m[3]]; of != "" {
					name = of
				}
				if name != "" {
					marks[name] = script.Position{
						File: path, Line: i + 1,
						Column: len(utf16.Encode([]rune(line[:m[1]]))) + 1,
					}
				}
			}
		}
	}
	path, err := filepath.Abs("testdata/locations.ts")
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, path)
	// A program that went through JSON runs without its sources.
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	p = new(script.Program)
	if err := json.Unmarshal(data, p); err != nil {
		t.Fatal(err)
	}
	vm := start(t, p, script.Environment{})
	for name, want := range marks {
		t.Run(name, func(t *testing.T) {
			_, err := vm.Call(t.Context(), name)
			e, ok := errors.AsType[*script.Error](err)
			if !ok {
				t.Fatalf("not an error of the script: %v", err)
			}
			if len(e.Frames) == 0 {
				t.Fatalf("no frames, want %v\n%s", want, e.Stack)
			}
			got := e.Frames[0]
			got.Function = ""
			if got != want {
				t.Errorf("got %v, want %v\n%s", got, want, e.Stack)
			}
			if !strings.Contains(e.Stack, want.String()) {
				t.Errorf("the stack does not name %v:\n%s", want, e.Stack)
			}
			if unhandled := name == "unhandled" || name == "timer"; e.Unhandled != unhandled {
				t.Errorf("Unhandled is %v", e.Unhandled)
			}
		})
	}
	if len(marks) < 20 {
		t.Errorf("only %d marks", len(marks))
	}
}

// TestHostFunctions calls Go from a script: results, errors, panics, contexts.
func TestHostFunctions(t *testing.T) {
	type key struct{}
	vm := start(t, source(t, `
define("sync", (a: number, b: unknown) => host("join", a, b, undefined, { x: [1] }));
define("nothing", () => String(host("nothing")));
define("error", () => { try { host("fail"); } catch (e: any) { return [e.name, e.message, e.code, e.extra, e instanceof Error, e.stack.includes("suite.ts:")]; } });
define("plain", () => { try { host("plain"); } catch (e: any) { return [e.name, e.message]; } });
define("panic", () => { try { host("panic"); } catch (e: any) { return e.message; } });
define("unknown", () => { try { host("no such"); } catch (e: any) { return e.message; } });
define("async", async () => Promise.all([hostAsync("slow", 2), hostAsync("slow", 1), hostAsync("slow", 3)]));
define("async-error", async () => hostAsync("bad").catch((e: any) => [e.message, e.code]));
define("async-panic", async () => hostAsync("panic").catch((e: any) => e.message));
define("throws", () => host("fail"));
define("value", () => host("value"));
`), script.Environment{
		Host: map[string]script.HostFunc{
			"join": func(_ context.Context, args []json.RawMessage) (any, error) { return args, nil },
			"fail": func(context.Context, []json.RawMessage) (any, error) {
				return nil, &script.Error{
					Name: "Refused", Message: "no", Code: "E_NO",
					Data: json.RawMessage(`{"extra":[1]}`),
				}
			},
			"plain": func(context.Context, []json.RawMessage) (any, error) {
				return nil,
					errors.New("plainly wrong")
			},
			"panic":   func(context.Context, []json.RawMessage) (any, error) { panic("oh") },
			"nothing": nothing,
			"value":   func(ctx context.Context, _ []json.RawMessage) (any, error) { return ctx.Value(key{}), nil },
		},
		Async: map[string]script.HostFunc{
			"slow": func(_ context.Context, args []json.RawMessage) (any, error) {
				return map[string]any{"n": args[0]},
					nil
			},
			"bad": func(context.Context, []json.RawMessage) (any, error) {
				return nil, &script.Error{Name: "Error", Message: "badly", Code: "E_BAD"}
			},
			"panic": func(context.Context, []json.RawMessage) (any, error) { panic("oh") },
		},
	})
	for name, want := range map[string]string{
		"sync":        `[1,"two",null,{"x":[1]}]`,
		"nothing":     `"null"`,
		"error":       `["Refused","no","E_NO",[1],true,true]`,
		"plain":       `["Error","plainly wrong"]`,
		"panic":       `"panic in host function host: oh"`,
		"unknown":     `"unknown host function \"no such\""`,
		"async":       `[{"n":2},{"n":1},{"n":3}]`,
		"async-error": `["badly","E_BAD"]`,
		"async-panic": `"panic in host function panic: oh"`,
	} {
		if got := call(t, vm, name, 1, "two"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	_, err := vm.Call(t.Context(), "throws")
	if e, ok := errors.AsType[*script.Error](err); !ok || e.Name != "Refused" || e.Code != "E_NO" ||
		string(e.Data) != `{"code":"E_NO","extra":[1]}` || len(e.Frames) == 0 {
		t.Errorf("throws: %#v", err)
	}
	if got, err := vm.Call(context.WithValue(t.Context(), key{}, "mine"), "value"); err != nil ||
		string(got) != `"mine"` {
		t.Errorf("the context of the call: %s, %v", got, err)
	}
}

// TestErrorsTell checks what Go learns of what a script throws.
func TestErrorsTell(t *testing.T) {
	vm := start(t, source(t, `
import assert from "node:assert/strict";
define("props", () => { const e: any = new Error("m"); e.list = [1, { a: 2n }]; e.self = e; e[Symbol.for("plumb.kind")] = { k: 1 }; e.f = () => 1; Object.defineProperty(e, "hidden", { value: 1 }); throw e; });
define("assertion", () => assert.deepEqual({ a: 1 }, { a: 2 }));
define("cause", () => { throw new Error("outer", { cause: new TypeError("inner") }); });
define("string", () => { throw "a string"; });
define("object", () => { throw { a: 1 }; });
define("nothing", () => { throw undefined; });
define("hostile", () => { throw new Proxy({}, { get() { throw new Error("no"); }, ownKeys() { throw new Error("no"); } }); });
define("unserialisable", () => ({ get x() { throw new RangeError("in getter"); } }));
define("bigint", () => 10n);
define("empty", () => undefined);
define("thenable", () => ({ then(ok: any) { ok("from thenable"); } }));
`), script.Environment{})
	for name, want := range map[string]script.Error{
		"props": {
			Name: "Error", Message: "m",
			Data: json.RawMessage(`{"list":[1,{"a":"2n"}],"self":{"name":"Error","message":"m","list":[1,{"a":"2n"}],"self":"[Circular]"},"Symbol.for(plumb.kind)":{"k":1}}`),
		},
		"assertion":      {Name: "AssertionError", Code: "ERR_ASSERTION", IsAssertion: true},
		"cause":          {Name: "Error", Message: "outer", Cause: &script.Error{Name: "TypeError", Message: "inner"}},
		"string":         {Message: "threw a string"},
		"object":         {Message: "threw { a: 1 }", Data: json.RawMessage(`{"a":1}`)},
		"nothing":        {Message: "threw undefined"},
		"hostile":        {Message: "an error that cannot be shown: no"},
		"unserialisable": {Name: "RangeError", Message: "in getter"},
		"bigint":         {Name: "TypeError", Message: "Do not know how to serialize a BigInt"},
	} {
		_, err := vm.Call(t.Context(), name)
		e, ok := errors.AsType[*script.Error](err)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.Name != want.Name || want.Message != "" && e.Message != want.Message || e.Code != want.Code ||
			e.IsAssertion != want.IsAssertion {
			t.Errorf("%s: got %#v", name, e)
		}
		if want.Data != nil && string(e.Data) != string(want.Data) {
			t.Errorf("%s: data %s, want %s", name, e.Data, want.Data)
		}
		if want.Cause != nil && (e.Cause == nil || e.Cause.Error() != want.Cause.Error() || len(e.Cause.Frames) == 0) {
			t.Errorf("%s: cause %#v", name, e.Cause)
		}
	}
	if got := call(t, vm, "empty"); got != "null" {
		t.Errorf("undefined became %s", got)
	}
	if got := call(t, vm, "thenable"); got != `"from thenable"` {
		t.Errorf("thenable: %s", got)
	}
}

// TestUnhandled: what fails beside a call fails the call that it belongs to, and no other.
func TestUnhandled(t *testing.T) {
	var stderr bytes.Buffer
	p := source(t, `
import assert from "node:assert/strict";
const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms));
define("good", async () => { for (let i = 0; i < 10; i++) await sleep(5); return "good"; });
define("forgotten", async () => { assert.rejects(async () => {}); await sleep(50); });
define("at-once", () => { void Promise.reject(new Error("at once")); return 1; });
define("in-promise", async () => { await sleep(5); void (async () => { await sleep(5); throw new Error("floating"); })(); await sleep(40); });
define("handled-later", async () => { const p = Promise.reject(new Error("later")); await null; await p.catch(() => {}); return "ok"; });
define("handled-same-turn", () => { const p = Promise.reject(new Error("x")); p.catch(() => {}); return "ok"; });
define("all", async () => { await Promise.all([sleep(1), Promise.reject(new Error("a")), Promise.reject(new Error("b"))]).catch(() => {}); return "ok"; });
define("after-the-end", () => { setTimeout(() => { throw new Error("too late"); }, 5); return 1; });
`)
	vm := start(t, p, script.Environment{Stderr: &stderr})
	for _, name := range []string{"handled-later", "handled-same-turn", "all"} {
		if got := call(t, vm, name); got != `"ok"` {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, want := range map[string]string{
		"forgotten": "AssertionError: Missing expected rejection.",
		"at-once":   "Error: at once", "in-promise": "Error: floating",
	} {
		good := make(chan error, 1)
		go func() {
			_, err := vm.Call(t.Context(), "good")
			good <- err
		}()
		_, err := vm.Call(t.Context(), name)
		if e, ok := errors.AsType[*script.Error](err); !ok || e.Error() != want || !e.Unhandled {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-good; err != nil {
			t.Errorf("beside %s: %v", name, err)
		}
	}
	call(t, vm, "after-the-end")
	call(t, vm, "good") // lasts longer than the timer
	if err := vm.Close(); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("Close: %v", err)
	}
}

// TestInterleaving: calls of one VM take turns at await; module state is theirs together.
func TestInterleaving(t *testing.T) {
	vm := start(t, source(t, `
const log: string[] = []; let running = 0, most = 0;
define("step", async (name: string) => { most = Math.max(most, ++running); for (let i = 0; i < 3; i++) { log.push(name); await new Promise((r) => setTimeout(r, 5)); } running--; });
define("log", () => ({ n: log.length, most }));
`), script.Environment{})
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		wg.Go(func() {
			if _, err := vm.Call(t.Context(), "step", name); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := call(t, vm, "log"); got != `{"n":9,"most":3}` {
		t.Error(got)
	}
}

// TestAsyncContext: a program that uses soft assertions or async_hooks keeps contexts apart across
// await.
func TestAsyncContext(t *testing.T) {
	p := source(t, `
import { AsyncLocalStorage } from "node:async_hooks";
const als = new AsyncLocalStorage<string>();
const helper = async () => { await new Promise((r) => setTimeout(r, Math.random() * 5)); await null; return als.getStore(); };
define("run", (name: string) => als.run(name, async () => { const out = [als.getStore()]; for (let i = 0; i < 5; i++) out.push(await helper()); return new Set(out).size === 1 && out[0] === name; }));
define("where", () => als.run("x", async () => { await null; throw new Error("here"); }));
`)
	if !p.AsyncContext {
		t.Error("the program was not rewritten")
	}
	vm := start(t, p, script.Environment{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got, err := vm.Call(t.Context(), "run", strings.Repeat("n", i+1))
			if err != nil || string(got) != "true" {
				t.Errorf("%s %v", got, err)
			}
		})
	}
	wg.Wait()
	_, err := vm.Call(t.Context(), "where")
	if e, ok := errors.AsType[*script.Error](err); !ok || len(e.Frames) == 0 || e.Frames[0].Line != 7 ||
		e.Frames[0].Column != 68 {
		t.Errorf("%#v", err)
	}
}

// TestClose: calls in flight end when the VM closes; later ones fail at once.
func TestClose(t *testing.T) {
	p := source(t, `define("wait", () => hostAsync("wait")); define("loop", () => { for (;;); });`)
	started := make(chan struct{})
	vm := start(t, p, script.Environment{Async: map[string]script.HostFunc{"wait": func(ctx context.Context,
		_ []json.RawMessage,
	) (any, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	}}})
	ended := make(chan error, 1)
	go func() {
		_, err := vm.Call(t.Context(), "wait")
		ended <- err
	}()
	<-started
	if err := vm.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, script.ErrClosed) {
		t.Errorf("in flight: %v", err)
	}
	if _, err := vm.Call(t.Context(), "wait"); !errors.Is(err, script.ErrClosed) {
		t.Errorf("afterwards: %v", err)
	}
	if err := vm.Close(); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestParallelVMs runs VMs on many goroutines at once, for the race detector.
func TestParallelVMs(t *testing.T) {
	p := source(t, `import assert from "node:assert"; let n = 0; define("count", (x: number) => { assert.ok(x > 0); return ++n; });`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			vm, err := script.Start(t.Context(), p, script.Environment{Modules: map[string]string{"plumb": plumbModule}})
			if err != nil {
				t.Error(err)
				return
			}
			for want := range 20 {
				got, err := vm.Call(t.Context(), "count", want+1)
				if err != nil || string(got) != strconv.Itoa(want+1) {
					t.Errorf("%s %v", got, err)
				}
			}
			if err := vm.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestPolicy takes rights away.
func TestPolicy(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("in"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := source(t, `
import fs from "node:fs"; import { execFileSync, spawnSync } from "node:child_process";
const said = (f: () => unknown) => { try { return f() } catch (e: any) { return e.code } };
define("try", (dir: string) => [
  said(() => fs.readFileSync(dir + "/in.txt", "utf8")),
  said(() => fs.writeFileSync(dir + "/out.txt", "")), said(() => fs.mkdirSync(dir + "/d")), said(() => fs.rmSync(dir + "/in.txt")), said(() => fs.renameSync(dir + "/in.txt", dir + "/x")),
  said(() => execFileSync("true")), said(() => spawnSync("true").error?.message),
]);`)
	vm := start(t, p, script.Environment{Policy: script.Policy{ReadOnly: true, NoExec: true}})
	want := `["in","EACCES","EACCES","EACCES","EACCES","EACCES","spawnSync true EACCES"]`
	if got := call(t, vm, "try", dir); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCompiledModule: an additional module may be bytecode.
func TestCompiledModule(t *testing.T) {
	code, err := script.Compile(plumbModule)
	if err != nil {
		t.Fatal(err)
	}
	p := source(t, `define("f", () => 1 + 1);`)
	vm := start(t, p, script.Environment{Modules: map[string]string{"plumb": string(code)}})
	if got := call(t, vm, "f"); got != "2" {
		t.Error(got)
	}
	if _, err := script.Compile("syntax error here"); err == nil {
		t.Error("nonsense compiled")
	}
	if _, err := script.Start(t.Context(), p,
		script.Environment{Modules: map[string]string{"plumb": "throw new Error('broken module')"}}); err == nil ||
		!strings.Contains(err.Error(), "broken module") {
		t.Errorf("broken module: %v", err)
	}
	if _, err := script.Start(t.Context(), p, script.Environment{}); err == nil || !strings.Contains(err.Error(), "plumb") {
		t.Errorf("missing module: %v", err)
	}
}

// TestNamespace reads the module's namespace from an additional module.
func TestNamespace(t *testing.T) {
	p := source(t, `export default [{ id: "a" }]; export const workspace = { mode: "none" }; define("x", () => 1);`)
	vm := start(t, p, script.Environment{Modules: map[string]string{"plumb": plumbModule +
		`;__entry.suite = () => ({ cases: globalThis.__main.default, keys: Object.keys(globalThis.__main) });`}})
	if got := call(t, vm, "suite"); got != `{"cases":[{"id":"a"}],"keys":["default","workspace"]}` {
		t.Error(got)
	}
}
