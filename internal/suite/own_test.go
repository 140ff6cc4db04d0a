package suite

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// leavers are checks that try to leave something behind, with what the error says; "" if they cannot see what they left.
func leavers() map[string]string {
	return map[string]string{
		`data = JSON.parse(output); return true`:                                                           `cannot set the global "data": declare it with const`,
		`globalThis.data = output; return true`:                                                            `cannot set the global "data"`,
		`this.data = output; return true`:                                                                  `Cannot set|cannot set|cannot`,
		`globalThis[Symbol.for("data")] = output; return true`:                                             `cannot set the global "data"`,
		`(0, eval)("var data = 1"); return true`:                                                           `cannot set the global "data"`,
		`(0, eval)("let data = 1"); return true`:                                                           "",
		`new Function("data = 1")(); return true`:                                                          `cannot set the global "data"`,
		`Object.defineProperty(globalThis, "data", {get: () => 1}); return true`:                           `cannot set the global "data"`,
		`JSON = {parse: () => ({city: "Paris"})}; return true`:                                             `cannot change globalThis.JSON`,
		`String.prototype.includes = () => true; return true`:                                              `cannot change String.prototype.includes`,
		`"".__proto__.includes = () => true; return true`:                                                  `cannot change String.prototype.includes`,
		`String.prototype.extra = 1; return true`:                                                          `cannot change String.prototype.extra`,
		`delete String.prototype.trim; return true`:                                                        `cannot delete String.prototype.trim`,
		`Object.freeze(Array.prototype); return true`:                                                      `cannot change Array.prototype`,
		`Object.preventExtensions(Map); return true`:                                                       `cannot change Map`,
		`Object.setPrototypeOf(Math, {data: 1}); return true`:                                              `cannot change Math`,
		`Array.prototype.push("x"); return true`:                                                           `cannot change Array.prototype.length`,
		`[][Symbol.iterator]().__proto__.next = () => ({done: true}); return true`:                         `cannot change`,
		`(async () => {}).constructor.prototype.data = 1; return true`:                                     `cannot change`,
		`Object.defineProperty(Array.prototype, 0, {get: () => "x"}); return true`:                         `cannot change Array.prototype`,
		`Error.stackTraceLimit = 1; return true`:                                                           `cannot change Error.stackTraceLimit`,
		`Math.random = () => 0.5; return true`:                                                             `cannot change Math.random`,
		`Date.now = () => 0; return true`:                                                                  `cannot change Date.now`,
		`Promise.resolve().then(() => { data = 1 }); return true`:                                          `cannot set the global "data"`,
		`setTimeout(() => { data = 1 }, 60000); return true`:                                               `cannot set the global "data"`,
		`setTimeout(() => { throw new Error("late") }, 60000); return true`:                                `late`,
		`Promise.reject(new Error("late")); return true`:                                                   `late`,
		`setInterval(() => {}, 10); return true`:                                                           `left a timer running`,
		`new Promise(() => {}); return true`:                                                               "",
		`process.env.DATA = "1"; return true`:                                                              "",
		`console.log = () => {}; return true`:                                                              "",
		`/a/g.lastIndex = 1; return true`:                                                                  "",
		`arguments.callee.data = 1; return true`:                                                           "",
		`return (report.data = 1) && (vars.data = 1) && (context.data = 1) === 1`:                          "",
		`const {Buffer: B} = globalThis; B.data = 1; return new Intl.NumberFormat("de").format(1) === "1"`: "",
	}
}

// readers are checks whose verdict would show what another left.
func readers() []string {
	return []string{
		`return typeof data === "undefined" && globalThis[Symbol.for("data")] === undefined`,
		`return data.city === "Paris"`,
		`return !output.includes("nope") && " a ".trim() === "a"`,
		`return JSON.parse('{"city":"Rome"}').city === "Rome" && [...[1, 2]].length === 2 && [].length === 0`,
		`return process.env.DATA === undefined && Buffer.data === undefined && Map.data === undefined`,
		`return Math.random() !== 0.5 && Date.now() > 0 && (Map.x = undefined, true)`,
		`return report.data === undefined && vars.data === undefined && context.data === undefined`,
	}
}

