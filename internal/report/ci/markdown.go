// Package ci writes the reports for CI systems and code hosts: Markdown for comments and summaries,
// JUnit XML, and annotations of GitHub. No text of a model, a provider or a suite is a command, a
// link or markup in them.
package ci

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of a Markdown report. GitHub accepts comments of fewer than 65,536 characters; the
// rest is room for text around the report.
const (
	markdownSize   = 60_000
	markdownItems  = 20      // failures shown with what was expected and what came
	markdownListed = 50      // executions listed in all
	markdownRows   = 40      // rows of one table
	markdownText   = 2 << 10 // bytes of one text
)

// markup is text in Markdown. Only [set], [code], [cellText] and [fence] make it of the text of
// others, so that such text cannot format, link or notify.
type markup string

// set returns a text as it is if Markdown shows it so, and otherwise as code.
func set(s string) markup {
	if s = text.OneLine(s); literal(s) {
		return markup(s)
	}
	return code(s)
}

// interval matches an interval of numbers in brackets that begins no link.
var interval = regexp.MustCompile(`\[[-+0-9.,– ]+\]($|[ ,;)])`)

// literal reports whether nothing in a text has a meaning in Markdown or on GitHub, on whichever
// place of a line it is.
func literal(s string) bool {
	s = interval.ReplaceAllString(s, " ")
	if strings.Contains(strings.ToLower(s), "www.") || strings.TrimLeft(s, "-+>=") != s && len(s) > 1 && s[1] == ' ' {
		return false
	}
	for i, r := range s {
		last, next := i == 0 || s[i-1] == ' ', strings.TrimLeft(s[i+utf8.RuneLen(r):], "= ")
		number := next != "" && '0' <= next[0] && next[0] <= '9'
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(" .,;%()+-–·×±→≥≤'\"$/…=", r):
		case r == ':' && (i+1 == len(s) || s[i+1] == ' '):
		case (r == '<' || r == '>') && i > 0 && last && number: // p < 0.05
		default:
			return false
		}
	}
	return true
}

// join joins markup.
func join(parts []markup, separator string) markup {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = string(p)
	}
	return markup(strings.Join(texts, separator))
}

// cells returns a row of a table; the texts of the first cell are set already.
func cells(first markup, texts ...string) markup {
	row := "| " + first
	for _, text := range texts {
		row += " | " + setCell(text)
	}
	return row + " |\n"
}

// page is a Markdown text of limited size. It omits a part that does not fit, and all parts after
// it.
type page struct {
	strings.Builder
	limit int
	full  bool
}

// add adds formatted text. It sets all arguments that are not markup already.
func (m *page) add(format string, args ...any) { m.part(marked(format, args...)) }

// marked is [fmt.Sprintf] for markup: it sets all arguments that are text.
func marked(format string, args ...any) markup {
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String && v.Type() != reflect.TypeFor[markup]() {
			args[i] = set(v.String())
		}
	}
	return markup(fmt.Sprintf(format, args...))
}

func (m *page) part(s markup) {
	const ending = "\n_The report is truncated here._\n"
	if m.full || m.Len()+len(s)+len(ending) > m.limit {
		if !m.full {
			m.WriteString(ending)
		}
		m.full = true
		return
	}
	m.WriteString(string(s))
}

// code puts a text into a code span on one line, in which no character has a special meaning.
func code(s string) markup {
	s = text.OneLine(s)
	if s == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return markup(ticks + s + ticks)
}

// setCell is [set] for a table.
func setCell(s string) markup {
	if s = text.OneLine(s); literal(s) {
		return markup(s)
	}
	return cellText(s)
}

// cellText is [code] for a table, in which a bar ends the cell even inside code. Renderers disagree
// about bars after backslashes, so a text with a bar has no character that Markdown knows.
func cellText(s string) markup {
	if s = text.OneLine(s); !strings.Contains(s, "|") {
		return code(s)
	}
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && r != ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return markup("<code>" + b.String() + "</code>")
}

// fence puts a text into a fenced block that it cannot close.
func fence(s, language string) markup {
	ticks := strings.Repeat("`", max(3, longestRun(s)+1))
	return markup(ticks + language + "\n" + strings.TrimRight(text.Clean(s), "\n") + "\n" + ticks)
}

// longestRun returns the length of the longest run of backticks in s.
func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// indentBlock moves a block into a list item.
func indentBlock(s markup) markup {
	return "  " + markup(strings.ReplaceAll(string(s), "\n", "\n  "))
}
