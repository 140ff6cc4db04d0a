package accept_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/accept"
	"github.com/plumb-eval/plumb/internal/accepttest"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/suites"
)

func read(tb testing.TB, log []byte, rules accept.Rules) (*accept.Submission, error) {
	tb.Helper()
	return accept.Read(tb.Context(), accepttest.Open(log), rules)
}

// TestRead: the rows of a log.
func TestRead(t *testing.T) {
	run := accepttest.Run{
		ID: "r", Cases: accepttest.Cases(3), Repeat: 2, Share: plumb.ShareAnswers,
		Runners: []plumb.RunnerInfo{accepttest.Model("openai", "gpt-5"), accepttest.Model("mistral", "large")},
	}
	run.Answer = func(runner, c, k int) (string, float64, bool, bool) {
		return fmt.Sprint("answer ", c), float64(k-1) * 0.123_456_7, c == 1, c != 2 || runner == 0
	}
	s, err := read(t, run.Log(t), accept.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Planned != 12 || len(s.Results) != 12 || len(s.Panels) != 2 || !s.Finished || len(s.Answers) != 3 || s.Held != nil {
		t.Fatalf("got %+v", s)
	}
	if s.CostNanoUSD != 0 { // the executions of this log have no cost
		t.Errorf("cost %d", s.CostNanoUSD)
	}
	for i, r := range s.Results {
		if r.Runner != i/6 || r.Case != i/2%3 || r.Repetition != i%2+1 || r.Fresh != (r.Case != 1) {
			t.Errorf("result %d is %+v", i, r)
		}
		if broken := r.Runner == 1 && r.Case == 2; broken != (r.Outcome == plumb.OutcomeError) || broken != (r.Answer == nil) ||
			broken != (r.Tokens == nil) || broken == r.Measured() {
			t.Errorf("result %d is %+v", i, r)
		}
		if want := int64(i % 2 * 123_457); r.Measured() && r.Score != want {
			t.Errorf("result %d has the score %d, want %d", i, r.Score, want)
		}
		if r.Answer != nil && s.Answers[*r.Answer] != fmt.Sprint("answer ", r.Case) {
			t.Errorf("result %d has the answer %q", i, s.Answers[*r.Answer])
		}
	}
	if s.Panels[0].Key == s.Panels[1].Key || s.Panels[1].Model != "large" {
		t.Errorf("got %+v", s.Panels)
	}

	run.Share = plumb.ShareScores
	scores, err := read(t, run.Log(t), accept.Rules{})
	if err != nil || len(scores.Answers) != 0 || *scores.Results[0].Answer != *s.Results[0].Answer {
		t.Errorf("without answers: %+v, %v", scores, err)
	}
	dir := t.TempDir()
	run.Share = plumb.ShareSessions
	if err := os.WriteFile(filepath.Join(dir, runlog.EventsFile), run.Log(t), 0o600); err != nil {
		t.Fatal(err)
	}
	local, err := accept.Read(t.Context(), runlog.At(dir), accept.Rules{Local: true})
	if err != nil || len(local.Results) != 12 || *local.Results[0].Answer != *s.Results[0].Answer {
		t.Errorf("of this machine: %+v, %v", local, err)
	}
}

// TestPartial: a run that is going on has the results that are judged.
func TestPartial(t *testing.T) {
	log := accepttest.Run{ID: "r", Executions: 2}.Log(t)
	lines := bytes.SplitAfter(log, []byte("\n"))
	for n := range lines {
		s, err := read(t, bytes.Join(lines[:n], nil), accept.Rules{})
		if n < 4 { // run-started, planned, a session, its judgement
			if faults := (accept.Faults{}); !errors.As(err, &faults) {
				t.Errorf("%d lines: %v", n, err)
			}
			continue
		}
		if err != nil || s.Planned != 4 || s.Finished || s.Held != nil || len(s.Results) != min(1+(n-4)/3, 2) {
			t.Errorf("%d lines: %+v, %v", n, s, err)
		}
	}
}

// TestFaults: each fault is found on its line.
func TestFaults(t *testing.T) {
	now := time.Date(2026, 11, 2, 9, 1, 0, 0, time.UTC)
	on := func(kind plumb.EventType, change func(ev *plumb.Event)) func(*plumb.Event) {
		done := false
		return func(ev *plumb.Event) {
			if ev.Type == kind && !done {
				done = true
				change(ev)
			}
		}
	}
	info := func(change func(*plumb.RunInfo)) func(*plumb.Event) {
		return on(plumb.EventRunStarted, func(ev *plumb.Event) { change(ev.Info) })
	}
	planned := func(change func(*plumb.CaseInfo)) func(*plumb.Event) {
		return on(plumb.EventPlanned, func(ev *plumb.Event) {
			ev.Cases = append([]plumb.CaseInfo{}, ev.Cases...)
			change(&ev.Cases[0])
		})
	}
	report := func(change func(*plumb.SessionReport)) func(*plumb.Event) {
		return on(plumb.EventSessionFinished, func(ev *plumb.Event) { change(ev.Report) })
	}
	judgement := func(change func(*plumb.Judgement)) func(*plumb.Event) {
		return on(plumb.EventSessionJudged, func(ev *plumb.Event) { change(ev.Judgement) })
	}
	for name, test := range map[string]struct {
		change func(*plumb.Event)
		line   int
		want   string
	}{
		"nothing":             {func(*plumb.Event) {}, 0, ""},
		"no share":            {info(func(i *plumb.RunInfo) { i.Share = "" }), 1, "what it shares"},
		"unknown share":       {info(func(i *plumb.RunInfo) { i.Share = "all" }), 1, "what it shares"},
		"a path as id":        {info(func(i *plumb.RunInfo) { i.ID = "../x" }), 1, "id of the run"},
		"a hash":              {info(func(i *plumb.RunInfo) { i.SuiteHash = "<b>" }), 1, "suite hash"},
		"NUL":                 {info(func(i *plumb.RunInfo) { i.SuiteName = "a\x00b" }), 1, "NUL"},
		"no name":             {info(func(i *plumb.RunInfo) { i.SuiteName = "" }), 1, "no name"},
		"a long name":         {info(func(i *plumb.RunInfo) { i.SuiteName = strings.Repeat("x", 1001) }), 1, "more than 1000 bytes"},
		"no runner":           {info(func(i *plumb.RunInfo) { i.Runners = nil }), 1, "no runner"},
		"two runners":         {info(func(i *plumb.RunInfo) { i.Runners = append(i.Runners, i.Runners[0]) }), 1, "id of its own"},
		"many repetitions":    {info(func(i *plumb.RunInfo) { i.Repeat = 60_000 }), 14, "planned results"},
		"negative cases":      {info(func(i *plumb.RunInfo) { i.Cases = -1 }), 1, "numbers of the plan"},
		"a replay":            {info(func(i *plumb.RunInfo) { i.Runners = []plumb.RunnerInfo{{ID: i.Runners[0].ID, Kind: "replay"}} }), 1, "replays"},
		"a case without id":   {planned(func(c *plumb.CaseInfo) { c.ID = "" }), 2, "has no id"},
		"a case twice":        {planned(func(c *plumb.CaseInfo) { c.ID = "case-001" }), 2, "planned twice"},
		"a negative repeat":   {planned(func(c *plumb.CaseInfo) { c.Repeat = -1 }), 2, "planned -1 times"},
		"an unknown case":     {on(plumb.EventSessionFinished, func(ev *plumb.Event) { ev.Case = "x" }), 3, `unknown case "x"`},
		"an unknown runner":   {on(plumb.EventSessionFinished, func(ev *plumb.Event) { ev.Runner = "x" }), 3, `unknown runner "x"`},
		"repetition 0":        {on(plumb.EventSessionFinished, func(ev *plumb.Event) { ev.Repetition = 0 }), 3, "repetition 0"},
		"a wrong answer hash": {report(func(r *plumb.SessionReport) { r.AnswerHash = "xyz" }), 3, "SHA-256"},
		"nothing known":       {report(func(r *plumb.SessionReport) { *r = plumb.SessionReport{} }), 0, ""},
		"a negative cost":     {report(func(r *plumb.SessionReport) { r.CostUSD = new(-1.0) }), 3, "cost"},
		"a large cost":        {report(func(r *plumb.SessionReport) { r.CostUSD = new(1e300) }), 3, "cost"},
		"tokens":              {report(func(r *plumb.SessionReport) { r.Usage.InputTokens = new(int64(1) << 62) }), 3, "tokens"},
		"latency":             {report(func(r *plumb.SessionReport) { r.LatencyMs = -5 }), 3, "latency"},
		"a score":             {judgement(func(j *plumb.Judgement) { j.Score = 1.01 }), 4, "score"},
		"an outcome":          {judgement(func(j *plumb.Judgement) { j.Outcome = "won" }), 4, `outcome "won"`},
		"no judgement":        {on(plumb.EventSessionJudged, func(ev *plumb.Event) { ev.Judgement = nil }), 4, "no judgement"},
		"an unknown event":    {on(plumb.EventExecutionFinished, func(ev *plumb.Event) { ev.Type = "boo" }), 5, `event "boo"`},
		"two runs":            {on(plumb.EventSessionJudged, func(ev *plumb.Event) { ev.Type, ev.Info = "run-started", &plumb.RunInfo{} }), 4, "out of order"},
		"no time":             {on(plumb.EventPlanned, func(ev *plumb.Event) { ev.At = time.Time{} }), 2, "no time"},
		"an earlier time":     {on(plumb.EventSessionFinished, func(ev *plumb.Event) { ev.At = ev.At.Add(-time.Hour) }), 3, "earlier"},
		"a later time":        {on(plumb.EventRunFinished, func(ev *plumb.Event) { ev.At = now.Add(6 * time.Minute) }), 15, "future"},
		"nothing measured": {func(ev *plumb.Event) {
			if ev.Judgement != nil {
				ev.Judgement.Outcome = plumb.OutcomeError
			}
		}, 15, "nothing was measured"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, accepttest.Run{ID: "r", Change: test.change}.Log(t), accept.Rules{Now: now})
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var faults accept.Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v", err)
			}
			for _, f := range faults {
				if (f.Line == test.line || test.line > 12 && f.Line > 12) && strings.Contains(f.Message, test.want) {
					return
				}
			}
			t.Errorf("want line %d: %s, got %v", test.line, test.want, err)
		})
	}
	log := accepttest.Run{ID: "r"}.Log(t)
	for name, text := range map[string]string{
		"no log": "", "no JSON": "x\n", "a changed line": strings.Replace(string(log), `"score":1`, `"score":0`, 1),
		"no checksum": `{"type":"run-started","at":"2026-11-02T09:00:00Z","info":{"id":"r"}}` + "\n",
		"a long line": string(log) + strings.Repeat("x", 65<<10) + "\n",
		"deep":        string(log) + strings.Repeat("[", 100) + "\n",
	} {
		var faults accept.Faults
		if _, err := read(t, []byte(text), accept.Rules{Now: now}); !errors.As(err, &faults) || len(faults) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The clock of the sender is an hour late: it is not the future.
	late := accept.Rules{Now: now.Add(-time.Hour), Sent: now}
	if _, err := read(t, log, late); err != nil {
		t.Error(err)
	}
	late.Sent = time.Time{}
	if _, err := read(t, log, late); err == nil {
		t.Error("a run in the future was accepted")
	}
}

