package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/plan"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/text"
)

// planCmd is plumb plan. It has the settings of plumb run, except for those about reports.
type planCmd struct {
	runCmd
	detect string
}

func planCommand(a *app) *cobra.Command {
	c := &planCmd{runCmd: runCmd{app: a, settings: newSettings()}}
	cmd := &cobra.Command{
		Use:   "plan [SUITE...]",
		Short: "Show what a run would cost and what a comparison could find, and spend nothing",
		Long: `Show what a run would do and use: sessions, tokens, cost and time. It makes no request.

With --detect, show which differences a comparison of two runs of the suite can find, by the number of repetitions, with
the sessions, tokens, cost and time of each run: 5pp is a difference of 5 percentage points in the pass rate, and
tokens=10% one of 10 % in the tokens of a session. How much repetitions of a case vary comes from earlier runs of the
suite with the same runner configuration; plumb aa SUITE makes one.`,
		Example: `  plumb plan suite.jsonl --model gpt-5 --repeat 3
  plumb plan suite.jsonl --model gpt-5 --detect 5pp
  plumb plan suite.jsonl --model gpt-5 --detect tokens=10%`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd, args) },
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(groupedUsage)
	c.register(cmd, func(s *setting.Setting) string {
		switch s.Flag {
		case "plan", "report", "output":
			return ""
		default:
			return s.Help
		}
	})
	cmd.Flags().StringVar(&c.detect, "detect", "", "`difference` to find, such as 5pp or tokens=10%")
	return cmd
}

func (c *planCmd) run(ctx context.Context, cmd *cobra.Command, suites []string) error {
	var wanted plan.Difference
	if cmd.Flags().Changed("detect") {
		var err error
		if wanted, err = plan.ParseDifference(c.detect); err != nil {
			return err
		}
	}
	c.want.Plan = true
	_, jobs, err := c.prepare(ctx, cmd, suites)
	for _, j := range jobs {
		defer j.Close()
	}
	if err != nil {
		return err
	}
	if wanted.Metric == "" {
		return c.showPlans(jobs)
	}
	var plans []plan.Detection
	for _, j := range jobs {
		pl, err := plan.Detect(j, wanted)
		if err != nil {
			return err
		}
		plans = append(plans, pl)
	}
	if c.json {
		return c.print(plans)
	}
	for i := range plans {
		if i > 0 {
			fmt.Fprintln(c.Stdout)
		}
		if err := c.showDetection(&plans[i]); err != nil {
			return err
		}
	}
	return nil
}

