package digest

import (
	"bytes"
	"cmp"
	"hash"
	"slices"
	"unicode"

	"github.com/plumb-eval/plumb/internal/doc"
)

// stream hashes the canonical form of a file whose records are already in order, in memory that
// does not grow with the file. It gives up, and returns false, at the first record that is out of
// order.
func stream(h hash.Hash, data []byte) (sorted bool, err error) {
	p := newParser(data)
	h.Write([]byte("["))
	var prev []byte
	for first := true; p.more(); first = false {
		if !first {
			p.out = append(p.out, ',')
		}
		id, err := p.record()
		if err != nil {
			return false, err
		}
		if !first && compare(prev, id) > 0 {
			return false, nil
		}
		prev = append(prev[:0], id...)
		h.Write(p.out)
		p.out = p.out[:0]
	}
	h.Write([]byte("]"))
	return true, nil
}

// records is a suite in canonical text, record by record, with the order in which they belong.
type records struct {
	text    []byte
	records []record
}

// record is one record's place in the canonical text, its id without the quotes included.
type record struct{ start, end, id, idEnd int }

func collect(data []byte) (*records, error) {
	p := newParser(data)
	p.out = make([]byte, 0, len(data)+len(data)/8)
	var all []record
	for p.more() {
		start := len(p.out)
		id, err := p.record()
		if err != nil {
			return nil, err
		}
		at := p.id
		all = append(all, record{start, len(p.out), at, at + len(id)})
	}
	text := p.out
	slices.SortFunc(all, func(a, b record) int { // the place breaks ties: equal ids keep the order of the file
		return cmp.Or(compare(text[a.id:a.idEnd], text[b.id:b.idEnd]), cmp.Compare(a.start, b.start))
	})
	return &records{text, all}, nil
}

// each calls write with the pieces of the canonical form, in order.
func (r *records) each(write func([]byte)) {
	write([]byte("["))
	comma := []byte(",")
	for i, rec := range r.records {
		if i > 0 {
			write(comma)
		}
		write(r.text[rec.start:rec.end])
	}
	write([]byte("]"))
}

// newParser returns a parser at the first record of a suite file, with the white space around the
// whole text stripped.
func newParser(data []byte) *parser {
	end := len(bytes.TrimRightFunc(data, isSpace))
	start := end - len(bytes.TrimLeftFunc(data[:end], isSpace))
	return &parser{data: data[:end], pos: start}
}

// more moves to the next line that is not blank, and reports whether there is one.
func (p *parser) more() bool {
	for p.pos < len(p.data) {
		// There is such a character, because the text does not end with white space.
		end := p.pos + bytes.IndexFunc(p.data[p.pos:], func(r rune) bool { return !isSpace(r) || r == '\n' || r == '\r' })
		if !isLineEnd(p.data[end]) {
			return true
		}
		p.pos = end + 1
	}
	return false
}

// record appends the canonical form of the record at the current line to p.out, moves behind the
// line, and returns the record's id, in canonical form without the quotes. It is valid until the
// next call, and begins at p.id.
func (p *parser) record() ([]byte, error) {
	line, start := p.pos, len(p.out)
	p.space()
	if err := p.value(); err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.data) {
		if !isLineEnd(p.data[p.pos]) {
			return nil, p.fail(p.pos, "unexpected %s after the end of the record; each line holds one JSON object",
				p.found(p.pos))
		}
		p.pos++ // the LF of CRLF is then an empty line
	}
	switch {
	case p.out[start] != '{':
		return nil, p.fail(line, "a record must be a JSON object, not %s", doc.KindOf(p.out[start]).JSON())
	case p.id < 0:
		return nil, p.fail(line, `the record has no "id"`)
	case p.out[p.id] != '"':
		return nil, p.fail(line, `"id" must be a string, not %s`, doc.KindOf(p.out[p.id]).JSON())
	}
	p.id++
	return p.out[p.id : p.idEnd-1], nil
}

// isSpace is the white space that the suite format strips: Unicode's, and the four ASCII separators
// U+001C to U+001F.
func isSpace(r rune) bool {
	if r < 0x80 {
		return r == ' ' || r >= 0x09 && r <= 0x0d || r >= 0x1c && r <= 0x1f
	}
	return unicode.IsSpace(r)
}

func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }
