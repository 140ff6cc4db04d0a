// Package agent runs coding-agent CLIs. It starts one for each session in a sandbox, ends all of
// its processes, and returns a session report in one format for all agents.
//
// [All] lists the agents. A [Spec] describes one of them, in a folder of its own below this
// package: how to start it, what counts as a step, and how to read its transcripts. Everything else
// is common to all agents. [Normalize] works without a runner, for sessions that were recorded
// elsewhere.
//
// A session does not see the user's own configuration, skills, memory or servers unless the runner
// inherits them. Its home directory is outside the artifacts, because it may hold credentials, and
// is removed at the end. The parts that belong to the record are copied to the artifacts, where
// [Runner.Explain] finds them.
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
	"github.com/plumb-eval/plumb/internal/text"
)

// Env is the environment of runners.
type Env struct {
	// Getenv looks up an environment variable. Environ lists all as name=value; nil means none.
	Getenv  func(string) string
	Environ func() []string
	// Note receives messages for the user, from any goroutine. Optional.
	Note func(plumb.Note)
	// Dir is the base of relative paths; "" is the current directory.
	Dir string
	// Planning means that runners are only described and not run, so the agent may be missing.
	Planning bool
	// Secret reports whether a variable of this name holds a secret. Agents that do not need it do
	// not get it. Optional.
	Secret func(name string) bool
	// Redact removes secrets from the artifacts when the session has ended. The report is made from
	// the agent's original output. Optional.
	Redact *redact.Redactor
	// Config is the hash of the runner's configuration, a part of the runner's identity.
	Config string
	// Shared is the state that the runners of one run share. Optional.
	Shared *Shared
}

// Shared is the state that the runners of one run share.
type Shared struct {
	mu       sync.Mutex
	versions map[string]string // of programs, by path, size and time
	skills   map[string]int    // the number of sessions that use a skill in a workspace
}

// Runner runs one agent CLI. It implements [plumb.Explainer].
type Runner struct {
	without Withheld
	info    plumb.RunnerInfo
	cfg     plumb.AgentConfig
	spec    spec.Spec
	program spec.Program
	timeout time.Duration
	slots   chan struct{} // nil means no limit
	env     Env
	grace   proc.Grace
	linger  time.Duration
}

const (
	// lingerLimit is how long an agent may continue to run after it has reported its end.
	lingerLimit = 10 * time.Second
	// outputGiB limits the output of a session.
	outputGiB = 2
)

// The permissions of an agent.
const (
	permissionsBypass  = "bypass"
	permissionsDefault = "default"
)

// New returns the runner of the agent cfg.Agent. Its errors explain what to change in the
// configuration. A *plumb.Failure means that the agent is not available on this machine: it is not
// installed, or has another version.
func New(ctx context.Context, cfg plumb.RunnerConfig, env Env) (*Runner, error) {
	agent := *cfg.Agent
	a, err := Find(agent.Type)
	if err != nil {
		return nil, err
	}
	if err := check(agent, a); err != nil {
		return nil, err
	}
	if env.Note == nil {
		env.Note = func(plumb.Note) {}
	}
	if env.Secret == nil {
		env.Secret = func(string) bool { return false }
	}
	if env.Shared == nil {
		env.Shared = &Shared{}
	}
	if env.Dir, err = filepath.Abs(env.Dir); err != nil {
		return nil, err
	}
	id := cfg.ID
	if id == "" {
		id = agent.Type
	}
	if agent.Skills, err = skillDirs(agent.Skills, env.Dir); err != nil {
		return nil, err
	}
	without, err := ParseWithheld(agent.Without)
	if err != nil {
		return nil, err
	}
	agent.Skills, agent.MCPServers = without.skills(agent.Skills), without.servers(agent.MCPServers)
	r := &Runner{
		without: without,
		info: plumb.RunnerInfo{
			ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerAgent,
			Agent:   plumb.AgentInfo{Type: agent.Type, Model: agent.Model},
			BaseURL: withoutPassword(agent.BaseURL), Config: env.Config,
		},
		cfg: agent, spec: a, timeout: time.Duration(cfg.TimeoutMs) * time.Millisecond, env: env, linger: lingerLimit,
	}
	if cfg.MaxParallel > 0 {
		r.slots = make(chan struct{}, cfg.MaxParallel)
	}
	r.program, err = find(agent, a, env)
	switch {
	case env.Planning:
		return r, nil
	case err == nil && agent.Version != "":
		err = r.checkVersion(ctx)
	}
	if err != nil {
		return nil, plumb.Failed(plumb.OriginRunner, err)
	}
	return r, nil
}

