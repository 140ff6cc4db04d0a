// Package reporting opens and writes the reports that a user wants: of a run that is performed, of
// an earlier run, and of a comparison. It hides where each of them goes, and what the formats of
// package report need of a project.
package reporting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/explain"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/report/module"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/suite"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Reports is the set of open reports of a run.
type Reports struct {
	reports []*openReport
	// wrote tells the user of a file that was written.
	wrote func(path string)
	// closers end the code that the reports use.
	closers []func() error
}

// openReport is one report. Its file, if it has one, replaces an earlier file when the report is
// complete.
type openReport struct {
	plumb.Reporter
	file     *doc.File
	path     string
	complete bool
}

// Subject is the run that reports are about.
type Subject struct {
	Spec *project.Spec
	// Suite is nil for an earlier run.
	Suite *plumb.Suite
}

// suiteOf returns the suite of a run. For an earlier run it reads the bundle, if the run was made
// here; reports have fewer details without it.
func suiteOf(ctx context.Context, p *project.Project, of *Subject, runDir string, r *Reports) *plumb.Suite {
	if of.Suite != nil || !runlog.MadeHere(p.Runs(), runDir) {
		return of.Suite
	}
	bundle, err := suite.Open(filepath.Join(runDir, runlog.BundleDir))
	if err != nil {
		return nil
	}
	r.closers = append(r.closers, bundle.Close)
	suite, _, _ := bundle.Suite(ctx, p.Host(0))
	return suite
}

// loadModule loads a reporter that the user wrote.
func loadModule(
	ctx context.Context, p *project.Project, path string, o kind.Setup, of *Subject, r *Reports,
) (plumb.Reporter, error) {
	s, env := of.Spec, p.Env
	m := module.Environment{
		Source: o.Source, Terminal: o.Terminal, Modules: lib.Modules(), WorkDir: env.Dir, Env: p.Environ(),
		Stdout: env.Stdout, Stderr: env.Stderr,
		WorkspaceMode: string(plumb.WorkspaceNone), Cwd: env.Dir, CaseFilter: s.Filter.IDs, RunnerFilter: s.Selected,
	}
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
	if suite := suiteOf(ctx, p, of, o.RunDir, r); suite != nil {
		for i := range suite.Cases {
			cases[suite.Cases[i].ID] = &suite.Cases[i]
		}
	}
	m.Case = func(id string) *plumb.Case { return cases[id] }
	return module.New(ctx, env.Path(path), m)
}

// Open opens the reports that specs name: "name", "name:path", or the path of a module. The first
// two kinds are described in package report. Without a report to standard output the terminal
// reporter writes there.
func Open(
	ctx context.Context, p *project.Project, specs []string, o kind.Setup, of *Subject,
) (_ *Reports, err error) {
	r := &Reports{wrote: func(path string) { p.Printf("wrote %s", p.Env.Shown(path)) }}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.End(nil, false))
		}
	}()
	stdout := "" // the report that writes to standard output
	for _, spec := range specs {
		if config.IsModule(spec) {
			reporter, err := loadModule(ctx, p, spec, o, of, r)
			if err != nil {
				return nil, err
			}
			r.reports = append(r.reports, &openReport{Reporter: reporter})
			stdout = cmp.Or(stdout, spec)
			continue
		}
		name, _, toFile := strings.Cut(spec, ":")
		if !toFile && !kind.Mixes(name) {
			if stdout != "" {
				err := fmt.Errorf("the reports %s and %s both write to standard output", stdout, name)
				return nil, plumb.WithHint(err, "give one a file: --report "+name+":FILE")
			}
			stdout = name
		}
		if err := r.open(p.Env, spec, o); err != nil {
			return nil, err
		}
	}
	if stdout == "" {
		return r, r.open(p.Env, kind.Terminal, o)
	}
	return r, nil
}

// open opens a built-in report. Only its owner can read its file, because reports contain outputs.
func (r *Reports) open(env project.Env, spec string, o kind.Setup) error {
	name, path, toFile := strings.Cut(spec, ":")
	if name == "standard" { // its name in other tools
		name = kind.Terminal
	}
	opened := &openReport{}
	o.Out = env.Stdout
	if toFile {
		if path == "" {
			return plumb.WithHint(fmt.Errorf("report %s has no file name", spec),
				"--report "+name+":FILE, or --report "+name+" for standard output")
		}
		path = env.Path(path)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			opened.path = path
			opened.file, err = doc.Create(path)
		}
		if err != nil {
			return fmt.Errorf("report %s: %w", name, err)
		}
		o.Out, o.Terminal, o.Color, o.RunDir = opened.file, false, false, ""
	}
	var err error
	if opened.Reporter, err = kind.New(name, o); err != nil {
		if toFile {
			err = errors.Join(err, opened.file.Discard())
		}
		return err
	}
	r.reports = append(r.reports, opened)
	return nil
}

// Report passes an event to all reports.
func (r *Reports) Report(ev plumb.Event, state *plumb.Run) error {
	for _, o := range r.reports {
		if err := o.Report(ev, state); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		o.complete = o.complete || ev.Type == plumb.EventRunFinished
	}
	return nil
}

// End closes the reports. err is the error that ended the run early, or nil. With complete, all
// reports are complete. The file of a report that is not complete stays as it was before.
func (r *Reports) End(err error, complete bool) error {
	var all []error
	for _, o := range r.reports {
		if b, ok := o.Reporter.(plumb.AbortReporter); ok && err != nil {
			b.Broke(err)
		}
		closed := o.Close()
		// An error that ended the run may come back from Close; do not report it twice.
		if closed != nil && (err == nil || !strings.Contains(err.Error(), closed.Error())) {
			all = append(all, closed)
		}
		switch {
		case o.file == nil:
		case (complete || o.complete) && closed == nil:
			err := o.file.Commit()
			if err == nil {
				r.wrote(o.path)
			}
			all = append(all, err)
		default:
			all = append(all, o.file.Discard())
		}
	}
	for _, c := range r.closers {
		_ = c() // no report depends on it
	}
	r.reports, r.closers = nil, nil
	return errors.Join(all...)
}

