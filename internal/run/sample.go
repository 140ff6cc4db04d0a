package run

import (
	"maps"
	"slices"
	"sync"

	"github.com/plumb-eval/plumb"
)

// Sampler chooses the case of each repetition of a run with one runner that ends when a question is
// decided. It is a fold over the results: a new Sampler that receives the same results makes the
// same choices, whatever the order in which the results arrive. So a resumed run continues as if
// nothing had happened. An engine never calls it concurrently.
type Sampler interface {
	// Next returns the index of the case of the next repetition. ok is false if results are needed
	// first, or if no more repetitions are allowed.
	Next() (index int, ok bool)
	// Reveal takes the outcome of a repetition of a case, counted from 0.
	Reveal(index, repetition int, o plumb.Outcome)
	// Ended reports whether Next will choose no more repetitions.
	Ended() bool
	// Decision returns the state of the question. ended means that the run ends with it.
	Decision(ended bool) *plumb.Decision
}

// samples is the queue of a run with a Sampler. Each execution is recorded after each of its
// repetitions, so that the state of the run is complete at any time.
type samples struct {
	e *engine

	mu         sync.Mutex
	executions []*execution // by case; nil before its first repetition
	known      []pending    // by case: the sessions of earlier processes
	ready      []*task      // drawn by an earlier process, and not done
	flying     int          // tasks of the workers
	changed    chan struct{}
}

// newSamples repeats the draws of the earlier processes, with the results of the log.
func newSamples(e *engine) (*samples, error) {
	n := len(e.state.Cases)
	q := &samples{
		e: e, executions: make([]*execution, n), known: make([]pending, n), changed: make(chan struct{}),
	}
	left := 0
	for i := range q.known {
		var err error
		if q.known[i], err = e.earlier(i); err != nil {
			return nil, err
		}
		left += len(q.known[i])
		for _, sessions := range q.known[i] {
			if e.settled(sessions) {
				shrink(sessions) // before the next case is read
			}
		}
	}
	for left > 0 {
		t := q.draw()
		if t == nil {
			break
		}
		left -= min(len(t.sessions), 1)
		if e.settled(t.sessions) {
			q.reveal(t)
		} else {
			q.ready = append(q.ready, t)
		}
	}
	return q, nil
}

// draw returns the next repetition with its sessions so far, or nil.
func (q *samples) draw() *task {
	i, ok := q.e.Sampler.Next()
	if !ok {
		return nil
	}
	x := q.execution(i)
	x.repetitions = append(x.repetitions, nil)
	t := &task{execution: x, repetition: len(x.repetitions)}
	t.sessions = q.known[i][t.repetition]
	delete(q.known[i], t.repetition)
	return t
}

func (q *samples) execution(i int) *execution {
	if q.executions[i] == nil {
		q.executions[i] = &execution{index: i, c: &q.e.Suite.Cases[i], info: q.e.Runners[0].Info()}
	}
	return q.executions[i]
}

// reveal stores the sessions of a repetition that is done.
func (q *samples) reveal(t *task) {
	shrink(t.sessions)
	t.repetitions[t.repetition-1] = t.sessions
	q.e.Sampler.Reveal(t.index, t.repetition-1, t.sessions[len(t.sessions)-1].judgement.Outcome)
}

// next returns the next task. It waits while the choice depends on running sessions. It returns nil
// when the question is decided, and when no more repetitions are allowed.
func (q *samples) next() (*task, error) {
	for {
		q.mu.Lock()
		t, changed, flying := q.take(), q.changed, q.flying
		q.mu.Unlock()
		if t != nil || flying == 0 || q.e.stopped() {
			return t, nil
		}
		select {
		case <-changed:
		case <-q.e.stopping:
		}
	}
}

// canary returns the first repetition on an agent.
func (q *samples) canary() []task {
	if q.e.Runners[0].Info().Kind != plumb.RunnerAgent {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.take(); t != nil {
		return []task{*t}
	}
	return nil
}

// take returns the next task if there is one.
func (q *samples) take() *task {
	if q.e.stopped() || q.e.Sampler.Ended() {
		return nil
	}
	var t *task
	if len(q.ready) > 0 {
		t, q.ready = q.ready[0], q.ready[1:]
	} else if t = q.draw(); t == nil {
		return nil
	}
	if t.repetition > 1 && q.e.blocked[0].reason() != nil {
		q.ready = append(q.ready, t) // for a later process: this one only gets the same failure
		return nil
	}
	q.flying++
	return t
}

// done records a repetition.
func (q *samples) done(t *task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reveal(t)
	q.flying--
	close(q.changed)
	q.changed = make(chan struct{})
	_, err := q.record(t.execution)
	if q.e.Sampler.Ended() {
		q.e.end(plumb.StopDecided)
	}
	return err
}

// record records the result of an execution from the repetitions that are done.
func (q *samples) record(x *execution) (<-chan struct{}, error) {
	done := slices.DeleteFunc(slices.Clone(x.repetitions), func(s []session) bool { return len(s) == 0 })
	ev := q.e.event(plumb.EventExecutionFinished, task{execution: x}, 0)
	ev.Result, ev.Decision = summarize(x.c, done), q.e.Sampler.Decision(false)
	_, written, err := q.e.log.Append(ev, true)
	return written, err
}

// finish records the repetitions whose result an earlier process did not record, because it was
// killed. Among them are those that were in flight at the decision, which nothing draws again. It
// returns the number of executions without a result. No worker may be running.
func (q *samples) finish() (remaining int, err error) {
	q.e.log.Drain() // so that the state is complete
	for i, left := range q.known {
		for _, n := range slices.Sorted(maps.Keys(left)) {
			if x := q.execution(i); q.e.settled(left[n]) {
				x.repetitions = append(x.repetitions, left[n])
			}
		}
	}
	for i, x := range q.executions {
		made := 0
		if x != nil {
			for _, sessions := range x.repetitions {
				made += min(len(sessions), 1)
			}
		}
		was := &q.e.state.Executions[i]
		switch {
		case made == 0:
			remaining++
		case made > int(was.Passed+was.Failed+was.Errored):
			written, err := q.record(x)
			if err != nil {
				return 0, err
			}
			<-written
		}
	}
	return remaining, q.e.log.Err()
}

// shrink removes the parts of sessions that no result of an execution needs: a run until a decision
// keeps all of its sessions in memory.
func shrink(sessions []session) {
	for i := range sessions {
		sessions[i].shrink()
	}
}

func (s *session) shrink() {
	s.stored, s.workspace = nil, nil
	if r := s.report; r != nil {
		s.report = &plumb.SessionReport{
			Usage: r.Usage, CostUSD: r.CostUSD, Steps: r.Steps, Cached: r.Cached, Recorded: r.Recorded,
			DurationMs: r.DurationMs, LatencyMs: r.LatencyMs,
		}
	}
	if j := s.judgement; j != nil {
		small := *j
		small.Verdicts = make([]plumb.Verdict, len(j.Verdicts))
		for i := range j.Verdicts {
			small.Verdicts[i].Asked = j.Verdicts[i].Asked
		}
		s.judgement = &small
	}
}
