package script_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/script"
)

// TestExec runs programs to their end: output, exit code and what Node prints about errors.
func TestExec(t *testing.T) {
	for _, tc := range []struct {
		name, text     string
		code           int
		stdout, stderr string // stderr: all lines of it must occur; FILE stands for the program
	}{
		{"hello", `console.log("hello", await 1); console.error("err");`, 0, "hello 1\n", "err\n"},
		{
			"loop", `setTimeout(() => console.log("later"), 5); console.log("now"); setTimeout(() => {}, 1e6).unref();`, 0,
			"now\nlater\n", "",
		},
		{
			"throws", "console.log(1);\nfunction f(): never { throw new TypeError('bad'); }\nf();", 1, "1\n",
			"FILE:2\nTypeError: bad\n    at f (FILE:2:29)\n    at FILE:3:1\n",
		},
		{
			"engine error", "const x: any = undefined;\nx.y.z;", 1, "",
			"TypeError: cannot read property 'y' of undefined\n    at FILE:2:3\n",
		},
		{
			"rejects", "await null;\nawait Promise.reject(new Error('no'));", 1, "",
			"FILE:2\nError: no\n    at FILE:2:22\n",
		},
		{
			"unhandled", "void Promise.reject(new Error('floating')); setTimeout(() => console.log('never'), 20);", 1, "",
			"Error: floating\n",
		},
		{"throws string", "throw 'text';", 1, "", "Uncaught threw text\n"},
		{
			"in timer", "setTimeout(() => { throw new Error('timed'); }, 1);\nsetTimeout(() => console.log('never'), 20);",
			1, "", "Error: timed\n    at FILE:1:26\n",
		},
		{"exit", "process.on('exit', (c) => console.log('bye', c));\nsetTimeout(() => {}, 1e6);\nprocess.exit(3);\nconsole.log('never');", 3, "bye 3\n", ""},
		{"exitCode", "process.exitCode = 4; process.on('exit', (c) => console.log('end', c));", 4, "end 4\n", ""},
		{"exit in async", "async function main() { await null; process.exit(0); }\nmain(); setInterval(() => {}, 1000);", 0, "", ""},
		{"never", "await new Promise(() => {});", 13, "", "Warning: Detected unsettled top-level await at FILE\n"},
		{
			"args", "console.log(process.argv.slice(2), process.env.GREETING, process.cwd());", 0,
			"[ 'one', 'two' ] hi /some/dir\n", "",
		},
		{
			"assertion", "import assert from 'node:assert';\nassert.equal(1, 2);", 1, "",
			"AssertionError [ERR_ASSERTION]: 1 == 2\n    at FILE:2:8\n",
		},
		{
			"cause", "throw new Error('outer', {cause: new Error('inner')});", 1, "",
			"Error: outer\n  [cause]: Error: inner\n",
		},
		{
			"props", "throw Object.assign(new Error('p'), {code: 'E_X', extra: [1]});", 1, "",
			"  code: 'E_X',\n  extra: [ 1 ]\n",
		},
		{
			"print engine error", "try { (null as any).x; } catch (e) { console.log(e); }", 0,
			"TypeError: cannot read property 'x' of null\n    at FILE:1:21\n", "",
		},
		{"microtask throws", "queueMicrotask(() => { throw new Error('micro'); });", 1, "", "Error: micro\n"},
		{"absent builtin in package", "console.log('ok');", 0, "ok\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "main.ts")
			if err := os.WriteFile(file, []byte(tc.text+"\nexport {};"), 0o644); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			ctx, cancel := timeout(t, 10*time.Second)
			defer cancel()
			code, err := script.Exec(ctx, build(t, file), script.Environment{
				Dir: "/some/dir", Env: []string{"GREETING=hi"},
				Args: []string{"one", "two"}, Stdout: &stdout, Stderr: &stderr,
			})
			if err != nil || code != tc.code {
				t.Errorf("code %d, %v, want %d", code, err, tc.code)
			}
			if got := strings.ReplaceAll(stdout.String(), file, "FILE"); got != tc.stdout {
				t.Errorf("stdout %q, want %q", got, tc.stdout)
			}
			told := strings.ReplaceAll(stderr.String(), file, "FILE")
			for line := range strings.SplitSeq(strings.TrimSuffix(tc.stderr, "\n"), "\n") {
				if !strings.Contains(told, line) {
					t.Errorf("stderr lacks %q:\n%s", line, told)
				}
			}
			if tc.stderr == "" && told != "" {
				t.Errorf("stderr %q", told)
			}
		})
	}
}

func TestExecStops(t *testing.T) {
	for _, text := range []string{
		"for (;;);", "await new Promise((r) => setTimeout(r, 1e6));",
		"setInterval(() => {}, 10);", "setTimeout(() => { for (;;); }, 1);",
	} {
		ctx, cancel := timeout(t, 200*time.Millisecond)
		_, err := script.Exec(ctx, source(t, text), script.Environment{Modules: map[string]string{"plumb": plumbModule}})
		cancel()
		if !errors.Is(err, script.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
