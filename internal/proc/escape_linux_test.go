package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// means returns the ways to track processes, and whether they work without control groups.
func means(t *testing.T) map[string]bool {
	t.Helper()
	if !strings.Contains(Means(), "cgroup") {
		t.Log("no control group can be made here")
		return map[string]bool{"subreaper": true}
	}
	return map[string]bool{"subreaper": true, "cgroup": false}
}

// TestEscape runs programs that leave a process without their environment, in a new session, in the
// root directory, as an orphan and without their files.
func TestEscape(t *testing.T) {
	for name, ungrouped := range means(t) {
		t.Run(name, func(t *testing.T) {
			c := command(t, "escapes")
			c.ungrouped = ungrouped
			result, err := c.Run(t.Context())
			if err != nil || result.Text() != "exit code 0" || len(result.Left) != 1 || len(result.Survivors) > 0 {
				t.Errorf("%+v, %v", result, err)
			}
			for _, pid := range pids(t, lookup(c.Env, "MARKS")) {
				if _, ok := processOf(pid); ok {
					t.Errorf("process %d is left, or a zombie", pid)
				}
			}
		})
	}
}

// TestEscapeStopped does the same with a program that is stopped.
func TestEscapeStopped(t *testing.T) {
	for name, ungrouped := range means(t) {
		t.Run(name, func(t *testing.T) {
			c := command(t, "escapes sleep")
			c.ungrouped = ungrouped
			why := errors.New("the time is over")
			ctx, cancel := context.WithCancelCause(t.Context())
			when(t, c, "ready", func() { cancel(why) })
			if result, err := c.Run(ctx); err != nil || !errors.Is(result.Stopped, why) || len(result.Survivors) > 0 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

// TestEscapeBeside runs several programs at the same time. With control groups, each one ends only
// its own processes. Without them, the start time shows the owner of an orphan, or the orphan ends
// with the last program; a running program never loses a process that may be its own.
func TestEscapeBeside(t *testing.T) {
	for name, ungrouped := range means(t) {
		t.Run(name, func(t *testing.T) {
			long := command(t, "escapes sleep")
			long.ungrouped = ungrouped
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var wait sync.WaitGroup
			wait.Go(func() {
				if result, err := long.Run(ctx); err != nil || len(result.Survivors) > 0 {
					t.Errorf("%+v, %v", result, err)
				}
			})
			for data := ""; !strings.Contains(data, "ready"); data = output(t, long) {
				time.Sleep(5 * time.Millisecond)
				if _, err := os.Stat(long.Stdout); err != nil {
					if err := os.WriteFile(long.Stdout, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			kept := pids(t, lookup(long.Env, "MARKS"))
			short := command(t, "escapes")
			short.ungrouped = ungrouped
			short.Env = append(short.Env, markerEnv+"=short/1")
			if _, err := short.Run(t.Context()); err != nil {
				t.Error(err)
			}
			for _, pid := range kept {
				if !living(pid) {
					t.Errorf("process %d of the program that still runs is gone", pid)
				}
			}
			if !ungrouped {
				for _, pid := range pids(t, lookup(short.Env, "MARKS")) {
					if living(pid) {
						t.Errorf("process %d of the program that has ended is there", pid)
					}
				}
			}
			cancel()
			wait.Wait() // that both are gone is checked when the test ends
		})
	}
}

// TestEscapeKilled kills a supervisor. The control group finds the process that its program had
// hidden.
func TestEscapeKilled(t *testing.T) {
	if !strings.Contains(Means(), "cgroup") {
		t.Skip("no control group can be made here")
	}
	c := command(t, "supervise escapes sleep")
	cmd := exec.Command(c.Path)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	marks := lookup(c.Env, "MARKS")
	await(marks)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	left := pids(t, marks)
	if len(left) != 1 || !living(left[0]) {
		t.Fatalf("left: %v", left)
	}
	killed, err := reap(func(t Trace) bool { return t.Marker == "supervised/1" }, time.Second)
	if err != nil || len(killed) == 0 || killed[len(killed)-1].Marker != "supervised/1" {
		t.Errorf("%+v, %v", killed, err)
	}
	if dirs, _ := filepath.Glob(filepath.Join(ownGroupDir(), groupPrefix+"supervised*")); len(dirs) > 0 {
		t.Errorf("its control group is left: %v", dirs)
	}
}

// TestReapByDirectory finds a process without a mark by its working directory, but never one with a
// terminal.
func TestReapByDirectory(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sleep", "60")
	cmd.Dir, cmd.Env = dir, []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	in := func(t Trace) bool { return t.Dir == dir }
	if found, err := Find(in); err != nil || len(found) != 1 || found[0].PID != cmd.Process.Pid || found[0].Dir != dir {
		t.Errorf("%+v, %v", found, err)
	}
	h := newHunt(in)
	p, _ := processOf(cmd.Process.Pid)
	p.terminal = true
	if _, ok := h.trace(p); ok {
		t.Error("it would be ended although it has a terminal")
	}
	if killed, err := reap(in, time.Second); err != nil || len(killed) != 1 || living(cmd.Process.Pid) {
		t.Errorf("%+v, %v", killed, err)
	}
}

// TestGroup runs programs of a group that leave processes behind in every way.
func TestGroup(t *testing.T) {
	for _, what := range []string{
		"litter sleep", "litter setsid sleep", "litter bare sleep", "litter double deaf", "escapes",
	} {
		t.Run(what, func(t *testing.T) {
			c := command(t, what)
			g := &Group{}
			cmd := exec.Command(c.Path)
			cmd.Env, cmd.Dir = c.Env, c.Dir
			if err := g.Start(cmd); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			left := pids(t, lookup(c.Env, "MARKS"))
			if len(left) != 1 || !living(left[0]) {
				t.Fatalf("left: %v", left)
			}
			g.End(300 * time.Millisecond)
			if living(left[0]) {
				t.Errorf("process %d is left", left[0])
			}
			if err := g.Start(exec.Command(c.Path)); err == nil {
				t.Error("a group that has ended starts programs")
			}
		})
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for mark, want := range map[string]bool{
		newMark(groupMark): false, newMark(ownMark): false, "run/1": false, "": false,
		groupMark + strconv.Itoa(dead.Process.Pid) + ".X": true, ownMark + strconv.Itoa(dead.Process.Pid) + ".X": true,
	} {
		if Abandoned(mark) != want {
			t.Errorf("%q is abandoned: %t", mark, !want)
		}
	}
}

// TestSweepGroups removes empty abandoned control groups, and none that is in use or about to be.
func TestSweepGroups(t *testing.T) {
	if _, ok := means(t)["cgroup"]; !ok {
		t.Skip("no control group can be made here")
	}
	old, fresh, kept := newGroup("old/1"), newGroup("fresh/1"), newGroup(groupMark+"x")
	defer fresh.remove()
	defer kept.remove()
	for _, g := range []*group{old, kept} {
		if err := os.Chtimes(g.dir, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Skip(err)
		}
	}
	sweepGroups(func(string) bool { return false })
	for g, want := range map[*group]bool{old: false, fresh: true, kept: true} {
		if _, err := os.Stat(g.dir); (err == nil) != want {
			t.Errorf("%s is there: %t", g.dir, !want)
		}
	}
}
