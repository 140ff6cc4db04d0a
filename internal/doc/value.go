package doc

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// Kind is the kind of a [Value].
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// String names the kind in the words of YAML, for messages about a config.
func (k Kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "a string", "a list", "a mapping"}[k]
}

// JSON names the kind in the words of JSON, for messages about a case.
func (k Kind) JSON() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// KindOf returns the kind of a JSON value that begins with the given byte.
func KindOf(first byte) Kind {
	switch first {
	case '{':
		return Map
	case '[':
		return List
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		return Number
	}
}

// Place is a place in a document. Line and Column count from 1, the column in characters; 0 means
// unknown.
type Place struct{ Line, Column int32 }

// In returns the place as a position in a file.
func (p Place) In(file string) plumb.Position {
	return plumb.Position{File: file, Line: int(p.Line), Column: int(p.Column)}
}

// Value is a value of a document, with its place. It does not depend on the format of the document.
type Value struct {
	Kind Kind
	// Place is the start of the value.
	Place
	// List has the elements of a list, Members the members of a mapping, including duplicates.
	List    []Value
	Members []Member

	// raw is the JSON text of the value if json is set; otherwise the string, or the text of the
	// number or boolean.
	raw  []byte
	json bool
	// written is set for a number of YAML that raw has as it was written, such as 1.10.
	written bool
	// ambiguous is set for a number of YAML that JSON writes in another way, such as 010 or .5.
	ambiguous bool
	// plain is set for a scalar of YAML without quotes that [ParseWritten] read.
	plain bool
}

// Member is one key of a mapping with its value. Place is the start of the key.
type Member struct {
	Key string
	Place
	Value Value
}

// Text returns a string, or the text of a number or boolean.
func (v *Value) Text() string {
	switch {
	case v.Kind == String && v.json:
		return unquote(v.raw)
	case v.Kind == List, v.Kind == Map, v.Kind == Null:
		return ""
	}
	return string(v.raw)
}

// Plain reports whether a string is a scalar of YAML without quotes that [ParseWritten] read.
func (v *Value) Plain() bool { return v.plain }

// Empty reports whether a string has no characters.
func (v *Value) Empty() bool { return len(v.raw) == 0 || v.json && len(v.raw) == len(`""`) }

// NewString returns a string with a place.
func NewString(text string, at Place) Value { return Value{Kind: String, Place: at, raw: []byte(text)} }

// NewBool returns a boolean with a place.
func NewBool(b bool, at Place) Value {
	return Value{Kind: Bool, Place: at, raw: strconv.AppendBool(nil, b)}
}

// NewNumber returns a number with a place. ok reports whether the text is one that JSON can represent.
func NewNumber(text string, at Place) (v Value, ok bool) {
	v = Value{Kind: Number, Place: at, raw: []byte(strings.TrimSpace(text))}
	return v, json.Valid(v.raw) && KindOf(v.raw[0]) == Number
}

// Set sets the value of a key of a mapping. A new key has the place of its value.
func (v *Value) Set(key string, value Value) {
	if old := v.Get(key); old != nil {
		*old = value
		return
	}
	v.Members = append(v.Members, Member{key, value.Place, value})
}

// Copy returns a deep copy of v, in which [Value.SetText] does not change v.
func (v *Value) Copy() Value {
	c := *v
	if len(v.List) > 0 || len(v.Members) > 0 {
		c.raw, c.json = nil, false // the text of the parts may change
	}
	c.List, c.Members = slices.Clone(v.List), slices.Clone(v.Members)
	for i := range c.List {
		c.List[i] = v.List[i].Copy()
	}
	for i := range c.Members {
		c.Members[i].Value = v.Members[i].Value.Copy()
	}
	return c
}

// Shift moves the places in v by a number of lines.
func (v *Value) Shift(lines int32) {
	v.Line += lines
	for i := range v.List {
		v.List[i].Shift(lines)
	}
	for i := range v.Members {
		v.Members[i].Line += lines
		v.Members[i].Value.Shift(lines)
	}
}

// Strings yields the strings in v, which can be changed, in order.
func (v *Value) Strings(yield func(*Value) bool) bool {
	if v.Kind == String && !yield(v) {
		return false
	}
	for i := range v.List {
		if !v.List[i].Strings(yield) {
			return false
		}
	}
	for i := range v.Members {
		if !v.Members[i].Value.Strings(yield) {
			return false
		}
	}
	return true
}

// SetText replaces the value by a string. Its place remains.
func (v *Value) SetText(text string) { v.Kind, v.raw, v.json = String, []byte(text), false }

// Get returns the value of a key of a mapping, the last one if there are several, or nil.
func (v *Value) Get(key string) *Value {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return &v.Members[i].Value
		}
	}
	return nil
}

// JSON returns the value as JSON text. The caller must not change it.
func (v *Value) JSON() json.RawMessage {
	if v.json {
		return v.raw
	}
	return v.AppendJSON(nil)
}

