// Package plumbtest helps to test Go code that uses Plumb. It has contract tests for runners,
// assertions and reporters, a synthetic run as their input, and a way to run a suite inside go
// test.
//
// A contract test checks the promises in the comment of the interface, and reports the broken ones:
//
//	func TestRunner(t *testing.T) {
//		plumbtest.TestRunner(t, mine.New(), plumbtest.RunnerOptions{})
//	}
//
// The contract tests take a [testing.TB], so that benchmarks and tests of tests can use them.
package plumbtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
)

// defaultStop is the time that work may continue after its context has ended.
const defaultStop = 5 * time.Second

// RunnerOptions adapt [TestRunner] to a runner. The zero value works for any runner that can answer
// "Say hello.".
type RunnerOptions struct {
	// Request is the request to the runner; the zero value asks it to say hello.
	Request plumb.Request
	// Slow is a request whose answer takes longer than CancelAfter. The zero value is Request; the
	// session may then end before it is cancelled.
	Slow plumb.Request
	// CancelAfter is the time after which a session is cancelled; 0 means 50 ms.
	CancelAfter time.Duration
	// Stop is the time in which Run must return after its context has ended; 0 means 5 s.
	Stop time.Duration
	// Timeout is the time limit of an answer; 0 means 1 min.
	Timeout time.Duration
	// Parallel is the number of concurrent sessions; 0 means 8.
	Parallel int
}

// TestRunner checks that r fulfills the contract of [plumb.Runner]: its Info is stable and
// complete; it answers, and the report names the runner and has plausible times; it returns a
// report, an error, or both; it does not change the request; it can be called from many goroutines
// at once; and it returns soon after its context has ended, and still works afterwards.
func TestRunner(tb testing.TB, r plumb.Runner, o RunnerOptions) {
	tb.Helper()
	if len(o.Request.Messages) == 0 {
		o.Request.Messages = []plumb.Message{{Role: plumb.RoleUser, Content: "Say hello."}}
	}
	o.Request.CaseID = cmp.Or(o.Request.CaseID, "plumbtest")
	o.Request.Repetition, o.Request.Session = max(o.Request.Repetition, 1), max(o.Request.Session, 1)
	if len(o.Slow.Messages) == 0 {
		o.Slow = o.Request
	}
	c := &runnerTest{
		TB: tb, runner: r, info: r.Info(),
		stop: cmp.Or(o.Stop, defaultStop), timeout: cmp.Or(o.Timeout, time.Minute),
	}
	c.checkInfo()
	c.answer("a session", o.Request)
	c.concurrent(o.Request, cmp.Or(o.Parallel, 8))
	c.cancelled(o.Slow, 0)
	c.cancelled(o.Slow, cmp.Or(o.CancelAfter, 50*time.Millisecond))
	c.answer("a session after others were cancelled", o.Request)
	if again := r.Info(); !reflect.DeepEqual(c.info, again) {
		tb.Errorf("Info changed: it was %+v and is %+v", c.info, again)
	}
}

type runnerTest struct {
	testing.TB
	runner        plumb.Runner
	info          plumb.RunnerInfo
	stop, timeout time.Duration
}

func (c *runnerTest) checkInfo() {
	c.Helper()
	if c.info.ID == "" {
		c.Errorf("Info has no ID")
	}
	if want := plumb.PathKey(c.info.ID); c.info.PathKey != want {
		c.Errorf("Info has PathKey %q, want plumb.PathKey of the ID, %q", c.info.PathKey, want)
	}
	kinds := []plumb.RunnerKind{plumb.RunnerModel, plumb.RunnerAgent, plumb.RunnerCommand, plumb.RunnerReplay}
	if !slices.Contains(kinds, c.info.Kind) {
		c.Errorf("Info has Kind %q, want one of %q", c.info.Kind, kinds)
	}
}

// answer is the result of one call of Run.
type answer struct {
	report        *plumb.SessionReport
	err           error
	before, after time.Time
}

// call calls Run, and reports a failure if it does not return within the given time after ctx
// ended.
func (c *runnerTest) call(ctx context.Context, what string, req plumb.Request) (s answer, ok bool) {
	c.Helper()
	req.Messages = slices.Clone(req.Messages)
	given := slices.Clone(req.Messages)
	done := make(chan answer, 1)
	go func() {
		s := answer{before: time.Now()}
		s.report, s.err = c.runner.Run(ctx, req)
		s.after = time.Now()
		done <- s
	}()
	select {
	case s = <-done:
	case <-ctx.Done():
		select {
		case s = <-done:
		case <-time.After(c.stop):
			c.Errorf("%s: Run has not returned %s after its context ended", what, c.stop)
			return s, false
		}
	}
	if !slices.Equal(given, req.Messages) {
		c.Errorf("%s: Run changed the messages of the request", what)
	}
	if s.report == nil && s.err == nil {
		c.Errorf("%s: Run returned neither a report nor an error", what)
		return s, false
	}
	if f := (*plumb.Failure)(nil); errors.As(s.err, &f) {
		if f == nil {
			c.Errorf("%s: Run returned an error that is a nil *plumb.Failure; return nil, or a failure", what)
			return s, false
		}
		if f.Origin == "" || f.Class.ID == "" || f.Message == "" {
			c.Errorf("%s: the failure has no origin, class or message: %+v", what, *f)
		}
	}
	if s.report != nil {
		c.checkReport(what, s)
	}
	return s, true
}