// TestHeld: a log that does not agree with itself is held.
func TestHeld(t *testing.T) {
	result := func(change func(*plumb.ExecutionResult)) func(*plumb.Event) {
		done := false
		return func(ev *plumb.Event) {
			if ev.Result != nil && !done {
				done = true
				change(ev.Result)
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*plumb.Event)
		want   string
	}{
		"passed": {result(func(r *plumb.ExecutionResult) { r.Passed = 7 }), "7 passed"},
		"score":  {result(func(r *plumb.ExecutionResult) { r.Score = 0.5 }), "the score 0.5"},
		"cases": {func(ev *plumb.Event) {
			if ev.Info != nil {
				ev.Info.Cases = 9
			}
		}, "9 cases were planned, but the log has 4"},
		"remaining": {func(ev *plumb.Event) {
			if ev.End != nil {
				ev.End.Remaining = 2
			}
		}, "2 executions are said to remain, but 0 do"},
		"answer": {func(ev *plumb.Event) {
			if ev.Report != nil {
				ev.Report.FinalOutput = "another"
			}
		}, "the hash of an answer on line 3"},
	} {
		s, err := read(t, accepttest.Run{ID: "r", Share: plumb.ShareAnswers, Change: test.change}.Log(t), accept.Rules{})
		if err != nil || len(s.Held) == 0 || !strings.Contains(s.Held[0], test.want) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// TestSuite: the cases must be those of the suite, and checks that need only an answer are made again.
func TestSuite(t *testing.T) {
	data, err := fs.ReadFile(suites.FS(), "v1.0/cheap.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	content := cases.Read(t.Context(), cases.File{Path: "cheap.jsonl", Data: data})
	if content.Hash == "" {
		t.Fatal(content.Problems)
	}
	own := []byte(`{"id":"own","input":"x","ideal":"y","assertion":{"type":"contains"}}` + "\n")
	known := &accept.Suites{More: func(_ context.Context, hash string) ([]byte, error) {
		if hash != "sha256:1" {
			return nil, nil
		}
		return own, nil
	}}
	rules := accept.Rules{Suite: known.Cases}
	for range 2 {
		if all, err := known.Cases(t.Context(), "sha256:1"); err != nil || len(all) != 1 || all[0].ID != "own" {
			t.Errorf("an added suite: %+v, %v", all, err)
		}
	}
	run := accepttest.Run{ID: "r", Share: plumb.ShareAnswers, Hash: content.Hash, Suite: "v1.0-cheap"}
	for _, c := range content.Cases {
		run.Cases = append(run.Cases, plumb.CaseInfo{ID: c.ID, Hash: c.Hash, Category: c.Category})
	}
	ideals := map[int]string{}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var c struct {
			Ideal any `json:"ideal"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if text, ok := c.Ideal.(string); ok {
			ideals[i] = text
		}
	}
	if len(ideals) < 3 {
		t.Fatalf("%d ideals", len(ideals))
	}
	run.Answer = func(_, c, _ int) (string, float64, bool, bool) {
		if text, ok := ideals[c]; ok {
			return text, 1, false, true
		}
		return "", 0, false, false // not measured
	}
	honest, err := read(t, run.Log(t), rules)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cases with an ideal text; held: %s", len(ideals), strings.Join(honest.Held, "\n"))

	first := -1
	for i := range content.Cases {
		if _, ok := ideals[i]; ok && first < 0 {
			first = i
		}
	}
	answer := run.Answer
	run.Answer = func(r, c, k int) (string, float64, bool, bool) {
		if c == first {
			return "~", 1, false, true // a pass, it says
		}
		return answer(r, c, k)
	}
	lie, err := read(t, run.Log(t), rules)
	if err != nil || len(lie.Held) != len(honest.Held)+1 {
		t.Errorf("a score that the answer does not have: %+v, %v", lie.Held, err)
	}
	run.Share = plumb.ShareScores
	if s, err := read(t, run.Log(t), rules); err != nil || s.Held != nil {
		t.Errorf("without answers: %+v, %v", s, err)
	}
	run.Cases[3].Hash = "sha256:" + strings.Repeat("0", 64)
	if s, err := read(t, run.Log(t), rules); err != nil || len(s.Held) != 1 || !strings.Contains(s.Held[0], "not that of the suite") {
		t.Errorf("another case: %+v, %v", s, err)
	}
	run.Hash = ""
	if s, err := read(t, run.Log(t), rules); err != nil || s.Held != nil {
		t.Errorf("an unknown suite: %+v, %v", s, err)
	}
}

// FuzzRead: no log makes the reader crash, or gives rows that are not legal.
func FuzzRead(f *testing.F) {
	f.Add(accepttest.Run{ID: "r", Share: plumb.ShareAnswers}.Log(f))
	f.Add(accepttest.Run{ID: "r", Executions: 1, Repeat: 3}.Log(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		var sealed bytes.Buffer
		e := runlog.NewEncoder(&sealed)
		for line := range bytes.Lines(data) { // with new checksums, so that the content is looked at
			line, _, _ = bytes.Cut(line, []byte(`,"crc":`))
			if err := e.Write(append(bytes.Clone(bytes.TrimSuffix(bytes.TrimSpace(line), []byte("}"))), '}')); err != nil {
				t.Fatal(err)
			}
		}
		s, err := read(t, sealed.Bytes(), accept.Rules{})
		if err != nil {
			return
		}
		for _, r := range s.Results {
			if r.Runner < 0 || r.Runner >= len(s.Panels) || r.Case < 0 || r.Case >= len(s.Cases) || r.Score < 0 || r.Score > accept.Million {
				t.Errorf("got %+v", r)
			}
		}
		if len(s.Results) > s.Planned {
			t.Errorf("%d results of %d", len(s.Results), s.Planned)
		}
	})
}

// TestMany: a log of few bytes that plans many results ends where it does so.
func TestMany(t *testing.T) {
	run := accepttest.Run{ID: "r", Executions: 1, Cases: accepttest.Cases(3000)}
	for i := range 100 {
		run.Runners = append(run.Runners, accepttest.Model("p", fmt.Sprint(i)))
	}
	var before, after runtime.MemStats
	log := run.Log(t)
	runtime.ReadMemStats(&before)
	_, err := read(t, log, accept.Rules{})
	runtime.ReadMemStats(&after)
	var faults accept.Faults
	if !errors.As(err, &faults) || faults[0].Line != 22 || !strings.Contains(err.Error(), "more than 200000 results") {
		t.Error(err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 400<<20 {
		t.Errorf("%d bytes", used)
	}
}

// TestAnnounced: a log that announces many cases uses no memory for them.
func TestAnnounced(t *testing.T) {
	log := accepttest.Run{ID: "r", Change: func(ev *plumb.Event) {
		if ev.Info != nil {
			ev.Info.Cases = 1 << 40
		}
	}}.Log(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := read(t, log, accept.Rules{})
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || len(s.Held) != 1 || used > 4<<20 {
		t.Errorf("%d bytes, %v", used, err)
	}
}
