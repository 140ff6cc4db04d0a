package agentcli

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// The bounds of a report, so that a transcript of any length becomes a report of bounded size. They are the same for every
// transcript; a report notes each bound that it has reached.
const (
	// maxText is how many bytes are kept of one text, maxTexts how many of all texts. After half of maxTexts only shortText
	// is kept of each text, and after all of it nothing. The final output does not count.
	maxText   = 256 << 10
	maxTexts  = 8 << 20
	shortText = 256
	// Commands, paths and names are kept up to maxName bytes each, whatever came before, and up to maxNames together.
	maxName  = 64 << 10
	maxNames = 24 << 20
	// fullEvents is how many events of any kind are kept. After that, messages, results and the tool calls that commands
	// are get no event; commands, file reads and changes, skills and denials still do.
	fullEvents = 20_000
	// maxEvents is how many events a session may have. With more it is not a measurement, and keptAnyway events are kept.
	maxEvents  = 200_000
	keptAnyway = 10 << 10
	// maxRequests is how many requests have their usage listed.
	maxRequests = 40_000
	maxNotes    = 50
	// maxList bounds the lists of things that a session has few of.
	maxList = 10_000
)

// The phases of an assistant's messages.
const (
	phaseThinking   = "thinking"
	phaseCommentary = "commentary"
	phaseFinal      = "final"
)

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// The kinds of file changes.
const (
	changeAdd    = "add"
	changeUpdate = "update"
	changeDelete = "delete"
)

// origin is where something that was observed comes from.
type origin struct {
	at *time.Time
	// call joins a tool call, its result, and what else is derived from it.
	call string
	// subagent is "" for the main thread.
	subagent string
	// base is where relative paths start; "" is the session's directory.
	base string
}

// recorder collects what a normaliser finds in a transcript into one session report. It keeps the rules that all agents
// share: what is counted once, how texts and lists are bounded, which skills were used, how a session ended.
type recorder struct {
	format *Format
	report *plumb.SessionReport
	// cwd is the session's directory.
	cwd string
	// top are the members of the record that is being read.
	top fields
	// sawRecords counts the records that were understood. Without any there is no report.
	sawRecords int
	// skillEvidence is the evidence of a skill that was loaded by a tool.
	skillEvidence string

	strange      int // lines that are not understood, of which the first begins so
	firstStrange string
	firstStray   string         // the first of those that are no records at all
	unknown      map[string]int // records of unknown types

	ended    bool // there was a terminal record
	failure  *plumb.Failure
	final    string
	hasFinal bool

	calls  map[string]*call
	names  map[string]string // interned
	offers map[plumb.Offer]bool
	steps  map[string]bool
	noted  map[string]bool
	// missing is what results say of missing files, by call.
	missing map[string][]string
	// answer is the last final message of the main thread, whole.
	answer string

	texts, longs int  // bytes that are kept of them
	cut          bool // a text of the next event was
	overflow     bool // the report cannot hold all
}

// call is what is remembered of a tool call: its events lie between first and last.
type call struct {
	id, tool    string
	first, last int
	denied      bool
}

func newRecorder(format *Format, t *Transcript) *recorder {
	r := &recorder{
		format: format,
		report: &plumb.SessionReport{
			Prompt: t.Prompt, ExitCode: t.ExitCode, Events: []plumb.SessionEvent{},
			RawArtifacts: plumb.RawArtifacts{StdoutPath: t.Stdout, StderrPath: t.Stderr},
		},
		cwd: t.Cwd, skillEvidence: "Loaded via skill tool",
		unknown: map[string]int{}, names: map[string]string{}, offers: map[plumb.Offer]bool{}, calls: map[string]*call{},
		steps: map[string]bool{}, noted: map[string]bool{}, missing: map[string][]string{},
	}
	return r
}

// records calls fn with each record of a JSONL file; fn reports whether it knows the record's type. The recorder copies what
// it keeps, since a part of a record would keep the whole line in memory. A file that does not exist has no records.
func (r *recorder) records(path string, fn func(rec gjson.Result) bool) error {
	if path == "" {
		return nil
	}
	return eachLine(path, func(line []byte) error {
		text := string(line)
		if !r.top.readObject(text) {
			r.stray(line)
			return nil
		}
		rec := gjson.Result{Type: gjson.JSON, Raw: text}
		if fn(rec) {
			r.sawRecords++
		} else if kind := rec.Get("type").String(); len(r.unknown) < maxNotes || r.unknown[kind] > 0 {
			r.strange++
			if r.firstStrange == "" {
				r.firstStrange = head(string(line))
			}
			r.unknown[head(kind)]++
		}
		return nil
	})
}

