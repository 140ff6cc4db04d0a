//go:build unix

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

// program makes a command runner of which the program is the test binary, posing as name.
func program(t *testing.T, name string, args ...string) *command {
	t.Helper()
	marks := t.TempDir()
	r, err := New(t.Context(), plumb.RunnerConfig{
		Command: append([]string{os.Args[0]}, args...),
		Env:     map[string]string{fakeVariable: name, "MARKS": marks, "GIVEN": "a b"},
	}, Env{Dir: t.TempDir(), Environ: os.Environ, Note: func(n plumb.Note) { t.Log(n.Text, n.Hint) }})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*command)
}

func marks(c *command) string {
	for _, v := range c.environ {
		if dir, ok := strings.CutPrefix(v, "MARKS="); ok {
			return dir
		}
	}
	return ""
}

func TestCommandAnswers(t *testing.T) {
	report, err := program(t, "echo").Run(t.Context(), ask("how are you?\n"))
	if err != nil {
		t.Fatal(err)
	}
	if report.FinalOutput != "how are you?" || report.Prompt != "how are you?\n" || report.FinishReason != plumb.FinishStop {
		t.Errorf("output %q, prompt %q, finish %q", report.FinalOutput, report.Prompt, report.FinishReason)
	}
	if report.Runner.ID != "command" || report.Runner.Kind != plumb.RunnerCommand {
		t.Errorf("runner %+v", report.Runner)
	}
	if report.CostUSD != nil {
		t.Errorf("cost %g, which nobody knows", *report.CostUSD)
	}
	if report.Usage.InputTokens != nil || report.Usage.InputChars != 13 || report.Usage.OutputChars != 12 || report.Usage.Source.Input != "chars" {
		t.Errorf("usage %+v", report.Usage)
	}
	if report.StartedAt == nil || report.EndedAt == nil || report.EndedAt.Before(*report.StartedAt) {
		t.Errorf("from %v to %v", report.StartedAt, report.EndedAt)
	}
}

// TestCommandPrompt holds what a program reads, byte for byte: the example of docs/runners.md.
func TestCommandPrompt(t *testing.T) {
	c := program(t, "stdin")
	report, err := c.Run(t.Context(), plumb.Request{
		CaseID: "coding-7", Repetition: 2, Session: 1, MaxOutputTokens: 300,
		Messages: []plumb.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "2 < 3?"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"caseId":"coding-7","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"2 < 3?"}],` +
		`"prompt":"system: Be brief.\n\nuser: 2 < 3?","maxOutputTokens":300,"repetition":2,"session":1,` +
		`"parameters":{"temperature":0,"seed":42,"maxOutputTokens":300}}`
	if report.FinalOutput != want {
		t.Errorf("got  %s\nwant %s", report.FinalOutput, want)
	}
	doc, err := os.ReadFile("../../docs/runners.md")
	if err != nil {
		t.Fatal(err)
	}
	var inDoc any
	_, rest, _ := strings.Cut(string(doc), "<!-- prompt -->\n```json\n")
	example, _, _ := strings.Cut(rest, "```")
	if err := json.Unmarshal([]byte(example), &inDoc); err != nil {
		t.Fatalf("the example in docs/runners.md: %v", err)
	}
	var got any
	if err := json.Unmarshal([]byte(report.FinalOutput), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inDoc, got); diff != "" {
		t.Errorf("docs/runners.md says otherwise: %s", diff)
	}
}

func TestCommandObject(t *testing.T) {
	c := program(t, "say", `{"output":"42","model":"m-1","usage":{"inputTokens":7,"outputTokens":3,"cacheTokens":2},"costUsd":0.25,"finishReason":"length","cost":1}`)
	var notes []plumb.Note
	c.note = func(n plumb.Note) { notes = append(notes, n) }
	for range 2 {
		report, err := c.Run(t.Context(), ask("x"))
		if err != nil {
			t.Fatal(err)
		}
		if report.FinalOutput != "42" || report.Model != "m-1" || *report.CostUSD != 0.25 {
			t.Errorf("%+v", report)
		}
		if *report.Usage.InputTokens != 7 || *report.Usage.TotalTokens != 8 || report.Usage.OutputChars != 2 || report.Usage.InputChars != 1 {
			t.Errorf("usage %+v", report.Usage)
		}
		if report.FinishReason != plumb.FinishTruncated || report.ProviderFinishReason != "length" {
			t.Errorf("finish %q %q", report.FinishReason, report.ProviderFinishReason)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0].Text, `"cost"`) || !strings.Contains(notes[0].Hint, "costUsd") {
		t.Errorf("notes %+v", notes)
	}
}

func TestCommandFailures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		program []string
		output  string
		message string // what it must have
	}{
		{"exit code", []string{"fail", "3", "half an answer", "cannot reach the moon\n"}, "half an answer", "exit code 3; stderr:\ncannot reach the moon"},
		{"exit code and reason", []string{"fail", "3", `{"error":{"message":"quota"},"output":"so far"}`, ""}, "so far", "quota (exit code 3)"},
		{"no exit code but an error", []string{"say", `{"error":"no key"}`}, "", ": no key"},
		{"killed", []string{"suicide"}, "", "signal: killed"},
		{"bad object", []string{"say", `{"output":5}`}, `{"output":5}`, `"output" of the answer is not a string`},
		{"stderr is shown from its end", []string{"chatter"}, "", "line 1999"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := program(t, tt.program[0], tt.program[1:]...)
			report, err := c.Run(t.Context(), ask("x"))
			f := failure(t, err)
			if f.Origin != plumb.OriginRunner || f.Hint == "" || !strings.Contains(f.Message, tt.message) {
				t.Errorf("%+v", f)
			}
			if report == nil || report.FinalOutput != tt.output {
				t.Errorf("report %+v", report)
			}
			if len(f.Message) > commandStderrLimit+200 {
				t.Errorf("a message of %d bytes", len(f.Message))
			}
		})
	}
}

