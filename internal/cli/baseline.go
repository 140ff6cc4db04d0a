package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/text"
)

// baselineCmd is plumb baseline.
type baselineCmd struct {
	*app
	projectFlags
}

func baselineCommand(a *app) *cobra.Command {
	c := &baselineCmd{app: a}
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Keep the results of runs in the repository, to compare later runs with them",
		Long: `Keep the results of runs under a name in plumb.baselines, beside the config, to compare later runs with
them.

A baseline is a file of JSON lines for version control: what the runs were made with, and for each case and runner
at most the last 20 repetitions with outcome, score, tokens, cost and latency. It holds no prompts and no outputs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	set := &cobra.Command{
		Use:   "set NAME RUN...",
		Short: "Add runs to a baseline, or make it",
		Long: `Add runs to a baseline, or make it. RUN is the same as for plumb compare. Several runs make a history,
which tells a case that broke from one that is flaky.

The runs must be made with the same configuration. If that differs from the baseline's, the baseline starts over, and so
does a case whose prompt or checks were changed. A case that a complete run does not have is removed.`,
		Example: `  plumb baseline set main last
  plumb baseline set main prev last`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return c.set(cmd.Context(), args[0], args[1:]) },
	}
	list := &cobra.Command{
		Use: "list", Short: "List the baselines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.list(cmd.Context()) },
	}
	remove := &cobra.Command{
		Use: "rm NAME...", Short: "Delete baselines", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.remove(cmd.Context(), args) },
	}
	for _, sub := range []*cobra.Command{set, list, remove} {
		c.register(sub.Flags())
		cmd.AddCommand(sub)
	}
	return cmd
}

func (c *baselineCmd) set(ctx context.Context, name string, refs []string) error {
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	if c.secrets().String(name) != name || redact.Keys(name) != nil {
		return errors.New("the name of a baseline, which is the name of its file, must not hold a secret")
	}
	runs := make([]*compare.Side, len(refs))
	for i, ref := range refs {
		if runs[i], err = p.OpenSide(ref); err != nil {
			return err
		}
	}
	notes, err := compare.SetBaseline(ctx, p.Baselines(), name, runs)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(c.Stderr, "plumb: %s\n", c.clean(note))
	}
	b, err := c.describe(p.Baselines(), name)
	if err != nil {
		return err
	}
	if c.json {
		return c.print(b)
	}
	fmt.Fprintf(c.Stdout, "Baseline %s has %s of %s on %s, from %s: %s\n", b.Name, text.Plural(b.Samples, "repetition"),
		text.Plural(b.Cases, "case"), text.Plural(len(b.Runners), "runner"), text.Plural(len(b.Runs), "run"), c.shown(b.Path))
	fmt.Fprintf(c.Stdout, "Compare a run with it: plumb compare %s last\n", joinFlags(name, p.Flags))
	return nil
}

// joinFlags returns a word with the flags of the project after it.
func joinFlags(word, flags string) string { return strings.TrimSpace(word + " " + flags) }

func (c *baselineCmd) describe(dir, name string) (compare.Baseline, error) {
	all, err := compare.Baselines(dir)
	if err != nil {
		return compare.Baseline{}, err
	}
	for _, b := range all {
		if b.Name == name {
			return b, nil
		}
	}
	return compare.Baseline{}, fmt.Errorf("the baseline %s was not written", name)
}

func (c *baselineCmd) list(ctx context.Context) error {
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	all, err := compare.Baselines(p.Baselines())
	if err != nil {
		return err
	}
	if c.json {
		if all == nil {
			all = []compare.Baseline{}
		}
		return c.print(all)
	}
	if len(all) == 0 {
		fmt.Fprintf(c.Stdout, "There are no baselines in %s. Make one with: plumb baseline set main last\n",
			c.shown(p.Baselines()))
		return nil
	}
	w := text.NewColumns(c.Stdout)
	fmt.Fprintln(w, "BASELINE\tSUITE\tRUNNERS\tRUNS\tCASES\tREPETITIONS\tUPDATED")
	for _, b := range all {
		if b.Error != "" {
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\t-\tdamaged\n", b.Name)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", b.Name, orDash(c.line(b.Suite, 40)),
			orDash(c.line(strings.Join(b.Runners, ", "), 60)), len(b.Runs), b.Cases, b.Samples,
			b.Updated.Format(time.RFC3339))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, b := range all {
		if b.Error != "" {
			fmt.Fprintf(c.Stderr, "plumb: baseline %s is damaged: %s\n", b.Name, c.clean(b.Error))
		}
	}
	return nil
}

func (c *baselineCmd) remove(ctx context.Context, names []string) error {
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range names {
		err := compare.RemoveBaseline(p.Baselines(), name)
		if err == nil {
			fmt.Fprintf(c.Stdout, "Deleted baseline %s\n", name)
		}
		failed = append(failed, err)
	}
	if len(names) == 1 {
		return failed[0]
	}
	if err := errors.Join(failed...); err != nil {
		return plumb.WithHint(err, "list the baselines with: plumb baseline list")
	}
	return nil
}
