package job

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/run"
)

// works reports whether the run has agents, and programs.
func (o *opening) works() (agents, programs bool) {
	for i := range o.Spec.Runners {
		agents = agents || o.Spec.Runners[i].Agent != nil
		programs = programs || len(o.Spec.Runners[i].Command) > 0
	}
	return agents, programs
}

// chooseSchedule sets how many sessions run at once. Those of agents may share a directory.
func (o *opening) chooseSchedule() {
	s := &o.Spec
	schedule, parallel := run.Parallel, config.DefaultParallel
	if agents, _ := o.works(); agents {
		schedule, parallel = run.Serial, runtime.NumCPU() // documented
	}
	s.ParallelGiven = s.Parallel != 0
	s.Schedule, s.Parallel = cmp.Or(s.Schedule, schedule), cmp.Or(s.Parallel, parallel)
}

// chooseWorkspace sets where sessions work. The documented precedence is the request, then the
// suite, then the config. A request that contradicts the suite is an error.
func (o *opening) chooseWorkspace() error {
	s, r, p := &o.Spec, &o.request, o.project
	if root := s.WorkspaceRoot; root != "" {
		s.WorkspaceRoot = p.Env.Path(root)
		if files.Exists(s.WorkspaceRoot) && !isDir(s.WorkspaceRoot) {
			return fmt.Errorf("--workspaces %s is not a directory", root)
		}
	}
	cwd := s.Cwd
	s.Cwd = ""
	given := o.source.Suite.Workspace != nil || p.Config.Run.Workspace != nil || r.WorkspaceMode != "" || r.Template != ""
	if agents, programs := o.works(); !agents && (!programs || !given) {
		return nil // without a workspace, programs run in the folder of the config
	}
	w, err := workspace(p, r, o.source, cwd)
	if err != nil {
		return err
	}
	return workingDirectory(p, s, w, cwd)
}

// chooseSnapshots sets the token baselines that tokens are compared with.
func (o *opening) chooseSnapshots() error {
	r, c := &o.request, o.project.Config.Snapshots
	if c == nil && (r.Baselines != "" || r.UpdateBaselines || r.ResetBaselines) {
		return plumb.WithHint(errors.New("the config does not turn token baselines on"),
			"add snapshots: {tolerance: auto} to the config")
	}
	if c == nil {
		return nil
	}
	chosen := *c
	chosen.Path = cmp.Or(o.project.Env.Path(r.Baselines), c.Path)
	chosen.Update, chosen.Reset = r.UpdateBaselines, r.ResetBaselines
	o.Spec.Snapshots = &chosen
	return nil
}

// workspace returns the workspace configuration of the request, the suite or the config.
func workspace(p *project.Project, r *Request, source *project.Source, cwd string) (plumb.WorkspaceConfig, error) {
	w := plumb.WorkspaceConfig{Mode: plumb.WorkspaceIsolated}
	if source.Bundle.Code() {
		w.Mode = plumb.WorkspaceNone
	}
	switch suite := source.Suite; {
	case suite.Workspace != nil:
		w = *suite.Workspace
		if r.WorkspaceMode != "" && r.WorkspaceMode != w.Mode {
			return w, fmt.Errorf("--workspace %s contradicts the suite, whose workspace is %s", r.WorkspaceMode, w.Mode)
		}
	case p.Config.Run.Workspace != nil && r.WorkspaceMode == "":
		w = *p.Config.Run.Workspace
	case r.WorkspaceMode != "":
		w.Mode = r.WorkspaceMode
	case cwd != "":
		w.Mode = plumb.WorkspaceNone
	}
	if r.Template != "" {
		if w.Mode == plumb.WorkspaceNone {
			return w, plumb.WithHint(errors.New("--template needs a workspace to copy to"), "--workspace isolated")
		}
		w.TemplateDir = cmp.Or(w.TemplateDir, p.Env.Path(r.Template))
	}
	if w.TemplateDir != "" && !isDir(w.TemplateDir) {
		return w, fmt.Errorf("the template directory %s does not exist", w.TemplateDir)
	}
	return w, nil
}

// workingDirectory sets the workspace configuration of s, and the directory in which sessions work
// that get no directory of their own.
func workingDirectory(p *project.Project, s *project.Spec, w plumb.WorkspaceConfig, cwd string) error {
	if cwd != "" && !filepath.IsAbs(cwd) {
		cwd = p.Env.Path(cwd)
	}
	if requested := cwd != "" && cwd != p.Config.Run.Cwd; requested {
		if w.Mode == plumb.WorkspaceIsolated {
			return plumb.WithHint(fmt.Errorf("--cwd does not apply to workspace mode %s", w.Mode),
				"use it with --workspace none")
		}
		w.Cwd = ""
		if w.Mode == plumb.WorkspaceShared {
			w.Cwd = cwd
		}
	}
	s.Cwd = cmp.Or(cwd, p.Env.Dir)
	if dir := cmp.Or(w.Cwd, s.Cwd); w.Mode != plumb.WorkspaceIsolated && !isDir(dir) {
		return fmt.Errorf("the working directory %s does not exist", dir)
	}
	s.Workspace = &w
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
