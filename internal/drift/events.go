package drift

import "slices"

// Event is one change of a stream: the alarms of one kind within 14 days.
type Event struct {
	// Alarm is the first alarm of the event.
	Alarm *Alarm
	// Onset is the first day of the change; it lies between Low and High.
	Onset, Low, High int
	Statistics       []string
	// Back is the earlier state that the model is back to, or nil.
	Back *Return
}

// Return is an earlier state of a stream from which the newest runs are not distinguishable.
type Return struct {
	Before int     // the day of the change that ended the state
	P      float64 // the p-value of the hypothesis that the runs are like those of then
}

// Events returns the events of the stream in order of time.
func (s *Stream) Events() []Event {
	var events []Event
	last := map[string]int{} // by kind: 1 + the index of its latest event
	days := map[string]int{}
	for i := range s.Alarms {
		a := &s.Alarms[i]
		if at := last[a.Kind]; at > 0 && a.Day-days[a.Kind] <= sameEventDays {
			e := &events[at-1]
			e.Low, e.High = min(e.Low, a.OnsetLow), max(e.High, a.OnsetHigh)
			if !slices.Contains(e.Statistics, a.Statistic) {
				e.Statistics = append(e.Statistics, a.Statistic)
			}
		} else {
			e := Event{
				Alarm: a, Onset: a.Onset, Low: a.OnsetLow, High: a.OnsetHigh, Statistics: []string{a.Statistic},
			}
			if back, ok := s.Returns[a.Day]; ok && a.Kind == KindConfirmed {
				e.Back = &back
			}
			events = append(events, e)
			last[a.Kind] = len(events)
		}
		days[a.Kind] = a.Day
	}
	return events
}

// Changed reports whether the stream has a confirmed change.
func (s *Stream) Changed() bool {
	return !s.Possible && slices.ContainsFunc(s.Alarms, confirmed)
}

// Since forgets the alarms before a day.
func (s *Stream) Since(day int) {
	s.Alarms = slices.DeleteFunc(s.Alarms, func(a Alarm) bool { return a.Day < day })
}
