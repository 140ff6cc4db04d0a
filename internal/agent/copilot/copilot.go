package copilot

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/text"
)

// copilot reads the record of a GitHub Copilot CLI session: the records of --output-format json,
// the session's events.jsonl, and the file of the OpenTelemetry exporter. Stream and events.jsonl
// have the same records with the same IDs, except for records that only the stream has, and records
// that only the log has: above all, tokens.
//
// The terminal record is "result". Its exitCode is 0 even after a SIGTERM. A session ended well if
// the exit code is 0, there was no session.error, and the last message of the main thread calls no
// tools.
type copilot struct {
	r *transcript.Recorder
	// seen are the IDs of the stream's records that may be in the log too; nil if there is no log.
	seen map[uint64]bool
	// anonymous means that the stream's records have no IDs.
	anonymous bool
	// agents are the subagents by the tool call that started them.
	agents map[string]string
	// held are the effects of calls without a result.
	held map[string][]effect
	// thought is the last thinking of each thread, which is written twice.
	thought map[string]uint64
	denied  map[string]string // denied calls, by ID
	asked   map[string]string // permission requests: their calls

	last      *lastMessage
	closed    bool   // there was a terminal record
	exitCode  int64  // its exit code
	aborted   string // why the session was aborted
	failure   *plumb.Failure
	callError string // the message of the last failed request to the model

	used map[string]*plumb.Usage // by subagent, "" for the main thread
	// fields are the data of the current record.
	fields transcript.Fields
}

// lastMessage is the latest message of the main thread.
type lastMessage struct {
	text  string
	tools bool
}

// maxPending bounds the maps of calls.
const maxPending = 2500

func readCopilot(r *transcript.Recorder) error {
	c := &copilot{
		r: r, agents: map[string]string{}, held: map[string][]effect{}, thought: map[string]uint64{},
		denied: map[string]string{}, asked: map[string]string{}, used: map[string]*plumb.Usage{},
	}
	logs, err := c.logs()
	if err != nil {
		return err
	}
	if len(logs) > 0 {
		c.seen = map[uint64]bool{}
	}
	if err := r.Stream(r.Stdout, func(rec *transcript.Fields) bool { return c.record(rec, true) }); err != nil {
		return err
	}
	streamed := r.SawRecords > 0
	if log, turn := c.choose(logs, streamed); log != nil {
		r.Report.RawArtifacts.SessionPath = log.path
		if err := c.readLog(log, turn, streamed); err != nil {
			return err
		}
	}
	if err := c.usage(); err != nil {
		return err
	}
	c.end()
	return nil
}

// end records how the session ended.
func (c *copilot) end() {
	for _, call := range slices.Sorted(maps.Keys(c.denied)) {
		c.r.Denial(transcript.Origin{Call: call}, "", c.denied[call])
	}
	switch {
	case c.failure != nil:
		c.r.Failed(c.failure)
	case c.aborted != "":
		f := plumb.Failuref(plumb.OriginRunner, "abort: %s", c.aborted)
		f.Hint = "something interrupted the agent"
		c.r.Failed(f)
	case !c.closed: // the recorder reports it
	case c.exitCode != 0:
		f := c.r.FailureOf(cmp.Or(c.callError, transcript.LastLines(c.r.Stderr)), 0)
		f.Message = fmt.Sprintf("%s\ncopilot ended with exit code %d", f.Message, c.exitCode)
		c.r.Failed(f)
	case c.last == nil:
		c.r.Failed(plumb.Failuref(plumb.OriginRunner, "copilot ended without an answer"))
	case c.last.tools:
		c.r.Failed(plumb.Failuref(plumb.OriginRunner,
			"copilot ended in the middle of its work: its last message calls tools"))
	default:
		if c.r.Report.FinishReason == "" {
			c.r.Report.FinishReason = plumb.FinishStop
		}
		c.r.Finished(c.last.text, true)
	}
}

