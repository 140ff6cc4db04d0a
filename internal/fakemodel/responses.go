package fakemodel

import (
	"bytes"
	"strconv"
)

// responses writes a reply of OpenAI's responses API.
func (x *exchange) responses(rep reply) {
	id := "resp_" + x.hexToken(48)
	item := "msg_" + x.hexToken(48)
	if !x.ask.Stream {
		x.out = append(x.response(x.out, id, item, rep, true), '\n')
		return
	}
	x.kind, x.border = "text/event-stream; charset=utf-8", "\n\n"
	sequence := 0
	event := func(name, t string, args ...arg) {
		x.out = template(x.out, "event: %v\ndata: {\"type\":\"%v\",\"sequence_number\":%d", str(name), str(name),
			num(sequence))
		x.out = append(template(x.out, t, args...), "}\n\n"...)
		sequence++
	}
	begun := str(string(x.response(nil, id, item, rep, false)))
	event("response.created", `,"response":%v`, begun)
	event("response.in_progress", `,"response":%v`, begun)
	index := 0
	if rep.reasoning > 0 {
		thought := str(string(reasoningItem(nil, item)))
		event("response.output_item.added", `,"output_index":0,"item":%v`, thought)
		event("response.output_item.done", `,"output_index":0,"item":%v`, thought)
		index = 1
	}
	if rep.says() {
		x.responseText(event, item, index, rep)
	}
	last := "response.completed"
	if rep.incomplete() != "" {
		last = "response.incomplete"
	}
	event(last, `,"response":%v`, str(string(x.response(nil, id, item, rep, true))))
}

// responseText writes the events of the message.
func (x *exchange) responseText(event func(name, t string, args ...arg), item string, index int, rep reply) {
	part, delta, value := "output_text", "response.output_text", "text"
	if rep.finish == finishRefusal {
		part, delta, value = "refusal", "response.refusal", "refusal"
	}
	at := string(template(nil, `,"item_id":"%v","output_index":%d,"content_index":0`, str(item), num(index)))
	event("response.output_item.added",
		`,"output_index":%d,"item":{"id":"%v","type":"message","status":"in_progress","content":[],"role":"assistant"}`,
		num(index), str(item))
	event("response.content_part.added", `%v,"part":%v`, str(at), str(string(contentPart(nil, part, value, ""))))
	for _, piece := range pieces(rep.text) {
		event(delta+".delta", `%v,"delta":%s,"logprobs":[]`, str(at), str(piece))
	}
	event(delta+".done", `%v,"%v":%s,"logprobs":[]`, str(at), str(value), str(rep.text))
	event("response.content_part.done", `%v,"part":%v`, str(at), str(string(contentPart(nil, part, value, rep.text))))
	event("response.output_item.done", `,"output_index":%d,"item":%v`, num(index),
		str(string(messageItem(nil, item, rep))))
}

func reasoningItem(b []byte, item string) []byte {
	return template(b, `{"id":"rs_%v","type":"reasoning","summary":[]}`, str(item[4:]))
}

// says reports whether the reply has a message: a reply that was truncated while the model was
// thinking has none.
func (r reply) says() bool { return r.text != "" || r.finish != finishLength }

// incomplete returns why a response is incomplete, or "".
func (r reply) incomplete() string {
	switch r.finish {
	case finishLength:
		return "max_output_tokens"
	case finishFilter:
		return "content_filter"
	default:
		return ""
	}
}

func contentPart(b []byte, part, value, s string) []byte {
	if part == "refusal" {
		return template(b, `{"type":"refusal","refusal":%s}`, str(s))
	}
	return template(b, `{"type":"output_text","annotations":[],"logprobs":[],"%v":%s}`, str(value), str(s))
}

func messageItem(b []byte, id string, rep reply) []byte {
	status := "completed"
	if rep.incomplete() != "" {
		status = "incomplete"
	}
	b = template(b, `{"id":"%v","type":"message","status":"%v","content":[`, str(id), str(status))
	if rep.finish == finishRefusal {
		b = contentPart(b, "refusal", "refusal", rep.text)
	} else {
		b = contentPart(b, "output_text", "text", rep.text)
	}
	return append(b, `],"role":"assistant"}`...)
}

// response appends the response object, finished or in progress.
func (x *exchange) response(b []byte, id, item string, rep reply, finished bool) []byte {
	p := &x.ask.Parameters
	status, reason, completed := "completed", "null", "null"
	switch {
	case !finished:
		status = "in_progress"
	case rep.incomplete() != "":
		status, reason = "incomplete", `{"reason":"`+rep.incomplete()+`"}`
	default:
		completed = strconv.FormatInt(x.now.Unix(), 10)
	}
	b = template(b, `{"id":"%v","object":"response","created_at":%d,"status":"%v","background":false,"completed_at":%v,`+
		`"error":null,"incomplete_details":%v,"instructions":null,"max_output_tokens":%v,"max_tool_calls":null,"model":%s,"output":[`,
		str(id), num64(x.now.Unix()), str(status), str(completed), str(reason), nullInt(p.MaxOutputTokens),
		str(x.model.Snapshot))
	if finished {
		if rep.reasoning > 0 {
			b = append(reasoningItem(b, item), ',')
		}
		if rep.says() {
			b = append(messageItem(b, item, rep), ',')
		}
		b = bytes.TrimSuffix(b, []byte(","))
	}
	effort := "null"
	if p.ReasoningEffort != nil {
		effort = string(appendString(nil, *p.ReasoningEffort))
	}
	b = template(b, `],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,`+
		`"reasoning":{"effort":%v,"summary":null},"safety_identifier":null,"service_tier":"default","store":true,"temperature":%v,`+
		`"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":%v,`+
		`"truncation":"disabled","usage":`,
		str(effort), floatOr(p.Temperature, "1.0"), floatOr(p.TopP, "1.0"))
	if finished {
		b = template(b, `{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d%v},"output_tokens":%d,`+
			`"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			num(rep.input), num(rep.cached), rep.writes(), num(rep.output), num(rep.reasoning),
			num(rep.input+rep.output))
	} else {
		b = append(b, "null"...)
	}
	return append(b, `,"user":null,"metadata":{}}`...)
}

// writes returns OpenAI's member for tokens written to the cache, if there are any.
func (r reply) writes() arg {
	if r.written == 0 {
		return str("")
	}
	return str(`,"cache_write_tokens":` + strconv.Itoa(r.written))
}

// nullInt renders a number or null.
func nullInt(n *int64) arg {
	if n == nil {
		return str("null")
	}
	return str(strconv.FormatInt(*n, 10))
}

// floatOr renders a number as Python prints a float, or the default.
func floatOr(f *float64, otherwise string) arg {
	if f == nil {
		return str(otherwise)
	}
	s := strconv.FormatFloat(*f, 'f', -1, 64)
	if *f == float64(int64(*f)) {
		s += ".0"
	}
	return str(s)
}
