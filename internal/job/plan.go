package job

import (
	"math"
	"path/filepath"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// assumedLatency is the assumed time of an answer when no earlier run measured it.
const assumedLatency = 3 * time.Second

// Plan is what a run would do and use. Its keys are documented.
type Plan struct {
	Suite      string `json:"suite"`
	SuiteHash  string `json:"suiteHash"`
	Cases      int    `json:"cases"`
	SuiteCases int    `json:"suiteCases"`
	// Prompts are the labels of the prompts of the cases, with the number of cases of each.
	Prompts  []PlanPrompt `json:"prompts,omitempty"`
	Runners  []PlanRunner `json:"runners"`
	Sessions int          `json:"sessions"`
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

// PlanPrompt is a prompt in a [Plan].
type PlanPrompt struct {
	Prompt string `json:"prompt"`
	Cases  int    `json:"cases"`
}

// promptsOf counts the cases of each prompt, in the order of the suite.
func promptsOf(cases []plumb.Case) []PlanPrompt {
	var all []PlanPrompt
	at := map[string]int{}
	for i := range cases {
		label := cases[i].PromptName
		if label == "" {
			continue
		}
		if _, ok := at[label]; !ok {
			at[label] = len(all)
			all = append(all, PlanPrompt{Prompt: label})
		}
		all[at[label]].Cases++
	}
	return all
}

// PlanRunner is the part of one runner in a [Plan].
type PlanRunner struct {
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

// Plan estimates what the job would do and use. It makes no request.
func (j *Job) Plan() Plan {
	s := &j.Spec
	pl := Plan{
		Suite: j.Suite.Name, SuiteHash: j.Suite.Hash, Cases: len(j.Suite.Cases), SuiteCases: j.suiteCases,
		Judge: j.options.Info.Judge, Embedder: j.options.Info.Embedder,
		Schedule: string(s.Schedule), Parallel: s.Parallel, PricesDate: j.project.Prices.Source().Date,
	}
	pl.Prompts = promptsOf(j.Suite.Cases)
	pl.AtMost = s.Decide != nil
	if j.options.Info.SelfJudged {
		pl.Judge = "each model judges itself"
	}
	total, known := 0.0, true
	caps := j.forecast.sessionCaps(j.Suite.Cases, j.runners)
	pl.Budget = j.capWords()
	history := latencies(j.project.Runs())
	var busy time.Duration
	for i, r := range j.runners {
		info := r.Info()
		line := PlanRunner{
			Runner: info.ID, LatencyMs: assumedLatency.Milliseconds(),
			CapUSD: finite(caps[i].CostUSD), CapTokens: finite(caps[i].Tokens),
		}
		before, ran := history[info.Config]
		if ran {
			line.LatencyMs, line.LatencyKnown = before.ms, true
		}
		line.TokensUnknown = info.Kind == plumb.RunnerAgent && !ran
		cost, priced := 0.0, true
		for k := range j.Suite.Cases {
			c := &j.Suite.Cases[k]
			samples := int64(max(c.Repeat, 1))
			if c.Repeat == 0 {
				samples = int64(s.Repeat)
			}
			if reused := j.taken.reused(c, i); reused > 0 {
				samples -= int64(reused)
				pl.Reused += reused
			}
			g := j.forecast.session(c, info)
			if info.Kind == plumb.RunnerAgent { // its use depends on what it does, not on the prompt
				g = before.guess
			}
			line.Sessions += int(samples)
			line.InputTokens += samples * g.input
			line.OutputTokens += samples * g.output
			cost += float64(samples) * g.cost
			priced = priced && g.priced
			answers, judging := j.forecast.judging(c, info, g)
			pl.JudgeRequests += int(samples) * answers
			cost += float64(samples) * judging.cost
			priced = priced && judging.priced
		}
		if priced {
			line.CostUSD = &cost
		}
		known = known && priced
		pl.Runners = append(pl.Runners, line)
	}
	for i := range pl.Runners {
		line := &pl.Runners[i]
		pl.Sessions += line.Sessions
		if line.CostUSD != nil {
			total += *line.CostUSD
		}
		if !line.TokensUnknown {
			busy += time.Duration(line.Sessions) * time.Duration(line.LatencyMs) * time.Millisecond
		}
	}
	lanes := s.Parallel
	switch s.Schedule {
	case run.Serial:
		lanes, pl.Parallel = 1, 1
	case run.IsolatedByRunner:
		lanes = min(lanes, len(j.runners))
	case run.Parallel:
	}
	pl.DurationMs = (busy / time.Duration(max(1, min(lanes, pl.Sessions)))).Milliseconds()
	if known {
		pl.CostUSD = &total
	}
	return pl
}

// finite returns n, or nil if n is infinite.
func finite(n float64) *float64 {
	if math.IsInf(n, 0) {
		return nil
	}
	return &n
}

// questions counts the checks of a case that need a judge.
func questions(c *plumb.Case) int {
	n := 0
	for _, a := range c.Assertions {
		if ch, ok := a.(*check.Check); ok {
			if judge, _ := ch.Needs(); judge {
				n++
			}
		}
	}
	return n
}

// past is the average use and latency of a session in an earlier run.
type past struct {
	guess
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
			sum, count, sessions := past{guess: guess{priced: true}}, int64(0), int64(0)
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
				sum.input, sum.output = sum.input+x.InputTokens, sum.output+x.OutputTokens
				sum.cost, sum.priced = sum.cost+x.CostUSD, sum.priced && x.Priced
			}
			if count > 0 && sessions > 0 {
				known[info.Config] = past{ms: sum.ms / count, guess: guess{
					input: sum.input / sessions, output: sum.output / sessions,
					cost: sum.cost / float64(sessions), priced: sum.priced,
				}}
			}
		}
	}
	return known
}
