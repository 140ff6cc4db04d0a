package check

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

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
	case typeMaxTokens, typeMaxLatency, typeMaxSteps, typeMaxInputTokens, typeMaxTotalTokens, typeMaxCost, typeMaxDuration:
		m = s.usageMatcher()
	case typeFileExists, typeFileContains:
		m = s.fileMatcher()
	case typeAllOf, typeAnyOf:
		m = s.logicMatcher(depth)
	case typeLeaksNoSecret:
		m = s.leakMatcher()
	default:
		m = s.seenMatcher(depth)
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
	if s.kind == typeMaxCost {
		limit, ok := s.number(k)
		if ok && limit < 0 {
			s.bad(k, "the most that is allowed must not be negative")
		}
		return usageMatcher{kind: s.kind, max: limit}
	}
	limit, ok := s.integer(k)
	if ok && limit <= 0 {
		s.bad(k, "the most that is allowed must be greater than 0")
	}
	return usageMatcher{kind: s.kind, max: float64(limit)}
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

func (s *spec) leakMatcher() matcher {
	var places []string
	if v := s.values[keyIn]; v != nil {
		var err error
		if places, err = stringList(v); err != nil || len(places) == 0 {
			s.bad(keyIn, "must be a list of places: %s", strings.Join(leakPlaces(), ", "))
			return nil
		}
	}
	m, err := newLeak(places)
	s.invalid(keyIn, err)
	return m
}
