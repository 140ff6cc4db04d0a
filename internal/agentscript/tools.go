package agentscript

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/wire"
)

// The names of the agents' tools by purpose, preferred names first.
const (
	shellTools    = "exec_command Bash bash shell_command shell run_shell_command local_shell"
	readTools     = "Read read view read_file"
	writeTools    = "Write write create write_file"
	editTools     = "Edit edit replace"
	skillTools    = "Skill skill activate_skill"
	subagentTools = "Agent Task task agent spawn_agent invoke_agent"
	searchTools   = wire.SearchTool + " ToolSearch"
)

// Played is one call as sent to the agent.
type Played struct {
	Call Call
	// Tool is the agent's own name of the tool, Args its arguments.
	Tool string
	Args string
	// Command is the shell command, if the call uses one. Path is the absolute path of the file
	// that it reads or writes.
	Command, Path string
}

// perform translates the call into a call of a tool that the agent offers. dir is the base of
// relative paths.
func (q *conversation) perform(c Call, dir string) (wire.Call, Played, error) {
	p := Played{Call: c}
	var t wire.Call
	var err error
	switch {
	case c.Run != "":
		p.Command = c.Run
		t, err = q.shell(c.Run)
	case c.Read != "":
		p.Path = absolute(dir, c.Read)
		values := object{"file_path": p.Path, "filePath": p.Path, "absolute_path": p.Path, "path": p.Path}
		if t, err = q.with(readTools, values); err != nil {
			p.Command = "cat " + c.Read
			t, err = q.shell(p.Command)
		}
	case c.Write != "":
		p.Path = absolute(dir, c.Write)
		values := object{
			"file_path": p.Path, "filePath": p.Path, "path": p.Path, "content": c.Content, "file_text": c.Content,
		}
		if t, err = q.with(writeTools, values); err != nil {
			t, err = q.patch("*** Add File: " + c.Write + "\n" + prefixed("+", c.Content))
		}
	case c.Edit != "":
		p.Path = absolute(dir, c.Edit)
		values := object{
			"file_path": p.Path, "filePath": p.Path, "path": p.Path,
			"old_string": c.Old, "oldString": c.Old, "old_str": c.Old,
			"new_string": c.New, "newString": c.New, "new_str": c.New, "instruction": "Replace the line.",
		}
		if t, err = q.with(editTools, values); err != nil {
			t, err = q.patch("*** Update File: " + c.Edit + "\n@@\n" + prefixed("-", c.Old) + prefixed("+", c.New))
		}
	case c.Skill != "":
		if t, err = q.with(skillTools, object{"skill": c.Skill, "name": c.Skill}); err != nil {
			if p.Path = q.skillFile(c.Skill); p.Path == "" {
				return t, p, fmt.Errorf("the agent has neither a tool for skills nor a skill %q", c.Skill)
			}
			p.Command = "cat " + p.Path
			t, err = q.shell(p.Command)
		}
	case c.Subagent != "":
		kind := "general-purpose"
		if q.has("task") {
			kind = "general" // of OpenCode; Copilot has another name for the argument
		}
		t, err = q.with(subagentTools, object{
			"description": "a part of the work", "prompt": c.Subagent, "message": c.Subagent, "subagent_type": kind,
			"agent_type": "general-purpose", "agent_name": "generalist", "task_name": "part", "fork_turns": "none",
			"name": "part", "mode": "sync", "run_in_background": false,
		})
	case c.Find != "":
		t, err = q.with(searchTools, object{"query": c.Find})
	default:
		known := q.full(c.Tool)
		t = wire.Call{Name: known.Name, Namespace: known.Namespace, Args: "{}"}
		if len(c.Args) > 0 {
			t.Args = encode(c.Args) // on one line, because events of a stream end at a line
		}
	}
	p.Tool, p.Args = t.Name, t.Args
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

// full returns the tool with the given name on its MCP server. Each agent puts the server's name
// before it in its own way. It returns a tool that is not offered under the given name.
func (q *conversation) full(name string) wire.Tool {
	for _, t := range q.Tools {
		before, ok := strings.CutSuffix(t.Name, name)
		if ok && (before == "" || strings.HasSuffix(before, "_") || strings.HasSuffix(before, "-")) {
			return t
		}
	}
	return wire.Tool{Name: name}
}

func (q *conversation) has(name string) bool {
	return slices.ContainsFunc(q.Tools, func(t wire.Tool) bool { return t.Name == name })
}

// find returns the first offered tool of the names, which are separated by spaces.
func (q *conversation) find(names string) (wire.Tool, bool) {
	for name := range strings.FieldsSeq(names) {
		if i := slices.IndexFunc(q.Tools, func(t wire.Tool) bool { return t.Name == name }); i >= 0 {
			return q.Tools[i], true
		}
	}
	return wire.Tool{}, false
}

// with calls the first offered tool of the names. It passes the values that the tool's schema has,
// and sample values for other required arguments.
func (q *conversation) with(names string, values object) (wire.Call, error) {
	t, ok := q.find(names)
	if !ok {
		return wire.Call{}, fmt.Errorf("the agent offers no tool %s", names)
	}
	args, properties := object{}, t.Schema.Get("properties").Map()
	for name, property := range properties {
		v, ok := values[name]
		if !ok {
			continue
		}
		if command, isText := v.(string); isText && property.Get("type").Str == "array" {
			v = []string{"bash", "-lc", command}
		}
		args[name] = v
	}
	for _, required := range t.Schema.Get("required").Array() {
		if args[required.Str] == nil {
			args[required.Str] = sample(properties[required.Str])
		}
	}
	return wire.Call{Name: t.Name, Namespace: t.Namespace, Args: encode(args)}, nil
}

// shell calls a tool that runs the command.
func (q *conversation) shell(command string) (wire.Call, error) {
	t, err := q.with(shellTools, object{"command": command, "cmd": command, "description": "Runs a command."})
	if err == nil {
		return t, nil
	}
	if e, ok := q.find("exec"); ok && e.Custom {
		js := "const done = await tools.exec_command({cmd: " + encode(command) + "});\ntext(done.output);\n"
		return wire.Call{Name: e.Name, Namespace: e.Namespace, Args: js, Custom: true}, nil
	}
	return t, err
}

// patch calls a tool that applies a patch in the format of Codex.
func (q *conversation) patch(changes string) (wire.Call, error) {
	full := "*** Begin Patch\n" + changes + "*** End Patch\n"
	if t, ok := q.find("apply_patch"); ok {
		if t.Custom {
			return wire.Call{Name: t.Name, Namespace: t.Namespace, Args: full, Custom: true}, nil
		}
		return q.with(t.Name, object{"input": full, "patch": full, "patchText": full})
	}
	if t, ok := q.find("exec"); ok && t.Custom {
		js := "text(await tools.apply_patch(" + encode(full) + "));\n"
		return wire.Call{Name: t.Name, Namespace: t.Namespace, Args: js, Custom: true}, nil
	}
	return wire.Call{}, errors.New("the agent offers no tool to change files")
}

// sample returns a minimal value that matches a JSON schema.
func sample(schema gjson.Result) any {
	if enum := schema.Get("enum").Array(); len(enum) > 0 {
		return enum[0].Value()
	}
	switch strings.ToLower(schema.Get("type").Str) { // Google writes types in upper case
	case "object":
		out, properties := object{}, schema.Get("properties").Map()
		for _, required := range schema.Get("required").Array() {
			out[required.Str] = sample(properties[required.Str])
		}
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
