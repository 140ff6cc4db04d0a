//go:build unix

package script_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/script"
)

// TestBackgroundPrograms has scripts leave programs in the background in all ways. They live as
// long as the script, and no longer.
func TestBackgroundPrograms(t *testing.T) {
	const script0 = `
import { execSync, execFileSync, spawnSync, execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
const wait = async (file: string) => { while (!existsSync(file)) await new Promise((r) => setTimeout(r, 5)); return Number(readFileSync(file, "utf8")); };
const leave = (file: string, how: string) => how + " sh -c 'echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 300' >/dev/null 2>&1 </dev/null &";
define("execSync", (file: string) => { execSync(leave(file, "")); return wait(file); });
define("execFileSync", (file: string) => { execFileSync("/bin/sh", ["-c", leave(file, "nohup")]); return wait(file); });
define("spawnSync", (file: string) => { spawnSync("sh", ["-c", leave(file, "env -i")]); return wait(file); });
define("execFile", (file: string) => { execFile("sh", ["-c", leave(file, "")]); return wait(file); });
define("setsid", (file: string) => { execSync(leave(file, "setsid")); return wait(file); });
define("bare", (file: string) => { execSync(leave(file, "cd /; env -i setsid")); return wait(file); });
define("ignores", (file: string) => { execSync(leave(file, "trap '' TERM HUP;")); return wait(file); });
`
	names := []string{"execSync", "execFileSync", "spawnSync", "execFile", "ignores"}
	if runtime.GOOS == "linux" {
		names = append(names, "setsid", "bare")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := timeout(t, 20*time.Second)
			defer cancel()
			vm, err := script.Start(ctx, source(t, script0),
				script.Environment{
					Modules: map[string]string{"plumb": plumbModule},
					Env:     []string{"PATH=" + os.Getenv("PATH")},
				})
			if err != nil {
				t.Fatal(err)
			}
			text, err := vm.Call(ctx, name, filepath.Join(t.TempDir(), "pid"))
			var pid int
			if err != nil || json.Unmarshal(text, &pid) != nil || pid == 0 || !runs(pid) {
				t.Fatalf("%s, %v: process %d does not run", text, err, pid)
			}
			if err := vm.Close(); err != nil {
				t.Error(err)
			}
			if runs(pid) {
				t.Errorf("process %d is left", pid)
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// runs reports whether a process is there and no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if os.IsNotExist(err) && runtime.GOOS != "linux" {
		return syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}
