package drift

import (
	"math"
	"slices"
)

// State is the state of a panel.
type State string

// The states of a panel.
const (
	StateLearning State = "learning"
	StateStable   State = "stable"
	StateSuspect  State = "suspect"
	StateChanged  State = "changed"
	StateLocal    State = "local"
	StateFormat   State = "format"
	StateMixed    State = "mixed fleet"
	StateThin     State = "thin"
	StateGap      State = "gap"
)

// Status is what the latest evaluation of a panel found.
type Status struct {
	Day   int
	State State
	// Tested means that at least one test of the day level was possible, with enough submitters.
	Tested bool
	// Days is the number of days since the epoch began, Submitters the number of submitters in the
	// trailing days, and Experienced the number of those with at least 8 runs.
	Days, Submitters, Experienced int
	// Needed is the number of submitters with at least 8 runs that a test needs. Latest is the day of
	// the latest run, Since the first day of the latest change.
	Needed, Latest, Since int
	// RunsPerDay and ScoreSD describe the scores of the last 30 days: ScoreSD is the standard
	// deviation of the scores of runs within submitters, or NaN.
	RunsPerDay, ScoreSD float64
	Regimes             Regimes
	// Statistics is the number of statistics that are tested.
	Statistics int
	own        bool
}

// Detectable returns the smallest drop of the mean score, in percentage points, that the detectors
// are likely to see within a number of days; NaN without scores. With m runs a day and the standard
// deviation s of their scores, a drop d takes a/(1-a/30) days, a = (4.13 s/d)^2/m. Where submitters
// may lie, the tests without some of them take a third longer.
func (s Status) Detectable(days float64) float64 {
	if !s.own {
		days *= 3.0 / 4
	}
	a := days / (1 + days/comparedDays)
	return 100 * 4.13 * s.ScoreSD / math.Sqrt(a*s.RunsPerDay)
}

// measured records a test of the day level.
func (p *panel) measured(t *windowTest) {
	if _, ok := t.quorum(); ok || p.rules.Own {
		p.tested = true
	}
}

// status returns the state of the panel after the latest evaluation.
func (p *panel) status() Status {
	const experience = 8
	s := Status{Day: p.day, Latest: p.epochs[epochLatest], Tested: p.tested, State: StateGap, own: p.rules.Own}
	if p.empty() {
		return s
	}
	s.Submitters = len(p.crowd)
	for _, by := range p.crowd {
		if by.runs >= experience {
			s.Experienced++
		}
	}
	start := p.epochs[epochFirst]
	for _, name := range statistics() {
		start = max(start, p.epoch(name))
	}
	s.Days = s.Day - start + 1
	liars := (s.Submitters + 3) / 4
	if p.rules.Own {
		liars = -1 // the one submitter is enough
	}
	s.Needed = 2 + liars
	p.describeScores(&s)
	spans := p.newSpans(p.day)
	s.Regimes, s.Statistics = p.regimes(spans), 2
	if s.Regimes.ScoresOnly {
		s.Statistics = 1
	}
	kinds := p.kinds
	recent := func(key string, days int) bool {
		day, ok := p.epochs[key]
		return ok && s.Day-day < days
	}
	anyRecent := func(suffix string, days int) bool {
		return slices.ContainsFunc(statistics(), func(name string) bool { return recent(name+suffix, days) })
	}
	switch {
	case s.Day-p.epochs[epochLatest] >= learningDays:
		s.State = StateGap
	case kinds[KindConfirmed] || anyRecent("", sameEventDays):
		s.State = StateChanged
	case s.Days < learningDays || s.Experienced < s.Needed:
		s.State = StateLearning
	case !s.Tested:
		s.State = StateThin
	case kinds[KindSuspect] || anyRecent("/run", sameEventDays):
		s.State = StateSuspect
	case kinds[KindLocal] || anyRecent("/local", comparedDays):
		s.State = StateLocal
	case kinds[KindFormat] || recent(statisticFormat, sameEventDays):
		s.State = StateFormat
	case s.Days >= comparedDays && p.mixedFleet(spans):
		s.State = StateMixed
	default:
		s.State = StateStable
	}
	suffix := ""
	if s.State == StateSuspect {
		suffix = "/run"
	}
	s.Since = p.epochs[epochFirst]
	for _, name := range statistics() {
		s.Since = max(s.Since, p.epoch(name+suffix))
	}
	return s
}

// mixedFleet reports whether the runs of one day differ less than those of different days, over the
// last 30 days.
func (p *panel) mixedFleet(spans *spanCache) bool {
	for _, name := range []string{statisticMMD, statisticScore} {
		span := spans.of(p.epoch(name), name)
		if span == nil {
			continue
		}
		t := span.split(spans.day-comparedDays+1, spans.day+1, spans.day)
		if span.mode != modeScore {
			t.centerGram(span.grams(t.first))
		}
		if t.mixed() {
			return true
		}
	}
	return false
}

// describeScores sets the figures of the scores of the last 30 days.
func (p *panel) describeScores(s *Status) {
	sums, counts := map[*submitter]float64{}, map[*submitter]float64{}
	recent := func(yield func(*panelRun)) {
		for _, r := range p.runs {
			if r.day > s.Day-comparedDays && !math.IsNaN(r.score) {
				yield(r)
			}
		}
	}
	runs, squares := 0.0, 0.0
	recent(func(r *panelRun) {
		sums[r.by] += r.score
		counts[r.by]++
		runs++
	})
	recent(func(r *panelRun) {
		d := r.score - sums[r.by]/counts[r.by]
		squares += d * d
	})
	s.RunsPerDay = runs / float64(min(comparedDays, s.Day-p.epochs[epochFirst]+1))
	s.ScoreSD = math.Sqrt(squares / (runs - float64(len(counts)))) // NaN without enough runs
}
