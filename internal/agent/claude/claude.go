package claude

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
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// claude understands what Claude Code leaves behind: the stream on standard output, which has everything but what each
// request used, and the session files, which have that, and the rest where the stream broke off. Qwen Code writes a stream
// of the same kind.
type claude struct {
	r    *transcript.Recorder
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
	message, block, about transcript.Fields
	// apiError is an error of the model API that the agent has shown as a message; trying is the one for which it tries the
	// last request again.
	apiError, trying string
	status           int
	// stop is why the model stopped, if the last record of the main thread is the model's and says so: in session files.
	stop string
}

// claudeCall is what is remembered of a tool call for its result.
type claudeCall struct {
	o       transcript.Origin
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
	if m.text.Len() < transcript.MaxText {
		m.text.WriteString(transcript.Clip(text, transcript.MaxText))
	}
}

func readClaude(t *transcript.Transcript, r *transcript.Recorder) error {
	r.SkillEvidence = "Loaded via Skill tool"
	return newClaude(r).normalise(t)
}

func newClaude(r *transcript.Recorder) *claude {
	return &claude{
		r: r, calls: map[string]claudeCall{}, said: map[string]*claudeMessage{},
		dirs: map[string]string{}, requests: map[string]int{}, names: map[string]string{},
	}
}

func (c *claude) normalise(t *transcript.Transcript) error {
	r := c.r
	if t.Session != "" && !c.qwen {
		c.uuids = map[uint64]bool{}
	}
	if err := c.asked(t); err != nil {
		return err
	}
	steps := transcript.NewSteps(r.Format)
	err := r.Records(t.Stdout, func(rec gjson.Result) bool {
		steps.Count(&r.Top)
		return c.record(rec)
	})
	r.Report.Steps = steps.N
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
	rep := c.r.Report
	f := &c.r.Top
	if rep.SessionID == "" {
		rep.SessionID = strings.Clone(f.Text("session_id", "sessionId"))
	}
	if c.uuids != nil {
		c.uuids[transcript.Hash("", f.Text("uuid"))] = true
	}
	switch f.Text("type") {
	case "system":
		c.system(rec)
	case "assistant":
		c.assistant(f)
	case "user":
		c.user(f)
	case "result":
		c.ended, c.result = true, transcript.Detached(rec)
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
		r.Note(fmt.Sprintf("the request was tried again (%d): %s", rec.Get("attempt").Int(), said))
		c.trying, c.status = "API error: "+said, int(rec.Get("error_status").Int())
	case "permission_denied":
		r.Denial(c.origin(&c.r.Top, rec.Get("tool_use_id").String()), rec.Get("tool_name").String(), rec.Get("message").String())
	case "task_started":
		if rec.Get("task_type").String() != "local_bash" && rec.Get("subagent_type").Exists() {
			c.agent(rec.Get("tool_use_id").String(), rec.Get("task_id").String(), rec.Get("subagent_type").String())
		}
	case "compact_boundary":
		r.Note("the agent compacted its context")
	default: // thinking_tokens, task_progress, status and what is to come: nothing that has to be known
	}
}

// init takes what the session was offered.
func (c *claude) init(rec gjson.Result) {
	r := c.r
	if r.Cwd == "" {
		r.Cwd = strings.Clone(rec.Get("cwd").String())
	}
	if model := rec.Get("model").String(); model != "" && r.Report.Model == "" {
		r.Report.Model = strings.Clone(model)
	}
	if v := transcript.FirstText(rec, "claude_code_version", "qwen_code_version", "version"); v != "" {
		r.Report.AgentVersion = strings.Clone(v)
	}
	for _, skill := range rec.Get("skills").Array() {
		if skill.IsObject() {
			r.Offer(plumb.OfferSkill, skill.Get("name").String(), skill.Get("path").String(), skill.Get("source").String())
		} else {
			r.Offer(plumb.OfferSkill, skill.String(), "", "")
		}
	}
	for _, server := range rec.Get("mcp_servers").Array() {
		r.Offer(plumb.OfferMCPServer, server.Get("name").String(), "", transcript.FirstText(server, "scope", "source"))
	}
	for _, plugin := range rec.Get("plugins").Array() {
		r.Offer(plumb.OfferPlugin, plugin.Get("name").String(), plugin.Get("path").String(), plugin.Get("source").String())
	}
	rec.Get("memory_paths").ForEach(func(name, path gjson.Result) bool {
		r.Offer(plumb.OfferMemory, name.String(), path.String(), "")
		return true
	})
}

// origin says where a record comes from: a subagent's has the call that started it as its parent.
func (c *claude) origin(rec *transcript.Fields, call string) transcript.Origin {
	o := transcript.Origin{At: transcript.Time(rec.Text("timestamp")), Call: call, Subagent: rec.Text("parent_tool_use_id")}
	if o.Subagent == "" {
		if name := rec.Text("agentId"); name != "" && rec.Get("isSidechain").Bool() {
			o.Subagent = c.agentNamed(name)
		}
	}
	o.Base = c.dirs[o.Subagent]
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
			c.apiError = strings.Clone(transcript.Clip(transcript.CodexParts(m.Get("content")), transcript.MaxName))
			c.status = int(rec.Get("api_error_status").Int())
			c.stop = ""
		}
		return
	}
	if o.Subagent == "" {
		c.trying, c.apiError, c.status = "", "", 0 // what went wrong before did not end the session
		c.stop = c.r.Name(m.Text("stop_reason"))
		if model != "" {
			r.Report.Model = r.Name(model)
		}
	}
	id := m.Text("id")
	c.request(o, id, m, false)
	said := c.said[o.Subagent]
	if said == nil || id == "" || said.id != id {
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
			// A message whose blocks are records of their own was not the last word if it calls a tool. In older
			// versions one record has all blocks, and its texts count as final, as documented.
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

// elements returns the elements of an array; anything else has none.
func elements(v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		return nil
	}
	return v.Array()
}

