package agentcli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// cursor understands the stream of the Cursor agent, which keeps nothing else that could be read. It is closed and cannot
// be driven without its service: what is known of its format is from its documentation, and from other programs that read
// it. So it is taken as tolerantly as can be.
type cursor struct {
	r *recorder
	// calls are the tool calls, by id.
	calls map[string]*cursorCall
	// thought is the thinking that has come so far, begun at thinkAt.
	thought strings.Builder
	thinkAt origin
	// piece is what has come of a message that comes in pieces, begun at pieceAt.
	piece   strings.Builder
	pieceAt origin
	// The rest are members of the record that is being read.
	body, outcome, success, failure fields
}

// cursorCall is what is remembered of a tool call.
type cursorCall struct {
	base             string
	called, answered bool
	command          string
	path             string
}

func normaliseCursor(t *Transcript, r *recorder) error {
	c := &cursor{r: r, calls: map[string]*cursorCall{}}
	steps := newSteps(r.format)
	read := func(path string) error {
		return r.records(path, func(rec gjson.Result) bool {
			steps.count(&r.top)
			return c.record(rec)
		})
	}
	err := read(t.Stdout)
	if r.sawRecords == 0 && t.Stderr != "" && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		// At least one version writes its records to standard error.
		stray := r.strange
		if again := read(t.Stderr); again == nil && r.sawRecords > 0 {
			r.note("the records were on standard error")
			err = nil
		} else {
			r.strange = stray
		}
	}
	r.report.Steps = steps.n
	c.flush()
	c.say("")
	if !r.ended {
		c.refused(t)
	}
	return err
}

// refused looks for what the agent said without a record: a model that the account's plan does not have is a bare line.
func (c *cursor) refused(t *Transcript) {
	said := lastLines(t.Stderr)
	if c.r.strange > 0 && c.r.unknown[""] > 0 {
		said = strings.TrimSpace(lastLines(t.Stdout) + "\n" + said)
	}
	if said == "" {
		return
	}
	if f := c.r.failureOf(said, 0); f.Class != plumb.OriginRunner.Class() || f.HTTPStatus != 0 {
		c.r.failed(f)
	}
}

func (c *cursor) record(rec gjson.Result) bool {
	r := c.r
	f := &r.top
	if r.report.SessionID == "" {
		r.report.SessionID = strings.Clone(f.text("session_id", "chat_id"))
	}
	o := origin{at: momentMs(f.get("timestamp_ms"))}
	kind := f.text("type")
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
		r.message(o, roleUser, "", codexParts(f.get("message").Get("content")))
	case "assistant":
		text, whole := codexParts(f.get("message").Get("content")), !f.get("timestamp_ms").Exists()
		switch {
		case f.get("model_call_id").Exists(): // only the last has none
			c.say(text)
			r.message(o, roleAssistant, phaseCommentary, text)
		case whole:
			c.say(text)
			r.message(o, roleAssistant, phaseFinal, text)
		case c.piece.Len() < maxText:
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
		r.failed(r.failureOf(first(rec, "message", "error.message", "error"), int(rec.Get("status").Int())))
	case "connection", "retry", "interaction_query":
		r.note(first(rec, "message", "error"))
	default:
		return false
	}
	return true
}

func (c *cursor) init(rec gjson.Result) {
	r := c.r
	if cwd := rec.Get("cwd").String(); cwd != "" {
		r.cwd = strings.Clone(cwd)
	}
	if model := rec.Get("model").String(); model != "" {
		r.report.Model = strings.Clone(model)
	}
	if v := first(rec, "version", "cli_version", "agent_version"); v != "" {
		r.report.AgentVersion = strings.Clone(v)
	}
	for _, server := range rec.Get("mcp_servers").Array() {
		r.offer(plumb.OfferMCPServer, first(server, "name"), "", "")
	}
}

