package fakemodel

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"time"
)

// stockThought is the visible thought of all models that think.
const stockThought = "The user wants an answer. I will give one."

// message writes a reply of Anthropic's messages API. Its input tokens exclude cached ones, and a
// refusal has no text.
func (x *exchange) message(rep reply) {
	stop := "end_turn"
	switch rep.finish {
	case finishLength:
		stop = "max_tokens"
	case finishRefusal:
		rep.text, stop = "", "refusal"
	case finishFilter:
		stop = "refusal"
	}
	b := template(x.out, `{"model":%s,"id":"msg_01%v","type":"message","role":"assistant","content":[`,
		x.model.Snapshot, x.token(22))
	if x.thinking && rep.reasoning > 0 {
		b = template(b, `{"type":"thinking","thinking":%s,"signature":"ZmFrZS1zaWduYXR1cmU="},`, stockThought)
	}
	if rep.text != "" {
		b = template(b, `{"type":"text","text":%s},`, rep.text)
	}
	b = bytes.TrimSuffix(b, []byte(","))
	b = template(b, `],"stop_reason":"%v","stop_sequence":null,"usage":`+
		`{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,`,
		stop, rep.input-rep.cached-rep.written, rep.written, rep.cached, rep.written, rep.output)
	if rep.reasoning > 0 {
		b = template(b, `"output_tokens_details":{"thinking_tokens":%d},`, rep.reasoning)
	}
	x.out = append(b, `"service_tier":"standard"}}`...)
}

func (x *exchange) anthropicHeaders(h http.Header) {
	limit, left := x.limits()
	reset := time.Now().Add(time.Duration(limit-left) * time.Minute / time.Duration(limit)).UTC().Format(time.RFC3339)
	h["Request-Id"] = []string{x.requestID()}
	h["Anthropic-Organization-Id"] = []string{"00000000-0000-4000-8000-000000000000"}
	h["Anthropic-Ratelimit-Requests-Limit"] = []string{strconv.Itoa(limit)}
	h["Anthropic-Ratelimit-Requests-Remaining"] = []string{strconv.Itoa(left)}
	h["Anthropic-Ratelimit-Requests-Reset"] = []string{reset}
	h["Anthropic-Ratelimit-Input-Tokens-Limit"] = []string{"2000000"}
	h["Anthropic-Ratelimit-Input-Tokens-Remaining"] = []string{"1999000"}
	h["Anthropic-Ratelimit-Input-Tokens-Reset"] = []string{reset}
	h["Anthropic-Ratelimit-Output-Tokens-Limit"] = []string{"400000"}
	h["Anthropic-Ratelimit-Output-Tokens-Remaining"] = []string{"399000"}
	h["Anthropic-Ratelimit-Output-Tokens-Reset"] = []string{reset}
}

// requestID is the id of the request in Anthropic's headers and errors.
func (x *exchange) requestID() string { return "req_011" + x.token(21) }

// anthropicErrors are the errors of the messages API.
var anthropicErrors = map[problemKind]wording{
	badJSON:     {message: "The request body is not valid JSON: invalid syntax"},
	tooLarge:    {kind: "request_too_large", message: "Request exceeds the maximum size"},
	noSuchPath:  {kind: "not_found_error", message: "Not Found"},
	wrongMethod: {message: "Method Not Allowed"},
	noKey:       {kind: "authentication_error", message: "x-api-key header is required"},
	wrongKey:    {kind: "authentication_error", message: "invalid x-api-key"},
	noSuchModel: {kind: "not_found_error", message: "model: {model}"},
	noQuota: {
		status: http.StatusBadRequest,
		message: "Your credit balance is too low to access the Anthropic API. " +
			"Please go to Plans & Billing to upgrade or purchase credits.",
	},
	rateLimited: {
		kind: "rate_limit_error",
		message: "This request would exceed your organization's rate limit of {limit} requests per minute. For " +
			"details, " +
			"refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current " +
			"usage. " +
			"Please reduce the prompt length or the maximum tokens requested, or try again later.",
	},
	requestTimeout:       {kind: "timeout_error", message: "Request timed out"},
	conflict:             {message: "The request conflicts with another one. Please try again."},
	serverError:          {kind: "api_error", message: "Internal server error"},
	overloaded:           {status: 529, kind: "overloaded_error", message: "Overloaded"},
	missingParameter:     {message: "{param}: Field required"},
	unknownParameter:     {message: "{param}: Extra inputs are not permitted"},
	unsupportedParameter: {message: "`{param}` is deprecated for this model."},
	unsupportedValue:     {message: "`{param}` is deprecated for this model."},
	promptBlocked:        {message: "Output blocked by content filtering policy"},
}

// anthropicError writes an error of the messages API.
func (x *exchange) anthropicError(p problem) {
	w := x.words(anthropicErrors, p)
	x.out = template(x.out, `{"type":"error","error":{"type":%s,"message":%s},"request_id":%s}`,
		cmp.Or(w.kind, "invalid_request_error"), w.message, x.requestID())
}
