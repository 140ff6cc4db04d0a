package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

func jsonSchemaKind() Kind {
	return Kind{
		Name: "json_schema", Doc: "the JSON in the output is valid against the schema", Reads: "output",
		Keys: []Key{{
			Name: "schema", Type: "schema", Required: true,
			Doc: "a JSON Schema of draft 2020-12, or of the draft that `$schema` names",
		}, bareKey()},
		Details: "`parsed`, `type`", FailDetails: "also `errors`; only `error` if the output is not JSON",
		parse: func(s *spec) matcher {
			m, err := newSchema(s.raw("schema"))
			if s.invalid("schema", err); err == nil {
				m.bare = s.flag("bare")
			}
			return m
		},
	}
}

type schemaMatcher struct {
	offline
	schema   json.RawMessage // canonical
	bare     bool
	compiled lazy[compiledSchema]
}

// compiledSchema is a schema, and a pattern as large as all of its patterns together.
type compiledSchema struct {
	*jsonschema.Schema
	patterns pattern
}

// JSONSchema passes if the JSON in the output, which it finds as [IsJSON] does, is valid against
// the schema. A schema may refer to itself and to the meta-schemas of the drafts, but to no other
// file or address. Formats are checked.
func JSONSchema(schema json.RawMessage) (*Check, error) {
	m, err := newSchema(schema)
	return tryCheck("json_schema", m, err)
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

func (s *schemaMatcher) compile() (*compiledSchema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(s.schema)))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.AssertFormat()
	var patterns pattern
	c.UseRegexpEngine(func(expression string) (jsonschema.Regexp, error) {
		p, err := compilePattern(expression)
		if err != nil {
			return nil, err
		}
		patterns.instructions += p.instructions
		return p, nil
	})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err == nil {
		return &compiledSchema{compiled, patterns}, nil
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
	return nil, errors.New("a schema may refer only to itself: put the definitions into $defs")
}

func (s *schemaMatcher) describe(o options) {
	o["schema"] = s.schema
	describeBare(o, s.bare)
}

func (s *schemaMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	words, bad := findBareJSON(ev.Report.FinalOutput, s.bare)
	if bad != nil {
		return bad.verdict(ev)
	}
	schema, err := s.compiled.get(s.compile)
	if err != nil {
		return unmeasured(plumb.Failed(plumb.OriginAssertHook, err))
	}
	if f := schema.patterns.tooLarge(len(words)); f != nil {
		return unmeasured(f)
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(words))
	if err != nil {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "read the output as JSON: %w", err))
	}
	kind, name := jsonType(words)
	err = schema.Validate(instance)
	if err == nil {
		v := decided(true, "the output is "+name+", valid against the schema")
		v.Details = details("parsed", true, "type", kind)
		return v
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "validate against the schema: %w", err))
	}
	list := complaints(ev, invalid, 20)
	v := decided(false, "the output is not valid against the schema: "+text.Shorten(shown(ev, strings.Join(list, "; ")), 500))
	v.Got = text.Shorten(shown(ev, words), shownLimit)
	v.Details = details("parsed", true, "type", kind, "errors", list)
	return v
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
			s := pointer(e.InstanceLocation) + ": " + e.ErrorKind.LocalizedString(printer)
			list = append(list, text.Shorten(shown(ev, s), 500))
		}
	}
	walk(err)
	slices.Sort(list) // the library visits properties in no order
	return list
}

// pointer makes the JSON pointer of a value, "/" for the whole text.
func pointer(path []string) string {
	var p jsontext.Pointer
	for _, key := range path {
		p = p.AppendToken(key)
	}
	return cmp.Or(string(p), "/")
}
