package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/plumb-eval/plumb/check"
)

// assertionSections returns what is generated from [check.Kinds].
func assertionSections() []section {
	const manual = "docs/assertions.md"
	all := []section{
		{"schema/suite-case.schema.json", "assertions", func(string) (string, error) { return schemaDefs() }},
		{"internal/load/plumb.d.ts", "assertions", func(string) (string, error) { return typeScript(), nil }},
		{manual, "types that check the output", kindTable("output", "members")},
		{manual, "types that check the session", kindTable("")},
		{manual, "types that limit usage", kindTable("usage")},
		{manual, "common keys", table(keyTable(check.CommonKeys()))},
		{manual, "text keys", table(keyTable(check.TextKeys()))},
		{manual, "keys of what an agent did", table(seenTable())},
		{manual, "details", table(detailsTable())},
	}
	for _, name := range []string{"json_path", "numeric", "llm_judge", "semantic_similarity"} {
		all = append(all, section{manual, "keys of " + name, table(keyTable(ownKeys(kind(name))))})
	}
	return all
}

func kind(name string) check.Kind {
	all := check.Kinds()
	return all[slices.IndexFunc(all, func(k check.Kind) bool { return k.Name == name })]
}

// isSeen reports whether a kind looks for what an agent did.
func isSeen(k check.Kind) bool { return hasKeys(k, check.SeenKeys()) }

// comparesText reports whether a kind has all text keys.
func comparesText(k check.Kind) bool { return hasKeys(k, check.TextKeys()) }

func hasKeys(k check.Kind, keys []check.Key) bool {
	for _, key := range keys {
		if !slices.ContainsFunc(k.Keys, func(has check.Key) bool { return has.Name == key.Name && has.Doc == key.Doc }) {
			return false
		}
	}
	return true
}

// ownKeys returns the keys of a kind without those that it shares with a group of others, and those
// without effect.
func ownKeys(k check.Kind) []check.Key {
	var shared []check.Key
	if comparesText(k) {
		shared = check.TextKeys()
	}
	if isSeen(k) {
		shared = append(shared, check.SeenKeys()...)
	}
	return slices.DeleteFunc(k.Keys, func(key check.Key) bool {
		return strings.Contains(key.Doc, "without effect") ||
			slices.ContainsFunc(shared, func(s check.Key) bool { return s.Name == key.Name })
	})
}

// ----------------------------------------------------------------------------------------------------------- JSON Schema

