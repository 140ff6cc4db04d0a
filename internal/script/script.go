// Package script runs TypeScript and JavaScript without Node: it bundles a module with all it imports (esbuild), runs
// the bundle in an engine of its own (QuickJS, no cgo) with the globals and the part of Node's library that suites use,
// drives its event loop, and maps every error to the line of the user's file. It knows nothing of suites: what scripts
// import beyond Node's modules are additional modules that the caller supplies, together with the host functions they
// call.
//
// The three steps are [Build], [Start] and [VM.Call]; [Exec] is the last two for a program that runs to its end. A
// program is self-contained and can be kept as JSON. Scripts are the user's code and have the user's rights; the engine
// keeps a runaway script from stopping the process, it is no sandbox. [Policy] takes rights away in one place.
package script

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Program is a bundled module: one piece of JavaScript with its source map. It holds all it needs to run and to show
// lines of the user's files, so a run directory can keep it as JSON and a later process can run it without the sources.
// Only import(expression) with an argument that is not a literal reads files at run time.
type Program struct {
	// Entry is the absolute path of the user's module.
	Entry string `json:"entry"`
	// Code is what runs, Map its source map with the contents of the sources.
	Code []byte `json:"code"`
	Map  []byte `json:"map"`
	// Inputs are the absolute paths of all files in the bundle, sorted.
	Inputs []string `json:"inputs"`
	// Imports are the names of the built-in and additional modules that the bundle imports, sorted and without "node:".
	Imports []string `json:"imports"`
	// AsyncContext says that async functions were rewritten so that AsyncLocalStorage sees through await.
	AsyncContext bool `json:"asyncContext,omitempty"`
}

// HostFunc is a Go function that an additional module calls by name. The arguments are JSON, the result is marshalled.
// An error becomes a thrown Error with its message; if it is an [*Error], name, code and data are kept.
type HostFunc func(ctx context.Context, args []json.RawMessage) (any, error)

// Options say in what surroundings a program runs. The zero value works: no additional modules, an empty environment, no
// output, the rights of the process.
type Options struct {
	// Modules are the additional modules by name: JavaScript in CommonJS form (it sees module, exports, require, __host,
	// __hostAsync, __entry and __lib), or what [Compile] made of it. Each is evaluated once, when it is first imported.
	//
	// __host(op, ...args) calls a function of Host and returns its result, __hostAsync(op, ...args) calls one of Async
	// and returns a promise. __entry[name] = function makes a function known to [VM.Call].
	Modules map[string]string
	// Host are called on the VM's goroutine while the script waits: they must be quick, and must not call the VM.
	Host map[string]HostFunc
	// Async are called on goroutines of their own, and settle a promise. Their context ends when the call that started
	// them ends, if that is known, and when the VM closes.
	Async map[string]HostFunc

	// Dir is what process.cwd() returns and relative paths begin with; without one it is the directory of the program.
	Dir string
	// Env are lines NAME=value, the environment of the script and of the processes it starts.
	Env []string
	// Args become process.argv from its third element on.
	Args []string
	// Stdout and Stderr receive what the script prints; nil discards it. Writes come from one goroutine at a time.
	Stdout, Stderr io.Writer

	// MemoryLimit is the most memory in bytes the script's values may take; 0 means 512 MiB.
	MemoryLimit int64
	// Grace is how long a script that was told to stop may take until its VM is given up; 0 means 2 s.
	Grace  time.Duration
	Policy Policy
}

// Policy takes rights away from scripts. The zero value is what Node allows.
type Policy struct {
	// ReadOnly forbids to change the file system.
	ReadOnly bool
	// NoExec forbids to start processes.
	NoExec bool
	// Read and Write, if set, decide for each absolute path whether it may be read or changed; an error says why not, and
	// the script sees it as EACCES.
	Read, Write func(path string) error
}
