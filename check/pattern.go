package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/ohler55/ojg/jp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/plumb-eval/plumb"
)

// lazy holds a compiled form as long as somebody uses it and the garbage collector has no better idea. Compiled patterns
// and schemas take kilobytes; suites of 100,000 cases have to fit into memory before the first of them is needed.
type lazy[T any] struct {
	mu   sync.Mutex
	held weak.Pointer[T]
}

func (l *lazy[T]) get(compile func() (*T, error)) (*T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.held.Value(); v != nil {
		return v, nil
	}
	v, err := compile()
	if err == nil {
		l.held = weak.Make(v)
	}
	return v, err
}

type regexMatcher struct {
	offline
	pattern  string
	mode     mode
	compiled lazy[regexp.Regexp]
}

// Regex holds when the pattern, in the syntax of package regexp, matches somewhere in the output.
func Regex(pattern string, how *Text) (*Check, error) {
	m, err := newRegex(pattern, how.mode())
	if err != nil {
		return nil, err
	}
	return &Check{matcher: m}, nil
}

func newRegex(pattern string, m mode) (*regexMatcher, error) {
	r := &regexMatcher{pattern: pattern, mode: m}
	if _, err := syntax.Parse(r.expression(), syntax.Perl); err != nil {
		return nil, fmt.Errorf("pattern %s: %w", quote(pattern), err)
	}
	return r, nil
}

func (r *regexMatcher) expression() string {
	if r.mode&ignoreCase != 0 {
		return "(?i)" + r.pattern
	}
	return r.pattern
}

func (*regexMatcher) Type() string { return typeRegex }

func (r *regexMatcher) describe(o *object) {
	r.mode.describe(o)
	o.str("pattern", r.pattern)
}

func (r *regexMatcher) match(_ context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	re, err := r.compiled.get(func() (*regexp.Regexp, error) { return regexp.Compile(r.expression()) })
	if err != nil {
		return unmeasured(plumb.Failed(plumb.OriginAssertHook, err)), nil
	}
	output := r.mode.normalize(ev.Report.FinalOutput)
	seen := r.mode.normalize(withoutSecrets(ev, ev.Report.FinalOutput))
	var v plumb.Verdict
	var details object
	details.str("pattern", r.pattern)
	if at := re.FindStringIndex(output); at != nil {
		found := output[at[0]:at[1]]
		if !strings.Contains(seen, found) {
			found = partOfSecret
		}
		v = decided(true, "the pattern matches "+quote(found))
		details.str("match", short(found, shownLimit))
	} else {
		v = decided(false, "nothing matches "+quote(r.pattern)+" in "+quote(seen))
	}
	v.Expected, v.Got = short("/"+r.pattern+"/", shownLimit), short(seen, shownLimit)
	v.Details = details.json()
	return v, nil
}

type schemaMatcher struct {
	offline
	schema   json.RawMessage // canonical
	compiled lazy[jsonschema.Schema]
}

// JSONSchema holds when the JSON in the output, found as by [IsJSON], is valid by the schema. A schema may refer to
// itself and to the drafts' own meta-schemas, but to no other file or address. Formats are asserted.
func JSONSchema(schema json.RawMessage) (*Check, error) {
	m, err := newSchema(schema)
	if err != nil {
		return nil, err
	}
	return &Check{matcher: m}, nil
}

func newSchema(schema json.RawMessage) (*schemaMatcher, error) {
	canonical, err := canonicalJSON(schema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s := &schemaMatcher{schema: canonical}
	if _, err := s.compiled.get(s.compile); err != nil {
		return nil, err
	}
	return s, nil
}

const schemaURL = "plumb:///schema.json"

func (s *schemaMatcher) compile() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(s.schema)))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err == nil {
		return compiled, nil
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if complaint, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			err = errors.New(strings.Join(complaints(&plumb.Evidence{}, complaint, 3), "; "))
		}
	}
	return nil, fmt.Errorf("schema: %w", err)
}

// noLoader keeps schemas from reading files.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may refer to itself only; put the definitions into $defs")
}

func (*schemaMatcher) Type() string { return typeJSONSchema }

func (s *schemaMatcher) describe(o *object) { o.raw("schema", s.schema) }

func (s *schemaMatcher) match(_ context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	text, bad := findJSON(ev.Report.FinalOutput)
	if bad != nil {
		return bad.verdict(ev), nil
	}
	schema, err := s.compiled.get(s.compile)
	if err != nil {
		return unmeasured(plumb.Failed(plumb.OriginAssertHook, err)), nil
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "read the output as JSON: %w", err)), nil
	}
	kind, name := jsonType(text)
	var details object
	details.boolean("parsed", true)
	details.str("type", kind)
	err = schema.Validate(instance)
	if err == nil {
		v := decided(true, "the output is "+name+" that is valid by the schema")
		v.Details = details.json()
		return v, nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "validate by the schema: %w", err)), nil
	}
	list := complaints(ev, invalid, 20)
	v := decided(false, "the output is not valid by the schema: "+short(shown(ev, strings.Join(list, "; ")), 500))
	v.Got = short(shown(ev, text), shownLimit)
	details.strs("errors", list)
	v.Details = details.json()
	return v, nil
}

// complaints lists the innermost causes of a validation error, at most limit of them.
func complaints(ev *plumb.Evidence, err *jsonschema.ValidationError, limit int) []string {
	printer := message.NewPrinter(language.English)
	var list []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 && len(list) < limit {
			list = append(list, short(shown(ev, pointer(e.InstanceLocation)+": "+e.ErrorKind.LocalizedString(printer)), 500))
		}
	}
	walk(err)
	slices.Sort(list) // the library visits properties in no order
	return list
}

