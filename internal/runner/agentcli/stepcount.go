package agentcli

import "github.com/tidwall/gjson"

// steps counts the steps of one session in the agent's stream. The spec of each agent defines what a step is.
type steps struct {
	format *Format
	n      int
	seen   map[uint64]bool
	text   bool // the last record was a piece of text
}

func newSteps(format *Format) *steps { return &steps{format: format, seen: map[uint64]bool{}} }

// count takes a record of the stream.
func (s *steps) count(rec *fields) { s.format.Step(s, rec) }

// once counts a step that has an id, and one that has none if anonymous.
func (s *steps) once(id gjson.Result, anonymous bool) {
	switch {
	case id.Type != gjson.String || id.Str == "":
		if anonymous {
			s.n++
		}
	default:
		if id := key("", id.Str); !s.seen[id] {
			s.seen[id] = true
			s.n++
		}
	}
}
