// Package fakemodel is a model server for tests and benchmarks, in the formats of package wire. It
// rejects requests as the providers do, answers from a table or a function, and simulates all kinds
// of network and provider failures.
//
// Its behavior depends only on the seed, the prompt and the number of earlier requests with the
// prompt, never on time or chance: [Faults.Truth] predicts which prompts can be answered. So a
// storm of faults has a known right result and can be repeated.
//
// For coding agents it plays scripts with faults: see [Agents].
//
// In this package, the prompt is the text of the last user message.
package fakemodel

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/wire"
)

// Behavior is that of a [Server]. The zero value answers every model at once, and never breaks.
type Behavior struct {
	// Key is the API key that requests must have, in the provider's own header; "" accepts all.
	// Ollama has no keys.
	Key string
	// Answers is the table of answers. The first match is used. See [ReadAnswers].
	Answers []Answer
	// Answer replaces the table and all other rules. It must be safe for concurrent use.
	Answer func(Ask) string
	// Models are the known models by name. For others the server returns the provider's "no such
	// model" error. With nil it accepts every name, with the dated snapshots of [RealModels].
	Models map[string]Model
	// Dimensions is the default length of embedding vectors; 0 means 128.
	Dimensions int

	// Latency is the time from request to reply. LatencyJitter adds up to its value, by prompt.
	Latency, LatencyJitter time.Duration
	// MaxConcurrent and RatePerMinute are limits. Requests above them get the provider's 429. 0
	// means no limit.
	MaxConcurrent, RatePerMinute int
	// MaxStreams limits the concurrent requests on an HTTP/2 connection of [Server.Listen]; 0 means
	// 250.
	MaxStreams int
	// IdleTimeout is when [Server.Listen] closes an idle connection; 0 means never.
	IdleTimeout time.Duration
	// RetryAfter is the wait that a 429 requests, in whole seconds on the wire, rounded up; 0 means
	// one second.
	RetryAfter time.Duration
	// Seed determines faults, ids and jitter.
	Seed uint64
	// Faults configure which requests break.
	Faults Faults
}

// Model has the properties of one model. The zero value is a plain model.
type Model struct {
	// Snapshot is the dated name in replies; "" means the usual one, or the name itself.
	Snapshot string
	// Refuses are names of request parameters that the model rejects with a 400. RefusesValue are
	// parameters that must have their default value, like the temperature of some models.
	Refuses, RefusesValue []string
	// Reasoning is the number of thinking tokens before an answer. They count against the limit on
	// output tokens. If they exceed it, the answer is empty and truncated.
	Reasoning int
	// CachedTokens and CacheWriteTokens are reported for each request, together at most its input.
	CachedTokens, CacheWriteTokens int
	// Blocks makes the model refuse all prompts.
	Blocks Block
	// NoQuota makes each request fail as for an account without money.
	NoQuota bool
}

// Block is a way in which a provider withholds an answer.
type Block string

// The ways to withhold an answer.
const (
	// BlockRefusal is a refusal instead of an answer: OpenAI's refusal field, Anthropic's stop
	// reason, Google's SAFETY.
	BlockRefusal Block = "refusal"
	// BlockFilter truncates an answer in the middle: finish reason content_filter or its
	// equivalent.
	BlockFilter Block = "filter"
	// BlockPrompt rejects the prompt itself: status 400, or Google's promptFeedback.
	BlockPrompt Block = "prompt"
)

// Ask is one request as the server understood it.
type Ask struct {
	wire.Request
	// Count is how often this model has answered this prompt before.
	Count int
	// Judge is set for a question that requests YES or NO.
	Judge bool
	// Header is that of the request. It must not be changed or kept.
	Header http.Header
}

// Prompt is the text of the last user message.
func (a *Ask) Prompt() string {
	for _, m := range slices.Backward(a.Messages) {
		if m.Role == plumb.RoleUser {
			return m.Content
		}
	}
	return ""
}

// Server is a fake model server. It is an [http.Handler], safe for concurrent use, and needs no
// closing except [Server.Release].
type Server struct {
	options  Behavior
	answers  *table
	dates    map[string]string // see dates
	wordings wordings
	started  time.Time
	released chan struct{}
	release  sync.Once

	serial   atomic.Uint64
	inFlight atomic.Int64

	mu     sync.Mutex // guards what follows
	stats  Stats
	asked  map[question]*asked
	bucket bucket
}

// question identifies requests that are counted together: one prompt to one model.
type question struct{ prompt, model uint64 }

// asked counts the attempts and answers of a question.
type asked struct{ attempts, answers int }

// New returns a server with the given options.
func New(o Behavior) *Server {
	if o.Dimensions <= 0 {
		o.Dimensions = 128
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = time.Second
	}
	return &Server{
		options: o, answers: newTable(o.Answers), dates: dates(), wordings: readWordings(), started: time.Now(), released: make(chan struct{}),
		asked: map[question]*asked{},
		stats: Stats{Requests: map[string]int64{}, Faults: map[Fault]int64{}, Statuses: map[int]int64{}},
	}
}

// Release ends all hanging requests, now and later.
func (s *Server) Release() { s.release.Do(func() { close(s.released) }) }

// Stats are the figures of a [Server] so far.
type Stats struct {
	// Requests counts requests by provider and endpoint, such as "openai chat", rejected ones
	// included.
	Requests map[string]int64 `json:"requests"`
	// Prompts counts the requests by the hash of their prompt, without those rejected before they
	// reached a model.
	Prompts map[string]int `json:"prompts"`
	// Answered counts complete right answers, Unprepared those without a matching rule, and Judged
	// those to judges' questions.
	Answered   int64 `json:"answered"`
	Unprepared int64 `json:"unprepared"`
	Judged     int64 `json:"judged"`
	// Faults counts the faults served.
	Faults map[Fault]int64 `json:"faults"`
	// Statuses counts replies by HTTP status; 0 means no status.
	Statuses map[int]int64 `json:"statuses"`
	// Limited counts requests above a limit of [Behavior].
	Limited int64 `json:"limited"`
	// MaxConcurrent is the largest number of concurrent requests.
	MaxConcurrent int64 `json:"maxConcurrent"`
}

// Total is the number of requests to all endpoints that reach a model.
func (s *Stats) Total() int64 {
	total := int64(0)
	for _, n := range s.Requests {
		total += n
	}
	return total
}

// Stats returns a copy of the figures.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Requests, out.Faults, out.Statuses = maps.Clone(out.Requests), maps.Clone(out.Faults), maps.Clone(out.Statuses)
	out.Prompts = make(map[string]int, len(s.asked))
	for q, a := range s.asked {
		out.Prompts[hex(q.prompt)] += a.attempts
	}
	return out
}

// Truth predicts the result for a prompt that is repeated until it is answered.
func (s *Server) Truth(prompt string) Truth { return s.options.Faults.Truth(s.options.Seed, prompt) }
