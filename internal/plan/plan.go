// Package plan looks ahead: what a run would use, how many cases and repetitions a comparison
// needs, and how much repetitions differ without a cause. It hides how much of that comes from
// earlier runs.
package plan

import (
	"path/filepath"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/forecast"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// assumedLatency is the assumed time of an answer when no earlier run measured it.
const assumedLatency = 3 * time.Second

// Estimate is what a run would do and use. Its keys are documented.
type Estimate struct {
	Suite      string `json:"suite"`
	SuiteHash  string `json:"suiteHash"`
	Cases      int    `json:"cases"`
	SuiteCases int    `json:"suiteCases"`
	// Prompts are the labels of the prompts of the cases, with the number of cases of each.
	Prompts  []Prompt `json:"prompts,omitempty"`
	Runners  []Runner `json:"runners"`
	Sessions int      `json:"sessions"`
	// AtMost means that the run can end earlier, because a question is decided.
	AtMost bool `json:"atMost,omitempty"`
	// Reused counts the repetitions that are taken over from an earlier run. They are not in the other
	// figures.
	Reused int `json:"reused,omitempty"`
	// JudgeRequests is the least number of answers of a judge.
	JudgeRequests int    `json:"judgeRequests"`
	Judge         string `json:"judge,omitempty"`
	Embedder      string `json:"embedder,omitempty"`
	Schedule      string `json:"schedule"`
	Parallel      int    `json:"parallel"`
	// CostUSD is nil if a price is unknown.
	CostUSD    *float64 `json:"estimatedCostUsd"`
	DurationMs int64    `json:"estimatedDurationMs"`
	PricesDate string   `json:"pricesDate"`
	// Budget describes the largest possible use of a session, if there is a budget.
	Budget []string `json:"budget,omitempty"`
}

// Prompt is a prompt in an [Estimate].
type Prompt struct {
	Prompt string `json:"prompt"`
	Cases  int    `json:"cases"`
}

// promptsOf counts the cases of each prompt, in the order of the suite.
func promptsOf(cases []plumb.Case) []Prompt {
	var all []Prompt
	at := map[string]int{}
	for i := range cases {
		label := cases[i].PromptName
		if label == "" {
			continue
		}
		if _, ok := at[label]; !ok {
			at[label] = len(all)
			all = append(all, Prompt{Prompt: label})
		}
		all[at[label]].Cases++
	}
	return all
}

// Runner is the part of one runner in an [Estimate].
type Runner struct {
	Runner       string   `json:"runner"`
	Sessions     int      `json:"sessions"`
	InputTokens  int64    `json:"estimatedInputTokens"`
	OutputTokens int64    `json:"estimatedOutputTokens"`
	CostUSD      *float64 `json:"estimatedCostUsd"`
	LatencyMs    int64    `json:"latencyMs"`
	// LatencyKnown means that the latency comes from earlier runs.
	LatencyKnown bool `json:"latencyKnown"`
	// TokensUnknown means that the use of an agent is unknown, because no earlier run measured it.
	TokensUnknown bool `json:"tokensUnknown,omitempty"`
	// CapUSD and CapTokens are the largest possible use of a session with its judging; nil if
	// unknown.
	CapUSD    *float64 `json:"sessionCapUsd,omitempty"`
	CapTokens *float64 `json:"sessionCapTokens,omitempty"`
}

// Of estimates what a job would do and use. It makes no request.
func Of(j *job.Job) Estimate {
	s, info := &j.Spec, j.Info()
	pl := Estimate{
		Suite: j.Suite.Name, SuiteHash: j.Suite.Hash, Cases: len(j.Suite.Cases), SuiteCases: info.SuiteCases,
		Prompts: promptsOf(j.Suite.Cases), AtMost: s.Decide != nil, Judge: info.Judge, Embedder: info.Embedder,
		Schedule: string(s.Schedule), Parallel: s.Parallel, PricesDate: j.Project().Prices.Source().Date,
		Budget: j.CapWords(), CostUSD: new(0.0),
	}
	if info.SelfJudged {
		pl.Judge = "each model judges itself"
	}
	history, caps := latencies(j.Project().Runs()), j.Forecaster().Caps(j.Suite.Cases, j.Runners())
	var busy time.Duration
	for i := range j.Runners() {
		line := pl.runner(j, i, history)
		line.CapUSD, line.CapTokens = known(caps[i].CostUSD), known(caps[i].Tokens)
		pl.Sessions += line.Sessions
		if !line.TokensUnknown {
			busy += time.Duration(line.Sessions) * time.Duration(line.LatencyMs) * time.Millisecond
		}
		if line.CostUSD == nil || pl.CostUSD == nil {
			pl.CostUSD = nil
		} else {
			*pl.CostUSD += *line.CostUSD
		}
		pl.Runners = append(pl.Runners, line)
	}
	lanes := s.Parallel
	switch s.Schedule {
	case run.Serial:
		lanes, pl.Parallel = 1, 1
	case run.IsolatedByRunner:
		lanes = min(lanes, len(j.Runners()))
	case run.Parallel:
	}
	pl.DurationMs = (busy / time.Duration(max(1, min(lanes, pl.Sessions)))).Milliseconds()
	return pl
}

// runner returns the part of the runner at index i. It adds what the judge answers, and what is
// taken over.
func (pl *Estimate) runner(j *job.Job, i int, history map[string]past) Runner {
	info, forecaster := j.Runners()[i].Info(), j.Forecaster()
	line := Runner{Runner: info.ID, LatencyMs: assumedLatency.Milliseconds()}
	before, ran := history[info.Config]
	if ran {
		line.LatencyMs, line.LatencyKnown = before.ms, true
	}
	line.TokensUnknown = info.Kind == plumb.RunnerAgent && !ran
	cost, priced := 0.0, true
	for k := range j.Suite.Cases {
		c := &j.Suite.Cases[k]
		samples := max(c.Repeat, 1)
		if c.Repeat == 0 {
			samples = j.Spec.Repeat
		}
		if reused := j.Reused(c, i); reused > 0 {
			samples -= reused
			pl.Reused += reused
		}
		g := forecaster.Session(c, info)
		if info.Kind == plumb.RunnerAgent { // its use depends on what it does, not on the prompt
			g = before.Guess
		}
		answers, judging := forecaster.Judging(c, info, g)
		pl.JudgeRequests += samples * answers
		line.Sessions += samples
		line.InputTokens += int64(samples) * g.Input
		line.OutputTokens += int64(samples) * g.Output
		cost += float64(samples) * (g.CostUSD + judging.CostUSD)
		priced = priced && g.Priced && judging.Priced
	}
	if priced {
		line.CostUSD = &cost
	}
	return line
}

// past is the average use and latency of a session in an earlier run.
type past struct {
	forecast.Guess
	ms int64
}

// latencies returns the averages of the latest runs in dir, by the hash of the
// runner's configuration.
func latencies(dir string) map[string]past {
	const runs = 5
	known := map[string]past{}
	ids, err := runlog.List(dir)
	if err != nil {
		return known
	}
	for i := len(ids) - 1; i >= 0 && i >= len(ids)-runs; i-- {
		state, err := runlog.At(filepath.Join(dir, ids[i])).Fold(nil)
		if err != nil {
			continue // a run that only began, or is damaged, has no averages
		}
		for n, info := range state.Info.Runners {
			if _, ok := known[info.Config]; ok {
				continue
			}
			sum, count, sessions := past{Guess: forecast.Guess{Priced: true}}, int64(0), int64(0)
			for e := n; e < len(state.Executions); e += len(state.Info.Runners) {
				x := &state.Executions[e]
				ms := x.LatencyMs
				if info.Kind == plumb.RunnerAgent {
					ms = x.DurationMs
				}
				if !x.Outcome.Measured() || x.Cached > 0 || ms == 0 {
					continue
				}
				count++
				sessions += int64(x.Sessions)
				sum.ms += ms
				sum.Input, sum.Output = sum.Input+x.InputTokens, sum.Output+x.OutputTokens
				sum.CostUSD, sum.Priced = sum.CostUSD+x.CostUSD, sum.Priced && x.Priced
			}
			if count > 0 && sessions > 0 {
				known[info.Config] = past{ms: sum.ms / count, Guess: forecast.Guess{
					Input: sum.Input / sessions, Output: sum.Output / sessions,
					CostUSD: sum.CostUSD / float64(sessions), Priced: sum.Priced,
				}}
			}
		}
	}
	return known
}
