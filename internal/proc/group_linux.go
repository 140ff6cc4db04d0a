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

	"github.com/plumb-eval/plumb/internal/files"
)

// groupPrefix begins the names of the control groups of this package. The escaped mark follows.
const groupPrefix = "plumb-"

// group is a control group (cgroup v2) that holds all processes of a program. A process cannot
// leave it by dropping its environment, its session, its parents or its directory. A nil group
// means that the system does not allow one, as in most containers and in logins without delegation.
type group struct{ dir string }

// newGroup creates the control group of a mark below that of this process. It returns nil if
// programs cannot start in a control group.
func newGroup(mark string) *group {
	if !groupsWork() {
		return nil
	}
	return createGroup(mark)
}

// groupsWork reports whether programs can start in a control group. It starts a program that does
// not exist: the error for a missing program means that all earlier steps succeeded.
var groupsWork = sync.OnceValue(func() bool { //nolint:gochecknoglobals // it is constant
	g := createGroup("probe/" + strconv.Itoa(os.Getpid()))
	defer g.remove()
	attr := &syscall.SysProcAttr{}
	defer g.join(attr)()
	_, err := syscall.ForkExec("/proc/self/no-such-program", nil, &syscall.ProcAttr{Sys: attr})
	return attr.UseCgroupFD && errors.Is(err, syscall.ENOENT)
})

func createGroup(mark string) *group {
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

// ownGroupDir returns the directory of this process's control group, or "".
func ownGroupDir() string { return groupDir(groupPath("self")) }

// groupDir returns the directory of a control group, or "" if it is not visible here.
func groupDir(path string) string {
	mount, root := groupMount()
	rel, err := filepath.Rel(root, path)
	if mount == "" || path == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.Join(mount, rel)
}

// groupMount returns the directory where control groups are mounted, and the group at its top. It
// reads the table of mounts only once, because the table is long and each session needs the result.
var groupMount = sync.OnceValues(func() (mount, root string) { //nolint:gochecknoglobals // it is constant
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

// groupPath returns the control group of a process, as /proc names it, or "".
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

// elsewhere reports whether a process is in the control group of another program that this process
// started.
func elsewhere(pid int) bool {
	below, ok := strings.CutPrefix(groupPath(strconv.Itoa(pid)), strings.TrimSuffix(groupPath("self"), "/")+"/")
	return ok && len(marksIn(below)) > 0
}

// join makes a program start in the group. The caller calls release after the start.
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
		_ = unix.Close(fd) // opened only for its descriptor
	}
}

// pids returns the processes in the group and in the groups below it, without zombies.
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

// empty reports whether no process is in the group or in the groups below it. A nil group is empty.
func (g *group) empty() bool {
	if g == nil {
		return true
	}
	data, err := slurp(nil, filepath.Join(g.dir, "cgroup.events"))
	return err == nil && strings.Contains("\n"+string(data), "\npopulated 0")
}

// holds reports whether a process, which may be a zombie, is in the group or below it.
func (g *group) holds(pid int) bool {
	return g != nil && files.Within(groupDir(groupPath(strconv.Itoa(pid))), g.dir)
}

// kill kills all processes in the group at once. Kernels before 5.14 cannot; the caller also kills
// each process.
func (g *group) kill() {
	if g != nil {
		_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0o600)
	}
}

// remove removes the group and the groups below it, if they are empty.
func (g *group) remove() {
	if g == nil {
		return
	}
	var dirs []string
	g.each(func(dir string) { dirs = append(dirs, dir) })
	for _, dir := range slices.Backward(dirs) {
		_ = os.Remove(dir) // it may be removed already
	}
}

// each calls fn with the directory of the group and those of the groups below it, a parent before
// its children.
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

// groupOf returns the outermost control group with this mark that contains a process, or nil.
func groupOf(pid int, mark string) *group {
	name := "/" + groupPrefix + url.PathEscape(mark)
	before, _, ok := strings.Cut(groupPath(strconv.Itoa(pid))+"/", name+"/")
	if dir := groupDir(before + name); ok && dir != "" {
		return &group{dir: dir}
	}
	return nil
}

// sweepGroups removes the empty control groups beside those of this process: those whose mark is
// wanted, and those that are older than a minute. It keeps old groups of a [Group], which may still
// use them.
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

// Means returns the method that tracks the processes of a program on this system.
func Means() string {
	if !groupsWork() {
		return "descendants of a child subreaper, and a mark in the environment"
	}
	return "a control group (cgroup v2) for each program"
}
