package agentscript

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumb-eval/plumb/internal/wire"
)

const (
	// Path is the path below which a [Server] serves scripts.
	Path = "/s/"
	// defaultMaxRequests is the default of Script.MaxRequests.
	defaultMaxRequests = 40
	// bodyLimit limits the size of a request, in bytes.
	bodyLimit = 32 << 20
	// sideAnswer is the answer to requests outside the conversation, such as for a title.
	sideAnswer = "A session with a scripted model"
	// stockAnswer is the answer to a conversation that no scene starts.
	stockAnswer = "The script has nothing prepared here."
)

// Server plays scripts, in the API that the agent speaks and with the tools that the agent offers:
// chat completions and responses of OpenAI, messages of Anthropic, and generateContent of Google.
// It is an [http.Handler], safe for concurrent use.
//
// The address of a script is [Path] and its name. Use it as the address of the provider, with /v1
// appended for agents that expect the version in it, such as those with OpenAI's SDK. The reply
// depends only on the conversation in the request, so a repeated request gets the same reply.
type Server struct {
	// Key is the API key that requests must have; "" accepts all.
	Key string
	// Send, if set, sends the replies, so that a test can break them. Its request has the path
	// without the script.
	Send func(w http.ResponseWriter, r *http.Request, rep Reply)

	serial  atomic.Uint64
	mu      sync.Mutex // guards scripts
	scripts map[string]*playing
}

// Reply is the reply to one request.
type Reply struct {
	// Status is 200, or the reason to reject the request: 400, 401, 404 or 413, with a message.
	Status  int
	Message string
	// Fault is the fault of the turn, or "".
	Fault string
	Route wire.Route
	wire.Reply
}

// playing is a script with its log.
type playing struct {
	Script
	requests []Request
	problems []string
	// broken counts the served faults by scene and turn.
	broken map[[2]int]int
}

// Request is an entry of the log of requests.
type Request struct {
	Body []byte
	// Tools are the names of the tools that the agent offers.
	Tools []string
	// Side is set for a request outside the conversation.
	Side bool
	// Scene and Turn are the played scene and turn, counted from 0, or -1.
	Scene, Turn int
	Fault       string
	Played      []Played
}

