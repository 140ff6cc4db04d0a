package opencode

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
)

// openThread is the state of one session while its messages or records are read in order.
type openThread struct {
	o *opencode
	// subagent is "" for the main session.
	subagent, base, model string
	usage                 plumb.Usage
	// texts are those of the step whose phase is not known yet; answer those of the last step that was the end.
	texts  []openText
	answer []string
	// began says that there was something before an error, tools that the step called tools.
	began, tools bool
	// reason is what the last step ended with; failure is set when an error came after it. denied is what was said when
	// the last tool call was refused.
	reason  string
	failure *plumb.Failure
	denied  string
}

type openText struct {
	transcript.Origin
	text string
	seen bool
}

// openPart is one part of a message. Which fields are set depends on its kind.
type openPart struct {
	kind, id, call, message, tool, text, reason       string
	state, time, tokens, cost, files, error, injected gjson.Result
}

func readPart(v gjson.Result) openPart {
	var f [15]gjson.Result
	transcript.Members(v, f[:], "type", "id", "callID", "messageID", "tool", "text", "reason", "state", "time", "tokens", "cost", "files", "error",
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
func (th *openThread) part(og transcript.Origin, part openPart, role string) {
	seen := th.know(part)
	th.began = th.began || role == transcript.RoleAssistant
	switch part.kind {
	case "step-start", "step_start":
		th.flush(transcript.PhaseCommentary)
		th.tools, th.denied = false, ""
	case "text":
		if part.injected.Bool() {
			return // OpenCode's own words, in the user's name
		}
		if at := transcript.TimeMs(part.time.Get("start")); at != nil {
			og.At = at
		}
		if role == transcript.RoleUser {
			if !seen {
				th.o.r.Message(og, transcript.RoleUser, "", part.text)
			}
			return
		}
		th.texts = append(th.texts, openText{og, strings.Clone(part.text), seen})
	case "reasoning":
		if at := transcript.TimeMs(part.time.Get("start")); at != nil {
			og.At = at
		}
		if !seen {
			th.o.r.Message(og, transcript.RoleAssistant, transcript.PhaseThinking, part.text)
		}
	case "tool":
		th.flush(transcript.PhaseCommentary)
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
				th.o.r.Step("", true)
			}
			if !th.o.counted[part.message] {
				th.tokens(og, part.tokens, part.cost)
			}
		}
	case "retry":
		if !seen {
			th.o.r.Note("opencode tried a request again: " + errorText(part.error))
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
	k := transcript.Hash("", id)
	seen := th.o.seen[k]
	th.o.seen[k] = true
	return seen
}

// ends closes a step.
func (th *openThread) ends(reason string) {
	phase := transcript.PhaseCommentary
	if endOfTurn(reason) {
		phase, th.answer = transcript.PhaseFinal, nil
	}
	th.flush(phase)
	th.reason, th.failure = strings.Clone(reason), nil
}

// flush records the texts of the step, whose phase is known now.
func (th *openThread) flush(phase string) {
	for _, text := range th.texts {
		if phase == transcript.PhaseFinal {
			th.answer = append(th.answer, text.text)
		}
		if !text.seen {
			th.o.r.Message(text.Origin, transcript.RoleAssistant, phase, text.text)
		}
	}
	th.texts = nil
}

// tool records a tool call and all that follows from it. It returns what was said if the call was refused.
func (th *openThread) tool(og transcript.Origin, part openPart, seen bool) (denied string) {
	var f [6]gjson.Result
	transcript.Members(part.state, f[:], "status", "output", "error", "time", "input", "metadata")
	name, status, output, times, input, meta := part.tool, f[0].String(), transcript.TextOf(f[1]), f[3], f[4], f[5]
	failed := status == "error" || name == "invalid"
	if status == "error" {
		if said := transcript.TextOf(f[2]); said != "" {
			output = said
		}
		if transcript.Refused(output) {
			denied = strings.Clone(output)
		}
	}
	if seen {
		return denied
	}
	r := th.o.r
	if og.Call = part.call; og.Call == "" {
		if og.Call = part.id; og.Call == "" {
			th.o.parts++
			og.Call = fmt.Sprintf("part-%d", th.o.parts)
		}
	}
	if at := transcript.TimeMs(times.Get("start")); at != nil {
		og.At = at
	}
	if name == "invalid" && input.Get("tool").String() != "" {
		name = input.Get("tool").String()
	}
	if name == "skill" {
		r.Skill(og, input.Get("name").String(), "tool:skill")
	}
	r.ToolCall(og, name, json.RawMessage(input.Raw))
	if name == "task" {
		th.o.child(input.Get("subagent_type").String(), meta)
	}
	done := og
	if at := transcript.TimeMs(times.Get("end")); at != nil {
		done.At = at
	}
	if status != "running" && status != "pending" {
		r.ToolResult(done, output, failed)
	}
	if !failed || name == "bash" {
		th.effects(og, name, input, meta)
	}
	if denied != "" {
		r.Denial(done, name, denied)
	}
	return denied
}

// effects records what a tool call did, beside having been called.
func (th *openThread) effects(og transcript.Origin, name string, input, meta gjson.Result) {
	r, path := th.o.r, input.Get("filePath").String()
	switch name {
	case "bash":
		for _, key := range []string{"workdir", "cwd"} {
			if dir := input.Get(key).String(); dir != "" {
				og.Base = transcript.Resolve(og.Base, dir)
				break
			}
		}
		r.Command(og, input.Get("command").String())
		if code := meta.Get("exit"); code.Type == gjson.Number {
			r.Exit(og.Call, int(code.Int()))
		}
	case "read":
		if meta.Get("display.type").String() != "directory" {
			r.FileRead(og, path)
		}
		for _, file := range meta.Get("loaded").Array() {
			r.Offer(plumb.OfferInstructions, transcript.BaseName(file.String()), file.String(), "")
		}
	case "write":
		kind := transcript.ChangeUpdate
		if exists := meta.Get("exists"); exists.Exists() && !exists.Bool() {
			kind = transcript.ChangeAdd
		}
		th.change(og, kind, path)
	case "edit", "multiedit":
		kind := transcript.ChangeUpdate
		if old := input.Get("oldString"); old.Exists() && old.String() == "" {
			kind = transcript.ChangeAdd // that is how the tool makes a file
		}
		th.change(og, kind, path)
	case "patch", "apply_patch":
		for file := range transcript.PatchedFiles(input.Get("patchText").String()) {
			th.change(og, file.Kind, file.Path)
		}
	case "skill":
		if dir := meta.Get("dir").String(); dir != "" {
			r.Offer(plumb.OfferSkill, input.Get("name").String(), transcript.Resolve(dir, "SKILL.md"), "")
		}
	}
}

// change records a file that a tool says it changed.
func (th *openThread) change(og transcript.Origin, kind, path string) {
	th.o.changed[th.o.r.Path(og, path)] = true
	th.o.r.FileChange(og, kind, path)
}

// patch records the files that OpenCode's snapshots say were changed, unless a tool said so: commands change files too.
func (th *openThread) patch(og transcript.Origin, files gjson.Result) {
	for _, file := range files.Array() {
		if !th.o.changed[th.o.r.Path(og, file.String())] {
			th.change(og, transcript.ChangeUpdate, file.String())
		}
	}
}

// tokens records what a step used. Whether OpenCode's output tokens include reasoning depends on the provider's API;
// the total tells.
func (th *openThread) tokens(og transcript.Origin, v, cost gjson.Result) {
	var f [5]gjson.Result
	transcript.Members(v, f[:], "input", "output", "reasoning", "cache", "total")
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
		At: og.At, Model: th.model, Subagent: th.subagent, InputTokens: &gross, OutputTokens: &out, ReasoningTokens: &reasoning,
		CacheTokens: &read, CacheWriteTokens: &write,
	}
	th.usage.Add(transcript.UsageOf(u))
	th.o.r.Request(u)
	if th.subagent == "" && cost.Type == gjson.Number {
		th.o.cost += max(0, cost.Float())
	}
}

// ended reports whether the last step was the end.
func (th *openThread) ended() bool { return endOfTurn(th.reason) && th.failure == nil }

// endOfTurn reports whether a step with this reason is the last of a turn.
func endOfTurn(reason string) bool {
	return reason == "stop" || reason == "length" || reason == "content-filter" || reason == "other"
}
