package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/script"
)

// TestCopy: a copy of a VM has learned what the original learned while it loaded, and does nothing of it again.
func TestCopy(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	dir := t.TempDir()
	var out bytes.Buffer
	o := script.Environment{
		Dir: dir, Stdout: &out, Stderr: &out, Env: []string{"PATH=" + os.Getenv("PATH"), "WHO=me"},
		Modules: map[string]string{"plumb": plumbModule},
	}
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := source(t, `
import { execSync, exec } from "node:child_process"; import { promisify } from "node:util"; import fs from "node:fs";
import crypto from "node:crypto"; import { performance } from "node:perf_hooks";
console.log("loading"); process.stderr.write("loading\n");
const failed = (f: () => unknown) => { try { f(); return "fine" } catch (e: any) { return e.code + e.message + e.status } };
fs.appendFileSync("log.txt", "loaded\n"); fs.mkdirSync("made");
const temp = fs.mkdtempSync("temp-"); process.chdir(temp); process.env.WHO += "!";
const began = Date.now(), mark = performance.now();
await new Promise((r) => setTimeout(r, 2000));
let ticks = 0; await new Promise<void>((r) => { const i = setInterval(() => { if (++ticks === 3) { clearInterval(i); r() } }, 60) });
const early = Math.random(), waits = Date.now() - began;
for (const end = Date.now() + 5; Date.now() < end;);
const shell = await promisify(exec)("echo $$; echo x >>../shell.txt");
const learned = {
  temp, began, waits, ticks, early, late: Math.random(), date: new Date(), text: Date(), now: performance.now(), mark, uuid: crypto.randomUUID(),
  bytes: crypto.randomBytes(4).toString("hex"), web: globalThis.crypto.randomUUID(), file: fs.readFileSync("../in.txt", "utf8"), bytesOf: fs.readFileSync("../in.txt").length,
  mtime: fs.statSync("../in.txt").mtimeMs, list: fs.readdirSync("..").length, pid: execSync("echo $$; echo x >>../shell.txt").toString(), shell,
  missing: failed(() => fs.readFileSync("none")), status: failed(() => execSync("exit 3")), again: failed(() => fs.mkdirSync("../made")),
  cwd: process.cwd(), who: process.env.WHO, computed: (await import(["..", "more.ts"].join("/"))).default,
};
let calls = 0;
define("learned", () => learned);
define("change", () => { calls++; learned.temp = "mine"; process.env.WHO = "other"; process.chdir("/"); fs.constants.R_OK; (Math as any).left = 1; return calls });
define("next", () => [Math.random(), crypto.randomUUID(), new Date().getTime() - Date.now() <= 0, performance.now() >= learned.now, fs.readFileSync("../in.txt", "utf8")]);
`)
	if err := os.WriteFile(filepath.Join(filepath.Dir(p.Entry), "..", "more.ts"), []byte("export default Math.random();"), 0o600); err != nil {
		t.Fatal(err)
	}
	vm := start(t, p, o)
	want, printed := call(t, vm, "learned"), out.String()
	if printed != "loading\nloading\n" {
		t.Errorf("printed %q", printed)
	}
	call(t, vm, "change")
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := func() (names []string) {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			data, _ := os.ReadFile(path)
			names = append(names, path+string(data))
			return nil
		})
		return names
	}
	before := files()
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			began := time.Now()
			c, err := vm.Copy(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if took := time.Since(began); took > 1800*time.Millisecond && !testing.Short() {
				t.Errorf("the copy waited as the original did: %v", took)
			}
			if got := call(t, c, "learned"); got != want {
				t.Errorf("learned %s\nnot %s", got, want)
			}
			var next []any
			if err := json.Unmarshal([]byte(call(t, c, "next")), &next); err != nil {
				t.Error(err)
				return
			}
			if !slices.Equal(next[2:], []any{true, true, "second"}) {
				t.Errorf("after it loaded: %v", next)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, v := range next[:2] {
				key, _ := json.Marshal(v)
				if seen[string(key)] {
					t.Errorf("two copies have the random value %s after they loaded", key)
				}
				seen[string(key)] = true
			}
			if got := call(t, c, "change"); got != "1" {
				t.Errorf("it is call %s", got)
			}
		})
	}
	wg.Wait()
	if now := files(); !slices.Equal(before, now) || out.String() != printed {
		t.Errorf("copies had effects: printed %q\n%v\n%v", out.String(), before, now)
	}
	if err := vm.Close(); err != nil {
		t.Error(err)
	}
	if _, err := vm.Copy(t.Context(), o); err == nil {
		t.Error("a closed VM was copied")
	}
}

// TestCopyDiffers: what a module does only when it loads again happens, and an error of it is the copy's.
func TestCopyDiffers(t *testing.T) {
	var out bytes.Buffer
	asked := 0
	o := script.Environment{
		Stdout: &out, Modules: map[string]string{"plumb": plumbModule},
		Host: map[string]script.HostFunc{"count": func(context.Context, []json.RawMessage) (any, error) { asked++; return asked, nil }},
	}
	vm := start(t, source(t, `
const n: number = host("count"); if (n === 3) throw new TypeError("no more");
for (let i = 0; i < n; i++) console.log("loading"); define("n", () => n);`), o)
	c, err := vm.Copy(t.Context(), o)
	if err != nil || call(t, c, "n") != "2" || c.Close() != nil || out.String() != "loading\nloading\n" {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	_, err = vm.Copy(t.Context(), o)
	if e, ok := errors.AsType[*script.Error](err); !ok || e.Name != "TypeError" || len(e.Frames) != 1 || e.Frames[0].Line != 3 {
		t.Errorf("got %#v", err)
	}
	if c, err = vm.Copy(t.Context(), o); err != nil || call(t, c, "n") != "4" || c.Close() != nil {
		t.Errorf("after an error: %v", err)
	}
}
