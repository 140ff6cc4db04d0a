package drift

// state is the last month of runs before a change.
type state struct {
	before int // the day of the change
	runs   []Run
}

// mostStates is the number of earlier states that a stream remembers.
const mostStates = 12

// observe is called after the evaluation of a day. When a change was confirmed and has at least five
// days, its runs are compared with those of all states before the one that ended. The model is back
// to a state if the days do not differ, although they were enough to confirm the change. The first
// days of a change do not count: an onset can be too early by as many.
func (s *Stream) observe() {
	const early, enough = 2, 5
	if change := s.newChange(); change != nil {
		oldest := change.Onset - comparedDays
		if n := len(s.states); n > 0 {
			oldest = max(oldest, s.states[n-1].before)
		}
		s.states = append(s.states, state{change.Onset, s.between(oldest, change.Onset-1)})
		if len(s.states) > mostStates {
			s.states = s.states[1:]
		}
		s.uncompared, s.alarmDay = true, change.Day
	}
	n := len(s.states) - 1
	if n < 1 || !s.uncompared || s.day < s.states[n].before+early+enough-1 {
		return
	}
	since := s.between(s.states[n].before+early, s.day)
	for _, earlier := range s.states[:n] {
		p, ok := comparePeriods(earlier.runs, since)
		if ok && p > max(DeletionAlpha, s.returns[s.alarmDay].P) {
			s.returns[s.alarmDay] = Return{earlier.before, p}
		}
	}
	s.uncompared = false
}

// newChange returns the alarm of this day with which a change begins, or nil.
func (s *Stream) newChange() *Alarm {
	if n := len(s.Alarms); n == 0 || s.Alarms[n-1].Day != s.day {
		return nil
	}
	for _, e := range s.Events() {
		if e.Alarm.Kind == KindConfirmed && e.Alarm.Day == s.day {
			return e.Alarm
		}
	}
	return nil
}

// between returns the runs of the days from first to last.
func (s *Stream) between(first, last int) []Run {
	var runs []Run
	for _, r := range s.runs {
		if !r.excluded && r.Day >= first && r.Day <= last {
			runs = append(runs, r.Run)
		}
	}
	return runs
}
