package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/suite"
)

// devVersion is what a build from a checkout calls itself.
const devVersion = "0.1.0-dev"

// version returns the module version that the build knows, with the commit for a build from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devVersion
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return devVersion + "+" + s.Value[:12]
		}
	}
	return devVersion
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the published suites with their hashes",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			suites, err := suite.Published()
			if err != nil {
				return err
			}
			if a.json {
				return a.print(map[string]any{
					"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH, "suites": suites,
				})
			}
			fmt.Fprintf(a.Stdout, "plumb %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			for _, m := range suites {
				for _, t := range m.Tiers {
					fmt.Fprintf(a.Stdout, "suite %s/%s  %s  %s\n", m.Version, t.Name, plural(t.TestCount, "case"), t.Hash)
				}
			}
			return nil
		},
	}
}
