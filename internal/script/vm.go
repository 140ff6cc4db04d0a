package script

import (
	"context"
	"encoding/json"
)

// VM is a program that was started: its module was evaluated, its functions can be called. It is safe for concurrent
// use; the script itself runs on one goroutine, as in Node.
type VM struct{}

// Start evaluates the program's module, top-level await included, in a VM of its own. ctx bounds the evaluation only.
// If the module throws, the error is an [*Error]. Afterwards globalThis.__main is the module's namespace.
func Start(ctx context.Context, p *Program, o Options) (*VM, error) { panic("not yet") }

// Call calls the function that an additional module registered as __entry[name] with the arguments as JSON, waits for
// its promise if it returns one, and returns its result as JSON; undefined is null. Several calls may be in flight: they
// interleave at await. When ctx ends, a call that waits ends with [ErrTimeout], and a script that runs is stopped. If
// the engine does not react within Options.Grace, the VM is given up: [VM.Dead] is true and every call fails with
// [ErrDead].
func (vm *VM) Call(ctx context.Context, name string, args ...any) (json.RawMessage, error) {
	panic("not yet")
}

// Dead reports whether the VM was given up; the caller starts a new one.
func (vm *VM) Dead() bool { panic("not yet") }

// Close ends what is in flight and frees the engine's memory. It returns when the VM's goroutine has ended, or at once
// when the VM is dead.
func (vm *VM) Close() error { panic("not yet") }

// Compile turns the source of an additional module into bytecode, which starts faster. It is bound to the engine's
// version: make it when the program is built or under go generate, with a test that makes it again.
func Compile(source string) ([]byte, error) { panic("not yet") }
