package report

import (
	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
)

// Secrets are removed from a report twice: from all that a reporter is told, before anything is wrapped or cut, so that no
// part of a secret is left; and from what it shows, after the last transformation, because one may have put together what was
// apart. What comes from the log of this version has no secrets; logs of earlier versions may have.

// without removes secrets from a value, by the rules of [redact.Clean].
func without[T any](r *redact.Redactor, v T) T {
	clean, _ := redact.Clean(r, v)
	return clean
}

// Without returns sessions without the secrets that r knows.
func Without(r *redact.Redactor, s Sessions) Sessions {
	if s == nil || !r.Hides() {
		return s
	}
	return func(caseID, runnerID string, yield func(plumb.Event) error) error {
		return s(caseID, runnerID, func(ev plumb.Event) error { return yield(without(r, ev)) })
	}
}

// guarded is a reporter that is told nothing of secrets.
type guarded struct {
	plumb.Reporter
	redact *redact.Redactor
}

// guard makes a reporter, which has guarded options, one that is told nothing of secrets.
func (o *Options) guard(r plumb.Reporter) plumb.Reporter {
	if o.Fresh || !o.Redact.Hides() {
		return r
	}
	return &guarded{r, o.Redact}
}

// Report passes on an event without secrets. The state of a run is made of events that have none, so that it
// is looked through only at the end.
func (g *guarded) Report(ev plumb.Event, run *plumb.Run) error {
	ev = without(g.redact, ev)
	if ev.Type == plumb.EventRunFinished {
		run = without(g.redact, run)
	}
	return g.Reporter.Report(ev, run)
}

// Broke passes on why a run broke off to a reporter that tells it.
func (g *guarded) Broke(err error) {
	if told, ok := g.Reporter.(plumb.AbortReporter); ok {
		told.Broke(err)
	}
}

// guarded returns options whose sessions have no secrets.
func (o Options) guarded() Options {
	if o.Fresh {
		return o
	}
	o.Sessions = Without(o.Redact, o.Sessions)
	return o
}
