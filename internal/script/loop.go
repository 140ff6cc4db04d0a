package script

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"modernc.org/quickjs"
)

// maxLate limits the errors without a call that are kept for Close.
const maxLate = 20

// loop is the VM's goroutine. It creates the engine, runs posted functions, due timers and jobs,
// and frees the engine.
func (vm *VM) loop() {
	defer close(vm.done)
	// The engine is C translated to Go. A fault in it becomes a panic on this goroutine instead of
	// ending the process. The VM is then abandoned and its memory is lost.
	debug.SetPanicOnFault(true)
	defer func() {
		if r := recover(); r != nil {
			vm.die(fmt.Errorf("%w: it crashed:  %v", ErrDead, r))
			vm.finish(vm.dead)
		}
	}()
	eng, err := newEngine(vm.o.MemoryLimit)
	if err == nil {
		vm.mu.Lock()
		vm.eng = eng
		vm.mu.Unlock()
		if err = vm.boot(); err != nil {
			err = fmt.Errorf("start a script engine: %w", err)
		}
	}
	if err != nil {
		vm.die(fmt.Errorf("%w: %w", ErrDead, err))
	} else {
		vm.spin()
	}
	if eng != nil {
		vm.mu.Lock()
		vm.eng = nil
		vm.mu.Unlock()
		for _, f := range vm.entry {
			f.Free()
		}
		if err := eng.close(); err != nil {
			vm.late = append(vm.late, err)
		}
	}
}

// die records why the VM cannot be used.
func (vm *VM) die(err error) {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	vm.dead, vm.busy = err, false
}

// spin is the event loop. It ends when the VM closes or, in an execution, when no work remains.
func (vm *VM) spin() {
	for vm.life.Err() == nil {
		if vm.step() {
			continue
		}
		if vm.idle() {
			return
		}
		var due <-chan time.Time
		if at, ok := vm.timers.next(); ok {
			due = time.After(at.Sub(vm.now()))
		}
		select {
		case <-vm.wake:
		case <-due:
		case <-vm.life.Done():
		}
	}
}

// step runs what can run now and reports whether anything did.
func (vm *VM) step() bool {
	vm.mu.Lock()
	posted := vm.posted
	vm.posted = nil
	vm.mu.Unlock()
	for _, f := range posted {
		if vm.life.Err() == nil {
			f()
		}
	}
	did := len(posted) > 0
	now := vm.now()
	for vm.life.Err() == nil {
		t := vm.timers.pop(now)
		if t == nil {
			break
		}
		did = true
		vm.count(t.owner)
		vm.turn(t.owner, func() error { return vm.enter("fire", t.id) })
	}
	immediates := vm.immediates
	vm.immediates = nil
	for _, i := range immediates {
		did = true
		vm.count(i.owner)
		vm.turn(i.owner, func() error { return vm.enter("fire", i.id) })
	}
	return did
}

// idle ends calls that nothing can settle any more, and reports whether the loop must end.
func (vm *VM) idle() bool {
	vm.mu.Lock()
	posted := len(vm.posted)
	vm.mu.Unlock()
	if posted > 0 || vm.waiting > 0 || len(vm.immediates) > 0 || vm.timers.active(vm.exec != nil) {
		return false
	}
	for _, c := range vm.calls {
		vm.deliver(c, nil, vm.left(c, ErrNeverSettled))
	}
	return vm.exec != nil && vm.exec.begun && vm.exec.leave(vm)
}

// turn runs f, and the jobs that follow from it, for a call. The call is nil for work that belongs
// to no call.
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
		vm.own(nil) // jobs of other calls are still queued
		vm.eng.owner = nil
	}
}

// own sets the call of the current turn, which decides who may interrupt it.
func (vm *VM) own(c *call) {
	vm.mu.Lock()
	vm.busy = true
	vm.owner = c
	// The rest of a call that has timed out gets only a moment.
	vm.eng.stop.Store(c != nil && c.expired || vm.life.Err() != nil)
	vm.mu.Unlock()
}

// enter calls a function of the prelude.
func (vm *VM) enter(name string, args ...any) error {
	f := vm.entry[name]
	v, err := f.CallValue(quickjs.UndefinedValue, args...)
	if err != nil {
		return err
	}
	v.Free()
	return nil
}

// blame ends the call that an error belongs to. An error that belongs to no call ends all pending
// calls, as an uncaught error ends Node. Without pending calls, Close returns it.
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
		vm.deliver(c, nil, vm.left(c, err))
		return
	}
	if errors.Is(err, ErrInterrupted) { // the rest of a finished call was stopped
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

// checkRejections reports rejected promises without a handler to their calls.
func (vm *VM) checkRejections() {
	for _, r := range vm.eng.takeRejections() {
		err := vm.describe(vm.eng.value(r.reason))
		vm.eng.free(r.promise)
		vm.eng.free(r.reason)
		err.Unhandled = true
		vm.blame(r.owner, err)
	}
}

// mostFired limits the timers that run after the function of a call has returned.
const mostFired = 1000

// count counts a timer that a call left behind.
func (vm *VM) count(c *call) {
	if c == nil || !c.judge || !c.settled || vm.calls[c.id] != c {
		return
	}
	if c.fired++; c.fired > mostFired {
		vm.deliver(c, nil, ErrLeft)
	}
}

// unfinished reports whether something that a call started still runs, and lets its timers run now.
func (vm *VM) unfinished(c *call) bool {
	if !c.judge || c.err != nil {
		return false
	}
	pending := vm.timers.hasten(c) || c.started > 0
	for _, i := range vm.immediates {
		pending = pending || i.owner == c
	}
	return pending
}

// left returns the error of a call of Judge that changed what all code shares, and else err.
func (vm *VM) left(c *call, err error) error {
	if !c.judge || errors.Is(err, ErrTimeout) {
		return err
	}
	if vm.changed == "" {
		vm.changed = vm.eng.changed(vm.shared)
	}
	if vm.changed != "" {
		return &sharedError{vm.changed}
	}
	if e, ok := errors.AsType[*Error](err); ok && vm.eng.full && !e.IsAssertion {
		e.kind = ErrMemory // what it says may only follow from that
	}
	return err
}

func (vm *VM) deliverSettled() {
	for _, c := range vm.calls {
		if c.settled && !vm.unfinished(c) {
			if vm.exec != nil && c.err != nil {
				vm.exec.fail(vm, c.err)
			}
			err := c.err
			if c.ctx.Err() != nil { // the result of a process that was killed at the deadline means nothing
				err = timeout(c.ctx)
			}
			vm.deliver(c, c.result, vm.left(c, err))
		}
	}
}
