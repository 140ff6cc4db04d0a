package claude

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/text"
)

// claude reads the record of a Claude Code session. The stream on standard output has everything
// except the usage of each request. The session files have the usage, and the rest of the records
// if the stream broke off. Qwen Code writes a stream in the same format.
type claude struct {
	r    *transcript.Recorder
	qwen bool
	// uuids are the records of the stream, so that the same records of the session files are
	// skipped; nil if there are none.
	uuids map[uint64]bool
	// calls are the tool calls without a result.
	calls map[string]claudeCall
	// said has the current message of each thread.
	said map[string]*claudeMessage
	// dirs are the directories of the threads' shells: a cd lasts from one command to the next.
	dirs map[string]string
	// requests are the indexes of the requests to the model, by the ID of the answer.
	requests map[string]int
	// names are the subagents' IDs by the agent's own names for them.
	names   map[string]string
	retries int
	// ended means that there was a result record; result is the last one.
	ended  bool
	result gjson.Result
	// message, block and about are parts of the current record.
	message, block, about transcript.Fields
	// apiError is an error of the model API that the agent has shown as a message. trying is the
	// error after which it repeats the last request.
	apiError, trying string
	status           int
	// stop is why the model stopped, if the last record of the main thread is the model's and has a
	// reason: in session files.
	stop string
}

// claudeCall describes a tool call until its result.
type claudeCall struct {
	o     transcript.Origin
	tool  string
	path  string // of the file that it changes
	shell bool   // it runs a command
	// background means that its result comes before the command ends.
	background bool
	end        transcript.ShellPlace
}

// claudeMessage is a message of the model. Each of its blocks may be a separate record.
type claudeMessage struct {
	id     string
	texts  []int           // the indexes of its events
	text   strings.Builder // all texts
	called bool
	// answered means that the results of its tools followed.
	answered bool
}

// add appends a text.
func (m *claudeMessage) add(s string) {
	if m.text.Len() > 0 {
		m.text.WriteByte('\n')
	}
	if m.text.Len() < transcript.MaxText {
		m.text.WriteString(text.Clip(s, transcript.MaxText))
	}
}

func readClaude(r *transcript.Recorder) error {
	r.SkillEvidence = "Loaded via Skill tool"
	return read(r, false)
}

// readQwen reads the stream of Qwen Code, which differs from Claude's: its usage counts the cache
// as input and continues over resumed sessions, its tools have other names, and before 0.24 a
// failure of the model API is a successful result with an error text.
func readQwen(r *transcript.Recorder) error { return read(r, true) }

