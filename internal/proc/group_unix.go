//go:build unix

package proc

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// manyPrograms is the number of programs of a group after which zombies are reaped.
const manyPrograms = 64

// Group tracks programs that the caller starts and waits for, one after the other or at the same
// time, and the processes that they leave. Unlike those of a [Command], they stay in the session of
// this process. The zero value is ready. Its methods are safe for concurrent use.
type Group struct {
	mu     sync.Mutex
	family *family
	ended  bool
}

// Start starts a program of the group. It adds the mark of the group to the program's environment.
func (g *Group) Start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return errors.New("the group of programs has ended")
	}
	adopt()
	if g.family == nil {
		mark := newMark(groupMark)
		g.family = &family{mark: mark, known: map[int]uint64{}, leaders: map[int]bool{}, group: newGroup(mark)}
	}
	if len(g.family.leaders)%manyPrograms == manyPrograms-1 {
		_, _ = g.family.members() // reaps the zombies of orphans
	}
	cmd.Env = append(slices.DeleteFunc(slices.Clone(cmd.Environ()), func(v string) bool {
		return strings.HasPrefix(v, markerEnv+"=")
	}), markerEnv+"="+g.family.mark)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	release := g.family.group.join(cmd.SysProcAttr)
	err := cmd.Start()
	release()
	if err != nil {
		return err
	}
	g.family.leaders[cmd.Process.Pid] = true
	return nil
}

// End ends all remaining processes of the group, and prevents new starts.
func (g *Group) End(grace time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	f := g.family
	if f == nil {
		return
	}
	g.family = nil
	defer f.group.remove()
	if members, err := f.members(); err == nil {
		finish(members, grace, f.members, f.group.kill)
	}
}
