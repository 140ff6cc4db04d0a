package runlog_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// sessions returns the events of a run of one case on one runner: a session with all figures, one in
// a blob, and one that broke off, each with its judgement.
func sessions() (events []plumb.Event, figures []plumb.Event) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	events = []plumb.Event{
		{Type: plumb.EventRunStarted, At: at, Info: &plumb.RunInfo{
			ID: "x", Cases: 1, Repeat: 3, Runners: []plumb.RunnerInfo{{ID: "r"}},
		}},
		{Type: plumb.EventPlanned, At: at, Cases: []plumb.CaseInfo{{ID: "c", Repeat: 3}}},
	}
	figures = append(figures, events...)
	brief := plumb.SessionReport{
		SessionID: "s-1", FinalOutput: "yes", StartedAt: &at, DurationMs: 30, LatencyMs: 20, Model: "m-1", Fingerprint: "fp",
		RequestID: "req-1", Effective: plumb.Parameters{Temperature: new(0.5)}, CostUSD: new(0.25), Cached: true,
		Recorded: true, AgentVersion: "1.2", Steps: 3, Offered: []plumb.Offer{{Kind: plumb.OfferSkill, Name: "s"}},
		Usage: plumb.Usage{InputTokens: new(int64(7)), InputChars: 9},
	}
	for n, prompt := range []string{"p", strings.Repeat("p", 300<<10), "p"} {
		id := plumb.Event{At: at, Case: "c", Runner: "r", Repetition: n + 1, Session: 1}
		whole, finished, judged := brief, id, id
		whole.Prompt, whole.Notes = prompt, []string{`a text with ,"report":{"x":1}} in it`}
		finished.Type, finished.Report = plumb.EventSessionFinished, &whole
		judged.Type = plumb.EventSessionJudged
		judgement := plumb.Judgement{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed, Score: 0.75}
		if n == 2 {
			finished.Failure = plumb.Failuref(plumb.OriginRunner, "broke off")
			judgement = plumb.Judgement{
				Outcome: plumb.OutcomeError, Status: plumb.StatusFailed, Failure: plumb.Failuref(plumb.OriginRunner, "broke off"),
			}
		}
		short := judgement
		judged.Judgement = &judgement
		judgement.Verdicts = []plumb.Verdict{{Name: "a", Details: json.RawMessage(`{"report":{"x":1},"verdicts":[]}`)}}
		events = append(events, finished, judged)
		finished.Report, judged.Judgement = new(brief), &short
		figures = append(figures, finished, judged)
	}
	return events, figures
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(plumb.Failure{}, plumb.Run{})); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// TestReadings reads one log in each way that there is.
func TestReadings(t *testing.T) {
	d, err := runlog.Create(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	events, figures := sessions()
	same(t, "what was recorded", events, add(t, d, nil, events...))
	l := runlog.At(d.Path)
	collect := func(all *[]plumb.Event) func(plumb.Event) error {
		return func(ev plumb.Event) error { *all = append(*all, ev); return nil }
	}

	var got []plumb.Event
	if err := l.Read(collect(&got)); err != nil {
		t.Fatal(err)
	}
	same(t, "Read", events, got)

	got = nil
	state, err := l.Figures(nil, func(ev plumb.Event, r *plumb.Run) error {
		if r.EndedAt.IsZero() {
			t.Error("the state is not the one after the event")
		}
		return collect(&got)(ev)
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "Figures", figures, got)

	folded, err := l.Fold(nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the state", state, folded)
	info, err := l.Info()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "Info", events[0].Info, info)

	x, err := l.Index()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the state of the index", state, x.Run())
	if !x.Has(0) || x.Has(1) {
		t.Error("the index does not know which executions have sessions")
	}
	got = nil
	if err := x.Sessions("c", "r", collect(&got)); err != nil {
		t.Fatal(err)
	}
	same(t, "Sessions", events[2:], got)

	got = nil
	i := 2
	if _, err := x.Stored("c", "r", nil, func(s *runlog.Stored) error {
		want := events[i]
		var report *plumb.SessionReport
		var verdicts []plumb.Verdict
		if s.Report != nil && json.Unmarshal(s.Report, &report) != nil {
			t.Errorf("the report is %.100q", s.Report)
		}
		if s.Verdicts != nil && json.Unmarshal(s.Verdicts, &verdicts) != nil {
			t.Errorf("the verdicts are %.100q", s.Verdicts)
		}
		same(t, "the stored type", want.Type, s.Type)
		same(t, "the stored report", want.Report, report)
		if want.Judgement != nil {
			same(t, "the stored verdicts", want.Judgement.Verdicts, verdicts)
		}
		ev, err := s.Event()
		if figures[i].Failure != nil {
			figures[i].Report = want.Report // the whole one
		}
		same(t, "the stored event", figures[i], ev)
		i++
		return err
	}); err != nil || i != len(events) {
		t.Errorf("%d events; error %v", i, err)
	}

	stop := errors.New("stop")
	_, stored := x.Stored("c", "r", nil, func(*runlog.Stored) error { return stop })
	for name, err := range map[string]error{
		"Read":     l.Read(func(plumb.Event) error { return stop }),
		"Sessions": x.Sessions("c", "r", func(plumb.Event) error { return stop }),
		"Stored":   stored,
	} {
		if !errors.Is(err, stop) {
			t.Errorf("%s: the error of the caller becomes %v", name, err)
		}
	}
	if _, err := l.Figures(nil, func(plumb.Event, *plumb.Run) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Figures: the error of the caller becomes %v", err)
	}
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		t.Error(err)
	}
}

// TestDamagedBlob reads a session whose blob is not the one that was written, or is gone.
func TestDamagedBlob(t *testing.T) {
	d, err := runlog.Create(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	events, _ := sessions()
	add(t, d, nil, events...)
	blobs, err := filepath.Glob(d.Join(runlog.BlobsDir, "*"))
	if err != nil || len(blobs) != 1 {
		t.Fatal(blobs, err)
	}
	l := runlog.At(d.Path)
	check := func(want string) {
		t.Helper()
		x, err := l.Index()
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		_, figures := l.Figures(nil, func(plumb.Event, *plumb.Run) error { return nil })
		_, stored := x.Stored("c", "r", nil, func(*runlog.Stored) error { return nil })
		for name, err := range map[string]error{
			"Read":     read(l),
			"Figures":  figures,
			"Sessions": x.Sessions("c", "r", func(plumb.Event) error { return nil }),
			"Stored":   stored,
		} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(blobs[0])) {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
		}
	}
	if err := os.WriteFile(blobs[0], []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("was changed after it was written")
	if err := os.Remove(blobs[0]); err != nil {
		t.Fatal(err)
	}
	check("no such file")
	outside := inMemory(`{"type":"session-finished","case":"a","blob":"../x"}`+"\n", runlog.Limits{})
	if err := read(outside); err == nil || !strings.Contains(err.Error(), `blob name "../x" is not a file name`) {
		t.Errorf("a blob elsewhere: %v", err)
	}
}

// TestRunsThatNeverBegan reads logs without an event.
func TestRunsThatNeverBegan(t *testing.T) {
	ways := func(l *runlog.Log) map[string]error {
		_, info := l.Info()
		_, fold := l.Fold(nil)
		_, figures := l.Figures(nil, func(plumb.Event, *plumb.Run) error { return nil })
		return map[string]error{"Info": info, "Fold": fold, "Figures": figures}
	}
	torn := t.TempDir()
	if err := os.WriteFile(filepath.Join(torn, runlog.EventsFile), []byte(`{"type":"run-`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{t.TempDir(), torn} {
		for name, err := range ways(runlog.At(dir)) {
			if !runlog.NotStarted(err) || dir != torn && plumb.Hint(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	damaged := inMemory("{\"type\":1}\n", runlog.Limits{})
	for name, err := range ways(damaged) {
		if err == nil || runlog.NotStarted(err) {
			t.Errorf("%s of a damaged log: %v", name, err)
		}
	}
	if runlog.NotStarted(nil) {
		t.Error("no error means that a run never began")
	}
}

// TestSecretsAreRemoved checks that no secret gets into the log, that a session names those that were
// removed from it, and that secrets in a log of an earlier version do not get out of it.
func TestSecretsAreRemoved(t *testing.T) {
	const secret = "sk-canary-0123456789"
	secrets := redact.New([]redact.Secret{{Name: "A_KEY", Value: secret}})
	events, _ := sessions()
	events[2].Report.FinalOutput, events[2].Report.Redacted = "it is "+secret, []string{"Z_KEY", "A_KEY"}
	events[3].Judgement.Failure = plumb.Failuref(plumb.OriginJudge, "said %s", secret)
	events = append(events, plumb.Event{
		Type: plumb.EventNote, At: events[0].At, Note: &plumb.Note{Text: "it was " + secret},
	})
	const hidden = "[redacted:A_KEY]"
	for _, when := range []string{"written", "read"} {
		d, err := runlog.Create(t.TempDir(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if when == "written" {
			recorded := add(t, d, secrets, events...)
			same(t, "the removed secrets", []string{"A_KEY", "Z_KEY"}, recorded[2].Report.Redacted)
			if recorded[2].Report.FinalOutput != "it is "+hidden {
				t.Errorf("the session was recorded with %q", recorded[2].Report.FinalOutput)
			}
			if text, err := os.ReadFile(d.Join(runlog.EventsFile)); err != nil || strings.Contains(string(text), secret) {
				t.Errorf("the log has the secret; error %v", err)
			}
			if events[2].Report.FinalOutput != "it is "+secret {
				t.Error("the session of the caller was changed")
			}
		} else {
			add(t, d, nil, events...)
		}
		folded, err := runlog.At(d.Path).Fold(secrets)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the notes", []plumb.Note{{Text: "it was " + hidden}}, folded.Notes)
		var got []plumb.Event
		if _, err := runlog.At(d.Path).Figures(secrets, func(ev plumb.Event, _ *plumb.Run) error {
			got = append(got, ev)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got[2].Report.FinalOutput != "it is "+hidden || got[3].Judgement.Failure.Message != "said "+hidden {
			t.Errorf("%s: %+v, %+v", when, got[2].Report, got[3].Judgement.Failure)
		}
	}
}
