package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/text"
)

const (
	// commandOutputLimit bounds the output of a command, in bytes.
	commandOutputLimit = 64 << 20
	// commandStderrLimit is the length of the end of stderr in a failure, in bytes.
	commandStderrLimit = 4 << 10
	// commandGrace is the time between SIGTERM and SIGKILL.
	commandGrace = 2 * time.Second
)

// command runs a program for each prompt: the prompt is JSON on its stdin, the answer text or JSON
// on its stdout. Run returns when the program and all processes that it started have ended.
type command struct {
	info    plumb.RunnerInfo
	argv    []string
	dir     string
	environ []string
	timeout time.Duration
	slots   chan struct{} // nil without a limit
	note    func(plumb.Note)
	grace   time.Duration
	limit   int
	unknown sync.Map // the unknown keys of answers that have a note
}

// commandPrompt is the input of a command. Its keys are documented and never renamed.
type commandPrompt struct {
	CaseID   string          `json:"caseId"`
	Messages []plumb.Message `json:"messages"`
	// Prompt is the conversation as one text, for programs that do not read messages.
	Prompt          string           `json:"prompt"`
	MaxOutputTokens int64            `json:"maxOutputTokens,omitempty"`
	Repetition      int              `json:"repetition"`
	Session         int              `json:"session"`
	Parameters      plumb.Parameters `json:"parameters"`
}

// newCommand returns the runner of a program. It reports a missing program before the run begins.
func newCommand(cfg plumb.RunnerConfig, env Env) (*command, error) {
	argv := slices.Clone(cfg.Command)
	if argv[0] == "" {
		return nil, errors.New("command: the name of the program is empty")
	}
	dir, err := filepath.Abs(env.Dir)
	if err != nil {
		return nil, fmt.Errorf("command %s: %w", argv[0], err)
	}
	// A relative path starts at the directory of the config file.
	if filepath.Base(argv[0]) != argv[0] && !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(dir, argv[0])
	}
	path, err := exec.LookPath(argv[0])
	if err != nil && env.Planning {
		path, err = argv[0], nil
	}
	if err != nil {
		if e, ok := errors.AsType[*exec.Error](err); ok {
			err = e.Err
		}
		err = fmt.Errorf("command %s: %w", cfg.Command[0], err)
		return nil, plumb.Failed(plumb.OriginRunner, plumb.WithHint(err, programHint(cfg.Command)))
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("command %s: %w", argv[0], err)
	}
	argv[0] = path
	environ := []string{}
	if env.Environ != nil {
		environ = append(environ, env.Environ()...)
	}
	for name, value := range cfg.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, fmt.Errorf("env: %q cannot be an environment variable", name)
		}
		environ = append(environ, name+"="+value)
	}
	id := cfg.ID
	if id == "" {
		id = string(plumb.RunnerCommand)
	}
	c := &command{
		info: plumb.RunnerInfo{
			ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerCommand,
			Agent: plumb.AgentInfo{Type: string(plumb.RunnerCommand)}, Parameters: parameters(cfg),
			Config: ConfigHash(cfg),
		},
		argv: argv, dir: dir, environ: environ, timeout: time.Duration(cfg.TimeoutMs) * time.Millisecond,
		note: env.Note, grace: commandGrace, limit: commandOutputLimit,
	}
	if cfg.MaxParallel > 0 {
		c.slots = make(chan struct{}, cfg.MaxParallel)
	}
	return c, nil
}

