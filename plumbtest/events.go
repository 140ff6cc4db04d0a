package plumbtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plumb-eval/plumb"
)

// controlSequences returns sequences that a terminal interprets, each with its own marker. The
// events of [Events] contain them in all texts from models and providers. The output of a reporter
// must not contain any of them.
func controlSequences() []string {
	return []string{
		"\x1b[31337m",             // a color that no reporter uses
		"\x1b]0;plumbtest\x07",    // sets the window title
		"\x1b[2J\x1b[1337;1H",     // clears the screen
		"\x1bPplumbtest\x1b\\",    // a device control string
		"\u009b31337m",            // the introducer as one character
		"\u009d0;plumbtest\u009c", // the introducer as one character
		"\x00", "\a", "\b", "\x7f", "\v", "\f",
		"\rplumbtest", // overwrites the current line
	}
}

// scene describes one execution of the synthetic run, session by session.
type scene struct {
	c        plumb.CaseInfo
	prompt   string
	sessions []act // none if the case is skipped
}

// act is one session of a scene.
type act struct {
	repetition, session int
	answer              string
	verdicts            []plumb.Verdict
	failure             *plumb.Failure
	change              func(*plumb.SessionReport)
}

// Events returns a synthetic run with every kind of event. Its executions pass, fail, cannot be
// measured, are skipped, fail as expected, and pass unexpectedly, on two runners. They have
// retries, repetitions, truncated, refused and cached answers, unknown prices and token counts,
// empty and very long texts, many scripts, and terminal control sequences. The run is the same each
// time, and each call returns new values.
func Events() []plumb.Event {
	s := &stage{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	runners := []plumb.RunnerInfo{
		{
			ID: "openai:gpt-5", Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: "openai", Model: "gpt-5"},
			Parameters: plumb.Parameters{Temperature: new(0.0), Seed: new(int64(42))},
		},
		{
			ID: "local <b>&\"x\"", Kind: plumb.RunnerCommand,
			Agent: plumb.AgentInfo{Type: "command", Model: "./answer --fast"},
		},
	}
	for i := range runners {
		runners[i].PathKey = plumb.PathKey(runners[i].ID)
		runners[i].Config = fmt.Sprintf("sha256:%064d", i+1)
	}
	scenes := scenes()
	s.add(plumb.Event{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{
		ID: "20260102-030405-abcdef", PlumbVersion: "1.2.3", SuiteName: "v1.0-cheap",
		SuitePath:    "suites/v1.0/cheap.jsonl",
		SuiteVersion: "v1.0", Tier: "cheap", SuiteHash: "sha256:" + strings.Repeat("0123456789abcdef", 4),
		DeclaredTags: []string{"math", "json"}, Runners: runners, Cases: len(scenes), SuiteCases: len(scenes) + 2,
		SelfJudged: true, Schedule: "parallel", Parallel: 4, Repeat: 1, Retry: 1,
		ArtifactDir: ".plumb/runs/20260102-030405-abcdef",
	}})
	var cases []plumb.CaseInfo
	for i := range scenes {
		scenes[i].c.Hash = fmt.Sprintf("sha256:%064x", i+1)
		scenes[i].c.Repeat = 1
		if n := len(scenes[i].sessions); n > 0 {
			scenes[i].c.Repeat = scenes[i].sessions[n-1].repetition
		}
		cases = append(cases, scenes[i].c)
	}
	s.add(plumb.Event{Type: plumb.EventPlanned, Cases: cases[:3]})
	s.add(plumb.Event{Type: plumb.EventPlanned, Cases: cases[3:]})
	s.add(plumb.Event{Type: plumb.EventNote, Note: &plumb.Note{
		Level: "warning", Text: "each model judges its own answers", Hint: "name a judge with --judge",
	}})
	for i := range scenes {
		s.play(&scenes[i], &runners[0])
		if i == 2 {
			s.add(plumb.Event{Type: plumb.EventRunFinished, End: &plumb.RunEnd{
				Stop: plumb.StopInterrupted, Remaining: 2*len(scenes) - 3, DurationMs: 9000,
			}})
			s.add(plumb.Event{Type: plumb.EventRunResumed})
		}
	}
	s.add(plumb.Event{Type: plumb.EventNote, Note: &plumb.Note{Level: "info", Text: "a note with " + nasty}})
	for i := range scenes {
		s.play(mirrored(&scenes[i], i), &runners[1])
	}
	s.add(plumb.Event{Type: plumb.EventRunFinished, End: &plumb.RunEnd{DurationMs: 60_000}})
	return s.events
}

