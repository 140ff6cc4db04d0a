package job

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/run"
)

// checkQuestion checks the settings of a run until a decision, as far as they do not depend on the
// suite.
func checkQuestion(s *config.Settings) error {
	if !s.UntilDecided {
		for _, f := range []struct {
			flag string
			set  bool
		}{
			{"against", s.Against != ""}, {"gate", s.Gate != ""}, {"margin", s.Margin != ""}, {"alpha", s.Alpha != 0},
		} {
			if f.set {
				return plumb.WithHint(fmt.Errorf("--%s is only for a run until a decision", f.flag),
					"add --until-decided; to compare two finished runs: plumb compare BASELINE RUN")
			}
		}
		return nil
	}
	switch {
	case s.Against == "" && s.Gate == "":
		return plumb.WithHint(errors.New("--until-decided has no question to decide"),
			`--against BASELINE asks whether the run is better or worse than a baseline; `+
				`--gate "pass_rate >= 85%" asks on which side of a value the pass rate is`)
	case s.MaxFailures > 0:
		return plumb.WithHint(errors.New("--max-failures would end the run before the question is decided"),
			"leave it out; limit the run with --repeat, --max-cost, --max-tokens or --max-duration")
	case s.Cache != "" && s.Cache != "off":
		return plumb.WithHint(fmt.Errorf("--cache %s can repeat the answers of the baseline", s.Cache),
			"a question needs new answers: --cache off")
	case s.Alpha < 0 || s.Alpha >= 0.5:
		return plumb.WithHint(fmt.Errorf("--alpha %v is not a level", s.Alpha), "a number above 0 and below 0.5, such as 0.05")
	}
	return nil
}

// question returns what a run until a decision decides, and keeps only the cases that it can be
// decided with.
func (p *Project) question(s *Spec, r *Request, source *Source) (*compare.Question, error) {
	if len(s.Runners) != 1 {
		return nil, plumb.WithHint(fmt.Errorf("--until-decided decides about one runner, and the run has %d", len(s.Runners)),
			"choose one with --runner, --model or --agent")
	}
	q := &compare.Question{
		Against: r.Against, Gate: r.Gate, Alpha: cmp.Or(r.Alpha, 0.05), Repeat: s.Repeat, Batch: max(s.Parallel, 1),
	}
	if s.Schedule == run.Serial {
		q.Batch = 1
	}
	margin, err := compare.ParseMargin(r.Margin)
	if err != nil {
		return nil, err
	}
	if q.Margin = margin; q.Gate == "" {
		return q, p.readBaseline(q, s, source)
	}
	g, err := compare.ParseGate(q.Gate)
	switch {
	case err != nil:
		return nil, err
	case g.Metric != compare.PassRate:
		return nil, plumb.WithHint(fmt.Errorf("--until-decided cannot decide a gate on %s", g.Metric),
			`only pass_rate; for the other metrics: plumb compare A B --gate "`+g.Text+`"`)
	case g.Relative && q.Against == "":
		return nil, plumb.WithHint(fmt.Errorf("the gate %q compares with a baseline", g.Text), "name it with --against")
	case !g.Relative && q.Against != "":
		return nil, plumb.WithHint(fmt.Errorf("the gate %q needs no baseline", g.Text),
			"leave out --against, or compare with the baseline: pass_rate >= -2pp")
	case g.Relative:
		return q, p.readBaseline(q, s, source)
	}
	return q, nil
}

// readBaseline sets the results of the baseline. Cases without one are left out of the run.
func (p *Project) readBaseline(q *compare.Question, s *Spec, source *Source) error {
	path, err := run.Find(p.Runs(), q.Against)
	if err != nil {
		return err
	}
	results, err := baselineResults(path)
	if err != nil {
		return err
	}
	cases, err := s.Filter.Select(source.Suite)
	if err != nil {
		return err
	}
	var missing []string
	s.Filter = run.Filter{}
	for i := range cases {
		if results[cases[i].ID] == "" {
			missing = append(missing, cases[i].ID)
			continue
		}
		q.Baseline = append(q.Baseline, compare.BaselineResults{Case: cases[i].ID, Results: results[cases[i].ID]})
		s.Filter.IDs = append(s.Filter.IDs, cases[i].ID)
	}
	switch {
	case len(q.Baseline) == 0:
		return plumb.WithHint(fmt.Errorf("no case of the suite has a result in the baseline %s", q.Against),
			"a case needs the same id, prompt and checks: list them with plumb show "+q.Against)
	case len(missing) > 0:
		p.printf("not in the run, because the baseline has no result of them: %s", strings.Join(missing, ", "))
	}
	return nil
}

// baselineResults returns the measured results of the cases of a run.
func baselineResults(path string) (map[string]string, error) {
	found := map[string]string{}
	err := run.Read(path, func(ev plumb.Event) error {
		if j := ev.Judgement; j != nil && j.Outcome == plumb.OutcomePass {
			found[ev.Case] += "p"
		} else if j != nil && j.Outcome == plumb.OutcomeFail {
			found[ev.Case] += "f"
		}
		return nil
	})
	return found, err
}

// setSampler makes the sampler of a run until a decision. Its random numbers follow from the id of
// the run, so that every process makes the same draws.
func (j *Job) setSampler(dir *run.Dir) (err error) {
	q := j.Spec.Decide
	if q == nil {
		return nil
	}
	j.options.Sampler, err = q.Sampler(dir.ID, len(j.Suite.Cases))
	if j.options.Verify != nil {
		j.options.Verify = nil
		j.Note(plumb.Note{
			Level: "info", Text: "token snapshots are not checked, because the question decides how often a case runs",
		})
	}
	return err
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
	var s Spec // as it is on disk, without secrets
	if err := run.ReadSpec(j.dir.Path, &s); err != nil {
		return err
	}
	s.Decide.Repeat, s.Repeat = raise, raise
	return j.dir.WriteSpec(s)
}