// Setup returns the setup of all reports of the run at path, for standard output.
func Setup(p *project.Project, path string) kind.Setup {
	o := kind.Setup{Screen: p.Env.Display}
	o.Getenv, o.Now, o.Redact = p.Env.Getenv, p.Env.Now, p.Redactor()
	o.Dir, o.RunDir, o.Flags, o.Project = p.Env.Shown(path), path, p.Flags, p.Config.Dir
	o.Calibrations = p.Calibrations()
	return o
}

// storedOptions returns the options of all reports of the earlier run at path, and its spec.
func storedOptions(p *project.Project, path string) (o kind.Setup, s project.Spec, err error) {
	o = Setup(p, path)
	o.Redact, o.Terminal, o.Sessions = p.RedactorOf(path), false, Sessions(path)
	if runlog.IsLog(path) {
		o.RunDir = ""
		return o, s, nil
	}
	o.Explained = func(dir string) ([]report.Explained, error) { return explained(filepath.Join(path, dir)) }
	err = runlog.ReadSpec(path, &s)
	o.Closed = s.Demo
	return o, s, err
}

// explained returns the stored answers about the session in dir for a report, if there are any.
func explained(dir string) (out []report.Explained, err error) {
	stored, err := explain.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, a := range stored.Questions {
		out = append(out, report.Explained{Question: a.Question.Question, Answer: a.Answer})
	}
	return out, err
}

// WritePage writes the HTML report of the earlier run at path to a file.
func WritePage(p *project.Project, path, file string) error {
	o, _, err := storedOptions(p, path)
	if err != nil {
		return o.Redact.Error(err)
	}
	return o.Redact.Error(doc.Write(file, func(f *doc.File) error {
		o.Out, o.RunDir = f, ""
		r, err := kind.New(kind.HTML, o)
		if err != nil {
			return err
		}
		_, err = report.Replay(r, events(path))
		return err
	}))
}

// Write renders the reports that specs name of the earlier run at path.
func Write(ctx context.Context, p *project.Project, path string, specs []string) (err error) {
	o, s, err := storedOptions(p, path)
	defer func() { err = o.Redact.Error(err) }()
	if err != nil {
		return err
	}
	if err := CheckOutputs(p, &kind.Outputs{}, specs, ""); err != nil {
		return err
	}
	r, err := Open(ctx, p, specs, o, &Subject{Spec: &s})
	if err != nil {
		return err
	}
	for _, o := range r.reports {
		if _, err := report.Replay(o.Reporter, events(path)); err != nil {
			return errors.Join(err, r.End(nil, false))
		}
	}
	return r.End(nil, true)
}

// Sessions returns the sessions of the earlier run at path. It reads the index of the run when a
// report asks for the first session, because not all reports ask for one.
func Sessions(path string) results.Sessions {
	open := sync.OnceValues(func() (*runlog.Index, error) { return runlog.At(path).Index() })
	return func(caseID, runnerID string, yield func(plumb.Event) error) error {
		x, err := open()
		if err != nil {
			return err
		}
		return x.Sessions(caseID, runnerID, yield)
	}
}

// events streams the log of the run at path. If the run began with fewer repetitions than
// run.json has now, the stream is that of a run that planned them all from the start, so that a
// report shows the result of each execution once.
func events(path string) iter.Seq2[plumb.Event, error] {
	stop := errors.New("stop")
	return func(yield func(plumb.Event, error) bool) {
		var s project.Spec
		alone := runlog.IsLog(path)
		if !alone {
			if err := runlog.ReadSpec(path, &s); err != nil {
				yield(plumb.Event{}, err)
				return
			}
		}
		var raised *raisedRun
		err := runlog.At(path).Read(func(ev plumb.Event) (err error) {
			if ev.Type == plumb.EventRunStarted && ev.Info != nil && (alone || max(ev.Info.Repeat, 1) < s.Repeat) {
				if raised, err = foldRaised(path); err != nil {
					return err
				}
			}
			if raised != nil && !raised.keep(&ev) {
				return nil
			}
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

// raisedRun selects the events of a run whose repetitions were raised.
type raisedRun struct {
	final *plumb.Run
	shown []bool // by execution
}

func foldRaised(path string) (*raisedRun, error) {
	final, err := runlog.At(path).Fold(nil)
	if err != nil {
		return nil, err
	}
	return &raisedRun{final, make([]bool, len(final.Executions))}, nil
}

// keep changes a planning event to the final plan. It reports whether to show the event: of the
// results of an execution, only the final one.
func (r *raisedRun) keep(ev *plumb.Event) bool {
	switch ev.Type {
	case plumb.EventRunStarted:
		ev.Info.Repeat = r.final.Info.Repeat
	case plumb.EventPlanned:
		for i := range ev.Cases {
			if c := r.final.Case(ev.Cases[i].ID); c != nil {
				ev.Cases[i].Repeat = c.Repeat
			}
		}
	case plumb.EventExecutionFinished:
		i, err := r.final.Index(ev.Case, ev.Runner)
		if err != nil || ev.Result == nil {
			return true // the fold returns the error
		}
		e := &r.final.Executions[i]
		final := e.State == plumb.ExecutionDone && ev.Result.Sessions == int(e.Sessions) && !r.shown[i]
		r.shown[i] = r.shown[i] || final
		return final
	default:
	}
	return true
}
