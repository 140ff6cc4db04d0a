package agentcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// claude understands what Claude Code leaves behind: the stream on standard output, which has everything but what each
// request used, and the session files, which have that, and the rest where the stream broke off. Qwen Code writes a stream
// of the same kind.
type claude struct {
	r    *recorder
	qwen bool
	// uuids are the records of the stream, by which the session files are told apart from it; nil where there are none.
	uuids map[uint64]bool
	// calls are the tool calls without a result yet.
	calls map[string]claudeCall
	// said are the texts of the message that is being said, by thread: its id, and the events that its texts are.
	said map[string]*claudeMessage
	// dirs are the directories where the shells of the threads are: cd lasts from one command to the next.
	dirs map[string]string
	// requests are the requests to the model, by the id of the answer.
	requests map[string]int
	// agents are the subagents' types by their id, names their id by the agent's own name for them.
	names   map[string]string
	retries int
	// ended says that there was a result record, result is the last of them.
	ended  bool
	result gjson.Result
	// message, block and about are members of the record that is being read.
	message, block, about fields
	// apiError is an error of the model API that the agent has shown as a message; trying is the one for which it tries the
	// last request again.
	apiError, trying string
	status           int
	// stop is why the model stopped, if the last record of the main thread is the model's and says so: in session files.
	stop string
}

// claudeCall is what is remembered of a tool call for its result.
type claudeCall struct {
	o       origin
	tool    string
	path    string // of a file that it changes
	command string
}

// claudeMessage is a message of the model, of which each block may be a record of its own.
type claudeMessage struct {
	id     string
	texts  []int           // the events
	text   strings.Builder // all of them
	called bool
}

// add joins a text to the others.
func (m *claudeMessage) add(text string) {
	if m.text.Len() > 0 {
		m.text.WriteByte('\n')
	}
	if m.text.Len() < maxText {
		m.text.WriteString(clip(text, maxText))
	}
}

func normaliseClaude(t *Transcript, r *recorder) error {
	r.skillEvidence = "Loaded via Skill tool"
	return newClaude(r).normalise(t)
}

func newClaude(r *recorder) *claude {
	return &claude{
		r: r, calls: map[string]claudeCall{}, said: map[string]*claudeMessage{},
		dirs: map[string]string{}, requests: map[string]int{}, names: map[string]string{},
	}
}

