package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
)

// blocker stores why a runner is no longer called.
type blocker struct {
	mu      sync.Mutex
	failure *plumb.Failure
	known   bool // before the run began
	// answered is set when the runner has answered; probed is closed when its first session ended.
	answered bool
	probed   chan struct{}
}

// reason returns the failure that blocks the runner, as a skipped session reports it, or nil.
func (b *blocker) reason() *plumb.Failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure == nil {
		return nil
	}
	f := *b.failure
	f.Attempts, f.NotAsked = 0, true
	if !b.known {
		f.Message = fmt.Sprintf("skipped: this runner already failed with: %s", f.Message)
	}
	return &f
}

// record stores that the runner answered (a nil f), or a failure that every later session of the
// runner would repeat.
func (b *blocker) record(f *plumb.Failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case f == nil:
		b.answered = true
	case b.failure == nil && (isPermanent(f) || !b.answered && errors.Is(f, plumb.ErrUnavailable)):
		b.failure = f
	}
}

// probeTime is how long the first session of a model keeps the others waiting. A request that
// cannot succeed usually fails sooner.
const probeTime = 2 * time.Second

// probe lets one session of the runner go first: the others wait until it ended, or for probeTime.
// So a rejected key or a wrong address costs one request. The caller calls done after its session.
func (b *blocker) probe(ctx context.Context, stopping <-chan struct{}) (done func()) {
	b.mu.Lock()
	first := b.probed
	if first == nil {
		ended := make(chan struct{})
		b.probed = ended
		b.mu.Unlock()
		return func() { close(ended) }
	}
	b.mu.Unlock()
	select {
	case <-first:
		return func() {}
	default:
	}
	timer := time.NewTimer(probeTime)
	defer timer.Stop()
	select {
	case <-first:
	case <-timer.C:
	case <-ctx.Done():
	case <-stopping:
	}
	return func() {}
}
