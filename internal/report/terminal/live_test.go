package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// play feeds a log to a live reporter, slowly enough that frames are drawn in between.
func play(t *testing.T, l *reporttest.Log, s *screen, pause time.Duration) {
	t.Helper()
	r := New(Screen{Out: s, Terminal: true, Unicode: true, Color: true, Size: s.size}, &report.Source{})
	run := &plumb.Run{}
	for _, ev := range l.Events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		if err := r.Report(ev, run); err != nil {
			t.Fatal(err)
		}
		if ev.Type == plumb.EventExecutionFinished {
			time.Sleep(pause)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLive draws on terminals of many sizes. What stays on the screen must be what a terminal of
// the same width gets without a live view: every line once, in order, nothing left over of the
// view.
func TestLive(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 50}, {40, 10}, {20, 5}, {30, 3}, {12, 2}, {200, 8}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			l := reporttest.Storm(30)
			s := newScreen(size[0], size[1])
			play(t, l, s, 15*time.Millisecond)

			var plain strings.Builder
			r := New(Screen{
				Out: &plain, Terminal: true, Unicode: true, Color: true, Size: func() (int, int) { return size[0], size[1] },
				Now: func() time.Time { return l.Now },
			}, &report.Source{})
			r.live = false
			if _, err := report.Replay(r, l.All()); err != nil {
				t.Fatal(err)
			}
			want := newScreen(size[0], size[1])
			want.Write([]byte(plain.String()))
			if diff := cmp.Diff(want.String(), s.String()); diff != "" {
				t.Errorf("what stays on the screen (-plain +live):\n%s", diff)
			}
			if s.hidden {
				t.Error("the cursor is hidden")
			}
			if len(s.unknown) > 0 {
				t.Errorf("sequences that ask or change the terminal: %q", s.unknown)
			}
			for mode, on := range s.modes {
				if mode != "?25" && on {
					t.Errorf("mode %s is left on", mode)
				}
			}
		})
	}
}

// TestLiveResize changes the size of the window while the view is there. How a terminal breaks its
// lines anew is its own affair; the summary has to be whole, and the cursor to be there.
func TestLiveResize(t *testing.T) {
	s := newScreen(80, 24)
	r := New(Screen{Out: s, Terminal: true, Unicode: true, Size: s.size}, &report.Source{})
	l, run := reporttest.Storm(12), &plumb.Run{}
	sizes := [][2]int{{80, 24}, {60, 30}, {60, 12}, {100, 12}, {100, 5}, {100, 40}}
	for i, ev := range l.Events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		if err := r.Report(ev, run); err != nil {
			t.Fatal(err)
		}
		if i%8 == 0 {
			s.resize(sizes[i/8%len(sizes)][0], sizes[i/8%len(sizes)][1])
			time.Sleep(2 * frameGap)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got := s.String()
	if s.hidden || !strings.Contains(got, "\n4/12 pass, 8 fail\n") || !strings.Contains(got, "next      plumb show") {
		t.Errorf("after resizing:\n%s", got)
	}
}

func TestLiveView(t *testing.T) {
	s := newScreen(80, 24)
	l := reporttest.NewLog(reporttest.Info("gpt-5", "mini"), plumb.CaseInfo{ID: "a-1"}, plumb.CaseInfo{ID: "a-2"})
	for _, c := range []string{"a-1", "a-2"} {
		l.Add(plumb.Event{Type: plumb.EventSessionStarted, Case: c, Runner: "mini", Repetition: 1, Session: 1})
	}
	l.Execute("a-1", "gpt-5", reporttest.Answer("x", 1), reporttest.Passed())
	r := New(Screen{
		Out: s, Terminal: true, Unicode: true, Size: s.size, Now: func() time.Time { return l.Now },
	}, &report.Source{})
	run := &plumb.Run{}
	for _, ev := range l.Events {
		if err := run.Apply(ev); err != nil {
			t.Fatal(err)
		}
		if err := r.Report(ev, run); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"1/4", "1 pass", "a-1 > mini", "a-2 > mini", "█", "░"}
	missing := func() string {
		for _, w := range want {
			if !strings.Contains(s.String(), w) {
				return w
			}
		}
		return ""
	}
	for deadline := time.Now().Add(10 * time.Second); missing() != "" && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	if w := missing(); w != "" {
		t.Errorf("the view does not show %q:\n%s", w, s)
	}
	// The run breaks off: no run-finished event.
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got := s.String()
	if !strings.HasSuffix(got, "the run ended early, after 1 of 4: 1 pass") {
		t.Errorf("after Close:\n%s", got)
	}
	if strings.Contains(got, "█") || s.hidden {
		t.Errorf("the view is still there, or the cursor is hidden:\n%s", got)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestLiveIsPaced sends events as fast as it can: neither does the terminal get more frames, nor
// does the run wait.
func TestLiveIsPaced(t *testing.T) {
	s := newScreen(80, 24)
	l := reporttest.Simple(20_000)
	start := time.Now()
	play(t, l, s, 0)
	elapsed := time.Since(start)
	if frames := int(elapsed/frameGap) + 3; s.writes > 3*frames+50 {
		t.Errorf("%d writes in %v, want a few for each of %d frames", s.writes, elapsed, frames)
	}
}

func TestNoColorIsPlain(t *testing.T) {
	for name, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		var out strings.Builder
		r := New(Screen{Out: &out, Terminal: true, Color: true, Unicode: true, Getenv: func(n string) string {
			if n == name {
				return value
			}
			return ""
		}}, &report.Source{})
		if _, err := report.Replay(r, reporttest.Mixed().All()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("with %s=%s there are escape sequences", name, value)
		}
		if !strings.Contains(out.String(), "gpt-5: 2/6 pass") {
			t.Errorf("with %s=%s there is no summary", name, value)
		}
	}
}
