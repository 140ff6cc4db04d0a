package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"modernc.org/quickjs"
)

// The defaults of Options.
const (
	defaultMemory = 512 << 20
	defaultGrace  = 2 * time.Second
)

// maxLate is how many errors that belong to no call are kept for Close.
const maxLate = 20

// VM is a program that was started: its module was evaluated, its functions can be called. It is safe for concurrent
// use; the script itself runs on one goroutine, as in Node.
type VM struct {
	o      Options
	life   context.Context
	finish context.CancelCauseFunc
	done   chan struct{} // the loop has ended
	async  sync.WaitGroup
	wake   chan struct{} // something was posted; holds one
	began  time.Time

	mu     sync.Mutex
	posted []func()
	busy   bool  // a turn is on
	owner  *call // whose turn
	dead   error // why the VM was given up

	// What follows belongs to the loop's goroutine.
	eng        *engine
	entry      prelude
	bundles    []*bundle
	calls      map[int]*call
	lastID     int
	timers     timers
	immediates []immediate
	waiting    int // async host functions that have not returned
	children   children
	dir        string
	late       []error
	exec       *execution // set when the VM runs a program like node does
}

// call is something that runs in the VM and can be waited for: the evaluation of the module, or a function.
type call struct {
	id      int
	ctx     context.Context
	expired bool // ctx ended first; guarded by VM.mu
	over    bool // done is closed or about to be; guarded by VM.mu

	settled bool // the script gave the result, which is delivered at the end of the turn
	result  json.RawMessage
	err     error
	done    chan struct{}
}

// Start evaluates the program's module, top-level await included, in a VM of its own. ctx bounds the evaluation only.
// If the module throws, the error is an [*Error]. Afterwards globalThis.__main is the module's namespace.
func Start(ctx context.Context, p *Program, o Options) (*VM, error) {
	vm := launch(ctx, o, nil)
	_, err := vm.run(ctx, func(c *call) error { return vm.evaluate(c, p) })
	if err != nil {
		_ = vm.Close() // why it did not start is what counts
		return nil, err
	}
	return vm, nil
}

