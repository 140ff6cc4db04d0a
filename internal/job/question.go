package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// checkQuestion checks the settings of a run until a decision, as far as they do not depend on the
// suite.
func (o *opening) checkQuestion() error {
	s := &o.request.Settings
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
	case s.BaselineFrom != "" || s.Ablate != "":
		return plumb.WithHint(errors.New("--until-decided cannot be combined with --baseline-from or --ablate"),
			"decide first; then start another run")
	case s.Cache != "" && s.Cache != "off":
		return plumb.WithHint(fmt.Errorf("--cache %s can repeat the answers of the baseline", s.Cache),
			"a question needs new answers: --cache off")
	case s.Alpha >= 0.5: // setting.Setting.Check refuses 0
		return plumb.WithHint(fmt.Errorf("--alpha %v is not a level", s.Alpha),
			"a number above 0 and below 0.5, such as 0.05")
	}
	return nil
}

// ask sets what a run until a decision decides, without the results of the baseline.
func (o *opening) ask() error {
	s, r := &o.Spec, &o.request
	if !r.UntilDecided {
		return nil
	}
	if n := len(s.Runners); n != 1 {
		return plumb.WithHint(fmt.Errorf("--until-decided decides about one runner, and the run has %d", n),
			"choose one with --runner, --model or --agent")
	}
	q := &compare.Question{
		Against: r.Against, Gate: r.Gate, Alpha: cmp.Or(r.Alpha, compare.DefaultChoices().Alpha), Repeat: s.Repeat,
		Batch: max(s.Parallel, 1),
	}
	if s.Schedule == run.Serial || s.Schedule == run.IsolatedByRunner {
		q.Batch = 1
	}
	s.Decide = q
	if err := setMargin(q, r.Margin); err != nil || q.Gate == "" {
		return err
	}
	g, err := compare.ParseGate(q.Gate)
	switch {
	case err != nil:
		return err
	case g.Metric != compare.PassRate:
		return plumb.WithHint(fmt.Errorf("--until-decided cannot decide a gate on %s", g.Metric),
			`only pass_rate; for the other metrics: plumb compare A B --gate "`+g.Text+`"`)
	case g.Relative && q.Against == "":
		return plumb.WithHint(fmt.Errorf("the gate %q compares with a baseline", g.Text), "name it with --against")
	case !g.Relative && q.Against != "":
		return plumb.WithHint(fmt.Errorf("the gate %q needs no baseline", g.Text),
			"leave out --against, or compare with the baseline: pass_rate >= -2pp")
	}
	return nil
}

// setMargin reads --margin.
func setMargin(q *compare.Question, text string) error {
	q.Margin = compare.DecideMargin
	if text == "" {
		return nil
	}
	margins, err := compare.ParseMargins([]string{text})
	if err != nil {
		return err
	}
	var ok bool
	if q.Margin, ok = margins[compare.PassRate]; !ok {
		return plumb.WithHint(fmt.Errorf("--margin %s: a run until a decision only decides about pass rates", text),
			"such as --margin 5pp")
	}
	return nil
}

// Copies returns the indexes of the cases that are copies of others; see [analyze.Copies]. words
// say which ones.
func (j *Job) Copies() (copies map[int]int, words string) {
	cases := j.Suite.Cases
	copies = analyze.Copies(len(cases), func(i int) string { return cases[i].Hash })
	var names [][2]string
	for _, i := range slices.Sorted(maps.Keys(copies)) {
		names = append(names, [2]string{cases[i].ID, cases[copies[i]].ID})
	}
	return copies, compare.CopyWords(names)
}

// dropCopies leaves the copies of cases out of a run until a decision, which draws cases as if they
// were independent of each other.
func (j *Job) dropCopies() {
	copies, words := j.Copies()
	if j.Spec.Decide == nil || len(copies) == 0 {
		return
	}
	j.Note(plumb.Note{Level: "warning", Text: words})
	var kept []plumb.Case
	j.Spec.Filter = run.Filter{}
	for i, c := range j.Suite.Cases {
		if _, is := copies[i]; !is {
			kept = append(kept, c)
			j.Spec.Filter.IDs = append(j.Spec.Filter.IDs, c.ID)
		}
	}
	j.Suite.Cases = kept
}

