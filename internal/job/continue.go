package job

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Continue lets [Job.Perform] go on with the run in dir, which the job then owns. With retryErrors
// it repeats the sessions that could not be measured. repeat raises the planned repetitions of each
// case to at least this number; 0 changes nothing.
func (j *Job) Continue(dir *runlog.Dir, retryErrors bool, repeat int) error {
	j.dir, j.options.RetryErrors, j.options.Raise = dir, retryErrors, repeat
	return errors.Join(j.resumeQuestion(), j.checkRaise())
}

// resumeQuestion raises the limit of a run until a decision that is resumed. The decision stays
// valid: it holds for any number of pairs.
func (j *Job) resumeQuestion() error {
	q, o := j.Spec.Decide, &j.options
	if q == nil {
		return nil
	}
	raise := o.Raise
	o.Raise = 0 // the sampler plans the repetitions
	switch {
	case q.Fresh != "":
		return plumb.WithHint(fmt.Errorf("run %s cannot be resumed: an earlier version of Plumb made repetitions "+
			"of its baseline beside it, and this one does not", j.dir.ID), j.moreBaseline())
	case o.RetryErrors:
		return plumb.WithHint(errors.New("--retry-errors would change the draws of a run until a decision"),
			"leave it out: pairs that could not be measured stay out of the decision")
	case raise > 0 && raise < q.Repeat:
		return plumb.WithHint(fmt.Errorf("--repeat %d is below the %d of the run", raise, q.Repeat),
			"give a larger number, or leave it out")
	case raise <= q.Repeat:
		return nil
	}
	q.Repeat = raise
	j.noteStock()
	var s project.Spec // as it is on disk, without secrets
	if err := runlog.ReadSpec(j.dir.Path, &s); err != nil {
		return err
	}
	s.Decide.Repeat, s.Repeat = raise, raise
	return j.dir.WriteSpec(s)
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
	var s project.Spec // as it is on disk, without secrets
	if err := runlog.ReadSpec(dir.Path, &s); err != nil || max(s.Repeat, 1) >= state.Info.Repeat {
		return err
	}
	s.Repeat = state.Info.Repeat
	return dir.WriteSpec(s)
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

// reapRun ends the processes that an earlier process of this run left: they would work in the
// directories of sessions that are repeated. root is the directory of the run's workspaces.
func reapRun(p *project.Project, dir *runlog.Dir, root string) error {
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
		p.Printf("ended programs that the earlier process had left running: %d", len(ended))
	}
	if err != nil {
		return fmt.Errorf("end the programs that the earlier process left running: %w", err)
	}
	return nil
}
