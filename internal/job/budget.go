package job

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/forecast"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/text"
)

// checkBudget makes sure that the budget can be enforced, as far as is known before the run, and
// notes by how much the run may exceed it.
func (j *Job) checkBudget() error {
	s := &j.Spec
	if s.MaxCostUSD > 0 {
		names := strings.Join(j.unpriced(), ", ")
		switch {
		case names == "":
		case !s.AllowUnmetered:
			return plumb.WithHint(fmt.Errorf("--max-cost cannot be enforced: the price of %s is unknown", names),
				"set the price under prices in plumb.yaml, use --max-tokens, "+
					"or run without this guarantee with --allow-unmetered")
		default:
			what := "the budget"
			if s.MaxTokens > 0 {
				what = "the cost budget"
			}
			j.Note(plumb.Note{
				Level: "warning",
				Text: what + " cannot be enforced: the price of " + names +
					" is unknown; the run continues because of --allow-unmetered",
			})
		}
	}
	if s.MaxCostUSD <= 0 && s.MaxTokens <= 0 {
		return nil
	}
	for _, line := range j.CapWords() {
		j.Note(plumb.Note{Level: "info", Text: line})
	}
	return nil
}

// newForecaster returns the forecaster of a job whose judge and embedder are made.
func (j *Job) newForecaster() *forecast.Forecaster {
	f := &forecast.Forecaster{Prices: j.project.Prices, Votes: j.Spec.JudgeVotes}
	if j.options.Judge != nil {
		f.Judge = new(j.options.Judge.Info())
	}
	if e := j.options.Embedder; e != nil {
		provider, model, _ := strings.Cut(e.Name, ":")
		f.Embedder = &plumb.RunnerInfo{
			ID: e.Name, Kind: plumb.RunnerModel, BaseURL: j.Spec.Embedder.BaseURL,
			Agent: plumb.AgentInfo{Type: provider, Model: model},
		}
	}
	return f
}

// unpriced returns the ids of the models of the job whose price is unknown.
func (j *Job) unpriced() (ids []string) {
	paid := []*plumb.RunnerInfo{j.forecast.Judge, j.forecast.Embedder}
	for _, r := range j.runners {
		paid = append(paid, new(r.Info()))
	}
	for _, r := range paid {
		if r != nil && j.forecast.Unpriced(*r) && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// CapWords describes the largest possible use of a session, one line for each budget of the job
// that can be enforced.
func (j *Job) CapWords() (lines []string) {
	caps := j.forecast.Caps(j.Suite.Cases, j.runners)
	for _, limit := range []struct {
		set   bool
		of    func(run.Use) float64
		words func(float64) string
	}{
		{
			j.Spec.MaxCostUSD > 0 && len(j.unpriced()) == 0, func(u run.Use) float64 { return u.CostUSD },
			func(n float64) string { return "cost up to " + text.Money(n) },
		},
		{
			j.Spec.MaxTokens > 0, func(u run.Use) float64 { return u.Tokens },
			func(n float64) string { return fmt.Sprintf("use up to %.0f tokens", n) },
		},
	} {
		if !limit.set {
			continue
		}
		most := 0.0
		var known, unknown []string
		for i, r := range j.runners {
			if n := limit.of(caps[i]); math.IsInf(n, 1) {
				unknown = append(unknown, r.Info().ID)
			} else {
				known = append(known, r.Info().ID)
				most = max(most, n)
			}
		}
		switch {
		case len(unknown) == 0:
			lines = append(lines, "a session can "+limit.words(most)+
				", its judging included: the run exceeds its budget by no more than that")
		case len(known) > 0:
			lines = append(lines, "a session of "+strings.Join(known, ", ")+" can "+limit.words(most)+", its judging included")
		}
		if len(unknown) > 0 {
			lines = append(lines, "the most that a session of "+strings.Join(unknown, ", ")+
				" can use is unknown: Plumb runs one session at a time until the first is measured, "+
				"and then reserves the largest use seen so far")
		}
	}
	return lines
}