// ownSuite is a suite in JSON lines with a case for each check, or only the named one, beside files of checks that keep
// state.
func ownSuite(t *testing.T, only string) []plumb.Case {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cache.js"), `exports.seen = new Map();`)
	write(t, filepath.Join(dir, "count.ts"), `let calls = 0; export default () => ++calls === 1;`)
	write(t, filepath.Join(dir, "regexp.ts"), `const re = /i/g; export default (output: string) => re.test(output);`)
	write(t, filepath.Join(dir, "cached.js"), `const {seen} = require("./cache"); module.exports = (output) => { `+
		`seen.set("x", output); return seen.size === 1 && Object.keys(require("fs")).includes("left") === false && !(require("fs").left = 0) };`)
	write(t, filepath.Join(dir, "sloppy.js"), `module.exports = (output) => { leak = output; return true };`)
	var text strings.Builder
	add := func(id string, spec map[string]string) {
		if only != "" && id != only {
			return
		}
		spec["type"] = "js"
		line, err := json.Marshal(map[string]any{"id": id, "input": "p", "assertions": []any{spec}})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	for i, expr := range slices.Sorted(maps.Keys(leavers())) {
		add(fmt.Sprint("leaves-", i), map[string]string{"expr": expr})
	}
	for i, expr := range readers() {
		add(fmt.Sprint("reads-", i), map[string]string{"expr": expr})
	}
	for _, file := range []string{"count.ts", "regexp.ts", "cached.js", "sloppy.js"} {
		add(strings.ReplaceAll(file, ".", "-"), map[string]string{"file": file})
	}
	path := write(t, filepath.Join(dir, "s.jsonl"), text.String())
	b, err := Read(t.Context(), path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	s, _, err := b.Suite(t.Context(), lib.Host{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Cases
}

// judgedAs judges a session of a case, and describes the verdict.
func judgedAs(t *testing.T, c *plumb.Case) string {
	t.Helper()
	v, err := assertOn(t.Context(), c, `{"city":"Paris"}`)
	if f, ok := errors.AsType[*plumb.Failure](err); ok {
		return fmt.Sprint(f.Origin, ": ", f.Name, ": ", f.Message)
	}
	if err != nil || len(v) != 1 {
		t.Errorf("%s: %v, %v", c.ID, v, err)
		return ""
	}
	if v[0].Error != nil {
		return fmt.Sprint(v[0].Error.Origin, ": ", v[0].Error.Name, ": ", v[0].Error.Message)
	}
	return fmt.Sprint(v[0].Pass)
}

// TestF25_LeftBehind: a check that tries to leave something behind is an error that says so, unless nothing can see it.
func TestF25_LeftBehind(t *testing.T) {
	all := ownSuite(t, "")
	for i, expr := range slices.Sorted(maps.Keys(leavers())) {
		want, got := leavers()[expr], judgedAs(t, &all[i])
		if want == "" && got != "true" || want != "" && !strings.HasPrefix(got, string(plumb.OriginAssertHook)) ||
			!slices.ContainsFunc(strings.Split(want, "|"), func(part string) bool { return strings.Contains(got, part) }) {
			t.Errorf("%s\n%s, want %q", expr, got, want)
		}
	}
}

// asserts are the bodies of asserts in TypeScript that leave something behind, or whose verdict would show what another
// left, by their ids.
func asserts() map[string]string {
	return map[string]string{
		"counts":          `assert.equal(++calls, 1); assert.equal(calls, 1)`,
		"counts imported": `assert.equal(next(), 1); shared.list.push(1); assert.equal(shared.list.length, 1)`,
		"caches":          `seen.set(report.finalOutput, 1); seen.set("x", 1); assert.equal(seen.size, 2)`,
		"memoizes":        `config ??= { read: 0 }; assert.equal(++config.read, 1)`,
		"regexp":          `assert.ok(sticky.test("city")); assert.equal(sticky.lastIndex, 2)`,
		"generator":       `assert.equal(ids.next().value, 0)`,
		"class":           `Counter.made++; new Counter(); assert.equal(Counter.made, 1)`,
		"private":         `assert.equal(counter.up(), 1)`,
		"closure":         `assert.equal(later(), undefined)`,
		"frozen":          `Object.freeze(shared); assert.ok(Object.isFrozen(shared))`,
		"not frozen":      `shared.list = [7]; assert.equal(shared.list[0], 7)`,
		"throws first":    `if (!calls++) throw new Error("only once")`,
		"fails first":     `assert.equal(calls++, 1)`,
		"env":             `assert.equal(process.env.DATA, undefined); process.env.DATA = "1"; assert.equal(process.env.WHO, "me"); delete process.env.WHO`,
		"env replaced":    `process.env = { DATA: "2" } as any; assert.equal(process.env.DATA, "2")`,
		"cwd":             `assert.notEqual(process.cwd(), tmpdir()); process.chdir(tmpdir()); assert.equal(process.cwd(), realpathSync(tmpdir()))`,
		"argv":            `assert.equal(process.argv.length, 2); process.argv.push("more"); process.exitCode = 3`,
		"listens":         `assert.equal(process.listenerCount("exit"), 0); process.on("exit", () => { throw new Error("late") })`,
		"node module":     `assert.equal((fs as any).left, undefined); (fs as any).left = 1; assert.equal((path as any).sep, "/"); (path as any).sep = "!"`,
		"own module":      `assert.equal((assert as any).left, undefined); (assert as any).left = () => 1; (assert as any).equal = () => {}`,
		"groups":          `(assert.output as any).includes = () => {}; assert.output.includes(report, "nowhere")`,
		"output":          `assert.output.includes(report, "nowhere")`,
		"case":            `assert.equal((this as any).left, undefined); (this as any).left = 1; (this as any).prompt = "other"`,
		"cases":           `assert.equal(suite.length > 0, true); suite.length = 0`,
		"other case":      `for (const c of suite) c.assert = () => {}; assert.equal(1, 2)`,
		"report":          `assert.equal((report as any).left, undefined); (report as any).left = 1; report.events.push({} as any)`,
		"console":         `assert.equal((console as any).left, undefined); console.log = () => {}; (console as any).left = 1`,
		"soft":            `assert.soft.equal(++calls, 1); assert.soft.equal(1, 2)`,
		"timer":           `setTimeout(() => { calls++; shared.list.push(2) }, 5); assert.equal(calls, 0)`,
		"forgotten":       `void (async () => { await sleep(3); calls++ })(); assert.equal(calls, 0); assert.equal(shared.list.length, 0)`,
		"waits":           `await sleep(5); assert.equal(calls, 0); calls++; await sleep(5); assert.equal(calls, 1)`,
		"interval":        `setInterval(() => calls++, 5)`,
		"never":           `await new Promise(() => {})`,
		"rejects":         `Promise.reject(new Error("late")); calls++`,
		"global":          `(globalThis as any).data = 1`,
		"reads global":    `assert.equal((globalThis as any).data, undefined)`,
		"prototype":       `(String.prototype as any).includes = () => true; (Array.prototype as any).left = 1`,
		"reads prototype": `assert.ok(!report.finalOutput.includes("nope")); assert.equal(([] as any).left, undefined)`,
		"module class":    `(Counter.prototype as any).up = () => 42; (Error as any).left = 1`,
		"random":          `assert.ok(report.finalOutput.includes("city")); assert.notEqual(Math.random(), early); assert.equal(made, early)`,
		"loads":           `const more = await import(["./", "state.ts"].join("")); assert.equal(more.next(), 1)`,
		"requires":        `assert.equal(createRequire(import.meta.url)("node:os").left, undefined); (createRequire(import.meta.url)("node:os") as any).left = 1`,
		"symbol":          `const key = Symbol.for("left"); assert.equal((shared as any)[key], undefined); (shared as any)[key] = 1`,
		"weak":            `assert.ok(!tags.has(shared)); tags.add(shared)`,
	}
}

// codeOwnSuite is a suite in TypeScript with a case for each of these bodies, or only the named one.
func codeOwnSuite(t *testing.T, only string) []plumb.Case {
	t.Helper()
	text := `import fs, { realpathSync } from "node:fs"; import path from "node:path"; import { tmpdir } from "node:os"; import { createRequire } from "node:module";
import { assert, type SessionReport } from "plumb"; import { next, shared } from "./state";
let calls = 0, config: any, made = Math.random(); const early = made; const seen = new Map(), sticky = /i/g, tags = new WeakSet();
const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms));
const ids = (function* () { for (let i = 0; ; i++) yield i; })();
class Counter { static made = 0; #n = 0; up() { return ++this.#n; } }
const counter = new Counter(); const later = (() => { let was: any; return () => { const old = was; was = 1; return old; }; })();
const suite: any[] = []; export default suite;
`
	for _, id := range slices.Sorted(maps.Keys(asserts())) {
		if only == "" || only == id {
			text += fmt.Sprintf("suite.push({ id: %q, prompt: \"p\", async assert(report: SessionReport) { %s } });\n", id, asserts()[id])
		}
	}
	b := suiteIn(t, map[string]string{
		"a.ts": text, "state.ts": `let n = 0; export const next = () => ++n; export const shared = { list: [] as number[] };`,
	})
	s, _, err := b.Suite(t.Context(), lib.Host{Environ: func() []string { return []string{"WHO=me", "TMPDIR=" + os.TempDir()} }})
	if err != nil {
		t.Fatal(err)
	}
	return s.Cases
}

// TestF25_OwnCase: the verdict of a case is the same alone, and in any order, subset and number at once.
func TestF25_OwnCase(t *testing.T) {
	t.Run("checks", func(t *testing.T) { sameAsAlone(t, ownSuite) })
	t.Run("asserts", func(t *testing.T) { sameAsAlone(t, codeOwnSuite) })
}

func sameAsAlone(t *testing.T, suite func(t *testing.T, only string) []plumb.Case) {
	t.Helper()
	all := suite(t, "")
	alone := map[string]string{}
	for i := range all {
		fresh := suite(t, all[i].ID)
		alone[all[i].ID] = judgedAs(t, &fresh[0])
		t.Logf("%s: %s", all[i].ID, alone[all[i].ID])
	}
	rapid.Check(t, func(r *rapid.T) {
		order := rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 1, 12).Draw(r, "cases")
		workers := rapid.IntRange(1, 8).Draw(r, "workers")
		next := make(chan *plumb.Case)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for c := range next {
					if got := judgedAs(t, c); got != alone[c.ID] {
						r.Errorf("%s: %s, alone %s", c.ID, got, alone[c.ID])
					}
				}
			})
		}
		for _, i := range order {
			next <- &all[i]
		}
		close(next)
		wg.Wait()
	})
}