func read(r *transcript.Recorder, qwen bool) error {
	c := &claude{
		r: r, qwen: qwen, calls: map[string]claudeCall{}, said: map[string]*claudeMessage{},
		dirs: map[string]string{}, requests: map[string]int{}, names: map[string]string{},
	}
	if r.Session != "" && !qwen {
		c.uuids = map[uint64]bool{}
		if err := c.prompt(); err != nil {
			return err
		}
	}
	if err := r.Stream(r.Stdout, c.record); err != nil && (r.Session == "" || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if err := c.session(); err != nil {
		return err
	}
	c.end()
	return nil
}

// record takes a record of the stream, or a record of the same kind from a session file.
func (c *claude) record(rec *transcript.Fields) bool {
	transcript.SetFirst(&c.r.Report.SessionID, rec.Text("session_id", "sessionId"))
	if c.uuids != nil {
		c.uuids[transcript.Hash("", rec.Text("uuid"))] = true
	}
	switch rec.Text("type") {
	case "system":
		c.system(rec)
	case "assistant":
		c.assistant(rec)
	case "user":
		c.user(rec)
	case "result":
		c.ended, c.result = true, transcript.Detached(rec.Object())
	case "stream_event", "keep_alive", "rate_limit_event", "auth_status", "tool_progress", "tool_use_summary",
		"control_request",
		"control_response", "prompt_suggestion", "status":
	default:
		return false
	}
	return true
}

func (c *claude) system(rec *transcript.Fields) {
	r := c.r
	switch rec.Text("subtype") {
	case "init":
		c.init(rec)
	case "api_retry":
		c.retries++
		message := strings.TrimSpace(rec.Get("error_status").String() + " " + rec.Get("error").String())
		r.Note(fmt.Sprintf("the request was tried again (%d): %s", rec.Get("attempt").Int(), message))
		c.trying, c.status = "API error: "+message, int(rec.Get("error_status").Int())
	case "permission_denied":
		r.Denial(c.origin(rec, rec.Get("tool_use_id").String()), rec.Get("tool_name").String(),
			rec.Get("message").String())
	case "task_started":
		if rec.Get("task_type").String() != "local_bash" && rec.Get("subagent_type").Exists() {
			c.agent(rec.Get("tool_use_id").String(), rec.Get("task_id").String(), rec.Get("subagent_type").String())
		}
	case "compact_boundary":
		r.Note("the agent compacted its context")
	default: // thinking_tokens, task_progress, status and others are not needed
	}
}

// init takes the offers to the session.
func (c *claude) init(rec *transcript.Fields) {
	r := c.r
	transcript.SetFirst(&r.Cwd, rec.Get("cwd").String())
	transcript.SetFirst(&r.Report.Model, rec.Get("model").String())
	transcript.Set(&r.Report.AgentVersion, rec.Text("claude_code_version", "qwen_code_version", "version"))
	for _, skill := range rec.Get("skills").Array() {
		if skill.IsObject() {
			r.Offer(plumb.OfferSkill, skill.Get("name").String(), skill.Get("path").String(),
				skill.Get("source").String())
		} else {
			r.Offer(plumb.OfferSkill, skill.String(), "", "")
		}
	}
	for _, server := range rec.Get("mcp_servers").Array() {
		r.Offer(plumb.OfferMCPServer, server.Get("name").String(), "", transcript.FirstText(server, "scope", "source"))
	}
	for _, plugin := range rec.Get("plugins").Array() {
		r.Offer(plumb.OfferPlugin, plugin.Get("name").String(), plugin.Get("path").String(),
			plugin.Get("source").String())
	}
	rec.Get("memory_paths").ForEach(func(name, path gjson.Result) bool {
		r.Offer(plumb.OfferMemory, name.String(), path.String(), "")
		return true
	})
}

// origin returns the source of a record. A record of a subagent has the call that started it as its
// parent.
func (c *claude) origin(rec *transcript.Fields, call string) transcript.Origin {
	o := transcript.Origin{
		At: transcript.Time(rec.Text("timestamp")), Call: call, Subagent: rec.Text("parent_tool_use_id"),
	}
	if o.Subagent == "" {
		if name := rec.Text("agentId"); name != "" && rec.Get("isSidechain").Bool() {
			o.Subagent = c.agentNamed(name)
		}
	}
	o.Base = c.dirs[o.Subagent]
	return o
}

// agentNamed returns the ID of the subagent that has a name in the agent's records.
func (c *claude) agentNamed(name string) string { return cmp.Or(c.names[name], name) }

// agent records a subagent.
func (c *claude) agent(id, name, kind string) {
	id = cmp.Or(id, name)
	if name != "" {
		c.names[strings.Clone(name)] = strings.Clone(id)
	}
	c.r.Subagent(id, kind, nil)
}

// assistant takes a message of the model, or a block of one.
func (c *claude) assistant(rec *transcript.Fields) {
	r := c.r
	m := &c.message
	m.Of(rec.Get("message"))
	o := c.origin(rec, "")
	if o.Subagent != "" {
		c.agent(o.Subagent, rec.Text("agent_id", "agentId"), rec.Text("subagent_type"))
	}
	model := m.Text("model")
	if model == "<synthetic>" || rec.Get("is_api_error_message").Bool() || rec.Get("isApiErrorMessage").Bool() {
		if o.Subagent == "" {
			c.apiError = strings.Clone(text.Clip(transcript.CodexParts(m.Get("content")), transcript.MaxName))
			c.status = int(rec.Get("api_error_status").Int())
			c.stop = ""
		}
		return
	}
	if o.Subagent == "" {
		c.trying, c.apiError, c.status = "", "", 0 // an earlier error did not end the session
		c.stop = c.r.Name(m.Text("stop_reason"))
		if model != "" {
			r.Report.Model = r.Name(model)
		}
	}
	id := m.Text("id")
	c.request(o, id, m, false)
	said := c.said[o.Subagent]
	// Qwen gives each block a message of its own.
	if said == nil || (id == "" || said.id != id) && (!c.qwen || said.answered) {
		said = &claudeMessage{id: strings.Clone(id)}
		c.said[r.Name(o.Subagent)] = said
	}
	content := m.Get("content")
	if content.Type == gjson.String {
		content = gjson.Parse(`[{"type":"text","text":` + content.Raw + `}]`)
	}
	blocks := elements(content)
	for _, value := range blocks {
		block := &c.block
		block.Of(value)
		switch block.Text("type") {
		case "thinking":
			r.Message(o, transcript.RoleAssistant, transcript.PhaseThinking, block.Text("thinking"))
		case "text":
			if text := block.Text("text"); text != "" {
				said.texts = append(said.texts, len(r.Report.Events))
				said.add(text)
				r.Message(o, transcript.RoleAssistant, transcript.PhaseFinal, text)
			}
		case "tool_use", "server_tool_use", "mcp_tool_use":
			// If each block is a separate record, a message that calls a tool is not the final one.
			// In older versions one record has all blocks, and its texts count as final, as
			// documented.
			if len(blocks) == 1 {
				for _, i := range said.texts {
					r.Rephrase(i, transcript.PhaseCommentary)
					r.Answer = ""
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

// elements returns the elements of an array; any other value has none.
func elements(v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		return nil
	}
	return v.Array()
}

// request records the usage of a request. The stream has the counts from the beginning of an
// answer, so that its output is not known. The session files have those from its end: whole.
func (c *claude) request(o transcript.Origin, id string, m *transcript.Fields, whole bool) {
	u := m.Get("usage")
	if id == "" || !u.IsObject() || c.qwen && unused(u) {
		return
	}
	usage := c.usage(u)
	if !whole {
		usage.OutputTokens, usage.ReasoningTokens = nil, nil
	}
	requests := c.r.Report.RequestUsage
	if i, known := c.requests[id]; !known {
		if c.r.Request(o, m.Text("model"), usage); len(c.r.Report.RequestUsage) > len(requests) {
			c.requests[strings.Clone(id)] = len(requests)
		}
	} else if whole && i < len(requests) {
		r := &requests[i]
		r.InputTokens, r.OutputTokens, r.ReasoningTokens = usage.InputTokens, usage.OutputTokens, usage.ReasoningTokens
		r.CacheTokens, r.CacheWriteTokens = usage.CacheTokens, usage.CacheWriteTokens
	}
}

// unused reports whether a usage object counts nothing: Qwen writes a message for each block, and the
// usage of the request into the last of them.
func unused(u gjson.Result) bool {
	return u.IsObject() && u.Get("input_tokens").Int() == 0 && u.Get("output_tokens").Int() == 0
}

// usage reads a usage object, with gross input. Claude's own input excludes the tokens that were
// read from the cache and written to it.
func (c *claude) usage(v gjson.Result) plumb.Usage {
	u := transcript.TokenKeys{
		Input: "input_tokens", Output: "output_tokens", Reasoning: "output_tokens_details.thinking_tokens",
		Cache: "cache_read_input_tokens", CacheWrite: "cache_creation_input_tokens",
	}.Of(v)
	if !c.qwen && (u.InputTokens != nil || u.CacheTokens != nil || u.CacheWriteTokens != nil) {
		u.InputTokens = new(transcript.OrZero(u.InputTokens) + transcript.OrZero(u.CacheTokens) +
			transcript.OrZero(u.CacheWriteTokens))
	}
	return u
}

// toolUse takes a tool call.
func (c *claude) toolUse(o transcript.Origin, block *transcript.Fields) {
	r := c.r
	tool, input := block.Text("name"), block.Get("input")
	o.Call = block.Text("id")
	if !input.IsObject() {
		input = gjson.Parse("{}")
	}
	call := claudeCall{o: o, tool: r.Name(tool)}
	call.o.Call = strings.Clone(o.Call)
	if tool == "Skill" || tool == "skill" {
		r.Skill(o, transcript.FirstText(input, "skill", "name", "command"), "tool:skill")
	}
	if tool != "" {
		r.ToolCall(o, tool, input.Raw)
	}
	switch tool {
	case "Read", "read", "read_file", "NotebookRead":
		r.FileRead(o, transcript.FirstText(input, "file_path", "absolute_path", "path", "notebook_path"))
	case "read_many_files":
		for _, path := range input.Get("paths").Array() {
			if !strings.ContainsAny(path.String(), "*?[{") {
				r.FileRead(o, path.String())
			}
		}
	case "Bash", "run_shell_command":
		if dir := input.Get("directory").String(); dir != "" {
			o.Base = transcript.Resolve(r.Cwd, dir)
		}
		command := input.Get("command").String()
		call.shell, call.end = command != "", r.Command(o, command)
		call.background = input.Get("is_background").Bool()
	case "Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "edit", "replace":
		call.path = strings.Clone(transcript.FirstText(input, "file_path", "notebook_path", "path", "absolute_path"))
	}
	if o.Call != "" {
		c.calls[call.o.Call] = call
	}
}

// user takes the input of the model: results of tools, and texts.
func (c *claude) user(rec *transcript.Fields) {
	o := c.origin(rec, "")
	if o.Subagent == "" {
		c.stop = ""
	}
	if said := c.said[o.Subagent]; said != nil {
		said.answered = true
	}
	c.message.Of(rec.Get("message"))
	content := c.message.Get("content")
	synthetic := rec.Get("isSynthetic").Bool() || rec.Get("isMeta").Bool() || rec.Get("isCompactSummary").Bool()
	if content.Type == gjson.String {
		if !synthetic {
			c.r.Message(o, transcript.RoleUser, "", content.Str)
		}
		return
	}
	for _, value := range elements(content) {
		block := &c.block
		block.Of(value)
		switch block.Text("type") {
		case "tool_result":
			c.toolResult(o, rec, block)
		case "text":
			if !synthetic {
				c.r.Message(o, transcript.RoleUser, "", block.Text("text"))
			}
		default:
		}
	}
}

// Patterns in the texts of results.
var (
	claudeExit = regexp.MustCompile(`^(?:Error: )?Exit code (-?\d+)`)
	claudeDir  = regexp.MustCompile(`Shell cwd was reset to (\S.*)`)
)

// toolResult takes the result of a tool.
func (c *claude) toolResult(o transcript.Origin, rec, block *transcript.Fields) {
	r := c.r
	id := block.Text("tool_use_id")
	o.Call = id
	s := claudeText(block.Get("content"))
	isError := block.Get("is_error").Bool()
	details := rec.Get("tool_use_result")
	if !details.Exists() {
		details = rec.Get("toolUseResult")
	}
	about := &c.about
	about.Of(details)
	call := c.calls[id]
	delete(c.calls, id)
	if s != "" || isError { // as documented: an empty result without an error has no event
		r.ToolResult(o, s, isError)
	} else {
		r.Output(o, "")
	}
	if c.deniedBy(rec, id) {
		r.Denial(o, call.tool, s)
		return
	}
	if agent := about.Text("agentId"); agent != "" {
		c.agent(id, agent, about.Text("agentType"))
	}
	if call.shell {
		if details.Type == gjson.String {
			s = details.Str
		}
		c.ran(o, call, block, about, s)
	}
	if call.path != "" && !isError {
		kind := transcript.ChangeUpdate
		if about.Text("type") == "create" ||
			len(about.Names) == 0 && strings.Contains(text.Clip(s, 200), "created") {
			kind = transcript.ChangeAdd
		}
		r.FileChange(o, kind, cmp.Or(about.Text("filePath"), call.path))
	}
}

// deniedBy reports whether a record denies a call.
func (c *claude) deniedBy(rec *transcript.Fields, id string) bool {
	decision := rec.Get("permissionDecision").Get("decision").String()
	for _, meta := range rec.Get("tool_result_meta").Array() {
		if meta.Get("id").String() == id {
			decision = meta.Get("permission_decision.decision").String()
		}
	}
	return decision == "deny" || decision == "reject"
}

// ran takes the end of a command. Claude reports a command with an exit code other than 0 as an
// error, except for commands such as grep whose codes it knows. It does not report the code of
// those.
func (c *claude) ran(o transcript.Origin, call claudeCall, block, about *transcript.Fields, output string) {
	r := c.r
	if c.qwen {
		if code, ok := transcript.GeminiExit(output); ok { // its tools are Gemini's
			r.Exit(o.Call, code)
			return
		}
	} else if m := claudeExit.FindStringSubmatch(output); m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			r.Exit(o.Call, code)
		}
		return
	}
	failed := block.Get("is_error")
	if failed.Bool() || about.Get("interrupted").Bool() || about.Get("backgroundTaskId").Exists() ||
		about.Text("returnCodeInterpretation") != "" {
		return
	}
	if len(about.Names) > 0 || failed.Exists() && !call.background {
		r.Exit(o.Call, 0)
	}
	base := call.end.From(r.Cwd, c.dirs[o.Subagent])
	if m := claudeDir.FindStringSubmatch(about.Text("stderr")); m != nil {
		base = strings.TrimSpace(m[1])
	}
	if base != "" && !c.qwen {
		c.dirs[r.Name(o.Subagent)] = strings.Clone(base)
	}
}

// claudeText returns the text of a tool's result.
func claudeText(content gjson.Result) string {
	if !content.IsArray() {
		return transcript.TextOf(content)
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
