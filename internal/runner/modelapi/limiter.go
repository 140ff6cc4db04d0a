package modelapi

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
)

// effect is what the end of a request says about how much its provider stands.
type effect int

const (
	neutral   effect = iota // a fault that says nothing about load
	relaxed                 // answered
	congested               // "too many requests", "overloaded"
)

// limiter bounds the requests in flight of one provider and key. It begins with half of what is allowed, opens by one
// with each answer until the provider first complains, and from then on halves with each complaint and opens by one a
// round trip. Complaints about requests that were sent before the last halving do not count. It also stops the lane
// altogether until a given time.
type limiter struct {
	mu       sync.Mutex
	max      int
	limit    float64
	settled  bool // the provider has complained: grow slowly
	inFlight int
	epoch    uint64 // counts halvings
	until    time.Time
	queue    list.List // of *waiter, first come first served
	timer    *time.Timer
}

type waiter struct {
	ready chan struct{}
	epoch uint64
}

func newLimiter(most int) *limiter {
	most = max(1, most)
	return &limiter{max: most, limit: float64(max(min(4, most), most/2))}
}

// acquire waits for a place and returns what release wants to be given back.
func (l *limiter) acquire(ctx context.Context) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	if l.queue.Len() == 0 && l.open(time.Now()) {
		l.inFlight++
		epoch := l.epoch
		l.mu.Unlock()
		return epoch, nil
	}
	w := &waiter{ready: make(chan struct{})}
	place := l.queue.PushBack(w)
	l.admit()
	l.mu.Unlock()
	defer plumb.Waiting(ctx)() // the time limit of a case is for the model, not for its turn

	select {
	case <-w.ready:
		return w.epoch, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.ready: // admitted at the same moment: hand the place on
		l.inFlight--
		l.admit()
	default:
		l.queue.Remove(place)
	}
	return 0, ctx.Err()
}

// release gives a place back and learns from how the request ended.
func (l *limiter) release(epoch uint64, e effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.inFlight >= int(l.limit) || l.queue.Len() > 0
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

// pause admits nobody before t. A pause is never shortened.
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

// admit lets in who can come in, and sees to it that somebody looks again when a pause ends. The lock is held.
func (l *limiter) admit() {
	if l.queue.Len() == 0 {
		return
	}
	now := time.Now()
	for l.queue.Len() > 0 && l.open(now) {
		w, _ := l.queue.Remove(l.queue.Front()).(*waiter)
		l.inFlight++
		w.epoch = l.epoch
		close(w.ready)
	}
	if l.queue.Len() > 0 && now.Before(l.until) {
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
	return l.inFlight, l.queue.Len(), int(l.limit), l.until
}

// retryBudget keeps retries from multiplying the load on a provider that is down: each retry takes one of a number of
// tokens, and each answer puts one back. What fails now and then never runs out of them.
type retryBudget struct {
	mu          sync.Mutex
	tokens, max int
}

// newRetryBudget has room for all retries of all requests in flight at once.
func newRetryBudget(inFlight, attempts int) *retryBudget {
	n := max(100, inFlight*(attempts-1))
	return &retryBudget{tokens: n, max: n}
}

func (b *retryBudget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens == 0 {
		return false
	}
	b.tokens--
	return true
}

func (b *retryBudget) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.max, b.tokens+1)
}
