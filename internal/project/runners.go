package project

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// Replays returns a replay runner for each runner of the run with the given id or path.
func (p *Project) Replays(ref string) ([]plumb.RunnerConfig, error) {
	dir, err := runlog.Find(p.Runs(), ref)
	if err != nil {
		return nil, err
	}
	return ReplaysOf(dir)
}

// ReplaysOf returns a replay runner for each runner of the run in dir.
func ReplaysOf(dir string) ([]plumb.RunnerConfig, error) {
	earlier, err := runlog.At(dir).Fold(nil)
	if err != nil {
		return nil, err
	}
	var configs []plumb.RunnerConfig
	for _, info := range earlier.Info.Runners {
		configs = append(configs, plumb.RunnerConfig{ID: info.ID, Replay: dir})
	}
	return configs, nil
}

// ReplayDir returns the directory of the run that a runner of the config replays. The config names
// it by a path from its folder or by the id of a run; "#ID" at its end chooses a recorded runner.
func (p *Project) ReplayDir(ref string) (string, error) {
	name, recorded, chosen := strings.Cut(ref, "#")
	dir := p.Config.Resolve(name)
	if !files.Exists(filepath.Join(dir, runlog.SpecFile)) {
		var err error
		if dir, err = runlog.Find(p.Runs(), name); err != nil {
			return "", err
		}
	}
	if chosen {
		dir += "#" + recorded
	}
	return dir, nil
}

// RunnerFactory makes the runners of one job. It must be closed.
type RunnerFactory struct {
	Env       runner.Env
	Transport *modelapi.Transport
	// Notes are about the runners.
	Notes chan plumb.Note
	// Redact removes all secrets of the job.
	Redact  *redact.Redactor
	project *Project
}

// Requests says how runners make requests.
type Requests struct {
	// Cache is the cache mode; "" is the default.
	Cache string
	// Parallel bounds the concurrent requests with each provider and key. If Given, they start with
	// this number, otherwise with half of it.
	Parallel int
	Given    bool
	// Planning means that none are made: runners need no key and no program.
	Planning bool
}

// RunnerFactory returns what makes runners, from which r removes secrets.
func (p *Project) RunnerFactory(q Requests, r *redact.Redactor) (*RunnerFactory, error) {
	mode, err := runner.ParseCacheMode(q.Cache)
	if err != nil {
		return nil, err
	}
	start := 0
	if q.Given {
		start = q.Parallel
	}
	f := &RunnerFactory{
		Transport: modelapi.NewTransport(modelapi.TransportOptions{
			MaxInFlight: q.Parallel, Start: start, Getenv: p.Getenv, Limits: p.userCache("limits"),
		}),
		Notes: make(chan plumb.Note, 64), Redact: r, project: p,
	}
	f.Env = runner.Env{
		Getenv: p.Getenv, Environ: p.Environ, Transport: f.Transport, CacheMode: mode, Planning: q.Planning,
		Prices: p.Prices, Dir: p.Config.Dir, Cache: &runner.Cache{Dir: p.Cache(), Redact: r}, Redact: r,
		Agents: &agent.Shared{},
		Note: func(n plumb.Note) {
			n, _ = redact.Clean(r, n)
			select {
			case f.Notes <- n:
			default: // drop the note if the run has ended
			}
		},
	}
	return f, nil
}

// Close ends the connections.
func (f *RunnerFactory) Close() { f.Transport.Close() }

// MadeRunners are the runners of a job, in the order of their configurations.
type MadeRunners struct {
	Runners []plumb.Runner
	// Unavailable has, by the id of a runner, the reason why this machine cannot measure its sessions.
	Unavailable map[string]*plumb.Failure
	Distrusted  []Distrusted
}

// Make makes the runners of configs. A valid runner that is not available on this machine, because
// its agent is not installed or its key is missing, is made for its description only. If this is
// true of every runner, Make fails.
func (f *RunnerFactory) Make(ctx context.Context, configs []plumb.RunnerConfig) (*MadeRunners, error) {
	m := &MadeRunners{Unavailable: map[string]*plumb.Failure{}}
	var missing []error
	for _, c := range configs {
		r, err := runner.New(ctx, c, f.Env)
		unavailable, ok := errors.AsType[*plumb.Failure](err)
		if ok {
			missing = append(missing, err)
			described := f.Env
			described.Planning = true
			r, err = runner.New(ctx, c, described)
		}
		if err != nil {
			return nil, err
		}
		id := r.Info().ID
		if slices.ContainsFunc(m.Runners, func(other plumb.Runner) bool { return other.Info().ID == id }) {
			return nil, plumb.WithHint(fmt.Errorf("two runners have the id %q", id),
				"give each its own id in plumb.yaml")
		}
		if d := f.project.distrusts(c); d != nil && unavailable == nil {
			d.Runner, unavailable = id, d.failure()
			m.Distrusted = append(m.Distrusted, *d)
			f.Env.Note(plumb.Note{
				Level: "warning", Hint: unavailable.Hint,
				Text: "runner " + id + " is not measured: " + unavailable.Message,
			})
		}
		if unavailable != nil {
			m.Unavailable[id] = unavailable
		}
		m.Runners = append(m.Runners, r)
	}
	switch {
	case len(missing) < max(1, len(configs)):
	case len(missing) == 1:
		return nil, missing[0]
	default:
		err := fmt.Errorf("none of the %d runners is available on this machine:\n%w", len(configs),
			errors.Join(missing...))
		return nil, plumb.WithHint(err, "plumb doctor shows what is missing for each")
	}
	for _, err := range missing {
		f.Env.Note(plumb.Note{
			Level: "warning", Text: err.Error() + "; its cases count as errors, and the other runners are measured",
			Hint: plumb.Hint(err),
		})
	}
	return m, nil
}

// CheckRunners returns for each runner of the config why it cannot run now, or nil.
func (p *Project) CheckRunners(ctx context.Context) ([]error, error) {
	f, err := p.RunnerFactory(Requests{Cache: string(runner.CacheOff), Parallel: 1}, p.redact)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var problems []error
	for _, c := range p.Config.Runners {
		var err error
		if c.Replay != "" {
			c.Replay, err = runlog.Find(p.Runs(), c.Replay)
		}
		if err == nil {
			_, err = runner.New(ctx, c, f.Env)
		}
		problems = append(problems, p.redact.Error(err))
	}
	return problems, nil
}
