package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
)

// assumedLatency is how long an answer is taken to take when no earlier run tells.
const assumedLatency = 3 * time.Second

// plan is what a run would do and use.
type plan struct {
	Suite      string       `json:"suite"`
	SuiteHash  string       `json:"suiteHash"`
	Cases      int          `json:"cases"`
	SuiteCases int          `json:"suiteCases"`
	Runners    []planRunner `json:"runners"`
	Sessions   int          `json:"sessions"`
	// JudgeRequests counts the answers that a judge has to give at least.
	JudgeRequests int    `json:"judgeRequests"`
	Judge         string `json:"judge,omitempty"`
	Embedder      string `json:"embedder,omitempty"`
	Schedule      string `json:"schedule"`
	Parallel      int    `json:"parallel"`
	// CostUSD is nil when a price is not known.
	CostUSD    *float64 `json:"estimatedCostUsd"`
	DurationMs int64    `json:"estimatedDurationMs"`
	PricesDate string   `json:"pricesDate"`
	// Budget says what a session can use at most, where there is a budget.
	Budget []string `json:"budget,omitempty"`
}

type planRunner struct {
	Runner       string   `json:"runner"`
	Sessions     int      `json:"sessions"`
	InputTokens  int64    `json:"estimatedInputTokens"`
	OutputTokens int64    `json:"estimatedOutputTokens"`
	CostUSD      *float64 `json:"estimatedCostUsd"`
	LatencyMs    int64    `json:"latencyMs"`
	// LatencyKnown says that the latency is that of earlier runs, and not assumed.
	LatencyKnown bool `json:"latencyKnown"`
	// TokensUnknown says that nobody can tell what an agent will use, since it has not been run yet.
	TokensUnknown bool `json:"tokensUnknown,omitempty"`
	// CapUSD and CapTokens are what a session can use at most, its judging included; nil where nobody knows.
	CapUSD    *float64 `json:"sessionCapUsd,omitempty"`
	CapTokens *float64 `json:"sessionCapTokens,omitempty"`
}

