package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runner/agentcli"
)

func (a *app) gcCommand() *cobra.Command {
	var dryRun bool
	var root string
	var age time.Duration
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "End processes and delete workspaces that dead runs left behind",
		Long: `End the processes of agents whose run is over or was killed, and delete the workspaces of runs that are gone.

A run that still has its owner is left alone. Workspaces that were kept on purpose, of failed sessions, are deleted
when they are older than --older-than, or when the directory of their run is gone. The homes that agents of dead
processes had are deleted, too. What runs left is in .plumb/runs, and stays.`,
		Example: "  plumb gc --dry-run\n  plumb gc --older-than 24h",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.collectGarbage(cmp.Or(a.path(root), run.WorkspaceRoot()), age, dryRun)
		},
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "only say what would be done")
	cmd.Flags().StringVar(&root, "workspaces", "", "`directory` of workspaces, where runs were given another")
	cmd.Flags().DurationVar(&age, "older-than", 7*24*time.Hour, "`age` above which kept workspaces are deleted")
	return cmd
}

// garbage is what plumb gc found. Its keys are documented.
type garbage struct {
	DryRun     bool             `json:"dryRun"`
	Processes  []garbageProcess `json:"processes"`
	Workspaces []string         `json:"workspaces"`
	// Homes are the directories in which agents of dead processes had their configuration.
	Homes []string `json:"homes"`
}

type garbageProcess struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Run     string `json:"run"`
}

func (a *app) collectGarbage(root string, age time.Duration, dryRun bool) error {
	found := garbage{DryRun: dryRun, Processes: []garbageProcess{}, Workspaces: []string{}, Homes: []string{}}
	// A directory that is there and is no run's belongs to somebody who makes sessions in another way.
	dead := func(_, runDir string) bool {
		if _, err := os.Stat(runDir); err != nil {
			return runDir != "" && errors.Is(err, os.ErrNotExist)
		}
		return exists(filepath.Join(runDir, run.SpecFile)) && !run.Locked(runDir)
	}
	reap := proc.Reap
	if dryRun {
		reap = proc.Find
	}
	processes, errLeft := reap(dead)
	for _, p := range processes {
		runID, _, _ := strings.Cut(p.Marker, "/")
		found.Processes = append(found.Processes, garbageProcess{p.PID, p.Command, runID})
	}
	homes, err := agentcli.Sweep(dryRun)
	found.Homes, errLeft = list(homes), errors.Join(errLeft, err)
	workspaces, err := abandoned(root, a.Now().Add(-age))
	if err != nil {
		return errors.Join(errLeft, err)
	}
	for _, dir := range workspaces {
		if !dryRun {
			if err := os.RemoveAll(dir); err != nil {
				errLeft = errors.Join(errLeft, fmt.Errorf("delete the workspaces %s: %w", dir, err))
				continue
			}
		}
		found.Workspaces = append(found.Workspaces, dir)
	}
	if a.json {
		return errors.Join(errLeft, a.print(found))
	}
	a.showGarbage(found)
	return errLeft
}

// showGarbage prints what was found: all of it where it is still there, and long lists only counted where it is gone.
func (a *app) showGarbage(found garbage) {
	did := map[bool][2]string{false: {"ended", "deleted"}, true: {"would end", "would delete"}}[found.DryRun]
	for _, p := range found.Processes {
		fmt.Fprintf(a.Stdout, "%s process %d of run %s: %s\n", did[0], p.PID, p.Run, p.Command)
	}
	const few = 10
	for _, dirs := range [][]string{found.Workspaces, found.Homes} {
		for i, dir := range dirs {
			if i == few && !found.DryRun {
				fmt.Fprintf(a.Stdout, "%s %d more beside it\n", did[1], len(dirs)-few)
				break
			}
			fmt.Fprintf(a.Stdout, "%s %s\n", did[1], dir)
		}
	}
	if len(found.Processes)+len(found.Workspaces)+len(found.Homes) == 0 {
		fmt.Fprintln(a.Stdout, "nothing is left over")
	}
}

// reapRun ends what an earlier process left of a run that this one now owns: it would work in the directories of the sessions
// that are made again.
func (a *app) reapRun(id string) error {
	ended, err := proc.Reap(func(marker, _ string) bool { return strings.HasPrefix(marker, id+"/") })
	if len(ended) > 0 {
		fmt.Fprintf(a.Stderr, "plumb: ended what the earlier process had left running: %s\n", plural(len(ended), "program"))
	}
	if err != nil {
		return fmt.Errorf("end what the earlier process left running: %w", err)
	}
	return nil
}

// abandoned returns the directories of workspaces that nobody needs: those of runs that are older than before and have no
// owner, and those of runs that are gone.
func abandoned(root string, before time.Time) ([]string, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for workspaces: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		info, err := e.Info()
		if err != nil || !e.IsDir() {
			continue
		}
		owner, err := os.ReadFile(filepath.Join(dir, run.OwnerFile))
		if err != nil {
			continue // it is not ours
		}
		runDir := strings.TrimSpace(string(owner))
		_, gone := os.Stat(runDir)
		if !run.Locked(runDir) && (errors.Is(gone, os.ErrNotExist) || info.ModTime().Before(before)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
