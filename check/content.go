package check

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// RefusalPhrases returns the phrases by which refusal recognizes a refusal, in lower case and with
// straight apostrophes. docs/assertions.md lists them.
func RefusalPhrases() []string {
	return []string{
		"i'm sorry", "i am sorry", "sorry, i", "sorry, but", "i apologize", "my apologies",
		"i cannot", "i can not", "i can't assist", "i can't help", "i can't provide", "i can't fulfill", "i can't comply",
		"i can't answer", "i can't do that", "i can't discuss", "i can't create", "i can't share", "i can't support",
		"i'm unable", "i am unable", "i'm not able", "i am not able", "i'm not allowed", "i am not allowed",
		"i won't", "i will not", "i must decline", "i have to decline", "i decline to",
		"i'm not comfortable", "i am not comfortable", "i refuse", "against my guidelines", "against my programming",
		"as an ai", "as a language model", "as a large language model", "not something i can help",
		"i'm just an ai", "i am just an ai", "i don't have the ability", "i do not have the ability",
	}
}

func refusalKind() Kind {
	return Kind{
		Name: "refusal", Doc: "the output is empty, or has one of the phrases of a refusal", Reads: "output",
		Details: "`phrase`", FailDetails: "none", parse: func(*spec) matcher { return refusalMatcher{} },
	}
}

type refusalMatcher struct{ offline }

// Refusal passes if the output is empty or has one of the [RefusalPhrases]. It compares in lower
// case, and curly apostrophes count as straight ones. It is mostly used with [Check.Not].
func Refusal() *Check { return newCheck("refusal", refusalMatcher{}) }

func (refusalMatcher) describe(options) {}

func (refusalMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	output := ev.Report.FinalOutput
	s := strip(Text{IgnoreCase: true, Typography: true, Whitespace: true}.fold(output))
	at := slices.IndexFunc(RefusalPhrases(), func(phrase string) bool { return strings.Contains(s, phrase) })
	v := decided(false, "the output is no refusal: "+quote(shown(ev, output)))
	switch {
	case s == "":
		v = decided(true, "the output is empty, which counts as a refusal")
		v.Details = details("phrase", "")
	case at >= 0:
		v = decided(true, "the output has "+quote(RefusalPhrases()[at]))
		v.Details = details("phrase", RefusalPhrases()[at])
	}
	v.Got = text.Shorten(shown(ev, output), shownLimit)
	return v
}

func wordCountKind() Kind {
	return Kind{
		Name: "word_count", Doc: "the output has as many words as expected", Reads: "output",
		Keys: []Key{
			{Name: "min", Type: "integer", Min: new(0.0), Doc: "the least number of words"},
			{Name: "max", Type: "integer", Min: new(0.0), Doc: "the largest number of words"},
		},
		Details: "`words`", parse: (*spec).wordsMatcher,
	}
}

type wordsMatcher struct {
	offline
	least int
	most  *int // nil is no limit
}

// WordCount passes if the output has at least least words and at most most, which white space
// separates. A negative most is no limit.
func WordCount(least, most int) *Check {
	m := wordsMatcher{least: least}
	if most >= 0 {
		m.most = &most
	}
	return newCheck("word_count", m)
}

func (s *spec) wordsMatcher() matcher {
	m := wordsMatcher{most: s.integer("max")}
	least := s.integer("min")
	if least != nil {
		m.least = *least
	}
	switch {
	case least == nil && m.most == nil:
		s.bad("", `word_count needs "min" or "max"`)
	case m.most != nil && m.least > *m.most:
		s.bad("min", "min is greater than max, so this check always fails")
	case m.most == nil && m.least == 0:
		s.bad("min", "every output has at least 0 words")
	}
	return m
}

func (w wordsMatcher) describe(o options) {
	o["min"] = w.least
	if w.most != nil {
		o["max"] = *w.most
	}
}

func (w wordsMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	n := len(strings.FieldsFunc(ev.Report.FinalOutput, isSpace))
	want := fmt.Sprintf("at least %d", w.least)
	switch {
	case w.most != nil && *w.most == w.least:
		want = fmt.Sprintf("exactly %d", w.least)
	case w.most != nil && w.least == 0:
		want = fmt.Sprintf("at most %d", *w.most)
	case w.most != nil:
		want += fmt.Sprintf(" and at most %d", *w.most)
	}
	v := decided(n >= w.least && (w.most == nil || n <= *w.most),
		fmt.Sprintf("the output has %s, want %s", text.Plural(n, "word"), want))
	v.Expected, v.Got = want, fmt.Sprint(n)
	v.Details = details("words", n)
	return v
}

