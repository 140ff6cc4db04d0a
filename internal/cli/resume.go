package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/suite"
)

func (a *app) resumeCommand() *cobra.Command {
	f := runFlags{parallel: 1, repeat: 1, schedule: string(run.Parallel)} // what check demands; the run has its own
	var retryErrors, trust bool
	var parallel int
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Finish a run that was interrupted",
		Long: `Finish a run that was interrupted, killed, or stopped by a budget. What was obtained is neither lost
nor asked for again. RUN is the id of a run, its beginning or end, or a directory; without it, the last run.

A run that is not in this project's directory of runs says in its run.json what to start. That is listed, and started
with --trust only.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("parallel") {
				f.parallel = parallel
			}
			if err := f.check(); err != nil {
				return err
			}
			p, err := a.open(cmd.Context(), f.config, f.outputDir)
			if err != nil {
				return err
			}
			path, err := run.Find(p.runs(), first(args))
			if err != nil {
				return err
			}
			var asked spec
			if err := run.ReadSpec(path, &asked); err != nil {
				return err
			}
			if err := a.mayStart(p, path, &asked, true, "resume", trust); err != nil {
				return err
			}
			dir, err := run.Open(path)
			if err != nil {
				return err
			}
			if err := a.cleanUp(p, dir); err != nil {
				return errors.Join(err, dir.Close())
			}
			j, err := a.reopen(cmd.Context(), p, dir.Path, func(s *spec) {
				if cmd.Flags().Changed("parallel") {
					s.Parallel = parallel
				}
				if cmd.Flags().Changed("max-cost") {
					s.MaxCostUSD = f.maxCost
				}
				if cmd.Flags().Changed("max-tokens") {
					s.MaxTokens = f.maxTokens
				}
				if cmd.Flags().Changed("max-duration") {
					s.MaxDurationMs = f.maxDuration.Milliseconds()
				}
				if cmd.Flags().Changed("allow-unmetered") {
					s.AllowUnmetered = f.allowUnmetered
				}
			})
			if err != nil {
				return errors.Join(err, dir.Close())
			}
			defer j.close()
			j.options.RetryErrors = retryErrors
			code, err := a.perform(cmd.Context(), p, j, f.reports, dir)
			if err != nil {
				return err
			}
			return exit(code)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.config, "config", "", "config `file`")
	fs.StringVar(&f.outputDir, "output-dir", "", "`directory` of runs and cache (default .plumb)")
	fs.BoolVar(&retryErrors, "retry-errors", false, "also try again what could not be measured")
	fs.BoolVar(&trust, "trust", false, "start what the run names, though it was not made in this project")
	fs.IntVarP(&parallel, "parallel", "j", 0, "sessions in flight at most, instead of what the run began with")
	fs.Float64Var(&f.maxCost, "max-cost", 0, "budget in US `dollars` for the whole run, instead of what it began with; 0 is none")
	fs.Int64Var(&f.maxTokens, "max-tokens", 0, "budget in `tokens` for the whole run, instead of what it began with; 0 is none")
	fs.DurationVar(&f.maxDuration, "max-duration", 0, "time for the whole run, instead of what it began with; 0 is no limit")
	fs.BoolVar(&f.allowUnmetered, "allow-unmetered", false, "go on though a budget cannot be held, since what is used is not reported")
	fs.StringArrayVar(&f.reports, "report", nil, "`name[:path]` of a report; repeatable")
	return cmd
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// cleanUp deletes what was left half written by processes that were killed: by those of the run, and in the cache.
func (a *app) cleanUp(p *project, dir *run.Dir) error {
	return errors.Join(dir.Clean(), (&runner.Cache{Dir: p.cache()}).Clean(a.Now().Add(-24*time.Hour)))
}

// reopen assembles the job of an earlier run from its directory.
func (a *app) reopen(ctx context.Context, p *project, path string, change func(*spec)) (*job, error) {
	var s spec
	if err := run.ReadSpec(path, &s); err != nil {
		return nil, err
	}
	if s.Demo {
		return nil, plumb.WithHint(errors.New("a demo cannot be resumed"), "plumb demo")
	}
	if err := p.complete(&s); err != nil {
		return nil, err
	}
	bundle, err := suite.Open(filepath.Join(path, run.BundleDir))
	if err != nil {
		return nil, err
	}
	p.sessionLimit = time.Duration(s.TimeoutMs) * time.Millisecond
	suite, warnings, err := bundle.SuiteIn(ctx, a.host(p))
	a.warn(warnings)
	if err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	if err := p.restoreWorkspace(&s, suite); err != nil {
		return nil, errors.Join(err, bundle.Close())
	}
	if s.ScoredFrom != "" && len(s.Runners) > 0 {
		earlier, err := run.Fold(s.Runners[0].Replay)
		if err != nil {
			return nil, fmt.Errorf("read the run whose answers are judged: %w", err)
		}
		suite.Cases = recorded(suite.Cases, earlier)
	}
	change(&s)
	assemble := a.assemble
	if s.Sessions != nil {
		assemble = a.assembleSessions
	}
	j, err := assemble(p, s, bundle, suite)
	if err != nil {
		return nil, fmt.Errorf("reopen run %s: %w", a.shown(path), err)
	}
	return j, nil
}
