package copilot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// copilot understands what the GitHub Copilot CLI leaves behind: the records of --output-format json, the session's
// events.jsonl, and the file of the OpenTelemetry exporter. Stream and events.jsonl have the same records by the same ids,
// but for those that the stream alone shows while it lasts, and those that the log alone keeps: tokens above all.
//
// The terminal record is "result", and its exitCode is 0 even after a SIGTERM. A session ended well if that is 0, there was
// no session.error, and the last message of the main thread asks for no more tools.
type copilot struct {
	r *transcript.Recorder
	t *transcript.Transcript
	// seen are the ids of the stream's records that may be in the log as well; nil where there is no log.
	seen map[uint64]bool
	// anonymous says that the stream's records have no ids.
	anonymous bool
	// agents are the subagents by the tool call that started them.
	agents map[string]string
	// held is what calls do that have no result yet.
	held map[string][]deed
	// thought is the last thinking of each thread, which comes twice.
	thought map[string]uint64
	denied  map[string]string // calls that were not allowed, by id
	asked   map[string]string // permission requests: the calls they are for

	last      *lastMessage
	closed    bool   // the terminal record was there
	exitCode  int64  // what it said
	aborted   string // why the session was aborted
	failure   *plumb.Failure
	callError string // what the last failed request to the model said

	used map[string]*plumb.Usage // by subagent, "" for the main thread
}

// lastMessage is the latest message of the main thread.
type lastMessage struct {
	text  string
	tools bool
}

// normaliseCopilot records what Copilot left behind.
func readCopilot(t *transcript.Transcript, r *transcript.Recorder) error {
	c := &copilot{
		r: r, t: t, agents: map[string]string{}, held: map[string][]deed{}, thought: map[string]uint64{},
		denied: map[string]string{}, asked: map[string]string{}, used: map[string]*plumb.Usage{},
	}
	logs, err := c.logs()
	if err != nil {
		return err
	}
	if len(logs) > 0 {
		c.seen = map[uint64]bool{}
	}
	counter := transcript.NewSteps(r.Format)
	if err := r.Records(t.Stdout, func(gjson.Result) bool {
		counter.Count(&r.Top)
		return c.record(true)
	}); err != nil {
		return err
	}
	streamed := r.SawRecords > 0
	if log, turn := c.choose(logs, streamed); log != nil {
		r.Report.RawArtifacts.SessionPath = log.path
		if err := c.readLog(log, turn, streamed, counter); err != nil {
			return err
		}
	}
	r.Report.Steps = counter.N
	if err := c.usage(); err != nil {
		return err
	}
	c.end()
	return nil
}

// end tells the recorder how the session ended.
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
	case !c.closed: // the recorder says so
	case c.exitCode != 0:
		said := c.callError
		if said == "" {
			said = transcript.LastLines(c.t.Stderr)
		}
		f := c.r.FailureOf(said, 0)
		f.Message = fmt.Sprintf("%s\ncopilot ended with exit code %d", f.Message, c.exitCode)
		c.r.Failed(f)
	case c.last == nil:
		c.r.Failed(plumb.Failuref(plumb.OriginRunner, "copilot ended without an answer"))
	case c.last.tools:
		c.r.Failed(plumb.Failuref(plumb.OriginRunner, "copilot ended in the middle of its work: its last message asks for tools"))
	default:
		if c.r.Report.FinishReason == "" {
			c.r.Report.FinishReason = plumb.FinishStop
		}
		c.r.Finished(c.last.text, true)
	}
}

