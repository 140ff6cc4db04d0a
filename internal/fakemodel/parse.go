package fakemodel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// parse reads the body in the format of the route. It returns the problem if the provider would
// reject it.
func (x *exchange) parse(body gjson.Result) *problem {
	switch {
	case x.rt.op == opChat:
		return x.parseChat(body)
	case x.rt.op == opResponses:
		return x.parseResponses(body)
	case x.rt.op == opMessages:
		return x.parseMessages(body)
	case x.rt.op == opGenerate:
		return x.parseGenerate(body)
	case x.rt.provider == Google:
		return x.parseGoogleEmbeddings(body)
	default:
		return x.parseEmbeddings(body)
	}
}

// read reads the parameters of an object and returns its first unknown member, or "". names lists
// the parameters, and others the other members, as far as Plumb and the SDKs send them.
func (x *exchange) read(object gjson.Result, names, others string) (unknown string) {
	if !object.IsObject() {
		return ""
	}
	object.ForEach(func(key, value gjson.Result) bool {
		switch name := key.Str; {
		case listed(names, name):
			x.parameter(name, value)
		case listed(others, name):
		case unknown == "":
			unknown = name
		}
		return true
	})
	return unknown
}

// listed reports whether name is a word of a list.
func listed(list, name string) bool { return strings.Contains(" "+list+" ", " "+name+" ") }

// parameter reads a parameter by its name on the wire, which each API spells in its own way, and
// records that the request has it, because a model can reject it. A null counts as absent.
func (x *exchange) parameter(name string, v gjson.Result) {
	p := &x.ask.Parameters
	switch name {
	case "temperature":
		p.Temperature = float(v)
	case "top_p", "topP":
		p.TopP = float(v)
	case "seed":
		p.Seed = integer(v)
	case "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens":
		p.MaxOutputTokens = integer(v)
	case "reasoning", "output_config":
		name, v = name+".effort", v.Get("effort")
		p.ReasoningEffort = word(v)
	case "reasoning_effort":
		p.ReasoningEffort = word(v)
	case "thinking":
		kind := v.Get("type").Str
		x.thinking = kind == "enabled" || kind == "adaptive"
	case "thinkingConfig":
		x.thinking = v.Get("includeThoughts").Bool()
		p.ReasoningEffort = word(v.Get("thinkingLevel"))
	}
	if v.Type != gjson.Null {
		x.present = append(x.present, parameter{name, v.Raw})
	}
}

// float returns a number, or nil.
func float(v gjson.Result) *float64 {
	if v.Type != gjson.Number {
		return nil
	}
	return &v.Num
}

// integer returns a whole number, or nil.
func integer(v gjson.Result) *int64 {
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// word returns a string, or nil.
func word(v gjson.Result) *string {
	if v.Type != gjson.String {
		return nil
	}
	return &v.Str
}

// elements returns the elements of an array. Other values have none.
func elements(v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		return nil
	}
	return v.Array()
}

