package fakemodel

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// stockThought is the visible thought of all models that think.
const stockThought = "The user wants an answer. I will give one."

// thinks returns the visible thought of the model, or "".
func (r *reply) thinks() string {
	if r.reasoning > 0 {
		return stockThought
	}
	return ""
}

// message writes a reply of Anthropic's messages API.
func (x *exchange) message(rep reply) {
	id := "msg_01" + x.token(22)
	if x.ask.Stream {
		x.messageStream(id, rep)
		return
	}
	b := template(x.out, `{"model":%s,"id":"%v","type":"message","role":"assistant","content":[`, str(x.model.Snapshot),
		str(id))
	if shown := rep.thinks(); x.thinking && shown != "" {
		b = template(b, `{"type":"thinking","thinking":%s,"signature":"ZmFrZS1zaWduYXR1cmU="},`, str(shown))
	}
	if spoken := anthropicText(rep); spoken != "" {
		b = template(b, `{"type":"text","text":%s},`, str(spoken))
	}
	b = bytes.TrimSuffix(b, []byte(","))
	b = template(b, `],"stop_reason":"%v","stop_sequence":null,"usage":`, str(anthropicFinish(rep)))
	x.out = append(appendAnthropicUsage(b, rep, rep.output), '}')
}

// anthropicText is the text of the reply. A refusal has none.
func anthropicText(rep reply) string {
	if rep.finish == finishRefusal {
		return ""
	}
	return rep.text
}

func anthropicFinish(rep reply) string {
	switch rep.finish {
	case finishLength:
		return "max_tokens"
	case finishRefusal, finishFilter:
		return "refusal"
	default:
		return "end_turn"
	}
}

// appendAnthropicUsage appends the usage, in which input excludes cached tokens.
func appendAnthropicUsage(b []byte, rep reply, output int) []byte {
	b = template(b, `{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},"output_tokens":%d,`,
		num(rep.input-rep.cached-rep.written), num(rep.written), num(rep.cached), num(rep.written), num(output))
	if rep.reasoning > 0 {
		b = template(b, `"output_tokens_details":{"thinking_tokens":%d},`, num(rep.reasoning))
	}
	return append(b, `"service_tier":"standard"}`...)
}

func (x *exchange) messageStream(id string, rep reply) {
	x.kind, x.border = "text/event-stream; charset=utf-8", "\n\n"
	event := func(name, t string, args ...arg) {
		x.out = template(x.out, "event: %v\ndata: {\"type\":\"%v\"", str(name), str(name))
		x.out = append(template(x.out, t, args...), "}\n\n"...)
	}
	event("message_start", `,"message":{"model":%s,"id":"%v","type":"message","role":"assistant","content":[],`+
		`"stop_reason":null,"stop_sequence":null,"usage":%v}`,
		str(x.model.Snapshot), str(id), str(string(appendAnthropicUsage(nil, rep, 1))))
	index := 0
	if shown := rep.thinks(); x.thinking && shown != "" {
		event("content_block_start", `,"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`)
		event("content_block_delta", `,"index":0,"delta":{"type":"thinking_delta","thinking":%s}`, str(shown))
		event("content_block_delta", `,"index":0,"delta":{"type":"signature_delta","signature":"ZmFrZS1zaWduYXR1cmU="}`)
		event("content_block_stop", `,"index":0`)
		index = 1
	}
	if spoken := anthropicText(rep); spoken != "" {
		event("content_block_start", `,"index":%d,"content_block":{"type":"text","text":""}`, num(index))
		event("ping", "")
		for _, piece := range pieces(spoken) {
			event("content_block_delta", `,"index":%d,"delta":{"type":"text_delta","text":%s}`, num(index), str(piece))
		}
		event("content_block_stop", `,"index":%d`, num(index))
	}
	event("message_delta", `,"delta":{"stop_reason":"%v","stop_sequence":null},"usage":%v`,
		str(anthropicFinish(rep)), str(string(appendAnthropicUsage(nil, rep, rep.output))))
	event("message_stop", "")
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

// anthropicError writes an error of the messages API.
func (x *exchange) anthropicError(p problem) {
	kind, message := "invalid_request_error", p.detail
	switch p.kind {
	case badJSON:
		message = "The request body is not valid JSON: invalid syntax"
	case tooLarge:
		kind, message = "request_too_large", "Request exceeds the maximum size"
	case noSuchPath:
		kind, message = "not_found_error", "Not Found"
	case wrongMethod:
		message = "Method Not Allowed"
	case wrongKey, unauthorized:
		kind, message = "authentication_error", "invalid x-api-key"
		if p.missing {
			message = "x-api-key header is required"
		}
	case noSuchModel:
		kind, message = "not_found_error", "model: "+x.ask.Model
	case noQuota:
		x.status = http.StatusBadRequest
		message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
	case rateLimited:
		limit, _ := x.limits()
		kind = "rate_limit_error"
		message = "This request would exceed your organization's rate limit of " + itoa(limit) +
			" requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later."
	case requestTimeout:
		kind, message = "timeout_error", "Request timed out"
	case conflict:
		message = "The request conflicts with another one. Please try again."
	case serverError:
		kind, message = "api_error", "Internal server error"
	case overloaded:
		x.status = 529
		kind, message = "overloaded_error", "Overloaded"
	case missingParameter:
		message = p.param + ": Field required"
	case unknownParameter:
		message = p.param + ": Extra inputs are not permitted"
	case unsupportedParameter, unsupportedValue:
		message = "`" + p.param + "` is deprecated for this model."
	case promptBlocked:
		message = "Output blocked by content filtering policy"
	default: // the detail is the message
	}
	x.out = template(x.out, `{"type":"error","error":{"type":%s,"message":%s},"request_id":%s}`,
		str(kind), str(message), str(x.requestID()))
}
