package gemini

import (
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// chat reads the chats that Gemini saved. Newer versions append a line to a JSONL file for each
// message, and again when its tools have results; changes of the chat itself are lines with "$set".
// Older versions save one JSON document.
type chat struct {
	g *gemini
	// subagent is the session of a subagent, "" for the main session.
	subagent string
	// tools are the calls with their results in the chat. before are the messages of earlier turns,
	// done those that are recorded.
	tools, before, done map[string]bool
	// message is the latest message, as it was last saved. A later line may extend it.
	message gjson.Result
	// tail is the assistant's text since its last tool call, answer the part of it that was final.
	tail, answer string
	used         plumb.Usage
	steps        int
}

// chatFile is one saved chat.
type chatFile struct{ path, session, kind string }

func (f chatFile) main() bool { return f.kind == "" || f.kind == "main" }

// readChats records the chats of the session.
func (g *gemini) readChats() error {
	files, err := g.findChats()
	if err != nil {
		return err
	}
	for _, f := range files {
		c := &g.chat
		if f.main() {
			g.r.Report.RawArtifacts.ExportPath = f.path
			transcript.SetFirst(&g.r.Report.SessionID, f.session)
		} else {
			c = &chat{g: g, subagent: f.session, tools: g.chat.tools, before: g.chat.before, done: g.chat.done}
			g.r.Subagent(f.session, f.kind, nil)
		}
		if err := c.read(f.path); err != nil {
			return err
		}
		if c.subagent != "" || len(c.message.Get("toolCalls").Array()) > 0 {
			c.flush(transcript.PhaseFinal)
		}
		if c.subagent != "" && c.used.InputTokens != nil {
			g.r.Subagent(f.session, "", &c.used)
		}
	}
	return nil
}

// findChats finds the chats of the session and of its subagents. Without a stream, the session is
// that of the last chat.
func (g *gemini) findChats() ([]chatFile, error) {
	paths, err := transcript.SessionFiles(g.r.Session, func(path string) bool {
		name := transcript.BaseName(path)
		return strings.Contains(filepath.ToSlash(path), "/chats/") && (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".json"))
	})
	if err != nil {
		return nil, err
	}
	var files []chatFile
	for _, path := range paths {
		f := chatFile{path: path}
		if err := f.identify(); err != nil {
			return nil, err
		}
		if f.session != "" {
			files = append(files, f)
		}
	}
	id := g.id
	for _, f := range files {
		if g.id == "" && f.main() {
			id = f.session
		}
	}
	if !slices.ContainsFunc(files, func(f chatFile) bool { return f.session == id }) {
		if len(files) > 0 {
			g.r.Note("the saved chat belongs to another session: it was left out")
		}
		return nil, nil
	}
	return slices.DeleteFunc(files, func(f chatFile) bool { return f.main() && f.session != id }), nil
}

