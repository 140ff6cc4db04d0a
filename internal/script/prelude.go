package script

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// The prelude contains the globals and built-in modules of scripts. Its TypeScript sources are in
// prelude and lib. prelude.bin has them as bytecode of the engine, which starts ten times faster
// than source. The bytecode works only in the engine version that created it; a test creates it
// again and compares.
//
//go:generate env UPDATE=1 go test -run ^TestPreludeIsFresh$ .
//go:embed prelude.bin
var preludeBin string

// preludeIndex is the head of prelude.bin. The file has four bytes with the length of the head, the
// head as JSON, then the pieces.
type preludeIndex struct {
	// Engine is the version of QuickJS that created the bytecode.
	Engine string
	// Pieces has the offset and length of each piece by name. "core" comes first; the others are
	// modules.
	Pieces map[string][2]int
}

//nolint:gochecknoglobals // read once, never changed
var readPrelude = sync.OnceValues(func() (map[string]string, error) {
	n := int(binary.BigEndian.Uint32([]byte(preludeBin[:4])))
	var index preludeIndex
	if err := json.Unmarshal([]byte(preludeBin[4:4+n]), &index); err != nil {
		return nil, fmt.Errorf("read the prelude: %w", err)
	}
	if index.Engine != quickjs.Version() {
		return nil, fmt.Errorf("the prelude was compiled for QuickJS %s, but this is %s: run go generate ./internal/script",
			index.Engine, quickjs.Version())
	}
	pieces := make(map[string]string, len(index.Pieces))
	for name, at := range index.Pieces {
		pieces[name] = preludeBin[4+n+at[0]:][:at[1]]
	}
	return pieces, nil
})

// moduleHead and moduleTail turn a CommonJS module into a function. The head has no newline, so
// line numbers do not change.
const (
	moduleHead = "(function(module,exports,require,__plumb,__host,__hostAsync,__entry){"
	moduleTail = "\n})"
	coreHead   = "(function(module,exports,raw,load){"

	// bytecodeMark starts additional modules that Compile created.
	bytecodeMark = "\x00plumb bytecode "
)

// boot evaluates the core of the prelude.
func (vm *VM) boot() error {
	pieces, err := readPrelude()
	if err != nil {
		return err
	}
	vm.own(nil)
	defer func() {
		vm.mu.Lock()
		vm.busy = false
		vm.mu.Unlock()
	}()
	e := vm.eng.vm
	if err := e.RegisterHostFunc("__raw", vm.host); err != nil {
		return err
	}
	if err := e.RegisterFunc("__load", vm.load, false); err != nil {
		return err
	}
	core, err := e.EvalBytecodeValue([]byte(pieces["core"]))
	if err != nil {
		return err
	}
	defer core.Free()
	start, err := vm.eng.eval("<boot>",
		`(core) => { const m = {exports: {}}; core(m, m.exports, __raw, __load);
		delete globalThis.__raw; delete globalThis.__load; return m.exports }`)
	if err != nil {
		return err
	}
	defer start.Free()
	exports, err := start.CallValue(quickjs.UndefinedValue, core)
	if err != nil {
		return err
	}
	defer exports.Free()
	vm.entry = map[string]quickjs.Value{}
	for _, name := range []string{"start", "call", "fire", "resolve", "describe", "exit"} {
		atom, err := e.NewAtom(name)
		if err != nil {
			return err
		}
		f, err := exports.GetPropertyValue(atom)
		if err != nil {
			return err
		}
		vm.entry[name] = f
	}
	return nil
}

// load returns the factory of a built-in or additional module. The engine cannot throw here, so
// load reports a failure as a function that throws.
func (vm *VM) load(name string) quickjs.Value {
	v, err := vm.factory(name)
	if err == nil {
		return v
	}
	text, _ := json.Marshal(err.Error()) //nolint:errchkjson // a string
	v, err = vm.eng.eval("<load>",
		"() => { throw Object.assign(new Error("+string(text)+"), {code: 'MODULE_NOT_FOUND'}) }")
	if err != nil {
		return vm.eng.vm.NewInt(0)
	}
	return v
}

func (vm *VM) factory(name string) (quickjs.Value, error) {
	if source, ok := vm.o.Modules[name]; ok {
		code, compiled := strings.CutPrefix(source, bytecodeMark)
		if !compiled {
			return vm.eng.eval("plumb:"+name, moduleHead+source+moduleTail)
		}
		version, code, _ := strings.Cut(code, "\x00")
		if version != quickjs.Version() {
			return quickjs.Value{}, fmt.Errorf("module %s was compiled for QuickJS %s, but this is %s", name, version,
				quickjs.Version())
		}
		return vm.eng.vm.EvalBytecodeValue([]byte(code))
	}
	if i, ok := strings.CutPrefix(name, "bundle:"); ok {
		return vm.runImport(i)
	}
	pieces, err := readPrelude()
	if err != nil {
		return quickjs.Value{}, err
	}
	code, ok := pieces[name]
	if !ok || name == "core" {
		return quickjs.Value{}, fmt.Errorf("there is no module %q for scripts", name)
	}
	return vm.eng.vm.EvalBytecodeValue([]byte(code))
}

// Compile turns the source of an additional module into bytecode, which starts faster. The bytecode
// works only with the same engine version: create it at build time or with go generate, with a test
// that creates it again.
func Compile(source string) ([]byte, error) {
	code, err := compile(moduleHead + source + moduleTail)
	if err != nil {
		return nil, err
	}
	return append([]byte(bytecodeMark+quickjs.Version()+"\x00"), code...), nil
}

// compile creates bytecode without file names and lines, which distinguishes the prelude's frames
// from the user's.
func compile(source string) ([]byte, error) {
	e, err := newEngine(defaultMemory)
	if err != nil {
		return nil, err
	}
	defer e.close()
	const stripDebug, stripSource = 2, 1
	lib.XJS_SetStripInfo(e.tls, e.runtime, stripDebug|stripSource)
	code, err := e.compile("", source)
	if err != nil {
		return nil, fmt.Errorf("compile a script module: %w", err)
	}
	return code, nil
}
