// Package run performs a suite: it plans executions, schedules them, runs sessions, judges them,
// and emits events.
//
// All events go through one event log in the run directory. A finished session is durable there
// before anything else happens with it, and everything that is shown or counted is a fold over the
// log. A later process can therefore finish a run that was killed at any point: it reads the log
// first, and neither loses finished work nor repeats it.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/setting"
)

// Input is what to run and how. Dir, Suite and Runners are required.
type Input struct {
	// Dir is the run directory, locked by the caller. If it holds a log, that run is resumed.
	Dir *runlog.Dir
	// Base is the directory to which paths in the suite's code are relative.
	Base string
	// Project is the directory to which the run records the places of cases.
	Project string
	// Suite has the selected cases. A resumed run needs the same cases.
	Suite   *plumb.Suite
	Runners []plumb.Runner
	// Unavailable holds, by runner id, why a runner cannot be used. Its sessions are errors, and
	// the runner is not called.
	Unavailable map[string]*plumb.Failure
	// Judge answers questions about sessions; with nil each runner judges its own.
	Judge plumb.Runner
	// Embedder is required for suites with assertions that compare meaning.
	Embedder *plumb.Embedder
	// Info is recorded, completed with the other options.
	Info plumb.RunInfo

	Settings
	// Workspaces describe where agents and commands work.
	Workspaces Workspaces
	// AtOnce starts as many sessions of a model as may run at once. Otherwise the first one goes alone,
	// so that a rejected key costs one request.
	AtOnce bool
	// Verify, if set, checks the sessions that decided the repetitions of a green execution, and
	// may return a failure. It is called once per execution, from many goroutines.
	Verify func(c *plumb.Case, r plumb.RunnerInfo, sessions []*plumb.SessionReport) (
		*plumb.SnapshotCheck, *plumb.Failure)
	// Forecast returns the expected usage of a session of the case on a runner; nil means that
	// nothing is known.
	Forecast func(c *plumb.Case, r plumb.RunnerInfo) Forecast
	// RetryErrors makes a resumed run repeat the sessions that could not be measured.
	RetryErrors bool
	// Raise makes a resumed run plan at least this number of repetitions of each case. The log
	// records it, so that every later process continues with it. A number below that of the run is
	// an error, and 0 changes nothing.
	Raise int

	// Take, if set, returns the finished and judged sessions of an earlier run that stand for those of
	// a case on the runner at the given index. They are recorded as sessions of this run, and only the
	// repetitions without one are performed.
	Take func(c *plumb.Case, runner int) ([]plumb.Event, error)
	// Sampler, if set, chooses the cases of the repetitions instead of the plan, which has one
	// repetition of each case. A run with a Sampler has one runner.
	Sampler Sampler

	// Emit is called with each durable event, in the order of the log and never concurrently. It
	// also gets the state of the run after the event, which it must neither change nor keep. An
	// error ends the run.
	Emit func(plumb.Event, *plumb.Run) error
	// Index, if not nil, is filled while the log is written.
	Index *runlog.Index
	// Redact removes secrets from stored and emitted events and from artifacts. Sessions are judged
	// before that. Nil removes nothing.
	Redact *redact.Redactor
	// When Drain is closed, no more sessions start, and the running sessions finish, except those
	// that wait for their turn or for a retry.
	Drain <-chan struct{}
	// Notes are recorded when they arrive, each text once.
	Notes <-chan plumb.Note
}

// Suite performs the run until all work is done, a budget is spent, Drain is closed, or ctx ends,
// which abandons running sessions. It returns the state of the run so far, even with an error. An
// error means that the run could not continue, never that a model failed.
func Suite(ctx context.Context, o Input) (*plumb.Run, error) {
	e, err := newEngine(o)
	if err != nil {
		return nil, err
	}
	return e.state, e.run(ctx)
}

// engine is one process's work on a run.
type engine struct {
	Input
	state *plumb.Run // owned by the log's goroutine during the run
	log   *runlog.Writer
	spent *ledger
	queue *queue
	// samples replaces the queue of a run with a Sampler.
	samples *samples

	slots   chan struct{}
	blocked []blocker // by runner
	judges  []*plumb.Judge
	places  *workspaces
	started atomic.Int64 // sessions of agents that this process started

	ownIndex bool // no caller closes the index

	stopOnce sync.Once
	stopping chan struct{}
	stop     plumb.StopReason

	notedMu sync.Mutex
	noted   map[string]bool
}

