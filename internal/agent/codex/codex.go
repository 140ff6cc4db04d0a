package codex

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/text"
)

// codex reads the record of a Codex session. The stream on standard output tells how the session
// ended and little else. The rollout, which the agent writes for itself, has times, results, usage
// and refused commands. The rollout is read first; the stream adds what the rollout does not have.
type codex struct {
	r *transcript.Recorder
	// thread is the session's ID and turns is the number of turns in the stream. Both come from a
	// first look at the stream.
	thread string
	turns  int
	began  bool // the stream has something like a record
	// lost means that there is no stream, so that the rollout has the terminal record. Otherwise
	// only the stream has it.
	lost bool
	// last is the last message of the agent, for sessions in which no message is marked as final.
	// failure is why the session failed, if only the rollout has the reason.
	last    string
	failure *plumb.Failure
	// total are the thread's counters in the stream.
	total gjson.Result
	// seen counts the content of the rollout by kind and text, so that the stream does not repeat
	// it.
	seen map[uint64]int
	// begun are the commands of the stream by their item; true means that the rollout has the
	// command.
	begun map[uint64]bool
	// payload and item are parts of the current record.
	payload, item transcript.Fields
}

func readCodex(r *transcript.Recorder) error {
	c := &codex{r: r, seen: map[uint64]int{}, begun: map[uint64]bool{}}
	if err := c.look(); err != nil {
		return err
	}
	rollout, children, err := c.find()
	if err != nil {
		return err
	}
	main := newCodexThread(c, "")
	if rollout != "" {
		if main, err = c.read(rollout, ""); err != nil {
			return err
		}
		r.Report.RawArtifacts.SessionPath = rollout
		for _, child := range children {
			thread, err := c.read(child.path, child.id)
			if err != nil {
				return err
			}
			r.Subagent(child.id, "", new(codexUsage(thread.total, thread.before)))
		}
		c.remember()
	}
	err = r.Stream(r.Stdout, func(rec *transcript.Fields) bool { return c.stream(rec) || main.record(rec) })
	if errors.Is(err, fs.ErrNotExist) && r.SawRecords > 0 {
		r.Note("standard output is lost: the report is from the rollout")
		err = nil
	}
	main.end()
	rolled := main.total
	if c.total.Exists() {
		main.total = c.total
	}
	if r.Resumed && rollout == "" && main.total.Exists() {
		r.Note("the token counts are those of the whole thread, because its rollout is missing")
	}
	rep := r.Report
	reasoning := rep.Usage.ReasoningChars
	rep.Usage = codexUsage(main.total, main.before)
	if rep.Usage.ReasoningTokens == nil { // older streams do not have it
		rep.Usage.ReasoningTokens = codexUsage(rolled, main.before).ReasoningTokens
	}
	rep.Usage.ReasoningChars = reasoning
	rep.Steps = main.said
	if !r.Ended && c.failure != nil {
		r.Failed(c.failure)
	}
	if r.Answer == "" && c.last != "" && r.Ended && r.Failure == nil {
		r.Finished(c.last, true)
	}
	return err
}

