package report

import (
	"slices"

	"github.com/plumb-eval/plumb"
)

// word is how an execution ended, with the symbols and the label that accompany its color. ASCII is
// the symbol without Unicode, and emoji the symbol in Markdown.
type word struct{ name, mark, label, ascii, emoji string }

// words lists how executions can end, most urgent first.
func words() []word {
	return []word{
		{"fail", "✗", "fail", "X ", "❌"},
		{"xpass", "◆", "unexpected pass", "X!", "❌"},
		{"error", "!", "not measured", "! ", "⚠️"},
		{"pass", "✓", "pass", "OK", "✅"},
		{"xfail", "◇", "failed as expected", "x ", "✅"},
		{"skipped", "·", "not run", "- ", "–"},
	}
}

func wordNamed(name string) word {
	all := words()
	return all[slices.IndexFunc(all, func(w word) bool { return w.name == name })]
}

func wordOf(e *plumb.Execution) word {
	switch {
	case e.State != plumb.ExecutionDone, e.Outcome == plumb.OutcomeSkipped:
		return wordNamed("skipped")
	case e.Status == plumb.StatusExpectedFailed:
		return wordNamed("xfail")
	case e.Status == plumb.StatusUnexpectedPassed:
		return wordNamed("xpass")
	case e.Outcome == plumb.OutcomePass, e.Outcome == plumb.OutcomeFail:
		return wordNamed(string(e.Outcome))
	}
	return wordNamed("error")
}
