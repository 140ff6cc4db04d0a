package project

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/calibrate"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runner"
)

// judges returns the calibrations of the project.
func (p *Project) judges() calibrate.Store {
	return calibrate.Store{Dir: filepath.Join(p.Root, "judges")}
}

// Calibrations returns the stored calibrations. It prints a warning about those that it cannot
// read.
func (p *Project) Calibrations() []*calibrate.Calibration {
	all, err := p.judges().Read()
	if err != nil {
		p.Printf("warning: %v", err)
	}
	return all
}

// Calibrated is the result of [Project.Calibrate].
type Calibrated struct {
	Calibrations []*calibrate.Calibration
	// Files are the paths of the stored calibrations.
	Files []string
	// Failed are the items that the judge could not answer.
	Failed []calibrate.Answer
	// Requests counts the requests to the judge, without those that the cache answered. CostUSD is
	// their cost, nil if it is not known.
	Requests int
	CostUSD  *float64

	redact *redact.Redactor
}

// Redactor returns the redactor for printing the result.
func (c *Calibrated) Redactor() *redact.Redactor { return c.redact }

// Calibrate puts the items of a gold file to a judge and stores how well it judges. Without a name
// the judge is that of the config. When ctx is done, it returns the error of ctx and stores
// nothing; the answers so far are in the cache.
func (p *Project) Calibrate(
	ctx context.Context, gold string, s config.Settings, progress func(done, of int),
) (_ *Calibrated, err error) {
	out := &Calibrated{redact: p.redact}
	defer func() { err = out.redact.Error(err) }()
	path := p.Env.Path(gold)
	data, err := doc.ReadStream(path, doc.StateBytes)
	if err != nil {
		return nil, err
	}
	items, warnings, err := calibrate.Parse(path, data)
	if err != nil {
		return nil, err
	}
	for i := range warnings {
		warnings[i].Pos.File = p.Env.Shown(path)
	}
	p.Warn(warnings)
	c, votes, err := p.Judge(s.Judge, s.JudgeVotes)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return nil, plumb.WithHint(errors.New("no judge to calibrate"), "name a model or a runner with --judge")
	}
	votes = max(votes, 1)
	requests := Requests{Cache: s.Cache, Parallel: cmp.Or(s.Parallel, config.DefaultParallel), Given: s.Parallel != 0}
	out.redact = p.RedactorWith(nil, c)
	f, err := p.RunnerFactory(requests, out.redact)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	judge, err := runner.NewJudge(ctx, *c, f.Env)
	if err != nil {
		return nil, err
	}
	answers := calibrate.Ask(ctx, items, calibrate.AskOptions{
		Judge: judge, Votes: votes, Parallel: requests.Parallel,
		Progress: func(done int) { progress(done, len(items)) },
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out.Calibrations, out.Failed = calibrate.Compare(answers, judge.Runner.Info(), votes)
	out.count(answers)
	if len(out.Calibrations) == 0 {
		return out, nil
	}
	if err := p.makeRoot(); err != nil {
		return nil, err
	}
	for _, c := range out.Calibrations {
		c.Gold, c.At = p.Env.Shown(path), p.Env.Now().UTC()
		clean, _ := redact.Clean(out.redact, c)
		file, err := p.judges().Write(clean)
		if err != nil {
			return nil, err
		}
		out.Files = append(out.Files, p.Env.Shown(file))
	}
	return out, nil
}

// count adds up what the answers cost.
func (c *Calibrated) count(answers []calibrate.Answer) {
	cost, priced := 0.0, true
	for _, a := range answers {
		for _, v := range []plumb.Verdict{a.Verdict, a.Swapped} {
			if v.Asked == nil {
				continue
			}
			c.Requests += v.Asked.Requests
			if v.Asked.CostUSD == nil {
				priced = priced && v.Asked.Requests == 0
				continue
			}
			cost += *v.Asked.CostUSD
		}
	}
	if priced {
		c.CostUSD = &cost
	}
}
