package digest

import (
	"crypto/sha256"
	"errors"
	"hash"

	"github.com/plumb-eval/plumb/internal/doc"
)

// Block is the canonical form of some records of a suite, in the order of the file. The zero value
// has none.
type Block struct {
	parser parser
	// first and last are the ids of the first and the last record, without the quotes.
	first, last []byte
	records     int
	unsorted    bool
}

// Reset removes the records and keeps their memory.
func (b *Block) Reset() {
	b.parser.out, b.first, b.last = b.parser.out[:0], b.first[:0], b.last[:0]
	b.records, b.unsorted = 0, false
}

// Add adds the record that v holds: a JSON object with a string "id". An error is a *[SyntaxError].
func (b *Block) Add(v *doc.Value) error {
	p := &b.parser
	if b.records > 0 {
		p.out = append(p.out, ',')
	}
	p.depth, p.members = 0, p.members[:0]
	if err := p.parsed(v); err != nil {
		return err
	}
	if v.Kind != doc.Map || p.id < 0 || p.out[p.id] != '"' {
		return &SyntaxError{int(v.Line), int(v.Column), `a record must be a JSON object with a string "id"`}
	}
	id := p.out[p.id+1 : p.idEnd-1]
	if b.records == 0 {
		b.first = append(b.first, id...)
	} else if compare(b.last, id) > 0 {
		b.unsorted = true
	}
	b.last = append(b.last[:0], id...)
	b.records++
	return nil
}

// parsed appends the canonical form of a value that has been parsed.
func (p *parser) parsed(v *doc.Value) error {
	switch v.Kind {
	case doc.List:
		p.depth++
		p.out = append(p.out, '[')
		for i := range v.List {
			if i > 0 {
				p.out = append(p.out, ',')
			}
			if err := p.parsed(&v.List[i]); err != nil {
				return err
			}
		}
		return p.leave(']')
	case doc.Map:
		p.depth++
		start, base, sorted := len(p.out), len(p.members), true
		p.out = append(p.out, '{')
		for i := range v.Members {
			if i > 0 {
				p.out = append(p.out, ',')
			}
			m := member{start: len(p.out)}
			p.out = appendString(p.out, v.Members[i].Key)
			m.key = len(p.out)
			if sorted && i > 0 {
				sorted = p.compare(p.members[len(p.members)-1], m) < 0
			}
			p.out = append(p.out, ':')
			if err := p.parsed(&v.Members[i].Value); err != nil {
				return err
			}
			m.end = len(p.out)
			p.members = append(p.members, m)
		}
		return p.close(start, base, sorted)
	default:
		p.data, p.pos = v.JSON(), 0
		err := p.value()
		if e, ok := errors.AsType[*SyntaxError](err); ok {
			return &SyntaxError{int(v.Line), int(v.Column) + e.Column - 1, e.Message}
		}
		return err
	}
}

// Stream computes the hash of a suite from its blocks, in the order of the file. It keeps none of
// them, and so works only for records that are in the order of their ids.
type Stream struct {
	hash     hash.Hash
	last     []byte
	records  int
	unsorted bool
}

// NewStream returns the stream of a suite that has no records yet.
func NewStream() *Stream {
	s := &Stream{hash: sha256.New()}
	s.hash.Write([]byte("["))
	return s
}

// Write adds the records of a block.
func (s *Stream) Write(b *Block) {
	if b.records == 0 || s.unsorted {
		return
	}
	if s.unsorted = b.unsorted || s.records > 0 && compare(s.last, b.first) > 0; s.unsorted {
		return
	}
	if s.records > 0 {
		s.hash.Write([]byte(","))
	}
	s.hash.Write(b.parser.out)
	s.last, s.records = append(s.last[:0], b.last...), s.records+b.records
}

// Sum returns the suite hash. ok is false if the records were not in order; then [Suite] computes
// it from the whole file.
func (s *Stream) Sum() (hash string, ok bool) {
	if s.unsorted {
		return "", false
	}
	s.hash.Write([]byte("]"))
	return sum(s.hash), true
}
