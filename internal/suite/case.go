package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
)

// caseReader turns lines into cases and problems. Each goroutine has its own.
type caseReader struct {
	file string
	// keep says that the cases are wanted, not only what is wrong with them.
	keep   bool
	syntax syntax
	// words holds one copy of strings that come again and again, such as tags.
	words map[string]string

	line int
	text []byte
	// places are those of the values in a text that was not written by the author; see parseYAML.
	places   []placed
	problems Problems
	summary  tally
}

// caseFields are the members of a case as they stand in the file; raw is nil where one is missing.
type caseFields struct {
	id, category, input, system, ideal, assertion, assertions, metadata node
	timeout, expectedFail, repeat, maxOutputTokens, maxSteps            node
}

// CaseKeys returns the keys that a case may have.
func CaseKeys() []string {
	return []string{
		"id", "category", "input", "system", "ideal", "assertion", "assertions", "metadata",
		"timeout_ms", "expected_fail", "repeat", "max_output_tokens", "max_steps",
	}
}

// Categories returns the categories that a case may belong to.
func Categories() []string {
	return []string{"reasoning", "factual", "instruction_following", "coding", "safety", "creative"}
}

// Difficulties returns the degrees of difficulty that a case may have.
func Difficulties() []string { return []string{"easy", "medium", "hard"} }

func roles() []string {
	return []string{plumb.RoleSystem, plumb.RoleDeveloper, plumb.RoleUser, plumb.RoleAssistant}
}

