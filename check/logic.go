package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/text"
)

// logicMatcher is all_of and any_of, in three-valued logic: a check that could not be made might
// pass or fail.
type logicMatcher struct {
	any     bool
	members []*Check
	// least replaces "all checks pass" of all_of by a least score; nil if not set.
	least *float64
}

// AllOf passes if all checks pass. It fails if one fails, even if another could not be made. It
// asks models only if the checks that ask none have not decided.
func AllOf(checks ...*Check) *Check {
	return newCheck("all_of", &logicMatcher{members: slices.Clone(checks)})
}

// AllOfScore passes if the weighted mean of the scores of the checks is at least minScore, which is
// from 0 to 1. If a check could not be made, it is an error.
func AllOfScore(minScore float64, checks ...*Check) *Check {
	return newCheck("all_of", &logicMatcher{members: slices.Clone(checks), least: &minScore})
}

// AnyOf passes if at least one of the checks passes, even if another could not be made. It asks
// models only if the checks that ask none have not decided.
func AnyOf(checks ...*Check) *Check {
	return newCheck("any_of", &logicMatcher{any: true, members: slices.Clone(checks)})
}

func logicKind(name, doc string) Kind {
	return Kind{
		Name: name, Doc: doc, Reads: "members",
		Keys: []Key{
			{Name: "assertions", Type: "assertions", Required: true, NotEmpty: true, Doc: "the checks to combine"},
		},
		Details: "`assertions`: of each `name`, `type`, and `passed`, `score`, `reason`, `details`, or `error`, " +
			"or `skipped`",
		parse: (*spec).logicMatcher,
	}
}

func allOfKind() Kind {
	k := logicKind("all_of", "all of the checks pass")
	k.Keys = append(k.Keys, Key{
		Name: "min_score", Type: "number", Min: new(0.0), Max: new(1.0),
		Doc: "instead of all passing: the least weighted mean of their scores",
	})
	return k
}

func anyOfKind() Kind { return logicKind("any_of", "at least one of the checks passes") }

func (s *spec) logicMatcher() matcher {
	if s.depth >= maxNesting {
		s.bad("assertions", "assertions are nested more than %d levels deep", maxNesting)
		return nil
	}
	l := &logicMatcher{any: s.kind.Name == "any_of"}
	if s.Get("min_score") != nil {
		l.least = new(s.number("min_score"))
	}
	list := s.Get("assertions").List
	for i := range list {
		c := s.check(&list[i], s.pointer("assertions")+"/"+strconv.Itoa(i), s.depth+1)
		l.members = append(l.members, c)
	}
	return l
}

func (l *logicMatcher) asks(votes int) (a Asks) {
	for _, c := range l.members {
		a.Add(c.asks(votes))
	}
	return a
}

func (l *logicMatcher) describe(o options) {
	members := make([]json.RawMessage, len(l.members))
	for i, c := range l.members {
		members[i] = c.Canonical()
	}
	o["assertions"] = members
	if l.least != nil {
		o["min_score"] = *l.least
	}
}

func (l *logicMatcher) match(ctx context.Context, ev *plumb.Evidence) plumb.Verdict {
	if len(l.members) == 0 {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "it has no checks"))
	}
	verdicts := make([]*plumb.Verdict, len(l.members))
	settled := false
	for _, asks := range []bool{false, true} {
		for i, c := range l.members {
			if settled || (c.asks(1) != Asks{}) != asks {
				continue
			}
			v := c.verdict(ctx, ev)
			verdicts[i] = &v
			// Checks that ask no model are all made: they cost nothing and help the reader.
			settled = asks && l.decides(&v)
		}
		settled = slices.ContainsFunc(verdicts, l.decides)
	}
	return l.combine(ev, verdicts)
}

// decides reports whether v decides the whole, whatever the other verdicts are.
func (l *logicMatcher) decides(v *plumb.Verdict) bool {
	return v != nil && v.Error == nil && v.Pass == l.any && l.least == nil
}

