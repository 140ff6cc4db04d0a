//go:build unix

package cli_test

import (
	"os/exec"
	"syscall"
)

// ownSession takes a program out of the session and the process group of the agent that starts it.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
