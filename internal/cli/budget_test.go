package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/fakemodel"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// wordySuite returns n cases, of which every third asks a judge. The length of an answer depends on
// the number of its case, up to the limit of tokens.
func wordySuite(n int) (suite string, answer func(fakemodel.Ask) string) {
	var b strings.Builder
	for i := range n {
		c := map[string]any{
			"id": fmt.Sprintf("reasoning-%04d", i), "category": "reasoning", "input": fmt.Sprintf("Question %d, please.", i),
			"ideal": "x", "assertion": map[string]any{"type": "contains"}, "metadata": map[string]any{"tokens_est": 30},
		}
		if i%3 == 2 {
			c["assertion"] = map[string]any{"type": "llm_judge", "judge_prompt": "Is it long?"}
		}
		line, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String(), func(a fakemodel.Ask) string {
		if a.Judge {
			return "YES"
		}
		var i int
		if _, err := fmt.Sscanf(a.Prompt(), "Question %d", &i); err != nil {
			return err.Error()
		}
		return strings.Repeat("xyz ", []int{5000, 100, 2500, 5000, 10}[i%5])
	}
}

// TestBudgetAgainstAServer runs with a budget against a server whose answers are much longer than
// the estimates of the suite, with 4, 16 and 64 sessions in flight. The run may exceed its budget
// by the largest cost of one session, and by no more.
func TestBudgetAgainstAServer(t *testing.T) {
	// What one session of this suite can cost: 4,096 tokens of an answer at 10 dollars a million, its
	// short prompt, and three replies of a judge, each with at most the answer four times over at 2.50
	// dollars and 4,096 tokens.
	const oneSession = 0.045 + 3*(0.0455+0.041)
	for _, budget := range []float64{0.05, 0.1, 1} {
		for _, inFlight := range []string{"4", "16", "64"} {
			w := newWorld(t)
			suite, answer := wordySuite(300)
			w.serve(fakemodel.Behavior{Answer: answer, Latency: 20 * time.Millisecond, LatencyJitter: 30 * time.Millisecond})
			w.write("suite.jsonl", suite)
			w.plumb("run", "suite.jsonl", "--model", "openai:gpt-4o", "--parallel", inFlight, "--max-cost", fmt.Sprint(budget), "--json")
			state, err := runlog.At(w.runDir()).Fold(nil)
			if err != nil {
				t.Fatal(err)
			}
			spent, sessions := state.Totals.CostUSD, state.Totals.Sessions
			t.Logf("budget $%.2f, %s in flight: spent $%.3f in %d sessions", budget, inFlight, spent, sessions)
			if spent > budget+oneSession {
				t.Errorf("budget $%.2f, %s in flight: spent $%.3f, which is more than a session above it", budget, inFlight, spent)
			}
		}
	}
}
