package script

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// maxStack is the depth of calls in scripts, in the engine's slots; Node allows about 11,000 frames, and Go gives up at
// about 60,000 slots.
const maxStack = 20_000

// engine is one QuickJS context: the only place that knows quickjs. All methods but interrupt belong to one goroutine.
//
// The wrapper modernc.org/quickjs lacks a tracker of unhandled rejections, names for evaluated files and a look at
// single jobs, so the engine reads the wrapper's pointers by reflection and calls the library below it for those. Both
// versions are pinned, and newEngine checks the layout.
type engine struct {
	vm      *quickjs.VM
	tls     *libc.TLS
	runtime uintptr
	context uintptr

	stop atomic.Bool // asked by the interrupt handler
	hit  bool        // the handler said yes since the last clear
	full bool        // most of the memory was in use at some time since the last clear

	// owner is the call on whose behalf the script runs now; owners are those of the queued jobs, in the queue's order.
	owner  *call
	owners []*call
	tail   uintptr // the last queued job that owners counts

	rejected map[lib.TJSValue]rejection
	seq      int // of the last rejection

	keep []any // functions whose addresses the engine holds
}

// rejection is a rejected promise that nobody has looked at yet. Both values are held.
type rejection struct {
	seq             int
	promise, reason lib.TJSValue
	owner           *call
}

// jsValue mirrors quickjs.Value.
type jsValue struct {
	vm *quickjs.VM
	v  lib.TJSValue
}

var errLayout = errors.New("this version of modernc.org/quickjs has another layout than script expects")

func newEngine(memory int64) (_ *engine, err error) {
	defer func() {
		if r := recover(); r != nil { // reflection on another layout
			err = fmt.Errorf("%w: %v", errLayout, r)
		}
	}()
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("create a script engine: %w", err)
	}
	if reflect.TypeFor[jsValue]().Size() != reflect.TypeFor[quickjs.Value]().Size() {
		return nil, errLayout
	}
	state := reflect.ValueOf(vm).Elem().FieldByName("state")
	runtime := state.FieldByName("runtime").Elem()
	e := &engine{
		vm:       vm,
		tls:      (*libc.TLS)(runtime.FieldByName("tls").UnsafePointer()),
		runtime:  uintptr(runtime.FieldByName("cRuntime").Uint()),
		context:  uintptr(state.FieldByName("cContext").Uint()),
		rejected: map[lib.TJSValue]rejection{},
	}
	vm.SetWTF8(true)
	vm.SetMaxStackSize(maxStack)
	vm.SetMemoryLimit(uintptr(memory))
	vm.SetGCThreshold(4 << 20)

	interrupt := func(*libc.TLS, uintptr, uintptr) int32 {
		if e.stop.Load() {
			e.hit = true
			return 1
		}
		e.full = e.full || e.used() > memory/4*3
		return 0
	}
	lib.XJS_SetInterruptHandler(e.tls, e.runtime, e.pointer(interrupt), 0)
	lib.XJS_SetHostPromiseRejectionTracker(e.tls, e.runtime, e.pointer(e.track), 0)
	return e, nil
}

// pointer returns the address by which the library calls a Go function, and keeps the function alive.
func (e *engine) pointer(f any) uintptr {
	e.keep = append(e.keep, f)
	return (*[2]uintptr)(unsafe.Pointer(&f))[1]
}

// track hears from the engine of each promise that is rejected while nothing handles it, and of each such promise that
// is handled later.
func (e *engine) track(tls *libc.TLS, ctx uintptr, promise, reason lib.TJSValue, handled int32, _ uintptr) {
	if handled == 0 {
		lib.XDupValue(tls, ctx, promise)
		lib.XDupValue(tls, ctx, reason)
		e.seq++
		e.rejected[promise] = rejection{e.seq, promise, reason, e.owner}
		return
	}
	if r, ok := e.rejected[promise]; ok {
		delete(e.rejected, promise)
		lib.XFreeValue(tls, ctx, r.promise)
		lib.XFreeValue(tls, ctx, r.reason)
	}
}

