package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/files"
)

// Index finds the sessions of one execution in a run log without reading the rest. It uses 16 bytes
// per event. A run can fill the zero value, see [Options]; until the run has ended, only its
// reporters may use it. Its methods may be called concurrently.
type Index struct {
	path string
	run  *plumb.Run

	mu      sync.Mutex // guards the rest
	last    []int32    // by execution: the number of its last entry, or 0
	entries []entry
	file    *os.File
}

// entry is the position of an event. previous is the number of the entry before it of the same
// execution, counted from 1, or 0.
type entry struct {
	previous, length int32
	offset           int64
}

// OpenIndex reads the log of the run directory at path once and returns its index, with the state
// of the run. Close it after use.
func OpenIndex(path string) (*Index, error) {
	x := &Index{path: path, run: &plumb.Run{}}
	_, err := fold(path, x.run, nil, func(ev plumb.Event, line []byte, at int64) error {
		return x.add(ev, at, len(line))
	})
	return x, err
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
	if more := n + 1 - len(x.last); more > 0 {
		x.last = append(x.last, make([]int32, more)...)
	}
	x.entries = append(x.entries, entry{x.last[n], int32(length), offset})
	x.last[n] = int32(len(x.entries))
	return nil
}

// Run returns the state of the run. The caller must not change it.
func (x *Index) Run() *plumb.Run { return x.run }

// Sessions calls yield with the session-finished and session-judged events of one execution, in the
// order of the log.
func (x *Index) Sessions(caseID, runnerID string, yield func(plumb.Event) error) error {
	n, err := x.run.Index(caseID, runnerID)
	if err != nil {
		return err
	}
	file, found, err := x.find(n)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(found) {
		line := make([]byte, e.length)
		if _, err := file.ReadAt(line, e.offset); err != nil {
			return fmt.Errorf("read the run log: %w", err)
		}
		ev, err := decode(x.path, line)
		if err != nil {
			return fmt.Errorf("read session of case %s on %s: %w", caseID, runnerID, err)
		}
		if err := yield(ev); err != nil {
			return err
		}
	}
	return nil
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
func (x *Index) find(execution int) (*os.File, []entry, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		var err error
		if x.file, err = files.Open(filepath.Join(x.path, EventsFile)); err != nil {
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

// pending holds the sessions so far of an execution that is not finished, by repetition.
type pending map[int][]session

// session is one session of a repetition. A nil judgement means that it is not judged yet. A
// session that this process performed holds the original report for the judgement; one that was
// read from the log has no secrets.
type session struct {
	number    int
	report    *plumb.SessionReport
	stored    *plumb.SessionReport // the report as the log has it, without secrets
	failure   *plumb.Failure
	judgement *plumb.Judgement
	workspace *workspace
}

// recoverLog reads the log of an earlier process and returns the state of the run. It removes an
// incomplete last line from the file. If the log has no event, it returns the zero Run. It fills x.
func recoverLog(path string, x *Index) (r *plumb.Run, whole extent, err error) {
	r = &plumb.Run{}
	x.path, x.run = path, r
	whole, err = fold(path, r, nil, func(ev plumb.Event, line []byte, at int64) error {
		return x.add(ev, at, len(line))
	})
	if err != nil {
		return nil, whole, err
	}
	if whole.torn {
		if err := os.Truncate(filepath.Join(path, EventsFile), whole.end); err != nil {
			return nil, whole, fmt.Errorf("remove the incomplete last line of the run log: %w", err)
		}
	}
	return r, whole, nil
}

// earlier returns the sessions of an execution that the log has.
func (x *Index) earlier(execution int) (pending, error) {
	if !x.has(execution) {
		return nil, nil
	}
	found := pending{}
	caseID, runnerID := x.run.At(execution)
	err := x.Sessions(caseID, runnerID, func(ev plumb.Event) error {
		found.add(ev)
		return nil
	})
	return found, err
}

// has reports whether the log has a session of an execution.
func (x *Index) has(execution int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return execution < len(x.last) && x.last[execution] > 0
}

func (p pending) add(ev plumb.Event) {
	if ev.Type == plumb.EventSessionFinished {
		p[ev.Repetition] = append(
			p[ev.Repetition], session{number: ev.Session, report: ev.Report, stored: ev.Report, failure: ev.Failure},
		)
		return
	}
	for i := range p[ev.Repetition] {
		if s := &p[ev.Repetition][i]; s.number == ev.Session {
			s.judgement = ev.Judgement
			return
		}
	}
}
