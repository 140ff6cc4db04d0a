package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// step is one entry in the timeline of a session on a page: a message, or a tool call with all
// events that belong to it. Agents record a call, its command, the files it read and its result as
// separate events; readers want to see them as one.
type step struct {
	// Kind is "message", "thinking", "call", "command", "read", "change", "skill" or "denied".
	Kind string `json:"kind" redact:"-"`
	// At is in milliseconds since the session started, and Ms the duration of a call.
	At *int64 `json:"at,omitempty"`
	Ms *int64 `json:"ms,omitempty"`
	// Sub is the number of the acting subagent, counted from 1; 0 is the main thread.
	Sub int `json:"sub,omitempty"`

	Role   string      `json:"role,omitempty" redact:"-"`
	Phase  string      `json:"phase,omitempty" redact:"-"`
	Text   string      `json:"text,omitempty"`
	Tool   string      `json:"tool,omitempty"`
	Args   string      `json:"args,omitempty"`
	Lines  []shellLine `json:"commands,omitempty"`
	Reads  []string    `json:"reads,omitempty"`
	Writes []fileWrite `json:"changes,omitempty"`
	Skills []skillUse  `json:"skills,omitempty"`
	Denied string      `json:"denied,omitempty"`
	// Output is the result. Answered distinguishes an empty result from no result. Failed marks a
	// result that the agent reports as an error.
	Output   string `json:"output,omitempty"`
	Answered bool   `json:"answered,omitempty"`
	Failed   bool   `json:"failed,omitempty"`
	// Cut counts the bytes that were left out of the texts.
	Cut int `json:"cut,omitempty"`

	started *time.Time
}

type shellLine struct {
	Line string `json:"line"`
	Exit *int   `json:"exit,omitempty"`
}

type fileWrite struct {
	Path   string `json:"path"`
	Change string `json:"change,omitempty" redact:"-"`
}

type skillUse struct {
	Skill  string `json:"skill"`
	Signal string `json:"signal,omitempty"`
}

// timelineText limits one text of a timeline, in bytes.
const timelineText = 32 << 10

// timeline joins the events of a session into steps and lists its subagents in the order of their
// numbers.
func timeline(r *plumb.SessionReport) (steps []step, subagents []string) {
	t := timelineBuilder{steps: make([]step, 0, len(r.Events)), calls: map[callKey]int{}, subs: map[string]int{}}
	for _, s := range r.Subagents {
		t.sub(s.ID)
	}
	begun := r.StartedAt
	for i := range r.Events {
		if ev := &r.Events[i]; ev.At != nil && (begun == nil || ev.At.Before(*begun)) {
			begun = ev.At
		}
	}
	for i := range r.Events {
		t.add(&r.Events[i])
	}
	for i := range t.steps {
		if s := &t.steps[i]; s.started != nil {
			s.At = new(s.started.Sub(*begun).Milliseconds())
		}
	}
	return t.steps, t.names
}

type timelineBuilder struct {
	steps []step
	calls map[callKey]int // the index of the step of each call
	subs  map[string]int
	names []string
}

type callKey struct{ sub, call string }

func (t *timelineBuilder) sub(id string) int {
	if id == "" {
		return 0
	}
	n, ok := t.subs[id]
	if !ok {
		t.names = append(t.names, text.OneLine(id))
		n = len(t.names)
		t.subs[id] = n
	}
	return n
}

// step returns the step of an event's call, or a new step.
func (t *timelineBuilder) step(ev *plumb.SessionEvent, kind string) *step {
	key := callKey{ev.Subagent, ev.CallID}
	if ev.CallID != "" {
		if i, ok := t.calls[key]; ok {
			s := &t.steps[i]
			again := ev.Type == plumb.SessionToolResult && s.Answered ||
				ev.Type == plumb.SessionToolCall && s.Tool != ""
			if !again {
				if s.Kind == "call" && kind != "result" {
					s.Kind = kind // the kind of its effect is more informative than "call"
				}
				return s
			}
		}
		t.calls[key] = len(t.steps)
	}
	if kind == "result" {
		kind = "call"
	}
	t.steps = append(t.steps, step{Kind: kind, Sub: t.sub(ev.Subagent), started: ev.At})
	return &t.steps[len(t.steps)-1]
}

