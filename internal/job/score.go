package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// ScoreOptions are what [Score] needs beside the run. The settings that are left out are those of
// the run.
type ScoreOptions struct {
	config.Settings
	// Suite names a changed suite, or with Tier another version of a published one.
	Suite string
	Trust Trust
	// JudgeRepeat is the number of times to judge each stored session of the cases that flipped; 0
	// means to judge all cases once.
	JudgeRepeat int
}

// rejudged plays each recorded repetition several times, so that the judge decides several times
// about the same output.
type rejudged struct {
	plumb.Runner
	times int
}

// Run plays a recorded repetition.
func (r rejudged) Run(ctx context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	req.Repetition = (req.Repetition-1)/r.times + 1
	return r.Runner.Run(ctx, req)
}

// Score opens a job that judges the sessions of an earlier run again. No model is called, except
// for the judge and the embedder. ref is as for [Resume].
func Score(ctx context.Context, p *Project, ref string, o ScoreOptions) (_ *Job, err error) {
	defer func() { err = p.redact.Error(err) }()
	path, s, err := p.earlier(ref)
	if err != nil {
		return nil, err
	}
	ownSuite := o.Suite == "" && o.Tier == ""
	if err := p.mayStart(path, &Spec{}, ownSuite, o.Trust); err != nil { //nolint:contextcheck // templates have a time limit of their own
		return nil, err
	}
	earlier, err := runlog.At(path).Fold(nil)
	if err != nil {
		return nil, err
	}
	var source *Source
	if ownSuite {
		source, err = p.readRecorded(ctx, path, 0)
	} else {
		source, err = p.Read(ctx, o.Suite, o.Tier, 0)
	}
	if err != nil {
		return nil, err
	}
	//nolint:contextcheck // templates have a time limit of their own
	err = p.prepareScore(&s, source.Suite, path, earlier, &o)
	var stored []plumb.Runner
	if err == nil {
		stored, err = p.storedRunners(&s, source)
	}
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return p.assemble(s, source, stored) //nolint:contextcheck // finding a version has its own time limit
}

// prepareScore turns the spec of an earlier run into that of a run that judges its sessions.
func (p *Project) prepareScore(s *Spec, suite *plumb.Suite, path string, earlier *plumb.Run, o *ScoreOptions) error {
	if err := p.keepRecorded(suite, earlier, o.Suite != ""); err != nil {
		return err
	}
	if s.JudgeRepeat = o.JudgeRepeat; s.JudgeRepeat > 1 {
		suite.Cases = rejudgedCases(suite.Cases, earlier, s.JudgeRepeat)
		if len(suite.Cases) == 0 {
			return plumb.WithHint(
				fmt.Errorf("no judged case of run %s passed in one repetition and failed in another", earlier.Info.ID),
				"make a run with --repeat 5, or judge again without --judge-repeat")
		}
	}
	started, err := p.chooseScorers(s, o, earlier, suite.Cases)
	if err != nil {
		return err
	}
	if err := p.mayStart(path, started, false, o.Trust); err != nil {
		return err
	}
	replays, err := replaysOf(path)
	if err != nil {
		return err
	}
	s.Runners, s.Filter, s.ScoredFrom = replays, run.Filter{}, earlier.Info.ID
	s.MaxFailures, s.MaxCostUSD, s.MaxTokens, s.MaxDurationMs, s.Retry = 0, 0, 0, 0, 0
	p.setScoring(s, o)
	s.CreatedAt, s.PlumbVersion, s.Distrusted, s.Decide, s.Snapshots = p.env.Now().UTC(), Version(), nil, nil, nil
	s.BaselineFrom = "" // the sessions come from the run that is judged again
	return nil
}

// setScoring sets the settings of s that do not depend on how the sessions were made.
func (p *Project) setScoring(s *Spec, o *ScoreOptions) {
	s.Schedule, s.Parallel = run.Parallel, cmp.Or(o.Parallel, config.DefaultParallel)
	s.Cache, s.Output, s.MinKappa = o.Cache, p.env.Path(o.Output), o.MinKappa
	if len(o.MinPassRate) > 0 { // otherwise the gates of the run that is judged again
		s.MinPassRate = o.MinPassRate
	}
	if len(o.MinCoverage) > 0 {
		s.MinCoverage = o.MinCoverage
	}
}

// keepRecorded leaves the cases in a suite that the earlier run has sessions of.
func (p *Project) keepRecorded(suite *plumb.Suite, earlier *plumb.Run, changed bool) error {
	kept := recordedCases(suite.Cases, earlier)
	if len(kept) == 0 {
		return fmt.Errorf("no case of suite %s is in run %s", suite.Name, earlier.Info.ID)
	}
	if missing := len(suite.Cases) - len(kept); missing > 0 && changed {
		p.printf("cases left out because the run does not have them: %d", missing)
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
		if judge, _ := needs([]plumb.Case{c}); judge && flipped {
			c.Repeat *= times
			kept = append(kept, c)
		}
	}
	return kept
}

// chooseScorers sets the judge and the embedder of s. It returns a spec with those that the
// run.json names and the cases need: the run must be trusted to use them.
func (p *Project) chooseScorers(s *Spec, o *ScoreOptions, earlier *plumb.Run, cases []plumb.Case) (*Spec, error) {
	started := &Spec{Judge: s.Judge, Embedder: s.Embedder}
	selfJudged := s.Judge == nil
	if o.Judge != "" || o.JudgeVotes > 0 {
		c, votes, err := p.judge(o.Judge, o.JudgeVotes)
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
	judge, embedder := needs(cases)
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
func ScoreStored(p *Project, source *Source, sessions SessionsSpec, o ScoreOptions) (*Job, error) {
	sessions.Dir = p.env.Path(sessions.Dir)
	s := p.newSpec(source, o.Settings.Settings)
	s.Sessions = &sessions
	p.setScoring(&s, &o)
	err := p.chooseJudges(&s, o.Judge, o.Embedder)
	var stored []plumb.Runner
	if err == nil {
		stored, err = p.storedRunners(&s, source)
	}
	if err != nil {
		return nil, p.redact.Error(errors.Join(err, source.Close()))
	}
	return p.assemble(s, source, stored)
}

// storedRunners returns the runner that replays the stored sessions of s, if there are any. It removes
// the cases without a session from source.
func (p *Project) storedRunners(s *Spec, source *Source) ([]plumb.Runner, error) {
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
		p.printf("cases left out because they have no session: %d", missing)
	}
	if judge, _ := needs(source.Suite.Cases); judge && s.Judge == nil {
		return nil, plumb.WithHint(errors.New("the suite needs a judge, and stored sessions cannot judge themselves"),
			"name a judge with --judge")
	}
	return []plumb.Runner{stored}, nil
}