func newEngine(o Input) (*engine, error) {
	o = o.complete()
	e := &engine{
		Input: o, slots: make(chan struct{}, o.Parallel), blocked: make([]blocker, len(o.Runners)),
		stopping: make(chan struct{}), noted: map[string]bool{},
	}
	e.places = &workspaces{
		Workspaces: o.Workspaces, run: o.Dir, redact: o.Redact,
		exclusive: o.Workspaces.Config.Mode == plumb.WorkspaceIsolated || o.Parallel == 1,
	}
	for i, r := range o.Runners {
		if f := o.Unavailable[r.Info().ID]; f != nil {
			e.blocked[i].failure, e.blocked[i].known = f, true
		}
		j := &plumb.Judge{Runner: o.Judge, Votes: o.JudgeVotes}
		if o.Judge == nil {
			j.Runner, j.Self = r, true
		}
		e.judges = append(e.judges, j)
	}
	if e.Index == nil {
		e.Index, e.ownIndex = &runlog.Index{}, true
	}
	var err error
	if e.log, err = runlog.Continue(o.Dir, e.Index, o.Redact, o.Emit); err != nil {
		return nil, err
	}
	e.state = e.log.Run
	resumed := !e.state.StartedAt.IsZero() // false if killed before the first event was durable
	if err := e.open(resumed, e.log.Torn); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if e.spent, err = newLedger(e); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.queue = newQueue(e)
	if e.Sampler != nil {
		if e.samples, err = newSamples(e); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

// complete returns o with defaults.
func (o Input) complete() Input {
	o.Schedule = cmp.Or(o.Schedule, Parallel)
	o.Parallel = max(o.Parallel, 1)
	if o.Schedule == Serial {
		o.Parallel = 1
	}
	o.Repeat = max(o.Repeat, 1)
	if o.Sampler != nil {
		o.Repeat, o.AllRepetitions = 1, true
	}
	o.TimeoutMs = cmp.Or(o.TimeoutMs, setting.Milliseconds(DefaultTimeout.Milliseconds()))
	if o.Emit == nil {
		o.Emit = func(plumb.Event, *plumb.Run) error { return nil }
	}
	return o
}

// Planned returns the state of the run that o describes, before its first session. It writes
// nothing.
func Planned(o Input, at time.Time) (*plumb.Run, error) {
	o = o.complete()
	info, state := o.info(), &plumb.Run{}
	if err := state.Apply(plumb.Event{Type: plumb.EventRunStarted, At: at, Info: &info}); err != nil {
		return nil, err
	}
	return state, state.Apply(plumb.Event{Type: plumb.EventPlanned, At: at, Cases: o.planned(o.Suite.Cases)})
}

// info returns what a run records when it starts, without its id and directory.
func (o *Input) info() plumb.RunInfo {
	info := o.Info
	info.Runners = nil
	for _, r := range o.Runners {
		info.Runners = append(info.Runners, r.Info())
	}
	info.Cases = len(o.Suite.Cases)
	info.SuiteCases = max(info.SuiteCases, info.Cases)
	info.Schedule, info.Parallel = string(o.Schedule), o.Parallel
	info.Gates, _ = o.Gates() // the caller checked them
	info.Repeat, info.Retry, info.MaxSteps, info.MinKappa = o.Repeat, o.Retry, o.MaxSteps, o.MinKappa
	if slices.ContainsFunc(info.Runners, func(r plumb.RunnerInfo) bool { return worksInDirectory(&r) }) &&
		o.Workspaces.Config.Mode != "" {
		info.Workspace = &o.Workspaces.Config
	}
	return info
}

// planned returns what a run records about its cases.
func (o *Input) planned(cases []plumb.Case) []plumb.CaseInfo {
	infos := make([]plumb.CaseInfo, len(cases))
	for i := range cases {
		c := &cases[i]
		infos[i] = plumb.CaseInfo{
			ID: c.ID, Hash: c.Hash, Prompt: c.PromptName, Item: c.Item,
			Category: c.Category, Difficulty: c.Difficulty, Tags: c.Tags,
			Repeat: cmp.Or(c.Repeat, o.Repeat), ExpectedFail: c.ExpectedFail,
			PromptHash: c.PromptHash, ChecksHash: c.ChecksHash,
			TimeoutMs: c.Timeout.Milliseconds(), MaxSteps: c.MaxSteps, Metadata: c.Metadata,
			Source: c.Source,
		}
		if file := &infos[i].Source.File; i > 0 && *file == cases[i-1].Source.File {
			*file = infos[i-1].Source.File
		} else if rel, err := filepath.Rel(o.Project, *file); err == nil && filepath.IsLocal(rel) {
			*file = filepath.ToSlash(rel)
		}
		if o.Sampler != nil {
			infos[i].Repeat = 1
		}
	}
	return infos
}

// open records the start of the run, or of this process's part of it.
func (e *engine) open(resumed, torn bool) error {
	if !resumed {
		info := e.info()
		info.ID, info.ArtifactDir = cmp.Or(info.ID, e.Dir.ID), e.Dir.Path
		if _, err := e.log.Commit(plumb.Event{Type: plumb.EventRunStarted, At: time.Now(), Info: &info}); err != nil {
			return err
		}
		return e.plan()
	}
	if err := e.checkSame(); err != nil {
		return err
	}
	for _, n := range e.state.Notes {
		e.noted[n.Text] = true
	}
	resume, was := plumb.Event{Type: plumb.EventRunResumed, At: time.Now()}, max(1, e.state.Info.Repeat)
	if e.Raise > was {
		resume.Repeat = e.Raise
	}
	if _, err := e.log.Commit(resume); err != nil {
		return err
	}
	if resume.Repeat > 0 {
		if err := e.note(plumb.Note{
			Level: "info", Text: fmt.Sprintf("repetitions raised from %d to %d; earlier sessions are kept", was, e.Raise),
		}); err != nil {
			return err
		}
	}
	if torn {
		if err := e.note(plumb.Note{
			Level: "info",
			Text:  "a crash left the last line of the run log incomplete; it was removed, and its work is repeated",
		}); err != nil {
			return err
		}
	}
	return e.plan()
}

// plan records the cases that the log does not have yet.
func (e *engine) plan() error {
	const chunk = 1000
	for from := len(e.state.Cases); from < len(e.Suite.Cases); from += chunk {
		cases := e.Suite.Cases[from:min(from+chunk, len(e.Suite.Cases))]
		ev := plumb.Event{Type: plumb.EventPlanned, At: time.Now(), Cases: e.planned(cases)}
		last := from+chunk >= len(e.Suite.Cases)
		if _, err := e.log.Wait(ev, last); err != nil { // one chunk is in memory
			return err
		}
	}
	return e.log.Err()
}

// checkSame makes sure that a resumed run has the cases and runners it began with, and not fewer
// repetitions. A log may end before all of its plan.
func (e *engine) checkSame() error {
	was := e.state.Info
	if e.Raise > 0 && e.Raise < was.Repeat {
		return plumb.WithHint(
			fmt.Errorf("resume run %s: %d repetitions are fewer than the %d that it plans", was.ID, e.Raise, was.Repeat),
			fmt.Sprintf("plumb never removes sessions: give --repeat %d or more, or leave --repeat out", was.Repeat),
		)
	}
	if was.Cases != len(e.Suite.Cases) || len(was.Runners) != len(e.Runners) {
		return fmt.Errorf("resume run %s: it has %d cases on %d runners, not %d on %d",
			was.ID, was.Cases, len(was.Runners), len(e.Suite.Cases), len(e.Runners))
	}
	for i := range e.state.Cases {
		if c := &e.Suite.Cases[i]; c.ID != e.state.Cases[i].ID || c.Hash != e.state.Cases[i].Hash {
			return fmt.Errorf(
				"resume run %s: case %d is %s now, and was %s, or has changed", was.ID, i+1, c.ID, e.state.Cases[i].ID,
			)
		}
	}
	for i, r := range e.Runners {
		if r.Info().ID != was.Runners[i].ID || r.Info().Config != was.Runners[i].Config {
			return fmt.Errorf("resume run %s: %w", was.ID, describeDifference(&was.Runners[i], new(r.Info())))
		}
	}
	return nil
}

// describeDifference returns how a runner differs from the recorded one.
func describeDifference(was, is *plumb.RunnerInfo) error {
	err := fmt.Errorf("runner %s is configured differently now", was.ID)
	if was.BaseURL == is.BaseURL {
		return plumb.WithHint(err, "restore the configuration of the runner, or start a new run")
	}
	address := func(r *plumb.RunnerInfo) string { return cmp.Or(r.BaseURL, "the provider's own address") }
	return plumb.WithHint(fmt.Errorf("%w: its address was %s and is now %s", err, address(was), address(is)),
		"an environment variable may set the address: restore it, or start a new run")
}

// close closes the log, and the index if no caller does.
func (e *engine) close() error {
	err := e.log.Close()
	if e.ownIndex {
		err = errors.Join(err, e.Index.Close())
	}
	return err
}

func (e *engine) note(n plumb.Note) error {
	e.notedMu.Lock()
	again := e.noted[n.Text]
	e.noted[n.Text] = true
	e.notedMu.Unlock()
	if again {
		return nil
	}
	ev := plumb.Event{Type: plumb.EventNote, At: time.Now(), Note: &n}
	if n.Live {
		return e.log.EmitOnly(ev)
	}
	_, err := e.log.Commit(ev)
	return err
}

// end stops the run: no more sessions start. The first reason is recorded.
func (e *engine) end(reason plumb.StopReason) {
	e.stopOnce.Do(func() {
		e.stop = reason
		close(e.stopping)
	})
}

func (e *engine) stopped() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}

// draining reports whether the user has interrupted the run, so that requests no longer wait.
func (e *engine) draining() bool {
	select {
	case <-e.Drain:
		return true
	default:
		return false
	}
}

func (e *engine) run(ctx context.Context) error {
	ctx = plumb.WithStopping(ctx, e.Drain)
	began := time.Now()
	workers, cancelWorkers := context.WithCancelCause(ctx)
	defer cancelWorkers(nil)

	// The watcher owns everything that ends the run from outside.
	var watch sync.WaitGroup
	finished := make(chan struct{})
	left := e.MaxDurationMs.Duration() - time.Duration(e.state.ActiveMs)*time.Millisecond
	if e.MaxDurationMs > 0 && left <= 0 {
		e.end(plumb.StopDuration) // before a worker starts a session
	}
	watch.Go(func() { e.watch(ctx, left, finished) })
	watch.Go(func() { e.takeNotes(finished, cancelWorkers) })

	fail := func(err error) {
		if err != nil && !errors.Is(err, errInterrupted) {
			cancelWorkers(err)
			e.end(plumb.StopInterrupted)
		}
	}
	fail(e.canary(workers))
	sources := e.queue.sources()
	if e.samples != nil {
		sources = []source{e.samples.next}
	}
	var work sync.WaitGroup
	for _, next := range sources {
		for range e.workers() {
			work.Go(func() { fail(e.work(workers, next)) })
		}
	}
	work.Wait()
	close(finished)
	watch.Wait()

	err := context.Cause(workers)
	if errors.Is(err, context.Canceled) || ctx.Err() != nil {
		err = nil // an interruption is not an error
	}
	if ferr := e.finishRun(began, err != nil); err == nil {
		err = ferr
	}
	if cerr := e.close(); err == nil {
		err = cerr
	}
	return err
}

// work performs the tasks of a source until there is none.
func (e *engine) work(ctx context.Context, next source) error {
	for {
		t, err := next()
		if t == nil || err != nil {
			return err
		}
		if err := e.perform(ctx, *t); err != nil {
			return err
		}
	}
}

// finishRun deletes the workspaces and records the end of this process's work. After an error it
// records nothing.
func (e *engine) finishRun(began time.Time, broken bool) (err error) {
	remaining, green := e.queue.remaining(), e.queue.allGreen()
	ended := plumb.Event{Type: plumb.EventRunFinished}
	switch {
	case e.samples == nil:
		if remaining == 0 {
			e.stop = ""
		}
	case broken:
		green = false
	default:
		if remaining, err = e.samples.finish(); err != nil {
			return err
		}
		green = e.state.Totals.OK() == e.state.Totals.Planned
		ended.Decision = e.Sampler.Decision(true)
		if e.Sampler.Ended() {
			e.stop = plumb.StopDecided
		}
		if e.stop == plumb.StopDecided && remaining == 0 {
			e.stop = ""
		}
	}
	if cerr := e.places.close(remaining == 0 && green); cerr != nil && !broken {
		err = e.note(plumb.Note{Level: "warning", Text: "a workspace could not be deleted: " + cerr.Error()})
	}
	if err == nil && !broken {
		ended.At = time.Now()
		ended.End = &plumb.RunEnd{Stop: e.stop, Remaining: remaining, DurationMs: time.Since(began).Milliseconds()}
		_, err = e.log.Commit(ended)
	}
	return err
}

// workers returns the number of workers per source. Where sessions may overlap there are more
// workers than slots, so that a slot is free again while its last session is recorded and judged.
//
// With a Sampler there are as many workers as slots, so that no repetition is drawn before it can
// start: after a decision it would be missing between others.
func (e *engine) workers() int {
	switch {
	case e.Schedule != Parallel || e.Parallel == 1:
		return 1
	case e.Sampler != nil:
		return e.Parallel
	default:
		return 2*e.Parallel + 8
	}
}

// watch ends the run when Drain is closed, ctx ends, or the time budget (left) is spent.
func (e *engine) watch(ctx context.Context, left time.Duration, finished <-chan struct{}) {
	var over <-chan time.Time
	if e.MaxDurationMs > 0 {
		timer := time.NewTimer(max(0, left))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-finished:
	case <-ctx.Done():
		e.end(plumb.StopInterrupted)
	case <-e.Drain:
		e.end(plumb.StopInterrupted)
	case <-over:
		e.end(plumb.StopDuration)
	}
}

func (e *engine) takeNotes(finished <-chan struct{}, fail context.CancelCauseFunc) {
	record := func(n plumb.Note) {
		if err := e.note(n); err != nil {
			fail(err)
		}
	}
	for {
		select {
		case n := <-e.Notes:
			record(n)
		case <-finished:
			for {
				select {
				case n := <-e.Notes:
					record(n)
				default:
					return
				}
			}
		}
	}
}
