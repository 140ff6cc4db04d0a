package transcript

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
	// MaxText is how many bytes are kept of one text, maxTexts how many of all texts. After half of maxTexts only shortText
	// is kept of each text, and after all of it nothing. The final output does not count.
	MaxText   = 256 << 10
	maxTexts  = 8 << 20
	ShortText = 256
	// Commands, paths and names are kept up to maxName bytes each, whatever came before, and up to maxNames together.
	MaxName  = 64 << 10
	maxNames = 24 << 20
	// fullEvents is how many events of any kind are kept. After that, messages, results and the tool calls that commands
	// are get no event; commands, file changes, skills and denials still do. File reads are listed without their events.
	fullEvents = 20_000
	// maxEvents is how many events a session may have. With more it is not a measurement, and keptAnyway events are kept.
	maxEvents  = 200_000
	keptAnyway = 10 << 10
	// maxRequests is how many requests have their usage listed.
	maxRequests = 40_000
	MaxNotes    = 50
	// maxList bounds the lists of things that a session has few of.
	maxList = 10_000
)

// The phases of an assistant's messages.
const (
	PhaseThinking   = "thinking"
	PhaseCommentary = "commentary"
	PhaseFinal      = "final"
)

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// The kinds of file changes.
const (
	ChangeAdd    = "add"
	ChangeUpdate = "update"
	ChangeDelete = "delete"
)

// Origin is where something that was observed comes from.
type Origin struct {
	At *time.Time
	// call joins a tool call, its result, and what else is derived from it.
	Call string
	// subagent is "" for the main thread.
	Subagent string
	// base is where relative paths start; "" is the session's directory.
	Base string
}

// Recorder collects what a normaliser finds in a transcript into one session report. It keeps the rules that all agents
// share: what is counted once, how texts and lists are bounded, which skills were used, how a session ended.
type Recorder struct {
	Format *Format
	Report *plumb.SessionReport
	// cwd is the session's directory.
	Cwd string
	// top are the members of the record that is being read.
	Top Fields
	// sawRecords counts the records that were understood. Without any there is no report.
	SawRecords int
	// skillEvidence is the evidence of a skill that was loaded by a tool.
	SkillEvidence string

	Strange      int // lines that are not understood, of which the first begins so
	firstStrange string
	firstStray   string         // the first of those that are no records at all
	Unknown      map[string]int // records of unknown types

	Ended    bool // there was a terminal record
	Failure  *plumb.Failure
	Final    string
	HasFinal bool

	calls  map[string]*call
	names  map[string]string // interned
	offers map[plumb.Offer]bool
	steps  map[string]bool
	noted  map[string]bool
	// missing is what results say of missing files, by call.
	missing map[string][]string
	late    []lateRead
	// answer is the last final message of the main thread, whole.
	Answer string

	texts, longs int  // bytes that are kept of them
	cut          bool // a text of the next event was
	overflow     bool // the report cannot hold all
}

// lateRead is a file read after fullEvents, which is listed without an event.
type lateRead struct{ call, path string }

// call is what is remembered of a tool call: its events lie between first and last.
type call struct {
	id, tool    string
	first, last int
	denied      bool
}

// NewRecorder returns a recorder for one transcript.
func NewRecorder(format *Format, t *Transcript) *Recorder {
	r := &Recorder{
		Format: format,
		Report: &plumb.SessionReport{
			Prompt: t.Prompt, ExitCode: t.ExitCode, Events: []plumb.SessionEvent{},
			RawArtifacts: plumb.RawArtifacts{StdoutPath: t.Stdout, StderrPath: t.Stderr},
		},
		Cwd: t.Cwd, SkillEvidence: "Loaded via skill tool",
		Unknown: map[string]int{}, names: map[string]string{}, offers: map[plumb.Offer]bool{}, calls: map[string]*call{},
		steps: map[string]bool{}, noted: map[string]bool{}, missing: map[string][]string{},
	}
	return r
}

// Records calls fn with each record of a JSONL file; fn reports whether it knows the record's type. The recorder copies what
// it keeps, since a part of a record would keep the whole line in memory. A file that does not exist has no records.
func (r *Recorder) Records(path string, fn func(rec gjson.Result) bool) error {
	if path == "" {
		return nil
	}
	return EachLine(path, func(line []byte) error {
		text := string(line)
		if !r.Top.readObject(text) {
			r.Stray(line)
			return nil
		}
		rec := gjson.Result{Type: gjson.JSON, Raw: text}
		if fn(rec) {
			r.SawRecords++
		} else if kind := rec.Get("type").String(); len(r.Unknown) < MaxNotes || r.Unknown[kind] > 0 {
			r.Strange++
			if r.firstStrange == "" {
				r.firstStrange = Head(string(line))
			}
			r.Unknown[Head(kind)]++
		}
		return nil
	})
}

