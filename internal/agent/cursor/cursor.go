package cursor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// cursor understands the stream of the Cursor agent, which keeps nothing else that could be read. It is closed and cannot
// be driven without its service: what is known of its format is from its documentation, and from other programs that read
// it. So it is taken as tolerantly as can be.
type cursor struct {
	r *transcript.Recorder
	// calls are the tool calls, by id.
	calls map[string]*cursorCall
	// thought is the thinking that has come so far, begun at thinkAt.
	thought strings.Builder
	thinkAt transcript.Origin
	// piece is what has come of a message that comes in pieces, begun at pieceAt.
	piece   strings.Builder
	pieceAt transcript.Origin
	// The rest are members of the record that is being read.
	body, outcome, success, failure transcript.Fields
}

// cursorCall is what is remembered of a tool call.
type cursorCall struct {
	base             string
	called, answered bool
	command          string
	path             string
}

func readCursor(t *transcript.Transcript, r *transcript.Recorder) error {
	c := &cursor{r: r, calls: map[string]*cursorCall{}}
	steps := transcript.NewSteps(r.Format)
	read := func(path string) error {
		return r.Records(path, func(rec gjson.Result) bool {
			steps.Count(&r.Top)
			return c.record(rec)
		})
	}
	err := read(t.Stdout)
	if r.SawRecords == 0 && t.Stderr != "" && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		// At least one version writes its records to standard error.
		stray := r.Strange
		if again := read(t.Stderr); again == nil && r.SawRecords > 0 {
			r.Note("the records were on standard error")
			err = nil
		} else {
			r.Strange = stray
		}
	}
	r.Report.Steps = steps.N
	c.flush()
	c.say("")
	if !r.Ended {
		c.refused(t)
	}
	return err
}

// refused looks for what the agent said without a record: a model that the account's plan does not have is a bare line.
func (c *cursor) refused(t *transcript.Transcript) {
	said := transcript.LastLines(t.Stderr)
	if c.r.Strange > 0 && c.r.Unknown[""] > 0 {
		said = strings.TrimSpace(transcript.LastLines(t.Stdout) + "\n" + said)
	}
	if said == "" {
		return
	}
	if f := c.r.FailureOf(said, 0); f.Class != plumb.OriginRunner.Class() || f.HTTPStatus != 0 {
		c.r.Failed(f)
	}
}

func (c *cursor) record(rec gjson.Result) bool {
	r := c.r
	f := &r.Top
	if r.Report.SessionID == "" {
		r.Report.SessionID = strings.Clone(f.Text("session_id", "chat_id"))
	}
	o := transcript.Origin{At: transcript.TimeMs(f.Get("timestamp_ms"))}
	kind := f.Text("type")
	if kind != "thinking" {
		c.flush()
	}
	if kind != "assistant" {
		c.say("")
	}
	switch kind {
	case "system":
		c.init(rec)
	case "user":
		r.Message(o, transcript.RoleUser, "", transcript.CodexParts(f.Get("message").Get("content")))
	case "assistant":
		text, whole := transcript.CodexParts(f.Get("message").Get("content")), !f.Get("timestamp_ms").Exists()
		switch {
		case f.Get("model_call_id").Exists(): // only the last has none
			c.say(text)
			r.Message(o, transcript.RoleAssistant, transcript.PhaseCommentary, text)
		case whole:
			c.say(text)
			r.Message(o, transcript.RoleAssistant, transcript.PhaseFinal, text)
		case c.piece.Len() < transcript.MaxText:
			if c.piece.Len() == 0 {
				c.pieceAt = o
			}
			c.piece.WriteString(text)
		}
	case "thinking":
		c.think(o, rec)
	case "tool_call":
		c.call(o, f)
	case "result":
		c.result(rec)
	case "error":
		r.Failed(r.FailureOf(transcript.FirstText(rec, "message", "error.message", "error"), int(rec.Get("status").Int())))
	case "connection", "retry", "interaction_query":
		r.Note(transcript.FirstText(rec, "message", "error"))
	default:
		return false
	}
	return true
}

func (c *cursor) init(rec gjson.Result) {
	r := c.r
	if cwd := rec.Get("cwd").String(); cwd != "" {
		r.Cwd = strings.Clone(cwd)
	}
	if model := rec.Get("model").String(); model != "" {
		r.Report.Model = strings.Clone(model)
	}
	if v := transcript.FirstText(rec, "version", "cli_version", "agent_version"); v != "" {
		r.Report.AgentVersion = strings.Clone(v)
	}
	for _, server := range rec.Get("mcp_servers").Array() {
		r.Offer(plumb.OfferMCPServer, transcript.FirstText(server, "name"), "", "")
	}
}

