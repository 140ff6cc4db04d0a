package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/load"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
)

func (a *app) scoreCommand() *cobra.Command {
	var f runFlags
	var suiteRef string
	var trust bool
	var sessions sessionsSpec
	cmd := &cobra.Command{
		Use:   "score [RUN | SUITE --sessions DIR]",
		Short: "Judge the stored sessions of a run again, or sessions from elsewhere",
		Long: `Judge the sessions of an earlier run again, with a changed suite or another judge. No model is asked but the
judge. The result is a run of its own; the earlier one stays as it is. Cases are matched by id and prompt.

With --sessions, judge sessions that took place elsewhere: below the directory, each case has a directory with its
name, and in it a directory for each session with its report.json, or, with --agent, with the stdout of the agent,
its stderr, and what it kept in session/. A file CASE.json holds one session, as plumb normalise prints it.`,
		Example: `  plumb score last --suite suite.jsonl
  plumb score 20261120-101500 --judge anthropic:claude-opus-4-6
  plumb score skills.suite.ts --sessions recordings --agent codex`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.repeat, f.schedule = 1, string(run.Parallel)
			if err := f.check(); err != nil {
				return err
			}
			if sessions.Dir != "" {
				return a.scoreElsewhere(cmd.Context(), &f, first(args), sessions)
			}
			if sessions.Agent != "" {
				return plumb.WithHint(errors.New("--agent is for sessions from elsewhere"), "--sessions DIR")
			}
			p, err := a.open(cmd.Context(), f.config, f.outputDir)
			if err != nil {
				return err
			}
			path, err := run.Find(p.runs(), first(args))
			if err != nil {
				return err
			}
			j, err := a.rescore(cmd.Context(), p, &f, path, suiteRef, trust)
			if err != nil {
				return err
			}
			defer j.close()
			code, err := a.perform(cmd.Context(), p, j, f.reports, nil)
			if err != nil {
				return err
			}
			return exit(code)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&sessions.Dir, "sessions", "", "`directory` of sessions that took place elsewhere")
	fs.StringVar(&sessions.Agent, "agent", "", "the agent that made them, where they are transcripts: "+strings.Join(agent.Types(), ", "))
	fs.StringVar(&suiteRef, "suite", "", "changed `suite` (default: the one the run was made with)")
	fs.BoolVar(&trust, "trust", false, "start what the run names, though it was not made in this project")
	fs.StringVar(&f.tier, "tier", "", "tier of the suite, where it has several")
	fs.StringVar(&f.judge, "judge", "", "`model` or runner id that answers llm_judge (default: as in the run)")
	fs.IntVar(&f.judgeVotes, "judge-votes", 0, "answers taken of the judge, an odd number")
	fs.StringVar(&f.embedder, "embedder", "", "embedding `model` for semantic_similarity")
	fs.IntVarP(&f.parallel, "parallel", "j", defaultParallel, "sessions judged at the same time")
	fs.StringVar(&f.cache, "cache", string(runner.CacheOff), "answers of earlier runs, for the embedder: off, on or only")
	fs.StringArrayVar(&f.reports, "report", nil, "`name[:path]` of a report; repeatable")
	fs.StringVar(&f.output, "output", "", "also append a block in the results.json list format to this `file`")
	fs.StringVar(&f.config, "config", "", "config `file`")
	fs.StringVar(&f.outputDir, "output-dir", "", "`directory` of runs and cache (default .plumb)")
	return cmd
}

// scoreElsewhere judges sessions that took place elsewhere.
func (a *app) scoreElsewhere(ctx context.Context, f *runFlags, suiteRef string, s sessionsSpec) error {
	p, err := a.openFor(ctx, f.config, f.outputDir, suiteRef)
	if err != nil {
		return err
	}
	s.Dir = a.path(s.Dir)
	j, err := a.scoreSessions(ctx, p, f, suiteRef, s)
	if err != nil {
		return err
	}
	defer j.close()
	code, err := a.perform(ctx, p, j, f.reports, nil)
	if err != nil {
		return err
	}
	return exit(code)
}

