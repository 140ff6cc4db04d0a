package agentcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// opencode understands what OpenCode leaves behind: the records of `opencode run --format json`, and the documents of
// `opencode export`, one of the session and one of each session of a subagent. Stream and export describe the same session,
// and the same parts by the same ids: what both have is taken from the export, which alone knows the user's text, the
// directory and the model.
//
// There is no terminal record. A session ended well if its last step ended with the reason "stop" and no error came after.
type opencode struct {
	r *recorder
	t *Transcript
	// main is the id of the session, exports are the files with exported sessions by id.
	main    string
	exports map[string]string
	visited map[string]bool // exports that were read
	seen    map[uint64]bool // parts that were recorded, by hash
	counted map[string]bool // messages whose tokens were counted as a whole
	changed map[string]bool // files that tools say they changed
	parts   int             // parts without an id
	cost    float64
}

// normaliseOpencode records what OpenCode left behind.
func normaliseOpencode(t *Transcript, r *recorder) error {
	o := &opencode{r: r, t: t, visited: map[string]bool{}, seen: map[uint64]bool{}, counted: map[string]bool{}, changed: map[string]bool{}}
	first, err := o.begin()
	if err != nil {
		return err
	}
	if err := o.findExports(); err != nil {
		return err
	}
	exported := &openThread{o: o}
	if path := o.exports[o.main]; path != "" {
		r.report.RawArtifacts.ExportPath = path
		from, found, err := o.turn(path, first)
		if err == nil && found {
			err = o.export(exported, path, from)
		}
		if err != nil {
			return err
		}
		if !found {
			r.note("the exported session does not have the messages of this one: it was left out")
		}
	} else if len(o.exports) > 0 {
		r.note("the exported session is not this one: it was left out")
	}
	streamed := &openThread{o: o, base: exported.base}
	if err := o.stream(streamed); err != nil {
		return err
	}
	r.report.SessionID = o.main
	r.report.Usage.Add(exported.usage)
	r.report.Usage.Add(streamed.usage)
	if o.cost > 0 { // 0 is what OpenCode says of models whose price it does not know
		r.report.CostUSD = new(o.cost)
	}
	o.verdict(exported, streamed)
	return nil
}

// verdict tells the recorder how the session ended.
func (o *opencode) verdict(exported, streamed *openThread) {
	last := streamed
	if !last.ended() && exported.ended() {
		last = exported
	}
	switch {
	case streamed.failure != nil:
		o.r.failed(streamed.failure)
	case exported.failure != nil:
		o.r.failed(exported.failure)
	case last.ended():
		answer := last.answer
		if len(answer) == 0 {
			answer = exported.answer
		}
		o.r.report.FinishReason = finishReason(last.reason)
		o.r.finished(strings.Join(answer, "\n"), true)
	case last.denied != "" && o.t.Stopped == nil && (o.t.ExitCode == nil || *o.t.ExitCode == 0):
		// OpenCode ends without another word once a permission is refused that it cannot ask for.
		f := o.r.failureOf(last.denied, 0)
		f.Class = plumb.FailureClass{ID: "permission-denied", Label: "Permission denied"}
		f.Message += "\nopencode stopped after that"
		f.Hint = "allow it in the agent's configuration, or set permissions: bypass for the runner"
		o.r.failed(f)
	}
}

// finishReason translates the reason that the last step ended with.
func finishReason(reason string) plumb.FinishReason {
	switch reason {
	case "stop":
		return plumb.FinishStop
	case "length":
		return plumb.FinishTruncated
	case "content-filter":
		return plumb.FinishRefused
	default:
		return plumb.FinishOther
	}
}

