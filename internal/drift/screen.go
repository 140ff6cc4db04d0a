package drift

import (
	"cmp"
	"math"
	"slices"

	"github.com/plumb-eval/plumb/internal/analyze"
)

// Screen decides about the changes of several streams together: it marks those that are not sure
// enough for one of so many as possible, and finds the causes that need other streams. It uses
// Provider, Model, Runs, Alarms and Status.Statistics of a stream, wherever they come from. One
// stream stays as it is.
func Screen(rules Rules, streams []*Stream) error {
	if len(streams) < 2 {
		return nil
	}
	markPossible(streams)
	blameSetup(streams)
	return control(rules, streams)
}

// markPossible marks the panels that changed, but not surely enough for one of so many. The panels
// of one model are merged by Simes (1986), and the models are screened for a false discovery rate
// of 0.1 over the probability that a year without a change has such an alarm.
func markPossible(streams []*Stream) {
	const tests, rate = 826, 0.1
	byModel := map[string][]float64{}
	var models []string
	for _, s := range streams {
		name := s.Provider + ":" + s.Model
		if byModel[name] == nil {
			models = append(models, name)
		}
		least := 1.0
		for i := range s.Alarms {
			if a := &s.Alarms[i]; confirmed(*a) {
				least = min(least, a.YearP)
			}
		}
		byModel[name] = append(byModel[name], math.Min(1, tests*float64(s.Status.Statistics)*least))
	}
	merged := make([]float64, len(models))
	for i, name := range models {
		merged[i] = simes(byModel[name])
	}
	adjusted := analyze.BH(merged)
	for _, s := range streams {
		if adjusted[slices.Index(models, s.Provider+":"+s.Model)] > rate {
			s.Possible = true
		}
	}
}

// blameSetup finds the changes that panels of several providers have in common: if no provider
// reports a change, the setup that they share changed.
func blameSetup(streams []*Stream) {
	const tolerance = 2
	for _, s := range streams {
		for i := range s.Alarms {
			a := &s.Alarms[i]
			if !confirmed(*a) || a.Cause.Cause != CauseUnknown {
				continue
			}
			for _, other := range streams {
				if other.Provider == s.Provider {
					continue
				}
				for k := range other.Alarms {
					b := &other.Alarms[k]
					if confirmed(*b) && b.Cause.Cause != CauseProvider &&
						b.OnsetLow <= a.OnsetHigh+tolerance && a.OnsetLow <= b.OnsetHigh+tolerance {
						a.Cause.Cause = CauseSetup
					}
				}
			}
		}
	}
}

// control finds the changes that came with a change of the setup of their panel, while the panels
// whose setup did not change are quiet: then the setup made the change.
func control(rules Rules, streams []*Stream) error {
	for _, s := range streams {
		for i := range s.Alarms {
			a := &s.Alarms[i]
			if !confirmed(*a) || a.Cause.Cause != CauseUnknown ||
				!slices.ContainsFunc(a.Cause.Facts, func(f Fact) bool { return !f.Provider }) {
				continue
			}
			controls, quiet := 0, true
			for _, other := range streams {
				if other == s {
					continue
				}
				before, after, steady, err := other.around(rules, a)
				if err != nil {
					return err
				}
				if p, ok := comparePeriods(before, after); ok && steady {
					controls++
					quiet = quiet && p > DeletionAlpha
				}
			}
			if controls > 0 && quiet {
				a.Cause.Cause = CauseSetup
			}
		}
	}
	return nil
}

// around returns the runs of the panel before and after the onset of an alarm of another panel, at
// most as many days as that test used. steady reports whether the setup of each submitter stays the
// same.
func (s *Stream) around(rules Rules, a *Alarm) (before, after []Run, steady bool, err error) {
	runs, err := s.Runs(a.Onset-comparedDays, a.Day)
	setups := map[string]map[string]string{} // the last one before, by submitter
	steady = true
	for _, r := range counted(rules, runs) {
		if r.Day < a.Onset {
			before = append(before, r)
			setups[r.Submitter] = r.Client
			continue
		}
		after = append(after, r)
		steady = steady && len(changedFacts(setups[r.Submitter], r.Client)) == 0
	}
	return before, after, steady, err
}

// simes merges p-values: the smallest of m p_(i) / i.
func simes(p []float64) float64 {
	sorted := slices.SortedFunc(slices.Values(p), cmp.Compare[float64])
	least := 1.0
	for i, v := range sorted {
		least = min(least, float64(len(p))*v/float64(i+1))
	}
	return least
}