func launch(ctx context.Context, o Options, exec *execution) *VM {
	if o.MemoryLimit == 0 {
		o.MemoryLimit = defaultMemory
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	vm := &VM{
		o: o, dir: o.Dir, exec: exec, began: time.Now(),
		done: make(chan struct{}), wake: make(chan struct{}, 1), calls: map[int]*call{},
	}
	vm.life, vm.finish = context.WithCancelCause(context.WithoutCancel(ctx))
	go vm.loop()
	return vm
}

// Call calls the function that an additional module registered as __entry[name] with the arguments as JSON, waits for
// its promise if it returns one, and returns its result as JSON; undefined is null. Several calls may be in flight: they
// interleave at await. When ctx ends, a call that waits ends with [ErrTimeout], and a script that runs is stopped. If
// the engine does not react within Options.Grace, the VM is given up: [VM.Dead] is true and every call fails with
// [ErrDead].
func (vm *VM) Call(ctx context.Context, name string, args ...any) (json.RawMessage, error) {
	if args == nil {
		args = []any{}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", name, err)
	}
	return vm.run(ctx, func(c *call) error { return vm.enter("call", c.id, name, string(text)) })
}

// run posts a call and waits for its end.
func (vm *VM) run(ctx context.Context, begin func(*call) error) (json.RawMessage, error) {
	c := &call{ctx: ctx, done: make(chan struct{})}
	vm.post(func() { vm.begin(c, begin) })
	select {
	case <-c.done:
		return c.result, c.err
	case <-vm.done:
		return vm.gone(c)
	case <-ctx.Done():
	}
	return vm.expire(c)
}

// expire ends a call whose time is over: it stops the script if it runs for this call, or for nobody who still waits.
func (vm *VM) expire(c *call) (json.RawMessage, error) {
	vm.mu.Lock()
	c.expired = true
	mine := vm.busy && (vm.owner == c || vm.owner == nil || vm.owner.over || vm.owner.expired)
	if mine && vm.eng != nil {
		vm.eng.interrupt()
	}
	others := vm.busy && !mine
	vm.mu.Unlock()
	vm.post(func() { vm.deliver(c, nil, timeout(c.ctx)) })
	if others { // the one who runs has a deadline of its own
		return nil, fmt.Errorf("%w (another call was running)", timeout(c.ctx))
	}

	grace := time.NewTimer(vm.o.Grace)
	defer grace.Stop()
	select {
	case <-c.done:
		return c.result, c.err
	case <-vm.done:
		return vm.gone(c)
	case <-grace.C:
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	if vm.busy && vm.owner != c && vm.owner != nil && !vm.owner.over && !vm.owner.expired {
		return nil, timeout(c.ctx)
	}
	if vm.dead == nil {
		vm.dead = fmt.Errorf("%w: it did not stop within %v", ErrDead, vm.o.Grace)
	}
	vm.finish(vm.dead)
	return nil, fmt.Errorf("%w; %w", timeout(c.ctx), vm.dead)
}

func timeout(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
}

// gone is the result of a call that the loop can no longer answer.
func (vm *VM) gone(c *call) (json.RawMessage, error) {
	select {
	case <-c.done:
		return c.result, c.err
	default:
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	if vm.dead != nil {
		return nil, vm.dead
	}
	return nil, ErrClosed
}

// Dead reports whether the VM was given up; the caller starts a new one.
func (vm *VM) Dead() bool {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	return vm.dead != nil
}

// Close ends what is in flight and frees the engine's memory. It returns when the VM's goroutines have ended, or at once
// when the VM is dead. The error holds what went wrong in the script when no call was there to hear of it, like a promise
// rejected after the call that made it had ended.
func (vm *VM) Close() error {
	vm.finish(ErrClosed)
	vm.mu.Lock()
	dead := vm.dead
	if vm.eng != nil {
		vm.eng.interrupt()
	}
	vm.mu.Unlock()
	if dead != nil {
		return dead
	}
	grace := time.NewTimer(vm.o.Grace)
	defer grace.Stop()
	select {
	case <-vm.done:
		vm.async.Wait()
		return errors.Join(vm.late...)
	case <-grace.C:
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	if vm.dead == nil {
		vm.dead = fmt.Errorf("%w: it did not stop within %v", ErrDead, vm.o.Grace)
	}
	return vm.dead
}

// post has the loop run f; after the loop's end nothing does.
func (vm *VM) post(f func()) {
	vm.mu.Lock()
	vm.posted = append(vm.posted, f)
	vm.mu.Unlock()
	select {
	case vm.wake <- struct{}{}:
	default:
	}
}

// begin starts a call on the loop's goroutine.
func (vm *VM) begin(c *call, begin func(*call) error) {
	vm.mu.Lock()
	over := c.expired
	vm.mu.Unlock()
	if over {
		vm.deliver(c, nil, timeout(c.ctx))
		return
	}
	vm.lastID++
	c.id = vm.lastID
	vm.calls[c.id] = c
	vm.turn(c, func() error { return begin(c) })
}

// deliver ends a call, once.
func (vm *VM) deliver(c *call, result json.RawMessage, err error) {
	vm.mu.Lock()
	over := c.over
	c.over = true
	expired := c.expired
	vm.mu.Unlock()
	if over {
		return
	}
	delete(vm.calls, c.id)
	if expired {
		vm.timers.drop(c)
	}
	c.result, c.err = result, err
	close(c.done)
}

// loop is the VM's goroutine: it makes the engine, runs what is posted, due timers and jobs, and frees the engine.
func (vm *VM) loop() {
	defer close(vm.done)
	// The engine is C turned into Go: a fault in it would end the process, but becomes a panic on this goroutine, which
	// gives the VM up. Its memory is lost then.
	debug.SetPanicOnFault(true)
	defer func() {
		if r := recover(); r != nil {
			vm.mu.Lock()
			vm.dead = fmt.Errorf("%w: it broke down: %v", ErrDead, r)
			vm.busy = false
			vm.mu.Unlock()
			vm.finish(vm.dead)
		}
	}()
	eng, err := newEngine(vm.o.MemoryLimit)
	if err == nil {
		vm.mu.Lock()
		vm.eng = eng
		vm.mu.Unlock()
		err = vm.boot()
	}
	if err != nil {
		vm.mu.Lock()
		vm.dead = fmt.Errorf("%w: %w", ErrDead, err)
		vm.mu.Unlock()
	} else {
		vm.spin()
	}
	if eng != nil {
		vm.mu.Lock()
		vm.eng = nil
		vm.mu.Unlock()
		vm.entry.free()
		if err := eng.close(); err != nil {
			vm.late = append(vm.late, err)
		}
	}
}

// spin is the event loop, until the VM's life ends or, in an execution, nothing is left to do.
func (vm *VM) spin() {
	for vm.life.Err() == nil {
		if vm.step() {
			continue
		}
		if vm.idle() {
			return
		}
		var due <-chan time.Time
		var timer *time.Timer
		if at, ok := vm.timers.next(); ok {
			timer = time.NewTimer(time.Until(at))
			due = timer.C
		}
		select {
		case <-vm.wake:
		case <-due:
		case <-vm.life.Done():
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// step runs what can run now, and reports whether anything did.
func (vm *VM) step() bool {
	vm.mu.Lock()
	posted := vm.posted
	vm.posted = nil
	vm.mu.Unlock()
	for _, f := range posted {
		f()
	}
	did := len(posted) > 0
	now := time.Now()
	for vm.life.Err() == nil {
		t := vm.timers.pop(now)
		if t == nil {
			break
		}
		did = true
		vm.turn(t.owner, func() error { return vm.enter("fire", t.id) })
	}
	immediates := vm.immediates
	vm.immediates = nil
	for _, i := range immediates {
		did = true
		vm.turn(i.owner, func() error { return vm.enter("fire", i.id) })
	}
	return did
}

// idle looks for calls that nothing can settle any more, and reports whether the loop is to end.
func (vm *VM) idle() bool {
	vm.mu.Lock()
	posted := len(vm.posted)
	vm.mu.Unlock()
	if posted > 0 || vm.waiting > 0 || len(vm.immediates) > 0 || vm.timers.active(vm.exec != nil) {
		return false
	}
	for _, c := range vm.calls {
		vm.deliver(c, nil, ErrNeverSettled)
	}
	return vm.exec != nil && vm.exec.begun && vm.exec.leave(vm)
}

// turn runs f and the jobs it leads to on behalf of a call, which is nil for what no call can be blamed for.
func (vm *VM) turn(owner *call, f func() error) {
	vm.own(owner)
	vm.eng.owner = owner
	err := f()
	for {
		if err == nil {
			vm.eng.runJobs(vm.own)
		}
		vm.mu.Lock()
		vm.busy = false
		hit := vm.eng.clear()
		victim := vm.eng.owner
		vm.mu.Unlock()
		if vm.life.Err() != nil {
			return
		}
		switch {
		case hit && vm.exec != nil && vm.exec.exited:
			vm.finish(errExited)
			return
		case hit:
			vm.blame(victim, ErrInterrupted)
		case err != nil:
			vm.blame(victim, vm.engineError(err))
		default:
			vm.checkRejections()
			vm.deliverSettled()
			return
		}
		err = nil
		vm.own(nil) // the jobs of others are still queued
		vm.eng.owner = nil
	}
}

// own says whose turn it is, which decides who may interrupt it.
func (vm *VM) own(c *call) {
	vm.mu.Lock()
	vm.busy = true
	vm.owner = c
	// What is left of a call whose time is over gets no more than a moment.
	vm.eng.stop.Store(c != nil && c.expired)
	vm.mu.Unlock()
}

// enter calls a function of the prelude.
func (vm *VM) enter(name string, args ...any) error {
	f := vm.entry.functions[name]
	v, err := f.CallValue(quickjs.UndefinedValue, args...)
	if err != nil {
		return err
	}
	v.Free()
	return nil
}

// blame ends the call that an error belongs to. An error that belongs to none ends all that are in flight, as an
// uncaught error ends Node; when there is none, Close tells it.
func (vm *VM) blame(c *call, err error) {
	if vm.exec != nil && !errors.Is(err, ErrInterrupted) {
		vm.exec.fail(vm, err)
		return
	}
	if c != nil && vm.calls[c.id] == c {
		vm.mu.Lock()
		if c.expired {
			err = timeout(c.ctx)
		}
		vm.mu.Unlock()
		vm.deliver(c, nil, err)
		return
	}
	if errors.Is(err, ErrInterrupted) { // what a call left behind was stopped
		return
	}
	if len(vm.calls) == 0 || c != nil {
		if len(vm.late) < maxLate {
			vm.late = append(vm.late, err)
		}
		return
	}
	for _, c := range vm.calls {
		vm.deliver(c, nil, err)
	}
}

// checkRejections blames for the rejected promises that nothing handles.
func (vm *VM) checkRejections() {
	for _, r := range vm.eng.takeRejections() {
		err := vm.describe(vm.eng.value(r.reason))
		vm.eng.free(r.promise)
		vm.eng.free(r.reason)
		err.Unhandled = true
		vm.blame(r.owner, err)
	}
}

func (vm *VM) deliverSettled() {
	for _, c := range vm.calls {
		if c.settled {
			if vm.exec != nil && c.err != nil {
				vm.exec.fail(vm, c.err)
			}
			err := c.err
			if c.ctx.Err() != nil { // what came of a process that was killed at the deadline says nothing
				err = timeout(c.ctx)
			}
			vm.deliver(c, c.result, err)
		}
	}
}
