package job

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// opening is a job while it is opened: its spec is completed from the request, and then everything
// that the spec describes is made. Each method is one step. No step makes a request or writes
// anything.
type opening struct {
	*Job

	source  *Source
	request Request
	// redact removes the known secrets from errors: those of the project, and later those of the
	// runners.
	redact *redact.Redactor
}

// Open prepares a run of source. It makes no request and writes nothing. The job owns source, which
// is closed if Open fails.
func Open(p *Project, source *Source, r Request) (*Job, error) {
	o := p.opening(p.newSpec(source, r.Settings.Settings), source)
	o.request = r
	return o.done(inTurn(
		o.checkQuestion,
		o.chooseRunners,
		o.chooseJudges,
		o.chooseDirectories,
		o.checkTwins,
		o.ask,
		o.findFiles,
		o.assemble,
		o.readBaseline,
	))
}

// assemble makes the job that a complete spec describes, and owns source as [Open] does. Runners that
// the caller made replace those of the spec.
func (p *Project) assemble(s Spec, source *Source, own []plumb.Runner) (*Job, error) {
	o := p.opening(s, source)
	o.request.OwnRunners = own
	return o.done(o.assemble())
}

func (p *Project) opening(s Spec, source *Source) *opening {
	return &opening{
		Job: &Job{
			Spec: s, project: p, bundle: source.Bundle, suiteCases: len(source.Suite.Cases), closers: []func() error{source.Close},
		},
		source: source, redact: p.redact,
	}
}

// assemble makes what a complete spec describes.
func (o *opening) assemble() error {
	return inTurn(
		o.refuseSecrets,
		o.selectCases,
		o.openFactory,
		o.makeRunners,
		o.describe,
		o.withhold,
		o.makeJudges,
		o.openBaselines,
		o.planBudget,
		o.takeOver,
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
		return nil, o.project.redact.Error(o.redact.Error(err))
	}
	return o.Job, nil
}

// checkQuestion checks the settings of a run until a decision.
func (o *opening) checkQuestion() error { return checkQuestion(&o.request.Settings) }

// chooseRunners sets the runners, with those that --ablate adds, and the selected cases.
func (o *opening) chooseRunners() (err error) {
	s, r := &o.Spec, &o.request
	s.Selected, s.Demo = r.RunnerIDs, r.Demo
	s.AllRepetitions = s.AllRepetitions || r.Ablate != "" || r.UntilDecided
	s.Filter.IDs = caseIDs(s.Filter.IDs, o.source.Suite)
	s.Runners, err = withTwins(r.Runners, r.Ablate)
	return err
}

// chooseJudges sets the judge and the embedder.
func (o *opening) chooseJudges() error {
	err := o.project.chooseJudges(&o.Spec, o.request.Judge, o.request.Embedder)
	o.Spec.shareAddress(o.request.BaseURL)
	return err
}

// chooseDirectories sets where sessions work.
func (o *opening) chooseDirectories() error {
	return o.project.directories(&o.Spec, &o.request, o.source)
}

// checkTwins checks that --ablate can withhold something.
func (o *opening) checkTwins() error { return checkTwins(&o.Spec, o.request.Ablate) }

// ask sets the question of a run until a decision.
func (o *opening) ask() (err error) {
	if o.request.UntilDecided {
		o.Spec.Decide, err = o.request.question(&o.Spec)
	}
	return err
}

// findFiles sets the file of --output, and the run of --baseline-from.
func (o *opening) findFiles() error {
	s := &o.Spec
	s.Output = o.project.env.Path(s.Output)
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
	o.redact = o.project.redactor(s.words(o.Suite), *s)
	if o.factory, err = o.project.runnerFactory(s.Cache, s.Parallel, o.request.Plan, o.redact); err == nil {
		o.factory.env.ReplayFinal = s.ScoredFrom != ""
	}
	return err
}

// makeRunners makes the runners of the spec, unless the caller made some.
func (o *opening) makeRunners() error {
	s := &o.Spec
	o.runners = o.request.OwnRunners
	if len(s.Runners) == 0 && len(o.runners) == 0 {
		return errors.New("the run has no runners")
	}
	if o.runners == nil {
		made, err := o.factory.make(s.Runners)
		if err != nil {
			return err
		}
		o.runners, o.options.Unavailable, s.Distrusted = made.runners, made.unavailable, made.distrusted
	}
	if s.JudgeRepeat > 1 {
		for i, r := range o.runners {
			o.runners[i] = rejudged{r, s.JudgeRepeat}
		}
	}
	return nil
}

// describe describes the run to the engine.
func (o *opening) describe() error {
	o.setOptions(o.source.Suite)
	return o.checkGates(o.source.Suite)
}

// planBudget lets the engine know what sessions use, and checks the budget.
func (o *opening) planBudget() error {
	o.forecast = o.newForecaster()
	o.options.Forecast = o.forecast.of
	return o.checkBudget()
}

// takeOver takes over the repetitions of an earlier run.
func (o *opening) takeOver() error {
	if o.Spec.BaselineFrom == "" {
		return nil
	}
	return o.takeFrom(o.Spec.BaselineFrom)
}

// readBaseline pairs the cases of a run until a decision with those of its baseline.
func (o *opening) readBaseline() error {
	o.dropCopies()
	return o.Job.readBaseline(o.request.Vary)
}
