package plumb

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrTimeLimit is the cause of a context that [WithTimeLimit] ended.
var ErrTimeLimit = errors.New("time limit reached")

// ErrStopping is the error of work that waited for its turn, or for a retry, when its run was
// interrupted. A resumed run does the work.
var ErrStopping = errors.New("the run is stopping")

type stoppingKey struct{}

// WithStopping returns a context whose work ends its waits when stopping is closed. What has begun
// finishes.
func WithStopping(parent context.Context, stopping <-chan struct{}) context.Context {
	return context.WithValue(parent, stoppingKey{}, stopping)
}

// Stopping returns a channel that is closed when the run of ctx starts nothing new. A runner that
// waits for its turn, or for a retry, then returns [ErrStopping]. It is nil if nothing can stop the
// run.
func Stopping(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping
}

type timeLimitKey struct{}

// timeLimit counts the working time down. The clock stops while the work waits.
type timeLimit struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	since   time.Time
	waiting int
}

// WithTimeLimit returns a context that ends with the cause [ErrTimeLimit] after d of working time.
// The time in which a runner waits for its turn, and reports it with [Waiting], does not count: the
// model does not cause a rate limit. If d is 0 or less, there is no limit.
func WithTimeLimit(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	if d <= 0 {
		return ctx, func() { cancel(nil) }
	}
	l := &timeLimit{left: d, since: time.Now()}
	l.timer = time.AfterFunc(d, func() { cancel(ErrTimeLimit) })
	return context.WithValue(ctx, timeLimitKey{}, l), func() {
		l.timer.Stop()
		cancel(nil)
	}
}

// Waiting reports that the work under ctx waits for its turn, for example at a rate limit. It stops
// the clock of the nearest [WithTimeLimit] until the returned function is called. It may be called
// many times, from many goroutines.
func Waiting(ctx context.Context) (resume func()) {
	l, ok := ctx.Value(timeLimitKey{}).(*timeLimit)
	if !ok {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == 0 && l.timer.Stop() {
		l.left -= time.Since(l.since)
	}
	l.waiting++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			l.since = time.Now()
			l.timer.Reset(max(l.left, 0))
		}
	})
}