func (c *claude) normalise(t *Transcript) error {
	r := c.r
	if t.Session != "" && !c.qwen {
		c.uuids = map[uint64]bool{}
	}
	if err := c.asked(t); err != nil {
		return err
	}
	steps := newSteps(r.format)
	err := r.records(t.Stdout, func(rec gjson.Result) bool {
		steps.count(&r.top)
		return c.record(rec)
	})
	r.report.Steps = steps.n
	if err != nil && (t.Session == "" || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if err := c.session(t); err != nil {
		return err
	}
	c.end(t)
	return nil
}

// record takes a record of the stream, or one of the same kind from a session file.
func (c *claude) record(rec gjson.Result) bool {
	rep := c.r.report
	f := &c.r.top
	if rep.SessionID == "" {
		rep.SessionID = strings.Clone(f.text("session_id", "sessionId"))
	}
	if c.uuids != nil {
		c.uuids[key("", f.text("uuid"))] = true
	}
	switch f.text("type") {
	case "system":
		c.system(rec)
	case "assistant":
		c.assistant(f)
	case "user":
		c.user(f)
	case "result":
		c.ended, c.result = true, copied(rec)
	case "stream_event", "keep_alive", "rate_limit_event", "auth_status", "tool_progress", "tool_use_summary", "control_request",
		"control_response", "prompt_suggestion", "status":
	default:
		return false
	}
	return true
}

func (c *claude) system(rec gjson.Result) {
	r := c.r
	switch rec.Get("subtype").String() {
	case "init":
		c.init(rec)
	case "api_retry":
		c.retries++
		said := strings.TrimSpace(rec.Get("error_status").String() + " " + rec.Get("error").String())
		r.note(fmt.Sprintf("the request was tried again (%d): %s", rec.Get("attempt").Int(), said))
		c.trying, c.status = "API error: "+said, int(rec.Get("error_status").Int())
	case "permission_denied":
		r.denial(c.origin(&c.r.top, rec.Get("tool_use_id").String()), rec.Get("tool_name").String(), rec.Get("message").String())
	case "task_started":
		if rec.Get("task_type").String() != "local_bash" && rec.Get("subagent_type").Exists() {
			c.agent(rec.Get("tool_use_id").String(), rec.Get("task_id").String(), rec.Get("subagent_type").String())
		}
	case "compact_boundary":
		r.note("the agent compacted its context")
	default: // thinking_tokens, task_progress, status and what is to come: nothing that has to be known
	}
}

// init takes what the session was offered.
func (c *claude) init(rec gjson.Result) {
	r := c.r
	if r.cwd == "" {
		r.cwd = strings.Clone(rec.Get("cwd").String())
	}
	if model := rec.Get("model").String(); model != "" && r.report.Model == "" {
		r.report.Model = strings.Clone(model)
	}
	if v := first(rec, "claude_code_version", "qwen_code_version", "version"); v != "" {
		r.report.AgentVersion = strings.Clone(v)
	}
	for _, skill := range rec.Get("skills").Array() {
		if skill.IsObject() {
			r.offer(plumb.OfferSkill, skill.Get("name").String(), skill.Get("path").String(), skill.Get("source").String())
		} else {
			r.offer(plumb.OfferSkill, skill.String(), "", "")
		}
	}
	for _, server := range rec.Get("mcp_servers").Array() {
		r.offer(plumb.OfferMCPServer, server.Get("name").String(), "", first(server, "scope", "source"))
	}
	for _, plugin := range rec.Get("plugins").Array() {
		r.offer(plumb.OfferPlugin, plugin.Get("name").String(), plugin.Get("path").String(), plugin.Get("source").String())
	}
	rec.Get("memory_paths").ForEach(func(name, path gjson.Result) bool {
		r.offer(plumb.OfferMemory, name.String(), path.String(), "")
		return true
	})
}

// origin says where a record comes from: a subagent's has the call that started it as its parent.
func (c *claude) origin(rec *fields, call string) origin {
	o := origin{at: moment(rec.text("timestamp")), call: call, subagent: rec.text("parent_tool_use_id")}
	if o.subagent == "" {
		if name := rec.text("agentId"); name != "" && rec.get("isSidechain").Bool() {
			o.subagent = c.agentNamed(name)
		}
	}
	o.base = c.dirs[o.subagent]
	return o
}

// agentNamed returns the id of the subagent that the agent itself calls name.
func (c *claude) agentNamed(name string) string {
	if id := c.names[name]; id != "" {
		return id
	}
	return name
}

// agent makes a subagent known.
func (c *claude) agent(id, name, kind string) {
	if id == "" {
		id = name
	}
	if name != "" {
		c.names[strings.Clone(name)] = strings.Clone(id)
	}
	c.r.subagent(id, kind, nil)
}

// assistant takes a message of the model, or a block of one.
func (c *claude) assistant(rec *fields) {
	r := c.r
	m := &c.message
	m.of(rec.get("message"))
	o := c.origin(rec, "")
	if o.subagent != "" {
		c.agent(o.subagent, rec.text("agent_id", "agentId"), rec.text("subagent_type"))
	}
	model := m.text("model")
	if model == "<synthetic>" || rec.get("is_api_error_message").Bool() || rec.get("isApiErrorMessage").Bool() {
		if o.subagent == "" {
			c.apiError = strings.Clone(clip(codexParts(m.get("content")), maxName))
			c.status = int(rec.get("api_error_status").Int())
			c.stop = ""
		}
		return
	}
	if o.subagent == "" {
		c.trying, c.apiError, c.status = "", "", 0 // what went wrong before did not end the session
		c.stop = c.r.name(m.text("stop_reason"))
		if model != "" {
			r.report.Model = r.name(model)
		}
	}
	id := m.text("id")
	c.request(o, id, m, false)
	said := c.said[o.subagent]
	if said == nil || id == "" || said.id != id {
		said = &claudeMessage{id: strings.Clone(id)}
		c.said[r.name(o.subagent)] = said
	}
	content := m.get("content")
	if content.Type == gjson.String {
		content = gjson.Parse(`[{"type":"text","text":` + content.Raw + `}]`)
	}
	blocks := elements(content)
	for _, value := range blocks {
		block := &c.block
		block.of(value)
		switch block.text("type") {
		case "thinking":
			r.message(o, roleAssistant, phaseThinking, block.text("thinking"))
		case "text":
			if text := block.text("text"); text != "" {
				said.texts = append(said.texts, len(r.report.Events))
				said.add(text)
				r.message(o, roleAssistant, phaseFinal, text)
			}
		case "tool_use", "server_tool_use", "mcp_tool_use":
			// A message whose blocks are records of their own was not the last word if it calls a tool. In older
			// versions one record has all blocks, and its texts count as final, as documented.
			if len(blocks) == 1 {
				for _, i := range said.texts {
					r.rephrase(i, phaseCommentary)
					r.answer = ""
				}
				said.texts = nil
			}
			said.called = true
			c.toolUse(o, block)
		case "tool_result", "mcp_tool_result", "web_search_tool_result":
			c.toolResult(o, rec, block)
		default:
		}
	}
}

// elements returns the elements of an array; anything else has none.
func elements(v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		return nil
	}
	return v.Array()
}

