// Package job turns a spec into a performed run, below the command line: it completes the spec,
// decides where sessions work, makes what they need, and performs them. It has no flags and no exit
// codes, so that a server or a worker can use it:
//
//	p, err := project.OpenProject(ctx, env, "", "")
//	source, err := p.Read(ctx, "suite.jsonl", "", 0)
//	j, err := job.Open(ctx, p, source, job.Request{Settings: config.Defaults(), Runners: runners})
//	result, err := j.Perform(ctx, nil, nil)
//
// A job owns the redactor with all secrets of its run. Whatever a job prints, records, reports or
// returns as an error is redacted already.
package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/forecast"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/reporting"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
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
	Spec project.Spec
	// Suite holds the selected cases.
	Suite *plumb.Suite
	// Root is the directory in which a new run is made; "" means that of the project's runs.
	Root string

	project    *project.Project
	bundle     *suite.Bundle
	suiteCases int
	factory    *project.RunnerFactory
	runners    []plumb.Runner
	options    run.Input
	forecast   *forecast.Forecaster
	// baselines is nil if the project keeps none.
	baselines *snapshot.Baselines
	// dir is the directory of a run that is resumed, until Perform takes it.
	dir *runlog.Dir
	// taken is what the run takes over from an earlier one; nil for nothing.
	taken *takeover
	// closers end the code of suites.
	closers []func() error
}

// Close releases what the job holds. It must be called, whether the job was performed or not.
func (j *Job) Close() {
	if j.factory != nil {
		j.factory.Close()
	}
	if j.dir != nil {
		_ = j.dir.Close() // the directory is as it was before
	}
	for _, c := range j.closers {
		_ = c() // no result depends on it
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

// CheckOutputs checks the files of reports, and that of --output, before the job is performed: a
// run never replaces a file that it reads, nor a file that is not such a report.
func (j *Job) CheckOutputs(reports []string) error {
	reads := j.bundle.Sources()
	if s := j.Spec.Snapshots; s != nil {
		reads = append(reads, s.Path)
	}
	return reporting.CheckOutputs(j.project, &kind.Outputs{Reads: reads}, reports, j.Spec.Output)
}

// RepeatAll plans the repetitions of the run for all cases, also for those with their own number.
func (j *Job) RepeatAll() {
	for i := range j.Suite.Cases {
		j.Suite.Cases[i].Repeat = j.Spec.Repeat
	}
}

// Project returns the project of the job.
func (j *Job) Project() *project.Project { return j.project }

// Runners returns the runners of the job.
func (j *Job) Runners() []plumb.Runner { return j.runners }

// Info returns what the run records when it starts, as far as it is known.
func (j *Job) Info() plumb.RunInfo { return j.options.Info }

// Forecaster returns what estimates the sessions of the job.
func (j *Job) Forecaster() *forecast.Forecaster { return j.forecast }

// Reused returns the number of repetitions of a case on the runner at the given index that are
// taken over from an earlier run.
func (j *Job) Reused(c *plumb.Case, runner int) int { return j.taken.reused(c, runner) }

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
	o.Note, o.Now = j.Note, j.project.Env.Now
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
func (j *Job) Note(n plumb.Note) { j.factory.Env.Note(n) }

// setOptions describes the run to package run, except for what judges, compares and limits it.
func (j *Job) setOptions(suite *plumb.Suite) {
	s, p := &j.Spec, j.project
	j.options = run.Input{
		Settings: s.Settings, Base: p.Env.Dir, Project: p.Config.Dir, Suite: j.Suite, Runners: j.runners,
		Unavailable: j.options.Unavailable,
		Workspaces: run.Workspaces{
			Cwd: s.Cwd, Root: s.WorkspaceRoot, Reach: agent.Reach(), Keep: s.KeepWorkspaces, Environ: p.Environ,
		},
		AtOnce: s.ParallelGiven, Redact: j.factory.Redact, Notes: j.factory.Notes,
		Info: plumb.RunInfo{
			PlumbVersion: s.PlumbVersion, SuiteName: suite.Name, SuitePath: suitePath(p, suite.Path),
			SuiteVersion: suite.Version, Tier: suite.Tier, SuiteHash: suite.Hash, DeclaredTags: suite.Tags(),
			SelectedTags: s.Filter.Tags, SuiteCases: j.suiteCases, ScoredFrom: s.ScoredFrom, JudgeRepeat: s.JudgeRepeat,
		},
	}
	if s.Workspace != nil {
		j.options.Workspaces.Config = *s.Workspace
	}
}

// suitePath returns the path of a suite for the results. A built-in suite keeps its name.
func suitePath(p *project.Project, name string) string {
	if path := p.Env.Path(name); name != "" {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return name
}

// Redactor returns the redactor with all secrets of the job. The notes, errors, logs and reports
// of the job do not need it: they are redacted already.
func (j *Job) Redactor() *redact.Redactor { return j.factory.Redact }

// makeJudges makes the judge and the embedder, if a selected case needs them.
func (j *Job) makeJudges(ctx context.Context) error {
	s, info := &j.Spec, &j.options.Info
	judged, compared := Needs(j.Suite.Cases)
	if judged && s.Judge == nil {
		info.SelfJudged = true
	} else if judged {
		judge, err := runner.NewJudge(ctx, *s.Judge, j.factory.Env)
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
	embedder, err := runner.NewEmbedder(*s.Embedder, j.factory.Env)
	if err != nil {
		return plumb.WithHint(err, "choose another one with --embedder")
	}
	j.options.Embedder, info.Embedder = embedder, embedder.Name
	return nil
}

// Needs reports whether cases need a judge and an embedder.
func Needs(cases []plumb.Case) (judge, embedder bool) {
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
