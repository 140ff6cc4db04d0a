package report

import (
	"slices"

	"github.com/plumb-eval/plumb"
)

// Word is how an execution ended, with the symbols and the label that accompany its color. ASCII is
// the symbol without Unicode, and emoji the symbol in Markdown.
type Word struct{ Name, Mark, Label, ASCII, Emoji string }

// Words lists how executions can end, most urgent first.
func Words() []Word {
	return []Word{
		{"fail", "✗", "fail", "X ", "❌"},
		{"xpass", "◆", "unexpected pass", "X!", "❌"},
		{"error", "!", "not measured", "! ", "⚠️"},
		{"pass", "✓", "pass", "OK", "✅"},
		{"xfail", "◇", "failed as expected", "x ", "✅"},
		{"skipped", "·", "not run", "- ", "–"},
	}
}

// WordNamed returns the word with a name, such as "xfail".
func WordNamed(name string) Word {
	all := Words()
	return all[slices.IndexFunc(all, func(w Word) bool { return w.Name == name })]
}

// WordOf returns how an execution ended.
func WordOf(e *plumb.Execution) Word {
	switch {
	case e.State != plumb.ExecutionDone, e.Outcome == plumb.OutcomeSkipped:
		return WordNamed("skipped")
	case e.Status == plumb.StatusExpectedFailed:
		return WordNamed("xfail")
	case e.Status == plumb.StatusUnexpectedPassed:
		return WordNamed("xpass")
	case e.Outcome == plumb.OutcomePass, e.Outcome == plumb.OutcomeFail:
		return WordNamed(string(e.Outcome))
	}
	return WordNamed("error")
}
