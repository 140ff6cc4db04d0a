package analyze

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

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
	// Green means that the status of the sample leaves the suite green: a pass, or a failure that
	// the case expects.
	Green   bool
	Outcome plumb.Outcome
	// Class is the id of the failure class; "" without a failure.
	Class string
	// Score is NaN if the sample was not measured.
	Score float64
	// Tokens is the total without tokens from a prompt cache. InputTokens and OutputTokens are
	// gross.
	Tokens, InputTokens, OutputTokens float64
	// CostUSD is the cost of the session without its judging. LatencyMs is the time of the answered
	// request or, if that is not known, of the whole session. Steps is NaN if no steps were
	// counted.
	CostUSD, LatencyMs, Steps float64
	// Answer is equal for two samples that hold the same recorded answer; 0 means that the sample
	// cannot be the same as another one.
	Answer uint64
}

// Measured reports whether the sample is a pass or a fail.
func (s *Sample) Measured() bool { return s.Outcome.Measured() }

// Passed reports whether the sample is a pass.
func (s *Sample) Passed() bool { return s.Outcome == plumb.OutcomePass }

// Samples collects the samples of a run from its events. The zero value is ready. It keeps about a
// hundred bytes for each sample.
type Samples struct {
	of       [][]Sample
	observed []Observed
}

// Observed is what the sessions of one runner reported about themselves: distinct values, at most
// [observedValues] of each, in the order of their first appearance.
type Observed struct {
	// AgentVersions are the versions of the agent, Models and Fingerprints the values of the
	// provider.
	AgentVersions, Models, Fingerprints []string
	// Parameters are the effective parameters that the provider reports, as JSON objects.
	Parameters []string
	// Undeclared names what was available to the agent and neither the suite nor the runner
	// declared, as "kind name".
	Undeclared []string
}

// observedValues limits the number of distinct values in each list of [Observed].
const observedValues = 16

// Report adds one event of the run. run is the state after it.
func (s *Samples) Report(ev plumb.Event, run *plumb.Run) error {
	finished := ev.Type == plumb.EventSessionFinished
	if !finished && (ev.Type != plumb.EventSessionJudged || ev.Judgement == nil) {
		return nil
	}
	n, err := run.Index(ev.Case, ev.Runner)
	if err != nil {
		return err
	}
	if n >= len(s.of) {
		s.of = append(s.of, make([][]Sample, len(run.Executions)-len(s.of))...)
	}
	x := s.sample(n, int32(ev.Repetition))
	switch session := int32(ev.Session); {
	case session < x.Session: // a later session decides
	case finished:
		*x = figures(ev.Report)
		x.Repetition, x.Session = int32(ev.Repetition), session
		s.observe(n%len(run.Info.Runners), len(run.Info.Runners), ev.Report)
	case session == x.Session:
		x.judge(ev.Judgement)
	}
	return nil
}

// Of returns the samples of the execution at index i of run.Executions, in order of repetition.
func (s *Samples) Of(i int) []Sample {
	if i >= len(s.of) {
		return nil
	}
	return s.of[i]
}

// Observed returns what the sessions of the runner at index r reported.
func (s *Samples) Observed(r int) Observed {
	if r >= len(s.observed) {
		return Observed{}
	}
	return s.observed[r]
}

// sample returns the sample of a repetition of the execution at index n. It makes one if there is
// none.
func (s *Samples) sample(n int, repetition int32) *Sample {
	at, found := slices.BinarySearchFunc(s.of[n], repetition, func(x Sample, r int32) int {
		return cmp.Compare(x.Repetition, r)
	})
	if !found {
		s.of[n] = slices.Insert(s.of[n], at, Sample{Repetition: repetition})
	}
	return &s.of[n][at]
}

// figures returns the sample of a session that is not judged yet.
func figures(r *plumb.SessionReport) Sample {
	none := math.NaN()
	x := Sample{
		Score: none, Tokens: none, InputTokens: none, OutputTokens: none, CostUSD: none, LatencyMs: none, Steps: none,
	}
	if r == nil {
		return x
	}
	count := func(to *float64, n *int64) {
		if n != nil && *n >= 0 {
			*to = float64(*n)
		}
	}
	count(&x.Tokens, r.Usage.TotalTokens)
	count(&x.InputTokens, r.Usage.InputTokens)
	count(&x.OutputTokens, r.Usage.OutputTokens)
	if c := r.CostUSD; c != nil && *c >= 0 {
		x.CostUSD = *c
	}
	if ms := cmp.Or(r.LatencyMs, r.DurationMs); ms > 0 {
		x.LatencyMs = float64(ms)
	}
	if r.Steps > 0 {
		x.Steps = float64(r.Steps)
	}
	x.Cached = r.Cached || r.Recorded
	x.Answer = answerOf(r)
	return x
}

// answerOf identifies the answer of a session by what a cache and a replay keep unchanged.
func answerOf(r *plumb.SessionReport) uint64 {
	if r.StartedAt == nil && r.RequestID == "" && r.SessionID == "" {
		return 0
	}
	h := fnv.New64a()
	for _, text := range []string{r.RequestID, r.SessionID, r.Model, cmp.Or(r.AnswerHash, r.FinalOutput)} {
		_, _ = h.Write([]byte(text)) // never fails
		_, _ = h.Write([]byte{0})
	}
	if r.StartedAt != nil {
		// The sessions of two runners often start in the same millisecond, with the same answer.
		_, _ = h.Write(strconv.AppendInt(nil, r.StartedAt.UnixNano(), 10))
	}
	return max(h.Sum64(), 1)
}

func (s *Sample) judge(j *plumb.Judgement) {
	s.Outcome, s.Green = j.Outcome, j.Status.OK()
	if j.Outcome.Measured() && j.Score >= 0 && j.Score <= 1 {
		s.Score = j.Score
	}
	if j.Failure != nil {
		s.Class = j.Failure.Class.ID
	}
	if j.Status == plumb.StatusUnexpectedPassed {
		s.Class = plumb.ClassUnexpectedPass().ID
	}
}

// observe records what a session of the runner at index r of n reported.
func (s *Samples) observe(r, n int, report *plumb.SessionReport) {
	if report == nil {
		return
	}
	if s.observed == nil {
		s.observed = make([]Observed, n)
	}
	o := &s.observed[r]
	add := func(to *[]string, value string) {
		if value != "" && len(*to) < observedValues && !slices.Contains(*to, value) {
			*to = append(*to, value)
		}
	}
	add(&o.AgentVersions, report.AgentVersion)
	add(&o.Models, report.Model)
	add(&o.Fingerprints, report.Fingerprint)
	if !report.Effective.IsZero() {
		text, err := json.Marshal(report.Effective)
		if err == nil { // JSON has no form for NaN
			add(&o.Parameters, string(text))
		}
	}
	for _, offer := range report.Offered {
		if offer.Undeclared {
			add(&o.Undeclared, string(offer.Kind)+" "+offer.Name)
		}
	}
}
