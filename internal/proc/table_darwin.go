package proc

import (
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopts is false: on macOS, launchd adopts orphans.
const adopts = false

func adopt() {}

// attributes create a new session, which has no terminal for a password prompt.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func launch(cmd *exec.Cmd, exited chan<- error) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { exited <- cmd.Wait() }()
	return nil
}

// table reads the process table.
func table() ([]process, error) {
	found, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	const zombie = 5 // SZOMB of sys/proc.h
	all := make([]process, 0, len(found))
	for i := range found {
		p := &found[i]
		start := p.Proc.P_starttime
		all = append(all, process{
			pid: int(p.Proc.P_pid), ppid: int(p.Eproc.Ppid), pgid: int(p.Eproc.Pgid),
			start: uint64(start.Sec)*1e6 + uint64(start.Usec), zombie: p.Proc.P_stat == zombie,
		})
	}
	return all, nil
}

// environment returns the arguments and the environment of a process of this user. The system does
// not mark where the arguments end, and it hides the environment of programs that Apple ships.
func environment(pid int) ([]string, error) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(data), markerEnv+"=") {
		return nil, nil
	}
	return strings.Split(string(data), "\x00"), nil
}

func commandLine(pid int) string {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(data) < 4 {
		return ""
	}
	path, _, _ := strings.Cut(string(data[4:]), "\x00") // the program's path follows the number of arguments
	return path
}

// workingDirectory returns "": it is not available here.
func workingDirectory(int) string { return "" }

func mine(int) bool { return false }

func ownSession() int { return 0 }

// alone returns false: the children of this process are not listed here.
func (f *family) alone() bool { return false }