// record takes a record of the stream or the log and reports whether its type is known.
func (c *copilot) record(streaming bool) bool {
	top := &c.r.Top
	kind := top.Get("type").String()
	switch kind { // pieces of what comes whole later; there are very many of them
	case "assistant.message_delta", "assistant.reasoning_delta", "assistant.tool_call_delta", "assistant.streaming_delta",
		"tool.execution_partial_result", "tool.shell_output", "tool.execution_progress", "session.background_tasks_changed":
		return true
	}
	data := top.Get("data")
	if streaming {
		c.identify(kind, top.Get("id").String(), top.Get("ephemeral").Bool())
	}
	o := transcript.Origin{At: transcript.Time(top.Get("timestamp").String()), Subagent: c.agent(kind, top.Get("agentId").String(), data)}
	switch kind {
	case "user.message":
		// What copilot injects in the user's name has another source than the task that an agent gives its subagent.
		if source := data.Get("source").String(); source == "" || source == "user" || strings.HasPrefix(source, "agent-") {
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
		if len(c.asked) < transcript.MaxNotes*transcript.MaxNotes {
			c.asked[strings.Clone(data.Get("requestId").String())] = strings.Clone(data.Get("permissionRequest.toolCallId").String())
		}
	case "permission.completed":
		if result := data.Get("result.kind").String(); strings.HasPrefix(result, "denied") {
			call := data.Get("toolCallId").String()
			if call == "" {
				call = c.asked[data.Get("requestId").String()]
			}
			if call != "" {
				c.denied[strings.Clone(call)] = strings.Clone(result)
			}
		}
	case "session.skills_loaded":
		c.skills(data)
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
		if model := data.Get("newModel").String(); model != "" && o.Subagent == "" {
			c.r.Report.Model = strings.Clone(model)
		}
	case "session.error":
		if o.Subagent == "" {
			c.failed(data)
		}
	case "model.call_failure":
		c.callFailed(data)
	case "assistant.turn_retry":
		c.r.Note("copilot tried a request again: " + retryReason(data))
	case "session.usage_record":
		c.request(o, data.Get("usage"))
	case "assistant.usage":
		c.request(o, data)
	case "abort":
		if o.Subagent == "" {
			c.aborted = strings.Clone(data.Get("reason").String())
			if c.aborted == "" {
				c.aborted = "no reason given"
			}
		}
	case "session.shutdown":
		if !streaming && data.Get("shutdownType").String() == "routine" && c.t.Stdout == "" {
			c.closed = true
		}
	case "result":
		c.closed, c.exitCode = true, top.Get("exitCode").Int()
		if id := top.Get("sessionId").String(); id != "" {
			c.r.Report.SessionID = strings.Clone(id)
		}
	case "assistant.turn_start", "assistant.turn_end", "assistant.idle", "assistant.intent", "assistant.message_start",
		"model.call_start", "model.call_finished", "model.call_final_result", "system.message", "system.notification",
		"session.tools_updated", "session.info", "session.idle", "session.title_changed", "session.usage_info", "session.warning",
		"session.context_changed", "session.mode_changed", "session.compaction_start", "session.compaction_complete",
		"session.truncation", "session.custom_agents_updated", "agent.interrupted", "skill.context_delivered_ref",
		"hook.start", "hook.end", "pending_messages.modified":
	default:
		return false
	}
	return true
}

// identify remembers a record of the stream that may be in the log too.
func (c *copilot) identify(kind, id string, ephemeral bool) {
	switch {
	case ephemeral || c.seen == nil:
	case id != "":
		c.seen[transcript.Hash("", id)] = true
	case kind == "assistant.message":
		c.anonymous = true
	}
}

// agent returns the subagent that a record is of, "" for the main thread.
func (c *copilot) agent(kind, id string, data gjson.Result) string {
	call := ""
	if strings.Contains(data.Raw, `"parentToolCallId"`) { // few have it, and to look for it properly is slow
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
	if id == "" {
		id = call
	}
	id = strings.Clone(id)
	c.agents[strings.Clone(call)] = id
	return id
}

// begin takes what the log says of the session itself.
func (c *copilot) begin(data gjson.Result) {
	rep := c.r.Report
	for _, f := range []struct {
		to   *string
		from string
	}{
		{&rep.SessionID, "sessionId"},
		{&rep.AgentVersion, "copilotVersion"},
		{&rep.Model, "selectedModel"},
		{&c.r.Cwd, "context.cwd"},
	} {
		if *f.to == "" {
			*f.to = strings.Clone(data.Get(f.from).String())
		}
	}
}

// message records a message of the assistant. One that asks for tools is commentary.
func (c *copilot) message(o transcript.Origin, data gjson.Result) {
	var f [5]gjson.Result
	transcript.Members(data, f[:], "reasoningText", "content", "toolRequests", "phase", "model")
	c.thinking(o, f[0].String())
	text, tools := f[1].String(), f[2].Get("0").Exists()
	phase := f[3].String()
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
	if model := f[4].String(); model != "" {
		c.r.Report.Model = c.r.Name(model)
	}
	c.failure = nil // what went wrong before did not end the session
	if tools || phase == transcript.PhaseFinal {
		c.last = &lastMessage{strings.Clone(text), tools}
	}
}

// thinking records what was thought: it comes with the message and by itself.
func (c *copilot) thinking(o transcript.Origin, text string) {
	if text == "" {
		return
	}
	k := transcript.Hash(transcript.PhaseThinking, text)
	if c.thought[o.Subagent] == k {
		return
	}
	c.thought[strings.Clone(o.Subagent)] = k
	c.r.Message(o, transcript.RoleAssistant, transcript.PhaseThinking, text)
}

// failed records an error of the session.
func (c *copilot) failed(data gjson.Result) {
	said, detail := data.Get("message").String(), c.callError
	switch data.Get("errorType").String() {
	case "authentication", "authorization":
		detail += "\nnot logged in"
	case "quota":
		detail += "\nquota exceeded"
	case "rate_limit":
		detail += "\nrate limit"
	}
	f := c.r.FailureOf(said+"\n"+detail, int(data.Get("statusCode").Int()))
	if said != "" {
		f.Message = strings.Clone(transcript.Clip(said, 4<<10))
	}
	c.failure = f
}

// callFailed records that a request to the model failed. Copilot may try again, which is no failure of the session.
func (c *copilot) callFailed(data gjson.Result) {
	c.callError = strings.Clone(transcript.Clip(data.Get("errorMessage").String(), 4<<10))
	c.r.Note(fmt.Sprintf("a request to the model failed (HTTP %d): %s", data.Get("statusCode").Int(), c.callError))
}

func retryReason(data gjson.Result) string {
	for _, k := range []string{"reason", "message", "errorMessage", "error"} {
		if said := transcript.TextOf(data.Get(k)); said != "" {
			return said
		}
	}
	return "it does not say why"
}