// check returns an error for a configuration that is wrong in every environment.
func check(a plumb.AgentConfig, spec spec.Spec) error {
	switch {
	case strings.TrimSpace(a.Model) == "":
		return plumb.WithHint(fmt.Errorf("the agent %s has no model", a.Type),
			"set model to the agent's own name of a model")
	case strings.HasPrefix(a.Model, "-"):
		return fmt.Errorf("invalid model %q: it begins with a hyphen", a.Model)
	case !slices.Contains([]string{"", permissionsBypass, permissionsDefault}, a.Permissions):
		return plumb.WithHint(fmt.Errorf("unknown permissions %q", a.Permissions), "use bypass or default")
	case a.InheritConfig && len(a.MCPServers) > 0 && spec.InheritedMCPOnly:
		return plumb.WithHint(fmt.Errorf("mcpServers: %s cannot combine them with an inherited configuration", a.Type),
			"leave out inheritConfig, or add the servers to your own configuration of the agent")
	}
	for name, value := range a.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
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

// Info identifies the runner.
func (r *Runner) Info() plumb.RunnerInfo { return r.info }

// Run runs one session of the agent, and returns when all of its processes have ended.
func (r *Runner) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	if err := r.enter(ctx); err != nil {
		return nil, err
	}
	defer r.leave()
	return r.session(ctx, task{
		prompt: plumb.PromptText(req.Messages), workspace: req.Workspace, artifacts: req.ArtifactDir,
		marker: req.Marker, maxSteps: req.MaxSteps, skills: r.without.skills(req.Skills), timeout: r.timeout,
	})
}

// enter waits until the runner may start another session.
func (r *Runner) enter(ctx context.Context) error {
	if r.program.Path == "" {
		_, err := find(r.cfg, r.spec, r.env)
		return plumb.Failed(plumb.OriginRunner, err)
	}
	if ctx.Err() != nil {
		return r.stopped(context.Cause(ctx))
	}
	if r.slots == nil {
		return nil
	}
	defer plumb.Waiting(ctx)()
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return r.stopped(context.Cause(ctx))
	case <-plumb.Stopping(ctx):
		return plumb.ErrStopping
	}
}

func (r *Runner) leave() {
	if r.slots != nil {
		<-r.slots
	}
}

// errLingered is the reason for ending an agent that did not end by itself.
var errLingered = errors.New("the agent had finished but did not end")

// stopped returns the failure of a session that ended early for the given reason, or nil without a
// reason.
func (r *Runner) stopped(reason error) error {
	if reason == nil || errors.Is(reason, errLingered) {
		return nil
	}
	if f, ok := errors.AsType[*plumb.Failure](reason); ok {
		return f
	}
	if errors.Is(reason, proc.ErrOutput) {
		reason = fmt.Errorf("%w: more than %d GiB", reason, outputGiB)
	}
	f := plumb.Failuref(plumb.OriginRunner, "%s was stopped: %w", r.info.Agent.Type, reason)
	if timedOut(reason) {
		f.Origin = plumb.OriginTimeout
		f.Hint = "raise the limit (timeoutMs of the case or the runner, or --timeout), " +
			"or read in stdout.log how the agent used its time"
	}
	return f
}

// timedOut reports whether a time limit of the session is the reason.
func timedOut(reason error) bool {
	_, own := errors.AsType[spec.TimeoutError](reason)
	return own || errors.Is(reason, plumb.ErrTimeLimit) || errors.Is(reason, context.DeadlineExceeded)
}

