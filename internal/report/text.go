package report

import "strings"

// Clean strips text that a model, a provider or a suite wrote of all that a terminal would obey; see the package comment.
// Whoever shows such text outside of a report uses it.
func Clean(s string) string { return clean(s) }

// EscapeJSON escapes in a JSON document what a terminal would obey. The document means the same.
func EscapeJSON(doc []byte) []byte { return escapeControls(doc) }

// Money returns an amount of US dollars with as many digits as say something.
func Money(usd float64) string { return money(usd) }

// ShellWord quotes an argument of a command line to be suggested, where a shell would take it apart.
func ShellWord(s string) string { return shellWord(s) }

// Line returns text from outside as one line of at most width cells.
func Line(s string, width int) string { return fit(oneLine(s), width) }

// Indent returns text from outside with all lines but the first indented by n blanks.
func Indent(s string, n int) string {
	return strings.ReplaceAll(strings.TrimRight(clean(s), "\n"), "\n", "\n"+strings.Repeat(" ", n))
}
