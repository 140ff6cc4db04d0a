package opencode

import (
	"cmp"
	"fmt"
	"strings"
	"time"

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
	// texts are the texts of the current step, whose phase is not known yet. answer are the texts
	// of the last final step.
	texts  []openText
	answer []string
	// began means that there was a part before an error. tools means that the step called tools.
	began, tools bool
	// reason is the reason of the last step. failure is the error that followed it. denied is the
	// message of the last tool call, if it was denied.
	reason  string
	failure *plumb.Failure
	denied  string
}

type openText struct {
	transcript.Origin
	text string
	seen bool
}

// partID returns the ID of a part, or else of its call.
func partID(p *transcript.Fields) string {
	return cmp.Or(p.Get("id").String(), p.Get("callID").String())
}

// at returns the time in a field of the times of a part or its state; if there is none, it returns
// other.
func at(times gjson.Result, field string, other *time.Time) *time.Time {
	return cmp.Or(transcript.TimeMs(times.Get(field)), other)
}

// part records one part of a message once.
func (th *openThread) part(og transcript.Origin, value gjson.Result, role string) {
	part := &th.o.part
	part.Of(value)
	seen := th.know(part)
	r, text := th.o.r, part.Get("text").String()
	th.began = th.began || role == transcript.RoleAssistant
	switch part.Get("type").String() {
	case "step-start", "step_start":
		th.flush(transcript.PhaseCommentary)
		th.tools, th.denied = false, ""
	case "text":
		og.At = at(part.Get("time"), "start", og.At)
		switch {
		case part.Get("synthetic").Bool() || part.Get("ignored").Bool(): // OpenCode added it
		case role != transcript.RoleUser:
			th.texts = append(th.texts, openText{og, strings.Clone(text), seen})
		case !seen:
			r.Message(og, transcript.RoleUser, "", text)
		}
	case "reasoning":
		if og.At = at(part.Get("time"), "start", og.At); !seen {
			r.Message(og, transcript.RoleAssistant, transcript.PhaseThinking, text)
		}
	case "tool":
		th.flush(transcript.PhaseCommentary)
		th.tools, th.denied = true, th.tool(og, part, seen)
	case "step-finish", "step_finish":
		reason := part.Get("reason").String()
		if reason == "" && !th.tools {
			reason = "stop"
		}
		if th.ends(reason); seen {
			break
		}
		if th.subagent == "" {
			r.Report.Steps++
		}
		if !th.o.counted[part.Get("messageID").String()] {
			th.tokens(og, part.Get("tokens"), part.Get("cost"))
		}
	case "retry":
		if !seen {
			r.Note("opencode tried a request again: " + errorText(part.Get("error")))
		}
	case "patch":
		if !seen {
			th.patch(og, part.Get("files"))
		}
	}
}

// know reports whether a part is recorded, and remembers it.
func (th *openThread) know(part *transcript.Fields) bool {
	id := partID(part)
	if id == "" || len(th.o.exports) == 0 {
		return false // without exports, each part is written once
	}
	k := transcript.Hash("", id)
	seen := th.o.seen[k]
	th.o.seen[k] = true
	return seen
}

// ends ends a step.
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

// tool records a tool call and its effects. It returns the message if the call was denied.
func (th *openThread) tool(og transcript.Origin, part *transcript.Fields, seen bool) (denied string) {
	state := &th.o.state
	state.Of(part.Get("state"))
	name, status, output := part.Get("tool").String(), state.Get("status").String(), transcript.TextOf(state.Get("output"))
	times, input, meta := state.Get("time"), state.Get("input"), state.Get("metadata")
	failed := status == "error" || name == "invalid"
	if status == "error" {
		output = cmp.Or(transcript.TextOf(state.Get("error")), output)
		if transcript.Refused(output) {
			denied = strings.Clone(output)
		}
	}
	if seen {
		return denied
	}
	r := th.o.r
	if og.Call = cmp.Or(part.Get("callID").String(), partID(part)); og.Call == "" {
		th.o.parts++
		og.Call = fmt.Sprintf("part-%d", th.o.parts)
	}
	og.At = at(times, "start", og.At)
	if name == "invalid" {
		name = cmp.Or(input.Get("tool").String(), name)
	}
	if name == "skill" {
		r.Skill(og, input.Get("name").String(), "tool:skill")
	}
	r.ToolCall(og, name, input.Raw)
	if name == "task" {
		th.o.child(input.Get("subagent_type").String(), meta)
	}
	done := og
	done.At = at(times, "end", og.At)
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

// effects records the effects of a tool call.
func (th *openThread) effects(og transcript.Origin, name string, input, meta gjson.Result) {
	r, path := th.o.r, input.Get("filePath").String()
	switch name {
	case "bash":
		if dir := transcript.FirstText(input, "workdir", "cwd"); dir != "" {
			og.Base = transcript.Resolve(og.Base, dir)
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
			kind = transcript.ChangeAdd // the tool creates files this way
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

// change records a file that a tool reports as changed.
func (th *openThread) change(og transcript.Origin, kind, path string) {
	th.o.changed[th.o.r.Path(og, path)] = true
	th.o.r.FileChange(og, kind, path)
}

// patch records the changed files of OpenCode's snapshots that no tool has reported: commands
// change files too.
func (th *openThread) patch(og transcript.Origin, files gjson.Result) {
	for _, file := range files.Array() {
		if !th.o.changed[th.o.r.Path(og, file.String())] {
			th.change(og, transcript.ChangeUpdate, file.String())
		}
	}
}

// tokens records the usage of a step. The provider's API decides whether OpenCode's output tokens
// include reasoning; the total shows it.
func (th *openThread) tokens(og transcript.Origin, v, cost gjson.Result) {
	counts := &th.o.state
	counts.Of(v)
	input, output, reasoning := counts.Get("input").Int(), counts.Get("output").Int(), counts.Get("reasoning").Int()
	read, write := counts.Get("cache").Get("read").Int(), counts.Get("cache").Get("write").Int()
	if min(input, output, reasoning, read, write) < 0 || input+output+reasoning+read+write == 0 {
		return
	}
	gross := input + read + write
	out := output + reasoning
	if total := counts.Get("total").Int() - gross; total >= output && total < out {
		out = total
	}
	u := plumb.Usage{
		InputTokens: &gross, OutputTokens: &out, ReasoningTokens: &reasoning, CacheTokens: &read, CacheWriteTokens: &write,
	}
	th.usage.Add(u)
	og.Subagent = th.subagent
	th.o.r.Request(og, th.model, u)
	if th.subagent == "" && cost.Type == gjson.Number {
		th.o.cost += max(0, cost.Float())
	}
}

// ended reports whether the session ended with the last step.
func (th *openThread) ended() bool { return endOfTurn(th.reason) && th.failure == nil }

// endOfTurn reports whether a step with this reason is the last of a turn.
func endOfTurn(reason string) bool {
	return reason == "stop" || reason == "length" || reason == "content-filter" || reason == "other"
}
