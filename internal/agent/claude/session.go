package claude

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// session takes from Claude's session files what the stream does not have: what each request used, which instructions
// were read, and, where the stream broke off, the rest of the records.
func (c *claude) session(t *transcript.Transcript) error {
	id := c.r.Report.SessionID
	if t.Session == "" || c.qwen || id == "" && transcript.Exists(t.Stdout) {
		return nil // a session that began says its id at once
	}
	main, paths, err := claudeFile(t, id)
	if err != nil {
		return err
	}
	if main == "" {
		return nil
	}
	if id == "" {
		c.r.Note("standard output is lost: what is known is from the session file")
	}
	c.r.Report.RawArtifacts.SessionPath = main
	if err := c.history(t, main, ""); err != nil {
		return err
	}
	inside := filepath.Join(strings.TrimSuffix(main, ".jsonl"), "subagents") + string(filepath.Separator)
	for _, path := range paths {
		if strings.HasPrefix(path, inside) {
			if err := c.subagentFile(t, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// claudeFile finds the file of a session, the last of all if its id is "", and all session files.
func claudeFile(t *transcript.Transcript, id string) (main string, all []string, err error) {
	all, err = transcript.SessionFiles(t.Session, func(path string) bool { return strings.HasSuffix(path, ".jsonl") })
	for _, path := range all {
		dir := filepath.Base(filepath.Dir(path))
		if name := strings.TrimSuffix(filepath.Base(path), ".jsonl"); dir != "subagents" && (name == id || id == "" && len(name) == 36) {
			main = path
		}
	}
	return main, all, err
}

// asked takes the prompt from the session file, since the stream has none: the one before the first record that the stream has,
// or else the only one, or the last of a resumed session.
func (c *claude) asked(t *transcript.Transcript) error {
	if t.Session == "" || c.qwen || !transcript.Exists(t.Stdout) {
		return nil
	}
	id, uuid := "", ""
	err := transcript.EachLine(t.Stdout, func(line []byte) error {
		if rec := gjson.GetManyBytes(line, "session_id", "type", "uuid"); rec[0].Str != "" {
			id = rec[0].Str
			if kind := rec[1].Str; kind == "assistant" || kind == "user" {
				uuid = rec[2].Str
				return transcript.ErrEnough
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, transcript.ErrEnough) || id == "" {
		return err
	}
	main, _, err := claudeFile(t, id)
	if main == "" || err != nil {
		return err
	}
	var last prompt
	n := 0
	err = transcript.EachLine(main, func(line []byte) error {
		rec := gjson.ParseBytes(line)
		if uuid != "" && rec.Get("uuid").String() == uuid {
			n = 1
			return transcript.ErrEnough
		}
		if p := promptOf(rec); p.text != "" {
			last = p
			n++
		}
		return nil
	})
	if err != nil && !errors.Is(err, transcript.ErrEnough) {
		return err
	}
	if n == 1 || t.Resumed {
		c.r.Message(transcript.Origin{At: last.at}, transcript.RoleUser, "", last.text)
	}
	return nil
}

// prompt is what the user said in a record of a session file.
type prompt struct {
	at   *time.Time
	text string
}

func promptOf(rec gjson.Result) prompt {
	if rec.Get("type").String() != "user" || rec.Get("isSidechain").Bool() || rec.Get("isMeta").Bool() || rec.Get("isCompactSummary").Bool() ||
		rec.Get("toolUseResult").Exists() {
		return prompt{}
	}
	return prompt{transcript.Time(rec.Get("timestamp").String()), transcript.CodexParts(rec.Get("message.content"))}
}

// subagentFile takes the session file of a subagent. Beside it is a file that says which call started it.
func (c *claude) subagentFile(t *transcript.Transcript, path string) error {
	name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "agent-")
	_ = transcript.EachLine(strings.TrimSuffix(path, ".jsonl")+".meta.json", func(line []byte) error { // it need not be there
		meta := gjson.ParseBytes(line)
		c.agentOnce(meta.Get("toolUseId").String(), name, meta.Get("agentType").String())
		return nil
	})
	id := c.agentNamed(name)
	if !c.has(id) && c.ended {
		return nil // of an earlier turn
	}
	if err := c.history(t, path, id); err != nil {
		return err
	}
	var u plumb.Usage
	for _, q := range c.r.Report.RequestUsage {
		if q.Subagent == id {
			u.Add(plumb.Usage{
				InputTokens: q.InputTokens, OutputTokens: q.OutputTokens, CacheTokens: q.CacheTokens, CacheWriteTokens: q.CacheWriteTokens,
			})
		}
	}
	if c.has(id) && u.InputTokens != nil {
		c.r.Subagent(id, "", &u)
	}
	return nil
}

func (c *claude) has(id string) bool {
	for _, s := range c.r.Report.Subagents {
		if s.ID == id {
			return true
		}
	}
	return false
}

// agentOnce makes the name of a subagent known, and itself if the session did not end properly.
func (c *claude) agentOnce(id, name, kind string) {
	if c.has(id) || !c.ended {
		c.agent(id, name, kind)
	}
}

// history takes a session file. Of its records the stream has most; the others count only where the stream broke off, and
// of a resumed session only those after the last prompt.
func (c *claude) history(t *transcript.Transcript, path, subagent string) error {
	skip := 0
	if t.Resumed && subagent == "" {
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
	n, streamed := 0, false
	return c.r.Records(path, func(rec gjson.Result) bool {
		n++
		if n <= skip {
			return c.offered(rec)
		}
		f := transcript.FieldsOf(rec)
		kind := f.Text("type")
		switch kind {
		case "assistant", "user":
		case "attachment":
			return c.offered(rec)
		case "system":
			return true
		default:
			return slices.Contains([]string{
				"queue-operation", "api-request", "api-request-shape", "api-request-blob", "atis-latch", "last-prompt", "tools-used",
				"cost-state", "summary", "file-history-snapshot", "permission-mode", "ai-title", "agent-name", "custom-title", "mode",
				"progress", "attribution-snapshot",
			}, kind)
		}
		uuid := f.Text("uuid")
		known := uuid != "" && c.uuids[transcript.Hash("", uuid)]
		if f.Get("promptSource").Exists() && transcript.Exists(t.Stdout) {
			return true // the stream has no prompts
		}
		streamed = streamed || known
		// The stream of a subagent may lack what it said in the end.
		if !known && (!c.ended || streamed && subagent != "" && saysOnly(f.Get("message"))) {
			if v := f.Text("version"); v != "" && c.r.Report.AgentVersion == "" {
				c.r.Report.AgentVersion = strings.Clone(v)
			}
			if cwd := f.Text("cwd"); cwd != "" && c.r.Cwd == "" {
				c.r.Cwd = strings.Clone(cwd)
			}
			c.record(rec)
			known = true
		}
		if m := transcript.FieldsOf(f.Get("message")); kind == "assistant" && m.Text("model") != "<synthetic>" && (known || subagent != "") {
			o := c.origin(&f, "")
			if subagent != "" {
				o.Subagent = subagent
			}
			c.request(o, m.Text("id"), &m, true)
		}
		return true
	})
}

// saysOnly reports whether a message is text, and nothing else.
func saysOnly(message gjson.Result) bool {
	for _, kind := range message.Get("content.#.type").Array() {
		if kind.Str != "text" {
			return false
		}
	}
	return message.Get("role").Str == transcript.RoleAssistant && message.Get("content.0").Exists()
}

// offered takes instructions and memory that the agent put before the model.
func (c *claude) offered(rec gjson.Result) bool {
	if rec.Get("type").String() != "attachment" || rec.Get("isSidechain").Bool() {
		return true
	}
	a := rec.Get("attachment")
	kind := a.Get("type").String()
	offer := plumb.OfferInstructions
	switch {
	case strings.Contains(kind, "claude_md"), strings.Contains(kind, "agents_md"), strings.Contains(kind, "instructions"), kind == "nested_memory":
	case strings.Contains(kind, "memory"):
		offer = plumb.OfferMemory
	default:
		return true
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
	return true
}
