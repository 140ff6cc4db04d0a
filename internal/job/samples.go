package job

import (
	"math"
	"slices"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/run"
)

// samplesOf reads the run directory at path. It returns the state of the run, and the samples of
// each execution by its index in the run, in order of repetition.
func samplesOf(path string) (*plumb.Run, [][]analyze.Sample, error) {
	state := &plumb.Run{}
	var samples [][]analyze.Sample
	err := run.Read(path, func(ev plumb.Event) error {
		if err := state.Apply(ev); err != nil {
			return err
		}
		if ev.Type != plumb.EventSessionFinished && ev.Type != plumb.EventSessionJudged {
			return nil
		}
		i, err := state.Index(ev.Case, ev.Runner)
		if err != nil {
			return err
		}
		if more := len(state.Executions) - len(samples); more > 0 {
			samples = append(samples, make([][]analyze.Sample, more)...)
		}
		samples[i] = addSample(samples[i], ev)
		return nil
	})
	return state, samples, err
}

// addSample adds an event of a session to the samples of its execution. The last session of a
// repetition decides it.
func addSample(samples []analyze.Sample, ev plumb.Event) []analyze.Sample {
	at, known := slices.BinarySearchFunc(samples, int32(ev.Repetition), func(s analyze.Sample, n int32) int {
		return int(s.Repetition - n)
	})
	if !known {
		samples = slices.Insert(samples, at, analyze.Sample{})
	}
	s := &samples[at]
	if ev.Type == plumb.EventSessionFinished {
		*s = analyze.Sample{
			Repetition: int32(ev.Repetition), Session: int32(ev.Session), Outcome: plumb.OutcomeError,
			Score: math.NaN(), Tokens: math.NaN(),
		}
		if r := ev.Report; r != nil {
			s.Cached = r.Cached || r.Recorded
			if n := r.Usage.TotalTokens; n != nil {
				s.Tokens = float64(*n)
			}
		}
	} else if j := ev.Judgement; j != nil {
		if s.Outcome, s.Green = j.Outcome, j.Status.OK(); j.Outcome.Measured() {
			s.Score = j.Score
		}
	}
	return samples
}
