package runner

import (
	"os/exec"
	"strconv"
	"syscall"
)

// group is a program and all it starts, as far as Windows can tell by the parent of each process.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	return &group{cmd}
}

// terminate ends the tree at once: Windows has no polite way that a program without a console would notice.
func (g *group) terminate() error {
	kill := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(g.cmd.Process.Pid)) //nolint:noctx // it is what ends the context's process
	if err := kill.Run(); err != nil {
		return g.cmd.Process.Kill()
	}
	return nil
}

// kill does nothing more: once the program has been waited for, its children cannot be told from others.
func (g *group) kill() {}
