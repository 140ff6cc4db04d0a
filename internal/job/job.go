// Package job turns a spec into a performed run, below the command line: it opens the project and
// its suites, makes the runners, decides where sessions work, collects the secrets, and runs,
// resumes or scores. It has no flags and no exit codes, so that a server or a worker can use it:
//
//	p, err := job.OpenProject(ctx, env, "", "")
//	source, err := p.Read(ctx, "suite.jsonl", "", 0)
//	j, err := job.Open(p, source, job.Request{Settings: config.Defaults(), Runners: runners})
//	result, err := j.Perform(ctx, job.Options{})
//
// A job owns the redactor with all secrets of its run. Whatever a job prints, records, reports or
// returns as an error is redacted already.
package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/snapshot"
	"github.com/plumb-eval/plumb/internal/suite"
)

// A Request is what a user wants to run. The suite and the config decide the settings that are left
// out.
type Request struct {
	config.Settings
	Runners []plumb.RunnerConfig
	// Demo marks the run of plumb demo.
	Demo bool
	// OwnRunners replace the runners of the spec, for sessions that this process has.
	OwnRunners []plumb.Runner
}

// A Job is a suite that is ready to run.
type Job struct {
	Spec Spec
	// Suite holds the selected cases.
	Suite *plumb.Suite

	project    *Project
	bundle     *suite.Bundle
	suiteCases int
	factory    *runnerFactory
	runners    []plumb.Runner
	options    run.Options
	forecast   *forecaster
	// baselines is nil if the project keeps none.
	baselines *snapshot.Baselines
	// dir is the directory of a run that is resumed, until Perform takes it.
	dir *runlog.Dir
	// root is the directory in which a new run is made; "" means that of the project's runs.
	root string
	// taken is what the run takes over from an earlier one; nil for nothing.
	taken *takeover
	// closers end the code of suites.
	closers []func() error
}

// Close releases what the job holds. It must be called, whether the job was performed or not.
func (j *Job) Close() {
	if j.factory != nil {
		j.factory.close()
	}
	if j.dir != nil {
		_ = j.dir.Close() // the directory is as it was before
	}
	for _, c := range j.closers {
		_ = c() // no result depends on it
	}
}

// newSpec returns the spec of a run of source that begins now.
func (p *Project) newSpec(source *Source, settings run.Settings) Spec {
	return Spec{
		PlumbVersion: Version(), CreatedAt: p.env.Now().UTC().Truncate(time.Millisecond),
		Dir: p.Config.Dir, Suite: source.Suite.Name, Settings: settings,
	}
}