// stray counts a line that is no record.
func (r *recorder) stray(line []byte) {
	r.strange++
	if r.firstStrange == "" {
		r.firstStrange = head(string(line))
	}
	if r.firstStray == "" {
		r.firstStray = head(string(line))
	}
	r.unknown[""]++
}

func head(s string) string { return strings.Clone(clip(s, 100)) }

// message records what was said. Phase is one of the phases for assistants and "" for users.
func (r *recorder) message(o origin, role, phase, text string) {
	if text == "" {
		return
	}
	if phase == phaseThinking && o.subagent == "" {
		r.report.Usage.ReasoningChars += chars(text)
	}
	if role == roleAssistant && phase == phaseFinal && o.subagent == "" {
		r.answer = whole(text)
	}
	if o.call = ""; r.admits(plumb.SessionMessage) {
		e := plumb.SessionEvent{Type: plumb.SessionMessage, Role: role, Phase: phase}
		e.Text = r.text(text)
		r.add(e, o)
	}
}

// rephrase sets the phase of the message with the index i, which a later record tells. An index without a message is
// ignored.
func (r *recorder) rephrase(i int, phase string) {
	if i >= 0 && i < len(r.report.Events) && r.report.Events[i].Type == plumb.SessionMessage {
		r.report.Events[i].Phase = phase
	}
}

// toolCall records that a tool was called; the tool is remembered for the call's result.
func (r *recorder) toolCall(o origin, tool string, args json.RawMessage) {
	if !r.admits(plumb.SessionToolCall) {
		return
	}
	e := plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: r.name(tool)}
	e.Args = r.args(args)
	r.add(e, o)
	if c := r.calls[o.call]; c != nil {
		c.tool = e.Tool
	}
}

// toolResult records what a tool answered. If that is an error, then what the call was taken for did not happen: files
// that the tool was to read or change, and the skill it was to load, are no longer reported. Commands stay, and what
// they are known to read.
func (r *recorder) toolResult(o origin, output string, isError bool) {
	if o.call != "" && len(r.missing) < maxList && strings.Contains(output, noSuchFile) {
		id := r.name(o.call)
		r.missing[id] = append(r.missing[id], missingIn(output)...)
	}
	if r.admits(plumb.SessionToolResult) {
		e := plumb.SessionEvent{Type: plumb.SessionToolResult, IsError: isError}
		if c := r.calls[o.call]; c != nil {
			e.Tool = c.tool
		}
		e.Output = r.text(output)
		r.add(e, o)
	}
	if isError {
		r.retract(o.call, false)
	}
}

// command records a command that the agent ran, and the files that its text says it reads.
func (r *recorder) command(o origin, command string) {
	if !r.commandOnly(o, command) {
		return
	}
	for _, path := range shellReads(command) {
		r.fileRead(o, path)
	}
}

// commandOnly is command for agents that say themselves which files a command reads.
func (r *recorder) commandOnly(o origin, command string) bool {
	if strings.TrimSpace(command) == "" {
		return false
	}
	if !r.admits(plumb.SessionCommand) {
		return true
	}
	e := plumb.SessionEvent{Type: plumb.SessionCommand, Command: r.copied(command)}
	if len(r.report.Events) >= fullEvents { // it takes the place of the tool call that it is
		for call := range r.eventsOf(o.call) {
			if call.Type == plumb.SessionToolCall {
				r.incomplete(plumb.SessionToolCall)
				e.At, e.CallID, e.Subagent, e.Truncated = call.At, call.CallID, call.Subagent, r.cut
				*call, r.cut = e, false
				return true
			}
		}
	}
	r.add(e, o)
	return true
}

// exit completes the commands of a call with their exit code.
func (r *recorder) exit(callID string, code int) {
	for e := range r.eventsOf(callID) {
		if e.Type == plumb.SessionCommand && e.ExitCode == nil {
			e.ExitCode = &code
		}
	}
}