// TestU9_Started: what an assert started and did not wait for belongs to its case, and ends with it.
func TestU9_Started(t *testing.T) {
	tests := []struct{ id, body, want string }{
		{"timer", `setTimeout(() => { throw new Error("late") }, 60000)`, "assert-hook: Error: late"},
		{"nested timer", `setTimeout(() => setTimeout(() => { throw new Error("late") }, 60000), 60000)`, "assert-hook: Error: late"},
		{"immediate", `setImmediate(() => { throw new Error("late") })`, "assert-hook: Error: late"},
		{"promise", `sleep(60000).then(() => { throw new Error("late") })`, "assert-hook: Error: late"},
		{"microtask", `queueMicrotask(() => { throw new Error("late") })`, "assert-hook: Error: late"},
		{"check", `sleep(60000).then(() => assert.equal(1, 2))`, "false"},
		{"interval", `setInterval(() => {}, 1000)`, "assert-hook: UnfinishedError: an assert left a timer running that never stops"},
		{"timers for ever", `const again = () => { setTimeout(again, 1000) }; again()`, "assert-hook: UnfinishedError: an assert left a timer running that never stops"},
		{"cleared interval", `let n = 0; const i = setInterval(() => { if (++n === 5) clearInterval(i) }, 60000)`, "true"},
		{"unref", `setInterval(() => {}, 10).unref()`, "true"},
		{"race", `await Promise.race([sleep(1), new Promise((_, no) => setTimeout(() => no(new Error("slow")), 60000))])`, "true"},
		{"stack", `const f = (): any => f() + 1; f()`, "assert-hook: RangeError: stack overflow"},
		{"global", `(globalThis as any).x = 1`, `assert-hook: SharedStateError: an assert cannot set the global "x": declare it with const`},
		{"prototype", `(String.prototype as any).includes = () => true`, "assert-hook: SharedStateError: an assert cannot change String.prototype.includes"},
		{"late prototype", `setTimeout(() => { (Array.prototype as any).x = 1 }, 60000)`, "assert-hook: SharedStateError: an assert cannot change Array.prototype.x"},
		{"fine", `assert.equal("ab".includes("c"), false); assert.equal((globalThis as any).x, undefined); await sleep(1)`, "true"},
		{"modules", `structuredClone({}); new URL("http://a/"); Buffer.from("x"); crypto.randomUUID(); "a".localeCompare("b"); new Date().toLocaleString(); new Intl.NumberFormat("de").format(1)`, "true"},
	}
	var pairs []string
	for _, test := range tests {
		pairs = append(pairs, test.id, test.body)
	}
	b := suiteIn(t, map[string]string{"a.ts": codeCases(pairs...)})
	_, byID := loaded(t, b, lib.Host{MemoryLimit: 64 << 20})
	for _, test := range tests {
		if got := judgedAs(t, byID[test.id]); got != test.want {
			t.Errorf("%s: %s, want %s", test.id, got, test.want)
		}
	}
	// At once: each assert is judged as alone.
	var wg sync.WaitGroup
	for range 3 {
		for _, test := range tests {
			wg.Go(func() {
				if got := judgedAs(t, byID[test.id]); got != test.want {
					t.Errorf("%s, at once: %s, want %s", test.id, got, test.want)
				}
			})
		}
	}
	wg.Wait()
}

