package job

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/kind"
	"github.com/plumb-eval/plumb/internal/reporting"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Watch is called when the sessions of a run begin. The run ends its running sessions when the
// returned context is done, and starts no more when drain is closed. [Job.Perform] calls done when
// the run has ended.
type Watch func(ctx context.Context) (running context.Context, drain <-chan struct{}, done func())

// Result is what a performed job leaves.
type Result struct {
	Run *plumb.Run
	// ID and Dir are the id and the directory of the run.
	ID, Dir string
}

// Perform runs the job in a new run directory, or continues a resumed run in its own. A nil Result
// means that the run could not begin. A Result with an error means that the run ended early: what
// it measured until then is in its directory.
//
// reports are what the user wants to see of the run; see [reporting.Open]. A nil watch lets only
// ctx end the run.
func (j *Job) Perform(ctx context.Context, reports []string, watch Watch) (result *Result, err error) {
	defer func() { err = j.factory.Redact.Error(err) }()
	if err := j.CheckOutputs(reports); err != nil {
		return nil, err
	}
	dir, resumed := j.dir, j.dir != nil
	j.dir = nil
	if !resumed {
		if dir, err = j.project.NewRun(cmp.Or(j.Root, j.project.Runs())); err != nil {
			return nil, err
		}
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := j.setSampler(dir); err != nil {
		return nil, err
	}
	index := &runlog.Index{}
	defer func() { err = errors.Join(err, index.Close()) }()
	display := reporting.Setup(j.project, dir.Path)
	display.Waiting = j.factory.Transport.Waiting
	display.Redact, display.Closed = j.factory.Redact, j.Spec.Demo
	display.Sessions, display.Stored = index.Sessions, index.Stored
	if !resumed { // an earlier version may have written the log of a resumed run
		display.Fresh, display.Temp = true, dir.Path
	}
	display.Lifts = func() []report.Lift { return j.reportedLifts(dir.Path) }
	if j.Spec.Decide != nil {
		display.Temp = "" // a finished case can get more repetitions, so it cannot be rendered yet
	}
	opened, err := j.begin(ctx, dir, resumed, display, reports)
	if err != nil {
		return nil, err
	}
	document := display.Results(display.Temp, results.Full)
	defer func() { err = errors.Join(err, document.Close()) }()
	var missed map[[2]string]bool // by the baselines
	if resumed && j.baselines != nil {
		if missed, err = unsaved(dir.Path); err != nil {
			return nil, err
		}
	}
	var notWritten error
	j.options.Dir, j.options.Index = dir, index
	j.options.Emit = func(ev plumb.Event, state *plumb.Run) error {
		if ev.Type == plumb.EventExecutionFinished {
			delete(missed, [2]string{ev.Case, ev.Runner}) // made again
		}
		if ev.Type == plumb.EventRunResumed {
			if err := recordRaise(dir, state); err != nil {
				return err
			}
		}
		// A documented promise: results.json exists when reporters get the end of the run.
		if ev.Type == plumb.EventRunFinished {
			notWritten = j.writeResults(ctx, dir, document, state, index)
		} else {
			_ = document.Report(ev, state) // writeResults returns its error
		}
		return opened.Report(ev, state)
	}
	if resumed {
		if err := reapRun(j.project, dir, j.Spec.WorkspaceRoot); err != nil {
			return nil, err
		}
	}
	for _, e := range j.factory.Redact.Exposed() {
		j.project.Printf("the secret %s stays visible where it appears: its value %s", e.Name, e.Why)
	}
	if j.project.Env.Starting != nil {
		j.project.Env.Starting(j.runners, len(j.Suite.Cases)*len(j.runners), j.options.Parallel)
	}
	running, done := ctx, func() {}
	if watch != nil {
		running, j.options.Drain, done = watch(ctx)
	}
	state, err := run.Suite(running, j.options)
	done()
	err = errors.Join(err, opened.End(j.factory.Redact.Error(err), err == nil))
	if state == nil {
		return nil, err
	}
	err = errors.Join(err, notWritten)
	if err == nil && j.baselines != nil {
		err = j.recoverBaselines(missed, state, index)
	}
	if err == nil && j.baselines != nil {
		err = j.baselines.Save(context.WithoutCancel(ctx))
	}
	return &Result{Run: state, ID: dir.ID, Dir: dir.Path}, err
}

// begin records a new run, and opens the reports. On an error it deletes a new run.
func (j *Job) begin(
	ctx context.Context, dir *runlog.Dir, resumed bool, o kind.Setup, specs []string,
) (_ *reporting.Reports, err error) {
	defer func() {
		if err != nil && !resumed {
			err = errors.Join(err, dir.Discard())
		}
	}()
	if !resumed {
		if err := j.record(ctx, dir); err != nil {
			return nil, err
		}
		if j.options.Info.Setup == nil {
			j.options.Info.Setup = j.setup()
		}
	}
	return reporting.Open(ctx, j.project, specs, o, &reporting.Subject{Spec: &j.Spec, Suite: j.Suite})
}

// record writes the bundle and run.json, before the run begins.
func (j *Job) record(ctx context.Context, dir *runlog.Dir) error {
	if err := j.bundle.Write(ctx, dir.Join(runlog.BundleDir)); err != nil {
		return err
	}
	j.bundle.Drop() // it may be large, and is on disk now
	j.bundle = nil
	s, _ := redact.Clean(j.factory.Redact, j.Spec)
	return dir.WriteSpec(s)
}

// writeResults writes results.json into the run directory, and appends to the file of --output.
func (j *Job) writeResults(
	ctx context.Context, dir *runlog.Dir, document *results.Writer, state *plumb.Run, index *runlog.Index,
) error {
	err := runlog.WriteTo(dir.Join(runlog.ResultsFile), func(w io.Writer) error { return document.Write(w, state) })
	if err != nil || j.Spec.Output == "" {
		return err
	}
	// After an interruption, too.
	return results.AppendBlock(context.WithoutCancel(ctx), j.Spec.Output, state, index.Sessions)
}
