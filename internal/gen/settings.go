package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/setting"
)

// settingSections returns what is generated from [config.Settings.List].
func settingSections() []section {
	return []section{
		{"schema/plumb.config.schema.json", "settings", fixed(settingSchema)},
		{"internal/suite/plumb.d.ts", "settings", fixed(settingTypes)},
		{"docs/configuration.md", "settings", table(settingTable())},
	}
}

// quoted returns texts in JSON, with separators between them.
func quoted(texts []string, separator string) string {
	var all []string
	for _, t := range texts {
		all = append(all, text(t))
	}
	return strings.Join(all, separator)
}

// keyType is the type of the key of a setting: as a JSON Schema, in TypeScript, and in the manual.
type keyType struct {
	schema     value
	ts, manual string
}

func typeOfSetting(s setting.Setting) keyType {
	def := func(name string) value { return value{Ref: "#/$defs/" + name} }
	values := "`" + strings.Join(s.Values, "`, `") + "`"
	switch s.At.(type) {
	case *bool:
		return keyType{value{Type: "boolean"}, "boolean", "true or false"}
	case *int:
		switch {
		case s.Odd:
			return keyType{def("votes"), "number", "odd number"}
		case s.Min == 0:
			return keyType{def("countOrNone"), "number", "whole number"}
		}
		return keyType{def("count"), "number", "whole number"}
	case *int64:
		return keyType{def("tokens"), "number", "whole number"}
	case *float64:
		return keyType{value{Type: "number", Above: new(0.0)}, "number", "number"}
	case *setting.Milliseconds:
		return keyType{def("duration"), "Duration", "duration"}
	case *setting.Optional[float64]:
		return keyType{def("temperature"), "number | null", "number, or null"}
	case *setting.Optional[int64]:
		return keyType{def("seed"), "number | null", "whole number, or null"}
	case **plumb.WorkspaceConfig:
		return keyType{def("workspace"), "SuiteWorkspaceConfig", "mapping; see [below](#workspace)"}
	case *run.Gates:
		share := value{AnyOf: []value{{Type: "number"}, {Type: "string", Pattern: `\S`}}}
		return keyType{
			oneOrMore(share, 0), "number | string | (number | string)[]", "share, or list; see [gates](ci.md#gates)",
		}
	case *[]string:
		t := keyType{def("strings"), "string | string[]", strings.TrimSpace("list of " + string(s.Format))}
		switch {
		case s.Values != nil:
			t.schema, t.manual = oneOrMore(value{Enum: s.Values}, 1), "list of "+values
		case s.Format == setting.Variable:
			t.schema, t.manual = oneOrMore(def("variable"), 0), "list of variable names"
		case s.Format == "":
			t.manual = "list"
		}
		return t
	case *string:
		t := keyType{value{Type: "string", Pattern: `\S`}, "string", cmp.Or(string(s.Format), "string")}
		switch {
		case s.Values != nil:
			return keyType{value{Enum: s.Values}, quoted(s.Values, " | "), values}
		case s.Format == setting.URL:
			t.schema = def("address")
		case s.Format == setting.Variable:
			t.schema = def("variable")
		}
		return t
	}
	panic("the setting " + s.Key + " has an unknown type")
}

// oneOrMore is the schema of one item, or of a list of at least least items.
func oneOrMore(item value, least int) value {
	return value{AnyOf: []value{item, {Type: "array", MinItems: least, Items: &item}}}
}

// settingSchema returns the members of the definition of run.
func settingSchema() string {
	var properties, exclusive []string
	for _, s := range new(config.Settings).List() {
		for i, key := range s.Keys() {
			v := typeOfSetting(s).schema
			if v.Description = sentence(s.Text()); i > 0 {
				v.Description = "Another name for " + s.Key + "."
				exclusive = append(exclusive, fmt.Sprintf(`        {"not": {"required": [%q, %q]}}`, s.Key, key))
			}
			properties = append(properties, property(key, v))
		}
	}
	return fmt.Sprintf(`      "type": "object", "additionalProperties": false,
      "description": "The flags of plumb run.",
      "properties": {
%s
      },
      "allOf": [
%s
      ],
`, strings.Join(properties, ",\n"), strings.Join(exclusive, ",\n"))
}

// settingTypes returns the members of RunOptions.
func settingTypes() string {
	var b strings.Builder
	for _, s := range new(config.Settings).List() {
		for i, key := range s.Keys() {
			doc := sentence(s.Text())
			if i > 0 {
				doc = "Another name for " + s.Key + "."
			}
			fmt.Fprintf(&b, "\t\t/** %s */\n\t\t%s?: %s;\n", doc, key, typeOfSetting(s).ts)
		}
	}
	return b.String()
}

// settingTable lists the keys of run, with their flags.
func settingTable() [][]string {
	rows := [][]string{{"key", "flag", "type", "meaning"}}
	for _, s := range new(config.Settings).List() {
		if s.Key == "" {
			continue
		}
		flag := ""
		if s.Flag != "" {
			flag = "`--" + s.Flag + "`"
		}
		rows = append(rows,
			[]string{"`" + strings.Join(s.Keys(), "`, `") + "`", flag, typeOfSetting(s).manual, s.Text()})
	}
	return rows
}
