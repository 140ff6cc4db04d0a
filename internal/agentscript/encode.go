package agentscript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"
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
	request any
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
	wantsUsage := get(e.request, "stream_options", "include_usage") == true
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
	var output []any
	id := fmt.Sprintf("%048x", e.id)
	thinks := a.tokens.Reasoning > 0 || a.thought != ""
	if thinks {
		output = append(output, reasoningItem(id, a.thought))
	}
	if a.text != "" || len(a.calls) == 0 {
		output = append(output, messageItem(id, a.text))
	}
	for _, c := range a.calls {
		output = append(output, callItem(c, "completed"))
	}
	t := a.tokens
	response := object{
		"id": "resp_" + id, "object": "response", "created_at": e.now.Unix(), "model": e.model, "status": "in_progress",
		"error": nil, "incomplete_details": nil, "instructions": nil, "parallel_tool_calls": true,
		"tool_choice": "auto",
		"tools":       []any{}, "temperature": 1, "top_p": 1, "metadata": object{}, "output": []any{}, "usage": nil,
	}
	done := maps.Clone(response)
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
	for i, x := range output {
		item, _ := x.(object)
		switch item["type"] {
		case "reasoning":
			thoughtEvents(event, i, item, a.thought)
		case "message":
			textEvents(event, i, item, a.text)
		default:
			callEvents(event, i, a.calls[i-len(output)+len(a.calls)])
		}
	}
	event("response.completed", object{"response": done})
}

func reasoningItem(id, thought string) object {
	item := object{"id": "rs_" + id, "type": "reasoning", "summary": []any{}}
	if thought != "" {
		item["summary"], item["encrypted_content"] = []any{object{"type": "summary_text", "text": thought}}, "ZmFrZQ=="
	}
	return item
}

func messageItem(id, text string) object {
	return object{
		"id": "msg_" + id, "type": "message", "status": "completed", "role": "assistant",
		"content": []any{textPart(text)},
	}
}

func textPart(text string) object {
	return object{"type": "output_text", "annotations": []any{}, "logprobs": []any{}, "text": text}
}

func callItem(c toolCall, status string) object {
	item := object{"id": "fc_" + c.id, "type": "function_call", "status": status, "call_id": c.id, "name": c.name}
	switch {
	case c.name == searchTool:
		return object{
			"id": "ts_" + c.id, "type": "tool_search_call", "status": status, "call_id": c.id, "execution": "client",
			"arguments": json.RawMessage(c.args),
		}
	case c.custom:
		item["type"], item["input"] = "custom_tool_call", c.args
	default:
		item["arguments"] = c.args
	}
	if c.namespace != "" {
		item["namespace"] = c.namespace
	}
	return item
}

func thoughtEvents(event func(string, object), index int, item object, thought string) {
	if thought == "" {
		event("response.output_item.added", object{"output_index": index, "item": item})
		event("response.output_item.done", object{"output_index": index, "item": item})
		return
	}
	at := func(name string, value any) object {
		return object{"item_id": item["id"], "output_index": index, "summary_index": 0, name: value}
	}
	event("response.output_item.added", object{
		"output_index": index, "item": object{"id": item["id"], "type": "reasoning", "summary": []any{}},
	})
	event("response.reasoning_summary_part.added", at("part", object{"type": "summary_text", "text": ""}))
	for _, piece := range pieces(thought) {
		event("response.reasoning_summary_text.delta", at("delta", piece))
	}
	event("response.reasoning_summary_text.done", at("text", thought))
	event("response.reasoning_summary_part.done", at("part", object{"type": "summary_text", "text": thought}))
	event("response.output_item.done", object{"output_index": index, "item": item})
}

func textEvents(event func(string, object), index int, item object, text string) {
	at := func(name string, value any) object {
		return object{"item_id": item["id"], "output_index": index, "content_index": 0, name: value}
	}
	event("response.output_item.added", object{"output_index": index, "item": object{
		"id": item["id"], "type": "message", "status": "in_progress", "content": []any{}, "role": "assistant",
	}})
	event("response.content_part.added", at("part", textPart("")))
	for _, piece := range pieces(text) {
		event("response.output_text.delta", at("delta", piece))
	}
	event("response.output_text.done", at("text", text))
	event("response.content_part.done", at("part", textPart(text)))
	event("response.output_item.done", object{"output_index": index, "item": item})
}

func callEvents(event func(string, object), index int, c toolCall) {
	item := callItem(c, "completed")
	if c.name == searchTool {
		event("response.output_item.added", object{"output_index": index, "item": item})
		event("response.output_item.done", object{"output_index": index, "item": item})
		return
	}
	started := c
	started.args = ""
	event("response.output_item.added", object{"output_index": index, "item": callItem(started, "in_progress")})
	kind, member := "response.function_call_arguments", "arguments"
	if c.custom {
		kind, member = "response.custom_tool_call_input", "input"
	}
	at := func(name string, value any) object {
		return object{"item_id": item["id"], "output_index": index, name: value}
	}
	for _, piece := range pieces(c.args) {
		event(kind+".delta", at("delta", piece))
	}
	event(kind+".done", at(member, c.args))
	event("response.output_item.done", object{"output_index": index, "item": item})
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
	thought := ""
	if kind := text(e.request, "thinking", "type"); kind == "enabled" || kind == "adaptive" {
		thought = a.thinks()
	}
	const signature = "ZmFrZS1zaWduYXR1cmU="
	if !e.stream {
		var blocks []any
		if thought != "" {
			blocks = append(blocks, object{"type": "thinking", "thinking": thought, "signature": signature})
		}
		if a.text != "" {
			blocks = append(blocks, object{"type": "text", "text": a.text})
		}
		for _, c := range a.calls {
			blocks = append(blocks, object{
				"type": "tool_use", "id": c.id, "name": c.name,
				"input": json.RawMessage(c.args),
			})
		}
		message["content"], message["stop_reason"], message["usage"] = blocks, finish, usage(t.Output)
		e.out.WriteString(encode(message))
		return
	}
	e.startEvents()
	e.event("message_start", object{"message": message})
	index := 0
	block := func(start object, deltas ...object) {
		e.event("content_block_start", object{"index": index, "content_block": start})
		if start["type"] == "text" {
			e.event("ping", object{})
		}
		for _, d := range deltas {
			e.event("content_block_delta", object{"index": index, "delta": d})
		}
		e.event("content_block_stop", object{"index": index})
		index++
	}
	deltas := func(kind, member, s string) []object {
		var out []object
		for _, piece := range pieces(s) {
			out = append(out, object{"type": kind, member: piece})
		}
		return out
	}
	if thought != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": thought},
			object{"type": "signature_delta", "signature": signature})
	}
	if a.text != "" {
		block(object{"type": "text", "text": ""}, deltas("text_delta", "text", a.text)...)
	}
	for _, c := range a.calls {
		block(object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}},
			deltas("input_json_delta", "partial_json", c.args)...)
	}
	e.event("message_delta", object{
		"delta": object{"stop_reason": finish, "stop_sequence": nil}, "usage": usage(t.Output),
	})
	e.event("message_stop", object{})
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
		get(e.request, "generationConfig", "thinkingConfig", "includeThoughts") == true {
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
