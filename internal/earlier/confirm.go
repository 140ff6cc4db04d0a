package earlier

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// ConfirmOptions are what [Confirm] needs beside the run.
type ConfirmOptions struct {
	// Cases are the ids of the cases to repeat, and Runner is the id of the runner to repeat them on.
	Cases       []string
	Runner      string
	Repetitions int
	Trust       project.Trust
	// Again repeats the cases that were confirmed before, too.
	Again bool
	// Perform performs the job of a new or of an interrupted confirmation. Its error ends the rest.
	Perform func(*job.Job) error
}

// of returns RUN#RUNNER, which run.json names.
func (o *ConfirmOptions) of(side *compare.Side) string { return side.ID + "#" + o.Runner }

// runner returns the index of the runner in its run, of which side may be a part.
func (o *ConfirmOptions) runner(side *compare.Side) int {
	return slices.IndexFunc(side.Run.Info.Runners, func(r plumb.RunnerInfo) bool { return r.ID == o.Runner })
}

// Confirmed counts the fresh repetitions of a case in all confirmations of it.
type Confirmed struct {
	compare.Count
	Confirmations int
}

// Confirm returns the fresh repetitions of some cases of a run, by case. It uses those of earlier
// confirmations of the run, finishes the ones that were interrupted, and asks the runner only for
// what is missing. Only one process at a time confirms cases of a run.
func Confirm(
	ctx context.Context, p *project.Project, side *compare.Side, o ConfirmOptions,
) (found map[string]Confirmed, err error) {
	err = doc.Update(ctx, filepath.Join(p.Root, "confirm-"+side.ID), func(string) error {
		found, err = confirm(ctx, p, side, &o)
		return err
	})
	return found, p.Redactor().Error(err)
}

func confirm(
	ctx context.Context, p *project.Project, side *compare.Side, o *ConfirmOptions,
) (map[string]Confirmed, error) {
	earlier, err := confirmationsOf(p, o.of(side), o.Repetitions)
	if err != nil {
		return nil, err
	}
	wanted := slices.Clone(o.Cases)
	for _, c := range earlier {
		if !slices.ContainsFunc(o.Cases, func(x string) bool { return slices.Contains(c.cases, x) }) {
			continue
		}
		switch {
		case !c.done:
			p.Printf("continuing the confirmation %s", p.Env.Shown(c.path))
			if err := continueConfirmation(ctx, p, side, c.path, o); err != nil {
				return nil, err
			}
		case !o.Again:
			p.Printf("using the confirmation %s, which exists already (--confirm-again adds another one)",
				p.Env.Shown(c.path))
		}
		if !c.done || !o.Again {
			wanted = slices.DeleteFunc(wanted, func(x string) bool { return slices.Contains(c.cases, x) })
		}
	}
	if len(wanted) > 0 {
		j, err := fresh(ctx, p, side, wanted, o)
		if err != nil {
			return nil, err
		}
		err = o.Perform(j)
		j.Close()
		if err != nil {
			return nil, err
		}
	}
	all, err := confirmationsOf(p, o.of(side), o.Repetitions)
	if err != nil {
		return nil, err
	}
	found := map[string]Confirmed{}
	for _, c := range all {
		repeated, err := p.OpenSide(c.path)
		if err != nil {
			return nil, err
		}
		for _, x := range o.Cases {
			if slices.Contains(c.cases, x) {
				n, f := repeated.Count(x, o.Runner), found[x]
				f.Passed, f.Measured, f.Unmeasured = f.Passed+n.Passed, f.Measured+n.Measured, f.Unmeasured+n.Unmeasured
				f.Confirmations++
				found[x] = f
			}
		}
	}
	return found, nil
}

// fresh opens a job that makes fresh repetitions of cases of a run, with the bundle and the
// configuration of that run. It is an error if something that the run recorded is different now,
// such as a skill or the version of an agent: then the repetitions would measure something else.
func fresh(ctx context.Context, p *project.Project, side *compare.Side, cases []string, o *ConfirmOptions) (
	*job.Job, error,
) {
	var s project.Spec
	if err := runlog.ReadSpec(side.Path, &s); err != nil {
		return nil, err
	}
	if err := p.MayStart(ctx, side.Path, &s, true, o.Trust); err != nil {
		return nil, err
	}
	at := o.runner(side)
	replayed := s.ScoredFrom != "" || s.Sessions != nil || len(s.Runners) != len(side.Run.Info.Runners)
	if at < 0 || replayed || s.Runners[at].Replay != "" {
		return nil, plumb.WithHint(fmt.Errorf("run %s cannot repeat cases on runner %s", side.ID, o.Runner),
			"--confirm needs two runs that asked their runners themselves")
	}
	j, err := reopen(ctx, p, side.Path, func(s *project.Spec) {
		s.Runners = s.Runners[at : at+1]
		s.Filter = run.Filter{IDs: cases}
		s.Repeat, s.AllRepetitions, s.MaxFailures, s.Cache, s.Output = o.Repetitions, true, 0, "off", ""
		s.CreatedAt, s.PlumbVersion, s.Distrusted, s.Snapshots = p.Env.Now().UTC(), project.Version(), nil, nil
		s.Decide, s.BaselineFrom = nil, "" // fresh repetitions have neither a question nor earlier sessions
		s.MaxCostUSD, s.MaxTokens, s.MaxDurationMs = 0, 0, 0
		s.Confirms = o.of(side)
	})
	if err != nil {
		return nil, err
	}
	if err := j.Unchanged(ctx, side.Path, at); err != nil {
		j.Close()
		return nil, err
	}
	j.RepeatAll()
	j.Root = p.Confirmations()
	return j, nil
}

// confirmation is a run of [Confirm]. It is done if it has all measurements.
type confirmation struct {
	path  string
	cases []string
	done  bool
}

// confirmationsOf returns the confirmations of RUN#RUNNER, the oldest first.
func confirmationsOf(p *project.Project, id string, repetitions int) ([]confirmation, error) {
	ids, err := runlog.List(p.Confirmations())
	if err != nil {
		return nil, err
	}
	var all []confirmation
	for _, name := range ids {
		path := filepath.Join(p.Confirmations(), name)
		var s project.Spec
		if runlog.ReadSpec(path, &s) != nil || s.Confirms != id || s.Repeat != repetitions ||
			!runlog.MadeHere(p.Confirmations(), path) {
			continue
		}
		c := confirmation{path: path, cases: s.Filter.IDs}
		state, err := runlog.At(path).Fold(nil)
		if runlog.NotStarted(err) {
			continue // it has nothing
		}
		if err != nil {
			return nil, fmt.Errorf("read a confirmation of %s: %w", id, err)
		}
		c.done = state.End != nil && state.Totals.Finished == state.Totals.Planned &&
			state.Totals.Planned > 0 && state.Totals.Errored == 0
		all = append(all, c)
	}
	return all, nil
}

// continueConfirmation finishes the confirmation at path.
func continueConfirmation(
	ctx context.Context, p *project.Project, side *compare.Side, path string, o *ConfirmOptions,
) error {
	j, err := Resume(ctx, p, path, ResumeOptions{RetryErrors: true, Trust: o.Trust})
	if err != nil {
		return err
	}
	defer j.Close()
	if err := j.Unchanged(ctx, side.Path, o.runner(side)); err != nil {
		return err
	}
	j.RepeatAll()
	return o.Perform(j)
}
