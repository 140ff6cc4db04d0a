// Package agent runs coding-agent CLIs: it starts one for each session in a sandbox of its own, makes sure that no process
// of it is left, and returns one session report whatever the agent's format.
//
// [All] lists the agents. A [Spec] describes one of them, in a folder of its own below this package: how it is started, what
// counts as a step, and how its transcripts are read. Everything else is common. [Normalize] works without a runner, for
// sessions that were recorded elsewhere.
//
// A session sees nothing of the user's own configuration, skills, memory or servers unless the runner inherits them. It has a
// home directory outside the artifacts, because credentials may be in it, which is removed at the end. The parts that
// belong to the record are copied to the artifacts, where [Runner.Explain] finds them.
package agent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/redact"
)

// Env is what agents need of the world.
type Env struct {
	// Getenv looks up an environment variable, Environ lists them as name=value; nil means that there are none.
	Getenv  func(string) string
	Environ func() []string
	// Note takes what the user should know, from any goroutine. Optional.
	Note func(plumb.Note)
	// Dir is where relative paths begin; "" is the current directory.
	Dir string
	// Planning says that runners are only described and never asked, so that the agent need not be installed.
	Planning bool
	// Secret reports whether a variable of this name holds a secret. Those are kept from agents that have no use for them.
	Secret func(name string) bool
	// Redact removes secrets from the artifacts of a session, which are kept once it has ended. Its report is made of what
	// the agent really wrote. Optional.
	Redact *redact.Redactor
	// Config is the hash of the runner's configuration, which becomes part of what identifies it.
	Config string
	// Shared is what the runners of one run know in common; nil means that there are no others.
	Shared *Shared
}

// Shared is what the runners of one run know in common.
type Shared struct {
	mu       sync.Mutex
	versions map[string]string // of programs, by path, size and time
	skills   map[string]int    // how many sessions use a skill that was put into a workspace
}

// Runner drives one agent CLI. It implements [plumb.Explainer].
type Runner struct {
	info    plumb.RunnerInfo
	cfg     plumb.AgentConfig
	spec    spec.Spec
	program spec.Program
	timeout time.Duration
	slots   chan struct{} // nil where there is no limit
	env     Env
	shared  *Shared
	grace   proc.Grace
	linger  time.Duration
}

// lingerLimit is how long an agent may stay after it has said that it is done.
const lingerLimit = 10 * time.Second

// outputLimit bounds what a session may write to its streams, in bytes: disks end, and nobody reads so much.
const outputLimit = 2 << 30

// New makes the runner of the agent that cfg.Agent describes. Its errors say what to change in the configuration. A
// *plumb.Failure says that the agent is not to be had here: not installed, or in another version.
func New(cfg plumb.RunnerConfig, env Env) (*Runner, error) {
	if cfg.Agent == nil {
		return nil, errors.New("there is no agent") // a mistake of the program, not of its user
	}
	agent := *cfg.Agent
	a, err := Find(agent.Type)
	if err != nil {
		return nil, err
	}
	if err := check(agent, a); err != nil {
		return nil, err
	}
	if env.Getenv == nil {
		env.Getenv = func(string) string { return "" }
	}
	if env.Environ == nil {
		env.Environ = func() []string { return nil }
	}
	if env.Note == nil {
		env.Note = func(plumb.Note) {}
	}
	if env.Secret == nil {
		env.Secret = func(string) bool { return false }
	}
	if env.Dir, err = filepath.Abs(env.Dir); err != nil {
		return nil, err
	}
	id := cfg.ID
	if id == "" {
		id = agent.Type
	}
	r := &Runner{
		info: plumb.RunnerInfo{
			ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerAgent, Agent: plumb.AgentInfo{Type: agent.Type, Model: agent.Model},
			BaseURL: withoutPassword(agent.BaseURL), Config: env.Config,
		},
		cfg: agent, spec: a, timeout: time.Duration(cfg.TimeoutMs) * time.Millisecond,
		env: env, shared: env.Shared, linger: lingerLimit,
	}
	if r.shared == nil {
		r.shared = &Shared{}
	}
	if cfg.MaxParallel > 0 {
		r.slots = make(chan struct{}, cfg.MaxParallel)
	}
	if agent.Skills, err = skillDirs(agent.Skills, env.Dir); err != nil {
		return nil, err
	}
	r.cfg.Skills = agent.Skills
	if r.program, err = find(agent, a, env); err != nil {
		if env.Planning {
			return r, nil
		}
		return nil, plumb.Failed(plumb.OriginRunner, err)
	}
	if agent.Version != "" && !env.Planning {
		if err := r.checkVersion(context.Background()); err != nil {
			return nil, plumb.Failed(plumb.OriginRunner, err)
		}
	}
	return r, nil
}

