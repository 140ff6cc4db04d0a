package script_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/script"
)

const runaways = `
import { execFileSync } from "node:child_process";
define("fine", () => "fine");
define("loop", () => { while (true); });
define("loop-caught", () => { for (;;) try { while (true); } catch {} finally { continue; } });
define("loop-after-await", async () => { await null; while (true); });
define("loop-in-timer", () => { setTimeout(() => { while (true); }, 1); return new Promise(() => {}); });
define("microtasks", async () => { for (;;) await null; });
define("then-loop", () => { const go = (): any => Promise.resolve().then(go); return go(); });
define("intervals", () => { setInterval(() => {}, 1); return new Promise(() => {}); });
define("sleep", () => new Promise((r) => setTimeout(r, 1e6)));
define("regex", () => /^(a+)+$/.test("a".repeat(40) + "b"));
define("regex-lookahead", () => /^(?!x)(a+)+$/.test("a".repeat(40) + "b"));
define("host-loop", () => { for (;;) host("nothing"); });
define("child", () => execFileSync("sleep", ["100"]));
define("long-builtin", () => Array.prototype.indexOf.call({ length: 2e8 }, 1));
define("sort-loop", () => [3, 1, 2].sort(() => { while (true); }));
define("json-loop", () => JSON.stringify({ toJSON() { while (true); } }));
define("getter-loop", () => ({ get x() { while (true); } }).x);

define("never", () => new Promise(() => {}));
define("never-await", async () => { await new Promise(() => {}); });

define("array", () => { const a: any[] = []; for (;;) a.push(new Array(1000).fill(1)); });
define("string", () => { let s = "x"; for (;;) s += s; });
define("strings", () => { const m = new Map(); for (let i = 0; ; i++) m.set(i, "x".repeat(10000) + i); });
define("buffer", () => { const all: any[] = []; for (;;) all.push(new Uint8Array(1 << 24)); });
define("big-regex", () => { const s = "ab".repeat(3e6); return /^(?:(a)|b)*$/.test(s + "c"); });

define("recursion", () => { const f = (): number => 1 + f(); return f(); });
define("recursion-tostring", () => { const o = { toString(): string { return "" + this; } }; return String(o); });
define("recursion-proxy", () => { const p: any = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x; });
define("recursion-json", () => { const o = { toJSON() { return JSON.stringify(this); } }; return JSON.stringify(o); });
define("recursion-replace", () => { const f = (): string => "a".replace(/a/, f); return f(); });
define("recursion-sort", () => { const f = (): any => [2, 1].sort(f); return f(); });
define("recursion-class", () => { class A { constructor() { new (this.constructor as any)(); } } return new A(); });
define("nested-arrays", () => JSON.parse("[".repeat(2000000)));
define("nested-eval", () => (0, eval)("(".repeat(200000) + ")".repeat(200000)));
define("deep-inspect", () => { let o: any = {}; for (let i = 0; i < 200000; i++) o = { o }; console.log(o); return structuredClone(o); });
define("deep-regex", () => new RegExp("(".repeat(200000)));
define("long-chain", () => { let f: any = () => 1; for (let i = 0; i < 100000; i++) f = f.bind(null); return f(); });
`

// TestRunaways gives scripts that would never end, or take everything, a short time: each ends in
// an error of its kind, soon, and the VM goes on.
func TestRunaways(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := source(t, runaways)
	host := map[string]script.HostFunc{"nothing": nothing}
	options := script.Environment{MemoryLimit: 64 << 20, Grace: time.Second, Host: host, Env: os.Environ()}
	vm := start(t, p, options)
	const limit = 300 * time.Millisecond
	outer := t
	for _, group := range []struct {
		want  error // nil: an error that the script threw
		names string
	}{
		{script.ErrTimeout, "loop loop-caught loop-after-await loop-in-timer microtasks then-loop intervals sleep regex regex-lookahead host-loop child sort-loop json-loop getter-loop long-builtin"},
		{script.ErrNeverSettled, "never never-await"},
		{script.ErrMemory, "array strings buffer big-regex"},
		{nil, "string recursion recursion-tostring recursion-proxy recursion-json recursion-replace recursion-sort recursion-class nested-arrays nested-eval deep-inspect deep-regex long-chain"},
	} {
		for name := range strings.FieldsSeq(group.names) {
			t.Run(name, func(t *testing.T) {
				wait := limit
				if !errors.Is(group.want, script.ErrTimeout) {
					wait = 30 * time.Second // it ends by itself
				}
				ctx, cancel := timeout(t, wait)
				defer cancel()
				result, err := vm.Call(ctx, name)
				_, threw := errors.AsType[*script.Error](err)
				switch {
				case group.want != nil && !errors.Is(err, group.want):
					t.Errorf("got %s, %v, want %v", result, err, group.want)
				case group.want == nil && !threw:
					t.Errorf("got %s, %v, want an error of the script", result, err)
				}
				t.Log(err)
				if vm.Dead() { // only an engine that does not react may be given up
					if name != "long-builtin" {
						t.Errorf("the VM was given up: %v", err)
					}
					vm = start(outer, p, options)
				}
				if got := call(t, vm, "fine"); got != `"fine"` {
					t.Errorf("afterwards fine returned %s", got)
				}
			})
		}
	}
}