// contentText returns the text of a message's content: a string, or the text of its parts.
func contentText(v gjson.Result) string {
	var b strings.Builder
	for _, part := range elements(v) {
		b.WriteString(part.Get("text").Str)
	}
	return v.Str + b.String()
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

func (x *exchange) parseChat(body gjson.Result) *problem {
	unknown := x.read(body, "temperature top_p seed max_tokens max_completion_tokens reasoning_effort", "messages model")
	if x.ask.Model == "" { // otherwise Azure's path names it
		x.ask.Model = body.Get("model").Str
	}
	messages := body.Get("messages")
	switch {
	case unknown != "" && x.rt.provider != Ollama:
		return &problem{kind: unrecognized, param: unknown}
	case x.ask.Model == "":
		return &problem{kind: noModel}
	case !messages.Exists():
		return &problem{kind: missingParameter, param: "messages"}
	}
	var bad *problem
	for i, m := range elements(messages) {
		role := m.Get("role").Str
		if bad == nil && !listed("system assistant user function tool developer", role) {
			bad = &problem{kind: badRole, param: fmt.Sprintf("messages[%d].role", i), detail: role}
		}
		x.add(role, contentText(m.Get("content")))
	}
	if len(x.ask.Messages) == 0 {
		return &problem{kind: emptyArray, param: "messages"}
	}
	return bad
}

func (x *exchange) parseResponses(body gjson.Result) *problem {
	unknown := x.read(body, "temperature top_p max_output_tokens reasoning", "input instructions model store")
	input := body.Get("input")
	x.ask.Model = body.Get("model").Str
	switch {
	case unknown != "":
		return &problem{kind: unknownParameter, param: unknown}
	case x.ask.Model == "":
		return &problem{kind: missingParameter, param: "model"}
	case !input.Exists():
		return &problem{kind: missingParameter, param: "input"}
	}
	if instructions := body.Get("instructions").Str; instructions != "" {
		x.addSystem(instructions)
	}
	if input.Type == gjson.String {
		x.add(plumb.RoleUser, input.Str)
	}
	for _, item := range elements(input) {
		if role := item.Get("role"); role.Type == gjson.String {
			x.add(role.Str, contentText(item.Get("content")))
		}
	}
	if len(x.ask.Messages) == 0 {
		return &problem{kind: emptyArray, param: "input"}
	}
	return nil
}

func (x *exchange) parseMessages(body gjson.Result) *problem {
	unknown := x.read(body, "temperature top_p top_k max_tokens thinking output_config", "messages model system")
	x.ask.Model = body.Get("model").Str
	messages, p := body.Get("messages"), &x.ask.Parameters
	switch {
	case x.r.Header.Get("Anthropic-Version") == "":
		return &problem{detail: "anthropic-version: header is required"}
	case x.ask.Model == "":
		return &problem{kind: missingParameter, param: "model"}
	case !messages.Exists():
		return &problem{kind: missingParameter, param: "messages"}
	case !body.Get("max_tokens").Exists():
		return &problem{kind: missingParameter, param: "max_tokens"}
	case unknown != "":
		return &problem{kind: unknownParameter, param: unknown}
	case p.Temperature != nil && (*p.Temperature < 0 || *p.Temperature > 1):
		return &problem{detail: "temperature: range: 0..1"}
	}
	if system := body.Get("system"); system.Exists() {
		x.addSystem(contentText(system))
	}
	for i, m := range elements(messages) {
		role, content := m.Get("role").Str, contentText(m.Get("content"))
		switch {
		case systemRole(role):
			return &problem{detail: fmt.Sprintf("messages: Unexpected role %q. The Messages API accepts a top-level "+
				"`system` parameter, not %q as an input message role.", role, role)}
		case role != plumb.RoleUser && role != plumb.RoleAssistant:
			return &problem{detail: fmt.Sprintf("messages.%d.role: Input should be 'user' or 'assistant'", i)}
		case content == "":
			return &problem{detail: fmt.Sprintf(
				"messages.%d: all messages must have non-empty content except for the optional final assistant "+
					"message", i)}
		}
		x.add(role, content)
	}
	if len(x.ask.Messages) == 0 {
		return &problem{detail: "messages: at least one message is required"}
	}
	return nil
}

func (x *exchange) parseGenerate(body gjson.Result) *problem {
	config := body.Get("generationConfig")
	if unknown := x.read(body, "", "contents generationConfig systemInstruction"); unknown != "" {
		return &problem{kind: unknownParameter, param: unknown}
	}
	if unknown := x.read(config, "temperature topP topK seed maxOutputTokens thinkingConfig", ""); unknown != "" {
		return &problem{kind: unknownParameter, param: unknown, detail: "generation_config"}
	}
	if system := body.Get("systemInstruction"); system.Exists() {
		x.addSystem(contentText(system.Get("parts")))
	}
	roles := map[string]string{"model": plumb.RoleAssistant, "user": plumb.RoleUser, "": plumb.RoleUser}
	for _, c := range elements(body.Get("contents")) {
		role, ok := roles[c.Get("role").Str]
		if !ok {
			return &problem{detail: "Please use a valid role: user, model."}
		}
		x.add(role, contentText(c.Get("parts")))
	}
	if len(x.ask.Messages) == 0 {
		return &problem{detail: "* GenerateContentRequest.contents: contents is not specified\n"}
	}
	if t := x.ask.Parameters.Temperature; t != nil && (*t < 0 || *t > 2) {
		return &problem{detail: "* GenerateContentRequest.generation_config.temperature: " +
			"temperature must be in the range [0.0, 2.0].\n"}
	}
	return nil
}

func (x *exchange) parseEmbeddings(body gjson.Result) *problem {
	if x.ask.Model == "" {
		x.ask.Model = body.Get("model").Str
	}
	x.dimensions = x.s.options.Dimensions
	x.setDimensions(body.Get("dimensions"))
	x.packed = body.Get("encoding_format").Str == "base64"
	input := body.Get("input")
	texts := elements(input)
	if input.Type == gjson.String {
		texts = []gjson.Result{input}
	}
	for _, t := range texts {
		if t.Type != gjson.String {
			return &problem{kind: badInput}
		}
		x.texts = append(x.texts, t.Str)
	}
	return x.checkTexts()
}

func (x *exchange) parseGoogleEmbeddings(body gjson.Result) *problem {
	x.dimensions = x.s.options.Dimensions
	for _, r := range elements(body.Get("requests")) {
		x.texts = append(x.texts, contentText(r.Get("content.parts")))
		x.setDimensions(r.Get("outputDimensionality"))
	}
	if len(x.texts) > 100 {
		return &problem{detail: "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n"}
	}
	return x.checkTexts()
}

// checkTexts rejects texts that cannot be embedded.
func (x *exchange) checkTexts() *problem {
	x.prompt = strings.Join(x.texts, "\n")
	switch {
	case x.ask.Model == "":
		return &problem{kind: missingParameter, param: "model"}
	case len(x.texts) == 0, len(x.texts) > 2048, slices.Contains(x.texts, "") && x.rt.provider != Ollama:
		return &problem{kind: badInput}
	}
	return nil
}

func (x *exchange) setDimensions(v gjson.Result) {
	if n := integer(v); n != nil && *n > 0 && *n <= 4096 {
		x.dimensions = int(*n)
	}
}
