package copilot

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// effect is the effect of a successful call: it reads or changes a file, or loads a skill.
type effect struct {
	transcript.Origin
	kind         plumb.SessionEventType
	name, change string
}

// start records a tool call.
func (c *copilot) start(o transcript.Origin, data gjson.Result) {
	o.Call = data.Get("toolCallId").String()
	tool, args := data.Get("toolName").String(), data.Get("arguments")
	c.r.ToolCall(o, tool, args.Raw)
	if tool == "str_replace_editor" {
		tool = args.Get("command").String()
		if tool != "view" && tool != "create" {
			tool = "edit"
		}
	}
	switch path := args.Get("path").String(); tool {
	case "bash", "powershell", "shell":
		c.r.Command(o, cmp.Or(args.Get("command").String(), data.Get("toolTelemetry.properties.command").String()))
	case "skill":
		c.hold(effect{o, plumb.SessionSkill, cmp.Or(args.Get("skill").String(), args.Get("name").String()), ""})
	case "view":
		c.hold(effect{o, plumb.SessionFileRead, path, ""})
	case "create":
		c.hold(effect{o, plumb.SessionFileChange, path, transcript.ChangeAdd})
	case "edit", "str_replace", "insert":
		c.hold(effect{o, plumb.SessionFileChange, path, transcript.ChangeUpdate})
	case "apply_patch":
		patch := cmp.Or(args.Get("input").String(), args.Get("patch").String(), transcript.TextOf(args))
		for file := range transcript.PatchedFiles(patch) {
			c.hold(effect{o, plumb.SessionFileChange, file.Path, file.Kind})
		}
	}
}

// hold keeps the effect of a call until the call succeeds. The result of a call without an ID
// cannot be found.
func (c *copilot) hold(e effect) {
	if e.Call == "" || len(c.held) > maxPending {
		c.happened(e)
		return
	}
	e.Call, e.Subagent, e.name = strings.Clone(e.Call), strings.Clone(e.Subagent), strings.Clone(e.name)
	c.held[e.Call] = append(c.held[e.Call], e)
}

// happened records an effect.
func (c *copilot) happened(e effect) {
	switch e.kind {
	case plumb.SessionFileRead:
		c.r.FileRead(e.Origin, e.name)
	case plumb.SessionFileChange:
		c.r.FileChange(e.Origin, e.change, e.name)
	case plumb.SessionSkill:
		c.r.Skill(e.Origin, e.name, "tool:skill")
	default:
	}
}

// complete records the result of a tool call.
func (c *copilot) complete(o transcript.Origin, data gjson.Result) {
	f := &c.fields
	f.Of(data)
	failure, success, result := f.Get("error"), f.Get("success"), f.Get("result")
	o.Call = f.Get("toolCallId").String()
	content := result.Get("content")
	output := transcript.TextOf(content)
	if output == "" {
		output = transcript.TextOf(result)
		if detailed := result.Get("detailedContent"); detailed.Exists() || content.Exists() {
			output = transcript.TextOf(detailed)
		}
	}
	message := failure.Get("message").String()
	if failure.Exists() {
		output = cmp.Or(message, transcript.TextOf(failure))
	}
	// Older versions have no success field. An error without a message does not mean that the call
	// failed.
	failed := message != ""
	if success.Exists() {
		failed = !success.Bool()
	}
	directory := f.Get("toolTelemetry").Get("properties.viewType").String() == "directory"
	for _, e := range c.held[o.Call] {
		if !failed && (e.kind != plumb.SessionFileRead || !directory) {
			c.happened(e)
		}
	}
	delete(c.held, o.Call)
	c.r.ToolResult(o, output, failed)
	if code := f.Get("shellExecution").Get("exitCode"); code.Type == gjson.Number {
		c.r.Exit(o.Call, int(code.Int()))
	} else if code, ok := shellExit(output); ok {
		c.r.Exit(o.Call, code)
	}
	for _, edit := range f.Get("fileEdits").Array() {
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
	if reason, ok := c.denied[o.Call]; failed && (ok || code == "denied" || code == "rejected" || transcript.Refused(message)) {
		delete(c.denied, o.Call)
		c.r.Denial(o, "", cmp.Or(message, reason))
	}
}

// shellExit finds the exit code in the output of the shell tool: "<shellId: 0 completed with exit
// code 3>".
func shellExit(output string) (code int, ok bool) {
	tail := strings.TrimSpace(output)
	tail = tail[strings.LastIndexByte(tail, '\n')+1:]
	if _, after, found := strings.Cut(tail, "with exit code "); found && strings.HasPrefix(tail, "<") {
		_, err := fmt.Sscanf(after, "%d>", &code)
		return code, err == nil
	}
	return 0, false
}
