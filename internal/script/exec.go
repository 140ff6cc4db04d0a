package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
)

// process is a program that runs to its end as with node.
type process struct {
	begun  bool // the module's evaluation was posted, so an idle loop is the end
	exited bool // process.exit was called, or an uncaught error ended it
	code   int
}

var errExited = errors.New("the script ended itself")

// fail prints an uncaught error and ends the execution.
func (x *process) fail(vm *VM, err error) {
	if x.exited {
		return
	}
	x.exited, x.code = true, 1
	if vm.o.Stderr != nil {
		printUncaught(vm.o.Stderr, err)
	}
	vm.eng.interrupt()
	vm.finish(errExited)
}

// leave runs the listeners of process's event "exit" when no work remains, and reports whether that
// is still so afterwards.
func (x *process) leave(vm *VM) bool {
	if !x.exited {
		x.exited = true
		vm.turn(nil, func() error { return vm.enter("exit", x.code) })
	}
	return true
}

// printUncaught prints an error as Node does: position, source line, stack, properties, version.
func printUncaught(w io.Writer, err error) {
	var e *Error
	if !errors.As(err, &e) {
		fmt.Fprintf(w, "Error: %v\n", err)
		return
	}
	if len(e.Frames) > 0 {
		fmt.Fprintf(w, "%s:%d\n\n", e.Frames[0].File, e.Frames[0].Line)
	}
	text := cmp.Or(e.shown, e.Stack)
	if text == "" {
		text = "Uncaught " + e.Error()
	}
	fmt.Fprintln(w, text)
}

// Exec runs a program to its end, as `node file.ts` does: the module with its top-level await, then
// the event loop until no work remains. It prints an uncaught error to Stderr as Node does. The
// exit code is 1 after an uncaught error, 13 if the module waits for a promise that never settles,
// otherwise the value of process.exit or process.exitCode. The error is nil unless the program
// could not run at all or ctx ended.
func Exec(ctx context.Context, p *Program, o Environment) (exitCode int, err error) {
	x := &process{}
	vm := newVM(o, &original{main: newBundle(p)})
	vm.exec = x
	vm.launch(ctx)
	_, err = vm.run(ctx, func(c *call) error { x.begun = true; return vm.evaluate(c) })
	_, threw := errors.AsType[*Error](err)
	if err == nil || threw || errors.Is(err, ErrClosed) {
		select { // the loop ends by itself when no work remains, the script exits, or an error is uncaught
		case <-vm.done:
			err = nil
		case <-ctx.Done():
			err = timeout(ctx)
		}
	}
	closed := vm.Close()
	switch {
	case errors.Is(err, ErrNeverSettled):
		if o.Stderr != nil {
			fmt.Fprintf(o.Stderr, "Warning: Detected unsettled top-level await at %s\n", p.Entry)
		}
		return 13, nil
	case err == nil && vm.Dead():
		return 1, closed
	case err != nil:
		return 1, err
	}
	return x.code, nil
}
