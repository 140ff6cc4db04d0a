package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/plan"
	"github.com/plumb-eval/plumb/internal/setting"
)

// aaCmd is plumb aa, the former name of a run with repetitions and of plumb plan RUN. It can go
// with the second release.
type aaCmd struct{ planCmd }

func aaCommand(a *app) *cobra.Command {
	c := &aaCmd{planCmd{runCmd: runCmd{app: a, settings: newSettings()}}}
	c.want.Repeat = plan.NoiseRepeat
	cmd := &cobra.Command{
		Use: "aa SUITE|RUN", Hidden: true,
		Short: "Run a suite four times and show how much the repetitions differ: see plumb plan",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), cmd, args[0]) },
	}
	cmd.Flags().SortFlags = false
	cmd.SetUsageFunc(groupedUsage)
	c.register(cmd, func(s *setting.Setting) string {
		switch s.Flag {
		case "plan", "all-repetitions", "submit":
			return ""
		default:
			return s.Help
		}
	})
	return cmd
}

func (c *aaCmd) run(ctx context.Context, cmd *cobra.Command, ref string) error {
	if c.isRun(ref) {
		fmt.Fprintln(c.Stderr, "note: plumb aa RUN is plumb plan RUN now")
		return c.ofRun(ctx, ref, nil)
	}
	fmt.Fprintln(c.Stderr,
		"note: plumb aa SUITE is plumb run SUITE --repeat 4 --all-repetitions now, and then plumb plan last")
	out, raw, asJSON := c.Stdout, c.rawStdout, c.json
	if asJSON { // the reports of the run go to standard error
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
	return c.show(p, result.Dir, nil)
}
