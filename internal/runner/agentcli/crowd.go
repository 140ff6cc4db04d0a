package agentcli

import (
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb"
)

// The bounds of the report of a huge transcript, which has to be made within the memory of a small one: beyond manyEvents
// events only those are kept that say what was done, and hugeEvents is what maxEvents is for others.
const (
	hugeTranscript = 128 << 20
	manyEvents     = 8_000
	hugeEvents     = 200_000
)

// lateRead is a file that was read after there was room for events of that.
type lateRead struct {
	call uint64
	path ref
}

// crowd takes an event of a huge transcript, once there are many, and reports whether that is settled. What was done stays
// exact: a command takes the place of the tool call that it is, and files that are read are only listed.
func (r *recorder) crowd(kind eventKind, o origin, about string) bool {
	if !r.huge || r.events.n < manyEvents {
		return false
	}
	r.note(fmt.Sprintf("the session is so long that after the first %d events neither messages nor results are listed, nor the tool calls "+
		"that commands are; files that are read are listed without their events", manyEvents))
	switch kind {
	case eventMessage:
		r.lacks(plumb.SessionMessage)
		return true
	case eventToolResult:
		r.lacks(plumb.SessionToolResult)
		r.gone.lines = nil
		if strings.Contains(about, noSuchFile) {
			r.gone.call, r.gone.lines = key("", o.call), missingIn(about)
			r.forget(o.call, r.gone.lines)
		}
		return true
	case eventFileRead:
		r.lacks(plumb.SessionFileRead)
		if o.call != "" && r.gone.lines != nil && r.gone.call == key("", o.call) && named(r.gone.lines, about) {
			return true // some agents tell of a command after its result
		}
		if k := key("", about); !r.lateSeen[k] {
			if r.lateSeen == nil {
				r.lateSeen = map[uint64]bool{}
			}
			r.lateSeen[k] = true
			r.late = append(r.late, lateRead{key("", o.call), r.long(about)})
		}
		return true
	case eventCommand:
		for e := range r.eventsOf(o.call) {
			if e.kind == eventToolCall {
				r.lacks(plumb.SessionToolCall)
				kept, mark := r.bounded(about)
				e.kind, e.word, e.text, e.args = eventCommand, ref{}, r.arena.reuse(e.args, kept+mark), ref{}
				e.cut, r.cut, e.alone = r.cut, false, true
				return true
			}
		}
	default:
	}
	return false
}

// forget takes back late reads of a call: those that the lines are about, or all if there are none.
func (r *recorder) forget(call string, lines []string) {
	const recent = 64
	for i := len(r.late) - 1; i >= max(0, len(r.late)-recent); i-- {
		l := &r.late[i]
		if path := r.arena.string(l.path); call != "" && l.call == key("", call) && (lines == nil || named(lines, path)) {
			delete(r.lateSeen, key("", path))
			l.path = ref{}
		}
	}
}