// request records what a request used. The stream has the figures from the beginning of an answer, so that its output is
// not known; the session files have those from its end.
func (c *claude) request(o origin, id string, m *fields, whole bool) {
	u := m.get("usage")
	if id == "" || !u.IsObject() {
		return
	}
	in := c.input(u)
	request := plumb.RequestUsage{
		At: o.at, Model: m.text("model"), Subagent: o.subagent, InputTokens: in,
		CacheTokens: count(u.Get("cache_read_input_tokens")), CacheWriteTokens: count(u.Get("cache_creation_input_tokens")),
	}
	if whole {
		request.OutputTokens = count(u.Get("output_tokens"))
		request.ReasoningTokens = count(u.Get("output_tokens_details.thinking_tokens"))
	}
	requests := c.r.report.RequestUsage
	if i, known := c.requests[id]; !known {
		if c.r.request(request); len(c.r.report.RequestUsage) > len(requests) {
			c.requests[strings.Clone(id)] = len(requests)
		}
	} else if whole && i < len(requests) {
		r := &requests[i]
		r.InputTokens, r.OutputTokens, r.ReasoningTokens = request.InputTokens, request.OutputTokens, request.ReasoningTokens
		r.CacheTokens, r.CacheWriteTokens = request.CacheTokens, request.CacheWriteTokens
	}
}

// input returns the gross input of a usage object. Claude's leaves out what came from the cache and went into it.
func (c *claude) input(u gjson.Result) *int64 {
	in := count(u.Get("input_tokens"))
	if c.qwen {
		return in
	}
	read, written := count(u.Get("cache_read_input_tokens")), count(u.Get("cache_creation_input_tokens"))
	if in == nil && read == nil && written == nil {
		return nil
	}
	return new(value(in) + value(read) + value(written))
}

// toolUse takes a tool call.
func (c *claude) toolUse(o origin, block *fields) {
	r := c.r
	tool, input := block.text("name"), block.get("input")
	o.call = block.text("id")
	if !input.IsObject() {
		input = gjson.Parse("{}")
	}
	call := claudeCall{o: o, tool: r.name(tool)}
	call.o.call = strings.Clone(o.call)
	if tool == "Skill" || tool == "skill" {
		r.skill(o, first(input, "skill", "name", "command"), "tool:skill")
	}
	if tool != "" {
		r.toolCall(o, tool, json.RawMessage(input.Raw))
	}
	switch tool {
	case "Read", "read", "read_file", "NotebookRead":
		r.fileRead(o, first(input, "file_path", "absolute_path", "path", "notebook_path"))
	case "read_many_files":
		for _, path := range input.Get("paths").Array() {
			if !strings.ContainsAny(path.String(), "*?[{") {
				r.fileRead(o, path.String())
			}
		}
	case "Bash", "run_shell_command":
		call.command = strings.Clone(clip(input.Get("command").String(), maxName))
		if dir := input.Get("directory").String(); dir != "" {
			o.base = resolve(r.cwd, dir)
		}
		r.command(o, input.Get("command").String())
	case "Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "edit", "replace":
		call.path = strings.Clone(first(input, "file_path", "notebook_path", "path", "absolute_path"))
	}
	if o.call != "" {
		c.calls[call.o.call] = call
	}
}

