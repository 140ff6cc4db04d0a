package transcript

import "github.com/tidwall/gjson"

// Steps counts the steps of one session in the agent's stream. The spec of each agent defines what
// a step is.
type Steps struct {
	format *Format
	N      int
	seen   map[uint64]bool
	Text   bool // the last record was a piece of text
}

// NewSteps returns a counter of the steps of one session.
func NewSteps(format *Format) *Steps { return &Steps{format: format, seen: map[uint64]bool{}} }

// Count counts the steps in one record of the stream.
func (s *Steps) Count(rec *Fields) { s.format.Step(s, rec) }

// Once counts each id once. It counts a step without an id if anonymous is set.
func (s *Steps) Once(id gjson.Result, anonymous bool) {
	if id.Type != gjson.String || id.Str == "" {
		if anonymous {
			s.N++
		}
		return
	}
	if id := Hash("", id.Str); !s.seen[id] {
		s.seen[id] = true
		s.N++
	}
}
