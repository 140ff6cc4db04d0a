package script

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// killGroup ends a process and its descendants. Windows has no signals.
func killGroup(cmd *exec.Cmd, _ string) bool {
	if cmd.Process == nil {
		return false
	}
	tree := exec.Command("taskkill", "/T", "/F", "/PID",
		strconv.Itoa(cmd.Process.Pid)) //nolint:noctx // it must run after the context ended
	return tree.Run() == nil || cmd.Process.Kill() == nil
}

// status records how a process ended.
func status(cmd *exec.Cmd, r *processResult) { r.Status = new(cmd.ProcessState.ExitCode()) }

func shell(name, command string, args []string) (string, []string) {
	if name == "default" {
		name = "cmd.exe"
	}
	return name, []string{"/d", "/s", "/c", strings.Join(append([]string{command}, args...), " ")}
}

func lookPath(name string, _ []string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return name
}

func allowed(path string, wanted int) bool {
	info, err := os.Stat(path)
	return err == nil && (wanted&2 == 0 || info.Mode().Perm()&0o200 != 0)
}

func statInfo(string, bool, map[string]any) {}

func systemInfo(info map[string]any) {
	info["release"] = "10.0"
	platformInfo(info)
}
