package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/plan"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runlog"
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
		Use:   "plan [SUITE...|RUN]",
		Short: "Show what a run would cost, and how many cases and repetitions a comparison needs",
		Long: `Show how many cases and repetitions a question needs, and what they cost. It makes no request and spends nothing.

For a suite, show what a run would do and use: sessions, tokens, cost and time. With --detect, show which differences a
comparison of two runs of the suite can find, by the number of repetitions, with the sessions, tokens, cost and time of
each run: 5pp is a difference of 5 percentage points in the pass rate, and tokens=10% one of 10 % in the tokens of a
session. How much repetitions of a case vary comes from earlier runs of the suite with the same runner configuration;
plumb run SUITE --repeat 4 makes one.

For a RUN that has repetitions (the same as for plumb resume), show how much they differ without a cause: the flip rate,
the noise floor, the smallest difference that a comparison can find, and the cases that never tell anything. The exit
code is 3 if too few repetitions were measured.`,
		Example: `  plumb plan suite.jsonl --model gpt-5 --repeat 3
  plumb plan suite.jsonl --model gpt-5 --detect 5pp
  plumb plan suite.jsonl --model gpt-5 --detect tokens=10%
  plumb plan last`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd, args) },
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(groupedUsage)
	c.register(cmd, func(s *setting.Setting) string {
		switch s.Flag {
		case "plan", "report", "output", "submit":
			return ""
		default:
			return s.Help
		}
	})
	cmd.Flags().StringVar(&c.detect, "detect", "", "`difference` to find, such as 5pp or tokens=10%")
	return cmd
}