// caseIDs returns the ids of the selected cases. A value that is not the id of a case may hold
// several ids, separated by commas.
func caseIDs(values []string, suite *plumb.Suite) []string {
	var ids []string
	for _, v := range values {
		isCase := slices.ContainsFunc(suite.Cases, func(c plumb.Case) bool { return c.ID == v })
		if isCase || !strings.Contains(v, ",") {
			ids = append(ids, v)
			continue
		}
		for id := range strings.SplitSeq(v, ",") {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}

// chooseJudges sets the judge and the embedder of s. No judge means that each model judges itself.
func (p *Project) chooseJudges(s *Spec, judge, embedder string) error {
	c, votes, err := p.judge(judge, s.JudgeVotes)
	if err != nil {
		return err
	}
	if s.JudgeVotes = votes; c != nil {
		s.Judge = new(*c)
	}
	switch e := p.Config.Embedder; {
	case embedder != "":
		s.Embedder = &plumb.RunnerConfig{Model: embedder}
	case e != nil:
		s.Embedder = new(*e)
	default:
		for _, r := range s.Runners {
			if c, ok := runner.DefaultEmbedder(r); ok {
				s.Embedder = &c
				break
			}
		}
	}
	return nil
}

// shareAddress gives the address of the flag --base-url to a judge and an embedder of the same
// provider without an address of their own: prompts and answers must not leave for another one.
func (s *Spec) shareAddress(baseURL string) {
	if baseURL == "" {
		return
	}
	providers := map[string]bool{}
	for i := range s.Runners {
		if target, err := modelapi.Resolve(s.Runners[i].Model); err == nil && s.Runners[i].BaseURL == baseURL {
			providers[target.Provider] = true
		}
	}
	for _, c := range []*plumb.RunnerConfig{s.Judge, s.Embedder} {
		if c == nil || c.BaseURL != "" {
			continue
		}
		if target, err := modelapi.Resolve(c.Model); err == nil && providers[target.Provider] {
			c.BaseURL = baseURL
		}
	}
}

// judge returns the judge with the given name, or else the judge of the config, and the number of
// its votes. It returns nil if each model judges itself.
func (p *Project) judge(name string, votes int) (*plumb.RunnerConfig, int, error) {
	votes = cmp.Or(votes, p.Config.JudgeVotes)
	if name == "" {
		return p.Config.Judge, votes, nil
	}
	if c := p.Config.Runner(name); c != nil {
		return c, votes, nil
	}
	if _, err := modelapi.Resolve(name); err != nil {
		return nil, 0, fmt.Errorf("judge: %w", err)
	}
	return &plumb.RunnerConfig{Model: name}, votes, nil
}

// checkGates finds gates about a part that the suite and the runners do not have. A gate about a
// part that the user did not select has nothing to judge.
func (j *Job) checkGates(suite *plumb.Suite) error {
	gates, err := j.Spec.Gates()
	if err != nil {
		return err
	}
	for _, g := range gates {
		known := map[string]bool{}
		if g.Kind == plumb.GateRunner {
			for _, r := range j.project.Config.Runners {
				known[r.ID] = true
			}
			for _, r := range j.runners {
				known[r.Info().ID] = true
			}
		}
		for i := range suite.Cases {
			c := &suite.Cases[i]
			switch g.Kind {
			case plumb.GateTag:
				for _, t := range c.Tags {
					known[t] = true
				}
			case plumb.GatePrompt:
				known[c.PromptName] = true
			case plumb.GateCategory:
				known[c.Category] = true
			default:
			}
		}
		if g.Kind != "" && !known[g.Name] {
			delete(known, "")
			err := fmt.Errorf("gate %q: there is no %s %q", g.Text, g.Kind, g.Name)
			return plumb.WithHint(err, setting.DidYouMean(g.Name, slices.Sorted(maps.Keys(known))))
		}
	}
	return nil
}

// openBaselines lets the engine compare executions with the token baselines, if there are any.
func (j *Job) openBaselines() (err error) {
	if j.Spec.Snapshots == nil {
		return nil
	}
	o := *j.Spec.Snapshots
	o.Note, o.Now = j.Note, j.project.env.Now
	planned := len(j.Suite.Cases)
	o.Decide = func(metric string, samples [][]float64) snapshot.Test {
		test := analyze.NewSnapshotTest(metric, samples, planned)
		return func(measured, samples []float64) (plumb.SnapshotCheck, string) {
			c := test.Case(measured, samples)
			return c, analyze.SnapshotWords(&c)
		}
	}
	if j.baselines, err = snapshot.Open(o); err == nil {
		j.options.Verify = j.baselines.Verify
	}
	return err
}

// Note records a note in the log of the run, without secrets.
func (j *Job) Note(n plumb.Note) { j.factory.env.Note(n) }

// setOptions describes the run to package run, except for what judges, compares and limits it.
func (j *Job) setOptions(suite *plumb.Suite) {
	s, p := &j.Spec, j.project
	j.options = run.Options{
		Settings: s.Settings, Base: p.env.Dir, Project: p.Config.Dir, Suite: j.Suite, Runners: j.runners,
		Unavailable: j.options.Unavailable,
		Workspaces: run.Workspaces{
			Cwd: s.Cwd, Root: s.WorkspaceRoot, Reach: agent.Reach(), Keep: s.KeepWorkspaces, Environ: p.Environ,
		},
		Redact: j.factory.redact, Notes: j.factory.notes,
		Info: plumb.RunInfo{
			PlumbVersion: s.PlumbVersion, SuiteName: suite.Name, SuitePath: p.suitePath(suite.Path),
			SuiteVersion: suite.Version, Tier: suite.Tier, SuiteHash: suite.Hash, DeclaredTags: suite.Tags(),
			SelectedTags: s.Filter.Tags, SuiteCases: j.suiteCases, ScoredFrom: s.ScoredFrom, JudgeRepeat: s.JudgeRepeat,
		},
	}
	if s.Workspace != nil {
		j.options.Workspaces.Config = *s.Workspace
	}
}

// suitePath returns the path of a suite for the results. A built-in suite keeps its name.
func (p *Project) suitePath(name string) string {
	if path := p.env.Path(name); name != "" {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return name
}

// makeJudges makes the judge and the embedder, if a selected case needs them.
func (j *Job) makeJudges() error {
	s, info := &j.Spec, &j.options.Info
	judged, compared := needs(j.Suite.Cases)
	if judged && s.Judge == nil {
		info.SelfJudged = true
	} else if judged {
		judge, err := runner.NewJudge(*s.Judge, j.factory.env)
		if err != nil {
			return err
		}
		j.options.Judge, info.Judge = judge.Runner, idAndModel(judge.Runner.Info())
	}
	if !compared {
		return nil
	}
	if s.Embedder == nil {
		err := errors.New("the suite compares by meaning (semantic_similarity), which needs an embedder")
		return plumb.WithHint(err, "--embedder openai:text-embedding-3-small, or ollama:nomic-embed-text, "+
			"or embedder in plumb.yaml; "+
			"or leave those cases out with --category or --case")
	}
	embedder, err := runner.NewEmbedder(*s.Embedder, j.factory.env)
	if err != nil {
		return plumb.WithHint(err, "choose another one with --embedder")
	}
	j.options.Embedder, info.Embedder = embedder, embedder.Name
	return nil
}

// needs reports whether cases need a judge and an embedder.
func needs(cases []plumb.Case) (judge, embedder bool) {
	for i := range cases {
		for _, a := range cases[i].Assertions {
			if c, ok := a.(plumb.AskingAssertion); ok {
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

// idAndModel returns the id of a runner, with the model unless the id names it.
func idAndModel(r plumb.RunnerInfo) string {
	model := strings.Trim(r.Agent.Type+":"+r.Agent.Model, ":")
	if r.ID == model || model == "" {
		return r.ID
	}
	return r.ID + " (" + model + ")"
}

// checkBudget makes sure that the budget can be enforced, as far as is known before the run, and
// notes by how much the run may exceed it.
func (j *Job) checkBudget() error {
	s := &j.Spec
	if s.MaxCostUSD > 0 {
		names := strings.Join(j.unpriced(), ", ")
		switch {
		case names == "":
		case !s.AllowUnmetered:
			return plumb.WithHint(fmt.Errorf("--max-cost cannot be enforced: the price of %s is unknown", names),
				"set the price under prices in plumb.yaml, use --max-tokens, "+
					"or run without this guarantee with --allow-unmetered")
		default:
			what := "the budget"
			if s.MaxTokens > 0 {
				what = "the cost budget"
			}
			j.Note(plumb.Note{
				Level: "warning",
				Text: what + " cannot be enforced: the price of " + names +
					" is unknown; the run continues because of --allow-unmetered",
			})
		}
	}
	if s.MaxCostUSD <= 0 && s.MaxTokens <= 0 {
		return nil
	}
	for _, line := range j.capWords() {
		j.Note(plumb.Note{Level: "info", Text: line})
	}
	return nil
}
