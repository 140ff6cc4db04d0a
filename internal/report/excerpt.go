package report

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/results"
	"github.com/plumb-eval/plumb/internal/text"
)

// The limits of one excerpt.
const (
	ExcerptText     = 4 << 10 // bytes of an expected or a received text
	excerptLines    = 24      // lines of one comparison
	excerptVerdicts = 3       // checks of one session
)

// Excerpt is the part of a failed session that reports show. Its size is limited, and it keeps no
// larger string alive.
type Excerpt struct {
	// Asked is the prompt, without its middle if it is long.
	Asked         string
	Message, Hint string
	// At is the position where suite code threw, Stack its full stack, Log the file to read first.
	At, Stack, Log string
	// Asks is set when checks have questions for the agent. Explain is the command that asks them.
	Asks    bool
	Explain string
	// Counts describes the repetitions and sessions.
	Counts []string
	Checks []FailedCheck
	// More counts the failed checks that Checks omits.
	More int
}

// FailedCheck is a verdict that failed or could not be reached.
type FailedCheck struct{ Name, Reason, Expected, Got, At string }

// Compared reports whether the check compares texts.
func (c *FailedCheck) Compared() bool { return c.Expected != "" || c.Got != "" }

// Diff returns the lines of a unified diff when it is useful.
func (c *FailedCheck) Diff() []string {
	if !Diffable(c.Expected, c.Got) {
		return nil
	}
	return DiffOf(c.Expected, c.Got, 4*excerptLines)
}

// ExcerptOf returns the excerpt of a judged session.
func ExcerptOf(j *plumb.Judgement) Excerpt {
	var e Excerpt
	if j.Failure != nil {
		e = ExcerptOfFailure(j.Failure)
	}
	for i := range j.Verdicts {
		v := &j.Verdicts[i]
		if v.Pass && v.Error == nil {
			continue
		}
		e.Asks = e.Asks || len(v.Questions) > 0
		if len(e.Checks) == excerptVerdicts {
			e.More++
			continue
		}
		c := FailedCheck{Keep(v.Name), Keep(v.Reason), Keep(v.Expected), Keep(v.Got), Keep(PlaceOf(v.Source))}
		if v.Error != nil {
			c = FailedCheck{
				Name: Keep(v.Name), Reason: Keep(v.Error.Message),
				At: Keep(cmp.Or(PlaceOf(v.Source), PlaceOf(v.Error.Source))),
			}
			if e.Hint == "" {
				e.Hint = Keep(v.Error.Hint)
			}
		}
		e.Checks = append(e.Checks, c)
	}
	return e
}

// ExcerptOfFailure returns the excerpt of a session that broke off.
func ExcerptOfFailure(f *plumb.Failure) Excerpt {
	e := Excerpt{Message: Keep(f.Message), Hint: Keep(f.Hint), At: Keep(PlaceOf(f.Source)), Stack: Keep(f.Stack)}
	if f.Origin != plumb.OriginAssertion {
		e.Log = Keep(f.LogPath)
	}
	return e
}

// WhyOf returns the excerpt of the session that decided an execution, or of the execution if there
// is no session.
func WhyOf(e *plumb.Execution, s *results.Session) Excerpt {
	switch {
	case s != nil && s.Judgement != nil:
		return ExcerptOf(s.Judgement)
	case s != nil && s.Failure != nil:
		return ExcerptOfFailure(s.Failure)
	default:
		return Excerpt{Message: Keep(e.Reason)}
	}
}

// PlaceOf renders a source position, or "" when it is unknown.
func PlaceOf(p *plumb.Position) string {
	if p == nil {
		return ""
	}
	at := *p
	at.File = PlainPath(at.File)
	return text.OneLine(at.String())
}

// PlainPath turns the file URL that engines report for a module into a path that people can open.
func PlainPath(file string) string {
	u, err := url.Parse(file)
	if err != nil || u.Scheme != "file" {
		return file
	}
	if p := u.Path; len(p) > 2 && p[0] == '/' && p[2] == ':' { // file:///C:/suite.ts
		return p[1:]
	}
	return u.Path
}

// Keep cleans a text and truncates it to the limit of an excerpt. The result shares no memory with
// s, which may be part of a whole session.
func Keep(s string) string {
	short := text.Clip(s, ExcerptText)
	if missing := len(s) - len(short); missing > 0 {
		return fmt.Sprintf("%s\n(%s more bytes)", text.Clean(short), text.Count(missing))
	}
	return strings.Clone(text.Clean(short))
}

// ClassLabel returns the label of a failure class for people.
func ClassLabel(c *plumb.FailureClass, origin plumb.Origin) string {
	switch {
	case c != nil && c.Label != "":
		return text.OneLine(c.Label)
	case c != nil:
		return text.OneLine(c.ID)
	case origin != "":
		return origin.Class().Label
	}
	return ""
}

