package judging_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/judging"
)

func pass(name string) plumb.Verdict { return plumb.Verdict{Name: name, Pass: true, Score: 1} }

func fail(name, reason string) plumb.Verdict { return plumb.Verdict{Name: name, Reason: reason} }

func scored(score, weight float64) plumb.Verdict {
	return plumb.Verdict{Name: "scored", Pass: true, Score: score, Weight: weight}
}

// broke is the verdict of a check that could not be made. Its score has no meaning.
func broke(origin plumb.Origin, message string) plumb.Verdict {
	return plumb.Verdict{Name: "broke", Score: 1, Reason: message, Error: plumb.Failuref(origin, "%s", message)}
}

// threw is the verdict of a check in a suite in code.
func threw(message, stack string) plumb.Verdict {
	return plumb.Verdict{Name: "assert", Reason: message, Stack: stack, Source: &plumb.Position{File: "a.ts", Line: 3}}
}

// gives returns an assertion that gives verdicts.
func gives(verdicts ...plumb.Verdict) plumb.Assertion {
	return unaware(func() ([]plumb.Verdict, error) { return verdicts, nil })
}

// session judges a session that has an answer.
func session(t *testing.T, c plumb.Case) *plumb.Judgement {
	t.Helper()
	ev := plumb.Evidence{Case: &c, Report: &plumb.SessionReport{FinalOutput: "an answer"}}
	return judging.Session(t.Context(), ev, nil)
}

