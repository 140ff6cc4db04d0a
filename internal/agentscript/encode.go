package agentscript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/tidwall/gjson"
)

// stockThought is what the model thinks when a turn has reasoning tokens and no text for them.
const stockThought = "The user wants an answer. I will give one."

// answer is an answer of the model, independent of the API.
type answer struct {
	text, thought string
	calls         []toolCall
	tokens        Tokens
}

// thinks returns the visible thought of the model, or "".
func (a *answer) thinks() string {
	if a.thought == "" && a.tokens.Reasoning > 0 {
		return stockThought
	}
	return a.thought
}

// encoder writes an answer in the format of an API.
type encoder struct {
	id      uint64 // of the request
	now     time.Time
	model   string
	request gjson.Result
	// stream is set for a stream, events for Google's stream of events instead of an array.
	stream, events bool

	out          bytes.Buffer
	border, kind string
}

func (e *encoder) encode(to api, a answer) {
	switch to {
	case apiChat:
		e.chat(a)
	case apiResponses:
		e.responses(a)
	case apiMessages:
		e.messages(a)
	case apiGenerate:
		e.generate(a)
	default: // Anthropic's member, then Google's
		e.out.WriteString(encode(object{"input_tokens": a.tokens.Input, "totalTokens": a.tokens.Input}))
	}
}

// startEvents makes the output a stream of server-sent events.
func (e *encoder) startEvents() { e.kind, e.border = "text/event-stream; charset=utf-8", "\n\n" }

// event writes a server-sent event whose data has its name as type.
func (e *encoder) event(name string, data object) {
	data["type"] = name
	fmt.Fprintf(&e.out, "event: %s\ndata: %s\n\n", name, encode(data))
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

// chat writes a chat completion of OpenAI.
func (e *encoder) chat(a answer) {
	t := a.tokens
	usage := object{
		"prompt_tokens": t.Input, "completion_tokens": t.Output, "total_tokens": t.Input + t.Output,
		"prompt_tokens_details":     withWritten(object{"cached_tokens": t.CacheRead}, t),
		"completion_tokens_details": object{"reasoning_tokens": t.Reasoning},
	}
	finish := "stop"
	calls := make([]any, len(a.calls))
	for i, c := range a.calls {
		finish = "tool_calls"
		calls[i] = object{
			"index": i, "id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.args},
		}
	}
	reply := object{"id": fmt.Sprintf("chatcmpl-%029d", e.id), "created": e.now.Unix(), "model": e.model}
	if !e.stream {
		message := object{"role": "assistant", "content": a.text, "refusal": nil, "annotations": []any{}}
		if len(calls) > 0 {
			message["tool_calls"] = calls
		}
		reply["object"], reply["usage"] = "chat.completion", usage
		reply["choices"] = []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": finish}}
		e.out.WriteString(encode(reply))
		return
	}
	e.startEvents()
	reply["object"] = "chat.completion.chunk"
	wantsUsage := e.request.Get("stream_options.include_usage").Bool()
	if wantsUsage {
		reply["usage"] = nil
	}
	chunk := func(delta object, finish any) {
		reply["choices"] = []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}
		fmt.Fprintf(&e.out, "data: %s\n\n", encode(reply))
	}
	chunk(object{"role": "assistant", "content": "", "refusal": nil}, nil)
	if a.thought != "" { // as compatible servers show it; OpenAI itself shows no thoughts
		chunk(object{"reasoning_content": a.thought}, nil)
	}
	for _, piece := range pieces(a.text) {
		chunk(object{"content": piece}, nil)
	}
	for _, call := range calls {
		chunk(object{"tool_calls": []any{call}}, nil)
	}
	chunk(object{}, finish)
	if wantsUsage {
		reply["choices"], reply["usage"] = []any{}, usage
		fmt.Fprintf(&e.out, "data: %s\n\n", encode(reply))
	}
	e.out.WriteString("data: [DONE]\n\n")
}

// withWritten adds the tokens that were written to the cache, if any, to OpenAI's details of the
// input.
func withWritten(details object, t Tokens) object {
	if t.CacheWrite > 0 {
		details["cache_write_tokens"] = t.CacheWrite
	}
	return details
}

// responses writes a response of OpenAI.
func (e *encoder) responses(a answer) {
	items := e.items(a)
	t := a.tokens
	response := object{
		"id": fmt.Sprintf("resp_%048x", e.id), "object": "response", "created_at": e.now.Unix(), "model": e.model,
		"status": "in_progress", "error": nil, "incomplete_details": nil, "instructions": nil,
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "temperature": 1, "top_p": 1,
		"metadata": object{}, "output": []any{}, "usage": nil,
	}
	done := maps.Clone(response)
	var output []any
	for _, item := range items {
		output = append(output, item.done)
	}
	done["status"], done["output"] = "completed", output
	done["usage"] = object{
		"input_tokens": t.Input, "output_tokens": t.Output, "total_tokens": t.Input + t.Output,
		"input_tokens_details":  withWritten(object{"cached_tokens": t.CacheRead}, t),
		"output_tokens_details": object{"reasoning_tokens": t.Reasoning},
	}
	if !e.stream {
		e.out.WriteString(encode(done))
		return
	}
	e.startEvents()
	sequence := 0
	event := func(name string, data object) {
		data["sequence_number"] = sequence
		sequence++
		e.event(name, data)
	}
	event("response.created", object{"response": response})
	event("response.in_progress", object{"response": response})
	for i, item := range items {
		event("response.output_item.added", object{"output_index": i, "item": item.started})
		item.events(func(name, member string, value any) {
			data := object{"item_id": item.done["id"], "output_index": i, member: value}
			if item.index != "" {
				data[item.index] = 0
			}
			event("response."+name, data)
		})
		event("response.output_item.done", object{"output_index": i, "item": item.done})
	}
	event("response.completed", object{"response": done})
}

