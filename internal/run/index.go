package run

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/plumb-eval/plumb"
)

// Index finds the sessions of one execution in a run log without reading the rest. It holds 16 bytes an event. The zero
// value can be filled by a run, see [Options]; until the run has ended only its reporters may use it. It can be asked from
// several goroutines at once.
type Index struct {
	path    string
	run     *plumb.Run
	entries []entry

	mu     sync.Mutex // for what is made when it is first needed
	sorted bool
	file   *os.File
}

type entry struct {
	execution int32
	length    int32
	offset    int64
}

// OpenIndex reads the log of the run directory at path once and returns its index, with the state of the run. Close it after use.
func OpenIndex(path string) (*Index, error) {
	x := &Index{path: path, run: &plumb.Run{}}
	_, err := scan(path, func(line []byte, at int64) error {
		ev, err := decodeSummary(line)
		if err != nil {
			return err
		}
		if err := x.run.Apply(ev); err != nil {
			return err
		}
		return x.add(ev, at, len(line))
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// add takes in where an event of the log is.
func (x *Index) add(ev plumb.Event, offset int64, length int) error {
	if ev.Type != plumb.EventSessionFinished && ev.Type != plumb.EventSessionJudged {
		return nil
	}
	n, err := x.run.Index(ev.Case, ev.Runner)
	if err != nil {
		return err
	}
	x.entries = append(x.entries, entry{int32(n), int32(length), offset})
	x.sorted = false
	return nil
}

// Run returns the state of the run. It must not be changed.
func (x *Index) Run() *plumb.Run { return x.run }

// Sessions calls yield with the session-finished and session-judged events of one execution, in the order of the log.
func (x *Index) Sessions(caseID, runnerID string, yield func(plumb.Event) error) error {
	n, err := x.run.Index(caseID, runnerID)
	if err != nil {
		return err
	}
	file, err := x.ready()
	if err != nil {
		return err
	}
	first, found := slices.BinarySearchFunc(x.entries, n, func(e entry, n int) int { return cmp.Compare(int(e.execution), n) })
	if !found {
		return nil
	}
	for _, e := range x.entries[first:] {
		if int(e.execution) != n {
			break
		}
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

// ready sorts the index and opens the log, if that is still to be done.
func (x *Index) ready() (*os.File, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.sorted {
		slices.SortStableFunc(x.entries, func(a, b entry) int { return cmp.Compare(a.execution, b.execution) })
		x.sorted = true
	}
	if x.file == nil {
		var err error
		if x.file, err = os.Open(filepath.Join(x.path, EventsFile)); err != nil {
			return nil, fmt.Errorf("read the run log: %w", err)
		}
	}
	return x.file, nil
}

// pending is what a log says of an execution that has not finished: its sessions so far, by repetition.
type pending map[int][]attempt

// attempt is one session of a repetition. A nil judgement means that it was obtained but not judged yet. What this process
// obtained is here as it came, for the judgement; what was read from the log has no secrets.
type attempt struct {
	session   int
	report    *plumb.SessionReport
	stored    *plumb.SessionReport // the report as the log has it, without secrets
	failure   *plumb.Failure
	judgement *plumb.Judgement
	workspace *workspace
}

// recoverLog reads the log of an earlier process: the state of the run, and the sessions of the executions that did not
// finish and, with again, of those that could not be measured. A torn last line is cut off the file. A run that has no event
// yet is the zero Run. x gets all that it can find.
func recoverLog(path string, again bool, x *Index) (r *plumb.Run, open map[int]pending, whole extent, err error) {
	r, open = &plumb.Run{}, map[int]pending{}
	x.path, x.run = path, r
	whole, err = scan(path, func(line []byte, at int64) error {
		ev, err := decodeSummary(line)
		if err != nil {
			return err
		}
		if err := r.Apply(ev); err != nil {
			return err
		}
		if err := x.add(ev, at, len(line)); err != nil {
			return err
		}
		switch ev.Type {
		case plumb.EventSessionFinished, plumb.EventSessionJudged:
			n, err := r.Index(ev.Case, ev.Runner)
			if err != nil {
				return err
			}
			if ev, err = decode(path, bytes.Clone(line)); err != nil {
				return err
			}
			if open[n] == nil {
				open[n] = pending{}
			}
			open[n].add(ev)
		case plumb.EventExecutionFinished:
			n, err := r.Index(ev.Case, ev.Runner)
			if err != nil {
				return err
			}
			if !again || ev.Result.Outcome != plumb.OutcomeError {
				delete(open, n)
			}
		default: // the others are of no execution, or only announce
		}
		return nil
	})
	if err != nil {
		return nil, nil, whole, err
	}
	if whole.torn {
		if err := os.Truncate(filepath.Join(path, EventsFile), whole.end); err != nil {
			return nil, nil, whole, fmt.Errorf("cut the torn last line off the run log: %w", err)
		}
	}
	return r, open, whole, nil
}

func (p pending) add(ev plumb.Event) {
	if ev.Type == plumb.EventSessionFinished {
		p[ev.Repetition] = append(p[ev.Repetition], attempt{session: ev.Session, report: ev.Report, stored: ev.Report, failure: ev.Failure})
		return
	}
	for i := range p[ev.Repetition] {
		if a := &p[ev.Repetition][i]; a.session == ev.Session {
			a.judgement = ev.Judgement
			return
		}
	}
}
