package gemini

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// chat is the state of reading the chats that Gemini saved. Newer versions append a line to a JSONL file for each message,
// and again when its tools have answered; changes of the chat itself are lines with "$set". Older versions save one JSON
// document.
type chat struct {
	g *gemini
	// subagent is the session of a subagent; "" for the main one.
	subagent string
	// tools are the calls that the chat has with their results; before are the messages of earlier turns, done those that
	// were recorded.
	tools, before, done map[string]bool
	// message is the latest message, as it was last saved; a later line may add to it.
	message gjson.Result
	// tail is what the assistant said since its last tool call, answer all of it that was final.
	tail, answer string
	used         plumb.Usage
	steps        int
}

// chatFile is one saved chat.
type chatFile struct{ path, session, kind string }

// readChats records the chats of the session.
func (g *gemini) readChats() error {
	files, err := g.findChats()
	if err != nil {
		return err
	}
	for _, f := range files {
		c := &g.chat
		if f.kind != "" && f.kind != "main" {
			c = &chat{g: g, subagent: f.session, tools: g.chat.tools, before: g.chat.before, done: g.chat.done}
			g.r.Subagent(f.session, f.kind, nil)
		} else {
			g.r.Report.RawArtifacts.ExportPath = f.path
			if g.r.Report.SessionID == "" {
				g.r.Report.SessionID = f.session
			}
		}
		if err := c.read(f.path); err != nil {
			return err
		}
		if c.subagent != "" || len(c.message.Get("toolCalls").Array()) > 0 {
			c.flush(transcript.PhaseFinal)
		}
		if c.subagent != "" {
			if c.used.InputTokens != nil {
				g.r.Subagent(f.session, "", &c.used)
			}
		}
	}
	return nil
}

// findChats finds the chats of the session, and those of subagents. Without a stream to name the session it is the last.
func (g *gemini) findChats() ([]chatFile, error) {
	paths, err := transcript.SessionFiles(g.t.Session, func(path string) bool {
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
	if id == "" {
		for _, f := range files {
			if f.kind == "" || f.kind == "main" {
				id = f.session
			}
		}
	}
	if !slices.ContainsFunc(files, func(f chatFile) bool { return f.session == id }) {
		if len(files) > 0 {
			g.r.Note("the saved chat is not of this session: it was left out")
		}
		return nil, nil
	}
	return slices.DeleteFunc(files, func(f chatFile) bool { return (f.kind == "" || f.kind == "main") && f.session != id }), nil
}

// identify reads which session a chat is of.
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
	if errors.Is(err, transcript.ErrEnough) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// read records one chat.
func (c *chat) read(path string) error {
	if strings.HasSuffix(path, ".json") {
		err := transcript.EachValue(path, []string{"", "messages"}, func(at string, value []byte) error {
			switch {
			case at != "messages[]":
			case !gjson.ValidBytes(value):
				c.g.r.Stray(value)
			case c.line(gjson.ParseBytes(value)):
				c.g.r.SawRecords++
			}
			return nil
		})
		if errors.Is(err, io.ErrUnexpectedEOF) {
			c.g.r.Note("the saved chat is cut short")
			return nil
		}
		return err
	}
	resumed, n := -1, 0
	if c.g.t.Resumed && c.g.began == nil {
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
	return c.g.r.Records(path, func(rec gjson.Result) bool {
		if n++; n >= resumed {
			return c.line(rec)
		}
		return true
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
	switch kind := rec.Get("type").String(); kind {
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
			c.g.r.Message(transcript.Origin{At: transcript.Time(rec.Get("timestamp").String()), Subagent: c.subagent}, transcript.RoleUser, "", text)
		}
	case "gemini":
		if id != c.message.Get("id").String() || id == "" {
			c.flush("")
		}
		switch {
		case c.earlier(rec) || c.before[id]:
		case c.done[id]:
			o := transcript.Origin{At: transcript.Time(rec.Get("timestamp").String()), Subagent: c.subagent}
			for _, tool := range rec.Get("toolCalls").Array() {
				c.tool(o, tool)
			}
		default:
			c.message = gjson.Parse(strings.Clone(rec.Raw))
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

// earlier reports whether a message is of an earlier turn of the session: from before the stream began.
func (c *chat) earlier(rec gjson.Result) bool {
	at := transcript.Time(rec.Get("timestamp").String())
	return at != nil && c.g.began != nil && at.Before(*c.g.began)
}

// context learns the directory of the session from what Gemini tells the model in the user's name, and reports whether the
// message is that.
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
	parts := content.Array()
	for _, part := range parts {
		if part.Type == gjson.String {
			texts = append(texts, part.Str)
		} else if text := part.Get("text").String(); text != "" && !part.Get("thought").Bool() {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "")
}

// flush records the latest message, which is complete now. Phase is that of its text if it called no tools that the chat has;
// "" is final.
func (c *chat) flush(phase string) {
	m := c.message
	if !m.Exists() {
		return
	}
	c.message = gjson.Result{}
	g := c.g
	if id := m.Get("id").String(); id != "" {
		c.done[strings.Clone(id)] = true // or else it keeps the whole message
	}
	o := transcript.Origin{At: transcript.Time(m.Get("timestamp").String()), Subagent: c.subagent}
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
	if phase == "" {
		phase = transcript.PhaseFinal
	}
	if len(tools) > 0 {
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
		if done = false; c.g.t.Stdout != "" {
			return // the stream has it too, and perhaps its result
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

// chatResult returns what a tool answered to the model.
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

// tokens records what the request behind a message used.
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
	u := plumb.RequestUsage{
		At: o.At, Model: m.Get("model").String(), Subagent: c.subagent, InputTokens: new(*input + tool),
		OutputTokens: new(*output + thoughts), ReasoningTokens: &thoughts, CacheTokens: transcript.Tokens(v.Get("cached")),
	}
	c.g.r.Request(u)
	c.used.Add(transcript.UsageOf(u))
}