// responseItem is an item in the output of a response.
type responseItem struct {
	// started is the item at its start in a stream, done the complete item.
	started, done object
	// text is the text of the item. A stream sends it in events of this kind, and at last in this
	// member. An item without a kind is sent at once.
	text, kind, member string
	// partKind is the kind of the events for a part of the item, index the part's index, and part
	// returns a part with a text. Calls have no parts.
	partKind, index string
	part            func(text string) object
}

// events emits the events of an item between its start and its end.
func (r *responseItem) events(emit func(name, member string, value any)) {
	if r.kind == "" {
		return
	}
	if r.part != nil {
		emit(r.partKind+".added", "part", r.part(""))
	}
	for _, piece := range pieces(r.text) {
		emit(r.kind+".delta", "delta", piece)
	}
	emit(r.kind+".done", r.member, r.text)
	if r.part != nil {
		emit(r.partKind+".done", "part", r.part(r.text))
	}
}

// items returns the output of a response: a thought, a message, and calls.
func (e *encoder) items(a answer) []responseItem {
	var items []responseItem
	id := fmt.Sprintf("%048x", e.id)
	if a.tokens.Reasoning > 0 || a.thought != "" {
		started := object{"id": "rs_" + id, "type": "reasoning", "summary": []any{}}
		item := responseItem{started: started, done: started}
		if a.thought != "" {
			item = responseItem{
				started: started, done: maps.Clone(started), text: a.thought,
				kind: "reasoning_summary_text", member: "text", partKind: "reasoning_summary_part", index: "summary_index",
				part: func(text string) object { return object{"type": "summary_text", "text": text} },
			}
			item.done["summary"], item.done["encrypted_content"] = []any{item.part(a.thought)}, "ZmFrZQ=="
		}
		items = append(items, item)
	}
	if a.text != "" || len(a.calls) == 0 {
		message := func(status string, content []any) object {
			return object{"id": "msg_" + id, "type": "message", "status": status, "role": "assistant", "content": content}
		}
		part := func(text string) object {
			return object{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": text}
		}
		items = append(items, responseItem{
			started: message("in_progress", []any{}), done: message("completed", []any{part(a.text)}), text: a.text,
			kind: "output_text", member: "text", partKind: "content_part", index: "content_index", part: part,
		})
	}
	for _, c := range a.calls {
		items = append(items, callItem(c))
	}
	return items
}

func callItem(c toolCall) responseItem {
	if c.name == searchTool {
		done := object{
			"id": "ts_" + c.id, "type": "tool_search_call", "status": "completed", "call_id": c.id,
			"execution": "client", "arguments": json.RawMessage(c.args),
		}
		return responseItem{started: done, done: done}
	}
	item := responseItem{text: c.args, kind: "function_call_arguments", member: "arguments"}
	kind := "function_call"
	if c.custom {
		item.kind, item.member, kind = "custom_tool_call_input", "input", "custom_tool_call"
	}
	item.started = object{
		"id": "fc_" + c.id, "type": kind, "status": "in_progress", "call_id": c.id, "name": c.name, item.member: "",
	}
	if c.namespace != "" {
		item.started["namespace"] = c.namespace
	}
	item.done = maps.Clone(item.started)
	item.done["status"], item.done[item.member] = "completed", c.args
	return item
}

// messages writes a message of Anthropic.
func (e *encoder) messages(a answer) {
	t := a.tokens
	usage := func(output int) object {
		u := object{ // the input tokens exclude cached tokens
			"input_tokens": t.Input - t.CacheRead - t.CacheWrite, "output_tokens": output, "service_tier": "standard",
			"cache_creation_input_tokens": t.CacheWrite, "cache_read_input_tokens": t.CacheRead,
			"cache_creation": object{"ephemeral_5m_input_tokens": t.CacheWrite, "ephemeral_1h_input_tokens": 0},
		}
		if t.Reasoning > 0 {
			u["output_tokens_details"] = object{"thinking_tokens": t.Reasoning}
		}
		return u
	}
	finish := "end_turn"
	if len(a.calls) > 0 {
		finish = "tool_use"
	}
	message := object{
		"model": e.model, "id": fmt.Sprintf("msg_01%022d", e.id), "type": "message", "role": "assistant",
		"content":     []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage(1),
	}
	blocks := e.blocks(a)
	if !e.stream {
		var content []any
		for _, b := range blocks {
			content = append(content, b.done)
		}
		message["content"], message["stop_reason"], message["usage"] = content, finish, usage(t.Output)
		e.out.WriteString(encode(message))
		return
	}
	e.startEvents()
	e.event("message_start", object{"message": message})
	for i, b := range blocks {
		e.event("content_block_start", object{"index": i, "content_block": b.started})
		if b.started["type"] == "text" {
			e.event("ping", object{})
		}
		for _, delta := range b.deltas {
			e.event("content_block_delta", object{"index": i, "delta": delta})
		}
		e.event("content_block_stop", object{"index": i})
	}
	e.event("message_delta", object{
		"delta": object{"stop_reason": finish, "stop_sequence": nil}, "usage": usage(t.Output),
	})
	e.event("message_stop", object{})
}

// block is a content block of Anthropic: at its start in a stream, its parts, and complete.
type block struct {
	started, done object
	deltas        []object
}

func (e *encoder) blocks(a answer) []block {
	var blocks []block
	deltas := func(kind, member, s string) (out []object) {
		for _, piece := range pieces(s) {
			out = append(out, object{"type": kind, member: piece})
		}
		return out
	}
	kind := e.request.Get("thinking.type").Str
	if thought := a.thinks(); thought != "" && (kind == "enabled" || kind == "adaptive") {
		const signature = "ZmFrZS1zaWduYXR1cmU="
		blocks = append(blocks, block{
			started: object{"type": "thinking", "thinking": "", "signature": ""},
			done:    object{"type": "thinking", "thinking": thought, "signature": signature},
			deltas: []object{
				{"type": "thinking_delta", "thinking": thought}, {"type": "signature_delta", "signature": signature},
			},
		})
	}
	if a.text != "" {
		blocks = append(blocks, block{
			started: object{"type": "text", "text": ""}, done: object{"type": "text", "text": a.text},
			deltas: deltas("text_delta", "text", a.text),
		})
	}
	for _, c := range a.calls {
		call := func(input any) object { return object{"type": "tool_use", "id": c.id, "name": c.name, "input": input} }
		blocks = append(blocks, block{
			started: call(object{}), done: call(json.RawMessage(c.args)),
			deltas: deltas("input_json_delta", "partial_json", c.args),
		})
	}
	return blocks
}

// generate writes a reply of Google's generateContent.
func (e *encoder) generate(a answer) {
	e.kind = "application/json; charset=UTF-8"
	chunks := []string{a.text}
	if e.stream && a.text != "" {
		chunks = pieces(a.text)
	}
	separator, end := "", ""
	switch {
	case e.stream && e.events:
		e.kind, e.border = "text/event-stream", "\r\n\r\n"
		separator, end = e.border, e.border
	case e.stream: // a growing array
		e.border = ",\r\n"
		separator, end = e.border, "]"
		e.out.WriteByte('[')
	}
	for i, chunk := range chunks {
		if i > 0 {
			e.out.WriteString(separator)
		}
		if e.stream && e.events {
			e.out.WriteString("data: ")
		}
		e.out.WriteString(encode(e.generation(a, chunk, i == 0, i == len(chunks)-1)))
	}
	e.out.WriteString(end)
}

// generation returns one chunk of a reply. The first one has the thoughts; the last one has the
// calls, the finish reason and the output tokens.
func (e *encoder) generation(a answer, chunk string, first, last bool) object {
	t := a.tokens
	parts := []any{}
	if thought := a.thinks(); first && thought != "" &&
		e.request.Get("generationConfig.thinkingConfig.includeThoughts").Bool() {
		parts = append(parts, object{"text": thought, "thought": true})
	}
	if chunk != "" {
		parts = append(parts, object{"text": chunk})
	}
	candidate := object{"index": 0}
	usage := object{
		"promptTokenCount": t.Input, "totalTokenCount": t.Input + t.Output,
		"promptTokensDetails": []any{object{"modality": "TEXT", "tokenCount": t.Input}},
	}
	if last {
		for _, c := range a.calls {
			call := object{"name": c.name, "args": json.RawMessage(c.args), "id": c.id}
			parts = append(parts, object{"functionCall": call, "thoughtSignature": "ZmFrZQ=="})
		}
		candidate["finishReason"] = "STOP"
		usage["candidatesTokenCount"] = t.Output - t.Reasoning
	}
	candidate["content"] = object{"role": "model", "parts": parts}
	if t.CacheRead > 0 {
		usage["cachedContentTokenCount"] = t.CacheRead
		usage["cacheTokensDetails"] = []any{object{"modality": "TEXT", "tokenCount": t.CacheRead}}
	}
	if t.Reasoning > 0 {
		usage["thoughtsTokenCount"] = t.Reasoning
	}
	return object{
		"candidates": []any{candidate}, "usageMetadata": usage, "modelVersion": e.model,
		"responseId": fmt.Sprintf("%022d", e.id),
	}
}
