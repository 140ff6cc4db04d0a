// Package fakemodel is a model server for tests and benchmarks. It speaks the wire formats of the real model APIs
// (OpenAI and what is compatible with it, Azure, Anthropic, Google, Ollama), checks requests as they do, answers from a
// table or a function, and breaks in every way a network and a provider can break.
//
// What it does with a prompt follows from the seed, the prompt and the number of times the prompt has been asked, never
// from time or chance: [Faults.Truth] says beforehand which prompts can be answered at all. So a storm of faults has a
// known right result, and can be repeated.
//
// For coding agents it plays scripts, in which the model calls the tools that the agent offers: see [Agents].
//
// The prompt, wherever this package speaks of it, is the text of the last user message.
package fakemodel

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumb-eval/plumb"
)

// Provider names the API that a request was made in.
type Provider string

// The providers. A request to an OpenAI path counts as Ollama below the prefix /ollama, as Azure with an api-key header
// or below /openai/deployments, and as OpenAI otherwise.
const (
	OpenAI    Provider = "openai"
	Azure     Provider = "azure"
	Anthropic Provider = "anthropic"
	Google    Provider = "google"
	Ollama    Provider = "ollama"
)

// Options say how a [Server] behaves. The zero value answers every model at once, and never breaks.
type Options struct {
	// Key is the API key that requests must carry, in the provider's own header; "" accepts all. Ollama has no keys.
	Key string
	// Answers is the table of answers; the first that matches is given. See [ReadAnswers].
	Answers []Answer
	// Answer replaces the table and all other rules. It is called from many goroutines at once.
	Answer func(Ask) string
	// Models are the known models by name; others get the provider's "no such model". Nil knows every name, and lends
	// each its dated snapshot where it has one. See [RealModels].
	Models map[string]Model
	// Dimensions is the length of embedding vectors where the request does not say; 0 means 128.
	Dimensions int

	// Latency is the time from request to reply. LatencyJitter adds up to as much again, by prompt.
	Latency, LatencyJitter time.Duration
	// MaxConcurrent and RatePerMinute are the limits above which requests get the provider's 429; 0 means none.
	MaxConcurrent, RatePerMinute int
	// MaxStreams is how many requests share a connection of HTTP/2, where [Server.Listen] serves it; 0 means 250.
	MaxStreams int
	// IdleTimeout is when [Server.Listen] closes a connection on which nothing is asked; 0 means never.
	IdleTimeout time.Duration
	// RetryAfter is what a 429 tells clients to wait, in whole seconds on the wire, rounded up; 0 means one second.
	RetryAfter time.Duration
	// Seed decides about faults, ids and jitter.
	Seed uint64
	// Faults are the requests that break.
	Faults Faults
}

// Model is what sets one model apart from others. The zero value has no peculiarities.
type Model struct {
	// Snapshot is the dated name that replies echo; "" takes the usual one, or the name itself.
	Snapshot string
	// Fingerprint is the system_fingerprint; "" derives one from the snapshot.
	Fingerprint string
	// Refuses are names of parameters, as in the request, that the model answers with a 400. RefusesValue does it only
	// for values that are not the default, in the words of models with a fixed temperature.
	Refuses, RefusesValue []string
	// Reasoning is the number of tokens spent on thinking before an answer. It counts against the cap on output tokens:
	// a cap it exceeds leaves an empty answer, cut off.
	Reasoning int
	// CachedTokens and CacheWriteTokens are reported for each request, at most its whole input together.
	CachedTokens, CacheWriteTokens int
	// Blocks makes the model refuse all prompts.
	Blocks Block
	// NoQuota makes each request fail as on an account without money.
	NoQuota bool
}

// Block is a way in which a provider withholds an answer.
type Block string

// The ways to withhold an answer.
const (
	// BlockRefusal is a refusal in place of an answer: OpenAI's refusal field, Anthropic's stop reason, Google's SAFETY.
	BlockRefusal Block = "refusal"
	// BlockFilter cuts an answer off half-way: finish reason content_filter and its kin.
	BlockFilter Block = "filter"
	// BlockPrompt rejects the prompt itself: status 400, or Google's promptFeedback.
	BlockPrompt Block = "prompt"
)

// Ask is one question as the server understood it.
type Ask struct {
	Provider Provider
	// Endpoint is the operation: "chat", "responses", "messages", "generateContent", "embeddings".
	Endpoint string
	Model    string
	// System is the text of all system and developer messages, whichever way they came.
	System string
	// Messages are those of the conversation in order, with the roles they had on the wire, except that Google's "model"
	// is "assistant". OpenAI's and Ollama's system messages are among them, Anthropic's and Google's are not.
	Messages []plumb.Message
	// Parameters are those that the request named.
	Parameters plumb.Parameters
	// Stream says that a stream was asked for.
	Stream bool
	// Count is how often this model has answered this prompt before.
	Count int
	// Judge says that the question asks for YES or NO.
	Judge bool
	// Header and Body are the request itself; they must be neither changed nor kept.
	Header http.Header
	Body   []byte
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

// Server is a fake model server. It is an [http.Handler], safe for concurrent use, and needs no closing, but see
// [Server.Release].
type Server struct {
	options  Options
	answers  *table
	started  time.Time
	released chan struct{}
	release  sync.Once
	buffers  sync.Pool
	fixed    fixedHeaders

	serial   atomic.Uint64
	inFlight atomic.Int64

	mu     sync.Mutex // guards what follows
	stats  Stats
	asked  map[question]*asked
	bucket bucket
}

// question identifies what is counted together: one prompt to one model.
type question struct{ prompt, model uint64 }

// asked counts what happened to a question.
type asked struct{ attempts, answers int }

// New returns a server that behaves as o says.
func New(o Options) *Server {
	if o.Dimensions <= 0 {
		o.Dimensions = 128
	}
	if o.RetryAfter <= 0 {
		o.RetryAfter = time.Second
	}
	s := &Server{
		options: o, answers: newTable(o.Answers), started: time.Now(), released: make(chan struct{}),
		asked: map[question]*asked{}, fixed: newFixedHeaders(),
		stats: Stats{Requests: map[string]int64{}, Faults: map[Fault]int64{}, Statuses: map[int]int64{}},
	}
	s.buffers.New = func() any { return new(buffers) }
	return s
}

// Release ends all requests that hang, now and later.
func (s *Server) Release() { s.release.Do(func() { close(s.released) }) }

// Stats are the figures of a [Server] so far.
type Stats struct {
	// Requests counts requests by provider and endpoint, such as "openai chat", rejected ones included.
	Requests map[string]int64 `json:"requests"`
	// Prompts counts the requests of each prompt, by [PromptHash]; those rejected before they reached a model are not in it.
	Prompts map[string]int `json:"prompts"`
	// Answered counts whole and right answers, Unprepared those of them that no rule had an answer for, and Judged those
	// to judges' questions.
	Answered   int64 `json:"answered"`
	Unprepared int64 `json:"unprepared"`
	Judged     int64 `json:"judged"`
	// Faults counts the faults served.
	Faults map[Fault]int64 `json:"faults"`
	// Statuses counts replies by HTTP status; what got no status is under 0.
	Statuses map[int]int64 `json:"statuses"`
	// Limited counts requests above a limit of [Options].
	Limited int64 `json:"limited"`
	// MaxConcurrent is the largest number of requests in flight at one time.
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

// Truth says what becomes of a prompt that is asked until it is answered.
func (s *Server) Truth(prompt string) Truth { return s.options.Faults.Truth(s.options.Seed, prompt) }
