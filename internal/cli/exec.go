package cli

import (
	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/suite"
)

func (a *app) execCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec FILE [ARG...]",
		Short: "Run a TypeScript or JavaScript file as suites are run",
		Long: `Run a file with exactly the modules that a suite sees: plumb, skillgym, their testing modules, the modules of
Node that suites have, and what is installed in node_modules. No Node is needed. What follows FILE is for the script, as
process.argv. The exit code is the script's: 1 after an uncaught error, otherwise what it gives process.exit.`,
		Example: `  plumb exec helpers.test.ts
  plumb exec scripts/fixture.ts --fast`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.whileRead(cmd.Context())
			defer cancel()
			code, err := suite.Exec(ctx, a.path(args[0]), suite.ExecOptions{
				Args: args[1:], Stdout: a.Stdout, Stderr: a.Stderr, Environ: a.Environ(), Dir: a.Dir,
			})
			if err != nil {
				return err
			}
			return exit(code)
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}
