package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/plan"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/text"
)

// aaCmd is plumb aa. It has the settings of plumb run.
type aaCmd struct{ runCmd }

func aaCommand(a *app) *cobra.Command {
	c := &aaCmd{runCmd{app: a, settings: newSettings()}}
	c.want.Repeat = plan.NoiseRepeat
	cmd := &cobra.Command{
		Use:   "aa SUITE|RUN",
		Short: "Measure how much repeated runs of a suite differ without a cause",
		Long: `Compare a suite with itself. Run each case several times on the same runner, and show how much the repetitions
differ: the flip rate, the noise floor, the smallest difference that a comparison can find, and the cases that never
tell anything. The exit code is 0, also if cases fail, and 3 if too few repetitions could be measured.

With a RUN that has repetitions (the same as for plumb resume), the command reads that run and spends nothing.`,
		Example: `  plumb aa suite.jsonl --model gpt-5
  plumb aa suite.jsonl --model gpt-5 --repeat 10
  plumb aa last`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd, args[0]) },
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(groupedUsage)
	c.register(cmd, func(s *setting.Setting) string {
		switch s.Flag {
		case "plan", "all-repetitions":
			return ""
		default:
			return s.Help
		}
	})
	return cmd
}

func (c *aaCmd) run(ctx context.Context, cmd *cobra.Command, ref string) error {
	path := c.env().Path(ref)
	file := files.Exists(path) && !files.Exists(filepath.Join(path, runlog.SpecFile)) || filepath.Ext(ref) != "" && !files.Exists(path)
	if file || isPublished(ref) {
		return c.measure(ctx, cmd, ref)
	}
	p, path, err := c.findRun(ctx, c.projectFlags(), ref)
	if err != nil {
		return err
	}
	return c.show(p, path)
}

// isPublished reports whether ref can be the name of a published suite, such as v1.0/cheap.
func isPublished(ref string) bool {
	return len(ref) > 1 && ref[0] == 'v' && ref[1] >= '0' && ref[1] <= '9'
}

// measure runs the suite, and shows what the run says. With --json, the reports of the run go to
// standard error.
func (c *aaCmd) measure(ctx context.Context, cmd *cobra.Command, ref string) error {
	out, raw, asJSON := c.Stdout, c.rawStdout, c.json
	if asJSON {
		c.Stdout, c.rawStdout, c.json = c.Stderr, c.Stderr, false
	}
	c.want.AllRepetitions = true
	p, jobs, err := c.prepare(ctx, cmd, []string{ref})
	for _, j := range jobs {
		defer j.Close()
	}
	if err != nil {
		return err
	}
	if c.want.Repeat < 2 {
		return plumb.WithHint(errors.New("plumb aa needs at least 2 repetitions of each case"), "--repeat 4")
	}
	result, code, err := c.performed(ctx, p, jobs[0], c.want.Reports)
	if result == nil || code >= exitInterrupted {
		return errors.Join(err, exit(code))
	}
	if c.Stdout, c.rawStdout, c.json = out, raw, asJSON; !asJSON {
		fmt.Fprintln(c.Stdout)
	}
	return c.show(p, result.Dir)
}

// show prints how much the repetitions of a run differ.
func (c *aaCmd) show(p *project.Project, path string) error {
	a, err := plan.NoiseOf(p, path)
	if err != nil {
		return err
	}
	if c.json {
		err = c.print(a)
	} else {
		err = c.showAA(a)
	}
	if err == nil && !a.Complete {
		return exit(exitNotMeasured)
	}
	return err
}

func (c *aaCmd) showAA(a *plan.Noise) error {
	fmt.Fprintf(c.Stdout, "%s (%s) against itself: how much repetitions differ without a cause\n", c.name(a.Suite),
		text.ShortHash(a.SuiteHash, hashDigits))
	for i := range a.Runners {
		if err := c.showRunner(&a.Runners[i]); err != nil {
			return err
		}
	}
	c.showSteady(a)
	return nil
}

