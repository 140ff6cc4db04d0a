package job

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
)

// FreshOptions are what [Fresh] needs beside the run.
type FreshOptions struct {
	// Cases are the ids of the cases to repeat, and Runner is the id of the runner to repeat them on.
	Cases       []string
	Runner      string
	Repetitions int
	Trust       Trust
}

// confirmationsDir holds the runs of [Fresh], below the output directory. They are not among the
// runs of the project, so that "last" stays the last run that the user asked for.
const confirmationsDir = "confirmations"

// Fresh opens a job that makes fresh repetitions of some cases of an earlier run, with the bundle
// and the configuration of that run. The earlier run does not change. ref is as for [Resume].
func Fresh(ctx context.Context, p *Project, ref string, o FreshOptions) (_ *Job, err error) {
	defer func() { err = hide(p.redact, err) }()
	path, s, err := p.earlier(ref)
	if err != nil {
		return nil, err
	}
	if err := p.mayStart(path, &s, true, o.Trust); err != nil {
		return nil, err
	}
	state, err := run.Fold(path)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(state.Info.Runners, func(r plumb.RunnerInfo) bool { return r.ID == o.Runner })
	replayed := s.ScoredFrom != "" || s.Sessions != nil || len(s.Runners) != len(state.Info.Runners)
	if at < 0 || replayed || s.Runners[at].Replay != "" {
		return nil, plumb.WithHint(fmt.Errorf("run %s cannot repeat cases on runner %s", state.Info.ID, o.Runner),
			"--confirm needs two runs that asked their runners themselves")
	}
	j, err := p.reopen(ctx, path, func(s *Spec) {
		s.Runners = s.Runners[at : at+1]
		s.Filter = run.Filter{IDs: o.Cases}
		s.Repeat, s.AllRepetitions, s.MaxFailures, s.Cache, s.Output = o.Repetitions, true, 0, "off", ""
		s.CreatedAt, s.PlumbVersion, s.Distrusted, s.Snapshots = p.env.Now().UTC(), Version(), nil, nil
		s.Decide, s.BaselineFrom = nil, "" // fresh repetitions have neither a question nor earlier sessions
	})
	if err != nil {
		return nil, err
	}
	for i := range j.Suite.Cases { // a case may have its own number of repetitions
		j.Suite.Cases[i].Repeat = o.Repetitions
	}
	j.root = filepath.Join(p.Root, confirmationsDir)
	return j, nil
}
