package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"modernc.org/quickjs"
	"modernc.org/quickjs/intl"

	"github.com/plumb-eval/plumb/internal/text"
)

// hostError is an error that the prelude throws in the form of a Node error.
type hostError struct {
	Name, Message, Code, Syscall, Path, Dest string
	Errno                                    int
	Data                                     json.RawMessage
}

func (e *hostError) Error() string { return e.Message }

// args are the arguments of a host call.
type args []any

// arg returns an argument, or the zero value if it is missing or has another type.
func arg[T any](a args, i int) T {
	var v T
	if i < len(a) {
		v, _ = a[i].(T)
	}
	return v
}

func (a args) str(i int) string { return arg[string](a, i) }

func (a args) bool(i int) bool { return arg[bool](a, i) }

func (a args) num(i int) float64 {
	if n, ok := arg[any](a, i).(int); ok {
		return float64(n)
	}
	return arg[float64](a, i)
}

func (a args) int(i int) int {
	n := a.num(i)
	if math.IsNaN(n) || n > math.MaxInt32 || n < math.MinInt32 {
		return 0
	}
	return int(n)
}

// host is the only function through which scripts call Go. It returns errors as data, so that the
// prelude can throw what Node throws.
func (vm *VM) host(in []any) (result any, err error) {
	a := args(in)
	op := a.str(0)
	defer func() {
		if r := recover(); r != nil { // a panic must not unwind through the engine
			result = thrown(fmt.Errorf("panic in host function %s: %v", op, r))
		}
	}()
	a = a[min(1, len(a)):]
	perform := func(context.Context) (any, error) { return vm.dispatch(op, a) } //nolint:contextcheck // it is vm.context()
	value, err := vm.learned(op, a, perform)(vm.context())
	if err != nil {
		return thrown(err), nil
	}
	if value == nil {
		return quickjs.Undefined{}, nil
	}
	return value, nil
}

// thrown encodes an error for the prelude.
func thrown(err error) map[string]any {
	out := map[string]any{"name": "Error", "message": err.Error()}
	var h *hostError
	var s *Error
	switch {
	case errors.As(err, &h):
		for key, value := range map[string]string{
			"name": h.Name, "message": h.Message, "code": h.Code, "syscall": h.Syscall, "path": h.Path, "dest": h.Dest,
		} {
			if value != "" {
				out[key] = value
			}
		}
		if h.Errno != 0 {
			out["errno"] = h.Errno
		}
		if h.Data != nil {
			out["data"] = string(h.Data)
		}
	case errors.As(err, &s):
		out["name"], out["message"] = s.Name, s.Message
		if s.Code != "" {
			out["code"] = s.Code
		}
		if s.Data != nil {
			out["data"] = string(s.Data)
		}
	}
	return map[string]any{"$error": out}
}

// dispatch performs one host call. A nil value becomes undefined; structured results are JSON text.
func (vm *VM) dispatch(op string, a args) (any, error) {
	switch op {
	case "settle":
		vm.settle(a.int(0), a.bool(1), a.str(2))
		return nil, nil
	case "uncaught":
		err := vm.decodeError(a.str(0))
		err.Unhandled = true
		vm.blame(vm.eng.owner, err)
		return nil, nil
	case "host":
		return vm.callHost(a.str(0), a.str(1))
	case "hostAsync":
		return nil, vm.startHost(a.int(0), a.str(1), a.str(2))
	case "async":
		return nil, vm.startAsync(a.int(0), a.str(1), a[2:])
	case "import":
		vm.startImport(a.int(0), a.str(1), a.str(2))
		return nil, nil
	case "resolve":
		return resolveFrom(a.str(0), a.str(1)), nil
	case "timer.set":
		vm.timers.set(a.int(0), milliseconds(a.num(1)), a.bool(2), vm.eng.owner)
		return nil, nil
	case "timer.clear":
		vm.timers.clear(a.int(0))
		return nil, nil
	case "timer.ref":
		vm.timers.ref(a.int(0), a.bool(1))
		return nil, nil
	case "immediate":
		vm.immediates = append(vm.immediates, immediate{a.int(0), vm.eng.owner})
		return nil, nil
	case "trace":
		return vm.trace(a.str(0), a.str(1), a.int(2), a.str(3)), nil
	case "frames":
		return jsonText(vm.frames(a.str(0), a.str(1), a.int(2), ""))
	case "map":
		return vm.mapText(a.str(0)), nil
	case "expression":
		return vm.expression(a.str(0)), nil
	case "intl":
		vm.patch(true)
		defer vm.patch(false)
		return nil, intl.Register(vm.eng.vm)
	case "patch":
		vm.patch(a.bool(0))
		return nil, nil
	}
	return vm.library(op, a)
}