// showDetection prints what a comparison can find.
func (c *planCmd) showDetection(pl *plan.Detection) error {
	fmt.Fprintf(c.Stdout, "Plan for %s (%s): a comparison that finds a difference of %s\n", c.name(pl.Suite),
		text.ShortHash(pl.SuiteHash, hashDigits), pl.Detect)
	fmt.Fprintf(c.Stdout, "  %s, with the same number of repetitions on both sides; found in %.0f %% of comparisons "+
		"with a two-sided test at level %g\n", text.Plural(pl.Cases, "case"), 100*pl.Power, pl.Alpha)
	if pl.Copies != "" {
		fmt.Fprintf(c.Stdout, "  %s\n", c.clean(pl.Copies))
	}
	known := true
	for i := range pl.Runners {
		r := &pl.Runners[i]
		known = known && r.UsageKnown
		fmt.Fprintf(c.Stdout, "\n  %s: %s\n", c.name(r.Runner), variationWords(r.Variations))
		w := text.NewColumns(c.Stdout)
		fmt.Fprint(w, "  REPEATS\tSESSIONS\tTOKENS\tCOST\tTIME")
		for range r.Variations {
			fmt.Fprint(w, "\tDETECTABLE\tCASES NEEDED")
		}
		fmt.Fprintln(w)
		for k := range r.Rows {
			row := &r.Rows[k]
			fmt.Fprintf(w, "  %d\t%d\t%d\t%s\t%s", row.Repeats, row.Sessions, row.Tokens, dollars(row.CostUSD),
				text.Duration(row.Duration()))
			for v := range r.Variations {
				fmt.Fprintf(w, "\t%s\t%d", detectable(pl.Detect.Metric, row.Detectable[v]), row.CasesNeeded[v])
			}
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for _, v := range r.Variations {
			fmt.Fprintf(c.Stdout, "  %s: %s.\n", pl.Detect, neededWords(v, cmp.Or(pl.Distinct, pl.Cases)))
		}
		if a := r.Allocation; a != nil {
			fmt.Fprintf(c.Stdout, "  %s a side detect %s in place of %s if cases that vary more get more (repeat in the "+
				"case): %s.\n", text.Plural(a.Sessions, "session"), detectable(pl.Detect.Metric, &a.Detectable),
				detectable(pl.Detect.Metric, &a.Even), c.clean(allocationWords(a, pl.Cases)))
		}
	}
	fmt.Fprintln(c.Stdout, "\n  Sessions, tokens, cost and time are those of one side. A comparison needs both, "+
		"unless one exists. Nothing was spent.")
	if !known {
		fmt.Fprintf(c.Stdout, "  Tokens, cost and time are estimates (plumb run --plan), with prices of %s.\n", pl.PricesDate)
	}
	return nil
}

// allocationWords lists the repetitions of the cases that get more than one.
func allocationWords(a *plan.Allocation, cases int) string {
	const most = 8
	var words []string
	for _, x := range a.Cases[:min(most, len(a.Cases))] {
		words = append(words, fmt.Sprintf("%s %d", x.Case, x.Repeats))
	}
	if more := len(a.Cases) - most; more > 0 {
		words = append(words, fmt.Sprintf("%d more in --json", more))
	}
	if rest := cases - len(a.Cases); rest > 0 {
		words = append(words, fmt.Sprintf("the other %d once", rest))
	}
	return strings.Join(words, ", ")
}

// detectable renders the smallest difference that can be found.
func detectable(metric string, difference *float64) string {
	if metric == plan.MetricTokens {
		return rounded(difference, math.Ceil, " %")
	}
	return points(difference)
}

// variationWords says how much repetitions vary, and how that is known.
func variationWords(all []plan.Variation) string {
	v := all[0]
	switch {
	case v.Assumed:
		return fmt.Sprintf("assumed, no earlier run repeats these cases: a variance of %g (coin flips; the first two "+
			"columns) and of %g (most cases nearly always pass or fail). plumb aa SUITE measures it",
			all[0].Variance, all[1].Variance)
	case v.Steady:
		return fmt.Sprintf("no repetition differed (%s, %s); the plan assumes that one does", text.Plural(v.Cases, "case"),
			text.Plural(v.Runs, "run"))
	default:
		return fmt.Sprintf("variance of a repetition within a case %.3g (%s, %s)", v.Variance, text.Plural(v.Cases, "case"),
			text.Plural(v.Runs, "run"))
	}
}

// neededWords says how many repetitions show the difference.
func neededWords(v plan.Variation, cases int) string {
	const most = 100
	words := fmt.Sprintf("%s of each of these %s", text.Plural(v.RepeatsNeeded, "repetition"), text.Plural(cases, "case"))
	if v.RepeatsNeeded > most {
		words = fmt.Sprintf("more than %d repetitions: the suite has too few cases", most)
	}
	if v.Assumed {
		words += fmt.Sprintf(", if the variance is %g", v.Variance)
	}
	return words
}

// times returns the sign of a product.
func times(getenv func(string) string) string {
	if unicode(getenv) {
		return "×"
	}
	return "x"
}

// showPlans prints what the jobs would do.
func (a *app) showPlans(jobs []*job.Job) error {
	var plans []plan.Estimate
	for _, j := range jobs {
		plans = append(plans, plan.Of(j))
	}
	if a.json {
		return a.print(plans)
	}
	for i, pl := range plans {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		fmt.Fprintf(a.Stdout, "Plan for %s (%s)\n", pl.Suite, text.ShortHash(pl.SuiteHash, hashDigits))
		sessions := text.Plural(pl.Sessions, "session")
		if pl.AtMost {
			sessions = "at most " + sessions
		}
		fmt.Fprintf(a.Stdout, "  %d of %s on %s: %s, %s, %d at a time\n", pl.Cases, text.Plural(pl.SuiteCases, "case"),
			text.Plural(len(pl.Runners), "runner"), sessions, pl.Schedule, pl.Parallel)
		if pl.Reused > 0 {
			fmt.Fprintf(a.Stdout, "  %s taken over from the run of --baseline-from\n", text.Plural(pl.Reused, "repetition"))
		}
		if len(pl.Prompts) > 0 {
			var words []string
			for _, x := range pl.Prompts {
				words = append(words, fmt.Sprintf("%s %s %s", a.name(x.Prompt), times(a.Getenv), text.Plural(x.Cases, "case")))
			}
			fmt.Fprintf(a.Stdout, "  prompts: %s\n", strings.Join(words, ", "))
		}
		if pl.JudgeRequests > 0 {
			fmt.Fprintf(a.Stdout, "  %s from the judge: %s\n", text.Plural(pl.JudgeRequests, "answer"), a.name(pl.Judge))
		}
		if pl.Embedder != "" {
			fmt.Fprintf(a.Stdout, "  embedder: %s\n", a.name(pl.Embedder))
		}
		fmt.Fprintln(a.Stdout)
		w := text.NewColumns(a.Stdout)
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
			fmt.Fprintf(w, "  %s\t%d\t%s\t%s\t%s\t%s\n", a.name(r.Runner), r.Sessions, input, output,
				dollars(r.CostUSD), latency)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "\n  about %s and %s in total, including the judge; prices of %s. Nothing was spent.\n",
			dollars(pl.CostUSD),
			text.Millis(pl.DurationMs), pl.PricesDate)
		if slices.ContainsFunc(pl.Runners, func(r plan.Runner) bool { return r.TokensUnknown }) {
			fmt.Fprintln(a.Stdout, "  The use of an agent is unknown until its first run; here it counts as zero.")
		}
		for _, line := range pl.Budget {
			fmt.Fprintf(a.Stdout, "  Budget: %s.\n", line)
		}
		fmt.Fprintln(a.Stdout,
			"  Tokens are estimates: four characters per token, and for an answer the suite's estimate, or 200 tokens. "+
				"Reasoning models use more.")
	}
	return nil
}
