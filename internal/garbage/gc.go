// Package garbage finds and removes what runs leave behind: processes, workspaces, homes of agents,
// and the runs themselves. It hides how Plumb knows that nobody needs them any more.
package garbage

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Found is what crashed and finished runs left. Its keys are documented.
type Found struct {
	DryRun     bool      `json:"dryRun"`
	Processes  []Process `json:"processes"`
	Workspaces []string  `json:"workspaces"`
	// Homes are the configuration directories of agents whose process is dead.
	Homes []string `json:"homes"`
	// Temporary are the temporary directories of commands that were killed.
	Temporary []string `json:"temporary"`
	// Others are workspaces of other projects, which were left alone.
	Others []Workspace `json:"others"`
}

// Workspace is a workspace with the directory of the run that left it.
type Workspace struct {
	Path   string `json:"path"`
	RunDir string `json:"runDir"`
}

// Process is a program that a run left running.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Run     string `json:"run"`
}

// Scope is what [Collect] deletes.
type Scope struct {
	// Root is the directory of workspaces.
	Root string
	// Runs is the directory of runs whose workspaces may be deleted; "" means those of all projects.
	Runs string
	// Before is the time of the last change up to which workspaces are deleted. Those of runs that
	// are gone are deleted in any case.
	Before time.Time
	// DryRun changes nothing.
	DryRun bool
}

// Collect ends the processes, and deletes the homes of agents and the workspaces, that runs
// left. It returns what it found, even with an error; nil means that it did not begin.
func Collect(o Scope) (*Found, error) {
	root, dryRun := o.Root, o.DryRun
	found := &Found{
		DryRun: dryRun, Processes: []Process{}, Workspaces: []string{}, Homes: []string{},
		Temporary: []string{},
		Others:    []Workspace{},
	}
	claims, err := runlog.Claims()
	if err != nil {
		return nil, err
	}
	homes, err := agent.Sweep(true)
	if err != nil {
		return nil, err
	}
	reap := proc.Reap
	if dryRun {
		reap = proc.Find
	}
	l := leftovers{claims: claims}
	for _, dir := range run.WorkspaceRoots(root) {
		l.roots = append(l.roots, files.Resolved(dir))
	}
	for _, home := range homes {
		l.homes = append(l.homes, files.Resolved(home))
	}
	processes, failed := reap(l.dead)
	for _, p := range processes {
		found.Processes = append(found.Processes, Process{p.PID, p.Command, l.runID(p.Trace)})
	}
	homes, err = agent.Sweep(dryRun)
	found.Homes, failed = append(found.Homes, homes...), errors.Join(failed, err)
	temporary, err := proc.SweepTemporary(o.Before, dryRun)
	found.Temporary, failed = append(found.Temporary, temporary...), errors.Join(failed, err)
	var workspaces []Workspace
	for _, dir := range run.WorkspaceRoots(root) {
		left, err := abandoned(dir, claims, o.Before)
		if err != nil {
			return nil, errors.Join(failed, err)
		}
		workspaces = append(workspaces, left...)
	}
	for _, w := range workspaces {
		// The run may be gone, so only its parent can be resolved.
		if o.Runs != "" && w.RunDir != "" && !files.Within(files.Resolved(filepath.Dir(w.RunDir)), files.Resolved(o.Runs)) {
			found.Others = append(found.Others, w)
			continue
		}
		dir := w.Path
		if !dryRun {
			if err := os.RemoveAll(dir); err != nil {
				failed = errors.Join(failed, fmt.Errorf("delete the workspaces %s: %w", dir, err))
				continue
			}
			if above := filepath.Dir(dir); above != filepath.Clean(root) {
				_ = os.Remove(above) // of a single session; it stays if it has more
			}
		}
		found.Workspaces = append(found.Workspaces, dir)
	}
	if !dryRun {
		for _, w := range found.Others { // their claims still say whose they are
			maps.DeleteFunc(claims, func(_ string, c runlog.Claim) bool { return c.RunDir == w.RunDir })
		}
		failed = errors.Join(failed, dropClaims(claims))
	}
	return found, failed
}

// leftovers decides whether a process was left by a run.
type leftovers struct {
	roots  []string // the directories of workspaces
	homes  []string // the homes of agents whose process is dead
	claims map[string]runlog.Claim
}

// dead reports whether a process with this trace belongs to a dead run. A finished run has ended
// its own processes: a process in a workspace that it kept belongs to the user.
func (l *leftovers) dead(t proc.Trace) bool {
	if t.Dir != "" {
		dir, _ := l.runDir(t)
		return dir != "" && over(dir) && !files.Exists(filepath.Join(dir, runlog.ResultsFile)) ||
			slices.ContainsFunc(l.homes, func(home string) bool { return files.Within(t.Dir, home) })
	}
	if proc.Abandoned(t.Marker) {
		return true
	}
	dir, _ := l.runDir(t)
	return dir != "" && over(dir)
}

// over reports whether a run has no owner, or is gone. An existing directory that is not a run
// belongs to another program that makes sessions.
func over(runDir string) bool {
	if _, err := os.Stat(runDir); err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	return files.Exists(filepath.Join(runDir, runlog.SpecFile)) && !runlog.Locked(runDir)
}

// runDir returns the directory and the id of the run that a trace leads to, or "" for an unknown
// run.
func (l *leftovers) runDir(t proc.Trace) (dir, id string) {
	if t.Dir != "" {
		for _, root := range l.roots {
			rel, err := filepath.Rel(root, t.Dir)
			if err == nil && filepath.IsLocal(rel) && rel != "." {
				name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
				c, _ := runlog.Owner(filepath.Join(root, name), l.claims)
				return c.RunDir, name
			}
		}
		return "", ""
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

// dropClaims removes the claims of runs that are gone. The other claims are still
// needed to find the run of a workspace.
func dropClaims(claims map[string]runlog.Claim) error {
	var all error
	for _, c := range claims {
		if _, err := os.Stat(c.RunDir); errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, c.Drop())
		}
	}
	return all
}

// abandoned returns the directories of workspaces to delete: those of runs without an owner that
// did not change after before, and those of runs that are gone.
func abandoned(root string, claims map[string]runlog.Claim, before time.Time) ([]Workspace, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for workspaces: %w", err)
	}
	var dirs []Workspace
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		info, err := e.Info()
		if err != nil || !e.IsDir() {
			continue
		}
		owner, ours := runlog.Owner(dir, claims)
		if !ours {
			continue
		}
		gone := false
		if owner.RunDir != "" { // otherwise the run is unknown
			_, err := os.Stat(owner.RunDir)
			gone = errors.Is(err, os.ErrNotExist)
		}
		if (owner.RunDir == "" || !runlog.Locked(owner.RunDir)) && (gone || info.ModTime().Before(before)) {
			dirs = append(dirs, Workspace{dir, owner.RunDir})
		}
	}
	return dirs, nil
}
