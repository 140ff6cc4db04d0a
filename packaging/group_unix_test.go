//go:build unix

package packaging_test

import (
	"os/exec"
	"syscall"
	"testing"
)

// setGroup makes the program the leader of a process group, as a shell does.
func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interruptGroup sends SIGINT to all processes of the group, as a terminal does on Ctrl-C.
func interruptGroup(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Error(err)
	}
}
