package drift

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Source returns the runs of one panel on the days from first to last, in order of time. first is
// [math.MinInt] for all runs up to last.
type Source func(first, last int) ([]Run, error)

// Stream is what the detectors found in the runs of one panel, day by day.
type Stream struct {
	Name string
	// Provider and Model are those of the panel. Records do not tell them.
	Provider, Model string
	// Hidden counts runs whose answers are not shared, so that only their hashes are compared.
	Hidden int
	// Runs has the runs of the panel, for [Screen].
	Runs   Source
	Alarms []Alarm
	// Status is that after the last day. Tested means that a test of the day level was possible on
	// some day. Both are about the days that were evaluated.
	Status Status
	Tested bool
	// Possible means that the changes are not sure enough for one of several panels.
	Possible bool
	// Returns has, by the day of the first alarm of a change, the earlier state that the model is
	// back to.
	Returns map[int]Return

	panel *panel
	day   int // the day whose runs are added
	// recall returns the runs of earlier days. checkpoint is that after the latest evaluated day.
	recall     func(first, last int) []Run
	checkpoint Checkpoint
}

// Checkpoint is what a stream keeps between days, beside its runs. The zero checkpoint is the
// beginning.
type Checkpoint struct {
	// Day is the latest evaluated day.
	Day int `json:"day"`
	// Epochs has the first day of the epoch of each statistic. It is nil at the beginning.
	Epochs map[string]int `json:"epochs"`
	// Earlier are the last months of the states before the latest changes, the latest state last.
	// Change is the latest change, if there is an earlier state.
	Earlier []Period `json:"earlier,omitempty"`
	Change  Change   `json:"change,omitzero"`
}

// Period is the last month before a change: the days from First to Change - 1.
type Period struct {
	First  int   `json:"first"`
	Change int   `json:"change"` // the first day of the change
	runs   []Run // nil if they have to be recalled
}

// Change is a confirmed change of a stream.
type Change struct {
	// Alarm is the day of its first alarm, Latest that of its latest alarm.
	Alarm  int `json:"alarm"`
	Latest int `json:"latest"`
	// Compared means that the days since the change were compared with the earlier states.
	Compared bool `json:"compared"`
}

// Scan evaluates the days after a checkpoint up to the day last, and returns what was found on
// these days. Scans from checkpoint to checkpoint find the same as one scan from the beginning. A
// scan that begins at a checkpoint asks for the runs since the 61st day before the first one that
// it evaluates, and for those of the earlier periods of the checkpoint when a change has to be
// compared with them.
func Scan(rules Rules, from Checkpoint, last int, source Source) (*Stream, error) {
	s := newStream(rules)
	s.Runs = source
	var failed error
	s.recall = func(first, last int) []Run {
		runs, err := source(first, last)
		failed = cmp.Or(failed, err)
		return counted(rules, runs)
	}
	first := math.MinInt
	if from.Epochs != nil {
		first = from.Day - spanDays + 2
		s.day = from.Day + 1
		s.checkpoint = from
		s.checkpoint.Earlier = slices.Clip(from.Earlier)
		maps.Copy(s.panel.epochs, from.Epochs)
	}
	runs := s.recall(first, last)
	if from.Epochs == nil && len(runs) > 0 {
		s.day = runs[0].Day
	}
	for _, r := range runs {
		s.advance(r.Day)
		s.panel.add(r)
	}
	if s.panel.begun() && s.day <= last {
		s.advance(last)
		s.finish()
	}
	if failed != nil {
		return nil, fmt.Errorf("read the runs of a panel: %w", failed)
	}
	return s, nil
}

// counted returns the runs that count: at most one of each submitter on a day, the first one,
// unless one person made all. So many runs do not give a submitter more weight.
func counted(rules Rules, runs []Run) []Run {
	if rules.Own {
		return runs
	}
	first := firsts{}
	return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !first.counts(r.Submitter, r.Day) })
}

// firsts has the submitters whose first run of a day is known.
type firsts map[submitterDay]bool

type submitterDay struct {
	submitter string
	day       int
}

// counts reports whether a new run is the first one of its submitter on a day.
func (f firsts) counts(submitter string, day int) bool {
	key := submitterDay{submitter, day}
	if f[key] {
		return false
	}
	f[key] = true
	return true
}

func newStream(rules Rules) *Stream {
	return &Stream{panel: newPanel(rules), Returns: map[int]Return{}}
}

// Checkpoint returns what [Scan] needs to go on after the latest evaluated day.
func (s *Stream) Checkpoint() Checkpoint {
	c := s.checkpoint
	c.Earlier = slices.Clone(c.Earlier)
	for i := range c.Earlier {
		c.Earlier[i].runs = nil
	}
	return c
}

// advance evaluates the days before a day.
func (s *Stream) advance(day int) {
	for ; s.day < day; s.day++ {
		s.evaluate()
		if s.panel.empty() {
			s.day = day
			break
		}
	}
}

// finish evaluates the last day.
func (s *Stream) finish() {
	s.evaluate()
	s.Status = s.panel.status()
}

// evaluate tests the current day.
func (s *Stream) evaluate() {
	alarms := s.panel.evaluate(s.day)
	s.Alarms = append(s.Alarms, alarms...)
	s.Tested = s.Tested || s.panel.tested
	s.observe(alarms)
	s.checkpoint.Day, s.checkpoint.Epochs = s.day, maps.Clone(s.panel.epochs)
}

// mostStates is the number of earlier states that a stream remembers.
const mostStates = 12

// observe is called after the evaluation of a day, with its alarms. When a change was confirmed and
// has at least five days, its runs are compared with those of all states before the one that ended.
// The model is back to a state if the days do not differ, although they were enough to confirm the
// change. The first days of a change do not count: an onset can be too early by as many.
func (s *Stream) observe(alarms []Alarm) {
	const early, enough = 2, 5
	c := &s.checkpoint
	if i := slices.IndexFunc(alarms, confirmed); i >= 0 {
		if len(c.Earlier) == 0 || s.day-c.Change.Latest > sameEventDays {
			s.begin(&alarms[i])
		}
		c.Change.Latest = s.day
	}
	n := len(c.Earlier) - 1
	if n < 1 || c.Change.Compared || s.day < c.Earlier[n].Change+early+enough-1 {
		return
	}
	c.Change.Compared = true
	since := s.recall(c.Earlier[n].Change+early, s.day)
	for _, earlier := range c.Earlier[:n] {
		if earlier.runs == nil {
			earlier.runs = s.recall(earlier.First, earlier.Change-1)
		}
		p, ok := comparePeriods(earlier.runs, since)
		if ok && p > max(DeletionAlpha, s.Returns[c.Change.Alarm].P) {
			s.Returns[c.Change.Alarm] = Return{earlier.Change, p}
		}
	}
}

// begin remembers the last month before a change.
func (s *Stream) begin(a *Alarm) {
	c := &s.checkpoint
	first := a.Onset - comparedDays
	if n := len(c.Earlier); n > 0 {
		first = max(first, c.Earlier[n-1].Change)
	}
	c.Earlier = append(c.Earlier, Period{first, a.Onset, s.recall(first, a.Onset-1)})
	if len(c.Earlier) > mostStates {
		c.Earlier = c.Earlier[1:]
	}
	c.Change = Change{Alarm: a.Day}
}

func confirmed(a Alarm) bool { return a.Kind == KindConfirmed }
