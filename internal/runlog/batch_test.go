package runlog

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumb-eval/plumb"
)

// TestBatch checks what the writing goroutine gets: lines with their lengths.
func TestBatch(t *testing.T) {
	w := &Writer{next: newBatch(), wake: make(chan struct{}, 1)}
	for _, line := range [][]byte{[]byte(`{"a":1}`), nil, []byte(`{"b":12}`)} {
		if _, err := w.add(plumb.Event{}, line, false); err != nil {
			t.Fatal(err)
		}
	}
	want := []int{len(`{"a":1`) + crcLength, 0, len(`{"b":12`) + crcLength}
	if !slices.Equal(w.next.lengths, want) || len(w.next.lines) != want[0]+want[2]+2*len("\n") {
		t.Errorf("the lines have the lengths %v, want %v: %s", w.next.lengths, want, w.next.lines)
	}
}

// TestReusedBatch checks that a batch keeps its memory, unless it is large.
func TestReusedBatch(t *testing.T) {
	for size, want := range map[int]int{10: 10, mostKept: mostKept, mostKept + 1: 0} {
		if got := (&batch{lines: make([]byte, 5, size)}).reset(); cap(got.lines) != want || len(got.lines) != 0 {
			t.Errorf("a batch of %d bytes has now %d of %d", size, len(got.lines), cap(got.lines))
		}
	}
}

// TestSharedSync checks that two fsyncs are apart, counted from the end of the first one.
func TestSharedSync(t *testing.T) {
	d, err := Create(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	synctest.Test(t, func(t *testing.T) {
		w, err := Continue(d, &Index{}, nil, func(plumb.Event, *plumb.Run) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var took []time.Duration
		ev := plumb.Event{Type: plumb.EventRunStarted, Info: &plumb.RunInfo{ID: "x"}}
		for _, durable := range []bool{true, true, false} {
			if _, err := w.Wait(ev, durable); err != nil {
				t.Error(err)
			}
			ev = plumb.Event{Type: plumb.EventNote, Note: &plumb.Note{Text: "x"}}
			took = append(took, time.Since(start))
			time.Sleep(time.Millisecond)
		}
		if want := []time.Duration{0, syncInterval, syncInterval + time.Millisecond}; !slices.Equal(took, want) {
			t.Errorf("the events were written after %v, want %v", took, want)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}
