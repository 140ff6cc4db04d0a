package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
)

// caseReader turns values into cases and problems. Each goroutine has its own.
type caseReader struct {
	sources *sources
	// literal is set if the texts of the case were written as they are, and are not rendered
	// templates.
	literal bool
	// strict is set for a version, whose categories and difficulties are those of the published
	// suites.
	strict bool
	// keep is set if the caller needs the cases, and not only their problems.
	keep bool
	// words holds one copy of strings that many cases have, such as tags.
	words map[string]string
	// compile prepares the code of checks; nil if no code can run.
	compile func(check.Code) (check.Compiled, error)

	problems doc.Problems
	summary  Summary
}

// caseKeys returns the keys that a case may have after it was expanded. People do not write prompt
// and item.
func caseKeys() []string {
	return []string{
		"id", "category", "input", "system", "ideal", "assertion", "assertions", "metadata",
		"timeout_ms", "expected_fail", "repeat", "max_output_tokens", "max_steps",
		"min_score", "transform", "vars", "prompt", "item",
	}
}

// Categories returns the categories of the cases of suite versions.
func Categories() []string {
	return []string{"reasoning", "factual", "instruction_following", "coding", "safety", "creative"}
}

// Difficulties returns the difficulties of the cases of suite versions.
func Difficulties() []string { return []string{"easy", "medium", "hard"} }

func roles() []string {
	return []string{plumb.RoleSystem, plumb.RoleDeveloper, plumb.RoleUser, plumb.RoleAssistant}
}

