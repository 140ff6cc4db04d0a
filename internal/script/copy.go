package script

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// original is the evaluation of a module: its code, and what the module learned from the world
// meanwhile. Copies of the VM learn the same, so they are in the same state afterwards.
type original struct {
	main   *bundle
	random uint64   // the state of Math.random at the start
	files  sync.Map // the *bundle of each import(expression), by the expression and its file

	mu      sync.Mutex
	code    []byte                 // the bytecode of main; nil before the first copy
	answers map[question][]*answer // in their order
}

// question is the hash of a call of the host with its arguments.
type question [sha256.Size]byte

// answer is the result of a call of the host. It is there when done is closed.
type answer struct {
	done  chan struct{}
	value any
	err   error
}

// Copy starts a VM in the state in which vm was when its module had been evaluated. It evaluates the
// module again, and the module learns what it learned then: files, times, random numbers and the
// results of programs. What it wrote, printed and started is not repeated. What it started runs
// until vm is closed.
func (vm *VM) Copy(ctx context.Context, o Environment) (*VM, error) {
	if vm.life.Err() != nil && !vm.Dead() {
		return nil, ErrClosed
	}
	c := newVM(o, vm.original)
	c.began, c.given = vm.began, map[question]int{}
	return c.start(ctx)
}

// evaluate runs the module for a call.
func (vm *VM) evaluate(c *call) error {
	if vm.dir == "" {
		vm.dir = filepath.Dir(vm.original.main.program.Entry)
	}
	vm.bundles = append(vm.bundles, vm.original.main)
	if vm.exec == nil {
		vm.loading = c
		random := &(*lib.TJSContext)(unsafe.Add(nil, vm.eng.context)).Frandom_state
		if vm.given == nil {
			vm.original.random = *random
		}
		*random = vm.original.random
	}
	run, err := vm.runMain()
	if err != nil {
		return err
	}
	defer run.Free()
	return vm.enter("start", c.id, run)
}

// loaded ends the evaluation of the module.
func (vm *VM) loaded() {
	vm.loading = nil
	(*lib.TJSContext)(unsafe.Add(nil, vm.eng.context)).Frandom_state = rand.Uint64() | 1
}

// runMain runs the code of the module, and returns a promise of its namespace as property m. Copies
// share its bytecode, which loads faster.
func (vm *VM) runMain() (quickjs.Value, error) {
	name, l := bundleName(0), vm.original
	source := string(l.main.program.Code)
	if vm.given == nil {
		return vm.eng.eval(name, source)
	}
	l.mu.Lock()
	code := l.code
	l.mu.Unlock()
	if code == nil {
		var err error
		if code, err = vm.eng.compile(name, source); err != nil {
			return quickjs.Value{}, err
		}
		l.mu.Lock()
		l.code = code
		l.mu.Unlock()
	}
	return vm.eng.vm.EvalBytecodeValue(code)
}

// learned returns f, a call of the host, so that a copy of the VM gets its result. In a copy it
// returns a function with the result that the original got.
func (vm *VM) learned(op string, a args, f func(context.Context) (any, error)) func(context.Context) (any, error) {
	if vm.loading == nil || vm.eng.owner != vm.loading || !worldly(op) {
		return f
	}
	text, err := json.Marshal([]any{op, a})
	if err != nil {
		return f
	}
	q, l := question(sha256.Sum256(text)), vm.original
	l.mu.Lock()
	defer l.mu.Unlock()
	if vm.given != nil {
		n := vm.given[q]
		vm.given[q]++
		if n >= len(l.answers[q]) { // the module did something else this time
			return f
		}
		return l.answers[q][n].wait
	}
	if l.answers == nil {
		l.answers = map[question][]*answer{}
	}
	mine := &answer{done: make(chan struct{})}
	l.answers[q] = append(l.answers[q], mine)
	return func(ctx context.Context) (any, error) {
		defer close(mine.done)
		mine.value, mine.err = f(ctx)
		return mine.value, mine.err
	}
}

func (a *answer) wait(ctx context.Context) (any, error) {
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// worldly reports whether a call of the host reads or changes the world.
func worldly(op string) bool {
	switch op {
	case "process.run", "crypto.uuid", "crypto.random", "write", "date", "now", "memory", "resolve":
		return true
	}
	return strings.HasPrefix(op, "fs.")
}

// now is the time for timers. In a copy that loads, the next timer is due when nothing else is left:
// the original has waited for it.
func (vm *VM) now() time.Time {
	now := time.Now()
	if at, ok := vm.timers.next(); ok && vm.loading != nil && vm.given != nil && vm.waiting == 0 && at.After(now) {
		return at
	}
	return now
}
