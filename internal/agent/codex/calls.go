package codex

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// codexCall is a tool call that has no result yet.
type codexCall struct {
	o       transcript.Origin
	command string // that it is to run
	script  string // of code mode
	patch   string
	ran     int  // commands that are recorded as run
	changed bool // its file changes are recorded
}

// called takes a call of a function.
func (t *codexThread) called(o transcript.Origin, p gjson.Result) {
	tool := transcript.FirstText(p, "name", "tool")
	args := p.Get("arguments")
	if !args.Exists() {
		args = p.Get("args")
	}
	given := args
	if args.Type == gjson.String && gjson.Valid(args.Str) {
		given = gjson.Parse(args.Str)
	}
	if dir := transcript.FirstText(given, "workdir", "cwd"); dir != "" {
		o.Base = transcript.Resolve(o.Base, dir)
	}
	c := &codexCall{o: o}
	switch tool {
	case "apply_patch":
		c.patch = given.Get("input").String()
	case "exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec":
		if command := given.Get("cmd"); command.Exists() {
			c.command = codexUnwrap(command)
		} else {
			c.command = codexUnwrap(given.Get("command"))
		}
	}
	if space := p.Get("namespace").String(); strings.HasPrefix(space, "mcp__") {
		tool = strings.TrimSuffix(space, "__") + "__" + tool
	}
	t.begin(c, tool, transcript.JSON(given))
}

// custom takes a call of a tool that is given text: a patch, or a script of code mode.
func (t *codexThread) custom(o transcript.Origin, p gjson.Result) {
	tool, input := p.Get("name").String(), p.Get("input").String()
	c := &codexCall{o: o}
	switch tool {
	case "apply_patch":
		c.patch = input
	case "exec":
		c.script = input
	}
	t.begin(c, tool, transcript.JSONObject("input", input))
}

// begin records a tool call.
func (t *codexThread) begin(c *codexCall, tool string, args json.RawMessage) {
	c.o.Call = strings.Clone(c.o.Call)
	t.tool(c.o, tool, args)
	if c.o.Call == "" {
		t.run(c) // there will be no result that could be told to be its own
		return
	}
	if _, ran := t.ran[transcript.Hash("", c.o.Call)]; ran {
		c.ran++
	}
	if t.calls[c.o.Call] == nil {
		if len(t.open) > 2*len(t.calls)+1000 {
			t.open = slices.DeleteFunc(t.open, func(id string) bool { return t.calls[id] == nil })
		}
		t.calls[c.o.Call] = c
		t.open = append(t.open, c.o.Call)
	}
}

// tool records that a tool was called: what was said before was not the last word.
func (t *codexThread) tool(o transcript.Origin, tool string, args json.RawMessage) {
	if t.spoken >= 0 {
		t.r.Rephrase(t.spoken, transcript.PhaseCommentary)
		t.r.Answer = ""
	}
	t.spoken = -1
	if tool != "" {
		t.r.ToolCall(o, tool, args)
	}
}

// running returns the script of code mode that is running, if there is one: what runs meanwhile, it does.
func (t *codexThread) running() *codexCall {
	const recent = 64
	for _, id := range slices.Backward(t.open[max(0, len(t.open)-recent):]) {
		if c := t.calls[id]; c != nil && c.script != "" {
			return c
		}
	}
	return nil
}

