package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// Stored is an event of a session as the log has it, for those who copy most of it.
type Stored struct {
	Type plumb.EventType
	// Report and Verdicts are the bytes of the log; nil if the event has none.
	Report, Verdicts jsontext.Value
	// failure is that of the judgement.
	failure jsontext.Value

	log      *Log
	line     []byte
	from, to int // the place of a report in the line, or 0
}

// stored splits a line of the log, which was decoded when the log was read.
func (l *Log) stored(line []byte) (*Stored, error) {
	s := &Stored{log: l, line: line}
	var blob, judgement, kind []byte
	err := members(line, func(name []byte, from, to int) {
		switch string(name) {
		case `"type"`:
			kind = line[from:to]
		case `"report"`:
			s.Report, s.from, s.to = line[from:to], from, to
		case `"judgement"`:
			judgement = line[from:to]
		case `"blob"`:
			blob = line[from:to]
		}
	})
	if err == nil && judgement != nil {
		err = members(judgement, func(name []byte, from, to int) {
			switch string(name) {
			case `"verdicts"`:
				s.Verdicts = judgement[from:to]
			case `"failure"`:
				s.failure = judgement[from:to]
			}
		})
	}
	if err != nil {
		return s, err
	}
	name, err := jsontext.AppendUnquote(nil, kind)
	s.Type = plumb.EventType(name)
	if err != nil || blob == nil {
		return s, err
	}
	if name, err = jsontext.AppendUnquote(nil, blob); err != nil {
		return nil, err
	}
	data, err := l.blob(string(name))
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", name, err)
	}
	s.Report = bytes.TrimSuffix(data, []byte("\n"))
	return s, nil
}

// Event decodes the event. Its report and its judgement have only figures, as those of [Log.Figures];
// but it has the whole report of a session that broke off.
func (s *Stored) Event() (plumb.Event, error) {
	var b brief
	rest := s.line
	if s.to > 0 {
		rest = slices.Concat(s.line[:s.from], []byte("null"), s.line[s.to:])
	}
	err := s.log.unmarshal(rest, &b)
	switch {
	case err != nil || s.Report == nil:
	case b.Failure == nil:
		err = s.log.unmarshal(s.Report, &b.Report)
	default:
		ev := b.event()
		err = s.log.unmarshal(s.Report, &ev.Report)
		return ev, err
	}
	return b.event(), err
}

// Failure decodes the failure of the judgement. It returns nil if there is none.
func (s *Stored) Failure() (f *plumb.Failure, err error) {
	if s.failure != nil {
		err = s.log.unmarshal(s.failure, &f)
	}
	return f, err
}

var errNotJSON = errors.New("the line is not an object of JSON")

// members calls fn with the names of an object of JSON, in quotes, and where their values begin and end.
// The text must be JSON; otherwise members may return an error or other places, but it always ends.
func members(object []byte, fn func(name []byte, from, to int)) error {
	i := blank(object, 0)
	if i == len(object) || object[i] != '{' {
		return errNotJSON
	}
	for i = blank(object, i+1); i < len(object) && object[i] != '}'; i = blank(object, i) {
		end := skip(object, i)
		name := object[i:end]
		i = blank(object, end)
		if i == len(object) || object[i] != ':' {
			return errNotJSON
		}
		i = blank(object, i+1)
		end = skip(object, i)
		fn(name, i, end)
		if i = blank(object, end); i < len(object) && object[i] == ',' {
			i++
		}
	}
	if i >= len(object) {
		return errNotJSON
	}
	return nil
}

// blank returns the index of the first byte from i on that is no white space.
func blank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skip returns the index after the value that begins at i.
func skip(text []byte, i int) int {
	open := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = quoted(text, i+1)
			if open == 0 {
				return min(i+1, len(text))
			}
		case '{', '[':
			open++
		case '}', ']':
			if open == 0 {
				return i // the end of the object around a number or a word
			}
			if open--; open == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if open == 0 {
				return i
			}
		}
	}
	return len(text)
}

// quoted returns the index of the quote that ends the string with its first character at i.
func quoted(text []byte, i int) int {
	for ; ; i++ {
		end := bytes.IndexByte(text[i:], '"')
		if end < 0 {
			return len(text)
		}
		i += end
		escaped := false
		for before := i; text[before-1] == '\\'; before-- {
			escaped = !escaped
		}
		if !escaped {
			return i
		}
	}
}