// showRunner prints the figures of one runner.
func (c *aaCmd) showRunner(r *plan.NoiseRunner) error {
	out := func(label, format string, args ...any) {
		fmt.Fprintf(c.Stdout, "  %-12s %s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(c.Stdout, "\n%s\n", c.name(r.Runner))
	out("measured", "%d/%d repetitions of %s, %d passed", r.Measured, r.Planned, text.Plural(r.Cases, "case"), r.Passed)
	if r.StoppedEarly > 0 {
		out("left out", "%s that stopped at a failure; measure them with --all-repetitions",
			text.Plural(r.StoppedEarly, "execution"))
	}
	if r.RepeatedCases == 0 {
		out("flip rate", "– no case has two measured repetitions; plumb resume RUN --repeat %d adds some", plan.NoiseRepeat)
		return nil
	}
	out("flip rate", "%s, 95 %% between %s and %s: how often two repetitions of a case differ (mean of %s)",
		share(r.FlipRate.Value), rounded(r.FlipRate.Low, math.Floor, " %"), rounded(r.FlipRate.High, math.Ceil, " %"),
		text.Plural(r.RepeatedCases, "case"))
	if r.Steady {
		out("", "no repetition differed; the figures below assume that one does")
	}
	out("noise floor", "±%s: in 95 %% of comparisons, two such runs of %s differ by no more without any cause",
		points(r.NoiseFloor), text.Plural(int(math.Round(r.Repeats)), "repetition"))
	if r.TokenNoiseFloor != nil {
		out("", "±%s for tokens", rounded(r.TokenNoiseFloor, math.Ceil, " %"))
	}
	c.showCheck(out, &r.Check)
	fmt.Fprintln(c.Stdout)
	w := text.NewColumns(c.Stdout)
	fmt.Fprintln(w, "  REPEATS A SIDE\tPASS RATE FROM\tTOKENS FROM")
	for _, d := range r.Detectable {
		fmt.Fprintf(w, "  %d\t%s\t%s\n", d.Repeats, points(d.PassRate), rounded(d.Tokens, math.Ceil, " %"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(c.Stdout, "  The smallest differences that a comparison of this suite finds in 80 % of cases.")
	return c.showFlips(r.Flips)
}

// showCheck prints the comparison of the odd with the even repetitions.
func (c *aaCmd) showCheck(out func(label, format string, args ...any), check *plan.Check) {
	if check.P == nil {
		out("self-check", "– it needs a case with an odd and an even repetition")
		return
	}
	tokens := ""
	if check.TokenP != nil {
		tokens = ", of the tokens " + analyze.PWords(*check.TokenP)
	}
	out("self-check", "odd repetitions %d/%d passed, even ones %d/%d: %s%s", check.OddPassed, check.OddMeasured,
		check.EvenPassed, check.EvenMeasured, analyze.PWords(*check.P), tokens)
	if check.Unsteady {
		out("warning", "the runner is not steady within the run: look for a cache, a rate limit, or a change at the provider")
	}
}

// mostCases is the number of cases that a list in the terminal has.
const mostCases = 20

// showFlips lists the cases whose repetitions differ.
func (c *aaCmd) showFlips(cases []plan.CaseFlips) error {
	w := text.NewColumns(c.Stdout)
	fmt.Fprintln(w, "\n  CASE\tPASSED\tFLIP RATE")
	differ := 0
	for _, f := range cases {
		if f.FlipRate == nil || *f.FlipRate == 0 {
			continue
		}
		if differ++; differ <= mostCases {
			fmt.Fprintf(w, "  %s\t%d/%d\t%s\n", c.name(f.Case), f.Passed, f.Measured, share(f.FlipRate))
		}
	}
	if differ == 0 {
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more := differ - mostCases; more > 0 {
		fmt.Fprintf(c.Stdout, "  ... and %d more\n", more)
	}
	return nil
}

// showSteady lists the cases that never discriminate, by outcome.
func (c *aaCmd) showSteady(a *plan.Noise) {
	for _, kind := range []struct {
		outcome      plumb.Outcome
		words, other string
	}{
		{plumb.OutcomePass, "always passed", "failed"}, {plumb.OutcomeFail, "always failed", "passed"},
	} {
		var ids []string
		least, atMost := math.MaxInt, 0.0
		for _, s := range a.NeverDiscriminate {
			if s.Outcome == kind.outcome {
				ids = append(ids, c.name(s.Case))
				least, atMost = min(least, s.Measured), max(atMost, s.AtMost)
			}
		}
		if len(ids) == 0 {
			continue
		}
		n := len(ids)
		if n > mostCases {
			ids = append(ids[:mostCases], fmt.Sprintf("and %d more", n-mostCases))
		}
		fmt.Fprintf(c.Stdout, "\n%s of %s %s on every runner, and tell no runners apart: %s\n", text.Plural(n, "case"),
			c.name(a.Suite), kind.words, strings.Join(ids, ", "))
		fmt.Fprintf(c.Stdout, "  0 of %d %s: at most %s do\n", least, kind.other, rounded(&atMost, math.Ceil, " %"))
	}
}

// share renders a rate as a percentage.
func share(v *float64) string { return rounded(v, math.Round, " %") }

// points renders a bound for a difference of rates, in percentage points.
func points(v *float64) string { return rounded(v, math.Ceil, " pp") }

// rounded renders hundred times a figure with one decimal. A bound is rounded outward.
func rounded(v *float64, round func(float64) float64, unit string) string {
	if v == nil {
		return "–"
	}
	const exact = 1e-9 // a bound that has one decimal keeps it
	n := *v * 1000
	if near := math.Round(n); math.Abs(n-near) > exact {
		n = round(n)
	}
	return fmt.Sprintf("%.1f%s", n/10, unit)
}