func (c *planCmd) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	var wanted *plan.Difference
	if cmd.Flags().Changed("detect") {
		d, err := plan.ParseDifference(c.detect)
		if err != nil {
			return err
		}
		wanted = &d
	}
	if len(args) == 1 && c.isRun(args[0]) {
		if err := c.unused(cmd.Flags()); err != nil {
			return err
		}
		return c.ofRun(ctx, args[0], wanted)
	}
	c.want.Plan = true
	_, jobs, err := c.prepare(ctx, cmd, args)
	for _, j := range jobs {
		defer j.Close()
	}
	switch {
	case err != nil:
		return err
	case wanted == nil:
		if err := c.showPlans(jobs); err != nil || c.json {
			return err
		}
		fmt.Fprintln(c.Stdout, "  How many repetitions a comparison needs: --detect 5pp")
		return nil
	}
	var plans []plan.Detection
	for _, j := range jobs {
		pl, err := plan.Detect(j, *wanted)
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

// isRun reports whether ref is meant as a run, and not as a suite.
func (c *planCmd) isRun(ref string) bool {
	path := c.env().Path(ref)
	if files.Exists(path) {
		return files.Exists(filepath.Join(path, runlog.SpecFile))
	}
	published := len(ref) > 1 && ref[0] == 'v' && ref[1] >= '0' && ref[1] <= '9' // such as v1.0/cheap
	return filepath.Ext(ref) == "" && !published
}

// unused returns an error for a setting of new runs.
func (c *planCmd) unused(flags *pflag.FlagSet) error {
	for _, s := range c.want.List() {
		if changed(flags, &s) && s.Flag != "config" && s.Flag != "output-dir" {
			return plumb.WithHint(fmt.Errorf("--%s has no effect on a run that exists", s.Flag), "name a suite, or leave it out")
		}
	}
	return nil
}

// ofRun shows how much the repetitions of a run differ.
func (c *planCmd) ofRun(ctx context.Context, ref string, wanted *plan.Difference) error {
	p, err := c.open(ctx, c.projectFlags())
	if err != nil {
		return err
	}
	path, err := runlog.Find(p.Runs(), ref)
	if err != nil {
		return fmt.Errorf("%w, and no suite of this name", err)
	}
	c.know(p.RedactorOf(path))
	return c.show(p, path, wanted)
}

func (c *planCmd) show(p *project.Project, path string, wanted *plan.Difference) error {
	n, err := plan.NoiseOf(p, path, wanted)
	if err != nil {
		return err
	}
	if c.json {
		err = c.print(n)
	} else {
		err = c.showNoise(n)
	}
	if err == nil && !n.Complete {
		return exit(exitNotMeasured)
	}
	return err
}

// showDetection prints what a comparison can find: first how many repetitions it takes, and then
// the table. Runners with the same figures share a table.
func (c *planCmd) showDetection(pl *plan.Detection) error {
	fmt.Fprintf(c.Stdout, "Plan for %s (%s): a comparison that finds a difference of %s\n", c.name(pl.Suite),
		text.ShortHash(pl.SuiteHash, hashDigits), pl.Detect)
	cases := cmp.Or(pl.Distinct, pl.Cases)
	var groups [][]string // of names, by table
	var tables []*plan.DetectionRunner
	known := true
	for i := range pl.Runners {
		r := &pl.Runners[i]
		known = known && r.UsageKnown
		same := slices.IndexFunc(tables, func(t *plan.DetectionRunner) bool { return t.SameAs(r) })
		if same < 0 {
			same, tables, groups = len(tables), append(tables, r), append(groups, nil)
		}
		groups[same] = append(groups[same], c.name(r.Runner))
	}
	for i, r := range tables {
		least, most := r.Needed()
		fmt.Fprintf(c.Stdout, "  %s: %s\n", strings.Join(groups[i], ", "), neededWords(least, most, cases))
	}
	fmt.Fprintf(c.Stdout, "  with the same number on both sides; found in %.0f %% of comparisons with a two-sided test "+
		"at level %g\n", 100*pl.Power, pl.Alpha)
	if pl.Copies != "" {
		fmt.Fprintf(c.Stdout, "  %s\n", c.clean(pl.Copies))
	}
	for i, r := range tables {
		fmt.Fprintf(c.Stdout, "\n  %s: %s\n", strings.Join(groups[i], ", "), variationWords(r.Variations))
		if err := c.showRows(pl.Detect.Metric, r); err != nil {
			return err
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

// showRows prints the table of a runner.
func (c *planCmd) showRows(metric string, r *plan.DetectionRunner) error {
	w := text.NewColumns(c.Stdout)
	fmt.Fprint(w, "  REPEATS\tSESSIONS\tTOKENS\tCOST\tTIME")
	for _, v := range r.Variations {
		of := ""
		if len(r.Variations) > 1 {
			of = fmt.Sprintf(" (%g)", v.Variance)
		}
		fmt.Fprintf(w, "\tDETECTABLE%s\tCASES NEEDED%s", of, of)
	}
	fmt.Fprintln(w)
	for k := range r.Rows {
		row := &r.Rows[k]
		fmt.Fprintf(w, "  %d\t%d\t%d\t%s\t%s", row.Repeats, row.Sessions, row.Tokens, dollars(row.CostUSD),
			text.Duration(row.Duration()))
		for v := range r.Variations {
			fmt.Fprintf(w, "\t%s\t%d", detectable(metric, row.Detectable[v]), row.CasesNeeded[v])
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
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
		return fmt.Sprintf("assumed, no earlier run repeats these cases: a variance of %g (coin flips) and of %g "+
			"(most cases nearly always pass or fail). plumb run SUITE --repeat 4 measures it",
			all[0].Variance, all[1].Variance)
	case v.Steady:
		return fmt.Sprintf("no repetition differed (%s, %s); the plan assumes that one does", text.Plural(v.Cases, "case"),
			text.Plural(v.Runs, "run"))
	default:
		return fmt.Sprintf("variance of a repetition within a case %.3g (%s, %s)", v.Variance, text.Plural(v.Cases, "case"),
			text.Plural(v.Runs, "run"))
	}
}

// neededWords says how many repetitions of the cases show a difference.
func neededWords(least, most, cases int) string {
	words := fmt.Sprintf("%d to %s", least, text.Plural(most, "repetition"))
	switch {
	case least == 0:
		return "nothing says how much it varies"
	case least > plan.MostRepeats:
		return fmt.Sprintf("more than %d repetitions: the suite has too few cases", plan.MostRepeats)
	case most > plan.MostRepeats:
		words = fmt.Sprintf("at least %s", text.Plural(least, "repetition"))
	case least == most:
		words = text.Plural(least, "repetition")
	}
	words += fmt.Sprintf(" of each of these %s", text.Plural(cases, "case"))
	sessions := fmt.Sprint(least * cases)
	switch {
	case least == most:
		words += fmt.Sprintf(" (--repeat %d)", least)
	case most <= plan.MostRepeats:
		sessions += fmt.Sprintf(" to %d", most*cases)
	}
	return words + ", " + sessions + " sessions a side"
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
