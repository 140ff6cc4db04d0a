package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

func jsonPathKind() Kind {
	return Kind{
		Name: "json_path", Doc: "a value at the path is as expected", Reads: "output",
		Keys: append(TextKeys(),
			Key{
				Name: "path", Type: "string", NotEmpty: true, Required: true, Doc: "a JSONPath; `$` is the whole value",
			},
			Key{Name: "equals", Type: "any", Doc: "the value equals this JSON value"},
			Key{
				Name: "contains", Type: "string", NotEmpty: true,
				Doc: "the value is a string that contains this text, or a list with this text as an element",
			},
			Key{
				Name: "exists", Type: "boolean",
				Doc: "there is a value, also `null` (`true`), or there is none (`false`)",
			},
			idealKey(),
		),
		Details:     "`path`, `found` (how many values), `value` (the one that counted)",
		FailDetails: "the same; or only `error`",
		parse:       (*spec).pathMatcher,
	}
}

// Path is what the value at a path must be. The zero value accepts any value.
type Path struct {
	// Equals is a JSON value. Numbers are equal by value, and objects in any order of their keys.
	Equals json.RawMessage
	// OneOf are texts, one of which the value must be: a string as it is, another value as JSON.
	OneOf []string
	// Contains is a text that a string must contain, or that an array must have as an element.
	Contains string
	// Absent demands that there is no value.
	Absent bool
	// Text is how strings are compared.
	Text *Text
}

// JSONPath passes if a value at the path matches, in the JSON of the output, which it finds as
// [IsJSON] does. If the path selects several values, one match is enough.
func JSONPath(path string, want Path) (*Check, error) {
	m, err := newPath(path, want, want.Text.value())
	return tryCheck("json_path", m, err)
}

type pathMatcher struct {
	offline
	path string
	want Path
	how  Text
}

func newPath(path string, want Path, how Text) (*pathMatcher, error) {
	if path == "" {
		return nil, errors.New(`path is empty: "$" is the whole value`)
	}
	if _, err := jp.ParseString(path); err != nil {
		return nil, fmt.Errorf("path %s: %w", quote(path), err)
	}
	if want.Equals != nil {
		var err error
		if want.Equals, err = canonicalJSON(want.Equals); err != nil {
			return nil, fmt.Errorf("equals: %w", err)
		}
	}
	return &pathMatcher{path: path, want: want, how: how}, nil
}

func (p *pathMatcher) describe(o options) {
	o["path"] = p.path
	p.how.describe(o)
	if p.want.Equals != nil {
		o["equals"] = p.want.Equals
	}
	if len(p.want.OneOf) > 0 {
		o["ideal"] = p.want.OneOf
	}
	if p.want.Contains != "" {
		o["contains"] = p.want.Contains
	}
	o["exists"] = !p.want.Absent
}

func (p *pathMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	s, bad := findJSON(ev.Report.FinalOutput)
	if bad != nil {
		return bad.verdict(ev)
	}
	doc, err := decode(s)
	if err != nil {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "read the output as JSON: %w", err))
	}
	if strings.Contains(p.path, "?") { // a filter computes with floats
		doc = rounded(doc)
	}
	found, err := selectValues(p.path, doc)
	if err != nil {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "follow the path %s: %w", quote(p.path), err))
	}
	var equals any
	if p.want.Equals != nil {
		if equals, err = decode(string(p.want.Equals)); err != nil {
			return unmeasured(plumb.Failed(plumb.OriginAssertHook, err))
		}
	}
	hit := slices.IndexFunc(found, func(got any) bool { return p.fits(got, equals) })

	at, want, got := "at "+p.path, p.expected(), ""
	if len(found) > 0 {
		got = shown(ev, jsonText(found[max(hit, 0)]))
	}
	is, wanted := "the value "+at+" is "+text.Shorten(got, quoteLimit), ", want "+text.Shorten(want, quoteLimit)
	var v plumb.Verdict
	switch {
	case p.want.Absent && len(found) == 0:
		v = decided(true, "there is no value "+at)
	case p.want.Absent:
		v = decided(false, is+", want none")
	case len(found) == 0:
		v = decided(false, "there is no value "+at+wanted)
	case hit >= 0:
		v = decided(true, is)
	case len(found) > 1:
		v = decided(false, fmt.Sprintf("none of the %d values %s matches: the first is %s%s",
			len(found), at, text.Shorten(got, quoteLimit), wanted))
	default:
		v = decided(false, is+wanted)
	}
	if !p.want.Absent {
		v.Expected = want
	}
	v.Got = text.Shorten(got, shownLimit)
	facts := []any{"path", p.path, "found", len(found)}
	if len(found) > 0 && len(got) <= shownLimit {
		facts = append(facts, "value", json.RawMessage(got))
	}
	v.Details = details(facts...)
	return v
}

