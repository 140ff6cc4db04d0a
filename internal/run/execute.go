package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/judging"
	"github.com/plumb-eval/plumb/internal/text"
)

// task is the work of one worker at a time: one repetition of one execution, with its retries. A
// repetition of 0 means that all repetitions are done and only the execution has to be finished.
type task struct {
	*execution
	repetition int
	sessions   []session
}

// execution collects the repetitions of one execution.
type execution struct {
	index  int
	c      *plumb.Case
	runner int
	info   plumb.RunnerInfo

	mu          sync.Mutex
	missing     int
	repetitions [][]session // by repetition - 1
}

// queue returns the remaining work, in suite order. It plans lazily, so that a million cases need
// no list of tasks.
type queue struct {
	e *engine

	due []bool // by execution; false once its tasks are planned

	mu       sync.Mutex
	unplayed int // executions that were unfinished when this process began
	finished int // executions that this process finished
	bad      int // executions of this process that leave the suite red
	red      int // executions of earlier processes that leave the suite red
}

func newQueue(e *engine) *queue {
	q := &queue{e: e, due: make([]bool, len(e.state.Executions))}
	for i := range e.state.Executions {
		x := &e.state.Executions[i]
		if x.State != plumb.ExecutionDone || e.RetryErrors && x.Outcome == plumb.OutcomeError {
			q.due[i] = true
			q.unplayed++
		} else if !x.Status.OK() {
			q.red++
		}
	}
	return q
}

// canary returns the tasks of the first case's executions on agents, and removes them from the
// queue.
func (q *queue) canary() (tasks []task, err error) {
	n := len(q.e.Runners)
	first := slices.Index(q.due, true)
	if first < 0 {
		return nil, nil
	}
	for i := first / n * n; i < (first/n+1)*n; i++ {
		if q.due[i] && q.e.Runners[i%n].Info().Kind == plumb.RunnerAgent {
			q.due[i] = false
			more, err := q.plan(i)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, more...)
		}
	}
	return tasks, nil
}

// allGreen reports whether no execution, of this process or an earlier one, leaves the suite red.
func (q *queue) allGreen() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bad+q.red == 0
}

func (q *queue) remaining() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.unplayed - q.finished
}

// source returns the next task, or nil if there is none or the run is stopping.
type source func() (*task, error)

// sources returns the sources of work. Each source has its own workers.
func (q *queue) sources() []source {
	runners := len(q.e.Runners)
	if q.e.Schedule != IsolatedByRunner {
		return []source{q.source(0, 1)}
	}
	var queues []source
	for r := range runners {
		queues = append(queues, q.source(r, runners))
	}
	return queues
}

// source returns a source of the executions first, first+step, and so on.
func (q *queue) source(first, step int) source {
	var mu sync.Mutex
	next, ready := first, []task(nil)
	return func() (_ *task, err error) {
		mu.Lock()
		defer mu.Unlock()
		for len(ready) == 0 {
			if next >= len(q.due) || q.e.stopped() {
				return nil, nil
			}
			if q.due[next] {
				if ready, err = q.plan(next); err != nil {
					return nil, err
				}
			}
			next += step
		}
		if q.e.stopped() {
			return nil, nil
		}
		t := &ready[0]
		ready = ready[1:]
		return t, nil
	}
}

// plan returns the remaining tasks of the execution at index i. It reads the sessions of earlier
// processes from the log.
func (q *queue) plan(i int) ([]task, error) {
	e := q.e
	n := len(e.Runners)
	done, err := e.earlier(i)
	if err != nil {
		return nil, err
	}
	x := &execution{
		index: i, c: &e.Suite.Cases[i/n], runner: i % n, info: e.Runners[i%n].Info(),
		repetitions: make([][]session, max(1, cmp.Or(e.state.Cases[i/n].Repeat, e.state.Info.Repeat))),
	}
	if done, err = e.takeOver(x, done); err != nil {
		return nil, err
	}
	var tasks []task
	for r := range x.repetitions {
		sessions := done[r+1]
		if e.settled(sessions) {
			x.repetitions[r] = sessions
			if e.endsWith(x, sessions) {
				break
			}
			continue
		}
		tasks = append(tasks, task{x, r + 1, sessions})
		if e.sequential(x) {
			break // the result of this one decides whether the next one runs
		}
	}
	x.missing = len(tasks)
	if len(tasks) == 0 {
		tasks = []task{{x, 0, nil}}
	}
	return tasks, nil
}

