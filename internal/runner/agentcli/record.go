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

// The bounds of a report, so that a transcript of any length becomes one of bounded size.
const (
	// maxText is how much of one text is kept, maxTexts how much of all together: once half of that is spent, only shortText
	// is kept of each, and in the end nothing. The final output has its own room.
	maxText   = 256 << 10
	maxTexts  = 8 << 20
	shortText = 256
	// Commands, paths and names are kept up to maxName, whatever came before, and up to maxNames together.
	maxName  = 64 << 10
	maxNames = 24 << 20
	// maxEvents is how many events a session may have: beyond it nothing could be said of what did not happen. Beyond
	// maxMessages events messages are left out, of which nobody asks how many there were.
	maxEvents   = 400_000
	maxMessages = 50_000
	// maxRequests is how many requests have their usage listed.
	maxRequests = 40_000
	maxNotes    = 50
	// keptAnyway is how many events are kept of a session that has too many, or too much in them.
	keptAnyway = 10 << 10
	// maxList is how many things are listed of those that a session has few of.
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
	spec   *Spec
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

	calls  recent[call]
	names  map[string]string // interned
	words  map[string]ref
	offers map[plumb.Offer]bool
	steps  map[string]bool
	noted  map[string]bool
	events events
	arena  arena
	// answer is the last final message of the main thread, whole.
	answer string

	texts, longs int  // bytes that are kept of them
	cut          bool // a text of the next event was
	overflow     bool // the report cannot hold all

	huge     bool // the transcript is
	late     []lateRead
	lateSeen map[uint64]bool
	gone     struct { // what the last result said of files that are not there
		call  uint64
		lines []string
	}
	spoil bool // what a record was in is overwritten, to find out whether somebody has kept a part of it
}

// call is what is remembered of a tool call: its events lie between first and last.
type call struct {
	id, tool    ref
	first, last int32
	denied      bool
}

func newRecorder(spec *Spec, t *Transcript) *recorder {
	r := &recorder{
		spec: spec,
		report: &plumb.SessionReport{
			Prompt: t.Prompt, ExitCode: t.ExitCode,
			RawArtifacts: plumb.RawArtifacts{StdoutPath: t.Stdout, StderrPath: t.Stderr},
		},
		cwd: t.Cwd, skillEvidence: "Loaded via skill tool",
		unknown: map[string]int{}, names: map[string]string{}, words: map[string]ref{}, offers: map[plumb.Offer]bool{},
		steps: map[string]bool{}, noted: map[string]bool{}, huge: size(t.Stdout) > hugeTranscript || largest(t.Session) > hugeTranscript,
	}
	return r
}