// user takes what the model was told: results of tools, and texts.
func (c *claude) user(rec *fields) {
	o := c.origin(rec, "")
	if o.subagent == "" {
		c.stop = ""
	}
	c.message.of(rec.get("message"))
	content := c.message.get("content")
	synthetic := rec.get("isSynthetic").Bool() || rec.get("isMeta").Bool() || rec.get("isCompactSummary").Bool()
	if content.Type == gjson.String {
		if !synthetic {
			c.r.message(o, roleUser, "", content.Str)
		}
		return
	}
	for _, value := range elements(content) {
		block := &c.block
		block.of(value)
		switch block.text("type") {
		case "tool_result":
			c.toolResult(o, rec, block)
		case "text":
			if !synthetic {
				c.r.message(o, roleUser, "", block.text("text"))
			}
		default:
		}
	}
}

// What the texts of results say.
var (
	claudeExit = regexp.MustCompile(`^(?:Error: )?Exit code (-?\d+)`)
	claudeDir  = regexp.MustCompile(`Shell cwd was reset to (\S.*)`)
)

// toolResult takes what a tool answered.
func (c *claude) toolResult(o origin, rec, block *fields) {
	r := c.r
	id := block.text("tool_use_id")
	o.call = id
	text := claudeText(block.get("content"))
	isError := block.get("is_error").Bool()
	said := rec.get("tool_use_result")
	if !said.Exists() {
		said = rec.get("toolUseResult")
	}
	about := &c.about
	about.of(said)
	call := c.calls[id]
	delete(c.calls, id)
	if text != "" || isError { // as documented: what is empty and no error has no event
		r.toolResult(o, text, isError)
	}
	if c.deniedBy(rec, id) {
		r.denial(o, call.tool, text)
		return
	}
	if agent := about.text("agentId"); agent != "" {
		c.agent(id, agent, about.text("agentType"))
	}
	if call.command != "" {
		if said.Type == gjson.String {
			text = said.Str
		}
		c.ran(o, call, block, about, text)
	}
	if call.path != "" && !isError {
		kind := changeUpdate
		switch {
		case about.text("type") == "create", len(about.names) == 0 && strings.Contains(clip(text, 200), "created"):
			kind = changeAdd
		}
		path := about.text("filePath")
		if path == "" {
			path = call.path
		}
		r.fileChange(o, kind, path)
	}
}

// deniedBy reports whether a record says that a call was not allowed.
func (c *claude) deniedBy(rec *fields, id string) bool {
	decision := rec.get("permissionDecision").Get("decision").String()
	for _, meta := range rec.get("tool_result_meta").Array() {
		if meta.Get("id").String() == id {
			decision = meta.Get("permission_decision.decision").String()
		}
	}
	return decision == "deny" || decision == "reject"
}

// ran takes the end of a command. Claude reports one that ends with anything but 0 as an error, except those, such as
// grep, for which it knows what the code means: of these it does not say which it was.
func (c *claude) ran(o origin, call claudeCall, block, about *fields, said string) {
	r := c.r
	if c.qwen {
		if code, ok := geminiExit(said); ok { // it was made from Gemini's
			r.exit(o.call, code)
			return
		}
	} else if m := claudeExit.FindStringSubmatch(said); m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			r.exit(o.call, code)
		}
		return
	}
	failed := block.get("is_error")
	if failed.Bool() || about.get("interrupted").Bool() || about.get("backgroundTaskId").Exists() || about.text("returnCodeInterpretation") != "" {
		return
	}
	if len(about.names) > 0 || failed.Exists() && !c.qwen {
		r.exit(o.call, 0)
	}
	base := c.dirs[o.subagent]
	if m := claudeDir.FindStringSubmatch(about.text("stderr")); m != nil {
		base = strings.TrimSpace(m[1])
	} else if place, lost := shellEnds(call.command); !lost && place != "" {
		base = resolve(resolve(r.cwd, base), place)
	}
	if base != "" && !c.qwen {
		c.dirs[r.name(o.subagent)] = strings.Clone(base)
	}
}

// claudeText returns the text of a tool's result.
func claudeText(content gjson.Result) string {
	if !content.IsArray() {
		return plain(content)
	}
	var texts []string
	for _, part := range content.Array() {
		if !part.IsObject() {
			continue
		}
		text := part.Raw
		if t := part.Get("text"); t.Exists() {
			text = t.String()
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
