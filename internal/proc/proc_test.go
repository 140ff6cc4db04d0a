//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
)

func TestNamesAreThoseOfTheVocabulary(t *testing.T) {
	if markerEnv != plumb.MarkerEnv {
		t.Errorf("%s, but %s", markerEnv, plumb.MarkerEnv)
	}
}

// command returns a command that runs the test binary with the given pose. When the test ends, no
// process with its mark may remain.
func command(t *testing.T, what string) Command {
	t.Helper()
	dir := t.TempDir()
	mark := t.Name() + "/" + strconv.Itoa(os.Getpid())
	marks := filepath.Join(dir, "marks")
	if err := os.Mkdir(marks, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
		for _, pid := range pids(t, marks) {
			if living(pid) {
				t.Errorf("process %d is left", pid)
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	// Programs that end when asked get enough time for a busy machine; the others get none.
	grace := Grace{Interrupt: time.Minute, Terminate: time.Minute}
	if what == "stubborn" {
		grace.Interrupt = 300 * time.Millisecond
	}
	if what == "stubborn" || strings.Contains(what, "deaf") {
		grace.Terminate = 300 * time.Millisecond
	}
	return Command{
		Path: os.Args[0], Dir: dir, Stdout: filepath.Join(dir, "stdout"), Stderr: filepath.Join(dir, "stderr"),
		Env:   append(os.Environ(), poseEnv+"="+what, "MARKS="+marks, markerEnv+"="+mark),
		Grace: grace,
	}
}

func marked(t *testing.T, mark string) []int {
	t.Helper()
	all, err := table()
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, p := range all {
		if env, err := environment(p.pid); err == nil && !p.zombie && lookup(env, markerEnv) == mark {
			found = append(found, p.pid)
		}
	}
	return found
}

func pids(t *testing.T, dir string) []int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// living reports whether a process exists and is not a zombie.
func living(pid int) bool {
	all, err := table()
	if err != nil {
		return false
	}
	for _, p := range all {
		if p.pid == pid {
			return !p.zombie
		}
	}
	return false
}

func output(t *testing.T, c Command) string {
	t.Helper()
	data, err := os.ReadFile(c.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// when runs fn once the program has written text.
func when(t *testing.T, c Command, text string, fn func()) {
	t.Helper()
	go func() {
		for range 2000 {
			if data, err := os.ReadFile(c.Stdout); err == nil && bytes.Contains(data, []byte(text)) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		fn()
	}()
}

func TestEnds(t *testing.T) {
	for _, tt := range []struct{ what, text string }{
		{"exit 0", "exit code 0"}, {"exit 3", "exit code 3"}, {"suicide", "signal: killed"},
	} {
		c := command(t, tt.what)
		result, err := c.Run(t.Context())
		if err != nil || result.Text() != tt.text || result.Stopped != nil || result.Left != nil {
			t.Errorf("%s: %+v, %v", tt.what, result, err)
		}
		if result.Started.IsZero() || result.Ended.Before(result.Started) {
			t.Errorf("from %v to %v", result.Started, result.Ended)
		}
	}
}

func TestNotStarted(t *testing.T) {
	c := command(t, "exit 0")
	c.Path = filepath.Join(c.Dir, "no-such-program")
	if _, err := c.Run(t.Context()); !errors.Is(err, ErrNotStarted) || !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "no-such-program") {
		t.Error(err)
	}
	c.Path = c.Stdout // a file that is no program
	if _, err := c.Run(t.Context()); !errors.Is(err, ErrNotStarted) {
		t.Error(err)
	}
	c.Stdin = filepath.Join(c.Dir, "nothing")
	if _, err := c.Run(t.Context()); err == nil || errors.Is(err, ErrNotStarted) {
		t.Error(err)
	}
}

func TestStdin(t *testing.T) {
	c := command(t, "stdin")
	if _, err := c.Run(t.Context()); err != nil || output(t, c) != "lines: 0\n" {
		t.Errorf("%q, %v: it should be closed", output(t, c), err)
	}
	c.Stdin = filepath.Join(c.Dir, "in")
	if err := os.WriteFile(c.Stdin, []byte("a\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); err != nil || output(t, c) != "in: a\nin: b\nlines: 2\n" {
		t.Errorf("%q, %v", output(t, c), err)
	}
}

func TestObserve(t *testing.T) {
	c := command(t, "say one|two^||three_3|torn")
	var lines []string
	c.Observe = func(line []byte) error { lines = append(lines, string(line)); return nil }
	if _, err := c.Run(t.Context()); err != nil || strings.Join(lines, ",") != "one,two,three 3,torn" {
		t.Errorf("%q, %v", lines, err)
	}
}

func TestObserveLongLine(t *testing.T) {
	c := command(t, fmt.Sprintf("long %d", 3*lineLimit))
	var sizes []int
	c.Observe = func(line []byte) error { sizes = append(sizes, len(line)); return nil }
	if _, err := c.Run(t.Context()); err != nil || fmt.Sprint(sizes) != fmt.Sprint([]int{lineLimit, 5}) {
		t.Errorf("%v, %v", sizes, err)
	}
}

func TestObserverStops(t *testing.T) {
	enough := errors.New("enough")
	for _, what := range []string{"polite", "stubborn", "say ready"} { // the last has ended by then
		c := command(t, what)
		calls := 0
		c.Observe = func([]byte) error { calls++; return enough }
		result, err := c.Run(t.Context())
		if err != nil || !errors.Is(result.Stopped, enough) || calls != 1 {
			t.Errorf("%s: %+v, %v after %d calls", what, result, err, calls)
		}
	}
}

func TestOutputLimit(t *testing.T) {
	for _, observe := range []func([]byte) error{nil, func([]byte) error { return nil }} {
		// the first ends, perhaps before anybody has noticed
		for _, what := range []string{"flood 50", "flood 1000000"} {
			c := command(t, what)
			c.OutputLimit, c.Observe = 20<<20, observe
			if result, err := c.Run(t.Context()); err != nil || !errors.Is(result.Stopped, ErrOutput) {
				t.Errorf("%s: %+v, %v", what, result, err)
			}
		}
		c := command(t, "flood 1")
		c.OutputLimit, c.Observe = 20<<20, observe
		if result, err := c.Run(t.Context()); err != nil || result.Stopped != nil {
			t.Errorf("%+v, %v", result, err)
		}
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ what, text, output string }{
		{"polite", "exit code 0", "ready\nasked interrupt\n"},
		{"stubborn", "signal: killed", "ready\n"},
		{"parent sleep", "signal: interrupt", "ready\n"},
		{"parent deaf", "signal: interrupt", "ready\n"},
		{"parent setsid sleep", "signal: interrupt", "ready\n"},
		{"parent setsid deaf", "signal: interrupt", "ready\n"},
		{"parent setsid bare deaf", "signal: interrupt", "ready\n"},
		{"parent double sleep", "signal: interrupt", "ready\nready\n"},
		{"parent double deaf", "signal: interrupt", "ready\nready\n"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			c := command(t, tt.what)
			why := errors.New("the user had enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			when(t, c, tt.output[:6], func() { cancel(why) })
			result, err := c.Run(ctx)
			if err != nil || !errors.Is(result.Stopped, why) || result.Text() != tt.text || len(result.Survivors) > 0 {
				t.Errorf("%+v, %v", result, err)
			}
			// one may come too late
			if got := output(t, c); got != tt.output && (got != "ready\n" || !strings.Contains(tt.what, "double")) {
				t.Errorf("output %q", got)
			}
		})
	}
}

// TestLeavesNothing runs programs that end while one of their processes still holds their output
// open.
func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	kinds := []string{"sleep", "deaf", "setsid sleep", "setsid deaf", "bare sleep", "double sleep", "double deaf"}
	if adopts {
		kinds = append(kinds, "setsid bare deaf")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := command(t, "litter "+kind)
			result, err := c.Run(t.Context())
			if err != nil || result.Text() != "exit code 0" || result.Stopped != nil || len(result.Left) == 0 ||
				len(result.Survivors) > 0 {
				t.Errorf("%+v, %v", result, err)
			}
			for _, p := range result.Left {
				if !strings.Contains(p.Command, filepath.Base(os.Args[0])) {
					t.Errorf("what is left is called %q", p.Command)
				}
			}
		})
	}
}

// TestNoInterrupt stops a program with SIGTERM only.
func TestNoInterrupt(t *testing.T) {
	c := command(t, "polite")
	c.Grace.Interrupt = -1
	ctx, cancel := context.WithCancel(t.Context())
	when(t, c, "ready", cancel)
	if result, err := c.Run(ctx); err != nil || result.Text() != "exit code 0" ||
		output(t, c) != "ready\nasked terminated\n" {
		t.Errorf("%+v, %v: %q", result, err, output(t, c))
	}
}

func TestSomebodyElseKillsIt(t *testing.T) {
	c := command(t, "parent sleep")
	when(t, c, "ready", func() {
		for _, pid := range marked(t, lookup(c.Env, markerEnv)) {
			if p, ok := processOf(pid); ok && p.pgid == pid {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	ctx, cancel := plumb.WithTimeLimit(t.Context(), time.Minute)
	defer cancel()
	result, err := c.Run(ctx)
	if err != nil || result.Signal != "killed" || result.Stopped != nil || len(result.Left) != 1 {
		t.Errorf("%+v, %v: that is no time limit", result, err)
	}
}

func processOf(pid int) (process, bool) {
	all, err := table()
	if err != nil {
		return process{}, false
	}
	for _, p := range all {
		if p.pid == pid {
			return p, true
		}
	}
	return process{}, false
}

// TestParallel runs many programs at once. Each leaves a child, and each must end only its own: a
// running program must not lose its child to one that ends.
func TestParallel(t *testing.T) {
	t.Parallel()
	var wait sync.WaitGroup
	for i := range 20 {
		c := command(t, "litter setsid sleep")
		c.Env = append(c.Env, markerEnv+"="+t.Name()+strconv.Itoa(i))
		wait.Go(func() {
			result, err := c.Run(t.Context())
			if err != nil || result.Text() != "exit code 0" || len(result.Left) != 1 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
	wait.Wait()
}

// TestOneDirectory runs programs in the same directory at the same time. They end at once and must
// not end each other.
func TestOneDirectory(t *testing.T) {
	dir, logs := t.TempDir(), t.TempDir()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 30 {
				name := strconv.Itoa(worker)
				c := Command{
					Path: "/bin/sh", Args: []string{"-c", "exec true"}, Dir: dir,
					Env:    []string{fmt.Sprintf("%s=one/%d.%d", markerEnv, worker, i)},
					Stdout: filepath.Join(logs, name+".out"), Stderr: filepath.Join(logs, name+".err"),
				}
				r, err := c.Run(t.Context())
				if err != nil || r.ExitCode == nil || *r.ExitCode != 0 || len(r.Left) > 0 {
					t.Errorf("%s, %+v, %v", r.Text(), r.Left, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestNoZombies checks that adopted orphans are reaped, and that children of other goroutines are
// not.
func TestNoZombies(t *testing.T) {
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), poseEnv+"=exit 7")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	for !zombie(other.Process.Pid) && runtime.GOOS == "linux" {
		time.Sleep(5 * time.Millisecond)
	}
	c := command(t, "litter double sleep")
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); other.ProcessState.ExitCode() != 7 {
		t.Errorf("somebody else waited for it: %v", err)
	}
	for _, pid := range pids(t, lookup(c.Env, "MARKS")) {
		if adopts && zombie(pid) {
			t.Errorf("process %d is a zombie", pid)
		}
	}
}

func zombie(pid int) bool {
	p, ok := processOf(pid)
	return ok && p.zombie
}

// TestMemory compares the memory needed to follow a large output with that for a small one.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("prints 200 MB")
	}
	used := func(what string) int {
		c := command(t, "supervise "+what)
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var lines, size int
		if _, err := fmt.Sscanf(output(t, c), "lines %d maxrss %d", &lines, &size); err != nil || lines == 0 {
			t.Fatalf("%q: %v", output(t, c), err)
		}
		if runtime.GOOS == "darwin" {
			size >>= 10
		}
		return size
	}
	little, much := used("flood 1"), used("flood 200")
	t.Logf("1 MB: %d KiB, 200 MB: %d KiB", little, much)
	if much-little > 20<<10 {
		t.Errorf("200 MB of output cost %d KiB", much-little)
	}
}

// TestKilled kills a supervisor with SIGKILL. Its program dies with it; the mark finds the
// processes of that program.
func TestKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a program with its supervisor")
	}
	c := command(t, "supervise parent setsid deaf")
	cmd := exec.Command(c.Path)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	marks := lookup(c.Env, "MARKS")
	for len(pids(t, marks)) == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	of := func(t Trace) bool { return t.Marker == "supervised/1" && t.RunDir == marks }
	count := func() int {
		n := 0
		for _, pid := range marked(t, "supervised/1") {
			if env, _ := environment(pid); lookup(env, oldRunDirEnv) == marks {
				n++
			}
		}
		return n
	}
	if n := count(); n != 2 {
		t.Errorf("%d processes run, want 2", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	for range 1000 {
		if count() < 2 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if found, err := Find(of); err != nil || len(found) != 1 || count() != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
	killed, err := reap(of, 50*time.Millisecond)
	if err != nil || len(killed) != 1 || killed[0].Marker != "supervised/1" || killed[0].RunDir != marks {
		t.Errorf("%+v, %v", killed, err)
	}
	if n := count(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	if killed, err := Reap(of); len(killed) != 0 || err != nil {
		t.Errorf("a second time: %+v, %v", killed, err)
	}
}

// TestReapSparesItself reaps every marked process from within a marked process.
func TestReapSparesItself(t *testing.T) {
	asked := 0
	self, _ := environment(os.Getpid())
	if _, err := reap(func(t Trace) bool {
		if t.Marker != "" {
			asked++
		}
		return t.Marker != "" && t.Marker == lookup(self, markerEnv)
	}, 0); err != nil {
		t.Error(err)
	}
	if lookup(self, markerEnv) == "" && asked > 100 {
		t.Errorf("asked %d times", asked)
	}
}

func BenchmarkRun(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		c := Command{
			Path: "/bin/true", Dir: dir, Stdout: filepath.Join(dir, "out"), Stderr: filepath.Join(dir, "err"),
			Env: []string{markerEnv + "=bench/1"}, Observe: func([]byte) error { return nil },
		}
		if _, err := c.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
