package wire

// generate writes a reply of Google's generateContent.
func (e *encoder) generate() {
	if !e.Stream {
		e.out.Body = append(Append(e.out.Body, e.generation(e.Text, true, true), true), '\n')
		return
	}
	chunks := pieces(e.Text)
	if len(chunks) == 0 {
		chunks = []string{""}
	}
	before, between, end := "", ",\r\n", "]"
	if e.Events {
		e.out.ContentType, before, between, end = "text/event-stream", "data: ", "\r\n\r\n", "\r\n\r\n"
	} else { // a growing array
		e.out.Body = append(e.out.Body, '[')
	}
	e.out.Border = between
	for i, chunk := range chunks {
		after := between
		if i == len(chunks)-1 {
			after = end
		}
		e.out.Body = append(e.out.Body, before...)
		e.append(e.generation(chunk, i == 0, i == len(chunks)-1), after)
	}
}

// generation returns one chunk of a reply. The first one has the thoughts; the last one has the
// calls, the finish reason and the output tokens. A reply that was blocked has no candidate.
func (e *encoder) generation(chunk string, first, last bool) Object {
	t, output := e.Tokens, e.Tokens.Output-e.Tokens.Reasoning
	if e.Finish == Refused || e.Finish == Blocked {
		output = 0
	}
	details := func(n int) []any { return []any{Object{"modality", "TEXT", "tokenCount", n}} }
	usage := Object{"promptTokenCount", t.Input}.
		with(last && output > 0, "candidatesTokenCount", output).
		with(true, "totalTokenCount", t.Input+output+t.Reasoning).
		with(t.CacheRead > 0, "cachedContentTokenCount", t.CacheRead).
		with(true, "promptTokensDetails", details(t.Input)).
		with(t.CacheRead > 0, "cacheTokensDetails", details(t.CacheRead)).
		with(t.Reasoning > 0, "thoughtsTokenCount", t.Reasoning)
	said := Object{"candidates", []any{e.candidate(chunk, first, last)}}
	if e.Finish == Blocked {
		said = Object{"promptFeedback", Object{"blockReason", "PROHIBITED_CONTENT"}}
	}
	return said.with(true, "usageMetadata", usage, "modelVersion", e.Snapshot, "responseId", e.ID)
}

func (e *encoder) candidate(chunk string, first, last bool) Object {
	if e.Finish == Refused {
		return Object{"finishReason", "SAFETY", "index", 0, "safetyRatings", []any{Object{
			"category", "HARM_CATEGORY_DANGEROUS_CONTENT", "probability", "HIGH", "blocked", true,
		}}}
	}
	var parts []any
	if thought := e.thinks(); first && thought != "" {
		parts = append(parts, Object{"text", thought, "thought", true})
	}
	if chunk != "" {
		parts = append(parts, Object{"text", chunk})
	}
	if last {
		parts = append(parts, mapped(e.Calls, func(_ int, c Call) any {
			call := Object{"id", c.ID, "name", c.Name, "args", Raw(c.Args)}
			return Object{"functionCall", call, "thoughtSignature", "ZmFrZQ=="}
		})...)
	}
	finish := e.finish("STOP", "MAX_TOKENS", "SAFETY", "PROHIBITED_CONTENT", "", "STOP")
	content := Object{}.with(len(parts) > 0, "parts", parts).with(true, "role", "model")
	return Object{"content", content}.with(last, "finishReason", finish).with(true, "index", 0)
}