// value is the JSON Schema of a value.
type value struct {
	Ref         string   `json:"$ref,omitempty"`
	Type        any      `json:"type,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	AnyOf       []value  `json:"anyOf,omitempty"`
	Items       *value   `json:"items,omitempty"`
	MinItems    int      `json:"minItems,omitempty"`
	MinLength   int      `json:"minLength,omitempty"`
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
			fmt.Sprintf(`        {"if": {"properties": {"type": {"const": %[1]q}}}, "then": {"$ref": "#/$defs/%[1]s"}}`, k.Name))
		properties := []string{fmt.Sprintf(`        "type": {"const": %q}`, k.Name)}
		required := []string{`"type"`}
		either := ""
		for _, key := range append(check.CommonKeys()[1:], k.Keys...) {
			line, err := property(key.Name, key)
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
				if line, err = property(key.Alias, key); err != nil {
					return "", err
				}
				properties = append(properties, line)
				either = fmt.Sprintf("      \"oneOf\": [{\"required\": [%q]}, {\"required\": [%q]}],\n", key.Name, key.Alias)
			case key.Required:
				required = append(required, text(key.Name))
			}
		}
		fmt.Fprintf(&b, "    %q: {\n      \"description\": %s,\n      \"type\": \"object\", \"additionalProperties\": false, "+
			"\"required\": [%s],\n%s      \"properties\": {\n%s\n      }\n    },\n",
			k.Name, text("Passes if "+k.Doc+"."), strings.Join(required, ", "), either, strings.Join(properties, ",\n"))
	}
	var seen []string
	for _, k := range check.Kinds() {
		if isSeen(k) {
			seen = append(seen, text(k.Name))
		}
	}
	fmt.Fprintf(&b, "    \"before\": {\n      \"type\": \"object\", \"additionalProperties\": false,\n      \"properties\": {\n"+
		"        \"type\": {\"enum\": [%s]},\n%s\n      }\n    },\n", strings.Join(seen, ", "), strings.Join(later, ",\n"))
	fmt.Fprintf(&b, "    \"assertion\": {\n      \"type\": \"object\", \"required\": [\"type\"],\n      \"properties\": {\n"+
		"        \"type\": {\"enum\": [\n          %s\n        ]}\n      },\n      \"allOf\": [\n%s\n      ]\n    },\n",
		strings.Join(names, ", "), strings.Join(conditions, ",\n"))
	return b.String(), nil
}

func property(name string, key check.Key) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(schemaOf(key)); err != nil {
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

// ------------------------------------------------------------------------------------------------------------ TypeScript

// typeScript returns the types of all kinds.
func typeScript() string {
	var b strings.Builder
	iface := func(doc, head string, keys []check.Key, self string) {
		fmt.Fprintf(&b, "\t/** %s */\n\texport interface %s {\n", doc, head)
		for _, key := range keys {
			for _, name := range []string{key.Name, key.Alias} {
				if name == "" {
					continue
				}
				optional := "?"
				if key.Required && key.Alias == "" {
					optional = ""
				}
				fmt.Fprintf(&b, "\t\t/** %s */\n\t\t%s%s: %s;\n", sentence(key.Doc), name, optional, typeOf(key, self))
			}
		}
		b.WriteString("\t}\n\n")
	}
	iface("Keys of all declarative checks.", "AssertionKeys", check.CommonKeys()[1:], "")
	iface("Keys of the declarative checks that compare texts.", "AssertionTextKeys", check.TextKeys(), "")
	var all, seen []string
	for _, k := range check.Kinds() {
		name := typeName(k)
		all = append(all, name)
		base, keys := "AssertionKeys", k.Keys
		if isSeen(k) {
			seen = append(seen, name)
		}
		if comparesText(k) {
			base += ", AssertionTextKeys"
			keys = slices.DeleteFunc(keys, func(key check.Key) bool {
				return slices.ContainsFunc(check.TextKeys(), func(t check.Key) bool { return t.Name == key.Name })
			})
		}
		typeKey := check.Key{Name: "type", Type: "string", Enum: []string{k.Name}, Required: true, Doc: "the type of the check"}
		iface("Passes if "+k.Doc+".", name+" extends "+base, append([]check.Key{typeKey}, keys...), name)
	}
	union := func(doc, name string, names []string) {
		fmt.Fprintf(&b, "\t/** %s */\n\texport type %s =\n\t\t| %s;\n", doc, name, strings.Join(names, "\n\t\t| "))
	}
	union("A check of what an agent did.", "ObservedAssertion", seen)
	b.WriteString("\n")
	union("A check as in JSONL suites.", "DeclarativeAssertion", all)
	return b.String()
}

// typeName is the name of a kind's interface, such as LlmJudgeAssertion.
func typeName(k check.Kind) string {
	var b strings.Builder
	for word := range strings.SplitSeq(k.Name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + "Assertion"
}

// typeOf returns the type of the value of a key of the interface self.
func typeOf(k check.Key, self string) string {
	word := "string"
	if len(k.Enum) > 0 {
		var words []string
		for _, e := range k.Enum {
			words = append(words, text(e))
		}
		word = strings.Join(words, " | ")
	}
	switch k.Type {
	case "string":
		return word
	case "boolean":
		return "boolean"
	case "number", "integer":
		return "number"
	case "strings":
		if len(k.Enum) > 0 {
			word = "(" + word + ")"
		}
		if k.Lenient {
			return word + " | readonly " + word + "[]"
		}
		return "readonly " + word + "[]"
	case "object":
		return "Readonly<Record<string, unknown>>"
	case "schema":
		return "object | boolean"
	case "ideal":
		return "string | readonly string[] | null"
	case "assertion":
		return "ObservedAssertion | Omit<" + self + `, "type">`
	case "assertions":
		return "readonly DeclarativeAssertion[]"
	}
	return "unknown"
}

// --------------------------------------------------------------------------------------------------------------- manual

func table(rows [][]string) func(string) (string, error) {
	return func(string) (string, error) {
		var b strings.Builder
		b.WriteByte('\n')
		for i, row := range rows {
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
			if i == 0 {
				b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
		b.WriteByte('\n')
		return b.String(), nil
	}
}

func keyTable(keys []check.Key) [][]string {
	rows := [][]string{{"key", "default", "meaning"}}
	for _, key := range keys {
		usual := key.Default
		if key.Required {
			usual = "required"
		}
		rows = append(rows, []string{"`" + key.Name + "`", usual, keyDoc(key)})
	}
	return rows
}

// keyDoc is the documentation of a key, with the strings that it may have.
func keyDoc(key check.Key) string {
	if len(key.Enum) == 0 {
		return key.Doc
	}
	return key.Doc + ": `" + strings.Join(key.Enum, "`, `") + "`"
}

// seenTable lists the keys of the kinds that look for what an agent did.
func seenTable() [][]string {
	rows := [][]string{{"key", "types", "matches if, or demands that"}}
	index := map[string]int{}
	for _, k := range check.Kinds() {
		if !isSeen(k) {
			continue
		}
		for _, key := range ownKeys(k) {
			at, ok := index[key.Name]
			if !ok {
				at = len(rows)
				index[key.Name] = at
				rows = append(rows, []string{"`" + key.Name + "`", "", keyDoc(key)})
			}
			rows[at][1] = strings.TrimPrefix(rows[at][1]+", `"+k.Name+"`", ", ")
		}
	}
	for _, key := range check.SeenKeys() {
		rows = append(rows, []string{"`" + key.Name + "`", "all", keyDoc(key)})
	}
	return rows
}

func detailsTable() [][]string {
	rows := [][]string{{"type", "on pass", "on fail"}}
	for _, k := range check.Kinds() {
		fail := k.FailDetails
		if fail == "" {
			fail = "the same"
		}
		last := rows[len(rows)-1]
		if last[1] == k.Details && last[2] == fail {
			last[0] += ", `" + k.Name + "`"
			continue
		}
		rows = append(rows, []string{"`" + k.Name + "`", k.Details, fail})
	}
	return rows
}

// kindTable lists the kinds that read one of some parts of a session; with "" all other kinds.
func kindTable(reads ...string) func(string) (string, error) {
	return func(manual string) (string, error) {
		rows := [][]string{{"type", "its keys", "passes if"}}
		for _, k := range check.Kinds() {
			in := slices.Contains(reads, k.Reads)
			if reads[0] == "" {
				in = !slices.Contains([]string{"output", "members", "usage"}, k.Reads)
			}
			if !in {
				continue
			}
			anchor, err := anchorOf(manual, k)
			if err != nil {
				return "", err
			}
			var names []string
			for _, key := range ownKeys(k) {
				names = append(names, "`"+key.Name+"`")
			}
			rows = append(rows, []string{"[`" + k.Name + "`](#" + anchor + ")", strings.Join(names, ", "), k.Doc})
		}
		return table(rows)(manual)
	}
}

// anchorOf returns the anchor of the section of the manual about a kind: its heading names the
// kind, or its first example is there.
func anchorOf(manual string, k check.Kind) (string, error) {
	heading := ""
	for line := range strings.Lines(manual) {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			heading = strings.TrimSpace(title)
			if regexp.MustCompile(`(^|[ ,])` + k.Name + `($|,)`).MatchString(heading) {
				break
			}
		}
	}
	if !strings.Contains(heading, k.Name) {
		_, after, ok := strings.Cut(manual, "\n{\"type\": "+text(k.Name))
		if !ok {
			return "", fmt.Errorf("%s has no example", k.Name)
		}
		before := manual[:len(manual)-len(after)]
		at := strings.LastIndex(before, "\n#")
		heading, _, _ = strings.Cut(strings.TrimLeft(before[at+1:], "#"), "\n")
		heading = strings.TrimSpace(heading)
	}
	anchor := strings.ReplaceAll(strings.ToLower(heading), ",", "")
	return strings.ReplaceAll(anchor, " ", "-"), nil
}
