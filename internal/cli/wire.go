package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// runnerSpec is a runner's configuration as run.json keeps it, complete.
type runnerSpec struct {
	ID string `json:"id,omitempty" redact:"-"`
	plumb.RunnerConfig
	NoTemperature bool `json:"noTemperature,omitempty"`
	NoSeed        bool `json:"noSeed,omitempty"`
}

func specOf(c plumb.RunnerConfig) runnerSpec {
	return runnerSpec{ID: c.ID, RunnerConfig: c, NoTemperature: c.NoTemperature, NoSeed: c.NoSeed}
}

func (s runnerSpec) config() plumb.RunnerConfig {
	c := s.RunnerConfig
	c.ID, c.NoTemperature, c.NoSeed = s.ID, s.NoTemperature, s.NoSeed
	return c
}

// runnerConfigs returns the runners that the flags ask for: those named, else those that the flags describe, else all of
// the config.
func (f *runFlags) runnerConfigs(p *project) ([]plumb.RunnerConfig, error) {
	var configs []plumb.RunnerConfig
	for _, id := range f.runners {
		c := p.config.Runner(id)
		if c == nil {
			var known []string
			for i := range p.config.Runners {
				known = append(known, p.config.Runners[i].ID)
			}
			if len(known) == 0 {
				return nil, plumb.WithHint(fmt.Errorf("no runner %q: the config has no runners", id), "use --model, or write a plumb.yaml (plumb init)")
			}
			return nil, unknownWord("runner", id, known)
		}
		configs = append(configs, *c)
	}
	for _, m := range f.models {
		if strings.Contains(m, ",") {
			return nil, plumb.WithHint(fmt.Errorf("--model %q is no model", m), "name each: --model "+strings.ReplaceAll(m, ",", " --model "))
		}
		c := plumb.RunnerConfig{Model: m, BaseURL: f.baseURL, API: f.api, APIKeyEnv: f.keyEnv, TimeoutMs: f.requestTimeout.Milliseconds()}
		for _, h := range f.headers {
			name, value, ok := strings.Cut(h, "=")
			if !ok {
				return nil, plumb.WithHint(fmt.Errorf("--header %q has no value", h), "name=value")
			}
			if c.Headers == nil {
				c.Headers = map[string]string{}
			}
			c.Headers[name] = value
		}
		if _, err := modelapi.Resolve(m); err != nil && f.baseURL != "" && !strings.Contains(m, ":") {
			c.Model = modelapi.Custom + ":" + m // its name says nothing, but its address does
		}
		configs = append(configs, c)
	}
	for _, name := range f.agents {
		kind, model, _ := strings.Cut(name, ":")
		if err := known("agent", kind, agent.Types()); err != nil {
			return nil, err
		}
		if model == "" {
			return nil, plumb.WithHint(fmt.Errorf("--agent %s names no model", name), "--agent "+kind+":MODEL, in the agent's own name for it")
		}
		configs = append(configs, plumb.RunnerConfig{ID: name, TimeoutMs: f.requestTimeout.Milliseconds(), Agent: &plumb.AgentConfig{
			Type: kind, Model: model, BaseURL: f.baseURL, APIKeyEnv: f.keyEnv, InheritConfig: f.inheritConfig,
		}})
	}
	if f.command != "" {
		configs = append(configs, plumb.RunnerConfig{Command: shell(f.command, f.commandDir)})
	}
	if f.replay != "" {
		dir, err := run.Find(p.runs(), f.replay)
		if err != nil {
			return nil, err
		}
		replays, err := replaysOf(dir)
		if err != nil {
			return nil, err
		}
		configs = append(configs, replays...)
	}
	if len(configs) == 0 {
		configs = append(configs, p.config.Runners...)
	}
	if len(configs) == 0 {
		missing := "nothing to test is named"
		if p.config.Path != "" {
			missing += ", and " + filepath.Base(p.config.Path) + " has no runners"
		}
		return nil, plumb.WithHint(errors.New(missing),
			"plumb run --model gpt-5 or --agent codex:gpt-5.5, or another model (plumb models) or agent; plumb demo shows it without a key")
	}
	seen := map[string]bool{}
	for i := range configs {
		c := &configs[i]
		err := f.parameters(c)
		if err != nil {
			return nil, err
		}
		if c.Replay != "" && !filepath.IsAbs(c.Replay) {
			if c.Replay, err = p.replay(c.Replay); err != nil {
				return nil, err
			}
		}
		id := cmp.Or(c.ID, c.Model)
		if id != "" && seen[id] {
			return nil, fmt.Errorf("runner %q is named twice", id)
		}
		seen[id] = true
	}
	return configs, nil
}

