package packaging_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tarballs returns the npm packages for this system: those of the snapshot, or new ones with a binary
// built here.
func tarballs(t *testing.T) []string {
	t.Helper()
	names := strings.NewReplacer("windows", "win32", "amd64", "x64") // as Node has them
	platform := names.Replace(runtime.GOOS + "-" + runtime.GOARCH)
	dir := filepath.Join(os.Getenv("PLUMB_DIST"), "npm")
	if os.Getenv("PLUMB_DIST") == "" {
		scratch := t.TempDir()
		dir = filepath.Join(scratch, "npm")
		binary := filepath.Join(scratch, "plumb")
		command(t, root, "go", "build", "-o", binary, "./cmd/plumb")
		command(t, root, "node", "packaging/npm/pack.mjs", "0.0.0-test", dir, platform+"="+binary)
	}
	var found []string
	for _, name := range []string{"plumb-eval-" + platform + "-*.tgz", "plumb-eval-[0-9]*.tgz"} {
		files, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v %v", name, files, err)
		}
		found = append(found, files[0])
	}
	return found
}

// command runs a program that must succeed.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, code := try(t, dir, name, args...)
	if code != 0 {
		t.Fatalf("%s %v: exit code %d\n%s", name, args, code, out)
	}
	return out
}

func try(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// The npm packages work in a JavaScript project, where they are installed without network.
func TestNpm(t *testing.T) {
	if os.Getenv("PLUMB_CI") == "" {
		t.Skip("the npm packages are packed and installed with PLUMB_CI=1, because a build of plumb takes long")
	}
	program(t, "npm")
	dir := t.TempDir()
	write(t, dir, "package.json", `{"private": true}`)
	install := append([]string{"install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"}, tarballs(t)...)
	command(t, dir, "npm", install...)
	t.Run("types", func(t *testing.T) { npmTypes(t, dir) })
	t.Run("interrupts", func(t *testing.T) { npmInterrupts(t, dir) })
	t.Run("commands", func(t *testing.T) { npmCommands(t, dir) }) // it removes the binary at its end
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const npmSuite = `{"id": "sum", "category": "reasoning", "input": "1+1", "ideal": "2",` +
	` "assertion": {"type": "contains"}}` + "\n"

func npmCommands(t *testing.T, dir string) {
	t.Helper()
	npx := func(args ...string) (string, int) {
		t.Helper()
		return try(t, dir, "npx", append([]string{"--no", "--offline", "plumb-eval"}, args...)...)
	}
	if out, code := npx("version"); code != 0 || !strings.Contains(out, "plumb ") ||
		!strings.Contains(out, runtime.GOOS+"/"+runtime.GOARCH) {
		t.Errorf("version: exit code %d\n%s", code, out)
	}
	if out, code := npx("demo"); code != 0 || !strings.Contains(out, "pass") {
		t.Errorf("demo: exit code %d\n%s", code, out)
	}
	if out, code := npx("no-such-command"); code != 2 || !strings.Contains(out, "no-such-command") {
		t.Errorf("an unknown command: exit code %d\n%s", code, out)
	}
	write(t, dir, "suite.jsonl", npmSuite)
	write(t, dir, "plumb.yaml", "runners:\n  wrong: {command: [echo, '3']}\n")
	if out, code := npx("run", "suite.jsonl"); code != 1 {
		t.Errorf("a run that fails: exit code %d\n%s", code, out)
	}
	t.Run("no binary", func(t *testing.T) {
		if err := os.RemoveAll(filepath.Join(dir, "node_modules/@plumb-eval")); err != nil {
			t.Fatal(err)
		}
		if out, code := npx("version"); code != 2 || !strings.Contains(out, "is not installed") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}

// npmTypes: a suite in TypeScript finds the types of "plumb" through the package.
func npmTypes(t *testing.T, dir string) {
	t.Helper()
	tsc, err := filepath.Abs("../third_party/script-packages/node_modules/.bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tsc); err != nil {
		t.Fatal("there is no TypeScript compiler: run npm ci --prefix third_party/script-packages")
	}
	const config = `{"compilerOptions": {"strict": true, "noEmit": true, "module": "esnext", "types": ["plumb-eval"]}}`
	write(t, dir, "tsconfig.json", config)
	write(t, dir, "suite.ts", `import { assert, type Case } from "plumb";
const cases: Case[] = [{ id: "a", prompt: "b", assert(report) { assert.output.notEmpty(report); } }];
export default cases;
`)
	command(t, dir, tsc)
	write(t, dir, "suite.ts", `import { type Case } from "plumb"; export const c: Case = { id: 1, prompt: "b" };`)
	if out, code := try(t, dir, tsc); code == 0 || !strings.Contains(out, "not assignable") {
		t.Errorf("a wrong suite: exit code %d\n%s", code, out)
	}
}

// npmInterrupts: one Ctrl-C at a terminal reaches npx, the launcher and plumb, and the first two pass it
// on. The run must end as after one Ctrl-C: what is in flight finishes, and the exit code is 130.
func npmInterrupts(t *testing.T, dir string) {
	t.Helper()
	posix(t)
	write(t, dir, "suite.jsonl", npmSuite+strings.Replace(npmSuite, "sum", "more", 1))
	const runner = "slow: {command: [sh, -c, 'touch started; sleep 2; echo 2']}"
	write(t, dir, "plumb.yaml", "run: {parallel: 1}\nrunners:\n  "+runner+"\n")
	for name, args := range map[string][]string{
		"launcher": {"node_modules/.bin/plumb-eval"},
		"npx":      {"npx", "--no", "--offline", "plumb-eval"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			args := append(args, "run", "suite.jsonl", "--report", "json-summary:"+name+".json")
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
			setGroup(cmd)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			started := filepath.Join(dir, "started")
			for range 600 {
				if _, err := os.Stat(started); err == nil {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if err := os.Remove(started); err != nil {
				t.Error(err)
			}
			interruptGroup(t, cmd)
			_ = cmd.Wait()
			code := cmd.ProcessState.ExitCode()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				code = 128 + int(status.Signal())
			}
			if code != 130 {
				t.Errorf("exit code %d\n%s", code, out.String())
			}
			data, err := os.ReadFile(filepath.Join(dir, name+".json"))
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			var summary struct {
				Rate struct{ Planned, Passed, Skipped int }
			}
			if err := json.Unmarshal(data, &summary); err != nil {
				t.Fatal(err)
			}
			if summary.Rate.Passed != 1 {
				t.Errorf("the session in flight was not measured: %s\n%s", data, out.String())
			}
		})
	}
}
