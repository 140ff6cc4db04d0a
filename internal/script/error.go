package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// What can end a call besides the script's own errors; test with [errors.Is].
var (
	// ErrTimeout: the context of the call ended before its promise settled. The script was stopped if it was running.
	ErrTimeout = errors.New("the script did not finish in time")
	// ErrInterrupted: the script was stopped while it ran for another call whose time was over.
	ErrInterrupted = errors.New("the script was interrupted")
	// ErrNeverSettled: nothing is left to run that could settle the promise a call waits for.
	ErrNeverSettled = errors.New("promise never settled: nothing is left to run")
	// ErrMemory: the script wanted more memory than the limit.
	ErrMemory = errors.New("the script ran out of memory")
	// ErrDead: the engine did not react to being interrupted, or broke down; the VM was given up and a new one is needed.
	ErrDead = errors.New("the script engine was given up")
	// ErrClosed: the VM was closed before or during the call.
	ErrClosed = errors.New("the script engine is closed")
)

// Error is what a script threw. Its text is what Node prints first: the name and the message.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	// Stack is the text of the stack, header first, frames mapped to the user's files.
	Stack string `json:"stack,omitempty"`
	// Frames are the places in the user's files, innermost first; frames within node_modules come after the user's own.
	Frames []Position `json:"frames,omitempty"`
	// Code is the property code of errors that have one, like ERR_ASSERTION and ENOENT.
	Code string `json:"code,omitempty"`
	// IsAssertion says that the error is an AssertionError: a check that did not hold, not a crash.
	IsAssertion bool `json:"isAssertion,omitempty"`
	// Unhandled says that the error was not thrown to anybody: a promise was rejected that nothing waited for, or a
	// timer's callback threw.
	Unhandled bool `json:"unhandled,omitempty"`
	// Data are the own enumerable properties of the error as one JSON object, as far as they can be told in JSON. A
	// property whose key is a symbol made by Symbol.for("x") is found under "Symbol.for(x)".
	Data json.RawMessage `json:"data,omitempty"`
	// Cause is the error's cause if that is an error too.
	Cause *Error `json:"cause,omitempty"`

	kind  error  // one of the Err variables
	shown string // what util.inspect says, in programs that run like node's
}

func (e *Error) Error() string {
	switch {
	case e.Name == "":
		return e.Message
	case e.Message == "":
		return e.Name
	}
	return e.Name + ": " + e.Message
}

// Unwrap returns [ErrMemory] and the like for errors that the engine itself threw.
func (e *Error) Unwrap() error { return e.kind }

// Position is a place in a file; lines and columns count from 1, columns in UTF-16 units, as in Node.
type Position struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Function string `json:"function,omitempty"`
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// BuildError says why a module could not be bundled: everything that is wrong, in the order of the files.
type BuildError struct {
	Entry    string
	Messages []BuildMessage
}

// BuildMessage is one thing that is wrong with a source file.
type BuildMessage struct {
	// Position has no file when the message belongs to none, and columns in UTF-16 units.
	Position
	// Text is the message, Source the line it is about, Hint what the user can do.
	Text, Source, Hint string
}

func (e *BuildError) Error() string {
	var b strings.Builder
	for i, m := range e.Messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		if m.File != "" {
			b.WriteString(m.String())
			b.WriteString(": ")
		}
		b.WriteString(m.Text)
	}
	return b.String()
}

// Advice returns the hint of the first message that has one; see plumb.Hint.
func (e *BuildError) Advice() string {
	for _, m := range e.Messages {
		if m.Hint != "" {
			return m.Hint
		}
	}
	return ""
}
