package codex

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// codexThread reads the records of one thread's rollout.
type codexThread struct {
	*codex
	// subagent is the thread's id where it is not the session's own.
	subagent string
	// cwd is the directory of the turn; sandboxed says that the agent may not do everything there.
	cwd, model string
	sandboxed  bool
	// before and total are the thread's counters before and after this session.
	before, total gjson.Result
	// requests says that there are usage records, so that the older counters are not taken for requests too.
	requests bool
	// calls are the tool calls without a result yet; open has their ids in order, and those of calls that have one by now.
	calls map[string]*codexCall
	open  []string
	// ran are the calls whose command is recorded: true where the agent itself has said that it ran.
	ran map[uint64]bool
	// executions are the commands that the agent has said it ran.
	executions map[uint64]bool
	// texts counts messages by source, since several records tell of one.
	texts map[uint64]*codexText
	// spoken is the index of the last message, if no phase was given for it; -1 is none.
	spoken int
	// said counts the agent's messages.
	said int
}

// codexText counts one text in each of the sources that may tell of it.
type codexText struct {
	sources  [3]int
	recorded int
	at       int // the event, if no phase was given for it; -1 otherwise
}

// The sources of messages.
const (
	codexItem  = iota // event_msg/item_completed
	codexEvent        // event_msg/agent_message, user_message, agent_reasoning
	codexReply        // response_item
)

func newCodexThread(c *codex, subagent string) *codexThread {
	return &codexThread{codex: c, subagent: subagent, calls: map[string]*codexCall{}, ran: map[uint64]bool{}, executions: map[uint64]bool{}, texts: map[uint64]*codexText{}, spoken: -1}
}

