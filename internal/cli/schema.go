package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/schema"
)

func schemaCommand(a *app) *cobra.Command {
	texts := map[string]func() string{"config": schema.Config, "suite": schema.Suite, "case": schema.SuiteCase}
	names := []string{"config", "suite", "case"}
	return &cobra.Command{
		Use:   "schema [config|suite|case]",
		Short: "Print the JSON Schema of configs, suites or cases",
		Long: `Print the JSON Schema of this version of Plumb: config for plumb.yaml, suite for a suite in YAML, and case for a line of
a suite in JSON Lines. The default is config.`,
		Example:   `  plumb schema suite > suite.schema.json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			name := "config"
			if len(args) > 0 {
				name = args[0]
			}
			text, ok := texts[name]
			if !ok {
				return unknownValue("schema", name, names)
			}
			_, err := fmt.Fprint(a.Stdout, text())
			return err
		},
	}
}
