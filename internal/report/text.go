package report

import "strings"

// Clean removes from untrusted text all that a terminal would interpret; see the package comment.
// Code outside of reports that shows such text must use it.
func Clean(s string) string { return clean(s) }

// EscapeJSON escapes in a JSON document what a terminal would interpret. The value does not change.
func EscapeJSON(doc []byte) []byte { return escapeControls(doc) }

// Money renders an amount of US dollars with its significant digits.
func Money(usd float64) string { return money(usd) }

// ShellWord quotes an argument of a suggested command if a shell would split or expand it.
func ShellWord(s string) string { return shellWord(s) }

// Line returns untrusted text as one line of at most width cells.
func Line(s string, width int) string { return fit(oneLine(s), width) }

// Indent returns untrusted text with all lines except the first indented by n spaces.
func Indent(s string, n int) string {
	return strings.ReplaceAll(strings.TrimRight(clean(s), "\n"), "\n", "\n"+strings.Repeat(" ", n))
}