// takeOver records the sessions of an earlier run for the repetitions of x that have none. It
// returns all sessions of x.
func (e *engine) takeOver(x *execution, done pending) (pending, error) {
	if e.Take == nil {
		return done, nil
	}
	events, err := e.Take(x.c, x.runner)
	if err != nil {
		return nil, err
	}
	taken := pending{}
	for _, ev := range events {
		if ev.Repetition < 1 || ev.Repetition > len(x.repetitions) || len(done[ev.Repetition]) > 0 {
			continue
		}
		own := e.event(ev.Type, task{execution: x, repetition: ev.Repetition}, ev.Session)
		own.Report, own.Failure, own.Judgement = ev.Report, ev.Failure, ev.Judgement
		stored, _, err := e.log.Append(own, ev.Type == plumb.EventSessionJudged)
		if err != nil {
			return nil, err
		}
		taken.add(stored)
	}
	if done == nil {
		return taken, nil
	}
	maps.Copy(done, taken)
	return done, nil
}

// sequential reports whether the repetitions of an execution run one after the other and end with
// the first that is not green. Those of agents do, because agent sessions are expensive.
func (e *engine) sequential(x *execution) bool {
	return !e.AllRepetitions && x.info.Kind == plumb.RunnerAgent
}

// endsWith reports whether the repetition with these sessions is the last of its execution, even if
// more were planned.
func (e *engine) endsWith(x *execution, sessions []session) bool {
	j := sessions[len(sessions)-1].judgement
	return e.sequential(x) && !j.Status.OK()
}

// settled reports whether a repetition needs no further session. sessions are those of earlier
// processes.
func (e *engine) settled(sessions []session) bool {
	if len(sessions) == 0 {
		return false
	}
	last := sessions[len(sessions)-1]
	if last.judgement == nil {
		return false
	}
	if e.RetryErrors && last.judgement.Outcome == plumb.OutcomeError {
		return false
	}
	return !worthRetrying(last.judgement) || len(sessions) > e.Retry
}

// errInterrupted means that the run ends before some work is done. A later process does it.
var errInterrupted = errors.New("the run was interrupted")

// perform does one task, and the repetitions that follow it if they depend on its result. An error
// other than errInterrupted means that the run cannot continue.
func (e *engine) perform(ctx context.Context, t task) error {
	for t.repetition > 0 {
		if err := e.repeat(ctx, &t); err != nil {
			return err
		}
		if e.samples != nil {
			return e.samples.done(&t)
		}
		if !t.keep() {
			return nil
		}
		if !e.sequential(t.execution) || t.repetition == len(t.repetitions) || e.endsWith(t.execution, t.sessions) {
			break
		}
		t = task{t.execution, t.repetition + 1, nil}
		t.missing++
		if e.stopped() {
			return errInterrupted
		}
	}
	return e.finish(t.execution)
}

// keep stores the sessions of a repetition in its execution. It reports whether no other planned
// one is missing.
func (t *task) keep() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.repetitions[t.repetition-1] = t.sessions
	t.missing--
	return t.missing == 0
}

// repeat performs and judges the sessions of one repetition, until one needs no retry.
func (e *engine) repeat(ctx context.Context, t *task) error {
	budget := max(e.Retry+1, 1)
	if e.RetryErrors && len(t.sessions) > 0 {
		budget = max(budget, len(t.sessions)+1+e.Retry)
	}
	for again := true; again; {
		held, err := e.nextSession(ctx, t)
		if err != nil {
			return err
		}
		s := &t.sessions[len(t.sessions)-1]
		err = e.judge(ctx, *t, s)
		held.judged(s)
		if err != nil {
			return err
		}
		again = worthRetrying(s.judgement) && len(t.sessions) < budget && e.blocked[t.runner].reason() == nil
	}
	return nil
}

