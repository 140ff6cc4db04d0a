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
		l := newLimiter(1)
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