// executed takes a command that the agent says it ran.
func (t *codexThread) executed(o transcript.Origin, id string, item gjson.Result) {
	o.Call = id
	command := codexUnwrap(item.Get("command"))
	c := t.calls[id]
	if c == nil {
		c = t.running()
	}
	if dir := item.Get("cwd").String(); dir != "" {
		o.Base = transcript.Resolve(o.Base, dir)
	}
	if command == "" && c != nil {
		command = c.command // older versions say it once
	}
	sure, recorded := t.ran[transcript.Hash("", id)]
	if sure || command == "" {
		return // told twice, or not at all
	}
	if id != "" {
		t.ran[transcript.Hash("", id)] = true
	}
	if c != nil {
		c.ran++
		o.Call = c.o.Call
	}
	t.executions[transcript.Hash("", command)] = true
	if !recorded { // a command that goes on in the background has a result first
		t.r.CommandOnly(o, command)
	}
	code := item.Get("exit_code")
	if code.Type == gjson.Number {
		t.r.Exit(o.Call, int(code.Int()))
	}
	if said := item.Get("aggregated_output").String(); item.Get("status").String() == "declined" ||
		t.sandboxed && code.Int() != 0 && codexSandbox.MatchString(said) {
		t.r.Denial(transcript.Origin{At: o.At, Call: id, Subagent: o.Subagent}, "exec_command", transcript.LineWith(said, codexSandbox))
	}
	// The sandbox denies a command some of what it does, not to run: what it reads is recorded after the denial, so that it stays.
	for _, part := range item.Get("parsed_cmd").Array() {
		if part.Get("type").String() == "read" {
			t.r.FileRead(o, transcript.FirstText(part, "path", "name"))
		}
	}
	t.reads(o, command) // the agent's own parser gives up on what is not simple
}

func (t *codexThread) reads(o transcript.Origin, command string) {
	for _, path := range transcript.ShellReads(command) {
		t.r.FileRead(o, path)
	}
}

// patched takes files that the agent says it changed.
func (t *codexThread) patched(o transcript.Origin, id string, item gjson.Result) {
	o.Call = id
	if c := t.calls[id]; c != nil {
		c.changed = true
	}
	status := item.Get("status").String()
	if status == "declined" {
		t.r.Denial(o, "apply_patch", item.Get("stderr").String())
	}
	if status == "failed" || status == "declined" || item.Get("success").Type == gjson.False {
		return
	}
	item.Get("changes").ForEach(func(path, change gjson.Result) bool {
		kind := codexChange(change.Get("type"))
		if to := change.Get("move_path").String(); to != "" {
			t.r.FileChange(o, transcript.ChangeDelete, path.String())
			t.r.FileChange(o, transcript.ChangeAdd, to)
			return true
		}
		t.r.FileChange(o, kind, path.String())
		return true
	})
}

func codexChange(kind gjson.Result) string {
	word := kind.String()
	if kind.IsObject() {
		word = kind.Get("type").String()
	}
	switch word {
	case transcript.ChangeAdd, transcript.ChangeDelete:
		return word
	default:
		return transcript.ChangeUpdate
	}
}

// mcp takes a call of a tool of an MCP server that the model did not make by itself: a script of code mode did.
func (t *codexThread) mcp(o transcript.Origin, id string, invocation, p gjson.Result) {
	if t.calls[id] != nil {
		return
	}
	o.Call = id
	t.r.ToolCall(o, "mcp__"+invocation.Get("server").String()+"__"+invocation.Get("tool").String(), transcript.JSON(invocation.Get("arguments")))
	failed := p.Get("status").String() == "failed" || p.Get("result.Err").Exists() || p.Get("error.message").Exists()
	t.r.ToolResult(o, codexOutput(p, "result"), failed)
}

