package plumbtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
)

// TestAssertion checks that a fulfills the contract of [plumb.Assertion]: it passes for passing
// evidence and fails for failing evidence; each verdict has a name, a score from 0 to 1 and a
// reason; it returns the same verdicts each time, also from many goroutines at once; it does not
// change the evidence; and it returns soon after its context has ended. An assertion with a judge
// or an embedder needs evidence whose judge and embedder return the same answer each time.
func TestAssertion(tb testing.TB, a plumb.Assertion, passing, failing plumb.Evidence) {
	tb.Helper()
	c := &assertionTest{TB: tb, assertion: a}
	pass, passOK := c.judge(tb.Context(), "the passing evidence", passing)
	fail, failOK := c.judge(tb.Context(), "the failing evidence", failing)
	if passOK && !holds(pass) {
		tb.Errorf("the assertion fails for the passing evidence: %s", show(pass))
	}
	if failOK && holds(fail) {
		tb.Errorf("the assertion passes for the failing evidence: %s", show(fail))
	}
	if !passOK || !failOK {
		return
	}
	var wg sync.WaitGroup
	for range 4 {
		for _, again := range []struct {
			what string
			ev   plumb.Evidence
			want []plumb.Verdict
		}{{"the passing evidence", passing, pass}, {"the failing evidence", failing, fail}} {
			wg.Go(func() {
				if got, ok := c.judge(tb.Context(), again.what, again.ev); ok && show(got) != show(again.want) {
					tb.Errorf("%s gets different verdicts another time:\n%s\n%s",
						again.what, show(again.want), show(got))
				}
			})
		}
	}
	wg.Wait()
	c.cancelled(passing)
	c.cancelled(failing)
}

type assertionTest struct {
	testing.TB
	assertion plumb.Assertion
}

// judge calls the assertion, which must return verdicts.
func (c *assertionTest) judge(ctx context.Context, what string, ev plumb.Evidence) ([]plumb.Verdict, bool) {
	c.Helper()
	before := evidence(ev)
	verdicts, err := c.assertion.Assert(ctx, ev)
	if err != nil {
		c.Errorf("%s cannot be judged: %v", what, err)
		return nil, false
	}
	if !bytes.Equal(before, evidence(ev)) {
		c.Errorf("Assert changed the evidence")
	}
	if len(verdicts) == 0 {
		c.Errorf("%s: Assert returned no verdict", what)
		return nil, false
	}
	for i := range verdicts {
		if v := &verdicts[i]; v.Error != nil {
			c.Errorf("%s: verdict %q could not be made: %v", what, v.Name, v.Error)
		} else if err := checkVerdict(v); err != nil {
			c.Errorf("%s: verdict %d, %q: %v", what, i+1, v.Name, err)
		}
	}
	return verdicts, true
}

func checkVerdict(v *plumb.Verdict) error {
	var details map[string]json.RawMessage
	switch {
	case v.Name == "":
		return errors.New("the name is missing")
	case v.Reason == "":
		return errors.New("the reason is missing")
	case !(v.Score >= 0 && v.Score <= 1): // also if it is NaN
		return fmt.Errorf("the score %v is not between 0 and 1", v.Score)
	case !(v.Weight >= 0):
		return fmt.Errorf("the weight %v is invalid", v.Weight)
	case v.Details != nil && (json.Unmarshal(v.Details, &details) != nil || details == nil):
		return fmt.Errorf("the details are not a JSON object: %s", v.Details)
	}
	return nil
}

// cancelled calls the assertion with an ended context. It may return anything, but it must return.
func (c *assertionTest) cancelled(ev plumb.Evidence) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	done := make(chan bool, 1)
	go func() {
		verdicts, err := c.assertion.Assert(ctx, ev)
		done <- len(verdicts) > 0 || err != nil
	}()
	select {
	case ok := <-done:
		if !ok {
			c.Errorf("with a context that has ended, Assert returned neither verdicts nor an error")
		}
	case <-time.After(defaultStop):
		c.Errorf("Assert has not returned %s after its context ended", defaultStop)
	}
}

// evidence returns the parts of the evidence that an assertion must not change, in a comparable
// form.
func evidence(ev plumb.Evidence) []byte {
	var messages []plumb.Message
	if ev.Case != nil {
		messages = ev.Case.Messages
	}
	return state([]any{messages, ev.Report})
}

func holds(verdicts []plumb.Verdict) bool {
	return !slices.ContainsFunc(verdicts, func(v plumb.Verdict) bool { return !v.Pass })
}

// show formats the parts of verdicts that must be the same each time.
func show(verdicts []plumb.Verdict) string {
	var b bytes.Buffer
	for _, v := range verdicts {
		fmt.Fprintf(&b, "[%s: pass %t, score %v: %s]", v.Name, v.Pass, v.Score, v.Reason)
	}
	return b.String()
}