// replay returns the directory of the run that a runner plays, which the config names by a path from its folder or like
// any run, with the id of a recorded runner after a #.
func (p *project) replay(ref string) (string, error) {
	name, of, chosen := strings.Cut(ref, "#")
	dir := p.config.Resolve(name)
	if !exists(filepath.Join(dir, run.SpecFile)) {
		var err error
		if dir, err = run.Find(p.runs(), name); err != nil {
			return "", err
		}
	}
	if chosen {
		dir += "#" + of
	}
	return dir, nil
}

// parameters gives a runner the sampling parameters of the flags where it has none of its own.
func (f *runFlags) parameters(c *plumb.RunnerConfig) error {
	if c.Replay != "" || c.Agent != nil {
		return nil
	}
	if c.Temperature == nil && !c.NoTemperature && f.temperature.text != "" {
		if c.NoTemperature = f.temperature.text == "none"; !c.NoTemperature {
			t, err := strconv.ParseFloat(f.temperature.text, 64)
			if err != nil {
				return fmt.Errorf("--temperature: %w", err)
			}
			c.Temperature = &t
		}
	}
	if c.Seed == nil && !c.NoSeed && f.seed.text != "" {
		if c.NoSeed = f.seed.text == "none"; !c.NoSeed {
			s, err := strconv.ParseInt(f.seed.text, 10, 64)
			if err != nil {
				return fmt.Errorf("--seed: %w", err)
			}
			c.Seed = &s
		}
	}
	if c.MaxOutputTokens == nil && f.maxOutputTokens > 0 {
		c.MaxOutputTokens = &f.maxOutputTokens
	}
	if c.ReasoningEffort == nil && f.effort != "" {
		c.ReasoningEffort = &f.effort
	}
	return nil
}

// shell returns the arguments that have the system's shell run a command line, in a directory unless that is "".
func shell(line, dir string) []string {
	switch {
	case runtime.GOOS == "windows" && dir != "":
		return []string{"cmd", "/c", `cd /d "` + dir + `" && ` + line}
	case runtime.GOOS == "windows":
		return []string{"cmd", "/c", line}
	case dir != "":
		return []string{"sh", "-c", `cd "$0" || exit` + "\n" + line, dir}
	default:
		return []string{"sh", "-c", line}
	}
}

// replaysOf returns a replay of each runner of the run directory dir.
func replaysOf(dir string) ([]plumb.RunnerConfig, error) {
	earlier, err := run.Fold(dir)
	if err != nil {
		return nil, err
	}
	var configs []plumb.RunnerConfig
	for _, info := range earlier.Info.Runners {
		configs = append(configs, plumb.RunnerConfig{ID: info.ID, Replay: dir})
	}
	return configs, nil
}

// judgeConfig returns the judge that the flags or the config name; nil lets each runner judge itself.
func (f *runFlags) judgeConfig(p *project) (config *plumb.RunnerConfig, votes int, err error) {
	named := p.config.Judge
	if named != nil {
		votes = named.Votes
	}
	votes = cmp.Or(f.judgeVotes, votes)
	switch {
	case f.judge != "":
		if c := p.config.Runner(f.judge); c != nil {
			return c, votes, nil
		}
		if _, err := modelapi.Resolve(f.judge); err != nil {
			return nil, 0, fmt.Errorf("judge: %w", err)
		}
		return &plumb.RunnerConfig{Model: f.judge}, votes, nil
	case named == nil:
		return nil, votes, nil
	case named.Config != nil:
		c := *named.Config
		if c.Model != "" {
			c.ID = "" // the model says more than the config's key
		}
		return &c, votes, nil
	case named.Runner != "":
		c := p.config.Runner(named.Runner)
		if c == nil {
			return nil, 0, fmt.Errorf("judge: the config has no runner %q", named.Runner)
		}
		return c, votes, nil
	default:
		return nil, votes, nil
	}
}

