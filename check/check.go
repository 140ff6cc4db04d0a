// Package check has the assertions that Plumb ships: Go constructors, and [Parse], which reads the
// declarative specs of suite files. Both make a [*Check], an immutable value that judges any number
// of sessions, also concurrently.
//
// A check looks at a finished session and returns one [plumb.Verdict], whose Details have the
// documented keys of its type. [Kinds] describes all types, and docs/assertions.md is the manual.
//
// A check that cannot be made neither passes nor fails: its verdict has an Error, which [Check.Not]
// keeps.
package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/plumb-eval/plumb"
)

// Check is one assertion. It is immutable and safe for concurrent use. The zero value is not
// usable; make one with a constructor or with [Parse].
type Check struct {
	matcher
	kind   *Kind
	name   string
	weight float64 // 0 counts as 1
	not    bool
}

var _ plumb.Assertion = (*Check)(nil)

// A matcher is the part of a check that differs between the kinds.
type matcher interface {
	// match judges a session whose report is set. It ignores name, weight and negation. If the
	// check cannot be made, also because ctx ended, the verdict has an Error.
	match(ctx context.Context, ev *plumb.Evidence) plumb.Verdict
	// describe writes the options that decide, defaults included.
	describe(o options)
	// asks returns the most that match asks of models; see [Check.Asks].
	asks(votes int) Asks
}

// Type returns the name of the check's kind.
func (c *Check) Type() string { return c.kind.Name }

// Name returns the name that the author gave the check, or else its type.
func (c *Check) Name() string {
	if c.name != "" {
		return c.name
	}
	return c.Type()
}

// Needs reports whether the check asks a judge model or an embedder.
func (c *Check) Needs() (judge, embedder bool) {
	a := c.asks(1)
	return a.Judge > 0, a.Embedder > 0
}

// ReadsOutput reports whether the check looks only at the output of a session and asks no model, so
// that whoever has the output can make it again.
func (c *Check) ReadsOutput() bool {
	if l, ok := c.matcher.(*logicMatcher); ok {
		return !slices.ContainsFunc(l.members, func(m *Check) bool { return !m.ReadsOutput() })
	}
	return c.kind.readsOutput() && c.asks(1) == Asks{}
}

// Assert judges the session and returns exactly one verdict. The error is not nil only when ctx
// ended before the judge or the embedder had answered.
func (c *Check) Assert(ctx context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	v := c.verdict(ctx, &ev)
	if v.Error != nil && c.asks(1) != (Asks{}) && ctx.Err() != nil {
		return nil, v.Error
	}
	return []plumb.Verdict{v}, nil
}

func (c *Check) verdict(ctx context.Context, ev *plumb.Evidence) (v plumb.Verdict) {
	switch {
	case ev.Report == nil:
		v.Error = plumb.Failuref(plumb.OriginAssertHook, "the session has no report")
	case c.kind.readsOutput() && outputRedacted(ev.Report):
		v = judgeRedacted(ctx, c.matcher, ev)
	default:
		v = c.match(ctx, ev)
	}
	if v.Error == nil && !v.Pass && c.kind.readsOutput() && slices.Contains(ev.Report.Incomplete, "finalOutput") {
		v = unmeasured(incomplete(errors.New("the final output is cut off, and the missing part might have passed")))
	}
	v.Name, v.Weight = c.Name(), c.weight
	switch {
	case v.Error != nil:
		v.Pass, v.Score, v.Reason = false, 0, "could not be checked: "+v.Error.Message
	case c.not:
		v.Pass, v.Score, v.Expected = !v.Pass, 1-v.Score, ""
		if !v.Pass {
			v.Reason = "want the opposite: " + v.Reason
		}
	}
	return v
}

// Canonical returns everything that decides the check as one JSON text: keys sorted, defaults
// explicit, with the ideal where the type uses it, with the weight and without the name. Checks
// that decide alike have equal texts, however they were written.
func (c *Check) Canonical() json.RawMessage {
	o := options{"not": c.not, "type": c.Type(), "weight": cmp.Or(c.weight, 1)}
	c.describe(o)
	return o.text()
}

// Not returns a check that passes where c fails, and fails where c passes. A check that cannot be
// made stays an error.
func (c *Check) Not() *Check {
	n := *c
	n.not = !c.not
	return &n
}

// Named returns c with another name, which distinguishes it from other checks of its case.
func (c *Check) Named(name string) *Check {
	n := *c
	n.name = name
	return &n
}

// Weighted returns c with another weight of its score within the case; 0 counts as 1.
func (c *Check) Weighted(weight float64) *Check {
	n := *c
	n.weight = weight
	return &n
}

// offline is embedded by the matchers that ask no model.
type offline struct{}

func (offline) asks(int) Asks { return Asks{} }

// decided starts a verdict with the score 0 or 1.
func decided(pass bool, reason string) plumb.Verdict {
	v := plumb.Verdict{Pass: pass, Reason: reason}
	if pass {
		v.Score = 1
	}
	return v
}

// unmeasured is the verdict of a check that could not be made.
func unmeasured(f *plumb.Failure) plumb.Verdict { return plumb.Verdict{Error: f} }

// incomplete returns the failure of a check that lacks a part of the session.
func incomplete(err error) *plumb.Failure {
	f := plumb.Failed(plumb.OriginAssertHook, err)
	f.Class = plumb.ClassIncomplete()
	return f
}
