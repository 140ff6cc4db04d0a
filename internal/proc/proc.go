// Package proc runs one program and makes sure that it leaves no process behind: not the program
// itself, not its children, not processes in other process groups or sessions.
//
// Output goes to files, not through pipes. It uses no memory, can be followed while it grows, and a
// process that the program leaves behind cannot delay the end. Run returns when the program itself
// has ended; processes that it left are then killed.
//
// Plumb finds the processes of a program in several ways. On Linux each program has a control group
// (cgroup v2) if the system allows this process to create one; a process cannot leave it by
// dropping its environment, its session, its parents or its directory. Otherwise Plumb finds
// descendants in the process table. On Linux that table is complete, because orphans become
// children of this process (a child subreaper). An orphan without a mark that this process did not
// start belongs to the program that runs in the same directory, or to the only program that can
// have left it, or is ended with the last program. A mark in the environment, markerEnv, finds
// processes that lost their parents, even after this process has ended: see [Reap]. The name of the
// control group contains the same mark. On Windows a job object holds all processes. macOS hides
// the environment of programs that Apple ships, so descendants are recorded while the program runs;
// an Apple program that becomes an orphan within a second of its start can escape. On other systems
// only the process group is ended. [Means] returns the method in use.
//
// A program that uses this package and starts other processes must leave them in its own session or
// give them their own marks: see [Group].
package proc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// markerEnv is the environment variable that marks processes. It equals plumb.MarkerEnv; this
// package does not import package plumb.
const markerEnv = "PLUMB_SESSION"

// oldRunDirEnv held the run directory in processes that earlier builds started.
const oldRunDirEnv = "PLUMB_RUN_DIR"

// ErrNotStarted means that no process started, because the program does not exist or cannot be
// executed.
var ErrNotStarted = errors.New("the program could not be started")

// ErrOutput is the reason for stopping a program that exceeds OutputLimit.
var ErrOutput = errors.New("its output is too large")

// Command is a program to run.
type Command struct {
	// Path is the program. Args are its arguments without its name.
	Path string
	Args []string
	// Dir is its working directory.
	Dir string
	// Env is its whole environment. A markerEnv in it must be unique: every process with the same
	// value is killed at the end. Without one, Run adds one.
	Env []string
	// Stdin, Stdout and Stderr are files. Without Stdin the program reads an empty input. Without
	// Stdout or Stderr, that output is discarded. Run truncates the files.
	Stdin, Stdout, Stderr string
	// Observe is called with each line of Stdout while the program runs, without the newline, and
	// with an unfinished last line. A line longer than lineLimit is cut off. An error stops the
	// program. One goroutine makes all calls and ends before Run returns. The line is only valid
	// during the call.
	Observe func(line []byte) error
	// OutputLimit is the maximum size of Stdout and Stderr together, in bytes. If they exceed it,
	// the program is stopped with [ErrOutput]. 0 means no limit.
	OutputLimit int64
	// Grace is the time that the program gets to end.
	Grace Grace

	ungrouped bool // without a control group, for tests
}

// Grace is the time between the steps of stopping a program. A zero field means its default.
type Grace struct {
	// Interrupt is the time after SIGINT to the program itself, 2 s by default; a negative value
	// sends no SIGINT. Terminate is the time after SIGTERM to all its processes, 3 s by default.
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

// Result describes how a program ended.
type Result struct {
	// ExitCode is nil if a signal ended the program; Signal then names it.
	ExitCode *int
	Signal   string
	// Stopped is the reason why this package ended the program: the cause of its context, or the
	// error of Observe. It is nil if the program ended by itself or another process ended it.
	Stopped error
	// Left are the processes that remained after the program had ended, and that Run ended.
	Left []Process
	// Survivors are the processes that did not end in time.
	Survivors []Process

	Started, Ended time.Time
	// CPU is the CPU time of the program and of those of its children that it waited for.
	CPU time.Duration
}

// Text describes how the program ended: "exit code 3" or "signal: killed".
func (r Result) Text() string {
	if r.ExitCode != nil {
		return fmt.Sprintf("exit code %d", *r.ExitCode)
	}
	return "signal: " + r.Signal
}

// Process is one running process.
type Process struct {
	PID int
	// Command is its command line, as far as the system shows it.
	Command string
	Trace
}

// Trace is the information that identifies the origin of a process.
type Trace struct {
	// Marker is the value of markerEnv in its environment, or the mark of its control group.
	Marker string
	// RunDir is the run directory that earlier versions of Plumb stored beside the mark.
	RunDir string
	// Dir is its working directory. It is only set for a process of this user that has neither a
	// mark nor a terminal.
	Dir string
}

// Run runs the program and returns when it and all of its processes have ended. When ctx ends, Run
// stops the program: first with SIGINT, then with SIGTERM, then with SIGKILL. The error is
// [ErrNotStarted], or a file error.
func (c *Command) Run(ctx context.Context) (Result, error) {
	// os/exec must not stop the program when ctx ends: it would kill only the program, and
	// immediately.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, slices.Clip(c.Env)
	mark := lookup(c.Env, markerEnv)
	if mark == "" {
		mark = newMark(ownMark)
		cmd.Env = append(cmd.Env, markerEnv+"="+mark)
	}
	opened, err := c.open(cmd)
	defer func() {
		for _, file := range opened {
			_ = file.Close() // this process wrote nothing
		}
	}()
	if err != nil {
		return Result{}, err
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

// halt stops the program, first with SIGINT, and returns how it ended.
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

// open opens the files of the program, and returns those that it has opened.
func (c *Command) open(cmd *exec.Cmd) (opened []*os.File, err error) {
	if c.Stdin != "" {
		file, err := os.Open(c.Stdin)
		if err != nil {
			return nil, err
		}
		cmd.Stdin, opened = file, append(opened, file)
	}
	for out, name := range map[*io.Writer]string{&cmd.Stdout: c.Stdout, &cmd.Stderr: c.Stderr} {
		if name == "" {
			continue
		}
		// With O_APPEND, two processes do not overwrite each other's output.
		file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return opened, err
		}
		*out, opened = file, append(opened, file)
	}
	return opened, nil
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

// ownMark and groupMark are the prefixes of the marks that this package gives to programs and
// groups. The id of this process follows.
const (
	ownMark   = "own/"
	groupMark = "group/"
)

func newMark(kind string) string { return kind + strconv.Itoa(os.Getpid()) + "." + rand.Text() }

// Abandoned reports whether this package made the mark in a process that has ended.
func Abandoned(mark string) bool {
	rest, ok := strings.CutPrefix(mark, groupMark)
	if !ok {
		rest, ok = strings.CutPrefix(mark, ownMark)
	}
	owner, _, _ := strings.Cut(rest, ".")
	pid, err := strconv.Atoi(owner)
	return ok && err == nil && !Alive(pid)
}