// embedderConfig returns the embedder that the flags or the config name, else that of the first runner whose provider has
// one.
func (f *runFlags) embedderConfig(p *project, runners []plumb.RunnerConfig) *plumb.RunnerConfig {
	if f.embedder != "" {
		return &plumb.RunnerConfig{Model: f.embedder}
	}
	if e := p.config.Embedder; e != nil {
		return &plumb.RunnerConfig{Model: e.Model, BaseURL: e.BaseURL, APIKeyEnv: e.APIKeyEnv}
	}
	for _, r := range runners {
		if c, ok := runner.DefaultEmbedder(r); ok {
			return &c
		}
	}
	return nil
}

// needs says what the cases want beside the models under test.
func needs(cases []plumb.Case) (judge, embedder bool) {
	for i := range cases {
		for _, a := range cases[i].Assertions {
			if c, ok := a.(interface{ Needs() (judge, embedder bool) }); ok {
				j, e := c.Needs()
				judge, embedder = judge || j, embedder || e
			}
		}
		if judge && embedder {
			break
		}
	}
	return judge, embedder
}

// workshop makes runners for one command.
type workshop struct {
	env       runner.Env
	transport *modelapi.Transport
	notes     chan plumb.Note
	redact    *redact.Redactor
	// distrusts says why the sessions of an agent would be no measurement, or nil.
	distrusts func(plumb.RunnerConfig) *plumb.Failure
}

func (a *app) workshop(p *project, cache string, parallel int, planning bool, r *redact.Redactor) (*workshop, error) {
	mode, err := runner.ParseCacheMode(cache)
	if err != nil {
		return nil, err
	}
	a.redact = r
	w := &workshop{
		transport: modelapi.NewTransport(modelapi.TransportOptions{MaxInFlight: parallel, Getenv: p.getenv}),
		notes:     make(chan plumb.Note, 64), redact: r,
		distrusts: func(c plumb.RunnerConfig) *plumb.Failure { return a.distrusts(p, c) },
	}
	w.env = runner.Env{
		Getenv: p.getenv, Environ: p.environ, Transport: w.transport, CacheMode: mode, Planning: planning, Prices: p.prices, Dir: p.config.Dir,
		Cache: &runner.Cache{Dir: p.cache(), Redact: r}, Redact: r, Agents: &agent.Shared{},
		Note: func(n plumb.Note) {
			n, _ = redact.Clean(r, n)
			select {
			case w.notes <- n:
			default: // nobody reads any more; a note is a courtesy
			}
		},
	}
	return w, nil
}

func (w *workshop) close() { w.transport.Close() }

// runners makes the runners of configs. One that is as it should be and cannot be asked here, since its agent is not
// installed or its key is missing, is described only, and why has the reason by its id. Where none can be asked that is an
// error.
func (w *workshop) runners(configs []plumb.RunnerConfig) (runners []plumb.Runner, why map[string]*plumb.Failure, err error) {
	why = map[string]*plumb.Failure{}
	var missing []error
	for _, c := range configs {
		r, err := runner.New(c, w.env)
		unavailable, ok := errors.AsType[*plumb.Failure](err)
		if ok {
			missing = append(missing, err)
			described := w.env
			described.Planning = true
			r, err = runner.New(c, described)
		}
		if err != nil {
			return nil, nil, err
		}
		id := r.Info().ID
		if slices.ContainsFunc(runners, func(other plumb.Runner) bool { return other.Info().ID == id }) {
			return nil, nil, plumb.WithHint(fmt.Errorf("two runners are called %q", id), "give them ids of their own in plumb.yaml")
		}
		if unavailable == nil {
			unavailable = w.distrusts(c)
		}
		if unavailable != nil {
			why[id] = unavailable
		}
		runners = append(runners, r)
	}
	switch {
	case len(missing) == 0 || len(missing) < len(configs):
	case len(missing) == 1:
		return nil, nil, missing[0]
	default:
		return nil, nil, plumb.WithHint(fmt.Errorf("none of the %d runners can be asked here:\n%w", len(configs), errors.Join(missing...)),
			"plumb doctor says what is missing for each")
	}
	for _, err := range missing {
		w.env.Note(plumb.Note{Level: "warning", Text: err.Error() + "; its cases are errors, and the others are measured", Hint: plumb.Hint(err)})
	}
	return runners, why, nil
}