// pointer renders the way to a value within a JSON text, "/" for all of it.
func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + escapePointer(p))
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

func escapePointer(token string) string {
	if !strings.ContainsAny(token, "~/") {
		return token
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// Path says what is wanted of the value at a path; the zero value wants that there is one.
type Path struct {
	// Equals is the wanted JSON value. Numbers are equal by value, objects whatever the order of their keys.
	Equals json.RawMessage
	// OneOf are wanted texts, of which the value must be one: a string as it is, other values as JSON.
	OneOf []string
	// Contains is a text that the value contains if it is a string, or has among its elements if it is an array.
	Contains string
	// Absent wants that there is no value.
	Absent bool
	// Text says how strings are compared.
	Text *Text
}

// JSONPath holds when a value at the path fits, in the JSON of the output, found as by [IsJSON]. Where the path selects
// several values, one that fits is enough.
func JSONPath(path string, want Path) (*Check, error) {
	m, err := newPath(path, want, want.Text.mode())
	if err != nil {
		return nil, err
	}
	return &Check{matcher: m}, nil
}

type pathMatcher struct {
	offline
	path string
	want Path
	mode mode
}

func newPath(path string, want Path, m mode) (*pathMatcher, error) {
	if path == "" {
		return nil, errors.New(`path is empty; "$" is the whole value`)
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
	return &pathMatcher{path: path, want: want, mode: m}, nil
}

func (*pathMatcher) Type() string { return typeJSONPath }

func (p *pathMatcher) describe(o *object) {
	o.str("path", p.path)
	p.mode.describe(o)
	if p.want.Equals != nil {
		o.raw("equals", p.want.Equals)
	}
	if len(p.want.OneOf) > 0 {
		o.strs("ideal", p.want.OneOf)
	}
	if p.want.Contains != "" {
		o.str("contains", p.want.Contains)
	}
	o.boolean("exists", !p.want.Absent)
}

func (p *pathMatcher) match(_ context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	text, bad := findJSON(ev.Report.FinalOutput)
	if bad != nil {
		return bad.verdict(ev), nil
	}
	doc, err := decode(text)
	if err != nil {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "read the output as JSON: %w", err)), nil
	}
	found, err := selectValues(p.path, doc)
	if err != nil {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "follow the path %s: %w", quote(p.path), err)), nil
	}
	var want any
	if p.want.Equals != nil {
		if want, err = decode(string(p.want.Equals)); err != nil {
			return unmeasured(plumb.Failed(plumb.OriginAssertHook, err)), nil
		}
	}
	hit := slices.IndexFunc(found, func(got any) bool { return p.fits(got, want) })

	at := "at " + p.path
	var got string
	if len(found) > 0 {
		got = shown(ev, jsonText(found[max(hit, 0)]))
	}
	var v plumb.Verdict
	switch {
	case p.want.Absent:
		if v = decided(len(found) == 0, "there is nothing "+at); !v.Pass {
			v.Reason = at + " there is " + short(got, quoteLimit)
		}
	case len(found) == 0:
		v = decided(false, "there is nothing "+at)
		v.Expected = p.expected()
	case hit >= 0:
		v = decided(true, at+" there is "+short(got, quoteLimit))
		v.Expected = p.expected()
	default:
		v = decided(false, at+" there is "+short(got, quoteLimit)+", not "+short(p.expected(), quoteLimit))
		if len(found) > 1 {
			v.Reason = fmt.Sprintf("none of %d values %s is %s: the first is %s",
				len(found), at, short(p.expected(), quoteLimit), short(got, quoteLimit))
		}
		v.Expected = p.expected()
	}
	v.Got = short(got, shownLimit)
	var details object
	details.str("path", p.path)
	details.put("found", func(b []byte) []byte { return fmt.Appendf(b, "%d", len(found)) })
	if len(found) > 0 && len(got) <= shownLimit {
		details.raw("value", []byte(got))
	}
	v.Details = details.json()
	return v, nil
}

// selectValues follows a path. Filters are small programs, so a defect in their interpreter is contained here.
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
			return strings.Contains(p.mode.fold(got), p.mode.fold(p.want.Contains))
		case []any:
			return slices.ContainsFunc(got, func(e any) bool { return p.isText(e, p.want.Contains) })
		}
		return false
	}
	return true
}

// isText compares a value with a text: a string as it is, another value with the JSON that the text spells.
func (p *pathMatcher) isText(got any, text string) bool {
	if s, ok := got.(string); ok {
		return p.mode.fold(s) == p.mode.fold(text)
	}
	want, err := decode(text)
	return err == nil && p.equal(got, want)
}

func (p *pathMatcher) equal(a, b any) bool {
	switch a := a.(type) {
	case string:
		s, ok := b.(string)
		return ok && p.mode.fold(a) == p.mode.fold(s)
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, p.equal)
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for k, v := range a {
			if w, ok := m[k]; !ok || !p.equal(v, w) {
				return false
			}
		}
		return true
	case float64:
		switch b := b.(type) {
		case float64:
			return a == b
		case int64:
			return a == float64(b)
		}
		return false
	case int64:
		if f, ok := b.(float64); ok {
			return f == float64(a)
		}
	}
	return a == b // null, booleans, integers, and numbers too large for both
}

// expected says what is wanted of the value, as JSON where there is one value, else in words.
func (p *pathMatcher) expected() string {
	switch {
	case p.want.Equals != nil:
		return short(string(p.want.Equals), shownLimit)
	case len(p.want.OneOf) == 1:
		return quote(p.want.OneOf[0])
	case len(p.want.OneOf) > 1:
		return "any of " + quotes(p.want.OneOf)
	case p.want.Contains != "":
		return "something with " + quote(p.want.Contains)
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
