package codex

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/text"
)

// codexThread reads the rollout of one thread.
type codexThread struct {
	*codex
	// subagent is the thread's ID, or "" for the session's own thread.
	subagent string
	// cwd is the directory of the turn. sandboxed means that the agent may not do everything there.
	cwd, model string
	sandboxed  bool
	// before and total are the thread's counters before and after this session.
	before, total gjson.Result
	// requests means that there are usage records, so that the older counters are not counted as
	// requests.
	requests bool
	// calls are the tool calls without a result. open has their IDs in order, and IDs of calls that
	// have a result by now.
	calls map[string]*codexCall
	open  []string
	// ran are the calls whose command is recorded. true means that the agent has reported the
	// command.
	ran map[uint64]bool
	// executions are the commands that the agent has reported.
	executions map[uint64]bool
	// texts counts messages by source, because several records have the same message.
	texts map[uint64]*codexText
	// spoken is the index of the last message, if it has no phase; otherwise -1.
	spoken int
	// said counts the agent's messages.
	said int
}

// codexText counts one text in each source.
type codexText struct {
	sources  [3]int
	recorded int
	at       int // the index of its event, if it has no phase; otherwise -1
}

// The sources of messages.
const (
	codexItem  = iota // event_msg/item_completed
	codexEvent        // event_msg/agent_message, user_message, agent_reasoning
	codexReply        // response_item
)

func newCodexThread(c *codex, subagent string) *codexThread {
	return &codexThread{
		codex: c, subagent: subagent, calls: map[string]*codexCall{}, ran: map[uint64]bool{},
		executions: map[uint64]bool{},
		texts:      map[uint64]*codexText{}, spoken: -1,
	}
}

// read reads a rollout. Of the turns before this session it only takes the counters and the offers.
func (c *codex) read(path, subagent string) (*codexThread, error) {
	skip := 0
	if mine := c.turns; (mine > 0 || c.r.Resumed) && subagent == "" {
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
	err := c.r.Records(path, func(rec *transcript.Fields) bool {
		if begun <= skip && skip > 0 {
			if codexBegins(rec.Object()) {
				begun++
			}
			if begun <= skip {
				return thread.earlier(rec)
			}
		}
		return thread.record(rec) || c.stream(rec)
	})
	thread.end()
	return thread, err
}

func codexBegins(rec gjson.Result) bool {
	return rec.Get("type").String() == "event_msg" && rec.Get("payload.type").String() == "task_started"
}

// earlier takes a record of a turn before this session.
func (t *codexThread) earlier(rec *transcript.Fields) bool {
	p := rec.Get("payload")
	switch rec.Text("type") {
	case "session_meta", "turn_context", "world_state":
		return t.record(rec)
	case "token_usage_record":
		t.before = transcript.Detached(p.Get("thread_token_usage"))
	case "event_msg":
		if total := p.Get("info.total_token_usage"); p.Get("type").String() == "token_count" && total.IsObject() {
			t.before = transcript.Detached(total)
		}
	case "response_item":
		if p.Get("role").String() != transcript.RoleAssistant {
			t.offers(transcript.CodexParts(p.Get("content")))
		}
	}
	return true
}

// record takes a record of a turn of this session.
func (t *codexThread) record(rec *transcript.Fields) bool {
	p := &t.payload
	p.Of(rec.Get("payload"))
	at := transcript.Time(rec.Text("timestamp"))
	switch rec.Text("type") {
	case "session_meta":
		transcript.SetFirst(&t.r.Report.SessionID, rec.Get("session_id").String())
		t.meta(p.Object())
	case "turn_context":
		t.context(p.Object())
	case "world_state":
		t.world(p.Get("state"))
	case "token_usage_record":
		t.requests = true
		t.request(at, p.Get("usage"))
		if total := p.Get("thread_token_usage"); total.IsObject() {
			t.total = transcript.Detached(total)
		}
	case "event_msg":
		return t.event(t.origin(at), p)
	case "response_item":
		return t.reply(t.origin(at), p)
	case "compacted":
		t.r.Note("the agent compacted its context")
	default:
		return false
	}
	return true
}

func (t *codexThread) meta(p gjson.Result) {
	t.cwd = strings.Clone(transcript.Resolve("", p.Get("cwd").String()))
	if t.subagent != "" {
		t.r.Subagent(t.subagent, transcript.FirstText(p, "agent_role", "source.subagent.thread_spawn.agent_role"), nil)
		return
	}
	transcript.SetFirst(&t.r.Report.SessionID, p.Get("id").String())
	transcript.Set(&t.r.Report.AgentVersion, p.Get("cli_version").String())
	transcript.Set(&t.r.Cwd, t.cwd)
}

func (t *codexThread) context(p gjson.Result) {
	transcript.Set(&t.cwd, transcript.Resolve(t.r.Cwd, p.Get("cwd").String()))
	if model := p.Get("model").String(); model != "" {
		t.model = t.r.Name(model)
		if t.subagent == "" {
			t.r.Report.Model = t.model
		}
	}
	policy := transcript.FirstText(p, "sandbox_policy.type", "sandbox_policy.mode")
	t.sandboxed = policy != "" && policy != "danger-full-access"
}

// world takes the agent's description of its environment.
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
	return transcript.Origin{At: at, Subagent: t.subagent, Base: cmp.Or(t.cwd, t.r.Cwd)}
}