func TestCommandDoesNotRead(t *testing.T) {
	report, err := program(t, "deaf").Run(t.Context(), ask(strings.Repeat("long ", 1<<18)))
	if err != nil || report.FinalOutput != "I did not listen" {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestCommandEmptyAnswer(t *testing.T) {
	report, err := program(t, "say").Run(t.Context(), ask("x"))
	if err != nil || report.FinalOutput != "" || report.Began() {
		t.Errorf("%+v, %v: an empty answer is an answer", report, err)
	}
}

func TestCommandFlood(t *testing.T) {
	c := program(t, "flood")
	c.limit = 1 << 20
	report, err := c.Run(t.Context(), ask("x"))
	f := failure(t, err)
	if f.Origin != plumb.OriginRunner || !strings.Contains(f.Message, "larger than 1 MiB") || len(report.FinalOutput) != 1<<20 {
		t.Errorf("%v, %d bytes", f, len(report.FinalOutput))
	}
}

func TestCommandEnvironment(t *testing.T) {
	c := program(t, "where")
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"": c.dir, workspace: workspace} {
		req := ask("x")
		req.Workspace = dir
		report, err := c.Run(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if report.FinalOutput != want+"|"+want+"|a b" {
			t.Errorf("workspace %q: %s", dir, report.FinalOutput)
		}
	}
}

// TestCommandTimeoutWithoutAnAnswer has programs that write something before their time is up, and
// no text of an answer.
func TestCommandTimeoutWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said, want string
	}{
		"nothing":             {"", ""},
		"white space":         {"  \n \t\n", ""},
		"an error":            {`{"error":"the server is busy"}`, ""},
		"an empty answer":     {`{"output":""}`, ""},
		"no answer at all":    {`{"output":17}`, ""},
		"an answer":           {`{"output":"Paris"}`, "Paris"},
		"half of a text":      {"Par", "Par"},
		"a text of two lines": {"Paris\n\nand", "Paris\n\nand"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := New(t.Context(), plumb.RunnerConfig{Command: []string{"sh", "-c", `printf %s "$0"; exec sleep 60`, c.said}}, Env{Dir: t.TempDir(), Environ: os.Environ})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := plumb.WithTimeLimit(t.Context(), time.Second)
			defer cancel()
			report, err := r.Run(ctx, ask("x"))
			f := failure(t, err)
			outcome := plumb.OutcomeError
			if c.want != "" {
				outcome = plumb.OutcomeFail
			}
			if got := f.Origin.Outcome(report.Began()); f.Origin != plumb.OriginTimeout || got != outcome || report.FinalOutput != c.want {
				t.Errorf("%s, want %s, with the output %q", got, outcome, report.FinalOutput)
			}
		})
	}
}

func TestCommandTimeout(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*testing.T, *command) context.Context{
		"of the runner": func(t *testing.T, c *command) context.Context {
			t.Helper()
			c.timeout = 2 * time.Second
			return t.Context()
		},
		"of the case": func(t *testing.T, _ *command) context.Context {
			t.Helper()
			ctx, cancel := plumb.WithTimeLimit(t.Context(), 2*time.Second)
			t.Cleanup(cancel)
			return ctx
		},
		"of a deadline": func(t *testing.T, _ *command) context.Context {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			t.Cleanup(cancel)
			return ctx
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := program(t, "polite")
			report, err := c.Run(limit(t, c), ask("x"))
			if f := failure(t, err); f.Origin != plumb.OriginTimeout || f.Hint == "" {
				t.Errorf("%+v", f)
			}
			if report == nil || report.FinalOutput != "begun" || !report.Began() || report.FinishReason != plumb.FinishTimeout {
				t.Errorf("what was said before the time was over is lost: %+v", report)
			}
			if _, err := os.Stat(filepath.Join(marks(c), "asked")); err != nil {
				t.Error("it was not asked to end before it was killed")
			}
		})
	}
}