// task is one session to run.
type task struct {
	prompt               string
	workspace, artifacts string
	marker               string
	maxSteps             int
	skills               []string
	timeout              time.Duration
	// resume is the session to continue. Its state is in the directory state.
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
	seen, err := readContents(p.workspace)
	if err != nil {
		return nil, plumb.Failuref(plumb.OriginRunner, "prepare a session of %s: %w", r.info.Agent.Type, err)
	}
	defer seen.close()

	given := ctx
	if t.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.timeout, spec.TimeoutError(t.timeout))
		defer cancel()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := &watch{steps: transcript.NewSteps(&r.spec.Format), limit: t.maxSteps, runner: r, stop: stop}
	cmd := proc.Command{
		Path: l.Program.Path, Args: slices.Concat(l.Program.Args, l.Args), Dir: l.Workspace, Env: l.Environ,
		Stdin: p.stdin, Stdout: p.out, Stderr: p.err, Observe: watch.line, Grace: r.grace, OutputLimit: outputGiB << 30,
	}
	result, err := cmd.Run(ctx)
	watch.end()
	if err != nil {
		f := plumb.Failuref(plumb.OriginRunner, "agent %s: %w", r.info.Agent.Type, err)
		if errors.Is(err, proc.ErrNotStarted) {
			f = plumb.Failuref(plumb.OriginRunner, "agent %s: %s: %w", r.info.Agent.Type, l.Program.Path, err)
			f.Hint = "check that the program exists, and is for this kind of machine"
		}
		return nil, f
	}
	collected := r.collect(given, l, watch.session)
	gathered := p.gather(r, l, watch.session)
	report, err := normalize(&r.spec, transcript.Transcript{
		Stdout: p.out, Stderr: p.err, Session: p.state, Cwd: p.workspace, Prompt: t.prompt,
		ExitCode: result.ExitCode, Resumed: t.resume != "", Stopped: r.stopped(result.Stopped), Content: seen.of,
	})
	kept := errors.Join(gathered, p.keep(r.env.Redact))
	if report != nil {
		r.complete(given, report, t, p, result, offered)
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

// collect runs the Collect function of the spec, unless the run itself is about to end. given is
// the context without the session's own time limit. The error only matters if the stream is not
// enough.
func (r *Runner) collect(given context.Context, l *spec.Launch, session string) error {
	if r.spec.Collect == nil || session == "" || given.Err() != nil && !timedOut(context.Cause(given)) {
		return nil
	}
	return r.spec.Collect(context.WithoutCancel(given), l, session)
}

// names lists the first processes with their ids.
func names(processes []proc.Process) string {
	const most = 5
	var all []string
	for _, p := range processes[:min(most, len(processes))] {
		all = append(all, fmt.Sprintf("%d (%s)", p.PID, text.Clip(p.Command, 80)))
	}
	if len(processes) > most {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}

// complete adds the facts that the runner has and the transcript lacks.
func (r *Runner) complete(
	ctx context.Context, report *plumb.SessionReport, t task, p *sandbox, result proc.Result, offered []plumb.Offer,
) {
	started, ended := result.Started.UTC().Truncate(time.Millisecond), result.Ended.UTC().Truncate(time.Millisecond)
	report.Runner, report.Prompt = r.info, t.prompt
	report.StartedAt, report.EndedAt = &started, &ended
	report.DurationMs = ended.Sub(started).Milliseconds()
	report.Requested = r.info.Parameters
	if report.AgentVersion == "" && ctx.Err() == nil { // most agents report it
		report.AgentVersion, _ = r.version(ctx) // "" if it is unknown
	}
	raw := &report.RawArtifacts
	if t.artifacts == "" {
		*raw = plumb.RawArtifacts{} // the files are removed
	}
	for _, path := range []*string{
		&raw.StdoutPath, &raw.StderrPath, &raw.SessionPath, &raw.ExportPath, &raw.TelemetryPath,
	} {
		*path = p.artifact(r.env.Redact, *path)
	}
	if raw.ExportPath == "" {
		raw.ExportPath = raw.StdoutPath // documented: the path of the transcript
	}
	if timedOut(result.Stopped) {
		report.FinishReason = plumb.FinishTimeout
	}
	report.Offered = r.judgeOffers(report.Offered, offered, p)
	note := func(format string, args ...any) { report.Notes = append(report.Notes, fmt.Sprintf(format, args...)) }
	if errors.Is(result.Stopped, errLingered) {
		note("the agent had finished but did not end within %s, so Plumb ended it", text.Duration(r.linger))
	}
	if n := len(result.Left); n > 0 {
		note("%d processes still ran when the agent had ended, and Plumb ended them: %s", n, names(result.Left))
	}
	if n := len(result.Survivors); n > 0 {
		note("Plumb could not end %d processes: %s", n, names(result.Survivors))
	}
}

// failure adds the path of a log to err.
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
