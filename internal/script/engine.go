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

// maxStack is the maximum depth of calls in scripts, in slots of the engine. Node allows about
// 11,000 frames; Go overflows at about 60,000 slots.
const maxStack = 20_000

// engine is one QuickJS context and the only code that uses quickjs. All methods except interrupt
// belong to one goroutine.
//
// Work-around: the wrapper modernc.org/quickjs has no tracker for unhandled rejections, no file
// names for evaluated sources and no access to single jobs. So the engine reads the wrapper's
// pointers by reflection and calls the underlying library. go.mod pins both versions, and newEngine
// checks the layout. This may go when the wrapper offers the three functions
// (https://gitlab.com/cznic/quickjs).
type engine struct {
	vm      *quickjs.VM
	tls     *libc.TLS
	runtime uintptr
	context uintptr

	stop atomic.Bool // read by the interrupt handler
	hit  bool        // the handler interrupted a script since the last clear
	full bool        // memory was refused at some point

	// owner is the call for which the script runs now. owners are the calls of the queued jobs, in
	// order.
	owner  *call
	owners []*call
	tail   uintptr // the last queued job that owners includes

	rejected map[lib.TJSValue]rejection
	seq      int // of the last rejection

	language map[lib.TJSAtom]bool // the names that the global object has without the prelude
	// values and atoms are kept alive for the snapshots of what scripts share.
	values []lib.TJSValue
	atoms  []lib.TJSAtom

	keep []any // functions whose addresses the engine holds
}

// rejection is a rejected promise that nothing has handled yet. The engine holds both values.
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

var errLayout = errors.New("this version of modernc.org/quickjs has an unexpected memory layout")

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
		return 0
	}
	lib.XJS_SetInterruptHandler(e.tls, e.runtime, e.pointer(interrupt), 0)
	lib.XJS_SetHostPromiseRejectionTracker(e.tls, e.runtime, e.pointer(e.track), 0)
	e.watch()
	e.language = e.names()
	return e, nil
}

// watch records that memory was refused. The engine throws null when there is none left for an error,
// which a script can do, too.
func (e *engine) watch() {
	functions := &(*lib.TJSRuntime)(unsafe.Add(nil, e.runtime)).Fmalloc_ctx.Fmf
	malloc := *(*func(*libc.TLS, uintptr, lib.Tsize_t) uintptr)(unsafe.Pointer(&functions.Fjs_malloc))
	realloc := *(*func(*libc.TLS, uintptr, uintptr, lib.Tsize_t) uintptr)(unsafe.Pointer(&functions.Fjs_realloc))
	functions.Fjs_malloc = e.pointer(func(tls *libc.TLS, state uintptr, size lib.Tsize_t) uintptr {
		p := malloc(tls, state, size)
		e.full = e.full || p == 0
		return p
	})
	functions.Fjs_realloc = e.pointer(func(tls *libc.TLS, state, old uintptr, size lib.Tsize_t) uintptr {
		p := realloc(tls, state, old, size)
		e.full = e.full || p == 0 && size > 0
		return p
	})
}

// pointer returns the address under which the library calls a Go function, and keeps the function
// alive.
func (e *engine) pointer(f any) uintptr {
	e.keep = append(e.keep, f)
	return (*[2]uintptr)(unsafe.Pointer(&f))[1]
}

// track receives each promise that is rejected without a handler, and each such promise that is
// handled later.
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

// interrupt stops the running script, from any goroutine. The script ends within 10,000 loop
// iterations, without running catch or finally.
func (e *engine) interrupt() { e.stop.Store(true) }

// clear makes the engine usable after an interrupt and reports whether there was one.
func (e *engine) clear() bool {
	e.stop.Store(false)
	hit := e.hit
	e.hit = false
	if hit {
		lib.XJS_SetUncatchableException(e.tls, e.context, 0)
	}
	return hit
}

// eval runs source as a global script with a file name, and returns its completion value, which the
// caller frees.
func (e *engine) eval(file, source string) (quickjs.Value, error) { return e.read(file, source, 0) }

// compile returns the bytecode of a global script. What [quickjs.VM.EvalBytecodeValue] returns for it
// is the script's completion value.
func (e *engine) compile(file, source string) ([]byte, error) {
	function, err := e.read(file, source, lib.MJS_EVAL_FLAG_COMPILE_ONLY)
	if err != nil {
		return nil, err
	}
	defer function.Free()
	const word = int(unsafe.Sizeof(uintptr(0)))
	size := e.tls.Alloc(word)
	defer e.tls.Free(word)
	code := lib.XJS_WriteObject(e.tls, e.context, size, (*jsValue)(unsafe.Pointer(&function)).v, lib.MJS_WRITE_OBJ_BYTECODE)
	if code == 0 {
		return nil, e.exception()
	}
	defer lib.Xjs_free(e.tls, e.context, code)
	length := *(*lib.Tsize_t)(unsafe.Add(nil, size))
	return slices.Clone(unsafe.Slice((*byte)(unsafe.Add(nil, code)), length)), nil
}

func (e *engine) read(file, source string, flags int) (quickjs.Value, error) {
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
	v := lib.XJS_Eval(e.tls, e.context, text, lib.Tsize_t(len(source)), name, int32(quickjs.EvalGlobal|flags))
	if lib.XJS_HasException(e.tls, e.context) != 0 {
		return quickjs.Value{}, e.exception()
	}
	return e.value(v), nil
}

// value wraps a value of the library. Freeing the result frees v.
func (e *engine) value(v lib.TJSValue) quickjs.Value {
	w := jsValue{e.vm, v}
	return *(*quickjs.Value)(unsafe.Pointer(&w))
}

// exception returns and clears the pending exception.
func (e *engine) exception() error {
	v := e.value(lib.XJS_GetException(e.tls, e.context))
	defer v.Free()
	return quickjs.ErrorFromValue(v)
}

// runJobs runs the queued jobs and the jobs that they queue, until none remain or the script is
// interrupted. A job runs for the call that was running when it was queued, so a promise's reaction
// belongs to the call that settled the promise. runJobs calls turn before each job with that call.
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
		case r < 0: // a job that throws rejects its promise, or was interrupted
			lib.XFreeValue(e.tls, e.context, lib.XJS_GetException(e.tls, e.context))
		}
		e.adopt()
	}
}

// adopt assigns the jobs queued since its last call to the running call.
func (e *engine) adopt() {
	head := e.runtime + unsafe.Offsetof(lib.TJSRuntime{}.Fjob_list)
	last := e.tail // as long as any known job is queued, this one is
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

// takeRejections returns the rejections that still have no handler, oldest first. The caller frees
// the reasons.
func (e *engine) takeRejections() []rejection {
	if len(e.rejected) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Values(e.rejected), func(a, b rejection) int { return a.seq - b.seq })
	clear(e.rejected)
	return all
}

func (e *engine) free(v lib.TJSValue) { lib.XFreeValue(e.tls, e.context, v) }

// used returns the bytes that the script's values occupy.
func (e *engine) used() int64 {
	return int64((*lib.TJSRuntime)(unsafe.Add(nil, e.runtime)).Fmalloc_ctx.Fmalloc_state.Fmalloc_size)
}

func (e *engine) close() error {
	for _, r := range e.takeRejections() {
		e.free(r.promise)
		e.free(r.reason)
	}
	e.release()
	return e.vm.Close()
}
