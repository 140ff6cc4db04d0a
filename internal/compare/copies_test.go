package compare

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
)

// F18: each line of a suite, and each of its results, is there several times. No interval gets
// narrower, no p smaller, and no conclusion firmer: nothing at all changes, but the warning.
func TestF18CopiesShowNoMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "cases")
		repeat := rapid.IntRange(1, 2).Draw(rt, "repetitions")
		results := rapid.SliceOfN(rapid.SampledFrom([]byte("pppffe")), 2*n*repeat, 2*n*repeat).Draw(rt, "results")
		side := func(id string, at, k int) *Side {
			x := newRecorded(id, "r")
			x.info.Repeat, x.cases = repeat, nil
			for copied := range k {
				for i := range n {
					x.cases = append(x.cases, plumb.CaseInfo{
						ID: fmt.Sprintf("c%02d-%d", i, copied), Hash: fmt.Sprintf("sha256:h%d", i), Repeat: repeat,
						Category: []string{"x", "y"}[i%2],
					})
				}
			}
			x.info.Cases, x.info.SuiteCases = len(x.cases), len(x.cases)
			x.outcome = func(c, _, rep int) byte { return results[(at*n+c%n)*repeat+(rep-1)%repeat] }
			return x.side(t)
		}
		figures := func(k int) string {
			m := match(t, side("a", 0, k), side("b", 1, k), MatchOptions{})
			o := DefaultChoices()
			for _, text := range []string{"pass_rate >= 50%", "pass_rate >= -2pp", "broken <= 0"} {
				g, err := ParseGate(text)
				if err != nil {
					rt.Fatal(err)
				}
				o.Gates = append(o.Gates, g)
			}
			c := Analyze(m, o)
			if (k > 1) != (len(m.Warnings) > 0) {
				rt.Fatalf("%d copies, warnings %q", k, m.Warnings)
			}
			c.Warnings, c.Baseline, c.Candidate = nil, Subject{}, Subject{}
			if s := c.Settle; s != nil {
				for _, p := range []*Plan{s.IfReal, s.IfNone, s.Confirm} {
					if p != nil { // more repetitions are made of copies, too
						p.Sessions, p.CostUSD, p.DurationMs = 0, 0, 0
					}
				}
			}
			text, err := json.MarshalIndent(c, "", " ")
			if err != nil {
				rt.Fatal(err)
			}
			return string(text)
		}
		k := rapid.IntRange(2, 4).Draw(rt, "copies")
		if diff := cmp.Diff(figures(1), figures(k)); diff != "" {
			rt.Fatalf("%d copies (-once +copies):\n%s", k, diff)
		}
	})
}
