package cli_test

import (
	"os"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/run"
)

// TestStorm runs 2,000 cases against a server of which 30 % of the replies break in every way it knows, and some prompts
// break always. Each case must end with the right verdict, or with a truthful error, once.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and made whole elsewhere")
	}
	cases := 400
	if os.Getenv("PLUMB_CI") != "" {
		cases = 2000
	}
	w := newWorld(t)
	suite, answers := mixedSuite(cases)
	options := fakemodel.Options{
		Answers: answers, Seed: 7, Latency: 2 * time.Millisecond, LatencyJitter: 5 * time.Millisecond, RetryAfter: time.Second,
		MaxConcurrent: 48,
		Faults: fakemodel.Faults{
			Rate: 0.3, MaxConsecutive: 3, Permanent: 0.02, HangFor: 700 * time.Millisecond, SlowFor: 50 * time.Millisecond,
		},
	}
	w.serve(options)
	w.write("suite.jsonl", suite)
	code, stdout, stderr := w.plumb("run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", "64", "--request-timeout", "1s", "--json")
	if code != 1 {
		t.Fatalf("exit code %d, want 1\n%s\n%s", code, stdout, stderr)
	}
	dir := w.runDir()
	exactlyOnce(t, dir, cases, cases)
	state, err := run.Fold(dir)
	if err != nil {
		t.Fatal(err)
	}
	broken, wrong := 0, 0
	for i, e := range state.Executions {
		id, _ := state.At(i)
		truth := options.Faults.Truth(options.Seed, answers[i].Prompt)
		want := plumb.OutcomePass
		switch {
		case truth.Broken != "" && truth.Broken != fakemodel.FaultSlow && truth.Broken != fakemodel.FaultRefused:
			want = plumb.OutcomeError
			broken++
		case i%10 == 3 || i%10 == 7:
			want = plumb.OutcomeFail
		}
		if e.Outcome != want {
			wrong++
			if wrong <= 20 {
				t.Errorf("%s: %s (%s), want %s; the server: %+v", id, e.Outcome, e.Reason, want, truth)
			}
		}
		if e.Outcome == plumb.OutcomeError && e.Reason == "" {
			t.Errorf("%s: an error that does not say why", id)
		}
	}
	if broken == 0 {
		t.Error("no prompt was broken for good; the test does not test what it says")
	}
	t.Logf("%d cases, %d broken for good, %d wrong, %.1f s", cases, broken, wrong, float64(state.ActiveMs)/1000)
}
