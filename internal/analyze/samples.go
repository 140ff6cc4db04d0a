package analyze

import (
	"github.com/plumb-eval/plumb"
)

// Sample is one repetition of a case on a runner, described by the session that decided it: the
// last one, if the repetition was retried. A figure that was not reported is NaN.
type Sample struct {
	// Repetition counts from 1. Session is the number of the deciding session within it.
	Repetition, Session int32
	// Cached means that the answer came from the cache or from a replay, so that its cost and
	// latency say nothing about this run.
	Cached bool
	// Green means that the status of the sample leaves the suite green: a pass, or a failure that the
	// case expects.
	Green   bool
	Outcome plumb.Outcome
	// Class is the id of the failure class; "" without a failure.
	Class string
	// Score is NaN if the sample was not measured.
	Score float64
	// Tokens is the total without tokens from a prompt cache. InputTokens and OutputTokens are gross.
	Tokens, InputTokens, OutputTokens float64
	// CostUSD is the cost of the session without its judging. LatencyMs is the time of the answered
	// request or, if that is not known, of the whole session. Steps is NaN if no steps were counted.
	CostUSD, LatencyMs, Steps float64
	// Answer is equal for two samples that hold the same recorded answer; 0 means that the sample
	// cannot be the same as another one.
	Answer uint64
}

// Measured reports whether the sample is a pass or a fail.
func (s *Sample) Measured() bool { return s.Outcome.Measured() }

// Passed reports whether the sample is a pass.
func (s *Sample) Passed() bool { return s.Outcome == plumb.OutcomePass }
