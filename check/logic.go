package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
)

// logicMatcher is all_of and any_of, in three-valued logic: what could not be measured may hold or not.
type logicMatcher struct {
	any     bool
	members []*Check
}

// AllOf holds when all checks hold. One that fails decides it, even if another could not be measured. Models are asked
// only where the checks that ask none have not decided.
func AllOf(checks ...*Check) *Check {
	return &Check{matcher: &logicMatcher{false, slices.Clone(checks)}}
}

// AnyOf holds when at least one of the checks holds. One that holds decides it, even if another could not be measured.
// Models are asked only where the checks that ask none have not decided.
func AnyOf(checks ...*Check) *Check {
	return &Check{matcher: &logicMatcher{true, slices.Clone(checks)}}
}

func (l *logicMatcher) Type() string {
	if l.any {
		return typeAnyOf
	}
	return typeAllOf
}

func (l *logicMatcher) Needs() (judge, embedder bool) {
	for _, c := range l.members {
		j, e := c.Needs()
		judge, embedder = judge || j, embedder || e
	}
	return judge, embedder
}

func (l *logicMatcher) describe(o *object) {
	o.put("assertions", func(b []byte) []byte {
		b = append(b, '[')
		for i, c := range l.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, c.Canonical()...)
		}
		return append(b, ']')
	})
}

func (l *logicMatcher) match(ctx context.Context, ev *plumb.Evidence) (plumb.Verdict, error) {
	if len(l.members) == 0 {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "%s has no checks", l.Type())), nil
	}
	verdicts := make([]*plumb.Verdict, len(l.members))
	settled := false
	for _, asks := range []bool{false, true} {
		for i, c := range l.members {
			if settled || asksModel(c) != asks {
				continue
			}
			v, err := c.verdict(ctx, ev)
			if err != nil {
				return v, err
			}
			verdicts[i] = &v
			// Checks that ask no model are all made: they cost nothing, and a reader wants to know.
			settled = asks && l.decides(&v)
		}
		settled = slices.ContainsFunc(verdicts, l.decides)
	}
	return l.combine(ev, verdicts), nil
}

func asksModel(c *Check) bool {
	judge, embedder := c.Needs()
	return judge || embedder
}

// decides reports whether v settles the matter whatever the others say.
func (l *logicMatcher) decides(v *plumb.Verdict) bool {
	return v != nil && v.Error == nil && v.Pass == l.any
}

// combine sums up the verdicts; one is nil where nobody had to ask.
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
	case l.any && len(passed) > 0:
		out.Pass, out.Reason = true, strings.Join(passed, ", ")+" of "+l.count()+" holds"
	case !l.any && len(failed) > 0:
		out.Reason = strings.Join(failed, "; ")
	case len(broken) > 0:
		out.Error = failure
	case l.any:
		out.Reason = "none of " + l.count() + " holds: " + strings.Join(failed, "; ")
	default:
		out.Pass, out.Reason = true, "all of "+l.count()+" hold"
	}
	out.Reason = short(shown(ev, out.Reason), 500)
	out.Details = l.details(verdicts)
	return out
}

func (l *logicMatcher) count() string {
	if len(l.members) == 1 {
		return "1 check"
	}
	return fmt.Sprintf("%d checks", len(l.members))
}

func (l *logicMatcher) details(verdicts []*plumb.Verdict) []byte {
	var details object
	details.put("assertions", func(b []byte) []byte {
		b = append(b, '[')
		for i, v := range verdicts {
			if i > 0 {
				b = append(b, ',')
			}
			var o object
			o.str("name", l.members[i].Name())
			o.str("type", l.members[i].Type())
			switch {
			case v == nil:
				o.boolean("skipped", true)
			case v.Error != nil:
				o.str("error", v.Error.Message)
			default:
				o.boolean("passed", v.Pass)
				o.num("score", v.Score)
				o.str("reason", v.Reason)
			}
			if v != nil && len(v.Details) > 0 && len(v.Details) < shownLimit {
				o.raw("details", v.Details)
			}
			b = append(b, o.json()...)
		}
		return append(b, ']')
	})
	return details.json()
}

// join adds up what two checks asked; either may be nil.
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
	sum.Yes, sum.No = a.Yes+b.Yes, a.No+b.No
	sum.Requests += b.Requests
	sum.Usage.Add(b.Usage)
	sum.CostUSD = nil
	if a.CostUSD != nil && b.CostUSD != nil {
		cost := *a.CostUSD + *b.CostUSD
		sum.CostUSD = &cost
	}
	return &sum
}