// identify reads the session of a chat.
func (f *chatFile) identify() error {
	take := func(at string, value []byte) error {
		switch v := gjson.ParseBytes(value); at {
		case "sessionId":
			f.session = strings.Clone(v.String())
		case "kind":
			f.kind = strings.Clone(v.String())
		case "messages[]":
			return transcript.ErrEnough
		}
		return nil
	}
	var err error
	if strings.HasSuffix(f.path, ".json") {
		err = transcript.EachValue(f.path, []string{"", "messages"}, take)
	} else {
		err = transcript.EachLine(f.path, func(line []byte) error {
			if gjson.ValidBytes(line) {
				first := gjson.ParseBytes(line)
				f.session, f.kind = strings.Clone(first.Get("sessionId").String()), strings.Clone(first.Get("kind").String())
			}
			return transcript.ErrEnough
		})
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// read records one chat.
func (c *chat) read(path string) error {
	if strings.HasSuffix(path, ".json") {
		err := transcript.EachValue(path, []string{"", "messages"}, func(at string, value []byte) error {
			if at == "messages[]" && c.line(gjson.ParseBytes(value)) {
				c.g.r.SawRecords++
			}
			return nil
		})
		if errors.Is(err, io.ErrUnexpectedEOF) {
			c.g.r.Note("the saved chat is incomplete")
			return nil
		}
		return err
	}
	resumed, n := -1, 0
	if c.g.r.Resumed && c.g.began == nil {
		err := transcript.EachLine(path, func(line []byte) error {
			if gjson.ValidBytes(line) && gjson.GetBytes(line, `\$set.sessionId`).Exists() {
				resumed = n
			}
			n++
			return nil
		})
		if err != nil {
			return err
		}
	}
	n = -1
	return c.g.r.Records(path, func(rec *transcript.Fields) bool {
		n++
		return n < resumed || c.line(rec.Object())
	})
}

// line takes a line of a chat and reports whether it is known.
func (c *chat) line(rec gjson.Result) bool {
	if set := rec.Get(`\$set`); set.Exists() {
		for _, m := range set.Get("messages").Array() {
			c.context(m)
			c.before[strings.Clone(m.Get("id").String())] = true
		}
		return true
	}
	id := rec.Get("id").String()
	switch rec.Get("type").String() {
	case "":
		return rec.Get("sessionId").Exists() // the first line
	case "user":
		c.flush("")
		if c.earlier(rec) || c.before[id] || c.done[id] {
			return true
		}
		c.done[strings.Clone(id)] = true
		if text := chatText(rec.Get("content")); !c.context(rec) && text != "" {
			if c.subagent == "" {
				c.g.asked = true
			}
			c.g.r.Message(c.origin(rec), transcript.RoleUser, "", text)
		}
	case "gemini":
		if id != c.message.Get("id").String() || id == "" {
			c.flush("")
		}
		switch {
		case c.earlier(rec) || c.before[id]:
		case c.done[id]:
			for _, tool := range rec.Get("toolCalls").Array() {
				c.tool(c.origin(rec), tool)
			}
		default:
			c.message = transcript.Detached(rec)
		}
	case "error":
		if !c.earlier(rec) {
			c.g.r.Note(chatText(rec.Get("content")))
		}
	case "info", "warning":
	default:
		return false
	}
	return true
}

func (c *chat) origin(rec gjson.Result) transcript.Origin {
	return transcript.Origin{At: transcript.Time(rec.Get("timestamp").String()), Subagent: c.subagent}
}

// earlier reports whether a message belongs to an earlier turn of the session: it is older than the
// stream.
func (c *chat) earlier(rec gjson.Result) bool {
	at := transcript.Time(rec.Get("timestamp").String())
	return at != nil && c.g.began != nil && at.Before(*c.g.began)
}

// context reports whether a message is the context that Gemini adds as a user's message. The
// context has the session's directory.
func (c *chat) context(m gjson.Result) bool {
	text := chatText(m.Get("content"))
	if !strings.HasPrefix(text, "<session_context>") {
		return false
	}
	if _, list, ok := strings.Cut(text, "Workspace Directories:**\n"); ok && c.g.r.Cwd == "" {
		first, _, _ := strings.Cut(list, "\n")
		c.g.r.Cwd = strings.Clone(strings.TrimPrefix(strings.TrimSpace(first), "- "))
	}
	return true
}

// chatText returns the text of a message: a string, or the texts of its parts.
func chatText(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var texts []string
	for _, part := range content.Array() {
		if part.Type == gjson.String {
			texts = append(texts, part.Str)
		} else if text := part.Get("text").String(); text != "" && !part.Get("thought").Bool() {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "")
}

// flush records the latest message, which is complete now. Phase is the phase of its text if it
// called no tools that the chat has; "" means final.
func (c *chat) flush(phase string) {
	m := c.message
	if !m.Exists() {
		return
	}
	c.message = gjson.Result{}
	g := c.g
	if id := m.Get("id").String(); id != "" {
		c.done[strings.Clone(id)] = true // a part of the message would keep it in memory
	}
	o := c.origin(m)
	for _, t := range m.Get("thoughts").Array() {
		text := strings.TrimSpace(t.Get("subject").String() + "\n" + t.Get("description").String())
		at := o
		if when := transcript.Time(t.Get("timestamp").String()); when != nil {
			at.At = when
		}
		g.r.Message(at, transcript.RoleAssistant, transcript.PhaseThinking, text)
	}
	c.steps++
	if c.subagent == "" {
		g.model(m.Get("model").String())
	}
	c.tokens(o, m)
	text, tools := chatText(m.Get("content")), m.Get("toolCalls").Array()
	if phase = cmp.Or(phase, transcript.PhaseFinal); len(tools) > 0 {
		phase = transcript.PhaseCommentary
	}
	g.r.Message(o, transcript.RoleAssistant, phase, text)
	if len(c.tail) < transcript.MaxText {
		c.tail += text
	}
	if len(tools) > 0 {
		c.tail = ""
	}
	if c.answer = ""; phase == transcript.PhaseFinal {
		c.answer = c.tail
	}
	for _, tool := range tools {
		c.tool(o, tool)
	}
}

// tool records a tool call with its result.
func (c *chat) tool(o transcript.Origin, tool gjson.Result) {
	id := strings.Clone(tool.Get("id").String())
	if id == "" || c.tools[id] {
		return
	}
	o.Call = id
	status, done := tool.Get("status").String(), true
	switch status {
	case "executing", "scheduled", "validating", "awaiting_approval":
		if done = false; c.g.r.Stdout != "" {
			return // the stream also has it, perhaps with its result
		}
	}
	c.tools[id] = true
	call := waitingCall{Origin: o, name: tool.Get("name").String(), args: tool.Get("args")}
	c.g.call(call)
	if at := transcript.Time(tool.Get("timestamp").String()); at != nil {
		call.At = at
	}
	if done {
		c.g.done(call, chatResult(tool), status, tool.Get("resultDisplay"))
	}
}

// chatResult returns the result of a tool for the model.
func chatResult(tool gjson.Result) string {
	var texts []string
	for _, part := range tool.Get("result").Array() {
		response := part.Get("functionResponse.response")
		for _, text := range []string{transcript.TextOf(response.Get("output")), transcript.TextOf(response.Get("error")), part.Get("text").String()} {
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) == 0 {
		return transcript.TextOf(tool.Get("resultDisplay"))
	}
	return strings.Join(texts, "\n")
}

// tokens records the usage of the request for a message.
func (c *chat) tokens(o transcript.Origin, m gjson.Result) {
	v := m.Get("tokens")
	input, output := transcript.Tokens(v.Get("input")), transcript.Tokens(v.Get("output"))
	if input == nil || output == nil {
		return
	}
	thoughts, tool := v.Get("thoughts").Int(), v.Get("tool").Int()
	if thoughts < 0 || tool < 0 {
		return
	}
	u := plumb.Usage{
		InputTokens: new(*input + tool), OutputTokens: new(*output + thoughts), ReasoningTokens: &thoughts,
		CacheTokens: transcript.Tokens(v.Get("cached")),
	}
	c.g.r.Request(o, m.Get("model").String(), u)
	c.used.Add(u)
}