// think joins the pieces of the model's thinking. The record that completes it may hold all of it, or nothing.
func (c *cursor) think(o transcript.Origin, rec gjson.Result) {
	if c.thought.Len() == 0 {
		c.thinkAt = o
	}
	text := rec.Get("text").String()
	if rec.Get("subtype").String() != "completed" {
		if c.thought.Len() < transcript.MaxText {
			c.thought.WriteString(text)
		}
		return
	}
	if text != "" && !strings.HasSuffix(c.thought.String(), text) {
		c.thought.Reset()
		c.thought.WriteString(text)
	}
	c.flush()
}

// say records what has come in pieces, unless it is what comes whole now.
func (c *cursor) say(whole string) {
	if text := c.piece.String(); text != whole {
		c.r.Message(c.pieceAt, transcript.RoleAssistant, transcript.PhaseFinal, text)
	}
	c.piece.Reset()
}

func (c *cursor) flush() {
	c.r.Message(c.thinkAt, transcript.RoleAssistant, transcript.PhaseThinking, c.thought.String())
	c.thought.Reset()
}

// call takes a record of a tool call: its start or its end, of which one may be missing.
func (c *cursor) call(o transcript.Origin, rec *transcript.Fields) {
	r := c.r
	tool, value := cursorTool(rec.Get("tool_call"))
	if tool == "" {
		return
	}
	body := &c.body
	body.Of(value)
	// An id may hold a line break, which is part of it; the model call's id is only the next best thing.
	o.Call = rec.Text("call_id", "model_call_id")
	args, completed := body.Get("args"), rec.Text("subtype") == "completed"
	call := c.calls[o.Call]
	if call == nil || o.Call == "" {
		call = &cursorCall{}
		if o.Call != "" {
			c.calls[strings.Clone(o.Call)] = call
		}
	}
	if dir := transcript.FirstText(args, "workingDirectory", "cwd", "working_directory"); dir != "" {
		call.base = strings.Clone(dir)
	}
	o.Base = call.base
	if !call.called && (!completed || o.Call != "") {
		call.called = true
		r.ToolCall(o, tool, transcript.JSON(args))
	} else if !call.called {
		r.ToolCall(o, tool, transcript.JSON(args)) // an end without an id has no start that could be told to be its own
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
	if path != "" {
		call.path = strings.Clone(path)
	}
	if result := body.Get("result"); completed && result.Exists() && !call.answered {
		call.answered = o.Call != ""
		c.answer(o, tool, call, result)
	}
}

// answer takes what a tool answered: an object whose key says how it went.
func (c *cursor) answer(o transcript.Origin, tool string, call *cursorCall, result gjson.Result) {
	r := c.r
	outcome := &c.outcome
	if word := result.Get("case"); word.Type == gjson.String && result.Get("value").Exists() { // the other shape
		outcome.Names, outcome.Values = []string{word.Str}, []gjson.Result{result.Get("value")}
	} else {
		outcome.Of(result)
	}
	failed := false
	for _, word := range outcome.Names {
		switch word {
		case "error", "failure", "rejected", "permissionDenied", "permission_denied", "timeout", "spawnError", "fileNotFound":
			failed = true
		}
	}
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
			message := transcript.FirstText(d, "reason", "message", "error")
			if message == "" {
				message = transcript.TextOf(d)
			}
			r.Denial(o, tool, message)
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

// cursorTool finds the tool of a call and what belongs to it, in each of the shapes that are known. The name is that of the
// documentation: "shellToolCall" is "shell", "updateTodosToolCall" is "update-todos".
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
		return kebab(f.Get("name").String()), gjson.Parse(withResult(`{"args":`+string(rawOr(args))+`}`, call.Get("result").Raw))
	}
	return name, body
}

func rawOr(v gjson.Result) json.RawMessage {
	if b := transcript.JSON(v); len(b) > 0 {
		return b
	}
	return json.RawMessage("null")
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
	for part := range strings.SplitSeq(tool, "-") {
		if slices.Contains(words, part) {
			return true
		}
	}
	return false
}

// result takes the terminal record, which has the usage in one of two places. Input leaves out what came from the cache.
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
	if id := rec.Get("request_id").String(); id != "" {
		rep.RequestID = strings.Clone(id)
	}
	if d := rec.Get("duration_ms"); d.Type == gjson.Number && d.Int() > 0 {
		rep.DurationMs = d.Int()
	}
	text := rec.Get("result")
	if subtype := rec.Get("subtype").String(); rec.Get("is_error").Bool() || strings.HasPrefix(subtype, "error") {
		said := text.String()
		if said == "" {
			said = transcript.FirstText(rec, "error", "error.message", "message")
		}
		r.Failed(r.FailureOf(said, 0))
		return
	}
	if text.Type != gjson.String {
		r.Finished("", false)
		return
	}
	r.Finished(text.Str, true)
}
