package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// promptSide is a run of n cases with the prompts short and long. Short passes everything, and long
// fails the first ones.
func promptSide(t *testing.T, n, failing int) *Side {
	t.Helper()
	run, samples := &plumb.Run{}, &analyze.Samples{}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	apply := func(ev plumb.Event) {
		ev.At = at
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		if err := samples.Report(ev, run); err != nil {
			t.Fatal(err)
		}
	}
	apply(plumb.Event{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{
		ID: "run", Runners: []plumb.RunnerInfo{{ID: "gpt", Kind: plumb.RunnerModel, Config: "c"}},
	}})
	var cases []plumb.CaseInfo
	for i := range n {
		for _, prompt := range []string{"short", "long"} {
			item := fmt.Sprintf("q%03d", i)
			cases = append(cases, plumb.CaseInfo{
				ID: item + "." + prompt, Item: item, Prompt: prompt, Hash: item + prompt, PromptHash: item + prompt,
				ChecksHash: item, Repeat: 1,
			})
		}
	}
	apply(plumb.Event{Type: plumb.EventPlanned, Cases: cases})
	for i, c := range cases {
		j := &plumb.Judgement{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Score: 1}
		if c.Prompt == "long" && i/2 < failing {
			j = &plumb.Judgement{Outcome: plumb.OutcomeFail, Status: plumb.StatusFailed}
		}
		ev := plumb.Event{Case: c.ID, Runner: "gpt", Repetition: 1, Session: 1}
		ev.Type, ev.Report = plumb.EventSessionFinished, &plumb.SessionReport{FinalOutput: c.ID}
		apply(ev)
		ev.Type, ev.Report, ev.Judgement = plumb.EventSessionJudged, nil, j
		apply(ev)
		ev.Type, ev.Judgement, ev.Result = plumb.EventExecutionFinished, nil, &plumb.ExecutionResult{
			Outcome: j.Outcome, Status: j.Status, Score: j.Score, Sessions: 1,
		}
		apply(ev)
	}
	return OfRun(run, samples, "run")
}

// Two prompts of one run are compared case by case.
func TestComparePrompts(t *testing.T) {
	side := promptSide(t, 40, 20)
	short, err := side.OfPrompt("short")
	if err != nil {
		t.Fatal(err)
	}
	long, err := side.OfPrompt("long")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Match(short, long, MatchOptions{Map: PairItems(short, long), Vary: []Kind{VaryPrompt}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Runners[0].Pairs); n != 40 || len(m.OnlyBase)+len(m.OnlyCand) > 0 || len(m.Warnings) > 0 {
		t.Fatalf("%d pairs, alone %v %v, warnings %q", n, m.OnlyBase, m.OnlyCand, m.Warnings)
	}
	for _, p := range m.Runners[0].Pairs {
		if strings.TrimSuffix(p.BaseCase, ".short") != strings.TrimSuffix(p.CandCase, ".long") {
			t.Errorf("%s is paired with %s", p.BaseCase, p.CandCase)
		}
	}
	if got := Analyze(m, DefaultChoices()); got.Conclusion != Worse {
		t.Errorf("the conclusion is %s", got.Conclusion)
	}
	if _, err := side.OfPrompt("lnog"); err == nil || !strings.Contains(plumb.Hint(err), "did you mean long?") {
		t.Errorf("an unknown prompt: %v (%s)", err, plumb.Hint(err))
	}
}

// The prompts of one case are one cluster, because they share its question.
func TestPromptsOfACaseAreOneCluster(t *testing.T) {
	m, err := Match(promptSide(t, 10, 2), promptSide(t, 10, 4), MatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clusters := map[string]int{}
	for _, p := range m.Runners[0].Pairs {
		clusters[p.Cluster]++
	}
	if !m.Clustered || len(clusters) != 10 || clusters["case q003"] != 2 {
		t.Errorf("clustered %v, clusters %v", m.Clustered, clusters)
	}
}
