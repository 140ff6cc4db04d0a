package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runlog"
)

const (
	// NoiseRepeat is a number of repetitions that says how much they differ.
	NoiseRepeat = 4
	// minCoverage is the share of measured repetitions below which the noise of a run says little.
	minCoverage = 0.8
	// unsteady is the p-value at which a difference between the odd and the even repetitions of a run
	// is a warning.
	unsteady = 0.01
)

// Noise compares a run with itself: how much the repetitions of the same cases differ without a
// cause. Its keys are documented. A figure that cannot be computed is null.
type Noise struct {
	RunID     string        `json:"runId"`
	Suite     string        `json:"suite"`
	SuiteHash string        `json:"suiteHash"`
	Runners   []NoiseRunner `json:"runners"`
	// NeverDiscriminate are the cases that passed, or failed, in each measured repetition on each
	// runner.
	NeverDiscriminate []SteadyCase `json:"neverDiscriminate"`
	// Detect is the difference that the user asked for; nil for none.
	Detect *Difference `json:"detect,omitempty"`
	// Complete is false if a runner has too few measured repetitions.
	Complete bool `json:"complete"`
}

// NoiseRunner is the part of one runner in a [Noise].
type NoiseRunner struct {
	Runner string `json:"runner"`
	// Cases are all cases of the run, and Repeats the planned repetitions of a case; the mean, if
	// cases have their own.
	Cases   int     `json:"cases"`
	Repeats float64 `json:"repeats"`
	// Planned, Measured and Passed count repetitions.
	Planned  int     `json:"planned"`
	Measured int     `json:"measured"`
	Passed   int     `json:"passed"`
	Coverage float64 `json:"coverage"`
	// StoppedEarly counts the executions that ended at the first repetition that was not green. Their
	// repetitions are in no other figure.
	StoppedEarly int `json:"stoppedEarly"`
	// FlipRate is the probability that two repetitions of a case differ, as a mean over RepeatedCases.
	FlipRate      Interval `json:"flipRate"`
	RepeatedCases int      `json:"repeatedCases"`
	// Steady means that no repetition differed. The figures below then assume that one does.
	Steady bool `json:"steady"`
	// NoiseFloor is the largest difference of the pass rates of two such runs that 95 % of comparisons
	// show without any cause. TokenNoiseFloor is that of the tokens, as a share.
	NoiseFloor      *float64 `json:"noiseFloor"`
	TokenNoiseFloor *float64 `json:"tokenNoiseFloor"`
	// RepeatsNeeded is the number of repetitions with which the cases show the wanted difference.
	RepeatsNeeded int `json:"repeatsNeeded,omitempty"`
	// Detectable are the smallest differences that comparisons of this suite find.
	Detectable []Detectable `json:"detectable"`
	Check      Check        `json:"check"`
	// Flips are the cases, those that differ most first.
	Flips []CaseFlips `json:"flips"`
}

// Interval is a figure with its 95 % interval.
type Interval struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// Detectable is what a comparison with this number of repetitions on each side finds.
type Detectable struct {
	Repeats  int      `json:"repeats"`
	PassRate *float64 `json:"passRate"`
	Tokens   *float64 `json:"tokens"`
}

// Check compares the odd repetitions of the run with the even ones.
type Check struct {
	OddPassed    int `json:"oddPassed"`
	OddMeasured  int `json:"oddMeasured"`
	EvenPassed   int `json:"evenPassed"`
	EvenMeasured int `json:"evenMeasured"`
	// Difference is even minus odd.
	Difference Interval `json:"difference"`
	P          *float64 `json:"p"`
	TokenP     *float64 `json:"tokenP"`
	// Unsteady means that chance hardly explains the difference.
	Unsteady bool `json:"unsteady"`
}

// CaseFlips is how often the repetitions of a case differ.
type CaseFlips struct {
	Case     string `json:"case"`
	Passed   int    `json:"passed"`
	Measured int    `json:"measured"`
	// FlipRate is nil for fewer than two measured repetitions.
	FlipRate *float64 `json:"flipRate"`
}

// SteadyCase is a case with the same outcome in all measured repetitions on all runners.
type SteadyCase struct {
	Case     string        `json:"case"`
	Outcome  plumb.Outcome `json:"outcome"`
	Measured int           `json:"measured"`
	// AtMost bounds the share of repetitions with the other outcome, with a confidence of 95 %.
	AtMost float64 `json:"atMost"`
}

// NoiseOf reads the run at path and compares it with itself. wanted is a difference to find, or
// nil.
func NoiseOf(p *project.Project, path string, wanted *Difference) (*Noise, error) {
	var samples analyze.Samples
	state, err := runlog.At(path).Figures(p.RedactorOf(path), samples.Report)
	if err != nil {
		return nil, err
	}
	a := &Noise{
		RunID: state.Info.ID, Suite: state.Info.SuiteName, SuiteHash: state.Info.SuiteHash, Complete: true,
		Detect:            wanted,
		NeverDiscriminate: steadyCases(state, &samples),
	}
	for n := range state.Info.Runners {
		r := noiseRunner(state, &samples, n, wanted)
		a.Complete = a.Complete && r.Coverage >= minCoverage && r.RepeatedCases > 0
		a.Runners = append(a.Runners, r)
	}
	return a, nil
}

