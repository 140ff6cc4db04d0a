// Package cli is the command line: commands, flags, wiring, exit codes and hints. It is the only package that knows all
// the others; one file a command.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/load"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
)

// The exit codes.
const (
	exitOK          = 0   // all planned executions measured and none failed
	exitFailed      = 1   // at least one fail or unexpected pass
	exitUsage       = 2   // usage, config or suite invalid; nothing was run
	exitNotMeasured = 3   // nothing failed, but something could not be measured
	exitInterrupted = 130 // Ctrl-C
	exitReaderLeft  = 141 // whoever read the output of a command that is no run left, as in plumb runs | head -1
	exitTerminated  = 143 // SIGTERM
)

// Env is the world as a command sees it.
type Env struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        func() []string
	// Dir is the working directory; relative paths are relative to it.
	Dir string
	// Signals delivers, until stop is called, what should interrupt a run: the first time it drains, the second time it
	// stops. Signals do what they do by default before and after. Nil delivers none.
	Signals func() (signals <-chan os.Signal, stop func())
	// Size returns the width and height of the terminal behind Stdout; ok is false where there is none.
	Size func() (width, height int, ok bool)
	Now  func() time.Time
}

// Process returns the world of this process. Interrupts and SIGTERM are the signals. From here on SIGPIPE ends nothing: the
// system sends it for each socket and pipe that is closed at the other end, whether that is a provider, a program that a
// suite started or the reader of the output. The writers of [Main] tell the last one from its error. (The signal is not
// ignored, because programs that plumb starts would inherit that.)
//
// The log of the standard library goes nowhere: the HTTP client writes to it what a provider sent unasked, secrets included.
func Process(args []string) Env {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	slog.SetDefault(slog.New(slog.DiscardHandler)) // of package log, too
	dir, err := os.Getwd()                         //nolint:forbidigo // the one place that looks at the process
	if err != nil {
		dir = "."
	}
	//nolint:forbidigo // the one place that looks at the process
	return Env{
		Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ,
		Dir: dir, Signals: signals, Now: time.Now,
		Size: func() (int, int, bool) {
			fd := int(os.Stdout.Fd())
			if !term.IsTerminal(fd) {
				return 0, 0, false
			}
			w, h, err := term.GetSize(fd)
			return w, h, err == nil
		},
	}
}

func signals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, env Env) int {
	left := make(chan struct{})
	leave := sync.OnceFunc(func() { close(left) })
	out := &output{Writer: env.Stdout, leave: leave}
	if _, _, terminal := env.Size(); !terminal {
		env.Stdout = out
	}
	env.Stderr = &output{Writer: env.Stderr, leave: leave, optional: true}
	a := &app{Env: env, readerLeft: left}
	root := a.root() //nolint:contextcheck // commands get theirs from cobra
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	for _, c := range a.closers {
		_ = c.Close() // what standard error does not take, nobody reads
	}
	var exit exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case readerLeft(out.failed()) && (err == nil || readerLeft(err)):
		return exitReaderLeft
	case out.failed() != nil && (err == nil || errors.Is(err, out.failed())):
		a.complain(out.failed())
		return exitNotMeasured
	case err != nil:
		a.complain(err)
		return exitUsage
	}
	return exitOK
}

