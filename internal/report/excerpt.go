package report

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/plumb-eval/plumb"
)

// The bounds of one excerpt.
const (
	excerptText     = 4 << 10 // bytes kept of an expected or a given text
	excerptLines    = 24      // lines shown of one comparison
	excerptVerdicts = 3       // checks shown of one session
)

// excerpt is what is worth showing of a session that did not pass. It is bounded, and holds no part of larger strings.
type excerpt struct {
	message, hint string
	// at is where a suite in code threw it, stack the whole way there, log the file to read first.
	at, stack, log string
	// asks says that checks left questions for the agent, and explain is the command that asks them.
	asks    bool
	explain string
	// counts says how many repetitions and sessions there were.
	counts []string
	checks []failedCheck
	more   int
}

// failedCheck is a verdict that did not hold or could not be made.
type failedCheck struct{ name, reason, expected, got, at string }

// excerptOf returns what to show of a judged session.
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
		if len(e.checks) == excerptVerdicts {
			e.more++
			continue
		}
		c := failedCheck{keep(v.Name), keep(v.Reason), keep(v.Expected), keep(v.Got), keep(place(v.Source))}
		if v.Error != nil {
			c = failedCheck{name: keep(v.Name), reason: keep(v.Error.Message), at: keep(cmp.Or(place(v.Source), place(v.Error.Source)))}
			if e.hint == "" {
				e.hint = keep(v.Error.Hint)
			}
		}
		e.checks = append(e.checks, c)
	}
	return e
}

// excerptOfFailure returns what to show of a session that broke.
func excerptOfFailure(f *plumb.Failure) excerpt {
	e := excerpt{message: keep(f.Message), hint: keep(f.Hint), at: keep(place(f.Source)), stack: keep(f.Stack)}
	if f.Origin != plumb.OriginAssertion {
		e.log = keep(f.LogPath)
	}
	return e
}

// whyOf returns what to show of the session that decided an execution, or of the execution where there is none.
func whyOf(e *plumb.Execution, s *session) excerpt {
	switch {
	case s != nil && s.judgement != nil:
		return excerptOf(s.judgement)
	case s != nil && s.failure != nil:
		return excerptOfFailure(s.failure)
	default:
		return excerpt{message: keep(e.Reason)}
	}
}

// place renders where something is written, or "" when nobody knows.
func place(p *plumb.Position) string {
	if p == nil {
		return ""
	}
	at := *p
	at.File = plainPath(at.File)
	return oneLine(at.String())
}

// plainPath makes a path of the URL that engines have for a module: nothing but they can open one.
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

// keep cleans a text and cuts it to what an excerpt holds. The result shares no memory with s, which may be part of a
// whole session.
func keep(s string) string {
	short, missing := shorten(s, excerptText)
	short = clean(short)
	if missing > 0 {
		return fmt.Sprintf("%s\n(%s more bytes)", short, count(missing))
	}
	return strings.Clone(short)
}

// classLabel names a failure class for people.
func classLabel(c *plumb.FailureClass, origin plumb.Origin) string {
	switch {
	case c != nil && c.Label != "":
		return oneLine(c.Label)
	case c != nil:
		return oneLine(c.ID)
	case origin != "":
		return origin.Class().Label
	}
	return ""
}

// lines renders an excerpt below its heading. Each line starts with a gutter, so that text of a model can neither be
// taken for the tool's own nor start a line of its own, where CI systems look for commands.
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
	block := func(text string, limit int, style func(string) string) {
		all := strings.Split(strings.TrimRight(text, "\n"), "\n")
		for i, l := range all {
			if i == limit && len(all) > limit+1 {
				add(1, fmt.Sprintf("(%s more)", plural(len(all)-limit, "line")), t.dim)
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
	if len(e.checks) == 0 && e.message != "" {
		block(e.message, excerptLines, plain)
		where(e.at)
	}
	placed := false
	for _, c := range e.checks {
		line := c.name
		if c.reason != "" {
			line = strings.TrimPrefix(c.name+": ", ": ") + c.reason
		}
		block(line, excerptLines, plain)
		switch {
		case c.expected == "" && c.got == "":
		case diffable(c.expected, c.got):
			for _, l := range diff(c.expected, c.got) {
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
			if c.expected != "" {
				block("expected  "+indent(c.expected), excerptLines, plain)
			}
			block("got       "+indent(shown(c.got)), excerptLines/2, plain)
		}
		where(c.at)
		placed = placed || c.at != ""
	}
	if len(e.checks) > 0 && !placed {
		where(e.at)
	}
	if e.more > 0 {
		add(1, fmt.Sprintf("(%s more did not hold)", plural(e.more, "check")), t.dim)
	}
	if e.log != "" {
		add(2, "Log: "+e.log, plain)
	}
	if len(e.counts) > 0 {
		add(1, strings.Join(e.counts, ", "), t.dim)
	}
	if e.hint != "" {
		block("hint: "+e.hint, 4, t.cyan)
	}
	if e.explain != "" {
		add(3, "ask the agent why: "+e.explain, t.cyan)
	}
	return out
}

// shown makes an empty answer visible.
func shown(s string) string {
	if strings.TrimSpace(s) == "" {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n          ") }

// diffable reports whether two texts are worth a diff: whether both have lines. Against a single term, or an empty
// answer, a diff says nothing.
func diffable(expected, got string) bool {
	return strings.Contains(strings.TrimSpace(expected), "\n") && strings.Contains(strings.TrimSpace(got), "\n")
}

// diff returns the lines of a unified diff that turns the expected text into the one that came, bounded.
func diff(expected, got string) []string { return diffOf(expected, got, excerptLines) }

func diffOf(expected, got string, limit int) []string {
	end := func(s string) string { return strings.TrimRight(s, "\n") + "\n" }
	lines := []string{"--- expected", "+++ got"}
	if end(expected) == end(got) {
		return append(lines, "(the texts differ at most in line ends)")
	}
	unified := udiff.Unified("expected", "got", end(expected), end(got))
	all := strings.Split(strings.TrimSuffix(unified, "\n"), "\n")
	all = all[min(2, len(all)):] // the labels
	if len(all) > limit {
		return append(append(lines, all[:limit-1]...), fmt.Sprintf("(%s more)", plural(len(all)-limit+1, "line")))
	}
	return append(lines, all...)
}