// readBaseline pairs the cases with those of the baseline, and records the results of the baseline.
// Cases without a result are left out of the run.
func (o *opening) readBaseline() error {
	o.dropCopies()
	j, q, p := o.Job, o.Spec.Decide, o.project
	if q == nil || q.Against == "" {
		return nil
	}
	vary, err := compare.ParseVary(o.request.Vary)
	if err != nil {
		return err
	}
	base, err := p.OpenSide(q.Against)
	if err != nil {
		return err
	}
	j.options.Info.Setup = j.setup()
	planned, err := run.Planned(j.options, p.Env.Now())
	if err != nil {
		return err
	}
	cand := compare.OfRun(planned, &analyze.Samples{}, "")
	cand.Name = "this run"
	m, err := compare.Match(base, cand, compare.MatchOptions{Vary: vary})
	if err != nil {
		return err
	}
	for _, w := range m.Warnings {
		j.Note(plumb.Note{Level: "warning", Text: w})
	}
	if len(m.VariedKinds) > 0 {
		j.Note(plumb.Note{Level: "info", Text: "varied: " + joined(m.VariedKinds)})
	}
	q.BaselineRun = compare.Extendable(base)
	if err := j.keepPairs(q, m.Runners[0].Pairs); err != nil {
		return err
	}
	j.noteStock()
	return nil
}

// noteStock says before the first session that the baseline has too few results, if so.
func (j *Job) noteStock() {
	q := j.Spec.Decide
	stock, missing := q.Stock()
	if missing == 0 {
		return
	}
	n := plumb.Note{Level: "warning", Text: fmt.Sprintf("the baseline has %d repetitions of %d cases: "+
		"a case without more is exhausted, so this run ends after at most %d pairs",
		stock, len(q.Baseline), min(stock, q.Repeat*len(q.Baseline)))}
	if q.BaselineRun != "" {
		n.Hint = j.moreBaseline()
	}
	j.Note(n)
}

// moreBaseline says how to add repetitions to the baseline. The draws are uneven, so some cases
// need more than the mean.
func (j *Job) moreBaseline() string {
	q := j.Spec.Decide
	return "add repetitions to the baseline, and then start another run: " +
		strings.TrimSpace(fmt.Sprintf("plumb resume %s --repeat %d %s", q.BaselineRun, 2*q.Repeat, j.project.Flags))
}

func joined(kinds []compare.Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

// keepPairs records the measured results of the baseline. It keeps only the cases that have some.
func (j *Job) keepPairs(q *compare.Question, pairs []compare.Pair) error {
	results := make([]*compare.BaselineResults, len(j.Suite.Cases))
	for i := range pairs {
		p := &pairs[i]
		b := &compare.BaselineResults{Case: p.CandCase, Results: compare.Results(p.Base)}
		if p.BaseCase != p.CandCase {
			b.BaseCase = p.BaseCase
		}
		if b.Results != "" {
			results[p.CandIndex] = b
		}
	}
	var kept []plumb.Case
	var missing []string
	j.Spec.Filter = run.Filter{}
	for i := range results {
		c := j.Suite.Cases[i]
		if results[i] == nil {
			missing = append(missing, c.ID)
			continue
		}
		kept = append(kept, c)
		q.Baseline = append(q.Baseline, *results[i])
		j.Spec.Filter.IDs = append(j.Spec.Filter.IDs, c.ID)
	}
	if len(kept) == 0 {
		return plumb.WithHint(fmt.Errorf("no case of the suite has a result in the baseline %s", q.Against),
			"measure the baseline first: plumb run, or plumb resume --retry-errors")
	}
	if len(missing) > 0 {
		const most = 8
		names := strings.Join(missing[:min(len(missing), most)], ", ")
		if len(missing) > most {
			names += fmt.Sprintf(" and %d more", len(missing)-most)
		}
		j.Note(plumb.Note{
			Level: "warning", Text: "not in this run, because the baseline has no result of them: " + names,
		})
	}
	j.Suite.Cases = kept
	return nil
}

// setSampler makes the sampler of a run until a decision. Its random numbers follow from the id of
// the run, so that every process makes the same draws.
func (j *Job) setSampler(dir *runlog.Dir) error {
	q := j.Spec.Decide
	if q == nil {
		return nil
	}
	d, err := q.Deciding(dir.ID, len(j.Suite.Cases))
	if err != nil {
		return err
	}
	j.options.Sampler = d
	if j.options.Verify != nil {
		j.options.Verify = nil
		j.Note(plumb.Note{
			Level: "info", Text: "token snapshots are not checked, because the question decides how often a case runs",
		})
	}
	return nil
}