// records calls fn with each record of a JSONL file; fn reports whether it knows the record's type. What rec holds is
// shared with the whole line, which is why the recorder copies all that it keeps. A file that is not there has no records.
func (r *recorder) records(path string, fn func(rec gjson.Result) bool) error {
	if path == "" {
		return nil
	}
	return eachLine(path, func(line []byte) error {
		text := shared(line)
		if !r.top.readObject(text) {
			r.stray(line)
			return nil
		}
		rec := gjson.Result{Type: gjson.JSON, Raw: text}
		if r.spoil {
			defer clear(line)
		}
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
	if o.call = ""; r.admits(eventMessage, o, "") {
		e := r.event(eventMessage, o)
		e.user, e.word, e.text = role == roleUser, r.word(phase), r.text(text)
		r.add(e, o)
	}
}

// toolCall records that a tool was called; the tool is remembered for the call's result.
func (r *recorder) toolCall(o origin, tool string, args json.RawMessage) {
	if !r.admits(eventToolCall, o, "") {
		return
	}
	e := r.event(eventToolCall, o)
	e.word, e.args = r.word(tool), r.args(args)
	r.add(e, o)
	if c, ok := r.calls.get(o.call); ok && o.call != "" {
		c.tool = e.word
		r.calls.set(o.call, c)
	}
}

// toolResult records what a tool answered. If that is an error, then what the call was taken for did not happen: files
// that the tool was to read or change, and the skill it was to load, are no longer reported. Commands stay, and what
// they are known to read.
func (r *recorder) toolResult(o origin, output string, isError bool) {
	if r.admits(eventToolResult, o, output) {
		e := r.event(eventToolResult, o)
		c, _ := r.calls.get(o.call)
		e.word, e.text, e.wrong = c.tool, r.text(output), isError
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
	if r.admits(eventCommand, o, command) {
		e := r.event(eventCommand, o)
		e.text = r.long(command)
		r.add(e, o)
	}
	return true
}

// exit completes the commands of a call with their exit code.
func (r *recorder) exit(callID string, code int) {
	for e := range r.eventsOf(callID) {
		if e.kind == eventCommand && e.exit == noExit {
			e.exit = int64(code)
		}
	}
}

// fileRead records that a file was read; a call reads each file once.
func (r *recorder) fileRead(o origin, path string) {
	path = r.path(o, path)
	if path == "" {
		return
	}
	if r.find(o.call, eventFileRead, path) == nil && r.admits(eventFileRead, o, path) {
		e := r.event(eventFileRead, o)
		e.text = r.long(path)
		r.add(e, o)
	}
}

// find returns the event of a call that is of a kind and about something, nil if there is none.
func (r *recorder) find(call string, kind eventKind, about string) *event {
	for e := range r.eventsOf(call) {
		if e.kind == kind && shared(r.arena.bytes(e.text)) == about {
			return e
		}
	}
	return nil
}

// fileChange records that the agent says it changed a file. Kind is "add", "update" or "delete".
func (r *recorder) fileChange(o origin, kind, path string) {
	path = r.path(o, path)
	if path == "" {
		return
	}
	if e := r.find(o.call, eventFileChange, path); e != nil {
		e.word = r.word(kind) // the later record knows better
		return
	}
	if r.admits(eventFileChange, o, path) {
		e := r.event(eventFileChange, o)
		e.word, e.text = r.word(kind), r.long(path)
		r.add(e, o)
	}
}

// skill records that a tool loaded a skill.
func (r *recorder) skill(o origin, name, signal string) {
	if name != "" && r.find(o.call, eventSkill, name) == nil && r.admits(eventSkill, o, name) {
		e := r.event(eventSkill, o)
		e.word, e.text = r.word(signal), r.long(name)
		r.add(e, o)
	}
}

// denial records that the agent was not allowed to do something; the same call is denied once. What the call was taken
// for did not happen; its command stays, as an attempt, and is marked as an error.
func (r *recorder) denial(o origin, tool, message string) {
	c, called := r.calls.get(o.call)
	if called = called && o.call != ""; called {
		if c.denied {
			return
		}
		if tool == "" {
			tool = r.arena.string(c.tool)
		}
	} else if len(r.report.PermissionDenials) >= maxList || slices.ContainsFunc(r.report.PermissionDenials, func(d plumb.PermissionDenial) bool {
		return d.Tool == tool && d.CallID == o.call && d.Message == message
	}) {
		return
	}
	r.retract(o.call, true)
	if r.admits(eventDenial, o, message) {
		e := r.event(eventDenial, o)
		e.word, e.text = r.word(tool), r.text(message)
		r.add(e, o)
	}
	if c, ok := r.calls.get(o.call); ok && called {
		c.denied = true
		r.calls.set(o.call, c)
	}
	d := plumb.PermissionDenial{Tool: r.name(tool), CallID: strings.Clone(clip(o.call, maxName)), Message: whole(message), At: o.at}
	r.report.PermissionDenials = append(r.report.PermissionDenials, d)
}

// retract takes back what a call was taken for. Unless all of it goes, a call that ran a command keeps what the command
// is known to read, since a failing command may have read some of it.
func (r *recorder) retract(callID string, all bool) {
	if !all {
		for e := range r.eventsOf(callID) {
			if e.kind == eventCommand {
				return
			}
		}
	}
	r.forget(callID, nil)
	for e := range r.eventsOf(callID) {
		switch e.kind {
		case eventFileRead, eventFileChange, eventSkill:
			e.kind = eventNone
		case eventCommand:
			e.wrong = true
		default:
		}
	}
}

// offer records what the agent found when it began, each once.
func (r *recorder) offer(kind plumb.OfferKind, name, path, source string) {
	if name == "" || len(r.offers) >= maxList {
		return
	}
	o := plumb.Offer{Kind: kind, Name: r.copied(name), Path: r.copied(path), Source: r.name(source)}
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
	if n := len(r.report.RequestUsage); n < maxRequests && (!r.huge || n < manyEvents) {
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

// event begins an event.
func (r *recorder) event(kind eventKind, o origin) event {
	e := event{kind: kind, exit: noExit, subagent: r.word(o.subagent)}
	e.when(o.at)
	if o.call != "" {
		c, ok := r.calls.get(o.call)
		if !ok {
			c.id = r.arena.add(clip(o.call, maxName))
		}
		e.call = c.id
	}
	return e
}

// lacks notes that the report does not have all of a kind, so that nothing is concluded from what is absent.
func (r *recorder) lacks(kind plumb.SessionEventType) {
	if !slices.Contains(r.report.Incomplete, string(kind)) {
		r.report.Incomplete = append(r.report.Incomplete, string(kind))
	}
}

// admits reports whether there is room for an event about something.
func (r *recorder) admits(kind eventKind, o origin, about string) bool {
	n := r.events.n
	if n >= maxMessages && kind == eventMessage {
		r.note(fmt.Sprintf("the session is so long that its messages are left out after the first %d events", maxMessages))
		r.lacks(plumb.SessionMessage)
		return false
	}
	if r.overflow || r.crowd(kind, o, about) {
		return false
	}
	if n >= maxEvents || r.huge && n >= hugeEvents {
		r.overflow = true
		r.late, r.lateSeen = nil, nil
		return false
	}
	return true
}

// add takes an event up that there is room for.
func (r *recorder) add(e event, o origin) {
	e.cut, r.cut = r.cut, false
	if o.call != "" {
		c, ok := r.calls.get(o.call)
		if !ok {
			c = call{id: e.call, first: int32(r.events.n)} //nolint:gosec // bounded by maxEvents
		}
		c.last = int32(r.events.n) //nolint:gosec // as above
		r.calls.set(o.call, c)
	}
	r.events.add(e)
}

// eventsOf yields the events of a call, the latest of very many.
func (r *recorder) eventsOf(callID string) iter.Seq[*event] {
	return func(yield func(*event) bool) {
		c, ok := r.calls.get(callID)
		if !ok || callID == "" {
			return
		}
		const most = 1000 // a call id that is used for everything must not cost the square of it
		for i := max(c.first, c.last-most); i <= c.last; i++ {
			if e := r.events.at(int(i)); e.call == c.id && !yield(e) {
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
