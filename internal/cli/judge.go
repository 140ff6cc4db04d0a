package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb/internal/calibrate"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/text"
)

func judgeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "judge", Short: "Measure how well a judge judges", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(calibrateCommand(a))
	return cmd
}

// calibrateCmd is plumb judge calibrate.
type calibrateCmd struct {
	*app
	settings
}

func calibrateCommand(a *app) *cobra.Command {
	c := &calibrateCmd{app: a, settings: newSettings()}
	c.want.Cache = "on"
	cmd := &cobra.Command{
		Use:   "calibrate GOLD.jsonl",
		Short: "Compare a judge with labels",
		Long: `Put questions with known answers to a judge, and compare. Each line of GOLD.jsonl is an item:

  {"input": "Write a haiku.", "output": "…", "judge_prompt": "Is it a haiku?", "label": "pass"}

label is "pass", "fail", or a number from 0 to 1. An item can also have messages in place of input, case (the id of
a case), labels ({"ann": "pass", "bob": "fail"}, by human raters), and output_b: a second output, for a question
that compares the first output with the second. Each label needs at least 20 items.

The result is kept in the project, for this judge, model version, question and number of votes. Reports of runs with
the same judge use it. Answers are kept in the cache, so the same command continues after an interruption.

The exit code is 0 when the judge answered all items, and 3 when it could not answer some.`,
		Example: `  plumb judge calibrate gold.jsonl --judge openai:gpt-5
  plumb judge calibrate gold.jsonl --judge anthropic:claude-opus-4-6 --judge-votes 3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd.Flags(), args[0]) },
	}
	help := map[string]string{
		"judge":       "`model` or runner id to calibrate (default: the judge of the config)",
		"judge-votes": "answers per question, an odd number; the calibration is for this number (default 1)",
		"min-kappa":   "warn if Cohen's kappa is lower",
		"parallel":    fmt.Sprintf("items asked at the same time (default %d)", config.DefaultParallel),
		"cache":       "response cache: on, off, or only (send no request)",
	}
	c.register(cmd, func(s *setting.Setting) string {
		if s.Flag == "config" || s.Flag == "output-dir" {
			return s.Score
		}
		return help[s.Flag]
	})
	return cmd
}

func (c *calibrateCmd) run(ctx context.Context, flags *pflag.FlagSet, gold string) error {
	if err := c.check(flags, false); err != nil {
		return err
	}
	p, err := c.open(ctx, c.projectFlags())
	if err != nil {
		return err
	}
	w := interrupts{app: c.app}
	ctx, _, done := w.watch(ctx)
	last := 0
	result, err := p.Calibrate(ctx, gold, c.want, func(done, of int) {
		if share := done * 10 / of; share > last || done == of {
			last = share
			fmt.Fprintf(c.Stderr, "%d/%d items asked\n", done, of)
		}
	})
	done()
	if w.first != nil {
		fmt.Fprintln(c.Stderr, "interrupted; the same command continues with the answers in the cache")
		return exit(w.code())
	}
	if err != nil {
		return err
	}
	c.know(result.Redactor())
	if err := c.show(result); err != nil {
		return err
	}
	if len(result.Failed) > 0 {
		return exit(exitNotMeasured)
	}
	return nil
}

// calibrationLine is a calibration as --json prints it, without its records.
type calibrationLine struct {
	*calibrate.Calibration
	Records  any      `json:"records,omitempty"`
	Warnings []string `json:"warnings"`
	File     string   `json:"file" redact:"-"`
}

// failedItem is an item that the judge could not answer.
type failedItem struct {
	Place string `json:"place"`
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

func (c *calibrateCmd) show(r *project.Calibrated) error {
	failed := []failedItem{}
	for _, a := range r.Failed {
		at := a.Item.Place
		at.File = c.shown(at.File)
		failed = append(failed, failedItem{at.String(), a.Verdict.Error.Message, a.Verdict.Error.Hint})
	}
	if c.json {
		out := struct {
			Calibrations []calibrationLine `json:"calibrations"`
			Failed       []failedItem      `json:"failed"`
			Requests     int               `json:"requests"`
			CostUSD      *float64          `json:"costUsd"`
		}{[]calibrationLine{}, failed, r.Requests, r.CostUSD}
		for i, cal := range r.Calibrations {
			out.Calibrations = append(out.Calibrations, calibrationLine{
				Calibration: cal, Warnings: doc.Array(cal.Warnings(c.want.MinKappa)), File: r.Files[i],
			})
		}
		return c.print(out)
	}
	var b strings.Builder
	for i, cal := range r.Calibrations {
		c.calibration(&b, cal)
		fmt.Fprintf(&b, "stored       %s\n\n", r.Files[i])
	}
	c.failures(&b, failed)
	fmt.Fprintf(&b, "cost         %s, %s\n", dollars(r.CostUSD), text.Plural(r.Requests, "request"))
	_, err := io.WriteString(c.Stdout, b.String())
	return err
}

// calibration writes the figures of one calibration.
func (c *calibrateCmd) calibration(b *strings.Builder, cal *calibrate.Calibration) {
	row := func(label, format string, args ...any) {
		fmt.Fprintf(b, "%-12s %s\n", label, fmt.Sprintf(format, args...))
	}
	id := &cal.Identity
	model := ""
	if !strings.HasSuffix(id.Judge, id.Model) {
		model = " (" + c.line(id.Model, 60) + ")"
	}
	row("judge", "%s%s, %s", c.line(id.Judge, 60), model, text.Plural(id.Votes, "vote"))
	row("question", "%s", c.line(cal.QuestionText, 100))
	row("items", "%d: %d with the label pass, %d with fail", cal.Items, cal.Passes, cal.Fails)
	t := &cal.Table
	row("", "%-12s %6s %6s", "", "passed", "failed")
	row("", "%-12s %6d %6d", "label pass", t[0][0], t[0][1])
	row("", "%-12s %6d %6d", "label fail", t[1][0], t[1][1])
	row("false pass", "%s", shareWords(cal.FalsePass))
	row("false fail", "%s", shareWords(cal.FalseFail))
	row("agreement", "%s", shareWords(cal.Agreement))
	row("bias", "%s", biasWords(cal.Bias))
	row("kappa", "%s", decimals(cal.Kappa))
	if cal.Raters.N > 0 {
		row("raters", "alpha %s over %s; %s with the judge", decimals(cal.Raters), text.Plural(cal.Raters.N, "item"),
			decimals(cal.RatersAndJudge))
	}
	if cal.VotesDiffer.N > 0 {
		row("stability", "votes differ on %s; flip rate %s", shareWords(cal.VotesDiffer), decimals(cal.FlipRate))
	} else {
		row("stability", "– (one vote; --judge-votes 3 measures it)")
	}
	row("swap", "the order changes %s", shareWords(cal.Swap))
	for _, w := range cal.Warnings(c.want.MinKappa) {
		row("warning", "%s", w)
	}
}

// mostFailed is the number of items without an answer that are listed.
const mostFailed = 20

// failures lists the items that the judge could not answer.
func (c *calibrateCmd) failures(b *strings.Builder, failed []failedItem) {
	if len(failed) == 0 {
		return
	}
	fmt.Fprintf(b, "not answered %s, left out of all figures\n", text.Plural(len(failed), "item"))
	for i, f := range failed {
		if i == mostFailed {
			fmt.Fprintf(b, "  (%d more)\n", len(failed)-i)
			break
		}
		fmt.Fprintf(b, "  %s: %s\n", c.clean(f.Place), c.line(f.Error, 160))
	}
	if hint := failed[0].Hint; hint != "" {
		fmt.Fprintf(b, "  try: %s\n", c.indent(hint, 7))
	}
}

// shareWords renders k of n with its interval, rounded outward.
func shareWords(f calibrate.Figure) string {
	if f.Value == nil {
		return "– (no items)"
	}
	return fmt.Sprintf("%d/%d  %.0f %% [%.0f–%.0f %%]", f.K, f.N, *f.Value*100, math.Floor(*f.Low*100),
		math.Ceil(*f.High*100))
}

// biasWords renders a difference of rates in percentage points.
func biasWords(f calibrate.Figure) string {
	if f.Value == nil {
		return "–"
	}
	text := fmt.Sprintf("%+.1f pp", *f.Value*100)
	if f.Low != nil {
		text += fmt.Sprintf(", 95 %% between %+.1f and %+.1f", *f.Low*100, *f.High*100)
	}
	return text
}

// decimals renders a number with two decimals and its interval, rounded outward.
func decimals(f calibrate.Figure) string {
	if f.Value == nil {
		return "– (cannot be computed)"
	}
	text := fmt.Sprintf("%.2f", *f.Value)
	if f.Low != nil {
		text += fmt.Sprintf(" [%.2f – %.2f]", math.Floor(*f.Low*100)/100, math.Ceil(*f.High*100)/100)
	}
	return text
}
