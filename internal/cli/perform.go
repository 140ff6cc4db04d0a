package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/run"
)

// perform runs a job in a new run directory, or goes on in dir.
func (a *app) perform(ctx context.Context, p *project, j *job, reports []string, dir *run.Dir) (code int, err error) {
	resumed := dir != nil
	if !resumed {
		if dir, err = a.newRun(p); err != nil {
			return 0, err
		}
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if !resumed {
		if err := a.record(dir, j); err != nil {
			return 0, errors.Join(err, dir.Discard())
		}
	}
	o := a.reportOptions()
	o.Fresh = !resumed // the log of a run that is resumed may be of an earlier version
	o.Dir, o.Flags, o.Closed, o.RunDir = a.shown(dir.Path), p.flags, j.spec.Demo, dir.Path
	index := &run.Index{}
	defer func() { err = errors.Join(err, index.Close()) }()
	o.Sessions, o.RawSessions = index.Sessions, index.Raw
	r, err := a.reporters(ctx, p, j, reports, o)
	if err != nil {
		if !resumed {
			err = errors.Join(err, dir.Discard())
		}
		return 0, err
	}
	var wrote error
	j.options.Dir, j.options.Index = dir, index
	j.options.Emit = func(ev plumb.Event, state *plumb.Run) error { //nolint:contextcheck // results are written after an interruption, too
		if ev.Type == plumb.EventRunFinished { // documented: reporters find the results on disk when they are told of the end
			wrote = writeResults(dir, j, state, index)
		}
		return r.report(ev, state)
	}
	if resumed {
		if err := a.reapRun(dir, j.options.Workspaces.Root); err != nil {
			return 0, err
		}
	}
	a.tellExposed(j.shop.redact)
	executions := len(j.suite.Cases) * len(j.runners)
	boundMemory(j.runners, executions, j.options.Parallel)
	ctx, interrupted, done := a.interruptible(ctx, j)
	state, err := run.Suite(ctx, j.options)
	done()
	var why error
	if err != nil {
		why = errors.New(j.shop.redact.String(err.Error()))
	}
	err = errors.Join(err, r.broke(why))
	if state == nil {
		return 0, err
	}
	err = errors.Join(err, wrote)
	if err == nil && j.baselines != nil {
		err = j.baselines.Save(context.WithoutCancel(ctx))
	}
	if err != nil {
		a.complain(err)
		fmt.Fprintf(a.Stderr, "  what was obtained is in %s; go on with: %s\n", o.Dir,
			strings.TrimSpace("plumb resume "+dir.ID+" "+p.flags))
		return exitNotMeasured, nil
	}
	if sig := interrupted(); sig != nil {
		if sig == syscall.SIGTERM {
			return exitTerminated, nil
		}
		return exitInterrupted, nil
	}
	return exitCode(state), nil
}

// record writes down what was asked, before anything is.
func (a *app) record(dir *run.Dir, j *job) error {
	if err := j.bundle.Write(dir.Join(run.BundleDir)); err != nil {
		return err
	}
	j.bundle.Drop() // it may be large, and is on disk now
	j.bundle = nil
	s, _ := redact.Clean(j.shop.redact, j.spec)
	return dir.WriteSpec(s)
}

// tellExposed names the secrets that will not be hidden, or not everywhere.
func (a *app) tellExposed(r *redact.Redactor) {
	for _, e := range r.Exposed() {
		fmt.Fprintf(a.Stderr, "plumb: the secret %s stays visible where it appears: its value %s\n", e.Name, e.Why)
	}
}

// exitCode says in a number how a run went.
func exitCode(state *plumb.Run) int {
	t := state.Totals
	switch {
	case t.NotOK() > 0:
		return exitFailed
	case t.Errored > 0 || t.Finished < t.Planned:
		return exitNotMeasured
	default:
		return exitOK
	}
}

// shown returns a path as the user would write it.
func (a *app) shown(path string) string {
	if rel, err := filepath.Rel(a.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// interruptible lets signals end a run: the first one lets what is in flight finish, the second one does not. A third one
// does what signals do by default. A reader of the output that leaves counts as the first one.
func (a *app) interruptible(ctx context.Context, j *job) (_ context.Context, interrupted func() os.Signal, done func()) {
	signals, stop := a.signals()
	ctx, cancel := context.WithCancelCause(ctx)
	drain, finished, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	j.options.Drain = drain
	var first os.Signal
	go func() {
		defer close(ended)
		defer stop()
		select {
		case first = <-signals:
		case <-a.readerLeft:
			first = syscall.SIGPIPE
		case <-finished:
			return
		}
		close(drain)
		j.shop.env.Note(plumb.Note{Level: "warning", Text: "interrupted: what is in flight finishes; once more stops it at once"})
		select {
		case <-signals:
			cancel(errors.New("interrupted twice"))
		case <-finished:
		}
	}()
	return ctx, func() os.Signal { return first }, func() {
		close(finished)
		<-ended
		cancel(nil)
	}
}

// writeResults writes results.json into the run directory, and appends to the file that the user named.
func writeResults(dir *run.Dir, j *job, state *plumb.Run, index *run.Index) error {
	if err := writeResultsFile(dir.Path, state, index.Raw); err != nil {
		return err
	}
	if j.spec.Output == "" {
		return nil
	}
	return report.AppendBlock(j.spec.Output, state, index.Raw)
}

func writeResultsFile(path string, state *plumb.Run, sessions report.Sessions) error {
	return run.WriteTo(filepath.Join(path, run.ResultsFile), func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 1<<20)
		if err := report.WriteResults(buffered, state, sessions); err != nil {
			return err
		}
		return buffered.Flush()
	})
}
