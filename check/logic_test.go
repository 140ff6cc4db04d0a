package check

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

func TestLogic(t *testing.T) {
	yes, no, unknown := Contains("x", nil), Contains("y", nil), MaxTokens(1)
	const pass, fail, broken = plumb.OutcomePass, plumb.OutcomeFail, plumb.OutcomeError
	tests := []struct {
		name  string
		c     *Check
		want  plumb.Outcome
		score float64
	}{
		{"all", AllOf(yes, yes), pass, 1},
		{"all but one", AllOf(yes, no), fail, 0.5},
		{"all, weighted", AllOf(yes.Weighted(3), no), fail, 0.75},
		{"all, one unknown", AllOf(yes, unknown), broken, 0},
		{"all, one fails, one unknown", AllOf(unknown, no), fail, 0},
		{"any", AnyOf(no, yes), pass, 1},
		{"none", AnyOf(no, no), fail, 0},
		{"any, one unknown", AnyOf(no, unknown), broken, 0},
		{"any, one passes, one unknown", AnyOf(unknown, yes), pass, 1},
		{"not all", AllOf(yes, no).Not(), pass, 0.5},
		{"not any", AnyOf(yes, no).Not(), fail, 0},
		{"not, unknown", AnyOf(no, unknown).Not(), broken, 0},
		{"not unknown within", AllOf(unknown.Not()), broken, 0},
		{"nested", AllOf(AnyOf(no, yes), AllOf(yes)), pass, 1},
		{"empty all", AllOf(), broken, 0},
		{"empty any", AnyOf(), broken, 0},
	}
	for _, test := range tests {
		if v := assertOn(t, test.c, "x"); outcome(v) != test.want || v.Score != test.score {
			t.Errorf("%s: %s %v, want %s %v: %s", test.name, outcome(v), v.Score, test.want, test.score, v.Reason)
		}
	}
	v := assertOn(t, AllOf(yes, no.Named("has y"), unknown), "x")
	if want := `has y: the output does not contain "y": "x"`; v.Reason != want {
		t.Error(v.Reason)
	}
	var details struct{ Assertions []map[string]any }
	if err := json.Unmarshal(
		v.Details,
		&details,
	); err != nil || len(details.Assertions) != 3 || details.Assertions[1]["name"] != "has y" ||
		details.Assertions[0]["passed"] != true ||
		details.Assertions[2]["error"] == nil {
		t.Errorf("%s %v", v.Details, err)
	}
}

func TestLogicAsksNoMoreThanItMust(t *testing.T) {
	for _, test := range []struct {
		c    *Check
		asks int
		want plumb.Outcome
	}{
		{AllOf(LLMJudge("?", 0), Contains("y", nil)), 0, plumb.OutcomeFail},
		{AllOf(LLMJudge("?", 0), Contains("x", nil)), 1, plumb.OutcomePass},
		{AnyOf(LLMJudge("?", 0), Contains("x", nil)), 0, plumb.OutcomePass},
		{AnyOf(LLMJudge("?", 0), LLMJudge("!", 0), Contains("y", nil)), 1, plumb.OutcomePass},
		{AllOf(LLMJudge("?", 0), LLMJudge("!", 0)), 2, plumb.OutcomePass},
	} {
		judge := &fakeJudge{replies: []any{"yes"}}
		v := assertEvidence(t, test.c, judged(judge, "x"))
		if outcome(v) != test.want || len(judge.requests) != test.asks {
			t.Errorf("%s after %d questions, want %s after %d", outcome(v), len(judge.requests), test.want, test.asks)
		}
		if (v.Asked == nil) != (test.asks == 0) ||
			v.Asked != nil && (v.Asked.Requests != test.asks || *v.Asked.CostUSD != 0.25*float64(test.asks)) {
			t.Errorf("asked %+v", v.Asked)
		}
	}
	if judge, embedder := AllOf(IsJSON(), AnyOf(LLMJudge("?", 0))).Needs(); !judge || embedder {
		t.Error("needs of members are not seen")
	}
	if judge, embedder := AllOf(SemanticSimilarity([]string{"a"}, 1)).Needs(); judge || !embedder {
		t.Error("needs of members are not seen")
	}
}

