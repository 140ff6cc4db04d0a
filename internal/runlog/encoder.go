package runlog

import (
	"fmt"
	"io"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/encode"
)

// Encoder writes a log that is complete in itself: each line with its checksum, and each session in
// its line, whatever its size.
type Encoder struct {
	to   io.Writer
	sum  checksum
	json encode.Encoder
	line []byte
	out  []byte
}

// NewEncoder returns an encoder of a new log.
func NewEncoder(to io.Writer) *Encoder { return &Encoder{to: to} }

// Line returns ev as a line of the log, without its checksum and its line feed. The next call reuses
// its memory.
func (e *Encoder) Line(ev *plumb.Event) ([]byte, error) {
	if cap(e.line) > mostKept {
		e.line = nil
	}
	var err error
	if e.line, err = e.json.Append(e.line[:0], ev); err != nil {
		return nil, fmt.Errorf("encode event %s of case %s: %w", ev.Type, ev.Case, err)
	}
	return e.line, nil
}

// SealedLength returns the length of a line in the log: with its checksum.
func SealedLength(line []byte) int { return len(line) - len("}") + crcLength }

// Write appends a line.
func (e *Encoder) Write(line []byte) error {
	if cap(e.out) > mostKept {
		e.out = nil
	}
	e.out = e.sum.seal(e.out[:0], line)
	_, err := e.to.Write(e.out)
	return err
}
