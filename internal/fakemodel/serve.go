package fakemodel

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/wire"
)

// bodyLimit is the largest request body, as for the real APIs.
const bodyLimit = 32 << 20

// exchange is one request with its reply.
type exchange struct {
	s *Server
	w http.ResponseWriter
	r *http.Request
	// id numbers the requests; now is the time of this one.
	id  uint64
	now time.Time

	ask    Ask
	prompt string
	// entry is the matching line of the table, if any.
	entry *Answer
	model Model
	// texts are the texts to embed as vectors of the given length; packed means base64.
	texts      []string
	dimensions int
	packed     bool

	out wire.Reply
	// proxied is set if the reply comes from a proxy, not from the provider.
	proxied bool
	status  int
}

// ServeHTTP implements [http.Handler]. Besides the APIs it serves its figures at /fakemodel/stats.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/fakemodel/stats" {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(s.Stats()); err != nil {
			panic(http.ErrAbortHandler) // the client left
		}
		return
	}
	x := &exchange{s: s, w: w, r: r, id: s.serial.Add(1), now: time.Now()}
	x.ask.Route = wire.RouteOf(r)
	x.serve()
}

func (x *exchange) serve() {
	if x.ask.Endpoint == "" || x.ask.Endpoint == wire.Count {
		x.fail(problem{kind: noSuchPath})
		return
	}
	method := http.MethodPost
	if x.ask.Endpoint == wire.Models {
		method = http.MethodGet
	}
	if x.r.Method != method {
		x.fail(problem{kind: wrongMethod})
		return
	}
	if want := x.s.options.Key; want != "" && x.ask.Provider != wire.Ollama {
		if p := x.keyProblem(want); p != nil {
			x.fail(*p)
			return
		}
	}
	if x.ask.Endpoint == wire.Models {
		x.list()
		return
	}
	limited := x.enter()
	defer x.s.inFlight.Add(-1)
	var body bytes.Buffer
	body.Grow(int(min(max(x.r.ContentLength, 0), bodyLimit)) + bytes.MinRead)
	if _, err := body.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, bodyLimit)); err != nil {
		x.fail(problem{kind: tooLarge})
		return
	}
	if limited {
		x.hold(0)
		x.fail(problem{kind: rateLimited})
		return
	}
	if p := x.understand(body.Bytes()); p != nil {
		x.fail(*p)
		return
	}
	x.perform()
}

// enter counts a request, and reports whether it exceeds a limit.
func (x *exchange) enter() bool {
	s := x.s
	n := s.inFlight.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Requests[string(x.ask.Provider)+" "+string(x.ask.Endpoint)]++
	s.stats.MaxConcurrent = max(s.stats.MaxConcurrent, n)
	limited := s.options.MaxConcurrent > 0 && n > int64(s.options.MaxConcurrent) ||
		!s.bucket.take(x.now, s.options.RatePerMinute)
	if limited {
		s.stats.Limited++
	}
	return limited
}

// bucket is a token bucket that holds one minute's requests.
type bucket struct {
	tokens float64
	last   time.Time
}

func (b *bucket) take(now time.Time, perMinute int) bool {
	if perMinute <= 0 {
		return true
	}
	if b.last.IsZero() {
		b.tokens, b.last = float64(perMinute), now
	}
	b.tokens = min(float64(perMinute), b.tokens+now.Sub(b.last).Minutes()*float64(perMinute))
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// understand parses the request and finds its model. It returns the problem if the provider would
// reject it.
func (x *exchange) understand(body []byte) *problem {
	q, err := wire.Read(x.ask.Route, body)
	if err != nil {
		return &problem{kind: badJSON}
	}
	x.ask = Ask{Request: q, Header: x.r.Header}
	if p := x.check(); p != nil {
		return p
	}
	if x.prompt == "" {
		x.prompt = x.ask.Prompt()
	}
	var known bool
	if x.model, known = x.s.options.Models[x.ask.Model]; !known && x.s.options.Models != nil {
		return &problem{kind: noSuchModel}
	}
	if x.model.Snapshot == "" {
		x.model.Snapshot = x.s.snapshot(x.ask.Provider, x.ask.Model)
	}
	if x.model.NoQuota {
		return &problem{kind: noQuota}
	}
	for _, p := range x.ask.Sent {
		if slices.Contains(x.model.Refuses, p.Name) {
			return &problem{kind: unsupportedParameter, param: p.Name}
		}
		if value := p.Value.Raw; slices.Contains(x.model.RefusesValue, p.Name) && value != "1" && value != "1.0" {
			return &problem{kind: unsupportedValue, param: p.Name, detail: value}
		}
	}
	return nil
}

// perform counts the question, waits for the model's latency, and replies or breaks.
func (x *exchange) perform() {
	s := x.s
	x.ask.Judge = x.ask.Endpoint != wire.Embeddings && isJudge(&x.ask)
	if s.options.Answer == nil {
		x.entry = s.answers.find(&x.ask, x.prompt)
	}
	h := hashText(x.prompt)
	fault := x.count(h)
	x.hold(mix(s.options.Seed, h, 0))
	x.answer()
	x.deliver(fault)
}

// count counts the attempt and returns its fault.
func (x *exchange) count(h uint64) Fault {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	q := question{h, hashText(x.ask.Model)}
	a := s.asked[q]
	if a == nil {
		a = new(asked)
		s.asked[q] = a
	}
	fault := x.fault(h, a.attempts)
	a.attempts++
	x.ask.Count = a.answers
	if fault != "" {
		s.stats.Faults[fault]++
		if !isAnswered(fault) {
			return fault
		}
	}
	a.answers++
	s.stats.Answered++
	if x.ask.Judge {
		s.stats.Judged++
	}
	if x.entry == nil && s.options.Answer == nil && !x.ask.Judge && x.ask.Endpoint != wire.Embeddings {
		s.stats.Unprepared++
	}
	return fault
}

func (x *exchange) fault(h uint64, attempt int) Fault {
	if x.entry != nil && x.entry.Fault != "" {
		return x.entry.Fault
	}
	f, seed := x.s.options.Faults, x.s.options.Seed
	if !x.ask.Judge {
		if broken := f.permanent(seed, h); broken != "" {
			return broken
		}
	}
	fault := f.at(seed, h, attempt)
	if fault == FaultRefused && len(x.optional()) == 0 {
		return ""
	}
	return fault
}

// optional returns the request parameters that a provider can reject while the request still makes
// sense.
func (x *exchange) optional() []wire.Parameter {
	return slices.DeleteFunc(slices.Clone(x.ask.Sent), func(p wire.Parameter) bool {
		switch p.Name {
		case "temperature", "top_p", "topP", "top_k", "topK", "seed", "reasoning_effort", "reasoning.effort":
			return false
		}
		return true
	})
}

// hold waits for the latency of the request, or until the client leaves.
func (x *exchange) hold(h uint64) {
	wait := x.s.options.Latency
	if jitter := x.s.options.LatencyJitter; jitter > 0 {
		wait += time.Duration(unit(h) * float64(jitter))
	}
	x.pause(wait - time.Since(x.now))
}

// pause waits for d, and reports whether the client is still there.
func (x *exchange) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.s.released:
		return true
	case <-x.r.Context().Done():
		return false
	}
}

// systemRole reports whether messages of the role instruct the model.
func systemRole(role string) bool { return role == plumb.RoleSystem || role == plumb.RoleDeveloper }
