package fakemodel

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// toolCall is a call in a reply. args is a JSON object, or any text where custom is set.
type toolCall struct {
	name, namespace, args string
	custom                bool
	// id joins the call to its result.
	id string
}

// searchTool is the type of the tool with which OpenAI's models search for others.
const searchTool = "tool_search"

// The names that agents have for their tools, by what they do, those to be preferred first.
const (
	shellTools    = "exec_command Bash bash shell_command shell run_shell_command local_shell"
	readTools     = "Read read view read_file"
	writeTools    = "Write write create write_file"
	editTools     = "Edit edit replace"
	skillTools    = "Skill skill activate_skill"
	subagentTools = "Agent Task task agent spawn_agent invoke_agent"
	searchTools   = searchTool + " ToolSearch"
)

// Played is one call as it went to the agent.
type Played struct {
	Call Call
	// Tool is the agent's own name of the tool, Args what it got.
	Tool string
	Args string
	// Command is the shell command, where the call was made with one; Path the absolute path of what it reads or writes.
	Command, Path string
}

// perform turns the call into one of a tool that the agent offers. dir is where relative paths start.
func (q *agentAsk) perform(c Call, dir string) (toolCall, Played, error) {
	p := Played{Call: c}
	var t toolCall
	var err error
	switch {
	case c.Run != "":
		p.Command = c.Run
		t, err = q.shell(c.Run)
	case c.Read != "":
		p.Path = absolute(dir, c.Read)
		if t, err = q.with(readTools, map[string]any{"file_path": p.Path, "filePath": p.Path, "absolute_path": p.Path, "path": p.Path}); err != nil {
			p.Command = "cat " + c.Read
			t, err = q.shell(p.Command)
		}
	case c.Write != "":
		p.Path = absolute(dir, c.Write)
		values := map[string]any{"file_path": p.Path, "filePath": p.Path, "path": p.Path, "content": c.Content, "file_text": c.Content}
		if t, err = q.with(writeTools, values); err != nil {
			t, err = q.patch("*** Add File: " + c.Write + "\n" + prefixed("+", c.Content))
		}
	case c.Edit != "":
		p.Path = absolute(dir, c.Edit)
		values := map[string]any{
			"file_path": p.Path, "filePath": p.Path, "path": p.Path, "old_string": c.Old, "oldString": c.Old, "old_str": c.Old,
			"new_string": c.New, "newString": c.New, "new_str": c.New, "instruction": "Replace the line.",
		}
		if t, err = q.with(editTools, values); err != nil {
			t, err = q.patch("*** Update File: " + c.Edit + "\n@@\n" + prefixed("-", c.Old) + prefixed("+", c.New))
		}
	case c.Skill != "":
		if t, err = q.with(skillTools, map[string]any{"skill": c.Skill, "name": c.Skill}); err != nil {
			if p.Path = q.skillFile(c.Skill); p.Path == "" {
				return t, p, fmt.Errorf("the agent has neither a tool for skills nor a skill %q", c.Skill)
			}
			p.Command = "cat " + p.Path
			t, err = q.shell(p.Command)
		}
	case c.Subagent != "":
		kind := "general-purpose"
		if q.has("task") {
			kind = "general" // OpenCode's word; Copilot has another name for the argument
		}
		t, err = q.with(subagentTools, map[string]any{
			"description": "a part of the work", "prompt": c.Subagent, "message": c.Subagent, "subagent_type": kind, "agent_type": "general-purpose",
			"agent_name": "generalist", "task_name": "part", "fork_turns": "none", "name": "part", "mode": "sync", "run_in_background": false,
		})
	case c.Find != "":
		t, err = q.with(searchTools, map[string]any{"query": c.Find})
	default:
		known := q.full(c.Tool)
		t = toolCall{name: known.name, namespace: known.namespace, args: string(c.Args)}
		if t.args == "" {
			t.args = "{}"
		}
	}
	p.Tool, p.Args = t.name, t.args
	return t, p, err
}

func absolute(dir, name string) string {
	if path.IsAbs(name) || dir == "" {
		return name
	}
	return path.Join(dir, name)
}

