package plumb_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumb-eval/plumb"
)

func TestTimeLimitCountsWorkingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := plumb.WithTimeLimit(t.Context(), time.Minute)
		defer cancel()
		time.Sleep(40 * time.Second)
		outer, inner := plumb.Waiting(ctx), plumb.Waiting(ctx)
		time.Sleep(time.Hour)
		inner()
		inner() // calling it twice changes nothing
		time.Sleep(time.Hour)
		outer()
		<-ctx.Done()
		if got, want := time.Since(start), 2*time.Hour+time.Minute; got != want {
			t.Errorf("ended after %v, want %v", got, want)
		}
		if !errors.Is(context.Cause(ctx), plumb.ErrTimeLimit) {
			t.Errorf("cause %v, want %v", context.Cause(ctx), plumb.ErrTimeLimit)
		}
	})
}

func TestTimeLimitNone(t *testing.T) {
	ctx, cancel := plumb.WithTimeLimit(t.Context(), 0)
	plumb.Waiting(ctx)()
	if ctx.Err() != nil {
		t.Error("ended at once")
	}
	cancel()
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), plumb.ErrTimeLimit) {
		t.Errorf("after cancel: %v", context.Cause(ctx))
	}
}
