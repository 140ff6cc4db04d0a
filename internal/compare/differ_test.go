package compare_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/compare"
)

// sessions returns the sessions of one execution: each has events and an outcome.
func sessions(all ...[]plumb.SessionEvent) compare.Sessions {
	return func(_, _ string, yield func(plumb.Event) error) error {
		for i, events := range all {
			outcome := plumb.OutcomePass
			if len(events) > 0 && events[len(events)-1].Text == "wrong" {
				outcome = plumb.OutcomeFail
			}
			err := yield(plumb.Event{
				Type: plumb.EventSessionFinished, Repetition: i + 1, Session: 1,
				Report: &plumb.SessionReport{Events: events, Workspace: "/tmp/ws" + string(rune('a'+i))},
			})
			if err != nil {
				return err
			}
			err = yield(plumb.Event{
				Type: plumb.EventSessionJudged, Repetition: i + 1, Session: 1,
				Judgement: &plumb.Judgement{Outcome: outcome},
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func message(text string) plumb.SessionEvent {
	return plumb.SessionEvent{Type: plumb.SessionMessage, Role: plumb.RoleAssistant, Phase: "final", Text: text}
}

func TestFindDifference(t *testing.T) {
	t.Parallel()
	prompt := plumb.SessionEvent{Type: plumb.SessionMessage, Role: plumb.RoleUser, Text: "Do it."}
	read := func(path string) plumb.SessionEvent {
		return plumb.SessionEvent{Type: plumb.SessionFileRead, Path: path, CallID: path}
	}
	lost := compare.CaseResult{
		Case: "c", Runner: "r", Baseline: compare.Count{Passed: 1, Measured: 1}, Candidate: compare.Count{Measured: 2},
	}
	tests := map[string]struct {
		base, cand compare.Sessions
		want       compare.SessionDifference
	}{
		"the answers": {
			sessions([]plumb.SessionEvent{prompt, message("right")}),
			sessions([]plumb.SessionEvent{prompt, message("wrong")}),
			compare.SessionDifference{Event: 1, Baseline: `answer "right"`, Candidate: `answer "wrong"`},
		},
		"a file; its workspace is not compared": {
			sessions([]plumb.SessionEvent{read("/tmp/wsa/x"), read("/tmp/wsa/notes.md"), message("right")}),
			sessions([]plumb.SessionEvent{read("/tmp/wsa/x"), message("wrong")}),
			compare.SessionDifference{Event: 2, Baseline: "reads WORKSPACE/notes.md", Candidate: `answer "wrong"`},
		},
		"the end": {
			sessions([]plumb.SessionEvent{message("right")}),
			sessions([]plumb.SessionEvent{message("right"), message("wrong")}),
			compare.SessionDifference{Event: 2, Candidate: `answer "wrong"`},
		},
		"the first repetition that failed": {
			sessions([]plumb.SessionEvent{message("right")}),
			sessions([]plumb.SessionEvent{message("other")}, []plumb.SessionEvent{message("wrong")}),
			compare.SessionDifference{CandidateRepetition: 2, Event: 1, Baseline: `answer "right"`, Candidate: `answer "wrong"`},
		},
	}
	for name, tt := range tests {
		c := lost
		if err := compare.FindDifference(&c, tt.base, tt.cand); err != nil || c.Difference == nil {
			t.Errorf("%s: %v, %+v", name, err, c.Difference)
			continue
		}
		want := tt.want
		want.BaselineRepetition, want.BaselineSession, want.CandidateSession = 1, 1, 1
		want.CandidateRepetition = max(1, want.CandidateRepetition)
		if *c.Difference != want {
			t.Errorf("%s: got %+v, want %+v", name, *c.Difference, want)
		}
	}
	c := lost
	if err := compare.FindDifference(&c, sessions(), sessions()); err != nil || c.Difference != nil {
		t.Errorf("without sessions: %v, %+v", err, c.Difference)
	}
}

// A lost case compares a pass of the baseline with a fail of the candidate, and another case a fail with
// a pass. The last session of a repetition decides.
func TestWhichSessionsDiffer(t *testing.T) {
	t.Parallel()
	right, wrong := []plumb.SessionEvent{message("right")}, []plumb.SessionEvent{message("wrong")}
	both := sessions(right, wrong, right, wrong)
	const passing, failing = `answer "right"`, `answer "wrong"`
	retried := func(_, _ string, yield func(plumb.Event) error) error {
		return sessions(right, wrong)("", "", func(ev plumb.Event) error {
			ev.Session, ev.Repetition = ev.Repetition, 7
			return yield(ev)
		})
	}
	for name, test := range map[string]struct {
		base, cand compare.Count
		sessions   compare.Sessions
		want       compare.SessionDifference
	}{
		"lost": {
			compare.Count{Passed: 2, Measured: 4},
			compare.Count{Passed: 1, Measured: 4},
			both,
			compare.SessionDifference{BaselineRepetition: 1, CandidateRepetition: 2, Baseline: passing, Candidate: failing},
		},
		"won": {
			compare.Count{Passed: 1, Measured: 4},
			compare.Count{Passed: 2, Measured: 4},
			both,
			compare.SessionDifference{BaselineRepetition: 2, CandidateRepetition: 1, Baseline: failing, Candidate: passing},
		},
		"lost with fewer repetitions": {
			compare.Count{Passed: 1, Measured: 1},
			compare.Count{Passed: 2, Measured: 4},
			both,
			compare.SessionDifference{BaselineRepetition: 1, CandidateRepetition: 2, Baseline: passing, Candidate: failing},
		},
		"alike": {
			compare.Count{Passed: 2, Measured: 2},
			compare.Count{Passed: 4, Measured: 4},
			both,
			compare.SessionDifference{BaselineRepetition: 2, CandidateRepetition: 1, Baseline: failing, Candidate: passing},
		},
		"retried": {
			compare.Count{Passed: 1, Measured: 1},
			compare.Count{Measured: 1},
			retried,
			compare.SessionDifference{
				BaselineRepetition: 1, CandidateRepetition: 7, CandidateSession: 2, Baseline: `answer "right"`,
				Candidate: `answer "wrong"`,
			},
		},
	} {
		c := compare.CaseResult{Case: "c", Runner: "r", Baseline: test.base, Candidate: test.cand}
		if err := compare.FindDifference(&c, both, test.sessions); err != nil || c.Difference == nil {
			t.Errorf("%s: %v, %+v", name, err, c.Difference)
			continue
		}
		want := test.want
		want.Event, want.BaselineSession, want.CandidateSession = 1, 1, max(1, want.CandidateSession)
		if *c.Difference != want {
			t.Errorf("%s: got %+v, want %+v", name, *c.Difference, want)
		}
	}
}

// The shown parts of long texts hold the place where they differ, and are valid UTF-8.
func TestDifferenceIsShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringN(0, 300, -1).Draw(t, "before")
		x, y := before+"x"+rapid.String().Draw(t, "x"), before+"y"+rapid.String().Draw(t, "y")
		c := compare.CaseResult{
			Case: "c", Runner: "r", Baseline: compare.Count{Passed: 1, Measured: 1},
			Candidate: compare.Count{Measured: 1},
		}
		err := compare.FindDifference(&c, sessions([]plumb.SessionEvent{message(x)}),
			sessions([]plumb.SessionEvent{message(y), message("wrong")}))
		if err != nil {
			t.Fatal(err)
		}
		d := c.Difference
		if d.Event != 1 || d.Baseline == d.Candidate || len(d.Baseline) > 160 || len(d.Candidate) > 160 {
			t.Fatalf("%+v", d)
		}
		if utf8.ValidString(before) && (!utf8.ValidString(d.Baseline) || !strings.HasPrefix(d.Baseline, "answer ")) {
			t.Fatalf("%q", d.Baseline)
		}
	})
}
