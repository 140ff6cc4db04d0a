package run

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plumb-eval/plumb"
)

// Index finds the sessions of one execution in a run log without reading the rest. It holds 16 bytes an event.
type Index struct {
	path    string
	run     *plumb.Run
	entries []entry
}

type entry struct {
	execution int32
	length    int32
	offset    int64
}

// OpenIndex reads the log of the run directory at path once and returns its index, with the state of the run.
func OpenIndex(path string) (*Index, error) {
	x := &Index{path: path, run: &plumb.Run{}}
	_, _, err := scan(path, 0, func(line []byte, at int64) error {
		ev, err := decodeSummary(line)
		if err != nil {
			return err
		}
		if err := x.run.Apply(ev); err != nil {
			return err
		}
		if ev.Type == plumb.EventSessionFinished || ev.Type == plumb.EventSessionJudged {
			n, err := x.run.Index(ev.Case, ev.Runner)
			if err != nil {
				return err
			}
			x.entries = append(x.entries, entry{int32(n), int32(len(line)), at})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(x.entries, func(a, b entry) int { return cmp.Compare(a.execution, b.execution) })
	return x, nil
}

// Run returns the state of the run. It must not be changed.
func (x *Index) Run() *plumb.Run { return x.run }

// Sessions calls yield with the session-finished and session-judged events of one execution, in the order of the log.
func (x *Index) Sessions(caseID, runnerID string, yield func(plumb.Event) error) error {
	n, err := x.run.Index(caseID, runnerID)
	if err != nil {
		return err
	}
	first, found := slices.BinarySearchFunc(x.entries, n, func(e entry, n int) int { return cmp.Compare(int(e.execution), n) })
	if !found {
		return nil
	}
	f, err := os.Open(filepath.Join(x.path, EventsFile))
	if err != nil {
		return fmt.Errorf("read the run log: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read from
	for _, e := range x.entries[first:] {
		if int(e.execution) != n {
			break
		}
		line := make([]byte, e.length)
		if _, err := f.ReadAt(line, e.offset); err != nil {
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

// pending is what a log says of an execution that has not finished: its sessions so far, by repetition.
type pending map[int][]attempt

// attempt is one session of a repetition. A nil judgement means that it was obtained but not judged yet.
type attempt struct {
	session   int
	report    *plumb.SessionReport
	failure   *plumb.Failure
	judgement *plumb.Judgement
}

// recoverLog reads the log of an earlier process: the state of the run, and the sessions of the executions that did not
// finish and, with again, of those that could not be measured. A torn last line is cut off the file; torn says that there was one. A run
// that has no event yet is the zero Run.
func recoverLog(path string, again bool) (r *plumb.Run, open map[int]pending, torn bool, err error) {
	r, open = &plumb.Run{}, map[int]pending{}
	end, torn, err := scan(path, 0, func(line []byte, _ int64) error {
		ev, err := decodeSummary(line)
		if err != nil {
			return err
		}
		if err := r.Apply(ev); err != nil {
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
		}
		return nil
	})
	if err != nil {
		return nil, nil, false, err
	}
	if torn {
		if err := os.Truncate(filepath.Join(path, EventsFile), end); err != nil {
			return nil, nil, false, fmt.Errorf("cut the torn last line off the run log: %w", err)
		}
	}
	return r, open, torn, nil
}

func (p pending) add(ev plumb.Event) {
	if ev.Type == plumb.EventSessionFinished {
		p[ev.Repetition] = append(p[ev.Repetition], attempt{session: ev.Session, report: ev.Report, failure: ev.Failure})
		return
	}
	for i := range p[ev.Repetition] {
		if a := &p[ev.Repetition][i]; a.session == ev.Session {
			a.judgement = ev.Judgement
			return
		}
	}
}
