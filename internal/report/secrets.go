package report

import (
	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/results"
)

// Reports remove secrets twice: from all input of a reporter, before anything is wrapped or
// truncated, so that no part of a secret remains; and from the output, after the last
// transformation, because joining texts may form a secret again. The log of this version contains
// no secrets, but logs of earlier versions may.

// without removes secrets from a value, by the rules of [redact.Clean].
func without[T any](r *redact.Redactor, v T) T {
	clean, _ := redact.Clean(r, v)
	return clean
}

// Without returns s with the secrets that r knows removed.
func Without(r *redact.Redactor, s results.Sessions) results.Sessions {
	if s == nil || !r.Hides() {
		return s
	}
	return func(caseID, runnerID string, yield func(plumb.Event) error) error {
		return s(caseID, runnerID, func(ev plumb.Event) error { return yield(without(r, ev)) })
	}
}

// guarded is a reporter that receives no secrets.
type guarded struct {
	plumb.Reporter
	redact *redact.Redactor
}

// guard wraps a reporter, which must have guarded options, so that it receives no secrets.
func (o *Options) guard(r plumb.Reporter) plumb.Reporter {
	if o.Fresh || !o.Redact.Hides() {
		return r
	}
	return &guarded{r, o.Redact}
}

// Report passes on an event without secrets. The state of a run is built from such events, so
// Report checks it only at the end.
func (g *guarded) Report(ev plumb.Event, run *plumb.Run) error {
	ev = without(g.redact, ev)
	if ev.Type == plumb.EventRunFinished {
		run = without(g.redact, run)
	}
	return g.Reporter.Report(ev, run)
}

// Broke passes the reason why a run broke off to a reporter that uses it.
func (g *guarded) Broke(err error) {
	if told, ok := g.Reporter.(plumb.AbortReporter); ok {
		told.Broke(err)
	}
}

// guarded returns options whose sessions contain no secrets.
func (o Options) guarded() Options {
	if o.Fresh {
		return o
	}
	if o.Redact.Hides() {
		o.Sessions, o.Stored = Without(o.Redact, o.Sessions), nil
	}
	return o
}
