package script

import (
	"cmp"
	"slices"
	"time"
)

// timers are the script's timeouts and intervals.
type timers struct {
	queue []*timer // soonest first, and in the order of creation when equal
	byID  map[int]*timer
	seq   int
	alive int // timers that keep the loop running
}

type timer struct {
	id, seq int
	due     time.Time
	every   time.Duration // of an interval
	owner   *call
	unref   bool
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
	x := &timer{id: id, owner: owner}
	if repeat {
		x.every = delay
	}
	if t.byID == nil {
		t.byID = map[int]*timer{}
	}
	t.byID[id] = x
	t.alive++
	t.push(x, delay)
}

func (t *timers) push(x *timer, delay time.Duration) {
	t.seq++
	x.seq, x.due = t.seq, time.Now().Add(delay)
	t.queue = slices.Insert(t.queue, t.index(x), x)
}

// index returns the position of a timer in the queue.
func (t *timers) index(x *timer) int {
	i, _ := slices.BinarySearchFunc(t.queue, x, func(a, b *timer) int {
		return cmp.Or(a.due.Compare(b.due), a.seq-b.seq)
	})
	return i
}

func (t *timers) clear(id int) {
	x := t.byID[id]
	if x == nil {
		return
	}
	i := t.index(x)
	t.queue = slices.Delete(t.queue, i, i+1)
	delete(t.byID, id)
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
	if len(t.queue) == 0 || t.queue[0].due.After(now) {
		return nil
	}
	x := t.queue[0]
	if x.every == 0 {
		t.clear(x.id)
		return x
	}
	t.queue = slices.Delete(t.queue, 0, 1)
	t.push(x, x.every)
	return x
}

// hasten makes the timers of a call due now, in their order, and reports whether it has some that
// keep the loop running.
func (t *timers) hasten(owner *call) (some bool) {
	now := time.Now()
	for _, x := range slices.Clone(t.queue) {
		if x.owner != owner || x.unref {
			continue
		}
		some = true
		if x.due.After(now) {
			i := t.index(x)
			t.queue = slices.Delete(t.queue, i, i+1)
			x.every = min(x.every, time.Microsecond)
			t.push(x, 0)
		}
	}
	return some
}

// drop stops the timers of a call.
func (t *timers) drop(owner *call) {
	for _, x := range slices.Clone(t.queue) {
		if x.owner == owner {
			t.clear(x.id)
		}
	}
}

func (t *timers) next() (time.Time, bool) {
	if len(t.queue) == 0 {
		return time.Time{}, false
	}
	return t.queue[0].due, true
}

// active reports whether a timer is pending. A timer that does not keep the program running counts
// only if the VM outlives the program.
func (t *timers) active(ending bool) bool { return t.alive > 0 || !ending && len(t.queue) > 0 }
