package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/plan"
	"github.com/plumb-eval/plumb/internal/text"
)

// showNoise prints how much the repetitions of a run differ.
func (a *app) showNoise(n *plan.Noise) error {
	fmt.Fprintf(a.Stdout, "%s (%s) against itself: how much repetitions differ without a cause\n", a.name(n.Suite),
		text.ShortHash(n.SuiteHash, hashDigits))
	for i := range n.Runners {
		if err := a.showRunnerNoise(&n.Runners[i], n.Detect); err != nil {
			return err
		}
	}
	a.showSteady(n)
	return nil
}

// showRunnerNoise prints the figures of one runner, and what it takes to find a difference.
func (a *app) showRunnerNoise(r *plan.NoiseRunner, wanted *plan.Difference) error {
	out := func(label, format string, args ...any) {
		fmt.Fprintf(a.Stdout, "  %-12s %s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(a.Stdout, "\n%s\n", a.name(r.Runner))
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
	showCheck(out, &r.Check)
	fmt.Fprintln(a.Stdout)
	w := text.NewColumns(a.Stdout)
	fmt.Fprintln(w, "  REPEATS A SIDE\tPASS RATE FROM\tTOKENS FROM")
	for _, d := range r.Detectable {
		fmt.Fprintf(w, "  %d\t%s\t%s\n", d.Repeats, points(d.PassRate), rounded(d.Tokens, math.Ceil, " %"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout, "  The smallest differences that a comparison of this suite finds in 80 % of cases.")
	if wanted != nil {
		fmt.Fprintf(a.Stdout, "  %s: %s.\n", wanted, neededWords(r.RepeatsNeeded, r.RepeatsNeeded, r.Cases))
	}
	return a.showFlips(r.Flips)
}

// showCheck prints the comparison of the odd with the even repetitions.
func showCheck(out func(label, format string, args ...any), check *plan.Check) {
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
func (a *app) showFlips(cases []plan.CaseFlips) error {
	w := text.NewColumns(a.Stdout)
	fmt.Fprintln(w, "\n  CASE\tPASSED\tFLIP RATE")
	differ := 0
	for _, f := range cases {
		if f.FlipRate == nil || *f.FlipRate == 0 {
			continue
		}
		if differ++; differ <= mostCases {
			fmt.Fprintf(w, "  %s\t%d/%d\t%s\n", a.name(f.Case), f.Passed, f.Measured, share(f.FlipRate))
		}
	}
	if differ == 0 {
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if more := differ - mostCases; more > 0 {
		fmt.Fprintf(a.Stdout, "  ... and %d more\n", more)
	}
	return nil
}

// showSteady lists the cases that never discriminate, by outcome.
func (a *app) showSteady(n *plan.Noise) {
	for _, kind := range []struct {
		outcome      plumb.Outcome
		words, other string
	}{
		{plumb.OutcomePass, "always passed", "failed"}, {plumb.OutcomeFail, "always failed", "passed"},
	} {
		var ids []string
		least, atMost := math.MaxInt, 0.0
		for _, s := range n.NeverDiscriminate {
			if s.Outcome == kind.outcome {
				ids = append(ids, a.name(s.Case))
				least, atMost = min(least, s.Measured), max(atMost, s.AtMost)
			}
		}
		if len(ids) == 0 {
			continue
		}
		count := len(ids)
		if count > mostCases {
			ids = append(ids[:mostCases], fmt.Sprintf("and %d more", count-mostCases))
		}
		fmt.Fprintf(a.Stdout, "\n%s of %s %s on every runner, and tell no runners apart: %s\n", text.Plural(count, "case"),
			a.name(n.Suite), kind.words, strings.Join(ids, ", "))
		fmt.Fprintf(a.Stdout, "  0 of %d %s: at most %s do\n", least, kind.other, rounded(&atMost, math.Ceil, " %"))
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
