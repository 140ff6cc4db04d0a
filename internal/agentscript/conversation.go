package agentscript

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// conversation is the part of an agent's request that the server uses, for every API.
type conversation struct {
	body  []byte
	tools []tool
	// received are the messages of the agent, in order.
	received []message
	// schema is the schema of the answer, if the request wants JSON.
	schema any
}

// tool is a tool that the agent offers to the model.
type tool struct {
	name, namespace string
	// custom is set if the argument is a text instead of JSON.
	custom bool
	schema any
}

// message is a message of the agent to the model: a text in the user's name, or the result of a
// call.
type message struct {
	text   string
	result bool
}

// readConversation reads a request. It ignores what it does not know, because agents send
// undocumented members.
func readConversation(api api, body []byte, request any) *conversation {
	q := &conversation{body: body}
	switch api {
	case apiChat:
		q.chat(request)
	case apiResponses:
		q.responses(request)
	case apiMessages:
		q.messages(request)
	case apiGenerate:
		q.generate(request)
	default: // counting tokens needs no conversation
	}
	return q
}

func (q *conversation) chat(request any) {
	for _, t := range list(request, "tools") {
		q.tool("", get(t, "function"), get(t, "function", "parameters"), false)
	}
	q.schema = get(request, "response_format", "json_schema", "schema")
	for _, m := range list(request, "messages") {
		switch text(m, "role") {
		case "user":
			q.received = append(q.received, message{text: content(get(m, "content"))})
		case "tool":
			q.received = append(q.received, message{result: true})
		}
	}
}

func (q *conversation) responses(request any) {
	q.responseTools("", list(request, "tools"))
	q.schema = get(request, "text", "format", "schema")
	if s, ok := get(request, "input").(string); ok {
		q.received = append(q.received, message{text: s})
	}
	for _, item := range list(request, "input") {
		kind := text(item, "type")
		switch {
		case strings.HasSuffix(kind, "_output"):
			q.received = append(q.received, message{result: true})
			q.responseTools("", list(item, "tools")) // the results of a tool search
		case kind == "additional_tools": // Codex, for models that call tools from code
			q.responseTools("", list(item, "tools"))
		case kind == "agent_message": // Codex, to its subagents and back
			t := []string{content(get(item, "content"))}
			for _, part := range list(item, "content") {
				t = append(t, text(part, "encrypted_content")) // plain text, because the real model would encrypt it
			}
			q.received = append(q.received, message{text: strings.Join(t, "")})
		case text(item, "role") == "user":
			q.received = append(q.received, message{text: content(get(item, "content"))})
		}
	}
}

func (q *conversation) responseTools(namespace string, tools []any) {
	for _, t := range tools {
		switch text(t, "type") {
		case "namespace":
			q.responseTools(text(t, "name"), list(t, "tools"))
		case "function":
			q.tool(namespace, t, get(t, "parameters"), false)
		case "custom":
			q.tool(namespace, t, nil, true)
		case searchTool:
			q.tools = append(q.tools, tool{name: searchTool, schema: get(t, "parameters")})
		}
	}
}

func (q *conversation) messages(request any) {
	for _, t := range list(request, "tools") {
		q.tool("", t, get(t, "input_schema"), false)
	}
	if q.schema = get(request, "output_config", "format", "schema"); q.schema == nil {
		q.schema = get(request, "output_format", "schema")
	}
	for _, m := range list(request, "messages") {
		if text(m, "role") != "user" {
			continue
		}
		for _, block := range list(m, "content") {
			if text(block, "type") == "tool_result" {
				q.received = append(q.received, message{result: true})
			}
		}
		if t := content(get(m, "content")); t != "" {
			q.received = append(q.received, message{text: t})
		}
	}
}

func (q *conversation) generate(request any) {
	for _, t := range list(request, "tools") {
		for _, f := range list(t, "functionDeclarations") {
			schema := get(f, "parametersJsonSchema")
			if schema == nil {
				schema = get(f, "parameters")
			}
			q.tool("", f, schema, false)
		}
	}
	if q.schema = get(request, "generationConfig", "responseJsonSchema"); q.schema == nil {
		q.schema = get(request, "generationConfig", "responseSchema")
	}
	for _, c := range list(request, "contents") {
		if text(c, "role") == "model" {
			continue
		}
		for _, part := range list(c, "parts") {
			if get(part, "functionResponse") != nil {
				q.received = append(q.received, message{result: true})
			} else if t := text(part, "text"); t != "" {
				q.received = append(q.received, message{text: t})
			}
		}
	}
}

func (q *conversation) tool(namespace string, t, schema any, custom bool) {
	q.tools = append(q.tools, tool{text(t, "name"), namespace, custom, schema})
}

// scene returns the scene to play and the number of tool results in it. The scene is -1 if no
// prompt of the script occurs.
func (q *conversation) scene(s *Script) (scene, results int) {
	scene = slices.IndexFunc(s.Scenes, func(sc Scene) bool { return sc.Prompt == "" })
	for _, m := range q.received {
		if m.result {
			results++
			continue
		}
		// If several prompts match, the longest wins.
		best := -1
		for i, sc := range s.Scenes {
			if sc.Prompt != "" && strings.Contains(m.text, sc.Prompt) &&
				(best < 0 || len(sc.Prompt) > len(s.Scenes[best].Prompt)) {
				best = i
			}
		}
		if best >= 0 {
			scene, results = best, 0
		}
	}
	return scene, results
}

// dir returns the working directory that the agent's request names, or "".
func (q *conversation) dir() string {
	// Codex, then most other agents, then Gemini.
	m := regexp.MustCompile(`(?i)(?:<cwd>|working directory: |\*\*Workspace Directories:\*\*\\n {2}- )(/[^"<>\\]+)`).
		FindSubmatch(q.body)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(string(m[1]))
}

// skillFile returns the path of the skill's file in the request, or "". Codex abbreviates
// directories: "- `r1` = `/path`".
func (q *conversation) skillFile(name string) string {
	end := []byte("/" + name + "/SKILL.md")
	i := bytes.Index(q.body, end)
	if i < 0 {
		return ""
	}
	start := bytes.LastIndexAny(q.body[:i], "\"'`<>()\\ \n\t")
	root, below, _ := strings.Cut(string(q.body[start+1:i+len(end)]), "/")
	if _, after, ok := bytes.Cut(q.body, []byte("`"+root+"` = `")); ok && root != "" {
		full, _, _ := bytes.Cut(after, []byte("`"))
		root = string(full)
	}
	return root + "/" + below
}

// object is a JSON object.
type object = map[string]any

// get returns the value at the path of member names in v, or nil.
func get(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

// list returns the array at the path in v, or nil.
func list(v any, path ...string) []any {
	l, _ := get(v, path...).([]any)
	return l
}

// text returns the string at the path in v, or "".
func text(v any, path ...string) string {
	s, _ := get(v, path...).(string)
	return s
}

// content returns the text of a message's content: a string, or a list of parts.
func content(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	parts, _ := v.([]any)
	for _, part := range parts {
		b.WriteString(text(part, "text"))
	}
	return b.String()
}

// encode renders v as JSON as a model writes it. v must be representable in JSON.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
