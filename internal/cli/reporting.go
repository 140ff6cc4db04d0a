package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// reporting is what the user wants to see of a run.
type reporting struct {
	reporters []plumb.Reporter
	files     []reportFile
}

// reportFile is a file that a reporter writes. It takes its place when the report is whole.
type reportFile struct {
	*doc.File
	reporter plumb.Reporter
	// whole says that the reporter has written its report, broken that it could not end it.
	whole, broken bool
}

// isModule reports whether a report is a module that the user wrote, and not the name of one that is built in.
func isModule(spec string) bool {
	switch strings.ToLower(filepath.Ext(spec)) {
	case ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs":
		name, _, toFile := strings.Cut(spec, ":")
		return !toFile || !slices.Contains(report.Names(), name)
	}
	return strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") || filepath.IsAbs(spec)
}

// module loads a reporter that the user wrote.
func (a *app) module(ctx context.Context, p *project, j *job, path string, o report.Options) (plumb.Reporter, error) {
	s := &j.spec
	m := report.ModuleOptions{
		Options: o, Modules: lib.Modules(), WorkDir: a.Dir, Env: p.environ(), Stdout: a.Stdout, Stderr: a.Stderr,
		WorkspaceMode: string(plumb.WorkspaceNone), Cwd: a.Dir, CaseFilter: s.Filter.IDs, RunnerFilter: s.Selected,
	}
	m.Out = a.Stdout
	own := &builtIns{a, o}
	m.Host, m.Async = config.Calls(a.host(p), a.Dir)
	maps.Copy(m.Host, own.host())
	maps.Copy(m.Async, own.async())
	if w := s.Workspace; w != nil {
		m.WorkspaceMode, m.Cwd = string(w.Mode), cmp.Or(w.Cwd, s.Cwd)
		switch {
		case w.Mode == plumb.WorkspaceIsolated:
			m.Cwd = o.RunDir // documented
		case w.Mode == plumb.WorkspaceShared && w.Cwd == "":
			m.Cwd = run.SharedWorkspace(s.WorkspaceRoot, filepath.Base(o.RunDir))
		}
	}
	read := j.suite
	if read == nil && run.MadeHere(p.runs(), o.RunDir) { // an earlier run; what is not known of its cases is a detail
		if bundle, err := suite.Open(filepath.Join(o.RunDir, run.BundleDir)); err == nil {
			read, _, _ = bundle.SuiteIn(ctx, a.host(p))
			j.closers = append(j.closers, bundle.Close)
		}
	}
	cases := map[string]*plumb.Case{}
	if read != nil {
		for i := range read.Cases {
			cases[read.Cases[i].ID] = &read.Cases[i]
		}
	}
	m.Case = func(id string) *plumb.Case { return cases[id] }
	return report.NewModule(ctx, a.path(path), m)
}

// reporters opens the reports that specs name: "name", "name:path", or the path of a module. Without one that writes to
// standard output the terminal shows the run.
func (a *app) reporters(ctx context.Context, p *project, j *job, specs []string, o report.Options) (_ *reporting, err error) {
	r := &reporting{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.end(nil, false))
		}
	}()
	stdout := ""
	if a.json {
		specs = append([]string{report.JSONSummary}, specs...)
	}
	for _, spec := range specs {
		if isModule(spec) {
			reporter, err := a.module(ctx, p, j, spec, o)
			if err != nil {
				return r, err
			}
			r.reporters = append(r.reporters, reporter)
			stdout = cmp.Or(stdout, spec)
			continue
		}
		name, path, toFile := strings.Cut(spec, ":")
		if name == "standard" { // what other tools call it
			name = report.Terminal
		}
		options := o
		options.Out, options.Terminal, options.Color = a.Stdout, o.Terminal, o.Color
		if toFile && path == "" {
			return r, plumb.WithHint(fmt.Errorf("report %s names no file", spec), "--report "+name+":FILE, or --report "+name+" for standard output")
		}
		if toFile {
			f, err := createReport(a.path(path))
			if err != nil {
				return r, fmt.Errorf("report %s: %w", name, err)
			}
			r.files = append(r.files, reportFile{File: f})
			options.Out, options.Terminal, options.Color = f, false, false
			options.RunDir = ""
		} else if name != report.GitHubActions && name != report.HTML {
			if stdout != "" {
				return r, plumb.WithHint(fmt.Errorf("the reports %s and %s both write to standard output", stdout, name), "give one a file: --report "+name+":FILE")
			}
			stdout = name
		}
		reporter, err := report.New(name, options)
		if err != nil {
			return r, err
		}
		r.reporters = append(r.reporters, reporter)
		if toFile {
			r.files[len(r.files)-1].reporter = reporter
		}
	}
	if stdout == "" {
		o.Out = a.Stdout
		reporter, err := report.New(report.Terminal, o)
		if err != nil {
			return r, err
		}
		r.reporters = append(r.reporters, reporter)
	}
	return r, nil
}

// createReport begins the file of a report, readable by its owner only, since reports hold outputs.
func createReport(path string) (*doc.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return doc.Create(path)
}

func (r *reporting) report(ev plumb.Event, state *plumb.Run) error {
	for _, reporter := range r.reporters {
		if err := reporter.Report(ev, state); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		for i := range r.files {
			if r.files[i].reporter == reporter && ev.Type == plumb.EventRunFinished {
				r.files[i].whole = true
			}
		}
	}
	return nil
}

// close ends the reports and their files.
func (r *reporting) close() error { return r.end(nil, true) }

// broke ends the reports of a run that broke off, for the reason err if there is one, which they may tell. A file whose
// report is not whole stays as it was.
func (r *reporting) broke(err error) error { return r.end(err, err == nil) }

func (r *reporting) end(err error, whole bool) error {
	var all []error
	for _, reporter := range r.reporters {
		if told, ok := reporter.(interface{ Broke(err error) }); ok && err != nil {
			told.Broke(err)
		}
		closed := reporter.Close()
		for i := range r.files {
			if r.files[i].reporter == reporter && closed != nil {
				r.files[i].broken = true
			}
		}
		if closed != nil && (err == nil || !strings.Contains(err.Error(), closed.Error())) {
			all = append(all, closed) // else it is what broke the run, and said already
		}
	}
	for _, f := range r.files {
		if (whole || f.whole) && !f.broken {
			all = append(all, f.Commit())
		} else {
			all = append(all, f.Discard())
		}
	}
	r.reporters, r.files = nil, nil
	return errors.Join(all...)
}

// reportOptions describes the terminal to reporters.
func (a *app) reportOptions() report.Options {
	_, _, terminal := a.Size()
	terminal = terminal && a.Getenv("TERM") != "dumb"
	return report.Options{
		Redact: a.secrets(), Terminal: terminal, Color: terminal && a.Getenv("NO_COLOR") == "",
		Unicode: unicode(a.Getenv), Getenv: a.Getenv, Now: a.Now,
		Size: func() (int, int) { w, h, _ := a.Size(); return w, h },
	}
}

// unicode reports whether the terminal is likely to show more than ASCII.
func unicode(getenv func(string) string) bool {
	if runtime.GOOS == "windows" {
		return getenv("WT_SESSION") != "" || getenv("TERM_PROGRAM") != ""
	}
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return locale == "" || strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