// answer makes a session, which must succeed.
func (c *runnerTest) answer(what string, req plumb.Request) *plumb.SessionReport {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), c.timeout)
	defer cancel()
	s, ok := c.call(ctx, what, req)
	if !ok {
		return nil
	}
	if s.err != nil {
		c.Errorf("%s: Run returned no answer: %v", what, s.err)
	}
	return s.report
}

// concurrent makes many sessions at once. Reports belong to the caller, so no two may be the same.
func (c *runnerTest) concurrent(req plumb.Request, parallel int) {
	c.Helper()
	reports := make([]*plumb.SessionReport, parallel)
	var wg sync.WaitGroup
	for i := range reports {
		wg.Go(func() {
			req := req
			req.Repetition = i + 1
			reports[i] = c.answer("one of many sessions at once", req)
		})
	}
	wg.Wait()
	seen := map[*plumb.SessionReport]bool{}
	for _, report := range reports {
		if report != nil && seen[report] {
			c.Errorf("two sessions share one report; callers change it")
			return
		}
		seen[report] = true
	}
}

// cancelled starts a session and cancels it after a while. The session may end before that.
func (c *runnerTest) cancelled(req plumb.Request, after time.Duration) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	what := "a session that is cancelled in the middle"
	if after == 0 {
		what = "a session that is cancelled before it begins"
		cancel()
	} else {
		timer := time.AfterFunc(after, cancel)
		defer timer.Stop()
	}
	c.call(ctx, what, req)
}

func (c *runnerTest) checkReport(what string, s answer) {
	c.Helper()
	r := s.report
	if !reflect.DeepEqual(r.Runner, c.info) {
		c.Errorf("%s: the report names the runner %+v, want its Info, %+v", what, r.Runner, c.info)
	}
	if r.Prompt == "" {
		c.Errorf("%s: the report has no prompt", what)
	}
	if !utf8.ValidString(r.FinalOutput) {
		c.Errorf("%s: the final output is not valid UTF-8", what)
	}
	switch {
	case r.StartedAt == nil || r.EndedAt == nil:
		c.Errorf("%s: the report has no StartedAt or EndedAt", what)
	case r.EndedAt.Before(*r.StartedAt):
		c.Errorf("%s: the session ended at %s, before it started at %s", what, r.EndedAt, r.StartedAt)
	case !r.Recorded && !r.Cached &&
		(r.StartedAt.Before(s.before.Add(-time.Second)) || r.EndedAt.After(s.after.Add(time.Second))):
		c.Errorf("%s: the session went from %s to %s, but Run from %s to %s",
			what, r.StartedAt, r.EndedAt, s.before, s.after)
	}
	if r.DurationMs < 0 || r.LatencyMs < 0 {
		c.Errorf("%s: negative duration (%d ms) or latency (%d ms)", what, r.DurationMs, r.LatencyMs)
	}
	if r.CostUSD != nil && (*r.CostUSD < 0 || math.IsNaN(*r.CostUSD)) {
		c.Errorf("%s: the session cost %v USD", what, *r.CostUSD)
	}
	c.checkUsage(what, r.Usage)
	reasons := []plumb.FinishReason{
		"", plumb.FinishStop, plumb.FinishTruncated, plumb.FinishRefused, plumb.FinishToolCalls, plumb.FinishTimeout,
		plumb.FinishOther,
	}
	if !slices.Contains(reasons, r.FinishReason) {
		c.Errorf("%s: unknown finish reason %q; the provider's own word belongs in ProviderFinishReason",
			what, r.FinishReason)
	}
	if _, err := json.Marshal(r); err != nil {
		c.Errorf("%s: the report cannot be recorded: %v", what, err)
	}
}

func (c *runnerTest) checkUsage(what string, u plumb.Usage) {
	c.Helper()
	var names []string
	count := func(name string, n *int64) int64 {
		if n == nil {
			return 0
		}
		if *n < 0 {
			names = append(names, name)
		}
		return *n
	}
	input, output := count("input", u.InputTokens), count("output", u.OutputTokens)
	cached := count("cache", u.CacheTokens) + count("cache-write", u.CacheWriteTokens)
	reasoning := count("reasoning", u.ReasoningTokens)
	count("total", u.TotalTokens)
	if names != nil {
		c.Errorf("%s: negative counts of tokens: %s", what, strings.Join(names, ", "))
	}
	if u.InputTokens != nil && cached > input {
		c.Errorf("%s: %d input tokens include %d read from and written to a cache; input is gross", what, input, cached)
	}
	if u.OutputTokens != nil && reasoning > output {
		c.Errorf("%s: %d output tokens include %d of reasoning; output is gross", what, output, reasoning)
	}
}
