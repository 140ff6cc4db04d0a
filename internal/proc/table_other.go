//go:build unix && !linux && !darwin

package proc

import (
	"errors"
	"os/exec"
	"syscall"
)

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

// table says that the processes of this system cannot be read.
func table() ([]process, error) { return nil, errors.ErrUnsupported }

func environment(int) ([]string, error) { return nil, errors.ErrUnsupported }

func commandLine(int) string { return "" }

// workingDirectory is not known here.
func workingDirectory(int) string { return "" }

func mine(int) bool { return false }

func ownSession() int { return 0 }

// children is not known here.
func children() (pids []int, ok bool) { return nil, false }

// awaited reports whether a child has ended and somebody is about to wait for it, which is not looked into here.
func awaited(int) bool { return false }
