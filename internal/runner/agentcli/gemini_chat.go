package agentcli

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
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
			g.r.subagent(f.session, f.kind, nil)
		} else {
			g.r.report.RawArtifacts.ExportPath = f.path
			if g.r.report.SessionID == "" {
				g.r.report.SessionID = f.session
			}
		}
		if err := c.read(f.path); err != nil {
			return err
		}
		if c.subagent != "" || len(c.message.Get("toolCalls").Array()) > 0 {
			c.flush(phaseFinal)
		}
		if c.subagent != "" {
			if c.used.InputTokens != nil {
				g.r.subagent(f.session, "", &c.used)
			}
		}
	}
	return nil
}

// findChats finds the chats of the session, and those of subagents. Without a stream to name the session it is the last.
func (g *gemini) findChats() ([]chatFile, error) {
	paths, err := sessionFiles(g.t.Session, func(path string) bool {
		name := baseName(path)
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
			g.r.note("the saved chat is not of this session: it was left out")
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
			return errEnough
		}
		return nil
	}
	var err error
	if strings.HasSuffix(f.path, ".json") {
		err = eachValue(f.path, []string{"", "messages"}, take)
	} else {
		err = eachLine(f.path, func(line []byte) error {
			if gjson.ValidBytes(line) {
				first := gjson.ParseBytes(line)
				f.session, f.kind = strings.Clone(first.Get("sessionId").String()), strings.Clone(first.Get("kind").String())
			}
			return errEnough
		})
	}
	if errors.Is(err, errEnough) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// read records one chat.
func (c *chat) read(path string) error {
	if strings.HasSuffix(path, ".json") {
		err := eachValue(path, []string{"", "messages"}, func(at string, value []byte) error {
			switch {
			case at != "messages[]":
			case !gjson.ValidBytes(value):
				c.g.r.stray(value)
			case c.line(gjson.ParseBytes(value)):
				c.g.r.sawRecords++
			}
			return nil
		})
		if errors.Is(err, io.ErrUnexpectedEOF) {
			c.g.r.note("the saved chat is cut short")
			return nil
		}
		return err
	}
	resumed, n := -1, 0
	if c.g.t.Resumed && c.g.began == nil {
		err := eachLine(path, func(line []byte) error {
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
	return c.g.r.records(path, func(rec gjson.Result) bool {
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
			c.g.r.message(origin{at: moment(rec.Get("timestamp").String()), subagent: c.subagent}, roleUser, "", text)
		}
	case "gemini":
		if id != c.message.Get("id").String() || id == "" {
			c.flush("")
		}
		switch {
		case c.earlier(rec) || c.before[id]:
		case c.done[id]:
			o := origin{at: moment(rec.Get("timestamp").String()), subagent: c.subagent}
			for _, tool := range rec.Get("toolCalls").Array() {
				c.tool(o, tool)
			}
		default:
			c.message = gjson.Parse(strings.Clone(rec.Raw))
		}
	case "error":
		if !c.earlier(rec) {
			c.g.r.note(chatText(rec.Get("content")))
		}
	case "info", "warning":
	default:
		return false
	}
	return true
}

// earlier reports whether a message is of an earlier turn of the session: from before the stream began.
func (c *chat) earlier(rec gjson.Result) bool {
	at := moment(rec.Get("timestamp").String())
	return at != nil && c.g.began != nil && at.Before(*c.g.began)
}

// context learns the directory of the session from what Gemini tells the model in the user's name, and reports whether the
// message is that.
func (c *chat) context(m gjson.Result) bool {
	text := chatText(m.Get("content"))
	if !strings.HasPrefix(text, "<session_context>") {
		return false
	}
	if _, list, ok := strings.Cut(text, "Workspace Directories:**\n"); ok && c.g.r.cwd == "" {
		first, _, _ := strings.Cut(list, "\n")
		c.g.r.cwd = strings.Clone(strings.TrimPrefix(strings.TrimSpace(first), "- "))
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
	o := origin{at: moment(m.Get("timestamp").String()), subagent: c.subagent}
	for _, t := range m.Get("thoughts").Array() {
		text := strings.TrimSpace(t.Get("subject").String() + "\n" + t.Get("description").String())
		at := o
		if when := moment(t.Get("timestamp").String()); when != nil {
			at.at = when
		}
		g.r.message(at, roleAssistant, phaseThinking, text)
	}
	c.steps++
	if c.subagent == "" {
		g.model(m.Get("model").String())
	}
	c.tokens(o, m)
	text, tools := chatText(m.Get("content")), m.Get("toolCalls").Array()
	if phase == "" {
		phase = phaseFinal
	}
	if len(tools) > 0 {
		phase = phaseCommentary
	}
	g.r.message(o, roleAssistant, phase, text)
	if len(c.tail) < maxText {
		c.tail += text
	}
	if len(tools) > 0 {
		c.tail = ""
	}
	if c.answer = ""; phase == phaseFinal {
		c.answer = c.tail
	}
	for _, tool := range tools {
		c.tool(o, tool)
	}
}

// tool records a tool call with its result.
func (c *chat) tool(o origin, tool gjson.Result) {
	id := strings.Clone(tool.Get("id").String())
	if id == "" || c.tools[id] {
		return
	}
	o.call = id
	status, done := tool.Get("status").String(), true
	switch status {
	case "executing", "scheduled", "validating", "awaiting_approval":
		if done = false; c.g.t.Stdout != "" {
			return // the stream has it too, and perhaps its result
		}
	}
	c.tools[id] = true
	call := waitingCall{origin: o, name: tool.Get("name").String(), args: tool.Get("args")}
	c.g.call(call)
	if at := moment(tool.Get("timestamp").String()); at != nil {
		call.at = at
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
		for _, text := range []string{plain(response.Get("output")), plain(response.Get("error")), part.Get("text").String()} {
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) == 0 {
		return plain(tool.Get("resultDisplay"))
	}
	return strings.Join(texts, "\n")
}

// tokens records what the request behind a message used.
func (c *chat) tokens(o origin, m gjson.Result) {
	v := m.Get("tokens")
	input, output := count(v.Get("input")), count(v.Get("output"))
	if input == nil || output == nil {
		return
	}
	thoughts, tool := v.Get("thoughts").Int(), v.Get("tool").Int()
	if thoughts < 0 || tool < 0 {
		return
	}
	u := plumb.RequestUsage{
		At: o.at, Model: m.Get("model").String(), Subagent: c.subagent, InputTokens: new(*input + tool),
		OutputTokens: new(*output + thoughts), ReasoningTokens: &thoughts, CacheTokens: count(v.Get("cached")),
	}
	c.g.r.request(u)
	c.used.Add(usageOf(u))
}