// record takes a record of the stream or the log and reports whether its type is known.
func (c *copilot) record(rec *transcript.Fields, streaming bool) bool {
	kind := rec.Get("type").String()
	switch kind { // these are very many, and later records have the same content
	case "assistant.message_delta", "assistant.reasoning_delta", "assistant.tool_call_delta",
		"assistant.streaming_delta", "tool.execution_partial_result", "tool.shell_output", "tool.execution_progress",
		"session.background_tasks_changed":
		return true
	}
	data := rec.Get("data")
	if id := rec.Get("id").String(); streaming && c.seen != nil && !rec.Get("ephemeral").Bool() {
		if id != "" {
			c.seen[transcript.Hash("", id)] = true // it may be in the log too
		}
		c.anonymous = c.anonymous || id == "" && kind == "assistant.message"
	}
	o := transcript.Origin{
		At: transcript.Time(rec.Get("timestamp").String()), Subagent: c.agent(kind, rec.Get("agentId").String(), data),
	}
	switch kind {
	case "user.message":
		// Messages that copilot adds have other sources. "agent-" is the task of a subagent.
		if source := data.Get("source").String(); source == "" || source == "user" ||
			strings.HasPrefix(source, "agent-") {
			c.r.Message(o, transcript.RoleUser, "", data.Get("content").String())
		}
	case "assistant.message":
		c.message(o, data)
	case "assistant.reasoning":
		c.thinking(o, data.Get("content").String())
	case "tool.execution_start":
		c.start(o, data)
	case "tool.execution_complete":
		c.complete(o, data)
	case "permission.requested":
		if len(c.asked) < maxPending {
			call := strings.Clone(data.Get("permissionRequest.toolCallId").String())
			c.asked[strings.Clone(data.Get("requestId").String())] = call
		}
	case "permission.completed":
		if result := data.Get("result.kind").String(); strings.HasPrefix(result, "denied") {
			if call := cmp.Or(data.Get("toolCallId").String(), c.asked[data.Get("requestId").String()]); call != "" {
				c.denied[strings.Clone(call)] = strings.Clone(result)
			}
		}
	case "session.skills_loaded":
		for _, s := range data.Get("skills").Array() {
			if enabled := s.Get("enabled"); !enabled.Exists() || enabled.Bool() {
				c.r.Offer(plumb.OfferSkill, s.Get("name").String(), s.Get("path").String(), s.Get("source").String())
			}
		}
	case "session.mcp_servers_loaded":
		for _, server := range data.Get("servers").Array() {
			switch name, status := server.Get("name").String(), server.Get("status").String(); status {
			case "disabled":
			case "failed":
				c.r.Note("the MCP server " + name + " failed to start")
			default:
				c.r.Offer(plumb.OfferMCPServer, name, "", server.Get("source").String())
			}
		}
	case "skill.invoked":
		c.r.Offer(plumb.OfferSkill, data.Get("name").String(), data.Get("path").String(), data.Get("source").String())
	case "subagent.started", "subagent.configured", "subagent.completed", "subagent.failed", "subagent.selected":
		if o.Subagent != "" {
			c.r.Subagent(o.Subagent, data.Get("agentName").String(), nil)
		}
	case "session.start", "session.resume":
		c.begin(data)
	case "session.model_change":
		if o.Subagent == "" {
			transcript.Set(&c.r.Report.Model, data.Get("newModel").String())
		}
	case "session.error":
		if o.Subagent == "" {
			c.failed(data)
		}
	case "model.call_failure":
		c.callFailed(data)
	case "assistant.turn_retry":
		c.r.Note("copilot tried a request again: " + cmp.Or(transcript.TextOf(data.Get("reason")),
			transcript.TextOf(data.Get("message")),
			transcript.TextOf(data.Get("errorMessage")), transcript.TextOf(data.Get("error")), "it gives no reason"))
	case "session.usage_record":
		c.request(o, data.Get("usage"))
	case "assistant.usage":
		c.request(o, data)
	case "abort":
		if o.Subagent == "" {
			c.aborted = strings.Clone(cmp.Or(data.Get("reason").String(), "no reason given"))
		}
	case "session.shutdown":
		if !streaming && data.Get("shutdownType").String() == "routine" && c.r.Stdout == "" {
			c.closed = true
		}
	case "result":
		c.closed, c.exitCode = true, rec.Get("exitCode").Int()
		transcript.Set(&c.r.Report.SessionID, rec.Get("sessionId").String())
	case "assistant.turn_start", "assistant.turn_end", "assistant.idle", "assistant.intent", "assistant.message_start",
		"model.call_start", "model.call_finished", "model.call_final_result", "system.message", "system.notification",
		"session.tools_updated", "session.info", "session.idle", "session.title_changed", "session.usage_info",
		"session.warning",
		"session.context_changed", "session.mode_changed", "session.compaction_start", "session.compaction_complete",
		"session.truncation", "session.custom_agents_updated", "agent.interrupted", "skill.context_delivered_ref",
		"hook.start", "hook.end", "pending_messages.modified":
	default:
		return false
	}
	return true
}

