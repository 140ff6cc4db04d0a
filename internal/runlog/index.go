package runlog

import (
	"fmt"
	"slices"
	"sync"

	"github.com/plumb-eval/plumb"
)

// Index finds the sessions of one execution in a run log without reading the rest. It uses 16 bytes
// per event. [Continue] fills the zero value; until the run has ended, only its
// reporters may use it. Its methods may be called concurrently.
type Index struct {
	log *Log
	run *plumb.Run

	mu      sync.Mutex // guards the rest
	last    []int32    // by execution: the number of its last entry, or 0
	entries []entry
	file    Lines // opened when it is needed
}

// entry is the position of an event. previous is the number of the entry before it of the same
// execution, counted from 1, or 0.
type entry struct {
	previous, length int32
	offset           int64
}

// Index reads the log once and returns its index, with the state of the run. Close it after use.
func (l *Log) Index() (*Index, error) {
	x := &Index{log: l, run: &plumb.Run{}}
	_, err := x.fill()
	return x, err
}

// fill adds the events of the log.
func (x *Index) fill() (extent, error) {
	return x.log.fold(x.run, nil, func(ev plumb.Event, line []byte, at int64) error {
		return x.add(ev, at, len(line))
	})
}

// add records the position of an event in the log.
func (x *Index) add(ev plumb.Event, offset int64, length int) error {
	if ev.Type != plumb.EventSessionFinished && ev.Type != plumb.EventSessionJudged {
		return nil
	}
	n, err := x.run.Index(ev.Case, ev.Runner)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last = append(x.last, make([]int32, max(0, n+1-len(x.last)))...)
	x.entries = append(x.entries, entry{x.last[n], int32(length), offset})
	x.last[n] = int32(len(x.entries))
	return nil
}

// Run returns the state of the run. The caller must not change it.
func (x *Index) Run() *plumb.Run { return x.run }

// Sessions calls yield with the session-finished and session-judged events of one execution, in the
// order of the log.
func (x *Index) Sessions(caseID, runnerID string, yield func(plumb.Event) error) error {
	_, err := x.lines(caseID, runnerID, nil, func(line []byte) error {
		ev, err := x.log.decode(line, x.run.Info.Share)
		if err != nil {
			return fmt.Errorf("read session of case %s on %s: %w", caseID, runnerID, err)
		}
		return yield(ev)
	})
	return err
}

// Stored calls yield with the same events as Sessions, whose reports and verdicts are only copied. It
// appends their bytes to buffer, and returns it.
func (x *Index) Stored(caseID, runnerID string, buffer []byte, yield func(*Stored) error) ([]byte, error) {
	return x.lines(caseID, runnerID, buffer, func(line []byte) error {
		s, err := x.log.stored(line)
		if err != nil {
			return fmt.Errorf("read session of case %s on %s: %w", caseID, runnerID, err)
		}
		return yield(s)
	})
}

// lines calls fn with the lines of the events of the sessions of one execution, which it appends to
// buffer.
func (x *Index) lines(caseID, runnerID string, buffer []byte, fn func(line []byte) error) ([]byte, error) {
	n, err := x.run.Index(caseID, runnerID)
	if err != nil {
		return buffer, err
	}
	file, found, err := x.find(n)
	if err != nil {
		return buffer, err
	}
	for _, e := range slices.Backward(found) {
		from := len(buffer)
		buffer = slices.Grow(buffer, int(e.length))[:from+int(e.length)]
		if _, err := file.ReadAt(buffer[from:], e.offset); err != nil {
			return buffer, fmt.Errorf("read the run log: %w", err)
		}
		if err := fn(slices.Clip(buffer[from:])); err != nil {
			return buffer, err
		}
	}
	return buffer, nil
}

// Close closes the log, if it is open.
func (x *Index) Close() error {
	if x.file == nil {
		return nil
	}
	f := x.file
	x.file = nil
	return f.Close()
}

// find returns the log and the entries of an execution, the last one first.
func (x *Index) find(execution int) (Lines, []entry, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		var err error
		if x.file, err = x.log.Open(); err != nil {
			return nil, nil, fmt.Errorf("read the run log: %w", err)
		}
	}
	var found []entry
	if execution < len(x.last) {
		for i := x.last[execution]; i > 0; i = x.entries[i-1].previous {
			found = append(found, x.entries[i-1])
		}
	}
	return x.file, found, nil
}

// Has reports whether the log has a session of an execution.
func (x *Index) Has(execution int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return execution < len(x.last) && x.last[execution] > 0
}
