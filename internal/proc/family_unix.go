//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plumb-eval/plumb/internal/files"
)

const (
	// rememberEvery is the interval at which the descendants of a running program are recorded.
	rememberEvery = time.Second
	// leaveTime is the time that the children of an ended program have to end by themselves.
	leaveTime = 100 * time.Millisecond
	// killPatience is the time that processes may take to end after SIGKILL: the kernel may still
	// be busy with them.
	killPatience = 10 * time.Second
)

// process is an entry of the process table.
type process struct {
	pid, ppid, pgid, sid int
	// start distinguishes two processes that had the same pid at different times.
	start  uint64
	zombie bool
	// terminal means that the process has a controlling terminal.
	terminal bool
}

// family is a program and all of its processes.
type family struct {
	cmd  *exec.Cmd
	mark string
	dir  string
	main int
	// group is the control group of the family, if the system has control groups.
	group     *group
	ungrouped bool
	// leaders are the programs of a [Group]. They lead process groups in the session of this
	// process.
	leaders map[int]bool
	// known are all recorded processes of the family: pid and start time.
	known map[int]uint64
	stop  chan struct{} // ends the recording
	idle  chan struct{} // the recording has ended
	phase syscall.Signal
	dying int // zombies that cannot be reaped yet
}

func newFamily(cmd *exec.Cmd, mark string) *family {
	cmd.SysProcAttr = attributes()
	dir, err := filepath.EvalSymlinks(cmd.Dir)
	if err != nil || cmd.Dir == "" {
		dir = ""
	}
	return &family{
		cmd: cmd, mark: mark, dir: dir, known: map[int]uint64{}, stop: make(chan struct{}), idle: make(chan struct{}),
	}
}

// start starts the program. Its result is sent to exited.
func (f *family) start(exited chan<- error) error {
	adopt()
	if !f.ungrouped {
		f.group = newGroup(f.mark)
	}
	release := f.group.join(f.cmd.SysProcAttr)
	err := launch(f.cmd, exited)
	release()
	if err != nil {
		f.group.remove()
		return err
	}
	f.main = f.cmd.Process.Pid
	go func() {
		defer close(f.idle)
		tick := time.NewTicker(rememberEvery)
		defer tick.Stop()
		for {
			select {
			case <-f.stop:
				return
			case <-tick.C:
				_, _ = f.members() // the next call may succeed
			}
		}
	}()
	return nil
}

// settle ends the recording. After that only one goroutine uses the family.
func (f *family) settle() {
	select {
	case <-f.idle:
	default:
		close(f.stop)
		<-f.idle
	}
}

// remember records all processes of the family while their parents still run.
func (f *family) remember() {
	f.settle()
	_, _ = f.members() // the next call may succeed
}

// interrupt sends SIGINT to the program itself.
func (f *family) interrupt() { _ = f.cmd.Process.Signal(syscall.SIGINT) }

func (f *family) terminate() { f.signal(syscall.SIGTERM) }

func (f *family) kill() {
	f.group.kill()
	f.signal(syscall.SIGKILL)
	_ = f.cmd.Process.Kill()
}

// signal sends sig to all members, including the program.
func (f *family) signal(sig syscall.Signal) {
	f.phase = sig
	members, err := f.members()
	if err != nil {
		_ = syscall.Kill(-f.main, sig) // only the process group is known
		return
	}
	_ = f.cmd.Process.Signal(sig)
	for _, p := range members {
		if p.pid != f.main {
			_ = syscall.Kill(p.pid, sig)
		}
	}
}

// end ends the processes that remain after the program has ended.
func (f *family) end(grace time.Duration) (left, survivors []Process) {
	f.settle()
	defer func() { f.group.remove() }()
	if f.phase == 0 && f.group.empty() && f.alone() {
		return nil, nil
	}
	members, err := f.members()
	if err != nil {
		f.group.kill()
		_ = syscall.Kill(-f.main, syscall.SIGKILL)
		return nil, nil
	}
	for began := time.Now(); len(members) > 0 && f.phase == 0 && time.Since(began) < leaveTime; {
		<-time.After(leaveTime / 10) // children that end because the program ended do not count as left behind
		if members, err = f.members(); err != nil {
			return nil, nil
		}
	}
	if len(members) == 0 {
		return nil, nil
	}
	left = describe(members)
	if f.phase == syscall.SIGKILL {
		grace = 0
	}
	remain := finish(members, grace, f.members, f.group.kill)
	for began := time.Now(); f.dying > 0 && time.Since(began) < leaveTime; {
		<-time.After(leaveTime / 100)
		_, _ = f.members() // reaps zombies; one that remains is only a table entry
	}
	return left, describe(remain)
}

