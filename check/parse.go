package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb"
)

// Ideal is the documented "ideal" of a case: a text, a list of texts, or null.
type Ideal struct {
	Values []string
	// List says that it was written as a list, which may be empty.
	List bool
	// Set says that it was given, and not null.
	Set bool
}

// UnmarshalJSON reads a string, a list of strings, or null.
func (i *Ideal) UnmarshalJSON(data []byte) error {
	*i = Ideal{}
	switch v := jsontext.Value(data); v.Kind() {
	case 'n':
		return nil
	case '"':
		text, err := unquote(v)
		*i = Ideal{Values: []string{text}, Set: true}
		return err
	case '[':
		var err error
		*i = Ideal{List: true, Set: true}
		i.Values, err = stringList(v)
		return err
	}
	return errors.New("must be a string, a list of strings or null")
}

// MarshalJSON writes the ideal as it was written.
func (i Ideal) MarshalJSON() ([]byte, error) {
	switch {
	case !i.Set:
		return []byte("null"), nil
	case !i.List && len(i.Values) == 1:
		return appendString(nil, i.Values[0]), nil
	}
	var o object
	o.strs("", i.Values)
	return o.buf, nil
}

// Problem is something wrong with a spec.
type Problem struct {
	// Pointer is the JSON pointer of the value within the spec, such as /assertions/0/threshold; "" is all of it.
	Pointer string
	// Key says that the key at Pointer is the problem, not its value.
	Key bool
	// Message says what is wrong, and often what to do.
	Message string
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
	c := p.check(spec, "", 0)
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
	keyCount
)

func keyNames() [keyCount]string {
	return [...]string{
		"type", "name", "not", "weight", "case_sensitive", "threshold", "judge_prompt", "ideal", "normalize", "pattern",
		"schema", "path", "equals", "contains", "exists", "value", "tolerance", "tolerance_percent", "max", "votes",
		"assertions",
	}
}

