package job

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// opening is a job while it is opened: its spec is completed from the request, and then everything
// that the spec describes is made. Each method is one step. No step makes a request or writes
// anything.
type opening struct {
	*Job

	source  *project.Source
	request Request
	// redact removes the known secrets from errors: those of the project, and later those of the
	// runners.
	redact *redact.Redactor
}

// Open prepares a run of source. It makes no request and writes nothing. The job owns source, which
// is closed if Open fails.
func Open(ctx context.Context, p *project.Project, source *project.Source, r Request) (*Job, error) {
	o := newOpening(p, p.NewSpec(source, r.Settings.Settings), source)
	o.request = r
	return o.done(inTurn(
		o.checkQuestion,
		o.chooseRunners,
		o.chooseJudges,
		o.chooseSnapshots,
		o.chooseWorkspace,
		o.checkTwins,
		o.ask,
		o.findFiles,
		func() error { return o.assemble(ctx) },
		o.readBaseline,
	))
}

// Assemble makes the job that a complete spec describes, and owns source as [Open] does. Runners
// that the caller made replace those of the spec.
func Assemble(
	ctx context.Context, p *project.Project, s project.Spec, source *project.Source, own []plumb.Runner,
) (*Job, error) {
	o := newOpening(p, s, source)
	o.request.OwnRunners = own
	return o.done(o.assemble(ctx))
}

func newOpening(p *project.Project, s project.Spec, source *project.Source) *opening {
	return &opening{
		Job: &Job{
			Spec: s, project: p, bundle: source.Bundle, suiteCases: len(source.Suite.Cases),
			closers: []func() error{source.Close},
		},
		source: source, redact: p.Redactor(),
	}
}

// assemble makes what a complete spec describes.
func (o *opening) assemble(ctx context.Context) error {
	return inTurn(
		o.refuseSecrets,
		o.selectCases,
		o.openFactory,
		func() error { return o.makeRunners(ctx) },
		o.describe,
		o.withhold,
		func() error { return o.makeJudges(ctx) },
		o.openBaselines,
		o.planBudget,
		func() error { return o.takeOver(ctx) },
	)
}

// inTurn takes steps until one fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// done returns the job, or closes it after an error.
func (o *opening) done(err error) (*Job, error) {
	if err != nil {
		o.Close()
		return nil, o.project.Redactor().Error(o.redact.Error(err))
	}
	return o.Job, nil
}

// chooseRunners sets the runners, with those that --ablate adds, their schedule, and the selected
// cases.
func (o *opening) chooseRunners() (err error) {
	s, r := &o.Spec, &o.request
	s.Selected, s.Demo = r.RunnerIDs, r.Demo
	s.AllRepetitions = s.AllRepetitions || r.Ablate != "" || r.UntilDecided
	s.Filter.IDs = caseIDs(s.Filter.IDs, o.source.Suite)
	s.Runners, err = withTwins(r.Runners, r.Ablate)
	o.chooseSchedule()
	return err
}

// chooseJudges sets the judge and the embedder.
func (o *opening) chooseJudges() error {
	err := o.project.ChooseJudges(&o.Spec, o.request.Judge, o.request.Embedder)
	shareAddress(&o.Spec, o.request.BaseURL)
	return err
}

// shareAddress gives the address of the flag --base-url to a judge and an embedder of the same
// provider without an address of their own: prompts and answers must not leave for another one.
func shareAddress(s *project.Spec, baseURL string) {
	if baseURL == "" {
		return
	}
	providers := map[string]bool{}
	for i := range s.Runners {
		if target, err := modelapi.Resolve(s.Runners[i].Model); err == nil && s.Runners[i].BaseURL == baseURL {
			providers[target.Provider] = true
		}
	}
	for _, c := range []*plumb.RunnerConfig{s.Judge, s.Embedder} {
		if c == nil || c.BaseURL != "" {
			continue
		}
		if target, err := modelapi.Resolve(c.Model); err == nil && providers[target.Provider] {
			c.BaseURL = baseURL
		}
	}
}

// findFiles sets the file of --output, and the run of --baseline-from.
func (o *opening) findFiles() error {
	s := &o.Spec
	s.Output = o.project.Env.Path(s.Output)
	if o.request.BaselineFrom == "" {
		return nil
	}
	path, err := runlog.Find(o.project.Runs(), o.request.BaselineFrom)
	if err != nil {
		return fmt.Errorf("--baseline-from: %w", err)
	}
	s.BaselineFrom, err = filepath.Abs(path)
	return err
}

// refuseSecrets refuses a suite that holds secrets.
func (o *opening) refuseSecrets() error {
	if found := o.project.Planted(o.source.Bundle, func() *plumb.Suite { return o.source.Suite }); len(found) > 0 {
		return doc.Problems(found)
	}
	return nil
}

// selectCases makes the suite of the job.
func (o *opening) selectCases() (err error) {
	selected := *o.source.Suite
	o.Suite = &selected
	selected.Cases, err = o.Spec.Filter.Select(o.source.Suite)
	return err
}

// openFactory opens what makes runners, and from then on hides all secrets of the job.
func (o *opening) openFactory() (err error) {
	s := &o.Spec
	o.redact = o.project.RedactorWith(s.Words(o.Suite), *s)
	requests := project.Requests{
		Cache: s.Cache, Parallel: s.Parallel, Given: s.ParallelGiven, Planning: o.request.Plan,
	}
	if o.factory, err = o.project.RunnerFactory(requests, o.redact); err == nil {
		o.factory.Env.ReplayFinal = s.ScoredFrom != ""
	}
	return err
}

// makeRunners makes the runners of the spec, unless the caller made some.
func (o *opening) makeRunners(ctx context.Context) error {
	s := &o.Spec
	o.runners = o.request.OwnRunners
	if len(s.Runners) == 0 && len(o.runners) == 0 {
		return errors.New("the run has no runners")
	}
	if o.runners == nil {
		made, err := o.factory.Make(ctx, s.Runners)
		if err != nil {
			return err
		}
		o.runners, o.options.Unavailable, s.Distrusted = made.Runners, made.Unavailable, made.Distrusted
	}
	if s.JudgeRepeat > 1 {
		for i, r := range o.runners {
			o.runners[i] = rejudged{r, s.JudgeRepeat}
		}
	}
	return nil
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

// describe describes the run to the engine.
func (o *opening) describe() error {
	o.setOptions(o.source.Suite)
	return o.checkGates(o.source.Suite)
}

// planBudget lets the engine know what sessions use, and checks the budget.
func (o *opening) planBudget() error {
	o.forecast = o.newForecaster()
	o.options.Forecast = o.forecast.Of
	return o.checkBudget()
}

// takeOver takes over the repetitions of an earlier run.
func (o *opening) takeOver(ctx context.Context) error {
	if o.Spec.BaselineFrom == "" {
		return nil
	}
	return o.takeFrom(ctx, o.Spec.BaselineFrom)
}
