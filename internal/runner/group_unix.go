//go:build unix

package runner

import (
	"os"
	"os/exec"
	"syscall"
)

// group is a program and all it starts: a process group whose id is the program's.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &group{cmd}
}

// terminate asks the group to end.
func (g *group) terminate() error {
	if err := syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM); err != nil {
		return os.ErrProcessDone // nobody is left to ask
	}
	return nil
}

// kill ends what is left of the group. The program itself may have been waited for already: its id stays taken as long
// as a process of its group lives, and where none does there is nothing to kill.
func (g *group) kill() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) }
