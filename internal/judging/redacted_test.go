package judging_test

import (
	"context"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/judging"
)

type unaware func() ([]plumb.Verdict, error)

func (a unaware) Assert(context.Context, plumb.Evidence) ([]plumb.Verdict, error) { return a() }

// TestRedactedSessionsAreJudgedByThoseWhoKnow checks that an assertion that cannot judge redacted
// sessions is not called with one.
func TestRedactedSessionsAreJudgedByThoseWhoKnow(t *testing.T) {
	asked := false
	own := unaware(func() ([]plumb.Verdict, error) {
		asked = true
		return []plumb.Verdict{{Name: "own", Pass: true}}, nil
	})
	r := &plumb.SessionReport{FinalOutput: "the key is [redacted:A_KEY], all is well", Redacted: []string{"A_KEY"}}
	for _, test := range []struct {
		name string
		a    plumb.Assertion
		want plumb.Outcome
	}{
		{"own", own, plumb.OutcomeError},
		{"forbidden, and removed", check.Contains("sk-canary", nil).Not(), plumb.OutcomeError},
		{"there", check.Contains("well", nil), plumb.OutcomePass},
		{"forbidden, and there", check.Contains("well", nil).Not(), plumb.OutcomeFail},
	} {
		j := judging.Session(
			t.Context(), plumb.Evidence{Case: &plumb.Case{Assertions: []plumb.Assertion{test.a}}, Report: r}, nil,
		)
		if j.Outcome != test.want {
			t.Errorf("%s: %s, want %s: %+v", test.name, j.Outcome, test.want, j.Verdicts)
		}
		if j.Outcome == plumb.OutcomeError && (!strings.Contains(j.Failure.Message, "A_KEY") || j.Failure.Hint == "") {
			t.Errorf("%s: the failure does not say what was removed, or what to do: %+v", test.name, j.Failure)
		}
	}
	if asked {
		t.Error("an assertion that does not know of removed secrets was asked")
	}
}
