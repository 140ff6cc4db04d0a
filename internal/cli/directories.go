package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/snapshot"
	"github.com/plumb-eval/plumb/internal/suite"
)

// snapshotSpec is what run.json keeps of the token baselines.
type snapshotSpec struct {
	Path     string   `json:"path"`
	Metric   string   `json:"metric,omitempty"`
	Absolute *float64 `json:"absolute,omitempty"`
	Percent  *float64 `json:"percent,omitempty"`
	Update   bool     `json:"update,omitempty"`
}

// open reads the baselines; nil for none.
func (s *snapshotSpec) open(note func(plumb.Note), now func() time.Time) (*snapshot.Baselines, error) {
	if s == nil {
		return nil, nil
	}
	return snapshot.Open(snapshot.Options{
		Path: s.Path, Metric: s.Metric, Absolute: s.Absolute, Percent: s.Percent, Update: s.Update, Note: note, Now: now,
	})
}

// directories decides where sessions work, how many at a time, and what their tokens are compared with. The documented
// precedence is the flag, then the suite, then the config; a flag that contradicts the suite is an error and not ignored.
func (a *app) directories(s *spec, p *project, f *runFlags, bundle *suite.Bundle, suite *plumb.Suite) error {
	agents, inDirectory := false, false
	for i := range s.Runners {
		agents = agents || s.Runners[i].Agent != nil
		inDirectory = inDirectory || s.Runners[i].Agent != nil || len(s.Runners[i].Command) > 0
	}
	if s.Schedule == "" {
		s.Schedule = run.Parallel
		if agents {
			s.Schedule = run.Serial // what the documented format does; sessions of agents may share a directory
		}
	}
	if s.Parallel == unset {
		s.Parallel = defaultParallel
		if agents {
			s.Parallel = runtime.NumCPU()
		}
	}
	s.MaxSteps, s.AllRepetitions, s.KeepWorkspaces = f.maxSteps, f.allRepetitions, f.keepWorkspaces
	if f.workspaces != "" {
		s.WorkspaceRoot = a.path(f.workspaces)
		if info, err := os.Stat(s.WorkspaceRoot); err == nil && !info.IsDir() {
			return fmt.Errorf("--workspaces %s is not a directory", f.workspaces)
		}
	}
	if c := p.config.Snapshots; c != nil {
		s.Snapshots = &snapshotSpec{Path: c.Path, Metric: c.Metric, Absolute: c.Absolute, Percent: c.Percent, Update: f.updateSnapshots}
		if f.snapshots != "" {
			s.Snapshots.Path = a.path(f.snapshots)
		}
	} else if f.snapshots != "" || f.updateSnapshots {
		return plumb.WithHint(errors.New("the config has no snapshots to compare with or to update"),
			"snapshots: {tolerance: {percent: 10}} in the config turns them on")
	}
	if !inDirectory {
		return nil
	}
	given := suite.Workspace != nil || p.config.Workspace != nil || f.workspace != "" || f.template != ""
	if !agents && !given {
		return nil // programs run beside the config, as they always did
	}
	w := plumb.WorkspaceConfig{Mode: plumb.WorkspaceIsolated}
	if bundle.Code() {
		w.Mode = plumb.WorkspaceNone
	}
	switch {
	case suite.Workspace != nil:
		w = *suite.Workspace
		if f.workspace != "" && plumb.WorkspaceMode(f.workspace) != w.Mode {
			return fmt.Errorf("--workspace %s contradicts the suite, whose workspace is %s", f.workspace, w.Mode)
		}
	case p.config.Workspace != nil && f.workspace == "":
		w = *p.config.Workspace
	case f.workspace != "":
		w.Mode = plumb.WorkspaceMode(f.workspace)
	case f.cwd != "":
		w.Mode = plumb.WorkspaceNone
	}
	if f.template != "" {
		if w.Mode == plumb.WorkspaceNone {
			return plumb.WithHint(errors.New("--template needs a workspace to copy to"), "--workspace isolated")
		}
		w.TemplateDir = cmp.Or(w.TemplateDir, a.path(f.template))
	}
	if info, err := os.Stat(w.TemplateDir); w.TemplateDir != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("the template directory %s is not there", w.TemplateDir)
	}
	return a.workingDirectory(s, p, f, w)
}

// workingDirectory completes a workspace config by where a session works that gets no directory of its own.
func (a *app) workingDirectory(s *spec, p *project, f *runFlags, w plumb.WorkspaceConfig) error {
	cwd := f.cwd
	if cwd != "" && !filepath.IsAbs(cwd) {
		cwd = a.path(cwd)
	}
	fromFlag := cwd != "" && cwd != p.config.Cwd
	if fromFlag && w.Mode == plumb.WorkspaceIsolated {
		return plumb.WithHint(fmt.Errorf("--cwd has no meaning with workspace mode %s", w.Mode), "it is for mode none: --workspace none")
	}
	if fromFlag {
		w.Cwd = ""
		if w.Mode == plumb.WorkspaceShared {
			w.Cwd = cwd
		}
	}
	s.Cwd = cmp.Or(cwd, a.Dir)
	if dir := cmp.Or(w.Cwd, s.Cwd); w.Mode != plumb.WorkspaceIsolated {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			return fmt.Errorf("the working directory %s is not there", dir)
		}
	}
	s.Workspace = &w
	return nil
}