// output is standard output or standard error. It remembers that something could not be written, because not everybody who
// prints looks, and calls leave when nobody reads it any more. Where output is optional that is no error of whoever
// prints: a check that logs would break, and be blamed.
type output struct {
	io.Writer
	leave    func()
	optional bool
	mu       sync.Mutex
	err      error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if readerLeft(err) {
		o.leave()
		if o.optional {
			return len(p), nil
		}
	}
	if err != nil {
		o.mu.Lock()
		if o.err == nil {
			o.err = err
		}
		o.mu.Unlock()
	}
	return n, err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// readerLeft reports whether a write failed because nobody reads at the other end of a pipe.
func readerLeft(err error) bool {
	const brokenPipe, noData syscall.Errno = 109, 232 // ERROR_BROKEN_PIPE and ERROR_NO_DATA, which Windows has for EPIPE
	return errors.Is(err, syscall.EPIPE) ||
		runtime.GOOS == "windows" && (errors.Is(err, brokenPipe) || errors.Is(err, noData))
}

// app is the state that commands share.
type app struct {
	Env
	// readerLeft is closed when nobody reads standard output or standard error any more.
	readerLeft <-chan struct{}
	json       bool
	// redact knows the secrets of this command, as far as they are known yet.
	redact *redact.Redactor
	// closers write what redacting writers still hold, when the command has ended.
	closers []io.Closer
}

// signals returns the channel of [Env.Signals]; without them it is one on which nothing comes.
func (a *app) signals() (signals <-chan os.Signal, stop func()) {
	if a.Signals == nil {
		return nil, func() {}
	}
	return a.Signals()
}

// whileRead returns a context that ends when the reader of the output leaves, for commands whose output is all they do.
func (a *app) whileRead(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-a.readerLeft:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// redacting returns a writer to standard error, for many goroutines, that leaves out what r knows.
func (a *app) redacting(r *redact.Redactor) io.Writer {
	w := &sharedWriter{w: r.Writer(a.Stderr)}
	a.closers = append(a.closers, w)
	return w
}

// sharedWriter lets many goroutines use one writer.
type sharedWriter struct {
	mu sync.Mutex
	w  io.WriteCloser
}

func (s *sharedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

func (s *sharedWriter) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Close()
}

// exitError ends the program with a code; what there is to say has been said.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// exit returns code as an error, or nil for success.
func exit(code int) error {
	if code == exitOK {
		return nil
	}
	return exitError{code}
}

// complain prints an error and what the user can do about it.
func (a *app) complain(err error) {
	if problems, ok := errors.AsType[load.Problems](err); ok {
		a.problems(problems)
		return
	}
	fmt.Fprintf(a.Stderr, "plumb: %s\n", a.clean(err.Error()))
	if hint := plumb.Hint(err); hint != "" {
		fmt.Fprintf(a.Stderr, "  try: %s\n", a.indent(hint, 7))
	}
}

// path returns name relative to the working directory of the user.
func (a *app) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Dir, name)
}

// print writes v as indented JSON.
func (a *app) print(v any) error {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	v, _ = redact.Clean(a.secrets(), v)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.Stdout.Write(report.EscapeJSON(doc.Bytes()))
	return err
}

func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		a.runCommand(), a.resumeCommand(), a.scoreCommand(), a.reportCommand(), a.runsCommand(), a.showCommand(),
		a.suiteCommand(), a.validateCommand(), a.listCommand(), a.modelsCommand(),
		a.normalizeCommand(), a.explainCommand(), a.gcCommand(), a.execCommand(),
		a.demoCommand(), a.doctorCommand(), a.initCommand(), a.versionCommand(),
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "plumb",
		Version: version(),
		Short:   "Put language models and coding agents to the test, and tell when they change",
		Long: `Plumb runs suites of cases against model APIs, coding agents and programs, judges what they did, and reports
what it measured, what failed, and what could not be measured.

  plumb demo                                   see it work, without a key or a network
  plumb init                                   write a first config and suite for this folder
  plumb run suite.jsonl --model gpt-5          run a suite against a model
  plumb run --tier cheap --model opus          run the published suite
  plumb run skills.suite.ts --agent codex:gpt-5.5   run a suite in TypeScript against a coding agent
  plumb resume                                 finish a run that was interrupted

The exit code is 0 when all was measured and nothing failed, 1 when a case failed, 2 when the command line, the
config or a suite is wrong and nothing was run, 3 when nothing failed but something could not be measured, 130
after Ctrl-C, and 143 after SIGTERM.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result as JSON")
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate("plumb {{.Version}}\n")
	root.AddCommand(a.commands()...)
	kindly(root)
	return root
}
