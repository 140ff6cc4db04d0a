package modelapi

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
)

// effect is what the end of a request shows about the load that its provider accepts.
type effect int

const (
	neutral   effect = iota // an error that does not depend on the load
	relaxed                 // an answer
	congested               // "too many requests", "overloaded"
)

// limiter bounds the concurrent requests of one provider and key. It starts with the number that the
// user chose, or with half of the allowed number, or with the number that the provider accepted in
// an earlier run. Until the
// provider first rejects a request because of the load, each answer raises the limit by one. From
// then on each such rejection halves the limit, and each round trip raises it by one. Rejections of
// requests that were sent before the last halving do not count. The limiter can also stop the lane
// until a given time.
type limiter struct {
	mu       sync.Mutex
	max      int
	limit    float64
	settled  bool // the provider has rejected a request because of the load: grow slowly
	inFlight int
	most     int    // the largest number of concurrent requests when one of them was answered
	epoch    uint64 // counts halvings
	until    time.Time
	queue    []*waiter // in order of arrival
	timer    *time.Timer
}

type waiter struct {
	ready chan struct{}
	epoch uint64
}

// newLimiter returns a limiter of most requests that starts with the number start; 0 means half of
// most, and at least four.
func newLimiter(most, start int) *limiter {
	most = max(1, most)
	return &limiter{max: most, limit: float64(min(most, cmp.Or(start, max(4, most/2))))}
}

// widen raises the limit to the number of requests that the provider is known to accept.
func (l *limiter) widen(accepted int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = max(l.limit, float64(min(accepted, l.max)))
}

// accepted is the number of concurrent requests that the provider has accepted; 0 if it has
// answered none. settled reports whether it has rejected more.
func (l *limiter) accepted() (n int, settled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settled {
		return int(l.limit), true
	}
	return l.most, false
}

// acquire waits for a place and returns the epoch that release takes.
func (l *limiter) acquire(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	if len(l.queue) == 0 && l.open(time.Now()) {
		l.inFlight++
		epoch := l.epoch
		l.mu.Unlock()
		return epoch, nil
	}
	w := &waiter{ready: make(chan struct{})}
	l.queue = append(l.queue, w)
	l.admit()
	l.mu.Unlock()
	defer plumb.Waiting(ctx)() // the time limit of a case does not include this wait

	select {
	case <-w.ready:
		return w.epoch, nil
	case <-ctx.Done():
	case <-plumb.Stopping(ctx):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.ready: // admitted at the same moment: give the place to another waiter
		l.inFlight--
		l.admit()
	default:
		l.queue = slices.DeleteFunc(l.queue, func(other *waiter) bool { return other == w })
	}
	return 0, cmp.Or(ctx.Err(), plumb.ErrStopping)
}

// release frees a place and adapts the limit to how the request ended.
func (l *limiter) release(epoch uint64, e effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.inFlight >= int(l.limit) || len(l.queue) > 0
	if e == relaxed {
		l.most = max(l.most, l.inFlight)
	}
	switch {
	case e == relaxed && full && l.settled:
		l.limit = min(float64(l.max), l.limit+1/l.limit)
	case e == relaxed && full:
		l.limit = min(float64(l.max), l.limit+1)
	case e == congested && epoch == l.epoch:
		l.limit = max(1, min(l.limit, float64(l.inFlight))/2)
		l.settled = true
		l.epoch++
	}
	l.inFlight--
	l.admit()
}

// pause admits no request before t. It never shortens an earlier pause.
func (l *limiter) pause(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.After(l.until) {
		l.until = t
		l.admit()
	}
}

func (l *limiter) open(now time.Time) bool {
	return l.inFlight < int(l.limit) && (l.until.IsZero() || !now.Before(l.until))
}

// admit admits the waiters for whom there is room, and starts a timer for the end of a pause. The
// caller holds the lock.
func (l *limiter) admit() {
	if len(l.queue) == 0 {
		return
	}
	now := time.Now()
	for len(l.queue) > 0 && l.open(now) {
		w := l.queue[0]
		l.queue = l.queue[1:]
		l.inFlight++
		w.epoch = l.epoch
		close(w.ready)
	}
	if len(l.queue) > 0 && now.Before(l.until) {
		if l.timer == nil {
			l.timer = time.AfterFunc(l.until.Sub(now), func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.admit()
			})
		} else {
			l.timer.Reset(l.until.Sub(now))
		}
	}
}

func (l *limiter) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}

func (l *limiter) state() (inFlight, waiting, limit int, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight, len(l.queue), int(l.limit), l.until
}

// retryBudget prevents that retries multiply the load on a provider that is down: each retry takes
// a token, and each answer returns one. A provider that fails rarely never uses up the tokens.
type retryBudget chan struct{}

// newRetryBudget returns a budget for all retries of all concurrent requests.
func newRetryBudget(inFlight, attempts int) retryBudget {
	b := make(retryBudget, max(100, inFlight*(attempts-1)))
	for range cap(b) {
		b <- struct{}{}
	}
	return b
}

// take reports whether there was a token left.
func (b retryBudget) take() bool {
	select {
	case <-b:
		return true
	default:
		return false
	}
}

func (b retryBudget) refund() {
	select {
	case b <- struct{}{}:
	default:
	}
}
