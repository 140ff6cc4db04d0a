package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/run"
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
	claims, err := run.Claims()
	if err != nil {
		return err
	}
	homes, err := agent.Sweep(true)
	if err != nil {
		return err
	}
	reap := proc.Reap
	if dryRun {
		reap = proc.Find
	}
	l := leftovers{root: resolved(root), claims: claims}
	for _, home := range homes {
		l.homes = append(l.homes, resolved(home))
	}
	processes, errLeft := reap(l.dead)
	for _, p := range processes {
		found.Processes = append(found.Processes, garbageProcess{p.PID, p.Command, l.runID(p.Trace)})
	}
	homes, err = agent.Sweep(dryRun)
	found.Homes, errLeft = list(homes), errors.Join(errLeft, err)
	workspaces, err := abandoned(root, claims, a.Now().Add(-age))
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
	if !dryRun {
		errLeft = errors.Join(errLeft, dropClaims(claims))
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

// leftovers tells what runs left from what is somebody else's.
type leftovers struct {
	root   string   // of workspaces
	homes  []string // of agents of dead processes
	claims map[string]run.Claim
}

// dead reports whether a process with this trace belongs to a run that is dead. A run that came to its end has ended its processes
// itself: who works in a workspace that it kept is the user.
func (l *leftovers) dead(t proc.Trace) bool {
	if t.Dir != "" {
		dir, _ := l.runDir(t)
		return dir != "" && over(dir) && !exists(filepath.Join(dir, run.ResultsFile)) ||
			slices.ContainsFunc(l.homes, func(home string) bool { return inside(t.Dir, home) })
	}
	if proc.Abandoned(t.Marker) {
		return true
	}
	dir, _ := l.runDir(t)
	return dir != "" && over(dir)
}

// over reports whether nobody owns a run, or it is gone. A directory that is there and is no run's belongs to somebody who makes
// sessions in another way.
func over(runDir string) bool {
	if _, err := os.Stat(runDir); err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	return exists(filepath.Join(runDir, run.SpecFile)) && !run.Locked(runDir)
}

// runDir returns the directory of the run that a trace leads to, "" for none that is known.
func (l *leftovers) runDir(t proc.Trace) (dir, id string) {
	if t.Dir != "" {
		rel, err := filepath.Rel(l.root, t.Dir)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			return "", ""
		}
		name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		c, _ := run.Owner(filepath.Join(l.root, name), l.claims)
		return c.RunDir, name
	}
	id, _, _ = strings.Cut(t.Marker, "/")
	if c, ok := l.claims[id]; ok {
		return c.RunDir, filepath.Base(c.RunDir)
	}
	return t.RunDir, id
}

func (l *leftovers) runID(t proc.Trace) string {
	_, id := l.runDir(t)
	return id
}

// resolved resolves the links in a path, as the system names the directories of processes. What is not there stays as it is.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// inside reports whether path is dir or lies below it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// dropClaims removes the claims of runs that are gone. Those of others may be needed to tell whose a workspace is.
func dropClaims(claims map[string]run.Claim) error {
	var all error
	for _, c := range claims {
		if _, err := os.Stat(c.RunDir); errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, c.Drop())
		}
	}
	return all
}

// reapRun ends what an earlier process left of a run that this one now owns: it would work in the directories of the sessions
// that are made again. root is that of the run's workspaces.
func (a *app) reapRun(dir *run.Dir, root string) error {
	claims, err := run.Claims()
	if err != nil {
		return err
	}
	path, err := filepath.Abs(dir.Path)
	if err != nil {
		return err
	}
	path, workspaces := resolved(path), resolved(filepath.Join(cmp.Or(root, run.WorkspaceRoot()), dir.ID))
	ended, err := proc.Reap(func(t proc.Trace) bool {
		id, _, _ := strings.Cut(t.Marker, "/")
		return t.Dir != "" && inside(t.Dir, workspaces) || id == dir.ID || id != "" && claims[id].RunDir == path
	})
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
func abandoned(root string, claims map[string]run.Claim, before time.Time) ([]string, error) {
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
		owner, ours := run.Owner(dir, claims)
		if !ours {
			continue
		}
		gone := false
		if owner.RunDir != "" { // else it is forgotten whose it is
			_, err := os.Stat(owner.RunDir)
			gone = errors.Is(err, os.ErrNotExist)
		}
		if (owner.RunDir == "" || !run.Locked(owner.RunDir)) && (gone || info.ModTime().Before(before)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
