package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Problem is something wrong with a spec.
type Problem struct {
	// Pointer is the JSON pointer of the value within the spec, such as /assertions/0/threshold; ""
	// is the whole spec.
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
	v, err := parseJSON(raw)
	if err != nil {
		return nil, []Problem{{Message: err.Error(), Hint: plumb.Hint(err)}}
	}
	return ParseValue(&v, ideal)
}

// ParseValue is [Parse] for a spec that Plumb has read from a document.
func ParseValue(v *doc.Value, ideal Ideal) (*Check, []Problem) { return ParseIn(v, ideal, Env{}) }

// ParseIn is [ParseValue] for a spec of a suite.
func ParseIn(v *doc.Value, ideal Ideal, env Env) (*Check, []Problem) {
	loadKinds()
	p := parser{ideal: ideal, env: env}
	c := p.check(v, "", 0)
	if p.failedSince(0) {
		c = nil
	}
	return c, p.problems
}

// parseJSON parses a JSON text. What is not valid UTF-8, and a lone surrogate, which the documented
// format accepts, becomes U+FFFD.
func parseJSON(raw []byte) (doc.Value, error) {
	v, problem := doc.ParseJSON("", raw)
	if problem == nil {
		return v, nil
	}
	text := jsontext.Value(bytes.Clone(raw))
	if text.Format(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) == nil {
		if v, again := doc.ParseJSON("", text); again == nil {
			return v, nil
		}
	}
	return v, plumb.WithHint(errors.New(problem.Message), problem.Hint)
}

type parser struct {
	ideal    Ideal
	env      Env
	problems []Problem
}

// spec is one object of the spec: the whole of it, or a member of all_of or any_of.
type spec struct {
	*parser
	*doc.Value
	at    string // its JSON pointer
	kind  *Kind
	depth int
}

// maxNesting bounds all_of within any_of within all_of.
const maxNesting = 16

func (p *parser) check(v *doc.Value, at string, depth int) *Check {
	s := &spec{parser: p, Value: v, at: at, depth: depth}
	if v.Kind != doc.Map {
		s.bad("", "an assertion must be an object, not %s", jsonName(v))
		return nil
	}
	if s.Get("type") == nil {
		s.bad("", `an assertion needs "type"`)
	} else if name, ok := s.text("type"); !ok {
		s.bad("type", "type must be a string, not %s", jsonName(s.Get("type")))
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

// has reports whether the spec has a key with a value that is not null.
func (s *spec) has(name string) bool {
	v := s.Get(name)
	return v != nil && v.Kind != doc.Null
}

// checkKeys reports missing, unknown and misplaced keys, and values that their descriptions do not
// allow. It returns whether the kind can read its own keys.
func (s *spec) checkKeys() bool {
	if s.kind == nil {
		for _, m := range s.members() {
			if !kinds.keys[m.Key] {
				s.wrongKey(m.Key, "unknown key %q", m.Key)
			}
		}
		return false
	}
	usable := true
	for _, m := range s.members() {
		switch key := s.kind.key(m.Key); {
		case m.Key == "type":
		case key == nil && kinds.keys[m.Key]:
			s.wrongKey(m.Key, "%s does not take %q", s.kind.Name, m.Key)
		case key == nil:
			s.wrongKey(m.Key, "unknown key %q", m.Key)
		case key.Ignored && m.Value.Kind == doc.Null:
		case key.Ignored:
			s.add(Problem{
				Pointer: s.pointer(m.Key), Key: true, Warning: true,
				Message: fmt.Sprintf("%s ignores %q", s.kind.Name, m.Key),
			})
		default:
			usable = (s.checkValue(key, m.Key, &m.Value) || key.common) && usable
			if m.Key == key.Alias && s.Get(key.Name) != nil {
				s.bad(m.Key, "%q is another name for %q: give only one of them", m.Key, key.Name)
			}
		}
	}
	for _, key := range s.kind.Keys {
		if key.Required && s.Get(key.Name) == nil && (key.Alias == "" || s.Get(key.Alias) == nil) {
			usable = false
			s.bad("", "%s needs %q", s.kind.Name, key.Name)
		}
	}
	return usable
}

// members returns the members of the spec, of those with the same key the last one.
func (s *spec) members() []doc.Member {
	var last []doc.Member
	for i, m := range s.Members {
		if s.Get(m.Key) == &s.Members[i].Value {
			last = append(last, m)
		}
	}
	return last
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
