// Package proc runs one program and sees to it that nothing of it is left when it is over: not the program, not what it
// started, not what that put into process groups and sessions of its own.
//
// Output goes to files and not through pipes, so that it costs no memory, can be followed while it grows, and nothing that
// the program leaves behind can hold up its end. The end is that of the program itself; what it leaves is killed then.
//
// What belongs to a program is found in several ways. On Linux each program has a control group (cgroup v2) where the system
// lets this process make one; nothing leaves that by dropping its environment, its session, its parents or its directory. Elsewhere
// its descendants are known from the table of processes, which on Linux stays whole since orphans become children of this process (a
// child subreaper). An orphan without a mark that this process did not start belongs to the program in whose directory it is, or to
// the only one that can have left it, or goes when the last of those ends. A mark in the environment, [MarkerEnv], finds what lost
// its parents, also after this process is gone: see [Reap]; the name of the control group is the same mark. On Windows a job object
// holds them all. On macOS, which hides the environment of programs that Apple ships, descendants are recorded while the program
// runs; one that is orphaned within a second of its birth, and is Apple's, can get away. On other systems only the process group is
// ended. [Means] says what is used.
//
// A program that uses this package and starts processes of its own either leaves them in its own session or gives them a mark of
// their own: see [Group].
package proc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MarkerEnv is the environment variable by which processes are found. It is that of package plumb, which this package does not
// know.
const MarkerEnv = "PLUMB_SESSION"

// oldRunDirEnv held the directory of the run in processes that earlier builds started.
const oldRunDirEnv = "PLUMB_RUN_DIR"

// ErrNotStarted says that there never was a process, since the program is not there or cannot be run.
var ErrNotStarted = errors.New("the program could not be started")

// ErrOutput is why a program was stopped that writes too much.
var ErrOutput = errors.New("it writes too much")

// Command is a program to run.
type Command struct {
	// Path is the program, Args are its arguments without its name.
	Path string
	Args []string
	// Dir is where it works.
	Dir string
	// Env is its whole environment. [MarkerEnv] in it must be its own: whatever carries the same is killed at the end. Without
	// one it is given one.
	Env []string
	// Stdin, Stdout and Stderr are files. Without Stdin the program reads nothing; without Stdout or Stderr, what it writes
	// there is lost. The files are truncated.
	Stdin, Stdout, Stderr string
	// Observe is called with each line of Stdout while the program runs, without the line's end, and with what follows the
	// last. Of a line longer than [LineLimit] it gets the beginning. An error stops the program. It is called from one
	// goroutine, which is done when Run returns; the line is only valid during the call.
	Observe func(line []byte) error
	// OutputLimit is how large Stdout and Stderr may become together, in bytes; beyond it the program is stopped with
	// [ErrOutput]. 0 is no limit.
	OutputLimit int64
	// Grace says how long the program is given to end.
	Grace Grace

	ungrouped bool // without a control group, for tests
}

// Grace says how patiently a program is stopped. Zero fields mean the default.
type Grace struct {
	// Interrupt is how long the program itself has after SIGINT, 2 s by default; less than 0 sends none. Terminate is how
	// long all that belongs to it has after SIGTERM, 3 s by default.
	Interrupt, Terminate time.Duration
}

func (g Grace) orDefault() Grace {
	if g.Interrupt == 0 {
		g.Interrupt = 2 * time.Second
	}
	if g.Terminate <= 0 {
		g.Terminate = 3 * time.Second
	}
	return g
}

// Result says how a program ended.
type Result struct {
	// ExitCode is nil where a signal ended it; Signal then names that.
	ExitCode *int
	Signal   string
	// Stopped is why this package ended the program: the cause of its context, or what Observe said. It is nil where it
	// ended by itself, also by a signal of somebody else.
	Stopped error
	// Left are the processes that were still there when the program had ended, and had to be ended too.
	Left []Process
	// Survivors could not be ended, within the time that is reasonable.
	Survivors []Process

	Started, Ended time.Time
	// CPU is what the program and those of its children that it waited for have used.
	CPU time.Duration
}

// Text says how the program ended: "exit code 3" or "signal: killed".
func (r Result) Text() string {
	if r.ExitCode != nil {
		return fmt.Sprintf("exit code %d", *r.ExitCode)
	}
	return "signal: " + r.Signal
}

// Process is one process that was found.
type Process struct {
	PID int
	// Command is what it runs, as far as the system tells.
	Command string
	Trace
}

// Trace is what tells where a process comes from.
type Trace struct {
	// Marker is the value of [MarkerEnv] in its environment, or the mark of its control group.
	Marker string
	// RunDir is what older versions of Plumb put beside the mark.
	RunDir string
	// Dir is where it works. It is a trace only of a process of this user that has neither a mark nor a terminal.
	Dir string
}

