package main

import (
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/check"
)

// assertionSections returns what is generated from [check.Kinds].
func assertionSections() []section {
	const manual = "docs/assertions.md"
	all := []section{
		{"schema/suite-case.schema.json", "assertions", fixed(schemaDefs)},
		{"internal/suite/plumb.d.ts", "assertions", fixed(typeScript)},
		{manual, "types that check the output", kindTable("output", "members", "code")},
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
		if !slices.ContainsFunc(k.Keys,
			func(has check.Key) bool { return has.Name == key.Name && has.Doc == key.Doc }) {
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
