package redact

import (
	"slices"
	"strings"
)

const (
	markOpen  = "[redacted:"
	markClose = "]"
)

// HasMark reports whether a stored text contains the mark of a removed secret.
func HasMark(text string) bool { return strings.Contains(text, markOpen) }

// Marks returns the names in the marks of a stored text, sorted and each once. [Redactor.String]
// may have changed characters of a name.
func Marks(text string) []string {
	var names []string
	for HasMark(text) {
		_, rest, _ := strings.Cut(text, markOpen)
		name, after, found := strings.Cut(rest, markClose)
		if found {
			names = append(names, name)
		}
		text = after
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// BetweenMarks returns the parts of a stored text before, between and after its marks.
func BetweenMarks(text string) []string {
	var parts []string
	for {
		before, rest, found := strings.Cut(text, markOpen)
		parts = append(parts, before)
		if !found {
			return parts
		}
		if _, text, found = strings.Cut(rest, markClose); !found {
			return parts // a mark that was cut off
		}
	}
}
