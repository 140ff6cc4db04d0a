package earlier

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// ScoreOptions are what [Score] needs beside the run. The settings that are left out are those of
// the run.
type ScoreOptions struct {
	config.Settings
	// Suite names a changed suite, or with Tier another version of a published one.
	Suite string
	Trust project.Trust
	// JudgeRepeat is the number of times to judge each stored session of the cases that flipped; 0
	// means to judge all cases once.
	JudgeRepeat int
}

// Score opens a job that judges the sessions of an earlier run again. No model is called, except
// for the judge and the embedder. ref is as for [Resume].
func Score(ctx context.Context, p *project.Project, ref string, o ScoreOptions) (_ *job.Job, err error) {
	defer func() { err = p.Redactor().Error(err) }()
	path, s, err := find(p, ref)
	if err != nil {
		return nil, err
	}
	ownSuite := o.Suite == "" && o.Tier == ""
	if err := p.MayStart(ctx, path, &project.Spec{}, ownSuite, o.Trust); err != nil {
		return nil, err
	}
	earlier, err := runlog.At(path).Fold(nil)
	if err != nil {
		return nil, err
	}
	var source *project.Source
	if ownSuite {
		source, err = p.ReadRecorded(ctx, path, 0)
	} else {
		source, err = p.Read(ctx, o.Suite, o.Tier, 0)
	}
	if err != nil {
		return nil, err
	}
	stored, err := prepareScore(ctx, p, &s, source, path, earlier, &o)
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return job.Assemble(ctx, p, s, source, stored)
}

// prepareScore turns the spec of an earlier run into that of a run that judges its sessions. It
// returns the runner of stored sessions; nil if a run made the sessions.
func prepareScore(
	ctx context.Context, p *project.Project, s *project.Spec, source *project.Source, path string, earlier *plumb.Run,
	o *ScoreOptions,
) ([]plumb.Runner, error) {
	suite := source.Suite
	if err := keepRecorded(p, suite, earlier, o.Suite != ""); err != nil {
		return nil, err
	}
	if s.JudgeRepeat = o.JudgeRepeat; s.JudgeRepeat > 1 {
		suite.Cases = rejudgedCases(suite.Cases, earlier, s.JudgeRepeat)
		if len(suite.Cases) == 0 {
			return nil, plumb.WithHint(
				fmt.Errorf("no judged case of run %s passed in one repetition and failed in another", earlier.Info.ID),
				"make a run with --repeat 5, or judge again without --judge-repeat")
		}
	}
	started, err := chooseScorers(p, s, o, earlier, suite.Cases)
	if err != nil {
		return nil, err
	}
	if err := p.MayStart(ctx, path, started, false, o.Trust); err != nil {
		return nil, err
	}
	replays, err := project.ReplaysOf(path)
	if err != nil {
		return nil, err
	}
	s.Runners, s.Filter, s.ScoredFrom = replays, run.Filter{}, earlier.Info.ID
	s.MaxFailures, s.MaxCostUSD, s.MaxTokens, s.MaxDurationMs, s.Retry = 0, 0, 0, 0, 0
	setScoring(p, s, o)
	s.CreatedAt, s.PlumbVersion, s.Distrusted, s.Decide, s.Snapshots = p.Env.Now().UTC(), project.Version(), nil, nil, nil
	s.BaselineFrom = "" // the sessions come from the run that is judged again
	return storedRunners(p, s, source)
}

// setScoring sets the settings of s that do not depend on how the sessions were made.
func setScoring(p *project.Project, s *project.Spec, o *ScoreOptions) {
	s.ParallelGiven = o.Parallel != 0
	s.Schedule, s.Parallel = run.Parallel, cmp.Or(o.Parallel, config.DefaultParallel)
	s.Cache, s.Output, s.MinKappa = o.Cache, p.Env.Path(o.Output), o.MinKappa
	if len(o.MinPassRate) > 0 { // otherwise the gates of the run that is judged again
		s.MinPassRate = o.MinPassRate
	}
	if len(o.MinCoverage) > 0 {
		s.MinCoverage = o.MinCoverage
	}
}

// keepRecorded leaves the cases in a suite that the earlier run has sessions of.
func keepRecorded(p *project.Project, suite *plumb.Suite, earlier *plumb.Run, changed bool) error {
	kept := recordedCases(suite.Cases, earlier)
	if len(kept) == 0 {
		return fmt.Errorf("no case of suite %s is in run %s", suite.Name, earlier.Info.ID)
	}
	if missing := len(suite.Cases) - len(kept); missing > 0 && changed {
		p.Printf("cases left out because the run does not have them: %d", missing)
	}
	suite.Cases = kept
	return nil
}