// look finds the thread and the number of turns of the stream.
func (c *codex) look() error {
	rollout := false // it was passed as the stream
	err := transcript.EachLine(c.r.Stdout, func(line []byte) error {
		c.began = c.began || line[0] == '{'
		switch gjson.GetBytes(line, "type").String() {
		case "thread.started", "session.created":
			transcript.SetFirst(&c.thread, transcript.FirstText(gjson.ParseBytes(line), "thread_id", "session_id"))
		case "turn.started":
			c.turns++
		case "session_meta", "turn_context", "event_msg", "response_item":
			rollout = true
		default:
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		c.lost = true
		return nil
	}
	c.lost = rollout
	return err
}

// codexFile is the rollout of a thread.
type codexFile struct{ path, id, parent string }

// find returns the rollout of the session, and those of the threads that it started.
func (c *codex) find() (string, []codexFile, error) {
	if c.r.Session == "" || !c.lost && !c.began {
		return "", nil, nil // an agent that never began has no thread: any rollout belongs to an earlier session
	}
	isRollout := func(path string) bool { return strings.HasSuffix(path, ".jsonl") }
	names, err := transcript.SessionFiles(c.r.Session, isRollout)
	if err != nil {
		return "", nil, err
	}
	var files []codexFile
	for _, name := range names {
		f := codexMeta(name)
		if f.id != "" || strings.HasPrefix(transcript.BaseName(name), "rollout-") || len(names) == 1 {
			files = append(files, f)
		}
	}
	var main codexFile
	for _, f := range files {
		switch {
		case c.thread != "" &&
			(f.id == c.thread || f.id == "" && strings.Contains(transcript.BaseName(f.path), c.thread)):
			main = f
		// names begin with the time
		case c.thread == "" && f.parent == "" && transcript.BaseName(f.path) >= transcript.BaseName(main.path):
			main = f
		}
	}
	if main.path == "" {
		return "", nil, nil
	}
	family := map[string]bool{main.id: true}
	var children []codexFile
	for grown := true; grown; {
		grown = false
		for _, f := range files {
			if f.parent != "" && family[f.parent] && !family[f.id] {
				family[f.id], grown = true, true
				children = append(children, f)
			}
		}
	}
	return main.path, children, nil
}

// codexMeta finds the thread of a rollout, and the thread that started it, in the first records.
func codexMeta(path string) codexFile {
	f, lines := codexFile{path: path}, 0
	_ = transcript.EachLine(path, func(line []byte) error { // a file that cannot be read belongs to no thread
		if gjson.GetBytes(line, "type").String() == "session_meta" {
			meta := gjson.GetBytes(line, "payload")
			f.id = transcript.FirstText(meta, "id", "session_id")
			f.parent = transcript.FirstText(meta, "parent_thread_id", "source.subagent.thread_spawn.parent_thread_id",
				"source.subagent.parent_thread_id")
			return transcript.ErrEnough
		}
		if lines++; lines > 5 {
			return transcript.ErrEnough
		}
		return nil
	})
	return f
}

// stream records a record of the stream and reports whether its type is known.
func (c *codex) stream(rec *transcript.Fields) bool {
	r := c.r
	switch kind := rec.Text("type"); kind {
	case "thread.started", "session.created":
		transcript.SetFirst(&r.Report.SessionID, rec.Text("thread_id", "session_id"))
	case "turn.started":
	case "turn.completed":
		if u := rec.Get("usage"); u.IsObject() { // the counters of the whole thread, as in the rollout
			c.total = transcript.Detached(u)
		}
		r.Finished("", false)
	case "turn.failed":
		r.Failed(r.FailureOf(codexError(rec.Get("error").Get("message").String()), 0))
	case "error":
		r.Note(rec.Get("message").String())
	case "item.started", "item.updated", "item.completed":
		c.item.Of(rec.Get("item"))
		c.streamItem(&c.item, kind == "item.completed")
	default:
		return false
	}
	return true
}

// codexError adds the message of the provider's JSON in an error text at its beginning.
func codexError(text string) string {
	if i := strings.IndexByte(text, '{'); i >= 0 && gjson.Valid(text[i:]) {
		if m := gjson.Get(text[i:], "error.message").String(); m != "" {
			return strings.TrimSpace(text[:i]+m) + "\n" + text[i:]
		}
	}
	return text
}

// streamItem records an item of the stream: one that is completed, or a command that begins.
func (c *codex) streamItem(item *transcript.Fields, completed bool) {
	r := c.r
	o := transcript.Origin{Call: item.Get("id").String()}
	s := item.Get("text").String()
	kind := item.Text("type", "item_type") // item_type is from before 0.4x
	if !completed && slices.Contains([]string{
		"agent_message", "assistant_message", "reasoning", "error", "file_change", "patch", "mcp_tool_call",
		"web_search", "todo_list", "collab_tool_call",
	}, kind) {
		return // its end has all of it
	}
	switch kind {
	case "agent_message", "assistant_message":
		c.last = strings.Clone(text.Clip(s, transcript.MaxText))
		if !c.known("message", s) {
			r.Message(o, transcript.RoleAssistant, codexPhase(item.Get("phase").String()), s)
		}
	case "reasoning":
		if !c.known("thinking", s) {
			r.Message(o, transcript.RoleAssistant, transcript.PhaseThinking, s)
		}
	case "error":
		r.Note(item.Get("message").String())
	case "command_execution":
		c.command(o, item, completed)
	case "file_change", "patch":
		if status := item.Get("status").String(); status != "failed" && status != "declined" {
			for _, change := range item.Get("changes").Array() {
				if path := change.Get("path").String(); !c.known("change", r.Path(o, path)) {
					r.FileChange(o, codexChange(change.Get("kind")), path)
				}
			}
		}
	case "mcp_tool_call":
		tool := "mcp__" + item.Get("server").String() + "__" + item.Get("tool").String()
		if !c.known("tool", tool) {
			r.ToolCall(o, tool, item.Get("arguments").Raw)
			failed := item.Get("status").String() == "failed" || item.Get("error").Get("message").Exists()
			r.ToolResult(o, codexOutput(item, "result"), failed)
		}
	case "web_search":
		if !c.known("tool", kind) {
			r.ToolCall(o, kind, jsonObject("query", item.Get("query").String()))
		}
	case "todo_list":
		if !c.known("tool", "update_plan") {
			r.ToolCall(o, "update_plan", `{"items":`+cmp.Or(item.Get("items").Raw, "[]")+`}`)
		}
	default:
		r.Note(strings.TrimSpace("items of an unknown type " + transcript.Head(kind)))
	}
}

// jsonObject returns {"field": text}.
func jsonObject(field, text string) string {
	return string(append(gjson.AppendJSONString([]byte(`{"`+field+`":`), text), '}'))
}

// command records the start or the end of a command in the stream. It skips a command that the
// rollout has.
func (c *codex) command(o transcript.Origin, item *transcript.Fields, completed bool) {
	r := c.r
	id := transcript.Hash("", o.Call)
	known, begun := c.begun[id]
	if !begun {
		text := c.unwrap(item.Get("command"))
		if known = c.known("command", text); !known {
			r.Command(o, text)
		}
		c.begun[id] = known
	}
	if !completed || known {
		return
	}
	if code := item.Get("exit_code"); code.Type == gjson.Number {
		r.Exit(o.Call, int(code.Int()))
	}
	// The stream does not name the tool, but the output is worth keeping.
	output, status := item.Get("aggregated_output").String(), item.Get("status").String()
	r.ToolResult(o, output, status == "failed" || status == "declined")
	if status == "declined" {
		r.Denial(o, "exec_command", output)
	}
}

// remember counts the content of the rollout.
func (c *codex) remember() {
	for _, e := range c.r.Report.Events {
		text, kind := "", ""
		switch e.Type {
		case plumb.SessionMessage:
			switch text = e.Text; {
			case e.Phase == transcript.PhaseThinking:
				kind = "thinking"
			case e.Role != transcript.RoleUser:
				kind = "message"
			}
		case plumb.SessionCommand:
			kind, text = "command", e.Command
		case plumb.SessionFileChange:
			kind, text = "change", e.Path
		case plumb.SessionToolCall:
			kind, text = "tool", e.Tool
		default:
		}
		if kind != "" {
			c.seen[transcript.Hash(kind, text)]++
		}
	}
}

// known reports whether the rollout has something of the stream. Each entry of the rollout counts
// once, except for changes.
func (c *codex) known(kind, text string) bool {
	k := transcript.Hash(kind, text)
	if c.seen[k] == 0 {
		return false
	}
	if kind != "change" {
		c.seen[k]--
	}
	return true
}

// codexTokens are the names of the token counters.
func codexTokens() transcript.TokenKeys {
	return transcript.TokenKeys{
		Input: "input_tokens", Output: "output_tokens", Reasoning: "reasoning_output_tokens",
		Cache:      "cached_input_tokens",
		CacheWrite: "cache_write_input_tokens",
	}
}

// codexUsage returns the usage of a session from the counters of its thread, which continue from
// session to session.
func codexUsage(total, before gjson.Result) plumb.Usage {
	return transcript.Since(codexTokens().Of(total), codexTokens().Of(before))
}

// unwrap returns the command that a shell of the agent ran. The record has it as a list of
// arguments or as one text, with or without the shell around it.
func (c *codex) unwrap(v gjson.Result) string {
	var args []string
	if v.IsArray() {
		for _, arg := range v.Array() {
			args = append(args, arg.String())
		}
	} else if args = c.r.ShellWords(v.String()); len(args) != 3 {
		return v.String()
	}
	if len(args) == 3 && strings.HasPrefix(args[1], "-") && strings.HasSuffix(args[1], "c") {
		switch strings.TrimSuffix(transcript.BaseName(args[0]), ".exe") {
		case "bash", "sh", "zsh", "dash":
			return args[2]
		}
	}
	if len(args) > 2 && strings.EqualFold(args[len(args)-2], "-Command") ||
		len(args) == 3 && strings.EqualFold(args[1], "/c") {
		return args[len(args)-1] // PowerShell, cmd
	}
	if v.IsArray() {
		return shellJoin(args)
	}
	return v.String()
}

// shellJoin writes a list of arguments as a command.
func shellJoin(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$`;&|<>()*?[]{}~#!") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
