package script

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestX(t *testing.T) {
	dir := t.TempDir()
	f := filepath.Join(dir, "a.ts")
	os.WriteFile(f, []byte(`
import { define } from "plumb"
import assert from "node:assert/strict"
enum A { X = 1, Y }
interface Foo { a: number }
const foo: Foo = { a: A.Y }
function thrower(): never { throw new Error("bad " + foo.a) }
define("ok", (x: number) => x + foo.a)
define("later", async (x: number) => { await new Promise(r => setTimeout(r, 5)); return { x } })
define("bad", async () => { await null; thrower() })
define("type", () => { (null as any).foo })
define("assert", () => { assert.equal(1, 2) })
define("okx", () => { assert.ok(foo.a === 3) })
define("loop", () => { while (true); })
define("never", () => new Promise(() => {}))
define("unhandled", () => { assert.rejects(async () => {}) })
define("sleep", () => new Promise(r => setTimeout(r, 50000)))
console.log("hello", foo, new Error("x"))
export default 42
`), 0o644)
	t0 := time.Now()
	p, err := Build(BuildOptions{Entry: f, Modules: map[string]bool{"plumb": true}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("build", time.Since(t0), p.Inputs, p.Imports)
	fmt.Println(string(p.Code))
	t0 = time.Now()
	vm, err := Start(context.Background(), p, Options{Stdout: os.Stdout, Stderr: os.Stderr, Modules: map[string]string{"plumb": "exports.define = (n, f) => { __entry[n] = f }"}})
	if err != nil {
		t.Fatalf("%v %#v", err, err)
	}
	fmt.Println("start", time.Since(t0))
	for _, name := range []string{"ok", "later", "bad", "type", "assert", "okx", "nope", "never", "unhandled"} {
		t0 = time.Now()
		r, err := vm.Call(context.Background(), name, 5)
		fmt.Println(name, string(r), err, time.Since(t0))
		if e, ok := err.(*Error); ok {
			fmt.Println(e.Stack, e.Frames, e.Code, e.IsAssertion, string(e.Data))
			j, _ := json.Marshal(e)
			_ = j
		}
	}
	for _, name := range []string{"loop", "sleep", "ok"} {
		ctx, c := context.WithTimeout(context.Background(), 200*time.Millisecond)
		t0 = time.Now()
		r, err := vm.Call(ctx, name, 5)
		fmt.Println(name, string(r), err, time.Since(t0))
		c()
	}
	fmt.Println(vm.Close())
}