// check finds what is wrong with a configuration whatever the environment.
func check(a plumb.AgentConfig, spec spec.Spec) error {
	switch {
	case strings.TrimSpace(a.Model) == "":
		return plumb.WithHint(fmt.Errorf("the agent %s has no model", a.Type), "set model to the agent's own name for it")
	case strings.HasPrefix(a.Model, "-"):
		return fmt.Errorf("%q is no model", a.Model)
	case !slices.Contains([]string{"", permissionsBypass, permissionsDefault}, a.Permissions):
		return plumb.WithHint(fmt.Errorf("permissions: %q is not known", a.Permissions), "it is bypass or default")
	}
	if a.InheritConfig && len(a.MCPServers) > 0 && spec.InheritedMCPOnly {
		return fmt.Errorf("mcpServers: %s takes them from the user's own configuration only, if that is inherited", a.Type)
	}
	for name := range a.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(a.Env[name], "\x00") {
			return fmt.Errorf("env: %q cannot be an environment variable", name)
		}
	}
	for name, server := range a.MCPServers {
		switch {
		case name == "" || strings.ContainsAny(name, " \t\n\"'\\.=/"):
			return fmt.Errorf("mcpServers: %q cannot be the name of a server", name)
		case (server.Command == "") == (server.URL == ""):
			return fmt.Errorf("mcpServers: %s needs either a command or a url", name)
		}
	}
	return nil
}

// The permissions that an agent can have.
const (
	permissionsBypass  = "bypass"
	permissionsDefault = "default"
)

// Info identifies the runner.
func (r *Runner) Info() plumb.RunnerInfo { return r.info }

// Run has one session of the agent, and returns when all that belonged to it is gone.
func (r *Runner) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	if r.program.Path == "" {
		_, err := find(r.cfg, r.spec, r.env)
		return nil, plumb.Failed(plumb.OriginRunner, err)
	}
	if err := r.turn(ctx); err != nil {
		return nil, err
	}
	defer r.leave()
	return r.session(ctx, task{
		prompt: plumb.PromptText(req.Messages), workspace: req.Workspace, artifacts: req.ArtifactDir,
		marker: req.Marker, maxSteps: req.MaxSteps, skills: req.Skills, timeout: r.timeout,
	})
}

// turn waits until the runner may start another session.
func (r *Runner) turn(ctx context.Context) error {
	if ctx.Err() != nil {
		return r.ended(ctx)
	}
	if r.slots == nil {
		return nil
	}
	defer plumb.Waiting(ctx)()
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return r.ended(ctx)
	}
}

func (r *Runner) leave() {
	if r.slots != nil {
		<-r.slots
	}
}

// ended is the failure of a session that ctx cut short.
func (r *Runner) ended(ctx context.Context) *plumb.Failure {
	cause := context.Cause(ctx)
	if errors.Is(cause, plumb.ErrTimeLimit) || errors.Is(cause, context.DeadlineExceeded) {
		return r.late(cause)
	}
	return plumb.Failuref(plumb.OriginRunner, "stopped before %s was done: %w", r.info.Agent.Type, cause)
}