// Line is one line of an excerpt below its heading.
type Line struct {
	Text string
	Kind LineKind
	// Rows is the number of rows that the line may take where it is wrapped.
	Rows int
}

// LineKind says how a line of an excerpt looks.
type LineKind int

// The kinds of lines. Marked are hints, and the places in a diff.
const (
	PlainLine LineKind = iota
	DimLine
	AddedLine
	RemovedLine
	MarkedLine
)

// Lines renders an excerpt below its heading.
func (e *Excerpt) Lines() []Line {
	var out []Line
	add := func(rows int, text string, kind LineKind) {
		out = append(out, Line{strings.ReplaceAll(text, "\t", "    "), kind, rows})
	}
	if e.Asked != "" {
		add(3, "asked     "+e.Asked, DimLine)
	}
	block := func(words string, limit int, kind LineKind) {
		all := strings.Split(strings.TrimRight(words, "\n"), "\n")
		for i, l := range all {
			if i == limit && len(all) > limit+1 {
				add(1, fmt.Sprintf("(%s more)", text.Plural(len(all)-limit, "line")), DimLine)
				break
			}
			add(3, l, kind)
		}
	}
	where := func(at string) {
		if at != "" {
			add(2, "at "+at, DimLine)
		}
	}
	if len(e.Checks) == 0 && e.Message != "" {
		block(e.Message, excerptLines, PlainLine)
		where(e.At)
	}
	placed := false
	for _, c := range e.Checks {
		line := c.Name
		if c.Reason != "" {
			line = strings.TrimPrefix(c.Name+": ", ": ") + c.Reason
		}
		block(line, excerptLines, PlainLine)
		told := func(words string) bool { // the reason quotes it already
			reason := text.OneLine(line)
			for l := range strings.Lines(words) {
				if !strings.Contains(reason, text.OneLine(l)) {
					return false
				}
			}
			return strings.TrimSpace(words) != ""
		}
		switch {
		case !c.Compared():
		case Diffable(c.Expected, c.Got):
			for _, l := range DiffOf(c.Expected, c.Got, excerptLines) {
				kind := PlainLine
				switch {
				case strings.HasPrefix(l, "-"):
					kind = RemovedLine
				case strings.HasPrefix(l, "+"):
					kind = AddedLine
				case strings.HasPrefix(l, "@"):
					kind = MarkedLine
				}
				add(2, l, kind)
			}
		default:
			if c.Expected != "" && !told(c.Expected) {
				block("expected  "+indent(c.Expected), excerptLines, PlainLine)
			}
			if !told(c.Got) {
				block("got       "+indent(Shown(c.Got)), excerptLines/2, PlainLine)
			}
		}
		where(c.At)
		placed = placed || c.At != ""
	}
	if len(e.Checks) > 0 && !placed {
		where(e.At)
	}
	if e.More > 0 {
		add(1, "("+text.Count(e.More)+" more failed)", DimLine)
	}
	if e.Log != "" {
		add(2, "Log: "+e.Log, PlainLine)
	}
	if len(e.Counts) > 0 {
		add(1, strings.Join(e.Counts, ", "), DimLine)
	}
	if e.Hint != "" {
		block("hint: "+e.Hint, 4, MarkedLine)
	}
	if e.Explain != "" {
		add(3, "ask the agent why: "+e.Explain, MarkedLine)
	}
	return out
}

// AskedOf returns a prompt on one line: the first and the last part of a long one.
func AskedOf(prompt string) string {
	const first, last = 120, 80 // characters
	s := []rune(text.OneLine(prompt))
	if len(s) <= first+last+20 {
		return string(s)
	}
	return fmt.Sprintf("%s ... (%s more characters) ... %s", strings.TrimSpace(string(s[:first])),
		text.Count(len(s)-first-last), strings.TrimSpace(string(s[len(s)-last:])))
}

// Shown makes an empty answer visible.
func Shown(s string) string {
	if strings.TrimSpace(s) == "" {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n          ") }

// Diffable reports whether a diff of two texts is useful: both have several lines.
func Diffable(expected, got string) bool {
	return strings.Contains(strings.TrimSpace(expected), "\n") && strings.Contains(strings.TrimSpace(got), "\n")
}

// DiffOf returns a unified diff from the expected to the received text, with at most limit lines.
func DiffOf(expected, got string, limit int) []string {
	end := func(s string) string { return strings.TrimRight(s, "\n") + "\n" }
	lines := []string{"--- expected", "+++ got"}
	if end(expected) == end(got) {
		return append(lines, "(no difference, except perhaps in line ends)")
	}
	unified := udiff.Unified("expected", "got", end(expected), end(got))
	all := strings.Split(strings.TrimSuffix(unified, "\n"), "\n")
	all = all[min(2, len(all)):] // the labels
	if len(all) > limit {
		return append(append(lines, all[:limit-1]...), fmt.Sprintf("(%s more)", text.Plural(len(all)-limit+1, "line")))
	}
	return append(lines, all...)
}
