package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// Host is the world that suites and configs in code see. The zero value is an empty one.
type Host struct {
	// Stdout and Stderr take what the code prints; nil drops it.
	Stdout, Stderr io.Writer
	// Environ is the environment, as pairs NAME=value; nil is an empty one.
	Environ func() []string
	// Dir is the working directory of a config; "" is the config's own. A suite has the one that it was read from.
	Dir string
	// LoadTimeout limits how long a file may take to load; 0 means DefaultLoadTimeout.
	LoadTimeout time.Duration
	// AssertTimeout limits how long the checks of one session may take, the waits for a judge included; 0 means
	// DefaultAssertTimeout.
	AssertTimeout time.Duration
	// MemoryLimit is the most memory, in bytes, that the values of one file may take; 0 means 512 MiB.
	MemoryLimit int64
	// ReadOnly keeps the code from changing files and from starting programs.
	ReadOnly bool

	// grace is how long code may take to stop, in tests.
	grace time.Duration
}

// The time limits of code that a [Host] does not limit itself.
const (
	DefaultLoadTimeout   = 30 * time.Second
	DefaultAssertTimeout = 30 * time.Second
)

// codeExtensions are those of files that are executed.
func codeExtensions() []string { return []string{".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"} }

func isCode(name string) bool {
	return slices.Contains(codeExtensions(), strings.ToLower(filepath.Ext(name)))
}

// options returns the surroundings in which code is executed.
func (h Host) options(dir string) script.Options {
	o := script.Options{
		Dir: dir, MemoryLimit: h.MemoryLimit, Grace: h.grace,
		Policy:  script.Policy{ReadOnly: h.ReadOnly, NoExec: h.ReadOnly},
		Modules: lib.Modules(),
	}
	o.Host, o.Async = h.Calls(dir)
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

// Calls are the functions of Go that the module plumb calls in any code: host at once, and async in time. dir is where the
// code's relative paths begin.
func (h Host) Calls(dir string) (host, async map[string]script.HostFunc) {
	h.Dir = dir
	return map[string]script.HostFunc{"parseConfig": parseConfigCall}, map[string]script.HostFunc{"loadConfig": h.loadConfigCall}
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

// start executes a program. The error is what it threw, or that it did not end in time.
func (h Host) start(ctx context.Context, program *script.Program, o script.Options) (*script.VM, error) {
	limit := cmp.Or(h.LoadTimeout, DefaultLoadTimeout)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	vm, err := script.Start(limited, program, o)
	switch {
	case err == nil:
		return vm, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, script.ErrTimeout):
		return nil, plumb.WithHint(fmt.Errorf("it did not finish loading within %v", limit), "does it wait for something at the top level?")
	case errors.Is(err, script.ErrNeverSettled):
		return nil, plumb.WithHint(errors.New("it waits at the top level for a promise that nothing will settle"), "is a resolve never called?")
	}
	return nil, err
}

// build bundles the file at an absolute path with all that it imports.
func build(file string) (*script.Program, error) {
	names := map[string]bool{}
	for name := range lib.Modules() {
		names[name] = true
	}
	return script.Build(script.BuildOptions{Entry: file, Modules: names, Preload: []string{lib.Entry}})
}

// ExecOptions say in what surroundings [Exec] runs a script.
type ExecOptions struct {
	Args           []string
	Stdout, Stderr io.Writer
	Environ        []string
	// Dir is the working directory of the script.
	Dir string
}

// Exec runs the script in a file to its end, with the modules that a suite sees, and returns its exit code: 1 after an
// uncaught error, which is printed. An error says that the file could not be run at all; it is [Problems] when its source
// does not make sense.
func Exec(ctx context.Context, file string, o ExecOptions) (int, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", file, err)
	}
	program, err := build(abs)
	if err != nil {
		if problems := (places{abs, file}).thrown(err); problems != nil {
			return 0, problems
		}
		return 0, fmt.Errorf("run %s: %w", file, err)
	}
	options := Host{Stdout: o.Stdout, Stderr: o.Stderr, Environ: func() []string { return o.Environ }}.options(o.Dir)
	options.Args = o.Args
	code, err := script.Exec(ctx, program, options)
	if err != nil {
		return code, fmt.Errorf("run %s: %w", file, err)
	}
	return code, nil
}