// plan foresees a job.
func (a *app) plan(p *project, j *job) plan {
	pl := plan{
		Suite: j.suite.Name, SuiteHash: j.suite.Hash, Cases: len(j.suite.Cases), SuiteCases: j.all,
		Judge: j.options.Info.Judge, Embedder: j.options.Info.Embedder,
		Schedule: string(j.spec.Schedule), Parallel: j.spec.Parallel, PricesDate: p.prices.Source().Date,
	}
	if j.options.Info.SelfJudged {
		pl.Judge = "each model judges itself"
	}
	total, known := 0.0, true
	caps := j.forecast.sessionCaps(j.suite.Cases, j.runners)
	pl.Budget = capWords(&j.spec, j.runners, caps)
	history := a.latencies(p)
	var busy time.Duration
	for i, r := range j.runners {
		info := r.Info()
		line := planRunner{Runner: info.ID, LatencyMs: assumedLatency.Milliseconds(), CapUSD: finite(caps[i].CostUSD), CapTokens: finite(caps[i].Tokens)}
		before, ran := history[info.Config]
		if ran {
			line.LatencyMs, line.LatencyKnown = before.ms, true
		}
		line.TokensUnknown = info.Kind == plumb.RunnerAgent && !ran
		cost, priced := 0.0, true
		for k := range j.suite.Cases {
			c := &j.suite.Cases[k]
			samples := int64(max(c.Repeat, 1))
			if c.Repeat == 0 {
				samples = int64(j.spec.Repeat)
			}
			g := j.forecast.session(c, info)
			if info.Kind == plumb.RunnerAgent { // what it reads and says depends on what it does
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
		total, known = total+cost, known && priced
		pl.Sessions += line.Sessions
		pl.Runners = append(pl.Runners, line)
		if !line.TokensUnknown {
			busy += time.Duration(line.Sessions) * time.Duration(line.LatencyMs) * time.Millisecond
		}
	}
	lanes := j.spec.Parallel
	switch j.spec.Schedule {
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

// finite returns n, or nil where it is infinite.
func finite(n float64) *float64 {
	if math.IsInf(n, 0) {
		return nil
	}
	return &n
}

// questions counts the checks of a case that ask a judge.
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

// past is what a session took on average in an earlier run.
type past struct {
	guess
	ms int64
}

// latencies returns what sessions of runner configurations took in the latest runs, by their hash.
func (a *app) latencies(p *project) map[string]past {
	const runs = 5
	known := map[string]past{}
	ids, err := run.List(p.runs())
	if err != nil {
		return known
	}
	for i := len(ids) - 1; i >= 0 && i >= len(ids)-runs; i-- {
		state, err := run.Fold(filepath.Join(p.runs(), ids[i]))
		if err != nil {
			continue // a run that is only begun, or damaged, tells nothing
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
					input: sum.input / sessions, output: sum.output / sessions, cost: sum.cost / float64(sessions), priced: sum.priced,
				}}
			}
		}
	}
	return known
}

// showPlans prints what the jobs would do.
func (a *app) showPlans(p *project, jobs []*job) error {
	var plans []plan
	for _, j := range jobs {
		plans = append(plans, a.plan(p, j))
	}
	if a.json {
		return a.print(plans)
	}
	for i, pl := range plans {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		fmt.Fprintf(a.Stdout, "Plan for %s (%s)\n", pl.Suite, shortHash(pl.SuiteHash))
		fmt.Fprintf(a.Stdout, "  %d of %s on %s: %s, %s, %d at a time\n", pl.Cases, plural(pl.SuiteCases, "case"),
			plural(len(pl.Runners), "runner"), plural(pl.Sessions, "session"), pl.Schedule, pl.Parallel)
		if pl.JudgeRequests > 0 {
			fmt.Fprintf(a.Stdout, "  %s of the judge: %s\n", plural(pl.JudgeRequests, "answer"), pl.Judge)
		}
		if pl.Embedder != "" {
			fmt.Fprintf(a.Stdout, "  embedder: %s\n", pl.Embedder)
		}
		fmt.Fprintln(a.Stdout)
		w := report.NewColumns(a.Stdout)
		fmt.Fprintln(w, "  RUNNER\tSESSIONS\tTOKENS IN\tTOKENS OUT\tCOST\tLATENCY")
		for _, r := range pl.Runners {
			latency := fmt.Sprintf("%.1f s", float64(r.LatencyMs)/1000)
			if !r.LatencyKnown {
				latency += " (assumed)"
			}
			input, output := strconv.FormatInt(r.InputTokens, 10), strconv.FormatInt(r.OutputTokens, 10)
			if r.TokensUnknown {
				input, output, latency = "unknown", "unknown", "unknown"
			}
			fmt.Fprintf(w, "  %s\t%d\t%s\t%s\t%s\t%s\n", r.Runner, r.Sessions, input, output, dollars(r.CostUSD), latency)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "\n  about %s and %v in all, judging included; prices of %s. Nothing was spent.\n", dollars(pl.CostUSD),
			(time.Duration(pl.DurationMs) * time.Millisecond).Round(time.Second), pl.PricesDate)
		if slices.ContainsFunc(pl.Runners, func(r planRunner) bool { return r.TokensUnknown }) {
			fmt.Fprintln(a.Stdout, "  What an agent will use is known once it has been run; it counts as nothing here.")
		}
		for _, line := range pl.Budget {
			fmt.Fprintf(a.Stdout, "  Budget: %s.\n", line)
		}
		fmt.Fprintln(a.Stdout, "  Tokens are guessed: four characters a token, and the suite's estimates for answers. Reasoning models use more.")
	}
	return nil
}

func dollars(usd *float64) string {
	if usd == nil {
		return "unknown"
	}
	return report.Money(*usd)
}

// shortHash keeps enough of a hash to tell it from others by eye.
func shortHash(hash string) string {
	const keep = len("sha256:") + 12
	return hash[:min(len(hash), keep)]
}
