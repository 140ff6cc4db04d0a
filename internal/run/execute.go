package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
)

// unit is what one worker does at a time: one repetition of one execution, retries included. A repetition of 0 means
// that all repetitions are done, and only the execution has to be closed.
type unit struct {
	*gather
	repetition int
	attempts   []attempt
}

// gather collects the repetitions of one execution.
type gather struct {
	index  int
	c      *plumb.Case
	runner int
	info   plumb.RunnerInfo

	mu          sync.Mutex
	missing     int
	repetitions [][]attempt // by repetition - 1
}

// todo hands out what is left to do, in suite order. It plans lazily, so that a million cases cost no list of units.
type todo struct {
	e    *engine
	open map[int]pending

	due []bool // by execution; what is planned is due no more

	mu       sync.Mutex
	unplayed int // executions that were not finished when this process began
	finished int // those that are now
	bad      int // those that leave the suite red
	red      int // those of earlier processes that do
}

func newTodo(e *engine, open map[int]pending) *todo {
	t := &todo{e: e, open: open, due: make([]bool, len(e.state.Executions))}
	for i := range e.state.Executions {
		x := &e.state.Executions[i]
		if x.State != plumb.ExecutionDone || e.RetryErrors && x.Outcome == plumb.OutcomeError {
			t.due[i] = true
			t.unplayed++
		} else if !x.Status.OK() {
			t.red++
		}
	}
	return t
}

// canary returns the units of the first case's executions on agents, and takes them from the queues.
func (t *todo) canary() []unit {
	n := len(t.e.Runners)
	first := slices.Index(t.due, true)
	if first < 0 {
		return nil
	}
	var units []unit
	for i := first / n * n; i < (first/n+1)*n; i++ {
		if t.due[i] && t.e.Runners[i%n].Info().Kind == plumb.RunnerAgent {
			t.due[i] = false
			units = append(units, t.plan(i)...)
		}
	}
	return units
}

// allGreen reports whether nothing has left the suite red, in this process or before.
func (t *todo) allGreen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bad+t.red == 0
}

func (t *todo) remaining() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unplayed - t.finished
}

// queues returns the sources of work, each served by workers of its own.
func (t *todo) queues() []func() (unit, bool) {
	runners := len(t.e.Runners)
	if t.e.Schedule != IsolatedByRunner {
		return []func() (unit, bool){t.queue(0, 1)}
	}
	var queues []func() (unit, bool)
	for r := range runners {
		queues = append(queues, t.queue(r, runners))
	}
	return queues
}

// queue returns a source of the executions first, first+step, and so on.
func (t *todo) queue(first, step int) func() (unit, bool) {
	var mu sync.Mutex
	next, ready := first, []unit(nil)
	return func() (unit, bool) {
		mu.Lock()
		defer mu.Unlock()
		for len(ready) == 0 {
			if next >= len(t.due) {
				return unit{}, false
			}
			if t.due[next] {
				ready = t.plan(next)
			}
			next += step
		}
		if t.e.stopped() {
			return unit{}, false
		}
		u := ready[0]
		ready = ready[1:]
		return u, true
	}
}

// plan returns the units of the execution at index i that are left to do.
func (t *todo) plan(i int) []unit {
	e := t.e
	n := len(e.Runners)
	c := &e.Suite.Cases[i/n]
	t.mu.Lock()
	done := t.open[i]
	delete(t.open, i)
	t.mu.Unlock()
	g := &gather{index: i, c: c, runner: i % n, info: e.Runners[i%n].Info(), repetitions: make([][]attempt, e.repeat(c))}
	var units []unit
	for r := range g.repetitions {
		attempts := done[r+1]
		if e.settled(attempts) {
			g.repetitions[r] = attempts
			if e.lastOf(g, attempts) {
				break
			}
			continue
		}
		units = append(units, unit{g, r + 1, attempts})
		if e.sequential(g) {
			break // the next one depends on how this one ends
		}
	}
	g.missing = len(units)
	if len(units) == 0 {
		units = []unit{{g, 0, nil}}
	}
	return units
}

// sequential reports whether the repetitions of an execution follow each other, and end with the first that is not green: those
// of agents do, since a session of theirs is dear.
func (e *engine) sequential(g *gather) bool {
	return !e.AllRepetitions && g.info.Kind == plumb.RunnerAgent
}

// lastOf reports whether no repetition follows one that ended with attempts, whatever was planned.
func (e *engine) lastOf(g *gather, attempts []attempt) bool {
	j := attempts[len(attempts)-1].judgement
	return e.sequential(g) && !j.Status.OK()
}

