// Package earlier goes on with earlier runs: it finishes them, adds repetitions, judges their
// sessions again, and repeats cases of them. It hides how a run directory becomes a job again, and
// which parts of its spec hold for the new purpose.
package earlier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
)

// ResumeOptions are what [Resume] needs beside the run.
type ResumeOptions struct {
	// Change may change the limits and the parallelism of the run. It may be nil.
	Change func(*project.Spec)
	// RetryErrors also repeats the sessions that could not be measured.
	RetryErrors bool
	// Repeat raises the planned repetitions of each case to at least this number; 0 changes nothing.
	Repeat int
	Trust  project.Trust
}

// Resume opens the job of an earlier run, which [job.Job.Perform] continues. ref is the id of the
// run, the beginning or end of its id, its directory, or "" for the last run. Resume locks the run.
func Resume(ctx context.Context, p *project.Project, ref string, o ResumeOptions) (_ *job.Job, err error) {
	defer func() { err = p.Redactor().Error(err) }()
	path, s, err := find(p, ref)
	if err != nil {
		return nil, err
	}
	if err := p.MayStart(ctx, path, &s, true, o.Trust); err != nil {
		return nil, err
	}
	dir, err := runlog.Open(path)
	if err != nil {
		return nil, err
	}
	// Processes that were killed may have left incomplete files, in the run and in the cache.
	dayAgo := p.Env.Now().Add(-24 * time.Hour)
	if err := errors.Join(dir.Clean(), (&runner.Cache{Dir: p.Cache()}).Clean(dayAgo)); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	j, err := reopen(ctx, p, dir.Path, o.Change)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	if err := j.Continue(dir, o.RetryErrors, o.Repeat); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// find finds an earlier run and reads its run.json. ref is as for [Resume].
func find(p *project.Project, ref string) (path string, s project.Spec, err error) {
	if path, err = runlog.Find(p.Runs(), ref); err == nil {
		err = runlog.ReadSpec(path, &s)
	}
	return path, s, err
}

// reopen assembles the job of the earlier run at path.
func reopen(ctx context.Context, p *project.Project, path string, change func(*project.Spec)) (_ *job.Job, err error) {
	var s project.Spec
	if err := runlog.ReadSpec(path, &s); err != nil {
		return nil, err
	}
	if s.Demo {
		return nil, plumb.WithHint(errors.New("a demo cannot be resumed"), "plumb demo")
	}
	if !runlog.MadeHere(p.Runs(), path) {
		s.BaselineFrom = "" // a run from elsewhere must not read other runs
	}
	if err := p.RestoreRunners(&s); err != nil {
		return nil, err
	}
	source, err := p.ReadRecorded(ctx, path, s.TimeoutMs.Duration())
	if err != nil {
		return nil, err
	}
	stored, err := restoreSource(p, &s, source)
	if err == nil {
		err = keepSamples(path, &s)
	}
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	if change != nil {
		change(&s)
	}
	j, err := job.Assemble(ctx, p, s, source, stored)
	if err != nil {
		return nil, fmt.Errorf("reopen run %s: %w", p.Env.Shown(path), err)
	}
	return j, nil
}

// restoreSource gives a suite that was recorded with a run the secrets of its workspace, and leaves
// the cases in it that the run has if it judges sessions. It returns the runner of stored sessions;
// nil if there are none.
func restoreSource(p *project.Project, s *project.Spec, source *project.Source) ([]plumb.Runner, error) {
	if err := p.RestoreWorkspace(s, source.Suite); err != nil {
		return nil, err
	}
	if s.ScoredFrom != "" && len(s.Runners) > 0 {
		earlier, err := runlog.At(s.Runners[0].Replay).Fold(nil)
		if err != nil {
			return nil, fmt.Errorf("read the run whose answers are judged: %w", err)
		}
		source.Suite.Cases = recordedCases(source.Suite.Cases, earlier)
		if s.JudgeRepeat > 1 {
			source.Suite.Cases = rejudgedCases(source.Suite.Cases, earlier, s.JudgeRepeat)
		}
	}
	return storedRunners(p, s, source)
}

// keepSamples makes a finished run that is continued add nothing to the token baselines: it has
// saved its sessions there, and would add them again.
func keepSamples(path string, s *project.Spec) error {
	o := s.Snapshots
	if o == nil || !o.Update && !o.Reset {
		return nil
	}
	earlier, err := runlog.At(path).Fold(nil)
	if runlog.NotStarted(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the run: %w", err)
	}
	if earlier.End != nil && earlier.Totals.Finished == earlier.Totals.Planned {
		o.Update, o.Reset = false, false
	}
	return nil
}
