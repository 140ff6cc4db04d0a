package report

import (
	"fmt"
	"slices"

	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of what reports for people list. They count what they omit.
const (
	MaxClasses = 12 // failure classes
	MaxRows    = 24 // categories, or difficulties, in a table
	MaxNotes   = 20
)

// Section is one kind of executions that did not pass, by class.
type Section struct {
	Title  string
	Failed bool // and not unmeasured
	Groups []analyze.Group
}

// SectionsOf returns the sections that are not empty, most urgent first.
func SectionsOf(f *analyze.Findings) []Section {
	return slices.DeleteFunc([]Section{
		{"failed", true, f.Failed},
		{"passed although expected to fail", true, []analyze.Group{f.UnexpectedPassed}},
		{"a check of the suite broke", true, f.Broken},
		{"could not be measured", false, f.Errored},
	}, func(s Section) bool { return len(s.Groups) == 0 || s.Groups[0].Count == 0 })
}

// MoreWords returns how many executions of a group are not listed, or "".
func MoreWords(g *analyze.Group) string {
	more := g.Count - len(g.Executions)
	notAsked := min(more, g.NotAsked)
	switch {
	case more == 0:
		return ""
	case notAsked == 0:
		return text.Count(more) + " more"
	case notAsked == more:
		return text.Plural(more, "more case") + " not run, because the runner had failed"
	default:
		return fmt.Sprintf("%s more, and %s not run, because the runner had failed", text.Count(more-notAsked),
			text.Plural(notAsked, "case"))
	}
}
