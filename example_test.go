package plumb_test

import (
	"errors"
	"fmt"

	"github.com/plumb-eval/plumb"
)

func ExampleOrigin_Outcome() {
	fmt.Println(plumb.OriginAssertion.Outcome(true))
	fmt.Println(plumb.OriginTimeout.Outcome(true))  // the model had begun to answer
	fmt.Println(plumb.OriginTimeout.Outcome(false)) // nothing was measured
	// Output:
	// fail
	// fail
	// error
}

func ExampleStatusOf() {
	fmt.Println(plumb.StatusOf(plumb.OutcomeFail, plumb.OriginAssertion, true))
	fmt.Println(plumb.StatusOf(plumb.OutcomeError, plumb.OriginRunner, true))
	// Output:
	// expected-failed
	// failed
}

func ExampleFailed() {
	err := plumb.WithHint(errors.New("connection refused"), "start the server")
	f := plumb.Failed(plumb.OriginRunner, err)
	fmt.Println(f.Class.Label+":", f, "-", plumb.Hint(f))
	// Output: Runner crash: connection refused - start the server
}

func ExampleNearest() {
	known := []string{"contains", "exact_match", "regex"}
	fmt.Println(plumb.Nearest("exact-match", known))
	fmt.Printf("%q\n", plumb.Nearest("llm_judge", known))
	// Output:
	// exact_match
	// ""
}
