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
	excerptText     = 4 << 10 // bytes of an expected or a received text
	excerptLines    = 24      // lines of one comparison
	excerptVerdicts = 3       // checks of one session
)

// excerpt is the part of a failed session that reports show. Its size is limited, and it keeps no
// larger string alive.
type excerpt struct {
	// Asked is the prompt, without its middle if it is long.
	Asked         string
	Message, Hint string
	// At is the position where suite code threw, Stack its full stack, Log the file to read first.
	At, Stack, Log string
	// asks is set when checks have questions for the agent. Explain is the command that asks them.
	asks    bool
	Explain string
	// Counts describes the repetitions and sessions.
	Counts []string
	Checks []failedCheck
	// More counts the failed checks that Checks omits.
	More int
}

// failedCheck is a verdict that failed or could not be reached.
type failedCheck struct{ Name, Reason, Expected, Got, At string }

// Compared reports whether the check compares texts.
func (c *failedCheck) Compared() bool { return c.Expected != "" || c.Got != "" }

// Diff returns the lines of a unified diff when it is useful.
func (c *failedCheck) Diff() []string {
	if !diffable(c.Expected, c.Got) {
		return nil
	}
	return diffOf(c.Expected, c.Got, 4*excerptLines)
}

// diffKind returns the kind of a line of a diff: "at", "add", "del" or "".
func diffKind(line string) string {
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "@"):
		return "at"
	case strings.HasPrefix(line, "+"):
		return "add"
	case strings.HasPrefix(line, "-"):
		return "del"
	}
	return ""
}

// excerptOf returns the excerpt of a judged session.
func excerptOf(j *plumb.Judgement) excerpt {
	var e excerpt
	if j.Failure != nil {
		e = excerptOfFailure(j.Failure)
	}
	for i := range j.Verdicts {
		v := &j.Verdicts[i]
		if v.Pass && v.Error == nil {
			continue
		}
		e.asks = e.asks || len(v.Questions) > 0
		if len(e.Checks) == excerptVerdicts {
			e.More++
			continue
		}
		c := failedCheck{keep(v.Name), keep(v.Reason), keep(v.Expected), keep(v.Got), keep(place(v.Source))}
		if v.Error != nil {
			c = failedCheck{
				Name: keep(v.Name), Reason: keep(v.Error.Message),
				At: keep(cmp.Or(place(v.Source), place(v.Error.Source))),
			}
			if e.Hint == "" {
				e.Hint = keep(v.Error.Hint)
			}
		}
		e.Checks = append(e.Checks, c)
	}
	return e
}

// excerptOfFailure returns the excerpt of a session that broke off.
func excerptOfFailure(f *plumb.Failure) excerpt {
	e := excerpt{Message: keep(f.Message), Hint: keep(f.Hint), At: keep(place(f.Source)), Stack: keep(f.Stack)}
	if f.Origin != plumb.OriginAssertion {
		e.Log = keep(f.LogPath)
	}
	return e
}

// whyOf returns the excerpt of the session that decided an execution, or of the execution if there
// is no session.
func whyOf(e *plumb.Execution, s *results.Session) excerpt {
	switch {
	case s != nil && s.Judgement != nil:
		return excerptOf(s.Judgement)
	case s != nil && s.Failure != nil:
		return excerptOfFailure(s.Failure)
	default:
		return excerpt{Message: keep(e.Reason)}
	}
}

// place renders a source position, or "" when it is unknown.
func place(p *plumb.Position) string {
	if p == nil {
		return ""
	}
	at := *p
	at.File = plainPath(at.File)
	return text.OneLine(at.String())
}

// plainPath turns the file URL that engines report for a module into a path that people can open.
func plainPath(file string) string {
	u, err := url.Parse(file)
	if err != nil || u.Scheme != "file" {
		return file
	}
	if p := u.Path; len(p) > 2 && p[0] == '/' && p[2] == ':' { // file:///C:/suite.ts
		return p[1:]
	}
	return u.Path
}

// keep cleans a text and truncates it to the limit of an excerpt. The result shares no memory with
// s, which may be part of a whole session.
func keep(s string) string {
	short := text.Clip(s, excerptText)
	if missing := len(s) - len(short); missing > 0 {
		return fmt.Sprintf("%s\n(%s more bytes)", text.Clean(short), text.Count(missing))
	}
	return strings.Clone(text.Clean(short))
}