func (t *codexThread) request(at *time.Time, u gjson.Result) {
	if u.IsObject() {
		t.r.Request(transcript.Origin{At: at, Subagent: t.subagent}, t.model, codexTokens().Of(u))
	}
}

// event takes an event_msg.
func (t *codexThread) event(o transcript.Origin, p *transcript.Fields) bool {
	switch p.Text("type") {
	case "item_completed":
		t.item.Of(p.Get("item"))
		t.completedItem(o, &t.item)
	case "token_count":
		info := p.Get("info")
		total := info.Get("total_token_usage")
		if !total.IsObject() {
			break
		}
		if !t.requests && total.Raw != t.total.Raw {
			t.request(o.At, info.Get("last_token_usage"))
		}
		t.total = transcript.Detached(total)
	case "agent_message":
		t.say(o, codexEvent, transcript.RoleAssistant, p.Get("phase").String(), p.Get("message").String())
	case "user_message":
		t.say(o, codexEvent, transcript.RoleUser, "", p.Get("message").String())
	case "agent_reasoning", "agent_reasoning_raw_content":
		t.say(o, codexEvent, transcript.RoleAssistant, transcript.PhaseThinking, p.Get("text").String())
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
			t.failure = t.r.FailureOf(codexError(p.Get("message").String())+"\n"+
				transcript.TextOf(p.Get("codex_error_info")), 0)
		}
	case "stream_error", "warning", "background_event", "deprecation_notice":
		if t.subagent == "" && t.lost {
			t.r.Note(p.Get("message").String())
		}
	case "task_started", "turn_started", "thread_settings_applied", "agent_message_delta",
		"agent_reasoning_section_break", "exec_command_begin", "exec_command_output_delta", "patch_apply_begin",
		"mcp_tool_call_begin", "web_search_begin", "web_search_end", "plan_update", "turn_diff",
		"context_compacted", "item_started", "session_configured",
		"entered_review_mode", "exited_review_mode", "view_image_tool_call":
	default:
		return false
	}
	return true
}

// completed takes the terminal record of a rollout. If there is a stream, the record only gives the
// reason for a failure that broke off the stream.
func (t *codexThread) completed(p *transcript.Fields) {
	if t.subagent != "" {
		return
	}
	if m := p.Get("error").Get("message"); m.Exists() {
		if t.failure = t.r.FailureOf(codexError(m.String()), 0); t.lost {
			t.r.Failed(t.failure)
		}
		return
	}
	if last := p.Get("last_agent_message").String(); last != "" {
		t.last, t.failure = strings.Clone(text.Clip(last, transcript.MaxText)), nil
	}
	switch {
	case t.lost && t.failure != nil: // older versions complete a turn after an error too
		t.r.Failed(t.failure)
	case t.lost:
		t.r.Finished("", false)
	}
}

// completedItem takes the item of an item_completed event.
func (t *codexThread) completedItem(o transcript.Origin, item *transcript.Fields) {
	id := item.Get("id").String()
	switch item.Text("type") {
	case "AgentMessage":
		t.say(o, codexItem, transcript.RoleAssistant, item.Get("phase").String(),
			transcript.CodexParts(item.Get("content")))
	case "UserMessage":
		t.say(o, codexItem, transcript.RoleUser, "", transcript.CodexParts(item.Get("content")))
	case "Reasoning":
		for _, text := range item.Get("summary_text").Array() {
			t.say(o, codexItem, transcript.RoleAssistant, transcript.PhaseThinking, text.String())
		}
	case "CommandExecution":
		t.executed(o, id, item)
	case "FileChange":
		t.patched(o, id, item)
	case "McpToolCall":
		t.mcp(o, id, item.Object(), item)
	case "WebSearch", "Plan", "ContextCompaction", "ImageView", "EnteredReviewMode", "ExitedReviewMode", "HookPrompt",
		"FunctionCall", "CustomToolCall", "TodoList", "Error", "ImageGeneration", "CollabAgentToolCall":
	default:
		t.r.Note(strings.TrimSpace("items of an unknown type " + transcript.Head(item.Text("type"))))
	}
}

