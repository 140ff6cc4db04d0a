package plumb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb"
)

// A time limit is a fail if the model had begun to answer, and an error if nothing came back.
func ExampleOrigin_Outcome() {
	fmt.Println(plumb.OriginAssertion.Outcome(true), plumb.OriginRunner.Outcome(true))
	fmt.Println(plumb.OriginTimeout.Outcome(true), plumb.OriginTimeout.Outcome(false))
	// Output:
	// fail error
	// fail error
}

// The case of a known gap is green while its assertion fails. Trouble that prevented the measurement is never expected.
func ExampleStatusOf() {
	fmt.Println(plumb.StatusOf(plumb.OutcomeFail, plumb.OriginAssertion, true))
	fmt.Println(plumb.StatusOf(plumb.OutcomePass, "", true))
	fmt.Println(plumb.StatusOf(plumb.OutcomeError, plumb.OriginRunner, true))
	// Output:
	// expected-failed
	// unexpected-passed
	// failed
}

func ExampleWithHint() {
	err := plumb.WithHint(errors.New("the key is rejected"), "check OPENAI_API_KEY")
	err = fmt.Errorf("open runner gpt: %w", err)
	fmt.Println(err)
	fmt.Println(plumb.Hint(err))
	// Output:
	// open runner gpt: the key is rejected
	// check OPENAI_API_KEY
}

// shorterThan is an assertion of one's own.
type shorterThan int

func (n shorterThan) Assert(_ context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	words := len(strings.Fields(ev.Report.FinalOutput))
	v := plumb.Verdict{
		Name: "short", Pass: words < int(n), Reason: fmt.Sprintf("the output has %d words, want fewer than %d", words, n),
	}
	if v.Pass {
		v.Score = 1
	}
	return []plumb.Verdict{v}, nil
}

// An assertion is any type with an Assert method. plumbtest.TestAssertion checks that it keeps the contract.
func ExampleAssertion() {
	var a plumb.Assertion = shorterThan(3)
	verdicts, err := a.Assert(context.Background(), plumb.Evidence{
		Report: &plumb.SessionReport{FinalOutput: "much too long"},
	})
	fmt.Println(verdicts[0].Pass, verdicts[0].Reason, err)
	// Output: false the output has 3 words, want fewer than 3 <nil>
}
