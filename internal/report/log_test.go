package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/results"
)

// log is a run log in memory, as a run would write it.
type log struct {
	events []plumb.Event
	now    time.Time
}

func newLog(info plumb.RunInfo, cases ...plumb.CaseInfo) *log {
	l := &log{now: time.Date(2026, 3, 1, 9, 0, 0, 250e6, time.UTC)}
	info.Cases, info.SuiteCases = len(cases), len(cases)
	l.add(plumb.Event{Type: plumb.EventRunStarted, Info: &info})
	l.add(plumb.Event{Type: plumb.EventPlanned, Cases: cases})
	return l
}

func (l *log) add(ev plumb.Event) {
	ev.At = l.now
	l.events = append(l.events, ev)
	l.now = l.now.Add(100 * time.Millisecond)
}

// session adds one session with its judgement.
func (l *log) session(caseID, runner string, repetition, number int, r *plumb.SessionReport, f *plumb.Failure,
	j *plumb.Judgement,
) {
	at := plumb.Event{Case: caseID, Runner: runner, Repetition: repetition, Session: number}
	ev := at
	ev.Type = plumb.EventSessionStarted
	l.add(ev)
	ev = at
	ev.Type, ev.Report, ev.Failure = plumb.EventSessionFinished, r, f
	l.add(ev)
	if j != nil {
		ev = at
		ev.Type, ev.Judgement = plumb.EventSessionJudged, j
		l.add(ev)
	}
}

func (l *log) finish(caseID, runner string, res plumb.ExecutionResult) {
	l.add(plumb.Event{Type: plumb.EventExecutionFinished, Case: caseID, Runner: runner, Result: &res})
}

func (l *log) note(level, text, hint string) {
	l.add(plumb.Event{Type: plumb.EventNote, Note: &plumb.Note{Level: level, Text: text, Hint: hint}})
}

func (l *log) end(stop plumb.StopReason, remaining int) *log {
	l.add(plumb.Event{Type: plumb.EventRunFinished, End: &plumb.RunEnd{
		Stop: stop, Remaining: remaining,
		DurationMs: 1234,
	}})
	return l
}