// keySet has one bit a key.
type keySet uint32

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
	case typeMaxTokens, typeMaxLatency:
		return common | keys(keyMax, keyValue), true
	case typeAllOf, typeAnyOf:
		return common | keys(keyAssertions), true
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
	var allowed keySet
	if s.values[keyType] == nil {
		p.add(Problem{Pointer: at, Message: `an assertion needs "type"`})
	} else if kind, ok := s.text(keyType); ok {
		if allowed, ok = keysOf(kind); ok {
			s.kind = kind
		} else {
			s.bad(keyType, "unknown assertion type %s%s", strconv.Quote(kind), didYouMean(kind, Types()))
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
	var candidates []string
	for k, name := range &names {
		if allowed == 0 || allowed.has(key(k)) {
			candidates = append(candidates, name)
		}
	}
	for _, name := range unknown {
		s.add(Problem{
			Pointer: s.at + "/" + escapePointer(name), Key: true,
			Message: "unknown key " + strconv.Quote(name) + didYouMean(name, candidates),
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
				Message: fmt.Sprintf("%s takes no %s%s", s.kind, strconv.Quote(names[k]), didYouMean(names[k], candidates)),
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

// matcher reads what is particular to the type. It returns nil when that is not usable.
func (s *spec) matcher(depth int) matcher {
	before := len(s.problems)
	var m matcher
	var err error
	switch s.kind {
	case typeExactMatch, typeContains, typeContainsAny, typeStartsWith:
		m = s.textMatcher()
	case typeIsJSON:
		s.mode()
		m = jsonMatcher{}
	case typeLLMJudge:
		m = s.judgeMatcher()
	case typeSemanticSimilarity:
		m = s.similarMatcher()
	case typeRegex:
		if pattern, ok := s.needText(keyPattern); ok {
			m, err = newRegex(pattern, s.mode())
			s.invalid(keyPattern, err)
		}
	case typeJSONSchema:
		if v := s.need(keySchema); v != nil {
			if kind := v.Kind(); kind != '{' && kind != 't' && kind != 'f' {
				s.bad(keySchema, "a schema must be an object")
			} else {
				m, err = newSchema(json.RawMessage(v))
				s.invalid(keySchema, err)
			}
		}
	case typeJSONPath:
		m = s.pathMatcher()
	case typeNumeric:
		m = s.numericMatcher()
	case typeMaxTokens, typeMaxLatency:
		m = s.usageMatcher()
	case typeAllOf, typeAnyOf:
		m = s.logicMatcher(depth)
	}
	for _, p := range s.problems[before:] {
		if !p.Warning {
			return nil
		}
	}
	return m
}

// invalid reports err, if there is one, as a problem of the value at k.
func (s *spec) invalid(k key, err error) {
	if err != nil {
		s.bad(k, "%s", err)
	}
}

// terms returns the ideal that counts: the assertion's own, or else that of the case.
func (s *spec) terms() (terms []string, at key, ok bool) {
	ideal, at := s.ideal, keyCount
	if v := s.values[keyIdeal]; v != nil && v.Kind() != 'n' {
		at = keyIdeal
		if err := ideal.UnmarshalJSON(v); err != nil {
			s.bad(keyIdeal, "%s", err)
			return nil, at, false
		}
	}
	return ideal.Values, at, ideal.Set
}

func (s *spec) needTerms() (terms []string, at key, ok bool) {
	before := len(s.problems)
	terms, at, ok = s.terms()
	if !ok && len(s.problems) == before {
		s.bad(keyCount, `%s needs an "ideal"`, s.kind)
	}
	return terms, at, ok
}

func (s *spec) textMatcher() matcher {
	mode := s.mode()
	terms, at, ok := s.needTerms()
	if !ok {
		return nil
	}
	first := s.kind == typeExactMatch || s.kind == typeContains
	switch {
	case len(terms) == 0 && s.kind == typeContainsAny:
		s.warn(at, "the ideal is an empty list: this can never hold")
	case len(terms) == 0:
		s.bad(at, "the ideal is an empty list")
		return nil
	case len(terms) > 1 && first:
		s.warn(at, "%s uses only the first of the %d ideals; contains_any looks for each of them", s.kind, len(terms))
		terms = slices.Clone(terms[:1])
	}
	t := newText(s.kind, terms, mode)
	if s.kind != typeExactMatch && slices.Contains(t.folded, "") {
		if s.kind == typeStartsWith {
			s.bad(at, "an ideal is empty: every output starts with it")
			return nil
		}
		s.warn(at, "an ideal is empty: every output contains it, so this cannot fail")
	}
	return t
}

func (s *spec) judgeMatcher() matcher {
	s.mode()
	question := ""
	if v := s.values[keyJudgePrompt]; v == nil || v.Kind() == 'n' {
		s.bad(keyCount, `llm_judge needs a "judge_prompt"`)
	} else if text, ok := s.text(keyJudgePrompt); ok {
		if question = text; strip(text) == "" {
			s.bad(keyJudgePrompt, "the judge_prompt is empty")
		}
	}
	const most = 99
	votes := int64(0)
	if s.values[keyVotes] != nil {
		var ok bool
		if votes, ok = s.integer(keyVotes); ok && (votes < 1 || votes > most || votes%2 == 0) {
			s.bad(keyVotes, "votes must be an odd number from 1 to %d, so that there is a majority", most)
		}
	}
	return &judgeMatcher{question, int(votes)}
}

func (s *spec) similarMatcher() matcher {
	s.mode()
	threshold := DefaultThreshold
	if v := s.values[keyThreshold]; v != nil && v.Kind() != 'n' {
		var ok bool
		if threshold, ok = lenientNumber(v); !ok {
			s.bad(keyThreshold, "a threshold must be a number")
		} else if !(threshold >= 0 && threshold <= 1) {
			s.bad(keyThreshold, "a threshold must be a number from 0 to 1")
		}
	}
	terms, at, ok := s.needTerms()
	switch {
	case !ok:
	case len(terms) == 0:
		s.bad(at, "the ideal is an empty list")
	case slices.ContainsFunc(terms, func(t string) bool { return strip(t) == "" }):
		s.bad(at, "an ideal is empty: there is nothing to compare with")
	}
	return &similarMatcher{terms, threshold}
}

func (s *spec) pathMatcher() matcher {
	want := Path{}
	given := 0
	if v := s.values[keyEquals]; v != nil {
		want.Equals = json.RawMessage(v)
		given++
	}
	if s.values[keyContains] != nil {
		if want.Contains, _ = s.text(keyContains); want.Contains == "" {
			s.bad(keyContains, "the text to look for is empty")
		}
		given++
	}
	if s.values[keyExists] != nil {
		want.Absent = !s.flag(keyExists)
		if given > 0 && want.Absent {
			s.bad(keyExists, `"exists": false contradicts what the value should be`)
		}
		given++
	}
	if s.values[keyEquals] != nil && s.values[keyContains] != nil {
		s.bad(keyContains, `give either "equals" or "contains"; all_of takes two assertions`)
	}
	if given > 0 && s.values[keyIdeal] != nil {
		s.warn(keyIdeal, "the ideal is not used beside equals, contains or exists")
	}
	if given == 0 {
		terms, at, ok := s.terms()
		if ok && len(terms) == 0 {
			s.bad(at, "the ideal is an empty list")
		}
		want.OneOf = terms
	}
	mode := s.mode()
	path, ok := s.needText(keyPath)
	if !ok {
		return nil
	}
	m, err := newPath(path, want, mode)
	if err != nil {
		if strings.HasPrefix(err.Error(), "equals") {
			s.bad(keyEquals, "%s", err)
		} else {
			s.bad(keyPath, "%s", err)
		}
		return nil
	}
	return m
}

func (s *spec) numericMatcher() matcher {
	bound := func(k key) string {
		v := s.values[k]
		if v == nil {
			return "0"
		}
		if n, ok := s.number(k); ok && n < 0 {
			s.bad(k, "a tolerance must not be negative")
			return "0"
		}
		return string(v)
	}
	absolute, percent := bound(keyTolerance), bound(keyTolerancePercent)
	var want []string
	at := keyValue
	if v := s.values[keyValue]; v != nil {
		if _, ok := s.number(keyValue); !ok {
			return nil
		}
		want = []string{string(v)}
	} else {
		var terms []string
		var ok bool
		before := len(s.problems)
		if terms, at, ok = s.terms(); !ok {
			if len(s.problems) == before {
				s.bad(keyCount, `numeric needs a "value" or an "ideal"`)
			}
			return nil
		}
		if len(terms) == 0 {
			s.bad(at, "the ideal is an empty list")
		}
		for _, t := range terms {
			number, ok := lastNumber(t)
			if !ok {
				s.bad(at, "there is no number in the ideal %s", quote(t))
			}
			want = append(want, number)
		}
	}
	for _, p := range s.problems {
		if !p.Warning {
			return nil
		}
	}
	m, err := newNumeric(want, absolute, percent)
	if err != nil {
		s.bad(at, "%s", err)
		return nil
	}
	return m
}

func (s *spec) usageMatcher() matcher {
	k := keyMax
	if s.values[keyValue] != nil {
		if s.values[keyMax] != nil {
			s.bad(keyValue, `"value" is another word for "max"; give one of them`)
		}
		k = keyValue
	}
	if s.need(k) == nil {
		return nil
	}
	limit, ok := s.integer(k)
	if ok && limit <= 0 {
		s.bad(k, "the most that is allowed must be greater than 0")
	}
	return usageMatcher{kind: s.kind, max: limit}
}

func (s *spec) logicMatcher(depth int) matcher {
	v := s.need(keyAssertions)
	if v == nil {
		return nil
	}
	if v.Kind() != '[' {
		s.bad(keyAssertions, "must be a list of assertions")
		return nil
	}
	if depth >= maxNesting {
		s.bad(keyAssertions, "assertions are nested more than %d levels deep", maxNesting)
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil {
		s.bad(keyAssertions, "%s", err)
		return nil
	}
	if len(list) == 0 {
		s.bad(keyAssertions, "the list of assertions is empty")
		return nil
	}
	l := &logicMatcher{any: s.kind == typeAnyOf}
	for i, raw := range list {
		if c := s.check(raw, s.pointer(keyAssertions)+"/"+strconv.Itoa(i), depth+1); c != nil {
			l.members = append(l.members, c)
		}
	}
	return l
}

// mode reads how texts are compared.
func (s *spec) mode() mode {
	var m mode
	if v := s.values[keyCaseSensitive]; v != nil {
		if sensitive, ok := lenientFlag(v); !ok {
			s.bad(keyCaseSensitive, "must be true or false")
		} else if !sensitive {
			m |= ignoreCase
		}
	}
	v := s.values[keyNormalize]
	if v == nil {
		return m
	}
	var names []string
	var err error
	if v.Kind() == '"' {
		names = make([]string, 1)
		names[0], err = unquote(v)
	} else {
		names, err = stringList(v)
	}
	if err != nil {
		s.bad(keyNormalize, "must be a list of modes")
	}
	modes := []string{"typography", "whitespace", "unicode"}
	for _, name := range names {
		switch name {
		case "typography":
			m |= typography
		case "whitespace":
			m |= whitespace
		case "unicode":
			m |= composed
		default:
			s.bad(keyNormalize, "unknown mode %s%s", strconv.Quote(name), didYouMean(name, modes))
		}
	}
	return m
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

func (s *spec) bad(k key, format string, args ...any) {
	s.add(Problem{Pointer: s.pointer(k), Message: fmt.Sprintf(format, args...)})
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

func (s *spec) text(k key) (string, bool) {
	if v := s.values[k]; v.Kind() == '"' {
		if text, err := unquote(v); err == nil {
			return text, true
		}
	}
	s.bad(k, "must be a string")
	return "", false
}

// flag reads true or false; a missing one is false.
func (s *spec) flag(k key) bool {
	switch v := s.values[k]; {
	case v == nil:
		return false
	case v.Kind() != 't' && v.Kind() != 'f':
		s.bad(k, "must be true or false")
		return false
	default:
		return v.Kind() == 't'
	}
}

func (s *spec) number(k key) (float64, bool) {
	v := s.values[k]
	if v.Kind() == '0' {
		if n, err := strconv.ParseFloat(string(v), 64); err == nil {
			return n, true
		}
		s.bad(k, "the number is too large")
		return 0, false
	}
	s.bad(k, "must be a number")
	return 0, false
}

func (s *spec) integer(k key) (int64, bool) {
	n, ok := s.number(k)
	if ok && (n != math.Trunc(n) || math.Abs(n) > 1<<53) {
		s.bad(k, "must be a whole number")
		return 0, false
	}
	return int64(n), ok
}

// lenientFlag reads a boolean in any of the spellings that the documented format takes.
func lenientFlag(v jsontext.Value) (val, ok bool) {
	switch v.Kind() {
	case 't', 'f':
		return v.Kind() == 't', true
	case '0':
		n, err := strconv.ParseFloat(string(v), 64)
		return n == 1, err == nil && (n == 0 || n == 1)
	case '"':
		text, err := unquote(v)
		if err != nil {
			return false, false
		}
		switch strings.ToLower(text) {
		case "true", "t", "yes", "y", "on", "1":
			return true, true
		case "false", "f", "no", "n", "off", "0":
			return false, true
		}
	}
	return false, false
}

// lenientNumber reads a finite number in any of the spellings that the documented format takes.
func lenientNumber(v jsontext.Value) (float64, bool) {
	text := string(v)
	switch v.Kind() {
	case 't':
		return 1, true
	case 'f':
		return 0, true
	case '"':
		var err error
		if text, err = unquote(v); err != nil {
			return 0, false
		}
		text = strip(text)
		if strings.Trim(text, "0123456789+-.eE_") != "" || strings.Contains(text, "__") ||
			strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") {
			return 0, false
		}
		text = strings.ReplaceAll(text, "_", "")
	case '0':
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

func unquote(v jsontext.Value) (string, error) {
	if len(v) >= 2 && v[0] == '"' && bytes.IndexByte(v, '\\') < 0 && v[len(v)-1] == '"' {
		return strings.ToValidUTF8(string(v[1:len(v)-1]), "\uFFFD"), nil
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		// A lone surrogate, which the documented format takes; encoding/json puts U+FFFD in its place.
		var text string
		if json.Unmarshal(v, &text) != nil {
			return "", err
		}
		return text, nil
	}
	return string(b), nil
}

func stringList(v jsontext.Value) ([]string, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil {
		return nil, errors.New("must be a list of strings")
	}
	texts := make([]string, len(list))
	for i, raw := range list {
		if jsontext.Value(raw).Kind() != '"' {
			return nil, fmt.Errorf("must be a list of strings: element %d is none", i+1)
		}
		var err error
		if texts[i], err = unquote(jsontext.Value(raw)); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func didYouMean(word string, known []string) string {
	if near := plumb.Nearest(word, known); near != "" {
		return " (did you mean " + strconv.Quote(near) + "?)"
	}
	return ""
}
