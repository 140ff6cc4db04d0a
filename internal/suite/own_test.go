package suite

import (
	"encoding/json"
	"fmt"
	"maps"
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
	b, err := Read(path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	s, _, err := b.SuiteIn(t.Context(), lib.Host{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Cases
}

// judgedAs judges a session of a case, and describes the verdict.
func judgedAs(t *testing.T, c *plumb.Case) string {
	t.Helper()
	v, err := assertOn(t.Context(), c, `{"city":"Paris"}`)
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

// TestF25_OwnCase: the verdict of a case is the same alone, and in any order, subset and number at once.
func TestF25_OwnCase(t *testing.T) {
	all := ownSuite(t, "")
	alone := map[string]string{}
	for i := range all {
		fresh := ownSuite(t, all[i].ID)
		alone[all[i].ID] = judgedAs(t, &fresh[0])
	}
	rapid.Check(t, func(r *rapid.T) {
		order := rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 1, 20).Draw(r, "cases")
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
		{"memory", `const all: unknown[] = []; for (;;) all.push(new Array(1000).fill(1).map(String))`, "assert-hook: MemoryError: the assert ran out of memory"},
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
	b := suiteIn(t, map[string]string{"a.ts": cases(pairs...)})
	_, byID := loaded(t, b, lib.Host{MemoryLimit: 64 << 20})
	judge := func(id string) string {
		v, err := assertOn(t.Context(), byID[id], "x")
		switch {
		case err != nil:
			f := plumb.Failed(plumb.OriginAssertHook, err)
			return fmt.Sprint(f.Origin, ": ", f.Name, ": ", f.Message)
		case v[0].Error != nil:
			return fmt.Sprint(v[0].Error.Origin, ": ", v[0].Error.Name, ": ", v[0].Error.Message)
		}
		return fmt.Sprint(v[0].Pass)
	}
	for _, test := range tests {
		if got := judge(test.id); got != test.want {
			t.Errorf("%s: %s, want %s", test.id, got, test.want)
		}
	}
	// At once: each assert is judged as alone.
	var wg sync.WaitGroup
	for range 3 {
		for _, test := range tests {
			if test.id == "memory" {
				continue // it takes a second
			}
			wg.Go(func() {
				if got := judge(test.id); got != test.want {
					t.Errorf("%s, at once: %s, want %s", test.id, got, test.want)
				}
			})
		}
	}
	wg.Wait()
}
