package plumbtest_test

import (
	"fmt"

	"github.com/plumb-eval/plumb/plumbtest"
)

// A reporter can be tested with the synthetic run of Events, which Fold turns into a state.
func ExampleFold() {
	run, err := plumbtest.Fold(plumbtest.Events())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Totals.Finished == run.Totals.Planned, len(run.Info.Runners), "runners")
	// Output: true 2 runners
}
