package script

import (
	"container/heap"
	"time"
)

// timers are the script's timeouts and intervals, soonest first, and in the order of creation when
// equal.
type timers struct {
	heap  timerHeap
	byID  map[int]*timer
	seq   int
	alive int // timers that keep the loop running
}

type timer struct {
	id, seq, index int
	due            time.Time
	every          time.Duration // of an interval
	owner          *call
	unref          bool
}

// immediate is a callback of setImmediate.
type immediate struct {
	id    int
	owner *call
}

// set starts a timer. A delay below 1 ms becomes 1 ms, as in Node.
func (t *timers) set(id int, delay time.Duration, repeat bool, owner *call) {
	if delay < time.Millisecond || delay > 1<<31*time.Millisecond {
		delay = time.Millisecond
	}
	t.seq++
	x := &timer{id: id, seq: t.seq, due: time.Now().Add(delay), owner: owner}
	if repeat {
		x.every = delay
	}
	if t.byID == nil {
		t.byID = map[int]*timer{}
	}
	t.byID[id] = x
	t.alive++
	heap.Push(&t.heap, x)
}

func (t *timers) clear(id int) {
	if x := t.byID[id]; x != nil {
		heap.Remove(&t.heap, x.index)
		t.forget(x)
	}
}

func (t *timers) forget(x *timer) {
	delete(t.byID, x.id)
	if !x.unref {
		t.alive--
	}
}

// ref sets whether a timer keeps the loop running.
func (t *timers) ref(id int, on bool) {
	x := t.byID[id]
	if x == nil || x.unref == !on {
		return
	}
	x.unref = !on
	if on {
		t.alive++
	} else {
		t.alive--
	}
}

// pop removes the next due timer. An interval stays.
func (t *timers) pop(now time.Time) *timer {
	if len(t.heap) == 0 || t.heap[0].due.After(now) {
		return nil
	}
	x := t.heap[0]
	if x.every == 0 {
		heap.Pop(&t.heap)
		t.forget(x)
		return x
	}
	t.seq++
	x.seq = t.seq
	x.due = time.Now().Add(x.every)
	heap.Fix(&t.heap, 0)
	return x
}

// drop stops the timers of a call.
func (t *timers) drop(owner *call) {
	for _, x := range t.byID {
		if x.owner == owner {
			t.clear(x.id)
		}
	}
}

func (t *timers) next() (time.Time, bool) {
	if len(t.heap) == 0 {
		return time.Time{}, false
	}
	return t.heap[0].due, true
}

// active reports whether a timer is pending. A timer that does not keep the program running counts
// only if the VM outlives the program.
func (t *timers) active(ending bool) bool { return t.alive > 0 || !ending && len(t.heap) > 0 }

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	return h[i].seq < h[j].seq
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer) //nolint:forcetypeassert // only timers are pushed
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
