package agent

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// watch follows the stream of a running session.
type watch struct {
	steps   *transcript.Steps
	limit   int // of steps; 0 means no limit
	runner  *Runner
	stop    context.CancelCauseFunc
	session string            // the session's id, when it is known
	record  transcript.Fields // the current one
	timer   *time.Timer       // started by the last record
}

// line receives a line of the stream. Its error stops the agent.
func (w *watch) line(line []byte) error {
	if w.timer != nil {
		w.timer.Reset(w.runner.linger) // the record was not the last one
	}
	if line[0] != '{' {
		return nil
	}
	mayEnd := bytes.Contains(line, []byte(`"result"`)) || bytes.Contains(line, []byte(`"turn.`))
	if w.limit == 0 && w.session != "" && !mayEnd {
		return nil
	}
	rec := &w.record
	rec.Of(gjson.Parse(string(line)))
	if w.session == "" {
		w.session = strings.Clone(rec.Text("session_id", "sessionID", "thread_id", "sessionId"))
	}
	if slices.Contains(w.runner.spec.Terminal, rec.Text("type")) {
		w.timer = time.AfterFunc(w.runner.linger, func() { w.stop(errLingered) })
	}
	if w.limit == 0 {
		return nil
	}
	before := w.steps.N
	if w.steps.Count(rec); w.steps.N > w.limit && w.steps.N > before {
		f := plumb.Failuref(plumb.OriginMaxSteps,
			"Exceeded maxSteps: observed %d steps with limit %d (runner %s, agent %s)",
			w.steps.N, w.limit, w.runner.info.ID, w.runner.info.Agent.Type)
		f.Hint = fmt.Sprintf("raise run.maxSteps above %d if the case needs more", w.limit)
		return f
	}
	return nil
}

// end stops watching.
func (w *watch) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
