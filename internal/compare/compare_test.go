package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
)

// recorded makes runs for tests from events, as the engine does.
type recorded struct {
	info    plumb.RunInfo
	cases   []plumb.CaseInfo
	at      time.Time
	version string // of the agent
	model   string // as the provider reports it
	// outcome says how a repetition ends: 'p' for a pass, 'f' for a fail, 'e' for an error.
	outcome func(c, r, repetition int) byte
	// answer names the session; "" makes a name of its own.
	answer func(c, r, repetition int) string
}

func newRecorded(id string, runners ...string) *recorded {
	x := &recorded{at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	x.info = plumb.RunInfo{
		ID: id, SuiteName: "s", Cases: 3, SuiteCases: 3, Repeat: 1, Retry: 1,
		Setup: &plumb.Setup{Scoring: plumb.ScoringVersion, TimeoutMs: 60000},
	}
	for _, r := range runners {
		x.info.Runners = append(x.info.Runners, plumb.RunnerInfo{
			ID: r, Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: "openai", Model: "gpt-5"},
			Config:     "sha256:c0ffee",
			Parameters: plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42))},
		})
		x.info.Setup.Runners = append(x.info.Setup.Runners, plumb.RunnerSetup{})
	}
	for i := range 3 {
		x.cases = append(x.cases, plumb.CaseInfo{
			ID: fmt.Sprintf("c%d", i), Hash: fmt.Sprintf("sha256:h%d", i), PromptHash: fmt.Sprintf("p%d", i),
			ChecksHash: fmt.Sprintf("k%d", i), Repeat: 1, Category: "math", Tags: []string{"src-a"},
		})
	}
	return x
}

// agent turns the first runner into an agent.
func (x *recorded) agent() *recorded {
	x.info.Runners[0].Kind, x.info.Runners[0].Agent = plumb.RunnerAgent, plumb.AgentInfo{Type: "codex", Model: "gpt-5"}
	x.info.Setup.Runners[0].Permissions = "bypass"
	return x
}

func (x *recorded) events(t *testing.T, each func(plumb.Event, *plumb.Run) error) *plumb.Run {
	t.Helper()
	run := &plumb.Run{}
	at := x.at
	emit := func(ev plumb.Event) {
		at = at.Add(time.Second)
		ev.At = at
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		if err := each(ev, run); err != nil {
			t.Fatal(err)
		}
	}
	emit(plumb.Event{Type: plumb.EventRunStarted, Info: &x.info})
	emit(plumb.Event{Type: plumb.EventPlanned, Cases: x.cases})
	for c := range x.cases {
		for r := range x.info.Runners {
			x.execution(emit, c, r)
		}
	}
	emit(plumb.Event{Type: plumb.EventRunFinished, End: &plumb.RunEnd{}})
	return run
}

func (x *recorded) execution(emit func(plumb.Event), c, r int) {
	id, runner := x.cases[c].ID, x.info.Runners[r].ID
	res := &plumb.ExecutionResult{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Sessions: 1}
	for n := 1; n <= max(x.cases[c].Repeat, 1); n++ {
		result := byte('p')
		if x.outcome != nil {
			result = x.outcome(c, r, n)
		}
		name := fmt.Sprintf("%s/%s/%s/%d", x.info.ID, id, runner, n)
		if x.answer != nil {
			if a := x.answer(c, r, n); a != "" {
				name = a
			}
		}
		j := &plumb.Judgement{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Score: 1}
		switch result {
		case 'f':
			j = &plumb.Judgement{
				Outcome: plumb.OutcomeFail, Status: plumb.StatusFailed,
				Failure: &plumb.Failure{Origin: plumb.OriginAssertion, Class: plumb.OriginAssertion.Class()},
			}
			res.Outcome, res.Status, res.Failed = plumb.OutcomeFail, plumb.StatusFailed, res.Failed+1
		case 'e':
			j = &plumb.Judgement{
				Outcome: plumb.OutcomeError, Status: plumb.StatusFailed,
				Failure: &plumb.Failure{Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class()},
			}
			res.Errored++
		default:
			res.Passed++
		}
		emit(plumb.Event{
			Type: plumb.EventSessionFinished, Case: id, Runner: runner, Repetition: n, Session: 1,
			Report: &plumb.SessionReport{
				SessionID: name, FinalOutput: "answer", LatencyMs: int64(100 + n), Model: x.model,
				AgentVersion: x.version,
				Usage: plumb.Usage{
					InputTokens: new(int64(10)), OutputTokens: new(int64(n)), TotalTokens: new(int64(10 + n)),
				},
				CostUSD: new(0.25),
			},
		})
		emit(plumb.Event{
			Type: plumb.EventSessionJudged, Case: id, Runner: runner, Repetition: n, Session: 1, Judgement: j,
		})
		if x.info.Runners[r].Kind == plumb.RunnerAgent && result != 'p' {
			break
		}
	}
	emit(plumb.Event{Type: plumb.EventExecutionFinished, Case: id, Runner: runner, Result: res})
}