// Stray counts a line that is no record.
func (r *Recorder) Stray(line []byte) {
	r.Strange++
	if r.firstStrange == "" {
		r.firstStrange = Head(string(line))
	}
	if r.firstStray == "" {
		r.firstStray = Head(string(line))
	}
	r.Unknown[""]++
}

// Head returns the beginning of a text, for a message.
func Head(s string) string { return strings.Clone(Clip(s, 100)) }

// Message records what was said. Phase is one of the phases for assistants and "" for users.
func (r *Recorder) Message(o Origin, role, phase, text string) {
	if text == "" {
		return
	}
	if phase == PhaseThinking && o.Subagent == "" {
		r.Report.Usage.ReasoningChars += chars(text)
	}
	if role == RoleAssistant && phase == PhaseFinal && o.Subagent == "" {
		r.Answer = Whole(text)
	}
	if o.Call = ""; r.admits(plumb.SessionMessage) {
		e := plumb.SessionEvent{Type: plumb.SessionMessage, Role: role, Phase: phase}
		e.Text = r.text(text)
		r.add(e, o)
	}
}

// Rephrase sets the phase of the message with the index i, which a later record tells. An index without a message is
// ignored.
func (r *Recorder) Rephrase(i int, phase string) {
	if i >= 0 && i < len(r.Report.Events) && r.Report.Events[i].Type == plumb.SessionMessage {
		r.Report.Events[i].Phase = phase
	}
}

// ToolCall records that a tool was called; the tool is remembered for the call's result.
func (r *Recorder) ToolCall(o Origin, tool string, args json.RawMessage) {
	if !r.admits(plumb.SessionToolCall) {
		return
	}
	e := plumb.SessionEvent{Type: plumb.SessionToolCall, Tool: r.Name(tool)}
	e.Args = r.args(args)
	r.add(e, o)
	if c := r.calls[o.Call]; c != nil {
		c.tool = e.Tool
	}
}

// ToolResult records what a tool answered. If that is an error, then what the call was taken for did not happen: files
// that the tool was to read or change, and the skill it was to load, are no longer reported. Commands stay, and what
// they are known to read.
func (r *Recorder) ToolResult(o Origin, output string, isError bool) {
	if o.Call != "" && len(r.missing) < maxList && strings.Contains(output, noSuchFile) {
		id := r.Name(o.Call)
		r.missing[id] = append(r.missing[id], missingIn(output)...)
	}
	if r.admits(plumb.SessionToolResult) {
		e := plumb.SessionEvent{Type: plumb.SessionToolResult, IsError: isError}
		if c := r.calls[o.Call]; c != nil {
			e.Tool = c.tool
		}
		e.Output = r.text(output)
		r.add(e, o)
	}
	if isError {
		r.retract(o.Call, false)
	}
}

// Command records a command that the agent ran, and the files that its text says it reads.
func (r *Recorder) Command(o Origin, command string) {
	if !r.CommandOnly(o, command) {
		return
	}
	for _, path := range ShellReads(command) {
		r.FileRead(o, path)
	}
}