// selectValues follows a path. A filter is a small program, so selectValues recovers from a panic
// of its interpreter.
func selectValues(path string, doc any) (found []any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the path cannot be followed: %v", r)
		}
	}()
	x, err := jp.ParseString(path)
	if err != nil {
		return nil, err
	}
	return x.Get(doc), nil
}

func (p *pathMatcher) fits(got, want any) bool {
	switch {
	case p.want.Equals != nil:
		return p.equal(got, want)
	case len(p.want.OneOf) > 0:
		return slices.ContainsFunc(p.want.OneOf, func(text string) bool { return p.isText(got, text) })
	case p.want.Contains != "":
		switch got := got.(type) {
		case string:
			return strings.Contains(p.how.fold(got), p.how.fold(p.want.Contains))
		case []any:
			return slices.ContainsFunc(got, func(e any) bool { return p.isText(e, p.want.Contains) })
		}
		return false
	}
	return true
}

// isText compares a value with a text: a string as it is, another value as the JSON that the text
// spells.
func (p *pathMatcher) isText(got any, text string) bool {
	if s, ok := got.(string); ok {
		return p.how.fold(s) == p.how.fold(text)
	}
	want, err := decode(text)
	return err == nil && p.equal(got, want)
}

func (p *pathMatcher) equal(a, b any) bool { return reflect.DeepEqual(p.folded(a), p.folded(b)) }

// folded returns a value in a form in which equal values are the same.
func (p *pathMatcher) folded(v any) any {
	switch v := v.(type) {
	case string:
		return p.how.fold(v)
	case int64:
		return decimalOf(strconv.FormatInt(v, 10))
	case float64:
		return decimalOf(shortest(v))
	case json.Number:
		return decimalOf(v.String())
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = p.folded(e)
		}
		return list
	case map[string]any:
		members := make(map[string]any, len(v))
		for k, e := range v {
			members[k] = p.folded(e)
		}
		return members
	}
	return v // null and booleans
}

// expected describes the expected value: as JSON if it is known, else in words.
func (p *pathMatcher) expected() string {
	switch {
	case p.want.Equals != nil:
		return text.Shorten(string(p.want.Equals), shownLimit)
	case len(p.want.OneOf) == 1:
		return quote(p.want.OneOf[0])
	case len(p.want.OneOf) > 1:
		return "any of " + quotes(p.want.OneOf)
	case p.want.Contains != "":
		return "a value with " + quote(p.want.Contains)
	}
	return "a value"
}

func jsonText(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (s *spec) pathMatcher() matcher {
	equals, exists := s.raw("equals"), s.Get("exists")
	text, contains := s.text("contains")
	want := Path{Equals: equals, Contains: text, Absent: exists != nil && !s.flag("exists")}
	switch {
	case equals != nil && contains:
		s.bad("contains", `give only one of "equals" and "contains", or two assertions`)
	case want.Absent && (equals != nil || contains):
		s.bad("exists", `"exists": false contradicts the expected value`)
	case equals != nil || contains || exists != nil:
		if s.Get("ideal") != nil {
			s.warn("ideal", "the ideal is ignored: equals, contains or exists decides")
		}
	default:
		terms, at, ok := s.terms()
		if ok && len(terms) == 0 {
			s.bad(at, "the ideal is an empty list")
		}
		want.OneOf = terms
	}
	m, err := newPath(s.textOr("path"), want, s.compare())
	if err != nil && strings.HasPrefix(err.Error(), "equals") {
		s.bad("equals", "%s", err)
	} else {
		s.invalid("path", err)
	}
	return m
}