// request records what a request used. The stream has the figures from the beginning of an answer, so that its output is
// not known; the session files have those from its end.
func (c *claude) request(o transcript.Origin, id string, m *transcript.Fields, whole bool) {
	u := m.Get("usage")
	if id == "" || !u.IsObject() {
		return
	}
	in := c.input(u)
	request := plumb.RequestUsage{
		At: o.At, Model: m.Text("model"), Subagent: o.Subagent, InputTokens: in,
		CacheTokens: transcript.Tokens(u.Get("cache_read_input_tokens")), CacheWriteTokens: transcript.Tokens(u.Get("cache_creation_input_tokens")),
	}
	if whole {
		request.OutputTokens = transcript.Tokens(u.Get("output_tokens"))
		request.ReasoningTokens = transcript.Tokens(u.Get("output_tokens_details.thinking_tokens"))
	}
	requests := c.r.Report.RequestUsage
	if i, known := c.requests[id]; !known {
		if c.r.Request(request); len(c.r.Report.RequestUsage) > len(requests) {
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
	in := transcript.Tokens(u.Get("input_tokens"))
	if c.qwen {
		return in
	}
	read, written := transcript.Tokens(u.Get("cache_read_input_tokens")), transcript.Tokens(u.Get("cache_creation_input_tokens"))
	if in == nil && read == nil && written == nil {
		return nil
	}
	return new(transcript.OrZero(in) + transcript.OrZero(read) + transcript.OrZero(written))
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
		r.ToolCall(o, tool, json.RawMessage(input.Raw))
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
		call.command = strings.Clone(transcript.Clip(input.Get("command").String(), transcript.MaxName))
		if dir := input.Get("directory").String(); dir != "" {
			o.Base = transcript.Resolve(r.Cwd, dir)
		}
		r.Command(o, input.Get("command").String())
	case "Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "edit", "replace":
		call.path = strings.Clone(transcript.FirstText(input, "file_path", "notebook_path", "path", "absolute_path"))
	}
	if o.Call != "" {
		c.calls[call.o.Call] = call
	}
}

// user takes what the model was told: results of tools, and texts.
func (c *claude) user(rec *transcript.Fields) {
	o := c.origin(rec, "")
	if o.Subagent == "" {
		c.stop = ""
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

// What the texts of results say.
var (
	claudeExit = regexp.MustCompile(`^(?:Error: )?Exit code (-?\d+)`)
	claudeDir  = regexp.MustCompile(`Shell cwd was reset to (\S.*)`)
)

// toolResult takes what a tool answered.
func (c *claude) toolResult(o transcript.Origin, rec, block *transcript.Fields) {
	r := c.r
	id := block.Text("tool_use_id")
	o.Call = id
	text := claudeText(block.Get("content"))
	isError := block.Get("is_error").Bool()
	said := rec.Get("tool_use_result")
	if !said.Exists() {
		said = rec.Get("toolUseResult")
	}
	about := &c.about
	about.Of(said)
	call := c.calls[id]
	delete(c.calls, id)
	if text != "" || isError { // as documented: what is empty and no error has no event
		r.ToolResult(o, text, isError)
	}
	if c.deniedBy(rec, id) {
		r.Denial(o, call.tool, text)
		return
	}
	if agent := about.Text("agentId"); agent != "" {
		c.agent(id, agent, about.Text("agentType"))
	}
	if call.command != "" {
		if said.Type == gjson.String {
			text = said.Str
		}
		c.ran(o, call, block, about, text)
	}
	if call.path != "" && !isError {
		kind := transcript.ChangeUpdate
		switch {
		case about.Text("type") == "create", len(about.Names) == 0 && strings.Contains(transcript.Clip(text, 200), "created"):
			kind = transcript.ChangeAdd
		}
		path := about.Text("filePath")
		if path == "" {
			path = call.path
		}
		r.FileChange(o, kind, path)
	}
}

// deniedBy reports whether a record says that a call was not allowed.
func (c *claude) deniedBy(rec *transcript.Fields, id string) bool {
	decision := rec.Get("permissionDecision").Get("decision").String()
	for _, meta := range rec.Get("tool_result_meta").Array() {
		if meta.Get("id").String() == id {
			decision = meta.Get("permission_decision.decision").String()
		}
	}
	return decision == "deny" || decision == "reject"
}

// ran takes the end of a command. Claude reports one that ends with anything but 0 as an error, except those, such as
// grep, for which it knows what the code means: of these it does not say which it was.
func (c *claude) ran(o transcript.Origin, call claudeCall, block, about *transcript.Fields, said string) {
	r := c.r
	if c.qwen {
		if code, ok := transcript.GeminiExit(said); ok { // it was made from Gemini's
			r.Exit(o.Call, code)
			return
		}
	} else if m := claudeExit.FindStringSubmatch(said); m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			r.Exit(o.Call, code)
		}
		return
	}
	failed := block.Get("is_error")
	if failed.Bool() || about.Get("interrupted").Bool() || about.Get("backgroundTaskId").Exists() || about.Text("returnCodeInterpretation") != "" {
		return
	}
	if len(about.Names) > 0 || failed.Exists() && !c.qwen {
		r.Exit(o.Call, 0)
	}
	base := c.dirs[o.Subagent]
	if m := claudeDir.FindStringSubmatch(about.Text("stderr")); m != nil {
		base = strings.TrimSpace(m[1])
	} else if place, lost := transcript.ShellEnds(call.command); !lost && place != "" {
		base = transcript.Resolve(transcript.Resolve(r.Cwd, base), place)
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
