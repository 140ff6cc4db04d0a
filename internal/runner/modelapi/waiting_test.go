package modelapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumb-eval/plumb"
)

// TestTimeLimitLeavesOutTheQueue holds a place for an hour: a case with a minute of its own must
// outlast that.
func TestTimeLimitLeavesOutTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1, 0)
		epoch, err := l.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Hour, func() { l.release(epoch, relaxed) })
		ctx, cancel := plumb.WithTimeLimit(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if _, err := l.acquire(ctx); err != nil || time.Since(start) != time.Hour {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		<-ctx.Done()
		if got := time.Since(start); got != time.Hour+time.Minute || !errors.Is(context.Cause(ctx), plumb.ErrTimeLimit) {
			t.Errorf("the limit ended after %v: %v", got, context.Cause(ctx))
		}
	})
}

// TestStoppingEndsWaits interrupts a run whose requests wait for a rate limit of an hour: one to be
// sent again, one for its turn. Both end at once, and neither is sent.
func TestStoppingEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := script(step(429, overloaded, "Retry-After", "300"))
		m := talker(t, base, TransportOptions{})
		stopping := make(chan struct{})
		ctx := plumb.WithStopping(t.Context(), stopping)
		ended := make(chan error, 2)
		ask := func() {
			_, err := m.Run(ctx, say("hi"))
			ended <- err
		}
		go ask()
		synctest.Wait()
		go ask()
		time.AfterFunc(time.Minute, func() { close(stopping) })
		start := time.Now()
		for range 2 {
			if err := <-ended; !errors.Is(err, plumb.ErrStopping) {
				t.Errorf("error %v", err)
			}
		}
		if waited := time.Since(start); waited != time.Minute || len(base.requests) != 1 {
			t.Errorf("%d requests, ended after %v", len(base.requests), waited)
		}
	})
}
