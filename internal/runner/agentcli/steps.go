package agentcli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// terminal reports whether a record says that the session is over. Only the end of the process follows it.
func terminal(s *Spec, rec *fields) bool { return slices.Contains(s.Terminal, rec.text("type")) }

// watch follows the stream of a running session.
type watch struct {
	steps   *steps
	limit   int // of steps; 0 is none
	runner  *Runner
	linger  time.Duration
	stop    context.CancelCauseFunc
	session string // the session's id, once it is known
	record  fields // the one that is being read

	mu    sync.Mutex
	timer *time.Timer // runs since the terminal record
}

// line takes a line of the stream. Its error stops the agent.
func (w *watch) line(line []byte) error {
	w.alive()
	if line[0] != '{' {
		return nil
	}
	if w.limit == 0 && w.session != "" && !bytes.Contains(line, []byte(`"result"`)) && !bytes.Contains(line, []byte(`"turn.`)) {
		return nil
	}
	rec := &w.record
	rec.of(gjson.Parse(string(line)))
	if w.session == "" {
		w.session = strings.Clone(rec.text("session_id", "sessionID", "thread_id", "sessionId"))
	}
	if terminal(&w.runner.spec, rec) {
		w.mu.Lock()
		w.timer = time.AfterFunc(w.linger, func() { w.stop(errLingered) })
		w.mu.Unlock()
	}
	if w.limit == 0 {
		return nil
	}
	before := w.steps.n
	if w.steps.count(rec); w.steps.n > w.limit && w.steps.n > before {
		f := plumb.Failuref(plumb.OriginMaxSteps, "Exceeded maxSteps: observed %d steps with limit %d (runner %s, agent %s)",
			w.steps.n, w.limit, w.runner.info.ID, w.runner.info.Agent.Type)
		f.Hint = fmt.Sprintf("raise run.maxSteps above %d if the case needs more", w.limit)
		return f
	}
	return nil
}

// alive stops the time that a terminal record began: there is more to come.
func (w *watch) alive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Reset(w.linger)
	}
}

// end stops watching.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}
