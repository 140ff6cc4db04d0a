package proc

import (
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopts is false: macOS gives orphans to launchd.
const adopts = false

func adopt() {}

// attributes make a session of its own, which has no terminal to ask for a password on.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func launch(cmd *exec.Cmd, exited chan<- error) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { exited <- cmd.Wait() }()
	return nil
}

// table reads the table of processes.
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

// environment returns the arguments and the environment of a process of this user: the system does not say where the one
// ends and the other begins, and hides the environment of programs that Apple ships.
func environment(pid int) ([]string, error) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(data), MarkerEnv+"=") {
		return nil, nil
	}
	return strings.Split(string(data), "\x00"), nil
}

func commandLine(pid int) string {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(data) < 4 {
		return ""
	}
	path, _, _ := strings.Cut(string(data[4:]), "\x00") // after the number of arguments stands the program's path
	return path
}

// workingDirectory is not known here.
func workingDirectory(int) string { return "" }

func mine(int) bool { return false }

func ownSession() int { return 0 }

// children is not known here.
func children() (pids []int, ok bool) { return nil, false }

// awaited reports whether a child has ended and somebody is about to wait for it, which is not looked into here.
func awaited(int) bool { return false }