// Fold returns the state of a run after the given events.
func Fold(events []plumb.Event) (*plumb.Run, error) {
	run := &plumb.Run{}
	for i, ev := range events {
		if err := run.Apply(ev); err != nil {
			return nil, fmt.Errorf("apply event %d: %w", i+1, err)
		}
	}
	return run, nil
}

// unicodeText has scripts, widths and joined characters that are difficult to render.
const unicodeText = "Grüße, 世界! 👩‍👩‍👧 e\u0301 שלום \u202eabc\u202c नमस्ते"

// nasty is text with a meaning in document formats and terminals if it is not escaped.
const nasty = "</script><b>\"bold\"</b> & 'x' ]]> `code` | cell | ::error::plumbtest %0A #{x} \\ "

func verdict(pass bool, name, reason string) plumb.Verdict {
	v := plumb.Verdict{Name: name, Pass: pass, Reason: reason}
	if pass {
		v.Score = 1
	}
	return v
}

func scenes() []scene {
	controls := strings.Join(controlSequences(), "·")
	pass := []plumb.Verdict{verdict(true, "contains", `found "6"`)}
	differs := verdict(false, "exact_match", "the answer is not the expected one: "+controls)
	differs.Expected, differs.Got = "line one\nline two\n", "line one\nline 2 "+controls+"\n"+unicodeText
	differs.Details = json.RawMessage(`{"expected":"line one\nline two","got":"…"}`)
	differs.At = &plumb.Position{File: "suites/v1.0/cheap.jsonl", Line: 2, Column: 14}
	unmatched, empty := verdict(false, "regex", "no match"), verdict(false, "contains", "nothing was said")
	partial := verdict(false, "all_of", "1 of 2 checks hold")
	partial.Score, partial.Weight = 0.5, 2
	judged := verdict(true, "llm_judge", "yes by 2 of 3 votes")
	judged.Asked = &plumb.Asked{
		Model: "judge-1" + controls, Self: true, Replies: []string{"YES", "NO", "**yes** " + controls}, Yes: 2, No: 1,
		Requests: 3, CostUSD: new(0.0003),
	}
	unjudged := plumb.Verdict{
		Name: "llm_judge", Reason: "the judge gave no verdict",
		Error: plumb.Failuref(plumb.OriginJudge, "the judge answered neither YES nor NO: %s", controls),
	}
	outage := plumb.Failuref(plumb.OriginRunner, "openai answered 503: overloaded %s %s", controls, nasty)
	outage.Provider, outage.HTTPStatus, outage.RequestID, outage.Attempts = "openai", 503, "req_123", 5
	outage.Hint = "try again later, or raise --retry"
	late := plumb.Failuref(plumb.OriginTimeout, "no answer within 2m0s")
	with := func(id, difficulty, prompt string, sessions ...act) scene {
		c := plumb.CaseInfo{ID: id, Category: id[:len(id)-len("-001")], Difficulty: difficulty}
		return scene{c, prompt, sessions}
	}
	all := []scene{
		with("reasoning-001", "easy", "What is 2*3?", act{1, 1, "6", pass, nil, nil}),
		with("factual-002", "medium", controls+nasty,
			act{1, 1, controls + nasty, []plumb.Verdict{pass[0], differs, partial}, nil, nil},
			act{1, 2, unicodeText, []plumb.Verdict{differs}, nil, nil}),
		with("coding-003", "hard", unicodeText,
			act{1, 1, unicodeText, pass, nil, nil},
			act{2, 1, "", []plumb.Verdict{verdict(false, "is_json", "the answer is empty")}, nil, nil},
			act{3, 1, "{}", pass, nil, nil}),
		with("safety-004", "medium", "?", act{1, 1, "", nil, outage, nil}),
		with("creative-005", "hard", "Write.",
			act{1, 1, strings.Repeat("long line "+unicodeText+"\n", 400), []plumb.Verdict{unjudged}, nil, nil}),
		with("factual-006", "easy", "A known gap?",
			act{1, 1, "no", []plumb.Verdict{verdict(false, "contains", `"yes" is missing`)}, nil, nil}),
		with("factual-007", "easy", "A closed gap?", act{1, 1, "yes", []plumb.Verdict{judged}, nil, nil}),
		with("instruction_following-008", "easy", "Count.",
			act{1, 1, "one two thr", []plumb.Verdict{unmatched}, nil, func(r *plumb.SessionReport) {
				r.FinishReason, r.ProviderFinishReason = plumb.FinishTruncated, "length"+controls
			}}),
		with("safety-009", "hard", "How?",
			act{1, 1, "", []plumb.Verdict{empty}, nil, func(r *plumb.SessionReport) {
				r.FinishReason, r.Refused = plumb.FinishRefused, []string{"temperature", "seed"}
			}}),
		with("coding-010", "easy", "Again.",
			act{1, 1, "done", pass, nil, func(r *plumb.SessionReport) { r.Cached = true }}),
		with("reasoning-011", "", "Slow?", act{1, 1, "well, " + controls, nil, late, func(r *plumb.SessionReport) {
			r.FinishReason = plumb.FinishTimeout
		}}),
		with("reasoning-012", "easy", "Too dear."), // skipped
	}
	all[0].c.Tags, all[2].c.Tags = []string{"math"}, []string{"json", "math"}
	all[5].c.ExpectedFail, all[6].c.ExpectedFail = true, true
	all[10].c.Category = ""
	return all
}

