package wire

import (
	"fmt"
	"time"
)

// Answer is what the model answers, independent of the API.
type Answer struct {
	Text, Thought string
	Calls         []Call
	Finish        Finish
	Tokens        Tokens

	// Snapshot is the full name of the model, Fingerprint its system fingerprint, or "".
	Snapshot, Fingerprint string
	// ID is the part of the ids in the reply that makes them unique, At the time of the reply.
	ID string
	At time.Time
}

// Call is a call of a tool. Args is a JSON object, or any text if Custom is set. ID joins the call
// to its result.
type Call struct {
	Name, Namespace, Args, ID string
	Custom                    bool
}

// Tokens are the figures of one request. Input includes CacheRead and CacheWrite, Output includes
// Reasoning.
type Tokens struct {
	Input      int `json:"input,omitempty"`
	Output     int `json:"output,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
}

// Finish is how an answer ended.
type Finish int

// The ways to end. Refused means that the text is a refusal, Filtered that a filter cut the answer
// off, and Blocked that Google answered nothing because of the prompt.
const (
	Stopped Finish = iota
	CutOff
	Refused
	Filtered
	Blocked
)

// stockThought is the visible thought of a model that thinks, unless the answer has another one.
const stockThought = "The user wants an answer. I will give one."

// Reply is a reply as it is sent.
type Reply struct {
	ContentType string
	// Border ends each event of a stream. It is "" for other replies.
	Border string
	Body   []byte
}

// Encode writes the reply to a request.
func Encode(q *Request, a Answer) Reply {
	e := encoder{Request: q, Answer: a, out: Reply{ContentType: q.Provider.ContentType()}}
	switch q.Endpoint {
	case Chat:
		e.chat()
	case Responses:
		e.responses()
	case Messages:
		e.messages()
	case Generate:
		e.generate()
	default: // Anthropic's member, then Google's
		e.append(Object{"input_tokens", a.Tokens.Input, "totalTokens", a.Tokens.Input}, "")
	}
	return e.out
}

// encoder writes one reply.
type encoder struct {
	*Request
	Answer
	out Reply
}

// append appends a value on one line, and what comes after it.
func (e *encoder) append(v any, after string) {
	e.out.Body = append(Append(e.out.Body, v, false), after...)
}

// thinks returns the visible thought of the model, or "".
func (e *encoder) thinks() string {
	switch {
	case !e.Thoughts:
		return ""
	case e.Thought == "" && e.Tokens.Reasoning > 0:
		return stockThought
	default:
		return e.Thought
	}
}

// finish returns how the answer ended, in the words of an API: one for each [Finish], and one for an
// answer with calls.
func (e *encoder) finish(words ...string) string {
	if e.Finish == Stopped && len(e.Calls) > 0 {
		return words[Blocked+1]
	}
	return words[e.Finish]
}

// startEvents makes the reply a stream of server-sent events.
func (e *encoder) startEvents() {
	e.out.ContentType, e.out.Border = "text/event-stream; charset=utf-8", "\n\n"
}

// data writes a server-sent event without a name.
func (e *encoder) data(v any) {
	e.out.Body = append(e.out.Body, "data: "...)
	e.append(v, "\n\n")
}

// event writes a server-sent event whose data has its name as type.
func (e *encoder) event(name string, data ...any) {
	e.out.Body = fmt.Appendf(e.out.Body, "event: %s\n", name)
	e.data(append(Object{"type", name}, data...))
}

// pieces splits a text as a stream does.
func pieces(s string) []string {
	var out []string
	for r := []rune(s); len(r) > 0; {
		n := min(len(r), max(12, len(s)/16))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}

// mapped returns f of each element.
func mapped[T any](all []T, f func(i int, v T) any) []any {
	out := make([]any, len(all))
	for i, v := range all {
		out[i] = f(i, v)
	}
	return out
}
