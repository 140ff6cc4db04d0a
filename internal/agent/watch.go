package agent

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
	"github.com/plumb-eval/plumb/internal/agent/spec"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// terminal reports whether a record says that the session is over. Only the end of the process follows it.
func terminal(s *spec.Spec, rec *transcript.Fields) bool {
	return slices.Contains(s.Terminal, rec.Text("type"))
}

// watch follows the stream of a running session.
type watch struct {
	steps   *transcript.Steps
	limit   int // of steps; 0 is none
	runner  *Runner
	linger  time.Duration
	stop    context.CancelCauseFunc
	session string            // the session's id, once it is known
	record  transcript.Fields // the one that is being read

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
	rec.Of(gjson.Parse(string(line)))
	if w.session == "" {
		w.session = strings.Clone(rec.Text("session_id", "sessionID", "thread_id", "sessionId"))
	}
	if terminal(&w.runner.spec, rec) {
		w.mu.Lock()
		w.timer = time.AfterFunc(w.linger, func() { w.stop(errLingered) })
		w.mu.Unlock()
	}
	if w.limit == 0 {
		return nil
	}
	before := w.steps.N
	if w.steps.Count(rec); w.steps.N > w.limit && w.steps.N > before {
		f := plumb.Failuref(plumb.OriginMaxSteps, "Exceeded maxSteps: observed %d steps with limit %d (runner %s, agent %s)",
			w.steps.N, w.limit, w.runner.info.ID, w.runner.info.Agent.Type)
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
