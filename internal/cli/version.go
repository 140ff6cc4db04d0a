package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/text"
)

// versionCmd is plumb version.
type versionCmd struct{ *app }

func versionCommand(a *app) *cobra.Command {
	c := &versionCmd{a}
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the published suites with their hashes",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return c.run() },
	}
}

func (c *versionCmd) run() error {
	suites, err := suite.Published()
	if err != nil {
		return err
	}
	if c.json {
		return c.print(map[string]any{
			"version": project.Version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			"suites": suites,
		})
	}
	fmt.Fprintf(c.Stdout, "plumb %s (%s, %s/%s)\n", project.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, m := range suites {
		for _, t := range m.Tiers {
			fmt.Fprintf(c.Stdout, "suite %s/%s  %s  %s\n", m.Version, t.Name, text.Plural(t.TestCount, "case"), t.Hash)
		}
	}
	return nil
}
