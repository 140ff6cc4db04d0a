package agentcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// copilot understands what the GitHub Copilot CLI leaves behind: the records of --output-format json, the session's
// events.jsonl, and the file of the OpenTelemetry exporter. Stream and events.jsonl have the same records by the same ids,
// but for those that the stream alone shows while it lasts, and those that the log alone keeps: tokens above all.
//
// The terminal record is "result", and its exitCode is 0 even after a SIGTERM. A session ended well if that is 0, there was
// no session.error, and the last message of the main thread asks for no more tools.
type copilot struct {
	r *recorder
	t *Transcript
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

// deed is what a call does if it succeeds: it reads or changes a file, or loads a skill.
type deed struct {
	origin
	kind         plumb.SessionEventType
	name, change string
}

// lastMessage is the latest message of the main thread.
type lastMessage struct {
	text  string
	tools bool
}

// normaliseCopilot records what Copilot left behind.
func normaliseCopilot(t *Transcript, r *recorder) error {
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
	counter := newSteps("copilot")
	if err := r.records(t.Stdout, func(rec gjson.Result) bool {
		counter.count(rec)
		return c.record(rec, true)
	}); err != nil {
		return err
	}
	streamed := r.sawRecords > 0
	if log, turn := c.choose(logs, streamed); log != nil {
		r.report.RawArtifacts.SessionPath = log.path
		if err := c.readLog(log, turn, streamed, counter); err != nil {
			return err
		}
	}
	r.report.Steps = counter.n
	if err := c.usage(); err != nil {
		return err
	}
	c.end()
	return nil
}

// end tells the recorder how the session ended.
func (c *copilot) end() {
	for call, said := range c.denied {
		c.r.denial(origin{call: call}, "", said)
	}
	switch {
	case c.failure != nil:
		c.r.failed(c.failure)
	case c.aborted != "":
		f := plumb.Failuref(plumb.OriginRunner, "abort: %s", c.aborted)
		f.Hint = "something interrupted the agent"
		c.r.failed(f)
	case !c.closed: // the recorder says so
	case c.exitCode != 0:
		said := c.callError
		if said == "" {
			said = lastLines(c.t.Stderr)
		}
		f := c.r.failureOf(said, 0)
		f.Message = fmt.Sprintf("%s\ncopilot ended with exit code %d", f.Message, c.exitCode)
		c.r.failed(f)
	case c.last == nil:
		c.r.failed(plumb.Failuref(plumb.OriginRunner, "copilot ended without an answer"))
	case c.last.tools:
		c.r.failed(plumb.Failuref(plumb.OriginRunner, "copilot ended in the middle of its work: its last message asks for tools"))
	default:
		if c.r.report.FinishReason == "" {
			c.r.report.FinishReason = plumb.FinishStop
		}
		c.r.finished(c.last.text, true)
	}
}

// record takes a record of the stream or the log and reports whether its type is known.
func (c *copilot) record(rec gjson.Result, streaming bool) bool {
	kind := rec.Get("type").String()
	switch kind { // pieces of what comes whole later; there are very many of them
	case "assistant.message_delta", "assistant.reasoning_delta", "assistant.tool_call_delta", "assistant.streaming_delta",
		"tool.execution_partial_result", "tool.shell_output", "tool.execution_progress", "session.background_tasks_changed":
		return true
	}
	var f [7]gjson.Result
	take(rec, f[:], "data", "id", "timestamp", "agentId", "ephemeral", "exitCode", "sessionId")
	data := f[0]
	if streaming {
		c.identify(kind, f[1].String(), f[4].Bool())
	}
	o := origin{at: moment(f[2].String()), subagent: c.agent(kind, f[3].String(), data)}
	switch kind {
	case "user.message":
		// What copilot injects in the user's name has another source than the task that an agent gives its subagent.
		if source := data.Get("source").String(); source == "" || source == "user" || strings.HasPrefix(source, "agent-") {
			c.r.message(o, roleUser, "", data.Get("content").String())
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
		if len(c.asked) < maxNotes*maxNotes {
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
				c.r.note("the MCP server " + name + " failed to start")
			default:
				c.r.offer(plumb.OfferMCPServer, name, "", server.Get("source").String())
			}
		}
	case "skill.invoked":
		c.r.offer(plumb.OfferSkill, data.Get("name").String(), data.Get("path").String(), data.Get("source").String())
	case "subagent.started", "subagent.configured", "subagent.completed", "subagent.failed", "subagent.selected":
		if o.subagent != "" {
			c.r.subagent(o.subagent, data.Get("agentName").String(), nil)
		}
	case "session.start", "session.resume":
		c.begin(data)
	case "session.model_change":
		if model := data.Get("newModel").String(); model != "" && o.subagent == "" {
			c.r.report.Model = strings.Clone(model)
		}
	case "session.error":
		if o.subagent == "" {
			c.failed(data)
		}
	case "model.call_failure":
		c.callFailed(data)
	case "assistant.turn_retry":
		c.r.note("copilot tried a request again: " + retryReason(data))
	case "session.usage_record":
		c.request(o, data.Get("usage"))
	case "assistant.usage":
		c.request(o, data)
	case "abort":
		if o.subagent == "" {
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
		c.closed, c.exitCode = true, f[5].Int()
		if id := f[6].String(); id != "" {
			c.r.report.SessionID = strings.Clone(id)
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
		c.seen[maphash.String(hashing, id)] = true
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
	rep := c.r.report
	for _, f := range []struct {
		to   *string
		from string
	}{
		{&rep.SessionID, "sessionId"},
		{&rep.AgentVersion, "copilotVersion"},
		{&rep.Model, "selectedModel"},
		{&c.r.cwd, "context.cwd"},
	} {
		if *f.to == "" {
			*f.to = strings.Clone(data.Get(f.from).String())
		}
	}
}

// message records a message of the assistant. One that asks for tools is commentary.
func (c *copilot) message(o origin, data gjson.Result) {
	var f [5]gjson.Result
	take(data, f[:], "reasoningText", "content", "toolRequests", "phase", "model")
	c.thinking(o, f[0].String())
	text, tools := f[1].String(), f[2].Get("0").Exists()
	phase := f[3].String()
	switch {
	case phase == phaseThinking || phase == phaseCommentary:
	case tools:
		phase = phaseCommentary
	default:
		phase = phaseFinal
	}
	c.r.message(o, roleAssistant, phase, text)
	if o.subagent != "" {
		return
	}
	if model := f[4].String(); model != "" {
		c.r.report.Model = c.r.name(model)
	}
	c.failure = nil // what went wrong before did not end the session
	if tools || phase == phaseFinal {
		c.last = &lastMessage{strings.Clone(text), tools}
	}
}

// thinking records what was thought: it comes with the message and by itself.
func (c *copilot) thinking(o origin, text string) {
	if text == "" {
		return
	}
	k := key(phaseThinking, text)
	if c.thought[o.subagent] == k {
		return
	}
	c.thought[strings.Clone(o.subagent)] = k
	c.r.message(o, roleAssistant, phaseThinking, text)
}

// start records a tool call.
func (c *copilot) start(o origin, data gjson.Result) {
	o.call = data.Get("toolCallId").String()
	name, args := data.Get("toolName").String(), data.Get("arguments")
	c.r.toolCall(o, name, json.RawMessage(args.Raw))
	switch path := args.Get("path").String(); name {
	case "bash", "powershell", "shell":
		command := args.Get("command").String()
		if command == "" {
			command = data.Get("toolTelemetry.properties.command").String()
		}
		c.r.command(o, command)
	case "skill":
		skill := args.Get("skill").String()
		if skill == "" {
			skill = args.Get("name").String()
		}
		c.hold(deed{o, plumb.SessionSkill, skill, ""})
	case "view":
		c.hold(deed{o, plumb.SessionFileRead, path, ""})
	case "create":
		c.hold(deed{o, plumb.SessionFileChange, path, changeAdd})
	case "edit", "str_replace", "insert":
		c.hold(deed{o, plumb.SessionFileChange, path, changeUpdate})
	case "str_replace_editor":
		switch args.Get("command").String() {
		case "view":
			c.hold(deed{o, plumb.SessionFileRead, path, ""})
		case "create":
			c.hold(deed{o, plumb.SessionFileChange, path, changeAdd})
		default:
			c.hold(deed{o, plumb.SessionFileChange, path, changeUpdate})
		}
	case "apply_patch":
		patch := plain(args)
		for _, k := range []string{"patch", "input"} {
			if text := args.Get(k).String(); text != "" {
				patch = text
			}
		}
		for file := range patchedFiles(patch) {
			c.hold(deed{o, plumb.SessionFileChange, file.Path, file.Kind})
		}
	}
}

// hold keeps what a call does until it is known that it succeeded. A call without an id never will be.
func (c *copilot) hold(d deed) {
	if d.call == "" || len(c.held) > maxNotes*maxNotes {
		c.do(d)
		return
	}
	d.call, d.subagent, d.name = strings.Clone(d.call), strings.Clone(d.subagent), strings.Clone(d.name)
	c.held[d.call] = append(c.held[d.call], d)
}

// do records what a call did.
func (c *copilot) do(d deed) {
	switch d.kind {
	case plumb.SessionFileRead:
		c.r.fileRead(d.origin, d.name)
	case plumb.SessionFileChange:
		c.r.fileChange(d.origin, d.change, d.name)
	case plumb.SessionSkill:
		c.r.skill(d.origin, d.name, "tool:skill")
	default:
	}
}

// complete records the result of a tool call.
func (c *copilot) complete(o origin, data gjson.Result) {
	var f [7]gjson.Result
	take(data, f[:], "toolCallId", "error", "success", "result", "toolTelemetry", "shellExecution", "fileEdits")
	failure, success, result, telemetry := f[1], f[2], f[3], f[4]
	o.call = f[0].String()
	content := result.Get("content")
	output := plain(content)
	if output == "" {
		output = plain(result)
		if detailed := result.Get("detailedContent"); detailed.Exists() || content.Exists() {
			output = plain(detailed)
		}
	}
	said := failure.Get("message").String()
	if failure.Exists() {
		if output = said; output == "" {
			output = plain(failure)
		}
	}
	// Older versions say nothing of success, and an error that says nothing leaves open what was done until then.
	failed := said != ""
	if success.Exists() {
		failed = !success.Bool()
	}
	if deeds, ok := c.held[o.call]; ok {
		directory := telemetry.Get("properties.viewType").String() == "directory"
		for _, d := range deeds {
			if !failed && !(d.kind == plumb.SessionFileRead && directory) {
				c.do(d)
			}
		}
		delete(c.held, o.call)
	}
	c.r.toolResult(o, output, failed)
	if code := f[5].Get("exitCode"); code.Type == gjson.Number {
		c.r.exit(o.call, int(code.Int()))
	} else if code, ok := shellExit(output); ok {
		c.r.exit(o.call, code)
	}
	for _, edit := range f[6].Array() {
		kind := changeUpdate
		switch edit.Get("kind").String() {
		case "create", "add":
			kind = changeAdd
		case "delete", "remove":
			kind = changeDelete
		}
		c.r.fileChange(o, kind, edit.Get("path").String())
	}
	code := failure.Get("code").String()
	if reason, ok := c.denied[o.call]; failed && (ok || code == "denied" || code == "rejected" || refused(said)) {
		if said == "" {
			said = reason
		}
		delete(c.denied, o.call)
		c.r.denial(o, "", said)
	}
}

// shellExit finds the exit code in what the shell tool says: "<shellId: 0 completed with exit code 3>".
func shellExit(output string) (code int, ok bool) {
	tail := strings.TrimSpace(output)
	tail = tail[strings.LastIndexByte(tail, '\n')+1:]
	if _, after, found := strings.Cut(tail, "with exit code "); found && strings.HasPrefix(tail, "<") {
		_, err := fmt.Sscanf(after, "%d>", &code)
		return code, err == nil
	}
	return 0, false
}

// skills records the skills that copilot found.
func (c *copilot) skills(data gjson.Result) {
	for _, s := range data.Get("skills").Array() {
		if enabled := s.Get("enabled"); !enabled.Exists() || enabled.Bool() {
			c.r.offer(plumb.OfferSkill, s.Get("name").String(), s.Get("path").String(), s.Get("source").String())
		}
	}
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
	f := c.r.failureOf(said+"\n"+detail, int(data.Get("statusCode").Int()))
	if said != "" {
		f.Message = strings.Clone(clip(said, 4<<10))
	}
	c.failure = f
}

// callFailed records that a request to the model failed. Copilot may try again, which is no failure of the session.
func (c *copilot) callFailed(data gjson.Result) {
	c.callError = strings.Clone(clip(data.Get("errorMessage").String(), 4<<10))
	c.r.note(fmt.Sprintf("a request to the model failed (HTTP %d): %s", data.Get("statusCode").Int(), c.callError))
}

func retryReason(data gjson.Result) string {
	for _, k := range []string{"reason", "message", "errorMessage", "error"} {
		if said := plain(data.Get(k)); said != "" {
			return said
		}
	}
	return "it does not say why"
}

// request records what one request used. Copilot counts as plumb does: input with cache, output with reasoning.
func (c *copilot) request(o origin, v gjson.Result) {
	u := plumb.RequestUsage{
		At: o.at, Model: v.Get("model").String(), Subagent: o.subagent,
		InputTokens: count(v.Get("inputTokens")), OutputTokens: count(v.Get("outputTokens")),
		ReasoningTokens: count(v.Get("reasoningTokens")), CacheTokens: count(v.Get("cacheReadTokens")),
		CacheWriteTokens: count(v.Get("cacheWriteTokens")),
	}
	if u.InputTokens == nil && u.OutputTokens == nil {
		return
	}
	c.r.request(u)
	c.use(o.subagent, usageOf(u))
	if o.subagent == "" {
		switch v.Get("finishReason").String() {
		case "length":
			c.r.report.FinishReason = plumb.FinishTruncated
		case "content_filter":
			c.r.report.FinishReason = plumb.FinishRefused
		default:
			c.r.report.FinishReason = ""
		}
	}
}

// use adds to what a thread used.
func (c *copilot) use(subagent string, u plumb.Usage) {
	sum := c.used[subagent]
	if sum == nil {
		sum = &plumb.Usage{}
		c.used[strings.Clone(subagent)] = sum
	}
	sum.Add(u)
}

// usage gives each thread what it used, from the telemetry file if nothing else says it.
func (c *copilot) usage() error {
	if len(c.used) == 0 {
		if err := c.telemetry(); err != nil {
			return err
		}
	}
	for subagent, u := range c.used {
		if subagent == "" {
			c.r.report.Usage.Add(*u)
		} else {
			c.r.subagent(subagent, "", u)
		}
	}
	return nil
}

// eventLog is an events.jsonl: one session with all its turns.
type eventLog struct {
	path, session string
	turns         []eventTurn
}

// eventTurn is what lies between the starts of two runs of one session.
type eventTurn struct {
	// begin is the first line; stream says that the stream shows this turn.
	begin  int
	stream bool
	// total is what the session used up to its end, by thread.
	total map[string]plumb.Usage
}

// logs finds the event logs, and learns the session's directory if they agree on it.
func (c *copilot) logs() ([]*eventLog, error) {
	paths, err := sessionFiles(c.t.Session, func(path string) bool { return baseName(path) == "events.jsonl" })
	if err != nil {
		return nil, err
	}
	var logs []*eventLog
	for _, path := range paths {
		log := &eventLog{path: path, session: filepath.Base(filepath.Dir(path))}
		err := eachLine(path, func(line []byte) error {
			if gjson.ValidBytes(line) && gjson.GetBytes(line, "type").String() == "session.start" {
				if id := gjson.GetBytes(line, "data.sessionId").String(); id != "" {
					log.session = strings.Clone(id)
				}
				if cwd := gjson.GetBytes(line, "data.context.cwd").String(); len(paths) == 1 && c.r.cwd == "" {
					c.r.cwd = strings.Clone(cwd)
				}
			}
			return errEnough // it is the first record
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// choose finds the log and the turn in it that belong to the stream: those with its records. Without a stream that is all
// of the session, or its last turn if it was resumed; turn is -1 for all.
func (c *copilot) choose(logs []*eventLog, streamed bool) (_ *eventLog, turn int) {
	for _, log := range logs {
		if err := c.survey(log); err != nil {
			c.r.note(fmt.Sprintf("the agent's log cannot be read: %v", err))
			continue
		}
		for i, t := range log.turns {
			if t.stream {
				return log, i
			}
		}
	}
	for _, log := range logs {
		if log.session != c.r.report.SessionID && (streamed || len(logs) > 1) && !(c.r.report.SessionID == "" && len(logs) == 1) {
			continue
		}
		if c.t.Resumed || streamed {
			return log, len(log.turns) - 1
		}
		return log, -1
	}
	if len(logs) > 0 {
		c.r.note("the agent's log is not of this session: it was left out")
	}
	return nil, 0
}

// survey finds the turns of a log.
func (c *copilot) survey(log *eventLog) error {
	log.turns = []eventTurn{{}}
	n := 0
	err := eachLine(log.path, func(line []byte) error {
		defer func() { n++ }()
		if !gjson.ValidBytes(line) {
			return nil
		}
		rec := gjson.ParseBytes(line)
		switch rec.Get("type").String() {
		case "session.resume":
			log.turns = append(log.turns, eventTurn{begin: n})
		case "session.shutdown":
			log.turns[len(log.turns)-1].total = totals(rec.Get("data"))
		}
		if turn := &log.turns[len(log.turns)-1]; !turn.stream {
			turn.stream = c.seen[maphash.String(hashing, rec.Get("id").String())]
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readLog records what a log has of a turn and the stream has not. Turn is -1 for all turns.
func (c *copilot) readLog(log *eventLog, turn int, streamed bool, steps *steps) error {
	begin, end, before := 0, int(^uint(0)>>1), map[string]plumb.Usage(nil)
	last := len(log.turns) - 1
	if turn >= 0 {
		begin, last = log.turns[turn].begin, turn
		if turn+1 < len(log.turns) {
			end = log.turns[turn+1].begin
		}
		for _, t := range log.turns[:turn] {
			if t.total != nil {
				before = t.total
			}
		}
	}
	n := -1
	err := c.r.records(log.path, func(rec gjson.Result) bool {
		kind := rec.Get("type").String()
		if n++; kind == "session.start" {
			c.begin(rec.Get("data")) // of all turns
			return true
		}
		if n < begin || n >= end || c.seen[maphash.String(hashing, rec.Get("id").String())] {
			return true
		}
		if streamed && c.anonymous && !strings.HasPrefix(kind, "session.") {
			return true // without ids nobody knows what the stream had
		}
		if !streamed {
			steps.count(rec)
		}
		return c.record(rec, false)
	})
	if len(c.used) == 0 {
		for thread, total := range log.turns[last].total {
			c.use(thread, since(total, before[thread]))
		}
	}
	return err
}

// totals reads what the threads of a session used, by agent, from the record of its shutdown.
func totals(data gjson.Result) map[string]plumb.Usage {
	sum := func(models gjson.Result) (u plumb.Usage) {
		models.ForEach(func(_, m gjson.Result) bool {
			v := m.Get("usage")
			u.Add(plumb.Usage{
				InputTokens: count(v.Get("inputTokens")), OutputTokens: count(v.Get("outputTokens")),
				ReasoningTokens: count(v.Get("reasoningTokens")), CacheTokens: count(v.Get("cacheReadTokens")),
				CacheWriteTokens: count(v.Get("cacheWriteTokens")),
			})
			return true
		})
		return u
	}
	all := map[string]plumb.Usage{}
	data.Get("agentMetrics").ForEach(func(agent, m gjson.Result) bool {
		name := strings.Clone(agent.String())
		if name == "main" {
			name = ""
		}
		all[name] = sum(m.Get("modelMetrics"))
		return len(all) < maxNotes*maxNotes
	})
	if len(all) == 0 {
		all[""] = sum(data.Get("modelMetrics"))
	}
	return all
}

// since subtracts the counters of an earlier time.
func since(now, before plumb.Usage) plumb.Usage {
	return plumb.Usage{
		InputTokens: less(now.InputTokens, before.InputTokens), OutputTokens: less(now.OutputTokens, before.OutputTokens),
		ReasoningTokens: less(now.ReasoningTokens, before.ReasoningTokens), CacheTokens: less(now.CacheTokens, before.CacheTokens),
		CacheWriteTokens: less(now.CacheWriteTokens, before.CacheWriteTokens),
	}
}
