package agentcli

import (
	"math"
	"time"

	"github.com/plumb-eval/plumb"
)

// event is a session event as the recorder holds it: in a quarter of the room of a [plumb.SessionEvent], and without a
// pointer that the garbage collector would have to follow, since a session may have hundreds of thousands.
type event struct {
	sec  int64
	exit int64 // noExit where there is none
	nsec int32 // noTime where there is none
	kind eventKind
	// user is the role of a message, wrong that the event is an error, cut that its text was cut, alone that nothing else of
	// its call is in the report.
	user, wrong, cut, alone bool
	call, subagent          ref
	// word is a message's phase, a tool's name, how a file was changed, or the signal of a skill; text is what was said,
	// answered or run, a path, or a skill.
	word, text, args ref
}

const (
	noExit = math.MinInt64
	noTime = -1
)

// eventKind stands for a [plumb.SessionEventType].
type eventKind uint8

const (
	eventNone eventKind = iota // was taken back
	eventMessage
	eventToolCall
	eventToolResult
	eventCommand
	eventFileRead
	eventSkill
	eventFileChange
	eventDenial
)

// ref is where a text lies in an [arena].
type ref struct{ at, len uint32 }

// arena holds texts, of which none is given back before all are. They lie in blocks, so that they never move.
type arena struct {
	blocks [][]byte
}

// Blocks grow up to arenaBlock; a longer text has one of its own.
const (
	arenaBlock = 1 << 20
	arenaFirst = 4 << 10
)

// add keeps a text that consists of the parts.
func (a *arena) add(parts ...string) ref {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	if n == 0 {
		return ref{}
	}
	last := len(a.blocks) - 1
	if last < 0 || cap(a.blocks[last])-len(a.blocks[last]) < n {
		room := arenaFirst
		if last >= 0 {
			room = min(2*cap(a.blocks[last]), arenaBlock)
		}
		a.blocks = append(a.blocks, make([]byte, 0, max(room, n)))
		last++
	}
	block := &a.blocks[last]
	s := ref{uint32(last)*arenaBlock + uint32(len(*block)), uint32(n)} //nolint:gosec // what is kept is bounded far below that
	for _, part := range parts {
		*block = append(*block, part...)
	}
	return s
}

// reuse puts a text in the place of one that is needed no more, if it is not longer.
func (a *arena) reuse(s ref, text string) ref {
	if int(s.len) < len(text) || text == "" {
		return a.add(text)
	}
	copy(a.bytes(s), text)
	return ref{s.at, uint32(len(text))} //nolint:gosec // less than another length
}

func (a *arena) bytes(s ref) []byte {
	if s.len == 0 {
		return nil
	}
	at := s.at % arenaBlock
	return a.blocks[s.at/arenaBlock][at : at+s.len : at+s.len]
}

// string returns a copy of a text.
func (a *arena) string(s ref) string { return string(a.bytes(s)) }

// events are those of a session, in blocks, so that they do not have to be moved when there are more.
type events struct {
	blocks [][]event
	n      int
}

const eventBlock = 1 << 10

func (l *events) add(e event) {
	if l.n%eventBlock == 0 {
		room := eventBlock
		if l.n == 0 {
			room = 16 // most sessions have few
		}
		l.blocks = append(l.blocks, make([]event, 0, room))
	}
	block := &l.blocks[len(l.blocks)-1]
	*block = append(*block, e)
	l.n++
}

// at returns the event with the index i, nil if there is none. It is not to be kept while events are added.
func (l *events) at(i int) *event {
	if i < 0 || i >= l.n {
		return nil
	}
	return &l.blocks[i/eventBlock][i%eventBlock]
}

// when sets what an event says of its time.
func (e *event) when(at *time.Time) {
	e.nsec = noTime
	if at != nil {
		e.sec, e.nsec = at.Unix(), int32(at.Nanosecond()) //nolint:gosec // less than a thousand million
	}
}

// release returns the first most events as reports have them, and empties both stores; those that were taken back are left
// out. Texts share the memory of their arena, and times that are equal and follow each other are one.
func (l *events) release(a *arena, most int) []plumb.SessionEvent {
	text := func(s ref) string { return shared(a.bytes(s)) }
	kept := 0
	for _, block := range l.blocks {
		for i := range block {
			if block[i].kind != eventNone {
				kept++
			}
		}
	}
	all := make([]plumb.SessionEvent, 0, min(kept, most))
	var times []time.Time
	var last *event
	for n, block := range l.blocks {
		for i := range block {
			e := &block[i]
			if e.kind == eventNone || len(all) == cap(all) {
				continue
			}
			all = append(all, plumb.SessionEvent{Subagent: text(e.subagent), IsError: e.wrong, Truncated: e.cut})
			out := &all[len(all)-1]
			if !e.alone {
				out.CallID = text(e.call)
			}
			if e.nsec != noTime {
				if last == nil || e.sec != last.sec || e.nsec != last.nsec {
					if len(times) == cap(times) {
						times = make([]time.Time, 0, min(eventBlock, cap(all)))
					}
					times = append(times, time.Unix(e.sec, int64(e.nsec)).UTC())
					last = e
				}
				out.At = &times[len(times)-1]
			}
			if e.exit != noExit {
				out.ExitCode = new(int(e.exit))
			}
			if e.args.len > 0 {
				out.Args = a.bytes(e.args)
			}
			e.fill(out, text)
		}
		l.blocks[n] = nil // so that only one of the two lists is whole
	}
	*l, *a = events{}, arena{}
	return all
}

// fill gives out what belongs to the kind of e.
func (e *event) fill(out *plumb.SessionEvent, text func(ref) string) {
	switch e.kind {
	case eventMessage:
		out.Type, out.Role, out.Phase, out.Text = plumb.SessionMessage, roleAssistant, text(e.word), text(e.text)
		if e.user {
			out.Role = roleUser
		}
	case eventToolCall:
		out.Type, out.Tool = plumb.SessionToolCall, text(e.word)
	case eventToolResult:
		out.Type, out.Tool, out.Output = plumb.SessionToolResult, text(e.word), text(e.text)
	case eventCommand:
		out.Type, out.Command = plumb.SessionCommand, text(e.text)
	case eventFileRead:
		out.Type, out.Path = plumb.SessionFileRead, text(e.text)
	case eventSkill:
		out.Type, out.Skill, out.Signal = plumb.SessionSkill, text(e.text), text(e.word)
	case eventFileChange:
		out.Type, out.Path, out.Change = plumb.SessionFileChange, text(e.text), text(e.word)
	case eventDenial:
		out.Type, out.Tool, out.Text = plumb.SessionDenial, text(e.word), text(e.text)
	default:
	}
}
