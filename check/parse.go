package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Problem is something wrong with a spec.
type Problem struct {
	// Pointer is the JSON pointer of the value within the spec, such as /assertions/0/threshold; "" is all of it.
	Pointer string
	// Key says that the key at Pointer is the problem, not its value.
	Key bool
	// Message says what is wrong, and Hint, where there is one, what to do, such as `did you mean "contains"?`.
	Message, Hint string
	// Warning says that the spec is usable, but probably not what its author means.
	Warning bool
}

// Parse reads one declarative spec, with the ideal of its case. It reports all that is wrong with it. The check is nil
// when one of the problems is more than a warning.
//
// Parse is strict: unknown keys and types, wrong JSON types, missing ideals and questions, patterns, schemas and paths
// that cannot be compiled, and thresholds out of range are problems. For compatibility case_sensitive and threshold may be
// spelled as the documented format allows ("yes", "0.8"), the documented keys are allowed for all documented types, and
// what the documented format runs although it makes no sense, such as a search for the empty text, is only a warning. Of
// a key that is there twice the last one counts; who reads the file must reject that.
func Parse(spec json.RawMessage, ideal Ideal) (*Check, []Problem) {
	p := parser{ideal: ideal}
	return p.usable(p.check(spec, "", 0))
}

// ParseObject is [Parse] for a spec whose JSON object has been read already: members yields its keys and their values.
func ParseObject(members iter.Seq2[string, json.RawMessage], ideal Ideal) (*Check, []Problem) {
	p := parser{ideal: ideal}
	s := spec{parser: &p}
	var unknown []string
	names := keyNames()
	for name, value := range members {
		if known := slices.Index(names[:], name); known >= 0 {
			s.values[known] = jsontext.Value(value)
		} else {
			unknown = append(unknown, name)
		}
	}
	return p.usable(s.make(unknown, 0))
}

// usable returns the check unless one of the problems is more than a warning.
func (p *parser) usable(c *Check) (*Check, []Problem) {
	for i := range p.problems {
		if !p.problems[i].Warning {
			return nil, p.problems
		}
	}
	return c, p.problems
}

// The keys of a spec.
type key uint8

const (
	keyType key = iota
	keyName
	keyNot
	keyWeight
	keyCaseSensitive
	keyThreshold
	keyJudgePrompt
	keyIdeal
	keyNormalize
	keyPattern
	keySchema
	keyPath
	keyEquals
	keyContains
	keyExists
	keyValue
	keyTolerance
	keyTolerancePercent
	keyMax
	keyVotes
	keyAssertions
	keyExecutable
	keyPositionals
	keyOptions
	keyEndOfOptions
	keyStrict
	keyExitCode
	keyTool
	keyArgs
	keySkill
	keyMinConfidence
	keyChange
	keyTimes
	keyAtLeast
	keyAtMost
	keyOnly
	keyBefore
	keyIn
	keyCount
)

func keyNames() [keyCount]string {
	return [...]string{
		"type", "name", "not", "weight", "case_sensitive", "threshold", "judge_prompt", "ideal", "normalize", "pattern",
		"schema", "path", "equals", "contains", "exists", "value", "tolerance", "tolerance_percent", "max", "votes",
		"assertions", "executable", "positionals", "options", "end_of_options", "strict", "exit_code", "tool", "args", "skill",
		"min_confidence", "change", "count", "at_least", "at_most", "only", "before",
		"in",
	}
}

// keySet has one bit a key.
type keySet uint64

