package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// Problem is something wrong with a spec.
type Problem struct {
	// Pointer is the JSON pointer of the value within the spec, such as /assertions/0/threshold; "" is
	// the whole spec.
	Pointer string
	// Key means that the key at Pointer is wrong, not its value.
	Key bool
	// Message says what is wrong, and Hint, where there is one, what to do, such as `did you mean
	// "contains"?`.
	Message, Hint string
	// Warning means that the spec is usable, but probably not what its author means.
	Warning bool
}

// Parse reads one declarative spec, with the ideal of its case. It reports everything that is wrong
// with it. The check is nil if any problem is more than a warning.
//
// Parse is strict: unknown keys and types, wrong JSON types, missing ideals and questions,
// patterns, schemas and paths that do not compile, and thresholds out of range are problems. For
// compatibility it accepts the spellings of the documented format for case_sensitive and threshold
// ("yes", "0.8") and the documented keys for all documented types, and only warns about a spec that
// the documented format runs although it makes no sense, such as a search for the empty text. If a
// key is there twice, the last one counts; the reader of the file must reject duplicates.
func Parse(raw json.RawMessage, ideal Ideal) (*Check, []Problem) {
	p := parser{ideal: ideal}
	return p.usable(p.check(raw, "", 0))
}

// ParseObject is [Parse] for a spec whose JSON object was parsed before: members yields its keys
// and their values.
func ParseObject(members iter.Seq2[string, json.RawMessage], ideal Ideal) (*Check, []Problem) {
	loadKinds()
	p := parser{ideal: ideal}
	s := &spec{parser: &p}
	for name, value := range members {
		s.set(name, jsontext.Value(value))
	}
	return p.usable(s.build())
}

// usable returns the check unless a problem is more than a warning, and the problems.
func (p *parser) usable(c *Check) (*Check, []Problem) {
	if p.failedSince(0) {
		c = nil
	}
	return c, p.problems
}

type parser struct {
	ideal    Ideal
	problems []Problem
}

// spec is one object of the spec: the whole of it, or a member of all_of or any_of.
type spec struct {
	*parser
	at      string // its JSON pointer
	kind    *Kind
	depth   int
	members []specMember
}

type specMember struct {
	name  string
	value jsontext.Value
}

// maxNesting bounds all_of within any_of within all_of.
const maxNesting = 16

func (p *parser) check(raw []byte, at string, depth int) *Check {
	loadKinds()
	s := &spec{parser: p, at: at, depth: depth}
	if err := s.read(raw); err != nil {
		s.bad("", "%s", err)
		return nil
	}
	return s.build()
}

// build makes the check of the members of the spec, or returns nil if they cannot be read.
func (s *spec) build() *Check {
	if s.value("type") == nil {
		s.bad("", `an assertion needs "type"`)
	} else if name, ok := s.text("type"); !ok {
		s.bad("type", "type must be a string, not %s", jsonName(s.value("type")))
	} else if s.kind = kindOf(name); s.kind == nil {
		s.hint("type", didYouMean(name, kinds.names), "unknown assertion type %q", name)
	}
	if !s.checkKeys() {
		return nil
	}
	c := &Check{kind: s.kind, not: s.flag("not")}
	c.name, _ = s.text("name")
	if weight := s.number("weight"); weight != 1 {
		c.weight = weight
	}
	c.matcher = s.kind.parse(s)
	return c
}

// read splits the object into its members.
func (s *spec) read(raw []byte) error {
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if decoder.PeekKind() != '{' {
		return errors.New("an assertion must be an object, not " + jsonName(bytes.TrimSpace(raw)))
	}
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() != '}' {
		var name jsontext.Token
		var value jsontext.Value
		if name, err = decoder.ReadToken(); err == nil {
			key := name.String() // the next read overwrites name and value
			value, err = decoder.ReadValue()
			s.set(key, value.Clone())
		}
	}
	return err
}

