package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/quickjs"

	"github.com/plumb-eval/plumb/internal/proc"
	"github.com/plumb-eval/plumb/internal/text"
)

// The defaults of Environment.
const (
	defaultMemory = 512 << 20
	defaultGrace  = 2 * time.Second
	// programGrace is how long programs that the script left in the background have to end.
	programGrace = time.Second
)

// VM is a started program: its module was evaluated, and its functions can be called. It is safe
// for concurrent use. The script itself runs on one goroutine, as in Node.
type VM struct {
	o      Environment
	life   context.Context
	finish context.CancelCauseFunc
	done   chan struct{} // the loop has ended
	async  sync.WaitGroup
	wake   chan struct{} // signals that something was posted; capacity one
	began  time.Time

	mu     sync.Mutex
	posted []func()
	busy   bool  // a turn is running
	owner  *call // the call of the turn
	dead   error // why the VM was abandoned

	// The following fields belong to the loop's goroutine.
	eng        *engine
	entry      map[string]quickjs.Value // the functions of the prelude that Go calls
	original   *original
	loading    *call            // the evaluation of the module, while it lasts
	given      map[question]int // in a copy: how many answers it got; nil in an original
	bundles    []*bundle
	calls      map[int]*call
	lastID     int
	timers     timers
	immediates []immediate
	waiting    int     // async host functions that have not returned
	shared     *shared // before the call of Judge
	changed    string  // how the call of Judge changed it; "" if it did not
	patching   int     // modules of the host that are being loaded
	lastChild  int
	programs   proc.Group // running children and what they leave behind
	dir        string
	late       []error
	children   sync.Map     // functions that send a signal to the running processes of execFile, by number
	held       atomic.Int64 // bytes on the host's side that the script has not read; see keep
	exec       *process     // set when the VM runs a program as with node
}

// call is work in the VM that a caller can wait for: the evaluation of the module, or a function.
type call struct {
	id      int
	ctx     context.Context
	expired bool // ctx ended first; guarded by VM.mu
	over    bool // done is closed or about to be; guarded by VM.mu

	settled bool // the script set the result, which is delivered at the end of the turn
	judge   bool // the call began with Judge
	started int  // async host functions of the call that have not returned
	fired   int  // timers that the call left behind and that ran
	result  json.RawMessage
	err     error
	done    chan struct{}
}

// Start evaluates the program's module, including top-level await, in a new VM. ctx limits only the
// evaluation. If the module throws, the error is an [*Error]. Afterwards globalThis.__main is the
// module's namespace.
func Start(ctx context.Context, p *Program, o Environment) (*VM, error) {
	return newVM(o, &original{main: newBundle(p)}).start(ctx)
}

// start evaluates the module.
func (vm *VM) start(ctx context.Context) (*VM, error) {
	vm.launch(ctx)
	if _, err := vm.run(ctx, vm.evaluate); err != nil {
		_ = vm.Close() // the caller needs the reason why it did not start
		return nil, err
	}
	return vm, nil
}

func newVM(o Environment, l *original) *VM {
	if o.MemoryLimit == 0 {
		o.MemoryLimit = defaultMemory
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	return &VM{
		o: o, original: l, dir: o.Dir, began: time.Now(), done: make(chan struct{}), wake: make(chan struct{}, 1),
		calls: map[int]*call{},
	}
}

// launch starts the loop.
func (vm *VM) launch(ctx context.Context) {
	vm.life, vm.finish = context.WithCancelCause(context.WithoutCancel(ctx))
	go vm.loop()
}

// Call calls the function that an additional module registered as __entry[name], with the arguments
// as JSON. It waits for the promise if the function returns one, and returns the result as JSON;
// undefined is null. Concurrent calls interleave at await. When ctx ends, a waiting call ends with
// [ErrTimeout], and a running script is stopped. If the engine does not react within Environment.Grace,
// the VM is abandoned: [VM.Dead] returns true and every call fails with [ErrDead].
func (vm *VM) Call(ctx context.Context, name string, args ...any) (json.RawMessage, error) {
	text, err := list(args)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", name, err)
	}
	return vm.run(ctx, func(c *call) error { return vm.enter("call", c.id, name, text) })
}

