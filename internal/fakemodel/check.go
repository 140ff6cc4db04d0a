package fakemodel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/wire"
)

// check returns the problem for which the provider would reject the request.
func (x *exchange) check() *problem {
	switch {
	case x.ask.Endpoint == wire.Chat:
		return x.checkChat()
	case x.ask.Endpoint == wire.Responses:
		const known = "input instructions store max_output_tokens reasoning"
		return x.checkOpenAI(known, "input", unknownParameter, missingParameter)
	case x.ask.Endpoint == wire.Messages:
		return x.checkMessages()
	case x.ask.Endpoint == wire.Generate:
		return x.checkGenerate()
	case x.ask.Provider == wire.Google:
		return x.checkGoogleEmbeddings()
	default:
		return x.checkEmbeddings()
	}
}

// unknown returns the first member of an object that is not in the list of those that Plumb and the
// SDKs send, or "".
func unknown(object gjson.Result, known string) (found string) {
	if object.IsObject() {
		object.ForEach(func(key, _ gjson.Result) bool {
			if !listed(known, key.Str) {
				found = key.Str
			}
			return found == ""
		})
	}
	return found
}

// listed reports whether name is a word of a list.
func listed(list, name string) bool { return strings.Contains(" "+list+" ", " "+name+" ") }

// checkOpenAI checks what the APIs of OpenAI have in common: known members, a model, and a list that
// is not empty. Ollama ignores unknown members.
func (x *exchange) checkOpenAI(known, list string, unknownKind, noModelKind problemKind) *problem {
	name := unknown(x.ask.Body, known+" model temperature top_p")
	switch {
	case name != "" && x.ask.Provider != wire.Ollama:
		return &problem{kind: unknownKind, param: name}
	case x.ask.Model == "":
		return &problem{kind: noModelKind, param: "model"}
	case !x.ask.Body.Get(list).Exists():
		return &problem{kind: missingParameter, param: list}
	case len(x.ask.Messages) == 0:
		return &problem{kind: emptyArray, param: list}
	}
	return nil
}

func (x *exchange) checkChat() *problem {
	const known = "messages seed max_tokens max_completion_tokens reasoning_effort"
	if p := x.checkOpenAI(known, "messages", unrecognized, noModel); p != nil {
		return p
	}
	for i, m := range x.ask.Messages {
		if !listed("system assistant user function tool developer", m.Role) {
			return &problem{kind: badRole, param: fmt.Sprintf("messages[%d].role", i), detail: m.Role}
		}
	}
	return nil
}

func (x *exchange) checkMessages() *problem {
	const known = "messages model system temperature top_p top_k max_tokens thinking output_config"
	name, heat := unknown(x.ask.Body, known), x.ask.Parameters.Temperature
	switch {
	case x.r.Header.Get("Anthropic-Version") == "":
		return &problem{detail: "anthropic-version: header is required"}
	case x.ask.Model == "":
		return &problem{kind: missingParameter, param: "model"}
	case !x.ask.Body.Get("messages").Exists():
		return &problem{kind: missingParameter, param: "messages"}
	case !x.ask.Body.Get("max_tokens").Exists():
		return &problem{kind: missingParameter, param: "max_tokens"}
	case name != "":
		return &problem{kind: unknownParameter, param: name}
	case heat != nil && (*heat < 0 || *heat > 1):
		return &problem{detail: "temperature: range: 0..1"}
	case len(x.ask.Messages) == 0:
		return &problem{detail: "messages: at least one message is required"}
	}
	for i, m := range x.ask.Messages {
		switch {
		case systemRole(m.Role):
			return &problem{detail: fmt.Sprintf("messages: Unexpected role %q. The Messages API accepts a top-level "+
				"`system` parameter, not %q as an input message role.", m.Role, m.Role)}
		case m.Role != plumb.RoleUser && m.Role != plumb.RoleAssistant:
			return &problem{detail: fmt.Sprintf("messages.%d.role: Input should be 'user' or 'assistant'", i)}
		case m.Content == "":
			return &problem{detail: fmt.Sprintf("messages.%d: all messages must have non-empty content except for the "+
				"optional final assistant message", i)}
		}
	}
	return nil
}

func (x *exchange) checkGenerate() *problem {
	config, heat := x.ask.Body.Get("generationConfig"), x.ask.Parameters.Temperature
	if name := unknown(x.ask.Body, "contents generationConfig systemInstruction"); name != "" {
		return &problem{kind: unknownParameter, param: name}
	}
	if name := unknown(config, "temperature topP topK seed maxOutputTokens thinkingConfig"); name != "" {
		return &problem{kind: unknownParameter, param: name, detail: "generation_config"}
	}
	for _, c := range wire.Elements(x.ask.Body.Get("contents")) {
		if role := c.Get("role").Str; role != "" && !listed("user model", role) {
			return &problem{detail: "Please use a valid role: user, model."}
		}
	}
	if len(x.ask.Messages) == 0 {
		return &problem{detail: "* GenerateContentRequest.contents: contents is not specified\n"}
	}
	if heat != nil && (*heat < 0 || *heat > 2) {
		return &problem{detail: "* GenerateContentRequest.generation_config.temperature: " +
			"temperature must be in the range [0.0, 2.0].\n"}
	}
	return nil
}

func (x *exchange) checkEmbeddings() *problem {
	x.dimensions = x.s.options.Dimensions
	x.setDimensions(x.ask.Body.Get("dimensions"))
	x.packed = x.ask.Body.Get("encoding_format").Str == "base64"
	input := x.ask.Body.Get("input")
	texts := wire.Elements(input)
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

func (x *exchange) checkGoogleEmbeddings() *problem {
	x.dimensions = x.s.options.Dimensions
	for _, r := range wire.Elements(x.ask.Body.Get("requests")) {
		x.texts = append(x.texts, wire.Text(r.Get("content.parts")))
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
	case len(x.texts) == 0, len(x.texts) > 2048, slices.Contains(x.texts, "") && x.ask.Provider != wire.Ollama:
		return &problem{kind: badInput}
	}
	return nil
}

func (x *exchange) setDimensions(v gjson.Result) {
	if n := v.Int(); n > 0 && n <= 4096 {
		x.dimensions = int(n)
	}
}