// TestU9_Memory: code that runs out of memory is an error that says so, whatever the engine threw, also null or the error
// of code that was loaded halfway.
func TestU9_Memory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	bodies := []string{
		`new Array(1e8).fill("x")`, `new Array(2 ** 32 - 1).fill("x")`, `"x".repeat(2 ** 29)`, `"x".padEnd(1e8)`, `new Uint8Array(1e9)`,
		`new ArrayBuffer(1e8)`, `Buffer.alloc(1e8)`, `Buffer.from("x".repeat(7e6)).toString("hex").repeat(3)`, `[..."x".repeat(5e6)]`,
		`JSON.stringify(Array.from({length: 1e6}, (_, i) => i))`, `JSON.parse("[" + "{},".repeat(5e5) + "1]")`, `Object.keys(new Uint8Array(2e6))`,
		`"ab,".repeat(1e6).split(",")`, `"x".repeat(2e6).normalize("NFKD").toUpperCase().split("").reverse()`, `Array.from({length: 1e7}, () => [])`,
		`"a".repeat(2e6).replaceAll("a", "bbbbbbbbbbbbbb")`, `const f = (a: number[]): any => f([...a, ...a]); f([1])`,
		`const f = (n: number): any => { const a = new Array(1e4).fill(n); return [f(n + 1), a] }; f(0)`,
		`const all = []; for (;;) all.push(new Array(1000).fill(1).map(String))`, `const all = new Map(); for (let i = 0; ; i++) all.set(i, {})`, `await Promise.all(Array.from({length: 3e5}, async () => { await null }))`,
		`setTimeout(() => { new Array(1e8).fill("x") }, 10)`, `void (async () => { new Array(1e8).fill("x") })()`, `console.log(new Array(1e8).fill("x"))`,
		`try { new Array(1e8).fill("x") } catch (e) { throw new Error("mine") }`, `try { new Array(1e8).fill("x") } catch (e) { throw null }`,
		`assert.soft.ok(new Array(1e8).fill("x"))`, `assert.equal("x".repeat(5e6), "y".repeat(5e6))`,
	}
	var pairs []string
	for i, body := range bodies {
		pairs = append(pairs, fmt.Sprint(i), body)
	}
	pairs = append(pairs, "caught", `try { new Array(1e8).fill("x") } catch {}`, "check", `try { new Array(1e8).fill("x") } catch { assert.equal(1, 2) }`,
		"null", `throw null`)
	_, byID := loaded(t, suiteIn(t, map[string]string{"a.ts": codeCases(pairs...)}), lib.Host{MemoryLimit: 16 << 20})
	want := map[string]string{"caught": "true", "check": "false", "null": "assert-hook: Error: null"}
	for i := 0; i < len(pairs); i += 2 {
		id := pairs[i]
		if got := judgedAs(t, byID[id]); got != cmp.Or(want[id], "assert-hook: MemoryError: the assert ran out of memory") {
			t.Errorf("%s\n%s", pairs[i+1], got)
		}
	}
	for _, body := range bodies[:len(bodies)-2] {
		path := write(t, filepath.Join(t.TempDir(), "s.jsonl"), fmt.Sprintf(`{"id": "a", "input": "p", "assertion": {"type": "js", "expr": %q}}`, ts(body)+"; return true"))
		b, err := Read(t.Context(), path, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := b.Suite(t.Context(), lib.Host{MemoryLimit: 16 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if got := judgedAs(t, &s.Cases[0]); got != "assert-hook: MemoryError: the code ran out of memory" {
			t.Errorf("%s\n%s", body, got)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// ts removes the types of a body.
func ts(body string) string {
	return strings.NewReplacer(": number[]", "", ": number", "", ": any", "").Replace(body)
}