// patch begins or ends the load of a module of the host, which may change objects of the language.
// Such a change is nobody's.
func (vm *VM) patch(begin bool) {
	if vm.shared == nil {
		return
	}
	if !begin {
		vm.patching--
	}
	if vm.patching == 0 && vm.changed == "" {
		if begin {
			vm.changed = vm.eng.changed(vm.shared)
		} else {
			vm.eng.update(vm.shared)
		}
	}
	if begin {
		vm.patching++
	}
}

func milliseconds(n float64) time.Duration {
	if !(n < math.MaxInt32) {
		return time.Millisecond
	}
	return time.Duration(n) * time.Millisecond
}

func jsonText(value any) (any, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func (vm *VM) settle(id int, ok bool, s string) {
	c := vm.calls[id]
	if c == nil || c.settled {
		return
	}
	c.settled = true
	if c == vm.loading {
		vm.loaded()
	}
	switch most := 2 * vm.share(); {
	case int64(len(s)) > most:
		c.err = fmt.Errorf("the result has %s; the limit is %s", text.Size(int64(len(s))), text.Size(most))
	case ok:
		c.result = json.RawMessage(s)
	default:
		c.err = vm.decodeError(s)
	}
}

// context returns the context of the call that is running in the script.
func (vm *VM) context() context.Context {
	if c := vm.eng.owner; c != nil && vm.calls[c.id] == c {
		return c.ctx
	}
	return vm.life
}

func (vm *VM) callHost(op, text string) (any, error) {
	f, in, err := hostCall(vm.o.Host, op, text)
	if err != nil {
		return nil, err
	}
	value, err := f(vm.context(), in)
	if err != nil {
		return nil, err
	}
	return jsonText(value)
}

func (vm *VM) startHost(id int, op, text string) error {
	f, in, err := hostCall(vm.o.Async, op, text)
	if err != nil {
		return err
	}
	vm.goAsync(id, op, func(ctx context.Context) (any, error) {
		value, err := f(ctx, in)
		if err != nil {
			return nil, err
		}
		return jsonText(value)
	})
	return nil
}

// hostCall returns the host function op and its arguments.
func hostCall(functions map[string]HostFunc, op, text string) (f HostFunc, in []json.RawMessage, err error) {
	if f = functions[op]; f == nil {
		return nil, nil, fmt.Errorf("unknown host function %q", op)
	}
	if err = json.Unmarshal([]byte(text), &in); err != nil {
		return nil, nil, fmt.Errorf("host function %s: %w", op, err)
	}
	return f, in, nil
}

// keep counts bytes that the host holds for the script, and reports whether their number is within
// the limit. Concurrent calls share the limit.
func (vm *VM) keep(n int) bool { return vm.held.Add(int64(n)) <= 4*vm.share() }

// goAsync runs f on its own goroutine and settles the promise id with the result.
func (vm *VM) goAsync(id int, what string, f func(context.Context) (any, error)) {
	owner := vm.eng.owner
	ctx, cancel := context.WithCancelCause(vm.context())
	stop := context.AfterFunc(vm.life, func() { cancel(context.Cause(vm.life)) })
	vm.waiting++
	if owner != nil {
		owner.started++
	}
	vm.async.Go(func() {
		defer cancel(nil)
		defer stop()
		value, err := func() (value any, err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("panic in host function %s: %v", what, r)
				}
			}()
			return f(ctx)
		}()
		text, _ := value.(string)
		if err == nil && !vm.keep(len(text)) {
			value, err = nil, fmt.Errorf("%s: results that the script has not read yet take too much memory", what)
		}
		vm.post(func() {
			vm.waiting--
			if owner != nil {
				owner.started--
			}
			vm.keep(-len(text))
			vm.turn(owner, func() error {
				if err != nil {
					text, _ := json.Marshal(thrown(err)["$error"])
					return vm.enter("resolve", id, false, string(text))
				}
				if value == nil {
					value = quickjs.Undefined{}
				}
				return vm.enter("resolve", id, true, value)
			})
		})
	})
}
