package cursor

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// cursor reads the stream of the Cursor agent, which keeps no other readable record. The agent is
// closed and only works with its own service: its format is known from its documentation and from
// other programs that read it. So the reader accepts all known variants.
type cursor struct {
	r *transcript.Recorder
	// calls are the tool calls, by ID.
	calls map[string]*cursorCall
	// thought and piece are the pieces of the current thinking and of the current message.
	thought, piece pieces
	// The rest are parts of the current record.
	body, outcome, success, failure transcript.Fields
}

// pieces joins a text that arrives in pieces.
type pieces struct {
	text strings.Builder
	at   transcript.Origin // of the first piece
}

func (p *pieces) add(o transcript.Origin, text string) {
	if p.text.Len() == 0 {
		p.at = o
	}
	if p.text.Len() < transcript.MaxText {
		p.text.WriteString(text)
	}
}

// cursorCall describes a tool call.
type cursorCall struct {
	base             string
	called, answered bool
	command          string
	path             string
}

func readCursor(r *transcript.Recorder) error {
	c := &cursor{r: r, calls: map[string]*cursorCall{}}
	err := r.Stream(r.Stdout, c.record)
	if r.SawRecords == 0 && r.Stderr != "" && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		// At least one version writes its records to standard error.
		stray := r.Strange
		if again := r.Stream(r.Stderr, c.record); again == nil && r.SawRecords > 0 {
			r.Note("the records were on standard error")
			err = nil
		} else {
			r.Strange = stray
		}
	}
	c.flush()
	c.say("")
	if !r.Ended {
		c.refused()
	}
	return err
}

// refused looks for a failure without a record: a model that the account's plan does not have is a
// plain line.
func (c *cursor) refused() {
	message := transcript.LastLines(c.r.Stderr)
	if c.r.Strange > 0 && c.r.Unknown[""] > 0 {
		message = strings.TrimSpace(transcript.LastLines(c.r.Stdout) + "\n" + message)
	}
	if message == "" {
		return
	}
	if f := c.r.FailureOf(message, 0); f.Class != plumb.OriginRunner.Class() || f.HTTPStatus != 0 {
		c.r.Failed(f)
	}
}

func (c *cursor) record(rec *transcript.Fields) bool {
	r := c.r
	transcript.SetFirst(&r.Report.SessionID, rec.Text("session_id", "chat_id"))
	o := transcript.Origin{At: transcript.TimeMs(rec.Get("timestamp_ms"))}
	kind := rec.Text("type")
	if kind != "thinking" {
		c.flush()
	}
	if kind != "assistant" {
		c.say("")
	}
	switch kind {
	case "system":
		transcript.Set(&r.Cwd, rec.Get("cwd").String())
		transcript.Set(&r.Report.Model, rec.Get("model").String())
		transcript.Set(&r.Report.AgentVersion, rec.Text("version", "cli_version", "agent_version"))
		for _, server := range rec.Get("mcp_servers").Array() {
			r.Offer(plumb.OfferMCPServer, transcript.FirstText(server, "name"), "", "")
		}
	case "user":
		r.Message(o, transcript.RoleUser, "", transcript.CodexParts(rec.Get("message").Get("content")))
	case "assistant":
		text, phase := transcript.CodexParts(rec.Get("message").Get("content")), transcript.PhaseFinal
		if rec.Get("model_call_id").Exists() { // the last message has none
			phase = transcript.PhaseCommentary
		} else if rec.Get("timestamp_ms").Exists() {
			c.piece.add(o, text)
			break
		}
		c.say(text)
		r.Message(o, transcript.RoleAssistant, phase, text)
	case "thinking":
		c.think(o, rec)
	case "tool_call":
		c.call(o, rec)
	case "result":
		c.result(rec.Object())
	case "error":
		r.Failed(r.FailureOf(transcript.FirstText(rec.Object(), "message", "error.message", "error"), int(rec.Get("status").Int())))
	case "connection", "retry", "interaction_query":
		r.Note(rec.Text("message", "error"))
	default:
		return false
	}
	return true
}

