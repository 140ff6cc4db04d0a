package fakemodel

import (
	"net/http"
	"time"

	"github.com/plumb-eval/plumb/internal/agentscript"
	"github.com/plumb-eval/plumb/internal/wire"
)

// Agents plays scripts for coding agents, with the errors and faults of the providers. See
// [agentscript.Server].
type Agents struct {
	*agentscript.Server
	model *Server
}

// NewAgents returns a server without scripts. It uses the options Key, Latency, RetryAfter and
// Seed, and the times of [Faults].
func NewAgents(o Behavior) *Agents { return agentsOf(New(o)) }

// agentsOf returns a server of scripts with the options of s.
func agentsOf(s *Server) *Agents {
	a := &Agents{&agentscript.Server{Key: s.options.Key}, s}
	a.Send = a.send
	return a
}

// Release ends all hanging requests, now and later.
func (a *Agents) Release() { a.model.Release() }

// send sends a reply, or breaks it as the fault of the turn says.
func (a *Agents) send(w http.ResponseWriter, r *http.Request, rep agentscript.Reply) {
	x := &exchange{s: a.model, w: w, r: r, id: a.model.serial.Add(1), now: time.Now()}
	x.ask.Route, x.model.Snapshot = rep.Route, rep.Route.Model
	switch {
	case rep.Status == http.StatusNotFound:
		x.fail(problem{kind: noSuchPath})
	case rep.Status == http.StatusUnauthorized:
		x.fail(*x.keyProblem(""))
	case rep.Status == http.StatusRequestEntityTooLarge:
		x.fail(problem{kind: tooLarge})
	case rep.Status != http.StatusOK:
		x.fail(problem{detail: rep.Message})
	case x.ask.Endpoint == wire.Models:
		x.list()
	default:
		x.status, x.out = rep.Status, rep.Reply
		x.hold(0)
		x.deliver(Fault(rep.Fault))
	}
}
