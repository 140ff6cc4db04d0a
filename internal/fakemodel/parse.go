package fakemodel

import (
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// parse reads the body in the format of the route. It returns the problem if the provider would
// reject it.
func (x *exchange) parse(body []byte) (problem, bool) {
	switch x.rt.op {
	case opChat:
		return x.parseChat(body)
	case opResponses:
		return x.parseResponses(body)
	case opMessages, opCountTokens:
		if x.rt.provider == Google {
			return x.parseGenerate(body)
		}
		return x.parseMessages(body)
	case opGenerate:
		return x.parseGenerate(body)
	case opOllamaChat:
		return x.parseOllama(body)
	default:
		return x.parseEmbeddings(body)
	}
}

// note records a parameter that models can reject. A null counts as absent.
func (x *exchange) note(name, value []byte) {
	if !isNull(value) {
		x.present = append(x.present, parameter{string(name), string(value)})
	}
}

// add appends a message, and collects the system messages separately.
func (x *exchange) add(role, content string) {
	if systemRole(role) {
		x.addSystem(content)
	}
	x.ask.Messages = append(x.ask.Messages, plumb.Message{Role: role, Content: content})
}

func (x *exchange) addSystem(content string) {
	if x.ask.System != "" {
		x.ask.System += "\n"
	}
	x.ask.System += content
}

func (x *exchange) parseChat(body []byte) (problem, bool) {
	p := &x.ask.Parameters
	var messages []byte
	var unknown string
	fields(body, func(name, value []byte) {
		switch string(name) {
		case "model":
			if x.ask.Model == "" { // otherwise Azure's path names it
				x.ask.Model, _ = text(value)
			}
		case "messages":
			messages = value
		case "temperature":
			p.Temperature = float(value)
			x.note(name, value)
		case "top_p":
			p.TopP = float(value)
			x.note(name, value)
		case "seed":
			p.Seed = integer(value)
			x.note(name, value)
		case "max_tokens", "max_completion_tokens":
			p.MaxOutputTokens = integer(value)
			x.note(name, value)
		case "reasoning_effort":
			p.ReasoningEffort = word(value)
			x.note(name, value)
		case "stream":
			x.ask.Stream = string(value) == "true"
		case "stream_options":
			x.usage = string(member(value, "include_usage")) == "true"
		case "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "metadata",
			"modalities", "moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty",
			"prompt_cache_key",
			"prompt_cache_retention", "response_format", "safety_identifier", "service_tier", "stop", "store",
			"tool_choice",
			"tools", "top_logprobs", "user", "verbosity", "web_search_options":
		default:
			if unknown == "" {
				unknown = string(name)
			}
		}
	})
	switch {
	case unknown != "" && x.rt.provider != Ollama:
		return problem{kind: unrecognized, param: unknown}, false
	case x.ask.Model == "":
		return problem{kind: noModel}, false
	case messages == nil:
		return problem{kind: missingParameter, param: "messages"}, false
	}
	bad, role := -1, ""
	elements(messages, func(i int, m []byte) {
		r, _ := text(member(m, "role"))
		if bad < 0 && !slices.Contains([]string{"system", "assistant", "user", "function", "tool", "developer"}, r) {
			bad, role = i, r
		}
		x.add(r, contentText(member(m, "content")))
	})
	if bad >= 0 {
		return problem{kind: badRole, param: "messages[" + itoa(bad) + "].role", detail: role}, false
	}
	if len(x.ask.Messages) == 0 {
		return problem{kind: emptyArray, param: "messages"}, false
	}
	return problem{}, true
}

// contentText returns the text of a message's content: a string, or the text of its parts.
func contentText(value []byte) string {
	if s, ok := text(value); ok {
		return s
	}
	var b strings.Builder
	elements(value, func(_ int, part []byte) {
		s, _ := text(member(part, "text"))
		b.WriteString(s)
	})
	return b.String()
}

// word returns a JSON string, or nil.
func word(value []byte) *string {
	s, ok := text(value)
	if !ok {
		return nil
	}
	return &s
}

func (x *exchange) parseResponses(body []byte) (problem, bool) {
	p := &x.ask.Parameters
	var input []byte
	var unknown string
	fields(body, func(name, value []byte) {
		switch string(name) {
		case "model":
			x.ask.Model, _ = text(value)
		case "input":
			input = value
		case "instructions":
			if s, ok := text(value); ok {
				x.addSystem(s)
			}
		case "temperature":
			p.Temperature = float(value)
			x.note(name, value)
		case "top_p":
			p.TopP = float(value)
			x.note(name, value)
		case "max_output_tokens":
			p.MaxOutputTokens = integer(value)
			x.note(name, value)
		case "reasoning":
			if effort := member(value, "effort"); !isNull(effort) {
				p.ReasoningEffort = word(effort)
				x.note([]byte("reasoning.effort"), effort)
			}
		case "stream":
			x.ask.Stream = string(value) == "true"
		case "background", "context_management", "conversation", "include", "max_tool_calls", "metadata", "moderation",
			"parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options",
			"prompt_cache_retention", "safety_identifier", "service_tier", "store", "stream_options", "text",
			"tool_choice",
			"tools", "top_logprobs", "truncation", "user":
		default:
			if unknown == "" {
				unknown = string(name)
			}
		}
	})
	switch {
	case unknown != "":
		return problem{kind: unknownParameter, param: unknown}, false
	case x.ask.Model == "":
		return problem{kind: missingParameter, param: "model"}, false
	case input == nil:
		return problem{kind: missingParameter, param: "input"}, false
	}
	if s, ok := text(input); ok {
		x.add(plumb.RoleUser, s)
	}
	elements(input, func(_ int, item []byte) {
		if role, ok := text(member(item, "role")); ok {
			x.add(role, contentText(member(item, "content")))
		}
	})
	if len(x.ask.Messages) == 0 {
		return problem{kind: emptyArray, param: "input"}, false
	}
	return problem{}, true
}

func (x *exchange) parseMessages(body []byte) (problem, bool) {
	p := &x.ask.Parameters
	var messages []byte
	var unknown string
	hasCap := false
	fields(body, func(name, value []byte) {
		switch string(name) {
		case "model":
			x.ask.Model, _ = text(value)
		case "messages":
			messages = value
		case "system":
			x.addSystem(contentText(value))
		case "temperature":
			p.Temperature = float(value)
			x.note(name, value)
		case "top_p":
			p.TopP = float(value)
			x.note(name, value)
		case "top_k":
			x.note(name, value)
		case "max_tokens":
			p.MaxOutputTokens = integer(value)
			hasCap = true
			x.note(name, value)
		case "thinking":
			kind, _ := text(member(value, "type"))
			x.thinking = kind == "enabled" || kind == "adaptive"
			x.note(name, value)
		case "output_config":
			if effort := member(value, "effort"); !isNull(effort) {
				p.ReasoningEffort = word(effort)
				x.note([]byte("output_config.effort"), effort)
			}
		case "stream":
			x.ask.Stream = string(value) == "true"
		case "cache_control", "container", "context_management", "fallbacks", "inference_geo", "mcp_servers",
			"metadata",
			"output_format", "service_tier", "speed", "stop_sequences", "tool_choice", "tools":
		default:
			if unknown == "" {
				unknown = string(name)
			}
		}
	})
	switch {
	case x.r.Header.Get("Anthropic-Version") == "":
		return problem{kind: invalid, detail: "anthropic-version: header is required"}, false
	case x.ask.Model == "":
		return problem{kind: missingParameter, param: "model"}, false
	case messages == nil:
		return problem{kind: missingParameter, param: "messages"}, false
	case !hasCap && x.rt.op == opMessages:
		return problem{kind: missingParameter, param: "max_tokens"}, false
	case unknown != "":
		return problem{kind: unknownParameter, param: unknown}, false
	case p.Temperature != nil && (*p.Temperature < 0 || *p.Temperature > 1):
		return problem{kind: invalid, detail: "temperature: range: 0..1"}, false
	}
	complaint := ""
	elements(messages, func(i int, m []byte) {
		role, _ := text(member(m, "role"))
		content := contentText(member(m, "content"))
		switch {
		case complaint != "":
		case systemRole(role):
			complaint = "messages: Unexpected role \"" + role +
				"\". The Messages API accepts a top-level `system` parameter, not \"" + role +
				"\" as an input message role."
		case role != plumb.RoleUser && role != plumb.RoleAssistant:
			complaint = "messages." + itoa(i) + ".role: Input should be 'user' or 'assistant'"
		case content == "":
			complaint = "messages." + itoa(i) +
				": all messages must have non-empty content except for the optional final assistant message"
		}
		x.add(role, content)
	})
	if len(x.ask.Messages) == 0 {
		complaint = "messages: at least one message is required"
	}
	if complaint != "" {
		return problem{kind: invalid, detail: complaint}, false
	}
	return problem{}, true
}

func (x *exchange) parseGenerate(body []byte) (problem, bool) {
	p := &x.ask.Parameters
	var contents []byte
	var unknown, within string
	fields(body, func(name, value []byte) {
		switch string(name) {
		case "contents":
			contents = value
		case "systemInstruction", "system_instruction":
			x.addSystem(contentText(member(value, "parts")))
		case "generationConfig", "generation_config":
			if u := x.parseGenerationConfig(value); u != "" {
				unknown, within = u, "generation_config"
			}
		case "cachedContent", "generateContentRequest", "labels", "model", "safetySettings", "serviceTier", "store",
			"toolConfig",
			"tools":
		default:
			unknown = string(name)
		}
	})
	if unknown != "" {
		return problem{kind: unknownParameter, param: unknown, detail: within}, false
	}
	complaint := ""
	elements(contents, func(_ int, c []byte) {
		role, _ := text(member(c, "role"))
		switch role {
		case "model":
			role = plumb.RoleAssistant
		case "user", "":
			role = plumb.RoleUser
		default:
			complaint = "Please use a valid role: user, model."
		}
		x.add(role, contentText(member(c, "parts")))
	})
	if len(x.ask.Messages) == 0 {
		complaint = "* GenerateContentRequest.contents: contents is not specified\n"
	}
	if p.Temperature != nil && (*p.Temperature < 0 || *p.Temperature > 2) {
		complaint = "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n"
	}
	if complaint != "" {
		return problem{kind: invalid, detail: complaint}, false
	}
	return problem{}, true
}

// parseGenerationConfig returns the name of a member that the API does not know, or "".
func (x *exchange) parseGenerationConfig(config []byte) (unknown string) {
	p := &x.ask.Parameters
	fields(config, func(name, value []byte) {
		switch string(name) {
		case "temperature":
			p.Temperature = float(value)
			x.note(name, value)
		case "topP":
			p.TopP = float(value)
			x.note(name, value)
		case "topK":
			x.note(name, value)
		case "seed":
			p.Seed = integer(value)
			x.note(name, value)
		case "maxOutputTokens":
			p.MaxOutputTokens = integer(value)
			x.note(name, value)
		case "thinkingConfig":
			x.thinking = string(member(value, "includeThoughts")) == "true"
			p.ReasoningEffort = word(member(value, "thinkingLevel"))
			x.note(name, value)
		case "candidateCount", "enableEnhancedCivicAnswers", "frequencyPenalty", "imageConfig", "logprobs",
			"mediaResolution",
			"presencePenalty", "responseFormat", "responseJsonSchema", "responseLogprobs", "responseMimeType",
			"responseModalities", "responseSchema", "speechConfig", "stopSequences", "_responseJsonSchema":
		default:
			unknown = string(name)
		}
	})
	return unknown
}

func (x *exchange) parseOllama(body []byte) (problem, bool) {
	p := &x.ask.Parameters
	x.ask.Stream = true // unless the request says otherwise
	fields(body, func(name, value []byte) {
		switch string(name) {
		case "model":
			x.ask.Model, _ = text(value)
		case "messages":
			elements(value, func(_ int, m []byte) {
				role, _ := text(member(m, "role"))
				x.add(role, contentText(member(m, "content")))
			})
		case "stream":
			x.ask.Stream = string(value) != "false"
		case "think":
			x.thinking = string(value) != "false"
			x.note(name, value)
		case "options":
			fields(value, func(name, value []byte) {
				switch string(name) {
				case "temperature":
					p.Temperature = float(value)
				case "top_p":
					p.TopP = float(value)
				case "seed":
					p.Seed = integer(value)
				case "num_predict":
					p.MaxOutputTokens = integer(value)
				}
				x.note(name, value)
			})
		}
	})
	if x.ask.Model == "" {
		return problem{kind: missingParameter, param: "model"}, false
	}
	return problem{}, true
}

func (x *exchange) parseEmbeddings(body []byte) (problem, bool) {
	x.dimensions = x.s.options.Dimensions
	fits := true
	add := func(value []byte) {
		s, ok := text(value)
		fits = fits && ok
		x.texts = append(x.texts, s)
	}
	fields(body, func(name, value []byte) {
		switch string(name) {
		case "model":
			if x.rt.provider != Google && x.ask.Model == "" {
				x.ask.Model, _ = text(value)
			}
		case "input":
			if value[0] == '"' {
				add(value)
			}
			elements(value, func(_ int, v []byte) { add(v) })
		case "content":
			x.texts = append(x.texts, contentText(member(value, "parts")))
		case "requests":
			elements(value, func(_ int, v []byte) {
				x.texts = append(x.texts, contentText(member(member(v, "content"), "parts")))
				x.setDimensions(member(v, "outputDimensionality"))
			})
		case "dimensions", "outputDimensionality":
			x.setDimensions(value)
		case "encoding_format":
			x.packed = string(value) == `"base64"`
		}
	})
	x.prompt = strings.Join(x.texts, "\n")
	empty := slices.Contains(x.texts, "") && x.rt.provider != Ollama
	switch {
	case x.ask.Model == "":
		return problem{kind: missingParameter, param: "model"}, false
	case len(x.texts) == 0 && x.rt.provider != Ollama, !fits, empty, len(x.texts) > 2048:
		return problem{kind: badInput}, false
	case x.rt.op == opBatchEmbedContents && len(x.texts) > 100:
		return problem{kind: invalid, detail: "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n"}, false
	}
	return problem{}, true
}

func (x *exchange) setDimensions(value []byte) {
	if n := integer(value); n != nil && *n > 0 && *n <= 4096 {
		x.dimensions = int(*n)
	}
}
