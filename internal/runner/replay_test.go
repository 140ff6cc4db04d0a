package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

// recording is the log of a run with one runner for each id.
func recording(ids ...string) []plumb.Event {
	info := &plumb.RunInfo{ID: "r-1"}
	events := []plumb.Event{{Type: plumb.EventRunStarted, Info: info}}
	for _, id := range ids {
		of := plumb.RunnerInfo{
			ID: id, Kind: plumb.RunnerModel, Agent: plumb.AgentInfo{Type: "openai", Model: "gpt-5"}, Config: "sha256:1",
			Parameters: plumb.Parameters{Seed: new(int64(42))},
		}
		info.Runners = append(info.Runners, of)
		events = append(events,
			plumb.Event{Type: plumb.EventSessionStarted, Case: "a-1", Runner: id, Repetition: 1, Session: 1},
			plumb.Event{Type: plumb.EventSessionFinished, Case: "a-1", Runner: id, Repetition: 1, Session: 1, Report: answered(of, ask("x"), "by "+id)},
			plumb.Event{Type: plumb.EventSessionFinished, Case: "a-2", Runner: id, Repetition: 1, Session: 1, Failure: plumb.Failuref(plumb.OriginModelRejected, "no such model")},
			plumb.Event{
				Type: plumb.EventSessionFinished, Case: "a-2", Runner: id, Repetition: 1, Session: 2,
				Report: answered(of, ask("x"), "half"), Failure: plumb.Failuref(plumb.OriginTimeout, "too slow"),
			},
			plumb.Event{Type: plumb.EventExecutionFinished, Case: "a-2", Runner: id, Result: &plumb.ExecutionResult{}},
		)
	}
	return events
}

