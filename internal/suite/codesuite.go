package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// codeSuite runs the module of a suite in code.
//
// One engine runs it for all cases, because they share what the module holds, as they would in
// Node: their calls interleave where they await. When a call takes too long or too much memory its
// engine is retired. Calls that are in flight there come to their end, later ones get a new engine,
// in which the module is loaded again.
type codeSuite struct {
	program *script.Program
	host    lib.Host
	options script.Options
	places  lib.Places

	mu      sync.Mutex
	current *engine
	closed  bool

	// room bounds the session reports that are in the engine at the same time: one token for each
	// MiB of their JSON. Who holds entrance takes tokens, so that nobody waits with a part of what
	// they need.
	room, entrance chan struct{}
	// single is held by the one call that is tried again in an engine of its own.
	single chan struct{}
	// judging are the sessions that are being judged, by the name that the script calls them;
	// counter names them.
	judging struct {
		sync.Mutex
		sessions map[string]*codeSession
		counter  int
	}
}

// engine is the module, loaded.
type engine struct {
	vm *script.VM
	// what is what the module exports, and index the number by which it knows each case.
	what  *description
	index map[string]int
	// users counts the calls in flight, calls all that ever began.
	users, calls int
	retired      bool
}

// reportRoom is how many MiB of session reports an engine holds at a time, a larger one by itself.
// As values they take up to ten times as much, which its memory limit has to hold.
const reportRoom = 32

// enter waits until there is room for a session report of so many bytes. leave gives it back.
func (c *codeSuite) enter(ctx context.Context, bytes int) (leave func(), err error) {
	need, taken := min(bytes>>20, reportRoom), 0
	leave = func() {
		for range taken {
			<-c.room
		}
	}
	if need == 0 { // many small ones are bounded by how many sessions there are
		return leave, nil
	}
	select {
	case c.entrance <- struct{}{}:
		defer func() { <-c.entrance }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for range need {
		select {
		case c.room <- struct{}{}:
			taken++
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		}
	}
	return leave, nil
}

func newCodeSuite(program *script.Program, dir string, at lib.Places, h lib.Host) *codeSuite {
	c := &codeSuite{
		program: program, host: h, options: config.Options(h, dir), places: at, single: make(chan struct{}, 1),
		room: make(chan struct{}, reportRoom), entrance: make(chan struct{}, 1),
	}
	c.options.Host["events"], c.options.Host["leaks"] = c.events, c.leaks
	c.options.Async["judge"], c.options.Async["similar"] = c.judge, c.similar
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

// seat is a call's place in an engine.
type seat struct {
	*engine
	// number counts the calls of the engine, and company says that there were others when this one
	// began.
	number  int
	company bool
}

// acquire returns a seat in the engine.
func (c *codeSuite) acquire(ctx context.Context) (s seat, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return seat{}, script.ErrClosed
	}
	if e := c.current; e != nil && e.vm.Dead() { // what is in flight there ends by itself
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

// release ends a call. It reports whether other calls were in flight at the same time. An engine
// that is retired is closed with its last call; what it then says of promises that nobody waited
// for any more is nobody's.
func (c *codeSuite) release(s seat, retire bool) (company bool) {
	c.mu.Lock()
	s.users--
	company = s.company || s.calls > s.number
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
	return company
}

// exhausted reports whether a call ended because it, or another call beside it, used up time or
// memory. An entry itself throws for no other reason.
func exhausted(err error) bool {
	if e, ok := errors.AsType[*script.Error](err); ok && !e.Unhandled {
		return true
	}
	return errors.Is(err, script.ErrTimeout) || errors.Is(err, script.ErrInterrupted) ||
		errors.Is(err, script.ErrMemory) ||
		errors.Is(err, script.ErrDead)
}

// call calls an entry for a case, with the number of the case and the arguments. limit is how long
// it may take.
func (c *codeSuite) call(ctx context.Context, limit time.Duration, to any, entry, id string, args ...any) error {
	s, err := c.acquire(ctx)
	if err != nil {
		return fmt.Errorf("load the suite again: %w", err)
	}
	err = s.call(ctx, limit, to, entry, id, args)
	company := c.release(s, exhausted(err))
	if !exhausted(err) || !company || ctx.Err() != nil {
		return err
	}
	// Which of the calls in flight is to blame cannot be told. This one is made again where it is by
	// itself.
	select {
	case c.single <- struct{}{}:
		defer func() { <-c.single }()
	case <-ctx.Done():
		return err
	}
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
		return plumb.WithHint(fmt.Errorf("case %s is gone since the suite was loaded again", id),
			"the cases of a suite must be the same each time it loads")
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return lib.Call(limited, e.vm, to, entry, append([]any{index}, args...)...)
}

// close ends what is in flight and frees the engine.
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
	if err := e.vm.Close(); !errors.Is(err, script.ErrDead) { // what does not stop ends with the process
		return err
	}
	return nil
}
