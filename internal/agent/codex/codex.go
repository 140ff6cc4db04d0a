package codex

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// codex understands what Codex leaves behind: the stream on standard output, which tells how the session ended and little
// else, and the rollout, which the agent writes for itself and which has times, results, usage and refused commands. The
// rollout comes first; from the stream comes what the rollout does not have.
type codex struct {
	r *transcript.Recorder
	// thread is the session's id, turns the number of turns that the stream has; both from a first look at the stream.
	thread string
	turns  int
	began  bool // the stream has something like a record
	// lost says that there is no stream, so that the rollout has the terminal record; otherwise only the stream has it.
	lost bool
	// last is the last message of the agent, for sessions in which none is marked as final; failure is why the session
	// failed, if only the rollout says so.
	last    string
	failure *plumb.Failure
	// total are the thread's counters as the stream tells them.
	total gjson.Result
	// seen counts what the rollout has, by kind and text, so that the stream does not repeat it.
	seen map[uint64]int
	// begun are the commands of the stream, by their item; true are those that the rollout has.
	begun map[uint64]bool
}

func readCodex(t *transcript.Transcript, r *transcript.Recorder) error {
	c := &codex{r: r, seen: map[uint64]int{}, begun: map[uint64]bool{}}
	if err := c.look(t); err != nil {
		return err
	}
	rollout, children, err := c.find(t)
	if err != nil {
		return err
	}
	main := newCodexThread(c, "")
	if rollout != "" {
		if main, err = c.read(t, rollout, ""); err != nil {
			return err
		}
		r.Report.RawArtifacts.SessionPath = rollout
		main.end()
		for _, child := range children {
			thread, err := c.read(t, child.path, child.id)
			if err != nil {
				return err
			}
			thread.end()
			r.Subagent(child.id, "", new(codexUsage(thread.total, thread.before)))
		}
		c.remember()
	}
	steps := transcript.NewSteps(r.Format)
	err = r.Records(t.Stdout, func(rec gjson.Result) bool {
		steps.Count(&r.Top)
		return c.stream(rec) || main.record(rec)
	})
	if errors.Is(err, fs.ErrNotExist) && r.SawRecords > 0 {
		r.Note("standard output is lost: what is known is from the rollout")
		err = nil
	}
	main.end()
	rolled := main.total
	if c.total.Exists() {
		main.total = c.total
	}
	if t.Resumed && rollout == "" && main.total.Exists() {
		r.Note("the token figures are those of the whole thread, since its rollout is not there")
	}
	rep := r.Report
	reasoning := rep.Usage.ReasoningChars
	rep.Usage = codexUsage(main.total, main.before)
	if rep.Usage.ReasoningTokens == nil { // old streams do not say
		rep.Usage.ReasoningTokens = codexUsage(rolled, main.before).ReasoningTokens
	}
	rep.Usage.ReasoningChars = reasoning
	if rep.Steps = steps.N; rep.Steps == 0 {
		rep.Steps = main.said
	}
	if !r.Ended && c.failure != nil {
		r.Failed(c.failure)
	}
	if r.Answer == "" && c.last != "" && r.Ended && r.Failure == nil {
		r.Finished(c.last, true)
	}
	return err
}

