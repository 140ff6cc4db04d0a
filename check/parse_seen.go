package check

import (
	"encoding/json"
	"strconv"
)

// seenKeys returns the keys that only some of the checks of what an agent did take; 0 for a type that is none of them.
func seenKeys(kind string) keySet {
	switch kind {
	case typeRanCommand:
		return keys(keyExecutable, keyPositionals, keyOptions, keyEndOfOptions, keyStrict, keyExitCode)
	case typeReadFile:
		return keys(keyPath)
	case typeUsedSkill:
		return keys(keySkill, keyMinConfidence)
	case typeCalledTool:
		return keys(keyTool, keyArgs)
	case typeToolReturned, typeWasDenied:
		return keys(keyTool)
	case typeChangedFile:
		return keys(keyPath, keyChange)
	}
	return 0
}

// seenMatcher reads what an agent must have done.
func (s *spec) seenMatcher(depth int) matcher {
	var w Seen
	str := func(k key, to *string) {
		if s.values[k] == nil {
			return
		}
		var ok bool
		if *to, ok = s.text(k); ok && *to == "" {
			s.bad(k, "is empty")
		}
	}
	count := func(k key) *int {
		if s.values[k] == nil {
			return nil
		}
		n, ok := s.integer(k)
		if ok && n < 0 {
			s.bad(k, "must not be negative")
		}
		return new(int(n))
	}
	str(keyEquals, &w.Is)
	str(keyContains, &w.Contains)
	str(keyPattern, &w.Pattern)
	str(keyPath, &w.Path)
	str(keyTool, &w.Tool)
	str(keySkill, &w.Skill)
	str(keyMinConfidence, &w.MinConfidence)
	str(keyChange, &w.Change)
	if w.Change != "" && w.Change != "add" && w.Change != "update" && w.Change != "delete" {
		s.bad(keyChange, "must be add, update or delete")
	}
	if w.MinConfidence != "" && confidence(w.MinConfidence) < 0 {
		s.bad(keyMinConfidence, "must be weak, medium, strong or explicit")
	}
	w.Exactly, w.AtLeast, w.AtMost = count(keyTimes), count(keyAtLeast), count(keyAtMost)
	switch {
	case w.Exactly != nil && (w.AtLeast != nil || w.AtMost != nil):
		s.bad(keyTimes, "give either \"count\" or \"at_least\" and \"at_most\"")
	case w.AtLeast != nil && w.AtMost != nil && *w.AtLeast > *w.AtMost:
		s.bad(keyAtMost, "is less than \"at_least\"")
	}
	w.Only = s.flag(keyOnly)
	if s.values[keyExitCode] != nil {
		n, _ := s.integer(keyExitCode)
		w.ExitCode = new(int(n))
	}
	if v := s.values[keyArgs]; v != nil {
		if v.Kind() != '{' {
			s.bad(keyArgs, "must be an object")
		} else {
			w.Args = json.RawMessage(v)
		}
	}
	s.commandLine(&w.Command)
	m, err := newSeenMatcher(s.kind, w)
	if err != nil {
		s.bad(keyPattern, "%s", err)
		return nil
	}
	if s.values[keyBefore] != nil {
		if m.before = s.before(depth); m.before != nil {
			m.orderReads()
		}
	}
	return m
}

// commandLine reads how a command must look.
func (s *spec) commandLine(l *CommandLine) {
	if s.values[keyExecutable] != nil {
		l.Executable, _ = s.text(keyExecutable)
	}
	if v := s.values[keyPositionals]; v != nil {
		var err error
		if l.Positionals, err = stringList(v); err != nil {
			s.bad(keyPositionals, "must be a list of strings")
		}
	}
	l.Strict = s.flag(keyStrict)
	if s.values[keyEndOfOptions] != nil {
		l.EndOfOptions = new(s.flag(keyEndOfOptions))
	}
	v := s.values[keyOptions]
	if v == nil {
		return
	}
	var options map[string]any
	if v.Kind() != '{' || json.Unmarshal(v, &options) != nil {
		s.bad(keyOptions, "must be an object of option names, dashes included, and their values")
		return
	}
	l.Options = map[string][]string{}
	for name, value := range options {
		values := []string{}
		list, many := value.([]any)
		if !many && value != true {
			list = []any{value}
		}
		for _, v := range list {
			switch v := v.(type) {
			case string:
				values = append(values, v)
			case float64:
				values = append(values, strconv.FormatFloat(v, 'f', -1, 64))
			default:
				s.bad(keyOptions, "the value of %s must be a string, a list of strings, or true for a flag", strconv.Quote(name))
			}
		}
		l.Options[name] = values
	}
}

// before reads what must come later. Its type is that of the check unless it says otherwise.
func (s *spec) before(depth int) *seenMatcher {
	raw := s.values[keyBefore]
	if raw.Kind() != '{' {
		s.bad(keyBefore, "must be an object such as {\"contains\": \"git push\"}")
		return nil
	}
	if depth >= maxNesting {
		s.bad(keyBefore, "is nested more than %d levels deep", maxNesting)
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		s.bad(keyBefore, "%s", err)
		return nil
	}
	if members["type"] == nil {
		members["type"] = json.RawMessage(strconv.Quote(s.kind))
	}
	whole, err := json.Marshal(members)
	if err != nil {
		s.bad(keyBefore, "%s", err)
		return nil
	}
	c := s.check(whole, s.pointer(keyBefore), depth+1)
	if c == nil {
		return nil
	}
	m, ok := c.matcher.(*seenMatcher)
	if !ok || c.not {
		s.bad(keyBefore, "must be something that an agent does, such as a ran_command or a read_file")
		return nil
	}
	return m
}

// fileMatcher reads file_exists and file_contains.
func (s *spec) fileMatcher() matcher {
	name, ok := s.needText(keyPath)
	if !ok {
		return nil
	}
	var text matcher
	if s.kind == typeFileContains {
		mode := s.mode()
		var err error
		switch {
		case s.values[keyPattern] != nil:
			if pattern, ok := s.text(keyPattern); ok {
				text, err = newRegex(pattern, mode)
				s.invalid(keyPattern, err)
			}
		case s.values[keyContains] != nil:
			if term, ok := s.text(keyContains); ok {
				text = newText(typeContains, []string{term}, mode)
			}
		default:
			terms, at, ok := s.terms()
			if !ok || len(terms) == 0 {
				s.bad(at, "file_contains needs \"contains\", \"pattern\" or an \"ideal\"")
				return nil
			}
			text = newText(typeContainsAny, terms, mode)
		}
		if text == nil || err != nil {
			return nil
		}
	}
	m, err := newFile(name, text)
	if err != nil {
		s.bad(keyPath, "%s", err)
		return nil
	}
	return m
}
