//go:build unix

package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// killGroup sends a signal to a process and its descendants. The process leads its own process
// group.
func killGroup(cmd *exec.Cmd, name string) bool {
	if cmd.Process == nil {
		return false
	}
	signal := unix.SignalNum(name)
	if signal == 0 {
		signal = syscall.SIGTERM
	}
	return syscall.Kill(-cmd.Process.Pid, signal) == nil
}

// status records how a process ended.
func status(cmd *exec.Cmd, r *processResult) {
	w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && w.Signaled() {
		r.Signal = new(unix.SignalName(w.Signal()))
		return
	}
	r.Status = new(cmd.ProcessState.ExitCode())
}

func shell(name, command string, args []string) (string, []string) {
	if name == "default" {
		name = "/bin/sh"
	}
	return name, []string{"-c", strings.Join(append([]string{command}, args...), " ")}
}

// lookPath finds a program in the PATH of the environment that it will run in, as Node does.
func lookPath(name string, env []string) string {
	if strings.Contains(name, "/") {
		return name
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, line := range env {
		if value, ok := strings.CutPrefix(line, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return name
}

func allowed(path string, wanted int) bool {
	return wanted == 0 || unix.Access(path, uint32(wanted&7)) == nil
}

// statInfo adds what os.FileInfo lacks.
func statInfo(path string, follow bool, out map[string]any) {
	var s unix.Stat_t
	get := unix.Lstat
	if follow {
		get = unix.Stat
	}
	if get(path, &s) != nil {
		return
	}
	ms := func(t unix.Timespec) float64 { return float64(t.Nano()) / 1e6 }
	out["dev"], out["ino"], out["nlink"], out["uid"], out["gid"] = s.Dev, s.Ino, s.Nlink, s.Uid, s.Gid
	out["rdev"], out["blksize"], out["blocks"], out["mode"] = s.Rdev, s.Blksize, s.Blocks, s.Mode
	out["atimeMs"], out["ctimeMs"] = ms(s.Atim), ms(s.Ctim)
}

func systemInfo(info map[string]any) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		info["release"] = unix.ByteSliceToString(u.Release[:])
	}
	platformInfo(info)
}