// look finds out which thread and how many turns the stream is about.
func (c *codex) look(t *transcript.Transcript) error {
	if t.Stdout == "" {
		c.lost = true
		return nil
	}
	err := transcript.EachLine(t.Stdout, func(line []byte) error {
		c.began = c.began || line[0] == '{'
		switch gjson.GetBytes(line, "type").String() {
		case "thread.started", "session.created":
			if c.thread == "" {
				c.thread = strings.Clone(transcript.FirstText(gjson.ParseBytes(line), "thread_id", "session_id"))
			}
		case "turn.started":
			c.turns++
		case "session_meta", "turn_context", "event_msg", "response_item":
			c.lost = true // a rollout was handed in as the stream
		default:
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		c.lost = true
		return nil
	}
	return err
}

// codexFile is the rollout of a thread.
type codexFile struct{ path, id, parent string }

// find returns the rollout of the session, and those of the threads that it started.
func (c *codex) find(t *transcript.Transcript) (string, []codexFile, error) {
	if t.Session == "" {
		return "", nil, nil
	}
	if !c.lost && !c.began {
		return "", nil, nil // it never began: the agent says at once which thread it is. A rollout is that of a session before
	}
	names, err := transcript.SessionFiles(t.Session, func(path string) bool { return strings.HasSuffix(path, ".jsonl") })
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
		case c.thread != "" && (f.id == c.thread || f.id == "" && strings.Contains(transcript.BaseName(f.path), c.thread)):
			main = f
		case c.thread == "" && f.parent == "" && transcript.BaseName(f.path) >= transcript.BaseName(main.path): // names begin with the time
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

// codexMeta finds in the first records of a rollout which thread it is of, and which thread started that.
func codexMeta(path string) codexFile {
	f, lines := codexFile{path: path}, 0
	_ = transcript.EachLine(path, func(line []byte) error { // a file that cannot be read is of no thread
		if gjson.GetBytes(line, "type").String() == "session_meta" {
			meta := gjson.GetBytes(line, "payload")
			f.id = transcript.FirstText(meta, "id", "session_id")
			f.parent = transcript.FirstText(meta, "parent_thread_id", "source.subagent.thread_spawn.parent_thread_id", "source.subagent.parent_thread_id")
			return transcript.ErrEnough
		}
		if lines++; lines > 5 {
			return transcript.ErrEnough
		}
		return nil
	})
	return f
}

// stream takes a record of the stream.
func (c *codex) stream(rec gjson.Result) bool {
	r := c.r
	switch rec.Get("type").String() {
	case "thread.started", "session.created":
		if id := transcript.FirstText(rec, "thread_id", "session_id"); id != "" && r.Report.SessionID == "" {
			r.Report.SessionID = strings.Clone(id)
		}
	case "turn.started":
	case "turn.completed":
		// What it counts is the whole thread's, as in the rollout.
		if u := rec.Get("usage"); u.IsObject() {
			c.total = transcript.Detached(u)
		}
		r.Finished("", false)
	case "turn.failed":
		r.Failed(r.FailureOf(codexError(rec.Get("error.message").String()), 0))
	case "error":
		r.Note(rec.Get("message").String())
	case "item.started", "item.updated", "item.completed":
		c.item(rec.Get("item"), rec.Get("type").String() == "item.completed")
	default:
		return false
	}
	return true
}

// codexError takes the message out of an error text that is the provider's JSON.
func codexError(text string) string {
	if i := strings.IndexByte(text, '{'); i >= 0 && gjson.Valid(text[i:]) {
		if m := gjson.Get(text[i:], "error.message").String(); m != "" {
			return strings.TrimSpace(text[:i]+m) + "\n" + text[i:]
		}
	}
	return text
}

// item takes an item of the stream.
func (c *codex) item(item gjson.Result, completed bool) {
	r := c.r
	o := transcript.Origin{Call: item.Get("id").String()}
	text := item.Get("text").String()
	kind := item.Get("type").String()
	if kind == "" {
		kind = item.Get("item_type").String() // before 0.4x
	}
	switch kind {
	case "agent_message", "assistant_message":
		if completed {
			c.last = strings.Clone(transcript.Clip(text, transcript.MaxText))
			if !c.known("message", text) {
				r.Message(o, transcript.RoleAssistant, codexPhase(item.Get("phase").String()), text)
			}
		}
	case "reasoning":
		if completed && !c.known("thinking", text) {
			r.Message(o, transcript.RoleAssistant, transcript.PhaseThinking, text)
		}
	case "error":
		if completed {
			r.Note(item.Get("message").String())
		}
	case "command_execution":
		c.command(o, item, completed)
	case "file_change", "patch":
		if status := item.Get("status").String(); completed && status != "failed" && status != "declined" {
			for _, change := range item.Get("changes").Array() {
				if path := change.Get("path").String(); !c.known("change", r.Path(o, path)) {
					r.FileChange(o, codexChange(change.Get("kind")), path)
				}
			}
		}
	case "mcp_tool_call":
		tool := "mcp__" + item.Get("server").String() + "__" + item.Get("tool").String()
		if completed && !c.known("tool", tool) {
			r.ToolCall(o, tool, transcript.JSON(item.Get("arguments")))
			r.ToolResult(o, codexOutput(item, "result"), item.Get("status").String() == "failed" || item.Get("error.message").Exists())
		}
	case "web_search":
		if completed && !c.known("tool", "web_search") {
			r.ToolCall(o, "web_search", transcript.JSONObject("query", item.Get("query").String()))
		}
	case "todo_list":
		if completed && !c.known("tool", "update_plan") {
			r.ToolCall(o, "update_plan", json.RawMessage(`{"items":`+cmp.Or(item.Get("items").Raw, "[]")+`}`))
		}
	default:
		r.Note("items of an unknown type " + strings.TrimSpace(transcript.Head(kind)))
	}
}

// command takes a command of the stream: its start, and its end. One that the rollout has is only counted off.
func (c *codex) command(o transcript.Origin, item gjson.Result, completed bool) {
	r := c.r
	id := transcript.Hash("", o.Call)
	known, begun := c.begun[id]
	if !begun {
		text := codexUnwrap(item.Get("command"))
		if known = c.known("command", text); !known {
			r.Command(o, text)
		}
	}
	if !begun {
		c.begun[id] = known
	}
	if !completed || known {
		return
	}
	if code := item.Get("exit_code"); code.Type == gjson.Number {
		r.Exit(o.Call, int(code.Int()))
	}
	// The stream does not say which tool it was; the output is worth keeping all the same.
	output, status := item.Get("aggregated_output").String(), item.Get("status").String()
	r.ToolResult(o, output, status == "failed" || status == "declined")
	if status == "declined" {
		r.Denial(o, "exec_command", output)
	}
}

// remember counts what the rollout has.
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

// known reports whether the rollout has a thing of the stream, and counts it off.
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

// codexUsage makes a thread's counters the session's: they go on from session to session.
func codexUsage(total, before gjson.Result) plumb.Usage {
	since := func(field string) *int64 {
		return transcript.Since(transcript.Tokens(total.Get(field)), transcript.Tokens(before.Get(field)))
	}
	return plumb.Usage{
		InputTokens: since("input_tokens"), OutputTokens: since("output_tokens"), ReasoningTokens: since("reasoning_output_tokens"),
		CacheTokens: since("cached_input_tokens"), CacheWriteTokens: since("cache_write_input_tokens"),
	}
}

// codexUnwrap returns the command that a shell of the agent ran: it is given as a list of arguments or as one text, with
// the shell around it or without.
func codexUnwrap(v gjson.Result) string {
	var args []string
	if v.IsArray() {
		for _, arg := range v.Array() {
			args = append(args, arg.String())
		}
	} else {
		args = transcript.ShellWords(v.String())
		if len(args) != 3 {
			return v.String()
		}
	}
	if len(args) == 3 && strings.HasPrefix(args[1], "-") && strings.HasSuffix(args[1], "c") {
		switch strings.TrimSuffix(transcript.BaseName(args[0]), ".exe") {
		case "bash", "sh", "zsh", "dash":
			return args[2]
		}
	}
	if len(args) > 2 && strings.EqualFold(args[len(args)-2], "-Command") || len(args) == 3 && strings.EqualFold(args[1], "/c") {
		return args[len(args)-1] // PowerShell, cmd
	}
	if v.IsArray() {
		return transcript.ShellJoin(args)
	}
	return v.String()
}
