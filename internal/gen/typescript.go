package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/check"
)

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
		typeKey := check.CommonKeys()[0]
		typeKey.Enum = []string{k.Name}
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
		word = quoted(k.Enum, " | ")
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
