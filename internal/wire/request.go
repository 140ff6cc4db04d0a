package wire

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// RoleTool is the role of a message that is the result of a call.
const RoleTool = "tool"

// Request is a request, in the same terms for all APIs. Reading it ignores unknown members, because
// agents send undocumented ones.
type Request struct {
	Route
	// Body is the request as it is.
	Body gjson.Result
	// System is the text of all system and developer messages.
	System string
	// Messages are those of the conversation in order, with their roles on the wire, except that
	// Google's "model" becomes "assistant", and that results of calls have [RoleTool]. They include
	// system messages of OpenAI and Ollama, but not of Anthropic and Google.
	Messages []plumb.Message
	// Tools are what the model can call.
	Tools []Tool
	// Schema is the JSON schema of the answer, if the request has one.
	Schema gjson.Result
	// Parameters are the sampling parameters, Sent the same as they were sent.
	Parameters plumb.Parameters
	Sent       []Parameter
	// Thoughts is set if the reply must contain the thoughts of the model, and Usage if the stream of
	// a chat completion must contain the tokens.
	Thoughts, Usage bool
}

// Tool is a tool that the model can call.
type Tool struct {
	Name, Namespace string
	// Custom is set if the argument is a text instead of JSON.
	Custom bool
	Schema gjson.Result
}

// SearchTool is the type and the name of the tool with which OpenAI's models search for further
// tools.
const SearchTool = "tool_search"

// Parameter is a parameter by its name on the wire. A null counts as absent.
type Parameter struct {
	Name  string
	Value gjson.Result
}

// Read reads the body of a request to an endpoint.
func Read(rt Route, body []byte) (Request, error) {
	q := Request{Route: rt}
	if !json.Valid(body) {
		return q, errors.New("the request is not JSON")
	}
	q.Body = gjson.ParseBytes(body)
	if q.Model == "" { // the paths of Azure and Google name it
		q.Model = q.Body.Get("model").Str
	}
	q.Stream = q.Stream || q.Body.Get("stream").Bool()
	q.parameters(q.Body)
	switch q.Endpoint {
	case Chat:
		q.chat()
	case Responses:
		q.responses()
	case Messages:
		q.messages()
	case Generate:
		q.generate()
	default: // the others have no conversation
	}
	return q, nil
}

// parameters reads the sampling parameters in an object, which each API spells in its own way.
func (q *Request) parameters(object gjson.Result) {
	if !object.IsObject() {
		return
	}
	p := &q.Parameters
	object.ForEach(func(key, v gjson.Result) bool {
		name := key.Str
		switch name {
		case "top_k", "topK":
		case "temperature":
			p.Temperature = given[float64](v)
		case "top_p", "topP":
			p.TopP = given[float64](v)
		case "seed":
			p.Seed = given[int64](v)
		case "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens":
			p.MaxOutputTokens = given[int64](v)
		case "reasoning", "output_config":
			name, v = name+".effort", v.Get("effort")
			p.ReasoningEffort = given[string](v)
		case "reasoning_effort":
			p.ReasoningEffort = given[string](v)
		case "thinking":
			kind := v.Get("type").Str
			q.Thoughts = kind == "enabled" || kind == "adaptive"
		case "thinkingConfig":
			q.Thoughts = v.Get("includeThoughts").Bool()
			p.ReasoningEffort = given[string](v.Get("thinkingLevel"))
		default:
			return true
		}
		if v.Type != gjson.Null {
			q.Sent = append(q.Sent, Parameter{name, v})
		}
		return true
	})
}

// given returns a value if it has the type, or nil.
func given[T any](v gjson.Result) *T {
	var out *T
	if json.Unmarshal([]byte(v.Raw), &out) != nil {
		return nil
	}
	return out
}

// Elements returns the elements of an array. Other values have none.
func Elements(v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		return nil
	}
	return v.Array()
}

// Text returns the text of a message's content: a string, or the texts of a list of parts.
func Text(content gjson.Result) string { return content.Str + joined(content.Get("#.text")) }

func joined(texts gjson.Result) string {
	var b strings.Builder
	for _, text := range texts.Array() {
		b.WriteString(text.Str)
	}
	return b.String()
}

// add appends a message, and collects the system messages separately.
func (q *Request) add(role, content string) {
	if role == plumb.RoleSystem || role == plumb.RoleDeveloper {
		q.instruct(content)
	}
	q.Messages = append(q.Messages, plumb.Message{Role: role, Content: content})
}

