package analyze

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/plumb-eval/plumb"
)

// collect folds events of one case on one runner.
func collect(t *testing.T, events ...plumb.Event) *Samples {
	t.Helper()
	run, s := &plumb.Run{}, &Samples{}
	all := append([]plumb.Event{
		{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{Cases: 1, Runners: []plumb.RunnerInfo{{ID: "r"}}}},
		{Type: plumb.EventPlanned, Cases: []plumb.CaseInfo{{ID: "a"}}},
	}, events...)
	for _, ev := range all {
		if ev.Case == "" && ev.Repetition > 0 {
			ev.Case, ev.Runner = "a", "r"
		}
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		if err := s.Report(ev, run); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func finished(repetition, session int, r *plumb.SessionReport) plumb.Event {
	return plumb.Event{Type: plumb.EventSessionFinished, Repetition: repetition, Session: session, Report: r}
}

func judged(repetition, session int, o plumb.Outcome, score float64) plumb.Event {
	j := &plumb.Judgement{Outcome: o, Status: plumb.StatusOf(o, plumb.OriginAssertion, false), Score: score}
	if o != plumb.OutcomePass {
		j.Failure = &plumb.Failure{Class: plumb.FailureClass{ID: "why"}}
	}
	return plumb.Event{Type: plumb.EventSessionJudged, Repetition: repetition, Session: session, Judgement: j}
}

// TestSamplesOfRetries: the last session of a repetition decides, in whatever order repetitions
// end.
func TestSamplesOfRetries(t *testing.T) {
	t.Parallel()
	report := func(tokens int64) *plumb.SessionReport {
		return &plumb.SessionReport{Usage: plumb.Usage{TotalTokens: &tokens}, SessionID: "s", DurationMs: 5}
	}
	s := collect(t,
		finished(2, 1, report(1)), finished(1, 1, report(2)), judged(2, 1, plumb.OutcomeFail, 0),
		judged(1, 1, plumb.OutcomePass, 1), finished(2, 2, report(3)), judged(2, 2, plumb.OutcomePass, 0.5),
		finished(3, 1, nil), judged(3, 1, plumb.OutcomeError, 0), finished(4, 1, report(4)),
	).Of(0)
	want := []struct {
		session int32
		outcome plumb.Outcome
		score   float64
		tokens  float64
		class   string
	}{
		{1, plumb.OutcomePass, 1, 2, ""},
		{2, plumb.OutcomePass, 0.5, 3, ""},
		{1, plumb.OutcomeError, math.NaN(), math.NaN(), "why"},
		{1, "", math.NaN(), 4, ""}, // not judged yet
	}
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	for i, w := range want {
		x := s[i]
		if x.Repetition != int32(i+1) || x.Session != w.session || x.Outcome != w.outcome || !same(x.Score, w.score) ||
			!same(x.Tokens, w.tokens) || x.Class != w.class || x.Green != (w.outcome == plumb.OutcomePass) {
			t.Errorf("repetition %d: %+v", i+1, x)
		}
	}
}

// TestSamplesOfFigures: what was not reported is NaN, and the cache and replays are marked.
func TestSamplesOfFigures(t *testing.T) {
	t.Parallel()
	x := collect(t, finished(1, 1, &plumb.SessionReport{})).Of(0)[0]
	for name, v := range map[string]float64{
		"score": x.Score, "tokens": x.Tokens, "in": x.InputTokens, "out": x.OutputTokens, "cost": x.CostUSD,
		"latency": x.LatencyMs, "steps": x.Steps,
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s is %v", name, v)
		}
	}
	if x.Answer != 0 || x.Cached {
		t.Errorf("%+v", x)
	}
	started := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	full := plumb.SessionReport{
		Usage:   plumb.Usage{InputTokens: new(int64(7)), OutputTokens: new(int64(3)), TotalTokens: new(int64(9))},
		CostUSD: new(0.5), LatencyMs: 20, DurationMs: 40, Steps: 2, StartedAt: &started, FinalOutput: "x",
	}
	x = collect(t, finished(1, 1, &full)).Of(0)[0]
	if x.InputTokens != 7 || x.OutputTokens != 3 || x.Tokens != 9 || x.CostUSD != 0.5 || x.LatencyMs != 20 ||
		x.Steps != 2 {
		t.Errorf("%+v", x)
	}
	replayed, cached := full, full
	replayed.Recorded, cached.Cached = true, true
	for _, r := range []plumb.SessionReport{replayed, cached} {
		if y := collect(t, finished(1, 1, &r)).Of(0)[0]; !y.Cached || y.Answer != x.Answer || y.Answer == 0 {
			t.Errorf("%+v", y)
		}
	}
	later := started.Add(time.Second)
	full.StartedAt = &later
	if y := collect(t, finished(1, 1, &full)).Of(0)[0]; y.Answer == x.Answer {
		t.Error("another session has the same answer")
	}
}

func TestObserved(t *testing.T) {
	t.Parallel()
	r := func(version string) *plumb.SessionReport {
		return &plumb.SessionReport{
			AgentVersion: version, Model: "m", Effective: plumb.Parameters{Temperature: new(1.0)},
			Offered: []plumb.Offer{
				{Kind: plumb.OfferSkill, Name: "x", Undeclared: true},
				{Kind: plumb.OfferSkill, Name: "y"},
			},
		}
	}
	s := collect(t, finished(1, 1, r("1")), finished(2, 1, r("2")), finished(3, 1, r("1")))
	o := s.Observed(0)
	if len(o.AgentVersions) != 2 || len(o.Models) != 1 || o.Parameters[0] != `{"temperature":1}` ||
		len(o.Undeclared) != 1 || o.Undeclared[0] != "skill x" {
		t.Errorf("%+v", o)
	}
	if s.Of(1) != nil || s.Observed(1).Models != nil {
		t.Error("a runner that is not there has samples")
	}
}

// TestSampleSize: a run with a million samples must fit in memory.
func TestSampleSize(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(Sample{}); size > 112 {
		t.Errorf("a sample takes %d bytes", size)
	}
}

// TestAnswersOfOneMillisecond: sessions that start together and answer the same are two measurements.
// A copy of a session is one.
func TestAnswersOfOneMillisecond(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 24, 13, 0, 0, 1_200_000, time.UTC)
	later := at.Add(300 * time.Nanosecond)
	a := &plumb.SessionReport{FinalOutput: "yes", StartedAt: &at}
	b := &plumb.SessionReport{FinalOutput: "yes", StartedAt: &later}
	s := collect(t, finished(1, 1, a), finished(2, 1, b), finished(3, 1, a)).Of(0)
	if s[0].Answer == 0 || s[0].Answer == s[1].Answer || s[0].Answer != s[2].Answer {
		t.Errorf("answers %x, %x and %x", s[0].Answer, s[1].Answer, s[2].Answer)
	}
}