// TestVerdictsBecomeAJudgement holds the rules by which the verdicts of a session become an outcome, a
// score and a message. Each inner list of verdicts is the result of one assertion.
func TestVerdictsBecomeAJudgement(t *testing.T) {
	type verdicts = []plumb.Verdict
	const hook, judge = plumb.OriginAssertHook, plumb.OriginJudge
	for _, test := range []struct {
		name    string
		given   []verdicts
		least   *float64
		outcome plumb.Outcome
		score   float64 // checked unless the outcome is an error
		message string  // "" means no failure
	}{
		{"nothing to check", nil, nil, plumb.OutcomePass, 0, ""},
		{"all hold", []verdicts{{pass("a")}, {pass("b"), pass("c")}}, nil, plumb.OutcomePass, 1, ""},
		{"one does not", []verdicts{{pass("a")}, {fail("b", "no b")}}, nil, plumb.OutcomeFail, 0.5, "b: no b"},
		{"no name", []verdicts{{fail("", "no b")}}, nil, plumb.OutcomeFail, 0, "no b"},
		{"low scores pass", []verdicts{{scored(0.25, 0)}}, nil, plumb.OutcomePass, 0.25, ""},
		{"weights", []verdicts{{scored(1, 3), scored(0, 1)}}, nil, plumb.OutcomePass, 0.75, ""},
		{"no weight counts as 1", []verdicts{{scored(1, 0), scored(0, 3)}}, nil, plumb.OutcomePass, 0.25, ""},

		{
			"the first failure is told",
			[]verdicts{{fail("a", "no a")}, {fail("b", "no b"), fail("c", "no c")}},
			nil,
			plumb.OutcomeFail, 0, "a: no a",
		},
		{
			"all failures of the first assertion that failed are told",
			[]verdicts{{pass("o")}, {fail("a", "no a"), pass("p"), fail("b", "no b")}, {fail("c", "x"), fail("d", "x")}},
			nil,
			plumb.OutcomeFail, 1. / 3, "2 assertion failures collected during case execution:\n1. a: no a\n2. b: no b",
		},
		{
			"broken checks are not among them",
			[]verdicts{{fail("a", "no a"), broke(judge, "silent")}},
			nil,
			plumb.OutcomeFail, 0, "a: no a",
		},
		{
			"a broken check before them changes nothing",
			[]verdicts{{broke(judge, "silent")}, {fail("a", "x"), fail("b", "y")}},
			nil, plumb.OutcomeFail, 0, "2 assertion failures collected during case execution:\n1. a: x\n2. b: y",
		},

		{"a broken check", []verdicts{{pass("a")}, {broke(judge, "silent")}}, nil, plumb.OutcomeError, 0, "silent"},
		{
			"a failed check outweighs a broken one",
			[]verdicts{{broke(hook, "bug"), fail("a", "no a"), pass("b")}},
			nil,
			plumb.OutcomeFail, 0.5, "a: no a",
		},
		{
			"what must be repaired is told first",
			[]verdicts{{broke(judge, "silent")}, {broke(hook, "bug")}},
			nil,
			plumb.OutcomeError, 0, "bug",
		},
		{
			"and stays",
			[]verdicts{{broke(hook, "bug"), broke(judge, "silent")}, {broke(hook, "bug 2")}},
			nil,
			plumb.OutcomeError, 0, "bug",
		},
		{
			"among equals, the first",
			[]verdicts{{broke(judge, "silent")}, {broke(judge, "down")}},
			nil,
			plumb.OutcomeError, 0, "silent",
		},

		{"enough", []verdicts{{pass("a"), fail("b", "no b")}}, new(0.5), plumb.OutcomePass, 0.5, ""},
		{
			"enough, but for rounding",
			[]verdicts{{scored(0.1, 0), scored(0.2, 0), scored(0.3, 0)}},
			new(0.2),
			plumb.OutcomePass, 0.2, "",
		},
		{
			"not enough",
			[]verdicts{{pass("a"), fail("b", "no b")}},
			new(0.6),
			plumb.OutcomeFail, 0.5, "min_score: the score is 0.500, want at least 0.6: b: no b",
		},
		{
			"not enough, and none failed",
			[]verdicts{{scored(0.4, 0)}},
			new(0.6),
			plumb.OutcomeFail, 0.4, "min_score: the score is 0.400, want at least 0.6",
		},
		{
			"a score of some of the checks says nothing",
			[]verdicts{{fail("a", "no a"), broke(judge, "silent")}},
			new(0.6),
			plumb.OutcomeError, 0, "silent",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := plumb.Case{MinScore: test.least}
			for _, v := range test.given {
				c.Assertions = append(c.Assertions, gives(v...))
			}
			j := session(t, c)
			message := ""
			if j.Failure != nil {
				message = j.Failure.Message
			}
			if j.Outcome != test.outcome || message != test.message {
				t.Errorf("got %s, %q; want %s, %q", j.Outcome, message, test.outcome, test.message)
			}
			if j.Outcome != plumb.OutcomeError && !cmp.Equal(j.Score, test.score, cmpopts.EquateApprox(0, 1e-9)) {
				t.Errorf("the score is %v, want %v", j.Score, test.score)
			}
			if short := strings.HasPrefix(message, "min_score: "); short &&
				j.Verdicts[0].Name+": "+j.Verdicts[0].Reason != message {
				t.Errorf("the first verdict does not say what the failure says: %+v", j.Verdicts[0])
			}
			for _, expected := range []bool{false, true} {
				c.ExpectedFail = expected
				want := plumb.StatusOf(test.outcome, plumb.OriginAssertion, expected)
				if got := session(t, c).Status; got != want {
					t.Errorf("the status is %s, want %s, with a failure expected: %t", got, want, expected)
				}
			}
		})
	}
}