// TestChildrenDie: processes end with the call that runs them, and their descendants too.
func TestChildrenDie(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc")
	}
	const mark = "98765.4321"
	vm := start(t, source(t, `
import { execFileSync, execFile, execSync, spawnSync } from "node:child_process"; import { promisify } from "node:util";
const script = "trap '' TERM; sleep `+mark+` & sleep `+mark+`; sleep `+mark+`";
define("sync", () => execFileSync("sh", ["-c", script]));
define("async", () => promisify(execFile)("sh", ["-c", script]));
define("ignored", () => spawnSync("sh", ["-c", script], { stdio: "ignore" }));
define("orphan", () => execSync("(sleep `+mark+` &) ; echo started"));
define("timeout", () => spawnSync("sh", ["-c", script], { timeout: 50 }).error.code);
define("background", () => String(execSync("sleep 0.01 >/dev/null 2>&1 & echo started")));
`), script.Environment{Env: os.Environ()})
	for _, name := range []string{"sync", "async", "ignored", "orphan"} {
		ctx, cancel := timeout(t, 300*time.Millisecond)
		_, err := vm.Call(ctx, name)
		cancel()
		if !errors.Is(err, script.ErrTimeout) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := call(t, vm, "timeout"); got != `"ETIMEDOUT"` {
		t.Errorf("timeout: %s", got)
	}
	if got := call(t, vm, "background"); got != `"started\n"` {
		t.Errorf("background: %s", got)
	}
	if err := vm.Close(); err != nil { // waits for asynchronous ones
		t.Error(err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range commands {
		if data, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(data), "sleep\x00"+mark) {
			t.Errorf("left running: %s", file)
		}
	}
}

func nothing(context.Context, []rawJSON) (any, error) { return nil, nil }

// TestRunawayModule stops a module that does not finish its evaluation.
func TestRunawayModule(t *testing.T) {
	for _, text := range []string{
		"while (true);", "await new Promise((r) => setTimeout(r, 1e6));",
		"await null; for (;;);",
	} {
		ctx, cancel := timeout(t, 200*time.Millisecond)
		vm, err := script.Start(ctx, source(t, text), script.Environment{Modules: map[string]string{"plumb": plumbModule}})
		cancel()
		if !errors.Is(err, script.ErrTimeout) || vm != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := script.Start(t.Context(), source(t, "await new Promise(() => {});"),
		script.Environment{Modules: map[string]string{"plumb": plumbModule}})
	if !errors.Is(err, script.ErrNeverSettled) {
		t.Errorf("never settled: %v", err)
	}
	_, err = script.Start(t.Context(), source(t, "throw new RangeError('at load');"),
		script.Environment{Modules: map[string]string{"plumb": plumbModule}})
	if e, ok := errors.AsType[*script.Error](err); !ok || e.Name != "RangeError" || len(e.Frames) != 1 ||
		e.Frames[0].Line != 2 {
		t.Errorf("threw: %#v", err)
	}
}

// TestDeadlineIsOnesOwn has one call loop while others wait: those end well, or at their own time.
func TestDeadlineIsOnesOwn(t *testing.T) {
	vm := start(t, source(t, `
define("patient", async () => { for (let i = 0; i < 20; i++) await new Promise((r) => setTimeout(r, 10)); return "done"; });
define("loop-later", async () => { await new Promise((r) => setTimeout(r, 20)); while (true); });
`), script.Environment{})
	patient := make(chan error, 1)
	go func() {
		_, err := vm.Call(t.Context(), "patient")
		patient <- err
	}()
	ctx, cancel := timeout(t, 100*time.Millisecond)
	defer cancel()
	if _, err := vm.Call(ctx, "loop-later"); !errors.Is(err, script.ErrTimeout) {
		t.Errorf("the loop: %v", err)
	}
	if err := <-patient; err != nil {
		t.Errorf("the other call: %v", err)
	}
}

// TestManyVMs makes, uses and closes VMs: memory does not grow with their number.
func TestManyVMs(t *testing.T) {
	p := source(t, `import assert from "node:assert"; import path from "node:path";
define("work", (s: string) => { const big = JSON.parse(s); assert.equal(big.length, 20000); return path.join("a", String(big.length)); });`)
	argument := make([]int, 20000)
	round := func() {
		vm, err := script.Start(t.Context(), p, script.Environment{Modules: map[string]string{"plumb": plumbModule}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := vm.Call(t.Context(), "work", "["+strings.Trim(strings.Repeat("1,", len(argument)),
			",")+"]"); err != nil {
			t.Fatal(err)
		}
		if err := vm.Close(); err != nil {
			t.Fatal(err)
		}
	}
	warm, many := 20, 100
	if testing.Short() {
		warm, many = 2, 10
	}
	for range warm {
		round()
	}
	before, goroutines := resident(t), runtime.NumGoroutine()
	for range many {
		round()
	}
	if grown := resident(t) - before; grown > 24<<20 {
		t.Errorf("%d VMs left %d MB behind", many, grown>>20)
	}
	if n := runtime.NumGoroutine(); n > goroutines+2 {
		t.Errorf("%d goroutines before, %d after", goroutines, n)
	}
}

func resident(t *testing.T) int {
	t.Helper()
	runtime.GC()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc here")
	}
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