func TestSemanticSimilarity(t *testing.T) {
	vectors := map[string][]float32{
		"same": {1, 2, 3}, "near": {1, 2, 2}, "far": {-3, 0, 1}, "opposite": {-1, -2, -3}, "zero": {0, 0, 0},
		"nan": {float32(math.NaN()), 0, 0}, "short": {1}, "odd": {0.1, 0.7, 0.3},
	}
	embedder := func(err error) *plumb.Embedder {
		return &plumb.Embedder{Name: "fake:embed", Embed: func(_ context.Context, texts []string) (plumb.Embedding, error) {
			e := plumb.Embedding{Model: "embed-1", Requests: 1, CostUSD: new(0.5)}
			for _, text := range texts {
				if v, ok := vectors[text]; ok {
					e.Vectors = append(e.Vectors, v)
				}
			}
			return e, err
		}}
	}
	const pass, fail, broken = plumb.OutcomePass, plumb.OutcomeFail, plumb.OutcomeError
	tests := []struct {
		output    string
		ideals    []string
		threshold float64
		embedder  *plumb.Embedder
		want      plumb.Outcome
	}{
		{"same", []string{"same"}, 1, embedder(nil), pass},
		{"odd", []string{"odd"}, 1, embedder(nil), pass},
		{"same", []string{"near"}, 0.9, embedder(nil), pass},
		{"same", []string{"near"}, 0.99, embedder(nil), fail},
		{"same", []string{"far", "near"}, 0.9, embedder(nil), pass},
		{"same", []string{"opposite"}, 0, embedder(nil), fail},
		{" \n", []string{"same"}, 0, nil, fail},
		{"same", []string{"zero"}, 0.5, embedder(nil), broken},
		{"nan", []string{"same"}, 0.5, embedder(nil), broken},
		{"same", []string{"short"}, 0.5, embedder(nil), broken},
		{"same", []string{"unknown"}, 0.5, embedder(nil), broken},
		{"same", []string{"same"}, 0.5, embedder(plumb.WithHint(errors.New("down"), "wait")), broken},
		{"same", []string{"same"}, 0.5, nil, broken},
	}
	for _, test := range tests {
		for _, not := range []bool{false, true} {
			c, want := SemanticSimilarity(test.ideals, test.threshold), test.want
			if not {
				c = c.Not()
				want = map[plumb.Outcome]plumb.Outcome{pass: fail, fail: pass, broken: broken}[want]
			}
			v := assertEvidence(
				t,
				c,
				plumb.Evidence{Report: &plumb.SessionReport{FinalOutput: test.output}, Embedder: test.embedder},
			)
			if outcome(v) != want {
				t.Errorf("%s and %v, not %v: %s, want %s: %s", test.output, test.ideals, not, outcome(v), want, v.Reason)
			}
			if v.Error != nil && v.Error.Origin != plumb.OriginJudge {
				t.Errorf("origin %s", v.Error.Origin)
			}
		}
	}
	v := assertEvidence(t, SemanticSimilarity([]string{"far", "near"}, 0.9), plumb.Evidence{
		Report: &plumb.SessionReport{FinalOutput: "same"}, Embedder: embedder(nil),
	})
	if diff := cmp.Diff(&plumb.Asked{Model: "embed-1", Requests: 1, CostUSD: new(0.5)}, v.Asked); diff != "" {
		t.Error(diff)
	}
	if want := `the similarity to "near" is 0.980, at least 0.9`; v.Reason != want || v.Expected != "near" ||
		!strings.Contains(string(v.Details), `"model":"embed-1"`) {
		t.Errorf("%s %s %s", v.Reason, v.Expected, v.Details)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := SemanticSimilarity([]string{"same"}, 1).Assert(ctx, plumb.Evidence{
		Report: &plumb.SessionReport{FinalOutput: "same"}, Embedder: embedder(context.Canceled),
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
