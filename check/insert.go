package check

import "slices"

// Insertion says what a template may insert into a text of a spec.
type Insertion uint8

// What a template may insert.
const (
	// InsertNothing is for code, and for keys that decide what a check means.
	InsertNothing Insertion = iota
	// InsertText is for a text, which has no other meaning.
	InsertText
	// InsertPattern is for a regular expression, in which an inserted value matches itself.
	InsertPattern
	// InsertPath is for a path or a glob, into which only a plain path can be inserted.
	InsertPath
	// InsertName is for a path of keys, into which only a plain name can be inserted.
	InsertName
)

// Inserts returns what a template may insert into the texts of a key of a kind. It is the only list; what is not on it can
// have no template. The keys assertions and before have specs of their own.
func Inserts(kind, key string) Insertion {
	switch {
	case key == "path" && kind == "json_path", key == "elements":
		return InsertName
	case key == "path":
		return InsertPath
	case key == "pattern":
		return InsertPattern
	case slices.Contains([]string{
		"name", "ideal", "contains", "equals", "judge_prompt", "tool", "args", "skill", "executable", "options", "positionals",
	}, key):
		return InsertText
	}
	return InsertNothing
}
