package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// JSON parses JSON texts. It reuses its memory, so a value is valid only until the next text is
// parsed. It is not safe for concurrent use.
type JSON struct {
	// File is the document that problems name.
	File string
	// Values is the maximum number of values and keys of one text; 0 means no limit. What and Hint
	// are the name of the text and the hint in the message about it.
	Values     int
	What, Hint string

	decoder *jsontext.Decoder
	buffer  *bytes.Buffer
	// keys has one copy of each key, by its spelling with quotes.
	keys map[string]string
	// members and list have the children of the values of one text; open has the children of
	// incomplete values.
	members, open []Member
	list          []Value

	text         []byte
	depth, count int
	places       placer
}

// ParseJSON parses a document that is one JSON value. A key that an object has twice is a problem.
func ParseJSON(file string, text []byte) (Value, *Problem) {
	v, problems, ok := (&JSON{File: file}).Parse(text, 1)
	if !ok || len(problems) > 0 {
		return Value{}, &problems[0]
	}
	return v, nil
}

// Parse parses text, which must be one JSON value and begins at the given line. ok reports whether
// there is a value. Invalid UTF-8 and duplicate keys are problems, but the value can be used.
func (p *JSON) Parse(text []byte, line int) (v Value, problems Problems, ok bool) {
	if v, err := p.parse(text, line); err == nil {
		return v, v.duplicates(p.File), true
	}
	var options []jsontext.Options
	if !utf8.Valid(text) {
		problems = append(problems, p.invalidUTF8(text, line))
		options = append(options, jsontext.AllowInvalidUTF8(true))
	}
	v, err := p.parse(text, line, options...)
	if err == nil {
		return v, append(problems, v.duplicates(p.File)...).Sorted(), true
	}
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		err = p.reread(text, options...)
	}
	f, ok := errors.AsType[*fault](err)
	if !ok {
		f = explain(text, err)
	}
	problems = append(problems, Problem{Pos: p.position(text, line, f.at), Message: f.message, Hint: f.hint})
	return Value{}, problems, false
}

func (p *JSON) parse(text []byte, line int, o ...jsontext.Options) (Value, error) {
	if p.decoder == nil {
		p.buffer, p.decoder = &bytes.Buffer{}, jsontext.NewDecoder(strings.NewReader(""))
		p.keys = map[string]string{}
	}
	p.text, p.depth, p.count = text, 0, 0
	p.members, p.open, p.list = p.members[:0], p.open[:0], p.list[:0]
	p.places.start(text, line)
	p.reset(text, o)
	var v Value
	if err := p.value(&v); err != nil {
		return Value{}, noEOF(err)
	}
	if rest := bytes.TrimLeft(text[p.decoder.InputOffset():], jsonSpace); len(rest) > 0 {
		return Value{}, trailing(text, len(text)-len(rest))
	}
	return v, nil
}

func (p *JSON) reset(text []byte, o []jsontext.Options) {
	*p.buffer = *bytes.NewBuffer(text)
	p.decoder.Reset(p.buffer, append(o, jsontext.AllowDuplicateNames(true))...)
}

