//go:build unix

package proc

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Find returns all processes of this user with a matching trace, and their descendants: those that
// [Reap] would end. match is called with one trace at a time; its other fields are empty, except
// for RunDir beside a Marker.
func Find(match func(Trace) bool) ([]Process, error) {
	h := newHunt(match)
	members, err := h.look()
	return h.describe(members), err
}

// Reap ends all processes that [Find] returns: those that dead runs left behind. It never ends this
// process or its ancestors. The error names the processes that could not be ended.
func Reap(match func(Trace) bool) ([]Process, error) {
	return reap(match, Grace{}.orDefault().Terminate)
}

func reap(match func(Trace) bool, grace time.Duration) ([]Process, error) {
	h := newHunt(match)
	members, err := h.look()
	if err != nil {
		return nil, err
	}
	killed := h.describe(members)
	remain := finish(members, grace, h.look, func() {})
	for _, g := range h.groups {
		g.remove()
	}
	sweepGroups(func(mark string) bool { return match(Trace{Marker: mark}) })
	if len(remain) == 0 {
		return killed, nil
	}
	var names []string
	for _, p := range describe(remain) {
		names = append(names, fmt.Sprintf("%d (%s)", p.PID, p.Command))
	}
	return killed, fmt.Errorf("these processes could not be ended: %s", strings.Join(names, ", "))
}

// hunt is a search for processes with a matching trace.
type hunt struct {
	match func(Trace) bool
	// found are the processes that matched before, and their descendants: pid and start time.
	found map[int]uint64
	// traces are the matching traces, by pid.
	traces map[int]Trace
	// groups are the control groups of these processes, by mark.
	groups map[string]*group
}

func newHunt(match func(Trace) bool) *hunt {
	return &hunt{match: match, found: map[int]uint64{}, traces: map[int]Trace{}, groups: map[string]*group{}}
}

// look returns the matching processes that exist now, without this one and its ancestors.
func (h *hunt) look() ([]process, error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	kin := index(all)
	spared := kin.ancestors(os.Getpid())
	belongs := map[int]bool{}
	for _, p := range all {
		if p.zombie || spared[p.pid] || belongs[p.pid] {
			continue
		}
		trace := h.traces[p.pid]
		if start, known := h.found[p.pid]; !known || start != p.start {
			var ok bool
			if trace, ok = h.trace(p); !ok {
				continue
			}
		}
		family := map[int]bool{}
		kin.add(family, p.pid)
		for pid := range family {
			if !belongs[pid] {
				belongs[pid], h.traces[pid] = true, trace
			}
		}
	}
	var living []process
	for _, p := range all {
		if belongs[p.pid] && !p.zombie && !spared[p.pid] {
			h.found[p.pid] = p.start
			living = append(living, p)
		}
	}
	return living, nil
}

// trace returns the trace of a process that matches. A process that cannot be read belongs to
// another user.
func (h *hunt) trace(p process) (Trace, bool) {
	env, err := environment(p.pid)
	if err != nil {
		return Trace{}, false
	}
	t := Trace{Marker: lookup(env, markerEnv), RunDir: lookup(env, oldRunDirEnv)}
	found := t.Marker != "" && h.match(t)
	for _, mark := range groupMarks(p.pid) {
		switch {
		case !found && h.match(Trace{Marker: mark}):
			t, found = Trace{Marker: mark}, true
			fallthrough
		case found && mark == t.Marker:
			h.groups[mark] = groupOf(p.pid, mark)
		}
	}
	if found || t.Marker != "" || p.terminal {
		return t, found
	}
	t = Trace{Dir: workingDirectory(p.pid)}
	return t, t.Dir != "" && mine(p.pid) && h.match(t)
}

// describe returns processes with their command lines and traces.
func (h *hunt) describe(processes []process) []Process {
	found := describe(processes)
	for i := range found {
		found[i].Trace = h.traces[found[i].PID]
	}
	return found
}