// nextSession adds a session to a repetition, unless an earlier process left one that is not
// judged. It returns the reservation for judging it.
func (e *engine) nextSession(ctx context.Context, t *task) (*reservation, error) {
	n := len(t.sessions)
	if n == 0 || t.sessions[n-1].judgement != nil {
		s, held, err := e.runSession(ctx, *t, n+1)
		if err == nil {
			t.sessions = append(t.sessions, *s)
		}
		return held, err
	}
	held, reason := e.spent.admit(t.c, t.runner, true, e.stopping)
	if reason != "" {
		e.end(reason)
		return nil, errInterrupted
	}
	t.sessions[n-1].workspace = e.places.reopen(*t, &t.sessions[n-1])
	return held, nil
}

// runSession performs one session and records it. It returns the reservation for judging it.
func (e *engine) runSession(ctx context.Context, t task, number int) (*session, *reservation, error) {
	if !e.slot(ctx) {
		return nil, nil, errInterrupted
	}
	held, reason := e.spent.admit(t.c, t.runner, false, e.stopping)
	if reason != "" {
		<-e.slots
		e.end(reason)
		return nil, nil, errInterrupted
	}
	s, err := e.obtain(ctx, t, number)
	<-e.slots // the rest needs no slot
	if err != nil {
		held.release()
		return nil, nil, err
	}
	ev := e.event(plumb.EventSessionFinished, t, number)
	ev.Report, ev.Failure = s.report, s.failure
	ev, err = e.log.Commit(ev)
	s.stored = ev.Report
	held.answered(s)
	return s, held, err
}

// obtain calls the runner, unless it is known that the runner fails.
func (e *engine) obtain(ctx context.Context, t task, number int) (*session, error) {
	if !e.AtOnce && e.Runners[t.runner].Info().Kind == plumb.RunnerModel {
		done := e.blocked[t.runner].probe(ctx, e.stopping)
		defer done()
	}
	if f := e.blocked[t.runner].reason(); f != nil {
		return &session{number: number, failure: f}, nil
	}
	req := plumb.Request{
		CaseID: t.c.ID, Messages: t.c.Messages, MaxOutputTokens: t.c.MaxOutputTokens,
		Repetition: t.repetition, Session: number, MaxSteps: cmp.Or(t.c.MaxSteps, e.MaxSteps), Skills: e.Suite.Skills,
	}
	ws, failure, err := e.prepareDirs(ctx, t, &req)
	switch {
	case err != nil:
		return nil, err
	case failure != nil && ctx.Err() != nil:
		return nil, errInterrupted
	case failure != nil:
		return &session{number: number, failure: failure, workspace: ws}, nil
	}
	started := e.event(plumb.EventSessionStarted, t, number)
	if started.Marker = req.Marker; started.Marker == "" {
		err = e.log.EmitOnly(started)
	} else {
		_, err = e.log.Wait(started, false) // a later plumb finds its processes with the marker
	}
	if err != nil {
		return nil, err
	}
	s, err := e.ask(ctx, t, req)
	if err != nil {
		return nil, err
	}
	s.workspace = ws
	ws.recordChanges(s.report)
	e.blocked[t.runner].record(s.failure)
	return s, nil
}

func (e *engine) event(kind plumb.EventType, t task, number int) plumb.Event {
	return plumb.Event{
		Type: kind, At: time.Now(), Case: t.c.ID, Runner: e.state.Info.Runners[t.runner].ID,
		Repetition: t.repetition, Session: number,
	}
}

// slot waits for a free session slot. It returns false when the run is stopping.
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

