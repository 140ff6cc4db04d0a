// Package run performs a suite: it plans executions, schedules them, makes sessions, has them judged, and emits events.
//
// All that happens goes through one event log in the run directory. A finished session is durable there before anything
// else happens with it, and everything shown or counted is a fold over the log, so that a run that was killed at any
// point is finished by a later process that reads the log first: what was done is neither lost nor done twice.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// Options say what to run and how. Dir, Suite and Runners are required.
type Options struct {
	// Dir is the run directory, owned by the caller. If it holds a log, the run in it is resumed.
	Dir *Dir
	// Base is where relative paths of the suite's code start.
	Base string
	// Suite has the selected cases. A resumed run needs the same ones.
	Suite   *plumb.Suite
	Runners []plumb.Runner
	// Unavailable says, by id, why runners cannot be asked: their sessions are errors, and none is begun.
	Unavailable map[string]*plumb.Failure
	// Judge answers questions about sessions; nil lets each runner judge its own. JudgeVotes counts answers; 0 means 1.
	Judge      plumb.Runner
	JudgeVotes int
	// Embedder is needed by suites that compare by meaning.
	Embedder *plumb.Embedder
	// Info is recorded as it is, completed with what the other options say.
	Info plumb.RunInfo

	Schedule Schedule
	// Parallel limits sessions in flight; 0 means 1.
	Parallel int
	// Repeat is the number of planned samples of a case that does not say; 0 means 1.
	Repeat int
	// Retry is how often a failed repetition is tried again.
	Retry int
	// AllRepetitions has an agent make all planned repetitions. Otherwise the first that is not green is the last.
	AllRepetitions bool
	// MaxSteps stops an agent that takes more steps; 0 is no limit.
	MaxSteps int
	// Workspaces say where agents and commands work.
	Workspaces Workspaces
	// Verify, if set, looks at the sessions that decided the repetitions of an execution that is green, and may find fault with it.
	// It is called once an execution, from many goroutines.
	Verify func(c *plumb.Case, r plumb.RunnerInfo, sessions []*plumb.SessionReport) *plumb.Failure
	// Timeout limits the working time of a session whose case does not say; 0 means DefaultTimeout.
	Timeout time.Duration
	// MaxFailures stops the run after so many executions that are not green; 0 means never.
	MaxFailures int
	Budget      Budget
	// RetryErrors makes a resumed run try again what could not be measured.
	RetryErrors bool

	// Emit is called with each event that is durable, in the order of the log and never concurrently, with the state of
	// the run after it, which must be neither changed nor kept. An error ends the run.
	Emit func(plumb.Event, *plumb.Run) error
	// Index, if it is not nil, is filled as the log is written.
	Index *Index
	// Redact removes secrets from what is stored, emitted and kept as artifacts. Sessions are judged before. Nil
	// removes nothing.
	Redact *redact.Redactor
	// Drain, when closed, starts no more sessions and lets those in flight finish.
	Drain <-chan struct{}
	// Notes are recorded as they come, each text once.
	Notes <-chan plumb.Note
}

// Suite runs what o says until all is done, a budget is spent, Drain is closed, or ctx ends, which abandons what is in
// flight. It returns the state of the run as far as it came, also with an error; an error means that the run could not
// go on, never that a model did badly.
func Suite(ctx context.Context, o Options) (*plumb.Run, error) {
	e, err := newEngine(o)
	if err != nil {
		return nil, err
	}
	return e.state, e.run(ctx)
}

// engine is one process's work on a run.
type engine struct {
	Options
	state *plumb.Run // owned by the log's goroutine while the run is on
	log   *log
	spent *ledger
	todo  *todo

	slots   chan struct{}
	blocked []blocker // by runner
	judges  []*plumb.Judge
	places  *workspaces
	started atomic.Int64 // sessions of agents that this process has begun

	stopOnce sync.Once
	stopping chan struct{}
	stop     plumb.StopReason

	notedMu sync.Mutex
	noted   map[string]bool
}

// blocker remembers why a runner is not asked any more.
type blocker struct {
	mu      sync.Mutex
	failure *plumb.Failure
	known   bool // before the run began
}