// Run runs the program and returns when it has ended and all that belonged to it is gone. When ctx ends, the program is
// stopped: politely first. The error is [ErrNotStarted], or says what is wrong with a file.
func (c *Command) Run(ctx context.Context) (Result, error) {
	files, err := c.open()
	if err != nil {
		return Result{}, err
	}
	defer files.close()
	// It is not for os/exec to stop it when ctx ends: that would end the program only, and at once.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, slices.Clip(c.Env)
	mark := lookup(c.Env, MarkerEnv)
	if mark == "" {
		mark = "own/" + rand.Text()
		cmd.Env = append(cmd.Env, MarkerEnv+"="+mark)
	}
	// These are set only where there is a file: a nil *os.File in an io.Writer would be no nil.
	if files.stdin != nil {
		cmd.Stdin = files.stdin
	}
	if files.stdout != nil {
		cmd.Stdout = files.stdout
	}
	if files.stderr != nil {
		cmd.Stderr = files.stderr
	}
	family := newFamily(cmd, mark)
	family.ungrouped = c.ungrouped
	res := Result{Started: time.Now()}
	exited := make(chan error, 1)
	if err := family.start(exited); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}

	var lines *follower
	if c.Stdout != "" && (c.Observe != nil || c.OutputLimit > 0) {
		if lines, err = c.follow(); err != nil {
			res.Stopped = err
		}
	}
	grace := c.Grace.orDefault()
	if res.Stopped == nil {
		select {
		case err = <-exited:
		case <-ctx.Done():
			res.Stopped = context.Cause(ctx)
		case <-lines.refused():
			res.Stopped = lines.reason()
		}
	}
	if res.Stopped != nil {
		err = family.halt(grace, exited)
	}
	res.Ended = time.Now()
	res.Left, res.Survivors = family.end(grace.Terminate)
	if said := lines.finish(); said != nil && res.Stopped == nil {
		res.Stopped = said
	}
	res.exited(family.cmd.ProcessState)
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return res, fmt.Errorf("wait for the program: %w", err)
	}
	return res, nil
}

// halt ends the program, politely first, and returns how it ended.
func (f *family) halt(grace Grace, exited <-chan error) error {
	f.remember()
	if grace.Interrupt > 0 {
		f.interrupt()
		select {
		case err := <-exited:
			return err
		case <-time.After(grace.Interrupt):
		}
	}
	f.terminate()
	select {
	case err := <-exited:
		return err
	case <-time.After(grace.Terminate):
	}
	f.kill()
	return <-exited
}

func (r *Result) exited(state *os.ProcessState) {
	if state == nil {
		r.Signal = "unknown"
		return
	}
	r.CPU = state.UserTime() + state.SystemTime()
	if code := state.ExitCode(); code >= 0 {
		r.ExitCode = &code
		return
	}
	r.Signal = signalName(state)
}

// files are the open files of a program.
type files struct{ stdin, stdout, stderr *os.File }

func (c *Command) open() (files, error) {
	var f files
	var err error
	if c.Stdin != "" {
		if f.stdin, err = os.Open(c.Stdin); err != nil {
			return files{}, err
		}
	}
	for _, out := range []struct {
		name string
		file **os.File
	}{{c.Stdout, &f.stdout}, {c.Stderr, &f.stderr}} {
		if out.name == "" {
			continue
		}
		// Appending keeps what two processes write from overwriting each other.
		if *out.file, err = os.OpenFile(out.name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			f.close()
			return files{}, err
		}
	}
	return f, nil
}

func (f files) close() {
	for _, file := range []*os.File{f.stdin, f.stdout, f.stderr} {
		if file != nil {
			_ = file.Close() // what is written was written by others
		}
	}
}

// lookup returns the last value of name in an environment.
func lookup(env []string, name string) string {
	value := ""
	for _, v := range env {
		if len(v) > len(name) && v[len(name)] == '=' && v[:len(name)] == name {
			value = v[len(name)+1:]
		}
	}
	return value
}

// survived says what could not be ended.
func survived(processes []Process) error {
	var names []string
	for _, p := range processes {
		names = append(names, fmt.Sprintf("%d (%s)", p.PID, p.Command))
	}
	return fmt.Errorf("these processes do not end: %s", strings.Join(names, ", "))
}

// groupMark begins the marks of groups; the process that made the group follows.
const groupMark = "group/"

// Abandoned reports whether a mark is that of a [Group] whose process is gone.
func Abandoned(mark string) bool {
	rest, ok := strings.CutPrefix(mark, groupMark)
	owner, _, _ := strings.Cut(rest, ".")
	pid, err := strconv.Atoi(owner)
	return ok && err == nil && !Alive(pid)
}