// settled reports whether a repetition needs no further session: as an earlier process left it.
func (e *engine) settled(attempts []attempt) bool {
	if len(attempts) == 0 {
		return false
	}
	last := attempts[len(attempts)-1]
	if last.judgement == nil {
		return false
	}
	if e.RetryErrors && last.judgement.Outcome == plumb.OutcomeError {
		return false
	}
	return !worthRetrying(last.judgement) || len(attempts) > e.Retry
}

// perform does one unit. An error means that the run cannot go on; an interrupted unit is simply left as it is.
func (e *engine) perform(ctx context.Context, u unit) error {
	if u.repetition == 0 {
		return e.finish(u.gather)
	}
	budget := max(e.Retry+1, 1)
	if e.RetryErrors && len(u.attempts) > 0 {
		budget = max(budget, len(u.attempts)+1+e.Retry)
	}
	for {
		n := len(u.attempts)
		if n == 0 || u.attempts[n-1].judgement != nil {
			a, held, err := e.session(ctx, u, n+1)
			if a == nil || err != nil {
				return err
			}
			u.attempts = append(u.attempts, *a)
			n++
			err = e.judge(ctx, u, &u.attempts[n-1])
			held.judged(&u.attempts[n-1])
			if err != nil {
				return err
			}
		} else {
			a := &u.attempts[n-1]
			held, reason := e.spent.admit(u.c, u.runner, true, e.stopping)
			if reason != "" {
				e.end(reason)
				return nil
			}
			a.workspace = e.places.again(u, a)
			err := e.judge(ctx, u, a)
			held.judged(a)
			if err != nil {
				return err
			}
		}
		last := u.attempts[n-1].judgement
		if last == nil {
			return nil // interrupted; the session is in the log and will be judged by whoever resumes
		}
		if !worthRetrying(last) || n >= budget || e.blocked[u.runner].why() != nil {
			break
		}
	}
	u.mu.Lock()
	u.repetitions[u.repetition-1] = u.attempts
	u.missing--
	complete := u.missing == 0
	u.mu.Unlock()
	switch {
	case !complete:
		return nil
	case e.sequential(u.gather) && u.repetition < len(u.repetitions) && !e.lastOf(u.gather, u.attempts):
		u.missing++
		if e.stopped() {
			return nil // whoever resumes goes on with the next repetition
		}
		return e.perform(ctx, unit{u.gather, u.repetition + 1, nil})
	default:
		return e.finish(u.gather)
	}
}

// session has one session made and records it, with what is reserved for its judging. A nil attempt without error means that
// none was: the run is stopping.
func (e *engine) session(ctx context.Context, u unit, number int) (*attempt, *reservation, error) {
	if !e.slot(ctx) {
		return nil, nil, nil
	}
	held, reason := e.spent.admit(u.c, u.runner, false, e.stopping)
	if reason != "" {
		<-e.slots
		e.end(reason)
		return nil, nil, nil
	}
	a, err := e.obtain(ctx, u, number)
	<-e.slots // what follows needs no place among the sessions in flight
	if err != nil || a == nil {
		held.release()
		return nil, nil, err
	}
	ev := e.event(plumb.EventSessionFinished, u, number)
	ev.Report, ev.Failure = a.report, a.failure
	ev, err = e.log.commit(ev)
	a.stored = ev.Report
	held.answered(a)
	return a, held, err
}

// obtain asks the runner, unless it is known that there is no point in asking. A nil attempt means that the run was
// interrupted before anything was obtained.
func (e *engine) obtain(ctx context.Context, u unit, number int) (*attempt, error) {
	if f := e.blocked[u.runner].why(); f != nil {
		return &attempt{session: number, failure: f}, nil //nolint:nilerr // the failure is the session's, not this engine's
	}
	req := plumb.Request{
		CaseID: u.c.ID, Messages: u.c.Messages, MaxOutputTokens: u.c.MaxOutputTokens,
		Repetition: u.repetition, Session: number, MaxSteps: cmp.Or(u.c.MaxSteps, e.MaxSteps), Skills: e.Suite.Skills,
	}
	ws, failure, err := e.place(ctx, u, &req)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		if ctx.Err() != nil {
			return nil, nil //nolint:nilerr // interrupted: whoever resumes makes the session
		}
		return &attempt{session: number, failure: failure, workspace: ws}, nil
	}
	started := e.event(plumb.EventSessionStarted, u, number)
	if started.Marker = req.Marker; started.Marker == "" {
		err = e.log.announce(started)
	} else {
		err = e.log.hand(started) // its processes, which do not survive the machine, can be found whatever happens to this one
	}
	if err != nil {
		return nil, err
	}
	a := e.ask(ctx, u, req)
	if a != nil {
		a.workspace = ws
		ws.changed(a.report)
		e.blocked[u.runner].learn(a.failure)
	}
	return a, nil
}