// configExport runs a config in code and returns what it exports, without places. The code sees the variables of the .env
// file beside it, too.
func configExport(ctx context.Context, path string, h Host) (value, Problems) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return value{}, Problems{{Pos: plumb.Position{File: path}, Message: err.Error()}}
	}
	at := places{abs, path}
	program, err := build(abs)
	if err != nil {
		return value{}, at.problems(err)
	}
	options := h.options(cmp.Or(h.Dir, filepath.Dir(abs)))
	vars, err := DotEnv(filepath.Dir(abs), variable(options.Env))
	if err != nil {
		return value{}, at.problems(err)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		options.Env = append(options.Env, name+"="+vars[name])
	}
	vm, err := h.start(ctx, program, options)
	if err != nil {
		return value{}, at.problems(err)
	}
	defer func() { _ = vm.Close() }()
	limited, cancel := context.WithTimeout(ctx, DefaultLoadTimeout)
	defer cancel()
	var export struct {
		Config   json.RawMessage    `json:"config"`
		Problems []describedProblem `json:"problems"`
	}
	if err := call(limited, vm, &export, "readConfig"); err != nil {
		return value{}, at.problems(err)
	}
	var problems Problems
	for _, p := range export.Problems {
		problems = append(problems, p.problem(at))
	}
	tree, problem := parseJSONTree(path, export.Config)
	if problem != nil {
		problem.Pos.Line, problem.Pos.Column = 0, 0
		return value{}, append(problems, *problem)
	}
	return tree, problems
}

// variable looks up a variable in an environment.
func variable(env []string) func(string) string {
	return func(name string) string {
		for _, pair := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// call calls an entry of the module plumb and decodes the JSON text it gives.
func call(ctx context.Context, vm *script.VM, to any, name string, args ...any) error {
	raw, err := vm.Call(ctx, name, args...)
	if err != nil {
		return err
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("%s gave no text: %w", name, err)
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return fmt.Errorf("%s gave no JSON: %w", name, err)
	}
	return nil
}

// places names files as the user did.
type places struct {
	// origin is the absolute path of the file that the user named, and named is what they wrote.
	origin, named string
}

// file returns an absolute path as the user would write it: from where the named file was named.
func (p places) file(abs string) string {
	if abs == "" || p.named == "" || !filepath.IsAbs(abs) {
		return abs
	}
	rel, err := filepath.Rel(filepath.Dir(p.origin), abs)
	if err != nil {
		return abs
	}
	return filepath.Join(filepath.Dir(p.named), rel)
}

func (p places) position(s *script.Position) plumb.Position {
	if s == nil || s.File == "" {
		return plumb.Position{File: p.named}
	}
	return plumb.Position{File: p.file(s.File), Line: s.Line, Column: s.Column}
}

// source is a position of a verdict, or nil where there is none.
func (p places) source(s *script.Position) *plumb.Position {
	if s == nil || s.File == "" {
		return nil
	}
	return new(p.position(s))
}

// problems says why a file could not be loaded.
func (p places) problems(err error) Problems {
	if found := p.thrown(err); found != nil {
		return found
	}
	if problems, ok := errors.AsType[Problems](err); ok {
		return problems
	}
	return Problems{{Pos: plumb.Position{File: p.named}, Message: err.Error(), Hint: plumb.Hint(err)}}
}

// thrown returns what the engine says of a source or what the source threw, with its place; nil for other errors.
func (p places) thrown(err error) Problems {
	if e, ok := errors.AsType[*script.BuildError](err); ok {
		var problems Problems
		for _, m := range e.Messages {
			problems = append(problems, Problem{Pos: p.position(&m.Position), Message: m.Text, Hint: m.Hint})
		}
		return problems
	}
	if e, ok := errors.AsType[*script.Error](err); ok {
		problem := Problem{Pos: plumb.Position{File: p.named}, Message: e.Error()}
		if len(e.Frames) > 0 {
			problem.Pos = p.position(&e.Frames[0])
		}
		return Problems{problem}
	}
	return nil
}
