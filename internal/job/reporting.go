package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// reporting is the set of open reports of a run.
type reporting struct {
	reporters []plumb.Reporter
	files     []reportFile
	// closers end the code that the reports use.
	closers []func() error
}

// reportFile is the file of one report. It replaces an earlier file when the report is complete.
type reportFile struct {
	*doc.File
	reporter plumb.Reporter
	// complete says that the reporter has written its report, broken that it could not close it.
	complete, broken bool
}

// reported is the run that reports are about.
type reported struct {
	spec *Spec
	// suite is nil for an earlier run.
	suite *plumb.Suite
}

// suiteOf returns the suite of a run. For an earlier run it reads the bundle, if the run was made
// here; reports have fewer details without it.
func (p *Project) suiteOf(ctx context.Context, of *reported, runDir string, r *reporting) *plumb.Suite {
	if of.suite != nil || !run.MadeHere(p.Runs(), runDir) {
		return of.suite
	}
	bundle, err := suite.Open(filepath.Join(runDir, run.BundleDir))
	if err != nil {
		return nil
	}
	r.closers = append(r.closers, bundle.Close)
	suite, _, _ := bundle.SuiteIn(ctx, p.Host(0))
	return suite
}

// module loads a reporter that the user wrote.
func (p *Project) module(
	ctx context.Context, path string, o report.Options, of *reported, r *reporting,
) (plumb.Reporter, error) {
	s, env := of.spec, p.env
	m := report.ModuleOptions{
		Options: o, Modules: lib.Modules(), WorkDir: env.Dir, Env: p.Environ(), Stdout: env.Stdout, Stderr: env.Stderr,
		WorkspaceMode: string(plumb.WorkspaceNone), Cwd: env.Dir, CaseFilter: s.Filter.IDs, RunnerFilter: s.Selected,
	}
	m.Out = env.Stdout
	own := &builtIns{env.Stdout, o}
	m.Host, m.Async = config.Calls(p.Host(0), env.Dir)
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
	cases := map[string]*plumb.Case{}
	if suite := p.suiteOf(ctx, of, o.RunDir, r); suite != nil {
		for i := range suite.Cases {
			cases[suite.Cases[i].ID] = &suite.Cases[i]
		}
	}
	m.Case = func(id string) *plumb.Case { return cases[id] }
	return report.NewModule(ctx, env.Path(path), m)
}

// reporters opens the reports that specs name; see [Options].
func (p *Project) reporters(
	ctx context.Context, specs []string, o report.Options, of *reported,
) (_ *reporting, err error) {
	r := &reporting{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.end(nil, false))
		}
	}()
	stdout := "" // the report that writes to standard output
	for _, spec := range specs {
		if config.IsModule(spec) {
			reporter, err := p.module(ctx, spec, o, of, r)
			if err != nil {
				return nil, err
			}
			r.reporters = append(r.reporters, reporter)
			stdout = cmp.Or(stdout, spec)
			continue
		}
		name, path, toFile := strings.Cut(spec, ":")
		if name == "standard" { // its name in other tools
			name = report.Terminal
		}
		options := o
		options.Out = p.env.Stdout
		switch {
		case toFile && path == "":
			return nil, plumb.WithHint(fmt.Errorf("report %s has no file name", spec),
				"--report "+name+":FILE, or --report "+name+" for standard output")
		case toFile:
			f, err := createReport(p.env.Path(path))
			if err != nil {
				return nil, fmt.Errorf("report %s: %w", name, err)
			}
			r.files = append(r.files, reportFile{File: f})
			options.Out, options.Terminal, options.Color, options.RunDir = f, false, false, ""
		case name != report.GitHubActions && name != report.HTML:
			if stdout != "" {
				return nil, plumb.WithHint(fmt.Errorf("the reports %s and %s both write to standard output", stdout, name),
					"give one a file: --report "+name+":FILE")
			}
			stdout = name
		}
		reporter, err := report.New(name, options)
		if err != nil {
			return nil, err
		}
		r.reporters = append(r.reporters, reporter)
		if toFile {
			r.files[len(r.files)-1].reporter = reporter
		}
	}
	if stdout == "" {
		o.Out = p.env.Stdout
		reporter, err := report.New(report.Terminal, o)
		if err != nil {
			return nil, err
		}
		r.reporters = append(r.reporters, reporter)
	}
	return r, nil
}

// createReport creates the file of a report. Only its owner can read it, because reports contain
// outputs.
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
				r.files[i].complete = true
			}
		}
	}
	return nil
}

// broke closes the reports. If the run ended early with err, the files of incomplete reports stay
// as they were before.
func (r *reporting) broke(err error) error { return r.end(err, err == nil) }

func (r *reporting) end(err error, complete bool) error {
	var all []error
	for _, reporter := range r.reporters {
		if b, ok := reporter.(plumb.AbortReporter); ok && err != nil {
			b.Broke(err)
		}
		closed := reporter.Close()
		for i := range r.files {
			if r.files[i].reporter == reporter && closed != nil {
				r.files[i].broken = true
			}
		}
		// An error that ended the run may come back from Close; do not report it twice.
		if closed != nil && (err == nil || !strings.Contains(err.Error(), closed.Error())) {
			all = append(all, closed)
		}
	}
	for _, f := range r.files {
		if (complete || f.complete) && !f.broken {
			all = append(all, f.Commit())
		} else {
			all = append(all, f.Discard())
		}
	}
	for _, c := range r.closers {
		_ = c() // no report depends on it
	}
	r.reporters, r.files, r.closers = nil, nil, nil
	return errors.Join(all...)
}

// reportOptions returns the options of all reports of the run at path, for standard output.
func (p *Project) reportOptions(path string) report.Options {
	o := p.env.Display
	o.Getenv, o.Now, o.Redact = p.env.Getenv, p.env.Now, p.redact
	o.Dir, o.RunDir, o.Flags = p.env.Shown(path), path, p.Flags
	return o
}

// Report renders the reports that specs name of the earlier run at path.
func (p *Project) Report(ctx context.Context, path string, specs []string) (err error) {
	redact := p.RedactorOf(path)
	defer func() { err = hide(redact, err) }()
	o := p.reportOptions(path)
	o.Redact, o.Terminal, o.Sessions = redact, false, Sessions(path)
	var s Spec
	if err := run.ReadSpec(path, &s); err != nil {
		return err
	}
	o.Closed = s.Demo
	r, err := p.reporters(ctx, specs, o, &reported{spec: &s})
	if err != nil {
		return err
	}
	for _, reporter := range r.reporters {
		if _, err := report.Replay(reporter, events(path)); err != nil {
			return errors.Join(err, r.end(nil, false))
		}
	}
	return r.end(nil, true)
}

// Sessions returns the sessions of the earlier run at path. It reads the index of the run when a
// report asks for the first session, because not all reports ask for one.
func Sessions(path string) report.Sessions {
	open := sync.OnceValues(func() (*run.Index, error) { return run.OpenIndex(path) })
	return func(caseID, runnerID string, yield func(plumb.Event) error) error {
		x, err := open()
		if err != nil {
			return err
		}
		return x.Sessions(caseID, runnerID, yield)
	}
}

// events streams the log of the run directory at path.
func events(path string) iter.Seq2[plumb.Event, error] {
	stop := errors.New("stop")
	return func(yield func(plumb.Event, error) bool) {
		err := run.Read(path, func(ev plumb.Event) error {
			if !yield(ev, nil) {
				return stop
			}
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			yield(plumb.Event{}, err)
		}
	}
}
