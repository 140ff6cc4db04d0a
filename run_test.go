package plumb_test

import (
	"math"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
)

// A class keeps the label that its failure has, whatever others of its id are called.
func TestClassesKeepTheirLabels(t *testing.T) {
	var r plumb.Run
	apply := func(ev plumb.Event) {
		t.Helper()
		if err := r.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	classes := []plumb.FailureClass{{ID: "k"}, {ID: "k", Label: "L"}, {ID: "k"}, {ID: "k", Label: "M"}}
	apply(plumb.Event{
		Type: plumb.EventRunStarted, Info: &plumb.RunInfo{Cases: len(classes), Runners: []plumb.RunnerInfo{{ID: "r"}}},
	})
	for i, class := range classes {
		id := string(rune('a' + i))
		apply(plumb.Event{Type: plumb.EventPlanned, Cases: []plumb.CaseInfo{{ID: id}}})
		apply(plumb.Event{
			Type: plumb.EventExecutionFinished, Case: id, Runner: "r",
			Result: &plumb.ExecutionResult{Outcome: plumb.OutcomeFail, Class: &class},
		})
	}
	for i, class := range classes {
		if got := r.Executions[i].Class; *got != class {
			t.Errorf("%d: %v, want %v", i, got, class)
		}
	}
	if r.Executions[0].Class != r.Executions[2].Class {
		t.Error("the same class is kept twice")
	}
}

// Sums of usage neither overflow nor go down, whatever a provider, or a damaged log, says.
func TestUsageDoesNotOverflow(t *testing.T) {
	huge := plumb.Usage{
		InputTokens: new(int64(math.MaxInt64)), OutputTokens: new(int64(math.MaxInt64)),
		CacheTokens: new(int64(math.MinInt64)),
		InputChars:  math.MaxInt64,
	}
	u := huge
	u.Add(huge)
	u.Add(plumb.Usage{InputTokens: new(int64(-5)), OutputTokens: new(int64(math.MinInt64)), InputChars: -1})
	u.Total()
	if *u.InputTokens != math.MaxInt64 || *u.OutputTokens != math.MaxInt64 || u.Tokens() != math.MaxInt64 ||
		*u.CacheTokens != 0 ||
		*u.TotalTokens != math.MaxInt64 || u.InputChars != math.MaxInt64 {
		t.Errorf("%d in, %d out, %d, %d chars", *u.InputTokens, *u.OutputTokens, u.Tokens(), u.InputChars)
	}

	var r plumb.Run
	apply := func(ev plumb.Event) {
		t.Helper()
		if err := r.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	apply(plumb.Event{
		Type: plumb.EventRunStarted, Info: &plumb.RunInfo{Cases: 3, Runners: []plumb.RunnerInfo{{ID: "r"}}},
	})
	apply(plumb.Event{Type: plumb.EventPlanned, Cases: []plumb.CaseInfo{{ID: "a"}, {ID: "b"}, {ID: "c"}}})
	for _, id := range []string{"a", "b", "a"} { // the last is measured again
		apply(plumb.Event{Type: plumb.EventExecutionFinished, Case: id, Runner: "r", Result: &plumb.ExecutionResult{
			Outcome: plumb.OutcomePass, Usage: huge, Steps: math.MaxInt32 + 1, Sessions: 1, JudgeUsage: huge,
		}})
	}
	apply(plumb.Event{Type: plumb.EventExecutionFinished, Case: "c", Runner: "r", Result: &plumb.ExecutionResult{
		Outcome: plumb.OutcomePass, Usage: plumb.Usage{InputTokens: new(int64(-7)), InputChars: -7},
	}})
	e := r.Executions[0]
	if r.Totals.InputTokens != math.MaxInt64 || e.InputChars != math.MaxInt32 || e.Steps != math.MaxInt32 ||
		e.JudgeTokens != math.MaxInt64 ||
		r.Executions[2].InputTokens != 0 || r.Executions[2].InputChars != 0 {
		t.Errorf("%+v, %+v", r.Totals, e)
	}
}

// A process that was killed worked until its last event: that time is not free.
func TestActiveTimeOfAKilledProcess(t *testing.T) {
	var r plumb.Run
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, ev := range []struct {
		kind  plumb.EventType
		after time.Duration
	}{
		{plumb.EventRunStarted, 0},
		{plumb.EventNote, 9 * time.Minute}, // killed
		{plumb.EventRunResumed, time.Hour},
		{plumb.EventNote, time.Minute},
		{plumb.EventRunFinished, time.Minute},
		{plumb.EventRunResumed, time.Hour}, // killed at once
		{plumb.EventRunResumed, time.Hour},
		{plumb.EventRunFinished, time.Minute},
	} {
		at = at.Add(ev.after)
		if err := r.Apply(
			plumb.Event{Type: ev.kind, At: at, Info: &plumb.RunInfo{}, End: &plumb.RunEnd{}},
		); err != nil {
			t.Fatal(err)
		}
	}
	if got := time.Duration(r.ActiveMs) * time.Millisecond; got != 12*time.Minute {
		t.Errorf("%v, want 12m", got)
	}
}
