// Package cli is the command line: commands, flags, printing and exit codes. Each command is a
// small type in a file of its own. What makes and performs a run is in package job.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/text"
)

// The exit codes.
const (
	exitOK          = 0   // everything was measured and nothing failed
	exitFailed      = 1   // at least one case failed or passed unexpectedly
	exitUsage       = 2   // the command line, the config or a suite is invalid; nothing was run
	exitNotMeasured = 3   // nothing failed, but something could not be measured
	exitInterrupted = 130 // Ctrl-C
	exitReaderLeft  = 141 // the reader of the output left, as in plumb runs | head -1
	exitTerminated  = 143 // SIGTERM
)

// Env is what commands see of the process.
type Env struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        func() []string
	// Dir is the working directory; relative paths are relative to it.
	Dir string
	// Signals delivers the signals that interrupt a run, until stop is called: the first lets
	// running sessions finish, the second ends them. Before and after, signals have their default
	// effect. A nil Signals delivers none.
	Signals func() (signals <-chan os.Signal, stop func())
	// Size returns the width and height of the terminal of Stdout; ok is false without a terminal.
	Size func() (width, height int, ok bool)
	Now  func() time.Time
}

// Process returns the environment of this process. Its signals are interrupts and SIGTERM.
//
// After Process, SIGPIPE no longer ends the process: the system sends it for each socket and pipe
// that the other end closes, such as a provider, a program of a suite, or the reader of the output.
// The writers of [Main] detect that the reader left from their errors. The signal is caught and not
// ignored, because child processes would inherit an ignored signal.
//
// Process discards the log of the standard library, because the HTTP client logs unsolicited
// responses there, with their secrets.
func Process(args []string) Env {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	slog.SetDefault(slog.New(slog.DiscardHandler)) // this includes package log
	dir, err := os.Getwd()                         //nolint:forbidigo // the one place that looks at the process
	if err != nil {
		dir = "."
	}
	//nolint:forbidigo // the one place that looks at the process
	return Env{
		Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ,
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

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, env Env) int {
	left := make(chan struct{})
	leave := sync.OnceFunc(func() { close(left) })
	out := &output{Writer: env.Stdout, leave: leave}
	stdout := env.Stdout
	if _, _, terminal := env.Size(); !terminal {
		stdout = out
	}
	stderr := &output{Writer: env.Stderr, leave: leave, optional: true}
	a := &app{Env: env, readerLeft: left, known: new(atomic.Pointer[redact.Redactor])}
	shown, said := newMasked(stdout, a.secrets), newMasked(stderr, a.secrets)
	a.Stdout, a.Stderr, a.rawStdout = shown, said, shown.raw()
	root := a.root() //nolint:contextcheck // completion takes the context of its command
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(ctx)
	for _, c := range a.closers {
		_ = c.Close() // an error of standard error has no place to go
	}
	_ = shown.Close()                   // out keeps its error
	defer func() { _ = said.Close() }() // as above
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

// shown is a writer whose reader may be a terminal: it removes all that would control one, whoever
// prints it. What Plumb styles itself goes to the writer below; see [app.env].
type shown struct {
	io.Writer
	data bool // the reader is no terminal, and nothing is removed
	mu   sync.Mutex
	rest []byte // the start of a character, or a carriage return, until the next write
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data {
		return s.Writer.Write(p)
	}
	words := slices.Concat(s.rest, p)
	end := len(words)
	for back := 1; back <= min(utf8.UTFMax-1, end); back++ {
		if b := words[end-back]; utf8.RuneStart(b) {
			if !utf8.FullRune(words[end-back:]) {
				end -= back
			}
			break
		}
	}
	if end > 0 && words[end-1] == '\r' { // a line feed may follow
		end--
	}
	s.rest = slices.Clone(words[end:])
	if _, err := io.WriteString(s.Writer, text.Clean(string(words[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes the rest.
func (s *shown) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) > 0 {
		_, _ = io.WriteString(s.Writer, text.Clean(string(s.rest))) // output remembers the error
		s.rest = nil
	}
}

// output is standard output or standard error. It remembers the first failed write, because not all
// code that prints checks for errors, and calls leave when the reader has left. With optional set,
// a reader that left is not an error for the writer: it would break a check that only logs.
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

// readerLeft reports whether a write failed because the reader of a pipe left.
func readerLeft(err error) bool {
	// ERROR_BROKEN_PIPE and ERROR_NO_DATA are what Windows returns in place of EPIPE.
	const brokenPipe, noData syscall.Errno = 109, 232
	return errors.Is(err, syscall.EPIPE) ||
		runtime.GOOS == "windows" && (errors.Is(err, brokenPipe) || errors.Is(err, noData))
}

// app is the state that commands share.
type app struct {
	Env
	// readerLeft is closed when the reader of standard output or standard error has left.
	readerLeft <-chan struct{}
	json       bool
	// rawStdout is Stdout for what is redacted already: JSON, whose structure must not change, and the
	// reports of jobs.
	rawStdout io.Writer
	// known is the redactor with the secrets of this command, as far as they are known yet.
	known *atomic.Pointer[redact.Redactor]
	// closers are closed when the command has ended.
	closers []io.Closer
}

// signals returns the channel of [Env.Signals], or without it a channel that delivers nothing.
func (a *app) signals() (signals <-chan os.Signal, stop func()) {
	if a.Signals == nil {
		return nil, func() {}
	}
	return a.Signals()
}

// whileRead returns a context that ends when the reader of the output leaves, for commands whose
// only result is their output.
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

// exitError ends the program with an exit code and prints nothing.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// exit returns code as an error, or nil for success.
func exit(code int) error {
	if code == exitOK {
		return nil
	}
	return exitError{code}
}

// command is a command of plumb: its name, and the function that makes it with its flags.
type command struct {
	name string
	make func(*app) *cobra.Command
}

// commands returns all commands.
func commands() []command {
	return []command{
		{"run", runCommand},
		{"plan", planCommand},
		{"aa", aaCommand},
		{"resume", resumeCommand},
		{"score", scoreCommand},
		{"compare", compareCommand},
		{"baseline", baselineCommand},
		{"report", reportCommand},
		{"view", viewCommand},
		{"runs", runsCommand},
		{"show", showCommand},
		{"suite", suiteCommand},
		{"validate", validateCommand},
		{"list", listCommand},
		{"models", modelsCommand},
		{"drift", driftCommand},
		{"judge", judgeCommand},
		{"normalize", normalizeCommand},
		{"explain", explainCommand},
		{"gc", gcCommand},
		{"exec", execCommand},
		{"submit", submitCommand},
		{"login", loginCommand},
		{"logout", logoutCommand},
		{"whoami", whoamiCommand},
		{"demo", demoCommand},
		{"doctor", doctorCommand},
		{"init", initCommand},
		{"convert", convertCommand},
		{"schema", schemaCommand},
		{"skills", skillsCommand},
		{"version", versionCommand},
	}
}

// root makes the command line. The first argument decides which commands it has: a name selects this
// one, because making the flags of all takes longer than many commands run. Anything else, such as
// help or a misspelled name, needs all.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "plumb",
		Version: project.Version(),
		Short:   "Test language models and coding agents, and detect when they change",
		Long: `Plumb runs suites of cases against model APIs, coding agents and programs, checks the results, and reports
what passed, what failed, and what could not be measured.

  plumb demo                                   see how it works, without a key or a network
  plumb init                                   create a starter config and suite in this folder
  plumb run suite.jsonl --model gpt-5          run a suite against a model
  plumb run --tier cheap --model opus          run the published suite
  plumb run skills.suite.ts --agent codex:gpt-5.5   run a suite in TypeScript against a coding agent
  plumb resume                                 finish a run that was interrupted
  plumb compare prev last                      better, worse, the same, or too few data to say

The exit code is 0 when everything was measured and nothing failed, 1 when a case failed, 2 when the command line,
the config or a suite is invalid and nothing was run, 3 when nothing failed but something could not be measured,
130 after Ctrl-C, and 143 after SIGTERM.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result as JSON")
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate("plumb {{.Version}}\n")
	root.SetHelpCommand(helpCommand(a))
	wanted := commands()
	named := func(c command) bool { return len(a.Args) > 0 && c.name == a.Args[0] }
	if i := slices.IndexFunc(wanted, named); i >= 0 {
		wanted = wanted[i : i+1]
	}
	for _, c := range wanted {
		root.AddCommand(c.make(a))
	}
	if len(a.Args) > 0 && strings.HasPrefix(a.Args[0], cobra.ShellCompRequestCmd) {
		a.completes(root)
	}
	improveErrors(root)
	return root
}
