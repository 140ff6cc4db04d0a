package drift

import (
	"fmt"
	"maps"

	"github.com/plumb-eval/plumb"
)

// Replay feeds records, in the order of their time, day by day to the detectors of their streams. It
// keeps the records of the trailing days only.
type Replay struct {
	rules  Rules
	names  map[string]*intake
	latest *intake // that of the latest record; the next record is usually of the same one
	// Streams are in order of their first record.
	Streams []*Stream
}

// intake makes the runs of a stream from its records.
type intake struct {
	*Stream
	runs    map[runKey]*openRun // of the trailing days
	latest  *openRun            // that of the latest record
	changed []*openRun          // since the last evaluation, in order
	first   firsts
}

type runKey struct{ submitter, run string }

// openRun is a run in the trailing days. One that does not count has no answers.
type openRun struct {
	Run
	excluded, changed bool
}

// NewReplay returns a replay without records.
func NewReplay(rules Rules) *Replay {
	return &Replay{rules: rules, names: map[string]*intake{}}
}

// Add takes one record. The records of one stream are in order of time; a record may belong to the
// day before the latest one.
func (r *Replay) Add(rec *Record) error {
	day := DayOf(rec.Time)
	in := r.latest
	if in == nil || in.Name != rec.Stream {
		in = r.intake(rec.Stream, day)
		r.latest = in
	}
	if day < in.day-1 {
		return plumb.WithHint(
			fmt.Errorf("stream %q: a record of %s follows one of %s", in.Name, Date(day).Format("2006-01-02"),
				Date(in.day).Format("2006-01-02")),
			"sort the records by ts",
		)
	}
	if day > in.day {
		in.flush()
		in.advance(day)
		in.forget()
	}
	in.add(rec, day)
	return nil
}

// intake returns the stream with a name.
func (r *Replay) intake(name string, day int) *intake {
	in := r.names[name]
	if in == nil {
		in = &intake{Stream: newStream(r.rules), runs: map[runKey]*openRun{}, first: firsts{}}
		in.Name, in.day, in.recall = name, day, in.between
		r.names[name] = in
		r.Streams = append(r.Streams, in.Stream)
	}
	return in
}

// add adds a record to its run.
func (in *intake) add(rec *Record, day int) {
	run := in.latest
	if run == nil || run.ID != rec.Run || run.Submitter != rec.Submitter {
		run = in.run(rec, day)
		in.latest = run
	}
	if run.excluded {
		return
	}
	run.Answers = append(run.Answers, rec.Answer)
	if !run.changed {
		run.changed = true
		in.changed = append(in.changed, run)
	}
}

// run returns the run of a record.
func (in *intake) run(rec *Record, day int) *openRun {
	key := runKey{rec.Submitter, rec.Run}
	run := in.runs[key]
	if run != nil {
		return run
	}
	run = &openRun{Run: Run{ID: rec.Run, Submitter: rec.Submitter, Day: day}}
	in.runs[key] = run
	run.excluded = !in.first.counts(rec.Submitter, day)
	if in.latest != nil && !run.excluded { // runs usually have the same number of answers
		run.Answers = make([]Answer, 0, len(in.latest.Answers))
	}
	return run
}

// flush adds the runs with new records to the panel.
func (in *intake) flush() {
	for _, run := range in.changed {
		run.changed = false
		in.panel.add(run.Run)
	}
	in.changed = in.changed[:0]
}

// forget drops what is older than the trailing days.
func (in *intake) forget() {
	oldest := in.day - spanDays + 1
	maps.DeleteFunc(in.runs, func(_ runKey, run *openRun) bool { return run.Day < oldest })
	maps.DeleteFunc(in.first, func(key submitterDay, _ bool) bool { return key.day < oldest })
	if in.latest != nil && in.latest.Day < oldest {
		in.latest = nil
	}
}

// between returns the runs of the days from first to last.
func (in *intake) between(first, last int) []Run {
	var runs []Run
	for _, r := range in.runs {
		if !r.excluded && r.Day >= first && r.Day <= last {
			runs = append(runs, r.Run)
		}
	}
	return runs
}

// Finish evaluates the last day of each stream, with the records so far.
func (r *Replay) Finish() {
	for _, s := range r.Streams {
		in := r.names[s.Name]
		in.flush()
		in.finish()
	}
}
