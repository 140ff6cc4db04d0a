package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/text"
)

// theme is how the terminal reporter draws: with or without color, in Unicode or in ASCII.
type theme struct {
	color, unicode                     bool
	gutter, dash, dot, ellipsis, times string
	full, empty                        string
}

func newTheme(color, unicode bool) theme {
	if unicode {
		return theme{
			color: color, unicode: true, gutter: "│", dash: "–", dot: " · ", ellipsis: "…", times: "×", full: "█", empty: "░",
		}
	}
	return theme{color: color, gutter: "|", dash: "-", dot: " | ", ellipsis: "...", times: "x", full: "#", empty: "."}
}

// style gives a text the attribute of a terminal with the given code.
func (t theme) style(s, code string) string {
	if !t.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + ansi.ResetStyle
}

func (t theme) red(s string) string    { return t.style(s, "31") }
func (t theme) green(s string) string  { return t.style(s, "32") }
func (t theme) yellow(s string) string { return t.style(s, "33") }
func (t theme) cyan(s string) string   { return t.style(s, "36") }
func (t theme) bold(s string) string   { return t.style(s, "1") }
func (t theme) dim(s string) string    { return t.style(s, "2") }

// label renders the name of a line of facts.
func (t theme) label(s string) string { return t.dim(text.Pad(s, 10)) }

// fit truncates a line to the display width; 0 means no limit.
func (t theme) fit(s string, width int) string {
	if width <= 0 || ansi.StringWidth(s) <= width {
		return s
	}
	return ansi.Truncate(s, width, text.Fit(t.ellipsis, width))
}

// wrap breaks a line at words to fit the display width, into at most limit lines; 0 means no width
// limit.
func (t theme) wrap(s string, width, limit int) []string {
	if width <= 0 {
		return []string{s}
	}
	lines := strings.Split(ansi.Wrap(s, width, ""), "\n")
	if len(lines) > limit {
		lines = lines[:limit]
		lines[limit-1] = t.fit(lines[limit-1]+strings.Repeat(" ", width), width)
		lines[limit-1] = strings.TrimRight(ansi.Truncate(lines[limit-1], width-ansi.StringWidth(t.ellipsis), ""), " ") +
			t.ellipsis
	}
	return lines
}

// excerpt renders an excerpt below its heading. Each line starts with a gutter, so that no reader
// mistakes text of a model for text of Plumb, and so that no such text starts a line, where CI
// systems look for commands.
func (t theme) excerpt(e *report.Excerpt, width int) []string {
	var out []string
	gutter := "      " + t.dim(t.gutter) + " "
	inner := 0
	if width > 0 {
		inner = max(8, width-8)
	}
	styles := map[report.LineKind]func(string) string{
		report.PlainLine: unstyled, report.DimLine: t.dim, report.AddedLine: t.green, report.RemovedLine: t.red,
		report.MarkedLine: t.cyan,
	}
	for _, l := range e.Lines() {
		for _, row := range t.wrap(l.Text, inner, l.Rows) {
			out = append(out, t.fit(gutter+styles[l.Kind](row), width))
		}
	}
	return out
}

// bar draws a progress bar for done of whole.
func (t theme) bar(done, whole, width int) string {
	filled := 0
	if whole > 0 {
		filled = min(width, done*width/whole)
	}
	return strings.Repeat(t.full, filled) + strings.Repeat(t.empty, width-filled)
}
