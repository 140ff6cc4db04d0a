package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The errors that can end a call besides errors of the script; test with [errors.Is].
var (
	// ErrTimeout: the context of the call ended before its promise settled. The script was stopped
	// if it was running.
	ErrTimeout = errors.New("the script did not finish in time")
	// ErrInterrupted: the script was stopped while it ran for another call that had timed out.
	ErrInterrupted = errors.New("the script was interrupted")
	// ErrNeverSettled: a call waits for a promise that no remaining work can settle.
	ErrNeverSettled = errors.New("promise never settled: nothing is left to run")
	// ErrMemory: the script exceeded the memory limit.
	ErrMemory = errors.New("the script ran out of memory")
	// ErrDead: the engine did not react to an interrupt, or crashed. The VM is unusable; start a
	// new one.
	ErrDead = errors.New("the script engine stopped responding")
	// ErrLeft: a call of [VM.Judge] left a timer behind that never stops.
	ErrLeft = errors.New("the script left a timer running that never stops")
	// ErrShared: a call of [VM.Judge] changed what all calls share. The text of the error says what,
	// in words that follow "cannot".
	ErrShared = errors.New("the script changed what all calls share")
	// ErrClosed: the VM was closed before or during the call.
	ErrClosed = errors.New("the script engine is closed")
)

// sharedError says what a call changed.
type sharedError struct{ what string }

func (e *sharedError) Error() string { return e.what }
func (e *sharedError) Unwrap() error { return ErrShared }

// Error is an error that a script threw. Its text is what Node prints first: the name and the
// message.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	// Stack is the stack as text: the header, then frames mapped to the user's files.
	Stack string `json:"stack,omitempty"`
	// Frames are the positions in the user's files, innermost first. Frames within node_modules
	// come after the user's own.
	Frames []Position `json:"frames,omitempty"`
	// Code is the property code of errors that have it, such as ERR_ASSERTION and ENOENT.
	Code string `json:"code,omitempty"`
	// IsAssertion is set for an AssertionError: a check failed, it did not crash.
	IsAssertion bool `json:"isAssertion,omitempty"`
	// Unhandled is set when no caller received the error: nothing waited for a rejected promise, or
	// a timer's callback threw.
	Unhandled bool `json:"unhandled,omitempty"`
	// Data has the own enumerable properties of the error as a JSON object, as far as JSON can
	// represent them. A property with the key Symbol.for("x") appears as "Symbol.for(x)".
	Data json.RawMessage `json:"data,omitempty"`
	// Cause is the error's cause if it is an error.
	Cause *Error `json:"cause,omitempty"`

	kind  error  // one of the Err variables
	shown string // the text of util.inspect, in programs that run as with node
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

// Unwrap returns [ErrMemory] or a similar error for errors of the engine itself.
func (e *Error) Unwrap() error { return e.kind }

// Position is a place in a file. Lines and columns count from 1, columns in UTF-16 units, as in
// Node.
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

// BuildError lists the reasons why a module could not be bundled, in the order of the files.
type BuildError struct {
	Entry    string
	Messages []BuildMessage
}

// BuildMessage is one problem in a source file.
type BuildMessage struct {
	// Position has no file when the message is not about a file. Columns are in UTF-16 units.
	Position
	// Text is the message, Source the line in question, Hint what the user can do.
	Text, Source, Hint string
}

func (e *BuildError) Error() string {
	lines := make([]string, len(e.Messages))
	for i, m := range e.Messages {
		lines[i] = m.Text
		if m.File != "" {
			lines[i] = m.String() + ": " + m.Text
		}
	}
	return strings.Join(lines, "\n")
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
