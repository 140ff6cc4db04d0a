package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb/check"
)

// value is the JSON Schema of a value.
type value struct {
	Ref         string   `json:"$ref,omitempty"`
	Type        any      `json:"type,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	AnyOf       []value  `json:"anyOf,omitempty"`
	Items       *value   `json:"items,omitempty"`
	MinItems    int      `json:"minItems,omitempty"`
	MinLength   int      `json:"minLength,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	Above       *float64 `json:"exclusiveMinimum,omitempty"`
	Min         *float64 `json:"minimum,omitempty"`
	Max         *float64 `json:"maximum,omitempty"`
	Description string   `json:"description,omitempty"`
}

// schemaOf returns the schema of the value of a key.
func schemaOf(k check.Key) value {
	v := value{Type: k.Type, Min: k.Min, Max: k.Max, Description: sentence(k.Doc)}
	if k.NotEmpty && k.Type == "string" {
		v.MinLength = 1
	}
	switch k.Type {
	case "string":
		v.Enum = k.Enum
	case "number", "integer":
		if k.Positive {
			v.Above = new(0.0)
		}
	case "strings":
		item := value{Type: "string", Enum: k.Enum}
		list := value{Type: "array", Items: &item}
		if k.NotEmpty {
			list.MinItems = 1
		}
		if k.Lenient {
			v.Type, v.AnyOf = nil, []value{item, list}
			return v
		}
		v.Type, v.Items, v.MinItems = list.Type, list.Items, list.MinItems
	case "schema":
		v.Type = []string{"object", "boolean"}
	case "ideal":
		v.Ref, v.Type = "#/$defs/ideal", nil
	case "assertion":
		v.Ref, v.Type = "#/$defs/before", nil
	case "assertions":
		v.Type, v.Items, v.MinItems = "array", &value{Ref: "#/$defs/assertion"}, 1
	case "any":
		v.Type = nil
	}
	if k.Lenient { // the documented format has many spellings
		v = value{Description: v.Description}
	}
	return v
}

// schemaDefs returns the definitions of all kinds, of an assertion, and of what comes later than
// it.
func schemaDefs() (string, error) {
	var b strings.Builder
	var names, conditions []string
	before := map[string]bool{}
	var later []string
	for _, k := range check.Kinds() {
		names = append(names, text(k.Name))
		conditions = append(conditions,
			fmt.Sprintf(`        {"if": {"properties": {"type": {"const": %[1]q}}}, "then": {"$ref": "#/$defs/%[1]s"}}`,
				k.Name))
		properties := []string{fmt.Sprintf(`        "type": {"const": %q}`, k.Name)}
		required := []string{`"type"`}
		either := ""
		for _, key := range append(check.CommonKeys()[1:], k.Keys...) {
			line, err := property(key.Name, schemaOf(key))
			if err != nil {
				return "", err
			}
			properties = append(properties, line)
			if isSeen(k) && !before[key.Name] {
				before[key.Name] = true
				later = append(later, line)
			}
			switch {
			case key.Alias != "":
				if line, err = property(key.Alias, schemaOf(key)); err != nil {
					return "", err
				}
				properties = append(properties, line)
				either = fmt.Sprintf("      \"oneOf\": [{\"required\": [%q]}, {\"required\": [%q]}],\n", key.Name,
					key.Alias)
			case key.Required:
				required = append(required, text(key.Name))
			}
		}
		fmt.Fprintf(&b, `    %q: {
      "description": %s,
      "type": "object", "additionalProperties": false, "required": [%s],
%s      "properties": {
%s
      }
    },
`, k.Name, text("Passes if "+k.Doc+"."), strings.Join(required, ", "), either, strings.Join(properties, ",\n"))
	}
	var seen []string
	for _, k := range check.Kinds() {
		if isSeen(k) {
			seen = append(seen, text(k.Name))
		}
	}
	fmt.Fprintf(&b, `    "before": {
      "type": "object", "additionalProperties": false,
      "properties": {
        "type": {"enum": [%s]},
%s
      }
    },
`, strings.Join(seen, ", "), strings.Join(later, ",\n"))
	fmt.Fprintf(&b, `    "assertion": {
      "type": "object", "required": ["type"],
      "properties": {"type": {"enum": [%s]}},
      "allOf": [
%s
      ]
    },
`, strings.Join(names, ", "), strings.Join(conditions, ",\n"))
	return b.String(), nil
}

func property(name string, schema value) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(schema); err != nil {
		return "", err
	}
	v := jsontext.Value(b.Bytes())
	err := v.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	return fmt.Sprintf("        %q: %s", name, v), err
}

// text is a string as JSON, and as TypeScript.
func text(s string) string {
	b, _ := jsontext.AppendQuote(nil, s) // fails on invalid UTF-8 only
	return string(b)
}

// sentence makes a sentence of the documentation of a key.
func sentence(doc string) string {
	if doc == "" {
		return ""
	}
	return strings.ToUpper(doc[:1]) + doc[1:] + "."
}