// CommandOnly is command for agents that say themselves which files a command reads.
func (r *Recorder) CommandOnly(o Origin, command string) bool {
	if strings.TrimSpace(command) == "" {
		return false
	}
	if !r.admits(plumb.SessionCommand) {
		return true
	}
	e := plumb.SessionEvent{Type: plumb.SessionCommand, Command: r.copied(command)}
	if len(r.Report.Events) >= fullEvents { // it takes the place of the tool call that it is
		for call := range r.eventsOf(o.Call) {
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

// Exit completes the commands of a call with their exit code.
func (r *Recorder) Exit(callID string, code int) {
	for e := range r.eventsOf(callID) {
		if e.Type == plumb.SessionCommand && e.ExitCode == nil {
			e.ExitCode = &code
		}
	}
}

// FileRead records that a file was read; a call reads each file once.
func (r *Recorder) FileRead(o Origin, path string) {
	path = r.Path(o, path)
	if path != "" && len(r.Report.Events) >= fullEvents && !r.overflow {
		r.incomplete(plumb.SessionFileRead)
		r.late = append(r.late, lateRead{r.Name(o.Call), r.Name(path)})
		return
	}
	if path != "" && r.find(o.Call, plumb.SessionFileRead, path) == nil && r.admits(plumb.SessionFileRead) {
		r.add(plumb.SessionEvent{Type: plumb.SessionFileRead, Path: r.Name(path)}, o)
	}
}

// find returns the event of a call that has a type and names a path or a skill, nil if there is none.
func (r *Recorder) find(call string, kind plumb.SessionEventType, about string) *plumb.SessionEvent {
	for e := range r.eventsOf(call) {
		if e.Type == kind && e.Path+e.Skill == about {
			return e
		}
	}
	return nil
}

// FileChange records that the agent reports a change of a file. Kind is "add", "update" or "delete".
func (r *Recorder) FileChange(o Origin, kind, path string) {
	path = r.Path(o, path)
	if path == "" {
		return
	}
	if e := r.find(o.Call, plumb.SessionFileChange, path); e != nil {
		e.Change = r.Name(kind) // the later record is more exact
		return
	}
	if r.admits(plumb.SessionFileChange) {
		r.add(plumb.SessionEvent{Type: plumb.SessionFileChange, Change: r.Name(kind), Path: r.Name(path)}, o)
	}
}

// Skill records that a tool loaded a skill.
func (r *Recorder) Skill(o Origin, name, signal string) {
	if name != "" && r.find(o.Call, plumb.SessionSkill, name) == nil && r.admits(plumb.SessionSkill) {
		r.add(plumb.SessionEvent{Type: plumb.SessionSkill, Skill: r.copied(name), Signal: r.Name(signal)}, o)
	}
}

// Denial records that the agent was not allowed to do something; the same call is denied once. What the call was taken
// for did not happen; its command stays, as an attempt, and is marked as an error.
func (r *Recorder) Denial(o Origin, tool, message string) {
	c := r.calls[o.Call]
	if c != nil {
		if c.denied {
			return
		}
		if tool == "" {
			tool = c.tool
		}
		c.denied = true
	} else if len(r.Report.PermissionDenials) >= maxList || slices.ContainsFunc(r.Report.PermissionDenials, func(d plumb.PermissionDenial) bool {
		return d.Tool == tool && d.CallID == o.Call && d.Message == message
	}) {
		return
	}
	r.retract(o.Call, true)
	if r.admits(plumb.SessionDenial) {
		e := plumb.SessionEvent{Type: plumb.SessionDenial, Tool: r.Name(tool)}
		e.Text = r.text(message)
		r.add(e, o)
	}
	d := plumb.PermissionDenial{Tool: r.Name(tool), CallID: strings.Clone(Clip(o.Call, MaxName)), Message: Whole(message), At: o.At}
	r.Report.PermissionDenials = append(r.Report.PermissionDenials, d)
}

// retract takes back what a call was taken for. Unless all of it goes, a call that ran a command keeps what the command
// is known to read, since a failing command may have read some of it.
func (r *Recorder) retract(callID string, all bool) {
	if !all {
		for e := range r.eventsOf(callID) {
			if e.Type == plumb.SessionCommand {
				return
			}
		}
	}
	const recent = 64
	for i := max(0, len(r.late)-recent); i < len(r.late); i++ {
		if r.late[i].call == callID && callID != "" {
			r.late[i].path = ""
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

// Offer records what the agent found when it began, each once.
func (r *Recorder) Offer(kind plumb.OfferKind, name, path, source string) {
	if name == "" || len(r.offers) >= maxList {
		return
	}
	o := plumb.Offer{Kind: kind, Name: r.copied(name), Path: r.Name(path), Source: r.Name(source)}
	if !r.offers[o] {
		r.offers[o] = true
		r.Report.Offered = append(r.Report.Offered, o)
	}
}

// Subagent records an agent that the session started, or adds to what is known of it.
func (r *Recorder) Subagent(id, kind string, usage *plumb.Usage) {
	if id == "" {
		return
	}
	i := slices.IndexFunc(r.Report.Subagents, func(s plumb.Subagent) bool { return s.ID == id })
	if i < 0 {
		if len(r.Report.Subagents) >= maxList {
			return
		}
		r.Report.Subagents = append(r.Report.Subagents, plumb.Subagent{ID: r.copied(id)})
		i = len(r.Report.Subagents) - 1
	}
	s := &r.Report.Subagents[i]
	if kind != "" {
		s.Type = r.Name(kind)
	}
	if usage != nil {
		usage.Total()
		s.Usage = usage
	}
}

// Request records what one request to the model used.
func (r *Recorder) Request(u plumb.RequestUsage) {
	if n := len(r.Report.RequestUsage); n < maxRequests {
		u.Model, u.Subagent = r.Name(u.Model), r.Name(u.Subagent)
		r.Report.RequestUsage = append(r.Report.RequestUsage, u)
	}
}

// Note tells the reader of the report something, once.
func (r *Recorder) Note(text string) {
	text = strings.Clone(Clip(text, 2*ShortText))
	if text != "" && len(r.noted) < MaxNotes && !r.noted[text] {
		r.noted[text] = true
		r.Report.Notes = append(r.Report.Notes, text)
	}
}

// Step counts a step of the agent: each id once, and one without an id if anonymous.
func (r *Recorder) Step(id string, anonymous bool) {
	switch {
	case id == "" && anonymous:
		r.Report.Steps++
	case id != "" && !r.steps[id]:
		r.steps[strings.Clone(id)] = true
		r.Report.Steps++
	}
}

// Finished records the terminal record of a session that went well. If has, that record carries the final output.
func (r *Recorder) Finished(final string, has bool) {
	r.Ended, r.Failure = true, nil
	if has {
		r.Final, r.HasFinal = Whole(final), true
	}
}

// Failed records the terminal record of a session that failed; the first such record counts unless finished follows.
func (r *Recorder) Failed(f *plumb.Failure) {
	r.Ended = true
	if r.Failure == nil {
		r.Failure = f
	}
}

// incomplete notes that the report does not have all events of a type, so that no check concludes anything from their absence.
func (r *Recorder) incomplete(kind plumb.SessionEventType) {
	if !slices.Contains(r.Report.Incomplete, string(kind)) {
		r.Report.Incomplete = append(r.Report.Incomplete, string(kind))
	}
}

// admits reports whether there is room for an event.
func (r *Recorder) admits(kind plumb.SessionEventType) bool {
	n := len(r.Report.Events)
	if n >= fullEvents && !r.overflow {
		r.Note(fmt.Sprintf("the session has more than %d events: the rest has neither messages, nor results, nor the tool calls of commands; "+
			"commands, file changes and skills are complete; file reads are listed without their events", fullEvents))
		if kind == plumb.SessionMessage || kind == plumb.SessionToolResult {
			r.incomplete(kind)
			return false
		}
	}
	r.overflow = r.overflow || n >= maxEvents
	return !r.overflow
}

// add appends an event.
func (r *Recorder) add(e plumb.SessionEvent, o Origin) {
	e.At, e.Subagent, e.Truncated, r.cut = o.At, r.Name(o.Subagent), r.cut, false
	n := len(r.Report.Events)
	if n > 0 && e.At != nil && r.Report.Events[n-1].At != nil && e.At.Equal(*r.Report.Events[n-1].At) {
		e.At = r.Report.Events[n-1].At // most events of a record have the time of the record
	}
	if o.Call != "" {
		c := r.calls[o.Call]
		if c == nil {
			c = &call{id: r.copied(o.Call), first: n}
			r.calls[c.id] = c
		}
		c.last, e.CallID = n, c.id
	}
	r.Report.Events = append(r.Report.Events, e)
}

// eventsOf yields the events of a call, the latest of very many.
func (r *Recorder) eventsOf(callID string) iter.Seq[*plumb.SessionEvent] {
	return func(yield func(*plumb.SessionEvent) bool) {
		c := r.calls[callID]
		if c == nil {
			return
		}
		const most = 1000 // a call id that is used for everything must not cost the square of it
		for i := max(c.first, c.last-most); i <= c.last; i++ {
			if e := &r.Report.Events[i]; e.CallID == c.id && !yield(e) {
				return
			}
		}
	}
}

// Path makes a path of the transcript absolute.
func (r *Recorder) Path(o Origin, name string) string {
	base := o.Base
	if base == "" || !Absolute(base) {
		base = Resolve(r.Cwd, base)
	}
	if base == "" {
		base = r.Cwd
	}
	return Resolve(base, name)
}