func (t *timelineBuilder) add(ev *plumb.SessionEvent) {
	switch ev.Type {
	case plumb.SessionMessage:
		kind := "message"
		if ev.Phase == "thinking" {
			kind = "thinking"
		}
		t.steps = append(t.steps, step{
			Kind: kind, Sub: t.sub(ev.Subagent), Role: text.OneLine(ev.Role),
			Phase: text.OneLine(ev.Phase), started: ev.At,
		})
		s := &t.steps[len(t.steps)-1]
		s.Text = s.keep(ev.Text)
	case plumb.SessionToolCall:
		s := t.step(ev, "call")
		s.Tool, s.Args = text.OneLine(ev.Tool), s.keep(argsText(ev.Args))
	case plumb.SessionToolResult:
		s := t.step(ev, "result")
		if s.Tool == "" {
			s.Tool = text.OneLine(ev.Tool)
		}
		s.Output, s.Answered, s.Failed = s.keep(ev.Output), true, ev.IsError
		if n := len(s.Lines); n > 0 && s.Lines[n-1].Exit == nil {
			s.Lines[n-1].Exit = ev.ExitCode
		}
		if s.started != nil && ev.At != nil {
			s.Ms = new(max(0, ev.At.Sub(*s.started).Milliseconds()))
		}
	case plumb.SessionCommand:
		s := t.step(ev, "command")
		s.Lines = append(s.Lines, shellLine{s.keep(ev.Command), ev.ExitCode})
		if ev.Output != "" && !s.Answered {
			s.Output, s.Answered = s.keep(ev.Output), true
		}
		s.Failed = s.Failed || ev.IsError
	case plumb.SessionFileRead:
		s := t.step(ev, "read")
		s.Reads = append(s.Reads, s.keep(ev.Path))
	case plumb.SessionFileChange:
		s := t.step(ev, "change")
		s.Writes = append(s.Writes, fileWrite{s.keep(ev.Path), text.OneLine(ev.Change)})
	case plumb.SessionSkill:
		s := t.step(ev, "skill")
		s.Skills = append(s.Skills, skillUse{text.OneLine(ev.Skill), text.OneLine(ev.Signal)})
	case plumb.SessionDenial:
		s := t.step(ev, "denied")
		s.Kind = "denied"
		if s.Tool == "" {
			s.Tool = text.OneLine(ev.Tool)
		}
		s.Denied = s.keep(ev.Text)
		if s.Denied == "" {
			s.Denied = s.keep(ev.Output)
		}
	default: // an event of a later version is shown, not dropped
		s := t.step(ev, "call")
		s.Tool, s.Output, s.Answered = text.OneLine(string(ev.Type)), s.keep(ev.Text+ev.Output), true
	}
}

// keep cleans a text and limits its length.
func (s *step) keep(text string) string {
	text, cut := clip(text, timelineText)
	s.Cut += cut
	return text
}

// argsText renders the arguments of a call, one per line if there are several.
func argsText(args json.RawMessage) string {
	if len(args) == 0 || string(args) == "null" || string(args) == "{}" {
		return ""
	}
	var text string
	if json.Unmarshal(args, &text) == nil {
		return text
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, args, "", "  "); err != nil {
		return strings.ToValidUTF8(string(args), "\uFFFD")
	}
	return indented.String()
}

// clip cleans a text. If it is longer than limit bytes, clip removes its middle, because the end of
// an output is as informative as its start. It returns how many bytes it removed.
func clip(s string, limit int) (short string, cut int) {
	if len(s) <= limit {
		return text.Clean(s), 0
	}
	head := text.Clip(s, limit*3/4)
	tail := s[len(s)-limit/4:]
	for len(tail) > 0 && tail[0]&0xC0 == 0x80 {
		tail = tail[1:]
	}
	cut = len(s) - len(head) - len(tail)
	return fmt.Sprintf("%s\n[%s bytes omitted]\n%s", text.Clean(head), text.Count(cut), text.Clean(tail)), cut
}