// read turns the value of a case into a case. idAt is the place of its id. If read adds a problem,
// the case is not complete; its id is "" if it has none.
func (r *caseReader) read(v *doc.Value) (c plumb.Case, idAt doc.Place) {
	if v.Kind != doc.Map {
		r.add(v.Place, "a case must be an object, not "+v.Kind.JSON(), "")
		return c, v.Place
	}
	for i, known := 0, caseKeys(); i < len(v.Members); i++ {
		if m := &v.Members[i]; !slices.Contains(known, m.Key) {
			r.add(m.Place, fmt.Sprintf("unknown key %q", m.Key), caseKeyHint(m))
		}
	}
	c.Source, idAt = r.sources.in(v.Place), v.Place
	if id := v.Get("id"); id == nil {
		r.add(v.Place, "id is missing", "")
	} else {
		idAt = id.Place
		c.ID = r.id(id)
	}
	c.Category = r.group(v, "category", Categories())
	if r.strict && v.Get("category") == nil {
		r.add(v.Place, "category is missing", "one of "+strings.Join(Categories(), ", "))
	}
	c.PromptName, c.Item = r.text(v, "prompt"), r.text(v, "item")
	c.Messages = r.messages(v)
	if r.literal {
		r.braces(v)
	}
	r.metadata(&c, v.Get("metadata"))
	c.Timeout = time.Duration(r.positive(v, "timeout_ms", math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	c.Repeat = int(r.positive(v, "repeat", math.MaxInt32))
	c.MaxOutputTokens = int(r.positive(v, "max_output_tokens", math.MaxInt32))
	c.MaxSteps = int(r.positive(v, "max_steps", math.MaxInt32))
	if fail := v.Get("expected_fail"); fail != nil {
		if fail.Kind != doc.Bool {
			r.add(fail.Place, "expected_fail must be true or false, not "+fail.Kind.JSON(), "")
		}
		c.ExpectedFail = fail.Kind == doc.Bool && fail.Text() == "true"
	}
	r.scoring(v, &c)
	checks := r.checks(v)
	if r.keep {
		specs := make([]json.RawMessage, len(checks))
		c.Assertions = make([]plumb.Assertion, len(checks))
		for i, k := range checks {
			c.Assertions[i], specs[i] = k, k.Canonical()
		}
		content := digest.CaseContent{
			Messages: c.Messages, MaxOutputTokens: c.MaxOutputTokens, Assertions: specs,
			MinScore: c.MinScore, Transform: transformOf(v),
		}
		c.Hash, c.PromptHash, c.ChecksHash = digest.Parts(content)
	}
	r.summary.Add(&c, checks, nil)
	return c, idAt
}

// caseKeyHint returns a hint for an unknown key: the key that it resembles, or the key that has its
// meaning in other tools.
func caseKeyHint(m *doc.Member) string {
	name := m.Key
	written := slices.DeleteFunc(caseKeys(), func(k string) bool { return k == "prompt" || k == "item" })
	if near := plumb.Nearest(name, written); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	var value *bool
	if m.Value.Kind == doc.Bool {
		value = new(m.Value.Text() == "true")
	}
	if hint := Instead(name, value, "expected_fail"); hint != "" {
		return hint
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
	return "put your own keys under metadata"
}

// Instead returns what to do in place of a word by which other tools decide whether a case runs or
// may fail; "" for another word, or if the value has no effect there. The value is nil if it is not
// a boolean. expectedFail is how a suite writes that field.
func Instead(word string, value *bool, expectedFail string) string {
	word = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(word))
	alone := "run it alone with --case, or give it a tag and use --tag"
	out := "leave the case out, or set " + expectedFail + " if it is known to fail"
	for _, known := range []struct {
		words, hint string
		// on is the value that has an effect. If data is set, the word can also be a name for other
		// data.
		on, data bool
	}{
		{"only", alone, true, false},
		{"focus focused fit", alone, true, true},
		{"skip skipped skipif runif todo fixme xit xtest xdescribe disable disabled", out, true, false},
		{"ignore ignored pending", out, true, true},
		{"enable enabled", out, false, true},
		{"fails failing xfail shouldfail", fmt.Sprintf("did you mean %q?", expectedFail), true, false},
	} {
		if slices.Contains(strings.Fields(known.words), word) &&
			(value == nil && !known.data || value != nil && *value == known.on) {
			return known.hint
		}
	}
	return ""
}

func (r *caseReader) id(id *doc.Value) string {
	if id.Kind != doc.String {
		r.add(id.Place, "id must be a string, not "+id.Kind.JSON(), "")
		return ""
	}
	text := id.Text()
	if why := UnsafeID(text); why != "" {
		hint := ""
		if safe := safeID(text); UnsafeID(safe) == "" && len(text) <= maxIDLength {
			hint = fmt.Sprintf("such as %q", safe)
		}
		r.add(id.Place, fmt.Sprintf("id %s %s", doc.QuoteStart([]byte(strconv.Quote(text))), why), hint)
	}
	return text
}

// group returns the value of a key by which results are grouped: any word, or one of the known
// words in a version.
func (r *caseReader) group(of *doc.Value, key string, known []string) string {
	if r.strict {
		return r.enum(of, key, known, "")
	}
	return r.word(r.text(of, key))
}

// text returns the text of a key, or "".
func (r *caseReader) text(of *doc.Value, key string) string {
	v := of.Get(key)
	switch {
	case v == nil:
		return ""
	case v.Kind != doc.String:
		r.add(v.Place, key+" must be a string, not "+v.Kind.JSON(), "")
		return ""
	case v.Empty():
		r.add(v.Place, key+" is empty", "leave it out")
	}
	return v.Text()
}

// enum returns the value of a key, which must be one of the known words. If the key is missing and
// missing is not "", that is the message of a problem.
func (r *caseReader) enum(of *doc.Value, key string, known []string, missing string) string {
	v := of.Get(key)
	switch {
	case v == nil && missing == "":
	case v == nil:
		r.add(of.Place, missing, "one of "+strings.Join(known, ", "))
	case v.Kind != doc.String:
		r.add(v.Place, key+" must be a string, not "+v.Kind.JSON(), "one of "+strings.Join(known, ", "))
	default:
		word := v.Text()
		if i := slices.Index(known, word); i >= 0 {
			return known[i]
		}
		r.add(v.Place, fmt.Sprintf("unknown %s %q", key, word), doc.DidYouMean(word, known))
	}
	return ""
}

// messages returns the conversation to send, with the system prompt first.
func (r *caseReader) messages(v *doc.Value) (messages []plumb.Message) {
	system, input := v.Get("system"), v.Get("input")
	switch {
	case system == nil:
	case system.Kind != doc.String:
		r.add(system.Place, "system must be a string, not "+system.Kind.JSON(), "")
		system = nil
	default:
		messages = append(messages, plumb.Message{Role: plumb.RoleSystem, Content: system.Text()})
	}
	switch {
	case input == nil:
		r.add(v.Place, "input is missing", "the prompt as a string, or a list of messages")
	case input.Kind == doc.String:
		if input.Empty() {
			r.warn(input.Place, "input is empty", "")
		}
		if r.keep {
			messages = append(messages, plumb.Message{Role: plumb.RoleUser, Content: input.Text()})
		}
	case input.Kind != doc.List:
		r.add(input.Place, "input must be a string or a list of messages, not "+input.Kind.JSON(), "")
	case len(input.List) == 0:
		r.add(input.Place, "input is an empty list of messages", "")
	default:
		user := false
		for i := range input.List {
			m := r.message(&input.List[i])
			if i == 0 && system != nil && (m.Role == plumb.RoleSystem || m.Role == plumb.RoleDeveloper) {
				r.add(system.Place, "system and a first message with role "+m.Role+" set the system prompt twice",
					"keep one of them")
			}
			user = user || m.Role == plumb.RoleUser
			messages = append(messages, m)
		}
		if !user {
			r.warn(input.Place, "no message has the role user", "most models refuse that")
		}
	}
	return messages
}

// variable matches a variable in a text, as templates write it.
var variable = regexp.MustCompile(`\{\{-?\s*([A-Za-z_]\w*)[^{}]*\}\}`)

// braces warns of texts that look like templates, but are sent as they are.
func (r *caseReader) braces(c *doc.Value) {
	for _, key := range [...]string{"input", "system"} {
		v := c.Get(key)
		if v == nil || !bytes.Contains(v.JSON(), []byte("{{")) {
			continue
		}
		v.Strings(func(s *doc.Value) bool {
			m := variable.FindStringSubmatch(s.Text())
			if m != nil {
				r.warn(s.Place, fmt.Sprintf("%s is sent as it is, because the case has no variables", m[0]),
					fmt.Sprintf(`give the case vars, such as {"%s": "..."}`, m[1]))
			}
			return m == nil
		})
	}
}

func (r *caseReader) message(v *doc.Value) (m plumb.Message) {
	if v.Kind != doc.Map {
		r.add(v.Place, "a message must be an object with role and content, not "+v.Kind.JSON(), "")
		return m
	}
	for _, k := range v.Members {
		if k.Key != "role" && k.Key != "content" {
			r.add(k.Place, fmt.Sprintf("unknown key %q in a message", k.Key), "a message has role and content")
		}
	}
	m.Role = r.enum(v, "role", roles(), "message without role")
	switch content := v.Get("content"); {
	case content == nil || content.Kind == doc.Null:
		r.add(v.Place, "message without content", "")
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

func (r *caseReader) metadata(c *plumb.Case, v *doc.Value) {
	if v == nil {
		return
	}
	if v.Kind != doc.Map {
		r.add(v.Place, "metadata must be an object, not "+v.Kind.JSON(), "")
		return
	}
	c.Difficulty = r.group(v, "difficulty", Difficulties())
	if r.keep {
		c.Metadata = OwnMetadata(v, "difficulty", "tokens_est")
	}
	if tags := v.Get("tags"); tags != nil {
		c.Tags = r.tags(tags)
	}
	if tokens := v.Get("tokens_est"); tokens != nil {
		var ok bool
		if c.TokensEstimate, ok = lenientInt(tokens); !ok {
			r.add(tokens.Place, "tokens_est must be a whole number", "")
		}
	}
}

// OwnMetadata returns the members of an object that have a text, a number or a boolean, without
// those with a meaning for Plumb.
func OwnMetadata(v *doc.Value, known ...string) map[string]string {
	var own map[string]string
	for i := range v.Members {
		m := &v.Members[i]
		name := m.Key
		if m.Value.Kind != doc.String && m.Value.Kind != doc.Number && m.Value.Kind != doc.Bool ||
			slices.Contains(known, name) {
			continue
		}
		if own == nil {
			own = map[string]string{}
		}
		own[name] = m.Value.Text()
	}
	return own
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

// positive returns the value of a key, which must be a whole number from 1 to limit, or 0.
func (r *caseReader) positive(of *doc.Value, name string, limit int64) int64 {
	n := of.Get(name)
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

// env is the Env of the checks of a case with variables.
func (r *caseReader) env(vars *doc.Value) check.Env {
	e := check.Env{Compile: r.compile}
	if vars != nil {
		e.Vars = vars.JSON()
	}
	return e
}

// checks parses the assertion and the assertions of a case; all of them must hold.
func (r *caseReader) checks(v *doc.Value) []*check.Check {
	env := r.env(v.Get("vars"))
	ideal, single, list := r.ideal(v.Get("ideal")), v.Get("assertion"), v.Get("assertions")
	var checks []*check.Check
	switch {
	case single != nil:
		checks = r.appendCheck(checks, single, ideal, env)
	case list == nil:
		r.add(v.Place, "assertion is missing",
			`an object such as {"type": "contains"}, or a list of them as assertions`)
	}
	switch {
	case list == nil:
	case list.Kind != doc.List:
		r.add(list.Place, "assertions must be a list, not "+list.Kind.JSON(), "")
	case len(list.List) == 0:
		r.add(list.Place, "assertions is an empty list", "")
	default:
		for i := range list.List {
			checks = r.appendCheck(checks, &list.List[i], ideal, env)
		}
	}
	return checks
}

func (r *caseReader) appendCheck(
	checks []*check.Check, spec *doc.Value, ideal check.Ideal, env check.Env,
) []*check.Check {
	if spec.Kind != doc.Map {
		r.add(spec.Place, "an assertion must be an object, not "+spec.Kind.JSON(), `such as {"type": "contains"}`)
		return checks
	}
	k, problems := check.ParseIn(spec, ideal, env)
	for _, p := range problems {
		r.problems = append(r.problems, doc.Problem{
			Pos: r.sources.in(spec.Find(p.Pointer, p.Key)), Message: p.Message, Hint: p.Hint, Warning: p.Warning,
		})
	}
	if k != nil {
		checks = append(checks, k)
	}
	return checks
}

// ideal returns the ideal for the checks. It reports an invalid ideal and replaces it with "?", so
// that the checks do not report it as missing.
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

func (r *caseReader) add(at doc.Place, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: r.sources.in(at), Message: message, Hint: hint})
}

func (r *caseReader) warn(at doc.Place, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: r.sources.in(at), Message: message, Hint: hint, Warning: true})
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
	if err == nil || errors.Is(err, strconv.ErrRange) { // then i is the nearest integer
		return int(i), true
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) >= 1<<63 {
		return 0, false
	}
	return int(v), true
}

// isPythonSpace reports whether Python strips r from a text as white space.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }

// scoring reads how the checks are combined, and what they get.
func (r *caseReader) scoring(v *doc.Value, c *plumb.Case) {
	if least := v.Get("min_score"); least != nil {
		n, err := strconv.ParseFloat(least.Text(), 64)
		if least.Kind != doc.Number || err != nil || n < 0 || n > 1 {
			r.add(least.Place, "min_score must be a number from 0 to 1, not "+string(least.JSON()), "")
		} else {
			c.MinScore = &n
		}
	}
	if code := v.Get("transform"); code != nil {
		if code.Kind != doc.String || code.Empty() {
			r.add(code.Place, "transform must be a JavaScript expression, not "+code.Kind.JSON(), `such as "output.trim()"`)
			return
		}
		var err error
		if c.Transform, err = r.transform(code.Text(), v.Get("vars")); err != nil {
			r.add(code.Place, "transform: "+err.Error(), plumb.Hint(err))
		}
	}
}

// transformOf returns the transform of a case, with the variables that it gets; "" if there is
// none.
func transformOf(v *doc.Value) string {
	code, vars := v.Get("transform"), v.Get("vars")
	switch {
	case code == nil:
		return ""
	case vars == nil:
		return code.Text()
	}
	return code.Text() + "\n" + string(vars.JSON())
}

var errNoCode = errors.New("code of a case runs only in a suite that is a file")

// transform returns the function of a transform of a case. Its result is the text that the code
// returns; an object or a list becomes JSON.
func (r *caseReader) transform(expr string, vars *doc.Value) (
	func(context.Context, plumb.Evidence) (string, error), error,
) {
	if r.compile == nil {
		return func(context.Context, plumb.Evidence) (string, error) { return "", errNoCode }, nil
	}
	compiled, err := r.compile(check.Code{Expr: expr})
	if err != nil {
		return nil, err
	}
	given := r.env(vars).Vars
	return func(ctx context.Context, ev plumb.Evidence) (string, error) {
		raw, err := compiled.Run(ctx, ev, given)
		if err != nil {
			return "", err
		}
		var text string
		if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
			return text, nil
		}
		if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
			return string(raw), nil
		}
		return "", plumb.WithHint(fmt.Errorf("the transform returned %s, not a text", raw), "return a string or an object")
	}, nil
}
