package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/load"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/snapshot"
)

// spec is what run.json keeps: all that a later process needs to go on with a run, beside the bundle.
type spec struct {
	PlumbVersion string       `json:"plumbVersion" redact:"-"`
	CreatedAt    time.Time    `json:"createdAt"`
	Dir          string       `json:"dir" redact:"-"`
	Suite        string       `json:"suite" redact:"-"`
	Filter       run.Filter   `json:"filter" redact:"-"`
	Runners      []runnerSpec `json:"runners"`
	// Selected are the runners that the user chose by name.
	Selected   []string    `json:"selectedRunners,omitempty" redact:"-"`
	Judge      *runnerSpec `json:"judge,omitempty"`
	JudgeVotes int         `json:"judgeVotes,omitempty"`
	Embedder   *runnerSpec `json:"embedder,omitempty"`
	ScoredFrom string      `json:"scoredFrom,omitempty" redact:"-"`
	// Sessions are those that took place elsewhere, and are only judged.
	Sessions *sessionsSpec `json:"sessions,omitempty" redact:"-"`
	// Demo says that the sessions come from the recording that is built in.
	Demo bool `json:"demo,omitempty"`

	// Workspace is the effective one; nil for runs in which nothing works in a directory.
	Workspace      *plumb.WorkspaceConfig `json:"workspace,omitempty"`
	Cwd            string                 `json:"cwd,omitempty" redact:"-"`
	WorkspaceRoot  string                 `json:"workspaceRoot,omitempty" redact:"-"`
	KeepWorkspaces bool                   `json:"keepWorkspaces,omitempty"`
	MaxSteps       int                    `json:"maxSteps,omitempty"`
	AllRepetitions bool                   `json:"allRepetitions,omitempty"`
	Snapshots      *snapshotSpec          `json:"snapshots,omitempty" redact:"-"`

	Schedule      run.Schedule `json:"schedule"`
	Parallel      int          `json:"parallel"`
	Repeat        int          `json:"repeat"`
	Retry         int          `json:"retry"`
	TimeoutMs     int64        `json:"timeoutMs"`
	MaxFailures   int          `json:"maxFailures,omitempty"`
	MaxCostUSD    float64      `json:"maxCostUsd,omitempty"`
	MaxTokens     int64        `json:"maxTokens,omitempty"`
	MaxDurationMs int64        `json:"maxDurationMs,omitempty"`
	// AllowUnmetered lets the run go on where a budget cannot be held, since what is used is not known.
	AllowUnmetered bool   `json:"allowUnmetered,omitempty"`
	Cache          string `json:"cache" redact:"-"`
	Output         string `json:"output,omitempty" redact:"-"`

	// planning says that nothing will be asked.
	planning bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SUITE...]",
		Short: "Run a suite and report what was measured",
		Long: `Run the cases of a suite on one or more runners, judge the answers, and report.

A SUITE is a .jsonl or .suite.yaml file, a module in TypeScript or JavaScript, a directory with a manifest.toml, or a
published suite such as v1.0/cheap.
Without one, the suites of the config are run; with --tier alone, that tier of the newest published suite.
Several suites are runs of their own, one after the other; {suite} in the path of a report is the name of each.`,
		Example: `  plumb run suite.jsonl --model gpt-5
  plumb run --tier cheap --model opus --judge openai:gpt-5
  plumb run suite.jsonl --model ollama:qwen3 --repeat 5 --report junit:results.xml
  plumb run skills.suite.ts --agent claude-code:sonnet --agent codex:gpt-5.5
  plumb run suite.jsonl --command ./answer.sh --parallel 4
  plumb run v1.0/comprehensive --model gpt-5 --plan`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.openFor(cmd.Context(), f.config, f.outputDir, first(args))
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("command") && p.config.Dir != a.Dir {
				f.commandDir = a.Dir
			}
			if err := f.fromConfig(cmd.Flags(), p.config); err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			suites := args
			if len(suites) == 0 && !cmd.Flags().Changed("tier") {
				for _, s := range p.config.Suites {
					suites = append(suites, p.suite(s))
				}
			}
			if len(suites) == 0 {
				if f.tier == "" {
					return plumb.WithHint(errors.New("no suite is named"),
						"plumb run suite.jsonl, or plumb run --tier cheap for the published one, or suites in plumb.yaml")
				}
				suites = []string{""}
			}
			return a.runSuites(cmd.Context(), p, &f, suites)
		},
	}
	f.register(cmd)
	return cmd
}