// begin learns from the stream which session it is, and the id of its first message.
func (o *opencode) begin() (first string, err error) {
	if o.t.Stdout == "" {
		return "", nil
	}
	err = eachLine(o.t.Stdout, func(line []byte) error {
		if !gjson.ValidBytes(line) {
			return nil
		}
		if o.main == "" {
			o.main = gjson.GetBytes(line, "sessionID").String()
		}
		if first = gjson.GetBytes(line, "part.messageID").String(); first != "" {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	o.main, first = strings.Clone(o.main), strings.Clone(first)
	return first, err
}

// findExports finds the exported sessions. Without a stream, the session is the first that is nobody's child.
func (o *opencode) findExports() error {
	paths, err := sessionFiles(o.t.Session, func(path string) bool {
		name := baseName(path)
		return strings.HasSuffix(name, ".json") && strings.Contains(name, "export")
	})
	if err != nil {
		return err
	}
	o.exports = map[string]string{}
	only := ""
	for _, path := range paths {
		id, parent := "", ""
		err := eachValue(path, []string{""}, func(at string, value []byte) error {
			if at != "info" {
				return nil
			}
			id, parent = gjson.GetBytes(value, "id").String(), gjson.GetBytes(value, "parentID").String()
			return errEnough
		})
		if err != nil && !errors.Is(err, errEnough) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if id == "" {
			continue
		}
		id = strings.Clone(id)
		if o.exports[id] == "" {
			o.exports[id] = path
		}
		if only == "" && parent == "" {
			only = id
		}
	}
	if o.main == "" {
		o.main = only
	}
	return nil
}

// sessionFiles returns the files below dir that match, in lexical order; none where there is no directory.
func sessionFiles(dir string, match func(path string) bool) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("search the agent's session files: %w", err)
		case d.Type().IsRegular() && match(path):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}

// openThread is the state of one session while its messages or records are read in order.
type openThread struct {
	o *opencode
	// subagent is "" for the main session.
	subagent, base, model string
	usage                 plumb.Usage
	// texts are those of the step whose phase is not known yet; answer those of the last step that was the end.
	texts  []openText
	answer []string
	// tools says that the step called tools.
	tools bool
	// reason is what the last step ended with; failure is set when an error came after it. denied is what was said when
	// the last tool call was refused.
	reason  string
	failure *plumb.Failure
	denied  string
}

type openText struct {
	origin
	text string
	seen bool
}

// ended reports whether the last step was the end.
func (th *openThread) ended() bool { return endOfTurn(th.reason) && th.failure == nil }

// endOfTurn reports whether a step with this reason is the last of a turn.
func endOfTurn(reason string) bool {
	return reason == "stop" || reason == "length" || reason == "content-filter"
}

// stream records what the stream has and the export has not.
func (o *opencode) stream(main *openThread) error {
	children := map[string]*openThread{}
	counter := newSteps("opencode")
	err := o.r.records(o.t.Stdout, func(rec gjson.Result) bool {
		counter.count(rec)
		th := main
		var f [5]gjson.Result
		take(rec, f[:], "type", "timestamp", "sessionID", "part", "error")
		if id := f[2].String(); id != "" && id != o.main {
			if th = children[id]; th == nil {
				id = strings.Clone(id)
				th = &openThread{o: o, subagent: id, base: main.base}
				children[id] = th
				o.r.subagent(id, "", nil)
			}
		}
		og := origin{at: momentMs(f[1]), subagent: th.subagent, base: th.base}
		switch f[0].String() {
		case "error":
			th.flush(phaseCommentary)
			th.failed(f[4])
		case "step_start", "step_finish", "text", "reasoning", "tool_use":
			th.part(og, readPart(f[3]), roleAssistant)
		default:
			return false
		}
		return true
	})
	if counter.n > 0 {
		o.r.report.Steps = counter.n
	}
	main.flush(phaseCommentary)
	for _, th := range children {
		th.flush(phaseCommentary)
		if th.usage.InputTokens != nil {
			o.r.subagent(th.subagent, "", &th.usage)
		}
	}
	return err
}

// export records the messages of an exported session, from the message with the id from on; "" is all of them.
func (o *opencode) export(th *openThread, path, from string) error {
	if o.visited[path] {
		return nil
	}
	o.visited[path] = true
	m := openMessage{th: th}
	err := eachValue(path, []string{"", "messages", "messages[]", "messages[].parts"}, func(at string, value []byte) error {
		if !gjson.ValidBytes(value) {
			o.r.stray(value)
			return nil
		}
		v := gjson.ParseBytes(value)
		switch {
		case at == "info":
			if dir := v.Get("directory").String(); dir != "" {
				th.base = strings.Clone(dir)
			}
			if th.subagent == "" {
				o.r.report.AgentVersion = strings.Clone(v.Get("version").String())
				if o.r.cwd == "" {
					o.r.cwd = th.base
				}
			}
		case at == "messages[].info":
			m.end()
			m = openMessage{th: th}
			if id := v.Get("id").String(); from != "" && id != from {
				return nil
			}
			from = ""
			o.r.sawRecords++
			m.begin(v)
		case at == "messages[].parts[]" && m.begun:
			part := readPart(v)
			th.part(m.origin, part, m.role)
			m.steps = m.steps || part.kind == "step-finish"
		}
		return nil
	})
	m.end()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		o.r.note("the exported session is cut short")
		return nil
	}
	return err
}

// turn finds the message in an export with which this session begins, "" for the first of all. An export holds the earlier
// turns of a session that was resumed too; first is the id of the first message in the stream, "" if there is none.
func (o *opencode) turn(path, first string) (from string, found bool, err error) {
	if first == "" && !o.t.Resumed {
		return "", true, nil
	}
	messages, asked := 0, ""
	err = eachValue(path, []string{"", "messages", "messages[]"}, func(at string, value []byte) error {
		if at != "messages[].info" {
			return nil
		}
		messages++
		id, parent := gjson.GetBytes(value, "id").String(), gjson.GetBytes(value, "parentID").String()
		if gjson.GetBytes(value, "role").String() == roleUser {
			asked = strings.Clone(id)
		}
		if first != "" && id == first {
			found = true
			from = strings.Clone(id)
			if parent != "" && parent == asked {
				from = asked
			}
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if first == "" {
		return asked, true, err
	}
	return from, found || messages == 0, err
}

// openMessage is one message of an export.
type openMessage struct {
	th *openThread
	origin
	role   string
	info   gjson.Result
	begun  bool
	steps  bool // it has parts that say where a step ends
	failed bool
}

// begin takes a message up.
func (m *openMessage) begin(info gjson.Result) {
	m.begun, m.role = true, strings.Clone(info.Get("role").String())
	m.info = gjson.Parse(strings.Clone(info.Raw))
	m.origin = origin{at: momentMs(info.Get("time.created")), subagent: m.th.subagent, base: m.th.base}
	if cwd := info.Get("path.cwd").String(); cwd != "" {
		m.base = strings.Clone(cwd)
	}
	if m.role != roleAssistant {
		return
	}
	if model := info.Get("modelID").String(); model != "" {
		m.th.model = strings.Clone(model)
		if m.th.subagent == "" {
			m.th.o.r.report.Model = m.th.model
		}
	}
	m.failed = info.Get("error").IsObject()
}

// end closes a message once all its parts were there.
func (m *openMessage) end() {
	if !m.begun || m.role != roleAssistant {
		return
	}
	finish := m.info.Get("finish").String()
	switch {
	case finish == "" && m.steps: // the step said all there is to know
	case finish != "":
		m.th.ends(finish)
	case !m.failed && len(m.th.texts) > 0:
		m.th.ends("stop") // older versions say nothing: what is said after all tool calls is the answer
	}
	if m.failed {
		m.th.flush(phaseCommentary)
		m.th.failed(m.info.Get("error"))
	}
	if !m.steps {
		m.th.o.counted[m.info.Get("id").String()] = true
		m.th.tokens(m.origin, m.info.Get("tokens"), m.info.Get("cost"))
	}
}

// openPart is one part of a message. Which fields are set depends on its kind.
type openPart struct {
	kind, id, call, message, tool, text, reason       string
	state, time, tokens, cost, files, error, injected gjson.Result
}

func readPart(v gjson.Result) openPart {
	var f [15]gjson.Result
	take(v, f[:], "type", "id", "callID", "messageID", "tool", "text", "reason", "state", "time", "tokens", "cost", "files", "error",
		"synthetic", "ignored")
	p := openPart{
		kind: f[0].String(), id: f[1].String(), call: f[2].String(), message: f[3].String(), tool: f[4].String(), text: f[5].String(),
		reason: f[6].String(), state: f[7], time: f[8], tokens: f[9], cost: f[10], files: f[11], error: f[12], injected: f[13],
	}
	if !p.injected.Bool() {
		p.injected = f[14]
	}
	return p
}

// part records one part of a message, unless it was recorded before.
func (th *openThread) part(og origin, part openPart, role string) {
	seen := th.know(part)
	switch part.kind {
	case "step-start", "step_start":
		th.flush(phaseCommentary)
		th.tools, th.denied = false, ""
	case "text":
		if part.injected.Bool() {
			return // OpenCode's own words, in the user's name
		}
		if at := momentMs(part.time.Get("start")); at != nil {
			og.at = at
		}
		if role == roleUser {
			if !seen {
				th.o.r.message(og, roleUser, "", part.text)
			}
			return
		}
		th.texts = append(th.texts, openText{og, strings.Clone(part.text), seen})
	case "reasoning":
		if at := momentMs(part.time.Get("start")); at != nil {
			og.at = at
		}
		if !seen {
			th.o.r.message(og, roleAssistant, phaseThinking, part.text)
		}
	case "tool":
		th.flush(phaseCommentary)
		th.tools, th.denied = true, ""
		if denied := th.tool(og, part, seen); denied != "" {
			th.denied = denied
		}
	case "step-finish", "step_finish":
		reason := part.reason
		if reason == "" && !th.tools {
			reason = "stop"
		}
		th.ends(reason)
		if !seen {
			if th.subagent == "" {
				th.o.r.step("", true)
			}
			if !th.o.counted[part.message] {
				th.tokens(og, part.tokens, part.cost)
			}
		}
	case "retry":
		if !seen {
			th.o.r.note("opencode tried a request again: " + errorText(part.error))
		}
	case "patch":
		if !seen {
			th.patch(og, part.files)
		}
	}
}

// know reports whether a part was recorded before, and remembers it.
func (th *openThread) know(part openPart) bool {
	id := part.id
	if id == "" {
		id = part.call
	}
	if id == "" || len(th.o.exports) == 0 {
		return false // only stream and export say things twice
	}
	k := maphash.String(hashing, id)
	seen := th.o.seen[k]
	th.o.seen[k] = true
	return seen
}

// ends closes a step.
func (th *openThread) ends(reason string) {
	phase := phaseCommentary
	if endOfTurn(reason) {
		phase, th.answer = phaseFinal, nil
	}
	th.flush(phase)
	th.reason, th.failure = strings.Clone(reason), nil
}

// flush records the texts of the step, whose phase is known now.
func (th *openThread) flush(phase string) {
	for _, text := range th.texts {
		if phase == phaseFinal {
			th.answer = append(th.answer, text.text)
		}
		if !text.seen {
			th.o.r.message(text.origin, roleAssistant, phase, text.text)
		}
	}
	th.texts = nil
}

// tool records a tool call and all that follows from it. It returns what was said if the call was refused.
func (th *openThread) tool(og origin, part openPart, seen bool) (denied string) {
	var f [6]gjson.Result
	take(part.state, f[:], "status", "output", "error", "time", "input", "metadata")
	name, status, output, times, input, meta := part.tool, f[0].String(), plain(f[1]), f[3], f[4], f[5]
	failed := status == "error" || name == "invalid"
	if status == "error" {
		if said := plain(f[2]); said != "" {
			output = said
		}
		if refused(output) {
			denied = strings.Clone(output)
		}
	}
	if seen {
		return denied
	}
	r := th.o.r
	if og.call = part.call; og.call == "" {
		if og.call = part.id; og.call == "" {
			th.o.parts++
			og.call = fmt.Sprintf("part-%d", th.o.parts)
		}
	}
	if at := momentMs(times.Get("start")); at != nil {
		og.at = at
	}
	if name == "invalid" && input.Get("tool").String() != "" {
		name = input.Get("tool").String()
	}
	if name == "skill" {
		r.skill(og, input.Get("name").String(), "tool:skill")
	}
	r.toolCall(og, name, json.RawMessage(input.Raw))
	if name == "task" {
		th.o.child(input.Get("subagent_type").String(), meta)
	}
	done := og
	if at := momentMs(times.Get("end")); at != nil {
		done.at = at
	}
	if status != "running" && status != "pending" {
		r.toolResult(done, output, failed)
	}
	if !failed || name == "bash" {
		th.effects(og, name, input, meta)
	}
	if denied != "" {
		r.denial(done, name, denied)
	}
	return denied
}

// effects records what a tool call did, beside having been called.
func (th *openThread) effects(og origin, name string, input, meta gjson.Result) {
	r, path := th.o.r, input.Get("filePath").String()
	switch name {
	case "bash":
		for _, key := range []string{"workdir", "cwd"} {
			if dir := input.Get(key).String(); dir != "" {
				og.base = resolve(og.base, dir)
				break
			}
		}
		r.command(og, input.Get("command").String())
		if code := meta.Get("exit"); code.Type == gjson.Number {
			r.exit(og.call, int(code.Int()))
		}
	case "read":
		if meta.Get("display.type").String() != "directory" {
			r.fileRead(og, path)
		}
		for _, file := range meta.Get("loaded").Array() {
			r.offer(plumb.OfferInstructions, baseName(file.String()), file.String(), "")
		}
	case "write":
		kind := changeUpdate
		if exists := meta.Get("exists"); exists.Exists() && !exists.Bool() {
			kind = changeAdd
		}
		th.change(og, kind, path)
	case "edit", "multiedit":
		kind := changeUpdate
		if old := input.Get("oldString"); old.Exists() && old.String() == "" {
			kind = changeAdd // that is how the tool makes a file
		}
		th.change(og, kind, path)
	case "patch", "apply_patch":
		for file := range patchedFiles(input.Get("patchText").String()) {
			th.change(og, file.Kind, file.Path)
		}
	case "skill":
		if dir := meta.Get("dir").String(); dir != "" {
			r.offer(plumb.OfferSkill, input.Get("name").String(), resolve(dir, "SKILL.md"), "")
		}
	}
}

// change records a file that a tool says it changed.
func (th *openThread) change(og origin, kind, path string) {
	th.o.changed[th.o.r.path(og, path)] = true
	th.o.r.fileChange(og, kind, path)
}

// patch records the files that OpenCode's snapshots say were changed, unless a tool said so: commands change files too.
func (th *openThread) patch(og origin, files gjson.Result) {
	for _, file := range files.Array() {
		if !th.o.changed[th.o.r.path(og, file.String())] {
			th.change(og, changeUpdate, file.String())
		}
	}
}

// child records the subagent that a task was given to, and what it did if its session was exported too.
func (o *opencode) child(kind string, meta gjson.Result) {
	id := meta.Get("sessionId").String()
	if id == "" {
		id = meta.Get("sessionID").String()
	}
	if id == "" || id == o.main {
		return
	}
	id = strings.Clone(id)
	o.r.subagent(id, kind, nil)
	path := o.exports[id]
	if path == "" {
		return
	}
	th := &openThread{o: o, subagent: id}
	if err := o.export(th, path, ""); err != nil {
		o.r.note(fmt.Sprintf("the session of the subagent %s cannot be read: %v", id, err))
	}
	if th.usage.InputTokens != nil {
		o.r.subagent(id, "", &th.usage)
	}
}

// tokens records what a step used. Whether OpenCode's output tokens include reasoning depends on the provider's API;
// the total tells.
func (th *openThread) tokens(og origin, v, cost gjson.Result) {
	var f [5]gjson.Result
	take(v, f[:], "input", "output", "reasoning", "cache", "total")
	input, output, reasoning := f[0].Int(), f[1].Int(), f[2].Int()
	read, write := f[3].Get("read").Int(), f[3].Get("write").Int()
	if input < 0 || output < 0 || reasoning < 0 || read < 0 || write < 0 || input+output+reasoning+read+write == 0 {
		return
	}
	gross := input + read + write
	out := output + reasoning
	if total := f[4].Int() - gross; total >= output && total < out {
		out = total
	}
	u := plumb.RequestUsage{
		At: og.at, Model: th.model, Subagent: th.subagent, InputTokens: &gross, OutputTokens: &out, ReasoningTokens: &reasoning,
		CacheTokens: &read, CacheWriteTokens: &write,
	}
	th.usage.Add(usageOf(u))
	th.o.r.request(u)
	if th.subagent == "" && cost.Type == gjson.Number {
		th.o.cost += max(0, cost.Float())
	}
}

// usageOf returns what one request used as a sum of one.
func usageOf(u plumb.RequestUsage) plumb.Usage {
	return plumb.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ReasoningTokens: u.ReasoningTokens,
		CacheTokens: u.CacheTokens, CacheWriteTokens: u.CacheWriteTokens,
	}
}

// errorText returns what an error says.
func errorText(e gjson.Result) string {
	data := e.Get("data")
	for _, said := range []string{data.Get("message").String(), e.Get("message").String()} {
		if said != "" {
			return said
		}
	}
	if e.Get("name").String() == "ProviderModelNotFoundError" {
		return "Model not found: " + data.Get("providerID").String() + "/" + data.Get("modelID").String()
	}
	return plain(e)
}

// failed records an error. Older versions have its text at another place.
func (th *openThread) failed(e gjson.Result) {
	data, name, said := e.Get("data"), e.Get("name").String(), errorText(e)
	detail, log := name+"\n"+data.Get("responseBody").String(), ""
	if strings.Contains(said, "server logs") {
		var line string
		if log, line = th.o.serverLog(data.Get("ref").String()); line != "" {
			said += "\n" + line
		}
	}
	f := th.o.r.failureOf(said+"\n"+detail, int(data.Get("statusCode").Int()))
	f.Message, f.LogPath = strings.Clone(clip(said, 4<<10)), log
	switch {
	case name == "ProviderAuthError" && f.HTTPStatus == 0:
		f = th.o.r.failureOf(said+"\nnot logged in", 0)
		f.Message = strings.Clone(clip(said, 4<<10))
	case name == "MessageAbortedError":
		f.Hint = "something interrupted the agent"
	case f.Hint == "" && log == "" && strings.Contains(said, "server logs"):
		f.Hint = "OpenCode says so of an unknown model or provider too; the reason is in its opencode/log directory"
	}
	th.failure, th.reason = f, ""
}

// serverLog finds in OpenCode's own log what it would not say: the line with the reference of the error, or else the last
// one about an error. The log is on stderr if OpenCode was told so; its file often lacks the last lines.
func (o *opencode) serverLog(ref string) (path, line string) {
	logs, err := sessionFiles(o.t.Session, func(path string) bool {
		return strings.HasSuffix(path, ".log") && strings.Contains(filepath.ToSlash(path), "/log/")
	})
	if err != nil {
		return "", ""
	}
	if o.t.Stderr != "" {
		logs = append(logs, o.t.Stderr)
	}
	for _, log := range slices.Backward(logs) {
		exact := false
		err := eachLine(log, func(b []byte) error {
			text := plainText(string(b))
			hit := ref != "" && strings.Contains(text, ref)
			if hit || !exact && (strings.HasPrefix(text, "ERROR") || strings.Contains(text, "level=ERROR")) {
				path, line, exact = log, logError(text), hit || exact
			}
			return nil
		})
		if line != "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return path, line
		}
	}
	return "", ""
}

// logError returns what a line of the log is about: its error, or the whole line.
func logError(line string) string {
	if _, after, ok := strings.Cut(line, ` error="`); ok {
		if said, _, ok := strings.Cut(after, `"`); ok && said != "" {
			line = said
		}
	}
	return strings.ToValidUTF8(clip(line, 2<<10), "\uFFFD")
}