// classLabel returns the label of a failure class for people.
func classLabel(c *plumb.FailureClass, origin plumb.Origin) string {
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

// lines renders an excerpt below its heading. Each line starts with a gutter, so that no reader
// mistakes text of a model for text of Plumb, and so that no such text starts a line, where CI
// systems look for commands.
func (e *excerpt) lines(t theme, width int) []string {
	var out []string
	gutter := "      " + t.dim(t.gutter) + " "
	inner := 0
	if width > 0 {
		inner = max(8, width-8)
	}
	add := func(limit int, text string, style func(string) string) {
		for _, l := range t.wrap(strings.ReplaceAll(text, "\t", "    "), inner, limit) {
			out = append(out, t.fit(gutter+style(l), width))
		}
	}
	plain := func(s string) string { return s }
	if e.Asked != "" {
		add(3, "asked     "+e.Asked, t.dim)
	}
	block := func(words string, limit int, style func(string) string) {
		all := strings.Split(strings.TrimRight(words, "\n"), "\n")
		for i, l := range all {
			if i == limit && len(all) > limit+1 {
				add(1, fmt.Sprintf("(%s more)", text.Plural(len(all)-limit, "line")), t.dim)
				break
			}
			add(3, l, style)
		}
	}
	where := func(at string) {
		if at != "" {
			add(2, "at "+at, t.dim)
		}
	}
	if len(e.Checks) == 0 && e.Message != "" {
		block(e.Message, excerptLines, plain)
		where(e.At)
	}
	placed := false
	for _, c := range e.Checks {
		line := c.Name
		if c.Reason != "" {
			line = strings.TrimPrefix(c.Name+": ", ": ") + c.Reason
		}
		block(line, excerptLines, plain)
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
		case diffable(c.Expected, c.Got):
			for _, l := range diff(c.Expected, c.Got) {
				style := plain
				switch {
				case strings.HasPrefix(l, "-"):
					style = t.red
				case strings.HasPrefix(l, "+"):
					style = t.green
				case strings.HasPrefix(l, "@"):
					style = t.cyan
				}
				add(2, l, style)
			}
		default:
			if c.Expected != "" && !told(c.Expected) {
				block("expected  "+indent(c.Expected), excerptLines, plain)
			}
			if !told(c.Got) {
				block("got       "+indent(shown(c.Got)), excerptLines/2, plain)
			}
		}
		where(c.At)
		placed = placed || c.At != ""
	}
	if len(e.Checks) > 0 && !placed {
		where(e.At)
	}
	if e.More > 0 {
		add(1, "("+text.Count(e.More)+" more failed)", t.dim)
	}
	if e.Log != "" {
		add(2, "Log: "+e.Log, plain)
	}
	if len(e.Counts) > 0 {
		add(1, strings.Join(e.Counts, ", "), t.dim)
	}
	if e.Hint != "" {
		block("hint: "+e.Hint, 4, t.cyan)
	}
	if e.Explain != "" {
		add(3, "ask the agent why: "+e.Explain, t.cyan)
	}
	return out
}

// askedOf returns a prompt on one line: the first and the last part of a long one.
func askedOf(prompt string) string {
	const first, last = 120, 80 // characters
	s := []rune(text.OneLine(prompt))
	if len(s) <= first+last+20 {
		return string(s)
	}
	return fmt.Sprintf("%s ... (%s more characters) ... %s", strings.TrimSpace(string(s[:first])),
		text.Count(len(s)-first-last), strings.TrimSpace(string(s[len(s)-last:])))
}

// shown makes an empty answer visible.
func shown(s string) string {
	if strings.TrimSpace(s) == "" {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n          ") }

// diffable reports whether a diff of two texts is useful: both have several lines.
func diffable(expected, got string) bool {
	return strings.Contains(strings.TrimSpace(expected), "\n") && strings.Contains(strings.TrimSpace(got), "\n")
}

// diff returns a unified diff from the expected to the received text, limited to excerptLines
// lines.
func diff(expected, got string) []string { return diffOf(expected, got, excerptLines) }

func diffOf(expected, got string, limit int) []string {
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
