// Package accepttest has run logs as they arrive at a server. Only tests import it.
package accepttest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/drift"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// Run describes a run. The zero value of a field but ID has a default.
type Run struct {
	ID      string
	Suite   string
	Hash    string // of the suite
	Started time.Time
	Share   plumb.Share
	Runners []plumb.RunnerInfo
	Cases   []plumb.CaseInfo
	Repeat  int
	// Answer returns an answer with its score, which is a pass from 0.5 on; ok is false if there was an
	// error. cached means that the answer is from the cache.
	Answer func(runner, caseNo, repetition int) (text string, score float64, cached, ok bool)
	// Executions is the number of executions that are in the log; 0 means all, with the end of the run.
	Executions int
	// Change changes an event before it is written.
	Change func(ev *plumb.Event)
}

// Model returns a runner.
func Model(provider, model string) plumb.RunnerInfo {
	id := provider + ":" + model
	return plumb.RunnerInfo{
		ID: id, PathKey: plumb.PathKey(id), Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: provider, Model: model},
	}
}

// Cases returns cases in two categories.
func Cases(n int) []plumb.CaseInfo {
	cases := make([]plumb.CaseInfo, n)
	for i := range cases {
		cases[i] = plumb.CaseInfo{
			ID: fmt.Sprintf("case-%03d", i), Hash: fmt.Sprintf("sha256:%064x", i), Category: []string{"coding", "reasoning"}[i%2],
			Difficulty: "easy",
		}
	}
	return cases
}

// Log returns the bytes of the log.
func (r Run) Log(tb testing.TB) []byte {
	tb.Helper()
	r.defaults()
	var out bytes.Buffer
	e := runlog.NewEncoder(&out)
	now := r.Started
	add := func(ev plumb.Event) {
		ev.At = now
		now = now.Add(10 * time.Millisecond)
		if r.Change != nil {
			r.Change(&ev)
		}
		line, err := e.Line(&ev)
		if err == nil {
			err = e.Write(line)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	info := plumb.RunInfo{
		ID: r.ID, PlumbVersion: "1.0.0", Share: r.Share, SuiteName: r.Suite, SuiteHash: r.Hash, Runners: r.Runners,
		Cases: len(r.Cases), SuiteCases: len(r.Cases), Repeat: r.Repeat, Schedule: "parallel", Parallel: 1,
	}
	add(plumb.Event{Type: plumb.EventRunStarted, Info: &info})
	const perLine = 100
	for cases := range slices.Chunk(r.Cases, perLine) {
		add(plumb.Event{Type: plumb.EventPlanned, Cases: cases})
	}
	all := len(r.Cases) * len(r.Runners)
	for n := range all {
		if r.Executions > 0 && n == r.Executions {
			break
		}
		c, runner := n/len(r.Runners), n%len(r.Runners)
		at := plumb.Event{Case: r.Cases[c].ID, Runner: r.Runners[runner].ID}
		res := plumb.ExecutionResult{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed}
		sum := 0.0
		for k := range max(r.Cases[c].Repeat, r.Repeat) {
			finished, judged, score := r.session(at, runner, c, k+1)
			add(finished)
			add(judged)
			res.Sessions++
			switch judged.Judgement.Outcome {
			case plumb.OutcomePass:
				res.Passed++
				sum += score
			case plumb.OutcomeFail:
				res.Failed++
				sum += score
			default:
				res.Errored++
			}
		}
		if measured := res.Passed + res.Failed; measured > 0 {
			res.Score = sum / float64(measured)
		}
		switch {
		case res.Failed > 0:
			res.Outcome, res.Status = plumb.OutcomeFail, plumb.StatusFailed
		case res.Errored > 0:
			res.Outcome, res.Status = plumb.OutcomeError, plumb.StatusFailed
		}
		done := at
		done.Type, done.Result = plumb.EventExecutionFinished, &res
		add(done)
	}
	if r.Executions == 0 || r.Executions >= all {
		add(plumb.Event{Type: plumb.EventRunFinished, End: &plumb.RunEnd{DurationMs: 1}})
	}
	return out.Bytes()
}

func (r *Run) defaults() {
	if r.Suite == "" {
		r.Suite = "own"
	}
	if r.Hash == "" {
		r.Hash = fmt.Sprintf("sha256:%064x", len(r.Suite))
	}
	if r.Started.IsZero() {
		r.Started = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	}
	if r.Share == "" {
		r.Share = plumb.ShareScores
	}
	if r.Runners == nil {
		r.Runners = []plumb.RunnerInfo{Model("openai", "gpt-5")}
	}
	if r.Cases == nil {
		r.Cases = Cases(4)
	}
	if r.Repeat == 0 {
		r.Repeat = 1
	}
	if r.Answer == nil {
		r.Answer = func(int, int, int) (string, float64, bool, bool) { return "yes", 1, false, true }
	}
}

// session returns the events of a session with its score.
func (r *Run) session(at plumb.Event, runner, caseNo, repetition int) (finished, judged plumb.Event, score float64) {
	text, score, cached, ok := r.Answer(runner, caseNo, repetition)
	finished = at
	finished.Type, finished.Repetition, finished.Session = plumb.EventSessionFinished, repetition, 1
	judged = finished
	judged.Type = plumb.EventSessionJudged
	if !ok {
		f := plumb.Failuref(plumb.OriginRunner, "no answer")
		finished.Failure = f
		judged.Judgement = &plumb.Judgement{Outcome: plumb.OutcomeError, Status: plumb.StatusFailed, Verdicts: []plumb.Verdict{}, Failure: f}
		return finished, judged, 0
	}
	cost := 0.000_1
	finished.Report = &plumb.SessionReport{
		Runner: r.Runners[runner], AnswerHash: drift.AnswerHash(text), Model: r.Runners[runner].Agent.Model + "-2026", CostUSD: &cost,
		Usage: plumb.Usage{InputTokens: new(int64(10)), OutputTokens: new(int64(5))}, LatencyMs: 100, DurationMs: 120, Cached: cached,
		FinishReason: plumb.FinishStop,
	}
	if r.Share != plumb.ShareScores {
		finished.Report.FinalOutput = text
	}
	verdict := plumb.Verdict{Name: "contains", Pass: score >= 0.5, Score: score}
	judged.Judgement = &plumb.Judgement{
		Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Score: score, Verdicts: []plumb.Verdict{verdict},
	}
	if score < 0.5 {
		judged.Judgement.Outcome, judged.Judgement.Status = plumb.OutcomeFail, plumb.StatusFailed
		judged.Judgement.Failure = plumb.Failuref(plumb.OriginAssertion, "wrong")
	}
	return finished, judged, score
}

// Open returns a log that is kept in memory.
func Open(data []byte) *runlog.Log {
	return &runlog.Log{
		Name: "memory",
		Open: func() (runlog.Lines, error) { return lines{bytes.NewReader(data)}, nil },
	}
}

type lines struct{ io.ReaderAt }

func (lines) Close() error { return nil }