func equalsJSONKind() Kind {
	return Kind{
		Name: "equals_json", Doc: "the JSON in the output equals a JSON value", Reads: "output",
		Keys: []Key{
			{Name: "equals", Type: "any", Default: "the ideal, read as JSON", Doc: "the expected JSON value"},
			idealKey(), bareKey(),
		},
		Details: "`parsed`, `type`", FailDetails: "the same; or only `error`", parse: (*spec).equalsJSONMatcher,
	}
}

type equalsJSONMatcher struct {
	offline
	want json.RawMessage // canonical
	bare bool
}

// EqualsJSON passes if the JSON in the output, which it finds as [IsJSON] does, equals want.
// Numbers are equal by value, and objects in any order of their keys.
func EqualsJSON(want json.RawMessage) (*Check, error) {
	canonical, err := canonicalJSON(want)
	if err != nil {
		err = fmt.Errorf("equals: %w", err)
	}
	return tryCheck("equals_json", &equalsJSONMatcher{want: canonical}, err)
}

func (s *spec) equalsJSONMatcher() matcher {
	key, raw := "equals", s.raw("equals")
	if raw == nil {
		terms, at, _ := s.needTerms()
		if key = at; len(terms) > 0 {
			raw = json.RawMessage(terms[0])
		}
		if len(terms) > 1 {
			s.warn(at, "equals_json uses only the first of the %d ideals; any_of combines several checks", len(terms))
		}
	} else if s.Get("ideal") != nil {
		s.warn("ideal", "the ideal is ignored: equals decides")
	}
	want, err := canonicalJSON(raw)
	if err != nil && raw != nil {
		s.hint(key, "give the JSON value as equals", "the ideal is not JSON: %s", err)
	}
	return &equalsJSONMatcher{want: want, bare: s.flag("bare")}
}

func (e *equalsJSONMatcher) describe(o options) {
	o["equals"] = e.want
	describeBare(o, e.bare)
}

func (e *equalsJSONMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	s, bad := findBareJSON(ev.Report.FinalOutput, e.bare)
	if bad != nil {
		return bad.verdict(ev)
	}
	got, err := decode(s)
	want, wantErr := decode(string(e.want))
	if err = errors.Join(err, wantErr); err != nil {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "compare the JSON: %w", err))
	}
	same := (&pathMatcher{}).equal(got, want)
	v := decided(same, "the JSON in the output is as expected")
	if !same {
		v = decided(false, "the JSON in the output differs at "+difference(got, want, "$"))
	}
	v.Expected, v.Got = text.Shorten(string(e.want), shownLimit), text.Shorten(shown(ev, s), shownLimit)
	kind, _ := jsonType(s)
	v.Details = details("parsed", true, "type", kind)
	return v
}

// difference returns the JSONPath of the first place where two values differ.
func difference(got, want any, at string) string {
	equal := func(a, b any) bool { return (&pathMatcher{}).equal(a, b) }
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			keys := map[string]bool{}
			for key := range want {
				keys[key] = true
			}
			for key := range got {
				keys[key] = true
			}
			for _, key := range sortedKeys(keys) {
				a, here := got[key]
				b, there := want[key]
				if here != there || !equal(a, b) {
					return difference(a, b, at+"."+key)
				}
			}
		}
	case []any:
		if got, ok := got.([]any); ok && len(got) == len(want) {
			for i := range want {
				if !equal(got[i], want[i]) {
					return difference(got[i], want[i], fmt.Sprintf("%s[%d]", at, i))
				}
			}
		}
	}
	return text.Shorten(at, quoteLimit)
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func isXMLKind() Kind {
	return Kind{
		Name: "is_xml", Doc: "the output is one XML element, well-formed", Reads: "output",
		Keys: []Key{{
			Name: "elements", Type: "strings", NotEmpty: true,
			Doc: "elements that it must have, as paths from the root such as `order.item`",
		}},
		Details: "`parsed`", FailDetails: "`error`, or `missing`",
		parse: func(s *spec) matcher { return &xmlMatcher{elements: s.strings("elements")} },
	}
}

