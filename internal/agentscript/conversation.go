package agentscript

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// conversation is the part of an agent's request that the server uses, for every API.
type conversation struct {
	body  []byte
	tools []tool
	// received are the messages of the agent, in order.
	received []message
	// schema is the schema of the answer, if the request wants JSON.
	schema gjson.Result
}

// tool is a tool that the agent offers to the model.
type tool struct {
	name, namespace string
	// custom is set if the argument is a text instead of JSON.
	custom bool
	schema gjson.Result
}

// message is a message of the agent to the model: a text in the user's name, or the result of a
// call.
type message struct {
	text   string
	result bool
}

// readConversation reads a request. It ignores unknown members, because agents send undocumented
// ones.
func readConversation(api api, body []byte, request gjson.Result) *conversation {
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

func (q *conversation) chat(request gjson.Result) {
	for _, t := range request.Get("tools").Array() {
		q.tool("", t.Get("function"), t.Get("function.parameters"), false)
	}
	q.schema = request.Get("response_format.json_schema.schema")
	for _, m := range request.Get("messages").Array() {
		switch m.Get("role").Str {
		case "user":
			q.received = append(q.received, message{text: content(m.Get("content"))})
		case "tool":
			q.received = append(q.received, message{result: true})
		}
	}
}

func (q *conversation) responses(request gjson.Result) {
	q.responseTools("", request.Get("tools"))
	q.schema = request.Get("text.format.schema")
	input := request.Get("input")
	if input.Type == gjson.String {
		q.received = append(q.received, message{text: input.Str})
		return
	}
	for _, item := range input.Array() {
		kind := item.Get("type").Str
		switch {
		case strings.HasSuffix(kind, "_output"):
			q.received = append(q.received, message{result: true})
			q.responseTools("", item.Get("tools")) // the results of a tool search
		case kind == "additional_tools": // Codex, for models that call tools from code
			q.responseTools("", item.Get("tools"))
		case kind == "agent_message": // Codex, to its subagents and back
			// The second text is plain, because the real model would encrypt it.
			t := content(item.Get("content")) + joined(item.Get("content.#.encrypted_content"))
			q.received = append(q.received, message{text: t})
		case item.Get("role").Str == "user":
			q.received = append(q.received, message{text: content(item.Get("content"))})
		}
	}
}

func (q *conversation) responseTools(namespace string, tools gjson.Result) {
	for _, t := range tools.Array() {
		switch t.Get("type").Str {
		case "namespace":
			q.responseTools(t.Get("name").Str, t.Get("tools"))
		case "function":
			q.tool(namespace, t, t.Get("parameters"), false)
		case "custom":
			q.tool(namespace, t, gjson.Result{}, true)
		case searchTool:
			q.tools = append(q.tools, tool{name: searchTool, schema: t.Get("parameters")})
		}
	}
}

func (q *conversation) messages(request gjson.Result) {
	for _, t := range request.Get("tools").Array() {
		q.tool("", t, t.Get("input_schema"), false)
	}
	q.schema = firstOf(request, "output_config.format.schema", "output_format.schema")
	for _, m := range request.Get("messages").Array() {
		if m.Get("role").Str != "user" {
			continue
		}
		for range m.Get(`content.#(type=="tool_result")#`).Array() {
			q.received = append(q.received, message{result: true})
		}
		if t := content(m.Get("content")); t != "" {
			q.received = append(q.received, message{text: t})
		}
	}
}

func (q *conversation) generate(request gjson.Result) {
	for _, t := range request.Get("tools").Array() {
		for _, f := range t.Get("functionDeclarations").Array() {
			q.tool("", f, firstOf(f, "parametersJsonSchema", "parameters"), false)
		}
	}
	q.schema = firstOf(request, "generationConfig.responseJsonSchema", "generationConfig.responseSchema")
	for _, c := range request.Get("contents").Array() {
		if c.Get("role").Str == "model" {
			continue
		}
		for _, part := range c.Get("parts").Array() {
			if part.Get("functionResponse").IsObject() {
				q.received = append(q.received, message{result: true})
			} else if t := part.Get("text").Str; t != "" {
				q.received = append(q.received, message{text: t})
			}
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

func (q *conversation) tool(namespace string, t, schema gjson.Result, custom bool) {
	q.tools = append(q.tools, tool{t.Get("name").Str, namespace, custom, schema})
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
	// Codex, then most other agents, then Qwen and Gemini.
	m := regexp.MustCompile(`(?i)(?:<cwd>|working (?:in the )?directory: |\*\*Workspace Directories:\*\*\\n {2}- )(/[^"<>\\]+)`).
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

// content returns the text of a message's content: a string, or a list of parts.
func content(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	return joined(v.Get("#.text"))
}

func joined(texts gjson.Result) string {
	var b strings.Builder
	for _, text := range texts.Array() {
		b.WriteString(text.Str)
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