// ask calls the runner and completes its result.
func (e *engine) ask(ctx context.Context, t task, req plumb.Request) (*session, error) {
	limit := cmp.Or(t.c.Timeout, e.TimeoutMs.Duration())
	began := time.Now()
	limited, cancel := plumb.WithTimeLimit(ctx, limit)
	report, err := call(limited, e.Runners[t.runner], req)
	late := errors.Is(context.Cause(limited), plumb.ErrTimeLimit)
	cancel()
	if err != nil && !late && (ctx.Err() != nil || errors.Is(err, plumb.ErrStopping)) {
		return nil, errInterrupted // a partial answer is not a result
	}
	s := &session{number: req.Session, report: report}
	switch {
	case err == nil:
	case late:
		s.failure = plumb.Failuref(plumb.OriginTimeout, "no complete answer within %s", text.Duration(limit))
		if f, ok := errors.AsType[*plumb.Failure](err); ok {
			s.failure.LogPath = f.LogPath
		}
		s.failure.Hint = timeoutHint(e.Runners[t.runner].Info().Kind, report)
		if report != nil && len(report.Notes) > 0 { // for example: it waits for the network
			s.failure.Hint += "; the session's last note was: " + report.Notes[len(report.Notes)-1]
		}
	default:
		f := *plumb.Failed(plumb.OriginRunner, err)
		s.failure = &f
	}
	if report != nil {
		fillDefaults(report, req, began, time.Now())
	}
	return s, nil
}

// timeoutHint says what to do about a session that reached its time limit.
func timeoutHint(kind plumb.RunnerKind, report *plumb.SessionReport) string {
	const raise = "raise the limit with --timeout, or in the case (timeout_ms, timeoutMs)"
	if kind == plumb.RunnerAgent && !report.Began() {
		return "no answer of a model reached the agent: check the network, the proxy and the address of its provider; " +
			"if they work, " + raise
	}
	return raise
}