// think joins the pieces of the model's thinking. The record that completes it may have all of it,
// or nothing.
func (c *cursor) think(o transcript.Origin, rec *transcript.Fields) {
	text := rec.Get("text").String()
	if rec.Get("subtype").String() != "completed" {
		c.thought.add(o, text)
		return
	}
	if text != "" && !strings.HasSuffix(c.thought.text.String(), text) {
		if c.thought.text.Len() > 0 {
			o = c.thought.at
		}
		c.thought.text.Reset()
		c.thought.add(o, text)
	}
	c.flush()
}

// say records the pieces of a message, unless the same text follows as a whole.
func (c *cursor) say(whole string) {
	if text := c.piece.text.String(); text != whole {
		c.r.Message(c.piece.at, transcript.RoleAssistant, transcript.PhaseFinal, text)
	}
	c.piece.text.Reset()
}

func (c *cursor) flush() {
	c.r.Message(c.thought.at, transcript.RoleAssistant, transcript.PhaseThinking, c.thought.text.String())
	c.thought.text.Reset()
}

// call takes a record of a tool call: its start or its end. One of them may be missing.
func (c *cursor) call(o transcript.Origin, rec *transcript.Fields) {
	r := c.r
	tool, value := cursorTool(rec.Get("tool_call"))
	if tool == "" {
		return
	}
	body := &c.body
	body.Of(value)
	// An ID may contain a line break. The ID of the model call is a substitute.
	o.Call = rec.Text("call_id", "model_call_id")
	args, completed := body.Get("args"), rec.Text("subtype") == "completed"
	call := c.calls[o.Call]
	if call == nil || o.Call == "" {
		call = &cursorCall{}
		if o.Call != "" {
			c.calls[strings.Clone(o.Call)] = call
		}
	}
	transcript.Set(&call.base, transcript.FirstText(args, "workingDirectory", "cwd", "working_directory"))
	o.Base = call.base
	if !call.called {
		call.called = true
		r.ToolCall(o, tool, args.Raw)
	}
	if command := args.Get("command").String(); command != "" && cursorWords(tool, "shell", "bash", "terminal") && command != call.command {
		call.command = strings.Clone(command)
		r.Command(o, command)
	}
	path := transcript.FirstText(args, "filePath", "file_path", "path", "target_file", "relative_workspace_path")
	if cursorWords(tool, "read") {
		r.FileRead(o, path)
	}
	if cursorWords(tool, "skill") {
		r.Skill(o, transcript.FirstText(args, "name", "skill"), "tool:skill")
	}
	transcript.Set(&call.path, path)
	if result := body.Get("result"); completed && result.Exists() && !call.answered {
		call.answered = o.Call != ""
		c.answer(o, tool, call, result)
	}
}

// answer takes the result of a tool: an object whose key is the outcome.
func (c *cursor) answer(o transcript.Origin, tool string, call *cursorCall, result gjson.Result) {
	r := c.r
	outcome := &c.outcome
	if word := result.Get("case"); word.Type == gjson.String && result.Get("value").Exists() { // the other shape
		outcome.Names, outcome.Values = []string{word.Str}, []gjson.Result{result.Get("value")}
	} else {
		outcome.Of(result)
	}
	failed := slices.ContainsFunc(outcome.Names, func(word string) bool {
		return slices.Contains([]string{
			"error", "failure", "rejected", "permissionDenied", "permission_denied", "timeout", "spawnError", "fileNotFound",
		}, word)
	})
	r.ToolResult(o, transcript.TextOf(result), failed)
	success, failure := &c.success, &c.failure
	success.Of(outcome.Get("success"))
	failure.Of(outcome.Get("failure"))
	for _, f := range []*transcript.Fields{success, failure, outcome} {
		for _, name := range []string{"exitCode", "exit_code"} {
			if code := f.Get(name); code.Type == gjson.Number {
				r.Exit(o.Call, int(code.Int()))
			}
		}
	}
	for _, word := range []string{"rejected", "permissionDenied", "permission_denied"} {
		if d := outcome.Get(word); d.Exists() {
			r.Denial(o, tool, cmp.Or(transcript.FirstText(d, "reason", "message", "error"), transcript.TextOf(d)))
			return
		}
	}
	if failed || call.path == "" {
		return
	}
	switch {
	case cursorWords(tool, "delete"):
		r.FileChange(o, transcript.ChangeDelete, call.path)
	case cursorWords(tool, "write", "create"):
		kind := transcript.ChangeUpdate
		if success.Get("fileCreated").Bool() || success.Get("created").Bool() || success.Get("isNewFile").Bool() {
			kind = transcript.ChangeAdd
		}
		r.FileChange(o, kind, call.path)
	case cursorWords(tool, "edit", "replace", "patch"):
		r.FileChange(o, transcript.ChangeUpdate, call.path)
	}
}

