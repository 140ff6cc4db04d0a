package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb/internal/job"
)

// resumeCmd is plumb resume.
type resumeCmd struct {
	*app
	runFlags
	retryErrors, trust bool
}

func resumeCommand(a *app) *cobra.Command {
	c := &resumeCmd{app: a, runFlags: newRunFlags()}
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Finish a run that was interrupted",
		Long: `Finish a run that was interrupted, killed, or stopped by a budget. Finished sessions are kept and not repeated.
RUN is the id of a run, the beginning or end of its id, or a directory; without it, the last run.

The run.json of a run names programs and servers. If the run is not in this project's directory of runs, plumb lists
them, and starts them only with --trust.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd.Flags(), first(args)) },
	}
	fs, want := cmd.Flags(), &c.want
	c.projectFlags.register(fs)
	fs.BoolVar(&c.retryErrors, "retry-errors", false, "also repeat what could not be measured")
	fs.BoolVar(&c.trust, "trust", false, trustHelp)
	fs.IntVarP(&want.Parallel, "parallel", "j", job.Unset, "largest number of sessions in flight (default: as in the run)")
	fs.Float64Var(&want.MaxCostUSD, "max-cost", 0,
		"budget in US `dollars` for the whole run (default: as in the run); 0 is no limit")
	fs.Int64Var(&want.MaxTokens, "max-tokens", 0,
		"budget in `tokens` for the whole run (default: as in the run); 0 is no limit")
	fs.Var((*milliseconds)(&want.MaxDurationMs), "max-duration",
		"time for the whole run (default: as in the run); 0 is no limit")
	fs.BoolVar(&want.AllowUnmetered, "allow-unmetered", false, allowUnmeteredHelp)
	fs.StringArrayVar(&c.reports, "report", nil, reportHelp)
	fs.Lookup("parallel").DefValue = "0" // help does not show this value
	return cmd
}

func (c *resumeCmd) run(ctx context.Context, flags *pflag.FlagSet, ref string) error {
	if err := c.check(); err != nil {
		return err
	}
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	j, err := c.adoptJob(job.Resume(ctx, p, ref, job.ResumeOptions{
		RetryErrors: c.retryErrors, Trust: job.Trust{Given: c.trust, Command: "resume"},
		Change: func(s *job.Spec) { c.change(flags, s) },
	}))
	if err != nil {
		return err
	}
	defer j.Close()
	code, err := c.perform(ctx, p, j, c.reports)
	if err != nil {
		return err
	}
	return exit(code)
}

// change sets the settings of the run that are on the command line.
func (c *resumeCmd) change(flags *pflag.FlagSet, s *job.Spec) {
	for name, set := range map[string]func(){
		"parallel":        func() { s.Parallel = c.want.Parallel },
		"max-cost":        func() { s.MaxCostUSD = c.want.MaxCostUSD },
		"max-tokens":      func() { s.MaxTokens = c.want.MaxTokens },
		"max-duration":    func() { s.MaxDurationMs = c.want.MaxDurationMs },
		"allow-unmetered": func() { s.AllowUnmetered = c.want.AllowUnmetered },
	} {
		if flags.Changed(name) {
			set()
		}
	}
}
