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

	"github.com/tidwall/gjson"
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
	Fault Fault
	Model string
	// Stream is set for a stream. Border ends each of its events.
	Stream bool
	Border string
	// Kind is the content type of Body.
	Kind string
	Body []byte
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
	At           time.Time
	Method, Path string
	// Endpoint is "chat", "responses", "messages", "generateContent", "count_tokens", "models" or
	// "unknown".
	Endpoint, Model string
	Header          http.Header
	Body            []byte
	// Tools are the names of the tools that the agent offers.
	Tools []string
	// Side is set for a request outside the conversation.
	Side bool
	// Scene and Turn are the played scene and turn, counted from 0, or -1.
	Scene, Turn int
	Fault       Fault
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
	log := Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Header: r.Header, Scene: -1, Turn: -1}
	rep := s.reply(w, r, p, &log)
	s.mu.Lock()
	p.requests = append(p.requests, log)
	if n := len(p.requests); n > p.MaxRequests {
		p.note(fmt.Sprintf("more than %d requests", p.MaxRequests))
		message := fmt.Sprintf("the script allows no more than %d requests", p.MaxRequests)
		rep = Reply{Status: http.StatusBadRequest, Message: message, Model: rep.Model}
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
		rep.Kind = "application/json"
		rep.Body = []byte(encode(object{"type": "error", "error": object{
			"type": "invalid_request_error", "code": rep.Status, "message": rep.Message,
		}}))
	}
	w.Header().Set("Content-Type", rep.Kind)
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
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		return Reply{Status: http.StatusRequestEntityTooLarge, Message: "the request is too large"}
	}
	to, model, stream := apiOf(r.URL.Path)
	log.Body, log.Endpoint, log.Model = body, to.String(), model
	switch {
	case to == apiNone:
		return Reply{Status: http.StatusNotFound, Message: "no such path"}
	case s.Key != "" && keyOf(r) != s.Key:
		return Reply{Status: http.StatusUnauthorized, Message: "wrong API key"}
	case to == apiModels:
		return Reply{
			Status: http.StatusOK, Kind: "application/json",
			Body: []byte(`{"object":"list","data":[],"models":[]}`),
		}
	}
	if !gjson.ValidBytes(body) {
		return Reply{Status: http.StatusBadRequest, Message: "the request is not JSON"}
	}
	request := gjson.ParseBytes(body)
	if model == "" {
		model = request.Get("model").Str
		log.Model = model
	}
	q := readConversation(to, body, request)
	for _, t := range q.tools {
		log.Tools = append(log.Tools, t.name)
	}
	answer, fault := s.play(q, p, log)
	e := encoder{
		id: s.serial.Add(1), now: log.At, model: model, request: request,
		stream: stream || request.Get("stream").Bool(),
		events: r.URL.Query().Get("alt") == "sse", kind: "application/json",
	}
	for i := range answer.calls {
		answer.calls[i].id = fmt.Sprintf("call_%020d%d", e.id, i)
	}
	e.encode(to, answer)
	return Reply{
		Status: http.StatusOK, Fault: fault, Model: model, Stream: e.stream, Border: e.border, Kind: e.kind,
		Body: e.out.Bytes(),
	}
}

// play returns the model's answer and the fault of the turn.
func (s *Server) play(q *conversation, p *playing, log *Request) (answer, Fault) {
	a := answer{tokens: Tokens{Input: len(q.body) / 4}}
	if len(q.tools) == 0 {
		log.Side = true
		a.text = sideAnswer
		if q.schema.Exists() {
			a.text = encode(sample(q.schema))
		}
		a.tokens.Output = tokensOf(a.text)
		return a, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	scene, results := q.scene(&p.Script)
	if scene < 0 {
		log.Side = true
		a.text, a.tokens.Output = stockAnswer, tokensOf(stockAnswer)
		p.note("a conversation that no scene begins")
		return a, ""
	}
	log.Scene, log.Turn = scene, p.Scenes[scene].at(results)
	turn := &p.Scenes[scene].Turns[log.Turn]
	a.text, a.thought = turn.Text, turn.Thinking
	dir := p.Dir
	if dir == "" {
		dir = q.dir()
	}
	for _, c := range turn.Calls {
		call, played, err := q.perform(c, dir)
		if err != nil {
			p.note(err.Error())
			a.text += "\n" + err.Error()
			continue
		}
		a.calls, log.Played = append(a.calls, call), append(log.Played, played)
	}
	a.tokens.Output = tokensOf(a.text)
	if turn.Tokens != (Tokens{}) {
		a.tokens = turn.Tokens
	}
	at := [2]int{scene, log.Turn}
	if turn.Fault != "" && (turn.Times == 0 || p.broken[at] < turn.Times) {
		p.broken[at]++
		log.Fault = turn.Fault
	}
	return a, log.Fault
}

// tokensOf estimates the tokens of a text: four bytes each.
func tokensOf(s string) int { return (len(s) + 3) / 4 }

// keyOf returns the API key of a request, in the header of any of the APIs.
func keyOf(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return key
	}
	return r.URL.Query().Get("key")
}

// api is an operation of a model API.
type api int

const (
	apiNone api = iota
	apiModels
	apiCount
	apiChat
	apiResponses
	apiMessages
	apiGenerate
)

func (a api) String() string {
	return [...]string{"unknown", "models", "count_tokens", "chat", "responses", "messages", "generateContent"}[a]
}

// apiOf returns the operation of a path, with the model and the choice of a stream if the path has
// them.
func apiOf(path string) (to api, model string, stream bool) {
	for suffix, to := range map[string]api{
		"/chat/completions": apiChat, "/responses": apiResponses, "/messages": apiMessages,
		"/messages/count_tokens": apiCount, "/models": apiModels,
	} {
		if strings.HasSuffix(path, suffix) {
			return to, "", false
		}
	}
	_, model, ok := strings.Cut(path, "/models/")
	model, method, _ := strings.Cut(model, ":")
	switch {
	case !ok:
		return apiNone, "", false
	case method == "":
		return apiModels, model, false
	case method == "countTokens":
		return apiCount, model, false
	case method == "generateContent", method == "streamGenerateContent":
		return apiGenerate, model, method == "streamGenerateContent"
	}
	return apiNone, model, false
}