// TestThrownErrorsAreKept checks that the failure of a suite in code has the message of the error
// unchanged, its name, its place, and the stacks of all errors of which it tells.
func TestThrownErrorsAreKept(t *testing.T) {
	place := &plumb.Position{File: "a.ts", Line: 3}
	failure := func(name, message, stack string) *plumb.Failure {
		return &plumb.Failure{
			Origin: plumb.OriginAssertion, Class: plumb.OriginAssertion.Class(),
			Name: name, Message: message, Source: place, Stack: stack,
		}
	}
	broken := broke(plumb.OriginJudge, "silent")
	broken.Stack = "at judge"
	passed := pass("a")
	passed.Stack = "at a"
	for _, test := range []struct {
		name  string
		given []plumb.Verdict
		want  *plumb.Failure
	}{
		{"one", []plumb.Verdict{threw("1 is not 2", "at f")}, failure("AssertionError", "1 is not 2", "at f")},
		{
			"several",
			[]plumb.Verdict{threw("1 is not 2", "at f"), passed, broken, fail("b", "no b"), threw("no", "at g")},
			failure("AssertionError", "3 assertion failures collected during case execution:\n"+
				"1. 1 is not 2\n2. b: no b\n3. no", "1. at f\n2. at g"),
		},
		{
			"not thrown",
			[]plumb.Verdict{{Name: "b", Reason: "no b", Source: place}},
			failure("", "b: no b", ""),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := session(t, plumb.Case{Assertions: []plumb.Assertion{gives(test.given...)}})
			if diff := cmp.Diff(test.want, j.Failure, cmpopts.IgnoreUnexported(plumb.Failure{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClassOfAFailedCheck(t *testing.T) {
	own := plumb.FailureClass{ID: "own", Label: "Own"}
	for _, test := range []struct {
		finish plumb.FinishReason
		class  *plumb.FailureClass
		want   plumb.FailureClass
	}{
		{plumb.FinishStop, nil, plumb.OriginAssertion.Class()},
		{plumb.FinishTruncated, nil, plumb.ClassTruncated()},
		{plumb.FinishRefused, nil, plumb.ClassRefused()},
		{plumb.FinishTruncated, &own, own},
	} {
		c := &plumb.Case{Assertions: []plumb.Assertion{gives(plumb.Verdict{Name: "a", Class: test.class})}}
		ev := plumb.Evidence{Case: c, Report: &plumb.SessionReport{FinishReason: test.finish}}
		j := judging.Session(t.Context(), ev, nil)
		if j.Outcome != plumb.OutcomeFail || j.Failure.Class != test.want {
			t.Errorf("%s, class of the check %v: got %s, %v; want %v",
				test.finish, test.class, j.Outcome, j.Failure.Class, test.want)
		}
	}
}

// TestChecksThatBreak checks that an assertion that returns an error or panics makes a verdict that
// names it, and leaves the other verdicts as they are.
func TestChecksThatBreak(t *testing.T) {
	for _, test := range []struct {
		name   string
		a      unaware
		origin plumb.Origin
		reason string // the first line
	}{
		{
			"an error", func() ([]plumb.Verdict, error) { return []plumb.Verdict{pass("b")}, errors.New("no file") },
			plumb.OriginAssertHook, "no file",
		},
		{
			"a failure keeps its origin",
			func() ([]plumb.Verdict, error) {
				return []plumb.Verdict{pass("b")}, plumb.Failuref(plumb.OriginJudge, "silent")
			},
			plumb.OriginJudge, "silent",
		},
		{"a panic", func() ([]plumb.Verdict, error) { panic("boom") }, plumb.OriginAssertHook, "the check crashed: boom"},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := session(t, plumb.Case{Assertions: []plumb.Assertion{gives(pass("a")), test.a, gives(pass("c"))}})
			names := []string{}
			for _, v := range j.Verdicts {
				names = append(names, v.Name)
			}
			want := []string{"a", "b", "assertion 2", "c"}
			if strings.HasPrefix(test.reason, "the check crashed") {
				want = []string{"a", "assertion 2", "c"}
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Fatal(diff)
			}
			v := j.Verdicts[len(want)-2]
			if line, _, _ := strings.Cut(v.Reason, "\n"); line != test.reason || v.Error.Message != v.Reason ||
				v.Error.Origin != test.origin {
				t.Errorf("got %+v, %+v", v, v.Error)
			}
			if j.Outcome != plumb.OutcomeError || j.Failure != v.Error {
				t.Errorf("got %s, %v", j.Outcome, j.Failure)
			}
		})
	}
}

// TestBrokenSessionsAreNotChecked checks that the origin of the failure of a session decides, and
// that no check sees such a session.
func TestBrokenSessionsAreNotChecked(t *testing.T) {
	c := &plumb.Case{ExpectedFail: true, Assertions: []plumb.Assertion{unaware(func() ([]plumb.Verdict, error) {
		t.Error("a check saw a session that broke off")
		return nil, nil
	})}}
	answered := &plumb.SessionReport{FinalOutput: "half an ans"}
	for _, test := range []struct {
		origin plumb.Origin
		report *plumb.SessionReport
		want   plumb.Outcome
	}{
		{plumb.OriginRunner, nil, plumb.OutcomeError},
		{plumb.OriginRunner, answered, plumb.OutcomeError},
		{plumb.OriginMaxSteps, answered, plumb.OutcomeFail},
		{plumb.OriginTimeout, answered, plumb.OutcomeFail},
		{plumb.OriginTimeout, nil, plumb.OutcomeError},
	} {
		failure := plumb.Failuref(test.origin, "broke off")
		got := judging.Session(t.Context(), plumb.Evidence{Case: c, Report: test.report}, failure)
		want := &plumb.Judgement{
			Outcome: test.want, Status: plumb.StatusFailed, Verdicts: []plumb.Verdict{}, Failure: failure,
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(plumb.Failure{})); diff != "" {
			t.Errorf("%s: %s", test.origin, diff)
		}
	}
}

type output string

func (want output) Assert(_ context.Context, ev plumb.Evidence) ([]plumb.Verdict, error) {
	return []plumb.Verdict{{Name: "output", Pass: ev.Report.FinalOutput == string(want)}}, nil
}

// TestTransform checks that the checks get the output of the transform, that the report keeps the
// answer, and that a transform that breaks makes an error without a check.
func TestTransform(t *testing.T) {
	for _, test := range []struct {
		name      string
		transform func() (string, error)
		redacted  []string
		origin    plumb.Origin // "" means a pass
		message   string       // the first line
	}{
		{"works", func() (string, error) { return "changed", nil }, nil, "", ""},
		{
			"error", func() (string, error) { return "changed", errors.New("no key") }, nil,
			plumb.OriginAssertHook, "transform: no key",
		},
		{
			"failure", func() (string, error) { return "", plumb.Failuref(plumb.OriginJudge, "silent") }, nil,
			plumb.OriginJudge, "transform: silent",
		},
		{
			"panic", func() (string, error) { panic("boom") }, nil,
			plumb.OriginAssertHook, "the transform crashed: boom",
		},
		{
			"a redacted session", func() (string, error) { panic("asked") },
			[]string{"A_KEY"},
			plumb.OriginAssertHook,
			"the check depends on text from which secrets were removed before the session was stored: A_KEY",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &plumb.SessionReport{FinalOutput: "an answer", Redacted: test.redacted}
			c := &plumb.Case{
				Assertions: []plumb.Assertion{output("changed")},
				Transform:  func(context.Context, plumb.Evidence) (string, error) { return test.transform() },
			}
			j := judging.Session(t.Context(), plumb.Evidence{Case: c, Report: r}, nil)
			if r.FinalOutput != "an answer" {
				t.Errorf("the report now says %q", r.FinalOutput)
			}
			if test.origin == "" {
				if j.Outcome != plumb.OutcomePass || len(j.Verdicts) != 1 {
					t.Errorf("got %+v", j)
				}
				return
			}
			line, _, _ := strings.Cut(j.Failure.Message, "\n")
			if j.Outcome != plumb.OutcomeError || len(j.Verdicts) != 0 || j.Failure.Origin != test.origin ||
				line != test.message {
				t.Errorf("got %s, %+v, %v", j.Outcome, j.Failure, j.Verdicts)
			}
		})
	}
}

func TestMoreUrgent(t *testing.T) {
	hook, judge := plumb.Failuref(plumb.OriginAssertHook, "bug"), plumb.Failuref(plumb.OriginJudge, "silent")
	for _, test := range []struct {
		a, b *plumb.Failure
		want bool
	}{
		{hook, judge, true},
		{hook, nil, true},
		{hook, hook, false},
		{judge, hook, false},
		{judge, judge, false},
		{judge, nil, false},
		{nil, hook, false},
		{nil, nil, false},
	} {
		if got := judging.MoreUrgent(test.a, test.b); got != test.want {
			t.Errorf("%v before %v: got %t", test.a, test.b, got)
		}
	}
}
