package fakemodel

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// agentAsk is what a request of an agent says, whatever the API.
type agentAsk struct {
	body  []byte
	tools []tool
	said  []said
	// schema is that of the answer, where the request asks for JSON.
	schema []byte
}

// tool is something that the agent lets the model call.
type tool struct {
	name, namespace string
	// custom says that its argument is a text, not JSON.
	custom bool
	schema []byte
}

// said is one thing that the agent told the model, in order: a text in the user's name, or the result of a call.
type said struct {
	text   string
	result bool
}

// readAgentAsk reads a valid body. It is lenient: agents send much that no documentation has.
func readAgentAsk(rt route, body []byte) *agentAsk {
	q := &agentAsk{body: body}
	switch rt.op {
	case opChat:
		q.chat()
	case opResponses:
		q.responses()
	case opMessages:
		q.messages()
	case opGenerate:
		q.generate()
	default: // the others ask no model
	}
	return q
}

func (q *agentAsk) chat() {
	elements(member(q.body, "tools"), func(_ int, t []byte) {
		f := member(t, "function")
		q.tool("", f, member(f, "parameters"), false)
	})
	q.schema = member(member(member(q.body, "response_format"), "json_schema"), "schema")
	elements(member(q.body, "messages"), func(_ int, m []byte) {
		switch role, _ := text(member(m, "role")); role {
		case "user":
			q.said = append(q.said, said{text: contentText(member(m, "content"))})
		case "tool":
			q.said = append(q.said, said{result: true})
		}
	})
}

func (q *agentAsk) responses() {
	q.responseTools("", member(q.body, "tools"))
	q.schema = member(member(member(q.body, "text"), "format"), "schema")
	if s, ok := text(member(q.body, "input")); ok {
		q.said = append(q.said, said{text: s})
	}
	elements(member(q.body, "input"), func(_ int, item []byte) {
		kind, _ := text(member(item, "type"))
		role, _ := text(member(item, "role"))
		switch {
		case strings.HasSuffix(kind, "_output"):
			q.said = append(q.said, said{result: true})
			q.responseTools("", member(item, "tools")) // those that a search has found
		case kind == "additional_tools": // Codex for models that call tools from code
			q.responseTools("", member(item, "tools"))
		case kind == "agent_message": // Codex to its subagents, and back
			t := contentText(member(item, "content"))
			elements(member(item, "content"), func(_ int, part []byte) {
				hidden, _ := text(member(part, "encrypted_content")) // by the model, which has not done so here
				t += hidden
			})
			q.said = append(q.said, said{text: t})
		case role == plumb.RoleUser:
			q.said = append(q.said, said{text: contentText(member(item, "content"))})
		}
	})
}

func (q *agentAsk) responseTools(namespace string, list []byte) {
	elements(list, func(_ int, t []byte) {
		switch kind, _ := text(member(t, "type")); kind {
		case "namespace":
			name, _ := text(member(t, "name"))
			q.responseTools(name, member(t, "tools"))
		case "function":
			q.tool(namespace, t, member(t, "parameters"), false)
		case "custom":
			q.tool(namespace, t, nil, true)
		case searchTool:
			q.tools = append(q.tools, tool{name: searchTool, schema: member(t, "parameters")})
		}
	})
}

func (q *agentAsk) messages() {
	elements(member(q.body, "tools"), func(_ int, t []byte) { q.tool("", t, member(t, "input_schema"), false) })
	q.schema = member(member(member(q.body, "output_config"), "format"), "schema")
	if q.schema == nil {
		q.schema = member(member(q.body, "output_format"), "schema")
	}
	elements(member(q.body, "messages"), func(_ int, m []byte) {
		if role, _ := text(member(m, "role")); role != plumb.RoleUser {
			return
		}
		content := member(m, "content")
		results := 0
		elements(content, func(_ int, block []byte) {
			if kind, _ := text(member(block, "type")); kind == "tool_result" {
				q.said = append(q.said, said{result: true})
				results++
			}
		})
		if t := contentText(content); t != "" {
			q.said = append(q.said, said{text: t})
		}
	})
}

func (q *agentAsk) generate() {
	elements(member(q.body, "tools"), func(_ int, t []byte) {
		elements(member(t, "functionDeclarations"), func(_ int, f []byte) {
			schema := member(f, "parametersJsonSchema")
			if isNull(schema) {
				schema = member(f, "parameters")
			}
			q.tool("", f, schema, false)
		})
	})
	config := member(q.body, "generationConfig")
	if q.schema = member(config, "responseJsonSchema"); q.schema == nil {
		q.schema = member(config, "responseSchema")
	}
	elements(member(q.body, "contents"), func(_ int, c []byte) {
		if role, _ := text(member(c, "role")); role == "model" {
			return
		}
		elements(member(c, "parts"), func(_ int, part []byte) {
			if member(part, "functionResponse") != nil {
				q.said = append(q.said, said{result: true})
			} else if t, _ := text(member(part, "text")); t != "" {
				q.said = append(q.said, said{text: t})
			}
		})
	})
}

func (q *agentAsk) tool(namespace string, t, schema []byte, custom bool) {
	name, _ := text(member(t, "name"))
	q.tools = append(q.tools, tool{name, namespace, custom, schema})
}

// scene finds the scene that plays, and the number of results that have come back in it. It is -1 if the agent sent none
// of the prompts.
func (q *agentAsk) scene(s *Script) (scene, results int) {
	scene = slices.IndexFunc(s.Scenes, func(sc Scene) bool { return sc.Prompt == "" })
	for _, x := range q.said {
		if x.result {
			results++
			continue
		}
		// Of several that fit, the one with the longest prompt is meant.
		best := -1
		for i, sc := range s.Scenes {
			if sc.Prompt != "" && strings.Contains(x.text, sc.Prompt) && (best < 0 || len(sc.Prompt) > len(s.Scenes[best].Prompt)) {
				best = i
			}
		}
		if best >= 0 {
			scene, results = best, 0
		}
	}
	return scene, results
}

// dir is the directory that the agent says it works in, or "".
func (q *agentAsk) dir() string {
	// Codex, then most others, then Gemini.
	m := regexp.MustCompile(`(?i)(?:<cwd>|working directory: |\*\*Workspace Directories:\*\*\\n {2}- )(/[^"<>\\]+)`).FindSubmatch(q.body)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(string(m[1]))
}

// skillFile is where the agent says that the skill is, or "". Codex shortens its directories: "- `r1` = `/path`".
func (q *agentAsk) skillFile(name string) string {
	end := []byte("/" + name + "/SKILL.md")
	i := bytes.Index(q.body, end)
	if i < 0 {
		return ""
	}
	start := bytes.LastIndexAny(q.body[:i], "\"'`<>()\\ \n\t")
	root, below, _ := strings.Cut(string(q.body[start+1:i+len(end)]), "/")
	if _, after, ok := bytes.Cut(q.body, []byte("`"+root+"` = `")); ok && root != "" {
		whole, _, _ := bytes.Cut(after, []byte("`"))
		root = string(whole)
	}
	return root + "/" + below
}
