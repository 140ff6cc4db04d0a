package codex

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/text"
)

// codexCall is a tool call without a result.
type codexCall struct {
	o       transcript.Origin
	command string // to run
	script  string // of code mode
	patch   string
	ran     int  // commands that are recorded as run
	changed bool // its file changes are recorded
}

// called takes a function call.
func (t *codexThread) called(o transcript.Origin, p *transcript.Fields) {
	tool := p.Text("name", "tool")
	args := p.Get("arguments")
	if !args.Exists() {
		args = p.Get("args")
	}
	if args.Type == gjson.String && gjson.Valid(args.Str) {
		args = gjson.Parse(args.Str)
	}
	if dir := transcript.FirstText(args, "workdir", "cwd"); dir != "" {
		o.Base = transcript.Resolve(o.Base, dir)
	}
	c := &codexCall{o: o}
	switch tool {
	case "apply_patch":
		c.patch = args.Get("input").String()
	case "exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec":
		if command := args.Get("cmd"); command.Exists() {
			c.command = t.unwrap(command)
		} else {
			c.command = t.unwrap(args.Get("command"))
		}
	}
	if space := p.Get("namespace").String(); strings.HasPrefix(space, "mcp__") {
		tool = strings.TrimSuffix(space, "__") + "__" + tool
	}
	t.begin(c, tool, args.Raw)
}

// custom takes a call of a tool whose input is text: a patch, or a script of code mode.
func (t *codexThread) custom(o transcript.Origin, p *transcript.Fields) {
	tool, input := p.Get("name").String(), p.Get("input").String()
	c := &codexCall{o: o}
	switch tool {
	case "apply_patch":
		c.patch = input
	case "exec":
		c.script = input
	}
	t.begin(c, tool, jsonObject("input", input))
}