// read takes a whole rollout. Of the turns before this session it takes the counters only, and what was offered.
func (c *codex) read(t *transcript.Transcript, path, subagent string) (*codexThread, error) {
	skip := 0
	if mine := c.turns; (mine > 0 || t.Resumed) && subagent == "" {
		err := transcript.EachLine(path, func(line []byte) error {
			if bytes.Contains(line, []byte(`"task_started"`)) && codexBegins(gjson.ParseBytes(line)) {
				skip++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		skip = max(0, skip-max(1, mine))
	}
	thread := newCodexThread(c, subagent)
	begun := 0
	err := c.r.Records(path, func(rec gjson.Result) bool {
		if begun <= skip && skip > 0 {
			if codexBegins(rec) {
				begun++
			}
			if begun <= skip {
				return thread.earlier(rec)
			}
		}
		return thread.record(rec) || c.stream(rec)
	})
	return thread, err
}

func codexBegins(rec gjson.Result) bool {
	return rec.Get("type").String() == "event_msg" && rec.Get("payload.type").String() == "task_started"
}

// earlier takes a record of a turn before this session.
func (t *codexThread) earlier(rec gjson.Result) bool {
	p := rec.Get("payload")
	switch rec.Get("type").String() {
	case "session_meta", "turn_context", "world_state":
		return t.record(rec)
	case "token_usage_record":
		t.before = transcript.Detached(p.Get("thread_token_usage"))
	case "event_msg":
		if p.Get("type").String() == "token_count" && p.Get("info.total_token_usage").IsObject() {
			t.before = transcript.Detached(p.Get("info.total_token_usage"))
		}
	case "response_item":
		if role := p.Get("role").String(); role != transcript.RoleAssistant {
			t.offers(transcript.CodexParts(p.Get("content")))
		}
	}
	return true
}

// record takes a record of a turn of this session.
func (t *codexThread) record(rec gjson.Result) bool {
	p := rec.Get("payload")
	at := transcript.Time(rec.Get("timestamp").String())
	switch rec.Get("type").String() {
	case "session_meta":
		if id := rec.Get("session_id").String(); id != "" && t.r.Report.SessionID == "" {
			t.r.Report.SessionID = strings.Clone(id)
		}
		t.meta(p)
	case "turn_context":
		t.context(p)
	case "world_state":
		t.world(p.Get("state"))
	case "token_usage_record":
		t.requests = true
		t.request(at, p.Get("usage"))
		if total := p.Get("thread_token_usage"); total.IsObject() {
			t.total = transcript.Detached(total)
		}
	case "event_msg":
		return t.event(at, p)
	case "response_item":
		return t.reply(at, p)
	case "compacted":
		t.r.Note("the agent compacted its context")
	default:
		return false
	}
	return true
}

func (t *codexThread) meta(p gjson.Result) {
	cwd := transcript.Resolve("", p.Get("cwd").String())
	t.cwd = cwd
	if t.subagent != "" {
		kind := p.Get("agent_role").String()
		if kind == "" {
			kind = p.Get("source.subagent.thread_spawn.agent_role").String()
		}
		t.r.Subagent(t.subagent, kind, nil)
		return
	}
	rep := t.r.Report
	if id := p.Get("id").String(); id != "" && rep.SessionID == "" {
		rep.SessionID = strings.Clone(id)
	}
	if v := p.Get("cli_version").String(); v != "" {
		rep.AgentVersion = strings.Clone(v)
	}
	if cwd != "" {
		t.r.Cwd = strings.Clone(cwd)
	}
}

func (t *codexThread) context(p gjson.Result) {
	if cwd := transcript.Resolve(t.r.Cwd, p.Get("cwd").String()); cwd != "" {
		t.cwd = strings.Clone(cwd)
	}
	if model := p.Get("model").String(); model != "" {
		t.model = t.r.Name(model)
		if t.subagent == "" {
			t.r.Report.Model = t.model
		}
	}
	policy := p.Get("sandbox_policy.type").String()
	if policy == "" {
		policy = p.Get("sandbox_policy.mode").String()
	}
	t.sandboxed = policy != "" && policy != "danger-full-access"
}

// world takes what the agent knows of its surroundings.
func (t *codexThread) world(state gjson.Result) {
	t.offers(state.Get("host_skills.body").String())
	state.Get("agents_md").ForEach(func(k, v gjson.Result) bool {
		path := v.Get("path").String()
		if path == "" && strings.HasSuffix(k.String(), ".md") {
			path = k.String()
		}
		if path != "" {
			t.r.Offer(plumb.OfferInstructions, transcript.BaseName(path), t.r.Path(t.origin(nil), path), "")
		}
		return true
	})
}

func (t *codexThread) origin(at *time.Time) transcript.Origin {
	base := t.cwd
	if base == "" {
		base = t.r.Cwd
	}
	return transcript.Origin{At: at, Subagent: t.subagent, Base: base}
}

func (t *codexThread) request(at *time.Time, u gjson.Result) {
	if !u.IsObject() {
		return
	}
	t.r.Request(plumb.RequestUsage{
		At: at, Model: t.model, Subagent: t.subagent,
		InputTokens: transcript.Tokens(u.Get("input_tokens")), OutputTokens: transcript.Tokens(u.Get("output_tokens")),
		ReasoningTokens: transcript.Tokens(u.Get("reasoning_output_tokens")),
		CacheTokens:     transcript.Tokens(u.Get("cached_input_tokens")), CacheWriteTokens: transcript.Tokens(u.Get("cache_write_input_tokens")),
	})
}

// event takes an event_msg.
func (t *codexThread) event(at *time.Time, p gjson.Result) bool {
	o := t.origin(at)
	switch p.Get("type").String() {
	case "item_completed":
		t.item(o, p.Get("item"))
	case "token_count":
		info := p.Get("info")
		total := info.Get("total_token_usage")
		if !total.IsObject() {
			break
		}
		if !t.requests && total.Raw != t.total.Raw {
			t.request(at, info.Get("last_token_usage"))
		}
		t.total = transcript.Detached(total)
	case "agent_message":
		t.say(o, codexEvent, transcript.RoleAssistant, p.Get("phase"), p.Get("message").String())
	case "user_message":
		t.say(o, codexEvent, transcript.RoleUser, p.Get("phase"), p.Get("message").String())
	case "agent_reasoning", "agent_reasoning_raw_content":
		t.think(o, codexEvent, p.Get("text").String())
	case "exec_command_end":
		t.executed(o, p.Get("call_id").String(), p)
	case "patch_apply_end":
		t.patched(o, p.Get("call_id").String(), p)
	case "mcp_tool_call_end":
		t.mcp(o, p.Get("call_id").String(), p.Get("invocation"), p)
	case "task_complete", "turn_complete":
		t.completed(p)
	case "turn_aborted":
		if t.subagent == "" && t.lost {
			t.r.Failed(t.r.FailureOf("the turn was aborted: "+p.Get("reason").String(), 0))
		}
	case "error":
		if t.subagent == "" {
			t.failure = t.r.FailureOf(codexError(p.Get("message").String())+"\n"+transcript.TextOf(p.Get("codex_error_info")), 0)
		}
	case "stream_error", "warning", "background_event", "deprecation_notice":
		if t.subagent == "" && t.lost {
			t.r.Note(p.Get("message").String())
		}
	case "task_started", "turn_started", "thread_settings_applied", "agent_message_delta", "agent_reasoning_section_break",
		"exec_command_begin", "exec_command_output_delta", "patch_apply_begin", "mcp_tool_call_begin", "web_search_begin",
		"web_search_end", "plan_update", "turn_diff", "context_compacted", "item_started", "session_configured",
		"entered_review_mode", "exited_review_mode", "view_image_tool_call":
	default:
		return false
	}
	return true
}

// completed takes the terminal record of a rollout. Where there is a stream it counts for nothing, except that it knows
// why a session failed of which the stream broke off.
func (t *codexThread) completed(p gjson.Result) {
	if t.subagent != "" {
		return
	}
	if m := p.Get("error.message"); m.Exists() {
		if t.failure = t.r.FailureOf(codexError(m.String()), 0); t.lost {
			t.r.Failed(t.failure)
		}
		return
	}
	last := p.Get("last_agent_message").String()
	if last != "" {
		t.last, t.failure = strings.Clone(transcript.Clip(last, transcript.MaxText)), nil
	}
	switch {
	case t.lost && t.failure != nil: // older versions complete a turn after an error too
		t.r.Failed(t.failure)
	case t.lost:
		t.r.Finished("", false)
	}
}

// item takes what the agent itself says that happened.
func (t *codexThread) item(o transcript.Origin, item gjson.Result) {
	id := item.Get("id").String()
	switch item.Get("type").String() {
	case "AgentMessage":
		t.say(o, codexItem, transcript.RoleAssistant, item.Get("phase"), transcript.CodexParts(item.Get("content")))
	case "UserMessage":
		t.say(o, codexItem, transcript.RoleUser, item.Get("phase"), transcript.CodexParts(item.Get("content")))
	case "Reasoning":
		for _, text := range item.Get("summary_text").Array() {
			t.think(o, codexItem, text.String())
		}
	case "CommandExecution":
		t.executed(o, id, item)
	case "FileChange":
		t.patched(o, id, item)
	case "McpToolCall":
		t.mcp(o, id, item, item)
	case "WebSearch", "Plan", "ContextCompaction", "ImageView", "EnteredReviewMode", "ExitedReviewMode", "HookPrompt":
	default:
	}
}

// say records a message, once for all the records that tell of it.
func (t *codexThread) say(o transcript.Origin, source int, role string, phase gjson.Result, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	k := transcript.Hash(role, text)
	c := t.texts[k]
	if c == nil {
		c = &codexText{at: -1}
		t.texts[k] = c
	}
	word := codexPhase(phase.String())
	if c.sources[source]++; c.sources[source] <= c.recorded {
		if c.at >= 0 && phase.String() != "" && role == transcript.RoleAssistant {
			t.r.Rephrase(c.at, word)
			c.at, t.spoken = -1, -1
		}
		return
	}
	c.recorded++
	if role == transcript.RoleUser {
		t.r.Message(o, role, "", text)
		return
	}
	t.said++
	if t.subagent == "" {
		t.failure = nil // what went wrong before did not end the session
	}
	c.at, t.spoken = -1, -1
	if phase.String() == "" {
		c.at = len(t.r.Report.Events)
		if source == codexItem {
			t.spoken = c.at
		}
	}
	t.r.Message(o, role, word, text)
	if c.at >= len(t.r.Report.Events) { // there was no room for it
		c.at, t.spoken = -1, -1
	}
}

// think records one part of the model's reasoning, once for all the records that tell of it.
func (t *codexThread) think(o transcript.Origin, source int, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	k := transcript.Hash(transcript.PhaseThinking, text)
	c := t.texts[k]
	if c == nil {
		c = &codexText{at: -1}
		t.texts[k] = c
	}
	if c.sources[source]++; c.sources[source] > c.recorded {
		c.recorded++
		t.r.Message(o, transcript.RoleAssistant, transcript.PhaseThinking, text)
	}
}

func codexPhase(word string) string {
	switch word {
	case transcript.PhaseCommentary, transcript.PhaseThinking:
		return word
	default:
		return transcript.PhaseFinal
	}
}

// reply takes a response_item: what the model said, or what it was told.
func (t *codexThread) reply(at *time.Time, p gjson.Result) bool {
	o := t.origin(at)
	o.Call = transcript.FirstText(p, "call_id", "callId")
	switch p.Get("type").String() {
	case "message":
		t.message(o, p)
	case "reasoning":
		if text := p.Get("text").String(); text != "" {
			t.think(o, codexReply, text)
		}
		for _, part := range p.Get("summary").Array() {
			t.think(o, codexReply, part.Get("text").String())
		}
	case "function_call":
		t.called(o, p)
	case "custom_tool_call":
		t.custom(o, p)
	case "local_shell_call":
		if o.Call == "" {
			o.Call = p.Get("id").String()
		}
		action := p.Get("action")
		if dir := action.Get("working_directory").String(); dir != "" {
			o.Base = transcript.Resolve(o.Base, dir)
		}
		t.begin(&codexCall{o: o, command: codexUnwrap(action.Get("command"))}, "local_shell", transcript.JSON(action))
	case "web_search_call":
		t.tool(o, "web_search", transcript.JSON(p.Get("action")))
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output":
		t.result(o, p)
	case "tool_search_call":
		t.tool(o, "tool_search", transcript.JSON(p.Get("arguments")))
	case "additional_tools":
		for _, tool := range p.Get("tools").Array() {
			if name, ok := strings.CutPrefix(tool.Get("name").String(), "mcp__"); ok && tool.Get("type").String() == "namespace" {
				t.r.Offer(plumb.OfferMCPServer, strings.TrimSuffix(name, "__"), "", "")
			}
		}
	case "ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "image_generation_call", "agent_message", "other":
	default:
		return false
	}
	return true
}

// message takes a message of the conversation with the model. What the agent itself adds to it is no message of the user.
func (t *codexThread) message(o transcript.Origin, p gjson.Result) {
	text := transcript.CodexParts(p.Get("content"))
	if text == "" {
		text = p.Get("text").String()
	}
	switch role := p.Get("role").String(); role {
	case transcript.RoleAssistant:
		t.say(o, codexReply, role, p.Get("phase"), text)
	case transcript.RoleUser:
		meta := p.Get("internal_chat_message_metadata_passthrough")
		provenance := meta.Get("content_item_metadata.0.provenance.type").String()
		if t.offers(text) || provenance == "harness" || provenance == "" && codexInjected(text) {
			if body, ok := strings.CutPrefix(strings.TrimSpace(text), "<skill>"); ok {
				o.Call = ""
				t.r.Skill(o, transcript.Between(body, "<name>", "</name>"), "prompt:skill")
			}
			return
		}
		t.say(o, codexReply, role, gjson.Result{}, text)
	default:
		t.offers(text)
	}
}

// codexInjected reports whether a message in the user's name is the agent's own.
func codexInjected(text string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc([]string{
		"<environment_context>", "<user_instructions>", "<permissions instructions>", "<skills_instructions>", "<turn_aborted>",
		"<skill>", "<collaboration_mode>", "<multi_agent", "# AGENTS.md instructions", "<user_shell_command>", "<subagent_notification>",
		"<apps_instructions>", "<plugins_instructions>",
	}, func(tag string) bool { return strings.HasPrefix(text, tag) })
}

// codexSkill is a line of the list of skills that a session is offered.
var codexSkill = regexp.MustCompile(`(?m)^- ([^:\n]+): .*\(file: ([^)\n]+)\)\s*$`)

// codexRoot is a line of the table of places that the list of skills refers to.
var codexRoot = regexp.MustCompile("(?m)^- `([^`\n]+)` = `([^`\n]+)`$")

// offers takes what a text in the model's instructions offers it, and reports whether there was something.
func (t *codexThread) offers(text string) bool {
	if t.subagent != "" {
		return false
	}
	found := false
	if strings.Contains(text, "### Available skills") || strings.Contains(text, "## Skills") {
		roots := map[string]string{}
		for _, m := range codexRoot.FindAllStringSubmatch(text, 100) {
			roots[m[1]] = m[2]
		}
		for _, m := range codexSkill.FindAllStringSubmatch(text, 10_000) {
			path := m[2]
			if root, rest, ok := strings.Cut(path, "/"); ok && roots[root] != "" {
				path = roots[root] + "/" + rest
			}
			source := "user"
			switch cwd := t.r.Cwd; {
			case strings.Contains(path, "/skills/.system/"):
				source = "system"
			case cwd != "" && strings.HasPrefix(path, strings.TrimSuffix(cwd, "/")+"/"):
				source = "project"
			}
			t.r.Offer(plumb.OfferSkill, m[1], path, source)
			found = true
		}
	}
	if rest, ok := strings.CutPrefix(strings.TrimSpace(text), "# AGENTS.md instructions"); ok {
		dir, _, _ := strings.Cut(strings.TrimPrefix(rest, " for "), "\n")
		t.r.Offer(plumb.OfferInstructions, "AGENTS.md", transcript.Resolve(transcript.Resolve(t.r.Cwd, dir), "AGENTS.md"), "")
		found = true
	} else if strings.HasPrefix(strings.TrimSpace(text), "<user_instructions>") {
		t.r.Offer(plumb.OfferInstructions, "AGENTS.md", "", "")
		found = true
	}
	return found
}