// side returns the run as a side.
func (x *recorded) side(t *testing.T) *Side {
	t.Helper()
	s := &analyze.Samples{}
	run := x.events(t, s.Report)
	return OfRun(run, s, "runs/"+x.info.ID)
}

func lines(all []Difference) string {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s: %s\n", d.Kind, d)
	}
	return b.String()
}

func TestEqualRunsPair(t *testing.T) {
	t.Parallel()
	m, err := Match(newRecorded("a", "r", "q").side(t), newRecorded("b", "q", "r").side(t), MatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Runners) != 2 || len(m.Runners[0].Pairs) != 3 || m.Runners[0].Base != "q" {
		t.Fatalf("%+v", m.Runners)
	}
	if len(m.Varied) != 0 || len(m.Unknown) != 0 || len(m.Warnings) != 0 {
		t.Errorf("varied %s, unknown %s, warnings %q", lines(m.Varied), lines(m.Unknown), m.Warnings)
	}
	if p := m.Runners[0].Pairs[0]; !p.Measured() || p.Cluster != "case c0" || p.Planned() != 1 {
		t.Errorf("%+v", p)
	}
}

// TestDifferences: each change of a run is the one kind of difference that the table names.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(x *recorded)
		want   string
	}{
		"model": {
			func(x *recorded) { x.info.Runners[0].Agent.Model = "gpt-5-mini" },
			"model: model openai:gpt-5 → openai:gpt-5-mini on runner r\n",
		},
		"temperature": {
			func(x *recorded) { x.info.Runners[0].Parameters.Temperature = new(1.0) },
			"parameters: temperature 0 → 1 on runner r\n",
		},
		"seed": {
			func(x *recorded) { x.info.Runners[0].Parameters.Seed = nil },
			"parameters: seed 42 → not set on runner r\n",
		},
		"base URL": {
			func(x *recorded) { x.info.Runners[0].BaseURL = "http://x" },
			"model: base URL the provider's own → http://x on runner r\n",
		},
		"retry": {
			func(x *recorded) { x.info.Retry = 3 },
			"limits: retry 1 → 3\n",
		},
		"time limit": {
			func(x *recorded) { x.info.Setup.TimeoutMs = 1000 },
			"limits: time limit 1m → 1s\n",
		},
		"scoring": {
			func(x *recorded) { x.info.Setup.Scoring++ },
			"plumb: scoring version 1 → 2\n",
		},
		"steps of a case": {
			func(x *recorded) { x.cases[1].MaxSteps = 5 }, "limits: steps none → 5 in case c1\n",
		},
		"expected failure": {
			func(x *recorded) { x.cases[1].ExpectedFail = true }, "checks: expected failure false → true in case c1\n",
		},
		"prompt": {
			func(x *recorded) { x.cases[1].Hash, x.cases[1].PromptHash = "sha256:n", "n" },
			"prompt: prompt the old one → another in case c1\n",
		},
		"checks": {
			func(x *recorded) { x.cases[1].Hash, x.cases[1].ChecksHash = "sha256:n", "n" },
			"checks: checks the old one → another in case c1\n",
		},
		"program": {func(x *recorded) {
			x.info.Runners[0].Config = "sha256:d0"
			x.info.Setup.Runners[0].Program = "1234"
		}, "agent: program and arguments none → 1234 on runner r\n"},
		"judge": {func(x *recorded) { x.info.Judge = "openai:gpt-5" }, "judge: judge none → openai:gpt-5\n"},
		"workspace": {
			func(x *recorded) { x.info.Workspace = &plumb.WorkspaceConfig{Mode: plumb.WorkspaceIsolated} },
			"workspace: workspace none → isolated\n",
		},
	} {
		changed := newRecorded("b", "r")
		test.change(changed)
		if name != "program" && changed.info.Setup.Runners[0].Program == "" {
			changed.info.Runners[0].Config = "sha256:d1"
		}
		m, err := Match(newRecorded("a", "r").side(t), changed.side(t), MatchOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := lines(m.Varied); got != test.want || m.Declared {
			t.Errorf("%s: got %swant %s", name, got, test.want)
		}
		if len(m.Runners[0].Pairs) != 3 {
			t.Errorf("%s: %d pairs", name, len(m.Runners[0].Pairs))
		}
		other, err := Match(changed.side(t), newRecorded("a", "r").side(t), MatchOptions{})
		if err != nil || len(other.Varied) != len(m.Varied) {
			t.Errorf("%s, swapped: %v", name, err)
		}
	}
}
