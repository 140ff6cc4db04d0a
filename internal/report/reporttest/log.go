// Package reporttest has runs and comparisons for the tests of reports, and reads reports as their
// readers do. Only tests import it.
package reporttest

import (
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/results"
)

// Log is a run log in memory, as a run would write it.
type Log struct {
	Events []plumb.Event
	Now    time.Time
}

// NewLog returns the log of a run that was planned.
func NewLog(info plumb.RunInfo, cases ...plumb.CaseInfo) *Log {
	l := &Log{Now: time.Date(2026, 3, 1, 9, 0, 0, 250e6, time.UTC)}
	info.Cases, info.SuiteCases = len(cases), len(cases)
	l.Add(plumb.Event{Type: plumb.EventRunStarted, Info: &info})
	l.Add(plumb.Event{Type: plumb.EventPlanned, Cases: cases})
	return l
}

// Add adds an event, a little after the last one.
func (l *Log) Add(ev plumb.Event) {
	ev.At = l.Now
	l.Events = append(l.Events, ev)
	l.Now = l.Now.Add(100 * time.Millisecond)
}

// Session adds one session with its judgement.
func (l *Log) Session(caseID, runner string, repetition, number int, r *plumb.SessionReport, f *plumb.Failure,
	j *plumb.Judgement,
) {
	at := plumb.Event{Case: caseID, Runner: runner, Repetition: repetition, Session: number}
	ev := at
	ev.Type = plumb.EventSessionStarted
	l.Add(ev)
	ev = at
	ev.Type, ev.Report, ev.Failure = plumb.EventSessionFinished, r, f
	l.Add(ev)
	if j != nil {
		ev = at
		ev.Type, ev.Judgement = plumb.EventSessionJudged, j
		l.Add(ev)
	}
}

// Finish adds the end of an execution.
func (l *Log) Finish(caseID, runner string, res plumb.ExecutionResult) {
	l.Add(plumb.Event{Type: plumb.EventExecutionFinished, Case: caseID, Runner: runner, Result: &res})
}

// Note adds a note.
func (l *Log) Note(level, text, hint string) {
	l.Add(plumb.Event{Type: plumb.EventNote, Note: &plumb.Note{Level: level, Text: text, Hint: hint}})
}

// End adds the end of the run.
func (l *Log) End(stop plumb.StopReason, remaining int) *Log {
	l.Add(plumb.Event{Type: plumb.EventRunFinished, End: &plumb.RunEnd{
		Stop: stop, Remaining: remaining,
		DurationMs: 1234,
	}})
	return l
}