// read turns one line into a case. id is "" when there is none to speak of. The case is only whole when no problem was
// added.
func (r *caseReader) read(text []byte, line int) (c plumb.Case, idAt int) {
	r.line, r.text = line, text
	n, faults, ok := r.syntax.value(text)
	for _, f := range faults {
		r.add(f.at, f.message, f.hint)
	}
	if !ok {
		return c, 0
	}
	if n.kind() != '{' {
		r.add(n.at, "a case must be an object, not "+n.kindName(), "")
		return c, 0
	}
	f := r.fields(n)
	c.Source = r.position(n.at)
	c.ID = r.id(n, f.id)
	c.Category = r.enum(n, f.category, "category", Categories(), true)
	c.Messages = r.messages(n, f)
	r.metadata(&c, f.metadata)
	c.Timeout = time.Duration(r.positive(f.timeout, "timeout_ms", math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	c.Repeat = int(r.positive(f.repeat, "repeat", math.MaxInt32))
	c.MaxOutputTokens = int(r.positive(f.maxOutputTokens, "max_output_tokens", math.MaxInt32))
	c.MaxSteps = int(r.positive(f.maxSteps, "max_steps", math.MaxInt32))
	if f.expectedFail.raw != nil {
		switch f.expectedFail.kind() {
		case 't', 'f':
			c.ExpectedFail = f.expectedFail.kind() == 't'
		default:
			r.add(f.expectedFail.at, "expected_fail must be true or false, not "+f.expectedFail.kindName(), "")
		}
	}
	checks := r.checks(n, f)
	if r.keep {
		specs := make([]json.RawMessage, len(checks))
		c.Assertions = make([]plumb.Assertion, len(checks))
		for i, k := range checks {
			c.Assertions[i], specs[i] = k, k.Canonical()
		}
		c.Hash = digest.Case(digest.CaseContent{Messages: c.Messages, MaxOutputTokens: c.MaxOutputTokens, Assertions: specs})
	}
	r.summary.add(&c, checks)
	return c, max(f.id.at, n.at)
}

// fields sorts the members of a case and reports the unknown ones.
func (r *caseReader) fields(n node) (f caseFields) {
	for m := range n.members() {
		var to *node
		switch string(m.name.raw) {
		case `"id"`:
			to = &f.id
		case `"category"`:
			to = &f.category
		case `"input"`:
			to = &f.input
		case `"system"`:
			to = &f.system
		case `"ideal"`:
			to = &f.ideal
		case `"assertion"`:
			to = &f.assertion
		case `"assertions"`:
			to = &f.assertions
		case `"metadata"`:
			to = &f.metadata
		case `"timeout_ms"`:
			to = &f.timeout
		case `"expected_fail"`:
			to = &f.expectedFail
		case `"repeat"`:
			to = &f.repeat
		case `"max_output_tokens"`:
			to = &f.maxOutputTokens
		case `"max_steps"`:
			to = &f.maxSteps
		default:
			to = r.unusual(m, &f)
		}
		if to != nil {
			*to = m.value
		}
	}
	return f
}

// unusual finds the place of a key that is written with escapes, and reports any other.
func (r *caseReader) unusual(m member, f *caseFields) *node {
	name := m.name.text()
	for i, known := range CaseKeys() {
		if name == known {
			return [...]*node{
				&f.id, &f.category, &f.input, &f.system, &f.ideal, &f.assertion, &f.assertions, &f.metadata,
				&f.timeout, &f.expectedFail, &f.repeat, &f.maxOutputTokens, &f.maxSteps,
			}[i]
		}
	}
	r.add(m.name.at, fmt.Sprintf("unknown key %q", name), caseKeyHint(name))
	return nil
}

// caseKeyHint says what an unknown key was probably meant to be, also when it is what another tool calls it.
func caseKeyHint(name string) string {
	if near := plumb.Nearest(name, CaseKeys()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	for _, place := range []struct {
		words []string
		hint  string
	}{
		{[]string{"type", "case_sensitive", "threshold", "judge_prompt"}, "it belongs in assertion"},
		{[]string{"difficulty", "tags", "tokens_est"}, "it belongs in metadata"},
		{[]string{"prompt", "question", "messages"}, `did you mean "input"?`},
		{[]string{"expected", "answer", "target", "reference"}, `did you mean "ideal"?`},
	} {
		if plumb.Nearest(name, place.words) != "" {
			return place.hint
		}
	}
	return "what is free to choose belongs in metadata"
}

func (r *caseReader) id(n, id node) string {
	if id.raw == nil {
		r.add(n.at, "id is missing", "")
		return ""
	}
	if id.kind() != '"' {
		r.add(id.at, "id must be a string, not "+id.kindName(), "")
		return ""
	}
	text := id.text()
	if why := unsafeID(text); why != "" {
		hint := ""
		if safe := safeID(text); unsafeID(safe) == "" && len(text) <= maxIDLength {
			hint = fmt.Sprintf("such as %q", safe)
		}
		r.add(id.at, fmt.Sprintf("id %s %s", quoteStart([]byte(strconv.Quote(text))), why), hint)
	}
	return text
}

// enum returns the word that v holds if it is one of known.
func (r *caseReader) enum(n, v node, name string, known []string, required bool) string {
	if v.raw == nil {
		if required {
			r.add(n.at, name+" is missing", "one of "+strings.Join(known, ", "))
		}
		return ""
	}
	if v.kind() != '"' {
		r.add(v.at, name+" must be a string, not "+v.kindName(), "one of "+strings.Join(known, ", "))
		return ""
	}
	word := v.text()
	for _, k := range known {
		if word == k {
			return k
		}
	}
	r.add(v.at, fmt.Sprintf("unknown %s %q", name, word), didYouMean(word, known))
	return ""
}

// messages returns the conversation to send, the system prompt first.
func (r *caseReader) messages(n node, f caseFields) []plumb.Message {
	var messages []plumb.Message
	system := false
	if f.system.raw != nil {
		switch {
		case f.system.kind() != '"':
			r.add(f.system.at, "system must be a string, not "+f.system.kindName(), "")
		default:
			system = true
			messages = append(messages, plumb.Message{Role: plumb.RoleSystem, Content: f.system.text()})
		}
	}
	switch {
	case f.input.raw == nil:
		r.add(n.at, "input is missing", "the prompt as a string, or a list of messages")
	case f.input.kind() == '"':
		if len(f.input.raw) == 2 {
			r.warn(f.input.at, "input is empty", "")
		}
		messages = append(messages, plumb.Message{Role: plumb.RoleUser, Content: f.input.text()})
	case f.input.kind() == '[':
		first, user := true, false
		for e := range f.input.elements() {
			m := r.message(e)
			if first && system && (m.Role == plumb.RoleSystem || m.Role == plumb.RoleDeveloper) {
				r.add(f.system.at, "system and a first message with role "+m.Role+" say the same thing twice", "keep one of them")
			}
			first, user = false, user || m.Role == plumb.RoleUser
			messages = append(messages, m)
		}
		if first {
			r.add(f.input.at, "input is an empty list of messages", "")
		} else if !user {
			r.warn(f.input.at, "no message has the role user", "most models refuse that")
		}
	default:
		r.add(f.input.at, "input must be a string or a list of messages, not "+f.input.kindName(), "")
	}
	return messages
}

func (r *caseReader) message(n node) (m plumb.Message) {
	if n.kind() != '{' {
		r.add(n.at, "a message must be an object with role and content, not "+n.kindName(), "")
		return m
	}
	var role, content node
	for k := range n.members() {
		switch name := k.name.text(); name {
		case "role":
			role = k.value
		case "content":
			content = k.value
		default:
			r.add(k.name.at, fmt.Sprintf("unknown key %q in a message", name), "a message has role and content")
		}
	}
	m.Role = r.enum(n, role, "role", roles(), false)
	if role.raw == nil {
		r.add(n.at, "message without role", "one of "+strings.Join(roles(), ", "))
	}
	switch {
	case content.raw == nil || content.kind() == 'n':
		r.add(n.at, "message without content", "")
	case content.kind() == '[':
		r.add(content.at, "content must be a string, not a list", "only text can be sent")
	case content.kind() != '"':
		r.add(content.at, "content must be a string, not "+content.kindName(), "")
	default:
		m.Content = content.text()
		if m.Content == "" {
			r.warn(content.at, "content is empty", "")
		}
	}
	return m
}

func (r *caseReader) metadata(c *plumb.Case, n node) {
	if n.raw == nil {
		return
	}
	if n.kind() != '{' {
		r.add(n.at, "metadata must be an object, not "+n.kindName(), "")
		return
	}
	for m := range n.members() {
		switch m.name.text() {
		case "difficulty":
			c.Difficulty = r.enum(n, m.value, "difficulty", Difficulties(), false)
		case "tokens_est":
			est, ok := lenientInt(m.value)
			if !ok {
				r.add(m.value.at, "tokens_est must be a whole number", "")
			}
			c.TokensEstimate = est
		case "tags":
			c.Tags = r.tags(m.value)
		}
	}
}

func (r *caseReader) tags(n node) []string {
	if n.kind() != '[' {
		r.add(n.at, "tags must be a list of strings, not "+n.kindName(), "")
		return nil
	}
	var tags []string
	for e := range n.elements() {
		if e.kind() != '"' {
			r.add(e.at, "a tag must be a string, not "+e.kindName(), "")
			continue
		}
		if r.keep {
			tags = append(tags, r.word(e.text()))
		}
	}
	return slices.Clip(tags)
}

func (r *caseReader) word(s string) string {
	if w, ok := r.words[s]; ok {
		return w
	}
	if r.words == nil {
		r.words = map[string]string{}
	}
	r.words[s] = s
	return s
}

// positive returns the whole number of at least 1 that n holds, or 0.
func (r *caseReader) positive(n node, name string, limit int64) int64 {
	if n.raw == nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(n.raw), 64)
	switch {
	case err != nil || v != math.Trunc(v):
		what := string(n.raw)
		if kind := n.kindName(); kind != "a number" {
			what = kind
		}
		r.add(n.at, fmt.Sprintf("%s must be a whole number, not %s", name, what), "")
	case v < 1:
		r.add(n.at, fmt.Sprintf("%s must be at least 1, not %s", name, n.raw), "")
	case v > float64(limit):
		r.add(n.at, fmt.Sprintf("%s is too large", name), "")
	default:
		return int64(v)
	}
	return 0
}

// checks parses the assertion and the assertions of a case; all of them must hold.
func (r *caseReader) checks(n node, f caseFields) []*check.Check {
	ideal := r.ideal(f.ideal)
	var checks []*check.Check
	one := func(spec node) {
		if spec.kind() != '{' {
			r.add(spec.at, "an assertion must be an object, not "+spec.kindName(), `such as {"type": "contains"}`)
			return
		}
		k, problems := check.Parse(spec.raw, ideal)
		for _, p := range problems {
			r.addCheck(spec, p)
		}
		if k != nil {
			checks = append(checks, k)
		}
	}
	switch {
	case f.assertion.raw == nil && f.assertions.raw == nil:
		r.add(n.at, "assertion is missing", `an object such as {"type": "contains"}, or a list of them as assertions`)
	case f.assertion.raw != nil:
		one(f.assertion)
	}
	if f.assertions.raw != nil {
		if f.assertions.kind() != '[' {
			r.add(f.assertions.at, "assertions must be a list, not "+f.assertions.kindName(), "")
			return checks
		}
		any := false
		for e := range f.assertions.elements() {
			any = true
			one(e)
		}
		if !any {
			r.add(f.assertions.at, "assertions is an empty list", "")
		}
	}
	return checks
}

// ideal returns the ideal as the checks take it. One that is wrong is reported here, and then stands for something, so
// that it is not reported as missing as well.
func (r *caseReader) ideal(n node) check.Ideal {
	if n.raw == nil || n.kind() == 'n' {
		return check.Ideal{}
	}
	ideal := check.Ideal{Set: true}
	switch n.kind() {
	case '"':
		ideal.Values = []string{n.text()}
	case '[':
		ideal.List = true
		for e := range n.elements() {
			text := "?"
			if e.kind() == '"' {
				text = e.text()
			} else {
				r.add(e.at, "an ideal must be a string, not "+e.kindName(), "")
			}
			ideal.Values = append(ideal.Values, text)
		}
	default:
		r.add(n.at, "ideal must be a string or a list of strings, not "+n.kindName(), "")
		ideal.Values = []string{"?"}
	}
	return ideal
}

// addCheck reports what package check says of an assertion, at the place in the line that it points to.
func (r *caseReader) addCheck(spec node, p check.Problem) {
	message, hint := p.Message, ""
	if start := strings.LastIndex(message, " (did you mean"); start >= 0 && strings.HasSuffix(message, ")") {
		message, hint = message[:start], message[start+2:len(message)-1]
	}
	r.problems = append(r.problems, Problem{
		Pos: r.position(spec.find(p.Pointer, p.Key)), Message: message, Hint: hint, Warning: p.Warning,
	})
}

func (r *caseReader) add(at int, message, hint string) {
	r.problems = append(r.problems, Problem{Pos: r.position(at), Message: message, Hint: hint})
}

func (r *caseReader) warn(at int, message, hint string) {
	r.problems = append(r.problems, Problem{Pos: r.position(at), Message: message, Hint: hint, Warning: true})
}

func (r *caseReader) position(at int) plumb.Position {
	if r.places != nil {
		return r.original(at)
	}
	return plumb.Position{File: r.file, Line: r.line, Column: r.column(at)}
}

// column counts characters from 1.
func (r *caseReader) column(at int) int { return utf8.RuneCount(r.text[:min(at, len(r.text))]) + 1 }

// lenientInt reads a token estimate in all the spellings that existing suites use: 40, 40.0, "40", " 4_0 ", true.
func lenientInt(n node) (int, bool) {
	text := string(n.raw)
	switch n.kind() {
	case 't':
		return 1, true
	case 'f':
		return 0, true
	case '{', '[', 'n':
		return 0, false
	case '"':
		text = strings.TrimFunc(n.text(), isPythonSpace)
		if text == "" || strings.HasPrefix(text, "_") || strings.HasSuffix(text, "_") || strings.Contains(text, "__") ||
			strings.ContainsAny(text, "eExXpPnN") {
			return 0, false
		}
		text = strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // out of range is the nearest that there is
		return int(i), true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) >= 1<<63 {
		return 0, false
	}
	return int(v), true
}

// isPythonSpace tells the white space that Python strips from a text; it differs from unicode.IsSpace by U+001C to
// U+001F.
func isPythonSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0D, r >= 0x1C && r <= 0x20, r == 0x85, r == 0xA0, r == 0x1680, r >= 0x2000 && r <= 0x200A,
		r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000:
		return true
	}
	return false
}