func newEngine(o Options) (*engine, error) {
	o.Schedule = cmp.Or(o.Schedule, Parallel)
	o.Parallel = max(o.Parallel, 1)
	if o.Schedule == Serial {
		o.Parallel = 1
	}
	o.Repeat = max(o.Repeat, 1)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Emit == nil {
		o.Emit = func(plumb.Event, *plumb.Run) error { return nil }
	}
	e := &engine{
		Options: o, slots: make(chan struct{}, o.Parallel), blocked: make([]blocker, len(o.Runners)),
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

	var open map[int]pending
	var whole extent
	var err error
	if e.Index == nil {
		e.Index = &Index{}
	}
	if e.state = (&plumb.Run{}); exists(o.Dir.Join(EventsFile)) {
		if e.state, open, whole, err = recoverLog(o.Dir.Path, o.RetryErrors, e.Index); err != nil {
			return nil, err
		}
	}
	e.Index.path, e.Index.run = o.Dir.Path, e.state
	resumed := !e.state.StartedAt.IsZero() // else killed before the first event was durable
	if e.log, err = openLog(o.Dir, whole.sum, o.Redact, e.Index.add, e.apply); err != nil {
		return nil, err
	}
	if err := e.open(resumed, whole.torn); err != nil {
		return nil, errors.Join(err, e.log.close())
	}
	e.spent = newLedger(e, open)
	e.todo = newTodo(e, open)
	return e, nil
}

// open records the beginning of the run, or of this process's part of it.
func (e *engine) open(resumed, torn bool) error {
	if !resumed {
		info := e.Info
		info.Runners = nil
		for _, r := range e.Runners {
			info.Runners = append(info.Runners, r.Info())
		}
		info.Cases = len(e.Suite.Cases)
		info.SuiteCases = max(info.SuiteCases, info.Cases)
		info.Schedule, info.Parallel = string(e.Schedule), e.Parallel
		info.Repeat, info.Retry, info.MaxSteps = e.Repeat, e.Retry, e.MaxSteps
		if slices.ContainsFunc(info.Runners, func(r plumb.RunnerInfo) bool { return worksInDirectory(&r) }) && e.Workspaces.Config.Mode != "" {
			info.Workspace = &e.Workspaces.Config
		}
		info.ID, info.ArtifactDir = cmp.Or(info.ID, e.Dir.ID), e.Dir.Path
		if _, err := e.log.commit(plumb.Event{Type: plumb.EventRunStarted, At: time.Now(), Info: &info}); err != nil {
			return err
		}
		return e.plan()
	}
	if err := e.same(); err != nil {
		return err
	}
	for _, n := range e.state.Notes {
		e.noted[n.Text] = true
	}
	if _, err := e.log.commit(plumb.Event{Type: plumb.EventRunResumed, At: time.Now()}); err != nil {
		return err
	}
	if torn {
		if err := e.note(plumb.Note{
			Level: "info",
			Text:  "the last line of the run log was torn by a crash and was left out; what it held is done again",
		}); err != nil {
			return err
		}
	}
	return e.plan()
}

// plan records the cases that the log does not have yet.
func (e *engine) plan() error {
	const chunk = 1000
	done := make(<-chan struct{})
	planned := len(e.state.Cases)
	for from := planned; from < len(e.Suite.Cases); from += chunk {
		cases := e.Suite.Cases[from:min(from+chunk, len(e.Suite.Cases))]
		infos := make([]plumb.CaseInfo, len(cases))
		for i := range cases {
			c := &cases[i]
			infos[i] = plumb.CaseInfo{
				ID: c.ID, Hash: c.Hash, Category: c.Category, Difficulty: c.Difficulty, Tags: c.Tags,
				Repeat: e.repeat(c), ExpectedFail: c.ExpectedFail,
			}
		}
		var err error
		if _, done, err = e.log.append(plumb.Event{Type: plumb.EventPlanned, At: time.Now(), Cases: infos}, true); err != nil {
			return err
		}
	}
	if planned < len(e.Suite.Cases) {
		<-done
	}
	return e.log.failed()
}

// same makes sure that a resumed run has the cases and runners it began with. A log may end before all of its plan.
func (e *engine) same() error {
	was := e.state.Info
	if was.Cases != len(e.Suite.Cases) || len(was.Runners) != len(e.Runners) {
		return fmt.Errorf("resume run %s: it has %d cases on %d runners, not %d on %d",
			was.ID, was.Cases, len(was.Runners), len(e.Suite.Cases), len(e.Runners))
	}
	for i := range e.state.Cases {
		if c := &e.Suite.Cases[i]; c.ID != e.state.Cases[i].ID || c.Hash != e.state.Cases[i].Hash {
			return fmt.Errorf("resume run %s: case %d is %s now, and was %s, or has changed", was.ID, i+1, c.ID, e.state.Cases[i].ID)
		}
	}
	for i, r := range e.Runners {
		if r.Info().ID != was.Runners[i].ID || r.Info().Config != was.Runners[i].Config {
			return fmt.Errorf("resume run %s: %w", was.ID, differs(&was.Runners[i], new(r.Info())))
		}
	}
	return nil
}

// differs says how a runner is not what it was, as far as can be told.
func differs(was, is *plumb.RunnerInfo) error {
	err := fmt.Errorf("runner %s is configured differently now", was.ID)
	if was.BaseURL == is.BaseURL {
		return plumb.WithHint(err, "give it the configuration it had, or start a new run")
	}
	address := func(r *plumb.RunnerInfo) string { return cmp.Or(r.BaseURL, "the provider's own address") }
	return plumb.WithHint(fmt.Errorf("%w: it was at %s, and is at %s", err, address(was), address(is)),
		"the environment may say where it is: set the variable as it was, or start a new run")
}

func (e *engine) repeat(c *plumb.Case) int { return cmp.Or(c.Repeat, e.Repeat) }

// apply folds an event that is durable and passes it on. It is called by the log's goroutine only.
func (e *engine) apply(ev plumb.Event) error {
	if err := e.state.Apply(ev); err != nil {
		return err
	}
	return e.Emit(ev, e.state)
}

func (e *engine) note(n plumb.Note) error {
	e.notedMu.Lock()
	again := e.noted[n.Text]
	e.noted[n.Text] = true
	e.notedMu.Unlock()
	if again {
		return nil
	}
	_, err := e.log.commit(plumb.Event{Type: plumb.EventNote, At: time.Now(), Note: &n})
	return err
}

// end stops the run: no more sessions are started. The first reason counts.
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

func (e *engine) run(ctx context.Context) error {
	began := time.Now()
	workers, cancelWorkers := context.WithCancelCause(ctx)
	defer cancelWorkers(nil)

	// The watcher owns everything that ends the run from outside.
	var watch sync.WaitGroup
	finished := make(chan struct{})
	left := e.Budget.Duration - time.Duration(e.state.ActiveMs)*time.Millisecond
	if e.Budget.Duration > 0 && left <= 0 {
		e.end(plumb.StopDuration) // before a worker can begin anything
	}
	watch.Go(func() { e.watch(ctx, left, finished) })
	watch.Go(func() { e.takeNotes(finished, cancelWorkers) })

	var work sync.WaitGroup
	if err := e.canary(workers); err != nil {
		cancelWorkers(err)
		e.end(plumb.StopInterrupted)
	}
	for _, queue := range e.todo.queues() {
		for range e.workers() {
			work.Go(func() {
				for {
					u, ok := queue()
					if !ok {
						return
					}
					if err := e.perform(workers, u); err != nil {
						cancelWorkers(err)
						e.end(plumb.StopInterrupted)
						return
					}
				}
			})
		}
	}
	work.Wait()
	close(finished)
	watch.Wait()

	err := context.Cause(workers)
	if errors.Is(err, context.Canceled) || ctx.Err() != nil {
		err = nil // interrupted, which is no trouble of ours
	}
	remaining := e.todo.remaining()
	if cerr := e.places.close(remaining == 0 && e.todo.allGreen()); cerr != nil && err == nil {
		err = e.note(plumb.Note{Level: "warning", Text: "a workspace could not be deleted: " + cerr.Error()})
	}
	if remaining == 0 {
		e.stop = ""
	}
	if err == nil {
		_, err = e.log.commit(plumb.Event{Type: plumb.EventRunFinished, At: time.Now(), End: &plumb.RunEnd{
			Stop: e.stop, Remaining: remaining, DurationMs: time.Since(began).Milliseconds(),
		}})
	}
	if cerr := e.log.close(); err == nil {
		err = cerr
	}
	return err
}

// workers returns the number of workers of a queue. Where sessions may overlap there are more than slots, so that a slot
// is free again while its last session is written down and judged.
func (e *engine) workers() int {
	if e.Schedule == Parallel && e.Parallel > 1 {
		return 2*e.Parallel + 8
	}
	return 1
}

// watch ends the run when it is drained, cancelled or out of time: when left is over, if the time is limited.
func (e *engine) watch(ctx context.Context, left time.Duration, finished <-chan struct{}) {
	var over <-chan time.Time
	if e.Budget.Duration > 0 {
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
