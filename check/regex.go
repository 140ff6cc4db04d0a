package check

import (
	"context"
	"fmt"
	"regexp/syntax"
	"strings"
	"sync"
	"weak"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

func regexKind() Kind {
	return Kind{
		Name: "regex", Doc: "the pattern matches somewhere in the output", Reads: "output",
		Keys: append(TextKeys(), Key{
			Name: "pattern", Type: "string", Required: true, Doc: "a regular expression in RE2 syntax, not anchored",
		}),
		Details: "`pattern`, `match`", FailDetails: "`pattern`",
		parse: func(s *spec) matcher {
			m, err := newRegex(s.textOr("pattern"), s.compare())
			s.invalid("pattern", err)
			return m
		},
	}
}

// lazy keeps a compiled form until the garbage collector needs its memory, and compiles it again
// when it is used after that. Compiled patterns and schemas take kilobytes, and a suite of 100,000
// cases must fit into memory.
type lazy[T any] struct {
	mu   sync.Mutex
	held weak.Pointer[T]
}

func (l *lazy[T]) get(compile func() (*T, error)) (*T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.held.Value(); v != nil {
		return v, nil
	}
	v, err := compile()
	if err == nil {
		l.held = weak.Make(v)
	}
	return v, err
}

type regexMatcher struct {
	offline
	pattern  string
	how      Text
	compiled lazy[pattern]
}

// Regex passes if the pattern, in the syntax of package regexp, matches somewhere in the output.
func Regex(pattern string, how *Text) (*Check, error) {
	m, err := newRegex(pattern, how.value())
	return tryCheck("regex", m, err)
}

func newRegex(pattern string, how Text) (*regexMatcher, error) {
	r := &regexMatcher{pattern: pattern, how: how}
	if _, err := syntax.Parse(r.expression(), syntax.Perl); err != nil {
		return nil, fmt.Errorf("pattern %s: %w", quote(pattern), err)
	}
	return r, nil
}

func (r *regexMatcher) expression() string {
	if r.how.IgnoreCase {
		return "(?i)" + r.pattern
	}
	return r.pattern
}

func (r *regexMatcher) describe(o options) {
	r.how.describe(o)
	o["pattern"] = r.pattern
}

func (r *regexMatcher) match(_ context.Context, ev *plumb.Evidence) plumb.Verdict {
	re, err := r.compiled.get(func() (*pattern, error) { return compilePattern(r.expression()) })
	if err != nil {
		return unmeasured(plumb.Failed(plumb.OriginAssertHook, err))
	}
	output := r.how.normalize(ev.Report.FinalOutput)
	if f := re.tooLarge(len(output)); f != nil {
		return unmeasured(f)
	}
	seen := r.how.normalize(withoutSecrets(ev, ev.Report.FinalOutput))
	var v plumb.Verdict
	if at := re.FindStringIndex(output); at != nil {
		found := output[at[0]:at[1]]
		if !strings.Contains(seen, found) {
			found = partOfSecret
		}
		v = decided(true, "the pattern matches "+quote(found))
		v.Details = details("pattern", r.pattern, "match", text.Shorten(found, shownLimit))
	} else {
		v = decided(false, "the pattern "+quote(r.pattern)+" does not match: "+quote(seen))
		v.Details = details("pattern", r.pattern)
	}
	v.Expected, v.Got = text.Shorten("/"+r.pattern+"/", shownLimit), text.Shorten(seen, shownLimit)
	return v
}
