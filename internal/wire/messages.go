package wire

// messages writes a message of Anthropic. Its input tokens exclude cached tokens, and a refusal has
// no text.
func (e *encoder) messages() {
	finish := e.finish("end_turn", "max_tokens", "refusal", "refusal", "refusal", "tool_use")
	blocks := e.blocks()
	if !e.Stream {
		content := mapped(blocks, func(_ int, b block) any { return b.done })
		e.append(e.message(content, finish, e.Tokens.Output), "")
		return
	}
	e.startEvents()
	e.event("message_start", "message", e.message([]any{}, nil, 1))
	for i, b := range blocks {
		e.event("content_block_start", "index", i, "content_block", b.started)
		if b.started[1] == "text" {
			e.event("ping")
		}
		for _, delta := range b.deltas {
			e.event("content_block_delta", "index", i, "delta", delta)
		}
		e.event("content_block_stop", "index", i)
	}
	e.event("message_delta", "delta", Object{"stop_reason", finish, "stop_sequence", nil},
		"usage", e.messageUsage(e.Tokens.Output))
	e.event("message_stop")
}

func (e *encoder) message(content []any, finish any, output int) Object {
	return Object{
		"model", e.Snapshot, "id", "msg_01" + e.ID, "type", "message", "role", "assistant", "content", content,
		"stop_reason", finish, "stop_sequence", nil, "usage", e.messageUsage(output),
	}
}

func (e *encoder) messageUsage(output int) Object {
	t := e.Tokens
	return Object{
		"input_tokens", t.Input - t.CacheRead - t.CacheWrite, "cache_creation_input_tokens", t.CacheWrite,
		"cache_read_input_tokens", t.CacheRead,
		"cache_creation",
		Object{"ephemeral_5m_input_tokens", t.CacheWrite, "ephemeral_1h_input_tokens", 0},
		"output_tokens", output,
	}.with(t.Reasoning > 0, "output_tokens_details", Object{"thinking_tokens", t.Reasoning}).
		with(true, "service_tier", "standard")
}

// block is a content block of Anthropic: at its start in a stream, its parts, and complete.
type block struct {
	started, done Object
	deltas        []Object
}

func (e *encoder) blocks() []block {
	var blocks []block
	deltas := func(kind, member, s string) (out []Object) {
		for _, piece := range pieces(s) {
			out = append(out, Object{"type", kind, member, piece})
		}
		return out
	}
	if thought := e.thinks(); thought != "" {
		const signature = "ZmFrZS1zaWduYXR1cmU="
		blocks = append(blocks, block{
			started: Object{"type", "thinking", "thinking", "", "signature", ""},
			done:    Object{"type", "thinking", "thinking", thought, "signature", signature},
			deltas: []Object{
				{"type", "thinking_delta", "thinking", thought}, {"type", "signature_delta", "signature", signature},
			},
		})
	}
	if e.Text != "" && e.Finish != Refused {
		blocks = append(blocks, block{
			started: Object{"type", "text", "text", ""}, done: Object{"type", "text", "text", e.Text},
			deltas: deltas("text_delta", "text", e.Text),
		})
	}
	for _, c := range e.Calls {
		call := func(input any) Object { return Object{"type", "tool_use", "id", c.ID, "name", c.Name, "input", input} }
		blocks = append(blocks, block{
			started: call(Object{}), done: call(Raw(c.Args)), deltas: deltas("input_json_delta", "partial_json", c.Args),
		})
	}
	return blocks
}
