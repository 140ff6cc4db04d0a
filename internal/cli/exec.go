package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// execCmd is plumb exec.
type execCmd struct{ *app }

func execCommand(a *app) *cobra.Command {
	c := &execCmd{a}
	cmd := &cobra.Command{
		Use:   "exec FILE [ARG...]",
		Short: "Run a TypeScript or JavaScript file with the modules of suites",
		Long: `Run a file with the same modules as a suite: plumb, skillgym, their testing modules, the modules of Node that
suites have, and the packages in node_modules. Node is not needed. The arguments after FILE are for the script, in
process.argv. The exit code is that of the script: 1 after an uncaught error, otherwise the argument of process.exit.`,
		Example: `  plumb exec helpers.test.ts
  plumb exec scripts/fixture.ts --fast`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1:]) },
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// run redacts what the script prints, as every output of Plumb.
func (c *execCmd) run(ctx context.Context, file string, args []string) error {
	ctx, cancel := c.whileRead(ctx)
	defer cancel()
	stdout, stderr := c.secrets().Writer(c.Stdout), c.secrets().Writer(c.Stderr)
	code, err := suite.Exec(ctx, c.path(file), args, lib.Host{
		Stdout: stdout, Stderr: stderr, Environ: c.Environ, Dir: c.Dir,
	})
	if err := errors.Join(err, stdout.Close(), stderr.Close()); err != nil {
		return err
	}
	return exit(code)
}