// rescore prepares the judging of the sessions of the run in path.
func (a *app) rescore(ctx context.Context, p *project, f *runFlags, path, suiteRef string, trust bool) (*job, error) {
	var s spec
	if err := run.ReadSpec(path, &s); err != nil {
		return nil, err
	}
	ownSuite := suiteRef == "" && f.tier == ""
	if err := a.mayStart(p, path, &spec{}, ownSuite, "score", trust); err != nil {
		return nil, err
	}
	earlier, err := run.Fold(path)
	if err != nil {
		return nil, err
	}
	var bundle *load.Bundle
	var suite *plumb.Suite
	if ownSuite {
		if bundle, err = load.Open(filepath.Join(path, run.BundleDir)); err != nil {
			return nil, err
		}
		var warnings []load.Problem
		suite, warnings, err = bundle.SuiteIn(ctx, a.host(p))
		a.warn(warnings)
		if err != nil {
			return nil, errors.Join(err, bundle.Close())
		}
	} else if bundle, suite, err = a.readSuite(ctx, p, suiteRef, f.tier); err != nil {
		return nil, err
	}
	kept := recorded(suite.Cases, earlier)
	if len(kept) == 0 {
		return nil, fmt.Errorf("no case of suite %s is in run %s", suite.Name, earlier.Info.ID)
	}
	if missing := len(suite.Cases) - len(kept); missing > 0 && suiteRef != "" {
		fmt.Fprintf(a.Stderr, "plumb: not in the run, and left out: %s\n", plural(missing, "case"))
	}
	suite.Cases = kept
	judges, self := s.Runners, s.Judge == nil
	s.ScoredFrom, s.Filter, s.Retry = earlier.Info.ID, run.Filter{}, 0
	s.MaxCostUSD, s.MaxTokens, s.MaxDurationMs, s.MaxFailures = 0, 0, 0, 0
	s.Parallel, s.Cache, s.Schedule = f.parallel, f.cache, run.Parallel
	s.CreatedAt, s.PlumbVersion, s.Output = a.Now().UTC(), version(), a.path(f.output)
	replays, err := replaysOf(path)
	if err != nil {
		return nil, err
	}
	s.Runners = nil
	for _, c := range replays {
		s.Runners = append(s.Runners, specOf(c))
	}
	asked := spec{Judge: s.Judge, Embedder: s.Embedder} // who the run says is to be asked
	if f.judge != "" || f.judgeVotes > 0 {
		c, votes, err := f.judgeConfig(p)
		if err != nil {
			return nil, err
		}
		if s.JudgeVotes = votes; c != nil {
			s.Judge, self, asked.Judge = new(specOf(*c)), false, nil
		}
	}
	if f.embedder != "" {
		s.Embedder, asked.Embedder = new(specOf(plumb.RunnerConfig{Model: f.embedder})), nil
	}
	judge, embedder := needs(kept)
	if !judge {
		asked.Judge = nil
	}
	if !embedder {
		asked.Embedder = nil
	}
	if judge && self {
		// A recording cannot answer questions: the models themselves judge, as in the run.
		if len(judges) != 1 || judges[0].Replay != "" {
			return nil, plumb.WithHint(fmt.Errorf("the models of run %s judged themselves", earlier.Info.ID), "name a judge with --judge")
		}
		s.Judge = &judges[0]
		asked.Judge = s.Judge
	}
	if err := a.mayStart(p, path, &asked, false, "score", trust); err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	return a.assemble(p, s, bundle, suite) //nolint:contextcheck // a version is asked for with a time limit of its own
}

// recorded returns those of the cases that a run has sessions of, with as many samples as it has.
func recorded(cases []plumb.Case, earlier *plumb.Run) []plumb.Case {
	var kept []plumb.Case
	for _, c := range cases {
		if r := earlier.Case(c.ID); r != nil {
			c.Repeat = max(r.Repeat, 1)
			kept = append(kept, c)
		}
	}
	return kept
}
