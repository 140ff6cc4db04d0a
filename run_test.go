package plumb_test

import (
	"testing"

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
	apply(plumb.Event{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{Cases: len(classes), Runners: []plumb.RunnerInfo{{ID: "r"}}}})
	for i, class := range classes {
		id := string(rune('a' + i))
		apply(plumb.Event{Type: plumb.EventPlanned, Cases: []plumb.CaseInfo{{ID: id}}})
		apply(plumb.Event{Type: plumb.EventExecutionFinished, Case: id, Runner: "r", Result: &plumb.ExecutionResult{Outcome: plumb.OutcomeFail, Class: &class}})
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