func (s *spec) set(name string, value jsontext.Value) {
	for i := range s.members {
		if s.members[i].name == name {
			s.members[i].value = value
			return
		}
	}
	s.members = append(s.members, specMember{name, value})
}

// value returns the value of a key, or nil.
func (s *spec) value(name string) jsontext.Value {
	for _, m := range s.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// has reports whether the spec has a key with a value that is not null.
func (s *spec) has(name string) bool {
	v := s.value(name)
	return v != nil && v.Kind() != 'n'
}

// checkKeys reports missing, unknown and misplaced keys, and values that their descriptions do not
// allow. It returns whether the kind can read its own keys.
func (s *spec) checkKeys() bool {
	if s.kind == nil {
		for _, m := range s.members {
			if !kinds.keys[m.name] {
				s.wrongKey(m.name, "unknown key %q", m.name)
			}
		}
		return false
	}
	usable := true
	for _, m := range s.members {
		switch key := s.kind.key(m.name); {
		case m.name == "type":
		case key == nil && kinds.keys[m.name]:
			s.wrongKey(m.name, "%s does not take %q", s.kind.Name, m.name)
		case key == nil:
			s.wrongKey(m.name, "unknown key %q", m.name)
		case key.Ignored && m.value.Kind() == 'n':
		case key.Ignored:
			s.add(Problem{
				Pointer: s.pointer(m.name), Key: true, Warning: true,
				Message: fmt.Sprintf("%s ignores %q", s.kind.Name, m.name),
			})
		default:
			usable = (s.checkValue(key, m.name, m.value) || key.common) && usable
			if m.name == key.Alias && s.value(key.Name) != nil {
				s.bad(m.name, "%q is another name for %q: give only one of them", m.name, key.Name)
			}
		}
	}
	for _, key := range s.kind.Keys {
		if key.Required && s.value(key.Name) == nil && (key.Alias == "" || s.value(key.Alias) == nil) {
			usable = false
			s.bad("", "%s needs %q", s.kind.Name, key.Name)
		}
	}
	return usable
}

// wrongKey reports a key that the type does not take.
func (s *spec) wrongKey(name, format string, args ...any) {
	s.add(Problem{
		Pointer: s.pointer(name), Key: true,
		Message: fmt.Sprintf(format, args...), Hint: didYouMean(name, s.allowedKeys()),
	})
}

// allowedKeys returns the keys that the type takes, or those of all types if it is not known.
func (s *spec) allowedKeys() []string {
	if s.kind == nil {
		return slices.Sorted(maps.Keys(kinds.keys))
	}
	var names []string
	for _, key := range s.kind.Keys {
		names = append(names, key.Name)
	}
	return names
}

func (p *parser) add(problem Problem) { p.problems = append(p.problems, problem) }

// failedSince reports whether a problem from index first on is more than a warning.
func (p *parser) failedSince(first int) bool {
	for i := range p.problems[first:] {
		if !p.problems[first+i].Warning {
			return true
		}
	}
	return false
}

// pointer returns the JSON pointer of a key; "" is the pointer of the whole assertion.
func (s *spec) pointer(key string) string {
	if key == "" {
		return s.at
	}
	return string(jsontext.Pointer(s.at).AppendToken(key))
}

func (s *spec) bad(key, format string, args ...any) { s.hint(key, "", format, args...) }

func (s *spec) hint(key, hint, format string, args ...any) {
	s.add(Problem{Pointer: s.pointer(key), Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (s *spec) warn(key, format string, args ...any) {
	s.add(Problem{Pointer: s.pointer(key), Message: fmt.Sprintf(format, args...), Warning: true})
}

// invalid reports err, if there is one, as a problem of the value of a key.
func (s *spec) invalid(key string, err error) {
	if err != nil {
		s.bad(key, "%s", err)
	}
}

func didYouMean(word string, known []string) string {
	if near := plumb.Nearest(word, known); near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	return ""
}
