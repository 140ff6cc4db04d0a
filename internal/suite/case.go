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

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
)

// caseReader turns values into cases and problems. Each goroutine has its own.
type caseReader struct {
	file string
	// keep says that the cases are wanted, not only what is wrong with them.
	keep bool
	// words holds one copy of strings that come again and again, such as tags.
	words map[string]string

	problems doc.Problems
	summary  tally
}

// caseFields are the values of a case's keys; nil where one is missing.
type caseFields struct {
	id, category, input, system, ideal, assertion, assertions, metadata *doc.Value
	timeout, expectedFail, repeat, maxOutputTokens, maxSteps            *doc.Value
}

// caseKeys returns the keys that a case may have.
func caseKeys() []string {
	return []string{
		"id", "category", "input", "system", "ideal", "assertion", "assertions", "metadata",
		"timeout_ms", "expected_fail", "repeat", "max_output_tokens", "max_steps",
	}
}

func roles() []string {
	return []string{plumb.RoleSystem, plumb.RoleDeveloper, plumb.RoleUser, plumb.RoleAssistant}
}

// read turns the value of a case into a case. idAt is where its id is. If read adds a problem, the
// case is not complete; its id is "" if it has none.
func (r *caseReader) read(v *doc.Value) (c plumb.Case, idAt doc.Place) {
	for _, m := range v.Duplicates() {
		r.add(m.Place, fmt.Sprintf("duplicate key %q", m.Key), "")
	}
	if v.Kind != doc.Map {
		r.add(v.Place, "a case must be an object, not "+v.Kind.JSON(), "")
		return c, v.Place
	}
	f := r.fields(v)
	c.Source = v.In(r.file)
	c.ID = r.id(v, f.id)
	c.Category = r.enum(v, f.category, "category", config.Categories(), true)
	c.Messages = r.messages(v, f)
	r.metadata(&c, f.metadata)
	c.Timeout = time.Duration(r.positive(f.timeout, "timeout_ms",
		math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	c.Repeat = int(r.positive(f.repeat, "repeat", math.MaxInt32))
	c.MaxOutputTokens = int(r.positive(f.maxOutputTokens, "max_output_tokens", math.MaxInt32))
	c.MaxSteps = int(r.positive(f.maxSteps, "max_steps", math.MaxInt32))
	if f.expectedFail != nil {
		if f.expectedFail.Kind != doc.Bool {
			r.add(f.expectedFail.Place, "expected_fail must be true or false, not "+f.expectedFail.Kind.JSON(), "")
		}
		c.ExpectedFail = f.expectedFail.Kind == doc.Bool && f.expectedFail.Text() == "true"
	}
	checks := r.checks(v, f)
	if r.keep {
		specs := make([]json.RawMessage, len(checks))
		c.Assertions = make([]plumb.Assertion, len(checks))
		for i, k := range checks {
			c.Assertions[i], specs[i] = k, k.Canonical()
		}
		c.Hash = digest.Case(digest.CaseContent{
			Messages: c.Messages, MaxOutputTokens: c.MaxOutputTokens, Assertions: specs,
		})
	}
	r.summary.add(&c, checks)
	if f.id != nil {
		return c, f.id.Place
	}
	return c, v.Place
}

// fields sorts the members of a case and reports the unknown ones.
func (r *caseReader) fields(v *doc.Value) (f caseFields) {
	for i := range v.Members {
		m := &v.Members[i]
		switch m.Key {
		case "id":
			f.id = &m.Value
		case "category":
			f.category = &m.Value
		case "input":
			f.input = &m.Value
		case "system":
			f.system = &m.Value
		case "ideal":
			f.ideal = &m.Value
		case "assertion":
			f.assertion = &m.Value
		case "assertions":
			f.assertions = &m.Value
		case "metadata":
			f.metadata = &m.Value
		case "timeout_ms":
			f.timeout = &m.Value
		case "expected_fail":
			f.expectedFail = &m.Value
		case "repeat":
			f.repeat = &m.Value
		case "max_output_tokens":
			f.maxOutputTokens = &m.Value
		case "max_steps":
			f.maxSteps = &m.Value
		default:
			r.add(m.Place, fmt.Sprintf("unknown key %q", m.Key), caseKeyHint(m.Key))
		}
	}
	return f
}

// caseKeyHint says what an unknown key was probably meant to be, also when it is what another tool
// calls it.
func caseKeyHint(name string) string {
	if near := plumb.Nearest(name, caseKeys()); near != "" {
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

func (r *caseReader) id(n, id *doc.Value) string {
	if id == nil {
		r.add(n.Place, "id is missing", "")
		return ""
	}
	if id.Kind != doc.String {
		r.add(id.Place, "id must be a string, not "+id.Kind.JSON(), "")
		return ""
	}
	text := id.Text()
	if why := unsafeID(text); why != "" {
		hint := ""
		if safe := safeID(text); unsafeID(safe) == "" && len(text) <= maxIDLength {
			hint = fmt.Sprintf("such as %q", safe)
		}
		r.add(id.Place, fmt.Sprintf("id %s %s", doc.QuoteStart([]byte(strconv.Quote(text))), why), hint)
	}
	return text
}

// enum returns the word that v holds if it is one of known.
func (r *caseReader) enum(n, v *doc.Value, name string, known []string, required bool) string {
	if v == nil {
		if required {
			r.add(n.Place, name+" is missing", "one of "+strings.Join(known, ", "))
		}
		return ""
	}
	if v.Kind != doc.String {
		r.add(v.Place, name+" must be a string, not "+v.Kind.JSON(), "one of "+strings.Join(known, ", "))
		return ""
	}
	word := v.Text()
	for _, k := range known {
		if word == k {
			return k
		}
	}
	r.add(v.Place, fmt.Sprintf("unknown %s %q", name, word), doc.DidYouMean(word, known))
	return ""
}

// messages returns the conversation to send, the system prompt first.
func (r *caseReader) messages(n *doc.Value, f caseFields) []plumb.Message {
	var messages []plumb.Message
	system := false
	if f.system != nil {
		switch {
		case f.system.Kind != doc.String:
			r.add(f.system.Place, "system must be a string, not "+f.system.Kind.JSON(), "")
		default:
			system = true
			messages = append(messages, plumb.Message{Role: plumb.RoleSystem, Content: f.system.Text()})
		}
	}
	switch {
	case f.input == nil:
		r.add(n.Place, "input is missing", "the prompt as a string, or a list of messages")
	case f.input.Kind == doc.String:
		if f.input.Empty() {
			r.warn(f.input.Place, "input is empty", "")
		}
		if r.keep {
			messages = append(messages, plumb.Message{Role: plumb.RoleUser, Content: f.input.Text()})
		}
	case f.input.Kind == doc.List:
		first, user := true, false
		for i := range f.input.List {
			e := &f.input.List[i]
			m := r.message(e)
			if first && system && (m.Role == plumb.RoleSystem || m.Role == plumb.RoleDeveloper) {
				r.add(f.system.Place, "system and a first message with role "+m.Role+" set the system prompt twice",
					"keep one of them")
			}
			first, user = false, user || m.Role == plumb.RoleUser
			messages = append(messages, m)
		}
		if first {
			r.add(f.input.Place, "input is an empty list of messages", "")
		} else if !user {
			r.warn(f.input.Place, "no message has the role user", "most models refuse that")
		}
	default:
		r.add(f.input.Place, "input must be a string or a list of messages, not "+f.input.Kind.JSON(), "")
	}
	return messages
}

func (r *caseReader) message(n *doc.Value) (m plumb.Message) {
	if n.Kind != doc.Map {
		r.add(n.Place, "a message must be an object with role and content, not "+n.Kind.JSON(), "")
		return m
	}
	var role, content *doc.Value
	for i := range n.Members {
		k := &n.Members[i]
		switch name := k.Key; name {
		case "role":
			role = &k.Value
		case "content":
			content = &k.Value
		default:
			r.add(k.Place, fmt.Sprintf("unknown key %q in a message", name), "a message has role and content")
		}
	}
	m.Role = r.enum(n, role, "role", roles(), false)
	if role == nil {
		r.add(n.Place, "message without role", "one of "+strings.Join(roles(), ", "))
	}
	switch {
	case content == nil || content.Kind == doc.Null:
		r.add(n.Place, "message without content", "")
	case content.Kind == doc.List:
		r.add(content.Place, "content must be a string, not a list", "only text can be sent")
	case content.Kind != doc.String:
		r.add(content.Place, "content must be a string, not "+content.Kind.JSON(), "")
	default:
		m.Content = content.Text()
		if m.Content == "" {
			r.warn(content.Place, "content is empty", "")
		}
	}
	return m
}

func (r *caseReader) metadata(c *plumb.Case, n *doc.Value) {
	if n == nil {
		return
	}
	if n.Kind != doc.Map {
		r.add(n.Place, "metadata must be an object, not "+n.Kind.JSON(), "")
		return
	}
	for i := range n.Members {
		m := &n.Members[i]
		switch m.Key {
		case "difficulty":
			c.Difficulty = r.enum(n, &m.Value, "difficulty", config.Difficulties(), false)
		case "tokens_est":
			est, ok := lenientInt(&m.Value)
			if !ok {
				r.add(m.Value.Place, "tokens_est must be a whole number", "")
			}
			c.TokensEstimate = est
		case "tags":
			c.Tags = r.tags(&m.Value)
		}
	}
}

func (r *caseReader) tags(n *doc.Value) []string {
	if n.Kind != doc.List {
		r.add(n.Place, "tags must be a list of strings, not "+n.Kind.JSON(), "")
		return nil
	}
	var tags []string
	for i := range n.List {
		e := &n.List[i]
		if e.Kind != doc.String {
			r.add(e.Place, "a tag must be a string, not "+e.Kind.JSON(), "")
			continue
		}
		if r.keep {
			tags = append(tags, r.word(e.Text()))
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
func (r *caseReader) positive(n *doc.Value, name string, limit int64) int64 {
	if n == nil {
		return 0
	}
	v, err := strconv.ParseFloat(n.Text(), 64)
	switch {
	case n.Kind != doc.Number || err != nil || v != math.Trunc(v):
		what := n.Text()
		if n.Kind != doc.Number {
			what = n.Kind.JSON()
		}
		r.add(n.Place, fmt.Sprintf("%s must be a whole number, not %s", name, what), "")
	case v < 1:
		r.add(n.Place, fmt.Sprintf("%s must be at least 1, not %s", name, n.Text()), "")
	case v > float64(limit):
		r.add(n.Place, fmt.Sprintf("%s is too large", name), "")
	default:
		return int64(v)
	}
	return 0
}

// checks parses the assertion and the assertions of a case; all of them must hold.
func (r *caseReader) checks(n *doc.Value, f caseFields) []*check.Check {
	ideal := r.ideal(f.ideal)
	var checks []*check.Check
	one := func(spec *doc.Value) {
		if spec.Kind != doc.Map {
			r.add(spec.Place, "an assertion must be an object, not "+spec.Kind.JSON(), `such as {"type": "contains"}`)
			return
		}
		k, problems := check.ParseValue(spec, ideal)
		for _, p := range problems {
			r.addCheck(spec, p)
		}
		if k != nil {
			checks = append(checks, k)
		}
	}
	switch {
	case f.assertion == nil && f.assertions == nil:
		r.add(n.Place, "assertion is missing", `an object such as {"type": "contains"}, or a list of them as assertions`)
	case f.assertion != nil:
		one(f.assertion)
	}
	if f.assertions != nil {
		if f.assertions.Kind != doc.List {
			r.add(f.assertions.Place, "assertions must be a list, not "+f.assertions.Kind.JSON(), "")
			return checks
		}
		any := false
		for i := range f.assertions.List {
			e := &f.assertions.List[i]
			any = true
			one(e)
		}
		if !any {
			r.add(f.assertions.Place, "assertions is an empty list", "")
		}
	}
	return checks
}

// ideal returns the ideal as the checks take it. One that is wrong is reported here, and then
// stands for something, so that it is not reported as missing as well.
func (r *caseReader) ideal(n *doc.Value) check.Ideal {
	if n == nil || n.Kind == doc.Null {
		return check.Ideal{}
	}
	ideal := check.Ideal{Set: true}
	switch n.Kind {
	case doc.String:
		ideal.Values = []string{n.Text()}
	case doc.List:
		ideal.List = true
		for i := range n.List {
			e := &n.List[i]
			text := "?"
			if e.Kind == doc.String {
				text = e.Text()
			} else {
				r.add(e.Place, "an ideal must be a string, not "+e.Kind.JSON(), "")
			}
			ideal.Values = append(ideal.Values, text)
		}
	default:
		r.add(n.Place, "ideal must be a string or a list of strings, not "+n.Kind.JSON(), "")
		ideal.Values = []string{"?"}
	}
	return ideal
}

// addCheck reports a problem of an assertion at its place.
func (r *caseReader) addCheck(spec *doc.Value, p check.Problem) {
	r.problems = append(r.problems, doc.Problem{
		Pos: spec.Find(p.Pointer, p.Key).In(r.file), Message: p.Message, Hint: p.Hint, Warning: p.Warning,
	})
}

func (r *caseReader) add(at doc.Place, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: at.In(r.file), Message: message, Hint: hint})
}

func (r *caseReader) warn(at doc.Place, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: at.In(r.file), Message: message, Hint: hint, Warning: true})
}

// lenientInt reads a token estimate in all the spellings that existing suites use: 40, 40.0, "40",
// " 4_0 ", true.
func lenientInt(n *doc.Value) (int, bool) {
	text := n.Text()
	switch n.Kind {
	case doc.Bool:
		if text == "true" {
			return 1, true
		}
		return 0, true
	case doc.Map, doc.List, doc.Null:
		return 0, false
	case doc.Number:
	case doc.String:
		text = strings.TrimFunc(text, isPythonSpace)
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

// isPythonSpace tells the white space that Python strips from a text; it differs from
// unicode.IsSpace by U+001C to U+001F.
func isPythonSpace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0D, r >= 0x1C && r <= 0x20, r == 0x85, r == 0xA0, r == 0x1680, r >= 0x2000 && r <= 0x200A,
		r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000:
		return true
	}
	return false
}
