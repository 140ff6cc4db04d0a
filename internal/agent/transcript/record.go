package transcript

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// The bounds of a report: a transcript of any length becomes a report of bounded size. They are the
// same for every transcript. A report notes each bound that it has reached.
const (
	// A report keeps MaxText bytes of one text, and maxTexts bytes of all texts. After half of
	// maxTexts it keeps ShortText bytes of each text, and after maxTexts nothing. The final output
	// does not count.
	MaxText   = 256 << 10
	maxTexts  = 8 << 20
	ShortText = 256
	// A report keeps MaxName bytes of each command, path and name, and maxNames bytes of all of
	// them.
	MaxName  = 64 << 10
	maxNames = 24 << 20
	// A report keeps fullEvents events of any kind. After that, it keeps commands, file changes,
	// skills and denials, but no messages, no results and no tool calls of commands. File reads are
	// listed without their events.
	fullEvents = 20_000
	// A session with more than maxEvents events is not a measurement. Its report keeps keptAnyway
	// events.
	maxEvents  = 200_000
	keptAnyway = 10 << 10
	// maxRequests bounds the list of the usage of requests.
	maxRequests = 40_000
	maxNotes    = 50
	// maxList bounds the other lists, which are short in a normal session.
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

// Origin is the source of an observation.
type Origin struct {
	At *time.Time
	// Call joins a tool call, its result, and everything that follows from it.
	Call string
	// Subagent is "" for the main thread.
	Subagent string
	// Base is the directory where relative paths start; "" is the session's directory.
	Base string
}

// Recorder collects the content of a transcript into one session report. It has the rules that all
// agents share: what counts once, how texts and lists are bounded, which skills were used, how a
// session ended.
type Recorder struct {
	*Transcript
	Format *Format
	Report *plumb.SessionReport
	// Steps counts the steps of the session. If it counts none, the report keeps the number that
	// the format has set.
	Steps *Steps
	// SawRecords counts the records of known types. Without any there is no report.
	SawRecords int
	// SkillEvidence is the evidence of a skill that was loaded by a tool.
	SkillEvidence string

	Strange      int // lines that are not known records
	firstStrange string
	firstStray   string         // the first line that is not a JSON object
	Unknown      map[string]int // records of unknown types; "" counts lines that are not JSON objects

	Ended    bool // there was a terminal record
	Failure  *plumb.Failure
	Final    string
	HasFinal bool
	// Answer is the last final message of the main thread, not cut to the room of the report.
	Answer string

	top    Fields // the record that is being read
	shell  *shell
	calls  map[string]*call
	names  map[string]string // interned
	offers map[plumb.Offer]bool
	noted  map[string]bool
	// missing has the lines of results that name missing files, by call.
	missing map[string][]string
	// claims are the files that the agent asked for. last is the latest result.
	claims   []*claim
	last     result
	contents map[string]*known
	compared int // lines of outputs, for each file that they were compared with

	texts, longs int  // kept bytes of texts, and of commands, paths and names
	cut          bool // a text of the next event was cut
	full         bool // the report has fullEvents
	overflow     bool // the session is too long for a report
}

// call describes a tool call. Its events have indexes from first to last.
type call struct {
	id, tool    string
	first, last int
	denied      bool
	asked       *claim // the latest file that the call asked for
}

// NewRecorder returns a recorder for one transcript.
func NewRecorder(format *Format, t *Transcript) *Recorder {
	return &Recorder{
		Transcript: t,
		Format:     format,
		Report: &plumb.SessionReport{
			Prompt: t.Prompt, ExitCode: t.ExitCode, Events: []plumb.SessionEvent{},
			RawArtifacts: plumb.RawArtifacts{StdoutPath: t.Stdout, StderrPath: t.Stderr},
		},
		Steps: NewSteps(format), SkillEvidence: "Loaded via skill tool", shell: newShell(),
		Unknown: map[string]int{}, names: map[string]string{}, offers: map[plumb.Offer]bool{},
		calls: map[string]*call{},
		noted: map[string]bool{}, missing: map[string][]string{},
		contents: map[string]*known{},
	}
}

// Stream is [Recorder.Records] for the agent's output. It also counts the steps, and the records
// after the last one that ends a session.
func (r *Recorder) Stream(path string, fn func(rec *Fields) bool) error {
	ended, after, first := false, 0, ""
	err := r.Records(path, func(rec *Fields) bool {
		r.Steps.Count(rec)
		switch kind := rec.Text("type"); {
		case slices.Contains(r.Format.Terminal, kind):
			ended, after, first = true, 0, ""
		case ended:
			after++
			SetFirst(&first, Head(kind))
		}
		return fn(rec)
	})
	if after > 0 {
		r.Note(fmt.Sprintf("records after the end of the session: %d; the first has the type %q", after, first))
	}
	return err
}

// Records calls fn with each record of a JSONL file; fn reports whether it knows the record's type.
// The recorder copies what it keeps, because a part of a record would keep the whole line in
// memory. The path "" has no records.
func (r *Recorder) Records(path string, fn func(rec *Fields) bool) error {
	if path == "" {
		return nil
	}
	return EachLine(path, func(line []byte) error {
		if !r.top.readObject(string(line)) {
			SetFirst(&r.firstStray, Head(string(line)))
			r.strange(line, "")
		} else if fn(&r.top) {
			r.SawRecords++
		} else if kind := r.top.Get("type").String(); len(r.Unknown) < maxNotes || r.Unknown[kind] > 0 {
			r.strange(line, Head(kind))
		}
		return nil
	})
}

// strange counts a line that is not a known record.
func (r *Recorder) strange(line []byte, kind string) {
	SetFirst(&r.firstStrange, Head(string(line)))
	r.Strange++
	r.Unknown[kind]++
}

// Head returns the beginning of a text, for a message.
func Head(s string) string { return strings.Clone(text.Clip(s, 100)) }

// Message records a message. Phase is one of the phases for assistants and "" for users.
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

// Rephrase sets the phase of the message with the index i, for a phase that a later record decides.
// It ignores an index that is not of a message.
func (r *Recorder) Rephrase(i int, phase string) {
	if i >= 0 && i < len(r.Report.Events) && r.Report.Events[i].Type == plumb.SessionMessage {
		r.Report.Events[i].Phase = phase
	}
}

// ToolCall records a tool call. The arguments are JSON.
func (r *Recorder) ToolCall(o Origin, tool, args string) {
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

// ToolResult records the result of a tool. An error means that the call had no effect: the report
// drops the files that the tool would have read or changed, and the skill that it would have
// loaded. Commands stay, and so do the files of which the output shows content.
func (r *Recorder) ToolResult(o Origin, output string, isError bool) {
	r.Output(o, output)
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

// Command records a command that the agent ran, and the files that the command reads. It returns
// where the command leaves its shell.
func (r *Recorder) Command(o Origin, command string) ShellPlace {
	r.CommandOnly(o, command)
	return r.CommandReads(o, command)
}

// CommandReads records the files that a command reads, as far as its output shows that it did.
func (r *Recorder) CommandReads(o Origin, command string) ShellPlace {
	requests, end := r.shell.reads(command)
	ran, text := r.ran(o.Call), ""
	if ran < 0 {
		text = command
	}
	for _, q := range requests {
		r.claim(&claim{request: q, command: ran, text: text}, o)
	}
	r.proveLast(o)
	return end
}

// CommandRead records a file that a command reads, according to the agent. It only counts if the
// output shows that it did.
func (r *Recorder) CommandRead(o Origin, path string) {
	r.claim(&claim{
		request: request{path: path, circumstances: circumstances{course: perhaps, out: shown}}, command: r.ran(o.Call),
	}, o)
	r.proveLast(o)
}

// CommandOnly records a command without the files that it reads.
func (r *Recorder) CommandOnly(o Origin, command string) {
	if strings.TrimSpace(command) == "" || !r.admits(plumb.SessionCommand) {
		return
	}
	e := plumb.SessionEvent{Type: plumb.SessionCommand, Command: r.copied(command)}
	if len(r.Report.Events) >= fullEvents { // it replaces its tool call
		for _, call := range r.eventsOf(o.Call) {
			if call.Type == plumb.SessionToolCall {
				r.incomplete(plumb.SessionToolCall)
				e.At, e.CallID, e.Subagent, e.Truncated = call.At, call.CallID, call.Subagent, r.cut
				*call, r.cut = e, false
				return
			}
		}
	}
	r.add(e, o)
}

// Exit completes the commands of a call with their exit code.
func (r *Recorder) Exit(callID string, code int) {
	for _, e := range r.eventsOf(callID) {
		if e.Type == plumb.SessionCommand && e.ExitCode == nil {
			e.ExitCode = &code
		}
	}
}

// FileRead records that a tool read a file. It only counts if the result of the tool has content.
func (r *Recorder) FileRead(o Origin, path string) {
	r.claim(&claim{request: request{path: path}, tool: true, command: -1}, o)
	r.proveLast(o)
}

// claim records that the agent asked for a file. A call has one event for each file.
func (r *Recorder) claim(c *claim, o Origin) {
	c.path = r.Path(o, c.path)
	if c.path == "" {
		return
	}
	c.path = r.Name(c.path)
	i, known := r.find(o.Call, plumb.SessionFileRead, c.path)
	switch {
	case len(r.Report.Events) >= fullEvents && !r.overflow:
		r.incomplete(plumb.SessionFileRead)
		i = noEvent
	case known:
	case !r.admits(plumb.SessionFileRead):
		return
	default:
		i = len(r.Report.Events)
		r.add(plumb.SessionEvent{Type: plumb.SessionFileRead, Path: c.path}, o)
	}
	c.event = i
	r.claims = append(r.claims, c)
	if call := r.call(o.Call); call != nil {
		c.call, c.before, call.asked = call.id, call.asked, c
	}
}

// ran returns the index of the latest command of a call, -1 if there is none.
func (r *Recorder) ran(callID string) int {
	if c := r.calls[callID]; c != nil {
		for i := c.last; i >= max(c.first, c.last-recentEvents); i-- {
			if e := &r.Report.Events[i]; e.Type == plumb.SessionCommand && e.CallID == c.id {
				return i
			}
		}
	}
	return -1
}

// find returns the index of the event of a call that has a type and names a path or a skill.
func (r *Recorder) find(call string, kind plumb.SessionEventType, about string) (index int, found bool) {
	for i, e := range r.eventsOf(call) {
		if e.Type == kind && e.Path+e.Skill == about {
			return i, true
		}
	}
	return 0, false
}

// FileChange records that the agent reports a change of a file. Kind is "add", "update" or
// "delete".
func (r *Recorder) FileChange(o Origin, kind, path string) {
	path = r.Path(o, path)
	if path == "" {
		return
	}
	if i, ok := r.find(o.Call, plumb.SessionFileChange, path); ok {
		r.Report.Events[i].Change = r.Name(kind) // the later record is more exact
		return
	}
	if r.admits(plumb.SessionFileChange) {
		r.add(plumb.SessionEvent{Type: plumb.SessionFileChange, Change: r.Name(kind), Path: r.Name(path)}, o)
	}
}

// Skill records that a tool loaded a skill.
func (r *Recorder) Skill(o Origin, name, signal string) {
	if _, known := r.find(o.Call, plumb.SessionSkill, name); name != "" && !known && r.admits(plumb.SessionSkill) {
		r.add(plumb.SessionEvent{Type: plumb.SessionSkill, Skill: r.copied(name), Signal: r.Name(signal)}, o)
	}
}

// Denial records that the agent was not allowed to do something, once for each call. The call had
// no effect. Its command stays as an attempt, and is marked as an error.
func (r *Recorder) Denial(o Origin, tool, message string) {
	same := func(d plumb.PermissionDenial) bool {
		return d.Tool == tool && d.CallID == o.Call && d.Message == message
	}
	c := r.calls[o.Call]
	if c != nil {
		if c.denied {
			return
		}
		if tool == "" {
			tool = c.tool
		}
		c.denied = true
	} else if len(r.Report.PermissionDenials) >= maxList || slices.ContainsFunc(r.Report.PermissionDenials, same) {
		return
	}
	r.retract(o.Call, true)
	if r.admits(plumb.SessionDenial) {
		e := plumb.SessionEvent{Type: plumb.SessionDenial, Tool: r.Name(tool)}
		e.Text = r.text(message)
		r.add(e, o)
	}
	d := plumb.PermissionDenial{
		Tool: r.Name(tool), CallID: strings.Clone(text.Clip(o.Call, MaxName)),
		Message: Whole(message), At: o.At,
	}
	r.Report.PermissionDenials = append(r.Report.PermissionDenials, d)
}

// retract removes the effects of a call. Unless all is set, a call that ran a command keeps the
// files that the command reads, because a failing command may have read some of them.
func (r *Recorder) retract(callID string, all bool) {
	if !all {
		for _, e := range r.eventsOf(callID) {
			if e.Type == plumb.SessionCommand {
				return
			}
		}
	}
	for c := r.asked(callID); c != nil; c = c.before {
		c.withdrawn = true
	}
	for _, e := range r.eventsOf(callID) {
		switch e.Type {
		case plumb.SessionFileRead, plumb.SessionFileChange, plumb.SessionSkill:
			e.Type = retracted
		case plumb.SessionCommand:
			e.IsError = true
		default:
		}
	}
}

// retracted is the type of an event that did not happen. Such events are removed at the end, so
// that indexes stay valid.
const retracted plumb.SessionEventType = ""

// Offer records something that the agent found at its start, once.
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

// Subagent records an agent that the session started, and updates it if it is known.
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

// Request records the usage of one request to the model.
func (r *Recorder) Request(o Origin, model string, u plumb.Usage) {
	if len(r.Report.RequestUsage) < maxRequests {
		r.Report.RequestUsage = append(r.Report.RequestUsage, plumb.RequestUsage{
			At: o.At, Model: r.Name(model), Subagent: r.Name(o.Subagent), InputTokens: u.InputTokens,
			OutputTokens:    u.OutputTokens,
			ReasoningTokens: u.ReasoningTokens, CacheTokens: u.CacheTokens, CacheWriteTokens: u.CacheWriteTokens,
		})
	}
}

// Note adds a note for the reader of the report, once.
func (r *Recorder) Note(s string) {
	s = strings.Clone(text.Clip(s, 2*ShortText))
	if s != "" && len(r.noted) < maxNotes && !r.noted[s] {
		r.noted[s] = true
		r.Report.Notes = append(r.Report.Notes, s)
	}
}

// Finished records the terminal record of a successful session. If has is set, that record has the
// final output.
func (r *Recorder) Finished(final string, has bool) {
	r.Ended, r.Failure = true, nil
	if has {
		r.Final, r.HasFinal = Whole(final), true
	}
}

// Failed records the terminal record of a failed session. The first such record counts, unless
// Finished follows.
func (r *Recorder) Failed(f *plumb.Failure) {
	r.Ended = true
	if r.Failure == nil {
		r.Failure = f
	}
}

// incomplete records that the report does not have all events of a type, so that no check depends
// on their absence.
func (r *Recorder) incomplete(kind plumb.SessionEventType) {
	if !slices.Contains(r.Report.Incomplete, string(kind)) {
		r.Report.Incomplete = append(r.Report.Incomplete, string(kind))
	}
}

// admits reports whether there is room for an event.
func (r *Recorder) admits(kind plumb.SessionEventType) bool {
	n := len(r.Report.Events)
	if n >= fullEvents && !r.overflow {
		if !r.full {
			r.full = true
			r.Note(fmt.Sprintf("the session has more than %d events: after them the report has no messages, no "+
				"results and no tool calls of commands; commands, file changes and skills are complete; "+
				"file reads are listed without their events", fullEvents))
		}
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
	if c := r.call(o.Call); c != nil {
		c.last, e.CallID = n, c.id
	}
	r.Report.Events = append(r.Report.Events, e)
}

// call returns the call with an id, nil if the id is empty. A new one has no events.
func (r *Recorder) call(id string) *call {
	c := r.calls[id]
	if c == nil && id != "" {
		n := len(r.Report.Events)
		c = &call{id: r.copied(id), first: n, last: n - 1}
		r.calls[c.id] = c
	}
	return c
}

// asked returns the latest file that a call asked for, nil if there is none.
func (r *Recorder) asked(callID string) *claim {
	if c := r.calls[callID]; c != nil {
		return c.asked
	}
	return nil
}

// recentEvents bounds the search for events: if all calls have the same id, the time must not grow
// with the square of their number.
const recentEvents = 1000

// eventsOf yields the events of a call, or the latest of them.
func (r *Recorder) eventsOf(callID string) iter.Seq2[int, *plumb.SessionEvent] {
	return func(yield func(int, *plumb.SessionEvent) bool) {
		c := r.calls[callID]
		if c == nil {
			return
		}
		for i := max(c.first, c.last-recentEvents); i <= c.last; i++ {
			if e := &r.Report.Events[i]; e.CallID == c.id && !yield(i, e) {
				return
			}
		}
	}
}

// Path makes a path of the transcript absolute.
func (r *Recorder) Path(o Origin, name string) string {
	return Resolve(cmp.Or(Resolve(r.Cwd, o.Base), r.Cwd), name)
}