func (r *Runner) late(cause error) *plumb.Failure {
	f := plumb.Failuref(plumb.OriginTimeout, "%s was not done in time: %w", r.info.Agent.Type, cause)
	f.Hint = "give it more time (timeoutMs of the case or the runner, or --timeout), or see in stdout.log what it did with it"
	return f
}

// errLingered says that an agent was done and did not go.
var errLingered = errors.New("it was done and did not end")

// task is one session to be had.
type task struct {
	prompt               string
	workspace, artifacts string
	marker               string
	maxSteps             int
	skills               []string
	timeout              time.Duration
	// resume is the session to go on with; its state lies in state, in the artifacts of the session.
	resume, state string
}

func (r *Runner) session(ctx context.Context, t task) (_ *plumb.SessionReport, err error) {
	p, err := r.sandbox(t)
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginRunner, "prepare a session of %s: %w", r.info.Agent.Type, err)
	}
	defer func() {
		if removed := p.remove(); removed != nil {
			r.env.Note(plumb.Note{Level: "warning", Text: fmt.Sprintf("%s: %v", r.info.ID, removed)})
		}
	}()
	l, err := r.launch(t, p)
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginRunner, "prepare a session of %s: %w", r.info.Agent.Type, err)
	}
	offered := r.offers(l)

	given := ctx
	if t.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.timeout, spec.TimeoutError(t.timeout))
		defer cancel()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := &watch{steps: transcript.NewSteps(&r.spec.Format), limit: t.maxSteps, runner: r, linger: r.linger, stop: stop}
	cmd := command(l)
	cmd.Observe, cmd.Grace, cmd.OutputLimit = watch.line, r.grace, outputLimit
	result, err := cmd.Run(ctx)
	watch.end()
	if errors.Is(err, proc.ErrNotStarted) {
		f := plumb.Failuref(plumb.OriginRunner, "agent %s: %s: %w", r.info.Agent.Type, l.Program.Path, err)
		f.Hint = "is it installed, and for this kind of machine?"
		return nil, f
	}
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginRunner, "agent %s: %w", r.info.Agent.Type, err)
	}
	stopped := r.whyStopped(given, result)
	var notes []string
	if errors.Is(result.Stopped, errLingered) {
		notes = append(notes, fmt.Sprintf("the agent had finished but did not end within %s, and was ended", r.linger))
	}
	notes = append(notes, leftNotes(result)...)

	collected := r.collect(given, l, watch.session)
	gathered := p.gather(r, l, watch.session)
	report, err := Normalize(r.spec.Name, transcript.Transcript{
		Stdout: p.out, Stderr: p.err, Session: p.state, Cwd: p.workspace, Prompt: t.prompt,
		ExitCode: result.ExitCode, Resumed: t.resume != "", Stopped: stopped,
	})
	kept := errors.Join(gathered, p.keep(r.env.Redact))
	if report != nil {
		r.complete(given, report, t, p, result, offered)
		report.Notes = append(report.Notes, notes...)
	}
	switch {
	case err == nil && kept != nil:
		err = plumb.Failuref(plumb.OriginCollection, "keep the artifacts of %s: %w", r.info.Agent.Type, kept)
	case err == nil && collected != nil:
		report.Notes = append(report.Notes, collected.Error()) // the stream was enough
	case collected != nil && report == nil:
		err = plumb.Failuref(plumb.OriginCollection, "%w; %w", err, collected)
	default:
	}
	return report, r.failure(err, p)
}

// collect gets what the agent itself has to hand out once a session is over. given is the context without the session's own time
// limit. The error matters only where the stream is not enough.
func (r *Runner) collect(given context.Context, l *spec.Launch, session string) error {
	if r.spec.Collect == nil || session == "" {
		return nil
	}
	if cause := context.Cause(given); cause != nil && !errors.Is(cause, plumb.ErrTimeLimit) && !errors.Is(cause, context.DeadlineExceeded) {
		return nil // the run is to end soon
	}
	return r.spec.Collect(context.WithoutCancel(given), l, session)
}

