package copilot

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// deed is what a call does if it succeeds: it reads or changes a file, or loads a skill.
type deed struct {
	transcript.Origin
	kind         plumb.SessionEventType
	name, change string
}

// start records a tool call.
func (c *copilot) start(o transcript.Origin, data gjson.Result) {
	o.Call = data.Get("toolCallId").String()
	name, args := data.Get("toolName").String(), data.Get("arguments")
	c.r.ToolCall(o, name, json.RawMessage(args.Raw))
	switch path := args.Get("path").String(); name {
	case "bash", "powershell", "shell":
		command := args.Get("command").String()
		if command == "" {
			command = data.Get("toolTelemetry.properties.command").String()
		}
		c.r.Command(o, command)
	case "skill":
		skill := args.Get("skill").String()
		if skill == "" {
			skill = args.Get("name").String()
		}
		c.hold(deed{o, plumb.SessionSkill, skill, ""})
	case "view":
		c.hold(deed{o, plumb.SessionFileRead, path, ""})
	case "create":
		c.hold(deed{o, plumb.SessionFileChange, path, transcript.ChangeAdd})
	case "edit", "str_replace", "insert":
		c.hold(deed{o, plumb.SessionFileChange, path, transcript.ChangeUpdate})
	case "str_replace_editor":
		switch args.Get("command").String() {
		case "view":
			c.hold(deed{o, plumb.SessionFileRead, path, ""})
		case "create":
			c.hold(deed{o, plumb.SessionFileChange, path, transcript.ChangeAdd})
		default:
			c.hold(deed{o, plumb.SessionFileChange, path, transcript.ChangeUpdate})
		}
	case "apply_patch":
		patch := transcript.TextOf(args)
		for _, k := range []string{"patch", "input"} {
			if text := args.Get(k).String(); text != "" {
				patch = text
			}
		}
		for file := range transcript.PatchedFiles(patch) {
			c.hold(deed{o, plumb.SessionFileChange, file.Path, file.Kind})
		}
	}
}

// hold keeps what a call does until it is known that it succeeded. A call without an id never will be.
func (c *copilot) hold(d deed) {
	if d.Call == "" || len(c.held) > transcript.MaxNotes*transcript.MaxNotes {
		c.do(d)
		return
	}
	d.Call, d.Subagent, d.name = strings.Clone(d.Call), strings.Clone(d.Subagent), strings.Clone(d.name)
	c.held[d.Call] = append(c.held[d.Call], d)
}

// do records what a call did.
func (c *copilot) do(d deed) {
	switch d.kind {
	case plumb.SessionFileRead:
		c.r.FileRead(d.Origin, d.name)
	case plumb.SessionFileChange:
		c.r.FileChange(d.Origin, d.change, d.name)
	case plumb.SessionSkill:
		c.r.Skill(d.Origin, d.name, "tool:skill")
	default:
	}
}

// complete records the result of a tool call.
func (c *copilot) complete(o transcript.Origin, data gjson.Result) {
	var f [7]gjson.Result
	transcript.Members(data, f[:], "toolCallId", "error", "success", "result", "toolTelemetry", "shellExecution", "fileEdits")
	failure, success, result, telemetry := f[1], f[2], f[3], f[4]
	o.Call = f[0].String()
	content := result.Get("content")
	output := transcript.TextOf(content)
	if output == "" {
		output = transcript.TextOf(result)
		if detailed := result.Get("detailedContent"); detailed.Exists() || content.Exists() {
			output = transcript.TextOf(detailed)
		}
	}
	said := failure.Get("message").String()
	if failure.Exists() {
		if output = said; output == "" {
			output = transcript.TextOf(failure)
		}
	}
	// Older versions say nothing of success, and an error that says nothing leaves open what was done until then.
	failed := said != ""
	if success.Exists() {
		failed = !success.Bool()
	}
	if deeds, ok := c.held[o.Call]; ok {
		directory := telemetry.Get("properties.viewType").String() == "directory"
		for _, d := range deeds {
			if !failed && (d.kind != plumb.SessionFileRead || !directory) {
				c.do(d)
			}
		}
		delete(c.held, o.Call)
	}
	c.r.ToolResult(o, output, failed)
	if code := f[5].Get("exitCode"); code.Type == gjson.Number {
		c.r.Exit(o.Call, int(code.Int()))
	} else if code, ok := shellExit(output); ok {
		c.r.Exit(o.Call, code)
	}
	for _, edit := range f[6].Array() {
		kind := transcript.ChangeUpdate
		switch edit.Get("kind").String() {
		case "create", "add":
			kind = transcript.ChangeAdd
		case "delete", "remove":
			kind = transcript.ChangeDelete
		}
		c.r.FileChange(o, kind, edit.Get("path").String())
	}
	code := failure.Get("code").String()
	if reason, ok := c.denied[o.Call]; failed && (ok || code == "denied" || code == "rejected" || transcript.Refused(said)) {
		if said == "" {
			said = reason
		}
		delete(c.denied, o.Call)
		c.r.Denial(o, "", said)
	}
}

// shellExit finds the exit code in what the shell tool says: "<shellId: 0 completed with exit code 3>".
func shellExit(output string) (code int, ok bool) {
	tail := strings.TrimSpace(output)
	tail = tail[strings.LastIndexByte(tail, '\n')+1:]
	if _, after, found := strings.Cut(tail, "with exit code "); found && strings.HasPrefix(tail, "<") {
		_, err := fmt.Sscanf(after, "%d>", &code)
		return code, err == nil
	}
	return 0, false
}

// skills records the skills that copilot found.
func (c *copilot) skills(data gjson.Result) {
	for _, s := range data.Get("skills").Array() {
		if enabled := s.Get("enabled"); !enabled.Exists() || enabled.Bool() {
			c.r.Offer(plumb.OfferSkill, s.Get("name").String(), s.Get("path").String(), s.Get("source").String())
		}
	}
}
