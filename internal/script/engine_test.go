package script

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"modernc.org/quickjs"
)

// TestLayout: the wrapper has the fields that the engine reads by reflection.
func TestLayout(t *testing.T) {
	e, err := newEngine(defaultMemory)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	v, err := e.eval("name.js", "1 + 1")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := v.Any(); err != nil || n != 2 {
		t.Errorf("got %v, %v", n, err)
	}
	if _, err = e.eval("name.js", "\nthrow new Error('x')"); err == nil {
		t.Error("no error")
	} else if q, ok := errors.AsType[*quickjs.Error](err); !ok || q.Stack != "    at <eval> (name.js:2:16)\n" {
		t.Errorf("stack %#v", err)
	}
	if e.used() < 1000 {
		t.Errorf("used %d bytes", e.used())
	}
}

// TestRejectionTracker: a rejected promise is heard of until it is handled.
func TestRejectionTracker(t *testing.T) {
	e, err := newEngine(defaultMemory)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	v, err := e.eval("a.js", "globalThis.p = Promise.reject(7); Promise.reject(8); 0")
	if err != nil {
		t.Fatal(err)
	}
	v.Free()
	if len(e.rejected) != 2 {
		t.Errorf("%d rejections", len(e.rejected))
	}
	if v, err = e.eval("a.js", "p.catch(() => {}); 0"); err != nil {
		t.Fatal(err)
	}
	v.Free()
	left := e.takeRejections()
	if len(left) != 1 {
		t.Fatalf("%d rejections left", len(left))
	}
	value := e.value(left[0].reason)
	if n, err := value.Any(); err != nil || n != 8 {
		t.Errorf("reason %v, %v", n, err)
	}
	e.free(left[0].promise)
	e.free(left[0].reason)
}

// TestFault: a fault in the engine, which is C made Go, costs the VM and not the process.
func TestFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ts")
	if err := os.WriteFile(path, []byte("export {}"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := Build(BuildOptions{Entry: path})
	if err != nil {
		t.Fatal(err)
	}
	vm, err := Start(t.Context(), p, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	address := uintptr(0x123456789000)
	vm.post(func() { *(*byte)(unsafe.Add(nil, address)) = 1 })
	if _, err := vm.Call(t.Context(), "anything"); !errors.Is(err, ErrDead) {
		t.Errorf("Call: %v", err)
	}
	if !vm.Dead() {
		t.Error("the VM is not dead")
	}
	if err := vm.Close(); !errors.Is(err, ErrDead) {
		t.Errorf("Close: %v", err)
	}
}