// fileRead records that a file was read; a call reads each file once.
func (r *recorder) fileRead(o origin, path string) {
	path = r.path(o, path)
	if path != "" && r.find(o.call, plumb.SessionFileRead, path) == nil && r.admits(plumb.SessionFileRead) {
		r.add(plumb.SessionEvent{Type: plumb.SessionFileRead, Path: r.name(path)}, o)
	}
}

// find returns the event of a call that has a type and names a path or a skill, nil if there is none.
func (r *recorder) find(call string, kind plumb.SessionEventType, about string) *plumb.SessionEvent {
	for e := range r.eventsOf(call) {
		if e.Type == kind && e.Path+e.Skill == about {
			return e
		}
	}
	return nil
}

// fileChange records that the agent reports a change of a file. Kind is "add", "update" or "delete".
func (r *recorder) fileChange(o origin, kind, path string) {
	path = r.path(o, path)
	if path == "" {
		return
	}
	if e := r.find(o.call, plumb.SessionFileChange, path); e != nil {
		e.Change = r.name(kind) // the later record is more exact
		return
	}
	if r.admits(plumb.SessionFileChange) {
		r.add(plumb.SessionEvent{Type: plumb.SessionFileChange, Change: r.name(kind), Path: r.name(path)}, o)
	}
}

// skill records that a tool loaded a skill.
func (r *recorder) skill(o origin, name, signal string) {
	if name != "" && r.find(o.call, plumb.SessionSkill, name) == nil && r.admits(plumb.SessionSkill) {
		r.add(plumb.SessionEvent{Type: plumb.SessionSkill, Skill: r.copied(name), Signal: r.name(signal)}, o)
	}
}

// denial records that the agent was not allowed to do something; the same call is denied once. What the call was taken
// for did not happen; its command stays, as an attempt, and is marked as an error.
func (r *recorder) denial(o origin, tool, message string) {
	c := r.calls[o.call]
	if c != nil {
		if c.denied {
			return
		}
		if tool == "" {
			tool = c.tool
		}
		c.denied = true
	} else if len(r.report.PermissionDenials) >= maxList || slices.ContainsFunc(r.report.PermissionDenials, func(d plumb.PermissionDenial) bool {
		return d.Tool == tool && d.CallID == o.call && d.Message == message
	}) {
		return
	}
	r.retract(o.call, true)
	if r.admits(plumb.SessionDenial) {
		e := plumb.SessionEvent{Type: plumb.SessionDenial, Tool: r.name(tool)}
		e.Text = r.text(message)
		r.add(e, o)
	}
	d := plumb.PermissionDenial{Tool: r.name(tool), CallID: strings.Clone(clip(o.call, maxName)), Message: whole(message), At: o.at}
	r.report.PermissionDenials = append(r.report.PermissionDenials, d)
}

// retract takes back what a call was taken for. Unless all of it goes, a call that ran a command keeps what the command
// is known to read, since a failing command may have read some of it.
func (r *recorder) retract(callID string, all bool) {
	if !all {
		for e := range r.eventsOf(callID) {
			if e.Type == plumb.SessionCommand {
				return
			}
		}
	}
	for e := range r.eventsOf(callID) {
		switch e.Type {
		case plumb.SessionFileRead, plumb.SessionFileChange, plumb.SessionSkill:
			e.Type = retracted
		case plumb.SessionCommand:
			e.IsError = true
		default:
		}
	}
}

// retracted is the type of an event that did not happen. It is removed in the end, so that indexes stay valid until then.
const retracted plumb.SessionEventType = ""

// offer records what the agent found when it began, each once.
func (r *recorder) offer(kind plumb.OfferKind, name, path, source string) {
	if name == "" || len(r.offers) >= maxList {
		return
	}
	o := plumb.Offer{Kind: kind, Name: r.copied(name), Path: r.name(path), Source: r.name(source)}
	if !r.offers[o] {
		r.offers[o] = true
		r.report.Offered = append(r.report.Offered, o)
	}
}