// reread returns the error of reading the whole text at once, which has more detail than the error
// of a single token.
func (p *JSON) reread(text []byte, o ...jsontext.Options) error {
	p.reset(text, o)
	_, err := p.decoder.ReadValue()
	return noEOF(err)
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

const jsonSpace = " \t\r\n"

func (p *JSON) value(v *Value) (err error) {
	v.Kind, v.json = KindOf(byte(p.decoder.PeekKind())), true
	if v.Kind != List && v.Kind != Map {
		v.raw, v.Place, err = p.word()
		return err
	}
	if _, err := p.decoder.ReadToken(); err != nil {
		return err
	}
	start := int(p.decoder.InputOffset()) - 1
	v.Place = p.places.at(start)
	if p.depth++; p.depth > maxDepth {
		return &fault{start, deepMessage(), ""}
	}
	if v.Kind == Map {
		v.Members, err = p.object()
	} else {
		v.List, err = p.array()
	}
	p.depth--
	v.raw = p.text[start:p.decoder.InputOffset()]
	return err
}

// word reads a string, a number or a literal.
func (p *JSON) word() (raw []byte, at Place, err error) {
	read, err := p.decoder.ReadValue()
	if err != nil {
		return nil, Place{}, err
	}
	end := int(p.decoder.InputOffset())
	start := end - len(read)
	at = p.places.at(start)
	if p.count++; p.count > p.Values && p.Values > 0 {
		err = &fault{start, fmt.Sprintf("%s holds more than %d values", p.What, p.Values), p.Hint}
	}
	return p.text[start:end:end], at, err // the next read may overwrite what this one returned
}

func (p *JSON) object() (_ []Member, err error) {
	first := len(p.open)
	for p.decoder.PeekKind() != '}' {
		quoted, at, err := p.word()
		if err != nil {
			return nil, err
		}
		m := Member{Key: p.key(quoted), Place: at}
		if err = p.value(&m.Value); err != nil {
			return nil, err
		}
		p.open = append(p.open, m)
	}
	_, err = p.decoder.ReadToken()
	begin := len(p.members)
	p.members = append(p.members, p.open[first:]...)
	p.open = p.open[:first]
	return slices.Clip(p.members[begin:]), err
}

func (p *JSON) array() (_ []Value, err error) {
	first := len(p.open)
	for p.decoder.PeekKind() != ']' {
		var m Member
		if err := p.value(&m.Value); err != nil {
			return nil, err
		}
		p.open = append(p.open, m)
	}
	_, err = p.decoder.ReadToken()
	begin := len(p.list)
	for i := range p.open[first:] {
		p.list = append(p.list, p.open[first+i].Value)
	}
	p.open = p.open[:first]
	return slices.Clip(p.list[begin:]), err
}

// key returns the unquoted key. The same keys occur in most cases, so they share memory.
func (p *JSON) key(quoted []byte) string {
	if key, ok := p.keys[string(quoted)]; ok {
		return key
	}
	const most, long = 1000, 64
	key := unquote(quoted)
	if len(p.keys) < most && len(quoted) <= long {
		p.keys[string(quoted)] = key
	}
	return key
}

// unquote returns the value of a JSON string.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	s, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return strings.ToValidUTF8(string(s), "\uFFFD")
	}
	return string(s)
}

// placer turns the offsets of a text into lines and columns. The offsets must not decrease.
type placer struct {
	text   []byte
	offset int
	// simple is set for one line of ASCII, in which the offset is the column.
	simple bool
	place  Place
}

func (p *placer) start(text []byte, line int) {
	*p = placer{text: text, place: Place{int32(line), 1}}
	p.simple = utf8.RuneCount(text) == len(text) && bytes.IndexByte(text, '\n') < 0
}

func (p *placer) at(offset int) Place {
	if p.simple {
		return Place{p.place.Line, int32(offset) + 1}
	}
	for ; p.offset < offset; p.offset++ {
		switch c := p.text[p.offset]; {
		case c == '\n':
			p.place = Place{p.place.Line + 1, 1}
		case utf8.RuneStart(c):
			p.place.Column++
		}
	}
	return p.place
}

func (p *JSON) position(text []byte, line, offset int) plumb.Position {
	var at placer
	at.start(text, line)
	return at.at(min(offset, len(text))).In(p.File)
}

// InvalidUTF8 returns the problem of a text that is not UTF-8, or nil.
func InvalidUTF8(file string, text []byte) *Problem {
	if utf8.Valid(text) {
		return nil
	}
	return new((&JSON{File: file}).invalidUTF8(text, 1))
}

// Position returns the place of an offset of a text.
func Position(file string, text []byte, offset int) plumb.Position {
	return (&JSON{File: file}).position(text, 1, offset)
}

// deepMessage is the message about a text that is nested too deep.
func deepMessage() string {
	return fmt.Sprintf("lists and mappings are nested more than %d deep", maxDepth)
}

// invalidUTF8 returns the problem of the first byte that is not UTF-8.
func (p *JSON) invalidUTF8(text []byte, line int) Problem {
	at := 0
	for {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			return Problem{
				Pos: p.position(text, line, at), Message: fmt.Sprintf("byte 0x%02X is not valid UTF-8", text[at]),
				Hint: "save the file as UTF-8",
			}
		}
		at += size
	}
}
