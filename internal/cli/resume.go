package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb/internal/earlier"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/setting"
)

// resumeCmd is plumb resume.
type resumeCmd struct {
	*app
	settings
	retryErrors, trust bool
}

func resumeCommand(a *app) *cobra.Command {
	c := &resumeCmd{app: a, settings: newSettings()}
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Finish a run that was interrupted, or add repetitions to a run",
		Long: `Finish a run that was interrupted, killed, or stopped by a budget. Finished sessions are kept and not repeated.
With --repeat, also make more samples of each case, in a finished run too.
RUN is the id of a run, the beginning or end of its id, or a directory; without it, the last run.

The run.json of a run names programs and servers. If the run is not in this project's directory of runs, plumb lists
them, and starts them only with --trust.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd.Flags(), runOf(args)) },
	}
	c.want.Repeat = 0 // as in the run
	c.register(cmd, func(s *setting.Setting) string { return s.Resume })
	cmd.Flags().BoolVar(&c.retryErrors, "retry-errors", false, "also repeat what could not be measured")
	cmd.Flags().BoolVar(&c.trust, "trust", false, trustHelp)
	return cmd
}

func (c *resumeCmd) run(ctx context.Context, flags *pflag.FlagSet, ref string) error {
	if err := c.check(flags, true); err != nil {
		return err
	}
	p, err := c.open(ctx, c.projectFlags())
	if err != nil {
		return err
	}
	j, err := c.adoptJob(earlier.Resume(ctx, p, ref, earlier.ResumeOptions{
		RetryErrors: c.retryErrors, Repeat: c.want.Repeat, Trust: project.Trust{Given: c.trust, Command: "resume"},
		Change: func(s *project.Spec) { c.setRecorded(flags, &s.Settings) },
	}))
	if err != nil {
		return err
	}
	defer j.Close()
	_, code, err := c.perform(ctx, p, j, c.want.Reports)
	if err != nil {
		return err
	}
	return exit(code)
}