// agent returns the subagent of a record, "" for the main thread.
func (c *copilot) agent(kind, id string, data gjson.Result) string {
	call := ""
	if strings.Contains(data.Raw, `"parentToolCallId"`) { // few records have it, and this search is faster
		call = data.Get("parentToolCallId").String()
	}
	if call == "" && strings.HasPrefix(kind, "subagent.") {
		call = data.Get("toolCallId").String()
	}
	if call == "" {
		return id
	}
	if known := c.agents[call]; known != "" {
		return known
	}
	id = strings.Clone(cmp.Or(id, call))
	c.agents[strings.Clone(call)] = id
	return id
}

// begin takes the description of the session in the log.
func (c *copilot) begin(data gjson.Result) {
	rep := c.r.Report
	transcript.SetFirst(&rep.SessionID, data.Get("sessionId").String())
	transcript.SetFirst(&rep.AgentVersion, data.Get("copilotVersion").String())
	transcript.SetFirst(&rep.Model, data.Get("selectedModel").String())
	transcript.SetFirst(&c.r.Cwd, data.Get("context.cwd").String())
}

// message records a message of the assistant. A message that calls tools is commentary.
func (c *copilot) message(o transcript.Origin, data gjson.Result) {
	m := &c.fields
	m.Of(data)
	c.thinking(o, m.Get("reasoningText").String())
	text, tools := m.Get("content").String(), m.Get("toolRequests").Get("0").Exists()
	phase := m.Get("phase").String()
	switch {
	case phase == transcript.PhaseThinking || phase == transcript.PhaseCommentary:
	case tools:
		phase = transcript.PhaseCommentary
	default:
		phase = transcript.PhaseFinal
	}
	c.r.Message(o, transcript.RoleAssistant, phase, text)
	if o.Subagent != "" {
		return
	}
	if model := m.Get("model").String(); model != "" {
		c.r.Report.Model = c.r.Name(model)
	}
	c.failure = nil // an earlier error did not end the session
	if tools || phase == transcript.PhaseFinal {
		c.last = &lastMessage{strings.Clone(text), tools}
	}
}

// thinking records thinking, which is in a message and in a record of its own.
func (c *copilot) thinking(o transcript.Origin, text string) {
	k := transcript.Hash(transcript.PhaseThinking, text)
	if text == "" || c.thought[o.Subagent] == k {
		return
	}
	c.thought[strings.Clone(o.Subagent)] = k
	c.r.Message(o, transcript.RoleAssistant, transcript.PhaseThinking, text)
}

// failed records an error of the session.
func (c *copilot) failed(data gjson.Result) {
	message, detail := data.Get("message").String(), c.callError
	switch data.Get("errorType").String() {
	case "authentication", "authorization":
		detail += "\nnot logged in"
	case "quota":
		detail += "\nquota exceeded"
	case "rate_limit":
		detail += "\nrate limit"
	}
	c.failure = c.r.FailureOf(message+"\n"+detail, int(data.Get("statusCode").Int()))
	transcript.Set(&c.failure.Message, text.Clip(message, 4<<10))
}

// callFailed records that a request to the model failed. Copilot may try again, so that the session
// has not failed.
func (c *copilot) callFailed(data gjson.Result) {
	c.callError = strings.Clone(text.Clip(data.Get("errorMessage").String(), 4<<10))
	c.r.Note(fmt.Sprintf("a request to the model failed (HTTP %d): %s", data.Get("statusCode").Int(), c.callError))
}