// combine makes one verdict of the verdicts. A verdict is nil if its check was not needed.
func (l *logicMatcher) combine(ev *plumb.Evidence, verdicts []*plumb.Verdict) plumb.Verdict {
	var out plumb.Verdict
	var failure *plumb.Failure
	var passed, failed, broken []string
	var sum, weights float64
	for i, v := range verdicts {
		if v == nil {
			continue
		}
		out.Asked = join(out.Asked, v.Asked)
		switch {
		case v.Error != nil:
			broken = append(broken, v.Name)
			if failure == nil {
				failure = v.Error
			}
			continue
		case v.Pass:
			passed = append(passed, v.Name)
		default:
			failed = append(failed, v.Name+": "+v.Reason)
		}
		weight := max(l.members[i].weight, 0)
		if weight == 0 {
			weight = 1
		}
		sum, weights = sum+weight*v.Score, weights+weight
		if l.any {
			out.Score = max(out.Score, v.Score)
		}
	}
	if !l.any && weights > 0 {
		out.Score = sum / weights
	}
	switch {
	case l.least != nil && len(broken) > 0:
		out.Error = failure
	case l.least != nil:
		const slack = 1e-9 // a mean of scores may be a little less than it should be
		word := "below"
		if out.Pass = out.Score+slack >= *l.least; out.Pass {
			word = "at least"
		}
		out.Reason = fmt.Sprintf("the score is %.3f, %s %g: %s", out.Score, word, *l.least, l.passed(len(passed)))
		if len(failed) > 0 {
			out.Reason += "; " + strings.Join(failed, "; ")
		}
	case l.any && len(passed) > 0:
		out.Pass, out.Reason = true, l.passed(len(passed))+": "+strings.Join(passed, ", ")
	case !l.any && len(failed) > 0:
		out.Reason = strings.Join(failed, "; ")
	case len(broken) > 0:
		out.Error = failure
	case l.any:
		out.Reason = l.passed(0) + ": " + strings.Join(failed, "; ")
	default:
		out.Pass, out.Reason = true, l.passed(len(passed))
	}
	out.Reason = text.Shorten(shown(ev, out.Reason), 500)
	out.Details = l.details(verdicts)
	return out
}

func (l *logicMatcher) passed(n int) string {
	return fmt.Sprintf("passed %d of %s", n, text.Plural(len(l.members), "check"))
}

func (l *logicMatcher) details(verdicts []*plumb.Verdict) json.RawMessage {
	list := make([]json.RawMessage, len(verdicts))
	for i, v := range verdicts {
		facts := []any{"name", l.members[i].Name(), "type", l.members[i].Type()}
		switch {
		case v == nil:
			facts = append(facts, "skipped", true)
		case v.Error != nil:
			facts = append(facts, "error", v.Error.Message)
		default:
			facts = append(facts, "passed", v.Pass, "score", v.Score, "reason", v.Reason)
		}
		if v != nil && len(v.Details) > 0 && len(v.Details) < shownLimit {
			facts = append(facts, "details", v.Details)
		}
		list[i] = details(facts...)
	}
	return details("assertions", list)
}

// join adds up what two checks asked of models; either may be nil.
func join(a, b *plumb.Asked) *plumb.Asked {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	sum := *a
	if !strings.Contains(sum.Model, b.Model) {
		sum.Model += ", " + b.Model
	}
	if b.PromptHash != "" && !strings.Contains(sum.PromptHash, b.PromptHash) {
		sum.PromptHash = strings.TrimPrefix(sum.PromptHash+", "+b.PromptHash, ", ")
	}
	sum.Self = a.Self || b.Self
	sum.Replies = slices.Concat(a.Replies, b.Replies)
	sum.Votes, sum.Yes, sum.No = a.Votes+b.Votes, a.Yes+b.Yes, a.No+b.No
	sum.Requests += b.Requests
	sum.Usage.Add(b.Usage)
	sum.CostUSD = nil
	if a.CostUSD != nil && b.CostUSD != nil {
		cost := *a.CostUSD + *b.CostUSD
		sum.CostUSD = &cost
	}
	return &sum
}
