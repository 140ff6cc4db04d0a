package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/garbage"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/text"
)

// gcCmd is plumb gc.
type gcCmd struct {
	*app
	projectFlags
	dryRun, all bool
	root        string
	age         setting.Milliseconds
}

func gcCommand(a *app) *cobra.Command {
	c := &gcCmd{app: a}
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Clean up processes and workspaces left by crashed runs",
		Long: `End the processes of agents whose run is finished or was killed, and delete the workspaces of deleted runs.

A run whose process is alive is not touched. The kept workspaces of failed sessions are deleted when they are older
than --older-than, or when the directory of their run is gone; those of other projects only with --all. The
configuration directories of agents, and the temporary directories, whose process is dead are deleted, too. The runs themselves, in .plumb/runs, are
kept; see plumb runs --prune.`,
		Example: "  plumb gc --dry-run\n  plumb gc --older-than 24h",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.register(cmd.Flags())
	cmd.Flags().BoolVar(&c.all, "all", false, "also delete kept workspaces of other projects")
	cmd.Flags().BoolVarP(&c.dryRun, "dry-run", "n", false, "only show what would be done")
	cmd.Flags().StringVar(&c.root, "workspaces", "", "`directory` of workspaces, if runs used another than the default")
	c.age = setting.Milliseconds((7 * 24 * time.Hour).Milliseconds())
	cmd.Flags().Var(&c.age, "older-than", "`age` above which kept workspaces are deleted")
	return cmd
}

func (c *gcCmd) run(ctx context.Context) error {
	o := garbage.Scope{
		Root: cmp.Or(c.path(c.root), run.WorkspaceRoot()), Before: c.Now().Add(-c.age.Duration()), DryRun: c.dryRun,
	}
	if !c.all {
		p, err := c.open(ctx, c.projectFlags)
		if err != nil {
			return err
		}
		o.Runs = p.Runs()
	}
	found, err := garbage.Collect(o)
	if found == nil {
		return err
	}
	if c.json {
		return errors.Join(err, c.print(found))
	}
	c.show(found)
	return err
}

// show prints what was found. It shortens long lists of what is deleted.
func (c *gcCmd) show(found *garbage.Found) {
	ended, deleted := "ended", "deleted"
	if found.DryRun {
		ended, deleted = "would end", "would delete"
	}
	for _, p := range found.Processes {
		fmt.Fprintf(c.Stdout, "%s process %d of run %s: %s\n", ended, p.PID, p.Run, p.Command)
	}
	const few = 10
	for _, dirs := range [][]string{found.Workspaces, found.Homes, found.Temporary} {
		for i, dir := range dirs {
			if i == few && !found.DryRun {
				fmt.Fprintf(c.Stdout, "%s %d more there\n", deleted, len(dirs)-few)
				break
			}
			fmt.Fprintf(c.Stdout, "%s %s\n", deleted, dir)
		}
	}
	if len(found.Processes)+len(found.Workspaces)+len(found.Homes)+len(found.Temporary) == 0 {
		fmt.Fprintln(c.Stdout, "nothing to clean up")
	}
	if len(found.Others) == 0 {
		return
	}
	owners, seen := map[string]int{}, map[string]bool{}
	for _, w := range found.Others {
		if !seen[w.RunDir] { // a run has a directory for each session
			seen[w.RunDir] = true
			owners[c.shown(filepath.Dir(w.RunDir))]++
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(owners)) {
		fmt.Fprintf(c.Stdout, "kept the workspaces of %s in %s\n", text.Plural(owners[owner], "run"), c.clean(owner))
	}
	fmt.Fprintln(c.Stdout, "These are of other projects. To delete them, too: plumb gc --all")
}
