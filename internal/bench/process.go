package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// usage is what one process used.
type usage struct {
	wall, cpu time.Duration
	// peak is the largest resident set in bytes, or 0 when the system does not report it.
	peak int64
	code int
	// output is the last part of both output streams.
	output string
}

// execute runs a command to its end. An error means that it did not run; an exit code is not an
// error.
func execute(ctx context.Context, dir string, env []string, argv ...string) (usage, error) {
	return executeTo(ctx, nil, dir, env, argv...)
}

// executeTo is execute for a command with much output: its standard output goes to a file.
func executeTo(ctx context.Context, stdout *os.File, dir string, env []string, argv ...string) (usage, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
	if stdout != nil {
		cmd.Stdout = stdout
	}
	begun := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(begun), output: tail(out.String())}
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return u, fmt.Errorf("run %s: %w", strings.Join(argv, " "), err)
	}
	if ctx.Err() != nil {
		return u, context.Cause(ctx)
	}
	u.cpu, u.peak, u.code = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), peak(cmd.ProcessState),
		cmd.ProcessState.ExitCode()
	return u, nil
}

// failure returns err, or the output of a command that ended with an exit code other than 0.
func (u usage) failure(err error) error {
	if err == nil && u.code != 0 {
		return errors.New(u.output)
	}
	return err
}

func tail(s string) string {
	const limit = 2000
	if len(s) > limit {
		s = "..." + s[len(s)-limit:]
	}
	return strings.TrimSpace(s)
}

// server is the fake model server as a process.
type server struct {
	cmd *exec.Cmd
	url string
}

// serve starts a server with the given answers.
func (b *bench) serve(ctx context.Context, answers string, latency time.Duration) (*server, error) {
	cmd := exec.CommandContext(ctx, b.self, "serve", "-answers", answers, "-latency", latency.String(), "-life", "30m")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = b.stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the model server: %w", err)
	}
	line := make([]byte, 128)
	n, err := out.Read(line)
	url, ok := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "listening ")
	if err != nil && !errors.Is(err, io.EOF) || !ok {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("start the model server: unexpected output %q", line[:n])
	}
	return &server{cmd, url}, nil
}

// stop ends the server and returns what it used.
func (s *server) stop() usage {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		_ = s.cmd.Process.Kill() // Windows has no interrupt
	}
	_ = s.cmd.Wait() // its exit code does not matter
	return usage{cpu: s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime(), peak: peak(s.cmd.ProcessState)}
}