// fillDefaults sets the fields that the runner left empty.
func fillDefaults(r *plumb.SessionReport, req plumb.Request, began, ended time.Time) {
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
	r.DurationMs = max(r.DurationMs, r.LatencyMs)        // they are rounded in different ways
	if r.CostUSD != nil && validCost(r.CostUSD) == nil { // JSON cannot hold NaN and infinity
		r.Notes = append(r.Notes, fmt.Sprintf("the reported cost of %g is invalid and was left out", *r.CostUSD))
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

// judgingTimes is the factor from a session's time limit to the limit for judging it. Checks in
// code have limits of their own, and a check that another one disturbed is repeated.
const judgingTimes = 4

// judge judges a session and records the result. When the run is interrupted meanwhile, the session
// stays in the log unjudged.
func (e *engine) judge(ctx context.Context, t task, s *session) error {
	limited, cancel := plumb.WithTimeLimit(ctx, judgingTimes*max(e.TimeoutMs.Duration(), t.c.Timeout))
	evidence := plumb.Evidence{
		Case: t.c, Report: s.report, Judge: e.judges[t.runner], Embedder: e.Embedder,
	}
	if e.Redact.Hides() {
		evidence.Secrets, evidence.Redact = e.Redact.Names, e.Redact.String
	}
	if s.report != nil {
		evidence.Workspace = s.report.Workspace
	}
	j := judging.Session(limited, evidence, s.failure)
	e.classify(limited, t, evidence, s, j)
	cancel()
	var asked, broken, unanswered bool
	for i := range j.Verdicts {
		f := j.Verdicts[i].Error
		asked = asked || j.Verdicts[i].Asked != nil
		broken = broken || f != nil
		unanswered = unanswered || f != nil && f.Origin == plumb.OriginJudge
	}
	if broken && ctx.Err() != nil || unanswered && e.draining() {
		return errInterrupted
	}
	ev := e.event(plumb.EventSessionJudged, t, s.number)
	ev.Judgement = j
	s.judgement = j
	if _, _, err := e.log.Append(ev, asked); err != nil {
		return err
	}
	return e.writeArtifacts(t, s)
}

// call calls r and turns a panic into an error.
func call(ctx context.Context, r plumb.Runner, req plumb.Request) (report *plumb.SessionReport, err error) {
	defer func() {
		if p := recover(); p != nil {
			report, err = nil, plumb.Failuref(plumb.OriginRunner, "the runner crashed: %v\n%s", p, debug.Stack())
		}
	}()
	report, err = r.Run(ctx, req)
	if report == nil && err == nil {
		err = errors.New("the runner returned neither a report nor an error")
	}
	return report, err
}

// worthRetrying reports whether a repetition that ended with j may be retried. A pass and an
// expected failure are not retried, nor is a failure that would repeat.
func worthRetrying(j *plumb.Judgement) bool {
	return j.Status == plumb.StatusFailed && (j.Failure == nil || !isPermanent(j.Failure))
}

// isPermanent reports whether every later session of the same runner would fail for the same
// reason, whatever earlier sessions of it did.
func isPermanent(f *plumb.Failure) bool {
	return f.Origin == plumb.OriginModelRejected ||
		f.Origin == plumb.OriginRunner && (f.HTTPStatus == 401 || f.HTTPStatus == 402)
}

// finish records the result of an execution.
func (e *engine) finish(x *execution) error {
	res := summarize(x.c, x.repetitions)
	e.verify(x, res)
	ev := e.event(plumb.EventExecutionFinished, task{execution: x}, 0)
	ev.Result = res
	_, _, err := e.log.Append(ev, true)
	e.queue.mu.Lock()
	defer e.queue.mu.Unlock()
	e.queue.finished++
	if !res.Status.OK() {
		e.queue.bad++
	}
	if e.MaxFailures > 0 && e.queue.bad >= e.MaxFailures {
		e.end(plumb.StopFailFast)
	}
	return err
}

// summarize combines the repetitions of one execution. One failed repetition makes the execution
// fail; otherwise one that could not be measured makes it an error.
func summarize(c *plumb.Case, repetitions [][]session) *plumb.ExecutionResult {
	res := &plumb.ExecutionResult{Outcome: plumb.OutcomePass}
	var score float64
	var duration, latency, timed int64
	var why *plumb.Failure
	priced := true
	for number, sessions := range repetitions {
		if len(sessions) == 0 {
			break // not performed, because an earlier repetition ended the execution
		}
		for i := range sessions {
			u := used(&sessions[i])
			res.Usage.Add(u.usage)
			res.JudgeUsage.Add(u.judgeUsage)
			res.CostUSD, res.JudgeCostUSD = addCosts(res.CostUSD, u.cost), addCosts(res.JudgeCostUSD, u.judgeCost)
			if r := sessions[i].report; r != nil {
				priced = priced && u.cost != nil
				res.Steps += r.Steps
				if r.Cached {
					res.Cached++
				}
			}
			res.Sessions++
		}
		last := sessions[len(sessions)-1]
		j := last.judgement
		res.Judged = appendJudged(res.Judged, &last, number+1)
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
			if res.Outcome == plumb.OutcomePass ||
				res.Outcome == plumb.OutcomeError && judging.MoreUrgent(j.Failure, why) {
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
		res.Origin, res.Class, res.Reason, res.NotAsked = why.Origin, &class, why.Message, why.NotAsked
	}
	res.Status = plumb.StatusOf(res.Outcome, res.Origin, c.ExpectedFail)
	if res.Status == plumb.StatusUnexpectedPassed {
		class := plumb.ClassUnexpectedPass()
		res.Class, res.Reason = &class, "the case is expected to fail, but passed"
	}
	return res
}

// appendJudged appends the decisions of the judge about a session. A check that combines the
// answers to several questions has no decision.
func appendJudged(all []plumb.Judged, s *session, repetition int) []plumb.Judged {
	report := s.stored
	if report == nil {
		report = s.report
	}
	if report == nil {
		return all
	}
	for i := range s.judgement.Verdicts {
		v := &s.judgement.Verdicts[i]
		if a := v.Asked; a != nil && v.Error == nil && a.Votes > 0 && !strings.Contains(a.PromptHash, ",") {
			all = append(all, plumb.Judged{
				Repetition: repetition, Question: a.PromptHash, Model: a.Model,
				Votes: a.Votes, Yes: a.Yes, No: a.No, Output: plumb.OutputHash(report.FinalOutput),
			})
		}
	}
	return all
}