// All returns the events.
func (l *Log) All() iter.Seq2[plumb.Event, error] {
	return func(yield func(plumb.Event, error) bool) {
		for _, ev := range l.Events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Sessions is random access to the log, through JSON like the real one.
func (l *Log) Sessions(caseID, runnerID string, yield func(plumb.Event) error) error {
	for _, ev := range l.Events {
		if ev.Case != caseID || ev.Runner != runnerID || ev.Type != plumb.EventSessionFinished &&
			ev.Type != plumb.EventSessionJudged {
			continue
		}
		b, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		var copied plumb.Event
		if err := json.Unmarshal(b, &copied); err != nil {
			return err
		}
		if err := yield(copied); err != nil {
			return err
		}
	}
	return nil
}

// Direct is sessions without the way through JSON, for logs that are large.
func (l *Log) Direct(caseID, runnerID string, yield func(plumb.Event) error) error {
	for _, ev := range l.Events {
		session := ev.Type == plumb.EventSessionFinished || ev.Type == plumb.EventSessionJudged
		if session && ev.Case == caseID && ev.Runner == runnerID {
			if err := yield(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// Indexed is direct for logs with many executions.
func (l *Log) Indexed() results.Sessions {
	events := map[[2]string][]plumb.Event{}
	for _, ev := range l.Events {
		if ev.Type == plumb.EventSessionFinished || ev.Type == plumb.EventSessionJudged {
			events[[2]string{ev.Case, ev.Runner}] = append(events[[2]string{ev.Case, ev.Runner}], ev)
		}
	}
	return func(caseID, runnerID string, yield func(plumb.Event) error) error {
		for _, ev := range events[[2]string{caseID, runnerID}] {
			if err := yield(ev); err != nil {
				return err
			}
		}
		return nil
	}
}

// Run folds the whole log.
func (l *Log) Run(tb testing.TB) *plumb.Run {
	tb.Helper()
	run := &plumb.Run{}
	for _, ev := range l.Events {
		if err := run.Apply(ev); err != nil {
			tb.Fatal(err)
		}
	}
	return run
}

// Answer is the report of a session that took ms milliseconds.
func Answer(text string, ms int64) *plumb.SessionReport {
	cost := 0.0021
	r := &plumb.SessionReport{
		Prompt: "question", FinalOutput: text, DurationMs: ms + 20, LatencyMs: ms, Model: "gpt-5-2026-01-01",
		Fingerprint: "fp_1", RequestID: "req_1", FinishReason: plumb.FinishStop, Requests: 1, CostUSD: &cost,
		Events: []plumb.SessionEvent{{
			Type: plumb.SessionMessage, Role: "assistant", Phase: "final",
			Text: text,
		}},
		DetectedSkills: []plumb.SkillDetection{},
		Files:          plumb.Files{ObservedReads: []string{}, ObservedSkillReads: []string{}},
		Usage: plumb.Usage{
			InputTokens: new(int64(100)), OutputTokens: new(int64(20)), InputChars: 8,
			OutputChars: int64(len(text)),
		},
	}
	r.Usage.Total()
	return r
}

// Verdict is a verdict with details.
func Verdict(name string, pass bool, reason, expected, got string) plumb.Verdict {
	v := plumb.Verdict{
		Name: name, Pass: pass, Reason: reason, Expected: expected, Got: got,
		Details: json.RawMessage(`{"search_term":"42"}`),
	}
	if pass {
		v.Score = 1
	}
	return v
}

// Passed is the judgement of a session that passed.
func Passed(v ...plumb.Verdict) *plumb.Judgement {
	return &plumb.Judgement{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Score: 1, Verdicts: v}
}

// Failed is the judgement of a session that failed because of the first verdict.
func Failed(v ...plumb.Verdict) *plumb.Judgement {
	return &plumb.Judgement{
		Outcome: plumb.OutcomeFail, Status: plumb.StatusFailed, Verdicts: v,
		Failure: &plumb.Failure{
			Origin: plumb.OriginAssertion, Class: plumb.OriginAssertion.Class(),
			Message: v[0].Name + ": " + v[0].Reason,
		},
	}
}

// Broken is the judgement of a session that could not be measured.
func Broken(f *plumb.Failure) *plumb.Judgement {
	return &plumb.Judgement{
		Outcome: plumb.OutcomeError, Status: plumb.StatusFailed, Verdicts: []plumb.Verdict{},
		Failure: f,
	}
}

// ResultOf sums up the given judgements as a run would.
func ResultOf(sessions int, cost *float64, j *plumb.Judgement) plumb.ExecutionResult {
	res := plumb.ExecutionResult{
		Outcome: j.Outcome, Status: j.Status, Score: j.Score, Sessions: sessions, DurationMs: 421, LatencyMs: 401,
		CostUSD: cost,
		Usage:   plumb.Usage{InputTokens: new(100 * int64(sessions)), OutputTokens: new(20 * int64(sessions))},
	}
	switch j.Outcome {
	case plumb.OutcomePass:
		res.Passed = 1
	case plumb.OutcomeFail:
		res.Failed = 1
	default:
		res.Errored = 1
	}
	if j.Failure != nil {
		res.Origin, res.Class, res.Reason = j.Failure.Origin, &j.Failure.Class, j.Failure.Message
	}
	return res
}

// Execute adds an execution with one session.
func (l *Log) Execute(caseID, runner string, r *plumb.SessionReport, j *plumb.Judgement) {
	l.Session(caseID, runner, 1, 1, r, nil, j)
	var cost *float64
	if r != nil {
		cost = r.CostUSD
	}
	res := ResultOf(1, cost, j)
	if r != nil {
		res.LatencyMs, res.DurationMs, res.Usage = r.LatencyMs, r.DurationMs, r.Usage
	}
	l.Finish(caseID, runner, res)
}

// Info describes a run on models.
func Info(runners ...string) plumb.RunInfo {
	i := plumb.RunInfo{
		ID: "20260301-090000-ab12", PlumbVersion: "0.1.0", SuiteName: "v1.0-cheap",
		SuitePath:    "suites/v1.0/cheap.jsonl",
		SuiteVersion: "v1.0", Tier: "cheap", SuiteHash: "sha256:174f0123456789abcdef", Judge: "openai:gpt-5-mini",
		Schedule: "parallel", Parallel: 8, Repeat: 1, Retry: 1, ArtifactDir: ".plumb/runs/20260301-090000-ab12",
	}
	for _, id := range runners {
		i.Runners = append(i.Runners, plumb.RunnerInfo{
			ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerModel,
			Agent:      plumb.AgentInfo{Type: "openai", Model: id},
			Parameters: plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42))},
		})
	}
	return i
}

// hostile is a text with what terminals and pages interpret.
const hostile = "\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07 \u202eltr \u009b2Jcsi <script>|`x`|"

// Mixed is a run in which everything happens once, on two runners.
func Mixed() *Log {
	l := NewLog(Info("gpt-5", "gpt-5-mini"),
		plumb.CaseInfo{
			ID: "math-001", Hash: "sha256:c1", Category: "math", Difficulty: "easy",
			Tags: []string{"smoke"},
		},
		plumb.CaseInfo{ID: "math-002", Hash: "sha256:c2", Category: "math", Difficulty: "hard"},
		plumb.CaseInfo{
			ID: "text-001", Hash: "sha256:c3", Category: "text", Difficulty: "easy",
			Tags: []string{"smoke", "slow"},
		},
		plumb.CaseInfo{ID: "text-002", Hash: "sha256:c4", Category: "text", Difficulty: "hard"},
		plumb.CaseInfo{ID: "gap-001", Hash: "sha256:c5", Category: "gap", ExpectedFail: true},
		plumb.CaseInfo{ID: "gap-002", Hash: "sha256:c6", Category: "gap"},
	)
	l.Note("warning", "2 parameters were refused by gpt-5-mini", "leave temperature out of the config")
	l.Execute("math-001", "gpt-5", Answer("The sum is 42.", 401),
		Passed(Verdict("contains", true, `has "42"`, "42", "The sum is 42.")))
	l.Execute("math-001", "gpt-5-mini", Answer("It is 41.", 120),
		Failed(Verdict("contains", false, `the answer lacks "42"`, "42", "It is 41.")))
	// A retry: the first session breaks, the second passes.
	breaks := &plumb.Failure{
		Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 500 after 5 attempts",
		Hint: "try later", Provider: "openai", HTTPStatus: 500, RequestID: "req_9", Attempts: 5,
	}
	l.Session("math-002", "gpt-5", 1, 1, nil, breaks, Broken(breaks))
	l.Session("math-002", "gpt-5", 1, 2, Answer("7", 900), nil, Passed(Verdict("exact_match", true, "equal", "7", "7")))
	l.Finish("math-002", "gpt-5", ResultOf(2, new(0.0021), Passed()))
	l.Execute("math-002", "gpt-5-mini", nil, Broken(breaks))
	l.Execute("text-001", "gpt-5", Answer("one\ntwo\nfour\n", 2300), Failed(
		Verdict("exact_match", false, "the texts differ", "one\ntwo\nthree\n", "one\ntwo\nfour\n"),
		Verdict("contains", true, "fine", "one", "one"),
	))
	judge := &plumb.Failure{
		Origin: plumb.OriginJudge, Class: plumb.OriginJudge.Class(),
		Message: "the judge answered neither YES nor NO three times",
	}
	unjudged := Verdict("llm_judge", false, "", "", "")
	unjudged.Error = judge
	j := Broken(judge)
	j.Verdicts = []plumb.Verdict{unjudged}
	l.Execute("text-001", "gpt-5-mini", Answer("Vert d'été 🌿", 300), j)
	l.Execute("text-002", "gpt-5", Answer(hostile, 250), Failed(Verdict("contains", false,
		"lacks 漢字と絵文字👩‍👩‍👧 in "+hostile, "漢字", hostile)))
	cached := Answer("ok", 150)
	cached.Cached, cached.CostUSD = true, nil
	l.Session("text-002", "gpt-5-mini", 1, 1, cached, nil, Passed(Verdict("contains", true, "ok", "ok", "ok")))
	res := ResultOf(1, new(0.0), Passed())
	res.Cached = 1
	l.Finish("text-002", "gpt-5-mini", res)
	expected := Failed(Verdict("contains", false, "known gap", "x", "y"))
	expected.Status = plumb.StatusExpectedFailed
	l.Execute("gap-001", "gpt-5", Answer("y", 100), expected)
	unexpected := Passed(Verdict("contains", true, "has x", "x", "x"))
	unexpected.Status = plumb.StatusUnexpectedPassed
	l.Execute("gap-001", "gpt-5-mini", Answer("x", 90), unexpected)
	l.Finish("gap-002", "gpt-5", plumb.ExecutionResult{
		Outcome: plumb.OutcomeSkipped, Status: plumb.StatusSkipped,
		Reason: "the cost budget is spent",
	})
	return l.End(plumb.StopCost, 1)
}

// Simple is a run of n cases on one runner that all pass.
func Simple(n int) *Log {
	l := NewLog(Info("gpt-5"), func() (cases []plumb.CaseInfo) {
		for i := range n {
			cases = append(cases, plumb.CaseInfo{ID: fmt.Sprintf("case-%06d", i), Category: []string{"a", "b"}[i%2]})
		}
		return cases
	}()...)
	for i := range n {
		l.Execute(fmt.Sprintf("case-%06d", i), "gpt-5", Answer("fine", 100),
			Passed(Verdict("contains", true, "ok", "fine", "fine")))
	}
	return l.End("", 0)
}

func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