// noiseRunner returns the figures of the runner at index n.
func noiseRunner(state *plumb.Run, samples *analyze.Samples, n int, wanted *Difference) NoiseRunner {
	info := &state.Info.Runners[n]
	r := NoiseRunner{Runner: info.ID, Cases: len(state.Cases), Flips: []CaseFlips{}}
	var kept [][]analyze.Sample
	units := []string{state.Info.ID, info.ID}
	for c := range state.Cases {
		x := c*len(state.Info.Runners) + n
		ofCase := samples.Of(x)
		planned := max(1, cmp.Or(state.Cases[c].Repeat, state.Info.Repeat))
		r.Planned += planned
		count := analyze.CountOf(ofCase)
		r.Measured, r.Passed = r.Measured+count.Measured, r.Passed+count.Passed
		if analyze.StoppedEarly(state, x) {
			r.StoppedEarly++
			continue
		}
		kept, units = append(kept, ofCase), append(units, state.Cases[c].Hash)
		flips := CaseFlips{Case: state.Cases[c].ID, Passed: count.Passed, Measured: count.Measured}
		if f, ok := analyze.FlipRate(count); ok {
			flips.FlipRate = &f
		}
		r.Flips = append(r.Flips, flips)
	}
	slices.SortStableFunc(r.Flips, func(a, b CaseFlips) int { return cmp.Compare(value(b.FlipRate), value(a.FlipRate)) })
	if r.Cases > 0 {
		r.Repeats, r.Coverage = float64(r.Planned)/float64(r.Cases), float64(r.Measured)/float64(r.Planned)
	}
	noise := analyze.NoiseOf(kept, analyze.NewSeed("aa", units...))
	r.noise(noise)
	if wanted != nil && noise.Cases > 0 && (wanted.Metric == MetricPassRate || r.TokenNoiseFloor != nil) {
		v := Variation{Variance: noise.TokenDeviation * noise.TokenDeviation, mix: noise.Mix}
		r.RepeatsNeeded = v.repeatsNeeded(*wanted, r.Cases)
	}
	return r
}

// noise sets the figures that follow from the noise.
func (r *NoiseRunner) noise(n analyze.Noise) {
	r.RepeatedCases, r.Steady = n.Cases, n.Steady
	r.FlipRate = intervalOf(n.Flip)
	repeats := max(1, int(math.Round(r.Repeats)))
	r.NoiseFloor = known(n.Floor(r.Cases, repeats))
	r.TokenNoiseFloor = known(n.TokenFloor(r.Cases, repeats))
	for _, repeats := range []int{1, 3, 5, 10} {
		d := Detectable{Repeats: repeats}
		if n.Cases > 0 {
			if seen, ok := analyze.SameRepeats(n.Mix, r.Cases, repeats).Detectable(); ok {
				d.PassRate = &seen
			}
		}
		tokens := analyze.RepeatedDesign{Cases: r.Cases, Repeats: repeats, Within: n.TokenDeviation * n.TokenDeviation}
		d.Tokens = known(math.Expm1(tokens.Detectable()))
		r.Detectable = append(r.Detectable, d)
	}
	h := &n.Halves
	r.Check = Check{
		OddPassed: h.Odd.Passed, OddMeasured: h.Odd.Measured, EvenPassed: h.Even.Passed, EvenMeasured: h.Even.Measured,
		Difference: intervalOf(h.Difference), TokenP: known(h.TokenP),
	}
	if h.Odd.Measured > 0 {
		r.Check.P = known(h.P)
	}
	r.Check.Unsteady = h.Odd.Measured > 0 && h.P <= unsteady || h.TokenP <= unsteady
}

// steadyCases returns the cases whose measured repetitions all passed, or all failed, on all
// runners.
func steadyCases(state *plumb.Run, samples *analyze.Samples) []SteadyCase {
	steady := []SteadyCase{}
	for c := range state.Cases {
		var all analyze.Count
		seen := true
		for n := range state.Info.Runners {
			count := analyze.CountOf(samples.Of(c*len(state.Info.Runners) + n))
			seen = seen && count.Measured > 0
			all.Passed, all.Measured = all.Passed+count.Passed, all.Measured+count.Measured
		}
		if !seen || all.Measured < 2 || all.Passed != 0 && all.Passed != all.Measured {
			continue
		}
		s := SteadyCase{Case: state.Cases[c].ID, Outcome: plumb.OutcomeFail, Measured: all.Measured}
		if all.Passed > 0 {
			s.Outcome = plumb.OutcomePass
		}
		_, s.AtMost = analyze.ClopperPearson(0, all.Measured, 0.90)
		steady = append(steady, s)
	}
	return steady
}

// known returns a finite figure, or nil.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// value returns a figure, or -1 if there is none.
func value(v *float64) float64 {
	if v == nil {
		return -1
	}
	return *v
}

func intervalOf(e analyze.Estimate) Interval {
	if !e.OK {
		return Interval{Value: known(e.Value)}
	}
	return Interval{known(e.Value), known(e.Lo), known(e.Hi)}
}
