package drift

import (
	"fmt"

	"github.com/plumb-eval/plumb"
)

// Replay feeds records, in the order of their time, day by day to the detectors of their streams. It
// keeps the records of the trailing days only.
type Replay struct {
	rules  Rules
	names  map[string]*Stream
	latest *Stream // that of the latest record; the next record is usually of the same one
	// Streams are in order of their first record.
	Streams []*Stream
}

// Stream is one stream of records: one panel.
type Stream struct {
	Name   string
	Alarms []Alarm
	// Status is that after the last day. Tested means that a test of the day level was
	// possible on some day.
	Status   Status
	Tested   bool
	possible bool
	panel    *panel
	day      int
	runs     map[runKey]*openRun
	latest   *openRun   // that of the latest record
	changed  []*openRun // since the last evaluation, in order
	capped   map[capKey]bool
	lastDrop int
	states   []state
	// alarmDay is the day of the first alarm of the latest change. uncompared means that the change is
	// not compared with the earlier states yet. returns has the results, by alarm day.
	alarmDay   int
	uncompared bool
	returns    map[int]Return
}

type runKey struct{ submitter, run string }

type capKey struct {
	submitter string
	day       int
}

// openRun is a run in the trailing days. One that the cap excludes has no answers.
type openRun struct {
	Run
	excluded, changed bool
}

// NewReplay returns a replay without records.
func NewReplay(rules Rules) *Replay {
	return &Replay{rules: rules, names: map[string]*Stream{}}
}

func newStream(name string, day int, rules Rules) *Stream {
	return &Stream{
		Name: name, panel: newPanel(rules), day: day, lastDrop: day,
		runs: map[runKey]*openRun{}, capped: map[capKey]bool{}, returns: map[int]Return{},
	}
}

// keep is the number of days that a stream remembers runs, in order to add later records to them.
const keep = 62

// Add takes one record. The records of one stream are in order of time; a record may belong to the
// day before the latest one.
func (r *Replay) Add(rec *Record) error {
	day := DayOf(rec.Time)
	s := r.latest
	if s == nil || s.Name != rec.Stream {
		s = r.stream(rec.Stream, day)
		r.latest = s
	}
	if day < s.day-1 {
		return plumb.WithHint(
			fmt.Errorf("stream %q: a record of %s follows one of %s", s.Name, Date(day).Format("2006-01-02"),
				Date(s.day).Format("2006-01-02")),
			"sort the records by ts",
		)
	}
	if day > s.day {
		s.advance(day)
	}
	s.add(rec, day)
	return nil
}

// stream returns the stream with a name.
func (r *Replay) stream(name string, day int) *Stream {
	s := r.names[name]
	if s == nil {
		s = newStream(name, day, r.rules)
		r.names[name] = s
		r.Streams = append(r.Streams, s)
	}
	return s
}

// add adds a record to its run.
func (s *Stream) add(rec *Record, day int) {
	run := s.latest
	if run == nil || run.ID != rec.Run || run.Submitter != rec.Submitter {
		run = s.run(rec, day)
		s.latest = run
	}
	if run.excluded {
		return
	}
	run.Answers = append(run.Answers, rec.Answer)
	if !run.changed {
		run.changed = true
		s.changed = append(s.changed, run)
	}
}

// run returns the run of a record. At most one run of each submitter counts on a day, the first one:
// many runs do not give a submitter more weight.
func (s *Stream) run(rec *Record, day int) *openRun {
	key := runKey{rec.Submitter, rec.Run}
	run := s.runs[key]
	if run != nil {
		return run
	}
	run = &openRun{Run: Run{ID: rec.Run, Submitter: rec.Submitter, Day: day}}
	s.runs[key] = run
	limit := capKey{rec.Submitter, day}
	run.excluded = s.capped[limit]
	s.capped[limit] = true
	if s.latest != nil && !run.excluded { // runs usually have the same number of answers
		run.Answers = make([]Answer, 0, len(s.latest.Answers))
	}
	return run
}

// advance evaluates the days before a day.
func (s *Stream) advance(day int) {
	for ; s.day < day; s.day++ {
		s.evaluate()
		if s.panel.Empty() {
			s.day = day
			break
		}
	}
	if day-s.lastDrop < 7 {
		return
	}
	s.lastDrop = day
	for key, run := range s.runs {
		if run.Day <= day-keep {
			delete(s.runs, key)
		}
	}
	for key := range s.capped {
		if key.day <= day-keep {
			delete(s.capped, key)
		}
	}
}

// evaluate tests the current day.
func (s *Stream) evaluate() {
	for _, run := range s.changed {
		run.changed = false
		s.panel.Add(run.Run)
	}
	s.changed = s.changed[:0]
	s.Alarms = append(s.Alarms, s.panel.Evaluate(s.day)...)
	s.observe()
	s.Tested = s.Tested || s.panel.Tested()
}

// Finish evaluates the last day of each stream, with the records so far.
func (r *Replay) Finish() {
	for _, s := range r.Streams {
		s.finish()
	}
}

// finish evaluates the last day.
func (s *Stream) finish() {
	s.evaluate()
	s.Status = s.panel.Status()
}
