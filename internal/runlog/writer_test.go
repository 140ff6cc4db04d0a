package runlog_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/runlog"
)

func note(text string) plumb.Event {
	return plumb.Event{Type: plumb.EventNote, Note: &plumb.Note{Text: text}}
}

// TestEventsAreEmittedInOrder checks that each event is emitted once, in order, after it is in the
// log if it belongs there, with the state after it.
func TestEventsAreEmittedInOrder(t *testing.T) {
	d := written(t, t.TempDir(), 1, 1, "f")
	var emitted []string
	w, err := runlog.Continue(d, &runlog.Index{}, nil, func(ev plumb.Event, r *plumb.Run) error {
		log, err := os.ReadFile(d.Join(runlog.EventsFile))
		text := ev.Note.Text
		if in := strings.Contains(string(log), text); in != (text != "only seen") || r.Notes[len(r.Notes)-1].Text != text {
			t.Errorf("%q is in the log: %t; the notes are %v", text, in, r.Notes)
		}
		emitted = append(emitted, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Append(note("appended"), false); err != nil {
		t.Fatal(err)
	}
	if err := w.EmitOnly(note("only seen")); err != nil {
		t.Fatal(err)
	}
	w.Drain()
	want := []string{"appended", "only seen"}
	if diff := cmp.Diff(want, emitted); diff != "" {
		t.Error(diff)
	}
	at := time.Date(2026, 11, 20, 11, 0, 0, 1_999_999, time.FixedZone("", 3600))
	for i, write := range []func(plumb.Event) (plumb.Event, error){
		w.Commit, func(ev plumb.Event) (plumb.Event, error) { return w.Wait(ev, false) },
	} {
		ev := note([]string{"committed", "waited"}[i])
		ev.At = at
		want = append(want, ev.Note.Text)
		recorded, err := write(ev)
		if err != nil || recorded.At.Format(time.RFC3339Nano) != "2026-11-20T10:00:00.001Z" {
			t.Errorf("recorded %v, %v", recorded, err)
		}
		if diff := cmp.Diff(want, emitted); diff != "" {
			t.Error(diff)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := w.Append(note("late"), true); err == nil || err.Error() != "the run log is closed" {
		t.Errorf("an event after the end: %v", err)
	}
}

// TestBrokenLog checks that after an event that cannot be emitted or folded, no event is, and that
// each call says why.
func TestBrokenLog(t *testing.T) {
	full := errors.New("the disk is full")
	for _, test := range []struct {
		name string
		ev   plumb.Event
		want string
	}{
		{"emitting fails", note("full"), "the disk is full"},
		{
			"an unknown case",
			plumb.Event{Type: plumb.EventSessionFinished, Case: "nobody", Runner: "f"},
			`nobody`,
		},
		{
			"an unknown case that ends",
			plumb.Event{Type: plumb.EventExecutionFinished, Case: "nobody", Runner: "f"},
			`nobody`,
		},
	} {
		d := written(t, t.TempDir(), 1, 1, "f")
		emitted := 0
		w, err := runlog.Continue(d, &runlog.Index{}, nil, func(ev plumb.Event, _ *plumb.Run) error {
			emitted++
			if ev.Note != nil && ev.Note.Text == "full" {
				return full
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, broken := w.Commit(test.ev)
		before := emitted
		_, _, late := w.Append(note("late"), true)
		for name, err := range map[string]error{
			"Commit": broken, "Err": w.Err(), "Append": late, "EmitOnly": w.EmitOnly(note("late")), "Close": w.Close(),
		} {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %s: %v", test.name, name, err)
			}
		}
		if emitted != before {
			t.Errorf("%s: an event was emitted after the log was broken", test.name)
		}
	}
}

// TestContinue goes on with a log that was torn within a line, and with one that was not.
func TestContinue(t *testing.T) {
	for _, torn := range []string{"", `{"type":"no`} {
		d := written(t, t.TempDir(), 2, 1, "f")
		log, err := os.ReadFile(d.Join(runlog.EventsFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.Join(runlog.EventsFile), append(log, torn...), 0o600); err != nil {
			t.Fatal(err)
		}
		x := &runlog.Index{}
		w, err := runlog.Continue(d, x, nil, func(plumb.Event, *plumb.Run) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if w.Torn != (torn != "") || len(w.Run.Cases) != 2 {
			t.Errorf("torn: %t; the state is %+v", w.Torn, w.Run)
		}
		ev := plumb.Event{Type: plumb.EventSessionFinished, Case: "case-001", Runner: "f", Repetition: 2, Session: 1}
		ev.Report = &plumb.SessionReport{FinalOutput: "another"}
		if err := w.EmitOnly(note("only seen")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := w.Commit(ev); err != nil {
				t.Fatal(err)
			}
			ev.Report, ev.Session = &plumb.SessionReport{FinalOutput: "a third"}, 2
		}
		var got []string
		if err := x.Sessions("case-001", "f", func(ev plumb.Event) error {
			if ev.Report != nil {
				got = append(got, ev.Report.FinalOutput)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"echo case-001", "another", "a third"}, got); diff != "" {
			t.Error(diff)
		}
		if err := errors.Join(w.Close(), x.Close(), read(runlog.At(d.Path))); err != nil {
			t.Error(err)
		}
		now, err := os.ReadFile(d.Join(runlog.EventsFile))
		if added, ok := strings.CutPrefix(string(now), string(log)); err != nil || !ok || strings.Count(added, "\n") != 2 {
			t.Errorf("%q was added to the log; error %v", added, err)
		}
	}
	d := written(t, t.TempDir(), 1, 1, "f")
	if err := os.WriteFile(d.Join(runlog.EventsFile), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runlog.Continue(d, &runlog.Index{}, nil, nil); err == nil {
		t.Error("went on with a damaged log")
	}
}
