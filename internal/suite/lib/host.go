package lib

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/text"
)

// Host is the world that suites and configs in code see. The zero value is an empty one.
type Host struct {
	// Stdout and Stderr receive what the code prints; nil drops it.
	Stdout, Stderr io.Writer
	// Environ is the environment, as pairs NAME=value; nil is an empty one.
	Environ func() []string
	// Dir is the working directory of a config; "" is the config's own. A suite has the one that it
	// was read from.
	Dir string
	// LoadTimeout limits how long a file may take to load; 0 means 30 seconds.
	LoadTimeout time.Duration
	// AssertTimeout limits how long the checks of one session may take, the waits for a judge
	// included; 0 means DefaultAssertTimeout.
	AssertTimeout time.Duration
	// MemoryLimit is the most memory, in bytes, that the values of one file may take; 0 means 512
	// MiB.
	MemoryLimit int64
	// ReadOnly keeps the code from changing files and from starting programs.
	ReadOnly bool
	// Grace is how long code may take to stop; 0 is the engine's own limit.
	Grace time.Duration
}

// DefaultAssertTimeout is the time limit of checks that a [Host] does not limit.
const DefaultAssertTimeout = 30 * time.Second

const defaultLoadTimeout = 30 * time.Second

// JudgeLimit returns how long the checks of one session may take.
func (h Host) JudgeLimit() time.Duration { return cmp.Or(h.AssertTimeout, DefaultAssertTimeout) }

// Extensions returns the extensions of files that are executed.
func Extensions() []string { return []string{".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"} }

// IsCode reports whether a file is executed, judging by its name.
func IsCode(name string) bool {
	return slices.Contains(Extensions(), strings.ToLower(filepath.Ext(name)))
}

// Options returns the environment in which code is executed in a directory.
func (h Host) Options(dir string) script.Environment {
	o := script.Environment{
		Dir: dir, MemoryLimit: h.MemoryLimit, Grace: h.Grace,
		Policy:  script.Policy{ReadOnly: h.ReadOnly, NoExec: h.ReadOnly},
		Modules: Modules(),
	}
	if h.Environ != nil {
		o.Env = h.Environ()
	}
	// Two engines of one suite may print at the same time.
	lock := &sync.Mutex{}
	if h.Stdout != nil {
		o.Stdout = lockedWriter{lock, h.Stdout}
	}
	if h.Stderr != nil {
		o.Stderr = lockedWriter{lock, h.Stderr}
	}
	return o
}

// lockedWriter writes one text at a time.
type lockedWriter struct {
	lock *sync.Mutex
	to   io.Writer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.to.Write(p)
}

// Build bundles the file at an absolute path with everything that it imports.
func Build(file string) (*script.Program, error) { return build(file, entryName) }

func build(file, preload string) (*script.Program, error) {
	names := map[string]bool{}
	for name := range Modules() {
		names[name] = true
	}
	return script.Build(script.BuildOptions{Entry: file, Modules: names, Preload: []string{preload}})
}

// Start executes a program. The error is what the program threw, or that it did not end in time.
func (h Host) Start(ctx context.Context, program *script.Program, o script.Environment) (*script.VM, error) {
	return h.start(ctx, func(ctx context.Context) (*script.VM, error) { return script.Start(ctx, program, o) })
}

func (h Host) start(ctx context.Context, start func(context.Context) (*script.VM, error)) (*script.VM, error) {
	limit := cmp.Or(h.LoadTimeout, defaultLoadTimeout)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	vm, err := start(limited)
	switch {
	case err == nil:
		return vm, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case TimedOut(err):
		return nil, plumb.WithHint(fmt.Errorf("it did not finish loading within %s", text.Duration(limit)),
			"does it wait for something at the top level?")
	case errors.Is(err, script.ErrNeverSettled):
		return nil, plumb.WithHint(errors.New("it waits at the top level for a promise that nothing will settle"),
			"is a resolve never called?")
	}
	return nil, err
}

// Describe calls an entry that says something about a module, within the default time limit, and
// decodes the JSON text that it returns.
func Describe(ctx context.Context, vm *script.VM, to any, entry string, args ...any) error {
	limited, cancel := context.WithTimeout(ctx, defaultLoadTimeout)
	defer cancel()
	return decode(to, entry)(vm.Call(limited, entry, args...))
}

// decode decodes the JSON text that an entry returned.
func decode(to any, entry string) func(json.RawMessage, error) error {
	return func(raw json.RawMessage, err error) error {
		if err != nil {
			return err
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return fmt.Errorf("%s did not return text: %w", entry, err)
		}
		if err := json.Unmarshal([]byte(text), to); err != nil {
			return fmt.Errorf("%s did not return JSON: %w", entry, err)
		}
		return nil
	}
}