// cursorTool finds the tool of a call and its body, in each of the known forms. The name is that of
// the documentation: "shellToolCall" is "shell", "updateTodosToolCall" is "update-todos".
func cursorTool(call gjson.Result) (string, gjson.Result) {
	name, body := "", gjson.Result{}
	call.ForEach(func(key, value gjson.Result) bool {
		short, ok := strings.CutSuffix(key.Str, "ToolCall")
		if ok && value.IsObject() {
			name, body = kebab(short), value
			return false
		}
		return true
	})
	if name != "" {
		return name, body
	}
	if tool := call.Get("tool"); tool.IsObject() {
		if name := tool.Get("case").String(); name != "" {
			body := tool.Get("value")
			if !body.Get("result").Exists() && call.Get("result").Exists() {
				body = gjson.Parse(withResult(body.Raw, call.Get("result").Raw))
			}
			return kebab(strings.TrimSuffix(name, "ToolCall")), body
		}
	}
	if f := call.Get("function"); f.IsObject() {
		args := f.Get("arguments")
		if args.Type == gjson.String && gjson.Valid(args.Str) {
			args = gjson.Parse(args.Str)
		}
		return kebab(f.Get("name").String()), gjson.Parse(withResult(`{"args":`+cmp.Or(args.Raw, "null")+`}`, call.Get("result").Raw))
	}
	return name, body
}

// withResult adds a result to an object.
func withResult(body, result string) string {
	body = strings.TrimSpace(body)
	if result == "" || !strings.HasSuffix(body, "}") {
		return body
	}
	inner := strings.TrimSpace(strings.TrimSuffix(body, "}"))
	if !strings.HasSuffix(inner, "{") {
		inner += ","
	}
	return inner + `"result":` + result + "}"
}

// kebab turns camelCase into kebab-case.
func kebab(name string) string {
	var b strings.Builder
	lower := false
	for _, c := range name {
		if unicode.IsUpper(c) && lower {
			b.WriteByte('-')
		}
		lower = !unicode.IsUpper(c) && c != '-' && c != '_'
		b.WriteRune(unicode.ToLower(c))
	}
	return strings.ReplaceAll(b.String(), "_", "-")
}

// cursorWords reports whether one of the words of a tool's name is among words.
func cursorWords(tool string, words ...string) bool {
	return slices.ContainsFunc(strings.Split(tool, "-"), func(part string) bool { return slices.Contains(words, part) })
}

// result takes the terminal record, which has the usage in one of two places. Its input excludes
// the cache.
func (c *cursor) result(rec gjson.Result) {
	r, rep := c.r, c.r.Report
	u := rec.Get("usage")
	if !u.IsObject() {
		u = rec
	}
	tokens := func(names ...string) *int64 {
		for _, name := range names {
			if n := transcript.Tokens(u.Get(name)); n != nil {
				return n
			}
		}
		return nil
	}
	in, out := tokens("inputTokens", "input_tokens"), tokens("outputTokens", "output_tokens")
	read, written := tokens("cacheReadTokens", "cache_read_tokens"), tokens("cacheWriteTokens", "cache_write_tokens")
	if in != nil || out != nil {
		rep.Usage.OutputTokens, rep.Usage.CacheTokens, rep.Usage.CacheWriteTokens = out, read, written
		if rep.Usage.InputTokens = in; in != nil {
			rep.Usage.InputTokens = new(*in + transcript.OrZero(read) + transcript.OrZero(written))
		}
	}
	transcript.Set(&rep.RequestID, rec.Get("request_id").String())
	if d := rec.Get("duration_ms"); d.Type == gjson.Number && d.Int() > 0 {
		rep.DurationMs = d.Int()
	}
	text := rec.Get("result")
	if subtype := rec.Get("subtype").String(); rec.Get("is_error").Bool() || strings.HasPrefix(subtype, "error") {
		r.Failed(r.FailureOf(cmp.Or(text.String(), transcript.FirstText(rec, "error", "error.message", "message")), 0))
		return
	}
	r.Finished(text.Str, text.Type == gjson.String)
}
