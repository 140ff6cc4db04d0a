package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/earlier"
	"github.com/plumb-eval/plumb/internal/job"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/reporting"
	"github.com/plumb-eval/plumb/internal/text"
)

// compareCmd is plumb compare.
type compareCmd struct {
	*app
	projectFlags
	baseline, cluster, unproven string
	alpha, minCoverage          float64
	confirm, again, trust       bool
	vary, renamed, prompts      words
	margins, gates, reports     []string
}

func compareCommand(a *app) *cobra.Command {
	c := &compareCmd{app: a}
	defaults := compare.DefaultChoices()
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Decide whether run B is better or worse than run A, the same, or not decided",
		Long: `Compare the candidate B with the baseline A, case by case. Each is a run (its id, the beginning or end of its
id, a directory, last, or prev), the name of a baseline in plumb.baselines, results.json, a file of --output, or a result file
of skillgym or promptfoo. RUN#RUNNER keeps one runner of a run. With --prompts A,B, one run is enough: its cases with
prompt B are compared with the same cases with prompt A.

The first line is the conclusion: better, worse, equivalent (smaller than the margin), or not decisive (too few data).
Differences between the runs beside one declared variable are refused; see --vary.

The exit code is 0 if B is better or equivalent, 1 if it is worse, 3 if the comparison is not decisive, and 2 if the
runs cannot be compared. With --gate, the gates decide: 1 if one is violated, 3 if one is unproven, otherwise 0.`,
		Example: `  plumb compare prev last
  plumb compare main last --gate "pass_rate >= -2pp" --gate "cost <= +10%"
  plumb compare last --baseline main --margin 5pp
  plumb compare last --prompts short,long
  plumb compare last#gpt-5 last#gpt-5-mini --vary model --report json:comparison.json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&c.baseline, "baseline", "", "`name` of the baseline in plumb.baselines, in place of A")
	f.Var(&c.vary, "vary", "allow these kinds of differences, such as model,parameters; any allows all; repeatable")
	f.Var(&c.prompts, "prompts", "compare two prompts: the `labels` of the baseline and of the candidate")
	f.Var(&c.renamed, "map", "pair a renamed case or runner: `OLD=NEW`; repeatable")
	numberVar(f, &c.alpha, "alpha", "", defaults.Alpha, "two-sided level of the tests")
	f.StringArrayVar(&c.margins, "margin", nil,
		"largest `effect` that does not matter: 2pp, or METRIC=VALUE such as tokens=15%; repeatable (default 2pp)")
	numberVar(f, &c.minCoverage, "min-coverage", "", defaults.MinCoverage,
		"conclude nothing if a smaller `share` of the pairs was measured")
	f.StringArrayVar(&c.gates, "gate", nil, "`condition` that B must meet, such as \"pass_rate >= -2pp\"; repeatable")
	f.StringVar(&c.unproven, "unproven", "", "`pass`: a gate that is unproven does not change the exit code")
	f.StringVar(&c.cluster, "cluster", "", "cases that share a source: `category`, tag:PREFIX, or a key of the cases")
	f.StringArrayVar(&c.reports, "report", nil,
		"`name[:path]` of a report: "+strings.Join(kind.ComparisonNames(), ", ")+"; repeatable (default terminal)")
	f.BoolVar(&c.confirm, "confirm", false,
		fmt.Sprintf("repeat cases that look broken %d times, to decide whether they are; this asks the models",
			compare.FreshRepetitions))
	f.BoolVar(&c.again, "confirm-again", false,
		"as --confirm, and repeat cases that were confirmed before once more, which adds to the earlier repetitions")
	f.BoolVar(&c.trust, "trust", false, trustHelp)
	c.register(f)
	return cmd
}

func (c *compareCmd) run(ctx context.Context, args []string) error {
	o, match, reports, err := c.options()
	if err != nil {
		return err
	}
	baseRef, candRef, err := c.sides(args)
	if err != nil {
		return err
	}
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	spareComparison()
	base, cand, err := p.OpenSides(baseRef, candRef)
	if err != nil {
		return err
	}
	if err := reports.CheckOutputs(p, base.Path, cand.Path); err != nil {
		return err
	}
	if len(c.prompts) > 0 {
		if base, cand, err = c.ofPrompts(base, cand, &match); err != nil {
			return err
		}
	}
	m, err := compare.Match(base, cand, match)
	if err != nil {
		return err
	}
	o.Flags, o.Compare = p.Flags, c.command(baseRef, candRef, p.Flags)
	if c.confirm || c.again {
		if o.Confirmed, err = c.fresh(ctx, m, compare.Analyze(m, o)); err != nil {
			return err
		}
	}
	result, err := reporting.Compare(p, m, o)
	if err != nil {
		return err
	}
	if err := reporting.WriteComparison(p, result, reports); err != nil {
		return err
	}
	return exit(result.ExitCode)
}

// sides returns the names of the two sides.
func (c *compareCmd) sides(args []string) (base, cand string, err error) {
	switch {
	case len(c.prompts) > 0 && len(c.prompts) != 2:
		return "", "", plumb.WithHint(fmt.Errorf("--prompts has %s, and needs 2", text.Plural(len(c.prompts), "label")),
			"plumb compare RUN --prompts A,B")
	case len(c.prompts) > 0 && c.baseline == "" && len(args) == 1:
		return args[0], args[0], nil
	case c.baseline != "" && len(args) == 1:
		return c.baseline, args[0], nil
	case c.baseline != "":
		return "", "", plumb.WithHint(fmt.Errorf("compare: --baseline %s and two runs are three sides", c.baseline),
			"plumb compare B --baseline "+c.baseline)
	case len(args) == 1:
		return "", "", plumb.WithHint(errors.New("compare: missing argument"),
			"plumb compare A B, or plumb compare B --baseline NAME")
	default:
		return args[0], args[1], nil
	}
}

// ofPrompts keeps one prompt of each side, and pairs the cases of the same item.
func (c *compareCmd) ofPrompts(
	base, cand *compare.Side, o *compare.MatchOptions,
) (ofBase, ofCand *compare.Side, err error) {
	if ofBase, err = base.OfPrompt(c.prompts[0]); err != nil {
		return nil, nil, err
	}
	if ofCand, err = cand.OfPrompt(c.prompts[1]); err != nil {
		return nil, nil, err
	}
	pairs := compare.PairItems(ofBase, ofCand)
	maps.Copy(pairs, o.Map)
	o.Map = pairs
	if !slices.Contains(o.Vary, compare.VaryAny) && !slices.Contains(o.Vary, compare.VaryPrompt) {
		o.Vary = append(slices.Clone(o.Vary), compare.VaryPrompt)
	}
	return ofBase, ofCand, nil
}

// options parses the flags.
func (c *compareCmd) options() (
	o compare.Choices, m compare.MatchOptions, reports reporting.ComparisonReports, err error,
) {
	o = compare.DefaultChoices()
	o.Alpha, o.MinCoverage, o.UnprovenPass = c.alpha, c.minCoverage, c.unproven == "pass"
	if !(c.alpha > 0 && c.alpha < 0.5) {
		return o, m, nil, plumb.WithHint(fmt.Errorf("--alpha %v is not between 0 and 0.5", c.alpha), "the default is 0.05")
	}
	if !(c.minCoverage >= 0 && c.minCoverage <= 1) {
		return o, m, nil, plumb.WithHint(fmt.Errorf("--min-coverage %v is not between 0 and 1", c.minCoverage),
			"the default is 0.8: four fifths of the pairs")
	}
	if c.unproven != "" && c.unproven != "pass" {
		return o, m, nil, plumb.WithHint(fmt.Errorf("--unproven %q is unknown", c.unproven),
			"write --unproven pass, or leave it out: then an unproven gate ends with exit code 3")
	}
	if o.Margins, err = compare.ParseMargins(c.margins); err != nil {
		return o, m, nil, err
	}
	for _, text := range c.gates {
		g, err := compare.ParseGate(text)
		if err != nil {
			return o, m, nil, err
		}
		o.Gates = append(o.Gates, g)
	}
	m.Cluster = c.cluster
	if m.Vary, err = compare.ParseVary(c.vary); err != nil {
		return o, m, nil, err
	}
	if m.Map, err = compare.ParseMap(c.renamed); err != nil {
		return o, m, nil, err
	}
	reports = c.reports
	if c.json {
		reports = append(reporting.ComparisonReports{kind.JSON}, reports...)
	}
	reports, err = reports.Check()
	return o, m, reports, err
}

// command returns the command of this comparison, without its flags for output.
func (c *compareCmd) command(base, cand, flags string) string {
	words := []string{"plumb compare", report.ShellWord(base)}
	if cand != base || len(c.prompts) == 0 {
		words = append(words, report.ShellWord(cand))
	}
	if len(c.prompts) > 0 {
		words = append(words, "--prompts", report.ShellWord(c.prompts.String()))
	}
	if len(c.vary) > 0 {
		words = append(words, "--vary", report.ShellWord(c.vary.String()))
	}
	for _, pair := range c.renamed {
		words = append(words, "--map", report.ShellWord(pair))
	}
	return strings.TrimSpace(strings.Join(words, " ") + " " + flags)
}

// fresh makes fresh repetitions of the suspect cases: on the candidate, and on the baseline where
// its history is short. Reports of these runs go to standard error.
func (c *compareCmd) fresh(
	ctx context.Context, m *compare.Matching, result *compare.Comparison,
) (map[compare.CaseKey]compare.Fresh, error) {
	env := c.env()
	env.Stdout, env.Display.Terminal, env.Display.Color = c.Stderr, false, false
	p, err := c.adopt(project.OpenProject(ctx, env, c.config, c.outputDir))
	if err != nil {
		return nil, err
	}
	baseCases, candCases := map[string][]string{}, map[string][]string{}
	for i := range result.Cases.Suspect {
		s := &result.Cases.Suspect[i]
		if !m.Cand.Extendable() || compare.NeedsBaseline(s) && !m.Base.Extendable() {
			continue // it stays suspect
		}
		candCases[s.Runner] = append(candCases[s.Runner], s.Case)
		if compare.NeedsBaseline(s) {
			runner := cmp.Or(s.BaselineRunner, s.Runner)
			baseCases[runner] = append(baseCases[runner], cmp.Or(s.BaselineCase, s.Case))
		}
	}
	base, err := c.freshCounts(ctx, p, m.Base, baseCases)
	if err != nil {
		return nil, err
	}
	cand, err := c.freshCounts(ctx, p, m.Cand, candCases)
	if err != nil {
		return nil, err
	}
	fresh := map[compare.CaseKey]compare.Fresh{}
	for i := range result.Cases.Suspect {
		s := &result.Cases.Suspect[i]
		key := compare.CaseKey{Case: s.Case, Runner: s.Runner}
		if n, ok := cand[key]; ok {
			was := base[compare.CaseKey{
				Case: cmp.Or(s.BaselineCase, s.Case), Runner: cmp.Or(s.BaselineRunner, s.Runner),
			}]
			fresh[key] = compare.Fresh{
				Candidate: n.Count, Baseline: was.Count, Confirmations: max(n.Confirmations, was.Confirmations),
			}
		}
	}
	return fresh, nil
}

// freshCounts returns the fresh repetitions of cases of one side, by runner.
func (c *compareCmd) freshCounts(
	ctx context.Context, p *project.Project, side *compare.Side, cases map[string][]string,
) (map[compare.CaseKey]earlier.Confirmed, error) {
	counts := map[compare.CaseKey]earlier.Confirmed{}
	for _, runner := range slices.Sorted(maps.Keys(cases)) {
		found, err := earlier.Confirm(ctx, p, side, earlier.ConfirmOptions{
			Cases: cases[runner], Runner: runner, Repetitions: compare.FreshRepetitions,
			Trust: project.Trust{Given: c.trust, Command: "compare"}, Again: c.again,
			Perform: func(j *job.Job) error { return c.performConfirmation(ctx, j) },
		})
		if err != nil {
			return nil, err
		}
		for id, n := range found {
			counts[compare.CaseKey{Case: id, Runner: runner}] = n
		}
	}
	return counts, nil
}

func (c *compareCmd) performConfirmation(ctx context.Context, j *job.Job) error {
	c.know(j.Redactor())
	w := interrupts{app: c.app, job: j}
	if _, err := j.Perform(ctx, nil, w.watch); err != nil {
		return err
	}
	if w.first != nil {
		fmt.Fprintln(c.Stderr, "interrupted; the same command continues the confirmation")
		return exit(w.code())
	}
	return nil
}
