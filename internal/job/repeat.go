package job

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/run"
)

// FreshOptions are what [Fresh] needs beside the run.
type FreshOptions struct {
	// Cases are the ids of the cases to repeat, and Runner is the id of the runner to repeat them on.
	Cases       []string
	Runner      string
	Repetitions int
	Trust       Trust
	// Change may change the spec. It may be nil.
	Change func(*Spec)
}

// confirmationsDir holds the runs of [Fresh], below the output directory. They are not among the
// runs of the project, so that "last" stays the last run that the user asked for.
const confirmationsDir = "confirmations"

// Fresh opens a job that makes fresh repetitions of some cases of an earlier run, with the bundle
// and the configuration of that run. The earlier run does not change. ref is as for [Resume]. It is
// an error if something that the run recorded is different now, such as a skill or the version of
// an agent: then the repetitions would measure something else.
func Fresh(ctx context.Context, p *Project, ref string, o FreshOptions) (_ *Job, err error) {
	defer func() { err = hide(p.redact, err) }()
	path, s, err := p.earlier(ref)
	if err != nil {
		return nil, err
	}
	if err := p.mayStart(path, &s, true, o.Trust); err != nil { //nolint:contextcheck // templates have a time limit of their own
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
		s.MaxCostUSD, s.MaxTokens, s.MaxDurationMs = 0, 0, 0
		if o.Change != nil {
			o.Change(s)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := j.checkUnchanged(path, at); err != nil { //nolint:contextcheck // asking for a version has a time limit of its own
		j.Close()
		return nil, err
	}
	for i := range j.Suite.Cases { // a case may have its own number of repetitions
		j.Suite.Cases[i].Repeat = o.Repetitions
	}
	j.root = p.confirmations()
	return j, nil
}

func (p *Project) confirmations() string { return filepath.Join(p.Root, confirmationsDir) }

// checkUnchanged returns an error if the only runner of the job is not the one at index at of the
// earlier run at path any more, or works under other conditions.
func (j *Job) checkUnchanged(path string, at int) error {
	from, err := compare.Open(path, compare.OpenOptions{RedactorOf: j.project.RedactorOf})
	if err != nil {
		return err
	}
	differ := slices.DeleteFunc(j.differences(from, j.plannedSide(), at, 0), func(d compare.Difference) bool {
		return !d.Known() || d.Kind == compare.VaryJudge && !d.Used() // the cases to repeat may need no judge
	})
	if len(differ) == 0 {
		return nil
	}
	return plumb.WithHint(fmt.Errorf("run %s cannot be repeated, because something is different now: %s", from.ID,
		differenceWords(differ)), "restore it, or measure both sides again")
}