// instruct adds a text to the system messages.
func (q *Request) instruct(content string) {
	if q.System != "" {
		q.System += "\n"
	}
	q.System += content
}

func (q *Request) offer(namespace string, tool, schema gjson.Result, custom bool) {
	q.Tools = append(q.Tools, Tool{tool.Get("name").Str, namespace, custom, schema})
}

func (q *Request) chat() {
	q.Usage = q.Body.Get("stream_options.include_usage").Bool()
	q.Schema = q.Body.Get("response_format.json_schema.schema")
	for _, t := range q.Body.Get("tools").Array() {
		q.offer("", t.Get("function"), t.Get("function.parameters"), false)
	}
	for _, m := range Elements(q.Body.Get("messages")) {
		q.add(m.Get("role").Str, Text(m.Get("content")))
	}
}

func (q *Request) responses() {
	q.Schema = q.Body.Get("text.format.schema")
	q.responseTools("", q.Body.Get("tools"))
	if instructions := q.Body.Get("instructions").Str; instructions != "" {
		q.instruct(instructions)
	}
	input := q.Body.Get("input")
	if input.Type == gjson.String {
		q.add(plumb.RoleUser, input.Str)
	}
	for _, item := range Elements(input) {
		kind, role := item.Get("type").Str, item.Get("role")
		switch {
		case strings.HasSuffix(kind, "_output"):
			q.add(RoleTool, Text(item.Get("output")))
			q.responseTools("", item.Get("tools")) // the results of a tool search
		case kind == "additional_tools": // Codex, for models that call tools from code
			q.responseTools("", item.Get("tools"))
		case kind == "agent_message": // Codex, to its subagents and back
			// The second text is plain, because the real model would encrypt it.
			q.add(plumb.RoleUser, Text(item.Get("content"))+joined(item.Get("content.#.encrypted_content")))
		case role.Type == gjson.String:
			q.add(role.Str, Text(item.Get("content")))
		}
	}
}

func (q *Request) responseTools(namespace string, tools gjson.Result) {
	for _, t := range tools.Array() {
		switch t.Get("type").Str {
		case "namespace":
			q.responseTools(t.Get("name").Str, t.Get("tools"))
		case "function":
			q.offer(namespace, t, t.Get("parameters"), false)
		case "custom":
			q.offer(namespace, t, gjson.Result{}, true)
		case SearchTool:
			q.Tools = append(q.Tools, Tool{Name: SearchTool, Schema: t.Get("parameters")})
		}
	}
}

func (q *Request) messages() {
	q.Schema = firstOf(q.Body, "output_config.format.schema", "output_format.schema")
	for _, t := range q.Body.Get("tools").Array() {
		q.offer("", t, t.Get("input_schema"), false)
	}
	if system := q.Body.Get("system"); system.Exists() {
		q.instruct(Text(system))
	}
	for _, m := range Elements(q.Body.Get("messages")) {
		results := m.Get(`content.#(type=="tool_result")#`).Array()
		for _, result := range results {
			q.add(RoleTool, Text(result.Get("content")))
		}
		if text := Text(m.Get("content")); text != "" || len(results) == 0 {
			q.add(m.Get("role").Str, text)
		}
	}
}

func (q *Request) generate() {
	q.parameters(q.Body.Get("generationConfig"))
	q.Schema = firstOf(q.Body, "generationConfig.responseJsonSchema", "generationConfig.responseSchema")
	for _, t := range q.Body.Get("tools").Array() {
		for _, f := range t.Get("functionDeclarations").Array() {
			q.offer("", f, firstOf(f, "parametersJsonSchema", "parameters"), false)
		}
	}
	if system := q.Body.Get("systemInstruction"); system.Exists() {
		q.instruct(Text(system.Get("parts")))
	}
	for _, c := range Elements(q.Body.Get("contents")) {
		results := c.Get("parts.#.functionResponse").Array()
		for _, result := range results {
			q.add(RoleTool, result.Get("response").Raw)
		}
		role := plumb.RoleUser
		if c.Get("role").Str == "model" {
			role = plumb.RoleAssistant
		}
		if text := Text(c.Get("parts")); text != "" || len(results) == 0 {
			q.add(role, text)
		}
	}
}

// firstOf returns the value at the first of the paths that is an object.
func firstOf(v gjson.Result, paths ...string) gjson.Result {
	for _, path := range paths {
		if found := v.Get(path); found.IsObject() {
			return found
		}
	}
	return gjson.Result{}
}
