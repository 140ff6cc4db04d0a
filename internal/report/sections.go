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

// section is one kind of executions that did not pass, by class.
type section struct {
	title  string
	failed bool // and not unmeasured
	groups []analyze.Group
}

// sectionsOf returns the sections that are not empty, most urgent first.
func sectionsOf(f *analyze.Findings) []section {
	return slices.DeleteFunc([]section{
		{"failed", true, f.Failed},
		{"passed although expected to fail", true, []analyze.Group{f.UnexpectedPassed}},
		{"a check of the suite broke", true, f.Broken},
		{"could not be measured", false, f.Errored},
	}, func(s section) bool { return len(s.groups) == 0 || s.groups[0].Count == 0 })
}

// moreWords returns how many executions of a group are not listed, or "".
func moreWords(g *analyze.Group) string {
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