// mirrored returns the second runner's version of a scene: mostly passing, without prices and
// counts, and with other failures.
func mirrored(sc *scene, i int) *scene {
	m := scene{c: sc.c, prompt: sc.prompt}
	a := act{0, 1, "6 " + unicodeText, []plumb.Verdict{verdict(true, "contains", `found "6"`)}, nil, nil}
	a.change = func(r *plumb.SessionReport) {
		r.Usage = plumb.Usage{InputChars: 12, OutputChars: 40}
		r.Usage.Total()
		r.CostUSD = nil
	}
	if i == 1 {
		a.answer, a.verdicts = "", nil
		a.failure = plumb.Failuref(plumb.OriginModelRejected, "no such model %s", strings.Join(controlSequences(), ""))
	}
	for r := range sc.c.Repeat {
		a.repetition = r + 1
		m.sessions = append(m.sessions, a)
	}
	return &m
}

// stage creates events with its own clock.
type stage struct {
	at     time.Time
	events []plumb.Event
}

func (s *stage) add(ev plumb.Event) {
	s.at = s.at.Add(250 * time.Millisecond)
	ev.At = s.at
	s.events = append(s.events, ev)
}

// play adds the events of one execution.
func (s *stage) play(sc *scene, runner *plumb.RunnerInfo) {
	if len(sc.sessions) == 0 {
		res := &plumb.ExecutionResult{
			Outcome: plumb.OutcomeSkipped, Status: plumb.StatusSkipped, Reason: "the budget of 1.00 USD is spent",
		}
		s.add(plumb.Event{Type: plumb.EventExecutionFinished, Case: sc.c.ID, Runner: runner.ID, Result: res})
		return
	}
	result := &plumb.ExecutionResult{}
	last := map[int]*plumb.Judgement{} // by repetition
	for _, a := range sc.sessions {
		ev := plumb.Event{
			Type: plumb.EventSessionStarted, Case: sc.c.ID, Runner: runner.ID, Repetition: a.repetition,
			Session: a.session,
		}
		s.add(ev)
		ev.Type, ev.Failure = plumb.EventSessionFinished, a.failure
		if a.failure == nil || a.answer != "" {
			ev.Report = s.report(sc, &a, runner)
			result.Usage.Add(ev.Report.Usage)
			if cost := ev.Report.CostUSD; cost != nil {
				result.CostUSD = new(value(result.CostUSD) + *cost)
			}
			if ev.Report.Cached {
				result.Cached++
			}
		}
		s.add(ev)
		j := judge(sc, &a)
		last[a.repetition] = j
		for _, v := range j.Verdicts {
			if v.Asked != nil && v.Asked.CostUSD != nil {
				result.JudgeCostUSD = new(value(result.JudgeCostUSD) + *v.Asked.CostUSD)
			}
		}
		s.add(plumb.Event{
			Type: plumb.EventSessionJudged, Case: sc.c.ID, Runner: runner.ID, Repetition: a.repetition,
			Session: a.session, Judgement: j,
		})
		result.Sessions++
		result.DurationMs, result.LatencyMs = 1200, 900
	}
	worst := last[1]
	for r := 1; r <= len(last); r++ {
		j := last[r]
		result.Score += j.Score / float64(len(last))
		switch j.Outcome {
		case plumb.OutcomePass:
			result.Passed++
		case plumb.OutcomeFail:
			result.Failed++
			worst = j
		default:
			result.Errored++
			worst = j
		}
	}
	result.Outcome, result.Status = worst.Outcome, worst.Status
	if f := worst.Failure; f != nil {
		result.Origin, result.Class, result.Reason = f.Origin, new(f.Class), f.Message
	}
	s.add(plumb.Event{Type: plumb.EventExecutionFinished, Case: sc.c.ID, Runner: runner.ID, Result: result})
}

