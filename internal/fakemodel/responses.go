package fakemodel

import (
	"bytes"
	"strconv"
)

// responses writes a reply of OpenAI's responses API.
func (x *exchange) responses(rep reply) {
	p := &x.ask.Parameters
	status, reason, completed := "completed", "null", strconv.FormatInt(x.now.Unix(), 10)
	switch rep.finish {
	case finishLength:
		status, reason, completed = "incomplete", `{"reason":"max_output_tokens"}`, "null"
	case finishFilter:
		status, reason, completed = "incomplete", `{"reason":"content_filter"}`, "null"
	}
	item := x.hexToken(48)
	effort, limit := "null", "null"
	if p.ReasoningEffort != nil {
		effort = quote(*p.ReasoningEffort)
	}
	if p.MaxOutputTokens != nil {
		limit = strconv.FormatInt(*p.MaxOutputTokens, 10)
	}
	b := template(x.out, `{"id":"resp_%v","object":"response","created_at":%d,"status":"%v","background":false,`+
		`"completed_at":%v,"error":null,"incomplete_details":%v,"instructions":null,"max_output_tokens":%v,`+
		`"max_tool_calls":null,"model":%s,"output":[`,
		item, x.now.Unix(), status, completed, reason, limit, x.model.Snapshot)
	if rep.reasoning > 0 {
		b = template(b, `{"id":"rs_%v","type":"reasoning","summary":[]},`, item)
	}
	if rep.text != "" || rep.finish != finishLength { // a reply truncated while the model was thinking has no message
		part := template(nil, `{"type":"output_text","annotations":[],"logprobs":[],"text":%s}`, rep.text)
		if rep.finish == finishRefusal {
			part = template(nil, `{"type":"refusal","refusal":%s}`, rep.text)
		}
		b = template(b, `{"id":"msg_%v","type":"message","status":"%v","content":[%v],"role":"assistant"},`,
			item, status, string(part))
	}
	b = bytes.TrimSuffix(b, []byte(","))
	written := ""
	if rep.written > 0 {
		written = `,"cache_write_tokens":` + strconv.Itoa(rep.written)
	}
	x.out = template(b, `],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,`+
		`"reasoning":{"effort":%v,"summary":null},"safety_identifier":null,"service_tier":"default","store":true,`+
		`"temperature":%v,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],`+
		`"top_logprobs":0,"top_p":%v,"truncation":"disabled","usage":{"input_tokens":%d,"input_tokens_details":`+
		`{"cached_tokens":%d%v},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d},`+
		`"user":null,"metadata":{}}`+"\n",
		effort, floatOr1(p.Temperature), floatOr1(p.TopP), rep.input, rep.cached, written, rep.output, rep.reasoning,
		rep.input+rep.output)
}

// floatOr1 renders a number as Python prints a float; nil is the default of 1.
func floatOr1(f *float64) string {
	if f == nil {
		return "1.0"
	}
	s := strconv.FormatFloat(*f, 'f', -1, 64)
	if *f == float64(int64(*f)) {
		s += ".0"
	}
	return s
}
