package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// openCompanion opens the job with the fresh repetitions of the baseline of a question. An error
// says why the baseline cannot be repeated.
func (j *Job) openCompanion(base *compare.Side, m *compare.Matching) (err error) {
	if !base.Extendable() {
		return fmt.Errorf("%s is not a run of this project", base.Name)
	}
	if len(m.Varied) == 0 {
		return errors.New("nothing that Plumb records differs from the baseline, so it would be this run again")
	}
	var cases []string
	for i := range m.Runners[0].Pairs {
		cases = append(cases, m.Runners[0].Pairs[i].BaseCase)
	}
	j.companion, err = Fresh(context.Background(), j.project, base.Path, FreshOptions{
		Cases: cases, Runner: m.Runners[0].Base, Repetitions: j.Spec.Decide.Repeat, Trust: Trust{Command: "run"},
		Change: j.shareLimits,
	})
	return err
}

// shareLimits gives the companion the limits of this run.
func (j *Job) shareLimits(s *Spec) {
	own := &j.Spec.Settings
	s.Parallel, s.MaxCostUSD, s.MaxTokens, s.AllowUnmetered = own.Parallel, own.MaxCostUSD, own.MaxTokens, own.AllowUnmetered
	s.MaxDurationMs = 0 // the companion ends with this run
}

// recordCompanion makes the directory of the companion, before the run names it in its run.json. So
// a run that names a companion has one.
func (j *Job) recordCompanion() error {
	c := j.companion
	if c == nil || c.dir != nil {
		return nil
	}
	dir, err := j.project.newRun(c.root)
	if err != nil {
		return err
	}
	c.options.Info.Setup = c.setup()
	if err := c.record(dir); err != nil {
		return errors.Join(err, dir.Discard())
	}
	c.dir, j.Spec.Decide.Fresh = dir, dir.ID
	return nil
}

// reopenCompanion opens the companion of a run that is resumed.
func (j *Job) reopenCompanion(ctx context.Context, trust Trust) error {
	q := j.Spec.Decide
	if q == nil || q.Fresh == "" {
		return nil
	}
	p := j.project
	path := filepath.Join(filepath.Dir(filepath.Dir(j.dir.Path)), confirmationsDir, filepath.Base(q.Fresh))
	gone := func(err error) error {
		return plumb.WithHint(fmt.Errorf("the run needs repetitions of its baseline: %w", err),
			"they are in "+p.env.Shown(path)+"; without them, start another run")
	}
	var s Spec
	if err := runlog.ReadSpec(path, &s); err != nil {
		return gone(err)
	}
	if err := p.mayStart(path, &s, true, trust); err != nil { //nolint:contextcheck // templates have a time limit of their own
		return err
	}
	dir, err := runlog.Open(path)
	if err != nil {
		return gone(err)
	}
	c, err := p.reopen(ctx, path, j.shareLimits)
	if err != nil {
		return errors.Join(gone(err), dir.Close())
	}
	c.dir, j.companion = dir, c
	return nil
}

// accompany prepares the companion to run beside this job, and to make what d wants.
func (j *Job) accompany(d *compare.Deciding) {
	c := j.companion
	at := map[string]int{}
	for i, b := range j.Spec.Decide.Baseline {
		at[cmp.Or(b.BaseCase, b.Case)] = i
	}
	var indexes []int
	for i := range c.Suite.Cases {
		indexes = append(indexes, at[c.Suite.Cases[i].ID])
	}
	o := c.options
	o.MaxCostUSD, o.MaxTokens = j.options.MaxCostUSD, j.options.MaxTokens
	o.AllowUnmetered, o.Parallel = j.options.AllowUnmetered, j.options.Parallel
	o.Dir, o.Sampler, o.Verify = c.dir, d.Baseline(indexes), nil
	o.Index = &runlog.Index{}
	c.closers = append(c.closers, o.Index.Close)
	document := results.NewWriter(results.Options{Sessions: o.Index.Sessions})
	o.Emit = func(ev plumb.Event, state *plumb.Run) error {
		if ev.Type == plumb.EventRunFinished {
			return c.writeResults(c.dir, document, state, o.Index)
		}
		if n := ev.Note; n != nil && n.Level == "warning" {
			j.Note(plumb.Note{Level: n.Level, Text: "the baseline: " + strings.TrimSpace(n.Text), Hint: n.Hint})
		}
		return nil
	}
	j.options.Companion = &o
}
