package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// scriptPath is where scripts are: agents accept an address with a path.
	scriptPath = "/s/"
	// usualMaxRequests is the default of Script.MaxRequests.
	usualMaxRequests = 40
	// sideAnswer is said to requests that agents make on the side, such as for a title.
	sideAnswer = "A session with the fake model"
)

// Agents is a model server for coding agents: it plays a [Script], in the API that the agent speaks and with the tools that
// the agent offers. It is an [http.Handler], safe for concurrent use.
//
// The address of a script is /s/NAME, which goes where the agent expects the address of a provider; agents that want the
// version in it, as OpenAI's SDKs do, get /s/NAME/v1. What to answer follows from the conversation in the request alone, so
// a request that is made again gets the same answer again.
type Agents struct {
	server *Server

	mu      sync.Mutex // guards what follows
	scripts map[string]*playing
}

// playing is a script and what came of it.
type playing struct {
	Script
	requests []AgentRequest
	problems []string
	// broken counts the faults served, by scene and turn.
	broken map[[2]int]int
}

// AgentRequest is one request as the log has it.
type AgentRequest struct {
	At           time.Time
	Method, Path string
	// Endpoint is the operation, as in [Ask]; "unknown" for paths that no API has.
	Endpoint, Model string
	Header          http.Header
	Body            []byte
	// Tools are the names of the tools that the agent offers.
	Tools []string
	// Side says that the request was not part of the conversation.
	Side bool
	// Scene and Turn are what was played, counted from 0; -1 for nothing.
	Scene, Turn int
	Fault       Fault
	Played      []Played
}

// NewAgents returns a server without scripts. Of the options Key, Latency, RetryAfter and Seed count, and what
// [Faults] says of time.
func NewAgents(o Options) *Agents {
	return &Agents{server: New(o), scripts: map[string]*playing{}}
}

// Add adds a script, or begins one anew, and returns its path.
func (a *Agents) Add(s Script) (string, error) {
	if err := s.check(); err != nil {
		return "", fmt.Errorf("script %q: %w", s.Name, err)
	}
	if s.MaxRequests <= 0 {
		s.MaxRequests = usualMaxRequests
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scripts[s.Name] = &playing{Script: s, broken: map[[2]int]int{}}
	return scriptPath + s.Name, nil
}

// Release ends all requests that hang, now and later.
func (a *Agents) Release() { a.server.Release() }

// Requests returns the requests for a script so far, in order.
func (a *Agents) Requests(script string) []AgentRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.scripts[script]; p != nil {
		return slices.Clone(p.requests)
	}
	return nil
}

// Problems returns what went wrong with a script: calls that the agent has no tool for, conversations that it does not
// foresee, too many requests. A test that finds any has tested something else than it wanted to.
func (a *Agents) Problems(script string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.scripts[script]; p != nil {
		return slices.Clone(p.problems)
	}
	return []string{"no such script"}
}

// ServeHTTP implements [http.Handler].
func (a *Agents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	within, ok := strings.CutPrefix(r.URL.Path, scriptPath)
	name, rest, _ := strings.Cut(within, "/")
	a.mu.Lock()
	p := a.scripts[name]
	a.mu.Unlock()
	if !ok || p == nil {
		http.Error(w, "no such script", http.StatusNotFound)
		return
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/" + rest
	s := a.server
	x := &exchange{s: s, w: w, r: r, rt: routeOf(r), id: s.serial.Add(1), now: time.Now()}
	body, err := readAll(nil, http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		x.fail(problem{kind: tooLarge})
		return
	}
	log := AgentRequest{At: x.now, Method: r.Method, Path: r.URL.Path, Endpoint: x.rt.op.String(), Model: x.rt.model, Header: r.Header, Body: body, Scene: -1, Turn: -1}
	fault, reject := a.answer(x, p, &log)
	a.mu.Lock()
	p.requests = append(p.requests, log)
	if n := len(p.requests); n > p.MaxRequests {
		p.note(fmt.Sprintf("more than %d requests", p.MaxRequests))
		reject = &problem{kind: invalid, detail: "the script allows no more than " + itoa(p.MaxRequests) + " requests"}
	}
	a.mu.Unlock()
	switch {
	case reject != nil:
		x.fail(*reject)
	case !x.rt.op.asks():
		x.list()
	default:
		x.hold(0)
		x.deliver(fault)
	}
}

// note keeps a problem, each once.
func (p *playing) note(s string) {
	if !slices.Contains(p.problems, s) {
		p.problems = append(p.problems, s)
	}
}

// answer prepares the reply, and says what breaks it.
func (a *Agents) answer(x *exchange, p *playing, log *AgentRequest) (Fault, *problem) {
	if x.rt.op == opNone {
		return "", &problem{kind: noSuchPath}
	}
	if want := a.server.options.Key; want != "" {
		if got, ok := x.rt.key(x.r); got != want {
			return "", &problem{kind: wrongKey, detail: got, missing: !ok}
		}
	}
	if !x.rt.op.asks() {
		return "", nil
	}
	if !json.Valid(log.Body) {
		return "", &problem{kind: badJSON}
	}
	x.ask = Ask{Provider: x.rt.provider, Endpoint: log.Endpoint, Model: x.rt.model, Stream: x.rt.stream, Header: x.r.Header, Body: log.Body}
	_, _ = x.parse(log.Body) // agents send parameters that are not documented
	log.Model, x.model.Snapshot = x.ask.Model, x.ask.Model
	q := readAgentAsk(x.rt, log.Body)
	for _, t := range q.tools {
		log.Tools = append(log.Tools, t.name)
	}
	rep, fault := a.play(q, p, log)
	x.status, x.kind = http.StatusOK, "application/json"
	for i := range rep.calls {
		rep.calls[i].id = "call_" + x.token(20) + itoa(i)
	}
	x.encode(rep)
	return fault, nil
}

// play decides what is said, and what breaks it.
func (a *Agents) play(q *agentAsk, p *playing, log *AgentRequest) (reply, Fault) {
	rep := reply{input: len(q.body) / 4}
	if len(q.tools) == 0 {
		log.Side = true
		rep.text = sideAnswer
		if q.schema != nil {
			rep.text = encode(sample(q.schema))
		}
		rep.output = tokensOf(rep.text)
		return rep, ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	scene, results := q.scene(&p.Script)
	if scene < 0 {
		log.Side = true
		rep.text, rep.output = stockAnswer, tokensOf(stockAnswer)
		p.note("a conversation that no scene begins")
		return rep, ""
	}
	log.Scene, log.Turn = scene, p.Scenes[scene].at(results)
	turn := &p.Scenes[scene].Turns[log.Turn]
	rep.text, rep.thought = turn.Text, turn.Thinking
	dir := p.Dir
	if dir == "" {
		dir = q.dir()
	}
	for _, c := range turn.Calls {
		call, played, err := q.perform(c, dir)
		if err != nil {
			p.note(err.Error())
			rep.text += "\n" + err.Error()
			continue
		}
		rep.calls, log.Played = append(rep.calls, call), append(log.Played, played)
	}
	rep.output = tokensOf(rep.text)
	if t := turn.Tokens; t != (Tokens{}) {
		rep.input, rep.output, rep.reasoning, rep.cached, rep.written = t.Input, t.Output, t.Reasoning, t.CacheRead, t.CacheWrite
	}
	at := [2]int{scene, log.Turn}
	if turn.Fault != "" && (turn.Times == 0 || p.broken[at] < turn.Times) {
		p.broken[at]++
		log.Fault = turn.Fault
	}
	return rep, log.Fault
}
