package check

import (
	"slices"
	"sync"
)

// Kinds returns all types of assertions, in the order of the manual. It is the only list of them:
// the parser reads it, and `go generate ./...` writes the JSON Schema, the types for TypeScript and
// the tables of docs/assertions.md from it.
func Kinds() []Kind {
	return slices.Concat([]Kind{
		exactMatchKind(), equalsAnyKind(), containsKind(), containsAnyKind(), containsAllKind(), startsWithKind(),
		endsWithKind(), regexKind(), refusalKind(), wordCountKind(), isJSONKind(), jsonSchemaKind(), jsonPathKind(),
		equalsJSONKind(), isXMLKind(), numericKind(), levenshteinKind(), rougeKind(), bleuKind(), gleuKind(),
		llmJudgeKind(), semanticSimilarityKind(), jsKind(), commandKind(), allOfKind(), anyOfKind(),
	}, seenKinds(), []Kind{fileExistsKind(), fileContainsKind(), leaksNoSecretKind(), finishReasonKind()}, limitKinds())
}

// Kind describes one type of assertion. To add one, see docs/adding.md.
type Kind struct {
	// Name is the "type" of a spec.
	Name string
	// Doc describes when a check of this type passes, as in "the output contains the ideal".
	Doc string
	// Reads is the part of a session that the check looks at: "output", "workspace", "usage",
	// "session" for several parts, "members" for those of the assertions in it, "code" for what the
	// code of its author reads, or what an agent
	// did, such as "commands".
	Reads string
	// Keys are the keys of a spec, without [CommonKeys].
	Keys []Key
	// Details lists the members of the verdict's Details, in Markdown. FailDetails is set where a
	// failed check has others.
	Details, FailDetails string

	parse func(*spec) matcher
	// observed is set for the kinds in seen.go, and figure for those in usage.go.
	observed *observed
	figure   *figure
}

// Key describes one key of a spec.
type Key struct {
	Name string
	// Alias is another name of the key, for compatibility. At most one of the two may be given.
	Alias string
	// Type is the type of the value: "string", "boolean", "number", "integer", "strings" (a list),
	// "object", "schema" (a JSON Schema), "ideal" (a string or a list of strings), "assertion",
	// "assertions" (a list) or "any".
	Type string
	// Enum lists the strings that the value may have, or may consist of.
	Enum []string
	// NotEmpty rejects the empty string and the empty list.
	NotEmpty bool
	// Min and Max bound a number. Positive demands more than 0.
	Min, Max *float64
	Positive bool
	// Required rejects a spec without the key.
	Required bool
	// Lenient accepts other spellings: words and numbers for a boolean, text for a number, one
	// string for a list of strings.
	Lenient bool
	// Ignored accepts any value, for compatibility, and warns that it has no effect.
	Ignored bool
	// Default is the value of a missing key, as Markdown.
	Default string
	// Doc describes the key, as in "the exact name of the tool".
	Doc string

	common bool
}

// CommonKeys returns the keys of every kind.
func CommonKeys() []Key {
	return []Key{
		{Name: "type", Type: "string", Required: true, Doc: "the type of the check, in lower case"},
		{Name: "name", Type: "string", NotEmpty: true, Default: "the type", Doc: "the name of the check in reports"},
		{
			Name: "not", Type: "boolean", Default: "`false`",
			Doc: "the check passes when it would fail, and fails when it would pass; its score is 1 minus the score",
		},
		{
			Name: "weight", Type: "number", Positive: true, Default: "1",
			Doc: "the weight of the score within the case; it has no effect on whether the case passes",
		},
	}
}

// TextKeys returns the keys of the kinds that compare texts.
func TextKeys() []Key {
	return []Key{
		{
			Name: "case_sensitive", Type: "boolean", Lenient: true, Default: "`true`",
			Doc: "`false` compares the texts in lower case",
		},
		{
			Name: "normalize", Type: "strings", Lenient: true, Enum: []string{"typography", "whitespace", "unicode"},
			Default: "`[]`", Doc: "what to normalize in both texts before they are compared",
		},
	}
}

// idealKey is the ideal of one assertion.
func idealKey() Key {
	return Key{Name: "ideal", Type: "ideal", Default: "the case's", Doc: "the expected text, or a list of texts"}
}

// documentedKeys returns the keys that the documented format allows for all of its types, except
// those named in used, which the kind describes itself.
func documentedKeys(used ...string) []Key {
	keys := []Key{
		{Name: "case_sensitive", Type: "boolean", Lenient: true, Doc: "accepted for compatibility, without effect"},
		{Name: "threshold", Ignored: true, Type: "any", Doc: "accepted for compatibility, without effect"},
		{Name: "judge_prompt", Ignored: true, Type: "any", Doc: "accepted for compatibility, without effect"},
	}
	return slices.DeleteFunc(keys, func(k Key) bool { return slices.Contains(used, k.Name) })
}

// kinds indexes Kinds. It is filled on first use and never changes.
var kinds struct { //nolint:gochecknoglobals // filled once
	once   sync.Once
	byName map[string]*Kind
	names  []string
	// keys has every key of every kind.
	keys map[string]bool
}

// loadKinds fills kinds. It is not an initializer, since the parser of all_of uses kinds itself.
func loadKinds() {
	kinds.once.Do(func() {
		kinds.byName, kinds.keys = map[string]*Kind{}, map[string]bool{}
		all := Kinds()
		for i := range all {
			k := &all[i]
			kinds.byName[k.Name] = k
			kinds.names = append(kinds.names, k.Name)
			common := CommonKeys()
			for i := range common {
				common[i].common = true
			}
			k.Keys = append(common, k.Keys...)
			for _, key := range k.Keys {
				kinds.keys[key.Name] = true
				if key.Alias != "" {
					kinds.keys[key.Alias] = true
				}
			}
		}
	})
}

// kindOf returns a kind with its common keys, or nil.
func kindOf(name string) *Kind {
	loadKinds()
	return kinds.byName[name]
}

func (k *Kind) readsOutput() bool { return k.Reads == "output" }

// key returns the description of a key by its name or its alias, or nil.
func (k *Kind) key(name string) *Key {
	for i := range k.Keys {
		if key := &k.Keys[i]; key.Name == name || key.Alias == name {
			return key
		}
	}
	return nil
}

// newCheck makes a check with a constructor.
func newCheck(kind string, m matcher) *Check { return &Check{kind: kindOf(kind), matcher: m} }

// tryCheck is newCheck for a constructor that can fail.
func tryCheck(kind string, m matcher, err error) (*Check, error) {
	if err != nil {
		return nil, err
	}
	return newCheck(kind, m), nil
}
