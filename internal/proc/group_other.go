//go:build unix && !linux

package proc

import (
	"runtime"
	"syscall"
)

// group is a control group. Only Linux has them.
type group struct{}

func newGroup(string) *group { return nil }

func groupMarks(int) []string { return nil }

func elsewhere(int) bool { return false }

func groupOf(int, string) *group { return nil }

func sweepGroups(func(mark string) bool) {}

func (*group) join(*syscall.SysProcAttr) (release func()) { return func() {} }

func (*group) pids() map[int]bool { return nil }

func (*group) empty() bool { return true }

func (*group) holds(int) bool { return false }

func (*group) kill() {}

func (*group) remove() {}

// Means returns the method that tracks the processes of a program on this system.
func Means() string {
	if runtime.GOOS == "darwin" {
		return "descendants, as far as they are seen, and a mark in the environment"
	}
	return "the process group only"
}
