package check

import (
	"strings"
	"testing"
)

// TestAsksBoundsTheJudge compares what a check says that it asks at most with what it asks of a
// judge that never gives a verdict, and says as much as it can.
func TestAsksBoundsTheJudge(t *testing.T) {
	const output = "Measure twice."
	question := "Is it a motto? " + strings.Repeat("Ä", 100)
	for _, test := range []struct {
		check *Check
		votes int
		want  int
	}{
		{LLMJudge(question, 0), 0, 3},
		{LLMJudge(question, 0), 5, 15},
		{LLMJudge(question, 3), 5, 9},
		{AllOf(LLMJudge("?", 0), AnyOf(LLMJudge(question, 3), IsJSON()), SemanticSimilarity([]string{"ab", "c"}, 1)), 0, 12},
		{IsJSON(), 3, 0},
	} {
		judge := &fakeJudge{replies: []any{"Perhaps " + strings.Repeat("€", 10_000)}}
		ev := judged(judge, output)
		ev.Judge.Votes = test.votes
		if _, err := test.check.Assert(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
		asks := test.check.Asks(test.votes)
		if asks.Judge != test.want || len(judge.requests) > asks.Judge {
			t.Errorf(
				"%s: asks %d times at most, want %d; asked %d times",
				test.check.Type(),
				asks.Judge,
				test.want,
				len(judge.requests),
			)
		}
		for _, r := range judge.requests {
			sent := 0
			for _, m := range r.Messages {
				sent += len(m.Content)
			}
			if most := asks.JudgeBytes + len(ev.Case.Prompt()) + len(output); sent > most {
				t.Errorf("%s: a request of %d bytes, %d at most", test.check.Type(), sent, most)
			}
		}
	}
	if a := SemanticSimilarity([]string{"ab", "c"}, 1).Asks(0); a != (Asks{Embedder: 1, EmbedderBytes: 3}) {
		t.Errorf("%+v", a)
	}
}
