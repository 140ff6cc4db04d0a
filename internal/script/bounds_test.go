package script_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/script"
)

// TestHostIsBounded has a script ask the host for more than its own memory may hold: it gets an
// error, as of Node where Node has one, and the host takes little for it.
func TestHostIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	if runtime.GOOS == "windows" {
		t.Skip("there are no devices")
	}
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	many := filepath.Join(dir, "many")
	if err := os.Mkdir(many, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		name := filepath.Join(many, strings.Repeat("x", 200)+string(rune('a'+i%26))+string(rune('a'+i/26)))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entry := filepath.Join(dir, "main.ts")
	source := `
import { readFileSync, readdirSync, copyFileSync, writeFileSync } from "node:fs";
import { execSync, execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
const tell = (name: string, f: () => unknown) => {
	try { console.log(name, "gave", String(f()).length) } catch (e: any) { console.log(name, e.name, e.code, e.message) }
};
tell("zero", () => readFileSync("/dev/zero"));
tell("text", () => readFileSync("/dev/zero", "utf8"));
tell("null", () => readFileSync("/dev/null", "utf8"));
tell("large", () => readFileSync("large"));
tell("copy", () => copyFileSync("/dev/zero", "copied"));
tell("pipe", () => { execSync("mkfifo pipe"); return readFileSync("pipe", "utf8") });
tell("write", () => writeFileSync("pipe", "x"));
tell("list", () => readdirSync("many"));
tell("random", () => randomBytes(1e9));
tell("output", () => execSync("head -c 1G /dev/zero", { maxBuffer: 1e12 }));
execFile("sh", ["-c", "head -c 1G /dev/zero"], { maxBuffer: 1e12 }, (e: any) => console.log("async", e.code));
`
	if err := os.WriteFile(entry, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := script.Build(script.BuildOptions{Entry: entry})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	// The memory limit makes the share of the host 4 MiB, and 1 MiB of it what has no size.
	code, err := script.Exec(t.Context(), program, script.Environment{
		Dir: dir, Stdout: &out, Stderr: &out, Env: []string{"PATH=" + os.Getenv("PATH")}, MemoryLimit: 32 << 20,
	})
	runtime.ReadMemStats(&after)
	if err != nil || code != 0 {
		t.Errorf("exit %d, %v", code, err)
	}
	for _, want := range []string{
		"zero RangeError ERR_FS_FILE_TOO_LARGE File size (of what has no end) is greater than 1 MiB",
		"text RangeError ERR_FS_FILE_TOO_LARGE",
		"null gave 0",
		"large RangeError ERR_FS_FILE_TOO_LARGE File size (1 TiB) is greater than 4 MiB",
		"copy Error EINVAL",
		"pipe gave 0",
		"write Error ENXIO",
		"random RangeError ERR_OUT_OF_RANGE",
		"output Error ENOBUFS",
		"async ERR_CHILD_PROCESS_STDIO_MAXBUFFER",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in what the script says", want)
		}
	}
	if t.Failed() {
		t.Logf("%.3000s", out.String())
	}
	const most = 300 << 20
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("the host took %d MiB in %v", took>>20, time.Since(began))
	}
}
