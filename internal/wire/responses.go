package wire

import "strconv"

// responses writes a response of OpenAI.
func (e *encoder) responses() {
	status, items := "completed", e.items()
	if e.Finish == CutOff || e.Finish == Filtered {
		status = "incomplete"
	}
	output, t := mapped(items, func(_ int, item responseItem) any { return item.done }), e.Tokens
	done := e.response(status, output, Object{
		"input_tokens", t.Input, "input_tokens_details", t.read(),
		"output_tokens", t.Output, "output_tokens_details",
		Object{"reasoning_tokens", t.Reasoning},
		"total_tokens", t.Input + t.Output,
	})
	if !e.Stream {
		e.append(done, "\n")
		return
	}
	e.startEvents()
	sequence := 0
	event := func(name string, data ...any) {
		e.event("response."+name, append(Object{"sequence_number", sequence}, data...)...)
		sequence++
	}
	started := e.response("in_progress", []any{}, nil)
	event("created", "response", started)
	event("in_progress", "response", started)
	for i, item := range items {
		event("output_item.added", "output_index", i, "item", item.started)
		item.events(func(name, member string, value any) {
			event(name, append(Object{"item_id", item.started[1], "output_index", i, member, value}, item.at...)...)
		})
		event("output_item.done", "output_index", i, "item", item.done)
	}
	event(status, "response", done)
}

// response is a response in a status. It repeats the parameters of the request.
func (e *encoder) response(status string, output []any, usage any) Object {
	var completed, reason, effort, limit any
	switch status {
	case "completed":
		completed = e.At.Unix()
	case "incomplete":
		why := map[Finish]string{CutOff: "max_output_tokens", Filtered: "content_filter"}[e.Finish]
		reason = Object{"reason", why}
	}
	p := &e.Parameters
	if p.ReasoningEffort != nil {
		effort = *p.ReasoningEffort
	}
	if p.MaxOutputTokens != nil {
		limit = *p.MaxOutputTokens
	}
	return Object{
		"id", "resp_" + e.ID, "object", "response", "created_at", e.At.Unix(), "status", status, "background", false,
		"completed_at", completed, "error", nil, "incomplete_details", reason, "instructions", nil,
		"max_output_tokens", limit, "max_tool_calls", nil, "model", e.Snapshot, "output", output,
		"parallel_tool_calls", true, "previous_response_id", nil, "prompt_cache_key", nil,
		"reasoning",
		Object{"effort", effort, "summary", nil},
		"safety_identifier", nil, "service_tier", "default",
		"store", true, "temperature", floatOr1(p.Temperature),
		"text",
		Object{"format", Object{"type", "text"}, "verbosity", "medium"},
		"tool_choice", "auto",
		"tools",
		[]any{},
		"top_logprobs", 0, "top_p", floatOr1(p.TopP), "truncation", "disabled", "usage", usage,
		"user", nil, "metadata",
		Object{},
	}
}

// floatOr1 renders a number as Python prints a float; nil is the default of 1.
func floatOr1(f *float64) Raw {
	if f == nil {
		return "1.0"
	}
	s := strconv.FormatFloat(*f, 'f', -1, 64)
	if *f == float64(int64(*f)) {
		s += ".0"
	}
	return Raw(s)
}

// responseItem is an item in the output of a response.
type responseItem struct {
	// started is the item at its start in a stream, done the complete item. The id comes first.
	started, done Object
	// text is the text of the item. A stream sends it in events of this kind, and at last in this
	// member. An item without a kind is sent at once.
	text, kind, member string
	// partKind is the kind of the events for the only part of the item, at its place, and part
	// returns it with a text. Calls have no parts.
	partKind string
	at       Object
	part     func(text string) Object
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

// items returns the output of a response: a thought, a message, and calls. A response that was cut
// off while the model was thinking has no message.
func (e *encoder) items() []responseItem {
	var items []responseItem
	if e.Tokens.Reasoning > 0 || e.Thought != "" {
		thought := func(summary ...any) Object {
			return Object{"id", "rs_" + e.ID, "type", "reasoning", "summary", summary}
		}
		item := responseItem{started: thought(), done: thought()}
		if e.Thought != "" {
			item.text, item.kind, item.member = e.Thought, "reasoning_summary_text", "text"
			item.partKind, item.at = "reasoning_summary_part", Object{"summary_index", 0}
			item.part = func(text string) Object { return Object{"type", "summary_text", "text", text} }
			item.done = thought(item.part(e.Thought)).with(true, "encrypted_content", "ZmFrZQ==")
		}
		items = append(items, item)
	}
	if e.Text != "" || len(e.Calls) == 0 && e.Finish != CutOff {
		items = append(items, e.messageItem())
	}
	for _, c := range e.Calls {
		items = append(items, callItem(c))
	}
	return items
}

func (e *encoder) messageItem() responseItem {
	message := func(status string, content ...any) Object {
		return Object{
			"id", "msg_" + e.ID, "type", "message", "status", status, "content", content, "role", "assistant",
		}
	}
	item := responseItem{
		started: message("in_progress"), text: e.Text, kind: "output_text", member: "text",
		partKind: "content_part", at: Object{"content_index", 0}, part: func(text string) Object {
			return Object{"type", "output_text", "annotations", []any{}, "logprobs", []any{}, "text", text}
		},
	}
	status := "completed"
	switch e.Finish {
	case Refused:
		item.kind, item.member = "refusal", "refusal"
		item.part = func(text string) Object { return Object{"type", "refusal", "refusal", text} }
	case CutOff, Filtered:
		status = "incomplete"
	default:
	}
	item.done = message(status, item.part(e.Text))
	return item
}

func callItem(c Call) responseItem {
	if c.Name == SearchTool {
		done := Object{
			"id", "ts_" + c.ID, "type", "tool_search_call", "status", "completed", "call_id", c.ID,
			"execution", "client", "arguments", Raw(c.Args),
		}
		return responseItem{started: done, done: done}
	}
	kind, item := "function_call", responseItem{text: c.Args, kind: "function_call_arguments", member: "arguments"}
	if c.Custom {
		item.kind, item.member, kind = "custom_tool_call_input", "input", "custom_tool_call"
	}
	call := func(status, args string) Object {
		return Object{
			"id", "fc_" + c.ID, "type", kind, "status", status, "call_id", c.ID, "name", c.Name, item.member, args,
		}.with(c.Namespace != "", "namespace", c.Namespace)
	}
	item.started, item.done = call("in_progress", ""), call("completed", c.Args)
	return item
}