// recordedCases returns the cases that a run has sessions of, with the run's number of repetitions.
func recordedCases(cases []plumb.Case, earlier *plumb.Run) []plumb.Case {
	var kept []plumb.Case
	for _, c := range cases {
		if r := earlier.Case(c.ID); r != nil {
			c.Repeat = max(r.Repeat, 1)
			kept = append(kept, c)
		}
	}
	return kept
}

// rejudgedCases returns the judged cases that flipped, with the number of repetitions to judge each
// stored session several times.
func rejudgedCases(cases []plumb.Case, earlier *plumb.Run, times int) []plumb.Case {
	var kept []plumb.Case
	for _, c := range cases {
		flipped := false
		for _, r := range earlier.Info.Runners {
			e, err := earlier.Execution(c.ID, r.ID)
			flipped = flipped || err == nil && e.Passed > 0 && e.Failed > 0
		}
		if judge, _ := job.Needs([]plumb.Case{c}); judge && flipped {
			c.Repeat *= times
			kept = append(kept, c)
		}
	}
	return kept
}

// chooseScorers sets the judge and the embedder of s. It returns a spec with those that the
// run.json names and the cases need: the run must be trusted to use them.
func chooseScorers(
	p *project.Project, s *project.Spec, o *ScoreOptions, earlier *plumb.Run, cases []plumb.Case,
) (*project.Spec, error) {
	started := &project.Spec{Judge: s.Judge, Embedder: s.Embedder}
	selfJudged := s.Judge == nil
	if o.Judge != "" || o.JudgeVotes > 0 {
		c, votes, err := p.Judge(o.Judge, o.JudgeVotes)
		if err != nil {
			return nil, err
		}
		if s.JudgeVotes = votes; c != nil {
			s.Judge, selfJudged, started.Judge = new(*c), false, nil
		}
	}
	if o.Embedder != "" {
		s.Embedder, started.Embedder = &plumb.RunnerConfig{Model: o.Embedder}, nil
	}
	judge, embedder := job.Needs(cases)
	if judge && selfJudged {
		// A recording cannot answer questions: the model itself judges, as it did in the run.
		if len(s.Runners) != 1 || s.Runners[0].Replay != "" {
			return nil, plumb.WithHint(fmt.Errorf("the models of run %s judged themselves", earlier.Info.ID),
				"name a judge with --judge")
		}
		s.Judge = &s.Runners[0]
		started.Judge = s.Judge
	}
	if !judge {
		started.Judge = nil
	}
	if !embedder {
		started.Embedder = nil
	}
	return started, nil
}

// ScoreStored opens a job that judges stored sessions that no run made, with the cases of source.
// The job owns source, which is closed if ScoreStored fails.
func ScoreStored(
	ctx context.Context, p *project.Project, source *project.Source, sessions project.SessionsSpec, o ScoreOptions,
) (*job.Job, error) {
	sessions.Dir = p.Env.Path(sessions.Dir)
	s := p.NewSpec(source, o.Settings.Settings)
	s.Sessions = &sessions
	setScoring(p, &s, &o)
	err := p.ChooseJudges(&s, o.Judge, o.Embedder)
	var stored []plumb.Runner
	if err == nil {
		stored, err = storedRunners(p, &s, source)
	}
	if err != nil {
		return nil, p.Redactor().Error(errors.Join(err, source.Close()))
	}
	return job.Assemble(ctx, p, s, source, stored)
}

// storedRunners returns the runner that replays the stored sessions of s, if there are any. It
// removes the cases without a session from source.
func storedRunners(p *project.Project, s *project.Spec, source *project.Source) ([]plumb.Runner, error) {
	if s.Sessions == nil {
		return nil, nil
	}
	stored, err := openSessions(*s.Sessions, source.Suite.Cases)
	if err != nil {
		return nil, err
	}
	all := source.Suite.Cases
	source.Suite.Cases = nil
	for _, c := range all {
		if c.Repeat = len(stored.cases[c.ID]); c.Repeat > 0 {
			source.Suite.Cases = append(source.Suite.Cases, c)
		}
	}
	if missing := len(all) - len(source.Suite.Cases); missing > 0 {
		p.Printf("cases left out because they have no session: %d", missing)
	}
	if judge, _ := job.Needs(source.Suite.Cases); judge && s.Judge == nil {
		return nil, plumb.WithHint(errors.New("the suite needs a judge, and stored sessions cannot judge themselves"),
			"name a judge with --judge")
	}
	return []plumb.Runner{stored}, nil
}