// say records a message or a part of the reasoning, once for all the records that have it. The
// phase is "" if the record has none.
func (t *codexThread) say(o transcript.Origin, source int, role, phase, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	kind, thinking := role, phase == transcript.PhaseThinking
	if thinking {
		kind = phase
	}
	k := transcript.Hash(kind, text)
	c := t.texts[k]
	if c == nil {
		c = &codexText{at: -1}
		t.texts[k] = c
	}
	if c.sources[source]++; c.sources[source] <= c.recorded {
		if c.at >= 0 && phase != "" && role == transcript.RoleAssistant {
			t.r.Rephrase(c.at, codexPhase(phase))
			c.at, t.spoken = -1, -1
		}
		return
	}
	c.recorded++
	if thinking || role == transcript.RoleUser {
		t.r.Message(o, role, phase, text)
		return
	}
	t.said++
	if t.subagent == "" {
		t.failure = nil // an earlier error did not end the session
	}
	c.at, t.spoken = -1, -1
	at := len(t.r.Report.Events)
	t.r.Message(o, role, codexPhase(phase), text)
	if phase == "" && at < len(t.r.Report.Events) { // the report had room for it
		if c.at = at; source == codexItem {
			t.spoken = at
		}
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

// reply takes a response_item: a part of the conversation with the model.
func (t *codexThread) reply(o transcript.Origin, p *transcript.Fields) bool {
	o.Call = p.Text("call_id", "callId")
	switch p.Text("type") {
	case "message":
		t.message(o, p)
	case "reasoning":
		t.say(o, codexReply, transcript.RoleAssistant, transcript.PhaseThinking, p.Get("text").String())
		for _, part := range p.Get("summary").Array() {
			t.say(o, codexReply, transcript.RoleAssistant, transcript.PhaseThinking, part.Get("text").String())
		}
	case "function_call":
		t.called(o, p)
	case "custom_tool_call":
		t.custom(o, p)
	case "local_shell_call":
		o.Call = cmp.Or(o.Call, p.Get("id").String())
		action := p.Get("action")
		if dir := action.Get("working_directory").String(); dir != "" {
			o.Base = transcript.Resolve(o.Base, dir)
		}
		t.begin(&codexCall{o: o, command: t.unwrap(action.Get("command"))}, "local_shell", action.Raw)
	case "web_search_call":
		t.tool(o, "web_search", p.Get("action").Raw)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output":
		t.result(o, p)
	case "tool_search_call":
		t.tool(o, "tool_search", p.Get("arguments").Raw)
	case "additional_tools":
		for _, tool := range p.Get("tools").Array() {
			if name, ok := strings.CutPrefix(tool.Get("name").String(), "mcp__"); ok &&
				tool.Get("type").String() == "namespace" {
				t.r.Offer(plumb.OfferMCPServer, strings.TrimSuffix(name, "__"), "", "")
			}
		}
	case "ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "image_generation_call",
		"agent_message", "other":
	default:
		return false
	}
	return true
}

// message takes a message of the conversation with the model. Text that the agent adds is not a
// message of the user.
func (t *codexThread) message(o transcript.Origin, p *transcript.Fields) {
	text := cmp.Or(transcript.CodexParts(p.Get("content")), p.Get("text").String())
	switch role := p.Text("role"); role {
	case transcript.RoleAssistant:
		t.say(o, codexReply, role, p.Get("phase").String(), text)
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
		t.say(o, codexReply, role, "", text)
	default:
		t.offers(text)
	}
}

// codexInjected reports whether the agent added a message of the user.
func codexInjected(text string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc([]string{
		"<environment_context>", "<user_instructions>", "<permissions instructions>", "<skills_instructions>",
		"<turn_aborted>",
		"<skill>", "<collaboration_mode>", "<multi_agent", "# AGENTS.md instructions", "<user_shell_command>",
		"<subagent_notification>",
		"<apps_instructions>", "<plugins_instructions>",
	}, func(tag string) bool { return strings.HasPrefix(text, tag) })
}

// codexSkill matches a line of the list of skills.
var codexSkill = regexp.MustCompile(`(?m)^- ([^:\n]+): .*\(file: ([^)\n]+)\)\s*$`)

// codexRoot matches a line of the table of directories that the list of skills refers to.
var codexRoot = regexp.MustCompile("(?m)^- `([^`\n]+)` = `([^`\n]+)`$")

// offers records the skills and instructions in a text for the model, and reports whether there are
// any.
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
		t.r.Offer(plumb.OfferInstructions, "AGENTS.md", transcript.Resolve(transcript.Resolve(t.r.Cwd, dir),
			"AGENTS.md"), "")
		found = true
	} else if strings.HasPrefix(strings.TrimSpace(text), "<user_instructions>") {
		t.r.Offer(plumb.OfferInstructions, "AGENTS.md", "", "")
		found = true
	}
	return found
}
