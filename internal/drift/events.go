package drift

import (
	"slices"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// Event is one change of a stream: the alarms of one kind within 14 days.
type Event struct {
	// Alarm is the first alarm of the event.
	Alarm *analyze.DriftAlarm
	// Onset is the first day of the change; it lies between Low and High.
	Onset, Low, High int
	Statistics       []string
}

// Events returns the events of the stream in order of time.
func (s *Stream) Events() []Event {
	const same = 14
	var events []Event
	last := map[string]int{} // by kind: 1 + the index of its latest event
	days := map[string]int{}
	for i := range s.Alarms {
		a := &s.Alarms[i]
		if at := last[a.Kind]; at > 0 && a.Day-days[a.Kind] <= same {
			e := &events[at-1]
			e.Low, e.High = min(e.Low, a.OnsetLow), max(e.High, a.OnsetHigh)
			if !slices.Contains(e.Statistics, a.Statistic) {
				e.Statistics = append(e.Statistics, a.Statistic)
			}
		} else {
			events = append(events, Event{a, a.Onset, a.OnsetLow, a.OnsetHigh, []string{a.Statistic}})
			last[a.Kind] = len(events)
		}
		days[a.Kind] = a.Day
	}
	return events
}

// Changed reports whether the stream has a confirmed change.
func (s *Stream) Changed() bool {
	return !s.possible && slices.ContainsFunc(s.Alarms, func(a analyze.DriftAlarm) bool {
		return a.Kind == analyze.DriftConfirmed
	})
}

// Possible reports whether the changes of the stream are not sure enough for one of several panels.
func (s *Stream) Possible() bool { return s.possible }

// Since forgets the alarms before a day.
func (s *Stream) Since(day int) {
	s.Alarms = slices.DeleteFunc(s.Alarms, func(a analyze.DriftAlarm) bool { return a.Day < day })
}
