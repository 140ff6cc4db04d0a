package plumbtest_test

import (
	"fmt"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/plumbtest"
)

// A suite as a part of go test. Each case on each runner becomes a subtest.
func ExampleRun() {
	_ = func(t *testing.T) { //nolint:thelper // func TestCapitals(t *testing.T)
		suite := &plumb.Suite{
			Name: "capitals",
			Cases: []plumb.Case{{
				ID:         "france",
				Messages:   []plumb.Message{{Role: plumb.RoleUser, Content: "What is the capital of France?"}},
				Assertions: []plumb.Assertion{check.Contains("Paris", nil)},
			}},
		}
		plumbtest.Run(t, suite, plumbtest.Open(t, plumb.RunnerConfig{ID: "gpt", Model: "gpt-5-mini"}))
	}
}

// Fold makes the state that a reporter sees from the events of a run.
func ExampleFold() {
	run, err := plumbtest.Fold(plumbtest.Events())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Info.SuiteName, len(run.Cases), "cases on", len(run.Info.Runners), "runners")
	// Output: v1.0-cheap 12 cases on 2 runners
}