// TestCommandTurns gives three callers one place.
func TestCommandTurns(t *testing.T) {
	c := program(t, "linger")
	c.slots = make(chan struct{}, 1)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if report, err := c.Run(t.Context(), ask("x")); err != nil || report.FinalOutput != "alone" {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
	wait.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	c.slots <- struct{}{}
	cancel()
	if report, err := c.Run(ctx, ask("x")); report != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestCommandTurnTakesNoTime holds the only place for an hour: a case with a minute of its own must
// outlast that.
func TestCommandTurnTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &command{slots: make(chan struct{}, 1)}
		c.slots <- struct{}{}
		time.AfterFunc(time.Hour, c.leave)
		ctx, cancel := plumb.WithTimeLimit(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := c.turn(ctx); err != nil || time.Since(began) != time.Hour {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestCommandInterrupted(t *testing.T) {
	c := program(t, "polite")
	stop := errors.New("the user had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for range 1000 {
			if _, err := os.Stat(filepath.Join(marks(c), "ready")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(stop)
	}()
	report, err := c.Run(ctx, ask("x"))
	if f := failure(t, err); report != nil || f.Origin != plumb.OriginRunner || !errors.Is(err, stop) {
		t.Errorf("%+v, %+v: what is not finished must be done again when the run is resumed", report, f)
	}
	if report, err := c.Run(ctx, ask("x")); report != nil || !errors.Is(err, stop) {
		t.Errorf("after the end: %v, %v", report, err)
	}
}

// TestCommandLeavesNothingRunning kills a program with children and grandchildren that ignore
// SIGTERM and hold its output open, and one that has ended and left a child behind.
func TestCommandLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program []string
		pids    int
		timeout time.Duration
		ok      bool
	}{
		{[]string{"tree", "2"}, 3, 3 * time.Second, false},
		{[]string{"litter"}, 1, 0, true},
	} {
		t.Run(tt.program[0], func(t *testing.T) {
			t.Parallel()
			c := program(t, tt.program[0], tt.program[1:]...)
			c.timeout, c.grace = tt.timeout, 300*time.Millisecond
			began := time.Now()
			report, err := c.Run(t.Context(), ask("x"))
			if (err == nil) != tt.ok {
				t.Fatalf("error %v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if tt.ok && report.FinalOutput != "done" {
				t.Errorf("output %q", report.FinalOutput)
			}
			files, _ := filepath.Glob(filepath.Join(marks(c), "pid-*"))
			if len(files) != tt.pids {
				t.Fatalf("%d processes, want %d", len(files), tt.pids)
			}
			for _, file := range files {
				_, text, _ := strings.Cut(filepath.Base(file), "-")
				pid, _ := strconv.Atoi(text)
				if !gone(pid) {
					t.Errorf("process %d survived", pid)
				}
			}
		})
	}
}

// gone waits until a process has ended: it is not there, or is a zombie that its parent has not
// waited for yet.
func gone(pid int) bool {
	for range 200 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return true
		}
		if runtime.GOOS == "linux" {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil || strings.Contains(string(stat), ") Z ") {
				return true
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestCommandParallel(t *testing.T) {
	c := program(t, "echo")
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			text := "number " + strconv.Itoa(i)
			if report, err := c.Run(t.Context(), ask(text)); err != nil || report.FinalOutput != text {
				t.Errorf("%s: %+v, %v", text, report, err)
			}
		})
	}
	wait.Wait()
}

func TestCommandNotThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bot.sh"), []byte("#!/bin/sh\necho hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		argv []string
		hint string
	}{
		{[]string{"no-such-program-here"}, "./no-such-program-here"},
		{[]string{"./nothing"}, "relative path"},
		{[]string{"./bot.sh"}, "chmod +x"},
		{[]string{"python3 bot.py"}, `["python3" "bot.py"]`},
		{[]string{""}, ""},
	} {
		_, err := New(t.Context(), plumb.RunnerConfig{ID: "bot", Command: tt.argv}, Env{Dir: dir})
		if err == nil || !strings.HasPrefix(err.Error(), "runner bot: command") || !strings.Contains(plumb.Hint(err), tt.hint) {
			t.Errorf("%q: %v (%s)", tt.argv, err, plumb.Hint(err))
		}
	}
	if err := os.Chmod(filepath.Join(dir, "bot.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := New(t.Context(), plumb.RunnerConfig{Command: []string{"./bot.sh"}}, Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := r.Run(t.Context(), ask("x")); err != nil || report.FinalOutput != "hello" {
		t.Errorf("%+v, %v", report, err)
	}
	// A program that vanishes between the check and the run.
	if err := os.Remove(filepath.Join(dir, "bot.sh")); err != nil {
		t.Fatal(err)
	}
	report, err := r.Run(t.Context(), ask("x"))
	if f := failure(t, err); report != nil || f.Origin != plumb.OriginRunner || !strings.Contains(f.Message, "could not be started") {
		t.Errorf("%+v, %+v", report, f)
	}
}
