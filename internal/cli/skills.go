package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/skills"
)

func skillsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "List skills that teach coding agents to use Plumb",
		Long: `List skills: short texts that teach coding agents to write suites, run them, and read their results. Install one where
your agent looks for skills.`,
		Example: `  plumb skills
  plumb skills get plumb-write-suites
  mkdir -p .claude/skills/plumb-run-suites && plumb skills get plumb-run-suites > .claude/skills/plumb-run-suites/SKILL.md`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all := skills.All()
			if a.json {
				return a.print(all)
			}
			for _, s := range all {
				fmt.Fprintf(a.Stdout, "%s\n  %s\n\n", s.Name, s.Description)
			}
			fmt.Fprintln(a.Stdout, "Print one with: plumb skills get NAME")
			return nil
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "get NAME",
		Short: "Print one skill as SKILL.md",
		Args:  cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return skillNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all := skills.All()
			i := slices.IndexFunc(all, func(s skills.Skill) bool { return s.Name == args[0] })
			if i < 0 {
				return unknownValue("skill", args[0], skillNames())
			}
			if a.json {
				return a.print(all[i])
			}
			_, err := fmt.Fprint(a.Stdout, all[i].Text)
			return err
		},
	})
	return cmd
}

func skillNames() []string {
	var names []string
	for _, s := range skills.All() {
		names = append(names, s.Name)
	}
	return names
}