func play(events []plumb.Event) func(func(plumb.Event) error) error {
	return func(fn func(plumb.Event) error) error {
		for _, ev := range events {
			if err := fn(ev); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestReplay(t *testing.T) {
	r, err := NewReplay(ReplayOptions{}, play(recording("gpt")))
	if err != nil {
		t.Fatal(err)
	}
	info := r.Info()
	if info.ID != "replay" || info.Kind != plumb.RunnerReplay || info.Agent.Model != "gpt-5" || info.Parameters.Seed == nil || len(r.sessions) != 3 {
		t.Errorf("%+v, %d sessions", info, len(r.sessions))
	}
	for range 2 {
		report, err := r.Run(t.Context(), ask("x"))
		if err != nil {
			t.Fatal(err)
		}
		want := answered(info, ask("x"), "by gpt")
		want.Recorded, want.CostUSD = true, new(0.0)
		if diff := cmp.Diff(want, report); diff != "" {
			t.Error(diff)
		}
		report.Events[0].Text = "changed" // what a caller does with it is its own business
	}
}

func TestReplayFailures(t *testing.T) {
	r, err := NewReplay(ReplayOptions{ID: "again"}, play(recording("gpt")))
	if err != nil {
		t.Fatal(err)
	}
	with := func(f func(*plumb.Request)) plumb.Request {
		req := ask("x")
		f(&req)
		return req
	}
	for _, tt := range []struct {
		name   string
		req    plumb.Request
		origin plumb.Origin
		class  string
		text   string
		report bool
	}{
		{"recorded failure", with(func(r *plumb.Request) { r.CaseID = "a-2" }), plumb.OriginModelRejected, "model-rejected", "no such model", false},
		{"recorded end", with(func(r *plumb.Request) { r.CaseID, r.Session = "a-2", 2 }), plumb.OriginTimeout, "timeout", "too slow", true},
		{"another prompt", ask("y"), plumb.OriginRunner, "not-recorded", "another prompt", false},
		{"another case", with(func(r *plumb.Request) { r.CaseID = "b" }), plumb.OriginRunner, "not-recorded", "no recording of case b on gpt", false},
		{"another repetition", with(func(r *plumb.Request) { r.Repetition = 2 }), plumb.OriginRunner, "not-recorded", "repetition 2", false},
		{"another retry", with(func(r *plumb.Request) { r.Session = 2 }), plumb.OriginRunner, "not-recorded", "session 2", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report, err := r.Run(t.Context(), tt.req)
			f := failure(t, err)
			if f.Origin != tt.origin || f.Class.ID != tt.class || !strings.Contains(f.Message, tt.text) || (report != nil) != tt.report {
				t.Errorf("%+v, %+v", report, f)
			}
			if tt.class == "not-recorded" && f.Hint == "" {
				t.Error("no hint")
			}
			if report != nil && (!report.Recorded || report.FinalOutput != "half") {
				t.Errorf("%+v", report)
			}
		})
	}
}

func TestReplayChoosesARunner(t *testing.T) {
	for _, tt := range []struct {
		options ReplayOptions
		want    string // the answer, or the error
	}{
		{ReplayOptions{Runner: "b"}, "by b"},
		{ReplayOptions{ID: "b"}, "by b"},
		{ReplayOptions{ID: "b", Runner: "a"}, "by a"},
		{ReplayOptions{}, "2 runners"},
		{ReplayOptions{Runner: "c"}, `no runner "c"`},
	} {
		r, err := NewReplay(tt.options, play(recording("a", "b")))
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) || plumb.Hint(err) == "" {
				t.Errorf("%+v: %v", tt.options, err)
			}
			continue
		}
		if report, err := r.Run(t.Context(), ask("x")); err != nil || report.FinalOutput != tt.want {
			t.Errorf("%+v: %+v, %v", tt.options, report, err)
		}
	}
	for name, events := range map[string][]plumb.Event{
		"not begun": nil, "no session": recording("a")[:1], "no runner": {{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{}}},
		"no info":       {{Type: plumb.EventRunStarted}},
		"session first": recording("a")[2:],
		"neither":       append(recording("a"), plumb.Event{Type: plumb.EventSessionFinished, Case: "a", Runner: "a"}),
	} {
		if r, err := NewReplay(ReplayOptions{}, play(events)); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := NewReplay(ReplayOptions{}, func(func(plumb.Event) error) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestReplayPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for limit, want := range map[time.Duration]time.Duration{0: 0, 100 * time.Millisecond: 100 * time.Millisecond, time.Hour: 1200 * time.Millisecond} {
			r, err := NewReplay(ReplayOptions{MaxDelay: limit}, play(recording("a")))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, err := r.Run(t.Context(), ask("x")); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("at most %v: took %v, want %v", limit, took, want)
			}
		}
		r, err := NewReplay(ReplayOptions{MaxDelay: time.Hour}, play(recording("a")))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		report, err := r.Run(ctx, ask("x"))
		if f := failure(t, err); report != nil || f.Origin != plumb.OriginTimeout {
			t.Errorf("%+v, %+v", report, f)
		}
	})
}

func TestReplayOfADirectory(t *testing.T) {
	dir := t.TempDir()
	var log []byte
	for i, ev := range recording("gpt") {
		ev.At = time.Date(2026, 11, 20, 12, 0, i, 0, time.UTC)
		line, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		log = append(append(log, line...), '\n')
	}
	log = append(log, `{"type":"session-fini`...) // torn by a crash
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run", "events.jsonl"), log, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []plumb.RunnerConfig{{Replay: "run"}, {Replay: "run#gpt"}, {Replay: filepath.Join(dir, "run")}} {
		r, err := New(t.Context(), cfg, Env{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if report, err := r.Run(t.Context(), ask("x")); err != nil || report.FinalOutput != "by gpt" {
			t.Errorf("%+v, %v", report, err)
		}
	}
	for replay, want := range map[string]string{"nowhere": "nowhere", "run#other": "other"} {
		_, err := New(t.Context(), plumb.RunnerConfig{ID: "old", Replay: replay}, Env{Dir: dir})
		if err == nil || !strings.HasPrefix(err.Error(), "runner old: replay "+replay) || !strings.Contains(err.Error(), want) || plumb.Hint(err) == "" {
			t.Errorf("%s: %v (%s)", replay, err, plumb.Hint(err))
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	events := recording("a")
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := NewReplay(ReplayOptions{}, play(events)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("run", func(b *testing.B) {
		r, err := NewReplay(ReplayOptions{}, play(events))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := r.Run(b.Context(), ask("x")); err != nil {
				b.Fatal(fmt.Errorf("run: %w", err))
			}
		}
	})
}