// prefixed puts mark before each line.
func prefixed(mark, s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// full returns the tool that is called name by its server: agents put the server's name before it, each in its own way. A
// tool that is not offered is returned as it is.
func (q *agentAsk) full(name string) tool {
	for _, t := range q.tools {
		before, ok := strings.CutSuffix(t.name, name)
		if ok && (before == "" || strings.HasSuffix(before, "_") || strings.HasSuffix(before, "-")) {
			return t
		}
	}
	return tool{name: name}
}

func (q *agentAsk) has(name string) bool {
	return slices.ContainsFunc(q.tools, func(t tool) bool { return t.name == name })
}

// find returns the first of the names, separated by spaces, that is offered.
func (q *agentAsk) find(names string) (tool, bool) {
	for name := range strings.FieldsSeq(names) {
		if i := slices.IndexFunc(q.tools, func(t tool) bool { return t.name == name }); i >= 0 {
			return q.tools[i], true
		}
	}
	return tool{}, false
}

// with calls the first of the named tools that is offered, with those of the values that it knows. What else it requires is
// made up.
func (q *agentAsk) with(names string, values map[string]any) (toolCall, error) {
	t, ok := q.find(names)
	if !ok {
		return toolCall{}, fmt.Errorf("the agent offers no tool %s", names)
	}
	args := map[string]any{}
	fields(member(t.schema, "properties"), func(name, property []byte) {
		v, known := values[string(name)]
		if !known {
			return
		}
		kind, _ := text(member(property, "type"))
		if command, isText := v.(string); isText && kind == "array" {
			v = []string{"bash", "-lc", command}
		}
		args[string(name)] = v
	})
	elements(member(t.schema, "required"), func(_ int, name []byte) {
		if n, _ := text(name); args[n] == nil {
			args[n] = sample(member(member(t.schema, "properties"), n))
		}
	})
	return toolCall{name: t.name, namespace: t.namespace, args: encode(args)}, nil
}

// shell runs a command.
func (q *agentAsk) shell(command string) (toolCall, error) {
	t, err := q.with(shellTools, map[string]any{"command": command, "cmd": command, "description": "Runs a command."})
	if err == nil {
		return t, nil
	}
	if e, ok := q.find("exec"); ok && e.custom {
		js := "const done = await tools.exec_command({cmd: " + encode(command) + "});\ntext(done.output);\n"
		return toolCall{name: e.name, namespace: e.namespace, args: js, custom: true}, nil
	}
	return t, err
}

// patch changes files in the way of Codex.
func (q *agentAsk) patch(changes string) (toolCall, error) {
	whole := "*** Begin Patch\n" + changes + "*** End Patch\n"
	if t, ok := q.find("apply_patch"); ok {
		if t.custom {
			return toolCall{name: t.name, namespace: t.namespace, args: whole, custom: true}, nil
		}
		return q.with(t.name, map[string]any{"input": whole, "patch": whole, "patchText": whole})
	}
	if t, ok := q.find("exec"); ok && t.custom {
		return toolCall{name: t.name, namespace: t.namespace, args: "text(await tools.apply_patch(" + encode(whole) + "));\n", custom: true}, nil
	}
	return toolCall{}, fmt.Errorf("the agent offers no tool to change files")
}

// encode is v as JSON, as a model writes it. v has nothing that JSON has not.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// sample makes a value that fits a JSON schema, as small as it can be.
func sample(schema []byte) any {
	if enum := member(schema, "enum"); enum != nil {
		var first any
		elements(enum, func(i int, v []byte) {
			if i == 0 && json.Unmarshal(v, &first) != nil {
				first = nil
			}
		})
		return first
	}
	kind, _ := text(member(schema, "type"))
	switch strings.ToLower(kind) { // Google's are upper case
	case "object":
		out := map[string]any{}
		elements(member(schema, "required"), func(_ int, name []byte) {
			n, _ := text(name)
			out[n] = sample(member(member(schema, "properties"), n))
		})
		return out
	case "array":
		return []any{}
	case "boolean":
		return false
	case "integer", "number":
		return 1
	default:
		return "made up"
	}
}