// think joins the pieces of the model's thinking. The record that completes it may hold all of it, or nothing.
func (c *cursor) think(o origin, rec gjson.Result) {
	if c.thought.Len() == 0 {
		c.thinkAt = o
	}
	text := rec.Get("text").String()
	if rec.Get("subtype").String() != "completed" {
		if c.thought.Len() < maxText {
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
		c.r.message(c.pieceAt, roleAssistant, phaseFinal, text)
	}
	c.piece.Reset()
}

func (c *cursor) flush() {
	c.r.message(c.thinkAt, roleAssistant, phaseThinking, c.thought.String())
	c.thought.Reset()
}

// call takes a record of a tool call: its start or its end, of which one may be missing.
func (c *cursor) call(o origin, rec *fields) {
	r := c.r
	tool, value := cursorTool(rec.get("tool_call"))
	if tool == "" {
		return
	}
	body := &c.body
	body.of(value)
	// An id may hold a line break, which is part of it; the model call's id is only the next best thing.
	o.call = rec.text("call_id", "model_call_id")
	args, completed := body.get("args"), rec.text("subtype") == "completed"
	call := c.calls[o.call]
	if call == nil || o.call == "" {
		call = &cursorCall{}
		if o.call != "" {
			c.calls[strings.Clone(o.call)] = call
		}
	}
	if dir := first(args, "workingDirectory", "cwd", "working_directory"); dir != "" {
		call.base = strings.Clone(dir)
	}
	o.base = call.base
	if !call.called && (!completed || o.call != "") {
		call.called = true
		r.toolCall(o, tool, raw(args))
	} else if !call.called {
		r.toolCall(o, tool, raw(args)) // an end without an id has no start that could be told to be its own
	}
	if command := args.Get("command").String(); command != "" && cursorWords(tool, "shell", "bash", "terminal") && command != call.command {
		call.command = strings.Clone(command)
		r.command(o, command)
	}
	path := first(args, "filePath", "file_path", "path", "target_file", "relative_workspace_path")
	if cursorWords(tool, "read") {
		r.fileRead(o, path)
	}
	if cursorWords(tool, "skill") {
		r.skill(o, first(args, "name", "skill"), "tool:skill")
	}
	if path != "" {
		call.path = strings.Clone(path)
	}
	if result := body.get("result"); completed && result.Exists() && !call.answered {
		call.answered = o.call != ""
		c.answer(o, tool, call, result)
	}
}

// answer takes what a tool answered: an object whose key says how it went.
func (c *cursor) answer(o origin, tool string, call *cursorCall, result gjson.Result) {
	r := c.r
	outcome := &c.outcome
	if word := result.Get("case"); word.Type == gjson.String && result.Get("value").Exists() { // the other shape
		outcome.names, outcome.values = []string{word.Str}, []gjson.Result{result.Get("value")}
	} else {
		outcome.of(result)
	}
	failed := false
	for _, word := range outcome.names {
		switch word {
		case "error", "failure", "rejected", "permissionDenied", "permission_denied", "timeout", "spawnError", "fileNotFound":
			failed = true
		}
	}
	r.toolResult(o, plain(result), failed)
	success, failure := &c.success, &c.failure
	success.of(outcome.get("success"))
	failure.of(outcome.get("failure"))
	for _, f := range []*fields{success, failure, outcome} {
		for _, name := range []string{"exitCode", "exit_code"} {
			if code := f.get(name); code.Type == gjson.Number {
				r.exit(o.call, int(code.Int()))
			}
		}
	}
	for _, word := range []string{"rejected", "permissionDenied", "permission_denied"} {
		if d := outcome.get(word); d.Exists() {
			message := first(d, "reason", "message", "error")
			if message == "" {
				message = plain(d)
			}
			r.denial(o, tool, message)
			return
		}
	}
	if failed || call.path == "" {
		return
	}
	switch {
	case cursorWords(tool, "delete"):
		r.fileChange(o, changeDelete, call.path)
	case cursorWords(tool, "write", "create"):
		kind := changeUpdate
		if success.get("fileCreated").Bool() || success.get("created").Bool() || success.get("isNewFile").Bool() {
			kind = changeAdd
		}
		r.fileChange(o, kind, call.path)
	case cursorWords(tool, "edit", "replace", "patch"):
		r.fileChange(o, changeUpdate, call.path)
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
	if b := raw(v); len(b) > 0 {
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
	r, rep := c.r, c.r.report
	u := rec.Get("usage")
	if !u.IsObject() {
		u = rec
	}
	tokens := func(names ...string) *int64 {
		for _, name := range names {
			if n := count(u.Get(name)); n != nil {
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
			rep.Usage.InputTokens = new(*in + value(read) + value(written))
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
			said = first(rec, "error", "error.message", "message")
		}
		r.failed(r.failureOf(said, 0))
		return
	}
	if text.Type != gjson.String {
		r.finished("", false)
		return
	}
	r.finished(text.Str, true)
}