// suite returns a suite of the config as it is to be read: a path from the config's folder, or a published suite.
func (p *project) suite(ref string) string {
	if path := p.config.Resolve(ref); exists(path) {
		return path
	}
	return ref
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// runSuites runs one suite after the other. All are read before the first request is made.
func (a *app) runSuites(ctx context.Context, p *project, f *runFlags, refs []string) error {
	var jobs []*job
	for _, ref := range refs {
		j, err := a.prepare(ctx, p, f, ref)
		if err != nil {
			return err
		}
		defer j.close()
		jobs = append(jobs, j)
	}
	if f.plan {
		return a.showPlans(p, jobs)
	}
	reports, err := reportsOf(jobs, f.reports)
	if err != nil {
		return err
	}
	worst := exitOK
	for i, j := range jobs {
		code, err := a.perform(ctx, p, j, reports[i], nil)
		if err != nil {
			return err
		}
		if worse(code, worst) {
			worst = code
		}
		if code >= exitInterrupted {
			break
		}
	}
	return exit(worst)
}

// reportsOf returns the reports of each job: those that were asked for, with the suite's name for {suite}. No job may
// write over the report of another.
func reportsOf(jobs []*job, specs []string) ([][]string, error) {
	all := make([][]string, len(jobs))
	writers := map[string]bool{}
	for i, j := range jobs {
		name := strings.Map(func(r rune) rune {
			if strings.ContainsRune(`/\:`, r) {
				return '-'
			}
			return r
		}, j.suite.Name)
		for _, spec := range specs {
			own := strings.ReplaceAll(spec, "{suite}", name)
			if !isModule(own) && strings.Contains(own, ":") && writers[own] {
				if own == spec {
					return nil, plumb.WithHint(fmt.Errorf("%d suites would write over each other's report %s", len(jobs), spec),
						"put {suite} into its name, such as --report junit:{suite}.xml")
				}
				return nil, plumb.WithHint(fmt.Errorf("two suites are called %q, and would both write the report %s", name, own), "run one after the other")
			}
			writers[own] = true
			all[i] = append(all[i], own)
		}
	}
	return all, nil
}

// worse reports whether exit code a says more about a run than b: a failure says more than a gap, and an interruption
// more than either.
func worse(a, b int) bool {
	rank := func(code int) int {
		switch code {
		case exitOK:
			return 0
		case exitNotMeasured:
			return 1
		case exitFailed:
			return 2
		default:
			return code
		}
	}
	return rank(a) > rank(b)
}

// job is a suite that is ready to run.
type job struct {
	spec    spec
	bundle  *load.Bundle
	suite   *plumb.Suite // with the selected cases
	all     int
	shop    *workshop
	runners []plumb.Runner
	options run.Options
	// forecast foresees what sessions use.
	forecast *forecaster
	// baselines are nil where the project keeps none.
	baselines *snapshot.Baselines
	// closers end what the suite's code and the runners hold.
	closers []func() error
}

func (j *job) close() {
	if j.shop != nil {
		j.shop.close()
	}
	for _, c := range j.closers {
		_ = c() // nothing that was measured depends on it
	}
}

// prepare reads a suite, selects its cases, and makes all that is needed to run them. It makes no request.
func (a *app) prepare(ctx context.Context, p *project, f *runFlags, ref string) (_ *job, err error) {
	p.sessionLimit = f.timeout
	bundle, suite, err := a.readSuite(ctx, p, ref, f.tier)
	if err != nil {
		return nil, err
	}
	filter := f.filter
	filter.IDs = caseIDs(filter.IDs, suite)
	defer func() {
		if err != nil {
			err = errors.Join(err, bundle.Close())
		}
	}()
	configs, err := f.runnerConfigs(p)
	if err != nil {
		return nil, err
	}
	judge, votes, err := f.judgeConfig(p)
	if err != nil {
		return nil, err
	}
	s := spec{
		PlumbVersion: version(), CreatedAt: a.Now().UTC().Truncate(time.Millisecond), Dir: p.config.Dir,
		Suite: suite.Name, Filter: filter, Selected: f.runners, JudgeVotes: votes,
		Schedule: run.Schedule(f.schedule), Parallel: f.parallel, Repeat: f.repeat, Retry: f.retry,
		TimeoutMs: f.timeout.Milliseconds(), MaxFailures: f.maxFailures, MaxCostUSD: f.maxCost, MaxTokens: f.maxTokens,
		MaxDurationMs: f.maxDuration.Milliseconds(), AllowUnmetered: f.allowUnmetered, Cache: f.cache, planning: f.plan,
	}
	for _, c := range configs {
		s.Runners = append(s.Runners, specOf(c))
	}
	if err := a.directories(&s, p, f, bundle, suite); err != nil {
		return nil, err
	}
	if judge != nil {
		s.Judge = new(specOf(*judge))
	}
	if e := f.embedderConfig(p, configs); e != nil {
		s.Embedder = new(specOf(*e))
	}
	if f.output != "" {
		s.Output = a.path(f.output)
		if err := report.CheckBlockFile(s.Output); err != nil {
			return nil, err
		}
	}
	return a.assemble(p, s, bundle, suite) //nolint:contextcheck // a version is asked for with a time limit of its own
}

// caseIDs are the ids of cases that are selected: a value that is none may be several, with commas between them.
func caseIDs(values []string, suite *plumb.Suite) []string {
	var ids []string
	for _, v := range values {
		if !strings.Contains(v, ",") || slices.ContainsFunc(suite.Cases, func(c plumb.Case) bool { return c.ID == v }) {
			ids = append(ids, v)
			continue
		}
		for id := range strings.SplitSeq(v, ",") {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}

// readSuite reads a suite and all its problems.
func (a *app) readSuite(ctx context.Context, p *project, ref, tier string) (*load.Bundle, *plumb.Suite, error) {
	bundle, err := load.Read(ref, load.ReadOptions{Tier: tier, Dir: a.Dir}) //nolint:contextcheck // to read YAML executes nothing
	if err != nil {
		return nil, nil, err
	}
	spareMemory(len(bundle.Data()))
	suite, warnings, err := bundle.SuiteIn(ctx, a.host(p))
	a.warn(warnings)
	if err != nil {
		return nil, nil, errors.Join(err, bundle.Close())
	}
	return bundle, suite, nil
}

// host is the world that suites in code see. What they print is not part of what plumb prints.
func (a *app) host(p *project) load.Host {
	out := a.redacting(p.redactor(nil))
	h := load.Host{Stdout: out, Stderr: out, Environ: p.environ}
	if p.sessionLimit > 0 {
		h.AssertTimeout = min(p.sessionLimit, load.DefaultAssertTimeout)
	}
	return h
}

// suitePath is where a suite is, as results name it; one that is built in is named as it was asked for.
func (a *app) suitePath(name string) string {
	if path := a.path(name); name != "" {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return name
}

// assemble makes what a spec describes.
func (a *app) assemble(p *project, s spec, bundle *load.Bundle, suite *plumb.Suite) (_ *job, err error) {
	if len(s.Runners) == 0 && !s.Demo && s.Sessions == nil {
		return nil, errors.New("the run has no runners")
	}
	j := &job{spec: s, bundle: bundle, all: len(suite.Cases), closers: []func() error{bundle.Close}}
	selected := *suite
	if selected.Cases, err = s.Filter.Select(suite); err != nil {
		return nil, err
	}
	j.suite = &selected
	needJudge, needEmbedder := needs(selected.Cases)
	var configs []plumb.RunnerConfig
	for _, r := range s.Runners {
		configs = append(configs, r.config())
	}
	if j.shop, err = a.workshop(p, s.Cache, s.Parallel, s.planning, p.redactor(s.words(j.suite), s)); err != nil {
		return nil, err
	}
	j.shop.env.ReplayFinal = s.ScoredFrom != ""
	if j.runners, j.options.Unavailable, err = j.shop.runners(configs); err != nil {
		return nil, err
	}
	info := plumb.RunInfo{
		PlumbVersion: s.PlumbVersion, SuiteName: suite.Name, SuitePath: a.suitePath(suite.Path), SuiteVersion: suite.Version, Tier: suite.Tier,
		SuiteHash: suite.Hash, DeclaredTags: suite.Tags(), SelectedTags: s.Filter.Tags, SuiteCases: j.all, ScoredFrom: s.ScoredFrom,
	}
	j.options = run.Options{
		Base: a.Dir, Unavailable: j.options.Unavailable,
		MaxSteps: s.MaxSteps, AllRepetitions: s.AllRepetitions,
		Workspaces: run.Workspaces{Cwd: s.Cwd, Root: s.WorkspaceRoot, Reach: agent.Reach(), Keep: s.KeepWorkspaces, Environ: p.environ},
		Suite:      j.suite, Runners: j.runners, JudgeVotes: s.JudgeVotes, Schedule: s.Schedule, Parallel: s.Parallel,
		Repeat: s.Repeat, Retry: s.Retry, Timeout: time.Duration(s.TimeoutMs) * time.Millisecond, MaxFailures: s.MaxFailures,
		Budget: run.Budget{
			CostUSD: s.MaxCostUSD, Tokens: s.MaxTokens, Duration: time.Duration(s.MaxDurationMs) * time.Millisecond,
			Unmetered: s.AllowUnmetered,
		},
		Redact: j.shop.redact,
		Notes:  j.shop.notes,
	}
	if s.Workspace != nil {
		j.options.Workspaces.Config = *s.Workspace
	}
	if j.baselines, err = s.Snapshots.open(j.shop.env.Note, a.Now); err != nil {
		return nil, err
	}
	if j.baselines != nil {
		j.options.Verify = j.baselines.Verify
	}
	if needJudge {
		if s.Judge == nil {
			info.SelfJudged = true
		} else {
			judge, err := runner.NewJudge(s.Judge.config(), j.shop.env)
			if err != nil {
				return nil, err
			}
			j.options.Judge, info.Judge = judge.Runner, named(judge.Runner.Info())
		}
	}
	if needEmbedder {
		if s.Embedder == nil {
			return nil, plumb.WithHint(errors.New("the suite compares by meaning (semantic_similarity), and no embedder is known"),
				"--embedder openai:text-embedding-3-small, or ollama:nomic-embed-text, or embedder in plumb.yaml; "+
					"or leave those cases out with --category or --case")
		}
		if j.options.Embedder, err = runner.NewEmbedder(s.Embedder.config(), j.shop.env); err != nil {
			return nil, plumb.WithHint(err, "--embedder names another one")
		}
		info.Embedder = j.options.Embedder.Name
	}
	j.forecast = &forecaster{prices: p.prices, votes: s.JudgeVotes}
	if j.options.Judge != nil {
		j.forecast.judge = new(j.options.Judge.Info())
	}
	if j.options.Embedder != nil {
		provider, model, _ := strings.Cut(j.options.Embedder.Name, ":")
		j.forecast.embedder = &plumb.RunnerInfo{
			ID: j.options.Embedder.Name, Kind: plumb.RunnerModel, BaseURL: s.Embedder.config().BaseURL,
			Agent: plumb.AgentInfo{Type: provider, Model: model},
		}
	}
	j.options.Budget.Forecast = j.forecast.of
	if err := j.checkBudget(p); err != nil {
		return nil, err
	}
	j.options.Info = info
	return j, nil
}

// checkBudget makes sure that a budget can be held, as far as is known beforehand, and notes how far.
func (j *job) checkBudget(p *project) error {
	if j.spec.MaxCostUSD > 0 {
		asked := []*plumb.RunnerInfo{j.forecast.judge, j.forecast.embedder}
		for _, r := range j.runners {
			asked = append(asked, new(r.Info()))
		}
		for _, r := range asked {
			if r == nil || r.Kind != plumb.RunnerModel {
				continue
			}
			if _, ok := p.prices.Of(*r); ok {
				continue
			}
			if !j.spec.AllowUnmetered {
				return plumb.WithHint(fmt.Errorf("--max-cost cannot be kept: no price of %s is known", r.ID),
					"give its price under prices in plumb.yaml, or use --max-tokens, or go on all the same with --allow-unmetered")
			}
			j.shop.env.Note(plumb.Note{
				Level: "warning", Text: "the budget cannot be held: no price of " + r.ID + " is known; the run goes on, as --allow-unmetered says",
			})
		}
	}
	if j.spec.MaxCostUSD <= 0 && j.spec.MaxTokens <= 0 {
		return nil
	}
	for _, line := range capWords(&j.spec, j.runners, j.forecast.sessionCaps(j.suite.Cases, j.runners)) {
		j.shop.env.Note(plumb.Note{Level: "info", Text: line})
	}
	return nil
}

// named is the id of a runner, with the model where the id does not say it.
func named(r plumb.RunnerInfo) string {
	model := strings.Trim(r.Agent.Type+":"+r.Agent.Model, ":")
	if r.ID == model || model == "" {
		return r.ID
	}
	return r.ID + " (" + model + ")"
}