func programHint(argv []string) string {
	switch {
	case len(argv) == 1 && strings.ContainsAny(argv[0], " \t"):
		return fmt.Sprintf("a command is a list of the program and its arguments: %q", strings.Fields(argv[0]))
	case strings.ContainsAny(argv[0], `/\`):
		return "check that the file exists and is executable (chmod +x); " +
			"a relative path starts at the config file's directory"
	default:
		return "install it, or write its path; for a program beside the config file write ./" + argv[0]
	}
}

// Info identifies the runner.
func (c *command) Info() plumb.RunnerInfo { return c.info }

// Run starts the program for one prompt, and waits until all its processes have ended.
func (c *command) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	params := c.info.Parameters
	if req.MaxOutputTokens > 0 {
		params.MaxOutputTokens = new(int64(req.MaxOutputTokens))
	}
	prompt := plumb.PromptText(req.Messages)
	stdin, err := marshal(commandPrompt{
		CaseID: req.CaseID, Messages: req.Messages, Prompt: prompt, MaxOutputTokens: tokens(params.MaxOutputTokens),
		Repetition: req.Repetition, Session: req.Session, Parameters: params,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the prompt: %w", err)
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	if err := c.turn(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	given := ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, timeoutError(c.timeout))
		defer cancel()
	}
	started := time.Now()
	stdout, stderr, err := c.exec(ctx, append(stdin, '\n'), req)
	if errors.Is(err, proc.ErrNotStarted) {
		return nil, c.failure(plumb.OriginRunner, err, nil)
	}
	if err != nil && given.Err() != nil && !modelapi.OutOfTime(given) {
		return nil, ended(given) // the run was stopped: it has no session until it is resumed
	}
	report := c.report(req, prompt, params, started)
	switch {
	case err == nil:
		if err := c.answer(report, stdout); err != nil {
			return report, c.failure(plumb.OriginRunner, err, stderr)
		}
		return report, nil
	case modelapi.OutOfTime(given) || isTimeout(err):
		report.FinishReason = plumb.FinishTimeout
		begun(report, stdout)
		return report, c.failure(plumb.OriginTimeout, err, stderr)
	default:
		if reported := c.answer(report, stdout); reported != nil { // the answer of a program can report why it failed
			err = fmt.Errorf("%w (%w)", reported, err)
		}
		report.FinishReason = plumb.FinishOther
		return report, c.failure(plumb.OriginRunner, err, stderr)
	}
}

// turn waits until the runner may start another program.
func (c *command) turn(ctx context.Context) error {
	if c.slots == nil {
		return nil
	}
	defer plumb.Waiting(ctx)()
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	case <-plumb.Stopping(ctx):
		return plumb.ErrStopping
	}
}

func (c *command) leave() {
	if c.slots != nil {
		<-c.slots
	}
}

// timeoutError reports that a command reached the time limit of its runner.
type timeoutError time.Duration

func (e timeoutError) Error() string { return "no answer within " + text.Duration(time.Duration(e)) }

func isTimeout(err error) bool {
	_, ok := errors.AsType[timeoutError](err)
	return ok
}

// exec runs the program once. An error means that there is no complete answer.
func (c *command) exec(ctx context.Context, stdin []byte, req plumb.Request) (stdout, stderr []byte, err error) {
	root, err := proc.TempCommand.Dir()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	dir := c.dir
	if req.Workspace != "" {
		dir = req.Workspace
	}
	environ := append(slices.Clip(c.environ), "PWD="+dir)
	if req.Marker != "" {
		environ = append(environ, plumb.MarkerEnv+"="+req.Marker)
	}
	program := proc.Command{
		Path: c.argv[0], Args: c.argv[1:], Dir: dir, Env: environ,
		Stdin: filepath.Join(root, "stdin"), Stdout: filepath.Join(root, "stdout"),
		Stderr: filepath.Join(root, "stderr"), OutputLimit: int64(c.limit),
		Grace: proc.Grace{Interrupt: -1, Terminate: c.grace},
	}
	if err := os.WriteFile(program.Stdin, stdin, 0o600); err != nil {
		return nil, nil, err
	}
	result, err := program.Run(ctx)
	if err != nil {
		return nil, nil, err
	}
	stdout, err = beginning(program.Stdout, c.limit)
	stderr, last := ending(program.Stderr, commandStderrLimit)
	if err := errors.Join(err, last); err != nil {
		return nil, nil, err
	}
	switch {
	case errors.Is(result.Stopped, proc.ErrOutput):
		err = fmt.Errorf("the answer is larger than %d MiB", c.limit>>20)
	case result.Stopped != nil:
		err = result.Stopped
	case result.ExitCode == nil || *result.ExitCode != 0:
		err = errors.New(result.Text())
	}
	return stdout, stderr, err
}

func (c *command) report(
	req plumb.Request, prompt string, params plumb.Parameters, started time.Time,
) *plumb.SessionReport {
	now := time.Now()
	elapsed := now.Sub(started).Milliseconds()
	started, now = started.UTC(), now.UTC()
	report := &plumb.SessionReport{
		Runner: c.info, Prompt: prompt,
		Files:          plumb.Files{ObservedReads: []string{}, ObservedSkillReads: []string{}},
		DetectedSkills: []plumb.SkillDetection{}, Events: []plumb.SessionEvent{},
		StartedAt: &started, EndedAt: &now, DurationMs: elapsed, LatencyMs: elapsed,
		Requested: params, Sent: params, Requests: 1,
	}
	for _, m := range req.Messages {
		report.Usage.InputChars += int64(utf8.RuneCountInString(m.Content))
	}
	report.Usage.Total()
	return report
}

// answer adds the answer of the program to the report. Its error is that of the answer.
func (c *command) answer(report *plumb.SessionReport, stdout []byte) error {
	answer, isObject, err := parseAnswer(stdout)
	if err != nil || !isObject {
		output(report, textAnswer(stdout))
		if report.FinishReason == "" {
			report.FinishReason = plumb.FinishStop
		}
		return err
	}
	c.warnUnknown(answer.unknown)
	output(report, answer.Output)
	chars := report.Usage
	report.Usage = answer.Usage
	report.Usage.InputChars, report.Usage.OutputChars = chars.InputChars, chars.OutputChars
	report.Usage.Total()
	report.Model, report.CostUSD = answer.Model, answer.CostUSD
	report.FinishReason, report.ProviderFinishReason = finishReason(answer.FinishReason)
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}

// begun adds the output of a program that reached its time limit. White space, and an answer that
// is an error, are not the beginning of an answer.
func begun(report *plumb.SessionReport, stdout []byte) {
	answer, isObject, err := parseAnswer(stdout)
	switch {
	case isObject && (err != nil || answer.Error != "") || len(bytes.TrimSpace(stdout)) == 0:
	case isObject:
		output(report, answer.Output)
	default:
		output(report, textAnswer(stdout))
	}
}

func output(report *plumb.SessionReport, text string) {
	report.FinalOutput = text
	report.Usage.OutputChars = int64(utf8.RuneCountInString(text))
	if text != "" {
		report.Events = append(report.Events, plumb.SessionEvent{
			Type: plumb.SessionMessage, At: report.EndedAt, Role: plumb.RoleAssistant, Phase: "final", Text: text,
		})
	}
}

// warnUnknown notes the unknown keys of an answer, each once.
func (c *command) warnUnknown(keys []string) {
	for _, key := range keys {
		if _, known := c.unknown.LoadOrStore(key, true); known {
			continue
		}
		hint := "the keys are " + strings.Join(answerKeys(), ", ")
		if near := plumb.Nearest(key, answerKeys()); near != "" {
			hint = "did you mean " + near + "?"
		}
		text := fmt.Sprintf("%s: the answer of the command has an unknown key %q", c.info.ID, key)
		c.note(plumb.Note{Level: "warning", Text: text, Hint: hint})
	}
}

// failure returns err as a failure, with the end of the program's stderr.
func (c *command) failure(origin plumb.Origin, err error, stderr []byte) *plumb.Failure {
	name := filepath.Base(c.argv[0])
	f := plumb.Failuref(origin, "command %s: %w", name, err)
	if text := strings.TrimSpace(strings.ToValidUTF8(string(stderr), "\uFFFD")); text != "" {
		f.Message += "; stderr:\n" + text
	}
	switch {
	case origin == plumb.OriginTimeout:
		f.Hint = "raise the time limit (timeoutMs of the runner, or --timeout), or find out what the program waits for"
	case errors.Is(err, proc.ErrNotStarted):
		f.Hint = "run the program by hand in " + c.dir
	default:
		f.Hint = "run the program by hand: it reads one JSON object from stdin and answers on stdout (docs/runners.md)"
	}
	return f
}

// beginning reads a file up to a limit.
func beginning(name string, limit int) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)))
	return data, errors.Join(err, f.Close())
}

// ending reads the end of a file, and begins with a complete line.
func ending(name string, limit int) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	cut := max(0, size-int64(limit))
	data, err := io.ReadAll(io.NewSectionReader(f, cut, size-cut))
	if err := errors.Join(err, f.Close()); err != nil || cut == 0 {
		return data, err
	}
	if _, after, ok := bytes.Cut(data, []byte("\n")); ok && len(bytes.TrimSpace(after)) > 0 {
		data = after
	}
	return append([]byte("… "), data...), nil
}
