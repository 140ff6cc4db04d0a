package plan

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// historyRuns is the number of earlier runs of a suite that a history reads, the latest ones.
const historyRuns = 20

// history is what earlier runs with repetitions say about the cases of a suite on one runner.
type history struct {
	runs int
	// rates has the variances of the cases, by case hash; of a case that several runs repeated, the
	// mean weighted by the degrees of freedom.
	rates map[string]weighted
	// counts has the repetitions of these cases, of all runs.
	counts map[string]analyze.Count
	// tokens has the logarithms of the tokens of each session, one list for a case of a run.
	tokens [][]float64
	// The means of a session; 0 sessions if no run measured them.
	sessions, inputs, outputs, ms float64
	costUSD                       float64
	priced                        bool
}

// weighted is a mean with its weight.
type weighted struct{ mean, weight float64 }

func (w *weighted) add(value, weight float64) {
	w.weight += weight
	w.mean += (value - w.mean) * weight / w.weight
}

// variance returns the mean variance of a repetition, over the cases that earlier runs repeated. If
// no case varied, it is the variance that they would have if one of their repetitions differed.
func (h *history) variance() (v Variation, ok bool) {
	if len(h.rates) == 0 {
		return v, false
	}
	v = Variation{Runs: h.runs, Cases: len(h.rates)}
	repetitions := 0.0
	for _, w := range h.rates {
		v.Variance += w.mean / float64(len(h.rates))
		repetitions += w.weight + 1
	}
	if v.Steady = v.Variance == 0; v.Steady {
		v.Variance = analyze.LeastVariance(int(repetitions))
	}
	return v, true
}

// mix returns the distribution of the pass rates of the cases that earlier runs repeated.
func (h *history) mix() analyze.RateMix { return analyze.MixOf(slices.Collect(maps.Values(h.counts))) }

// histories reads the earlier runs of the suite of the job, and returns for each runner what those
// with the same configuration measured on the selected cases, with at least two repetitions.
// Repetitions that were played back, or that stopped at a failure, say nothing about the variation.
func histories(j *job.Job) []*history {
	p := j.Project()
	hashes := map[string]bool{}
	for i := range j.Suite.Cases {
		hashes[j.Suite.Cases[i].Hash] = true
	}
	all := make([]*history, len(j.Runners()))
	for i := range all {
		all[i] = &history{rates: map[string]weighted{}, counts: map[string]analyze.Count{}, priced: true}
	}
	ids, err := runlog.List(p.Runs())
	if err != nil {
		return all
	}
	read := 0
	for _, id := range slices.Backward(ids) {
		path := filepath.Join(p.Runs(), id)
		var s project.Spec
		if runlog.ReadSpec(path, &s) != nil || s.Suite != j.Suite.Name || s.ScoredFrom != "" || s.Sessions != nil {
			continue
		}
		var samples analyze.Samples
		state, err := runlog.At(path).Figures(nil, samples.Report)
		if err != nil {
			continue // a run that only began, or is damaged, has no history
		}
		used := false
		for i, r := range j.Runners() {
			used = all[i].add(state, &samples, r.Info(), hashes) || used
		}
		if used {
			if read++; read == historyRuns {
				break
			}
		}
	}
	return all
}

// add adds what a run measured on a runner.
func (h *history) add(state *plumb.Run, samples *analyze.Samples, of plumb.RunnerInfo, hashes map[string]bool) bool {
	n := slices.IndexFunc(state.Info.Runners, func(r plumb.RunnerInfo) bool {
		return r.Config == of.Config && r.Kind == of.Kind && r.Kind != plumb.RunnerReplay
	})
	if n < 0 {
		return false
	}
	used := false
	for c := range state.Cases {
		info, x := &state.Cases[c], c*len(state.Info.Runners)+n
		e := &state.Executions[x]
		if !hashes[info.Hash] || e.State != plumb.ExecutionDone {
			continue
		}
		h.spend(e, of.Kind)
		count := analyze.Count{Passed: int(e.Passed), Measured: int(e.Passed + e.Failed)}
		if analyze.StoppedEarly(state, x) || e.Cached > 0 {
			continue
		}
		if f, ok := analyze.FlipRate(count); ok {
			w := h.rates[info.Hash]
			w.add(f/2, float64(count.Measured-1))
			h.rates[info.Hash], used = w, true
			h.counts[info.Hash] = h.counts[info.Hash].Plus(count)
		}
		if logs := analyze.LogTokens(samples.Of(x)); len(logs) > 1 {
			h.tokens, used = append(h.tokens, logs), true
		}
	}
	if used {
		h.runs++
	}
	return used
}

// spend adds the usage of an execution to the means of a session.
func (h *history) spend(e *plumb.Execution, kind plumb.RunnerKind) {
	ms := e.LatencyMs
	if kind == plumb.RunnerAgent {
		ms = e.DurationMs
	}
	if !e.Outcome.Measured() || e.Cached > 0 || e.Sessions == 0 || ms == 0 {
		return
	}
	n := float64(e.Sessions)
	add := func(mean *float64, sum float64) { *mean += (sum - *mean*n) / (h.sessions + n) }
	add(&h.inputs, float64(e.InputTokens))
	add(&h.outputs, float64(e.OutputTokens))
	add(&h.costUSD, e.CostUSD+e.JudgeCostUSD)
	add(&h.ms, float64(ms)*n)
	h.sessions += n
	h.priced = h.priced && e.Priced
}