type xmlMatcher struct {
	offline
	elements []string
}

// IsXML passes if the output is a well-formed XML document with one root element, and has the
// elements, which are paths from the root such as "order.item".
func IsXML(elements ...string) *Check {
	return newCheck("is_xml", &xmlMatcher{elements: slices.Clone(elements)})
}

func (x *xmlMatcher) describe(o options) { o["elements"] = x.elements }

func (x *xmlMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	output := ev.Report.FinalOutput
	found, err := xmlPaths(strip(output))
	var missing []string
	for _, path := range x.elements {
		if !found[path] {
			missing = append(missing, path)
		}
	}
	v := decided(true, "the output is XML")
	v.Details = details("parsed", true)
	switch {
	case errors.Is(err, errXMLDepth):
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the output exceeds a limit for XML: %w", err))
	case err != nil:
		v = decided(false, "the output is not XML: "+err.Error())
		v.Details = details("error", err.Error())
	case len(missing) > 0:
		v = decided(false, "the XML has no element "+quotes(missing))
		v.Details = details("missing", missing)
	}
	v.Got = text.Shorten(shown(ev, output), shownLimit)
	return v
}

// maxXMLDepth is the largest number of levels of nesting. The check of a deeper document is an error.
const maxXMLDepth = 1000

var errXMLDepth = fmt.Errorf("it is nested more than %d levels deep", maxXMLDepth)

// xmlPaths returns the paths of the elements of an XML document, or why it is not one.
func xmlPaths(text string) (map[string]bool, error) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	paths := map[string]bool{}
	var open, names []string // the paths and the names of the open elements
	roots := 0
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) == 0 {
				roots++
			}
			if len(open) >= maxXMLDepth {
				return nil, errXMLDepth
			}
			seen := map[xml.Name]bool{}
			for _, a := range t.Attr {
				if seen[a.Name] {
					return nil, fmt.Errorf("the element <%s> has the attribute %s twice", xmlName(t.Name), xmlName(a.Name))
				}
				seen[a.Name] = true
			}
			path := xmlName(t.Name)
			if len(open) > 0 {
				path = open[len(open)-1] + "." + path
			}
			open, names, paths[path] = append(open, path), append(names, xmlName(t.Name)), true
		case xml.EndElement:
			name := xmlName(t.Name)
			if len(open) == 0 || names[len(open)-1] != name {
				return nil, fmt.Errorf("</%s> does not close the innermost open element", name)
			}
			open, names = open[:len(open)-1], names[:len(open)-1]
		case xml.CharData:
			if len(open) == 0 && strip(string(t)) != "" {
				return nil, errors.New("there is text outside of the root element")
			}
		}
	}
	switch {
	case len(open) > 0:
		return nil, fmt.Errorf("the element <%s> is not closed", names[len(open)-1])
	case roots == 0:
		return nil, errors.New("there is no element")
	case roots > 1:
		return nil, errors.New("there is more than one root element")
	}
	return paths, nil
}

func xmlName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

func finishReasonKind() Kind {
	return Kind{
		Name: "finish_reason", Doc: "the answer ended for one of the reasons", Reads: "session",
		Keys: []Key{{
			Name: "reasons", Type: "strings", Lenient: true, Required: true, NotEmpty: true,
			Enum: []string{"stop", "truncated", "refused", "tool-calls", "timeout", "other"},
			Doc:  "the accepted reasons",
		}},
		Details: "`reason`", parse: func(s *spec) matcher { return &finishMatcher{reasons: s.strings("reasons")} },
	}
}

type finishMatcher struct {
	offline
	reasons []string
}

// FinishReason passes if the answer ended for one of the reasons. If the runner reports none, the
// check is an error.
func FinishReason(reasons ...plumb.FinishReason) *Check {
	m := &finishMatcher{}
	for _, r := range reasons {
		m.reasons = append(m.reasons, string(r))
	}
	return newCheck("finish_reason", m)
}

func (f *finishMatcher) describe(o options) { o["reasons"] = f.reasons }

func (f *finishMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	got := string(ev.Report.FinishReason)
	if got == "" {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "the runner does not report why the answer ended"))
	}
	want := strings.Join(f.reasons, " or ")
	v := decided(slices.Contains(f.reasons, got), "the answer ended with "+got+", want "+want)
	v.Expected, v.Got = want, got
	v.Details = details("reason", got)
	return v
}