// interrupt asks the script that runs to stop, from any goroutine; it ends within 10,000 loop edges, without running
// catch or finally.
func (e *engine) interrupt() { e.stop.Store(true) }

// clear makes the engine usable after an interrupt, and reports whether one hit.
func (e *engine) clear() bool {
	e.stop.Store(false)
	hit := e.hit
	e.hit, e.full = false, false
	if hit {
		lib.XJS_SetUncatchableException(e.tls, e.context, 0)
	}
	return hit
}

// eval runs source as a global script with a file name, and returns its completion value, which the caller frees.
func (e *engine) eval(file, source string) (quickjs.Value, error) {
	name, err := libc.CString(file)
	if err != nil {
		return quickjs.Value{}, ErrMemory
	}
	defer libc.Xfree(e.tls, name)
	text, err := libc.CString(source)
	if err != nil {
		return quickjs.Value{}, ErrMemory
	}
	defer libc.Xfree(e.tls, text)
	v := lib.XJS_Eval(e.tls, e.context, text, lib.Tsize_t(len(source)), name, int32(quickjs.EvalGlobal))
	if lib.XJS_HasException(e.tls, e.context) != 0 {
		return quickjs.Value{}, e.exception()
	}
	return e.value(v), nil
}

// value gives the wrapper's form to a value of the library; whoever frees it frees v.
func (e *engine) value(v lib.TJSValue) quickjs.Value {
	w := jsValue{e.vm, v}
	return *(*quickjs.Value)(unsafe.Pointer(&w))
}

// exception takes the pending exception.
func (e *engine) exception() error {
	v := e.value(lib.XJS_GetException(e.tls, e.context))
	defer v.Free()
	return quickjs.ErrorFromValue(v)
}

// runJobs runs the queued jobs, and those they queue, until none is left or the script was interrupted. A job runs for
// the call that was running when it was queued, so that a promise's reaction belongs to whoever settled the promise.
// turn is called before each job with that call.
func (e *engine) runJobs(turn func(*call)) {
	e.adopt()
	for !e.hit {
		if len(e.owners) == 0 {
			return
		}
		next := e.owners[0]
		e.owners = e.owners[1:]
		if next != e.owner {
			turn(next)
			e.owner = next
		}
		switch r := lib.XJS_ExecutePendingJob(e.tls, e.runtime, 0); {
		case r == 0:
			e.owners = e.owners[:0]
			return
		case r < 0: // a job that throws is a promise's own business, or was interrupted
			lib.XFreeValue(e.tls, e.context, lib.XJS_GetException(e.tls, e.context))
		}
		e.adopt()
	}
}

// adopt counts the jobs queued since it was last called as those of the running call.
func (e *engine) adopt() {
	head := e.runtime + unsafe.Offsetof(lib.TJSRuntime{}.Fjob_list)
	last := e.tail // still queued as long as any known job is
	if len(e.owners) == 0 {
		last = head
	}
	for p := link(last).Fnext; p != head; p = link(p).Fnext {
		e.owners = append(e.owners, e.owner)
		last = p
	}
	e.tail = last
}

func link(p uintptr) *lib.Tlist_head { return (*lib.Tlist_head)(unsafe.Add(nil, p)) }

// takeRejections returns what was rejected and still has no handler, oldest first; the caller frees the reasons.
func (e *engine) takeRejections() []rejection {
	if len(e.rejected) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Values(e.rejected), func(a, b rejection) int { return a.seq - b.seq })
	clear(e.rejected)
	return all
}

func (e *engine) free(v lib.TJSValue) { lib.XFreeValue(e.tls, e.context, v) }

// used returns the bytes that the script's values take.
func (e *engine) used() int64 {
	return int64((*lib.TJSRuntime)(unsafe.Add(nil, e.runtime)).Fmalloc_ctx.Fmalloc_state.Fmalloc_size)
}

func (e *engine) close() error {
	for _, r := range e.takeRejections() {
		e.free(r.promise)
		e.free(r.reason)
	}
	return e.vm.Close()
}