// AppendJSON appends the value as JSON text. A number that JSON cannot represent becomes 0; see
// [Value.Infinite].
func (v *Value) AppendJSON(to []byte) []byte {
	switch v.Kind {
	case List:
		to = append(to, '[')
		for i := range v.List {
			if i > 0 {
				to = append(to, ',')
			}
			to = v.List[i].AppendJSON(to)
		}
		return append(to, ']')
	case Map:
		to = append(to, '{')
		for i := range v.Members {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(appendQuote(to, v.Members[i].Key), ':')
			to = v.Members[i].Value.AppendJSON(to)
		}
		return append(to, '}')
	case Null:
		return append(to, "null"...)
	case String:
		if !v.json {
			return appendQuote(to, string(v.raw))
		}
	case Number:
		if v.infinite() {
			return append(to, '0')
		}
		if v.written {
			return append(to, shortest(string(v.raw))...)
		}
	case Bool:
	}
	return append(to, v.raw...)
}

// MoveTo sets the place of a value and of all values in it, for a value that was made of another.
func (v *Value) MoveTo(at Place) {
	v.Place = at
	for i := range v.List {
		v.List[i].MoveTo(at)
	}
	for i := range v.Members {
		v.Members[i].Place = at
		v.Members[i].Value.MoveTo(at)
	}
}

// Ambiguous reports whether a number of YAML is written in a way that JSON does not have, such as 010 or .5. The versions of
// YAML do not agree on all of these.
func (v *Value) Ambiguous() bool { return v.ambiguous }

// shortest returns a number without the digits that do not change its value, as hashes of suites in YAML have it. Digits that
// a float64 does not have remain.
func shortest(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	short := strconv.FormatFloat(f, 'g', -1, 64)
	exact, ok := new(big.Rat).SetString(text)
	if value, _ := new(big.Rat).SetString(short); err != nil || !ok || value.Cmp(exact) != 0 {
		return text
	}
	return short
}

func appendQuote(to []byte, s string) []byte {
	text, err := jsontext.AppendQuote(to, s)
	if err != nil { // s is not UTF-8
		text, _ = jsontext.AppendQuote(to, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return text
}

func (v *Value) infinite() bool {
	if v.Kind != Number || v.json {
		return false
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	return err != nil || math.IsNaN(f) || math.IsInf(f, 0)
}

// Infinite returns the numbers in v that JSON cannot represent, such as .inf in YAML.
func (v *Value) Infinite() (found []Value) {
	if v.infinite() {
		found = append(found, *v)
	}
	for i := range v.List {
		found = append(found, v.List[i].Infinite()...)
	}
	for i := range v.Members {
		found = append(found, v.Members[i].Value.Infinite()...)
	}
	return found
}

// duplicates returns the problems of the keys that a mapping in v has twice.
func (v *Value) duplicates(file string) (found Problems) {
	for _, m := range v.Duplicates() {
		found = append(found, m.twice(file))
	}
	return found
}

// twice returns the problem of a key that the mapping has already.
func (m *Member) twice(file string) Problem {
	return Problem{Pos: m.In(file), Message: fmt.Sprintf("duplicate key %q", m.Key)}
}

// Duplicates returns the members in v whose key occurs earlier in the same mapping. It does not look
// into the values of the keys except.
func (v *Value) Duplicates(except ...string) (found []Member) {
	const few = 16
	var seen map[string]bool
	for i := range v.Members {
		m := &v.Members[i]
		var before bool
		if len(v.Members) <= few {
			before = slices.ContainsFunc(v.Members[:i], func(o Member) bool { return o.Key == m.Key })
		} else {
			if seen == nil {
				seen = make(map[string]bool, len(v.Members))
			}
			before = seen[m.Key]
			seen[m.Key] = true
		}
		if before {
			found = append(found, *m)
		}
		if !slices.Contains(except, m.Key) {
			found = append(found, m.Value.Duplicates(except...)...)
		}
	}
	for i := range v.List {
		found = append(found, v.List[i].Duplicates(except...)...)
	}
	return found
}

// Find returns the place of the value of a JSON pointer, or of its key. If there is no such value, it
// returns the place of the last value on the path.
func (v *Value) Find(pointer string, key bool) Place {
	at := v.Place
	for token := range jsontext.Pointer(pointer).Tokens() {
		var next *Value
		at = v.Place
		switch v.Kind {
		case Map:
			for i := range v.Members {
				if m := &v.Members[i]; m.Key == token {
					next, at = &m.Value, m.Place
				}
			}
		case List:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v.List) {
				next, at = &v.List[i], v.List[i].Place
			}
		default:
		}
		if next == nil {
			return at
		}
		v = next
		if !key {
			at = v.Place
		}
	}
	return at
}

// size counts the values in v. A long text counts as several, because aliases can repeat it.
func (v *Value) size() int {
	n := 1 + len(v.raw)>>8
	for i := range v.List {
		n += v.List[i].size()
	}
	for i := range v.Members {
		n += v.Members[i].Value.size()
	}
	return n
}
