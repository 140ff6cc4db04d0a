package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner"
)

// ResumeOptions are what [Resume] needs beside the run.
type ResumeOptions struct {
	// Change may change the limits and the parallelism of the run. It may be nil.
	Change func(*Spec)
	// RetryErrors also repeats the sessions that could not be measured.
	RetryErrors bool
	// Repeat raises the planned repetitions of each case to at least this number; 0 changes nothing.
	Repeat int
	Trust  Trust
}

// Resume opens the job of an earlier run, which [Job.Perform] continues. ref is the id of the run,
// the beginning or end of its id, its directory, or "" for the last run. Resume locks the run.
func Resume(ctx context.Context, p *Project, ref string, o ResumeOptions) (_ *Job, err error) {
	defer func() { err = p.redact.Error(err) }()
	path, s, err := p.earlier(ref)
	if err != nil {
		return nil, err
	}
	if err := p.mayStart(path, &s, true, o.Trust); err != nil { //nolint:contextcheck // templates have a time limit of their own
		return nil, err
	}
	dir, err := runlog.Open(path)
	if err != nil {
		return nil, err
	}
	// Processes that were killed may have left incomplete files, in the run and in the cache.
	dayAgo := p.env.Now().Add(-24 * time.Hour)
	if err := errors.Join(dir.Clean(), (&runner.Cache{Dir: p.cache()}).Clean(dayAgo)); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	j, err := p.reopen(ctx, dir.Path, o.Change)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	j.dir, j.options.RetryErrors, j.options.Raise = dir, o.RetryErrors, o.Repeat
	if err := errors.Join(j.resumeQuestion(), j.checkRaise()); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// checkRaise returns an error if more repetitions are wanted of a run that only plays stored
// sessions.
func (j *Job) checkRaise() error {
	s := &j.Spec
	if j.options.Raise == 0 {
		return nil
	}
	const what = "--repeat cannot add repetitions to a run that "
	if s.ScoredFrom != "" {
		return plumb.WithHint(errors.New(what+"judges the sessions of another run again"),
			"plumb resume "+s.ScoredFrom+" --repeat "+strconv.Itoa(j.options.Raise)+", then plumb score "+s.ScoredFrom)
	}
	replays := func(r plumb.RunnerConfig) bool { return r.Replay != "" }
	if s.Sessions != nil || slices.ContainsFunc(s.Runners, replays) {
		return plumb.WithHint(errors.New(what+"plays stored sessions"), "leave --repeat out")
	}
	return nil
}

// recordRaise sets the number of repetitions in run.json to that of the log, which decides. They
// differ after the run was raised, or after a process was killed in between.
func recordRaise(dir *runlog.Dir, state *plumb.Run) error {
	var s Spec // as it is on disk, without secrets
	if err := runlog.ReadSpec(dir.Path, &s); err != nil || max(s.Repeat, 1) >= state.Info.Repeat {
		return err
	}
	s.Repeat = state.Info.Repeat
	return dir.WriteSpec(s)
}

// earlier finds an earlier run and reads its run.json. ref is as for [Resume].
func (p *Project) earlier(ref string) (path string, s Spec, err error) {
	if path, err = runlog.Find(p.Runs(), ref); err == nil {
		err = runlog.ReadSpec(path, &s)
	}
	return path, s, err
}

// reopen assembles the job of the earlier run at path.
func (p *Project) reopen(ctx context.Context, path string, change func(*Spec)) (_ *Job, err error) {
	var s Spec
	if err := runlog.ReadSpec(path, &s); err != nil {
		return nil, err
	}
	if s.Demo {
		return nil, plumb.WithHint(errors.New("a demo cannot be resumed"), "plumb demo")
	}
	if !runlog.MadeHere(p.Runs(), path) {
		s.BaselineFrom = "" // a run from elsewhere must not read other runs
	}
	if err := p.restoreRunners(&s); err != nil {
		return nil, err
	}
	source, err := p.readRecorded(ctx, path, s.TimeoutMs.Duration())
	if err != nil {
		return nil, err
	}
	stored, err := p.restoreSource(&s, source)
	if err == nil {
		err = keepSamples(path, &s)
	}
	if err != nil {
		return nil, errors.Join(err, source.Close())
	}
	if change != nil {
		change(&s)
	}
	j, err := p.assemble(s, source, stored) //nolint:contextcheck // finding a version has its own time limit
	if err != nil {
		return nil, fmt.Errorf("reopen run %s: %w", p.env.Shown(path), err)
	}
	return j, nil
}

// restoreSource gives a suite that was recorded with a run the secrets of its workspace, and leaves the
// cases in it that the run has if it judges sessions. It returns the runner of stored sessions; nil if
// there are none.
func (p *Project) restoreSource(s *Spec, source *Source) ([]plumb.Runner, error) {
	if err := p.restoreWorkspace(s, source.Suite); err != nil {
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
	return p.storedRunners(s, source)
}

// unsaved returns the green executions of the run at path whose token counts are not in the file of
// baselines: those that ended after the last process that came to its end.
func unsaved(path string) (map[[2]string]bool, error) {
	found := map[[2]string]bool{}
	err := runlog.At(path).Read(func(ev plumb.Event) error {
		switch ev.Type { //nolint:exhaustive // the others say nothing about it
		case plumb.EventExecutionFinished:
			found[[2]string{ev.Case, ev.Runner}] = ev.Result != nil && ev.Result.Status == plumb.StatusPassed
		case plumb.EventRunFinished:
			clear(found)
		}
		return nil
	})
	if err != nil && !runlog.NotStarted(err) {
		return nil, fmt.Errorf("read the run: %w", err)
	}
	return found, nil
}

// recoverBaselines adds the executions to the token baselines that a killed process did not save.
func (j *Job) recoverBaselines(missed map[[2]string]bool, state *plumb.Run, index *runlog.Index) error {
	for i := range j.Suite.Cases {
		c := &j.Suite.Cases[i]
		for _, r := range state.Info.Runners {
			if !missed[[2]string{c.ID, r.ID}] {
				continue
			}
			last := map[int]*plumb.SessionReport{} // of each repetition
			if err := index.Sessions(c.ID, r.ID, func(ev plumb.Event) error {
				if ev.Type == plumb.EventSessionFinished {
					last[ev.Repetition] = ev.Report
				}
				return nil
			}); err != nil {
				return err
			}
			var reports []*plumb.SessionReport
			for _, n := range slices.Sorted(maps.Keys(last)) {
				if last[n] != nil {
					reports = append(reports, last[n])
				}
			}
			j.baselines.Recover(c, r, reports)
		}
	}
	return nil
}

// keepSamples makes a finished run that is continued add nothing to the token baselines: it has
// saved its sessions there, and would add them again.
func keepSamples(path string, s *Spec) error {
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

// reapRun ends the processes that an earlier process of this run left: they would work in the
// directories of sessions that are repeated. root is the directory of the run's workspaces.
func (p *Project) reapRun(dir *runlog.Dir, root string) error {
	claims, err := runlog.Claims()
	if err != nil {
		return err
	}
	path, err := filepath.Abs(dir.Path)
	if err != nil {
		return err
	}
	path = files.Resolved(path)
	var workspaces []string
	for _, dir := range run.WorkspacesOf(root, dir.ID) {
		workspaces = append(workspaces, files.Resolved(dir))
	}
	within := func(dir string) bool {
		return slices.ContainsFunc(workspaces, func(ws string) bool { return files.Within(dir, ws) })
	}
	ended, err := proc.Reap(func(t proc.Trace) bool {
		id, _, _ := strings.Cut(t.Marker, "/")
		return t.Dir != "" && within(t.Dir) || id == dir.ID || id != "" && claims[id].RunDir == path
	})
	if len(ended) > 0 {
		p.printf("ended programs that the earlier process had left running: %d", len(ended))
	}
	if err != nil {
		return fmt.Errorf("end the programs that the earlier process left running: %w", err)
	}
	return nil
}