func (l *log) all() iter.Seq2[plumb.Event, error] {
	return func(yield func(plumb.Event, error) bool) {
		for _, ev := range l.events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// sessions is random access to the log, through JSON like the real one.
func (l *log) sessions(caseID, runnerID string, yield func(plumb.Event) error) error {
	for _, ev := range l.events {
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

// direct is sessions without the way through JSON, for logs that are large.
func (l *log) direct(caseID, runnerID string, yield func(plumb.Event) error) error {
	for _, ev := range l.events {
		session := ev.Type == plumb.EventSessionFinished || ev.Type == plumb.EventSessionJudged
		if session && ev.Case == caseID && ev.Runner == runnerID {
			if err := yield(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexed is direct for logs with many executions.
func (l *log) indexed() results.Sessions {
	events := map[[2]string][]plumb.Event{}
	for _, ev := range l.events {
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

// run folds the whole log.
func (l *log) run(tb testing.TB) *plumb.Run {
	tb.Helper()
	run := &plumb.Run{}
	for _, ev := range l.events {
		if err := run.Apply(ev); err != nil {
			tb.Fatal(err)
		}
	}
	return run
}

// render replays the log into the named reporter.
func (l *log) render(tb testing.TB, name string, o Options) string {
	tb.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Sessions == nil {
		o.Sessions = l.sessions
	}
	if o.Now == nil {
		o.Now = func() time.Time { return l.now }
	}
	r, err := New(name, o)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := Replay(r, l.all()); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func answer(text string, ms int64) *plumb.SessionReport {
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

func verdict(name string, pass bool, reason, expected, got string) plumb.Verdict {
	v := plumb.Verdict{
		Name: name, Pass: pass, Reason: reason, Expected: expected, Got: got,
		Details: json.RawMessage(`{"search_term":"42"}`),
	}
	if pass {
		v.Score = 1
	}
	return v
}

func passed(v ...plumb.Verdict) *plumb.Judgement {
	return &plumb.Judgement{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Score: 1, Verdicts: v}
}

func failed(v ...plumb.Verdict) *plumb.Judgement {
	return &plumb.Judgement{
		Outcome: plumb.OutcomeFail, Status: plumb.StatusFailed, Verdicts: v,
		Failure: &plumb.Failure{
			Origin: plumb.OriginAssertion, Class: plumb.OriginAssertion.Class(),
			Message: v[0].Name + ": " + v[0].Reason,
		},
	}
}

func broken(f *plumb.Failure) *plumb.Judgement {
	return &plumb.Judgement{
		Outcome: plumb.OutcomeError, Status: plumb.StatusFailed, Verdicts: []plumb.Verdict{},
		Failure: f,
	}
}

// resultOf sums up the given judgements as a run would.
func resultOf(sessions int, cost *float64, j *plumb.Judgement) plumb.ExecutionResult {
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

func (l *log) execute(caseID, runner string, r *plumb.SessionReport, j *plumb.Judgement) {
	l.session(caseID, runner, 1, 1, r, nil, j)
	var cost *float64
	if r != nil {
		cost = r.CostUSD
	}
	res := resultOf(1, cost, j)
	if r != nil {
		res.LatencyMs, res.DurationMs, res.Usage = r.LatencyMs, r.DurationMs, r.Usage
	}
	l.finish(caseID, runner, res)
}

func info(runners ...string) plumb.RunInfo {
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

const hostile = "\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07 \u202eltr \u009b2Jcsi <script>|`x`|"

// mixed is a run in which everything happens once, on two runners.
func mixed() *log {
	l := newLog(info("gpt-5", "gpt-5-mini"),
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
	l.note("warning", "2 parameters were refused by gpt-5-mini", "leave temperature out of the config")
	l.execute("math-001", "gpt-5", answer("The sum is 42.", 401),
		passed(verdict("contains", true, `has "42"`, "42", "The sum is 42.")))
	l.execute("math-001", "gpt-5-mini", answer("It is 41.", 120),
		failed(verdict("contains", false, `the answer lacks "42"`, "42", "It is 41.")))
	// A retry: the first session breaks, the second passes.
	breaks := &plumb.Failure{
		Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 500 after 5 attempts",
		Hint: "try later", Provider: "openai", HTTPStatus: 500, RequestID: "req_9", Attempts: 5,
	}
	l.session("math-002", "gpt-5", 1, 1, nil, breaks, broken(breaks))
	l.session("math-002", "gpt-5", 1, 2, answer("7", 900), nil, passed(verdict("exact_match", true, "equal", "7", "7")))
	l.finish("math-002", "gpt-5", resultOf(2, new(0.0021), passed()))
	l.execute("math-002", "gpt-5-mini", nil, broken(breaks))
	l.execute("text-001", "gpt-5", answer("one\ntwo\nfour\n", 2300), failed(
		verdict("exact_match", false, "the texts differ", "one\ntwo\nthree\n", "one\ntwo\nfour\n"),
		verdict("contains", true, "fine", "one", "one"),
	))
	judge := &plumb.Failure{
		Origin: plumb.OriginJudge, Class: plumb.OriginJudge.Class(),
		Message: "the judge answered neither YES nor NO three times",
	}
	unjudged := verdict("llm_judge", false, "", "", "")
	unjudged.Error = judge
	j := broken(judge)
	j.Verdicts = []plumb.Verdict{unjudged}
	l.execute("text-001", "gpt-5-mini", answer("Vert d'été 🌿", 300), j)
	l.execute("text-002", "gpt-5", answer(hostile, 250), failed(verdict("contains", false,
		"lacks 漢字と絵文字👩‍👩‍👧 in "+hostile, "漢字", hostile)))
	cached := answer("ok", 150)
	cached.Cached, cached.CostUSD = true, nil
	l.session("text-002", "gpt-5-mini", 1, 1, cached, nil, passed(verdict("contains", true, "ok", "ok", "ok")))
	res := resultOf(1, new(0.0), passed())
	res.Cached = 1
	l.finish("text-002", "gpt-5-mini", res)
	expected := failed(verdict("contains", false, "known gap", "x", "y"))
	expected.Status = plumb.StatusExpectedFailed
	l.execute("gap-001", "gpt-5", answer("y", 100), expected)
	unexpected := passed(verdict("contains", true, "has x", "x", "x"))
	unexpected.Status = plumb.StatusUnexpectedPassed
	l.execute("gap-001", "gpt-5-mini", answer("x", 90), unexpected)
	l.finish("gap-002", "gpt-5", plumb.ExecutionResult{
		Outcome: plumb.OutcomeSkipped, Status: plumb.StatusSkipped,
		Reason: "the cost budget is spent",
	})
	return l.end(plumb.StopCost, 1)
}

// simple is a run of n cases on one runner that all pass.
func simple(n int) *log {
	l := newLog(info("gpt-5"), func() (cases []plumb.CaseInfo) {
		for i := range n {
			cases = append(cases, plumb.CaseInfo{ID: fmt.Sprintf("case-%06d", i), Category: []string{"a", "b"}[i%2]})
		}
		return cases
	}()...)
	for i := range n {
		l.execute(fmt.Sprintf("case-%06d", i), "gpt-5", answer("fine", 100),
			passed(verdict("contains", true, "ok", "fine", "fine")))
	}
	return l.end("", 0)
}