// Add adds a script, or restarts it, and returns its path.
func (s *Server) Add(script Script) (string, error) {
	if err := script.check(); err != nil {
		return "", fmt.Errorf("script %q: %w", script.Name, err)
	}
	if script.MaxRequests <= 0 {
		script.MaxRequests = defaultMaxRequests
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scripts == nil {
		s.scripts = map[string]*playing{}
	}
	s.scripts[script.Name] = &playing{Script: script, broken: map[[2]int]int{}}
	return Path + script.Name, nil
}

// Requests returns the requests for a script so far, in order.
func (s *Server) Requests(script string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.scripts[script]; p != nil {
		return slices.Clone(p.requests)
	}
	return nil
}

// Problems returns what went wrong with a script: calls without a suitable tool, unexpected
// conversations, too many requests. A test with problems did not test what it should.
func (s *Server) Problems(script string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.scripts[script]; p != nil {
		return slices.Clone(p.problems)
	}
	return []string{"no such script"}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below, ok := strings.CutPrefix(r.URL.Path, Path)
	name, rest, _ := strings.Cut(below, "/")
	s.mu.Lock()
	p := s.scripts[name]
	s.mu.Unlock()
	if !ok || p == nil {
		http.Error(w, "no such script", http.StatusNotFound)
		return
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/" + rest
	log := Request{Scene: -1, Turn: -1}
	rep := s.reply(w, r, p, &log)
	s.mu.Lock()
	p.requests = append(p.requests, log)
	if n := len(p.requests); n > p.MaxRequests {
		p.note(fmt.Sprintf("more than %d requests", p.MaxRequests))
		rep = rep.rejected(http.StatusBadRequest,
			fmt.Sprintf("the script allows no more than %d requests", p.MaxRequests))
	}
	s.mu.Unlock()
	if s.Send != nil {
		s.Send(w, r, rep)
		return
	}
	send(w, rep)
}

// send sends a reply. A rejection has the members that the APIs have in common.
func send(w http.ResponseWriter, rep Reply) {
	if rep.Status != http.StatusOK {
		rep.ContentType = "application/json"
		rep.Body = []byte(encode(object{"type": "error", "error": object{
			"type": "invalid_request_error", "code": rep.Status, "message": rep.Message,
		}}))
	}
	w.Header().Set("Content-Type", rep.ContentType)
	w.WriteHeader(rep.Status)
	_, _ = w.Write(rep.Body) // the client left
}

// note records a problem once.
func (p *playing) note(s string) {
	if !slices.Contains(p.problems, s) {
		p.problems = append(p.problems, s)
	}
}

// reply reads the request and returns the reply.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, p *playing, log *Request) Reply {
	out := Reply{Status: http.StatusOK, Route: wire.RouteOf(r)}
	var err error
	if log.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit)); err != nil {
		return out.rejected(http.StatusRequestEntityTooLarge, "the request is too large")
	}
	switch {
	case out.Route.Endpoint == "", out.Route.Endpoint == wire.Embeddings:
		return out.rejected(http.StatusNotFound, "no such path")
	case s.Key != "" && out.Route.Key(r) != s.Key:
		return out.rejected(http.StatusUnauthorized, "wrong API key")
	case out.Route.Endpoint == wire.Models:
		out.Reply = wire.Reply{ContentType: "application/json", Body: []byte(`{"object":"list","data":[],"models":[]}`)}
		return out
	}
	var q conversation
	if q.Request, err = wire.Read(out.Route, log.Body); err != nil {
		return out.rejected(http.StatusBadRequest, err.Error())
	}
	out.Route = q.Route
	for _, t := range q.Tools {
		log.Tools = append(log.Tools, t.Name)
	}
	a := s.play(&q, p, log)
	id := s.serial.Add(1)
	for i := range a.Calls {
		a.Calls[i].ID = fmt.Sprintf("call_%020d%d", id, i)
	}
	a.Snapshot, a.ID, a.At = q.Model, fmt.Sprintf("%022d", id), time.Now()
	out.Fault, out.Reply = log.Fault, wire.Encode(&q.Request, a)
	return out
}

// rejected returns a reply that rejects the request.
func (r Reply) rejected(status int, message string) Reply {
	r.Status, r.Message = status, message
	return r
}

// play returns the model's answer.
func (s *Server) play(q *conversation, p *playing, log *Request) wire.Answer {
	a := wire.Answer{Tokens: wire.Tokens{Input: len(log.Body) / 4}}
	if len(q.Tools) == 0 {
		log.Side = true
		a.Text = sideAnswer
		if q.Schema.Exists() {
			a.Text = encode(sample(q.Schema))
		}
		a.Tokens.Output = tokensOf(a.Text)
		return a
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	scene, results := q.scene(&p.Script)
	if scene < 0 {
		log.Side = true
		a.Text, a.Tokens.Output = stockAnswer, tokensOf(stockAnswer)
		p.note("a conversation that no scene begins")
		return a
	}
	log.Scene, log.Turn = scene, p.Scenes[scene].at(results)
	turn := &p.Scenes[scene].Turns[log.Turn]
	a.Text, a.Thought = turn.Text, turn.Thinking
	dir := p.Dir
	if dir == "" {
		dir = q.dir()
	}
	for _, c := range turn.Calls {
		call, played, err := q.perform(c, dir)
		if err != nil {
			p.note(err.Error())
			a.Text += "\n" + err.Error()
			continue
		}
		a.Calls, log.Played = append(a.Calls, call), append(log.Played, played)
	}
	a.Tokens.Output = tokensOf(a.Text)
	if turn.Tokens != (wire.Tokens{}) {
		a.Tokens = turn.Tokens
	}
	at := [2]int{scene, log.Turn}
	if turn.Fault != "" && (turn.Times == 0 || p.broken[at] < turn.Times) {
		p.broken[at]++
		log.Fault = turn.Fault
	}
	return a
}

// tokensOf estimates the tokens of a text: four bytes each.
func tokensOf(s string) int { return (len(s) + 3) / 4 }
