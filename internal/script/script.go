// Package script runs TypeScript and JavaScript without Node. It bundles a module with all its
// imports (esbuild), runs the bundle in its own engine (QuickJS, no cgo) with the globals and the
// part of Node's library that suites use, drives the event loop, and maps every error to the line
// of the user's file. It has no knowledge of suites: everything that scripts import beyond Node's
// modules is an additional module of the caller, who also supplies the host functions that the
// module calls.
//
// The three steps are [Build], [Start] and [VM.Call]. [Exec] combines the last two for a program
// that runs to its end. A program is self-contained and can be stored as JSON. Scripts are the
// user's code and run with the user's permissions. The engine prevents a runaway script from
// stopping the process, but it is not a sandbox. [Policy] restricts scripts in one place.
package script

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Program is a bundled module: one piece of JavaScript with its source map. It contains all that is
// needed to run it and to show lines of the user's files. So a run directory can store it as JSON,
// and a later process can run it without the sources. Only import(expression) with a computed
// argument reads files at run time.
type Program struct {
	// Entry is the absolute path of the user's module.
	Entry string `json:"entry"`
	// Code is the JavaScript, Map its source map, which includes the sources.
	Code []byte `json:"code"`
	Map  []byte `json:"map"`
	// Inputs are the absolute paths of all files in the bundle, sorted.
	Inputs []string `json:"inputs"`
	// Imports are the names of the built-in and additional modules in the bundle, sorted and
	// without "node:".
	Imports []string `json:"imports"`
	// AsyncContext is set when async functions were rewritten for AsyncLocalStorage.
	AsyncContext bool `json:"asyncContext,omitempty"`
}

// HostFunc is a Go function that an additional module calls by name. Arguments and result are JSON.
// An error becomes a thrown Error with its message. If it is an [*Error], the thrown error keeps
// name, code and data.
type HostFunc func(ctx context.Context, args []json.RawMessage) (any, error)

// Environment is that of a program. The zero value works: no additional modules, no
// environment variables, no output, the permissions of the process.
type Environment struct {
	// Modules are the additional modules by name: JavaScript in CommonJS form (with module,
	// exports, require, __host, __hostAsync, __entry and __lib in scope), or the result of
	// [Compile]. The engine evaluates each once, at its first import.
	//
	// __host(op, ...args) calls a function of Host and returns its result. __hostAsync(op, ...args)
	// calls one of Async and returns a promise. __entry[name] = function registers a function for
	// [VM.Call].
	Modules map[string]string
	// Host functions run on the VM's goroutine while the script waits. They must be fast and must
	// not call the VM.
	Host map[string]HostFunc
	// Async functions run on their own goroutines and settle a promise. Their context ends when the
	// call that started them ends, if it is known, and when the VM closes.
	Async map[string]HostFunc

	// Dir is the result of process.cwd() and the base of relative paths. The default is the
	// directory of the program.
	Dir string
	// Env has lines NAME=value: the environment of the script and of the processes that it starts.
	Env []string
	// Args become process.argv[2] and following.
	Args []string
	// Stdout and Stderr receive the script's output; nil discards it. Only one goroutine writes at
	// a time.
	Stdout, Stderr io.Writer

	// MemoryLimit is the maximum memory of the script's values in bytes; 0 means 512 MiB.
	MemoryLimit int64
	// Grace is how long an interrupted script may take before the VM is abandoned; 0 means 2 s.
	Grace  time.Duration
	Policy Policy
}

// Policy restricts scripts. The zero value allows what Node allows.
type Policy struct {
	// ReadOnly forbids changes to the file system.
	ReadOnly bool
	// NoExec forbids starting processes.
	NoExec bool
}
