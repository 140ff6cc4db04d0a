package report

import (
	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// Reports remove secrets twice: from all input of a reporter, before anything is wrapped or
// truncated, so that no part of a secret remains; and from the output, after the last
// transformation, because joining texts may form a secret again. The log of this version contains
// no secrets, but logs of earlier versions may.

// Without removes secrets from a value, by the rules of [redact.Clean].
func Without[T any](r *redact.Redactor, v T) T {
	clean, _ := redact.Clean(r, v)
	return clean
}

// guarded is a reporter that receives no secrets.
type guarded struct {
	plumb.Reporter
	redact *redact.Redactor
}

// Guard wraps a reporter, which must have a guarded source, so that it receives no secrets.
func (src *Source) Guard(r plumb.Reporter) plumb.Reporter {
	if src.Fresh || !src.Redact.Hides() {
		return r
	}
	return &guarded{r, src.Redact}
}

// Report passes on an event without secrets. The state of a run is built from such events, so
// Report checks it only at the end.
func (g *guarded) Report(ev plumb.Event, run *plumb.Run) error {
	ev = Without(g.redact, ev)
	if ev.Type == plumb.EventRunFinished {
		run = Without(g.redact, run)
	}
	return g.Reporter.Report(ev, run)
}

// Broke passes the reason why a run broke off to a reporter that uses it.
func (g *guarded) Broke(err error) {
	if told, ok := g.Reporter.(plumb.AbortReporter); ok {
		told.Broke(err)
	}
}

// Clean returns a source whose sessions contain no secrets.
func (src Source) Clean() Source {
	if !src.Fresh && src.Redact.Hides() {
		src.Sessions, src.Stored = src.Sessions.Without(src.Redact), nil
	}
	return src
}