// What the texts of results say.
var (
	codexExit    = regexp.MustCompile(`(?m)^(?:Process exited with code|Exit code:) (-?\d+)`)
	codexCommand = regexp.MustCompile(`(?m)^Command:\s+(\S.*\s-l?c\s+.*)$`)
	codexSandbox = regexp.MustCompile(`(?i)read-only file system|operation not permitted|sandbox denied|sandbox error`)
	codexDenied  = regexp.MustCompile(`(?i)read-only file system|operation not permitted|permission denied|rejected by user|sandbox denied|sandbox error|denied by`)
	codexLiteral = regexp.MustCompile(`exec_command\(\s*\{[^{}]*?["']?cmd["']?\s*:\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`(?:[^`\\\\$]|\\\\.)*`" + `)`)
)

// result takes what a tool answered, and settles what is still unknown of its call.
func (t *codexThread) result(o transcript.Origin, p gjson.Result) {
	text := codexOutput(p, "output")
	if !p.Get("output").Exists() {
		text = p.Raw
	}
	c := t.calls[o.Call]
	if c == nil {
		c = &codexCall{o: o}
	}
	header, _, _ := strings.Cut(transcript.Clip(text, 4<<10), "\nOutput:\n")
	code, exited := codexExitCode(header, p)
	failed := exited && code != 0 || p.Get("output.success").Type == gjson.False || strings.HasPrefix(text, "Script failed") ||
		strings.HasPrefix(text, "apply_patch verification failed") || strings.HasPrefix(text, "patch rejected") || strings.HasPrefix(text, "unsupported call")
	t.r.ToolResult(o, text, failed)

	o.Base = c.o.Base
	if m := codexCommand.FindStringSubmatch(header); m != nil && c.ran == 0 {
		c.command = codexUnwrap(gjson.Result{Type: gjson.String, Str: m[1]})
	}
	denied := t.sandboxed && c.ran == 0 && codexDenied.MatchString(text)
	if denied && c.script != "" && c.command == "" {
		if m := codexLiteral.FindStringSubmatch(c.script); m != nil {
			c.command = transcript.JavaScriptString(m[1])
		}
	}
	if c.command != "" && c.ran == 0 {
		t.r.CommandOnly(o, c.command)
		t.ran[transcript.Hash("", c.o.Call)] = false
		if exited {
			t.r.Exit(o.Call, code)
		}
	}
	if denied || strings.Contains(header, "rejected by user") {
		t.r.Denial(o, "", transcript.LineWith(text, codexDenied))
	}
	if c.command != "" && c.ran == 0 {
		t.reads(o, c.command)
	}
	if c.patch != "" && !c.changed && !failed && !denied {
		for change := range transcript.PatchedFiles(c.patch) {
			t.r.FileChange(o, change.Kind, change.Path)
		}
	}
	delete(t.calls, o.Call)
}

// codexExitCode finds the exit code in the head of a result, or in a result that is JSON.
func codexExitCode(header string, p gjson.Result) (int, bool) {
	if m := codexExit.FindStringSubmatch(header); m != nil {
		code, err := strconv.Atoi(m[1])
		return code, err == nil
	}
	out := p.Get("output")
	if out.Type == gjson.String && strings.HasPrefix(out.Str, "{") && gjson.Valid(out.Str) {
		if v := gjson.Get(out.Str, "metadata.exit_code"); v.Type == gjson.Number {
			return int(v.Int()), true
		}
	}
	return 0, false
}

// run records the command of a call that has no result: it was begun.
func (t *codexThread) run(c *codexCall) {
	if m := codexLiteral.FindStringSubmatch(c.script); m != nil && c.command == "" {
		if command := transcript.JavaScriptString(m[1]); !t.executions[transcript.Hash("", command)] {
			c.command = command
		}
	}
	if c.command != "" && c.ran == 0 {
		t.r.Command(c.o, c.command)
		t.ran[transcript.Hash("", c.o.Call)] = false
	}
}

// end settles the calls that have no result, since the session broke off.
func (t *codexThread) end() {
	for _, id := range t.open {
		if c := t.calls[id]; c != nil {
			t.run(c)
			delete(t.calls, id)
		}
	}
	t.open = nil
}

// codexOutput returns the text of a result, which may be text, a list of parts, or an object.
func codexOutput(p gjson.Result, field string) string {
	v := p.Get(field)
	if m := p.Get("error.message"); m.Exists() && !v.IsObject() {
		return m.String()
	}
	if ok := v.Get("Ok"); ok.Exists() {
		v = ok
	}
	if content := v.Get("content"); content.IsArray() {
		v = content
	}
	if v.IsArray() {
		var b strings.Builder
		for _, part := range v.Array() {
			if text := part.Get("text"); text.Exists() {
				b.WriteString(text.String())
			} else {
				b.WriteString(part.Raw)
			}
		}
		return b.String()
	}
	return v.String()
}
