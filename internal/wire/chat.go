package wire

const (
	completion   = "chat.completion"
	azureFilters = Raw(`{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":false,"severity":"safe"},` +
		`"sexual":{"filtered":false,"severity":"safe"},"violence":{"filtered":false,"severity":"safe"}}`)
)

// chat writes a chat completion. Each provider has its own members and layout, but for streams.
func (e *encoder) chat() {
	finish := e.finish("stop", "length", "stop", "content_filter", "stop", "tool_calls")
	var text, refusal any = e.Text, nil
	if e.Finish == Refused {
		text, refusal = refusal, text
	}
	id, created, t := "chatcmpl-"+e.ID, e.At.Unix(), e.Tokens
	switch {
	case e.Stream:
		e.chunks(finish)
	case e.Provider == Ollama:
		message := Object{"role", "assistant", "content", e.Text}
		e.append(Object{
			"id", id, "object", completion, "created", created, "model", e.Snapshot, "system_fingerprint", "fp_ollama",
			"choices",
			[]any{Object{"index", 0, "message", message, "finish_reason", finish}},
			"usage",
			Object{
				"prompt_tokens", t.Input, "completion_tokens", t.Output, "total_tokens", t.Input + t.Output,
			},
		}, "\n")
	case e.Provider == Azure:
		message := Object{"annotations", []any{}, "content", text, "refusal", refusal, "role", "assistant"}
		e.append(Object{
			"choices",
			[]any{Object{
				"content_filter_results", azureFilters, "finish_reason", finish, "index", 0, "logprobs", nil,
				"message", message,
			}},
			"created", created, "id", id, "model", e.Snapshot, "object", completion,
			"prompt_filter_results",
			[]any{Object{"prompt_index", 0, "content_filter_results", azureFilters}},
			"system_fingerprint", e.Fingerprint, "usage",
			Object{
				"completion_tokens", t.Output, "completion_tokens_details",
				Object{
					"accepted_prediction_tokens", 0, "audio_tokens", 0, "reasoning_tokens", t.Reasoning,
					"rejected_prediction_tokens", 0,
				},
				"prompt_tokens", t.Input,
				"prompt_tokens_details",
				Object{"audio_tokens", 0, "cached_tokens", t.CacheRead},
				"total_tokens", t.Input + t.Output,
			},
		}, "")
	default:
		message := Object{"role", "assistant", "content", text, "refusal", refusal, "annotations", []any{}}.
			with(len(e.Calls) > 0, "tool_calls", e.toolCalls())
		reply := e.completion(completion, e.choice("message", message, finish), "usage", e.chatUsage())
		e.out.Body = append(Append(nil, reply, true), '\n')
	}
}

// chunks writes the stream of a chat completion.
func (e *encoder) chunks(finish string) {
	e.startEvents()
	chunk := func(delta Object, finish any) {
		usage := Object{}.with(e.Usage, "usage", nil)
		e.data(e.completion(completion+".chunk", e.choice("delta", delta, finish), usage...))
	}
	chunk(Object{"role", "assistant", "content", "", "refusal", nil}, nil)
	if e.Thought != "" { // as compatible servers show it; OpenAI itself shows no thoughts
		chunk(Object{"reasoning_content", e.Thought}, nil)
	}
	for _, piece := range pieces(e.Text) {
		chunk(Object{"content", piece}, nil)
	}
	for _, call := range e.toolCalls() {
		chunk(Object{"tool_calls", []any{call}}, nil)
	}
	chunk(Object{}, finish)
	if e.Usage {
		e.data(e.completion(completion+".chunk", []any{}, "usage", e.chatUsage()))
	}
	e.data(Raw("[DONE]"))
}

// completion is a chat completion of OpenAI, or a part of it.
func (e *encoder) completion(kind string, choices []any, usage ...any) Object {
	return Object{
		"id", "chatcmpl-" + e.ID, "object", kind, "created", e.At.Unix(), "model", e.Snapshot, "choices", choices,
	}.with(true, usage...).with(true, "service_tier", "default", "system_fingerprint", OrNull(e.Fingerprint))
}

// choice is the only choice of a completion. kind is the member with what the model says.
func (e *encoder) choice(kind string, says Object, finish any) []any {
	return []any{Object{"index", 0, kind, says, "logprobs", nil, "finish_reason", finish}}
}

func (e *encoder) toolCalls() []any {
	return mapped(e.Calls, func(i int, c Call) any {
		call := Object{"name", c.Name, "arguments", c.Args}
		return Object{"index", i, "id", c.ID, "type", "function", "function", call}
	})
}

func (e *encoder) chatUsage() Object {
	t := e.Tokens
	return Object{
		"prompt_tokens", t.Input, "completion_tokens", t.Output, "total_tokens", t.Input + t.Output,
		"prompt_tokens_details", t.read("audio_tokens", 0), "completion_tokens_details",
		Object{
			"reasoning_tokens", t.Reasoning, "audio_tokens", 0, "accepted_prediction_tokens", 0,
			"rejected_prediction_tokens", 0,
		},
	}
}

// read is OpenAI's object about the cache, with more members.
func (t Tokens) read(more ...any) Object {
	return Object{"cached_tokens", t.CacheRead}.with(true, more...).
		with(t.CacheWrite > 0, "cache_write_tokens", t.CacheWrite)
}
