//go:build unix && !linux && !darwin

package proc

import (
	"errors"
	"os/exec"
	"syscall"
)

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

// table returns an error: the process table of this system cannot be read.
func table() ([]process, error) { return nil, errors.ErrUnsupported }

func environment(int) ([]string, error) { return nil, errors.ErrUnsupported }

func commandLine(int) string { return "" }

// workingDirectory returns "": it is not available here.
func workingDirectory(int) string { return "" }

func mine(int) bool { return false }

func ownSession() int { return 0 }

// alone returns false: the children of this process are not listed here.
func (f *family) alone() bool { return false }