func keys(list ...key) keySet {
	var s keySet
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

func (s keySet) has(k key) bool { return s&(1<<k) != 0 }

// keysOf returns the keys that a type takes, and whether there is such a type.
func keysOf(kind string) (keySet, bool) {
	const (
		common     keySet = 1<<keyType | 1<<keyName | 1<<keyNot | 1<<keyWeight
		text       keySet = common | 1<<keyCaseSensitive | 1<<keyNormalize
		documented keySet = common | 1<<keyCaseSensitive | 1<<keyThreshold | 1<<keyJudgePrompt
	)
	switch kind {
	case typeExactMatch, typeContains, typeContainsAny:
		return documented | text | keys(keyIdeal), true
	case typeIsJSON:
		return documented, true
	case typeLLMJudge:
		return documented | keys(keyVotes), true
	case typeSemanticSimilarity:
		return documented | keys(keyIdeal), true
	case typeStartsWith:
		return text | keys(keyIdeal), true
	case typeRegex:
		return text | keys(keyPattern), true
	case typeJSONSchema:
		return common | keys(keySchema), true
	case typeJSONPath:
		return text | keys(keyIdeal, keyPath, keyEquals, keyContains, keyExists), true
	case typeNumeric:
		return common | keys(keyIdeal, keyValue, keyTolerance, keyTolerancePercent), true
	case typeMaxTokens, typeMaxLatency, typeMaxSteps, typeMaxInputTokens, typeMaxTotalTokens, typeMaxCost, typeMaxDuration:
		return common | keys(keyMax, keyValue), true
	case typeAllOf, typeAnyOf:
		return common | keys(keyAssertions), true
	case typeLeaksNoSecret:
		return common | keys(keyIn), true
	case typeFileExists:
		return common | keys(keyPath), true
	case typeFileContains:
		return text | keys(keyPath, keyContains, keyPattern, keyIdeal), true
	}
	if special := seenKeys(kind); special != 0 {
		return common | special | keys(keyEquals, keyContains, keyPattern, keyTimes, keyAtLeast, keyAtMost, keyOnly, keyBefore), true
	}
	return 0, false
}

type parser struct {
	ideal    Ideal
	problems []Problem
}

// spec is one object of the spec: the whole of it, or a member of all_of or any_of.
type spec struct {
	*parser
	at     string // its JSON pointer
	kind   string
	values [keyCount]jsontext.Value // nil where the key is missing
}

// maxNesting bounds all_of within any_of within all_of.
const maxNesting = 16

func (p *parser) check(raw []byte, at string, depth int) *Check {
	s := spec{parser: p, at: at}
	unknown, err := s.read(raw)
	if err != nil {
		p.add(Problem{Pointer: at, Message: err.Error()})
		return nil
	}
	return s.make(unknown, depth)
}

// make makes a check of the members. unknown are the keys that no type has.
func (s *spec) make(unknown []string, depth int) *Check {
	var allowed keySet
	if s.values[keyType] == nil {
		s.add(Problem{Pointer: s.at, Message: `an assertion needs "type"`})
	} else if kind, ok := s.text(keyType); ok {
		if allowed, ok = keysOf(kind); ok {
			s.kind = kind
		} else {
			s.hint(keyType, didYouMean(kind, Types()), "unknown assertion type %s", strconv.Quote(kind))
		}
	}
	s.strangers(unknown, allowed)
	if s.kind == "" {
		return nil
	}

	c := &Check{}
	if s.values[keyName] != nil {
		if name, ok := s.text(keyName); ok && strip(name) == "" {
			s.bad(keyName, "the name is empty")
		} else {
			c.name = name
		}
	}
	c.not = s.flag(keyNot)
	if s.values[keyWeight] != nil {
		weight, ok := s.number(keyWeight)
		if ok && weight <= 0 {
			s.bad(keyWeight, "a weight must be greater than 0")
		}
		if weight != 1 {
			c.weight = weight
		}
	}
	if c.matcher = s.matcher(depth); c.matcher == nil {
		return nil
	}
	return c
}

// read splits the object into its members. Keys that no type has are returned.
func (s *spec) read(raw []byte) (unknown []string, err error) {
	notJSON := func(err error) error {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("not valid JSON: %w", err)
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if kind := decoder.PeekKind(); kind != '{' {
		if _, err := decoder.ReadValue(); err != nil {
			return nil, notJSON(err)
		}
		return nil, errors.New("an assertion must be an object")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	names := keyNames()
	for decoder.PeekKind() != '}' {
		quoted, err := decoder.ReadValue()
		if err != nil {
			return nil, notJSON(err)
		}
		known := -1
		for k, name := range &names {
			if len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name {
				known = k
				break
			}
		}
		var name string
		if known < 0 { // or known, but spelled with escapes
			if name, err = unquote(quoted); err != nil {
				return nil, notJSON(err)
			}
			known = slices.Index(names[:], name)
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, notJSON(err)
		}
		if known < 0 {
			unknown = append(unknown, name)
			continue
		}
		end := decoder.InputOffset()
		s.values[known] = jsontext.Value(raw[end-int64(len(value)) : end]) // value itself is gone with the next read
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not valid JSON: there is something behind the object")
	}
	return unknown, nil
}

// strangers complains of keys that do not belong to the type.
func (s *spec) strangers(unknown []string, allowed keySet) {
	names := keyNames()
	candidates := func() (known []string) {
		for k, name := range &names {
			if allowed == 0 || allowed.has(key(k)) {
				known = append(known, name)
			}
		}
		return known
	}
	for _, name := range unknown {
		s.add(Problem{
			Pointer: s.at + "/" + escapePointer(name), Key: true,
			Message: "unknown key " + strconv.Quote(name), Hint: didYouMean(name, candidates()),
		})
	}
	if allowed == 0 {
		return
	}
	for k := range keyCount {
		switch {
		case s.values[k] == nil:
		case !allowed.has(k):
			s.add(Problem{
				Pointer: s.pointer(k), Key: true,
				Message: fmt.Sprintf("%s takes no %s", s.kind, strconv.Quote(names[k])), Hint: didYouMean(names[k], candidates()),
			})
		case (k == keyThreshold && s.kind != typeSemanticSimilarity || k == keyJudgePrompt && s.kind != typeLLMJudge) &&
			s.values[k].Kind() != 'n':
			s.add(Problem{
				Pointer: s.pointer(k), Key: true, Warning: true,
				Message: fmt.Sprintf("%s makes no use of %s", s.kind, strconv.Quote(names[k])),
			})
		}
	}
}

func (p *parser) add(problem Problem) { p.problems = append(p.problems, problem) }

// pointer returns the JSON pointer of a key; keyCount stands for the whole assertion.
func (s *spec) pointer(k key) string {
	if k == keyCount {
		return s.at
	}
	names := keyNames()
	return s.at + "/" + names[k]
}

func (s *spec) bad(k key, format string, args ...any) { s.hint(k, "", format, args...) }

func (s *spec) hint(k key, hint, format string, args ...any) {
	s.add(Problem{Pointer: s.pointer(k), Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (s *spec) warn(k key, format string, args ...any) {
	s.add(Problem{Pointer: s.pointer(k), Message: fmt.Sprintf(format, args...), Warning: true})
}

func (s *spec) need(k key) jsontext.Value {
	v := s.values[k]
	if v == nil {
		names := keyNames()
		s.bad(keyCount, "%s needs %s", s.kind, strconv.Quote(names[k]))
	}
	return v
}

func (s *spec) needText(k key) (string, bool) {
	if s.need(k) == nil {
		return "", false
	}
	return s.text(k)
}
