package runlog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/runlog"
)

// written returns the directory of a run of some cases and runners, whose sessions answer with the
// name of their case.
func written(tb testing.TB, root string, cases, repeat int, runners ...string) *runlog.Dir {
	tb.Helper()
	d, err := runlog.Create(root, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	if err := d.WriteSpec(struct{}{}); err != nil {
		tb.Fatal(err)
	}
	info := &plumb.RunInfo{ID: d.ID, Cases: cases, Repeat: repeat}
	for _, id := range runners {
		info.Runners = append(info.Runners, plumb.RunnerInfo{ID: id})
	}
	plan := plumb.Event{Type: plumb.EventPlanned}
	for i := range cases {
		plan.Cases = append(plan.Cases, plumb.CaseInfo{ID: fmt.Sprintf("case-%03d", i), Repeat: repeat})
	}
	events := []plumb.Event{{Type: plumb.EventRunStarted, At: time.Now(), Info: info}, plan}
	for _, c := range plan.Cases {
		for _, id := range runners {
			for n := 1; n <= repeat; n++ {
				ev := plumb.Event{Type: plumb.EventSessionFinished, Case: c.ID, Runner: id, Repetition: n, Session: 1}
				ev.Report = &plumb.SessionReport{FinalOutput: "echo " + c.ID}
				judged := ev
				judged.Type, judged.Report = plumb.EventSessionJudged, nil
				judged.Judgement = &plumb.Judgement{Outcome: plumb.OutcomePass, Status: plumb.StatusPassed}
				events = append(events, ev, judged)
			}
		}
	}
	add(tb, d, nil, events...)
	return d
}

// add adds events to the log of d as a new process does, and returns them as they were recorded.
func add(tb testing.TB, d *runlog.Dir, secrets *redact.Redactor, events ...plumb.Event) (recorded []plumb.Event) {
	tb.Helper()
	x := &runlog.Index{}
	w, err := runlog.Continue(d, x, secrets, func(plumb.Event, *plumb.Run) error { return nil })
	if err != nil {
		tb.Fatal(err)
	}
	for _, ev := range events {
		got, _, err := w.Append(ev, true)
		if err != nil {
			tb.Fatal(err)
		}
		recorded = append(recorded, got)
	}
	if err := errors.Join(w.Close(), x.Close()); err != nil {
		tb.Fatal(err)
	}
	return recorded
}

func FuzzRead(f *testing.F) {
	d := written(f, f.TempDir(), 2, 1, "f")
	log, err := os.ReadFile(d.Join(runlog.EventsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log)
	f.Add(log[:len(log)/2])
	f.Add([]byte(`{"type":"run-started"}` + "\n"))
	f.Add([]byte(`{"type":"session-finished","case":"a","blob":"../../etc/passwd"}` + "\n"))
	f.Add([]byte(
		`{"type":"planned","cases":[{"id":"a"},{"id":"a"}]}` + "\n" + `{"type":"execution-finished","case":"a"}` + "\n",
	))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, runlog.EventsFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		readErr := runlog.At(dir).Read(func(plumb.Event) error { n++; return nil })
		if lines := strings.Count(string(data), "\n"); readErr == nil && n != lines {
			t.Errorf("%d events of %d whole lines", n, lines)
		}
		if _, err := runlog.At(dir).Fold(nil); err == nil && readErr != nil {
			// The fold skips sessions, so it may accept a log with a damaged session; never the
			// reverse.
			return
		}
		if x, err := runlog.At(dir).Index(); err == nil {
			for i := range x.Run().Executions {
				c, r := x.Run().At(i)
				_ = x.Sessions(c, r, func(plumb.Event) error { return nil })
			}
		}
	})
}

// TestRunIDsSortByTime begins runs a millisecond apart; "last" must mean the one that began last.
func TestRunIDsSortByTime(t *testing.T) {
	root := t.TempDir()
	start := time.Date(2026, 11, 20, 10, 15, 0, int(980*time.Millisecond), time.UTC)
	var want []string
	for i := range 100 {
		dir, err := runlog.Create(root, start.Add(time.Duration(i)*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(dir.WriteSpec(struct{}{}), dir.Close()); err != nil {
			t.Fatal(err)
		}
		want = append(want, dir.ID)
	}
	got, err := runlog.List(root)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("List does not return the runs in the order in which they began:\n got %v\nwant %v", got, want)
	}
	if last, err := runlog.Find(root, "last"); err != nil || filepath.Base(last) != want[len(want)-1] {
		t.Errorf("last is %s, %v, want %s", last, err, want[len(want)-1])
	}
}

func TestIndexFindsSessions(t *testing.T) {
	d := written(t, t.TempDir(), 20, 2, "a", "b")
	x, err := runlog.At(d.Path).Index()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := x.Sessions("case-007", "b", func(ev plumb.Event) error {
		text := ""
		if ev.Report != nil {
			text = ev.Report.FinalOutput
		}
		got = append(got, fmt.Sprint(ev.Type, " ", ev.Repetition, " ", text))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || !strings.HasPrefix(got[0], "session-finished") || !strings.HasSuffix(got[0], "echo case-007") {
		t.Errorf("got %q", got)
	}
	if err := x.Sessions("nobody", "b", nil); err == nil {
		t.Error("an unknown case is not an error")
	}

	d = written(t, t.TempDir(), 3, 0, "a")
	add(t, d, nil, plumb.Event{
		Type: plumb.EventSessionFinished, Case: "case-001", Runner: "a", Repetition: 1, Session: 1, Report: &plumb.SessionReport{},
	})
	if x, err = runlog.At(d.Path).Index(); err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{false, true, false} {
		if x.Has(n) != want {
			t.Errorf("case %d has a session: %t, want %t", n, !want, want)
		}
	}
}

func TestDirIsLockedAndFound(t *testing.T) {
	root := t.TempDir()
	a, err := runlog.Create(root, time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.WriteSpec(map[string]string{"suite": "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := runlog.Open(a.Path); !errors.Is(err, runlog.ErrLocked) {
		t.Errorf("opened a run that is owned: %v", err)
	}
	if !runlog.Locked(a.Path) {
		t.Error("not seen as locked")
	}
	for _, name := range []string{"last", a.ID, a.ID[:12], a.ID[len(a.ID)-6:], a.Path} {
		if got, err := runlog.Find(root, name); err != nil || got != a.Path {
			t.Errorf("Find(%q) = %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "zzz"} {
		if _, err := runlog.Find(root, name); err == nil {
			t.Errorf("%q: found a run that does not exist", name)
		}
	}
	for _, name := range []string{runlog.SpecFile} {
		info, err := os.Stat(filepath.Join(a.Path, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}