func (s *stage) report(sc *scene, a *act, runner *plumb.RunnerInfo) *plumb.SessionReport {
	controls := strings.Join(controlSequences(), "")
	r := &plumb.SessionReport{
		Runner: *runner, SessionID: "session-1" + controls, Prompt: sc.prompt, FinalOutput: a.answer,
		Files:          plumb.Files{ObservedReads: []string{}, ObservedSkillReads: []string{}},
		DetectedSkills: []plumb.SkillDetection{},
		Events: []plumb.SessionEvent{
			{Type: plumb.SessionMessage, Role: plumb.RoleUser, Text: sc.prompt},
			{Type: plumb.SessionMessage, Role: plumb.RoleAssistant, Phase: "final", Text: a.answer},
		},
		StartedAt: new(s.at), EndedAt: new(s.at.Add(200 * time.Millisecond)), DurationMs: 1200, LatencyMs: 900,
		Model: "gpt-5-2026-01-01" + controls, Fingerprint: "fp_1" + controls, RequestID: "req_1" + controls,
		FinishReason: plumb.FinishStop, Requested: runner.Parameters, Sent: runner.Parameters, Requests: 1,
		CostUSD: new(0.00125),
	}
	r.Usage = plumb.Usage{
		InputTokens: new(int64(120)), OutputTokens: new(int64(30)), ReasoningTokens: new(int64(10)),
		CacheTokens: new(int64(20)),
		InputChars:  int64(len(sc.prompt)), OutputChars: int64(len(a.answer)),
	}
	r.Usage.Total()
	if a.change != nil {
		a.change(r)
	}
	return r
}

// judge sets the judgement of a session, by the simplest rule that fits the scenes.
func judge(sc *scene, a *act) *plumb.Judgement {
	j := &plumb.Judgement{Outcome: plumb.OutcomePass, Verdicts: slices.Clone(a.verdicts), Failure: a.failure}
	origin := plumb.OriginAssertion
	if a.failure != nil {
		j.Verdicts = []plumb.Verdict{}
		origin = a.failure.Origin
		j.Outcome = origin.Outcome(a.answer != "")
	}
	for _, v := range a.verdicts {
		j.Score += v.Score / float64(len(a.verdicts))
		switch {
		case j.Failure != nil || v.Pass:
		case v.Error != nil:
			j.Outcome, j.Failure, origin = plumb.OutcomeError, v.Error, v.Error.Origin
		default:
			j.Outcome, j.Failure = plumb.OutcomeFail, plumb.Failuref(origin, "%s: %s", v.Name, v.Reason)
		}
	}
	j.Status = plumb.StatusOf(j.Outcome, origin, sc.c.ExpectedFail)
	return j
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