// Judge is [VM.Call] for the last call of a VM, which must leave nothing behind: it also waits for
// what the function started and did not wait for. Its timers run at once. An error in any of this is
// the error of the call, with Unhandled set. The call ends with [ErrLeft] if a timer never stops, and
// with [ErrShared] if the function changed what all code shares. Afterwards nothing more runs.
func (vm *VM) Judge(ctx context.Context, name string, args ...any) (json.RawMessage, error) {
	text, err := list(args)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", name, err)
	}
	return vm.await(&call{ctx: ctx, judge: true, done: make(chan struct{})}, func(c *call) error {
		vm.shared = vm.eng.snapshot()
		return vm.enter("call", c.id, name, text)
	})
}

// list encodes arguments as one JSON list. It copies arguments that are already JSON, because
// sessions may be large.
func list(args []any) (string, error) {
	var b strings.Builder
	b.WriteByte('[')
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(',')
		}
		text, ready := arg.(json.RawMessage)
		if !ready {
			var err error
			if text, err = json.Marshal(arg); err != nil {
				return "", err
			}
		}
		b.Write(text)
	}
	b.WriteByte(']')
	return b.String(), nil
}

// run posts a call and waits until it ends.
func (vm *VM) run(ctx context.Context, begin func(*call) error) (json.RawMessage, error) {
	return vm.await(&call{ctx: ctx, done: make(chan struct{})}, begin)
}

func (vm *VM) await(c *call, begin func(*call) error) (json.RawMessage, error) {
	vm.post(func() { vm.begin(c, begin) })
	select {
	case <-c.done:
		return c.result, c.err
	case <-vm.done:
		return vm.gone(c)
	case <-c.ctx.Done():
	}
	return vm.expire(c)
}

// expire ends a call that has timed out. It stops the script if it runs for this call, or for a
// call that no longer waits.
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
	if others { // the running call has its own deadline
		return nil, fmt.Errorf("%w (another call was running)", timeout(c.ctx))
	}

	select {
	case <-c.done:
		return c.result, c.err
	case <-vm.done:
		return vm.gone(c)
	case <-time.After(vm.o.Grace):
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	if vm.busy && vm.owner != c && vm.owner != nil && !vm.owner.over && !vm.owner.expired {
		return nil, timeout(c.ctx)
	}
	return nil, fmt.Errorf("%w; %w", timeout(c.ctx), vm.abandon())
}

// abandon records that the engine did not stop. The caller holds vm.mu.
func (vm *VM) abandon() error {
	if vm.dead == nil {
		vm.dead = fmt.Errorf("%w: it did not stop within %s", ErrDead, text.Duration(vm.o.Grace))
	}
	vm.finish(vm.dead)
	return vm.dead
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

// Dead reports whether the VM was abandoned. The caller must start a new one.
func (vm *VM) Dead() bool {
	vm.mu.Lock()
	defer vm.mu.Unlock()
	return vm.dead != nil
}

// Close ends pending calls and the programs that the script left in the background, and frees the
// engine's memory. It returns when the VM's goroutines have ended, or at once when the VM is dead.
// The error has the errors of the script that no call received, such as a promise rejected after
// its call had ended.
func (vm *VM) Close() error {
	vm.finish(ErrClosed)
	defer vm.programs.End(programGrace)
	vm.mu.Lock()
	dead := vm.dead
	if vm.eng != nil {
		vm.eng.interrupt()
	}
	vm.mu.Unlock()
	if dead != nil {
		return dead
	}
	select {
	case <-vm.done:
		vm.async.Wait()
		return errors.Join(vm.late...)
	case <-time.After(vm.o.Grace):
	}
	vm.mu.Lock()
	defer vm.mu.Unlock()
	return vm.abandon()
}

// post makes the loop run f. After the end of the loop it does nothing.
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
	if c.judge {
		vm.finish(ErrClosed)
	}
}
