package proc

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adopts means that orphans become children of this process, so that all processes of a program
// stay among its descendants.
const adopts = true

// adopt makes this process adopt the orphans among its descendants. Repeated calls change nothing.
func adopt() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// attributes create a new session, which has no terminal: a password prompt fails there and does
// not wait. The session leader is killed when this process dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// launch starts cmd from a thread that lives as long as cmd, because Pdeathsig is sent when the
// parent thread ends.
func launch(cmd *exec.Cmd, exited chan<- error) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := cmd.Start(); err != nil {
			runtime.UnlockOSThread()
			started <- err
			return
		}
		started <- nil
		exited <- cmd.Wait()
		runtime.UnlockOSThread()
	}()
	return <-started
}

// table reads the process table.
func table() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	all := make([]process, 0, len(names))
	var buf [1024]byte
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readStat(pid, buf[:]); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// children returns the orphans that this process has adopted, among other children of its main
// thread. The kernel gives orphans to the first thread of a process that has not ended, and the
// main thread of a Go program never ends. ok is false if the kernel does not list them.
func children() (pids []int, ok bool) {
	self := strconv.Itoa(os.Getpid())
	data, err := slurp(nil, "/proc/self/task/"+self+"/children")
	for text := range strings.FieldsSeq(string(data)) {
		pid, _ := strconv.Atoi(text) // always a number
		pids = append(pids, pid)
	}
	return pids, err == nil
}

// alone reports whether it is certain, without reading the whole process table, that the program
// has left no process: everything that it leaves is among the children of this process, and each
// child carries the mark of another program. A child that ends at that moment may hide another one
// from the list, but then its environment cannot be read either. The same is true for a child that
// is being started or reaped, which takes a short time.
func (f *family) alone() bool {
	for range 3 {
		others, sure := f.others()
		if sure {
			return others
		}
		<-time.After(leaveTime / 200)
	}
	return false
}

// others reports whether all adopted children of this process certainly belong to other programs.
// While it reads the list, no child is between fork and exec, where it does not have its own
// environment yet. An ended program has no environment either: others skips those that another
// goroutine is about to reap, if the list was read after they ended, because it then contains the
// children that they left.
func (f *family) others() (others, sure bool) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	ended := map[int]bool{}
	for again := true; again; {
		again = false
		pids, ok := children()
		if !ok {
			return false, true
		}
		for _, pid := range pids {
			if ended[pid] {
				continue
			}
			env, err := environment(pid)
			switch mark := lookup(env, markerEnv); {
			case mark == f.mark:
				return false, true
			case err == nil && mark != "":
			case awaited(pid):
				ended[pid], again = true, true
			default:
				return false, false
			}
		}
	}
	return true, true
}

// awaited reports whether a child of this process has ended and led a session, as the programs do
// that this package starts: the goroutine that started it is about to reap it.
func awaited(pid int) bool {
	var buf [1024]byte
	p, ok := readStat(pid, buf[:])
	return ok && p.zombie && p.sid == p.pid
}

// slurp reads a file of /proc into the memory of data. Package os would need three times as many
// system calls, and there are many files.
func slurp(data []byte, name string) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }() // opened only for reading
	data = slices.Grow(data[:0], 1<<10)
	for {
		n, err := syscall.Read(fd, data[len(data):cap(data)])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return data, err
		}
		if data = data[:len(data)+n]; len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
	}
}

// readStat reads the /proc entry of one process. ok is false if the process has ended.
func readStat(pid int, buf []byte) (process, bool) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return process{}, false
	}
	n, err := syscall.Read(fd, buf)
	_ = syscall.Close(fd)
	if err != nil || n <= 0 {
		return process{}, false
	}
	// The name of the program is in parentheses, and may contain parentheses.
	i := bytes.LastIndexByte(buf[:n], ')')
	fields := bytes.Fields(buf[i+1 : n])
	if i < 0 || len(fields) < 20 {
		return process{}, false
	}
	number := func(i int) int {
		v, _ := strconv.Atoi(string(fields[i])) // always a number
		return v
	}
	start, _ := strconv.ParseUint(string(fields[19]), 10, 64) // always a number
	return process{
		pid: pid, ppid: number(1), pgid: number(2), sid: number(3), start: start,
		zombie: fields[0][0] == 'Z' || fields[0][0] == 'X', terminal: number(4) != 0,
	}, true
}

// environment returns the environment that a process of this user was started with.
func environment(pid int) ([]string, error) {
	data, err := slurp(make([]byte, 0, 4<<10), "/proc/"+strconv.Itoa(pid)+"/environ")
	if err != nil || len(data) == 0 {
		return nil, err
	}
	if !bytes.Contains(data, []byte(markerEnv+"=")) {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"), nil
}

func commandLine(pid int) string {
	data, err := slurp(nil, "/proc/"+strconv.Itoa(pid)+"/cmdline")
	if err != nil {
		return ""
	}
	const enough = 200
	text := strings.ToValidUTF8(strings.ReplaceAll(strings.TrimRight(string(data), "\x00"), "\x00", " "), "")
	if len(text) > enough {
		text = strings.ToValidUTF8(text[:enough], "") + "…"
	}
	return text
}

func workingDirectory(pid int) string {
	dir, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd") // "" if unknown
	return strings.TrimSuffix(dir, " (deleted)")
}

// mine reports whether a process belongs to the user of this one.
func mine(pid int) bool {
	var s unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid), &s) == nil && int(s.Uid) == os.Geteuid()
}

// ownSession is the id of the session that this process belongs to.
func ownSession() int {
	sid, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return sid
}