// begin records a tool call.
func (t *codexThread) begin(c *codexCall, tool, args string) {
	c.o.Call = strings.Clone(c.o.Call)
	t.tool(c.o, tool, args)
	if c.o.Call == "" {
		t.run(c) // no result can be matched with it
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

// tool records a tool call. The message before it was not the last one of the turn.
func (t *codexThread) tool(o transcript.Origin, tool, args string) {
	if t.spoken >= 0 {
		t.r.Rephrase(t.spoken, transcript.PhaseCommentary)
		t.r.Answer = ""
	}
	t.spoken = -1
	if tool != "" {
		t.r.ToolCall(o, tool, args)
	}
}

// running returns the script of code mode that is running, or nil. It starts the commands that run
// meanwhile.
func (t *codexThread) running() *codexCall {
	const recent = 64
	for _, id := range slices.Backward(t.open[max(0, len(t.open)-recent):]) {
		if c := t.calls[id]; c != nil && c.script != "" {
			return c
		}
	}
	return nil
}

// executed takes a command that the agent reports as run.
func (t *codexThread) executed(o transcript.Origin, id string, item *transcript.Fields) {
	o.Call = id
	command := t.unwrap(item.Get("command"))
	c := t.calls[id]
	if c == nil {
		c = t.running()
	}
	if dir := item.Get("cwd").String(); dir != "" {
		o.Base = transcript.Resolve(o.Base, dir)
	}
	if command == "" && c != nil {
		command = c.command // older versions write it once
	}
	sure, recorded := t.ran[transcript.Hash("", id)]
	if sure || command == "" {
		return // it is reported already, or not known
	}
	if id != "" {
		t.ran[transcript.Hash("", id)] = true
	}
	if c != nil {
		c.ran++
		o.Call = c.o.Call
	}
	t.executions[transcript.Hash("", command)] = true
	if !recorded { // a command that continues in the background has a result first
		t.r.CommandOnly(o, command)
	}
	code := item.Get("exit_code")
	if code.Type == gjson.Number {
		t.r.Exit(o.Call, int(code.Int()))
	}
	if output := item.Get("aggregated_output").String(); item.Get("status").String() == "declined" ||
		t.sandboxed && code.Int() != 0 && codexSandbox.MatchString(output) {
		t.r.Denial(transcript.Origin{At: o.At, Call: id, Subagent: o.Subagent}, "exec_command",
			transcript.LineWith(output, codexSandbox))
	}
	// The sandbox lets a command run and denies some of its actions. The reads follow the denial,
	// so that the denial does not remove them.
	for _, part := range item.Get("parsed_cmd").Array() {
		if part.Get("type").String() == "read" {
			t.r.CommandRead(o, transcript.FirstText(part, "path", "name"))
		}
	}
	t.r.CommandReads(o, command) // the agent only parses simple commands
	if output := item.Get("aggregated_output"); output.Exists() {
		t.r.Output(o, output.String())
	}
}

// patched takes files that the agent reports as changed.
func (t *codexThread) patched(o transcript.Origin, id string, item *transcript.Fields) {
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
		kind, to := codexChange(change.Get("type")), change.Get("move_path").String()
		if to != "" {
			kind = transcript.ChangeDelete
		}
		t.r.FileChange(o, kind, path.String())
		t.r.FileChange(o, transcript.ChangeAdd, to)
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

// mcp takes a call of an MCP tool. It skips the calls of the model, so that those of scripts in
// code mode remain.
func (t *codexThread) mcp(o transcript.Origin, id string, invocation gjson.Result, p *transcript.Fields) {
	if t.calls[id] != nil {
		return
	}
	o.Call = id
	t.r.ToolCall(o, "mcp__"+invocation.Get("server").String()+"__"+invocation.Get("tool").String(),
		invocation.Get("arguments").Raw)
	failed := p.Get("status").String() == "failed" || p.Get("result").Get("Err").Exists() ||
		p.Get("error").Get("message").Exists()
	t.r.ToolResult(o, codexOutput(p, "result"), failed)
}

// Patterns in the texts of results.
var (
	codexExit    = regexp.MustCompile(`(?m)^(?:Process exited with code|Exit code:) (-?\d+)`)
	codexCommand = regexp.MustCompile(`(?m)^Command:\s+(\S.*\s-l?c\s+.*)$`)
	codexSandbox = regexp.MustCompile(`(?i)read-only file system|operation not permitted|sandbox denied|sandbox error`)
	codexDenied  = regexp.MustCompile(`(?i)read-only file system|operation not permitted|` +
		`permission denied|rejected by user|sandbox denied|sandbox error|denied by`)
	codexFailed  = regexp.MustCompile(`^(?:Script failed|apply_patch verification failed|patch rejected|unsupported call)`)
	codexLiteral = regexp.MustCompile(`exec_command\(\s*\{[^{}]*?["']?cmd["']?\s*:\s*` +
		`("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`(?:[^`\\\\$]|\\\\.)*`" + `)`)
)

// result takes the result of a tool call.
func (t *codexThread) result(o transcript.Origin, p *transcript.Fields) {
	s := codexOutput(p, "output")
	if !p.Get("output").Exists() {
		s = p.Raw
	}
	c := t.calls[o.Call]
	if c == nil {
		c = &codexCall{o: o}
	}
	header, _, _ := strings.Cut(text.Clip(s, 4<<10), "\nOutput:\n")
	code, exited := codexExitCode(header, p.Get("output"))
	failed := exited && code != 0 || p.Get("output").Get("success").Type == gjson.False || codexFailed.MatchString(s)
	t.r.ToolResult(o, s, failed)

	o.Base = c.o.Base
	if m := codexCommand.FindStringSubmatch(header); m != nil && c.ran == 0 {
		c.command = t.unwrap(gjson.Result{Type: gjson.String, Str: m[1]})
	}
	denied := t.sandboxed && c.ran == 0 && codexDenied.MatchString(s)
	if denied && c.command == "" {
		c.command = c.literal()
	}
	run := c.command != "" && c.ran == 0
	if run {
		t.r.CommandOnly(o, c.command)
		t.ran[transcript.Hash("", c.o.Call)] = false
		if exited {
			t.r.Exit(o.Call, code)
		}
	}
	if denied || strings.Contains(header, "rejected by user") {
		t.r.Denial(o, "", transcript.LineWith(s, codexDenied))
	}
	if run {
		t.r.CommandReads(o, c.command)
	}
	if c.patch != "" && !c.changed && !failed && !denied {
		for change := range transcript.PatchedFiles(c.patch) {
			t.r.FileChange(o, change.Kind, change.Path)
		}
	}
	delete(t.calls, o.Call)
}

// codexExitCode finds the exit code in the head of a result, or in a result that is JSON.
func codexExitCode(header string, output gjson.Result) (int, bool) {
	if m := codexExit.FindStringSubmatch(header); m != nil {
		code, err := strconv.Atoi(m[1])
		return code, err == nil
	}
	if output.Type == gjson.String && strings.HasPrefix(output.Str, "{") && gjson.Valid(output.Str) {
		code := gjson.Get(output.Str, "metadata.exit_code")
		return int(code.Int()), code.Type == gjson.Number
	}
	return 0, false
}

// literal returns the command that is written in a script of code mode, or "".
func (c *codexCall) literal() string {
	if m := codexLiteral.FindStringSubmatch(c.script); m != nil {
		return javaScriptString(m[1])
	}
	return ""
}

// run records the command of a call that has no result: it began.
func (t *codexThread) run(c *codexCall) {
	if c.command == "" {
		if command := c.literal(); !t.executions[transcript.Hash("", command)] {
			c.command = command
		}
	}
	if c.command != "" && c.ran == 0 {
		t.r.Command(c.o, c.command)
		t.ran[transcript.Hash("", c.o.Call)] = false
	}
}

// end records the calls that have no result because the session broke off.
func (t *codexThread) end() {
	for _, id := range t.open {
		if c := t.calls[id]; c != nil {
			t.run(c)
			delete(t.calls, id)
		}
	}
	t.open = nil
}

// codexOutput returns the text of a result, which may be a string, a list of parts, or an object.
func codexOutput(p *transcript.Fields, field string) string {
	v := p.Get(field)
	if m := p.Get("error").Get("message"); m.Exists() && !v.IsObject() {
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

// javaScriptString returns the value of a string literal of JavaScript.
func javaScriptString(literal string) string {
	if len(literal) < 2 {
		return ""
	}
	body := literal[1 : len(literal)-1]
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			continue
		}
		i++
		switch body[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\n':
		case 'u':
			if i+5 <= len(body) {
				if n, err := strconv.ParseUint(body[i+1:i+5], 16, 16); err == nil {
					b.WriteRune(rune(n))
					i += 4
					continue
				}
			}
			b.WriteByte('u')
		default:
			b.WriteByte(body[i])
		}
	}
	return b.String()
}
