package claude

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// session takes from the session files what the stream does not have: the usage of each request,
// the instructions that were read, and, if the stream broke off, the rest of the records.
func (c *claude) session() error {
	id := c.r.Report.SessionID
	if c.r.Session == "" || c.qwen || id == "" && transcript.Exists(c.r.Stdout) {
		return nil // the stream of a session that began has its ID
	}
	main, paths, err := c.sessionFile(id)
	if main == "" || err != nil {
		return err
	}
	if id == "" {
		c.r.Note("standard output is lost: the report is from the session file")
	}
	c.r.Report.RawArtifacts.SessionPath = main
	if err := c.history(main, ""); err != nil {
		return err
	}
	inside := filepath.Join(strings.TrimSuffix(main, ".jsonl"), "subagents") + string(filepath.Separator)
	for _, path := range paths {
		if strings.HasPrefix(path, inside) {
			if err := c.subagentFile(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// sessionFile returns the file of a session, or the last file of any session if the ID is "", and
// all session files.
func (c *claude) sessionFile(id string) (main string, all []string, err error) {
	all, err = transcript.SessionFiles(c.r.Session, func(path string) bool { return strings.HasSuffix(path, ".jsonl") })
	for _, path := range all {
		dir := filepath.Base(filepath.Dir(path))
		if name := strings.TrimSuffix(filepath.Base(path), ".jsonl"); dir != "subagents" && (name == id || id == "" && len(name) == 36) {
			main = path
		}
	}
	return main, all, err
}

// prompt takes the prompt from the session file, because the stream has none: the prompt before the
// first record of the stream, or else the only prompt, or the last one of a resumed session.
func (c *claude) prompt() error {
	id, uuid := "", ""
	err := transcript.EachLine(c.r.Stdout, func(line []byte) error {
		if rec := gjson.GetManyBytes(line, "session_id", "type", "uuid"); rec[0].Str != "" {
			id = rec[0].Str
			if kind := rec[1].Str; kind == "assistant" || kind == "user" {
				uuid = rec[2].Str
				return transcript.ErrEnough
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || id == "" {
		return nil //nolint:nilerr // it is not known which session it is
	}
	main, _, err := c.sessionFile(id)
	if main == "" || err != nil {
		return err
	}
	text, n := "", 0
	o := transcript.Origin{}
	err = transcript.EachLine(main, func(line []byte) error {
		rec := gjson.ParseBytes(line)
		if uuid != "" && rec.Get("uuid").String() == uuid {
			n = 1
			return transcript.ErrEnough
		}
		if prompt := promptOf(rec); prompt != "" {
			text, o.At = prompt, transcript.Time(rec.Get("timestamp").String())
			n++
		}
		return nil
	})
	if n == 1 || c.r.Resumed {
		c.r.Message(o, transcript.RoleUser, "", text)
	}
	return err
}

// promptOf returns the prompt in a record of a session file, or "".
func promptOf(rec gjson.Result) string {
	if rec.Get("type").String() != "user" || rec.Get("isSidechain").Bool() || rec.Get("isMeta").Bool() || rec.Get("isCompactSummary").Bool() ||
		rec.Get("toolUseResult").Exists() {
		return ""
	}
	return transcript.CodexParts(rec.Get("message.content"))
}

// subagentFile takes the session file of a subagent. A file beside it names the call that started
// the subagent.
func (c *claude) subagentFile(path string) error {
	name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "agent-")
	_ = transcript.EachLine(strings.TrimSuffix(path, ".jsonl")+".meta.json", func(line []byte) error { // it is optional
		meta := gjson.ParseBytes(line)
		if id := meta.Get("toolUseId").String(); c.has(id) || !c.ended {
			c.agent(id, name, meta.Get("agentType").String())
		}
		return nil
	})
	id := c.agentNamed(name)
	if !c.has(id) && c.ended {
		return nil // it belongs to an earlier turn
	}
	if err := c.history(path, id); err != nil {
		return err
	}
	var u plumb.Usage
	for _, q := range c.r.Report.RequestUsage {
		if q.Subagent == id {
			q.ReasoningTokens = nil
			transcript.AddUsed(&u, q)
		}
	}
	if c.has(id) && u.InputTokens != nil {
		c.r.Subagent(id, "", &u)
	}
	return nil
}

// has reports whether a subagent is known.
func (c *claude) has(id string) bool {
	return slices.ContainsFunc(c.r.Report.Subagents, func(s plumb.Subagent) bool { return s.ID == id })
}

// history takes a session file. The stream has most of its records. The other records only count if
// the stream broke off, and in a resumed session only after the last prompt.
func (c *claude) history(path, subagent string) error {
	skip := 0
	if c.r.Resumed && subagent == "" {
		n := 0
		err := transcript.EachLine(path, func(line []byte) error {
			n++
			if rec := gjson.ParseBytes(line); rec.Get("type").String() == "user" && rec.Get("promptSource").Exists() {
				skip = n - 1
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	n, streamed, live := 0, false, transcript.Exists(c.r.Stdout)
	return c.r.Records(path, func(rec *transcript.Fields) bool {
		n++
		kind := rec.Text("type")
		switch {
		case n <= skip || kind == "attachment":
			c.offered(rec)
			return true
		case kind != "assistant" && kind != "user":
			return slices.Contains([]string{
				"system", "queue-operation", "api-request", "api-request-shape", "api-request-blob", "atis-latch", "last-prompt", "tools-used",
				"cost-state", "summary", "file-history-snapshot", "permission-mode", "ai-title", "agent-name", "custom-title", "mode",
				"progress", "attribution-snapshot",
			}, kind)
		}
		uuid := rec.Text("uuid")
		known := uuid != "" && c.uuids[transcript.Hash("", uuid)]
		if live && rec.Get("promptSource").Exists() {
			return true // the stream has no prompts
		}
		streamed = streamed || known
		// The stream of a subagent may lack its last messages.
		if !known && (!c.ended || streamed && subagent != "" && saysOnly(rec.Get("message"))) {
			transcript.SetFirst(&c.r.Report.AgentVersion, rec.Text("version"))
			transcript.SetFirst(&c.r.Cwd, rec.Text("cwd"))
			c.record(rec)
			known = true
		}
		c.message.Of(rec.Get("message"))
		if m := &c.message; kind == "assistant" && m.Text("model") != "<synthetic>" && (known || subagent != "") {
			o := c.origin(rec, "")
			o.Subagent = cmp.Or(subagent, o.Subagent)
			c.request(o, m.Text("id"), m, true)
		}
		return true
	})
}

// saysOnly reports whether a message of the model only has text.
func saysOnly(message gjson.Result) bool {
	for _, kind := range message.Get("content.#.type").Array() {
		if kind.Str != "text" {
			return false
		}
	}
	return message.Get("role").Str == transcript.RoleAssistant && message.Get("content.0").Exists()
}

// offered takes the instructions and the memory that the agent added to the model's input.
func (c *claude) offered(rec *transcript.Fields) {
	if rec.Text("type") != "attachment" || rec.Get("isSidechain").Bool() {
		return
	}
	a := rec.Get("attachment")
	kind := a.Get("type").String()
	offer := plumb.OfferInstructions
	switch {
	case strings.Contains(kind, "claude_md"), strings.Contains(kind, "agents_md"), strings.Contains(kind, "instructions"), kind == "nested_memory":
	case strings.Contains(kind, "memory"):
		offer = plumb.OfferMemory
	default:
		return
	}
	paths := []string{a.Get("path").String(), a.Get("content.path").String(), a.Get("file.filePath").String()}
	for _, list := range []string{"memories", "files", "entries", "contents"} {
		for _, f := range a.Get(list).Array() {
			paths = append(paths, transcript.FirstText(f, "path", "filePath"))
		}
	}
	for _, path := range paths {
		if path != "" {
			c.r.Offer(offer, transcript.BaseName(path), path, transcript.FirstText(a, "scope", "source"))
		}
	}
}