func (e *engine) event(t plumb.EventType, u unit, session int) plumb.Event {
	return plumb.Event{
		Type: t, At: time.Now(), Case: u.c.ID, Runner: e.state.Info.Runners[u.runner].ID,
		Repetition: u.repetition, Session: session,
	}
}

// slot waits for a place among the sessions in flight. It returns false when the run is stopping.
func (e *engine) slot(ctx context.Context) bool {
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	case <-e.stopping:
		return false
	}
	if e.stopped() || ctx.Err() != nil {
		<-e.slots
		return false
	}
	return true
}

// ask calls the runner and completes what it returns. It returns nil when the run was interrupted before anything was
// obtained.
func (e *engine) ask(ctx context.Context, u unit, req plumb.Request) *attempt {
	limit := cmp.Or(u.c.Timeout, e.Timeout)
	began := time.Now()
	limited, cancel := plumb.WithTimeLimit(ctx, limit)
	report, err := ask(limited, e.Runners[u.runner], req)
	late := errors.Is(context.Cause(limited), plumb.ErrTimeLimit)
	cancel()
	if err != nil && ctx.Err() != nil && !late {
		return nil // half an answer that the user cut off says nothing; whoever resumes asks again
	}
	a := &attempt{session: req.Session, report: report}
	switch {
	case err == nil:
	case late:
		a.failure = plumb.Failuref(plumb.OriginTimeout, "no complete answer within %v", limit)
		if f, ok := errors.AsType[*plumb.Failure](err); ok {
			a.failure.LogPath = f.LogPath
		}
		a.failure.Hint = "raise the limit with --timeout, or in the case (timeout_ms, timeoutMs)"
		if report != nil && len(report.Notes) > 0 { // such as that it waits for the network
			a.failure.Hint += "; the session's last note was: " + report.Notes[len(report.Notes)-1]
		}
	default:
		f := *plumb.Failed(plumb.OriginRunner, err)
		a.failure = &f
	}
	if report != nil {
		complete(report, req, began, time.Now())
	}
	return a
}

// complete fills what the runner left open.
func complete(r *plumb.SessionReport, req plumb.Request, began, ended time.Time) {
	began, ended = began.UTC().Truncate(time.Millisecond), ended.UTC().Truncate(time.Millisecond)
	if r.Prompt == "" {
		r.Prompt = plumb.PromptText(req.Messages)
	}
	if r.StartedAt == nil {
		r.StartedAt = &began
	}
	if r.EndedAt == nil {
		r.EndedAt = &ended
	}
	if r.DurationMs == 0 {
		r.DurationMs = r.EndedAt.Sub(*r.StartedAt).Milliseconds()
	}
	if r.CostUSD != nil && believed(r.CostUSD) == nil { // a log cannot hold some of them
		r.Notes = append(r.Notes, fmt.Sprintf("a cost of %g was reported, and left out", *r.CostUSD))
		r.CostUSD = nil
	}
	if r.Events == nil {
		r.Events = []plumb.SessionEvent{}
	}
	if r.DetectedSkills == nil {
		r.DetectedSkills = []plumb.SkillDetection{}
	}
	if r.Files.ObservedReads == nil {
		r.Files.ObservedReads = []string{}
	}
	if r.Files.ObservedSkillReads == nil {
		r.Files.ObservedSkillReads = []string{}
	}
}

// judgingTimes is how many times the limit of a session its judging may take: checks in code have limits of their own, and one
// that was disturbed by another is made again.
const judgingTimes = 4

