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
	hugeEvents     = 64_000
)

// lateRead is a file that was read after there was room for events of that.
type lateRead struct{ call, path string }

// crowd adds an event of a huge transcript, once there are many, and reports whether that is settled. What was done stays
// exact: a command takes the place of the tool call that it is, and files that are read are only listed.
func (r *recorder) crowd(e *plumb.SessionEvent) bool {
	if !r.huge || r.n < manyEvents {
		return false
	}
	r.note(fmt.Sprintf("the session is so long that after the first %d events neither messages nor results are listed, nor the tool calls "+
		"that commands are; files that are read are listed without their events", manyEvents))
	switch e.Type {
	case plumb.SessionMessage:
		r.lacks(string(e.Type))
		return true
	case plumb.SessionToolResult:
		r.lacks(string(e.Type))
		if strings.Contains(e.Output, noSuchFile) {
			r.forget(e.CallID, missingIn(e.Output))
		}
		return true
	case plumb.SessionFileRead:
		r.lacks(string(e.Type))
		if k := key("", e.Path); !r.lateSeen[k] {
			if r.lateSeen == nil {
				r.lateSeen = map[uint64]bool{}
			}
			r.lateSeen[k] = true
			r.late = append(r.late, lateRead{e.CallID, e.Path})
		}
		return true
	case plumb.SessionCommand:
		for call := range r.eventsOf(e.CallID) {
			if call.Type == plumb.SessionToolCall {
				r.lacks(string(call.Type))
				*call = *e
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
		if l := &r.late[i]; l.call == call && call != "" && (lines == nil || named(lines, l.path)) {
			delete(r.lateSeen, key("", l.path))
			l.path = ""
		}
	}
}