// subagent records an agent that the session started, or adds to what is known of it.
func (r *recorder) subagent(id, kind string, usage *plumb.Usage) {
	if id == "" {
		return
	}
	i := slices.IndexFunc(r.report.Subagents, func(s plumb.Subagent) bool { return s.ID == id })
	if i < 0 {
		if len(r.report.Subagents) >= maxList {
			return
		}
		r.report.Subagents = append(r.report.Subagents, plumb.Subagent{ID: r.copied(id)})
		i = len(r.report.Subagents) - 1
	}
	s := &r.report.Subagents[i]
	if kind != "" {
		s.Type = r.name(kind)
	}
	if usage != nil {
		usage.Total()
		s.Usage = usage
	}
}

// request records what one request to the model used.
func (r *recorder) request(u plumb.RequestUsage) {
	if n := len(r.report.RequestUsage); n < maxRequests {
		u.Model, u.Subagent = r.name(u.Model), r.name(u.Subagent)
		r.report.RequestUsage = append(r.report.RequestUsage, u)
	}
}

// note tells the reader of the report something, once.
func (r *recorder) note(text string) {
	text = strings.Clone(clip(text, 2*shortText))
	if text != "" && len(r.noted) < maxNotes && !r.noted[text] {
		r.noted[text] = true
		r.report.Notes = append(r.report.Notes, text)
	}
}

// step counts a step of the agent: each id once, and one without an id if anonymous.
func (r *recorder) step(id string, anonymous bool) {
	switch {
	case id == "" && anonymous:
		r.report.Steps++
	case id != "" && !r.steps[id]:
		r.steps[strings.Clone(id)] = true
		r.report.Steps++
	}
}

// finished records the terminal record of a session that went well. If has, that record carries the final output.
func (r *recorder) finished(final string, has bool) {
	r.ended, r.failure = true, nil
	if has {
		r.final, r.hasFinal = whole(final), true
	}
}

// failed records the terminal record of a session that failed; the first such record counts unless finished follows.
func (r *recorder) failed(f *plumb.Failure) {
	r.ended = true
	if r.failure == nil {
		r.failure = f
	}
}

// incomplete notes that the report does not have all events of a type, so that no check concludes anything from their absence.
func (r *recorder) incomplete(kind plumb.SessionEventType) {
	if !slices.Contains(r.report.Incomplete, string(kind)) {
		r.report.Incomplete = append(r.report.Incomplete, string(kind))
	}
}

// admits reports whether there is room for an event.
func (r *recorder) admits(kind plumb.SessionEventType) bool {
	n := len(r.report.Events)
	if n >= fullEvents && !r.overflow {
		r.note(fmt.Sprintf("the session has more than %d events: the rest has neither messages, nor results, nor the tool calls of commands; "+
			"commands, file reads and changes, and skills are complete", fullEvents))
		if kind == plumb.SessionMessage || kind == plumb.SessionToolResult {
			r.incomplete(kind)
			return false
		}
	}
	r.overflow = r.overflow || n >= maxEvents
	return !r.overflow
}

// add appends an event.
func (r *recorder) add(e plumb.SessionEvent, o origin) {
	e.At, e.Subagent, e.Truncated, r.cut = o.at, r.name(o.subagent), r.cut, false
	n := len(r.report.Events)
	if n > 0 && e.At != nil && r.report.Events[n-1].At != nil && e.At.Equal(*r.report.Events[n-1].At) {
		e.At = r.report.Events[n-1].At // most events of a record have the time of the record
	}
	if o.call != "" {
		c := r.calls[o.call]
		if c == nil {
			c = &call{id: r.copied(o.call), first: n}
			r.calls[c.id] = c
		}
		c.last, e.CallID = n, c.id
	}
	r.report.Events = append(r.report.Events, e)
}

// eventsOf yields the events of a call, the latest of very many.
func (r *recorder) eventsOf(callID string) iter.Seq[*plumb.SessionEvent] {
	return func(yield func(*plumb.SessionEvent) bool) {
		c := r.calls[callID]
		if c == nil {
			return
		}
		const most = 1000 // a call id that is used for everything must not cost the square of it
		for i := max(c.first, c.last-most); i <= c.last; i++ {
			if e := &r.report.Events[i]; e.CallID == c.id && !yield(e) {
				return
			}
		}
	}
}

// path makes a path of the transcript absolute.
func (r *recorder) path(o origin, name string) string {
	base := o.base
	if base == "" || !absolute(base) {
		base = resolve(r.cwd, base)
	}
	if base == "" {
		base = r.cwd
	}
	return resolve(base, name)
}
