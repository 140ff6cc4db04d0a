package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// codeSuite runs the module of a suite in code.
//
// One engine runs it for all cases, because they share the module's state, as they would in Node:
// their calls interleave where they await. When a call takes too long or too much memory, or changes
// the objects of the language or the global names, its engine is retired. Calls that are in flight there can finish. Later calls get a new engine, which
// loads the module again.
type codeSuite struct {
	program *script.Program
	host    lib.Host
	options script.Options
	places  lib.Places

	mu      sync.Mutex
	current *engine
	closed  bool

	// room limits the session reports that are in the engine at the same time, in MiB of JSON.
	room *semaphore.Weighted
	// single is held by the call that is repeated in an engine of its own.
	single *semaphore.Weighted
	// sessions has the *codeSession of each session that is being judged, by its name in the script.
	// counter makes the names.
	sessions sync.Map
	counter  atomic.Int64
}

// engine is the loaded module.
type engine struct {
	vm *script.VM
	// what is the description of the module's exports. index has the number by which the module
	// knows each case.
	what  *description
	index map[string]int
	// users counts the calls in flight, calls all calls so far.
	users, calls int
	retired      bool
}

// reportRoom limits the session reports in an engine, in MiB of JSON. A larger report is there
// alone. Their values take up to ten times as much memory, within the engine's memory limit.
const reportRoom = 32

// enter waits until there is room for a session report of so many bytes. leave frees the room. The
// number of sessions limits reports below 1 MiB.
func (c *codeSuite) enter(ctx context.Context, bytes int) (leave func(), err error) {
	need := int64(min(bytes>>20, reportRoom))
	if c.room.Acquire(ctx, need) != nil {
		return nil, context.Cause(ctx)
	}
	return func() { c.room.Release(need) }, nil
}

func newCodeSuite(program *script.Program, dir string, at lib.Places, h lib.Host) *codeSuite {
	c := &codeSuite{
		program: program, host: h, options: config.Options(h, dir), places: at,
		room: semaphore.NewWeighted(reportRoom), single: semaphore.NewWeighted(1),
	}
	c.options.Host["events"], c.options.Host["leaks"] = c.answer("events", eventsOf), c.answer("leaks", leaks)
	c.options.Async["judge"], c.options.Async["similar"] = c.answer("judge", judge), c.answer("similar", similar)
	return c
}

// start loads the module.
func (c *codeSuite) start(ctx context.Context) (*engine, error) {
	vm, err := c.host.Start(ctx, c.program, c.options)
	if err != nil {
		return nil, err
	}
	e := &engine{vm: vm, what: &description{}, index: map[string]int{}}
	if err := lib.Describe(ctx, vm, e.what, "describe"); err != nil {
		return nil, errors.Join(err, vm.Close())
	}
	for _, d := range e.what.Cases {
		e.index[d.ID] = d.Index
	}
	return e, nil
}

// seat is the place of a call in an engine.
type seat struct {
	*engine
	// number counts the calls of the engine. shared is set if other calls were in flight when this
	// one began.
	number int
	shared bool
}

// acquire returns a seat in the engine.
func (c *codeSuite) acquire(ctx context.Context) (s seat, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return seat{}, script.ErrClosed
	}
	if e := c.current; e != nil && e.vm.Dead() { // the calls in flight there end by themselves
		c.current, e.retired = nil, true
	}
	if c.current == nil {
		if c.current, err = c.start(ctx); err != nil {
			return seat{}, err
		}
	}
	e := c.current
	e.users++
	e.calls++
	return seat{e, e.calls, e.users > 1}, nil
}

// release ends a call. It reports whether other calls were in flight at the same time. The last
// call closes a retired engine. Errors of promises that nothing waited for are dropped then.
func (c *codeSuite) release(s seat, retire bool) (shared bool) {
	c.mu.Lock()
	s.users--
	shared = s.shared || s.calls > s.number
	if retire {
		s.retired = true
		if c.current == s.engine {
			c.current = nil
		}
	}
	last := s.retired && s.users == 0
	c.mu.Unlock()
	if last {
		_ = s.vm.Close()
	}
	return shared
}

// exhausted reports whether a call ended because it, or a concurrent call, used up time or memory,
// or changed what all calls share.
// The functions of the module plumb throw for no other reason.
func exhausted(err error) bool {
	if e, ok := errors.AsType[*script.Error](err); ok && !e.Unhandled {
		return true
	}
	return timedOut(err) || errors.Is(err, script.ErrMemory) || errors.Is(err, script.ErrShared)
}

func timedOut(err error) bool {
	return errors.Is(err, script.ErrTimeout) || errors.Is(err, script.ErrInterrupted) || errors.Is(err, script.ErrDead)
}

// call calls an entry for a case, with the number of the case and the arguments, within the time
// limit of checks.
func (c *codeSuite) call(ctx context.Context, to any, entry, id string, args ...any) error {
	s, err := c.acquire(ctx)
	if err != nil {
		return fmt.Errorf("load the suite again: %w", err)
	}
	limit := c.assertTimeout()
	err = s.call(ctx, limit, to, entry, id, args)
	shared := c.release(s, exhausted(err))
	if !exhausted(err) || !shared || ctx.Err() != nil {
		return err
	}
	// Any of the calls in flight can be the cause. So this one is repeated alone.
	if c.single.Acquire(ctx, 1) != nil {
		return err
	}
	defer c.single.Release(1)
	e, err := c.start(ctx)
	if err != nil {
		return fmt.Errorf("load the suite again: %w", err)
	}
	err = e.call(ctx, limit, to, entry, id, args)
	_ = e.vm.Close()
	return err
}

func (e *engine) call(ctx context.Context, limit time.Duration, to any, entry, id string, args []any) error {
	index, ok := e.index[id]
	if !ok {
		return plumb.WithHint(fmt.Errorf("the suite was loaded again and no longer has the case %s", id),
			"the cases of a suite must be the same each time it loads")
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return lib.Judge(limited, e.vm, to, entry, append([]any{index}, args...)...)
}

// close ends the calls in flight and frees the engine.
func (c *codeSuite) close() error {
	c.mu.Lock()
	e := c.current
	c.current, c.closed = nil, true
	if e != nil {
		e.retired = true
	}
	c.mu.Unlock()
	if e == nil {
		return nil
	}
	if err := e.vm.Close(); !errors.Is(err, script.ErrDead) { // an engine that does not stop ends with the process
		return err
	}
	return nil
}
