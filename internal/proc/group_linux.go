package proc

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groupPrefix begins the names of the control groups that this package makes; the mark follows, escaped.
const groupPrefix = "plumb-"

// group is a control group (cgroup v2) that holds all that belongs to a program: a process cannot leave it by dropping its
// environment, its session, its parents or its directory. A nil group is none: most containers and logins without delegation
// do not let a user make one.
type group struct{ dir string }

// newGroup makes the control group of a mark below the one of this process. It returns nil where there can be none.
func newGroup(mark string) *group {
	parent := ownGroupDir()
	if parent == "" {
		return nil
	}
	dir := filepath.Join(parent, groupPrefix+url.PathEscape(mark))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil
	}
	return &group{dir: dir}
}

// ownGroupDir is the directory of this process's control group, "" where the system shows none.
func ownGroupDir() string {
	mount, root := groupMount()
	rel, err := filepath.Rel(root, groupPath("self"))
	if mount == "" || err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return filepath.Join(mount, rel)
}

// groupMount finds where control groups are mounted, and which of them is at the top there. It looks once: the table of mounts is
// long, and each session needs this.
var groupMount = sync.OnceValues(func() (mount, root string) { //nolint:gochecknoglobals // it never changes once it is known
	data, err := slurp(make([]byte, 0, 16<<10), "/proc/self/mountinfo")
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(data)) {
		before, after, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4], fields[3]
		}
	}
	return "", ""
})

// groupPath returns the control group of a process, as /proc names it; "" where that is not to be had.
func groupPath(pid string) string {
	data, err := slurp(nil, "/proc/"+pid+"/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(strings.TrimSpace(path), " (deleted)")
		}
	}
	return ""
}

// marksIn returns the marks of the control groups on a path, outermost first.
func marksIn(path string) []string {
	var marks []string
	for name := range strings.SplitSeq(path, "/") {
		escaped, ok := strings.CutPrefix(name, groupPrefix)
		if mark, err := url.PathUnescape(escaped); ok && err == nil && strings.Contains(mark, "/") {
			marks = append(marks, mark)
		}
	}
	return marks
}

// groupMarks returns the marks of the control groups that a process is in.
func groupMarks(pid int) []string { return marksIn(groupPath(strconv.Itoa(pid))) }

// elsewhere reports whether a process is in the control group of another program that this process started.
func elsewhere(pid int) bool {
	below, ok := strings.CutPrefix(groupPath(strconv.Itoa(pid)), strings.TrimSuffix(groupPath("self"), "/")+"/")
	return ok && len(marksIn(below)) > 0
}

// join has a program start in the group. release is to be called once it has.
func (g *group) join(attr *syscall.SysProcAttr) (release func()) {
	if g == nil {
		return func() {}
	}
	fd, err := unix.Open(g.dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	attr.UseCgroupFD, attr.CgroupFD = true, fd
	return func() {
		attr.UseCgroupFD, attr.CgroupFD = false, 0
		_ = unix.Close(fd) // a directory that was only opened
	}
}

// pids returns the processes in the group and in those that its processes made below it; zombies are not among them.
func (g *group) pids() map[int]bool {
	if g == nil {
		return nil
	}
	found := map[int]bool{}
	g.each(func(dir string) {
		data, err := slurp(nil, filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return
		}
		for text := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(text); err == nil && pid > 0 {
				found[pid] = true
			}
		}
	})
	return found
}

// empty reports whether no process is in the group or in those below it, which is so where there is none.
func (g *group) empty() bool {
	if g == nil {
		return true
	}
	data, err := slurp(nil, filepath.Join(g.dir, "cgroup.events"))
	return err == nil && strings.Contains("\n"+string(data), "\npopulated 0")
}

// holds reports whether a process is or was in the group, as a zombie still tells.
func (g *group) holds(pid int) bool {
	if g == nil {
		return false
	}
	path := groupPath(strconv.Itoa(pid))
	mount, root := groupMount()
	rel, err := filepath.Rel(root, path)
	return path != "" && err == nil && within(filepath.Join(mount, rel), g.dir)
}

// kill kills all that is in the group, at once. Kernels before 5.14 cannot; then each process is killed for itself.
func (g *group) kill() {
	if g != nil {
		_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0o600)
	}
}

// remove removes the group and those below it. One that is not empty stays.
func (g *group) remove() {
	if g == nil {
		return
	}
	var dirs []string
	g.each(func(dir string) { dirs = append(dirs, dir) })
	for _, dir := range slices.Backward(dirs) {
		_ = os.Remove(dir) // it may have gone
	}
}

// each calls fn for the group and for those below it, a parent before its children.
func (g *group) each(fn func(dir string)) {
	fn(g.dir)
	entries, err := os.ReadDir(g.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			(&group{dir: filepath.Join(g.dir, e.Name())}).each(fn)
		}
	}
}

// groupOf returns the outermost control group with this mark that a process is in, or nil.
func groupOf(pid int, mark string) *group {
	mount, root := groupMount()
	path := groupPath(strconv.Itoa(pid))
	before, _, ok := strings.Cut(path+"/", "/"+groupPrefix+url.PathEscape(mark)+"/")
	rel, err := filepath.Rel(root, before+"/"+groupPrefix+url.PathEscape(mark))
	if mount == "" || !ok || err != nil || strings.HasPrefix(rel, "..") {
		return nil
	}
	return &group{dir: filepath.Join(mount, rel)}
}

// sweepGroups removes empty control groups beside those of this process: those whose mark is wanted, and those that nobody has come
// to use in a minute. A [Group] may use its own later.
func sweepGroups(wanted func(mark string) bool) {
	parent := ownGroupDir()
	if parent == "" {
		return
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.IsDir() {
			continue
		}
		for _, mark := range marksIn(e.Name()) {
			if wanted(mark) || time.Since(info.ModTime()) > time.Minute && !strings.HasPrefix(mark, groupMark) {
				(&group{dir: filepath.Join(parent, e.Name())}).remove()
			}
		}
	}
}

// tried returns the group if programs can be started in it, else nil. A program that is not there is started in the group: that
// it is missed says that all before it went well.
func (g *group) tried() *group {
	if g == nil {
		return nil
	}
	attr := &syscall.SysProcAttr{}
	release := g.join(attr)
	tried := attr.UseCgroupFD
	_, err := syscall.ForkExec("/proc/self/no-such-program", nil, &syscall.ProcAttr{Sys: attr})
	release()
	if tried && errors.Is(err, syscall.ENOENT) {
		return g
	}
	g.remove()
	return nil
}

// Means says by what the processes of a program are held together here.
func Means() string {
	g := newGroup("probe/" + strconv.Itoa(os.Getpid())).tried()
	defer g.remove()
	if g == nil {
		return "descendants of a child subreaper, and a mark in the environment"
	}
	return "a control group (cgroup v2) for each program"
}