// judge has a session judged and records what came of it. When the run is interrupted meanwhile, the attempt stays
// unjudged.
func (e *engine) judge(ctx context.Context, u unit, a *attempt) error {
	limited, cancel := plumb.WithTimeLimit(ctx, judgingTimes*max(e.Timeout, u.c.Timeout))
	evidence := plumb.Evidence{
		Case: u.c, Report: a.report, Judge: e.judges[u.runner], Embedder: e.Embedder,
	}
	if e.Redact.Hides() {
		evidence.Secrets, evidence.Redact = e.Redact.Names, e.Redact.String
	}
	if a.report != nil {
		evidence.Workspace = a.report.Workspace
	}
	j := judge(limited, evidence, a.failure)
	e.classify(limited, u, evidence, a, j)
	cancel()
	var asked, broken bool
	for i := range j.Verdicts {
		asked = asked || j.Verdicts[i].Asked != nil
		broken = broken || j.Verdicts[i].Error != nil
	}
	if broken && ctx.Err() != nil {
		return nil //nolint:nilerr // an interrupted session is left unjudged
	}
	ev := e.event(plumb.EventSessionJudged, u, a.session)
	ev.Judgement = j
	a.judgement = j
	if _, _, err := e.log.append(ev, asked); err != nil {
		return err
	}
	return e.keep(u, a)
}

// finish closes an execution.
func (e *engine) finish(g *gather) error {
	res := summarise(g.c, g.repetitions)
	e.verify(g, res)
	ev := e.event(plumb.EventExecutionFinished, unit{gather: g}, 0)
	ev.Result = res
	_, _, err := e.log.append(ev, true)
	e.todo.mu.Lock()
	defer e.todo.mu.Unlock()
	e.todo.finished++
	if !res.Status.OK() {
		e.todo.bad++
	}
	if e.MaxFailures > 0 && e.todo.bad >= e.MaxFailures {
		e.end(plumb.StopFailFast)
	}
	return err
}

// summarise sums up the repetitions of one execution. One that failed makes the execution fail; otherwise one that could
// not be measured makes it an error.
func summarise(c *plumb.Case, repetitions [][]attempt) *plumb.ExecutionResult {
	res := &plumb.ExecutionResult{Outcome: plumb.OutcomePass}
	var score float64
	var duration, latency, timed int64
	var why *plumb.Failure
	priced := true
	for _, attempts := range repetitions {
		if len(attempts) == 0 {
			break // not made, since one before it ended the execution
		}
		for i := range attempts {
			u := used(&attempts[i])
			res.Usage.Add(u.usage)
			res.JudgeUsage.Add(u.judgeUsage)
			res.CostUSD, res.JudgeCostUSD = plus(res.CostUSD, u.cost), plus(res.JudgeCostUSD, u.judgeCost)
			if r := attempts[i].report; r != nil {
				priced = priced && u.cost != nil
				res.Steps += r.Steps
				if r.Cached {
					res.Cached++
				}
			}
			res.Sessions++
		}
		last := attempts[len(attempts)-1]
		j := last.judgement
		switch j.Outcome {
		case plumb.OutcomePass:
			res.Passed++
		case plumb.OutcomeFail:
			res.Failed++
			if res.Outcome != plumb.OutcomeFail {
				res.Outcome, why = plumb.OutcomeFail, j.Failure
			}
		default:
			res.Errored++
			if res.Outcome == plumb.OutcomePass {
				res.Outcome, why = plumb.OutcomeError, j.Failure
			}
		}
		if j.Outcome.Measured() {
			score += j.Score
		}
		if last.report != nil {
			duration += last.report.DurationMs
			latency += last.report.LatencyMs
			timed++
		}
	}
	if measured := res.Passed + res.Failed; measured > 0 {
		res.Score = score / float64(measured)
	}
	if timed > 0 {
		res.DurationMs, res.LatencyMs = duration/timed, latency/timed
	}
	if !priced {
		res.CostUSD = nil
	}
	if why != nil {
		class := why.Class
		res.Origin, res.Class, res.Reason = why.Origin, &class, why.Message
	}
	res.Status = plumb.StatusOf(res.Outcome, res.Origin, c.ExpectedFail)
	if res.Status == plumb.StatusUnexpectedPassed {
		class := plumb.ClassUnexpectedPass()
		res.Class, res.Reason = &class, "the case is expected to fail, and passed"
	}
	return res
}

// why returns the failure that blocks the runner, as a session that was never asked for reports it.
func (b *blocker) why() *plumb.Failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure == nil {
		return nil
	}
	f := *b.failure
	f.Attempts = 0
	if !b.known {
		f.Message = fmt.Sprintf("not asked, because an earlier session ended with: %s", f.Message)
	}
	return &f
}

// learn remembers a failure that every later session of the runner would meet again.
func (b *blocker) learn(f *plumb.Failure) {
	if f == nil || !hopeless(f) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure == nil {
		b.failure = f
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
