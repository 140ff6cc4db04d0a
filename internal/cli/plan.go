package cli

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/report"
)

// showPlans prints what the jobs would do.
func (a *app) showPlans(jobs []*job.Job) error {
	var plans []job.Plan
	for _, j := range jobs {
		plans = append(plans, j.Plan())
	}
	if a.json {
		return a.print(plans)
	}
	for i, pl := range plans {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		fmt.Fprintf(a.Stdout, "Plan for %s (%s)\n", pl.Suite, shortHash(pl.SuiteHash))
		sessions := plural(pl.Sessions, "session")
		if pl.AtMost {
			sessions = "at most " + sessions
		}
		fmt.Fprintf(a.Stdout, "  %d of %s on %s: %s, %s, %d at a time\n", pl.Cases, plural(pl.SuiteCases, "case"),
			plural(len(pl.Runners), "runner"), sessions, pl.Schedule, pl.Parallel)
		if pl.JudgeRequests > 0 {
			fmt.Fprintf(a.Stdout, "  %s from the judge: %s\n", plural(pl.JudgeRequests, "answer"), pl.Judge)
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
			fmt.Fprintf(w, "  %s\t%d\t%s\t%s\t%s\t%s\n", r.Runner, r.Sessions, input, output, dollars(r.CostUSD),
				latency)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "\n  about %s and %v in total, including the judge; prices of %s. Nothing was spent.\n",
			dollars(pl.CostUSD),
			(time.Duration(pl.DurationMs) * time.Millisecond).Round(time.Second), pl.PricesDate)
		if slices.ContainsFunc(pl.Runners, func(r job.PlanRunner) bool { return r.TokensUnknown }) {
			fmt.Fprintln(a.Stdout, "  The use of an agent is unknown until its first run; here it counts as zero.")
		}
		for _, line := range pl.Budget {
			fmt.Fprintf(a.Stdout, "  Budget: %s.\n", line)
		}
		fmt.Fprintln(a.Stdout,
			"  Tokens are estimates: four characters per token, and the suite's estimates for answers. "+
				"Reasoning models use more.")
	}
	return nil
}