// whyStopped says why the agent was ended, as a failure; nil if it ended by itself.
func (r *Runner) whyStopped(given context.Context, result proc.Result) error {
	if result.Stopped == nil || errors.Is(result.Stopped, errLingered) {
		return nil
	}
	if f, ok := errors.AsType[*plumb.Failure](result.Stopped); ok {
		return f
	}
	if e, ok := errors.AsType[spec.TimeoutError](result.Stopped); ok {
		return r.late(e)
	}
	if given.Err() != nil {
		return r.ended(given)
	}
	if errors.Is(result.Stopped, proc.ErrOutput) {
		return plumb.Failuref(plumb.OriginRunner, "%s has written more than %d GiB: %w", r.info.Agent.Type, outputLimit>>30, result.Stopped)
	}
	return plumb.Failuref(plumb.OriginRunner, "stopped before %s was done: %w", r.info.Agent.Type, result.Stopped)
}

func leftNotes(result proc.Result) []string {
	var notes []string
	if n := len(result.Left); n > 0 {
		notes = append(notes, fmt.Sprintf("%d processes were still there when the agent had ended, and were ended: %s", n, names(result.Left)))
	}
	if n := len(result.Survivors); n > 0 {
		notes = append(notes, fmt.Sprintf("%d processes could not be ended: %s", n, names(result.Survivors)))
	}
	return notes
}

func names(processes []proc.Process) string {
	var all []string
	for i, p := range processes {
		if i == 5 {
			all = append(all, "…")
			break
		}
		all = append(all, fmt.Sprintf("%d (%s)", p.PID, transcript.Clip(p.Command, 80)))
	}
	return strings.Join(all, ", ")
}

// complete fills in what the runner knows of a session and its transcript does not.
func (r *Runner) complete(ctx context.Context, report *plumb.SessionReport, t task, p *sandbox, result proc.Result, offered []plumb.Offer) {
	started, ended := result.Started.UTC().Truncate(time.Millisecond), result.Ended.UTC().Truncate(time.Millisecond)
	report.Runner, report.Prompt = r.info, t.prompt
	report.StartedAt, report.EndedAt = &started, &ended
	report.DurationMs = ended.Sub(started).Milliseconds()
	report.Requested = r.info.Parameters
	if report.AgentVersion == "" && ctx.Err() == nil { // most say it themselves
		if version, err := r.version(ctx); err == nil {
			report.AgentVersion = version
		}
	}
	raw := &report.RawArtifacts
	if t.artifacts == "" {
		*raw = plumb.RawArtifacts{} // they are gone
	}
	for _, path := range []*string{&raw.StdoutPath, &raw.StderrPath, &raw.SessionPath, &raw.ExportPath, &raw.TelemetryPath} {
		*path = p.artifact(r.env.Redact, *path)
	}
	if raw.ExportPath == "" {
		raw.ExportPath = raw.StdoutPath // documented: where the transcript is
	}
	if timedOut, ok := errors.AsType[spec.TimeoutError](result.Stopped); (ok && timedOut > 0) || errors.Is(result.Stopped, plumb.ErrTimeLimit) {
		report.FinishReason = plumb.FinishTimeout
	}
	report.Offered = r.judgeOffers(report.Offered, offered, p)
}

// failure adds to err where to read on.
func (r *Runner) failure(err error, p *sandbox) error {
	if err == nil {
		return nil
	}
	f := plumb.Failed(plumb.OriginRunner, err)
	process := []plumb.Origin{plumb.OriginRunner, plumb.OriginTimeout, plumb.OriginMaxSteps}
	f.LogPath = p.artifact(r.env.Redact, f.LogPath)
	if f.LogPath == "" && p.kept && slices.Contains(process, f.Origin) {
		f.LogPath = p.stderr
	}
	return f
}

func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = nil
	return u.String()
}