// finish ends processes: with SIGTERM, and after grace with SIGKILL. again returns the processes
// that exist now, or no processes if it fails. all kills all processes that can be killed at once,
// so that they cannot start new ones. finish returns the remaining processes.
func finish(members []process, grace time.Duration, again func() ([]process, error), all func()) []process {
	asked := map[int]uint64{}
	pause := 2 * time.Millisecond
	for began := time.Now(); len(members) > 0; members, _ = again() {
		spent := time.Since(began)
		if spent > grace+killPatience {
			return members
		}
		if spent >= grace {
			all()
		}
		for _, p := range members {
			if spent >= grace {
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			} else if start, ok := asked[p.pid]; !ok || start != p.start {
				asked[p.pid] = p.start
				_ = syscall.Kill(p.pid, syscall.SIGTERM)
				_ = syscall.Kill(p.pid, syscall.SIGCONT) // a stopped process cannot end itself
			}
		}
		if spent < grace {
			pause = min(pause, grace-spent)
		}
		<-time.After(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
	return nil
}

// members returns the processes of the family, without zombies, and records them.
func (f *family) members() ([]process, error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	kin := index(all)
	self := os.Getpid()
	belongs, grouped := map[int]bool{}, f.group.pids()
	for _, p := range all {
		start, known := f.known[p.pid]
		switch {
		case p.pid == self:
		case known && start == p.start, grouped[p.pid], f.leads(p) && kin.reachable(p, self):
			kin.add(belongs, p.pid)
		case p.zombie || belongs[p.pid] || !kin.reachable(p, self):
		default:
			if f.carries(p, self, all) {
				kin.add(belongs, p.pid)
			}
		}
	}
	delete(belongs, self)
	f.dying = 0
	var living []process
	for _, p := range all {
		if belongs[p.pid] {
			f.known[p.pid] = p.start
		}
		switch {
		case p.zombie && !f.reap(p, self):
			f.dying++
		case p.zombie:
		case belongs[p.pid]:
			living = append(living, p)
		}
	}
	return living, nil
}

// leads reports whether p is the program itself, or is in a process group that the program leads
// or, for a [Group], one of its programs.
func (f *family) leads(p process) bool {
	return f.main > 0 && (p.pid == f.main || p.pgid == f.main) || f.leaders[p.pgid] && p.sid == ownSession()
}

// carries reports whether p has the family's mark. An adopted process without a mark has dropped
// its environment. It belongs to the family if it works in the program's directory, or if no other
// program can have left it.
func (f *family) carries(p process, self int, all []process) bool {
	env, err := environment(p.pid)
	if err != nil {
		return false
	}
	if marker := lookup(env, markerEnv); marker != "" {
		return marker == f.mark
	}
	if !adopts || p.ppid != self || p.sid == ownSession() || elsewhere(p.pid) {
		return false // processes that this process starts itself stay in its session, or have a mark
	}
	return f.bare(p.pid) && (f.dir != "" && files.Within(workingDirectory(p.pid), f.dir) || f.sole(p, self, all))
}

// sole reports whether no other running program can have left the orphan p. A program that started
// after p cannot.
func (f *family) sole(p process, self int, all []process) bool {
	syscall.ForkLock.RLock() // no child is between fork and exec, where it has no mark
	defer syscall.ForkLock.RUnlock()
	for _, other := range all {
		switch {
		case other.ppid != self || other.pid == p.pid || other.pid == f.main || other.zombie ||
			other.sid != other.pid || other.start > p.start:
			continue
		case commandLine(other.pid) == "":
			return false // it has ended, or it is about to get its name and its mark
		}
		env, err := environment(other.pid)
		mark := lookup(env, markerEnv)
		if err != nil || mark != "" && mark != f.mark && !strings.HasPrefix(mark, groupMark) {
			return false
		}
	}
	return true
}

// bare reports whether a process runs without any mark. A program of another session in the same
// directory briefly has none: between fork and exec, which the lock excludes, it has the
// environment of this process, and then an empty one until exec has set its arguments.
func (f *family) bare(pid int) bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if commandLine(pid) == "" {
		return false
	}
	env, err := environment(pid)
	return err == nil && lookup(env, markerEnv) == ""
}

// reap reaps a zombie that this process has adopted. A zombie that this process started itself
// belongs to the goroutine that waits for it. For a zombie that was never seen alive, reap only
// knows that it is not in this process's session. It returns false if a thread of the process is
// still ending.
func (f *family) reap(p process, self int) bool {
	if !adopts || p.ppid != self || p.pid == f.main || f.leaders[p.pid] {
		return true
	}
	start, known := f.known[p.pid]
	if known && start == p.start || f.leads(p) || p.sid != ownSession() && p.sid != p.pid || f.group.holds(p.pid) {
		pid, err := syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		return pid != 0 || err != nil
	}
	return true
}

// kinship maps each process to its children.
type kinship struct {
	parent   map[int]int
	children map[int][]int
}

func index(all []process) kinship {
	k := kinship{make(map[int]int, len(all)), make(map[int][]int, len(all))}
	for _, p := range all {
		k.parent[p.pid] = p.ppid
		k.children[p.ppid] = append(k.children[p.ppid], p.pid)
	}
	return k
}

// add adds pid and all its descendants to set.
func (k kinship) add(set map[int]bool, pid int) {
	if set[pid] {
		return
	}
	set[pid] = true
	for _, child := range k.children[pid] {
		k.add(set, child)
	}
}

// ancestors returns pid and all its ancestors.
func (k kinship) ancestors(pid int) map[int]bool {
	set := map[int]bool{}
	for ; pid > 0 && !set[pid]; pid = k.parent[pid] {
		set[pid] = true
	}
	return set
}

// reachable reports whether p can be a process that this process started: where this process adopts
// orphans, only its descendants can be.
func (k kinship) reachable(p process, self int) bool {
	if !adopts && p.ppid == 1 {
		return true
	}
	return k.ancestors(p.pid)[self]
}

// describe returns the command lines of processes, except those that have ended.
func describe(processes []process) []Process {
	var out []Process
	for _, p := range processes {
		if command := commandLine(p.pid); command != "" {
			out = append(out, Process{PID: p.pid, Command: command})
		}
	}
	return out
}

// Alive reports whether a process with this id exists.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return state.String()
}
