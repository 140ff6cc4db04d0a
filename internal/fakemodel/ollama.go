package fakemodel

import "time"

// ollamaChat writes a reply of Ollama's own chat API: one object, or one per line.
func (x *exchange) ollamaChat(rep reply) {
	x.kind = "application/json; charset=utf-8"
	head := template(nil, `{"model":%s,"created_at":%s,"message":{"role":"assistant","content":`,
		str(x.ask.Model), str(x.now.UTC().Format(time.RFC3339Nano)))
	content := rep.text
	if x.ask.Stream {
		x.kind, x.border = "application/x-ndjson", "\n"
		for _, piece := range pieces(rep.text) {
			x.out = append(appendString(append(x.out, head...), piece), "},\"done\":false}\n"...)
		}
		content = ""
	}
	reason := "stop"
	if rep.finish == finishLength {
		reason = "length"
	}
	x.out = appendString(append(x.out, head...), content)
	if x.thinking && rep.reasoning > 0 {
		x.out = template(x.out, `,"thinking":%s`, str(stockThought))
	}
	spent := time.Since(x.now).Nanoseconds() + 1
	x.out = template(x.out, `},"done":true,"done_reason":"%v","total_duration":%d,"load_duration":%d,"prompt_eval_count":%d,`+
		`"prompt_eval_duration":%d,"eval_count":%d,"eval_duration":%d}`,
		str(reason), num64(spent), num64(spent/4), num(rep.input), num64(spent/4), num(rep.output), num64(spent/2))
	if x.ask.Stream {
		x.out = append(x.out, '\n')
	}
}

// ollamaError writes an error of Ollama: of its OpenAI-compatible API below /v1, or of its own API.
func (x *exchange) ollamaError(p problem) {
	message, kind, code, param := x.openAIWords(p)
	switch p.kind {
	case noSuchModel:
		message, kind, code = "model '"+x.ask.Model+"' not found", "not_found_error", ""
	case noSuchPath:
		x.kind = "text/plain"
		x.out = append(x.out, "404 page not found"...)
		return
	case rateLimited, overloaded:
		x.status = 503
		message, kind, code = "server busy, please try again.  maximum pending requests exceeded", "api_error", ""
	case serverError:
		message, kind = "llama runner process has terminated: exit status 2", "api_error"
	case missingParameter:
		message, code = p.param+" is required", ""
	default: // as for OpenAI
	}
	if x.rt.op == opChat || x.rt.op == opEmbeddings || x.rt.op == opResponses {
		_ = param // Ollama never names one
		x.out = template(x.out, `{"error":{"message":%s,"type":%s,"param":null,"code":`, str(message), str(kind))
		if code == "" {
			x.out = append(x.out, "null"...)
		} else {
			x.out = appendString(x.out, code)
		}
		x.out = append(x.out, "}}\n"...)
		return
	}
	x.out = template(x.out, `{"error":%s}`, str(message))
}
